"""Nested pairs beside a plain C loop, and RNA of families that were not learned from.

Both find the same score, which is checked. F1 is the mean over sequences, for each of five families
by a folder that saw the other four; beside it that of LinearPartition with CONTRAfold's parameters,
which were learned from RNA of many families.
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
from maxmargin.datasets import load_rna
from maxmargin.formats.rna import parse_dot_bracket
from maxmargin.metrics import pair_scores
from maxmargin.structures import NestedLayout, NestedPairs
from maxmargin.tasks import RNAFolder

SIZES = (100, 200, 400)
CANONICAL = (0, 3), (3, 0), (1, 2), (2, 1), (2, 3), (3, 2)


def main() -> None:
    if shutil.which("gcc") is None:
        print("gcc is not there to compare with")
    else:
        _compare_with_c()
    folder = data_folder("rna_archiveII")
    if folder is not None:
        warnings.simplefilter("ignore")
        _leave_families_out(folder)
        _cross()


def _leave_families_out(folder: Path) -> None:
    data = load_rna(path=folder)
    path = folder / "archiveII_train.linearpartition_c.dbn.gz"
    theirs = [parse_dot_bracket(own) for own in load_rna(path=path).structures]
    truth = [parse_dot_bracket(own) for own in data.structures]
    print("  family   sequences  trained CPU s   F1  (LinearPartition-C)")
    totals = np.zeros(2)
    for family in dict.fromkeys(data.families):
        held = [i for i, own in enumerate(data.families) if own == family]
        rest = [i for i, own in enumerate(data.families) if own != family]
        start = time.process_time()
        model = RNAFolder()
        model.fit([data.sequences[i] for i in rest], [data.structures[i] for i in rest])
        trained = time.process_time() - start
        found = [parse_dot_bracket(own) for own in model.predict([data.sequences[i] for i in held])]
        ours = pair_scores([truth[i] for i in held], found).f1
        other = pair_scores([truth[i] for i in held], [theirs[i] for i in held]).f1
        totals += len(held) * np.array([ours, other])
        print(f"  {family:8} {len(held):8} {trained:10.0f} {ours:10.3f} {other:8.3f}", flush=True)
    means = totals / len(truth)
    print(f"  all      {len(truth):8} {means[0]:21.3f} {means[1]:8.3f}")


def _cross() -> None:
    """Five folds of PseudoBase, where all structures have crossing pairs."""
    data = load_rna("pseudobase")
    order = np.random.default_rng(0).permutation(len(data.sequences))
    scores: dict[bool, list[Any]] = {False: [], True: []}
    for fold in range(5):
        held, rest = order[fold::5], np.setdiff1d(order, order[fold::5])
        model = RNAFolder().fit(
            [data.sequences[i] for i in rest], [data.structures[i] for i in rest]
        )
        truth = [parse_dot_bracket(data.structures[i]) for i in held]
        for crossing, own in scores.items():
            found = model.set_params(crossing=crossing).predict([data.sequences[i] for i in held])
            own.append(pair_scores(truth, [parse_dot_bracket(text) for text in found])[:3])
    for crossing, own in scores.items():
        f1, precision, recall = np.mean(own, axis=0)
        kind = "crossing" if crossing else "nested"
        print(f"  PseudoBase, {kind:8}: F1 {f1:.3f} precision {precision:.3f} recall {recall:.3f}")


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
