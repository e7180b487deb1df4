"""The battery of solvers where w must stay in a domain: balls, signs, cones of graph cuts."""

import numpy as np
import pytest

from contract import problems
from contract.problems import INSIDE, case
from contract.test_solvers import ASCENT, CHOSEN, DUAL, PERCEPTRONS, Interrupted, epochs, set_up
from maxmargin.domains import L1Ball, L2Ball, NonNegative, RealSpace
from maxmargin.result import Status
from maxmargin.solvers import BCFW, DualExtragradient, Extragradient, FrankWolfe, Subgradient
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import best_share
from maxmargin.structures import GraphCut
from reference.training import optimum

pytestmark = pytest.mark.one_in(4)

SADDLE = {"extragradient": Extragradient(), "dual-extragradient": DualExtragradient()}
all_cases = pytest.mark.parametrize("name", INSIDE)


def reference(name):
    return optimum(case(name).training, 1e-7)


def inside(name, w):
    """Not even by rounding outside, where a domain is signs; a ball is left by rounding only."""
    where = case(name).training.where
    if getattr(where, "kind", "edges") == "nonnegative" or getattr(where, "tables", True) is False:
        return np.array_equal(where.project(w), w)
    return np.abs(where.project(w) - w).max() <= 1e-14


#: every variant where it is quick, one of each kind elsewhere
PAIRS = [(v, n) for n in INSIDE for v in (DUAL if n in ("cut", "finite-l2") else CHOSEN)]


@pytest.mark.parametrize(("variant", "name"), PAIRS)
def test_weights_belong_to_a_feasible_dual_point_and_the_dual_never_falls(variant, name):
    made, value = case(name), 0.0
    for state in epochs(DUAL[variant], made.problem, 6):
        np.testing.assert_allclose(state.w, made.training.weights(state.z), rtol=0, atol=1e-11)
        for w in DUAL[variant].candidates(made.problem, state):
            assert inside(name, w)
        risen = made.training.dual(state.z)
        assert risen <= made.training.primal(state.w) + 1e-12
        if variant in ASCENT or variant == "fw":
            assert risen >= value - 1e-13
        value = risen
    assert made.training.distance(state.z) < 1e-12
    assert value > 0.02 or variant.endswith("fixed")


@all_cases
@pytest.mark.parametrize("variant", [*CHOSEN, "ssg-None"])
def test_the_certificate_is_true(variant, name):
    made = case(name)
    result = set_up(DUAL[variant], max_epochs=6, tol=0.0).run(made.problem)
    best, bound, _ = reference(name)
    assert inside(name, result.w)
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)
    assert result.dual <= best + 1e-12
    assert result.primal >= bound - 1e-12
    assert result.dual >= made.training.dual(result.state.z) - 1e-12


@all_cases
def test_the_optimum_is_reached(name):
    made, (best, bound, w) = case(name), reference(name)
    result = BCFW(tol=1e-5, max_epochs=400).run(made.problem)
    assert result.status is Status.CONVERGED
    assert bound - 1e-12 <= result.primal <= best + result.gap + 1e-12
    apart = np.linalg.norm(result.w - w)
    assert apart <= np.sqrt(2 * result.gap / problems.ALPHA) + np.sqrt(2e-7 * best / problems.ALPHA)
    free = optimum(type(made.training)(made.training.blocks, made.training.alpha), 1e-6)[1]
    assert best > free * (1 + 1e-4)  # the domain matters


@pytest.mark.parametrize("name", ["finite-l2", "multiclass-l1", "items-l2", "cut"])
def test_all_solvers_agree(name):
    made = case(name)
    structure = made.problem.structure
    projects = (
        not isinstance(structure, GraphCut)
        or structure.oracle().compiled_function("project") is not None
    )
    solvers = {v: DUAL[v] for v in CHOSEN} | (SADDLE if projects else {})
    results = {
        variant: set_up(solver, tol=1e-4, max_epochs=300).run(made.problem)
        for variant, solver in solvers.items()
    }
    lowest = min(r.primal for r in results.values())
    assert max(r.dual for r in results.values()) <= lowest + 1e-12
    for variant, result in results.items():
        assert 0 <= result.primal - lowest <= result.gap + 1e-12, variant
        assert result.gap <= 0.15 * result.primal, variant


