"""Alignments of strings: the best ones beside plain C, parasail and Biopython; learned aligners.

All find alignments of the same score, which is checked; parasail and Biopython are left out if they
are not installed. Scores of learned aligners are of word sets or families that they did not see.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_time, data_folder, exponent
from maxmargin.datasets import load_string_pairs
from maxmargin.memory import peak_bytes, reset_peak, resident_bytes
from maxmargin.structures import PairAlignment
from maxmargin.tasks import StringAligner
from maxmargin.tasks.strings.symbols import tabulate_similarity

LENGTHS, COMPARED = (10, 50, 150, 300, 1000), 2000
LETTERS, OPENED, FURTHER = "ARNDCQEGHILKMFPSTWYV", -11.0, -1.0
#: parts that are held out in turn
FOLDS = {"bdpa": 5, "balibase3": 2, "homstrad_struct": 2}


def main() -> None:
    if shutil.which("gcc") is None:
        print("gcc is not there to compare with")
    else:
        _compare_with_c()
    _compare_with_libraries()
    for name, folds in FOLDS.items():
        if data_folder(name) is not None:
            _learn(name, folds)


def _scores(match: np.ndarray) -> np.ndarray:
    m, n = match.shape
    return np.concatenate([match.ravel(), np.tile([OPENED, FURTHER], 3 * (m + n))])


def _call(ability: str, theta: np.ndarray, layout: tuple[int, int]) -> Callable[[], Any]:
    """A compiled function with all that it needs, to be timed alone."""
    oracle = PairAlignment().oracle()
    function, code = oracle.compiled_function(ability), np.array([*layout, 0, 0])
    floats, ints = oracle.scratch(layout)
    out, work, iwork = np.empty(len(theta)), np.zeros(floats), np.empty(ints, np.int64)
    return lambda: function(theta, code, out, work, iwork)


def _compare_with_c() -> None:
    print("  symbols     C ns   ours ns (times)  sums ns, per pair of symbols")
    growth = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "gotoh.so"
        source = Path(__file__).with_name("plain_gotoh.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source],
                       check=True)  # fmt: skip
        gotoh = ctypes.CDLL(str(library)).gotoh
        gotoh.restype = ctypes.c_double
        for n in LENGTHS:
            match = np.random.default_rng(n).integers(-4, 10, size=(n, n)).astype(float)
            rows, back = np.empty(3 * (n + 1)), np.empty((n + 1) ** 2, np.uint8)
            partner = np.empty(n, np.int32)
            given = [own.ctypes.data_as(ctypes.c_void_p) for own in (match, rows, back, partner)]
            gaps = ctypes.c_double(OPENED), ctypes.c_double(FURTHER)

            def plain(n: int = n, given: list[Any] = given, gaps: Any = gaps) -> float:
                return gotoh(given[0], n, n, *gaps, *given[1:])

            theta = _scores(match)
            ours = _call("maximize", theta, (n, n))
            assert plain() == ours()
            times = [best_time(own) for own in (plain, ours, _call("marginals", theta, (n, n)))]
            a, b, c = (1e9 * own / n**2 for own in times)
            print(f"  {n:7} {a:8.1f} {b:9.1f} {b / a:7.2f} {c:9.1f}")
            growth.append(times[1:])
    best, sums = (exponent(LENGTHS[2:], own) for own in zip(*growth[2:], strict=True))
    print(f"  growth from {LENGTHS[2]} symbols on: best alignments {best:.2f}, sums {sums:.2f}")


def _compare_with_libraries() -> None:
    """Thousands of pairs of letters, with the same costs."""
    rng, table = np.random.default_rng(0), 2.0 * tabulate_similarity("blosum62", list(LETTERS))
    pairs = [
        tuple("".join(rng.choice(list(LETTERS), n)) for n in rng.integers(20, 200, size=2))
        for _ in range(COMPARED)
    ]
    aligners: dict[str, Callable[[str, str], float]] = {"maxmargin": _ours(table)}
    if find_spec("parasail"):
        parasail = import_module("parasail")

        def by_parasail(a: str, b: str) -> float:
            found = parasail.nw_trace_striped_16(a, b, 11, 1, parasail.blosum62)
            return float(found.score) if found.traceback else 0.0

        aligners["parasail"] = by_parasail
    if find_spec("Bio"):
        own = import_module("Bio.Align").PairwiseAligner(mode="global")
        matrices = import_module("Bio.Align.substitution_matrices")
        own.substitution_matrix = matrices.load("BLOSUM62")
        own.open_gap_score, own.extend_gap_score = OPENED, FURTHER
        aligners["Biopython"] = lambda a, b: own.align(a, b)[0].score
    found = {}
    for name, align in aligners.items():
        align(*pairs[0])
        start = time.process_time()
        found[name] = [align(*pair) for pair in pairs]
        print(f"  {name:10} {1e3 * (time.process_time() - start) / COMPARED:7.3f} ms a pair")
    assert all(scores == found["maxmargin"] for scores in found.values())


def _ours(table: np.ndarray) -> Callable[[str, str], float]:
    oracle, number = PairAlignment().oracle(), {a: k for k, a in enumerate(LETTERS, start=1)}

    def align(a: str, b: str) -> float:
        match = table[np.ix_([number[s] for s in a], [number[s] for s in b])]
        return oracle.maximize(_scores(match), match.shape)[1]

    return align


def _learn(name: str, folds: int) -> None:
    """Pairs exactly right, and shares of reliable matches that are found, of groups held out."""
    data = load_string_pairs(name)
    groups = sorted({*data.groups})
    place = np.random.default_rng(0).permutation(len(groups)) % folds
    fold = np.array([place[groups.index(group)] for group in data.groups])
    exact, found, trained = [], [], 0.0
    for k in range(folds):
        seen, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        start = time.process_time()
        aligner = StringAligner().fit(*([own[i] for i in seen] for own in data))
        trained += time.process_time() - start
        for i, links in zip(held, aligner.predict([data.pairs[i] for i in held]), strict=True):
            exact.append({*links} == {*data.alignments[i]})
            found.append(len({*links} & {*data.core[i]}) / max(len(data.core[i]), 1))
    print(
        f"  {name}: {len(exact)} pairs, exactly right {np.mean(exact):.2%}, reliable matches found"
        f" {np.mean(found):.4f}; {trained / folds:.0f} CPU s a fold, peak"
        f" {peak_bytes() / 2**20:.0f} MB"
    )
    if name == "homstrad_struct":
        a, b = ((2000 * data.pairs[0][side])[:2000] for side in (0, 1))
        reset_peak()
        start, before = time.process_time(), resident_bytes()
        aligner.predict([(a, b)])
        more = (peak_bytes() - before) / 2**20
        print(f"  2000 x 2000 symbols: {time.process_time() - start:.1f} CPU s, {more:.0f} MB more")
