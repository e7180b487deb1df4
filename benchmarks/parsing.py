"""Dependency trees: best trees beside a plain C loop and as derivations, and a parser of English.

Both find the same trees, which is checked. Growth is the exponent between 40 and 160 words.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_time, data_folder
from maxmargin.datasets import load_treebank
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.memory import peak_bytes
from maxmargin.metrics import attachment_scores
from maxmargin.structures import Dependencies, Derivations
from maxmargin.structures.dependencies.dependencies import projective_program
from maxmargin.tasks import DependencyParser

LENGTHS, LONGER = (10, 25, 40, 70), (40, 160)


def main() -> None:
    if shutil.which("gcc") is None:
        print("gcc is not there to compare with")
    else:
        _compare_with_c()
    for projective in (True, False):
        for ability in ("maximize", "marginals"):
            times = [_time(projective, ability, n) for n in LONGER]
            growth = np.log(times[1] / times[0]) / np.log(LONGER[1] / LONGER[0])
            kind = "projective" if projective else "all trees"
            print(f"  {kind:10} {ability:9} {1e3 * times[0]:8.3f} ms at {LONGER[0]} words,"
                  f" {1e3 * times[1]:8.2f} at {LONGER[1]}: growth {growth:.1f}")  # fmt: skip
    if data_folder("ud_english_lines") is not None:
        _parse()


def _call(structure: Any, ability: str, n: int, theta: np.ndarray) -> Any:
    """A compiled function with all that it needs, to be timed alone."""
    oracle = structure.oracle()
    function, code = oracle.compiled_function(ability), oracle._ints((n,))
    floats, ints = oracle.scratch((n,))
    out, work, iwork = np.empty(len(theta)), np.zeros(floats), np.empty(ints, np.int64)
    return lambda: function(theta, code, out, work, iwork)


def _time(projective: bool, ability: str, n: int) -> float:
    theta = np.random.default_rng(n).standard_normal(n * (n + 1))
    return best_time(_call(Dependencies(projective), ability, n, theta))


def _compare_with_c() -> None:
    print("  words    C us   ours us  (times)  as derivations us (times)")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "eisner.so"
        source = Path(__file__).with_name("plain_eisner.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source],
                       check=True)  # fmt: skip
        eisner = ctypes.CDLL(str(library)).eisner
        eisner.restype = ctypes.c_double
        for n in LENGTHS:
            _compare_length(eisner, n)


def _compare_length(eisner: Any, n: int) -> None:
    theta = np.random.default_rng(n).standard_normal(n * (n + 1))
    theta[Dependencies().forbidden((n,))] = -np.inf
    chart, split = np.empty(4 * (n + 1) ** 2), np.empty(4 * (n + 1) ** 2, np.int32)
    heads = np.empty(n, np.int32)
    arguments = [own.ctypes.data_as(ctypes.c_void_p) for own in (theta, chart, split, heads)]
    plain = best_time(lambda: eisner(arguments[0], n, *arguments[1:]))
    ours = best_time(_call(Dependencies(), "maximize", n, theta))
    assert np.array_equal(Dependencies().decode(Dependencies().maximize(theta, (n,)), (n,)), heads)
    layout = projective_program(n, True)
    oracle = Derivations().oracle()
    function, code = oracle.compiled_function("maximize"), oracle._ints(layout)
    work, iwork = (np.zeros(size) for size in oracle.scratch(layout))
    out, iwork = np.empty(len(theta)), iwork.astype(np.int64)
    generic = best_time(lambda: function(theta, code, out, work, iwork))
    print(
        f"  {n:5} {1e6 * plain:8.1f} {1e6 * ours:8.1f} {ours / plain:8.2f}"
        f" {1e6 * generic:15.1f} {generic / plain:11.1f}"
    )


def _parse() -> None:
    sentences, trees = load_treebank("ud_english_lines", "train")
    others, other_trees = load_treebank("ud_english_lines", "dev")
    for guided in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            parser = DependencyParser(guided=guided).fit(sentences, trees)
            trained = time.process_time() - start
        parser.predict(others[:10])
        start = time.process_time()
        found = parser.predict(others)
        rate = len(others) / (time.process_time() - start)
        scores = attachment_scores(other_trees, found)
        print(
            f"  LinES, {'two trees' if guided else 'one tree'}: trained in {trained:.0f} CPU s,"
            f" {parser.result_.certificate()}; UAS {scores.uas:.2%}, LAS {scores.las:.2%},"
            f" {rate:.0f} sentences/s; peak {peak_bytes() / 2**20:.0f} MB"
        )
