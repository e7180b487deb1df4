"""Timing, growth exponents and memory, shared by the measurements."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.memory import peak_bytes

#: for words and parts of speech, usual for chunking: a fixed set, so that figures stay comparable
CHUNK_TEMPLATES = [
    *(f"0[{at}]" for at in range(-2, 3)),
    *("0[-1]|0[0]", "0[0]|0[1]"),
    *(f"1[{at}]" for at in range(-2, 3)),
    *(f"1[{at}]|1[{at + 1}]" for at in range(-2, 2)),
    *(f"1[{at}]|1[{at + 1}]|1[{at + 2}]" for at in range(-2, 1)),
]


def best_time(work: Callable[[], Any], repeats: int = 5) -> float:
    """The least seconds of several runs: the one that other processes disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """p of the power law values ~ sizes ** p, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def peak_memory() -> float:
    """Largest resident size of this process so far, in MB."""
    return peak_bytes() / 2**20


def data_folder(name: str) -> Path | None:
    """The folder of a real data set, or None, having said so."""
    root = os.environ.get("MAXMARGIN_DATA")
    here = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = (Path(root) if root else here) / name
    if folder.is_dir():
        return folder
    print(f"skipped: {name} not found; set MAXMARGIN_DATA to the folder that holds it.")
    return None
