"""Nested pairs: against lists of all, and against the same program as derivations."""

import numpy as np
import pytest

from maxmargin.structures import Derivations, NestedLayout, NestedPairs
from maxmargin.structures.nested_pairs.program import folding_program
from reference import folds


def draw(rng, n, min_loop, n_symbols, share):
    pairs = NestedPairs(min_loop).layout((n,)).pairs
    pairs = pairs[rng.permutation(len(pairs))[: max(1, round(share * len(pairs)))]]
    symbols = rng.integers(0, n_symbols, n) if n_symbols else None
    return NestedLayout(n, pairs, symbols, n_symbols or None)


def test_all_are_listed_and_counted_as_loop_by_loop():
    rng = np.random.default_rng(0)
    for _ in range(8):
        layout = draw(rng, 9, 1, 2, 0.3)
        structure = NestedPairs(1)
        listed = np.array(list(structure.vertices(layout)))
        for z in listed:
            pairs = [tuple(pair) for pair in structure.decode(z, layout).tolist()]
            np.testing.assert_array_equal(z, folds.vertex(pairs, layout))
        theta = rng.normal(size=layout.n_parts)
        scores = listed @ theta
        weights = np.exp(scores - scores.max())
        assert structure.oracle().maximize(theta, layout)[1] == pytest.approx(scores.max())
        expected = weights @ listed / weights.sum()
        np.testing.assert_allclose(structure.marginals(theta, layout), expected, atol=1e-12)
        best = structure.k_best(theta, layout, 5)
        assert [score for _, score in best] == pytest.approx(sorted(scores)[:-6:-1])


@pytest.mark.parametrize("n_symbols", [0, 2])
def test_long_sequences_agree_with_derivations(n_symbols):
    # long enough for loops of one branch that count as multiloops
    rng = np.random.default_rng(1)
    for n, scale in ((48, 0.3), (60, 1.0)):
        layout, structure = draw(rng, n, 3, n_symbols, 0.1), NestedPairs()
        theta, program = scale * rng.normal(size=layout.n_parts), folding_program(layout)
        z, value = structure.oracle().maximize(theta, layout)
        assert value == pytest.approx(Derivations().oracle().maximize(theta, program)[1])
        assert value == pytest.approx(theta @ z)
        pairs = [tuple(pair) for pair in structure.decode(z, layout).tolist()]
        np.testing.assert_array_equal(z, folds.vertex(pairs, layout))
        np.testing.assert_array_equal(z, structure.encode(pairs, layout))
        expected = Derivations().marginals(theta, program)
        np.testing.assert_allclose(structure.marginals(theta, layout), expected, atol=1e-10)
        log_z = Derivations().log_partition(theta, program)
        assert structure.log_partition(theta, layout) == pytest.approx(log_z)


def test_a_long_loop_with_one_branch_is_possible():
    structure = NestedPairs()
    layout = NestedLayout(80, [(0, 79), (30, 50), (20, 60)], np.zeros(80, int), 1)
    for pairs in ([(0, 79), (30, 50)], [(0, 79), (20, 60)], [(0, 79), (20, 60), (30, 50)]):
        np.testing.assert_array_equal(structure.encode(pairs, layout), folds.vertex(pairs, layout))


def test_layouts_of_pairs_alone():
    structure = NestedPairs()
    assert structure.n_parts((6,)) == 3
    theta = np.ones(structure.n_parts((9,)))
    assert structure.decode(structure.maximize(theta, (9,)), (9,)).tolist() == [
        [0, 8],
        [1, 7],
        [2, 6],
    ]
    theta = [-1.0, 2.0]
    assert structure.maximize(theta, (10, [(0, 9), (1, 8)])).tolist() == [0.0, 1.0]


def test_forbidden_pairs_and_large_scores():
    structure, layout = NestedPairs(0), (4,)
    theta = np.full(6, -np.inf)
    np.testing.assert_array_equal(structure.marginals(theta, layout), np.zeros(6))
    theta[2] = 1e9
    np.testing.assert_array_equal(structure.marginals(theta, layout), np.arange(6) == 2)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ((5, [(0, 3)]), "min_loop=3"),
        ((5, [(4, 0)]), "not i < j"),
        ((9, [(0, 9)]), "within 9 positions"),
        ((9, [(0, 8), (0, 8)]), "twice"),
        ((9, []), "one pair or more"),
        ((5000,), "at most"),
    ],
)
def test_bad_layouts(layout, words):
    with pytest.raises(ValueError, match=words):
        NestedPairs().n_parts(layout)


def test_bad_symbols():
    with pytest.raises(ValueError, match="one per position"):
        NestedLayout(5, [(0, 4)], [0, 1])
    with pytest.raises(ValueError, match="n_symbols"):
        NestedLayout(5, [(0, 4)], [0, 1, 2, 0, 0], 2)
    with pytest.raises(ValueError, match="n_symbols must be an integer from 3 to"):
        NestedLayout(5, [(0, 4)], [0, 1, 2, 0, 0], 3.5)
    with pytest.raises(ValueError, match="symbols must be below"):
        NestedLayout(5, [(0, 4)], [0, 1, 200, 0, 0])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([(0, 5), (3, 9)], "cross"),
        ([(0, 5), (0, 9)], "more than one pair"),
        ([(0, 3)], "not a pair of the layout"),
        ([1, 2, 3], "shape"),
    ],
)
def test_bad_outputs(y, words):
    with pytest.raises(ValueError, match=words):
        NestedPairs().encode(y, (10,))
