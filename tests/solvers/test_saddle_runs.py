"""Runs of the saddle-point solvers: repeated, in parts, in threads, from other solvers' states."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from maxmargin import domains
from maxmargin.result import State, Status
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    Extragradient,
    FrankWolfe,
    Perceptron,
    ProjectedGradient,
    Subgradient,
)
from solvers.saddle_cases import PROBLEMS, SOLVERS, build

pytestmark = pytest.mark.one_in(5)

ENTROPIC = {
    "entropic": DualExtragradient("entropic"),
    "entropic-low-past": DualExtragradient("entropic", "low", past=True),
}
all_solvers = pytest.mark.parametrize("kind", SOLVERS)
every = pytest.mark.parametrize("kind", SOLVERS | ENTROPIC)


def set_up(kind, **options):
    return clone((SOLVERS | ENTROPIC)[kind]).set_params(**options)


def many(n=150, **options):
    """Enough samples for several stretches of a pass."""
    return problems.finite(n=n, seed=9, **options)


def contents(state):
    """All numbers of a state, those that a certificate recomputes left out."""
    rest = {k: v for k, v in vars(state).items() if k not in ("best", "loss_gradient")}
    return [v for v in rest.values() if isinstance(v, np.ndarray)]


def same(a, b):
    for x, y in zip(contents(a), contents(b), strict=True):
        np.testing.assert_array_equal(x, y)
    assert (a.epoch, a.n_project, a.n_oracle) == (b.epoch, b.n_project, b.n_oracle)
    assert a.step == b.step


# -- bits ------------------------------------------------------------------------------------------
@every
def test_the_same_run_gives_the_same_bits(kind):
    made = many(domain=domains.L1Ball(2.0), alpha=0.0)
    first, again = (set_up(kind, max_epochs=12, tol=0.0).run(made.problem) for _ in range(2))
    same(first.state, again.state)
    np.testing.assert_array_equal(first.w, again.w)
    assert (first.primal, first.dual) == (again.primal, again.dual)


@every
def test_threads_change_no_bit(kind):
    options = {"domain": domains.L1Ball(2.0), "alpha": 0.01}
    results = [
        set_up(kind, max_epochs=12, tol=0.0).run(many(n_jobs=jobs, **options).problem)
        for jobs in (1, 2)
    ]
    for other in results[1:]:
        same(results[0].state, other.state)
        np.testing.assert_array_equal(results[0].w, other.w)
        assert (results[0].primal, results[0].dual) == (other.primal, other.dual)


def test_threads_change_no_bit_where_projections_run_in_python():
    runs = [
        DualExtragradient(max_epochs=3, tol=0.0).run(problems.items(n=70, n_jobs=jobs).problem)
        for jobs in (1, 2)
    ]
    same(runs[0].state, runs[1].state)


@every
@pytest.mark.parametrize("n", [8, 150])
def test_a_run_in_two_parts_is_a_run(kind, n):
    made = many(n, domain=domains.L1Ball(2.0), alpha=0.0)
    options = {"tol": 0.0, "check_every": 4}
    whole = set_up(kind, max_epochs=16, **options).run(made.problem)
    half = set_up(kind, max_epochs=8, **options).run(made.problem)
    kept = copy.deepcopy(half.state)
    rest = set_up(kind, max_epochs=16, **options).run(made.problem, state=half.state)
    same(rest.state, whole.state)
    assert rest.n_epochs == 16
    assert rest.primal <= whole.primal  # the end of each part tries all candidates
    assert rest.dual == pytest.approx(whole.dual, abs=1e-13)
    # a copy goes on alike, and so does the same problem built anew
    made = many(n, domain=domains.L1Ball(2.0), alpha=0.0)
    same(set_up(kind, max_epochs=16, **options).run(made.problem, state=kept).state, whole.state)


@pytest.mark.parametrize("kind", ["extragradient", "dual", "dual-low", "projected-gradient"])
@pytest.mark.parametrize("name", ["matching", "chain-forbidden"])
def test_a_run_in_two_parts_is_a_run_on_other_structures(kind, name):
    made = build(name, "l2", alpha=0.0)
    whole = set_up(kind, max_epochs=4, tol=0.0).run(made.problem)
    half = set_up(kind, max_epochs=2, tol=0.0).run(made.problem)
    rest = set_up(kind, max_epochs=4, tol=0.0).run(made.problem, state=half.state)
    same(rest.state, whole.state)


# -- states ----------------------------------------------------------------------------------------
CHANGES = {
    "step": (DualExtragradient(), DualExtragradient(step=0.01)),
    "ratio": (Extragradient(), Extragradient(ratio=0.5)),
    "geometry": (DualExtragradient(), DualExtragradient("entropic")),
    "memory": (DualExtragradient(), DualExtragradient(memory="low")),
    "more memory": (DualExtragradient(memory="low"), DualExtragradient()),
    "past": (DualExtragradient(), DualExtragradient(past=True)),
    "decay": (ProjectedGradient(), ProjectedGradient(decay=False)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_options_begin_anew_from_the_weights_reached(change):
    first, other = (clone(solver).set_params(tol=0.0) for solver in CHANGES[change])
    made = build("finite", "l1", alpha=0.0)
    reached = first.set_params(max_epochs=20).run(made.problem)
    fresh = State(reached.state.w.copy(), reached.state.z.copy(), np.random.default_rng(0))
    wanted = other.set_params(max_epochs=5).run(made.problem, state=fresh)
    found = other.set_params(max_epochs=25).run(made.problem, state=reached.state)
    np.testing.assert_array_equal(found.state.w, wanted.state.w)
    assert found.state.step == wanted.state.step
    assert found.primal <= reached.primal  # the best weights of the first run are not lost


@pytest.mark.parametrize("kind", ["extragradient", "dual", "dual-low", "projected-gradient"])
def test_long_lists_of_signs_are_told_apart(kind):
    """Their repr is not: it leaves out the middle of long lists."""
    made = problems.finite(n=4, n_features=400, seed=3, alpha=0.05)
    signs = [np.delete(np.arange(400), k) for k in (200, 201)]
    first, second = (
        problems.finite(n=4, n_features=400, seed=3, alpha=0.05, domain=domains.NonNegative(s))
        for s in signs
    )
    assert repr(first.problem.domain) == repr(second.problem.domain)
    state = set_up(kind, max_epochs=30, tol=0.0).run(first.problem).state
    result = set_up(kind, max_epochs=60, tol=0.0).run(second.problem, state=state)
    assert (result.w[signs[1]] >= -1e-9).all()
    assert made.problem.dim == 400


OTHERS = {"bcfw": BCFW(), "fw": FrankWolfe(), "ssg": Subgradient(), "perceptron": Perceptron()}


@pytest.mark.parametrize("earlier", [*OTHERS, *SOLVERS])
@pytest.mark.parametrize("later", ["extragradient", "dual", "dual-low", "projected-gradient"])
@pytest.mark.parametrize("name", ["matching", "finite"])
def test_saddle_solvers_go_on_from_any_state(name, earlier, later):
    made = PROBLEMS[name]()
    before = clone((OTHERS | SOLVERS)[earlier]).set_params(max_epochs=3, tol=0.0).run(made.problem)
    start = before.state.w.copy()
    result = set_up(later, max_epochs=5, tol=0.0).run(made.problem, state=before.state)
    assert result.n_epochs == 5
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-11)
    assert result.dual <= result.primal + 1e-12
    assert result.primal <= made.training.primal(start) + 1e-11  # certified where it began
    if len(result.state.z):
        assert made.training.distance(result.state.z) < 1e-9


@pytest.mark.parametrize("earlier", SOLVERS)
@pytest.mark.parametrize("later", OTHERS)
@pytest.mark.parametrize("name", ["chain", "finite"])
def test_other_solvers_go_on_from_the_state_of_a_saddle_solver(name, earlier, later):
    made = PROBLEMS[name]()
    before = set_up(earlier, max_epochs=3, tol=0.0).run(made.problem)
    limit = 100 if later == "bcfw" else 8
    solver = clone(OTHERS[later]).set_params(max_epochs=limit, tol=0.0)
    result = solver.run(made.problem, state=before.state)
    assert result.n_epochs == limit
    if later == "perceptron":
        assert np.isfinite(result.w).all()
        return
    np.testing.assert_allclose(result.state.w, made.training.weights(result.state.z), atol=1e-10)
    assert made.training.distance(result.state.z) < 1e-9
    assert result.dual <= result.primal + 1e-12
    assert result.primal <= before.primal + 1e-12
    if later == "bcfw":
        assert result.gap <= 1e-3 * result.primal


class Interrupted(problems.AtMostTwo):
    """Its user presses Ctrl-C during the n-th projection."""

    calls_left = 0

    def project(self, point, layout):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return super().project(point, layout)


@pytest.mark.parametrize("kind", ["dual", "dual-past"])
def test_a_pass_that_was_interrupted_is_not_gone_on_with(kind):
    """Some samples have added the last gradient to their sums, the others have not."""
    made = problems.items(domain=domains.L2Ball(1.0), alpha=0.0)
    made.problem.structure = Interrupted()
    made.problem.structure.calls_left = 5 * made.problem.n + 3
    solver = set_up(kind, max_epochs=50, tol=0.0)
    cut = solver.run(made.problem)
    assert cut.status is Status.INTERRUPTED
    assert cut.dual <= cut.primal + 1e-12
    fresh = State(cut.state.w.copy(), cut.state.z.copy(), np.random.default_rng(0))
    wanted = solver.set_params(max_epochs=4).run(made.problem, state=fresh)
    solver.set_params(max_epochs=cut.n_epochs + 4)
    again = solver.run(made.problem, state=cut.state)
    np.testing.assert_array_equal(again.state.w, wanted.state.w)
    np.testing.assert_array_equal(again.state.z, wanted.state.z)


def test_a_smaller_ball_draws_the_weights_in():
    made = build("finite", "l2", alpha=0.0)
    state = Extragradient(max_epochs=30, tol=0.0).run(made.problem).state
    smaller = PROBLEMS["finite"](alpha=0.0, domain=domains.L2Ball(0.1))
    for solver in (Extragradient(), DualExtragradient(), ProjectedGradient()):
        result = solver.set_params(max_epochs=31, tol=0.0).run(
            smaller.problem, state=copy.deepcopy(state)
        )
        assert np.linalg.norm(result.w) <= 0.1 * (1 + 1e-9)
        assert np.linalg.norm(result.state.w) <= 0.1 * (1 + 1e-9)


# -- records ---------------------------------------------------------------------------------------
PER_EPOCH = {
    "extragradient-norm": [2, 4, 6, 8],
    "dual": [1, 3, 5, 7],  # the first v is the start, which is feasible
    "dual-low": [1, 3, 5, 7],
    "dual-past": [1, 2, 3, 4],
    "dual-low-past": [1, 2, 3, 4],
    "projected-gradient": [1, 2, 3, 4],
}


class Counted(problems.AtMostTwo):
    """Counts its projections."""

    calls = 0

    def project(self, point, layout):
        self.calls += 1
        return super().project(point, layout)


@pytest.mark.parametrize("kind", PER_EPOCH)
def test_records_count_projections(kind):
    made = problems.items(domain=domains.L2Ball(1.0), alpha=0.0)
    made.problem.structure = Counted()
    result = set_up(kind, max_epochs=4, tol=0.0, check_every=1).run(made.problem)
    n = made.problem.n
    assert [r.n_project for r in result.history] == [n * k for k in PER_EPOCH[kind]]
    assert made.problem.structure.calls == n * PER_EPOCH[kind][-1]
    metrics = result.history[-1].metrics()
    assert {"saddle_gap", "restricted_gap", "step", "residual"} <= metrics.keys()
    if result.history[-1].primal == result.primal:
        assert result.history[-1].norm_w == pytest.approx(np.linalg.norm(result.w))


@pytest.mark.parametrize("kind", ["dual", "dual-low", "dual-past", "dual-low-past"])
def test_projections_are_counted_from_compiled_code_too(kind):
    made = build("finite", "l2", alpha=0.0)
    result = set_up(kind, max_epochs=4, tol=0.0).run(made.problem)
    assert result.state.n_project == made.problem.n * PER_EPOCH[kind][-1]


def test_steps_are_recorded():
    made = build("finite", "l2", alpha=0.0)
    result = Extragradient(step=0.125, max_epochs=2, tol=0.0).run(made.problem)
    assert result.history[-1].extra["step"] == 0.125
    assert "operator_norm" not in result.history[-1].extra


# -- errors ----------------------------------------------------------------------------------------
BALL = domains.L2Ball(1.0)
BAD = [
    (BCFW(), {"domain": BALL, "alpha": 0.0}, "BCFW needs alpha > 0; give a small one"),
    (FrankWolfe(), {"domain": domains.NonNegative(), "alpha": 0.0}, "FrankWolfe needs alpha > 0"),
    (Subgradient(), {"domain": BALL, "alpha": 0.0}, "Subgradient needs alpha > 0"),
    (DualExtragradient("entropic"), {}, r"needs domain=L1Ball\(radius\), or .* found RealSpace"),
    (DualExtragradient("entropic"), {"domain": BALL}, "found L2Ball"),
    (DualExtragradient("entropy"), {}, "geometry='entropy' must be"),
    (DualExtragradient(memory="none"), {}, "memory='none' must be"),
    (DualExtragradient(memory="low", restarts=True), {}, "restarts need the average z"),
    (
        DualExtragradient("entropic", restarts=True),
        {"domain": domains.L1Ball(1.0)},
        'restarts go with geometry="euclidean"',
    ),
    (DualExtragradient(past=True, step="adaptive"), {}, "past=True goes with"),
    (DualExtragradient(step=0.0), {}, "step=0.0 must be"),
    (Extragradient(step=-1.0), {}, "step=-1.0 must be"),
    (Extragradient(step=float("nan")), {}, "step=nan must be"),
    (Extragradient(step=float("inf")), {}, "step=inf must be"),
    (Extragradient(step="long"), {}, "step='long' must be"),
    (Extragradient(step=None), {}, "step=None must be"),
    (Extragradient(ratio=0), {}, "ratio=0 must be"),
    (Extragradient(ratio="n"), {}, "ratio='n' must be"),
    (DualExtragradient(ratio=float("nan")), {}, "ratio=nan must be"),
    (ProjectedGradient(ratio=-2.0), {}, "ratio=-2.0 must be"),
    (ProjectedGradient(step="adaptive"), {}, "step='adaptive' must be .* above 0 or 'norm'"),
    (Extragradient(), {"alpha": -0.1}, "alpha=-0.1 must be a finite number"),
    (DualExtragradient(), {"alpha": float("nan")}, "alpha=nan must be"),
    (DualExtragradient(max_epochs=-1), {}, "max_epochs=-1 must be"),
    (Extragradient(tol=-1e-3), {}, "tol=-0.001 must be"),
]


@pytest.mark.parametrize(("solver", "options", "words"), BAD, ids=range(len(BAD)))
def test_bad_options_are_refused(solver, options, words):
    with pytest.raises(ValueError, match=words):
        solver.run(PROBLEMS["finite"](**options).problem)


def test_a_ball_of_radius_zero_is_refused_with_the_problem():
    with pytest.raises(ValueError, match="radius=0.0 must be a finite number above 0"):
        PROBLEMS["finite"](domain=domains.L2Ball(0.0))


def test_no_epochs_give_the_certificate_of_the_start():
    made = build("finite", "l2", alpha=0.0)
    for kind in SOLVERS:
        result = set_up(kind, max_epochs=0).run(made.problem)
        assert result.status is Status.MAX_EPOCHS
        assert not result.w.any()
        assert result.primal == pytest.approx(made.training.primal(np.zeros(made.problem.dim)))
        assert result.dual == 0.0
