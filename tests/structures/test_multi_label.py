"""Sets of labels beyond what the battery of structures covers: many labels, bounds, all ways."""

from itertools import combinations

import numpy as np
import pytest

from maxmargin.exceptions import MissingAbilityError
from maxmargin.structures import MultiLabel, Network
from maxmargin.structures.multi_label.multi_label import _local, labels_of
from reference import linear

EXACT, BOUNDED = MultiLabel(), MultiLabel("bounded")


def drawn(n_labels, seed=0, strength=1.0):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=EXACT.n_parts((n_labels,)))
    theta[n_labels:] *= strength
    return theta


def every_score(theta, n_labels, pairs=None):
    """The score of each subset, label k being bit k, by a matrix of all of them."""
    pairs = list(combinations(range(n_labels), 2)) if pairs is None else pairs
    bits = (np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1
    both = np.array([bits[:, k] * bits[:, m] for k, m in pairs]).reshape(len(pairs), -1)
    return bits, bits @ theta[:n_labels] + theta[n_labels:] @ both


@pytest.mark.parametrize("n_labels", [6, 12, 13, 14])
def test_more_labels_than_the_table_has(n_labels):
    """The lowest twelve have a table, the highest are gone through."""
    theta = drawn(n_labels, n_labels, 0.4)
    bits, scores = every_score(theta, n_labels)
    best = int(scores.argmax())
    z, value = EXACT.oracle().maximize(theta, (n_labels,))
    assert np.array_equal(z[:n_labels], bits[best])
    assert value == pytest.approx(scores[best], rel=1e-13)
    on = np.array([scores[bits[:, k] == 1].max() for k in range(n_labels)])
    off = np.array([scores[bits[:, k] == 0].max() for k in range(n_labels)])
    found = EXACT.oracle().max_marginals(theta, (n_labels,))
    np.testing.assert_allclose(found[:n_labels], on, rtol=1e-12)
    np.testing.assert_allclose(
        EXACT.oracle().leads(theta, (n_labels,))[:n_labels], on - off, atol=1e-11
    )
    p = np.exp(scores - scores.max())
    total, p = p.sum(), p / p.sum()
    mean = EXACT.marginals(theta, (n_labels,))
    np.testing.assert_allclose(mean[:n_labels], p @ bits, atol=1e-13)
    both = [p @ (bits[:, k] * bits[:, m]) for k, m in combinations(range(n_labels), 2)]
    np.testing.assert_allclose(mean[n_labels:], both, atol=1e-13)
    expected = scores.max() + np.log(total)
    assert EXACT.log_partition(theta, (n_labels,)) == pytest.approx(expected, rel=1e-13)


def test_the_k_best_are_those_of_all_subsets():
    theta = drawn(7, 3)
    bits, scores = every_score(theta, 7)
    ranked = np.argsort(-scores)
    for method in ("exact", "auto"):
        found = MultiLabel(method).k_best(theta, (7,), 5)
        assert [own for _, own in found] == pytest.approx(scores[ranked[:5]].tolist())
        assert [z[:7].tolist() for z, _ in found] == bits[ranked[:5]].tolist()
    assert len(EXACT.k_best(theta, (7,), 1000)) == 128


def test_a_forest_is_solved_whatever_its_size():
    path = Network(40, [(k, k + 1) for k in range(39)])
    theta = np.random.default_rng(0).normal(size=79)
    z, value = EXACT.oracle().maximize(theta, path)
    assert value == pytest.approx(linear.best_value(EXACT.constraints(path), theta), rel=1e-9)
    best = EXACT.k_best(theta, path, 3)
    assert np.array_equal(best[0][0], z)
    assert best[0][1] == pytest.approx(value)
    assert best[0][1] >= best[1][1] >= best[2][1]
    leads = EXACT.oracle().leads(theta, path)[:40]
    assert np.array_equal(leads > 0, z[:40] == 1)
    assert np.abs(leads).min() == pytest.approx(best[0][1] - best[1][1])


def test_no_pairs_are_labels_of_their_own():
    alone = Network(30, [])
    theta = np.random.default_rng(1).normal(size=30)
    assert np.array_equal(EXACT.maximize(theta, alone), (theta > 0).astype(float))
    np.testing.assert_allclose(EXACT.marginals(theta, alone), 1 / (1 + np.exp(-theta)), rtol=1e-12)


# -- bounds ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("strength", [0.1, 0.5, 2.0])
def test_few_labels_are_the_best_even_by_bounds(strength):
    for seed in range(10):
        theta = drawn(8, seed, strength)
        value = BOUNDED.oracle().maximize(theta, (8,))[1]
        assert value == pytest.approx(every_score(theta, 8)[1].max(), rel=1e-12)


def test_pairs_that_attract_are_solved_by_the_cut():
    theta = drawn(40, 0, 0.1)
    theta[:40] -= 1.0
    theta[40:] = np.abs(theta[40:])
    z, bound = BOUNDED.oracle().maximize(theta, (40,))
    assert bound == pytest.approx(theta @ z, rel=1e-12)
    assert 0 < z[:40].sum()
    for k in range(40):  # no single change is better
        other = z[:40].copy()
        other[k] = 1 - other[k]
        assert theta @ BOUNDED.encode(other, (40,)) <= bound


@pytest.mark.parametrize("strength", [0.05, 0.3, 1.0])
def test_the_bound_is_that_of_the_linear_program(strength):
    theta = drawn(24, 5, strength)
    z, bound = BOUNDED.oracle().maximize(theta, (24,))
    value = theta @ z
    relaxed = linear.best_value(_local(labels_of((24,))), theta)
    assert value <= bound + 1e-9
    assert bound == pytest.approx(relaxed, rel=1e-7) or bound == pytest.approx(value, rel=1e-12)
    assert bound <= relaxed * (1 + 1e-9)
    best = MultiLabel("exact").oracle().maximize(theta, (24,))[1]
    assert value <= best * (1 + 1e-12) <= bound * (1 + 2e-12)
    assert value >= 0.98 * best


def test_forbidden_labels_and_pairs_are_kept_off_by_the_cut():
    theta = drawn(30, 2, 0.2)
    theta[3] = -np.inf
    theta[30:][np.random.default_rng(0).random(435) < 0.1] = -np.inf
    z, bound = BOUNDED.oracle().maximize(theta, (30,))
    assert not z[np.isneginf(theta)].any()
    finite = np.where(np.isneginf(theta), 0.0, theta)
    assert 0 < finite @ z <= bound + 1e-9


def test_what_is_exact_and_what_is_bounded():
    assert (EXACT.oracle().is_exact, EXACT.oracle().is_bounded, EXACT.oracle().gap_is_proof) == (
        True,
        False,
        True,
    )
    assert (
        BOUNDED.oracle().is_exact,
        BOUNDED.oracle().is_bounded,
        BOUNDED.oracle().gap_is_proof,
    ) == (False, True, True)
    assert not BOUNDED.oracle().has("marginals")
    assert MultiLabel("auto").oracle().has("marginals")


# -- refusals --------------------------------------------------------------------------------------
def test_too_many_labels_are_refused_with_a_hint():
    theta = np.zeros(EXACT.n_parts((26,)))
    with pytest.raises(ValueError, match=r"26 labels whose pairs have cycles have 2\^26 outputs.*"
                       r'\(25 labels at most\). Use method="bounded"'):  # fmt: skip
        EXACT.maximize(theta, (26,))
    assert not MultiLabel("auto").maximize(theta, (26,)).any()
    with pytest.raises(
        MissingAbilityError, match=r"has no `marginals` for 26 labels whose pairs have"
    ):
        MultiLabel("auto").marginals(theta, (26,))
    with pytest.raises(MissingAbilityError, match=r"no `constraints` for 11 labels .* 2\^11"):
        EXACT.constraints((11,))


@pytest.mark.parametrize("layout", [(0,), (2, 3), (True,), (2.0,)])
def test_layouts_that_are_none(layout):
    with pytest.raises(ValueError, match=r"integers from 1 .*\(number of labels,\) or a Network"):
        EXACT.n_parts(layout)


def test_other_refusals():
    with pytest.raises(ValueError, match="method='best' must be 'exact' or 'bounded' or 'auto'"):
        MultiLabel("best").maximize(np.zeros(3), (2,))
    with pytest.raises(ValueError, match=r"labels have shape \(3,\), expected \(2,\)"):
        EXACT.encode([0, 1, 1], (2,))
    with pytest.raises(ValueError, match="labels must be 0 or 1, found"):
        EXACT.encode([0, 2], (2,))
    assert EXACT.layout_of(6) == (3,)
    with pytest.raises(ValueError, match="cannot tell its layout from 5 parts"):
        EXACT.layout_of(5)
