"""One battery over all solvers and their variants, on every kind of problem."""

import re
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from contract import problems
from contract.cases import check_cases, exported, found_dict
from contract.problems import BANNED, CASES, case
from maxmargin import solvers
from maxmargin.result import Status
from maxmargin.solvers import (
    BCFW,
    LBFGS,
    SDCA,
    CuttingPlane,
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
    OracleCache,
    Perceptron,
    ProjectedGradient,
    ReferenceQP,
    SmoothedGradient,
    Solver,
    Subgradient,
)
from maxmargin.solvers.vertex_cache import take_points
from reference.linear import violation
from reference.textbook import (
    BlockCoordinate,
    batch_perceptron,
    frank_wolfe,
    perceptron,
    subgradient,
)
from reference.training import Block, Training, optimum

STEPS = ("frank-wolfe", "pairwise", "corrective")
CACHES = {
    "auto": "auto",
    "none": None,
    "1": OracleCache(size=1, passes=2),
    "2": OracleCache(size=2, passes=1),
    "3": OracleCache(size=3, passes=3),
}


def variants():
    found = {"bcfw-frank-wolfe-fixed": BCFW(step="frank-wolfe", line_search=False)}
    for step, cache in product(STEPS, CACHES):
        found[f"bcfw-{step}-cache-{cache}"] = BCFW(step, cache=CACHES[cache])
    for step, sampling in product(STEPS, ("uniform", "gap")):
        found[f"bcfw-{step}-{sampling}"] = BCFW(step, sampling, averaging=False)
    for relaxation in (1.0, 1.9):
        found[f"bcfw-corrective-relaxation-{relaxation}"] = BCFW(relaxation=relaxation)
        found[f"bcfw-pairwise-relaxation-{relaxation}"] = BCFW("pairwise", relaxation=relaxation)
    found["cuts-1"] = CuttingPlane()
    found["cuts-1-plain"] = CuttingPlane(cache=None, drop_after=2)
    found["cuts-n"] = CuttingPlane("n-slack", resolve_every=3)
    found["cuts-n-2"] = CuttingPlane("n-slack", cache=OracleCache(size=2))
    found["fw"] = FrankWolfe()
    found["fw-fixed"] = FrankWolfe(line_search=False)
    for averaging in ("weighted", "half", None):
        found[f"ssg-{averaging}"] = Subgradient(averaging)
    return found


DUAL = variants() | found_dict("DUAL")
ASCENT = [n for n in DUAL if n.startswith(("bcfw", "cuts")) and not n.endswith("fixed")]
#: one of each kind, for tests that need not see every combination
CHOSEN = [
    "bcfw-corrective-cache-auto",
    "bcfw-pairwise-gap",
    "bcfw-pairwise-cache-2",
    "bcfw-frank-wolfe-uniform",
    "bcfw-frank-wolfe-cache-3",
    "bcfw-frank-wolfe-fixed",
    "cuts-1",
    "cuts-n",
    "fw",
    "ssg-weighted",
    "ssg-half",
]
#: they keep w and z apart, so that w is not w(z)
SADDLE = {
    "extragradient": Extragradient(),
    "dual-extragradient": DualExtragradient(),
    "dual-extragradient-low": DualExtragradient(memory="low"),
    "dual-extragradient-past": DualExtragradient(past=True),
    "projected-gradient": ProjectedGradient(),
    "dual-extragradient-entropic": DualExtragradient(z_geometry="entropic"),
    "dual-extragradient-entropic-low": DualExtragradient(z_geometry="entropic", memory="low"),
    "dual-extragradient-entropic-past": DualExtragradient(z_geometry="entropic", past=True),
    **found_dict("SADDLE"),
}
#: they move by expectations
WITH_MARGINALS = {
    "eg": ExponentiatedGradient(),
    "eg-batch": ExponentiatedGradient("batch"),
    "smoothed": SmoothedGradient(),
    **found_dict("WITH_MARGINALS"),
}
CERTIFIED = DUAL | SADDLE | WITH_MARGINALS
PERCEPTRONS = {
    f"{'batch' if batch else 'online'}-{'averaged' if averaged else 'plain'}": Perceptron(
        averaged=averaged, batch=batch
    )
    for batch in (False, True)
    for averaged in (False, True)
}
#: for likelihoods, or for small problems; they have tests of their own
ELSEWHERE = [LBFGS, SDCA, ReferenceQP]


