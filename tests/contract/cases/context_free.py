"""Cases of `ContextFree` for the batteries: trees are listed by code of their own."""

from itertools import product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import ContextFree

RULES = [("S", "S", "S"), ("S", "A", "S"), ("A", "S", "A"), ("S", "a"), ("A", "a"), ("S", "b")]


def trees(symbol, words, i, j):
    """All trees as lists of (rule, i, j)."""
    for rule in RULES:
        if rule[0] != symbol:
            continue
        if len(rule) == 2:
            if j == i + 1 and words[i] == rule[1]:
                yield [(rule, i, j)]
            continue
        for k in range(i + 1, j):
            sides = list(trees(rule[1], words, i, k)), list(trees(rule[2], words, k, j))
            for left, right in product(*sides):
                yield [(rule, i, j), *left, *right]


def vertices(words):
    n = len(words)
    spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    for tree in trees("S", words, 0, n):
        counts, symbols = np.zeros(len(RULES)), np.zeros((len(spans), 2))
        for rule, i, j in tree:
            counts[RULES.index(rule)] += 1.0
            symbols[spans.index((i, j)), "SA".index(rule[0])] = 1.0
        yield np.append(counts, symbols.ravel())


def context_free():
    """Sentences of two to four words, from three features of each part."""
    rng, structure = np.random.default_rng(0), ContextFree(RULES)
    X, y = [], []
    for layout in [("a", "b"), ("a", "a", "b"), ("b", "a", "a", "b")] * 6:
        x = 0.3 * rng.normal(size=(structure.n_parts(layout), 3))
        X.append((x, layout))
        y.append(structure.decode(structure.maximize(x @ [1.0, -2.0, 0.5], layout), layout))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


SENTENCES = [("a",), ("a", "b"), ("b", "a", "a"), ("a", "a", "b")]
STRUCTURES = [
    Case("context-free", ContextFree(RULES), vertices, SENTENCES, [("a", "b", "a", "a", "b")])
]
ESTIMATORS = [context_free]
