"""How often an oracle that costs seconds is asked until the gap is 1 %.

A knapsack of 12 items as oracle, 40 samples, 6 features, three penalties. Calls are counted in
all, those of certificates included, and given for each sample, as every call costs the same:
with an oracle of a second, 40 samples and one process, 100 calls per sample are 67 minutes. Then
bcfw beside 1-slack cutting planes for more samples and weights, by which "auto" chooses.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin import StructuredSVM
from maxmargin.oracles import Oracle
from maxmargin.solvers import BCFW, OracleCache
from maxmargin.structures import OracleStructure

TARGET, LIMIT, SAMPLES, ITEMS, ROOM = 0.01, 300, 40, 12, 8


class Cheap(OracleStructure):
    """The same, trained as if a call cost no more than a step."""

    def _make_oracle(self) -> Oracle:
        found = super()._make_oracle()
        found.is_expensive = False
        return found


WAYS: dict[str, tuple[Any, type[OracleStructure]]] = {
    "no memory: fw": ("fw", Cheap),
    "no memory: bcfw, frank-wolfe": (BCFW(step="frank-wolfe"), Cheap),
    "remembered, no cached passes": (BCFW(cache=OracleCache(passes=0)), Cheap),
    "remembered, 5 cached passes": (BCFW(), Cheap),
    "expensive: bcfw": (BCFW(), OracleStructure),
    "expensive, a certificate each epoch": (BCFW(check_every=1), OracleStructure),
    "cutting-plane, 1-slack": ("cutting-plane", OracleStructure),
}
#: samples and weights
SIZES = (40, 6), (40, 20), (40, 60), (300, 6), (300, 20), (300, 60)


class Knapsack:
    """The best items for so much room, by dynamic programming; it counts its calls."""

    def __init__(self, weights: np.ndarray):
        self.weights, self.calls = weights, 0

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        self.calls += 1
        best, taken = np.zeros(ROOM + 1), np.zeros((len(theta), ROOM + 1), dtype=bool)
        for j, weight in enumerate(self.weights):
            gain = best[: ROOM + 1 - weight] + theta[j]
            taken[j, weight:] = gain > best[weight:]
            best[weight:] = np.maximum(best[weight:], gain)
        z, room = np.zeros(len(theta)), ROOM
        for j in range(len(theta) - 1, -1, -1):
            if taken[j, room]:
                z[j], room = 1.0, room - self.weights[j]
        return z


def calls(way: str, alpha: float, size: int = SAMPLES, width: int = 6) -> tuple[float, float]:
    """Calls a sample until the gap is small, or until the limit; and the gap."""
    solver, kind = WAYS[way]
    rng = np.random.default_rng(0)
    oracle = Knapsack(rng.integers(1, 5, ITEMS))
    w = rng.normal(size=width)
    X = [rng.normal(size=(ITEMS, width)) for _ in range(size)]
    y = [oracle(x @ w + rng.normal(0, 0.3, ITEMS)) for x in X]
    oracle.calls = 0

    def ask(theta: np.ndarray) -> np.ndarray:  # a function is not copied with its structure
        return oracle(theta)

    model = StructuredSVM(kind(ask), alpha=alpha, solver=solver, tol=TARGET, max_epochs=LIMIT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return oracle.calls / size, model.result_.relative_gap


def main() -> None:
    """Print the table."""
    alphas = (0.1, 0.01, 0.002)
    print(f"{'calls per sample to a gap of 1 %':36}" + "".join(f"alpha {a:<12g}" for a in alphas))
    for way in WAYS:
        cells = []
        for alpha in alphas:
            count, gap = calls(way, alpha)
            left = f" (at {gap:.0%})" if gap > TARGET else ""
            cells.append(f"{count:.0f}{left}")
        print(f"{way:36}" + "".join(f"{cell:18}" for cell in cells), flush=True)
    for size, width in SIZES:
        for way in ("expensive: bcfw", "cutting-plane, 1-slack"):
            found = "".join(f"{calls(way, alpha, size, width)[0]:<18.0f}" for alpha in alphas)
            print(f"{f'{size} x {width}, {way}':36}{found}", flush=True)


if __name__ == "__main__":
    main()