def test_no_solver_is_missing():
    known = [*map(type, (CERTIFIED | PERCEPTRONS).values()), *ELSEWHERE]
    check_cases(exported(solvers, Solver), known, "DUAL, SADDLE or WITH_MARGINALS")


COMPILED = [name for name in CASES if name not in ("items", "assignment")]
# The linear programs behind "assignment" are solved to HiGHS's tolerance of 1e-7.
ROUNDING = dict.fromkeys(CASES, 1e-11) | {"assignment": 1e-6}


def able(variants, names):
    """Pairs of a variant and a problem that it can solve, for a test of both."""
    found = [
        (v, n)
        for v, n in product(variants, names)
        if not (
            ("entropic" in v or v in WITH_MARGINALS) and n in ("items", "assignment")
        )  # no marginals
    ]
    return pytest.mark.parametrize(("variant", "name"), found)


def set_up(solver, **options):
    return clone(solver).set_params(**options)


def epochs(solver, problem, count):
    """The state after each of `count` epochs."""
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        state.epoch += 1
        yield state


all_cases = pytest.mark.parametrize("name", CASES)
all_dual = pytest.mark.parametrize("variant", DUAL)


@all_cases
@all_dual
@pytest.mark.one_in(5)
def test_weights_belong_to_a_feasible_dual_point_after_every_epoch(variant, name):
    made = case(name)
    for state in epochs(DUAL[variant], made.problem, 5):
        np.testing.assert_allclose(state.w, made.training.weights(state.z), rtol=0, atol=1e-11)
    assert made.training.distance(state.z) < max(1e-12, 1e-3 * ROUNDING[name])


@all_cases
@pytest.mark.parametrize("variant", ASCENT)
@pytest.mark.one_in(5)
def test_the_dual_never_falls(variant, name):
    made = case(name)
    value = 0.0
    for state in epochs(DUAL[variant], made.problem, 12):
        risen = made.training.dual(state.z)
        assert risen >= value - 1e-13
        assert risen <= made.training.primal(state.w) + 1e-12
        value = risen
    assert value > 0.05


@able(
    [*CHOSEN, *(v for v in SADDLE if not v.endswith("low")), *WITH_MARGINALS],
    ["chain", "chain-forbidden", "multiclass", "finite", "assignment"],
)
@pytest.mark.one_in(5)
def test_dual_points_satisfy_the_constraints(variant, name):
    made = case(name)
    *_, state = epochs(CERTIFIED[variant], made.problem, 5)
    points = made.training.split(state.z)
    for point, layout in zip(points, made.problem.layouts, strict=True):
        assert violation(made.problem.structure.constraints(layout), point) < 1e-9


@able(CERTIFIED, CASES)
@pytest.mark.one_in(7)
def test_the_certificate_is_true(variant, name):
    made = case(name)
    solver = set_up(CERTIFIED[variant], max_epochs=7, tol=0.0)
    result = solver.run(made.problem)
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=ROUNDING[name])
    assert result.gap == result.primal - result.dual
    assert result.dual <= result.primal + ROUNDING[name]
    best, bound, _ = reference(name)
    assert result.primal >= bound - ROUNDING[name]
    assert result.dual <= best + ROUNDING[name]
    last = made.training.dual(result.state.z) if len(result.state.z) else -np.inf
    assert result.dual >= last - (1e-12 if variant in DUAL else ROUNDING[name])
    if variant in ASCENT or variant == "fw":
        assert result.dual == pytest.approx(last, abs=1e-12)
    for record in result.history:
        assert record.dual <= best + ROUNDING[name]
        assert record.primal >= bound - ROUNDING[name]
        assert record.gap == record.primal - record.dual


def reference(name):
    return optimum(case(name).training, 1e-7)


