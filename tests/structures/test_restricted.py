"""Restricted outputs against the best of all vertices that keep what is asked."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures import (
    Chain,
    Finite,
    GraphCut,
    MarkovNetwork,
    Matching,
    Network,
    NetworkLayout,
    Restricted,
    RestrictedLayout,
    Tree,
    TreeLayout,
)

RING = Network(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
STAR = TreeLayout(Network(4, [(0, 1), (0, 2), (3, 0)]), 3)
CASES = {
    "chain": (Chain(), (4, 3)),
    "untied": (Chain(tied=False), (3, 3)),
    "tree": (Tree(), STAR),
    "matching": (Matching(), (3, 4)),
    "finite": (Finite(), (6,)),
}


def best(structure, layout, theta):
    """By definition: over all vertices inside that keep what is asked."""
    kept = [
        z
        for z in structure.structure.vertices(layout.layout)
        if (z[layout.on] > 0).all()
        and not z[layout.off].any()
        and (
            layout.matrix is None
            or (
                (layout.matrix @ z <= layout.upper + 1e-9)
                & (layout.matrix @ z >= layout.lower - 1e-9)
            ).all()
        )
    ]
    return max((theta @ z for z in kept), default=-np.inf)


def draws(name, seed):
    """Shapes with parts of some output on, other parts off, and a rule that this output keeps."""
    structure, layout = CASES[name]
    rng = np.random.default_rng(seed)
    vertices = list(structure.vertices(layout))
    kept = vertices[rng.integers(len(vertices))]
    count, labels = structure.variables(layout)
    parts = np.arange(count * labels)
    on = rng.permutation(np.flatnonzero(kept[parts]))[:1]
    off = rng.permutation(np.flatnonzero(kept[parts] == 0))[:2]
    rule = rng.integers(-1, 2, size=(2, len(kept)))
    value = rule @ kept
    return Restricted(structure), layout, on, off, rule, value, rng.normal(size=len(kept))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CASES)
def test_the_best_output_that_is_left_is_found(name, seed):
    structure, inner, on, off, rule, value, theta = draws(name, seed)
    for options in (
        {},
        {"on": on},
        {"off": off},
        {"on": on, "off": off},
        {"matrix": rule, "upper": value},
        {"on": on, "off": off, "matrix": rule, "lower": value - 1, "upper": value},
    ):
        layout = RestrictedLayout(inner, **options)
        z, bound = structure.oracle().maximize(theta, layout)
        assert theta @ z == pytest.approx(best(structure, layout, theta), abs=1e-9)
        assert bound == pytest.approx(theta @ z, abs=1e-9)
        assert any(np.array_equal(z, own) for own in structure.vertices(layout))


@pytest.mark.parametrize("seed", range(4))
def test_cuts_keep_known_labels_and_counts(seed):
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.normal(size=4), -rng.random(4)])
    structure = Restricted(GraphCut())
    total = np.r_[np.ones(4), np.zeros(4)]
    for options in (
        {"on": [1]},
        {"on": [0], "off": [2]},
        {"matrix": total, "lower": 2, "upper": 2},
    ):
        layout = RestrictedLayout(RING, **options)
        z = structure.maximize(theta, layout)
        assert theta @ z == pytest.approx(best(structure, layout, theta), abs=1e-9)


def test_constraints_describe_what_is_left():
    structure, inner, on, off, rule, value, _ = draws("chain", 1)
    layout = RestrictedLayout(inner, on, off, rule, value, value)
    found = structure.constraints(layout)
    for z in structure.structure.vertices(inner):
        left = any(np.array_equal(z, own) for own in structure.vertices(layout))
        sums = found.matrix[:, : len(z)] @ z  # rows of auxiliary columns are left out below
        own = np.flatnonzero(np.diff(found.matrix[:, len(z) :].indptr) == 0)
        inside = (sums >= found.lower - 1e-9) & (sums <= found.upper + 1e-9)
        assert inside[own].all() == left


def test_expectations_are_over_what_is_left():
    structure, layout = Restricted(Chain()), RestrictedLayout((3, 2), on=[1], off=[4])
    theta = np.random.default_rng(0).normal(size=10)
    kept = np.array(list(structure.vertices(layout)))
    p = np.exp(kept @ theta)
    np.testing.assert_allclose(structure.marginals(theta, layout), p @ kept / p.sum(), atol=1e-12)
    assert structure.log_partition(theta, layout) == pytest.approx(np.log(p.sum()))
    listed = structure.k_best(theta, layout, 100)
    assert len(listed) == len(kept)
    np.testing.assert_allclose([s for _, s in listed], np.sort(kept @ theta)[::-1])
    projected = structure.project(theta, layout)
    assert projected[1] == 1
    assert projected[4] == 0


def test_links_that_do_not_go_together_are_refused():
    structure = Restricted(Matching())
    for a, b in combinations(range(4), 2):
        with pytest.raises(InfeasibleError, match="no output has all parts"):
            structure.maximize(np.zeros(8), RestrictedLayout((2, 4), on=[a, b]))
    assert structure.maximize(np.full(8, -5.0), RestrictedLayout((2, 4), on=[1, 6]))[[1, 6]].all()


def test_contradictions_and_odd_layouts_are_named():
    chain = Restricted(Chain())
    theta = np.zeros(10)
    with pytest.raises(InfeasibleError, match="part 1 must be on, and is forbidden"):
        chain.maximize(theta, RestrictedLayout((3, 2), on=[1], off=[1]))
    with pytest.raises(InfeasibleError, match="keeps all rules"):
        chain.maximize(theta, RestrictedLayout((3, 2), matrix=np.ones(10), upper=1))
    with pytest.raises(ValueError, match="9 columns, but there are 10 parts"):
        chain.maximize(theta, RestrictedLayout((3, 2), matrix=np.ones(9), upper=1))
    with pytest.raises(ValueError, match="there is no part 10"):
        chain.maximize(theta, RestrictedLayout((3, 2), off=[10]))
    with pytest.raises(TypeError, match="must be a RestrictedLayout"):
        chain.maximize(theta, (3, 2))
    with pytest.raises(ValueError, match="numbers of parts"):
        RestrictedLayout((3, 2), on=[-1])
    with pytest.raises(ValueError, match="expected one number for 1 rows"):
        RestrictedLayout((3, 2), matrix=np.ones(10), upper=[1, 2])
    with pytest.raises(ValueError, match="not finite"):
        RestrictedLayout((3, 2), matrix=np.full(10, np.nan))
    with pytest.raises(MissingAbilityError, match="has no `marginals` with rules"):
        chain.marginals(theta, RestrictedLayout((3, 2), matrix=np.ones(10), upper=9))
    with pytest.raises(ValueError, match="part 0 must be off"):
        chain.encode([0, 0, 0], RestrictedLayout((3, 2), off=[0]))
    with pytest.raises(ValueError, match="rule 0 asks for 0 to 4, and finds 5"):
        chain.encode([0, 0, 0], RestrictedLayout((3, 2), matrix=np.ones(10), lower=0, upper=4))
    with pytest.raises(ValueError, match="time_limit=0"):
        Restricted(Chain(), time_limit=0).maximize(
            theta, RestrictedLayout((3, 2), matrix=np.ones(10))
        )


def test_layouts_are_frozen_and_equal_if_all_is():
    layout = RestrictedLayout((3, 2), [1], [4], np.ones((1, 10)), 0, 4)
    assert layout == RestrictedLayout((3, 2), [1], [4], np.ones((1, 10)), 0, 4)
    assert len({layout, RestrictedLayout((3, 2), [1], [4], np.ones((1, 10)), 0, 5)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        layout.on = [2]
    assert clone(Restricted(Chain(), 2.0)).get_params()["time_limit"] == 2.0
    assert "1 rules" in repr(layout)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["chain", "untied", "tree", "bounded"])
def test_pairs_that_must_be_on_may_be_there_more_than_once(name, seed):
    bounded = (MarkovNetwork(method="bounded"), NetworkLayout(RING, 2))
    inner, layout = bounded if name == "bounded" else CASES[name]
    rng = np.random.default_rng(seed)
    vertices = list(inner.vertices(layout))
    kept = vertices[rng.integers(len(vertices))]
    count, labels = inner.variables(layout)
    pairs = np.flatnonzero(kept[count * labels :]) + count * labels
    theta = rng.normal(size=len(kept))
    structure, own = Restricted(inner), RestrictedLayout(layout, on=rng.permutation(pairs)[:2])
    z, bound = structure.oracle().maximize(theta, own)
    assert (z[own.on] > 0).all()
    assert theta @ z <= best(structure, own, theta) + 1e-9 <= bound + 2e-9
    if name != "bounded":
        assert theta @ z == pytest.approx(best(structure, own, theta), abs=1e-9)


def test_rules_that_a_cut_cannot_keep_are_refused():
    differ = RestrictedLayout(RING, matrix=np.r_[np.zeros(4), np.ones(4)], lower=2)
    with pytest.raises(MissingAbilityError, match="GraphCut cannot keep this: rule 0"):
        Restricted(GraphCut()).maximize(np.r_[np.ones(4), -np.ones(4)], differ)


def test_a_pair_that_must_be_on_is_found_where_another_counts_for_more():
    """Labels 0 to 5 in this order, the first as often as you like: the last pair costs five."""
    length, labels = 12, 6
    banned = np.ones((labels, labels), dtype=bool)
    banned[0, 0] = False
    banned[np.arange(5), np.arange(1, 6)] = False
    chain, layout = Chain(forbidden_transitions=banned), (length, labels)
    theta = np.zeros(chain.n_parts(layout))
    theta[length * labels] = 10.0
    last = length * labels + 4 * labels + 5
    z, bound = Restricted(chain).oracle().maximize(theta, RestrictedLayout(layout, on=[last]))
    assert chain.decode(z, layout).tolist() == [0] * 7 + [1, 2, 3, 4, 5]
    assert bound == pytest.approx(60.0)
