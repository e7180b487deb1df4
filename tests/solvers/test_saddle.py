"""Iterates of the saddle-point solvers against the methods as printed, step by step."""

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from maxmargin import domains
from maxmargin.solvers import DualExtragradient, Extragradient, ProjectedGradient
from maxmargin.solvers.saddle.weight_geometry import operator_norm
from reference import saddle as book
from reference.weight_sets import WeightSet
from solvers.saddle_cases import FAST, PROBLEMS, SETS, build, by_definition

pytestmark = pytest.mark.one_in(5)

# The linear programs behind "assignment" are solved to HiGHS's tolerance of 1e-7.
CLOSE = dict.fromkeys(PROBLEMS, 1e-9) | {"assignment": 1e-6}
WEIGHTS = {"multiclass": 1 + np.arange(9) % 3, "finite": 1 + np.arange(8) % 4}
all_problems = pytest.mark.parametrize("name", PROBLEMS)
all_sets = pytest.mark.parametrize("domain", SETS)


def epochs(solver, problem, count):
    """The state after each epoch."""
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        state.epoch += 1
        yield state


def options(name, alpha=0.0):
    return {"alpha": alpha, "weight": WEIGHTS.get(name)}


def count(name):
    return 10 if name in FAST else 3


def close(found, wanted, name):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE[name])


# -- extragradient ---------------------------------------------------------------------------------
@all_problems
@all_sets
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_extragradient_is_the_textbook_method(name, domain, alpha):
    made = build(name, domain, **options(name, alpha))
    printed = book.extragradient(by_definition(made, domain), 0.2, count(name))
    solver = Extragradient(step=0.2)
    ours = epochs(solver, made.problem, count(name))
    for state, (w, z, _) in zip(ours, printed, strict=True):
        close(state.w, w, name)
        close(state.z, np.concatenate(z), name)