def accuracy(variant):
    """(relative gap, epochs) within which a variant is done on every case."""
    if "frank-wolfe" in variant:
        return 6e-2, 400
    if any(word in variant for word in ("auto", "uniform", "gap", "relaxation")):
        return 1e-5, 120
    return (1e-3, 200) if "none" in variant else (1e-2, 200)


@all_cases
@pytest.mark.parametrize("variant", [v for v in ASCENT if not v.endswith(("-1", "-3"))])
@pytest.mark.one_in(7)
def test_block_coordinate_variants_reach_the_optimum(variant, name):
    tol, limit = accuracy(variant)
    result = set_up(DUAL[variant], tol=tol, max_epochs=limit).run(case(name).problem)
    best, bound, w = reference(name)
    assert result.status is Status.CONVERGED
    assert result.gap <= tol * result.primal
    assert bound - ROUNDING[name] <= result.primal <= best + result.gap + ROUNDING[name]
    # P is strongly convex: alpha/2 |w - w*|^2 <= P(w) - P* for both
    apart = np.linalg.norm(result.w - w)
    slack = result.gap + ROUNDING[name]
    assert apart <= np.sqrt(2 * slack / problems.ALPHA) + np.sqrt(2e-7 * best / problems.ALPHA)


@pytest.mark.parametrize("name", COMPILED)
def test_all_solvers_agree_within_their_gaps(name):
    results = {
        variant: set_up(CERTIFIED[variant], tol=1e-4, max_epochs=300).run(case(name).problem)
        for variant in [*CHOSEN, *(SADDLE if name in ("multiclass", "finite") else ())]
    }
    highest_bound = max(r.dual for r in results.values())
    lowest = min(r.primal for r in results.values())
    assert highest_bound <= lowest + 1e-12
    for variant, result in results.items():
        assert 0 <= result.primal - lowest <= result.gap + 1e-12, variant
        # projected gradient falls like 1 / sqrt(t) only
        assert result.gap <= (0.25 if "projected" in variant else 0.15) * result.primal, variant


def test_the_reference_optimum_agrees_with_a_general_solver():
    """Sequential quadratic programming on the primal with slacks: nothing shared but the data."""
    training = case("finite").training
    d, n = training.dim, len(training.blocks)
    omega = np.array([b.weight for b in training.blocks])

    def objective(x):
        return training.alpha / 2 * (x[:d] @ x[:d]) + omega @ x[d:]

    def slope(x):
        return np.append(training.alpha * x[:d], omega)

    rows, losses = [], []
    for i, block in enumerate(training.blocks):
        rows += [np.append(move, np.eye(n)[i]) for move in block.moves]
        losses += list(block.losses)
    rows, losses = np.array(rows), np.array(losses)
    answer = minimize(
        objective,
        np.append(np.zeros(d), np.full(n, 2.0)),
        jac=slope,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: rows @ x - losses, "jac": lambda x: rows},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    best, _, w = reference("finite")
    assert answer.fun == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(answer.x[:d], w, atol=1e-3)
    ours = BCFW(tol=1e-9, max_epochs=300).run(case("finite").problem)
    assert ours.primal == pytest.approx(answer.fun, rel=1e-7)
    np.testing.assert_allclose(ours.w, answer.x[:d], atol=1e-4)


# -- the algorithms as printed ---------------------------------------------------------------------
def without_ties(name, **options):
    return CASES[name](cost=problems.generic, **options)


def orders(seed, n, count):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(count)]


@pytest.mark.parametrize("line_search", [True, False])
@all_cases
def test_block_coordinate_frank_wolfe_is_the_textbook_method(name, line_search):
    made = without_ties(name)
    solver = BCFW("frank-wolfe", line_search=line_search, random_state=4)
    book = BlockCoordinate(made.training, line_search)
    visits = orders(4, made.problem.n, 5)
    for state, order in zip(epochs(solver, made.problem, 5), visits, strict=True):
        book.visit(order)
        np.testing.assert_allclose(state.w, book.w, atol=1e-10)
        assert made.training.dual(state.z) == pytest.approx(book.dual(), abs=1e-11)
        last, average = solver.candidates(made.problem, state)
        np.testing.assert_allclose(last, book.w, atol=1e-10)
        np.testing.assert_allclose(average, book.average(), atol=1e-10)


