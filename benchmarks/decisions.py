"""Regret of decisions by predicted costs: PyEPO's shortest paths and knapsacks, and real days.

Beside DecisionSVM stand least squares, SPO+ by Adam (20 epochs of n = 1,000, learning rate 0.01,
batches of 32, as PyEPO's notebooks have it; as many steps for n = 100) and perturbed Fenchel-Young
by Adam (one draw of noise 1). `--seeds 10 --notebooks 0` is the grid of PyEPO's paper.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks.measure import data_folder
from maxmargin import DecisionSVM
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

    def regret(self, predicted: np.ndarray, costs: np.ndarray) -> float:
        best = self.decide(costs)
        lost = -self.sign * (costs * (self.decide(predicted) - best)).sum()
        return 100 * lost / np.abs((costs * best).sum(axis=1)).sum()


def by_adam(
    own: Decider, X: np.ndarray, costs: np.ndarray, worst: Callable, epochs: int, seed: int = 0
) -> np.ndarray:
    """Weights by Adam, the gradient of an instance being 2 x (best - worst(predicted, true))."""
    rng, ones = np.random.default_rng(seed), np.column_stack([X, np.ones(len(X))])
    W = rng.uniform(-1, 1, (ones.shape[1], costs.shape[1])) / np.sqrt(X.shape[1])
    first, second, t, best = np.zeros_like(W), np.zeros_like(W), 0, own.decide(costs)
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for start in range(0, len(X), 32):
            i, t = order[start : start + 32], t + 1
            z = own.decide(worst(ones[i] @ W, costs[i], rng))
            gradient = -own.sign * 2 * ones[i].T @ (best[i] - z) / len(i)
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            W -= 0.01 * step
    return W


def spo_plus(predicted: np.ndarray, costs: np.ndarray, rng: Any) -> np.ndarray:
    return 2 * predicted - costs


def perturbed(predicted: np.ndarray, costs: np.ndarray, rng: Any) -> np.ndarray:
    return predicted + rng.normal(size=predicted.shape)


def compare(
    structure: Structure, sense: str, X: Any, test_X: Any, costs: Any, test: Any
) -> dict[str, tuple[float, float, float]]:
    """Regret in percent, seconds and oracle calls of each method."""
    found, epochs = {}, 20 if len(X) >= 1000 else 20_000 // len(X)
    for name, alpha in (("least squares", LEAST_SQUARES), ("DecisionSVM", "cv")):
        start, own = time.perf_counter(), Decider(structure, sense)
        model = DecisionSVM(structure, sense, alpha=alpha).fit(X, costs)
        seconds = time.perf_counter() - start
        found[name] = own.regret(model.predict_costs(test_X), test), seconds, np.nan
    for name, worst in (("SPO+ by Adam", spo_plus), ("Fenchel-Young", perturbed)):
        start, own = time.perf_counter(), Decider(structure, sense)
        scale = 1.0 if worst is spo_plus else np.abs(costs).mean()
        W = by_adam(own, X, costs / scale, worst, epochs)
        seconds, calls = time.perf_counter() - start, own.calls
        predicted = np.column_stack([test_X, np.ones(len(test_X))]) @ W
        found[name] = own.regret(predicted, test), seconds, calls
    return found


def report(title: str, runs: Sequence[dict[str, tuple[float, float, float]]]) -> None:
    cells = []
    for name in runs[0]:
        regret = [run[name][0] for run in runs]
        spread = f" +- {np.std(regret):.2f}" if len(runs) > 1 else ""
        cells.append(f"{name} {np.mean(regret):.2f}{spread} ({runs[0][name][1]:.1f} s)")
    print(f"{title}: " + "; ".join(cells), flush=True)


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


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--notebooks", type=int, default=1)
    found = parser.parse_args(list(options))
    if found.notebooks:
        notebooks()
        energy()
    for make in (make_paths, make_knapsacks):
        for n in (100, 1000):
            for noise in (0.0, 0.5):
                for degree in (1, 2, 4, 6):
                    runs = []
                    for seed in range(found.seeds):
                        structure, sense, X, costs = make(n + 1000, degree, noise, seed)
                        split = X[:n], X[n:], costs[:n], costs[n:]
                        runs.append(compare(structure, sense, *split))
                    report(f"{make.__name__} n={n} noise={noise} degree={degree}", runs)


if __name__ == "__main__":
    main()
