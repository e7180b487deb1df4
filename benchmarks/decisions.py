"""Regret of decisions by predicted costs: PyEPO's shortest paths and knapsacks, and real days.

Beside DecisionSVM stand least squares, SPO+ by Adam (20 epochs of n = 1,000, learning rate 0.01,
batches of 32, as PyEPO's notebooks have it; as many steps for n = 100) and perturbed Fenchel-Young
by Adam (one draw of noise 1). `--seeds 10 --notebooks 0` is the grid of PyEPO's paper; `--out FILE`
writes each run as a line of JSON and leaves out those that the file has. "Calls" are all calls of
the oracle: decisions by true costs, passes, certificates, and for "calls" those by which alpha is
chosen; "last fit" is without the latter. Adam's regret is looked at after every 1,000 calls, ours
after every pass of the last fit.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks.measure import data_folder
from maxmargin import DecisionSVM
from maxmargin.callbacks import Callback
from maxmargin.datasets import load_energy_knapsack
from maxmargin.features import Group, pack
from maxmargin.problem import Samples
from maxmargin.structures import Knapsack, ShortestPath, Structure

OPTIONS = True
GRID, NODES = 5, 25
LEAST_SQUARES = 1e9  # an alpha at which the prior is all there is


def grid_edges(size: int = GRID) -> list[tuple[int, int]]:
    """Edges right and down, in PyEPO's order."""
    edges = []
    for i in range(size):
        edges += [(i * size + j, i * size + j + 1) for j in range(size - 1)]
        if i < size - 1:
            edges += [(i * size + j, (i + 1) * size + j) for j in range(size)]
    return edges


def make_paths(n: int, degree: int, noise: float, seed: int, p: int = 5) -> tuple[Any, ...]:
    """Draw PyEPO's shortest paths: structure, sense, features, costs."""
    rng, edges = np.random.RandomState(seed), grid_edges()
    B, x = rng.binomial(1, 0.5, (len(edges), p)), rng.normal(0, 1, (n, p))
    c = ((x @ B.T / np.sqrt(p) + 3) ** degree + 1) / 3.5**degree
    c *= rng.uniform(1 - noise, 1 + noise, c.shape)
    structure = ShortestPath(edges, 0, NODES - 1)
    return structure, "min", *(own.astype(np.float32).astype(float) for own in (x, c))


def make_knapsacks(
    n: int, degree: int, noise: float, seed: int, p: int = 5, items: int = 32
) -> tuple[Any, ...]:
    """Draw PyEPO's knapsacks of two dimensions: structure, sense, features, values."""
    rng = np.random.RandomState(seed)
    weights = rng.choice(range(300, 800), (2, items)) / 100
    B, x = rng.binomial(1, 0.5, (items, p)), rng.normal(0, 1, (n, p))
    c = 5 * ((x @ B.T / np.sqrt(p) + 3) ** degree + 1) / 3.5**degree
    c *= rng.uniform(1 - noise, 1 + noise, c.shape)
    return Knapsack(weights, 20), "max", x, np.ceil(c)


class Decider:
    """Best decisions for given costs, and how many were asked for."""

    def __init__(self, structure: Structure, sense: str):
        self.structure, self.sign, self.calls = structure, 1.0 if sense == "max" else -1.0, 0

    def decide(self, costs: np.ndarray) -> np.ndarray:
        n, parts = costs.shape
        self.calls += n
        rows = Group(sparse.csr_array((n, 1)), np.ones(n, dtype=np.int64), parts, 0)
        layouts = [self.structure.layout_of(parts)] * n
        scores = self.sign * costs.ravel()
        samples = Samples(self.structure, layouts, pack([rows], parts), scores)
        z = np.empty(n * parts)
        samples.apply("maximize", np.zeros(parts), out=z)
        return z.reshape(n, parts)

    def regret(self, predicted: np.ndarray, costs: np.ndarray, best: Any = None) -> float:
        best = self.decide(costs) if best is None else best
        lost = -self.sign * (costs * (self.decide(predicted) - best)).sum()
        return 100 * lost / np.abs((costs * best).sum(axis=1)).sum()