@pytest.mark.parametrize("line_search", [True, False])
@all_cases
def test_batch_frank_wolfe_is_the_textbook_method(name, line_search):
    made = without_ties(name)
    book = frank_wolfe(made.training, 8, line_search)
    ours = epochs(FrankWolfe(line_search), made.problem, 8)
    for state, w in zip(ours, book, strict=True):
        np.testing.assert_allclose(state.w, w, atol=1e-10)


@pytest.mark.parametrize("averaging", ["weighted", "half", None])
@all_cases
def test_subgradient_is_the_textbook_method(name, averaging):
    made = without_ties(name, weight=1 + np.arange(case(name).problem.n) % 3)
    n, count = made.problem.n, 7
    path = np.array(subgradient(made.training, orders(4, n, count)))
    solver = Subgradient(averaging, random_state=4)
    for epoch, state in enumerate(epochs(solver, made.problem, count), start=1):
        k = epoch * n
        last, *average = solver.candidates(made.problem, state)
        np.testing.assert_allclose(last, path[k - 1], atol=1e-10)
        if averaging == "weighted":
            wanted = np.average(path[:k], axis=0, weights=np.arange(1, k + 1))
            np.testing.assert_allclose(average[0], wanted, atol=1e-10)
        if averaging == "half":
            start = {1: 0, 2: 1, 3: 1}.get(epoch, 2)  # half of the last power of two
            np.testing.assert_allclose(average[0], path[start * n : k].mean(axis=0), atol=1e-10)
        if averaging is None:
            assert average == []


