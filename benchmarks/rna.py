"""Nested pairs beside a plain C loop. Both find the same score, which is checked."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_time
from maxmargin.structures import NestedLayout, NestedPairs

SIZES = (100, 200, 400)
CANONICAL = (0, 3), (3, 0), (1, 2), (2, 1), (2, 3), (3, 2)


def main() -> None:
    if shutil.which("gcc") is None:
        print("gcc is not there to compare with")
    else:
        _compare_with_c()


def _compare_with_c() -> None:
    print("      n    pairs     C ms  ours ms  (times)  marginals ms")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "fold.so"
        source = Path(__file__).with_name("plain_fold.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source],
                       check=True)  # fmt: skip
        fold = ctypes.CDLL(str(library)).fold
        fold.restype = ctypes.c_double
        for n in SIZES:
            _compare_size(fold, n)


def _compare_size(fold: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    symbols = rng.integers(0, 4, n)
    allowed = np.zeros((4, 4), dtype=bool)
    allowed[tuple(np.transpose(CANONICAL))] = True
    pairs = np.argwhere(np.triu(allowed[symbols[:, None], symbols], 4))
    layout = NestedLayout(n, pairs, symbols, 4)
    theta = 0.5 * rng.standard_normal(layout.n_parts)
    chart, scores = np.empty(6 * n * n + n + 1), np.full((n, n), -np.inf)
    scores[tuple(pairs.T)] = theta[: len(pairs)]
    tied = np.ascontiguousarray(theta[len(pairs) :])
    given = [own.ctypes.data_as(ctypes.c_void_p) for own in (scores, tied, symbols, chart)]
    value = fold(*given[:3], n, 4, given[3])
    oracle = NestedPairs().oracle()
    assert np.isclose(value, oracle.maximize(theta, layout)[1])
    code, (floats, ints) = oracle._ints(layout), oracle.scratch(layout)
    out, work, iwork = np.empty(len(theta)), np.zeros(floats), np.empty(ints, np.int64)
    plain = best_time(lambda: fold(*given[:3], n, 4, given[3]))
    times = []
    for name in ("maximize", "marginals"):
        function = oracle.compiled_function(name)
        times.append(best_time(lambda own=function: own(theta, code, out, work, iwork)))
    ours, sums = times
    print(
        f"  {n:5} {len(pairs):8} {1e3 * plain:8.2f} {1e3 * ours:8.2f} {ours / plain:8.2f}"
        f" {1e3 * sums:13.2f}"
    )
