"""Training on engines: CoNLL-2000 by one process, by engines, and on a cluster that is simulated.

The simulated cluster makes calls one after the other and counts the processor time that they would
take on machines side by side: that of the slowest call of each round, a latency for each round, and
the bytes that travel through the driver's network. Other work on this machine hardly changes it.
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
from maxmargin.tasks import SequenceTagger

#: bytes per second of the driver's network
BANDWIDTH = 1e9


class SimulatedCluster(SerialEngine):
    """Machines of which each makes one call at a time; `clock` is the time that they would take."""

    def __init__(self, latency: float, **options):
        super().__init__(**options)
        self.latency, self.clock = latency, 0.0
        self._busy = np.zeros(int(self.n_workers))

    def submit(self, worker, function, *arguments):
        begun = time.thread_time()
        found = function(*arguments)
        self._busy[worker] += time.thread_time() - begun
        self.clock += len(pickle.dumps((arguments, found))) / BANDWIDTH
        return found

    def result(self, future):
        if self._busy.any():  # the first one that is awaited
            self.clock += self._busy.max() + self.latency
            self._busy[:] = 0.0
        return future


def fit(engine, sentences, tags, **options):
    """Result of a fit, and processor time of this process for it; all is compiled before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SequenceTagger(max_epochs=1, engine=engine).fit(sentences[:40], tags[:40])
        if isinstance(engine, SimulatedCluster):
            engine.clock = 0.0
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
    parser.add_argument("--latency", type=float, default=0.001)
    parser.add_argument("--tol", type=float, default=0.1)
    parser.add_argument("--only", default="none,simulated,processes")
    chosen = parser.parse_args(arguments or [])
    data = load_conll2000("train", folder)
    text = data.sentences[: chosen.sentences], data.tags[: chosen.sentences]
    for name in chosen.only.split(","):
        for n_workers in [1] if name == "none" else chosen.workers:
            options = {"n_workers": n_workers, "rounds": chosen.rounds}
            engine = SimulatedCluster(chosen.latency, **options) if name == "simulated" else None
            if name not in ("none", "simulated"):
                engine = resolve_engine(name, **options)
            result, processor = fit(engine, *text, tol=chosen.tol, max_epochs=60)
            last = result.history[-1]
            shown = f", {engine.clock:.1f} s of the cluster" if name == "simulated" else ""
            print(
                f"  {name} x {n_workers}: training {last.seconds:.1f} s, processor time of the fit"
                f" {processor:.1f} s{shown}, {last.epoch} passes, gap"
                f" {100 * last.gap / last.primal:.2f} %"
                f" { ({k: round(v, 2) for k, v in last.extra.items()}) }",
                flush=True,
            )
            if engine is not None:
                engine.close()
