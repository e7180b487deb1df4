"""Bipartite matchings: all of them, and their optimality conditions, in plain Python."""

from itertools import combinations, product

import numpy as np


def pairs(shape):
    return list(product(range(shape[0]), range(shape[1])))


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
