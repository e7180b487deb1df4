"""Cases of `Segments` for the batteries: segments are listed by code of their own."""

from itertools import pairwise, product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import SegmentSVM, StructuredSVM
from maxmargin.structures import Segments


def cuts(n, most):
    """Lengths that sum to n."""
    if n == 0:
        yield ()
    for length in range(1, min(n, most) + 1):
        for rest in cuts(n - length, most):
            yield (length, *rest)


def vertices(layout, most, positions=False):
    n, labels = layout
    for lengths in cuts(n, most):
        for chosen in product(range(labels), repeat=len(lengths)):
            z, pairs, begin = np.zeros((n, most, labels)), np.zeros((labels, labels)), 0
            tags = np.zeros((n, 2, labels))
            for length, label in zip(lengths, chosen, strict=True):
                z[begin, length - 1, label] = tags[begin, 0, label] = 1.0
                tags[begin + 1 : begin + length, 1, label] = 1.0
                begin += length
            for left, right in pairwise(chosen):
                pairs[left, right] += 1.0
            yield np.concatenate([tags.ravel()[: positions * tags.size], z.ravel(), pairs.ravel()])


def case(most, positions=False):
    layouts = [(1, 1), (1, 3), (3, 2), (4, 2)]
    return Case(
        f"segments-{most}{'-positions' * positions}", Segments(most, positions),
        lambda own: vertices(own, most, positions), layouts, [(7, 2)],
    )  # fmt: skip


def segments():
    """Segments of two to five positions, from three features of each part."""
    rng, structure = np.random.default_rng(0), Segments(3)
    X, y = [], []
    for layout in [(2, 2), (3, 2), (5, 2)] * 8:
        x = 0.3 * rng.normal(size=(structure.n_parts(layout), 3))
        X.append((x, layout))
        y.append(structure.decode(structure.maximize(x @ [1.0, -2.0, 0.5], layout), layout))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


def segment_svm():
    """Runs of positions that are alike."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(20):
        own, begin, rows = [], 0, []
        for length in rng.integers(1, 4, size=3):
            label = "ab"[rng.integers(2)]
            own.append((begin, begin + int(length), label))
            begin += int(length)
            rows += [[label == "a", label == "b", k == 0] for k in range(length)]
        X.append(np.array(rows) + 0.1 * rng.normal(size=(begin, 3)))
        y.append(own)
    return Kind(SegmentSVM(max_length=3, alpha=0.05), X, y)


STRUCTURES = [case(2), case(3, positions=True)]
ESTIMATORS = [segments, segment_svm]