@all_cases
def test_the_subgradient_method_is_dual_averaging(name):
    """w_k = P(v_k / (alpha k)), on the blocks; and its averages."""
    made = INSIDE[name](cost=problems.generic)
    training, n = made.training, made.problem.n
    v, k, path = np.zeros(training.dim), 0, []
    rng, w = np.random.default_rng(4), np.zeros(training.dim)
    solver = Subgradient("weighted", random_state=4)
    half = epochs(Subgradient("half", random_state=4), made.problem, 5)
    for state in epochs(solver, made.problem, 5):
        for i in rng.permutation(n):
            b = training.blocks[i]
            v += n * b.weight * (b.matrix @ (b.truth - b.best(w)))
            k += 1
            w = training.where.project(v / (training.alpha * k))
            path.append(w)
        np.testing.assert_allclose(state.w, w, atol=1e-10)
        wanted = np.average(path, axis=0, weights=np.arange(1, k + 1))
        np.testing.assert_allclose(solver.candidates(made.problem, state)[1], wanted, atol=1e-10)
        other = next(half)
    start = 2 * n  # of five passes, since half of the last power of two
    found = Subgradient("half").candidates(made.problem, other)[1]
    np.testing.assert_allclose(found, np.mean(path[start:], axis=0), atol=1e-10)


@all_cases
@pytest.mark.parametrize("kind", PERCEPTRONS)
def test_perceptrons_project_after_each_update(name, kind):
    made = INSIDE[name](weight=1 + np.arange(case(name).problem.n) % 3)
    training, solver = made.training, set_up(PERCEPTRONS[kind], random_state=4)
    rng, n = np.random.default_rng(4), made.problem.n
    start = training.where.project(np.random.default_rng(9).normal(size=training.dim))
    state, w, path = solver.init(made.problem), start, []
    state.w[:] = start
    for _ in range(5):
        solver.epoch(made.problem, state)
        groups = [range(n)] if solver.batch else [[i] for i in rng.permutation(n)]
        for group in groups:
            blocks = [training.blocks[i] for i in group]
            moves = [b.weight * (b.matrix @ (b.truth - b.best(w, costs=False))) for b in blocks]
            w = training.where.project(w + sum(moves) * (1 if solver.batch else n))
            path.append(w)
        np.testing.assert_allclose(state.w, w, atol=1e-10)
        wanted = np.mean(path, axis=0) if solver.averaged else w
        np.testing.assert_allclose(solver.candidates(made.problem, state)[0], wanted, atol=1e-10)
    result = set_up(solver, max_epochs=4).run(made.problem)
    assert inside(name, result.w)


@all_cases
def test_the_batch_line_search_beats_a_grid_of_steps(name):
    made = INSIDE[name](cost=problems.generic)
    solver = FrankWolfe()
    *_, state = epochs(solver, made.problem, 3)
    before = state.z.copy()
    towards = np.concatenate([b.best(state.w) for b in made.training.blocks])
    solver.epoch(made.problem, state)
    reached = made.training.dual(state.z)
    for step in np.linspace(0, 1, 101):
        assert reached >= made.training.dual(before + step * (towards - before)) - 1e-13


@all_cases
def test_the_line_search_in_one_sample_beats_a_grid_of_steps(name):
    made = INSIDE[name](cost=problems.generic)
    solver = BCFW("frank-wolfe", random_state=2)
    *_, state = epochs(solver, made.problem, 2)
    for i in range(made.problem.n):
        before, part = state.z.copy(), made.problem.parts(i)
        towards = made.training.blocks[i].best(state.w)
        solver._plain_pass(made.problem, state, np.array([i]))
        reached = made.training.dual(state.z)
        for step in np.linspace(0, 1, 51):
            z = before.copy()
            z[part] += step * (towards - z[part])
            assert reached >= made.training.dual(z) - 1e-13
        np.testing.assert_allclose(state.w, made.training.weights(state.z), atol=1e-11)


def test_short_steps_of_the_whole_space_are_not_taken_in_a_small_ball():
    """Where alpha is small beside what the ball does, the bound of R^d would take forever."""
    made = problems.finite(n=60, domain=L1Ball(0.3), alpha=1e-3)
    result = BCFW("frank-wolfe", tol=2e-2, max_epochs=60).run(made.problem)
    assert result.status is Status.CONVERGED


def test_the_best_share_is_at_an_end_where_the_slope_keeps_its_sign():
    problem = case("finite-l2").problem
    change = np.ones(problem.dim)
    assert best_share(problem, np.zeros(problem.dim), change, -1.0) == 0.0
    assert best_share(problem, np.zeros(problem.dim), change, 1e3) == 1.0


