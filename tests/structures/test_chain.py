"""Chains: compiled against plain Python, tied against untied, and the masks."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Chain
from reference import chains
from reference.abilities import ability_of
from reference.enumeration import score
from reference.user_structures import PlainChain

layouts = st.tuples(st.integers(1, 9), st.integers(1, 10))
seeds = st.integers(0, 2**32 - 1)


def draw_scores(layout, tied, seed, whole=False, banned=0.0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(Chain(tied=tied).n_parts(layout))
    if whole:
        theta = np.round(2 * theta)
    theta[rng.random(len(theta)) < banned] = -np.inf
    return theta


@given(layouts, st.booleans(), seeds, st.booleans(), st.sampled_from([0.0, 0.1, 0.4]))
def test_maximize_equals_viterbi_in_plain_python(layout, tied, seed, whole, banned):
    theta = draw_scores(layout, tied, seed, whole, banned)
    value, labels = chains.viterbi(theta, layout, tied)
    if labels is None:
        with pytest.raises(InfeasibleError):
            Chain(tied=tied).maximize(theta, layout)
        return
    z = Chain(tied=tied).maximize(theta, layout)
    found = Chain().decode(z, layout)
    assert np.array_equal(z, chains.vertex(found, layout, tied))
    assert score(theta, z) == pytest.approx(value, rel=1e-13, abs=1e-13)
    if not whole:  # no ties
        assert tuple(found) == labels


@given(layouts, seeds)
def test_plain_python_structure_agrees(layout, seed):
    theta = draw_scores(layout, True, seed)
    assert np.array_equal(Chain().maximize(theta, layout), PlainChain().maximize(theta, layout))


@given(layouts, seeds)
def test_untied_tables_that_are_equal_act_like_one(layout, seed):
    length, labels = layout
    nodes = length * labels
    theta = draw_scores(layout, True, seed)
    spread = np.concatenate([theta[:nodes], np.tile(theta[nodes:], length - 1)])
    tied, untied = Chain(), Chain(tied=False)

    def fold(z):
        return np.concatenate([z[:nodes], z[nodes:].reshape(length - 1, labels**2).sum(axis=0)])

    assert np.array_equal(fold(untied.maximize(spread, layout)), tied.maximize(theta, layout))
    apart = fold(untied.marginals(spread, layout)) - tied.marginals(theta, layout)
    assert np.abs(apart).max() <= 1e-12
    assert untied.log_partition(spread, layout) == pytest.approx(
        tied.log_partition(theta, layout), rel=1e-13, abs=1e-13
    )


@given(layouts, seeds)
def test_masks_equal_scores_of_minus_infinity(layout, seed):
    length, labels = layout
    rng = np.random.default_rng(seed)
    pairs = rng.random((labels, labels)) < 0.3
    first, last = rng.random(labels) < 0.3, rng.random(labels) < 0.3
    theta = draw_scores(layout, True, seed)
    banned = theta.reshape(-1).copy()
    banned[:labels][first] = -np.inf
    banned[(length - 1) * labels : length * labels][last] = -np.inf
    banned[length * labels :][pairs.ravel()] = -np.inf
    masked = Chain(forbidden_transitions=pairs, forbidden_first=first, forbidden_last=last)
    if chains.viterbi(banned, layout, True)[1] is None:
        for ability in ("maximize", "marginals", "max_marginals", "project"):
            with pytest.raises(InfeasibleError):
                ability_of(masked, ability)(theta, layout)
        return
    for ability in ("maximize", "marginals", "max_marginals"):
        found = ability_of(masked, ability)(theta, layout)
        assert np.array_equal(found, ability_of(Chain(), ability)(banned, layout))


def test_pair_marginals_agree_with_node_marginals():
    layout = (6, 4)
    z = Chain(tied=False).marginals(draw_scores(layout, False, 0), layout)
    nodes, pairs = z[:24].reshape(6, 4), z[24:].reshape(5, 4, 4)
    assert np.abs(pairs.sum(axis=2) - nodes[:-1]).max() <= 1e-14
    assert np.abs(pairs.sum(axis=1) - nodes[1:]).max() <= 1e-14


def test_best_of_max_marginals_is_the_maximum():
    layout = (7, 5)
    theta = draw_scores(layout, True, 1)
    table = Chain().oracle().max_marginals(theta, layout)[:35].reshape(7, 5)
    z = Chain().maximize(theta, layout)
    assert np.abs(table.max(axis=1) - theta @ z).max() <= 1e-13
    assert np.array_equal(table.argmax(axis=1), Chain().decode(z, layout))


@pytest.mark.parametrize(
    "y, message",
    [
        ([0, 1, 2], r"y has shape \(3,\), expected \(4,\)"),
        ([1], r"y has shape \(1,\), expected \(4,\)"),
        ([[0, 1, 2, 0]], r"y has shape \(1, 4\), expected \(4,\)"),
        ([0, 1, 2, 3], "labels outside 0 to 2"),
        ([0, -1, 2, 1], "labels outside 0 to 2"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Chain().encode(y, (4, 3))


@pytest.mark.parametrize(
    "name, mask",
    [
        ("forbidden_first", [True, False]),
        ("forbidden_last", [[True, False, True]]),
        ("forbidden_transitions", [True, False, True]),
        ("forbidden_transitions", np.zeros((2, 3), dtype=bool)),
    ],
)
def test_masks_that_do_not_fit_are_refused(name, mask):
    with pytest.raises(ValueError, match=f"{name} has shape .*, expected"):
        Chain(**{name: mask}).maximize(np.zeros(12), (1, 3))


def test_radius_of_a_tied_chain_counts_repeated_pairs():
    apart = Chain().encode([0] * 10, (10, 2)) - Chain().encode([1] * 10, (10, 2))
    assert np.linalg.norm(apart) == pytest.approx(Chain().radius((10, 2)), rel=1e-15)
