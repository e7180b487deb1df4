"""A pass of block-coordinate Frank-Wolfe over the letters beside a plain C loop, same steps.

Both take the same samples in the same order; their dual values are compared as well, so that the
ratio is one of equal work. Then passes of other solvers beside it, and those of exponentiated
gradient, whose oracle is sum-product in the place of Viterbi, on chunking, too.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import CHUNK_TEMPLATES, data_folder
from maxmargin.datasets import load_conll2000, load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW, ExponentiatedGradient, Perceptron, Solver, Subgradient
from maxmargin.tasks.tagging.token_features import TokenFeatures

ALPHA, PASSES = 0.01, 6


def main() -> None:
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    train = np.flatnonzero(data.fold != 0)
    X, y = [data.X[i] for i in train], [data.y[i] for i in train]
    problem = ChainSVM(alpha=ALPHA)._problem(X, y, None, None)
    ours, dual = _our_passes(problem, BCFW(step="frank-wolfe", averaging=False))
    print(f"{len(X)} words, one thread, compiled code warm")
    print(f"  ours, z-space: {1e3 * ours:.1f} ms per pass, dual after {PASSES}: {dual:.6f}")
    theirs = _c_passes(X, y)
    if theirs is not None:
        print(f"  plain C -O3, w-space: {1e3 * theirs[0]:.1f} ms per pass, dual {theirs[1]:.6f}")
        print(f"  ratio ours / C: {ours / theirs[0]:.2f}")
    others = (BCFW(step="frank-wolfe"), BCFW(), Subgradient(), Perceptron())
    for solver in (*others, ExponentiatedGradient()):
        seconds, _ = _our_passes(problem, solver)
        print(
            f"  {solver}: {1e3 * seconds:.1f} ms per pass ({seconds / ours:.2f} of the first line)"
        )
    _likelihood(ChainSVM(alpha=ALPHA, objective="likelihood")._problem(X, y, None, None), ours)
    _chunking()


def _likelihood(problem: Problem, ours: float) -> None:
    seconds, _ = _our_passes(problem, ExponentiatedGradient())
    share = f"{seconds / ours:.2f} of the first line"
    print(f"  ExponentiatedGradient(), likelihood: {1e3 * seconds:.1f} ms per pass ({share})")


def _chunking() -> None:
    """The same on sparse features of sentences."""
    folder = data_folder("conll2000")
    if folder is None:
        return
    data = load_conll2000("train", folder)
    rows = TokenFeatures(CHUNK_TEMPLATES).fit_transform(data.sentences)
    print(f"{len(data.sentences)} sentences")
    alpha = 10.0 / len(data.sentences)  # what SequenceTagger takes
    problem = ChainSVM(alpha=alpha)._problem(rows, data.tags, None, None)
    ours, _ = _our_passes(problem, BCFW(step="frank-wolfe", averaging=False))
    print(f"  BCFW, textbook steps: {1e3 * ours:.1f} ms per pass")
    seconds, _ = _our_passes(problem, ExponentiatedGradient())
    share = f"{seconds / ours:.2f} of the first line"
    print(f"  ExponentiatedGradient(): {1e3 * seconds:.1f} ms per pass ({share})")
    _likelihood(
        ChainSVM(alpha=alpha, objective="likelihood")._problem(rows, data.tags, None, None), ours
    )


def _our_passes(problem: Problem, solver: Solver) -> tuple[float, float]:
    solver.prepare(problem)
    solver.epoch(problem, solver.init(problem))  # compiles
    state, times = solver.init(problem), []
    for _ in range(PASSES):
        start = time.perf_counter()
        solver.epoch(problem, state)
        times.append(time.perf_counter() - start)
    if problem.objective == "likelihood":  # its dual asks for more than z
        return min(times), float("nan")
    return min(times), problem.dual(state.z)


def _c_passes(X: list, y: list) -> tuple[float, float] | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("  no C compiler here: the comparison with C is left out.")
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "plain.so"
        source = Path(__file__).with_name("plain_bcfw.c")
        command = [compiler, "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
        subprocess.run([*command, str(source), "-o", str(library)], check=True)
        return _run_c(ctypes.CDLL(str(library)), X, y)


def _run_c(library: ctypes.CDLL, X: list, y: list) -> tuple[float, float]:
    flat = np.concatenate(X)
    x = np.ascontiguousarray(np.hstack([flat, np.ones((len(flat), 1))]))
    labels = np.unique(np.concatenate(y), return_inverse=True)[1].astype(np.int32)
    start = np.concatenate([[0], np.cumsum([len(a) for a in y])]).astype(np.int64)
    n, K, P = len(y), 26, x.shape[1]
    d = K * P + K * K + 2 * K
    wi, li, w, loss = np.zeros((n, d)), np.zeros(n), np.zeros(d), np.zeros(1)
    rng, times = np.random.default_rng(0), []
    for _ in range(PASSES):
        order = rng.permutation(n).astype(np.int64)
        arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, labels, start, order)]
        state = [a.ctypes.data_as(ctypes.c_void_p) for a in (wi, li, w, loss)]
        longest = int(np.diff(start).max())
        begun = time.perf_counter()
        library.bcfw_pass(
            *arrays, ctypes.c_long(n), K, P, ctypes.c_double(ALPHA), *state, ctypes.c_int(longest)
        )
        times.append(time.perf_counter() - begun)
    return min(times), float(loss[0] - ALPHA / 2 * (w @ w))