@pytest.mark.parametrize("variant", [*CHOSEN, "online-averaged", "batch-plain"])
@pytest.mark.parametrize("tables", [False, True])
def test_a_compiled_cut_equals_the_same_cut_in_plain_python(variant, tables):
    solver = set_up((DUAL | PERCEPTRONS)[variant], max_epochs=4, tol=0.0)
    options = {"cost": problems.generic, "tables": tables}
    fast, slow = problems.cut(**options), problems.cut(plain=True, **options)
    assert fast.problem.structure.oracle().compiled_function("maximize") is not None
    assert slow.problem.structure.oracle().compiled_function("maximize") is None
    one, two = solver.run(fast.problem), solver.run(slow.problem)
    np.testing.assert_allclose(one.w, two.w, atol=1e-11)
    np.testing.assert_allclose(one.state.z, two.state.z, atol=1e-11)


@pytest.mark.parametrize("variant", [*CHOSEN, "online-averaged", "batch-plain"])
@pytest.mark.parametrize("other", [{"alpha": 0.03}, {"domain": L2Ball(0.1)}, {"domain": None}])
def test_states_of_other_problems_are_taken_up_rightly(variant, other):
    """Another alpha or domain, there and back; what was remembered must not outlive the change."""
    solver, made = set_up((DUAL | PERCEPTRONS)[variant], tol=0.0), case("finite-l2")
    changed = problems.finite(**({"domain": L2Ball(0.3)} | other))
    state = None
    for count, problem in enumerate((made.problem, changed.problem, made.problem), start=1):
        result = set_up(solver, max_epochs=3 * count).run(problem, state=state)
        state = result.state
        assert problem.domain.contains(result.w, 1e-14)
        if variant in DUAL:
            np.testing.assert_allclose(state.w, problem.weights(state.z), atol=1e-12)
    if variant in DUAL:
        best, bound, _ = reference("finite-l2")
        assert result.dual <= best + 1e-12
        assert result.primal >= bound - 1e-12


@pytest.mark.parametrize("later", [*CHOSEN, *PERCEPTRONS])
@pytest.mark.parametrize(
    "earlier", ["bcfw-corrective-cache-auto", "fw", "ssg-half", "online-plain"]
)
def test_any_solver_goes_on_from_any_other(earlier, later):
    made, solvers = case("cut"), DUAL | PERCEPTRONS
    first = set_up(solvers[earlier], max_epochs=4, tol=0.0).run(made.problem)
    result = set_up(solvers[later], max_epochs=8, tol=0.0).run(made.problem, state=first.state)
    assert inside("cut", result.w)
    if later in DUAL:
        best, bound, _ = reference("cut")
        np.testing.assert_allclose(
            result.state.w, made.training.weights(result.state.z), atol=1e-11
        )
        assert result.dual <= best + 1e-11
        assert result.primal >= bound - 1e-11


@pytest.mark.parametrize("variant", CHOSEN)
@pytest.mark.parametrize("calls", [4, 22])
def test_an_interrupted_pass_leaves_a_true_certificate(variant, calls):
    options = {"domain": NonNegative(), "where": case("chain-nonnegative").training.where}
    made = problems.chain(plain=True, lengths=(1, 2, 3, 2, 3), **options)
    made.problem.structure = Interrupted()
    made.problem.structure.calls_left = calls
    result = set_up(DUAL[variant], max_epochs=50, tol=0.0).run(made.problem)
    assert result.status is Status.INTERRUPTED
    best, bound, _ = optimum(made.training, 1e-6)
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-11)
    assert result.primal >= bound - 1e-11
    assert result.dual <= best + 1e-11
    again = set_up(DUAL[variant], max_epochs=15, tol=0.0).run(made.problem, state=result.state)
    wanted = made.training.weights(again.state.z)
    np.testing.assert_allclose(again.state.w, wanted, atol=1e-11)
    assert again.dual <= best + 1e-11


class Careless(Solver):
    """Of a user; says nothing of domains."""

    max_epochs = tol = random_state = check_every = None


def test_a_solver_that_says_nothing_of_domains_is_refused():
    with pytest.raises(ValueError, match=r"Careless does not say .* in a L2Ball.*solver=\"bcfw\""):
        Careless().prepare(case("finite-l2").problem)
    free = case("finite").problem
    assert isinstance(free.domain, RealSpace)
    Careless().prepare(free)
