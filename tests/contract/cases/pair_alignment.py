"""Cases of `PairAlignment` for the batteries: alignments are listed by code of their own."""

from itertools import combinations, pairwise, product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import PairAlignment


def paths(m, n):
    """All ways through the grid: each match chosen, and the orders of steps between two matches."""
    for k in range(min(m, n) + 1):
        for rows, columns in product(combinations(range(m), k), combinations(range(n), k)):
            corners = [(-1, -1), *zip(rows, columns, strict=True), (m, n)]
            ways = [[]]
            for t, ((a, b), (i, j)) in enumerate(pairwise(corners)):
                steps = "d" * (i - a - 1) + "i" * (j - b - 1)
                orders = [order for order in {*orders_of(steps)} if fits(order, a, j, t == 0, n)]
                ways = [[*way, *order, *"m" * (i < m)] for way in ways for order in orders]
            yield from ways


def orders_of(steps):
    deletions = steps.count("d")
    for places in combinations(range(len(steps)), deletions):
        yield "".join("d" if at in places else "i" for at in range(len(steps)))


def fits(order, a, j, first, n):
    """Whether deletions come before insertions, but in the first row and the last column."""
    inserted = order.count("i")
    for at in range(1, len(order)):
        if order[at - 1 : at + 1] == "id":
            in_first_row = first and "d" not in order[:at]
            in_last_column = j == n and order[:at].count("i") == inserted
            if not (in_first_row or in_last_column):
                return False
    return True


def local_paths(m, n):
    yield (0, 0), []
    seen = set()
    for a, b in product(range(m), range(n)):
        for c, d in product(range(a, m), range(b, n)):
            for path in paths(c - a + 1, d - b + 1):
                if path[0] == path[-1] == "m" and ((a, b), tuple(path)) not in seen:
                    seen.add(((a, b), tuple(path)))
                    yield (a, b), path


def vertex(start, path, m, n, by_cell):
    """The parts of a path, as the page of the structure describes them."""
    rows, columns = (m + 1, n + 1) if by_cell else (3, 3)
    match = np.zeros((m, n))
    delete, insert = np.zeros((m, columns, 2)), np.zeros((rows, n, 2))
    (i, j), last = start, ""
    for step in path:
        row = i if by_cell else 0 if i == 0 else 2 if i == m else 1
        column = j if by_cell else 0 if j == 0 else 2 if j == n else 1
        if step == "m":
            match[i, j] = 1.0
        elif step == "d":
            delete[i, column, int(last == "d")] = 1.0
        else:
            insert[row, j, int(last == "i")] = 1.0
        i, j, last = i + (step != "i"), j + (step != "d"), step
    return np.concatenate([match.ravel(), delete.ravel(), insert.ravel()])


def case(local, gaps):
    def vertices(layout):
        found = local_paths(*layout) if local else (((0, 0), path) for path in paths(*layout))
        return [vertex(start, path, *layout, gaps == "cell") for start, path in found]

    name = f"pair-alignment-{'local' if local else 'global'}-{gaps}"
    sides = [(1, 1), (1, 3), (2, 2), (3, 2), (3, 3)]
    return Case(name, PairAlignment(local, gaps), vertices, sides, [(5, 4)])


def pair_alignment():
    """Strings of two to four symbols, from three features of each part."""
    rng, structure = np.random.default_rng(0), PairAlignment()
    X, y = [], []
    for layout in [(2, 3), (3, 2), (3, 3), (4, 2)] * 6:
        x = 0.3 * rng.normal(size=(structure.n_parts(layout), 3))
        X.append((x, layout))
        z = structure.maximize(x @ [1.0, -2.0, 0.5], layout)
        y.append(structure.decode(z, layout))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


STRUCTURES = [case(*kind) for kind in product((False, True), ("symbol", "cell"))]
ESTIMATORS = [pair_alignment]