@pytest.mark.parametrize("first", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("name", ["multiclass", "finite", "matching", "items"])
@pytest.mark.parametrize("domain", ["all", "l2"])
def test_adaptive_steps_follow_the_printed_rule(name, domain, first):
    made = build(name, domain, **options(name, 0.1))
    solver = Extragradient()
    state = solver.init(made.problem)
    state.step = first
    printed = book.extragradient(by_definition(made, domain), first, count(name), nu=0.9)
    lengths = []
    for w, z, eta in printed:
        solver.epoch(made.problem, state)
        close(state.w, w, name)
        close(state.z, np.concatenate(z), name)
        assert state.step == pytest.approx(eta, rel=1e-7)
        lengths.append(eta)
    assert len(set(np.round(lengths, 9))) > 1  # the rule was at work


# -- dual extragradient ----------------------------------------------------------------------------
@all_problems
@all_sets
@pytest.mark.parametrize("past", [False, True])
def test_dual_extragradient_is_figure_2(name, domain, past):
    made = build(name, domain, **options(name, 0.0 if domain == "l2" else 0.3))
    printed = book.dual_extragradient(by_definition(made, domain), 0.15, count(name), past)
    solver = DualExtragradient(step=0.15, past=past)
    ours = epochs(solver, made.problem, count(name))
    for state, (w, z, u) in zip(ours, printed, strict=True):
        close(state.w, w, name)
        close(state.z, np.concatenate(z), name)
        average, last = solver.candidates(made.problem, state)
        close(average, w, name)
        close(last, u, name)


@all_problems
@pytest.mark.parametrize("domain", ["all", "l2", "l1"])
def test_dual_extragradient_with_little_memory_is_figure_6(name, domain):
    """As printed: no penalty, equal weights, a sum over samples, hence ratio = n."""
    made = build(name, domain, alpha=0.0)
    n, eta = made.problem.n, 0.1
    printed = book.frugal_dual_extragradient(made.training, SETS[domain][1], eta, count(name))
    solver = DualExtragradient(memory="low", step=eta, ratio=float(n))
    for state, w in zip(epochs(solver, made.problem, count(name)), printed, strict=True):
        close(state.w, w, name)


@all_problems
@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_entropic_steps_are_multiplicative(name, alpha):
    made = build(name, "l1", **options(name, alpha))
    dense = book.EntropicSaddle(made.training, SETS["l1"][1], 2.5)
    printed = book.entropic_dual_extragradient(dense, 0.3, count(name))
    solver = DualExtragradient("entropic", step=0.3, ratio=2.5)
    for state, (w, z, u) in zip(epochs(solver, made.problem, count(name)), printed, strict=True):
        close(state.w, w, name)
        close(state.z, np.concatenate(z), name)
        close(solver.candidates(made.problem, state)[1], u, name)
        assert np.abs(state.w).sum() <= 1.2


@all_problems
@pytest.mark.parametrize("decay", [True, False])
@pytest.mark.parametrize("domain", ["all", "l1"])
def test_projected_gradient_is_equation_16(name, domain, decay):
    made = build(name, domain, **options(name, 0.1))
    omega = made.problem.sample_weight
    saddle = by_definition(made, domain, ratio=1.0 / (omega @ omega))  # the papers' sum
    printed = book.projected_gradient(saddle, 0.3, count(name), decay)
    solver = ProjectedGradient(step=0.3, decay=decay)
    for state, (w, z) in zip(epochs(solver, made.problem, count(name)), printed, strict=True):
        close(state.w, w, name)
        close(state.z, np.concatenate(z), name)


# -- memory ----------------------------------------------------------------------------------------
LOW = {
    "l2": {},
    "all-penalty": {},
    "l1": {},
    "l1-entropic": {"geometry": "entropic"},
    "l1-penalty-entropic": {"geometry": "entropic"},
    "nonnegative": {},
}


@all_problems
@pytest.mark.parametrize("kind", LOW)
@pytest.mark.parametrize("past", [False, True])
def test_little_memory_gives_the_same_iterates(name, kind, past):
    made = build(name, kind.split("-")[0], **options(name, 0.25 if "penalty" in kind else 0.0))
    plain = DualExtragradient(past=past, **LOW[kind])
    ours = epochs(clone(plain).set_params(memory="low"), made.problem, count(name))
    tol = 1e-6 if name == "assignment" else 1e-10
    for state, other in zip(ours, epochs(plain, made.problem, count(name)), strict=True):
        np.testing.assert_allclose(state.w, other.w, rtol=0, atol=tol)
        np.testing.assert_allclose(state.u_w, other.u_w, rtol=0, atol=tol)
        np.testing.assert_allclose(state.loss_gradient, other.loss_gradient, rtol=0, atol=tol)
        assert state.loss == pytest.approx(other.loss, abs=tol)
        assert state.n_project == other.n_project
        assert len(state.z) == 0


@pytest.mark.parametrize("past", [False, True])
def test_little_memory_keeps_nothing_of_the_samples(past):
    made = build("matching", "l2", alpha=0.0)
    state = DualExtragradient(memory="low", past=past).init(made.problem)
    known = (made.problem.truth, state.warm_pointers)
    own = [v for v in vars(state).values() if isinstance(v, np.ndarray)]
    own = [v for v in own if not any(np.shares_memory(v, k) for k in known)]
    assert max(len(v) for v in own) <= made.problem.dim


def test_adaptive_steps_do_not_depend_on_memory():
    made = build("finite", "l2", alpha=0.0)
    plain = DualExtragradient(step="adaptive")
    low = DualExtragradient(step="adaptive", memory="low")
    for a, b in zip(epochs(plain, made.problem, 15), epochs(low, made.problem, 15), strict=True):
        assert a.step == pytest.approx(b.step, rel=1e-10)
        np.testing.assert_allclose(a.w, b.w, atol=1e-10)


# -- compiled and Python ---------------------------------------------------------------------------
@pytest.mark.parametrize("banned", [None, problems.BANNED], ids=["free", "forbidden"])
@pytest.mark.parametrize(
    "solver",
    [
        Extragradient(step=0.2),
        DualExtragradient(step=0.2),
        DualExtragradient(step=0.2, memory="low"),
        DualExtragradient(step=0.2, past=True),
        ProjectedGradient(step=0.2),
    ],
    ids=["extragradient", "dual", "low", "past", "projected"],
)
def test_oracles_in_plain_python_change_nothing(solver, banned):
    given = {"cost": problems.generic, "banned": banned, "lengths": (3, 2, 1, 3), "alpha": 0.1}
    fast, slow = problems.chain(**given), problems.chain(plain=True, **given)
    pairs = zip(epochs(solver, fast.problem, 4), epochs(solver, slow.problem, 4), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a.w, b.w, atol=1e-10)
        np.testing.assert_allclose(a.z, b.z, atol=1e-10)


# -- norms -----------------------------------------------------------------------------------------
def scaled_matrix(training):
    """F Omega^(1/2), all samples side by side."""
    return np.hstack([np.sqrt(b.weight) * b.matrix for b in training.blocks])


@all_problems
def test_the_operator_norm_is_the_largest_singular_value(name):
    made = PROBLEMS[name](**options(name))
    exact = np.linalg.norm(scaled_matrix(made.training), 2)
    assert operator_norm(made.problem, 10_000, 1e-14) == pytest.approx(exact, rel=1e-6)
    found = operator_norm(made.problem)
    assert exact / 1.02 <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.4])
