"""Projections on chains: against a quadratic program, plain Python and themselves."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from maxmargin._numba import min_norm_sizes
from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import check_scores
from maxmargin.oracles.min_norm_point import project_by_vertices
from maxmargin.structures import Chain

layouts = st.tuples(st.integers(1, 6), st.integers(1, 5))
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-9, 0.1, 1.0, 10.0, 1e9])


def draw_point(structure, layout, seed, scale=1.0, banned=0.0):
    rng = np.random.default_rng(seed)
    point = scale * rng.standard_normal(structure.n_parts(layout))
    point[rng.random(len(point)) < banned] = -np.inf
    return point


def by_interior_point(structure, point, layout):
    """min 1/2 |z - point|^2 over the constraints, auxiliary variables and all."""
    import piqp

    matrix, lower, _ = structure.constraints(layout)
    n, every = len(point), matrix.shape[1]
    weight = np.concatenate([np.ones(n), np.zeros(every - n)])
    target = np.concatenate([point, np.zeros(every - n)])
    solver = piqp.SparseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-13)
    solver.setup(
        sparse.csc_matrix(sparse.diags_array(weight)), -target, sparse.csc_matrix(matrix), lower,
        None, None, None, np.zeros(every), np.full(every, np.inf),
    )  # fmt: skip
    solver.solve()
    return solver.result.x[:n]


def run(structure, point, layout, warm=None):
    """The compiled function as solvers call it: (out, value, what it left)."""
    floats, ints = structure.oracle().scratch(layout)
    work, iwork = np.full(floats, np.nan), np.full(ints, -1, dtype=np.int64)
    size = structure.oracle().warm_size(layout)
    work[:size] = 0.0 if warm is None else warm
    out = np.empty(len(point))
    layout_ints = np.array(structure.oracle().layout_as_ints(layout), dtype=np.int64)
    value = structure.oracle().compiled_function("project")(point, layout_ints, out, work, iwork)
    return out, value, work[:size].copy()


@given(layouts, st.booleans(), seeds, st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=60)
def test_equals_a_quadratic_program(layout, tied, seed, scale):
    chain = Chain(tied=tied)
    point = draw_point(chain, layout, seed, scale)
    apart = chain.project(point, layout) - by_interior_point(chain, point, layout)
    assert np.abs(apart).max() <= 1e-6


@pytest.mark.parametrize(("layout", "tied"), [((8, 26), True), ((9, 8), False)])
def test_equals_a_quadratic_program_on_larger_ones(layout, tied):
    chain = Chain(tied=tied)
    point = draw_point(chain, layout, 0, 0.5)
    apart = chain.project(point, layout) - by_interior_point(chain, point, layout)
    assert np.abs(apart).max() <= 1e-6


@given(layouts, st.booleans(), seeds, scales, st.sampled_from([0.0, 0.1, 0.3]))
def test_no_output_lies_ahead(layout, tied, seed, scale, banned):
    """The variational inequality, which only the nearest point of Z satisfies."""
    chain = Chain(tied=tied)
    point = draw_point(chain, layout, seed, scale, banned)
    try:
        chain.maximize(point, layout)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            chain.project(point, layout)
        return
    z = chain.project(point, layout)
    assert z[np.isinf(point)].max(initial=0.0) == 0.0
    assert z.min() >= 0.0
    rest = np.where(np.isinf(point), point, point - z)
    ahead = chain.maximize(rest, layout) - z
    assert rest[ahead != 0] @ ahead[ahead != 0] <= 1e-13 * max(scale, 1.0)


@given(layouts, st.booleans(), seeds, st.sampled_from([0.1, 1.0, 3.0]))
def test_equals_plain_python_and_projects_once(layout, tied, seed, scale):
    chain = Chain(tied=tied)
    point = draw_point(chain, layout, seed, scale)
    z = chain.project(point, layout)
    plain = project_by_vertices(lambda theta: chain.maximize(theta, layout), point)
    assert np.abs(z - plain).max() <= 1e-10
    assert np.abs(chain.project(z, layout) - z).max() <= 1e-10


@given(layouts, st.booleans(), seeds, st.floats(0.0, 1.0))
def test_starts_from_the_last_answer(layout, tied, seed, apart):
    chain = Chain(tied=tied)
    point = draw_point(chain, layout, seed)
    near = point + apart * draw_point(chain, layout, seed + 1)
    _, _, warm = run(chain, near, layout)
    found, value, left = run(chain, point, layout, warm)
    assert 0.0 <= value <= 1e-12
    assert np.abs(found - chain.project(point, layout)).max() <= 1e-10
    assert 1 <= left[0] <= min_norm_sizes.most_vertices(len(point))


@given(st.booleans(), seeds, st.sampled_from(["noise", "large", "nan", "count"]))
def test_whatever_was_left_does_no_harm(tied, seed, kind):
    chain, layout = Chain(tied=tied), (4, 3)
    point = draw_point(chain, layout, seed, banned=0.05)
    try:
        expected = chain.project(point, layout)
    except InfeasibleError:
        return
    rng = np.random.default_rng(seed)
    warm = rng.uniform(-1, 4, chain.oracle().warm_size(layout))
    if kind == "large":
        warm *= 1e300
    if kind == "nan":
        warm[rng.random(len(warm)) < 0.5] = np.nan
    if kind == "count":
        warm[0] = 3
    warm[0] = abs(warm[0])
    found, value, _ = run(chain, point, layout, warm)
    assert 0.0 <= value <= 1e-12
    assert np.abs(found - expected).max() <= 1e-10


@pytest.mark.parametrize("tied", [True, False])
def test_many_ties(tied):
    """The first step of a solver: all wrong labels cost the same, so all of them are in the mix."""
    chain, layout = Chain(tied=tied), (6, 8)
    truth = chain.encode([0, 1, 2, 3, 4, 5], layout)
    costs = np.zeros(len(truth))
    costs[:48] = 1 - truth[:48]
    point = truth + 0.3 * costs
    z = chain.project(point, layout)
    ahead = chain.maximize(point - z, layout)
    assert (point - z) @ (ahead - z) <= 1e-13
    assert np.abs(z - by_interior_point(chain, point, layout)).max() <= 1e-6


def test_too_many_vertices_leave_a_point_inside_and_a_bound():
    chain, layout = Chain(), (8, 26)
    point = chain.encode([3, 1, 4, 1, 5, 9, 2, 6], layout)
    point[: 8 * 26] += 1.0 - point[: 8 * 26]
    found, value, left = run(chain, point, layout)
    assert left[0] == min_norm_sizes.MOST
    assert -0.5 < value < 0.0
    exact = chain.project(point, layout)
    rest = np.abs(point - found).sum()
    assert 0 < np.linalg.norm(found - exact) <= -value * max(rest, 1.0)
    tables = found[:208].reshape(8, 26)
    assert np.abs(tables.sum(axis=1) - 1).max() <= 1e-14
    square = found[208:].reshape(26, 26)
    assert np.abs(square.sum(axis=1) - tables[:-1].sum(axis=0)).max() <= 1e-14
    assert np.abs(square.sum(axis=0) - tables[1:].sum(axis=0)).max() <= 1e-14


def test_long_chains():
    chain, layout = Chain(), (1000, 3)
    point = draw_point(chain, layout, 0, 2000.0)
    z = chain.project(point, layout)
    ahead = chain.maximize(point - z, layout) - z
    assert (point - z) @ ahead <= 1e-8
    assert z[:3000].sum() == pytest.approx(1000, rel=1e-12)


def test_numbers_that_are_none():
    with pytest.raises(ValueError, match="finite or -inf"):
        Chain().project(np.full(8, np.nan), (2, 2))
    _, value, _ = run(Chain(), np.full(8, np.nan), (2, 2))
    assert np.isnan(value)


@pytest.mark.parametrize("tied", [True, False])
def test_numbers_whose_sums_are_none(tied):
    """Where slopes are infinite there is no way to tell when to stop."""
    chain, layout = Chain(tied=tied), (3, 3)
    with pytest.raises(FloatingPointError, match="`project` failed; scale the scores down"):
        chain.project(draw_point(chain, layout, 0, 5e307), layout)
    z = chain.project(draw_point(chain, layout, 0, 1e289), layout)
    assert z[:9].reshape(3, 3).sum(axis=1) == pytest.approx(np.ones(3), abs=1e-14)


@pytest.mark.parametrize("asked", [-0.5, -2.0, -1e3, -1e300, -np.inf])
def test_more_vertices_than_there_is_room_for_are_refused(asked):
    chain, layout = Chain(), (4, 3)
    warm = np.zeros(chain.oracle().warm_size(layout))
    warm[0] = asked
    found, value, _ = run(chain, draw_point(chain, layout, 0), layout, warm)
    if asked < -2.0:
        assert np.isnan(value)
    else:  # fewer are fine: a point inside
        assert found[:12].reshape(4, 3).sum(axis=1) == pytest.approx(np.ones(4), abs=1e-14)


class NoRepeats(Chain):
    """An oracle of its own, with fewer outputs than the chain has."""

    def maximize(self, theta, layout):
        scores = check_scores(self, theta, layout)
        listed = [z for z in self.vertices(layout) if not np.diagonal(z[-4:].reshape(2, 2)).any()]
        return max(listed, key=lambda z: scores @ z)


def test_an_oracle_of_its_own_is_asked():
    own, layout = NoRepeats(), (3, 2)
    assert own.oracle().compiled_function("project") is None
    point = own.encode([0, 0, 1], layout)
    z = own.project(point, layout)
    assert z[6] == z[9] == 0.0
    assert np.abs(z - project_by_vertices(lambda t: own.maximize(t, layout), point)).max() <= 1e-12