def by_adam(
    own: Decider, X: np.ndarray, costs: np.ndarray, worst: Callable, epochs: int, seed: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """Weights by Adam after each 1,000 calls; the gradient is 2 x (best - worst(predicted, true)).

    Yields the number of calls, and the weights.
    """
    rng, ones = np.random.default_rng(seed), np.column_stack([X, np.ones(len(X))])
    W = rng.uniform(-1, 1, (ones.shape[1], costs.shape[1])) / np.sqrt(X.shape[1])
    first, second, t, best = np.zeros_like(W), np.zeros_like(W), 0, own.decide(costs)
    calls, told = len(X), 0
    for epoch in range(epochs):
        order = rng.permutation(len(X))
        for start in range(0, len(X), 32):
            i, t = order[start : start + 32], t + 1
            z = own.decide(worst(ones[i] @ W, costs[i], rng))
            gradient = -own.sign * 2 * ones[i].T @ (best[i] - z) / len(i)
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            W -= 0.01 * step
        calls += len(X)
        if calls >= told + 1000 or epoch == epochs - 1:
            told = calls
            yield calls, W


def spo_plus(predicted: np.ndarray, costs: np.ndarray, rng: Any) -> np.ndarray:
    return 2 * predicted - costs


def perturbed(predicted: np.ndarray, costs: np.ndarray, rng: Any) -> np.ndarray:
    return predicted + rng.normal(size=predicted.shape)


class Calls(Callback):
    """Oracle calls while it is entered: all, those of the last fit, and weights on its way."""

    def __init__(self) -> None:
        self.n_calls, self.n_before = 0, 0
        self.weights: list[tuple[int, np.ndarray]] = []

    def on_start(self, run: Any) -> None:
        self.n_before = self.n_calls

    def on_epoch(self, run: Any) -> None:
        self.weights.append((self.n_calls - self.n_before, run.state.w.copy()))

    def __enter__(self) -> Calls:
        apply, sweep = self._replaced = Samples.apply, Samples.sweep

        def counted_apply(samples: Samples, ability: str, *rest: Any, **more: Any) -> Any:
            self.n_calls += samples.n
            return apply(samples, ability, *rest, **more)

        def counted_sweep(samples: Samples, order: np.ndarray, *rest: Any, **more: Any) -> Any:
            self.n_calls += len(order) if more.get("known") is None else 0
            return sweep(samples, order, *rest, **more)

        Samples.apply, Samples.sweep = counted_apply, counted_sweep  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        Samples.apply, Samples.sweep = self._replaced  # type: ignore[method-assign]


def fit_model(
    structure: Structure, sense: str, alpha: Any, X: Any, test_X: Any, costs: Any, test: Any
) -> dict[str, Any]:
    """Regret in percent, seconds, calls of the oracle, those of the last fit, and on its way."""
    with Calls() as calls:
        start = time.process_time()
        model = DecisionSVM(structure, sense, alpha=alpha, callbacks=[calls]).fit(X, costs)
        seconds = time.process_time() - start
    own, truths = Decider(structure, sense), len(X)  # calls for decisions by true costs
    best = own.decide(test)
    found = {
        "regret": own.regret(model.predict_costs(test_X), test, best),
        "seconds": seconds,
        "calls": calls.n_calls,
        "last": truths + calls.n_calls - calls.n_before,
        "curve": [],
    }
    for n_calls, w in calls.weights:
        model.coef_ = model.prior_ + w
        regret = own.regret(model.predict_costs(test_X), test, best)
        found["curve"].append((truths + n_calls, regret))
    return found


def fit_by_adam(
    structure: Structure, sense: str, worst: Callable, X: Any, test_X: Any, costs: Any, test: Any
) -> dict[str, Any]:
    """The same, and the regret on the way."""
    own, epochs = Decider(structure, sense), max(20, 20_000 // len(X))
    scale = 1.0 if worst is spo_plus else np.abs(costs).mean()
    ones, seconds, curve = np.column_stack([test_X, np.ones(len(test_X))]), 0.0, []
    best = own.decide(test)
    start = time.process_time()
    for calls, W in by_adam(own, X, costs / scale, worst, epochs):
        seconds += time.process_time() - start
        if worst is spo_plus or calls == (epochs + 1) * len(X):
            curve.append((calls, own.regret(ones @ W, test, best)))
        start = time.process_time()
    return {"regret": curve[-1][1], "seconds": seconds, "calls": curve[-1][0], "curve": curve}


METHODS: dict[str, tuple[Callable, Any]] = {
    "least squares": (fit_model, LEAST_SQUARES),
    "DecisionSVM": (fit_model, "cv"),
    "SPO+ by Adam": (fit_by_adam, spo_plus),
    "Fenchel-Young": (fit_by_adam, perturbed),
}


def compare(structure: Structure, sense: str, *split: Any) -> dict[str, dict[str, Any]]:
    return {name: fit(structure, sense, option, *split) for name, (fit, option) in METHODS.items()}


def report(title: str, runs: Sequence[dict[str, dict[str, Any]]]) -> None:
    """Print mean and spread of the regret, mean seconds and calls; then Adam's to our regret."""
    cells = []
    for name in METHODS:
        own = [run[name] for run in runs]
        regret, seconds, calls = (
            np.array([one[key] for one in own]) for key in ("regret", "seconds", "calls")
        )
        spread = f" +- {regret.std():.2f}" if len(runs) > 1 else ""
        cells.append(
            f"{name} {regret.mean():.2f}{spread} ({seconds.mean():.1f} s, {calls.mean():.0f} calls)"
        )
    pair = "SPO+ by Adam", "DecisionSVM"
    theirs, ours = (
        np.median([_calls_to(run[one]["curve"], run[other]["regret"]) for run in runs])
        for one, other in (pair, pair[::-1])
    )
    last = np.mean([run["DecisionSVM"]["last"] for run in runs])
    print(
        f"{title}: {'; '.join(cells)}; last fit {last:.0f} calls, to Adam's regret {ours:.0f}, SPO+"
        f" by Adam to our regret {theirs:.0f}",
        flush=True,
    )


def _calls_to(curve: Sequence[tuple[int, float]], regret: float) -> float:
    return next((calls for calls, own in curve if own <= regret), np.inf)


def notebooks() -> None:
    """Notebooks 03 and 05, with the splits that they print figures for."""
    structure, sense, X, costs = make_paths(2000, 4, 0.5, 42)
    split = train_test_split(X, costs, test_size=1000, random_state=42)
    report(
        "notebook 03, SPO+ printed 7.59, least squares 8.58", [compare(structure, sense, *split)]
    )
    for n in (100, 1000):
        structure, sense, X, costs = make_knapsacks(n + 1000, 6, 0.5, 135, items=16)
        split = train_test_split(X, costs, test_size=1000, random_state=246)
        title = f"notebook 05, n = {n}, SPO+ printed 6.27 for 100"
        report(title, [compare(structure, sense, *split)])


def energy() -> None:
    """Real half-hours: the last fifth of the days, mean relative regret."""
    folder = data_folder("energy_knapsack")
    if folder is None:
        return
    data = load_energy_knapsack(folder)
    cut = len(data.X) - len(data.X) // 5
    price = data.X[:, :, data.feature_names.index("forecast_price")] * data.weights
    for capacity in data.capacities:
        own = Decider(Knapsack(data.weights, capacity), "max")
        model = DecisionSVM(own.structure, "max").fit(data.X[:cut], data.y[:cut])
        best = (data.y[cut:] * own.decide(data.y[cut:])).sum(axis=1)
        shares = {}
        costs = {"forecast price": price[cut:], "DecisionSVM": model.predict_costs(data.X[cut:])}
        for name, predicted in costs.items():
            shares[name] = np.mean(1 - (data.y[cut:] * own.decide(predicted)).sum(axis=1) / best)
        text = "; ".join(f"{name} {share:.4f}" for name, share in shares.items())
        print(f"energy, capacity {capacity}: {text}", flush=True)


def run_grid(seeds: int, out: Path | None) -> None:
    """All cells, seed by seed, so that a part of the grid is a grid of fewer seeds."""
    makers = {"paths": make_paths, "knapsacks": make_knapsacks}
    cells = list(product(makers, (100, 1000), (0.0, 0.5), (1, 2, 4, 6)))
    known: dict[Any, dict[str, Any]] = defaultdict(dict)
    for line in out.read_text().splitlines() if out is not None and out.exists() else ():
        one = json.loads(line)
        known[tuple(one["cell"]), one["seed"]][one["method"]] = one
    for seed in range(seeds):
        for cell in cells:
            kind, n, noise, degree = cell
            structure, sense, X, costs = makers[kind](n + 1000, degree, noise, seed)
            for name, (fit, option) in METHODS.items():
                if name in known[cell, seed]:
                    continue
                found = fit(structure, sense, option, X[:n], X[n:], costs[:n], costs[n:])
                known[cell, seed][name] = found
                if out is not None:
                    line = json.dumps({"cell": cell, "seed": seed, "method": name, **found})
                    with out.open("a") as file:
                        file.write(line + "\n")
    for cell in cells:
        title = "{} n={} noise={} degree={}".format(*cell)
        report(title, [known[cell, seed] for seed in range(seeds)])


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--notebooks", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    found = parser.parse_args(list(options))
    if found.notebooks:
        notebooks()
        energy()
    run_grid(found.seeds, found.out)


if __name__ == "__main__":
    main()
