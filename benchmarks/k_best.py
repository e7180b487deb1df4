"""The k best labels: of paths as trees beside chains, same scores, and of bushy trees."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import best_time
from maxmargin.structures import Chain, Tree
from maxmargin.structures.network.network import Network
from maxmargin.structures.tree.layout import TreeLayout

LABELS = 10


def main() -> None:
    rng = np.random.default_rng(0)
    print("  nodes  k     chain ms  path as a tree ms  (times)  bushy tree ms")
    for nodes in (20, 200):
        edges = np.column_stack([np.arange(nodes - 1), np.arange(1, nodes)])
        path = TreeLayout(Network(nodes, edges), LABELS)
        edges[:, 0] = [rng.integers(v) for v in range(1, nodes)]
        bushy = TreeLayout(Network(nodes, edges), LABELS)
        theta = rng.standard_normal(Tree().n_parts(path))
        for k in (2, 10, 100):
            _compare(theta, path, bushy, k)


def _compare(theta: np.ndarray, path: TreeLayout, bushy: TreeLayout, k: int) -> None:
    layout = path.n_nodes, LABELS
    chain = best_time(lambda: Chain().k_best(theta, layout, k))
    tree = best_time(lambda: Tree().k_best(theta, path, k))
    other = best_time(lambda: Tree().k_best(theta, bushy, k))
    values = [np.array([v for _, v in s.k_best(theta, at, k)])
              for s, at in ((Chain(), layout), (Tree(), path))]  # fmt: skip
    assert np.abs(values[0] - values[1]).max() <= 1e-9
    print(
        f"  {path.n_nodes:5}  {k:4} {1e3 * chain:9.2f} {1e3 * tree:18.2f} {tree / chain:8.1f}"
        f" {1e3 * other:14.2f}"
    )
