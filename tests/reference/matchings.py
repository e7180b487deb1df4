"""Bipartite matchings: all of them, and their optimality conditions, in plain Python."""

from itertools import combinations, product

import numpy as np


def pairs(layout):
    return list(product(range(layout[0]), range(layout[1])))


def vertices(edges, row_caps, column_caps):
    """All sets of edges with no node in more than its cap, as 0/1 vectors in the edges' order."""
    edges = [tuple(int(v) for v in edge) for edge in edges]
    for size in range(len(edges) + 1):
        for chosen in combinations(range(len(edges)), size):
            rows = [edges[e][0] for e in chosen]
            columns = [edges[e][1] for e in chosen]
            if all(rows.count(j) <= row_caps[j] for j in rows) and all(
                columns.count(k) <= column_caps[k] for k in columns
            ):
                yield np.isin(np.arange(len(edges)), chosen).astype(float)


def violations(point, z, prices, edges, row_caps, column_caps):
    """How far z and prices are from the conditions of the nearest point, the worst of each kind.

    z = clip(point - a_j - b_k, 0, 1), where the upper bound has a price of its own only if both
    ends may have several links; sums at most the caps; prices >= 0, and 0 where a sum is below.
    """
    edges = np.asarray(edges, dtype=int).reshape(-1, 2)
    caps = np.asarray(row_caps), np.asarray(column_caps)
    a, b = prices[: len(caps[0])], prices[len(caps[0]) :]
    value = point - a[edges[:, 0]] - b[edges[:, 1]]
    several = (caps[0][edges[:, 0]] > 1) & (caps[1][edges[:, 1]] > 1)
    expected = np.maximum(value, 0.0)
    expected[several] = np.minimum(expected[several], 1.0)
    found = {"stationary": np.abs(z - expected).max(initial=0.0)}
    found["negative"] = max(0.0, -prices.min(initial=0.0))
    found["above"] = found["slack"] = 0.0
    for side, price in enumerate((a, b)):
        left = caps[side] - np.bincount(edges[:, side], z, minlength=len(caps[side]))
        found["above"] = max(found["above"], -left.min(initial=0.0))
        found["slack"] = max(found["slack"], np.minimum(price, left).max(initial=0.0))
    return found
