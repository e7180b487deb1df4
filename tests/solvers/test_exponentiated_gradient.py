"""Exponentiated gradient: right for both objectives, always inside, never downhill."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone

from contract import problems
from contract.problems import CASES, INSIDE, case
from maxmargin import ChainSVM
from maxmargin.exceptions import MissingAbilityError
from maxmargin.features import PartFeatures
from maxmargin.features.base import PackedFeatures
from maxmargin.oracles.base import check_scores
from maxmargin.problem import Problem
from maxmargin.result import State, Status
from maxmargin.solvers import BCFW, LBFGS, DualExtragradient, ExponentiatedGradient, FrankWolfe
from maxmargin.structures import Chain
from maxmargin.validation.samples import check_rows
from reference.training import optimum

pytestmark = pytest.mark.one_in(4)

NAMES = ["multiclass", "finite", "chain", "chain-csr", "chain-forbidden"]
MODES = ["online", "batch"]
all_names = pytest.mark.parametrize("name", NAMES)
both_modes = pytest.mark.parametrize("mode", MODES)
both_objectives = pytest.mark.parametrize("objective", ["margin", "likelihood"])


def with_objective(problem, objective, **changes):
    """The same samples with another objective, penalty, domain or structure."""
    packed = problem.packed
    names = [n for n in PackedFeatures._fields if n != "dim"]
    features = PackedFeatures(**{n: getattr(packed, n) for n in names}, dim=problem.dim)
    given = {
        "structure": problem.structure,
        "costs": problem.loss_costs,
        "alpha": problem.alpha,
        "domain": problem.domain,
        "n_jobs": None,
    } | changes
    return Problem(
        layouts=problem.layouts,
        features=features,
        sample_weight=packed.weight,
        truth=problem.truth,
        objective=objective,
        **given,
    )


def untied(n=6, labels=3, n_features=4, seed=0, **options):
    """Chains whose places have pair tables of their own, with features of every part."""
    rng = np.random.default_rng(seed)
    structure = Chain(tied=False)
    layouts = [(int(length), labels) for length in rng.integers(1, 5, size=n)]
    X = [rng.normal(size=(structure.n_parts(s), n_features)) for s in layouts]
    truths = [structure.encode(rng.integers(labels, size=s[0]), s) for s in layouts]
    costs = [np.append(1.0 - t[: s[0] * labels], np.zeros(len(t) - s[0] * labels)) / s[0]
             for t, s in zip(truths, layouts, strict=True)]  # fmt: skip
    sizes = np.array([len(t) for t in truths])
    return Problem(
        structure, layouts, PartFeatures().pack(check_rows(X), 0, sizes),
        costs=np.concatenate(costs), truth=np.concatenate(truths),
        **({"alpha": 0.1} | options),
    )  # fmt: skip


def negative_log_likelihood(training, w):
    """By definition, over all outputs."""
    rest = sum(b.weight * logsumexp(-b.moves @ w) for b in training.blocks)
    return training.alpha / 2 * (w @ w) + rest


def run(problem, state=None, **options):
    return ExponentiatedGradient(**({"tol": 0.0} | options)).run(problem, state=state)


def smoothed(problem, solver, state, temperature):
    """What steps at this temperature increase: for the likelihood, the dual itself."""
    if problem.objective == "likelihood":
        return solver.bound(problem, state)
    return solver.bound(problem, state) + temperature * (problem.sample_weight @ state.entropy)


def epochs(solver, problem, count):
    """States after each epoch, none of which lowers what it is said to increase."""
    state = solver.init(problem)
    for _ in range(count):
        temperature = state.temperature
        value = smoothed(problem, solver, state, temperature)
        solver.epoch(problem, state)
        risen = smoothed(problem, solver, state, temperature)
        assert risen >= value - 1e-9 * max(1e-4, abs(value))
        assert state.temperature <= temperature
        state.epoch += 1
        yield state


# -- right -----------------------------------------------------------------------------------------
@all_names
def test_the_margin_optimum_is_that_of_all_vertices(name):
    made = case(name)
    result = run(made.problem, tol=1e-3, max_epochs=3000)
    best, bound, _ = optimum(made.training, 1e-7)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)
    assert bound - 1e-11 <= result.primal <= best + result.gap + 1e-11
    assert result.dual <= best + 1e-11
    bcfw = BCFW(tol=1e-6, max_epochs=500).run(made.problem)
    assert result.dual <= bcfw.primal + 1e-12
    assert bcfw.dual <= result.primal + 1e-12


@all_names
@both_modes
def test_the_likelihood_optimum_is_that_of_a_general_minimiser(name, mode):
    made = case(name)
    problem = with_objective(made.problem, "likelihood")
    result = run(problem, mode=mode, tol=1e-9, max_epochs=2000)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(negative_log_likelihood(made.training, result.w))
    best = minimize(
        lambda w: negative_log_likelihood(made.training, w),
        np.zeros(problem.dim),
        options={"gtol": 1e-8},
    )
    assert result.primal == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(result.w, best.x, atol=1e-4)
    quasi = LBFGS(tol=1e-9).run(problem)
    assert abs(quasi.primal - result.primal) <= quasi.gap + result.gap


@both_objectives
def test_chains_with_a_table_at_each_place(objective):
    problem = untied(objective=objective)
    result = run(problem, tol=1e-3, max_epochs=2000)
    other = BCFW(tol=1e-3, max_epochs=500) if objective == "margin" else LBFGS(tol=1e-6)
    other = other.run(problem)
    assert result.status is other.status is Status.CONVERGED
    assert result.dual <= other.primal + 1e-12
    assert other.dual <= result.primal + 1e-12


@both_modes
def test_matchings_take_another_entropy_for_margins(mode):
    made = problems.matching()
    result = run(made.problem, mode=mode, tol=1e-2, max_epochs=2000)
    best, bound, _ = optimum(made.training, 1e-6)
    assert result.status is Status.CONVERGED
    assert bound - 1e-9 <= result.primal <= best + result.gap + 1e-9
    assert result.dual <= best + 1e-9
    assert made.training.distance(result.state.z) < 1e-9


@pytest.mark.parametrize("name", ["finite-l2", "multiclass-l1", "chain-nonnegative"])
@both_modes
@both_objectives
def test_weights_stay_in_a_domain(name, mode, objective):
    made = INSIDE[name]()
    problem = with_objective(made.problem, objective)
    solver = ExponentiatedGradient(mode)
    for state in epochs(solver, problem, 20):
        assert problem.domain.contains(state.w)
        np.testing.assert_allclose(state.w, problem.weights(state.z), atol=1e-11)
    result = run(problem, mode=mode, max_epochs=400, tol=1e-2)
    assert result.status is Status.CONVERGED
    if objective == "margin":
        best, bound, _ = optimum(made.training, 1e-6)
        assert bound - 1e-10 <= result.primal
        assert result.dual <= best + 1e-10


# -- steps -----------------------------------------------------------------------------------------
@all_names
@both_modes
@both_objectives
def test_bounds_are_true_and_points_stay_inside(name, mode, objective):
    made = case(name)
    problem = with_objective(made.problem, objective)
    solver = ExponentiatedGradient(mode, averaging=False)
    for state in epochs(solver, problem, 12):
        np.testing.assert_allclose(state.w, made.training.weights(state.z), rtol=0, atol=1e-11)
        assert made.training.distance(state.z) < 1e-12
        assert (state.z >= 0).all()
        value = solver.bound(problem, state)
        assert value <= problem.primal(state.w) + 1e-12
    assert value > 0.05


@all_names
@both_objectives
def test_each_step_of_a_sample_raises_the_dual_by_what_was_promised(name, objective):
    problem = with_objective(case(name).problem, objective)
    solver = ExponentiatedGradient(averaging=False)
    *_, state = epochs(solver, problem, 1)
    value = smoothed(problem, solver, state, state.temperature)
    for i in np.random.default_rng(1).integers(problem.n, size=25):
        solver._pass(problem, state, np.array([i]))
        risen = smoothed(problem, solver, state, state.temperature)
        assert risen >= value - 1e-14
        value = risen


@both_objectives
def test_a_step_is_the_published_one(objective):
    problem = with_objective(case("chain").problem, objective)
    solver = ExponentiatedGradient(averaging=False)
    *_, state = epochs(solver, problem, 2)
    before, w = state.potentials.copy(), state.w.copy()
    solver._pass(problem, state, np.array([3]))
    here = problem.parts(3)
    old, new, scores = before[here], state.potentials[here], problem.scores(w, 3)
    rates = (new - old) / (scores / state.temperature - old)
    assert 0 < rates[0] <= 1
    assert (state.temperature == 1.0) == (objective == "likelihood")
    np.testing.assert_allclose(rates, rates[0], rtol=1e-9)
    np.testing.assert_allclose(state.z[here], problem.structure.marginals(new, problem.layouts[3]))
    rest = np.ones(len(before), dtype=bool)
    rest[here] = False
    np.testing.assert_array_equal(state.potentials[rest], before[rest])


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
@both_modes
@both_objectives
def test_features_of_any_scale(scale, mode, objective):
    problem = with_objective(case("chain-forbidden").problem, objective)
    problem.packed.value.setflags(write=True)
    scaled = with_objective(problem, objective)
    scaled.packed = scaled.packed._replace(value=scaled.packed.value * scale)
    solver = ExponentiatedGradient(mode)
    for state in epochs(solver, scaled, 15):
        assert np.isfinite(state.w).all()
        assert np.isfinite(state.potentials).all()
        assert ((state.z >= 0) & (state.z <= 4)).all()
        assert solver.bound(scaled, state) <= scaled.primal(state.w) * (1 + 1e-9)


@pytest.mark.parametrize("length", [1, 2, 10_000])
@both_objectives
def test_chains_of_any_length(length, objective):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=length)
    X, ys = [np.eye(3)[y] + rng.normal(size=(length, 3)), np.eye(3)], [y, np.arange(3)]
    problem = ChainSVM(alpha=0.1, objective=objective)._problem(X, ys, None, None)
    solver = ExponentiatedGradient()
    for state in epochs(solver, problem, 8):
        rows = state.z[: 3 * length].reshape(length, 3)
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)
        assert (state.z >= 0).all()
    assert 0 <= problem.primal(state.w) - solver.bound(problem, state) < np.inf


# -- runs ------------------------------------------------------------------------------------------
@both_modes
@both_objectives
def test_the_same_seed_gives_the_same_bits_by_any_number_of_threads(mode, objective):
    problem = with_objective(case("chain").problem, objective)
    results = [run(problem, mode=mode, max_epochs=5, random_state=3) for _ in range(2)]
    results.append(
        run(with_objective(problem, objective, n_jobs=2), mode=mode, max_epochs=5, random_state=3)
    )
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].w, other.w)
        np.testing.assert_array_equal(results[0].state.z, other.state.z)
        assert (results[0].primal, results[0].dual) == (other.primal, other.dual)
    other = run(problem, mode=mode, max_epochs=5, random_state=4)
    assert (mode == "batch") == np.array_equal(results[0].w, other.w)


@both_modes
@pytest.mark.parametrize("start", ["truth", "uniform"])
def test_many_epochs_with_a_small_penalty_stay_off_vertices(start, mode):
    """A temperature that falls too soon carries z to a vertex, which steps are long in leaving."""
    problem = problems.chain(alpha=1e-4).problem
    result = run(problem, mode=mode, start=start, max_epochs=200, tol=0.0)
    assert result.primal < 3 * problem.primal(np.zeros(problem.dim))
    assert result.state.temperature > 0
    assert (problem.sample_weight @ result.state.entropy) > 1e-6


def test_potentials_of_margins_are_not_those_of_likelihoods():
    """Entropies are differences of potentials: of very large ones nothing but rounding is left."""
    margin = problems.chain().problem
    state = run(margin, max_epochs=3).state
    state.potentials *= 1e18
    problem = with_objective(margin, "likelihood")
    best = LBFGS(tol=1e-8, max_epochs=500).run(problem)
    result = ExponentiatedGradient(max_epochs=8, tol=0.0).run(problem, state=state)
    assert max(record.dual for record in result.history) <= best.primal
    assert result.status is Status.MAX_EPOCHS


def test_samples_without_weight_leave_the_estimate_of_the_gap_a_number():
    """Drawn at random, some are not seen for long; those that count for nothing must not matter."""
    weight = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0])
    problem = problems.chain(weight=weight, objective="likelihood").problem
    result = run(problem, sampling="uniform", max_epochs=60, tol=1e-6)
    assert result.status is Status.CONVERGED
    assert 0 <= result.state.estimate < 1e-4


class PlainMarginals(Chain):
    """The chain whose expectations are asked of Python."""

    def marginals(self, theta, layout):
        return Chain().marginals(check_scores(self, theta, layout), layout)

    def log_partition(self, theta, layout):
        return Chain().log_partition(check_scores(self, theta, layout), layout)


@both_objectives
@pytest.mark.parametrize("name", ["chain", "chain-forbidden"])
def test_python_gives_the_steps_of_compiled_code(name, objective):
    fast = with_objective(case(name).problem, objective)
    banned = fast.structure.forbidden_transitions
    slow = with_objective(fast, objective, structure=PlainMarginals(forbidden_transitions=banned))
    assert slow.structure.oracle().compiled_function("marginals") is None
    solver = ExponentiatedGradient()
    pairs = zip(epochs(solver, fast, 6), epochs(solver, slow, 6), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one.w, other.w)
        np.testing.assert_array_equal(one.z, other.z)
        np.testing.assert_array_equal(one.potentials, other.potentials)
        for field in ("average", "counters"):
            for a, b in zip(getattr(one, field), getattr(other, field), strict=True):
                np.testing.assert_array_equal(a, b)
        assert one.last_rate == other.last_rate


class Interrupted(PlainMarginals):
    """A chain whose user presses Ctrl-C during the n-th call."""

    calls_left = 40

    def marginals(self, theta, layout):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return super().marginals(theta, layout)


@both_modes
@both_objectives
def test_an_interrupted_pass_leaves_a_true_certificate(mode, objective):
    structure = Interrupted()
    problem = with_objective(case("chain").problem, objective, structure=structure)
    structure.calls_left = 75
    result = run(problem, mode=mode, max_epochs=50)
    assert result.status is Status.INTERRUPTED
    sound = with_objective(case("chain").problem, objective)
    assert result.primal == pytest.approx(sound.primal(result.w), abs=1e-12)
    np.testing.assert_allclose(result.state.w, sound.weights(result.state.z), atol=1e-12)
    best = (BCFW if objective == "margin" else LBFGS)(tol=1e-6).run(sound)
    assert result.dual <= best.primal + 1e-12


@both_modes
@both_objectives
def test_a_run_in_two_parts_is_a_run(mode, objective):
    problem = with_objective(case("chain").problem, objective)
    options = {"mode": mode, "check_every": 3}
    whole = run(problem, max_epochs=6, **options)
    half = run(problem, max_epochs=3, **options)
    rest = run(problem, state=half.state, max_epochs=6, **options)
    assert rest.n_epochs == 6
    np.testing.assert_allclose(rest.state.z, whole.state.z, atol=1e-9)
    assert rest.dual == pytest.approx(whole.dual, abs=1e-9)


@both_objectives
def test_a_run_that_starts_at_the_solution_ends_at_once(objective):
    problem = with_objective(case("chain").problem, objective)
    first = run(problem, tol=1e-2, max_epochs=1000)
    n_epochs = first.n_epochs
    again = run(problem, tol=1e-2, max_epochs=1000, state=first.state)
    assert first.status is again.status is Status.CONVERGED
    assert again.n_epochs == n_epochs


OTHERS = {
    "bcfw": BCFW(max_epochs=10, tol=0.0),
    "fw": FrankWolfe(max_epochs=10, tol=0.0),
    "dual-extragradient": DualExtragradient(max_epochs=20, tol=0.0),
}


@both_modes
@pytest.mark.parametrize("other", OTHERS)
def test_states_of_other_solvers_are_taken_up_in_the_interior(other, mode):
    made = case("chain")
    state = clone(OTHERS[other]).run(made.problem).state
    first = run(made.problem, state=state, mode=mode, max_epochs=0)
    assert first.history[0].epoch in (0, state.epoch)
    np.testing.assert_allclose(first.state.w, made.training.weights(first.state.z), atol=1e-11)
    assert made.training.distance(first.state.z) < 1e-12
    for point, layout in zip(made.training.split(first.state.z), made.problem.layouts, strict=True):
        assert (point[: None if layout[0] > 1 else layout[1]] > 0).all()  # one node has no pairs
    result = run(made.problem, state=first.state, mode=mode, max_epochs=60)
    best, bound, _ = optimum(made.training, 1e-6)
    assert result.dual <= best + 1e-12
    assert result.primal >= bound - 1e-12
    back = clone(OTHERS[other]).set_params(max_epochs=100).run(made.problem, state=result.state)
    assert back.dual <= best + 1e-12
    assert back.primal >= bound - 1e-12


def test_likelihood_goes_on_from_the_weights_of_another_solver():
    problem = with_objective(case("chain").problem, "likelihood")
    state = LBFGS(tol=1e-10).run(problem).state
    result = run(problem, state=state, tol=1e-8, max_epochs=500)
    assert result.status is Status.CONVERGED
    assert result.n_epochs == state.epoch


@pytest.mark.parametrize("objectives", list(product(["margin", "likelihood"], repeat=2)))
def test_states_of_other_penalties_losses_and_objectives(objectives):
    before, after = objectives
    state = run(with_objective(case("chain").problem, before), max_epochs=5).state
    costs = 3.0 * case("chain").problem.loss_costs
    problem = with_objective(case("chain").problem, after, alpha=0.02, costs=costs)
    result = run(problem, state=state, max_epochs=40)
    np.testing.assert_allclose(result.state.w, problem.weights(result.state.z), atol=1e-11)
    fresh = (BCFW if after == "margin" else LBFGS)(tol=1e-6, max_epochs=300).run(problem)
    assert result.dual <= fresh.primal + 1e-11
    assert result.primal >= fresh.dual - 1e-11


def test_samples_without_weight_change_nothing():
    weight = np.ones(case("chain").problem.n)
    weight[1] = 0.0
    first = run(CASES["chain"](weight=weight).problem, max_epochs=5)
    other = CASES["chain"](weight=weight).problem
    rows = other.packed.indptr[other.packed.row_ptr[1:3]]
    other.packed.value[rows[0] : rows[1]] *= -7.0
    np.testing.assert_array_equal(first.w, run(other, max_epochs=5).w)


# -- bad input -------------------------------------------------------------------------------------
def test_structures_without_expectations_are_refused():
    with pytest.raises(MissingAbilityError, match="ExponentiatedGradient needs `marginals`"):
        run(case("items").problem)


@pytest.mark.parametrize(
    "options",
    [{"mode": "both"}, {"sampling": "gap"}, {"start": "vertex"}, {"growth": 0.5}, {"growth": "x"}],
)
def test_wrong_options_are_named(options):
    with pytest.raises(ValueError, match=rf"{next(iter(options))}=.* must be"):
        run(case("chain").problem, **options)


def test_a_state_without_potentials_is_begun_anew():
    made = case("chain")
    state = State(np.zeros(made.problem.dim), np.empty(0), np.random.default_rng(0))
    result = run(made.problem, state=state, max_epochs=3)
    assert made.training.distance(result.state.z) < 1e-12
