"""Training on engines: CoNLL-2000 by one process, Ray and Dask; and a cluster that is simulated.

The simulated cluster runs tasks one after the other and counts the time that they would take on
machines side by side: that of the slowest task of each round, a latency for each round, and the
bytes that travel through the driver's network.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings

import numpy as np

from benchmarks.measure import data_folder
from maxmargin.datasets import load_conll2000
from maxmargin.parallel import DaskEngine, RayEngine, SerialEngine
from maxmargin.tasks import SequenceTagger


class SimulatedCluster(SerialEngine):
    """Machines of which each has one task at a time; `clock` is the time that they would take."""

    def __init__(self, latency: float, bandwidth: float, **options):
        super().__init__(**options)
        self.latency, self.bandwidth, self.clock, self.seconds = latency, bandwidth, 0.0, 0.0

    def run(self, function, arguments):
        machines = np.zeros(int(self.n_workers))
        kept, told = [], []
        for k, own in enumerate(arguments):
            begun = time.perf_counter()
            first, second = function(*own)
            spent = time.perf_counter() - begun
            machines[k % len(machines)] += spent
            self.seconds += spent
            moved = sum(a.nbytes for a in own if isinstance(a, np.ndarray))
            moved += len(pickle.dumps(second))
            self.clock += moved / self.bandwidth
            kept.append(first)
            told.append(second)
        self.clock += machines.max() + self.latency
        return kept, told


def fit(engine, sentences, tags, **options):
    """Seconds and records of a fit; what is compiled or started is ready before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SequenceTagger(max_epochs=1, engine=engine).fit(sentences[:40], tags[:40])
        if isinstance(engine, SimulatedCluster):
            engine.clock = engine.seconds = 0.0
        begun = time.perf_counter()
        tagger = SequenceTagger(engine=engine, **options).fit(sentences, tags)
    return time.perf_counter() - begun, tagger.result_


def main(arguments: list[str] | None = None) -> None:
    folder = data_folder("conll2000")
    if folder is None:
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks engines")
    parser.add_argument("--sentences", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tol", type=float, default=0.1)
    parser.add_argument("--scale", type=float, default=None)
    parser.add_argument("--only", default="none,ray,dask,simulated")
    chosen = parser.parse_args(arguments or [])
    data = load_conll2000("train", folder)
    text = data.sentences[: chosen.sentences], data.tags[: chosen.sentences]
    options = {"rounds": chosen.rounds, "scale": chosen.scale}
    makers = {
        "none": [lambda: None],
        "ray": [
            lambda: RayEngine(n_workers=1, rounds=1),
            lambda: RayEngine(n_workers=2, **options),
        ],
        "dask": [
            lambda: DaskEngine(n_workers=1, rounds=1),
            lambda: DaskEngine(n_workers=2, **options),
        ],
        "simulated": [
            lambda k=k, wait=wait: SimulatedCluster(wait, 1e9, n_workers=k, rounds=chosen.rounds)
            for k in (2, 8)
            for wait in (0.0, 0.01)
        ],
    }
    for name in chosen.only.split(","):
        for make in makers[name]:
            engine = make()
            seconds, result = fit(engine, *text, tol=chosen.tol, max_epochs=60)
            last = result.history[-1]
            shown = "" if engine is None else f" {engine.n_workers} x {engine.rounds}"
            if isinstance(engine, SimulatedCluster):
                shown += f", {1000 * engine.latency:g} ms: {engine.clock:.1f} s of the cluster"
            print(
                f"  {name}{shown}: fit {seconds:.1f} s, training {last.seconds:.1f} s,"
                f" {last.epoch} passes, gap {100 * last.gap / last.primal:.2f} %"
                f" { ({k: round(v, 2) for k, v in last.extra.items()}) }",
                flush=True,
            )
            if engine is not None:
                engine.close()