@all_problems
def test_steps_are_one_over_the_norm_of_the_whole_operator(name, alpha):
    """The norm of [[alpha ratio, A], [-A^T, 0]] with A = sqrt(ratio) F Omega^(1/2)."""
    made = PROBLEMS[name](**options(name, alpha))
    ratio = DualExtragradient().find_ratio(made.problem)
    A = np.sqrt(ratio) * scaled_matrix(made.training)
    d, m = A.shape
    whole = np.block([[alpha * ratio * np.eye(d), A], [-A.T, np.zeros((m, m))]])
    exact = np.linalg.norm(whole, 2)
    state = DualExtragradient().init(made.problem)
    assert exact / 1.02 <= state.operator_norm <= exact * (1 + 1e-12)
    assert state.step == pytest.approx(1 / (1.02 * state.operator_norm))
    assert state.step <= 1.0 / exact
    past = DualExtragradient(past=True).init(made.problem)
    assert past.step == pytest.approx(state.step / 2)


@all_problems
def test_the_entropic_norm_is_that_of_the_longest_row(name):
    made = build(name, "l1", **options(name, 0.0))
    longest = np.linalg.norm(scaled_matrix(made.training), axis=1).max()
    state = DualExtragradient("entropic", ratio=4.0).init(made.problem)
    assert state.operator_norm == pytest.approx(2.0 * 1.2 * longest, rel=1e-12)


def test_all_features_zero_give_a_step_all_the_same():
    made = build("finite", "l2", alpha=0.0)
    made.problem.packed.value[:] = 0.0
    for solver in (DualExtragradient(), Extragradient(), ProjectedGradient()):
        state = solver.init(made.problem)
        assert operator_norm(made.problem) == 0.0
        assert state.step == 1.0


def test_reference_sets_are_those_of_the_package():
    rng = np.random.default_rng(0)
    for domain, by_hand in SETS.values():
        for w in rng.normal(size=(20, 5)) * 2:
            found = w if domain is None else domain.project(w)
            np.testing.assert_allclose(found, by_hand.project(w), atol=1e-12)
    assert WeightSet("all").lowest(np.ones(2), 0.0) == -np.inf


def test_the_ratio_balances_how_far_w_and_z_may_go():
    """|w|^2 / (2 D_z), D_z a tenth of the worst case; the papers' n where w has no bounds."""
    made = build("finite", alpha=0.0)
    omega = np.array([b.weight for b in made.training.blocks])
    auto = Extragradient().find_ratio
    assert auto(made.problem) == pytest.approx(1.0 / (omega @ omega))
    # two outputs of a finite set are sqrt(2) apart, if there are two
    apart = omega @ np.array([2.0 for _ in made.training.blocks])
    for radius in (0.3, 7.0):
        bounded = PROBLEMS["finite"](alpha=0.0, domain=domains.L2Ball(radius))
        assert auto(bounded.problem) == pytest.approx(radius**2 / (2 * apart / 20))
    penalised = build("finite", alpha=0.2)
    allowed = np.sqrt(2 * made.training.primal(np.zeros(made.training.dim)) / 0.2) / 3
    assert auto(penalised.problem) == pytest.approx(allowed**2 / (2 * apart / 20))
    assert Extragradient(ratio=3.5).find_ratio(penalised.problem) == 3.5