@pytest.mark.parametrize("kind", PERCEPTRONS)
@all_cases
def test_perceptron_is_the_textbook_method(name, kind):
    made = without_ties(name, weight=1 + np.arange(case(name).problem.n) % 3)
    solver = set_up(PERCEPTRONS[kind], random_state=4)
    start = np.random.default_rng(9).normal(size=made.problem.dim)  # no ties at the first visit
    if solver.batch:
        path = batch_perceptron(made.training, start, 6)
    else:
        path = perceptron(made.training, start, orders(4, made.problem.n, 6))
    state = solver.init(made.problem)
    state.w[:] = start
    for epoch in range(1, 7):
        solver.epoch(made.problem, state)
        done = np.array(path[: epoch * len(path) // 6])
        np.testing.assert_allclose(state.w, done[-1], atol=1e-10)
        wanted = done.mean(axis=0) if solver.averaged else done[-1]
        np.testing.assert_allclose(solver.candidates(made.problem, state)[0], wanted, atol=1e-10)


@pytest.mark.parametrize("kind", PERCEPTRONS)
def test_perceptron_ends_without_mistakes_where_the_data_allow_it(kind):
    made = problems.chain(lengths=(3, 2, 3), n_features=9, seed=8)
    result = set_up(PERCEPTRONS[kind], max_epochs=200).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.history[-1].train_error == 0.0
    for block in made.training.blocks:
        np.testing.assert_array_equal(block.best(result.state.w, costs=False), block.truth)
    assert np.isnan(result.gap)
    assert "no certificate" in result.certificate()


# -- steps -----------------------------------------------------------------------------------------
@all_cases
def test_the_line_search_beats_a_grid_of_steps(name):
    made = without_ties(name)
    solver = BCFW("frank-wolfe", averaging=False)
    *_, state = epochs(solver, made.problem, 2)
    for i in range(made.problem.n):
        before, z = state.z.copy(), state.z.copy()
        towards = made.training.blocks[i].best(state.w)
        solver._plain_pass(made.problem, state, np.array([i]))
        reached = made.training.dual(state.z)
        for step in np.linspace(0, 1, 101):
            z[made.problem.parts(i)] = before[made.problem.parts(i)] + step * (
                towards - before[made.problem.parts(i)]
            )
            assert reached >= made.training.dual(z) - 1e-13


@all_cases
def test_the_batch_line_search_beats_a_grid_of_steps(name):
    made = without_ties(name)
    solver = FrankWolfe()
    *_, state = epochs(solver, made.problem, 3)
    before = state.z.copy()
    towards = np.concatenate([b.best(state.w) for b in made.training.blocks])
    solver.epoch(made.problem, state)
    reached = made.training.dual(state.z)
    for step in np.linspace(0, 1, 101):
        assert reached >= made.training.dual(before + step * (towards - before)) - 1e-13


@pytest.mark.parametrize("name", COMPILED)
def test_remembered_vertices_raise_the_dual_faster(name):
    made = case(name)

    def reached(step, cache, count):
        """The mean dual over some orders of the samples."""
        values = []
        for seed in range(5):
            solver = BCFW(step, cache=cache, relaxation=1.0, random_state=seed)
            *_, state = epochs(solver, made.problem, count)
            values.append(made.training.dual(state.z))
        return np.mean(values)

    first = {step: reached(step, None, 1) for step in STEPS}
    # each sample has the truth and one vertex by then, so that all steps are the same
    assert first["pairwise"] == pytest.approx(first["frank-wolfe"], rel=1e-10)
    assert first["corrective"] == pytest.approx(first["frank-wolfe"], rel=1e-10)
    for step in STEPS:
        assert reached(step, OracleCache(), 1) > 1.2 * first[step]
    assert reached("corrective", None, 3) > reached("frank-wolfe", None, 3)


@pytest.mark.parametrize("relaxation", [1.0, 1.5, 1.9])
@all_cases
def test_each_step_of_a_block_raises_the_dual(name, relaxation):
    made = without_ties(name)
    cache = OracleCache(size=2, passes=0, store="vertices")
    solver = BCFW(cache=cache, relaxation=relaxation)
    *_, state = epochs(solver, made.problem, 1)
    value = made.training.dual(state.z)
    for i in np.random.default_rng(1).integers(made.problem.n, size=25):
        solver._oracle_pass(made.problem, state, np.array([i]))
        take_points(made.problem, state)
        risen = made.training.dual(state.z)
        assert risen >= value - 1e-14
        value = risen


# -- weights of samples ----------------------------------------------------------------------------
TIGHT = {
    "bcfw": BCFW(tol=1e-8, max_epochs=2000),
    "pairwise": BCFW("pairwise", tol=1e-8, max_epochs=2000),
    "gap": BCFW(sampling="gap", tol=1e-8, max_epochs=2000),
}


@lru_cache
def repeated(name):
    """How often each sample is there, such a training problem, and its optimum."""
    times = 1 + np.arange(case(name).problem.n) % 3
    blocks = [b for b, k in zip(case(name).training.blocks, times, strict=True) for _ in range(k)]
    share = 1.0 / times.sum()
    again = Training(
        [Block(b.matrix, b.costs, b.truth, b.vertices, share) for b in blocks], problems.ALPHA
    )
    return times, again, optimum(again, 1e-7)


@pytest.mark.parametrize("solver", TIGHT)
@pytest.mark.parametrize("name", ["multiclass", "finite", "chain", "chain-forbidden"])
def test_whole_weights_equal_repeated_samples(name, solver):
    times, again, (best, bound, w) = repeated(name)
    result = TIGHT[solver].run(CASES[name](weight=times).problem)
    assert result.status is Status.CONVERGED
    assert bound - 1e-10 <= result.primal <= best + result.gap + 1e-10
    assert result.primal == pytest.approx(again.primal(result.w), abs=1e-12)
    np.testing.assert_allclose(result.w, w, atol=1e-2)


@pytest.mark.parametrize("variant", CHOSEN)
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.one_in(7)
def test_samples_without_weight_change_nothing(name, variant):
    """Noise in place of a sample of weight zero gives the same bits."""
    n = case(name).problem.n
    weight = np.ones(n)
    weight[[1, n - 1]] = 0.0
    result = set_up(DUAL[variant], max_epochs=5).run(CASES[name](weight=weight).problem)
    other = CASES[name](weight=weight)
    for i in (1, n - 1):
        rows = slice(
            other.problem.packed.indptr[other.problem.packed.row_ptr[i]],
            other.problem.packed.indptr[other.problem.packed.row_ptr[i + 1]],
        )
        other.problem.packed.value[rows] *= -7.0
    again = set_up(DUAL[variant], max_epochs=5).run(other.problem)
    if "gap" not in variant:  # which samples gap sampling visits depends on all gaps
        np.testing.assert_array_equal(result.w, again.w)
    assert again.primal == pytest.approx(CASES[name](weight=weight).training.primal(again.w))


# -- runs that go on, repeat, or run side by side --------------------------------------------------
@able([*CHOSEN, *SADDLE], CASES)
@pytest.mark.one_in(7)
def test_the_same_seed_gives_the_same_bits(name, variant):
    options = {"max_epochs": 4, "tol": 0.0}
    first = set_up(CERTIFIED[variant], random_state=3, **options).run(case(name).problem)
    again = set_up(CERTIFIED[variant], random_state=3, **options).run(case(name).problem)
    np.testing.assert_array_equal(first.w, again.w)
    np.testing.assert_array_equal(first.state.z, again.state.z)
    assert (first.primal, first.dual) == (again.primal, again.dual)
    other = set_up(CERTIFIED[variant], random_state=5, **options).run(case(name).problem)
    draws_nothing = variant in ("fw", "cuts-1") or variant in SADDLE
    assert draws_nothing == np.array_equal(first.state.w, other.state.w)


@able([*CHOSEN, *SADDLE, *WITH_MARGINALS], ["multiclass", "chain", "items"])
@pytest.mark.one_in(5)
def test_threads_change_no_bit(name, variant):
    options = {"max_epochs": 5, "tol": 0.0}
    one = set_up(CERTIFIED[variant], **options).run(case(name).problem)
    two = set_up(CERTIFIED[variant], **options).run(CASES[name](n_jobs=2).problem)
    np.testing.assert_array_equal(one.w, two.w)
    assert (one.primal, one.dual) == (two.primal, two.dual)


@pytest.mark.parametrize("banned", [None, BANNED], ids=["free", "forbidden"])
@pytest.mark.parametrize("variant", [*CHOSEN, "online-averaged", "batch-plain"])
def test_a_compiled_chain_equals_the_same_chain_in_plain_python(variant, banned):
    options = {"cost": problems.generic, "banned": banned, "lengths": (3, 2, 1, 3)}
    solver = set_up((DUAL | PERCEPTRONS)[variant], max_epochs=4, tol=0.0)
    fast, slow = problems.chain(**options), problems.chain(plain=True, **options)
    assert fast.problem.structure.oracle().compiled_function("maximize") is not None
    assert slow.problem.structure.oracle().compiled_function("maximize") is None
    rng = np.random.default_rng(0)
    start = rng.normal(size=fast.problem.dim) if variant in PERCEPTRONS else 0.0
    states = [solver.init(made.problem) for made in (fast, slow)]
    for _ in range(4):
        for made, state in zip((fast, slow), states, strict=True):
            state.w += start if state.epoch == 0 else 0.0
            solver.epoch(made.problem, state)
            state.epoch += 1
    np.testing.assert_allclose(states[0].w, states[1].w, atol=1e-12)
    np.testing.assert_allclose(states[0].z, states[1].z, atol=1e-12)


@pytest.mark.parametrize(
    "variant", ["bcfw-corrective-cache-auto", "bcfw-pairwise-gap", "bcfw-pairwise-cache-auto"]
)
@pytest.mark.parametrize("name", COMPILED)
def test_a_run_that_starts_at_the_solution_ends_at_once(name, variant):
    solver = set_up(DUAL[variant], tol=1e-4, max_epochs=500)
    first = solver.run(case(name).problem)
    assert first.status is Status.CONVERGED
    n_epochs = first.n_epochs
    again = solver.run(case(name).problem, state=first.state)
    assert again.status is Status.CONVERGED
    assert again.n_epochs == n_epochs
    assert again.gap <= 1e-4 * again.primal
    assert again.primal == first.primal
    np.testing.assert_array_equal(again.w, first.w)


@pytest.mark.parametrize(
    "variant", [*(v for v in CHOSEN if not re.search("-cache|pair|cuts-n", v)), *SADDLE]
)
def test_a_run_in_two_parts_is_a_run(variant):
    """Exchanges make scores equal, so that rounding decides what comes next: without those."""
    made = without_ties("chain")
    options = {"tol": 0.0, "check_every": 3}
    whole = set_up(CERTIFIED[variant], max_epochs=6, **options).run(made.problem)
    half = set_up(CERTIFIED[variant], max_epochs=3, **options).run(made.problem)
    assert half.n_epochs == 3
    rest = set_up(CERTIFIED[variant], max_epochs=6, **options).run(made.problem, state=half.state)
    assert rest.n_epochs == 6
    assert rest.history[-1].n_oracle == whole.history[-1].n_oracle
    # weights are recomputed between the parts, so equal to rounding only
    np.testing.assert_allclose(rest.state.w, whole.state.w, atol=1e-9)
    np.testing.assert_allclose(rest.state.z, whole.state.z, atol=1e-9)


@pytest.mark.parametrize(
    "middle",
    [
        "fw",
        "ssg-weighted",
        "bcfw-frank-wolfe-cache-none",
        "online-plain",
        "extragradient",
        "dual-extragradient",
        "dual-extragradient-entropic",
        "projected-gradient",
    ],
)
@pytest.mark.parametrize(
    "variant", ["bcfw-corrective-cache-auto", "bcfw-pairwise-cache-2", "ssg-half"]
)
def test_a_state_that_another_solver_has_moved_is_taken_up_rightly(variant, middle):
    """What a solver remembers besides z must not outlive a move of z by another."""
    made = case("chain")
    best, bound, _ = reference("chain")
    state = None
    for step, name in enumerate((variant, middle, variant, middle, variant), start=1):
        value = made.training.dual(state.z) if state is not None else -np.inf
        solver = set_up((CERTIFIED | PERCEPTRONS)[name], max_epochs=3 * step, tol=0.0)
        result = solver.run(made.problem, state=state)
        state = result.state
        assert made.training.distance(state.z) < 1e-12
        if name in PERCEPTRONS:
            continue
        if name in DUAL:
            np.testing.assert_allclose(state.w, made.training.weights(state.z), atol=1e-11)
        assert bound - 1e-11 <= result.primal
        assert result.dual <= best + 1e-11
        assert result.dual >= value - 1e-12  # certified where it began


@lru_cache
def other_chain():
    """A chain with other features and another penalty, and its optimum."""
    made = problems.chain(seed=11, cost=problems.share_wrong, alpha=0.05)
    return made, optimum(made.training, 1e-6)


@pytest.mark.parametrize("variant", [*CHOSEN, *SADDLE, *WITH_MARGINALS])
@pytest.mark.one_in(5)
def test_a_state_of_other_data_gives_a_true_certificate(variant):
    """z is kept; inner products and sums of the other features are not."""
    state = set_up(CERTIFIED[variant], max_epochs=4, tol=0.0).run(case("chain").problem).state
    other, (best, bound, _) = other_chain()
    result = set_up(CERTIFIED[variant], max_epochs=12, tol=0.0).run(other.problem, state=state)
    if variant in DUAL:
        wanted = other.training.weights(result.state.z)
        np.testing.assert_allclose(result.state.w, wanted, rtol=0, atol=1e-11)
    if len(result.state.z):
        assert other.training.distance(result.state.z) < 1e-11
    assert result.primal == pytest.approx(other.training.primal(result.w), abs=1e-11)
    assert result.dual <= best + 1e-11
    assert result.primal >= bound - 1e-11


def test_a_state_of_another_size_is_refused():
    state = BCFW(max_epochs=1).run(case("chain").problem).state
    with pytest.raises(ValueError, match=r"the state has \d+ parts .* start without it"):
        BCFW().run(case("finite").problem, state=state)


class Interrupted(problems.PlainChain):
    """A chain whose user presses Ctrl-C during the n-th call of the oracle."""

    calls_left = 0

    def maximize(self, theta, layout):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return super().maximize(theta, layout)


def plain_chain():
    return problems.chain(plain=True, lengths=(1, 2, 3, 2, 3))


@lru_cache
def plain_optimum():
    return optimum(plain_chain().training, 1e-6)


@pytest.mark.parametrize("variant", [*CHOSEN, *SADDLE])
@pytest.mark.parametrize("calls", [1, 4, 15, 22, 60])
@pytest.mark.one_in(7)
def test_an_interrupted_pass_leaves_a_true_certificate(variant, calls):
    made = plain_chain()
    made.problem.structure = Interrupted()
    made.problem.structure.calls_left = calls
    result = set_up(CERTIFIED[variant], max_epochs=50, tol=0.0).run(made.problem)
    assert result.status is Status.INTERRUPTED
    assert result.n_epochs < 15
    best, bound, _ = plain_optimum()
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-11)
    assert result.primal >= bound - 1e-11
    assert result.dual <= best + 1e-11
    if len(result.state.z):
        assert result.dual >= made.training.dual(result.state.z) - 1e-11
    again = set_up(CERTIFIED[variant], max_epochs=15, tol=0.0).run(made.problem, state=result.state)
    if variant in DUAL:
        wanted = made.training.weights(again.state.z)
        np.testing.assert_allclose(again.state.w, wanted, atol=1e-11)
    if len(again.state.z):
        assert made.training.distance(again.state.z) < 1e-11
    assert again.dual <= best + 1e-11


@pytest.mark.parametrize("later", [*CHOSEN, *PERCEPTRONS])
@pytest.mark.parametrize("earlier", ["bcfw-corrective-cache-auto", "fw", "ssg-half"])
def test_any_solver_goes_on_from_the_dual_point_of_any_other(earlier, later):
    from maxmargin.result import State

    made = case("chain")
    first = set_up(DUAL[earlier], max_epochs=4, tol=0.0).run(made.problem)
    z = first.state.z
    start = State(made.problem.weights(z), z.copy(), np.random.default_rng(0))
    solver = set_up((DUAL | PERCEPTRONS)[later], max_epochs=3, tol=0.0)
    result = solver.run(made.problem, state=start)
    assert result.n_epochs == 3
    if later in PERCEPTRONS:
        assert np.isfinite(result.w).all()
        return
    best, bound, _ = reference("chain")
    np.testing.assert_allclose(result.state.w, made.training.weights(result.state.z), atol=1e-11)
    assert made.training.distance(result.state.z) < 1e-12
    assert result.dual <= best + 1e-11
    assert result.primal >= bound - 1e-11
    # certified at the start, so never worse than where it began
    assert result.primal <= made.training.primal(made.training.weights(z)) + 1e-12
    assert result.dual >= made.training.dual(z) - 1e-12


@pytest.mark.parametrize("variant", CHOSEN)
def test_records_count_epochs_and_oracle_calls(variant):
    made = case("chain")
    result = set_up(DUAL[variant], max_epochs=5, tol=0.0, check_every=1).run(made.problem)
    assert [r.epoch for r in result.history] == [1, 2, 3, 4, 5]
    assert [r.n_oracle for r in result.history] == [made.problem.n * k for k in range(1, 6)]
    assert all(np.diff([r.seconds for r in result.history]) > 0)
    assert all(np.diff([r.dual for r in result.history]) >= 0)
    if result.history[-1].primal == result.primal:
        assert result.history[-1].norm_w == pytest.approx(np.linalg.norm(result.w))
    assert result.primal == pytest.approx(min(r.primal for r in result.history), abs=1e-12)
    assert result.status is Status.MAX_EPOCHS


@pytest.mark.parametrize("variant", CHOSEN)
def test_no_epochs_give_the_certificate_of_the_start(variant):
    made = case("chain")
    result = set_up(DUAL[variant], max_epochs=0).run(made.problem)
    assert result.status is Status.MAX_EPOCHS
    assert not result.w.any()
    assert result.primal == pytest.approx(made.training.primal(np.zeros(made.problem.dim)))
    assert result.dual == 0.0
