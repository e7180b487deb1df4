"""Dual extragradient with entropic steps in z: against the method as printed, over all outputs."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from maxmargin import ChainSVM, domains
from maxmargin.exceptions import MissingAbilityError
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.result import Status
from maxmargin.solvers import BCFW, DualExtragradient
from maxmargin.solvers.saddle.weight_geometry import BlockWeights, EntropicWeights, EuclideanWeights
from reference import marginal_saddle as book
from reference.linear import violation
from reference.saddle import Saddle
from solvers.saddle_cases import PROBLEMS, SETS, build

pytestmark = pytest.mark.one_in(5)

#: structures whose `marginals` is an expectation over all outputs
WITH_MARGINALS = ("multiclass", "finite", "chain", "chain-forbidden")
WEIGHTS = {"multiclass": 1 + np.arange(9) % 3, "finite": 1 + np.arange(8) % 4}
all_with_marginals = pytest.mark.parametrize("name", WITH_MARGINALS)
any_with_marginals = pytest.mark.parametrize("name", [*WITH_MARGINALS, "matching"])
both_memories = pytest.mark.parametrize("memory", ["plain", "low"])


def entropic_solver(**options):
    return DualExtragradient(z_geometry="entropic", **options)


def epochs(solver, problem, count):
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        state.epoch += 1
        yield state


def made_for(name, domain="all", alpha=0.0):
    return build(name, domain, alpha=alpha, weight=WEIGHTS.get(name))


def by_definition(made, domain, geometry="euclidean", height=0.0):
    kind = book.MarginalSaddle if geometry == "euclidean" else book.DoublyEntropicSaddle
    dense = kind(made.training, SETS[domain][1], 2.5)
    dense.height = height
    return dense


# -- the method ------------------------------------------------------------------------------------
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("height", [0.0, 1.5])
@pytest.mark.parametrize(
    ("geometry", "domain"),
    [("euclidean", "all"), ("euclidean", "l2"), ("euclidean", "l1"), ("entropic", "l1")],
)
@all_with_marginals
def test_steps_multiply_the_probabilities_of_outputs(name, geometry, domain, height, past):
    made = made_for(name, domain, 0.2)
    dense = by_definition(made, domain, geometry, height)
    printed = book.marginal_dual_extragradient(dense, [0.3] * 8, past)
    solver = entropic_solver(geometry=geometry, step=0.3, ratio=2.5, start=height, past=past)
    for state, (w, z, u) in zip(epochs(solver, made.problem, 8), printed, strict=True):
        np.testing.assert_allclose(state.w, w, atol=1e-12)
        np.testing.assert_allclose(state.z, np.concatenate(z), atol=1e-12)
        np.testing.assert_allclose(state.u_w, u, atol=1e-12)


@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
@all_with_marginals
def test_averages_count_each_point_as_its_step(name, geometry):
    made = made_for(name, "l1")
    solver = entropic_solver(geometry=geometry, ratio=2.5)
    steps, found = [], []
    for state in epochs(solver, made.problem, 12):
        steps.append(state.last_step)
        found.append((state.w.copy(), state.z.copy()))
    assert len(set(steps)) > 3
    printed = book.marginal_dual_extragradient(by_definition(made, "l1", geometry), steps)
    for (w, z), (w_book, z_book, _) in zip(found, printed, strict=True):
        np.testing.assert_allclose(w, w_book, atol=1e-12)
        np.testing.assert_allclose(z, np.concatenate(z_book), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"past": True}, {"step": "norm"}, {"start": 2.0}])
@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
@any_with_marginals
def test_little_memory_gives_the_same_iterates(name, geometry, options):
    made = made_for(name, "l1", 0.25)
    plain = entropic_solver(geometry=geometry, **options)
    low = clone(plain).set_params(memory="low")
    pairs = zip(epochs(plain, made.problem, 10), epochs(low, made.problem, 10), strict=True)
    for state, other in pairs:
        np.testing.assert_allclose(other.w, state.w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(other.u_w, state.u_w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(other.loss_gradient, state.loss_gradient, rtol=0, atol=1e-10)
        assert other.loss == pytest.approx(state.loss, abs=1e-10)
        assert other.excess == pytest.approx(state.excess, abs=1e-9)
        assert other.n_project == state.n_project
        assert len(other.z) == 0


@pytest.mark.parametrize("past", [False, True])
def test_little_memory_keeps_nothing_of_the_samples(past):
    made = build("matching", "l2", alpha=0.0)
    *_, state = epochs(entropic_solver(memory="low", past=past), made.problem, 2)
    known = (made.problem.truth, state.warm_pointers)
    own = [v for v in vars(state).values() if isinstance(v, np.ndarray)]
    own = [v for v in own if not any(np.shares_memory(v, k) for k in known)]
    assert max(len(v) for v in own) <= made.problem.dim


class PlainMarginals(problems.PlainChain):
    """A chain whose marginals are computed in Python, over all its outputs."""

    def _logs(self, theta, layout):
        theta = np.where(np.isin(np.arange(len(theta)), self.forbidden(layout)), -np.inf, theta)
        every = np.array(list(self.vertices(layout)))
        return every, np.array([theta[s > 0] @ s[s > 0] for s in every])

    def marginals(self, theta, layout):
        every, logs = self._logs(theta, layout)
        p = np.exp(logs - logs.max())
        return p @ every / p.sum()

    def log_partition(self, theta, layout):
        return float(np.logaddexp.reduce(self._logs(theta, layout)[1]))


@pytest.mark.parametrize("banned", [None, problems.BANNED], ids=["free", "forbidden"])
@pytest.mark.parametrize("past", [False, True])
@both_memories
def test_marginals_in_plain_python_change_nothing(memory, past, banned):
    given = {"cost": problems.generic, "banned": banned, "lengths": (3, 2, 1, 3), "alpha": 0.1}
    fast, slow = problems.chain(**given), problems.chain(**given)
    slow.problem.structure = PlainMarginals(forbidden_transitions=banned)
    assert slow.problem.structure.oracle().compiled_function("marginals") is None
    solver = entropic_solver(memory=memory, past=past, start=0.7, step=0.2)
    pairs = zip(epochs(solver, fast.problem, 5), epochs(solver, slow.problem, 5), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a.w, b.w, atol=1e-10)
        np.testing.assert_allclose(a.z, b.z, atol=1e-10)
        assert a.excess == pytest.approx(b.excess, abs=1e-10)


# -- what is promised and proven -------------------------------------------------------------------
def averages(solver, problem, count):
    for state in epochs(solver, problem, count):
        yield state.w.copy(), np.split(state.z, problem.part_ptr[1:-1]), dict(vars(state))


RULES = {
    "adaptive": {},
    "norm": {"step": "norm"},
    "past": {"past": True},
    "raised": {"start": 1.5},
    "low": {"memory": "low"},
    "too long": {"step": 30.0},
}


@pytest.mark.parametrize("rule", [r for r in RULES if r != "low"])
@pytest.mark.parametrize(
    ("geometry", "domain", "alpha"),
    [("euclidean", "l2", 0.0), ("euclidean", "l2", 0.3), ("entropic", "l1", 0.0)],
)
@any_with_marginals
def test_the_gap_of_the_average_is_below_the_bound(name, geometry, domain, alpha, rule):
    made = made_for(name, domain, alpha)
    dense = Saddle(made.training, SETS[domain][1], 1.0)
    solver = entropic_solver(geometry=geometry, **RULES[rule])
    gaps = [dense.gap(w, z) for w, z, _ in averages(solver, made.problem, 20)]
    options = {"max_epochs": 20, "tol": 0.0, "check_every": 1}
    records = clone(solver).set_params(**options).run(made.problem).history
    bounds = np.array([r.extra["bound"] for r in records])
    assert (np.array(gaps) <= bounds + 1e-12).all()
    assert (np.array(gaps) >= -1e-12).all()
    for record in records:
        assert -1e-12 <= record.extra["restricted_gap"] <= record.extra["bound"] + 1e-12


@any_with_marginals
@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
def test_steps_by_the_norm_never_exceed_what_is_promised(name, geometry):
    made = made_for(name, "l1", 0.2)
    for state in epochs(entropic_solver(geometry=geometry, step="norm"), made.problem, 30):
        assert state.excess <= 1e-12
    step = state.step
    for state in epochs(entropic_solver(geometry=geometry), made.problem, 30):
        assert state.excess <= 1e-10
    assert state.step_sum > 30 * step


@pytest.mark.parametrize("height", [0.0, 1.5])
@all_with_marginals
def test_the_excess_is_that_of_its_definition(name, height):
    """max over x of [s . x - d(x)] + sum_k eta_k (alpha |u|^2 - loss), by distributions."""
    made = made_for(name, "l2", 0.2)
    dense = by_definition(made, "l2", height=height)
    solver = entropic_solver(ratio=2.5, start=height)
    s_w, s_z = np.zeros(made.problem.dim), [np.zeros(b.truth.shape) for b in made.training.blocks]
    gains = 0.0
    start = dense.start()[1]
    for state in epochs(solver, made.problem, 6):
        u, slope, loss, eta = state.u_w, state.loss_gradient_u, state.loss_u, state.last_step
        s_w -= eta * (0.2 * u + slope)
        s_z = [s + eta * r for s, r in zip(s_z, dense.gradient_z(u), strict=True)]
        gains += eta * (0.2 * u @ u - loss)
        w = SETS["l2"][1].project(2.5 * s_w)
        best = s_w @ w - w @ w / 5.0
        for b, q, s in zip(made.training.blocks, start, s_z, strict=True):
            best += b.weight * np.logaddexp.reduce(q + (b.vertices - b.truth) @ s)
        assert state.excess == pytest.approx(best + gains, abs=1e-12)


@pytest.mark.parametrize("height", [0.0, 1.5])
@all_with_marginals
def test_distances_are_those_of_the_farthest_output(name, height):
    made = made_for(name)
    dense = by_definition(made, "all", height=height)
    omega = [b.weight for b in made.training.blocks]
    wanted = sum(o * -q.min() for o, q in zip(omega, dense.start()[1], strict=True))
    state = entropic_solver(start=height).init(made.problem)
    assert state.max_distance_z == pytest.approx(wanted, rel=1e-12)


@any_with_marginals
def test_the_norm_bounds_the_range_of_scores(name):
    """sqrt(sum omega_i (range of F_i^T w . s / 2)^2) <= norm |w|; Euclidean for matchings."""
    made = made_for(name, "l1")
    rng = np.random.default_rng(0)
    for geometry, size in (
        ("euclidean", np.linalg.norm),
        ("entropic", lambda w: np.abs(w).sum() / 1.2),
    ):
        state = entropic_solver(geometry=geometry, ratio=1.0, step="norm").init(made.problem)
        for w in [*rng.normal(size=(30, made.problem.dim)), *np.eye(made.problem.dim)]:
            total = 0.0
            for b in made.training.blocks:
                scores = b.vertices @ (b.matrix.T @ w)
                total += b.weight * np.ptp(scores) ** 2 / 4
            if name == "matching":
                total = sum(b.weight * np.sum((b.matrix.T @ w) ** 2) for b in made.training.blocks)
            assert np.sqrt(total) <= 1.02 * state.operator_norm * size(w)


@cache
def optimum_in_ball(name):
    """By block-coordinate Frank-Wolfe, whose steps in a ball are expensive."""
    result = BCFW(tol=1e-6, max_epochs=3000).run(build(name, "l1", alpha=0.1).problem)
    assert result.status is Status.CONVERGED
    return result


@both_memories
@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
@pytest.mark.parametrize("z_geometry", ["euclidean", "entropic"])
@pytest.mark.parametrize("name", ["multiclass", "finite", "chain", "matching"])
def test_all_geometries_reach_the_optimum_of_frank_wolfe(name, z_geometry, geometry, memory):
    made = build(name, "l1", alpha=0.1)
    best = optimum_in_ball(name)
    # with entropic w and Euclidean z, chains take a thousand epochs, all others few
    solver = DualExtragradient(geometry, memory, z_geometry=z_geometry, tol=0.01, max_epochs=1500)
    result = solver.run(made.problem)
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)
    assert result.status is Status.CONVERGED
    assert best.dual - 1e-10 <= result.primal <= best.primal + result.gap + 1e-10
    assert result.dual <= best.primal + 1e-10


# -- points stay inside ----------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("options", [{}, {"past": True}, {"memory": "low"}, {"start": 5.0}])
@pytest.mark.parametrize("name", ["multiclass", "chain", "chain-forbidden", "matching"])
def test_no_scale_of_the_features_leads_outside(name, options, scale):
    made = build(name, alpha=0.1)
    made.problem.packed.value[:] *= scale
    solver = entropic_solver(max_epochs=12, tol=0.0, **options)
    result = solver.run(made.problem)
    assert np.isfinite(result.w).all()
    assert np.isfinite(result.primal)
    assert result.dual <= result.primal + 1e-12
    if len(result.state.z):
        assert (result.state.z >= 0).all()
        for i, layout in enumerate(made.problem.layouts):
            point = result.state.z[made.problem.parts(i)]
            assert violation(made.problem.structure.constraints(layout), point) < 1e-9


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_chains_of_any_length(scale):
    rng = np.random.default_rng(0)
    X = [scale * rng.normal(size=(length, 2)) for length in (1, 2, 10_000)]
    y = [rng.integers(3, size=len(x)) for x in X]
    est = ChainSVM(alpha=0.1 * min(scale, 1.0) ** 2, solver=entropic_solver(max_epochs=4, tol=0.0))
    with pytest.warns(UserWarning, match="max_epochs"):
        est.fit(X, y)
    assert np.isfinite(est.coef_).all()
    z = est.result_.state.z
    assert (z >= 0).all()
    np.testing.assert_allclose(z[:3].sum(), 1.0, atol=1e-12)


def test_steps_do_not_grow_for_ever_where_none_is_too_long():
    made = build("finite", "l2", alpha=0.0)
    made.problem.packed.value[:] = 0.0
    solver = entropic_solver(max_epochs=40, tol=0.0)
    first = solver.init(made.problem).step
    result = solver.run(made.problem)
    assert result.state.step == 1e6 * first
    assert result.primal == pytest.approx(result.dual, abs=1e-6)


def test_forbidden_parts_stay_zero():
    made = build("chain-forbidden", alpha=0.1)
    banned = np.isneginf(made.problem.packed.costs)
    assert banned.any()
    possible = np.concatenate([b.vertices.any(axis=0) for b in made.training.blocks])
    assert not (possible & banned).any()
    for options in ({}, {"past": True}, {"start": 2.0}):
        for state in epochs(entropic_solver(**options), made.problem, 6):
            assert not state.z[banned].any()
            assert (state.z[possible] > 0).all()


# -- runs that go on -------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"past": True}, {"geometry": "entropic"}])
@both_memories
def test_runs_resume_bit_for_bit(memory, options, tmp_path):
    made = build("chain", "l1", alpha=0.1)
    solver = entropic_solver(memory=memory, tol=0.0, max_epochs=9, check_every=2, **options)
    whole = solver.run(made.problem)
    path = tmp_path / "run"
    clone(solver).set_params(max_epochs=4).run(made.problem, callbacks=[Checkpoint(path)])
    rest = solver.run(made.problem, callbacks=[Checkpoint(path, resume=True)])
    assert rest.n_epochs == 9
    np.testing.assert_array_equal(rest.state.w, whole.state.w)
    np.testing.assert_array_equal(rest.state.z, whole.state.z)
    assert (rest.primal, rest.dual) == (whole.primal, whole.dual)
    assert rest.history[-1].extra == whole.history[-1].extra


@pytest.mark.parametrize("height", [0.0, 2.0])
@pytest.mark.parametrize("before", [BCFW(), DualExtragradient(), DualExtragradient(memory="low")])
def test_states_of_other_solvers_are_taken_up(before, height):
    """Their z may be at a vertex, which has no potentials: it is favoured, not taken over."""
    made = build("chain", alpha=0.1)
    state = clone(before).set_params(max_epochs=3, tol=0.0).run(made.problem).state
    first = made.training.primal(state.w)
    solver = entropic_solver(start=height, max_epochs=40, tol=0.0)
    result = solver.run(made.problem, state=state)
    assert result.n_epochs == 40
    assert result.primal <= first + 1e-12
    assert np.isfinite(result.state.potentials).all()
    back = BCFW(max_epochs=200, tol=1e-4).run(made.problem, state=result.state)
    assert back.status is Status.CONVERGED


# -- groups of weights -----------------------------------------------------------------------------
@pytest.mark.parametrize("z_geometry", ["euclidean", "entropic"])
@pytest.mark.parametrize("rest", [domains.L2Ball(0.7), domains.NonNegative(), None])
def test_groups_of_weights_have_steps_of_their_own(rest, z_geometry):
    some, others = np.array([0, 3, 5, 7]), np.array([1, 2, 4])
    groups = [(some, domains.L1Ball(0.8))] + ([] if rest is None else [(others, rest)])
    made = PROBLEMS["multiclass"](alpha=0.1, domain=domains.Product(groups))
    best = BCFW(tol=1e-6, max_epochs=3000).run(made.problem)
    solver = DualExtragradient("entropic", z_geometry=z_geometry, tol=0.01, max_epochs=2000)
    result = solver.run(made.problem)
    assert result.status is Status.CONVERGED
    assert best.dual - 1e-10 <= result.primal <= best.primal + result.gap + 1e-10
    assert np.abs(result.w[some]).sum() <= 0.8 + 1e-12
    assert (result.w[some] != 0).all()
    for record in result.history:
        assert record.extra["restricted_gap"] >= -1e-12


def test_groups_are_measured_each_by_itself():
    """An l1 ball alone is as by its own geometry; free weights are as by Euclidean steps."""
    made = made_for("multiclass")
    dim, rng = made.problem.dim, np.random.default_rng(1)
    own = np.arange(0, dim, 2)
    free = np.setdiff1d(np.arange(dim), own)
    ball = domains.L1Ball(1.3)
    both = BlockWeights(domains.Product([(own, ball)]), dim, 2.0)
    alone = EntropicWeights(ball, 4.0 * np.log(2 * len(own) + 1) / 1.3**2)
    other = EuclideanWeights(domains.RealSpace(), 2.0)
    # the farthest point of the ball is as far as by Euclidean steps
    assert alone.max_distance(1.3, own) == pytest.approx(1.3**2 / (2 * 2.0))
    point, slope = rng.normal(size=(2, dim))
    moved = both.step(point, slope, 0.3)
    np.testing.assert_array_equal(moved[own], alone.step(point[own], slope[own], 0.3))
    np.testing.assert_array_equal(moved[free], other.step(point[free], slope[free], 0.3))
    assert both.conjugate(point, slope) == pytest.approx(
        alone.conjugate(point[own], slope[own]) + other.conjugate(point[free], slope[free])
    )
    matrix = np.hstack([np.sqrt(b.weight) * b.matrix for b in made.training.blocks])
    found = both.scaled(both.norm(made.problem), 0.0)[0]
    largest = np.linalg.norm(matrix[own], axis=1).max() * 1.3 * np.sqrt(alone.ratio)
    wanted = np.hypot(largest, np.sqrt(2.0) * np.linalg.norm(matrix[free], 2))
    assert wanted / 1.02 <= found <= wanted * (1 + 1e-12)


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["items", "assignment"])
def test_structures_that_cannot_marginals_are_named(name):
    made = build(name)
    with pytest.raises(
        MissingAbilityError, match=r"needs `marginals`.* use z_geometry='euclidean'"
    ):
        entropic_solver().run(made.problem)


def test_marginals_without_a_log_partition_are_not_enough():
    class Half(problems.PlainChain):
        def marginals(self, theta, layout):
            return problems.Chain().marginals(theta, layout)

    made = build("chain")
    made.problem.structure = Half()
    with pytest.raises(MissingAbilityError, match="`log_partition` beside `marginals`"):
        entropic_solver().run(made.problem)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"z_geometry": "simplex"}, "z_geometry='simplex' must be"),
        ({"start": -1.0}, "start=-1.0 must be a finite number at least 0"),
        ({"start": "truth"}, "start='truth' must be"),
        ({"restarts": True}, "restarts go with"),
        ({"past": True, "step": "adaptive"}, "past=True goes with"),
        ({"step": "long"}, "step='long' must be"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        entropic_solver().set_params(**options).run(build("finite").problem)


# -- the gap within distances ----------------------------------------------------------------------
@pytest.mark.parametrize(("geometry", "domain"), [("euclidean", "l2"), ("entropic", "l1")])
@all_with_marginals
def test_the_restricted_gap_is_the_largest_within_the_distances(name, geometry, domain):
    made = made_for(name, domain)
    dense = by_definition(made, domain, geometry)
    solver = entropic_solver(geometry=geometry, ratio=2.5)
    *_, state = epochs(solver, made.problem, 5)
    whole = Saddle(made.training, SETS[domain][1], 1.0).gap(
        state.w, np.split(state.z, made.problem.part_ptr[1:-1])
    )
    metrics = solver.metrics(made.problem, state, made.problem.primal(state.w))
    far = metrics["distance_w"], metrics["distance_z"]
    found = solver.restricted_gap(made.problem, state, *far)
    assert found == pytest.approx(whole, rel=1e-4)
    assert found <= metrics["bound"] + 1e-12
    # points on the way of a step of any length are the farthest of their distance
    start_w, start_z = dense.start()
    rise = [b.matrix.T @ state.w + b.costs for b in made.training.blocks]
    slope = state.loss_gradient
    for scale in (0.05, 0.5, 3.0):
        z, w = dense.step_z(start_z, rise, scale), dense.step_w(start_w, slope, scale)
        pairs = zip(made.training.blocks, z, start_z, strict=True)
        distance_z = sum(b.weight * np.exp(p) @ (p - q) for b, p, q in pairs)
        distance_w = (w - start_w) @ (w - start_w) / 5.0
        if geometry == "entropic":
            distance_w = w @ np.log(w / start_w) / 2.5
        seen = dense.visible(w) if geometry == "entropic" else w
        rest = made.problem.loss_at(state.z) @ made.problem.sample_weight
        value = state.w @ dense.loss_gradient(z) - seen @ slope - rest
        pairs = zip(made.training.blocks, dense.points(z), strict=True)
        value += sum(b.weight * b.costs @ (p - b.truth) for b, p in pairs)
        found = solver.restricted_gap(made.problem, state, distance_w, distance_z)
        assert found == pytest.approx(value, rel=1e-5, abs=1e-9)
        assert found <= whole + 1e-9


def test_the_restricted_gap_needs_entropic_z():
    made = build("finite", "l2")
    solver = DualExtragradient()
    with pytest.raises(ValueError, match="z_geometry='entropic' only"):
        solver.restricted_gap(made.problem, solver.init(made.problem), 1.0, 1.0)
