"""Cases of `Dependencies` for the batteries: trees are listed by code of their own."""

from itertools import combinations, pairwise, product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import Dependencies


def reaches_root(heads, word):
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def is_projective(heads):
    """Whether each arc spans only words that hang below its head."""
    for d, h in enumerate(heads, start=1):
        for between in range(min(d, h) + 1, max(d, h)):
            word = between
            while word not in (0, h):
                word = heads[word - 1]
            if word != h:
                return False
    return True


def trees(n, projective, single_root):
    for heads in product(range(n + 1), repeat=n):
        if not all(reaches_root(heads, word) for word in range(1, n + 1)):
            continue
        if (single_root and heads.count(0) > 1) or (projective and not is_projective(heads)):
            continue
        yield heads


def vertex(heads):
    n = len(heads)
    z = np.zeros((n, n + 1))
    z[np.arange(n), heads] = 1.0
    return z.ravel()


def with_siblings(heads):
    """A tree's arcs, then neighbouring dependents of a head: on its right, on its left."""
    n = len(heads)
    right, left = (
        {own: k for k, own in enumerate(sorted(combinations(words, 3), key=lambda c: c[::-1]))}
        for words in (range(n + 1), range(1, n + 1))
    )
    on = np.zeros(len(right) + len(left))
    for h in range(n + 1):
        own = [d for d in range(1, n + 1) if heads[d - 1] == h]
        for s, d in pairwise(own):
            if h < s:
                on[right[h, s, d]] = 1.0
            elif d < h:
                on[len(right) + left[s, d, h]] = 1.0
    return np.append(vertex(heads), on)


def case(projective, single_root):
    name = f"dependencies-{'projective' if projective else 'crossing'}"
    return Case(
        name if single_root else f"{name}-roots",
        Dependencies(projective, single_root),
        lambda layout: [vertex(heads) for heads in trees(*layout, projective, single_root)],
        [(1,), (2,), (3,), (4,)],
        [(7,)] if projective else [(5,)],
    )


def dependencies():
    """Trees of two to five words, from three features of each arc."""
    rng, structure = np.random.default_rng(0), Dependencies()
    X, y = [], []
    for n in [2, 3, 4, 5] * 6:
        x = rng.normal(size=(n * (n + 1), 3))
        X.append(x)
        y.append(structure.decode(structure.maximize(x @ [1.0, -2.0, 0.5], (n,)), (n,)))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


def sibling_case(single_root):
    return Case(
        f"dependencies-siblings{'' if single_root else '-roots'}",
        Dependencies(single_root=single_root, siblings=True),
        lambda layout: [with_siblings(heads) for heads in trees(*layout, True, single_root)],
        [(1,), (2,), (3,), (4,)],
        [(6,)],
    )


STRUCTURES = [case(*kind) for kind in product((True, False), repeat=2)]
STRUCTURES += [sibling_case(True), sibling_case(False)]
ESTIMATORS = [dependencies]
