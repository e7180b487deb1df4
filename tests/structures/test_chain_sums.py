"""Chains: marginals, log-partition and max-marginals, by both ways to compute them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from maxmargin._numba.chain import marginals as chain_sums
from maxmargin._numba.chain.log_marginals import marginals_by_logs
from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Chain
from reference import chains, enumeration

SCALES = [1e-9, 1e-3, 1.0, 10.0, 50.0, 300.0, 1e4, 1e9]
layouts = st.tuples(st.integers(1, 12), st.integers(1, 19))
small = st.sampled_from([(1, 1), (1, 4), (2, 3), (3, 4), (4, 3), (5, 2), (6, 1)])
seeds = st.integers(0, 2**32 - 1)
bans = st.sampled_from([0.0, 0.1, 0.4])
ways = pytest.mark.parametrize("function", [chain_sums.marginals, marginals_by_logs])


def draw(layout, tied, seed, scale=1.0, banned=0.0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.standard_normal(Chain(tied=tied).n_parts(layout))
    theta[rng.random(len(theta)) < banned] = -np.inf
    return theta


def run(function, theta, layout, tied):
    """log Z and marginals by a compiled function, whose scratch is full of NaN before."""
    structure = Chain(tied=tied)
    floats, ints = structure.oracle().scratch(layout)
    out, work = np.full(len(theta), np.nan), np.full(floats, np.nan)
    layout_ints = np.array(structure.oracle().layout_as_ints(layout), dtype=np.int64)
    before = theta.copy()
    value = function(theta, layout_ints, out, work, np.empty(ints, dtype=np.int64))
    assert np.array_equal(theta, before)
    return value, out


def split(z, layout, tied):
    length, labels = layout
    nodes = z[: length * labels].reshape(length, labels)
    return nodes, z[length * labels :].reshape(1 if tied else length - 1, labels, labels)


def check_consistent(z, layout, tied, tolerance=1e-11):
    """Probabilities: no NaN, none negative, sums of one, pairs that agree with nodes."""
    nodes, pairs = split(z, layout, tied)
    assert np.isfinite(z).all()
    assert (z >= 0).all()
    assert np.abs(nodes.sum(axis=1) - 1).max() <= 1e-12
    left, right = nodes[:-1], nodes[1:]
    if tied:
        left, right = left.sum(axis=0, keepdims=True), right.sum(axis=0, keepdims=True)
    size = max(1, layout[0] if tied else 1)
    assert np.abs(pairs.sum(axis=2) - left).max(initial=0) <= tolerance * size
    assert np.abs(pairs.sum(axis=1) - right).max(initial=0) <= tolerance * size


# -- against enumeration ---------------------------------------------------------------------------


@ways
@given(small, st.booleans(), seeds, st.sampled_from([1e-9, 1.0, 50.0, 1e9]), bans)
def test_sums_equal_those_over_all_sequences(function, layout, tied, seed, scale, banned):
    theta = draw(layout, tied, seed, scale, banned)
    vertices = list(Chain(tied=tied).vertices(layout))
    value, z = run(function, theta, layout, tied)
    if enumeration.best(theta, vertices) == -np.inf:
        assert value == -np.inf
        assert not z.any()
        return
    assert value == pytest.approx(enumeration.log_partition(theta, vertices), rel=1e-13, abs=1e-13)
    # scores of 1e9 are themselves rounded to 1e-7
    expected = enumeration.expectation(theta, vertices)
    assert np.abs(z - expected).max() <= 1e-13 * max(1.0, scale)
    assert not z[np.isneginf(theta)].any()


@given(small, st.booleans(), seeds)
def test_masks_of_the_structure_count(layout, tied, seed):
    length, labels = layout
    rng = np.random.default_rng(seed)
    structure = Chain(
        tied=tied,
        forbidden_transitions=rng.random((labels, labels)) < 0.3,
        forbidden_first=rng.random(labels) < 0.3,
        forbidden_last=rng.random(labels) < 0.3,
    )
    theta = draw(layout, tied, seed)
    vertices = list(structure.vertices(layout))
    if not vertices:
        for ask in (structure.marginals, structure.log_partition, structure.oracle().max_marginals):
            with pytest.raises(InfeasibleError, match="every output is forbidden"):
                ask(theta, layout)
        return
    expected = enumeration.expectation(theta, vertices)
    assert np.abs(structure.marginals(theta, layout) - expected).max() <= 1e-13
    nodes = length * labels
    best = enumeration.max_marginals(theta, vertices, nodes)
    found = structure.oracle().max_marginals(theta, layout)[:nodes]
    assert np.array_equal(np.isneginf(found), np.isneginf(best))
    there = np.isfinite(best)
    assert np.abs(found[there] - best[there]).max() <= 1e-13


@pytest.mark.parametrize("tied", [True, False])
def test_marginals_are_the_gradient_of_the_log_partition(tied):
    layout, step = (7, 4), 1e-5
    structure, theta = Chain(tied=tied), draw((7, 4), tied, 3)
    theta[[2, 31]] = -np.inf
    z = structure.marginals(theta, layout)
    for p in np.flatnonzero(np.isfinite(theta)):
        up, down = theta.copy(), theta.copy()
        up[p] += step
        down[p] -= step
        rise = structure.log_partition(up, layout) - structure.log_partition(down, layout)
        assert rise / (2 * step) == pytest.approx(z[p], abs=1e-9)


# -- both ways, all sizes --------------------------------------------------------------------------


@given(layouts, st.booleans(), seeds, st.sampled_from(SCALES), bans)
@settings(max_examples=100)
def test_both_ways_equal_the_reference(layout, tied, seed, scale, banned):
    theta = draw(layout, tied, seed, scale, banned)
    expected, marginals = chains.marginals(theta, layout, tied)
    for function in (chain_sums.marginals, marginals_by_logs):
        value, z = run(function, theta, layout, tied)
        if marginals is None:
            assert value == -np.inf
            continue
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert np.abs(z - marginals).max() <= 1e-13 * max(1.0, scale) * layout[0]
        check_consistent(z, layout, tied, 1e-13 * max(1.0, scale))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("length", [1, 100, 10_000])
def test_long_chains_at_all_scales(tied, scale, length):
    layout = (length, 5)
    theta = draw(layout, tied, length, scale)
    found = [
        run(function, theta, layout, tied) for function in (chain_sums.marginals, marginals_by_logs)
    ]
    for _, z in found:
        check_consistent(z, layout, tied, max(1e-12, 1e-15 * scale))
    if length == 10_000 and (not tied or scale not in (1.0, 300.0)):
        return  # the reference takes a second
    expected, marginals = chains.marginals(theta, layout, tied)
    for value, z in found:
        assert value == pytest.approx(expected, rel=1e-12)
        assert np.abs(z - marginals).max() <= 1e-13 * max(1.0, scale) * length


@ways
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_score_that_is_no_number_is_a_failure(function, tied, number):
    layout = (4, 3)
    for place in range(Chain(tied=tied).n_parts(layout)):
        theta = draw(layout, tied, 0)
        theta[place] = number
        out, work = np.zeros(len(theta)), np.zeros(Chain(tied=tied).oracle().scratch(layout)[0])
        layout_ints = np.array(Chain(tied=tied).oracle().layout_as_ints(layout), dtype=np.int64)
        assert np.isnan(function(theta, layout_ints, out, work, np.zeros(1, dtype=np.int64)))


@given(st.integers(1, 60), st.integers(2, 9), seeds)
def test_label_that_fades_too_far_is_not_lost(length, labels, seed):
    """The only label allowed at the end is 40 nats worse at each step before."""
    rng = np.random.default_rng(seed)
    layout, nodes = (length, labels), length * labels
    theta = np.full(Chain().n_parts(layout), -np.inf)
    theta[:nodes] = rng.standard_normal(nodes)
    theta[:nodes:labels] -= 40.0
    theta[nodes:].reshape(labels, labels)[np.diag_indices(labels)] = 0.0
    theta[nodes - labels + 1 : nodes] = -np.inf
    for function in (chain_sums.marginals, marginals_by_logs):
        value, z = run(function, theta, layout, True)
        assert value == pytest.approx(theta[:nodes:labels].sum(), rel=1e-13)
        assert np.abs(z[:nodes:labels] - 1).max() <= 1e-13


@ways
def test_many_equal_sequences_weigh_against_one_better(function):
    """One sequence leads each of 2^40 others by 20 nats, and yet they have most of the mass."""
    length, labels = 41, 3
    theta = np.zeros(Chain().n_parts((length, labels)))
    table = theta[length * labels :].reshape(labels, labels)
    table[0, 1:] = table[1:, 0] = -np.inf
    theta[0] = 20.0
    value, z = run(function, theta, (length, labels), True)
    others = 2.0**length
    assert value == pytest.approx(np.log(np.exp(20.0) + others), rel=1e-14)
    assert z[0] == pytest.approx(np.exp(20.0) / (np.exp(20.0) + others), rel=1e-12)


@ways
def test_equal_scores_of_any_size_are_counted(function):
    for size in (0.0, 1e-9, 19.0, 21.0, 1e9, -1e9):
        layout = (30, 7)
        theta = np.full(Chain().n_parts(layout), size)
        value, z = run(function, theta, layout, True)
        assert value == pytest.approx(30 * np.log(7) + 59 * size, rel=1e-14)
        assert np.abs(z[:210] - 1 / 7).max() <= 1e-15
        assert np.abs(z[210:] - 29 / 49).max() <= 1e-14


@ways
def test_dead_ends_deep_in_the_chain_are_infeasible(function):
    layout = (400, 4)
    theta = draw(layout, False, 0)
    theta[1600 + 399 * 16 - 16 :] = -np.inf
    value, z = run(function, theta, layout, False)
    assert value == -np.inf
    assert not z.any()
    with pytest.raises(InfeasibleError, match="every output is forbidden"):
        Chain(tied=False).marginals(theta, layout)


@ways
def test_label_that_nothing_leads_to_may_lead_to_the_best(function):
    """Such a label's message back grows far beyond all others, and is not to spoil them."""
    layout = (300, 3)
    theta = np.zeros(Chain(tied=False).n_parts(layout))
    theta[:900].reshape(300, 3)[:, 2] = 19.0
    tables = theta[900:].reshape(299, 3, 3)
    tables[:, :2, 2] = -np.inf
    theta[2] = -np.inf
    value, z = run(function, theta, layout, False)
    assert value == pytest.approx(300 * np.log(2), rel=1e-14)
    assert np.abs(z[:900].reshape(300, 3) - [0.5, 0.5, 0.0]).max() <= 1e-15


@ways
@pytest.mark.parametrize("low, high", [(-159.0, 19.0), (-700.0, -600.0), (-1.0, 1.0), (-1e-9, 0.0)])
def test_exponentials_are_right_to_the_last_digits(function, low, high):
    theta = np.random.default_rng(0).uniform(low, high, 301)
    theta[-1] = -np.inf
    z = run(function, theta, (1, 301), False)[1]
    top = theta.argmax()
    assert z[-1] == 0
    assert z[:-1] / z[top] == pytest.approx(np.exp(theta[:-1] - theta[top]), rel=1e-14)
