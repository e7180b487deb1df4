"""Cases of `GeneralMatching` and `GeneralMatchingSVM` for the batteries."""

from itertools import combinations, product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import GeneralMatchingSVM
from maxmargin.structures import GeneralMatching, Network


def complete(n):
    return Network(n, list(combinations(range(n), 2)))


def cycle(n):
    return Network(n, [(v, (v + 1) % n) for v in range(n)])


def vertices(perfect):
    def listed(layout):
        edges = layout.edges.tolist()
        for count in range(layout.n_nodes // 2 + 1):
            for chosen in combinations(range(len(edges)), count):
                nodes = {v for e in chosen for v in edges[e]}
                if len(nodes) == 2 * count and (not perfect or len(nodes) == layout.n_nodes):
                    yield np.isin(np.arange(len(edges)), chosen).astype(float)

    return listed


def capped(caps, perfect):
    """All sets of edges, of which those are kept that have few enough at each node."""

    def listed(layout):
        for z in product((0.0, 1.0), repeat=layout.n_edges):
            counts = np.bincount(layout.edges.ravel(), np.repeat(z, 2), layout.n_nodes)
            if (counts <= caps).all() and (not perfect or (counts == caps).all()):
                yield np.array(z)

    return listed


def general_matching():
    """Pairs of six nodes, learned from their differences."""
    rng = np.random.default_rng(4)
    structure, layout = GeneralMatching(), complete(6)
    above = np.triu(np.ones((6, 6)), 1)[:, :, None]
    X = [rng.normal(size=(6, 6, 3)) * above for _ in range(20)]
    rows, columns = layout.edges.T
    y = []
    for x in X:
        theta = x[rows, columns] @ [2.0, -1.0, 1.0] + 0.3 * rng.normal(size=len(rows))
        y.append(structure.decode(structure.maximize(theta, layout), layout))
    return Kind(GeneralMatchingSVM(alpha=0.05), X, y)


ESTIMATORS = [general_matching]
STRUCTURES = [
    Case(
        "general-matching",
        GeneralMatching(),
        vertices(False),
        [complete(2), complete(3), complete(5), cycle(5), Network(7, [*cycle(7).edges, (0, 3)])],
        [complete(9), cycle(11)],
    ),
    Case(
        "perfect-matching",
        GeneralMatching(perfect=True),
        vertices(True),
        [complete(2), complete(4), complete(6), cycle(6)],
        [complete(10)],
    ),
    Case(
        "capped-matching",
        GeneralMatching(cap=2),
        capped(2, False),
        [complete(2), complete(4), complete(5), cycle(5)],
        [],
    ),
    Case(
        "perfect-capped-matching",
        GeneralMatching(perfect=True, cap=[2, 1, 2, 3, 2]),
        capped([2, 1, 2, 3, 2], True),
        [complete(5)],
        [],
    ),
]
