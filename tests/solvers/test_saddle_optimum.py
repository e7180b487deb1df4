"""What the saddle-point solvers reach and prove, against linear and quadratic programs."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.base import clone

from maxmargin import domains
from maxmargin.result import Status
from maxmargin.solvers import BCFW, DualExtragradient, Extragradient, ProjectedGradient
from reference.saddle import Saddle
from solvers.saddle_cases import PROBLEMS, SETS, SOLVERS, build, by_definition

pytestmark = pytest.mark.one_in(5)

SMALL = ("multiclass", "finite", "matching")
small = pytest.mark.parametrize("name", SMALL)
all_solvers = pytest.mark.parametrize("kind", SOLVERS)


def set_up(solver, **options):
    return clone(solver).set_params(**options)


def averages(solver, problem, count):
    """Copies of (w, z) after each epoch."""
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        yield state.w.copy(), np.split(state.z, problem.part_ptr[1:-1])


# -- optima by programs over all vertices ----------------------------------------------------------
def rows_of_slacks(training):
    """xi_i >= losses - moves w as rows  A (w, xi) <= b."""
    n, rows, limits = len(training.blocks), [], []
    for i, block in enumerate(training.blocks):
        for move, loss in zip(block.moves, block.losses, strict=True):
            rows.append(np.concatenate([-move, -np.eye(n)[i]]))
            limits.append(-loss)
    return np.array(rows), np.array(limits)


def linear_optimum(training, kind, radius=np.inf):
    """min sum omega xi by a linear program over w = a - b and slacks."""
    rows, limits = rows_of_slacks(training)
    d = training.dim
    rows = np.hstack([rows[:, :d], -rows[:, :d], rows[:, d:]])
    omega = np.array([b.weight for b in training.blocks])
    cost = np.concatenate([np.zeros(2 * d), omega])
    if kind == "l1":
        ball = np.concatenate([np.ones(2 * d), np.zeros(len(omega))])
        rows, limits = np.vstack([rows, ball]), np.append(limits, radius)
    bounds = [(0, None)] * d + [(0, 0 if kind == "nonnegative" else None)] * d
    answer = linprog(cost, rows, limits, bounds=bounds + [(None, None)] * len(omega))
    assert answer.success
    return answer.fun, answer.x[:d] - answer.x[d : 2 * d]


def quadratic_optimum(training, nonnegative=False, radius=None):
    """min alpha/2 |w|^2 + sum omega xi by sequential quadratic programming."""
    rows, limits = rows_of_slacks(training)
    d, alpha = training.dim, training.alpha
    omega = np.array([b.weight for b in training.blocks])
    limited = [{"type": "ineq", "fun": lambda x: limits - rows @ x, "jac": lambda x: -rows}]
    if radius is not None:
        limited.append({"type": "ineq", "fun": lambda x: radius**2 - x[:d] @ x[:d]})
    answer = minimize(
        lambda x: alpha / 2 * (x[:d] @ x[:d]) + omega @ x[d:],
        np.append(np.full(d, 1e-3), np.full(len(omega), 3.0)),
        jac=lambda x: np.append(alpha * x[:d], omega),
        bounds=[(0 if nonnegative else None, None)] * d + [(None, None)] * len(omega),
        constraints=limited,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert answer.success
    return answer.fun, answer.x[:d]


@small
@pytest.mark.parametrize(
    "solver",
    [
        DualExtragradient(),
        DualExtragradient("entropic"),
        DualExtragradient("entropic", memory="low"),
        DualExtragradient("entropic", step="adaptive"),
        Extragradient(),
    ],
    ids=["euclidean", "entropic", "entropic-low", "entropic-adaptive", "extragradient"],
)
def test_l1_balls_give_the_optimum_of_a_linear_program(name, solver):
    made = build(name, "l1", alpha=0.0)
    best, _ = linear_optimum(made.training, "l1", 1.2)
    result = set_up(solver, max_epochs=1000, tol=1e-2).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.dual <= best + 1e-9
    assert best - 1e-9 <= result.primal <= best + result.gap + 1e-9
    assert np.abs(result.w).sum() <= 1.2 * (1 + 1e-12)
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)


@small
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["extragradient", "dual", "dual-restarts"])
def test_nonnegative_weights_give_the_optimum_of_a_program(name, kind, alpha):
    made = build(name, "nonnegative", alpha=alpha)
    if alpha:
        best, w = quadratic_optimum(made.training, nonnegative=True)
    else:
        best, w = linear_optimum(made.training, "nonnegative")
    solver = set_up(SOLVERS[kind], max_epochs=400, tol=1e-4, check_every=50)
    result = solver.run(made.problem)
    assert (result.w >= 0).all()
    assert result.primal >= best - 1e-6
    assert result.primal <= best + (1e-3 if alpha else 2e-2) * (1 + abs(best))
    assert result.dual <= best + 1e-6
    if alpha:
        assert result.status is Status.CONVERGED
        np.testing.assert_allclose(result.w, w, atol=5e-2)


@all_solvers
def test_weights_are_never_negative_on_the_way(kind):
    made = build("finite", "nonnegative", alpha=0.05)
    solver = SOLVERS[kind]
    state = solver.init(made.problem)
    for _ in range(25):
        solver.epoch(made.problem, state)
        for w in solver.candidates(made.problem, state):
            assert (w >= 0).all()


@small
def test_an_l2_ball_with_a_penalty_gives_the_optimum_of_a_quadratic_program(name):
    made = build(name, "l2", alpha=0.02)
    best, w = quadratic_optimum(made.training, radius=0.8)
    result = Extragradient(max_epochs=3000, tol=1e-5).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(result.w, w, atol=2e-2)


@pytest.mark.parametrize("kind", ["extragradient", "dual", "dual-past", "dual-adaptive"])
@pytest.mark.parametrize("name", ["multiclass", "finite", "matching", "items"])
def test_the_ball_of_the_penalised_optimum_has_the_same_optimum(name, kind):
    """w* of the penalty alpha is best in the ball |w| <= |w*| without it."""
    plain = PROBLEMS[name]()
    solved = penalised(name)
    radius = float(np.linalg.norm(solved.w))
    made = PROBLEMS[name](alpha=0.0, domain=domains.L2Ball(radius))
    wanted = solved.primal - plain.training.alpha / 2 * radius**2
    result = set_up(SOLVERS[kind], max_epochs=150, tol=1e-3).run(made.problem)
    # how far |w*| is from the exact one moves the optimum by alpha |w*| times that
    slack = solved.gap + plain.training.alpha * radius * np.sqrt(
        2 * solved.gap / plain.training.alpha
    )
    assert result.dual <= wanted + slack + 1e-9
    assert wanted - slack <= result.primal <= wanted + result.gap + slack
    assert result.gap <= 0.15 * result.primal


@cache
def penalised(name):
    return BCFW(tol=1e-8, max_epochs=3000).run(PROBLEMS[name]().problem)


# -- certificates ----------------------------------------------------------------------------------
@small
@all_solvers
@pytest.mark.parametrize("domain", ["l2", "l1", "all"])
def test_no_gap_is_negative(name, domain, kind):
    made = build(name, domain, alpha=0.1 if domain == "all" else 0.0)
    dense = by_definition(made, domain)
    result = set_up(SOLVERS[kind], max_epochs=25, tol=0.0, check_every=1).run(made.problem)
    best = min(r.primal for r in result.history)
    assert [r.epoch for r in result.history] == list(range(1, 26))
    for record in result.history:
        assert record.extra["saddle_gap"] >= -1e-12
        assert record.extra["restricted_gap"] == record.extra["saddle_gap"]
        assert record.gap == record.primal - record.dual
        assert record.dual <= best + 1e-12
    if len(result.state.z):
        z = np.split(result.state.z, made.problem.part_ptr[1:-1])
        assert result.dual >= dense.lower(z) - 1e-12
        assert result.history[-1].extra["saddle_gap"] <= dense.gap(result.state.w, z) + 1e-12


@pytest.mark.parametrize("name", ["chain-forbidden", "assignment", "items"])
@pytest.mark.parametrize("kind", ["extragradient", "dual", "dual-low-past", "projected-gradient"])
def test_no_gap_is_negative_where_projections_run_in_python(name, kind):
    made = build(name, "l2", alpha=0.0)
    result = set_up(SOLVERS[kind], max_epochs=4, tol=0.0, check_every=1).run(made.problem)
    for record in result.history:
        assert record.extra["saddle_gap"] >= (-1e-6 if name == "assignment" else -1e-12)


PROMISED = {
    "l2": (DualExtragradient(), 0.0),
    "l2-past": (DualExtragradient(past=True), 0.0),
    "l2-penalty": (DualExtragradient(), 0.3),
    "l1": (DualExtragradient(), 0.0),
    "l1-past": (DualExtragradient(past=True), 0.0),
    "l1-entropic": (DualExtragradient("entropic"), 0.0),
    "l1-entropic-past": (DualExtragradient("entropic", past=True), 0.0),
    "l1-entropic-penalty": (DualExtragradient("entropic"), 0.3),
}


@pytest.mark.parametrize("variant", PROMISED)
@pytest.mark.parametrize("name", ["multiclass", "finite", "matching", "items"])
def test_the_gap_of_the_average_is_below_the_bound(name, variant):
    solver, alpha = PROMISED[variant]
    domain, epochs = variant.split("-")[0], 20 if name == "items" else 60
    made = build(name, domain, alpha=alpha)
    dense = Saddle(made.training, SETS[domain][1], 1.0)
    gaps = [dense.gap(w, z) for w, z in averages(solver, made.problem, epochs)]
    records = set_up(solver, max_epochs=epochs, tol=0.0, check_every=1).run(made.problem).history
    bounds = np.array([r.extra["bound"] for r in records])
    assert (np.array(gaps) <= bounds + 1e-12).all()
    assert (np.array(gaps) >= -1e-12).all()
    np.testing.assert_allclose(bounds * np.arange(1, epochs + 1), bounds[0], rtol=1e-12)
    if name != "items":  # and it falls like 1 / t
        assert gaps[-1] <= 4 * max(gaps[:6]) / 10 + 1e-3


@pytest.mark.parametrize("kind", ["dual", "dual-past"])
def test_the_bound_is_that_of_the_formula(kind):
    """(D_w + D_z) / (step t), D_w = radius^2 / (2 ratio), D_z = sum omega diameter^2 / 2."""
    made = build("finite", "l2", alpha=0.0)
    result = set_up(SOLVERS[kind], max_epochs=7, tol=0.0, ratio=3.0).run(made.problem)
    metrics = result.history[-1].extra
    wanted = (0.8**2 / (2 * 3.0) + 2.0 / 2) / (metrics["step"] * 7)
    assert metrics["bound"] == pytest.approx(wanted, rel=1e-12)


def test_steps_that_are_too_long_promise_nothing():
    made = build("finite", "l2", alpha=0.0)
    for step in (100.0, "adaptive"):
        result = DualExtragradient(step=step, max_epochs=3, tol=0.0).run(made.problem)
        assert "bound" not in result.history[-1].extra


@all_solvers
@small
def test_gaps_without_bounds_or_penalty_are_restricted(name, kind):
    made = build(name, "all", alpha=0.0)
    result = set_up(SOLVERS[kind], max_epochs=40, tol=1e-3, check_every=1).run(made.problem)
    assert result.status is Status.MAX_EPOCHS
    assert result.dual == -np.inf
    assert "no certificate" in result.certificate()
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)
    for record in result.history:
        assert np.isfinite(record.extra["restricted_gap"])
        assert record.extra["restricted_gap"] >= -1e-12
        assert record.extra["saddle_gap"] == np.inf


@pytest.mark.parametrize("kind", ["dual", "extragradient"])
def test_a_part_of_the_weights_may_be_bounded(kind):
    domain = domains.Product([([0, 2], domains.L2Ball(0.5))])
    made = PROBLEMS["finite"](alpha=0.0, domain=domain)
    result = set_up(SOLVERS[kind], max_epochs=60, tol=0.0, check_every=1).run(made.problem)
    assert np.linalg.norm(result.w[[0, 2]]) <= 0.5 * (1 + 1e-12)
    assert np.linalg.norm(result.w) > 0.5
    for record in result.history:
        assert record.extra["restricted_gap"] >= -1e-12


# -- progress --------------------------------------------------------------------------------------
@small
@all_solvers
def test_all_solvers_come_near_the_optimum(name, kind):
    made = build(name)
    best, bound = penalised(name).primal, penalised(name).dual
    result = set_up(SOLVERS[kind], max_epochs=400, tol=1e-4).run(made.problem)
    assert result.dual <= best + 1e-12
    assert result.primal >= bound - 1e-12
    assert result.gap <= (0.25 if "projected" in kind else 2e-2) * best
    if "extragradient" in kind:
        assert result.status is Status.CONVERGED


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("kind", ["extragradient", "dual-adaptive"])
def test_adaptive_steps_find_their_way_at_any_scale(kind, scale):
    """Features scaled up and weights scaled down: the same problem, if the ratio is told."""
    made = PROBLEMS["finite"](alpha=0.1 * scale**2)
    made.problem.packed.value[:] *= scale
    solver = set_up(SOLVERS[kind], max_epochs=600, tol=1e-2, ratio=made.problem.n / scale**2)
    result = solver.run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(penalised("finite").primal, rel=2e-2)


@small
def test_runs_end_when_the_last_weights_are_good_enough(name):
    """The average wins at first; the last u later on, by far."""
    made = build(name)
    result = DualExtragradient(max_epochs=600, tol=1e-4).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.n_epochs < 600
    average, last = (made.training.primal(w) for w in (result.state.w, result.state.u_w))
    assert last < average
    assert result.primal == pytest.approx(last, abs=1e-12)


@small
def test_restarts_begin_anew_and_go_on_from_the_average(name):
    """As if someone took the average whenever the gap has halved, and began there."""
    made = build(name)
    solver = set_up(SOLVERS["dual-restarts"], tol=0.0, check_every=1)
    state, restarts = solver.init(made.problem), 0
    mark = None
    for _ in range(60):
        w, z, passed = state.w.copy(), state.z.copy(), state.n_steps
        gap = state.gap
        due = mark is not None and gap <= mark / 2
        solver.epoch(made.problem, state)
        if due:
            restarts, mark = restarts + 1, gap
            np.testing.assert_array_equal(state.anchor_w, w)
            np.testing.assert_array_equal(state.anchor_z, z)
        assert state.n_steps == (1.0 if due else passed + 1.0)
        best = min(made.problem.primal(w) for w in solver.candidates(made.problem, state))
        found = solver.metrics(made.problem, state, best)["restricted_gap"]
        mark = found if mark is None else mark
    assert restarts >= 2
    result = set_up(SOLVERS["dual-restarts"], max_epochs=500, tol=1e-3).run(made.problem)
    assert result.status is Status.CONVERGED


@all_solvers
def test_features_of_zero_leave_the_loss_alone(kind):
    made = build("finite", "l2", alpha=0.0)
    made.problem.packed.value[:] = 0.0
    result = set_up(SOLVERS[kind], max_epochs=30).run(made.problem)
    assert result.primal == pytest.approx(
        sum(b.weight * b.losses.max() for b in made.training.blocks)
    )
    assert result.gap <= 0.2 * result.primal + 1e-12
    assert not result.w.any()


def test_steps_do_not_grow_for_ever_at_rest():
    made = build("finite", "l2", alpha=0.0)
    made.problem.packed.value[:] = 0.0
    state = Extragradient(max_epochs=10, tol=0.0).run(made.problem).state
    state.step = 1e200
    result = Extragradient(max_epochs=20, tol=0.0).run(made.problem, state=state)
    assert result.state.step == 1e200
    assert result.primal == pytest.approx(result.dual)


@all_solvers
def test_a_single_sample(kind):
    made = PROBLEMS["multiclass"](n=1, alpha=0.0, domain=domains.L2Ball(5.0))
    best, _ = linear_optimum(made.training, "all")
    result = set_up(SOLVERS[kind], max_epochs=300, tol=0.0).run(made.problem)
    assert result.primal >= best - 1e-12
    assert result.primal <= best + result.gap + 1e-12
    assert result.gap <= (0.6 if "projected" in kind else 0.1)


# -- weights of samples ----------------------------------------------------------------------------
@small
@all_solvers
def test_whole_weights_equal_repeated_samples(name, kind):
    """At the same step and ratio, the iterates are the same."""
    if "restarts" in kind or "adaptive" in kind or kind == "extragradient":
        given = {"ratio": 2.0}
    else:
        given = {"ratio": 2.0, "step": 0.2}
    made = PROBLEMS[name]()
    times = 1 + np.arange(made.problem.n) % 3
    weighted = PROBLEMS[name](weight=times).problem
    solver = set_up(SOLVERS[kind], max_epochs=15, tol=0.0, **given)
    result, again = solver.run(weighted), solver.run(repeated(made, times))
    np.testing.assert_allclose(result.state.w, again.state.w, atol=1e-9)
    assert result.primal == pytest.approx(again.primal, abs=1e-9)
    assert result.dual == pytest.approx(again.dual, abs=1e-9)


def repeated(made, times):
    """The problem with sample i there times[i] times."""
    from maxmargin.features import PartFeatures
    from maxmargin.problem import Problem
    from maxmargin.validation.samples import check_rows

    order = np.repeat(np.arange(made.problem.n), times)
    blocks = [made.training.blocks[i] for i in order]
    return Problem(
        made.problem.structure,
        [made.problem.layouts[i] for i in order],
        PartFeatures().pack(
            check_rows([b.matrix.T for b in blocks]), 0, np.array([len(b.truth) for b in blocks])
        ),
        costs=np.concatenate([b.costs for b in blocks]),
        truth=np.concatenate([b.truth for b in blocks]),
        alpha=made.training.alpha,
    )


@all_solvers
@pytest.mark.parametrize("name", ["multiclass", "finite", "matching"])
def test_samples_without_weight_change_nothing(name, kind):
    """Noise in place of a sample of weight zero gives the same bits."""
    n = PROBLEMS[name]().problem.n
    weight = np.ones(n)
    weight[[1, n - 1]] = 0.0
    problems = [PROBLEMS[name](weight=weight).problem for _ in range(2)]
    packed = problems[1].packed
    for i in (1, n - 1):
        rows = slice(packed.indptr[packed.row_ptr[i]], packed.indptr[packed.row_ptr[i + 1]])
        packed.value[rows] *= -7.0
    first, again = (set_up(SOLVERS[kind], max_epochs=12, tol=0.0).run(p) for p in problems)
    np.testing.assert_array_equal(first.w, again.w)
    assert (first.primal, first.dual) == (again.primal, again.dual)


def test_variants_of_projected_gradient_have_no_adaptive_steps():
    with pytest.raises(ValueError, match="step='adaptive' must be .* above 0 or 'norm'"):
        ProjectedGradient(step="adaptive").run(build("finite").problem)
