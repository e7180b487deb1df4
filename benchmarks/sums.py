"""Sum-product on chains beside Viterbi on the same scores, and its growth in length and labels.

All are compiled functions called from one compiled loop; processor time, the least of several
rounds in turn, compilation excluded. "by logs" is the way taken for scores that spread too widely
for plain products; "plain logs" is forward-backward written with a log-sum-exp for each label.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import data_folder, exponent
from maxmargin._numba.chain.log_marginals import marginals_by_logs
from maxmargin._numba.chain.marginals import marginals
from maxmargin._numba.chain.maximize import max_marginals, maximize
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    POINTER,
    compile_ability,
    compiled_function as compiled,
    types,
)
from maxmargin._numba.log_sum_exp import log_sum, softmax, subtract_largest
from maxmargin.datasets import load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.structures import Chain

ROUNDS, SECONDS = 9, 0.004  # a round of Viterbi takes about so long


@compile_ability
def plain_logs(theta, layout, out, work, iwork):
    length, labels, stride = layout[0], layout[1], layout[2]
    nodes = length * labels
    ahead, behind = work[:nodes], work[nodes : 2 * nodes]
    pair = work[2 * nodes : 2 * nodes + labels * labels]
    line = pair[:labels]
    total = 0.0
    for t in range(length):
        for k in range(labels):
            ahead[t * labels + k] = theta[t * labels + k]
            if t > 0:
                for j in range(labels):
                    table = nodes + (t - 1) * stride + j * labels
                    line[j] = ahead[(t - 1) * labels + j] + theta[table + k]
                ahead[t * labels + k] += log_sum(line)
        total += subtract_largest(ahead[t * labels : (t + 1) * labels])
    out[:] = 0.0
    behind[nodes - labels :] = 0.0
    for t in range(length - 1, -1, -1):
        here = t * labels
        if t < length - 1:
            table, after = nodes + t * stride, here + labels
            for j in range(labels):
                for k in range(labels):
                    line[k] = theta[table + j * labels + k] + theta[after + k] + behind[after + k]
                behind[here + j] = log_sum(line)
            subtract_largest(behind[here:after])
            for j in range(labels):
                for k in range(labels):
                    v = theta[table + j * labels + k] + theta[after + k] + behind[after + k]
                    pair[j * labels + k] = ahead[here + j] + v
            softmax(pair)
            for p in range(labels * labels):
                out[table + p] += pair[p]
        for k in range(labels):
            out[here + k] = ahead[here + k] + behind[here + k]
        softmax(out[here : here + labels])
    return total + log_sum(ahead[nodes - labels :])


@compiled(types.float64(POINTER, FLOATS, INTS, INTS, FLOATS, FLOATS, INTS, types.int64))
def call(oracle, scores, starts, layouts, out, work, iwork, repeats):
    """Run the oracle on all samples, several times; scores lie side by side."""
    total = 0.0
    for _ in range(repeats):
        for i in range(len(starts) - 1):
            theta = scores[starts[i] : starts[i + 1]]
            layout = layouts[3 * i : 3 * i + 3]
            total += oracle(theta, layout, out[: len(theta)], work, iwork)
    return total


class Samples:
    """Scores of some chains, and room for the functions."""

    def __init__(self, structure: Chain, layouts: list, scores: np.ndarray):
        self.scores = scores
        self.starts = np.cumsum([0, *(structure.n_parts(s) for s in layouts)])
        self.layouts = np.array(
            [structure.oracle().layout_as_ints(s) for s in layouts], dtype=np.int64
        ).ravel()
        sizes = [structure.oracle().scratch(s) for s in layouts]
        self.out = np.zeros(np.diff(self.starts).max())
        self.work = np.zeros(max(floats for floats, _ in sizes))
        self.iwork = np.zeros(max(ints for _, ints in sizes), dtype=np.int64)

    def seconds(self, function: object, repeats: int) -> float:
        start = time.process_time()
        room = (self.out, self.work, self.iwork)
        call(function.dispatcher, self.scores, self.starts, self.layouts, *room, repeats)
        return (time.process_time() - start) / repeats

    def times(self, functions: tuple) -> list[float]:
        """Least seconds a pass of each function, rounds taken in turn."""
        repeats = 1
        while repeats * self.seconds(maximize, repeats) < SECONDS:
            repeats *= 2
        rounds = [
            [self.seconds(function, repeats) for function in functions] for _ in range(ROUNDS)
        ]
        return [min(column) for column in zip(*rounds, strict=True)]


def drawn(length: int, labels: int, tied: bool = True, scale: float = 1.0, n: int = 4) -> Samples:
    structure = Chain(tied=tied)
    rng = np.random.default_rng(0)
    scores = scale * rng.standard_normal(n * structure.n_parts((length, labels)))
    return Samples(structure, [(length, labels)] * n, scores)


def letters() -> Samples | None:
    """Scores of real words by a model trained for a moment."""
    folder = data_folder("ocr_letters")
    if folder is None:
        return None
    data = load_letters(folder)
    few = np.flatnonzero(data.fold == 0)
    X, y = [data.X[i] for i in few], [data.y[i] for i in few]
    model = ChainSVM(alpha=1e-2, tol=0.2).fit(X, y)
    samples = next(model._in_chunks(X))
    scores = np.concatenate([samples.scores(model.coef_, i) for i in range(samples.n)])
    return Samples(model.structure_, samples.layouts, scores)


def ratios() -> None:
    cases = {
        "short, T=10 K=5": drawn(10, 5),
        "letters-like, T=8 K=26": drawn(8, 26),
        "chunking-like, T=24 K=22": drawn(24, 22),
        "T=200 K=22": drawn(200, 22),
        "T=30 K=60": drawn(30, 60),
        "T=24 K=22, a table a place": drawn(24, 22, tied=False),
        "T=30 K=60, a table a place": drawn(30, 60, tied=False),
        "T=24 K=22, scores of 30": drawn(24, 22, scale=30.0),
        "T=24 K=22, scores of 1000": drawn(24, 22, scale=1e3),
    }
    real = letters()
    if real is not None:
        cases = {"letters, trained, real words": real, **cases}
    functions = (maximize, marginals, marginals_by_logs, plain_logs, max_marginals)
    print("times of Viterbi's:             Viterbi marginals  by logs  plain logs  max-marginals")
    for name, samples in cases.items():
        least = samples.times(functions)
        each = 1e6 * least[0] / (len(samples.starts) - 1)
        found = "".join(
            f"{t / least[0]:{width}.2f}" for t, width in zip(least[1:], (9, 9, 12, 15), strict=True)
        )
        print(f"  {name:28s} {each:7.2f} us{found}", flush=True)


def growth() -> None:
    lengths, labels = [10, 100, 1000, 10_000], [4, 8, 16, 32, 64, 128]
    functions = (maximize, marginals)
    sizes = {
        "length, K=22": (lengths, [drawn(n, 22, n=1) for n in lengths]),
        "labels, T=50": (labels, [drawn(50, k, n=1) for k in labels]),
    }
    for name, (values, samples) in sizes.items():
        columns = zip(*(s.times(functions) for s in samples), strict=True)
        for function, column in zip(("Viterbi", "marginals"), columns, strict=True):
            shown = ", ".join(f"{1e6 * t:.1f}" for t in column)
            print(f"  {name} = {values}, {function}: {shown} us")
            all_, last = exponent(values, column), exponent(values[-3:], column[-3:])
            print(f"    exponent {all_:.2f}, of the last three {last:.2f}", flush=True)


def main() -> None:
    ratios()
    growth()
