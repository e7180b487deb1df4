"""Cases of `Derivations` for the batteries: outputs are listed by code of their own."""

from itertools import product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import Deduction, Derivations
from reference import chains


def brackets(n):
    """All binary trees over n words; a part for each span of two words or more but the whole."""
    program, part = Deduction(), {}
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            if width == 1:
                program.add((i, j))
                continue
            if width < n:
                part[i, j] = len(part)
            for k in range(i + 1, j):
                program.add((i, j), [(i, k), (k, j)], [part[i, j]] if width < n else [])
    return program.layout((0, n), max(len(part), 1)), part


def bracket_vertices(n, part):
    def spans(i, j):
        own = {(i, j)} & set(part)
        if j - i == 1:
            return [own]
        splits = [(spans(i, k), spans(k, j)) for k in range(i + 1, j)]
        return [a | b | own for left, right in splits for a, b in product(left, right)]

    for found in spans(0, n):
        z = np.zeros(max(len(part), 1))
        z[[part[span] for span in found]] = 1.0
        yield z


def chain(length, labels):
    """The outputs of a tied `Chain`: parts of pairs are counts."""
    program = Deduction()
    for t, label in product(range(length), range(labels)):
        if t == 0:
            program.add((t, label), parts=[label])
        for left in range(labels if t else 0):
            pair = length * labels + left * labels + label
            program.add((t, label), [(t - 1, left)], [t * labels + label, pair])
    for label in range(labels):
        program.add("end", [(length - 1, label)])
    return program.layout("end", length * labels + labels**2)


def chain_vertices(sides):
    return [chains.vertex(y, sides, True) for y in chains.sequences(sides)]


def twice(n):
    """Two words of a lattice with n readings each, derived by the same item."""
    program = Deduction()
    for reading in range(n):
        program.add("word", parts=[reading])
    program.add("pair", ["word"], [n])
    program.add("both", ["pair"])
    program.add("both", ["word"], [n + 1])
    return program.layout("both")


def twice_vertices(n):
    for own in range(n):
        for end in (n, n + 1):
            z = np.zeros(n + 2)
            z[[own, end]] = 1.0
            yield z


TREES = {n: brackets(n) for n in (2, 3, 4, 5, 8)}
CHAINS = {sides: chain(*sides) for sides in ((1, 2), (3, 2), (2, 3), (6, 4))}
PAIRS = {n: twice(n) for n in (1, 3)}
LISTED = {
    **{layout: (lambda n=n, part=part: bracket_vertices(n, part))
       for n, (layout, part) in TREES.items()},
    **{layout: (lambda sides=sides: chain_vertices(sides)) for sides, layout in CHAINS.items()},
    **{layout: (lambda n=n: twice_vertices(n)) for n, layout in PAIRS.items()},
}  # fmt: skip


def derivations():
    """Bracketings of three to five words, from two features of each span."""
    rng, structure = np.random.default_rng(0), Derivations()
    X, y = [], []
    for n in [3, 4, 5] * 8:
        layout = TREES[n][0]
        x = rng.normal(size=(layout.n_parts, 2))
        X.append((x, layout))
        y.append(structure.decode(structure.maximize(x @ [1.0, -2.0], layout), layout))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


STRUCTURES = [
    Case(
        "derivations", Derivations(), lambda layout: LISTED[layout](),
        [*(TREES[n][0] for n in (2, 3, 4, 5)), *list(CHAINS.values())[:3], *PAIRS.values()],
        [TREES[8][0], CHAINS[6, 4]],
    )
]  # fmt: skip
ESTIMATORS = [derivations]
