"""Training on engines: CoNLL-2000 by one process, by engines, and on a cluster that is simulated.

The simulated cluster makes calls one after the other and counts the processor time that a pass
would take on machines side by side: that of the slowest call of each round, a latency for each
round, the bytes that travel through the driver's network, and the joining of directions. Other work
on this machine hardly changes it. Beside it stands what the formula of docs/scaling.md says.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings

import numpy as np

from benchmarks.measure import data_folder
from maxmargin.datasets import load_conll2000
from maxmargin.parallel import SerialEngine, resolve_engine
from maxmargin.parallel.worker import run_command
from maxmargin.tasks import SequenceTagger

#: bytes per second of the driver's network
BANDWIDTH = 1e9
#: seconds of steps for a sentence, of the rest of a visit, and of joining two directions
STEPS, VISIT, JOIN = 4e-5, 0.016, 3e-4
#: bytes of a visit of a thousand sentences; they grow as its square root
BYTES = 2.2e6


class SimulatedCluster(SerialEngine):
    """Machines of which each makes one call at a time; `clock` is the time that passes take."""

    def __init__(self, **options):
        super().__init__(**options)
        self.begin()

    def begin(self):
        self.clock, self.n_calls = 0.0, 0
        self._busy, self._left = np.zeros(int(self.n_workers)), time.thread_time()

    def submit(self, worker, function, *arguments):
        begun = time.thread_time()
        is_first = not self._busy.any()
        found = function(*arguments)
        if {"visit", "end"} & {own for own in arguments if isinstance(own, str)}:
            self.clock += begun - self._left if is_first else 0.0
            self._busy[worker] += time.thread_time() - begun
            if function is run_command:  # others bring the samples, once
                self.clock += len(pickle.dumps((arguments, found))) / BANDWIDTH
        return found

    def result(self, future):
        if self._busy.any():  # the first one that is awaited
            self.clock += self._busy.max()
            self.n_calls += 1
            self._busy[:] = 0.0
        self._left = time.thread_time()
        return future


def predict(n: int, n_workers: int, rounds: int, latency: float) -> float:
    """Seconds of a pass over n sentences, as docs/scaling.md says."""
    size = BYTES * np.sqrt(n / n_workers / rounds / 1000)
    joining = n_workers**2 * (size / BANDWIDTH + JOIN)
    return n * STEPS / n_workers + (2 * rounds + 1) * (VISIT + latency) + 2 * rounds * joining


def fit(engine, sentences, tags, **options):
    """Result of a fit, and processor time of this process for it; all is compiled before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SequenceTagger(max_epochs=1, engine=engine).fit(sentences[:40], tags[:40])
        if isinstance(engine, SimulatedCluster):
            engine.begin()
        begun = time.thread_time()
        tagger = SequenceTagger(engine=engine, **options).fit(sentences, tags)
    return tagger.result_, time.thread_time() - begun


def main(arguments: list[str] | None = None) -> None:
    folder = data_folder("conll2000")
    if folder is None:
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks engines")
    parser.add_argument("--sentences", type=int, default=None)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0, 0.001, 0.02])
    parser.add_argument("--tol", type=float, default=0.1)
    parser.add_argument("--only", default="none,simulated,processes")
    chosen = parser.parse_args(arguments or [])
    data = load_conll2000("train", folder)
    text = data.sentences[: chosen.sentences], data.tags[: chosen.sentences]
    for name in chosen.only.split(","):
        for n_workers in [1] if name == "none" else chosen.workers:
            options = {"n_workers": n_workers, "rounds": chosen.rounds}
            engine = SimulatedCluster(**options) if name == "simulated" else None
            if name not in ("none", "simulated"):
                engine = resolve_engine(name, **options)
            result, processor = fit(engine, *text, tol=chosen.tol, max_epochs=60)
            last = result.history[-1]
            print(
                f"  {name} x {n_workers}: training {last.seconds:.1f} s, processor time of the fit"
                f" {processor:.1f} s, {last.epoch} passes, gap"
                f" {100 * last.gap / last.primal:.2f} %"
                f" { ({k: round(v, 2) for k, v in last.extra.items()}) }",
                flush=True,
            )
            for latency in chosen.latency if name == "simulated" else []:
                clock = engine.clock + latency * engine.n_calls
                expected = predict(len(text[0]), n_workers, chosen.rounds, latency)
                print(
                    f"    at a latency of {1000 * latency:g} ms a pass takes"
                    f" {clock / last.epoch:.2f} s, by the formula {expected:.2f}",
                    flush=True,
                )
            if engine is not None:
                engine.close()
