"""What is particular to Dependencies; tests/contract tests what all structures do."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from contract.cases.dependencies import is_projective, trees, vertex
from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Dependencies, Derivations, Matching
from maxmargin.structures.dependencies.dependencies import projective_program
from maxmargin.structures.dependencies.heads import find_crossing, find_cycle

KINDS = list(product((True, False), repeat=2))


@pytest.mark.parametrize("single_root", [True, False])
def test_projective_trees_are_derivations(single_root):
    rng = np.random.default_rng(0)
    for n in (1, 2, 6, 11):
        theta = rng.normal(size=n * (n + 1))
        own, program = Dependencies(single_root=single_root), projective_program(n, single_root)
        theta[own.forbidden((n,))] = -np.inf
        assert np.array_equal(own.maximize(theta, (n,)), Derivations().maximize(theta, program))
        found, expected = own.marginals(theta, (n,)), Derivations().marginals(theta, program)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_k_best_are_all_trees_in_order_and_once(kind, n):
    theta = np.random.default_rng(n).normal(size=n * (n + 1))
    found = Dependencies(*kind).k_best(theta, (n,), 1000)
    listed = [vertex(heads) for heads in trees(n, *kind)]
    assert len(found) == len(listed) == len({tuple(z) for z, _ in found})
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(sorted((z @ theta for z in listed), reverse=True))


def test_crossing_arcs_are_found():
    for n in (1, 2, 3, 4):
        for heads in trees(n, False, False):
            assert (find_crossing(heads) is None) == is_projective(heads)


def test_cycles_are_found():
    assert find_cycle([2, 3, 1, 0]) in ([1, 2, 3], [2, 3, 1], [3, 1, 2])
    assert find_cycle([0, 1, 2]) == []
    assert find_cycle([0, 4, 1, 2]) in ([2, 4], [4, 2])


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ([2, 1], "words 1, 2 are a cycle"),
        ([0, 0], "words 1, 2 have head 0, and single_root allows one"),
        ([0, 3], "word 2 has head 3, expected another word from 1 to 2, or 0"),
        ([0, -1], "word 2 has head -1"),
        ([1, 0], "word 1 has head 1"),
        ([0], "2 integers, the heads of the words"),
        ([0.0, 1.0], "2 integers"),
        (["0", "1"], "2 integers"),
    ],
)
def test_heads_that_are_no_tree_are_refused(heads, words):
    with pytest.raises(ValueError, match=words):
        Dependencies().encode(heads, (2,))


def test_crossing_arcs_are_refused_where_trees_are_projective():
    heads = [3, 4, 0, 3]
    assert Dependencies(projective=False).encode(heads, (4,)).sum() == 4
    with pytest.raises(ValueError, match=r"the arcs 3 -> 1 and 4 -> 2 cross"):
        Dependencies().encode(heads, (4,))


@pytest.mark.parametrize("projective", [True, False])
def test_a_single_root_is_one_even_if_only_several_would_do(projective):
    for low in (0.0, -50.0, -200.0, -1e6):
        theta = np.zeros((3, 4))
        theta[2, 2] = low
        theta[0, 1:] = theta[1, 1:] = -np.inf  # words 1 and 2 can only hang from the root
        for ability in ("maximize", "marginals", "log_partition"):
            with pytest.raises(InfeasibleError):
                getattr(Dependencies(projective), ability)(theta, (3,))
            getattr(Dependencies(projective, single_root=False), ability)(theta, (3,))


def test_best_trees_and_sums_agree_whether_there_is_a_tree():
    rng, structure = np.random.default_rng(0), Dependencies(projective=False)
    found = []
    for _ in range(300):
        n = int(rng.integers(2, 6))
        theta = rng.choice([0.0, -50.0, -np.inf], (n, n + 1), p=[0.2, 0.2, 0.6])
        answers = []
        for ability in ("maximize", "marginals"):
            try:
                getattr(structure, ability)(theta, (n,))
                answers.append(True)
            except InfeasibleError:
                answers.append(False)
        assert answers[0] == answers[1]
        found.append(answers[0])
    assert 20 < sum(found) < 280


@pytest.mark.parametrize("kind", KINDS)
def test_pruned_arcs_are_in_no_tree(kind):
    rng, structure, n = np.random.default_rng(3), Dependencies(*kind), 12
    theta = rng.normal(size=(n, n + 1))
    theta[rng.random(size=theta.shape) < 0.5] = -np.inf
    theta[np.arange(n), np.arange(n)] = rng.normal(size=n)  # a chain of words remains
    theta[:, 0] = 0.0
    banned = np.isneginf(theta).ravel()
    assert not structure.maximize(theta, (n,))[banned].any()
    assert not structure.marginals(theta, (n,))[banned].any()
    assert not structure.project(theta, (n,))[banned].any()


def test_marginals_of_crossing_trees_do_not_cancel():
    """Two words that prefer each other, and hang from the rest by a thread."""
    structure = Dependencies(projective=False)
    listed = np.array([vertex(heads) for heads in trees(4, False, True)])
    for size in (1.0, 30.0, 300.0, 1e4):
        theta = np.zeros((4, 5))
        theta[0, 2] = theta[1, 1] = size
        theta = theta.ravel() + np.random.default_rng(0).normal(size=20)
        scores = listed @ theta
        p = np.exp(scores - scores.max())
        assert structure.marginals(theta, (4,)) == pytest.approx(p @ listed / p.sum(), abs=1e-11)
        value = structure.log_partition(theta, (4,))
        assert value == pytest.approx(scores.max() + np.log(p.sum()), rel=1e-14)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("size", [500.0, 1e3, 1e8, 1e13])
def test_marginals_of_crossing_trees_are_exact_whatever_the_scores(single_root, size):
    """Those of each word are computed alone, and must be those of the same trees."""
    structure = Dependencies(projective=False, single_root=single_root)
    listed = np.array([vertex(heads) for heads in trees(4, False, single_root)])
    rng = np.random.default_rng(0)
    for kind in range(40):
        theta = size * (rng.integers(-1, 2, size=20) if kind % 2 else rng.normal(size=20))
        theta += np.round(rng.normal(size=20), 1 if size > 1e10 else 3)
        exact = [sum(map(Fraction, theta[z > 0].tolist())) for z in listed]
        p = np.exp([float(own - max(exact)) for own in exact])
        assert structure.marginals(theta, (4,)) == pytest.approx(p @ listed / p.sum(), abs=1e-13)


@pytest.mark.parametrize("projective", [True, False])
def test_long_sentences(projective):
    n = 200
    theta = np.random.default_rng(0).normal(size=n * (n + 1))
    structure = Dependencies(projective)
    heads = structure.decode(structure.maximize(theta, (n,)), (n,))
    assert len(heads) == n
    structure.encode(heads, (n,))


def test_too_long_sentences_are_refused_before_memory_is_taken():
    with pytest.raises(ValueError, match="3000 words, at most 2000 are possible: cut"):
        Dependencies().n_parts((3000,))
    with pytest.raises(ValueError, match=r"not the n \(n \+ 1\) arcs"):
        Dependencies().layout_of(7)
    assert Dependencies().layout_of(12) == (3,)


def test_projections_end_where_two_shares_vanish_at_once():
    point = [0.0, 0.125, -1.0, 0.0, -1.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0, 0.0]
    found = Dependencies(False, False).project(point, (3,))
    assert found == pytest.approx([0.5, 0, 0, 0.5, 0, 1, 0, 0, 0.5, 0.5, 0, 0], abs=1e-12)


@pytest.mark.parametrize(
    "structure, layout, sides", [(Dependencies(), (3,), (3, 4)), (Matching(), (2, 3), (2, 3))]
)
def test_a_matrix_of_scores_with_exchanged_sides_is_refused(structure, layout, sides):
    theta = np.arange(np.prod(sides), dtype=float).reshape(sides)
    assert structure.maximize(theta, layout).shape == (theta.size,)
    with pytest.raises(ValueError, match="transpose"):
        structure.maximize(np.ascontiguousarray(theta.T), layout)


def test_siblings_change_the_best_tree():
    """A head that wants its two dependents beside one another gets them."""
    structure, layout = Dependencies(siblings=True), (3,)
    theta = np.zeros(structure.n_parts(layout))
    theta[structure.number_siblings(1, 2, 3, layout)] = 1.0
    assert structure.decode(structure.maximize(theta, layout), layout).tolist() == [0, 1, 1]
    assert structure.k_best(theta, layout, 2)[0][1] == 1.0


def test_siblings_are_of_projective_trees_and_in_order():
    with pytest.raises(ValueError, match="siblings=True is for projective trees"):
        Dependencies(projective=False, siblings=True).maximize(np.zeros(17), (3,))
    for wrong in ((1, 3, 2), (2, 1, 3), (0, 1, 4), (3, 1, 0)):
        with pytest.raises(ValueError, match="between"):
            Dependencies(siblings=True).number_siblings(*wrong, (3,))
    with pytest.raises(ValueError, match="18 parts are not the arcs and siblings"):
        Dependencies(siblings=True).layout_of(18)
