"""Conditional random fields on CoNLL-2000 beside python-crfsuite: seconds to the optimum.

Both programs get the same features and the same penalty (crfsuite's c2 |w|^2 + sum of negative
log-likelihoods is n times ours at alpha = 2 c2 / n), and one thread. Seconds are of the processor,
from the first step on: reading, features and compilation are left out and printed apart. The
optimum is a bound proven by SDCA to 1e-5. crfsuite tells its objective after each iteration; for
l2sgd that is the sum over the pass of each sentence's loss before its own step, and its calibration
of the learning rate is counted.

    python -m benchmarks.likelihood [--full] [--penalties 1 0.1 0.01] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import CHUNK_TEMPLATES, data_folder, peak_memory
from maxmargin import ChainSVM
from maxmargin.datasets import load_conll2000
from maxmargin.solvers import LBFGS, SDCA, ExponentiatedGradient
from maxmargin.tasks.tagging.token_features import TokenFeatures

OURS = {"sdca": SDCA(), "eg": ExponentiatedGradient(averaging=False), "lbfgs": LBFGS()}
THEIRS = {"crfsuite lbfgs": "lbfgs", "crfsuite l2sgd": "l2sgd"}
LEVELS = (1e-2, 1e-3, 1e-4)
SMALL, WHOLE = 1000, 8936
PASSES = 400
SLOW = 20  # times SDCA's seconds, after which our other solvers give up


def main(given: tuple[str, ...] = ()) -> None:
    """A table for each penalty; each program in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.likelihood", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all sentences, not the first 1,000")
    parser.add_argument("--penalties", nargs="+", type=float, default=[1.0, 0.1, 0.01])
    parser.add_argument("--only", nargs="+", choices=[*OURS, *THEIRS])
    options = parser.parse_args(given)
    if data_folder("conll2000") is None:
        return
    n = WHOLE if options.full else SMALL
    names = options.only or [*OURS, *THEIRS]
    for c2 in options.penalties:
        best = ask("optimum", n, c2, 0.0, 0.0)
        print(f"  {n} sentences, c2 = {c2:g}: optimum {best['bound']:.6f}, {best['metrics']}")
        for name in names:
            found = ask(name, n, c2, best["bound"], best["seconds"])
            times = [f"{t:8.2f} s" if t is not None else "   not yet" for t in found["times"]]
            shown = ", ".join(f"{e:g}: {t}" for e, t in zip(LEVELS, times, strict=True))
            print(f"    {name:15s} {shown}; {found['metrics']}", flush=True)


def ask(name: str, n: int, c2: float, bound: float, limit: float) -> dict:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.likelihood", "--one"]
    command += [name, str(n), str(c2), repr(bound), repr(limit)]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=alone)
    return json.loads(done.stdout.splitlines()[-1])


def one(name: str, n: int, c2: float, bound: float, limit: float) -> None:
    begun = time.process_time()
    data = load_conll2000("train", data_folder("conll2000"))
    rows = TokenFeatures(CHUNK_TEMPLATES).fit_transform(data.sentences[:n])
    read = time.process_time() - begun
    if name in THEIRS:
        found = theirs(THEIRS[name], rows, data.tags[:n], c2, bound)
    else:
        found = ours(name, rows, data.tags[:n], c2, bound, limit)
    found["metrics"] += f", features {read:.1f} s, peak {peak_memory():.0f} MB"
    print(json.dumps(found))


def reached(curve: list[tuple[float, float]], bound: float) -> list[float | None]:
    """Seconds after which the objective was first within each level."""
    return [next((t for t, p in curve if p <= bound * (1 + e)), None) for e in LEVELS]


# -- ours ------------------------------------------------------------------------------------------
def ours(name: str, rows, tags, c2: float, bound: float, limit: float) -> dict:
    begun = time.process_time()
    solver = OURS.get(name, SDCA())
    model = ChainSVM(alpha=2 * c2 / len(tags), objective="likelihood")
    problem = model._problem(rows, tags, None, None)
    solver.prepare(problem)
    problem.likelihood(problem.weights(problem.truth))
    ready = time.process_time() - begun
    begun = time.process_time()
    state = solver.init(problem)
    seconds = time.process_time() - begun
    curve, gap, first = [], float("inf"), None
    target = 1e-5 if name == "optimum" else LEVELS[-1]
    while state.epoch < PASSES:
        begun = time.process_time()
        solver.epoch(problem, state)
        state.epoch += 1
        seconds += time.process_time() - begun
        primal, dual = problem.primal(state.w), solver.bound(problem, state)
        curve.append((seconds, primal))
        gap = (primal - dual) / abs(primal)
        if gap <= LEVELS[-1] and first is None:
            first = seconds
        if gap <= target or (limit and seconds > SLOW * limit):
            break
    proof = f"proven to 1e-4 after {first:.2f} s" if first else f"proven to {gap:.1e}"
    metrics = (
        f"{state.epoch} passes of {seconds / state.epoch:.3f} s, {proof}, packing {ready:.1f} s"
    )
    return {"times": reached(curve, bound), "bound": dual, "seconds": seconds, "metrics": metrics}


# -- crfsuite --------------------------------------------------------------------------------------
def theirs(algorithm: str, rows, tags, c2: float, bound: float) -> dict:
    import pycrfsuite

    curve: list[tuple[float, float]] = []
    started = [0.0]
    n = len(tags)

    class Trainer(pycrfsuite.Trainer):
        def message(self, text):
            now = time.process_time()
            if text.startswith(("L-BFGS opt", "Stochastic")):
                started[0] = now
            if text.startswith("Loss: "):
                curve.append((now - started[0], float(text.split()[1]) / n))

    begun = time.process_time()
    trainer = Trainer(verbose=False)
    for x, y in zip(attributes(rows), tags, strict=True):
        trainer.append(x, y)
    trainer.select(algorithm)
    limits = {"epsilon": 1e-6} if algorithm == "lbfgs" else {}
    trainer.set_params(
        {
            "feature.possible_states": True,
            "feature.possible_transitions": True,
            "c2": c2,
            "delta": 1e-5,  # of the objective, over ten passes
            "max_iterations": PASSES if algorithm == "lbfgs" else 100,
        }
        | limits
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    ready = started[0] - begun
    passes, last = len(curve), curve[-1]
    metrics = f"{passes} passes of {last[0] / passes:.3f} s, ended at {last[1] / bound - 1:.1e}"
    return {"times": reached(curve, bound), "metrics": f"{metrics}, packing {ready:.1f} s"}


def attributes(rows):
    """Sentence by sentence, the names of each token's features; all features are 0 or 1."""
    matrix, row = rows.matrix, 0
    assert (matrix.data == 1).all()
    names = [str(j) for j in range(matrix.shape[1])]
    for length in rows.lengths:
        sentence = []
        for t in range(length):
            own = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
            ends = [name for name, at in (("first", 0), ("last", length - 1)) if t == at]
            sentence.append([*map(names.__getitem__, own), "bias", *ends])
            row += 1
        yield sentence


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:7]))
    else:
        main(tuple(sys.argv[1:]))
