"""Rules kept by dual prices, against the best of all vertices that keep them."""

import numpy as np
import pytest

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.constraints import part_score
from maxmargin.structures import (
    Chain,
    GeneralMatching,
    GraphCut,
    MarkovNetwork,
    Matching,
    MultiLabel,
    Network,
    NetworkLayout,
    Restricted,
    RestrictedLayout,
    Tree,
    TreeLayout,
)
from maxmargin.structures.base import Constraints
from maxmargin.structures.restricted.inequalities import as_inequalities
from maxmargin.structures.restricted.oracle import RestrictedOracle
from maxmargin.structures.restricted.price_master import PriceMaster
from maxmargin.structures.restricted.priced_search import PricedSearch

RING = Network(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
CASES = {
    "chain": (Chain(), (4, 3)),
    "untied": (Chain(tied=False), (3, 3)),
    "tree": (Tree(), TreeLayout(Network(4, [(0, 1), (0, 2), (3, 0)]), 3)),
    "matching": (Matching(), (3, 3)),
    "caps": (Matching(row_cap=2, column_cap=2), (2, 4)),
    "network": (MarkovNetwork(method="exact"), NetworkLayout(RING, 3)),
    "auto": (MarkovNetwork(tied=False), NetworkLayout(RING, 2)),
    "labels": (MultiLabel(), (5,)),
    "cut": (GraphCut(), RING),
}


def scores(rng, kind, parts):
    theta = rng.normal(size=parts)
    if kind == "zeros":
        return np.zeros(parts)
    if kind == "ties":
        return rng.integers(-2, 3, size=parts).astype(float)
    if kind == "vetoes":
        theta[rng.random(parts) < 0.25] = -1e7
    if kind == "forbidden":
        theta[: parts // 2][rng.random(parts // 2) < 0.2] = -np.inf
    return theta


def rules(rng, kind, structure, layout, vertices):
    """(matrix, lower, upper): mostly kept by some vertex, which counts of 0 to 5 need not be."""
    count, labels = structure.variables(layout)
    matrix = np.zeros((2, vertices.shape[1]))
    own = count * labels if isinstance(structure, GraphCut) else matrix.shape[1]
    for row in matrix:
        if kind == "counts" and labels > 1:
            row[rng.integers(labels) : count * labels : labels] = 1.0
        elif kind == "counts":
            row[: count * labels] = 1.0
        elif kind == "integers":
            row[:own] = rng.integers(-2, 6, size=own)
        else:
            row[:own] = rng.normal(size=own)
    value = matrix @ vertices[rng.integers(len(vertices))]
    if kind == "counts" and rng.random() < 0.5:
        value = rng.integers(0, 6, size=2).astype(float)
    side = rng.integers(3, size=2)  # equal, at most, at least
    return matrix, np.where(side == 1, -np.inf, value), np.where(side == 2, np.inf, value)


@pytest.fixture
def no_program(monkeypatch):
    def refused(*args):
        raise AssertionError("the mixed-integer solver was asked")

    monkeypatch.setattr(RestrictedOracle, "_by_program", refused)


@pytest.mark.usefixtures("no_program")
@pytest.mark.parametrize("theta_kind", ["normal", "zeros", "ties", "vetoes", "forbidden"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.one_in(4)
def test_the_best_output_that_keeps_the_rules_is_found_and_proven(name, theta_kind):
    inner, layout = CASES[name]
    structure, vertices = Restricted(inner), np.array(list(inner.vertices(layout)))
    rng = np.random.default_rng(len(name) + len(theta_kind))
    for case in range(12):
        theta = scores(rng, theta_kind, vertices.shape[1])
        if name == "cut":
            theta[4:] = -np.abs(theta[4:])
        kind = ("counts", "integers", "real")[case % 3]
        own = RestrictedLayout(layout, (), (), *rules(rng, kind, inner, layout, vertices))
        best = max((part_score(theta, z) for z in structure.vertices(own)), default=-np.inf)
        if best == -np.inf:
            with pytest.raises(InfeasibleError, match="no output keeps all rules"):
                structure.maximize(theta, own)
            continue
        z, bound = structure.oracle().maximize(theta, own)
        assert any(np.array_equal(z, kept) for kept in structure.vertices(own))
        assert bound == part_score(theta, z)
        assert bound == pytest.approx(best, rel=1e-14, abs=1e-12)


@pytest.mark.usefixtures("no_program")
@pytest.mark.parametrize("name", ["chain", "untied", "tree", "matching", "caps", "labels"])
def test_rules_go_with_parts_that_must_be_on(name):
    inner, layout = CASES[name]
    structure, vertices = Restricted(inner), np.array(list(inner.vertices(layout)))
    rng = np.random.default_rng(3)
    for _ in range(10):
        kept, theta = vertices[rng.integers(len(vertices))], rng.normal(size=vertices.shape[1])
        matrix = rng.integers(-1, 3, size=(1, len(theta)))
        on = rng.permutation(np.flatnonzero(kept))[:2]
        own = RestrictedLayout(layout, on, (), matrix, matrix @ kept, matrix @ kept + 1)
        z, bound = structure.oracle().maximize(theta, own)
        best = max(part_score(theta, other) for other in structure.vertices(own))
        assert (part_score(theta, z), bound) == pytest.approx((best, best), abs=1e-12)


@pytest.mark.usefixtures("no_program")
def test_counts_on_a_network_of_20_nodes_and_6_labels():
    pairs = [(i, i + 1) for i in range(20) if i % 5 < 4] + [(i, i + 5) for i in range(15)]
    inner, layout = MarkovNetwork(method="exact"), NetworkLayout(Network(20, pairs), 6)
    theta = np.random.default_rng(0).normal(size=inner.n_parts(layout))
    row = np.zeros(len(theta))
    row[1:120:6] = 1.0
    values = []
    for least, most in [(0, 0), (1, 1), (2, 2), (0, 2)]:
        own = RestrictedLayout(layout, matrix=row, lower=least, upper=most)
        z, bound = Restricted(inner).oracle().maximize(theta, own)
        assert least <= row @ z <= most
        assert bound == part_score(theta, z)
        values.append(bound)
    assert values[3] == max(values[:3])


@pytest.mark.usefixtures("no_program")
def test_rules_that_no_integers_keep():
    """Fractions would: twice a count is no 5, and at most 2.5 is at most 2."""
    row = np.zeros(12 * 3 + 9)
    row[1:36:3] = 2.0
    theta = np.random.default_rng(0).normal(size=len(row))
    odd = RestrictedLayout((12, 3), matrix=row, lower=5, upper=5)
    with pytest.raises(InfeasibleError, match="no output keeps all rules"):
        Restricted(Chain()).maximize(theta, odd)
    found = [
        Restricted(Chain())
        .oracle()
        .maximize(theta, RestrictedLayout((12, 3), matrix=row, lower=4, upper=most))[1]
        for most in (4, 5.9)
    ]
    assert found[0] == found[1]
    for ends in ({"lower": np.inf}, {"upper": -np.inf}, {"lower": 3, "upper": 2}):
        with pytest.raises(InfeasibleError, match="no output keeps all rules"):
            Restricted(Chain()).maximize(theta, RestrictedLayout((12, 3), matrix=row, **ends))


def test_limits_leave_a_true_bound_or_no_answer():
    rng = np.random.default_rng(1)
    matrix, theta = rng.normal(size=(1, 125)), rng.normal(size=125)
    free = part_score(theta, Chain().maximize(theta, (20, 5)))
    narrow = RestrictedLayout((20, 5), matrix=matrix, lower=0.5, upper=0.5 + 1e-7)
    with pytest.raises(TimeoutError, match="in 0.2 s, nor a proof"):
        Restricted(Chain(), 0.2).maximize(theta, narrow)
    wide, structure = RestrictedLayout((20, 5), matrix=matrix, lower=0.5, upper=0.8), Chain()
    bounds = [free]
    for nodes in (1, 100, 200):
        search = PricedSearch(
            lambda scores: structure.oracle().maximize(scores, (20, 5)),
            theta,
            Constraints(wide.matrix, wide.lower, wide.upper),
            (20, 5),
            lambda z: 0.5 <= (matrix @ z)[0] <= 0.8,
            max_nodes=nodes,
        )
        z, bound = search.run(np.empty(0, dtype=np.int64))
        assert (z is None) == (nodes == 1)
        assert bounds[-1] >= bound > (21.569 if z is None else max(21.569, part_score(theta, z)))
        bounds.append(bound)


def test_inequalities_are_scaled_by_powers_of_two_and_rounded_to_integers():
    matrix = np.array([[6.0, -9.0], [0.5, 0.0], [0.0, 0.0]])
    found = as_inequalities(
        Constraints(
            RestrictedLayout((2,), matrix=matrix).matrix,
            np.array([-4.0, -np.inf, 1.0]),
            np.full(3, 5.0),
        )
    )
    np.testing.assert_array_equal(found.most * [16, 1, 2, 16, 2], [3, 5, 5, 3, -1])
    assert not found.impossible


@pytest.mark.parametrize("seed", range(5))
def test_prices_are_those_of_the_linear_program(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    values, slacks = rng.normal(size=12), rng.normal(size=(12, 3))
    slacks[0] = 1.0  # one output keeps all rules
    master = PriceMaster(np.zeros(3))
    for k in range(12):
        master.add(values[k], slacks[k])
        prices, top, weights, is_ray = master.solve()
        assert not is_ray
        own = linprog(
            -values[: k + 1],
            A_ub=-slacks[: k + 1].T,
            b_ub=np.zeros(3),
            A_eq=np.ones((1, k + 1)),
            b_eq=[1.0],
        )
        assert top == pytest.approx(-own.fun, abs=1e-8)
        assert (values[: k + 1] + slacks[: k + 1] @ prices).max() == pytest.approx(top, abs=1e-8)
        assert values[: k + 1] @ weights == pytest.approx(top, abs=1e-8)


@pytest.mark.parametrize("perfect", [True, False])
def test_matchings_of_many_nodes_by_a_program_in_integers(perfect):
    """Where prices do not find the best one; odd sets of 16 nodes are too many to list."""
    rng, pairs = np.random.default_rng(0), np.transpose(np.triu_indices(16, 1))
    theta, rule = rng.normal(size=120), rng.integers(0, 3, size=(1, 120))
    structure = Restricted(GeneralMatching(perfect))
    layout = RestrictedLayout((16, pairs), matrix=rule, lower=5, upper=5)
    z, bound = structure.oracle()._by_program(theta, layout, np.inf)
    assert rule @ z == pytest.approx(5)
    assert bound == pytest.approx(theta @ z)
    assert structure.oracle().maximize(theta, layout)[1] == pytest.approx(bound)
