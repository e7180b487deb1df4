"""Training by the likelihood: SDCA and LBFGS against optima by scipy, scikit-learn and crfsuite."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from contract import problems
from contract.problems import BANNED
from maxmargin import ChainSVM, MulticlassSVM, domains
from maxmargin.domains import L2Ball, RealSpace
from maxmargin.exceptions import MissingAbilityError
from maxmargin.oracles.base import check_scores
from maxmargin.result import Status
from maxmargin.solvers import (
    BCFW,
    LBFGS,
    SDCA,
    ExponentiatedGradient,
    SmoothedGradient,
    resolve_solver,
)
from maxmargin.structures import Chain
from reference.likelihood import entropy, likelihood, most_likely

MAKERS = {
    "multiclass": problems.multiclass,
    "finite": problems.finite,
    "chain": problems.chain,
    "chain-forbidden": lambda **options: problems.chain(banned=BANNED, **options),
    "chain-weights": lambda **options: problems.chain(**{"weight": [1, 0, 3, 1, 2, 1], **options}),
}
SOLVERS = {
    "lbfgs": LBFGS(),
    "lbfgs-short-memory": LBFGS(memory=2),
    "sdca": SDCA(),
    "sdca-permutation": SDCA("permutation"),
    "sdca-uniform": SDCA("uniform"),
}
all_cases = pytest.mark.parametrize("name", MAKERS)
all_solvers = pytest.mark.parametrize("kind", SOLVERS)


def make(name, **options):
    return MAKERS[name](objective="likelihood", **options)


@cache
def optimum(name):
    return most_likely(make(name).training)


def set_up(kind, **options):
    return clone(SOLVERS[kind]).set_params(**options)


# -- the optimum -----------------------------------------------------------------------------------
@all_cases
@all_solvers
def test_the_optimum_is_that_of_scipy(kind, name):
    made = make(name)
    best, w = optimum(name)
    result = set_up(kind, tol=1e-9, max_epochs=600).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(best, rel=1e-8)
    assert result.dual <= best + 1e-12
    assert result.primal == pytest.approx(likelihood(made.training, result.w)[0], abs=1e-12)
    # P is strongly convex: alpha/2 |w - w*|^2 <= gap
    assert np.linalg.norm(result.w - w) <= np.sqrt(2 * 1e-9 * best / problems.ALPHA) + 1e-6


@all_cases
def test_the_gradient_is_that_of_the_definition(name):
    made = make(name)
    w = np.random.default_rng(0).normal(size=made.problem.dim)
    value, dual, slope = made.problem.likelihood(w)
    wanted, gradient = likelihood(made.training, w)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(slope + problems.ALPHA * w, gradient, atol=1e-12)
    assert value - dual == pytest.approx(gradient @ gradient / (2 * problems.ALPHA), rel=1e-9)


def test_auto_is_a_solver_that_can():
    assert type(resolve_solver("auto", "likelihood")) is SDCA
    assert type(resolve_solver("auto", "likelihood", RealSpace())) is SDCA
    assert type(resolve_solver("auto", "likelihood", L2Ball(1.0))) is SmoothedGradient
    assert type(resolve_solver("auto", "margin", L2Ball(1.0))) is BCFW


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_auto_minimises_likelihoods_in_a_ball(alpha):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 3
    est = MulticlassSVM(alpha=alpha, objective="likelihood", domain=L2Ball(0.5), max_epochs=500)
    result = est.fit(X, y).result_
    assert result.status is Status.CONVERGED
    assert np.linalg.norm(est.coef_) <= 0.5 + 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_wrong_solver_is_named_before_anything_else(alpha):
    with pytest.raises(ValueError, match=r'BCFW cannot minimise objective="likelihood".*"sdca"'):
        BCFW().run(make("chain", alpha=alpha).problem)
    with pytest.raises(ValueError, match=r'SDCA cannot minimise objective="margin".*"bcfw"'):
        SDCA().run(problems.chain(alpha=alpha).problem)


# -- SDCA ------------------------------------------------------------------------------------------
@all_cases
@pytest.mark.parametrize("kind", [k for k in SOLVERS if k.startswith("sdca")])
def test_the_dual_never_falls_and_weights_are_those_of_z(kind, name):
    made, solver = make(name), set_up(kind)
    best, _ = optimum(name)
    state, last = solver.init(made.problem), 0.0
    for _ in range(8):
        solver.epoch(made.problem, state)
        state.epoch += 1
        risen = solver.bound(made.problem, state)
        assert last - 1e-13 <= risen <= best + 1e-12
        np.testing.assert_allclose(state.w, made.training.weights(state.z), atol=1e-11)
        last = risen
    assert made.training.distance(state.z) < 1e-12
    assert last > 0.5 * best


@pytest.mark.parametrize("name", ["multiclass", "finite"])
def test_the_entropy_kept_is_a_lower_bound_that_becomes_exact(name):
    made, solver = make(name), SDCA()
    state, apart = solver.init(made.problem), []
    for _ in range(60):
        solver.epoch(made.problem, state)
        state.epoch += 1
        exact = np.array([entropy(z) for z in made.training.split(state.z)])
        assert (state.entropy <= exact + 1e-12).all()
        apart.append((exact - state.entropy).max())
    assert apart[0] > 1e-3
    assert apart[-1] < 1e-6


@all_cases
def test_the_step_beats_a_grid_of_steps(name):
    made, solver = make(name), SDCA("permutation")
    problem, training = made.problem, made.training
    state = solver.init(problem)
    solver.epoch(problem, state)
    omega = problem.sample_weight
    for i in range(problem.n):
        z, bound = state.z.copy(), state.entropy.copy()
        block = training.blocks[i]
        scores = block.vertices @ (block.matrix.T @ state.w)
        shares = np.exp(scores - logsumexp(scores))
        solver._pass(problem, state, np.array([i]))
        reached = solver.bound(problem, state)
        for step in np.linspace(0, 1, 41):
            mixed, own = z.copy(), bound.copy()
            mixed[problem.parts(i)] += step * (shares @ block.vertices - z[problem.parts(i)])
            own[i] += step * (entropy(shares) - bound[i])
            value = omega @ own - training.alpha / 2 * np.sum(training.weights(mixed) ** 2)
            assert reached >= value - 1e-12


class PlainSums(Chain):
    """The chain with expectations in plain Python, by trying every sequence."""

    def _shares(self, theta, layout):
        theta = check_scores(self, theta, layout)
        sequences = list(product(range(layout[1]), repeat=layout[0]))
        scores = np.array([problems.chain_score(theta, y, layout) for y in sequences])
        return sequences, scores

    def marginals(self, theta, layout):
        sequences, scores = self._shares(theta, layout)
        shares = np.exp(scores - logsumexp(scores))
        vertices = [problems.chain_vertex(y, layout) for y in sequences]
        return shares @ np.array(vertices)

    def log_partition(self, theta, layout):
        return float(logsumexp(self._shares(theta, layout)[1]))


class Uncounted(PlainSums):
    """Expectations, but no log-partition."""

    def log_partition(self, theta, layout):
        raise self._missing("log_partition")


@all_solvers
def test_sums_in_plain_python_give_the_same(kind):
    options = {"lengths": (3, 2, 1, 3), "objective": "likelihood"}
    fast, slow = problems.chain(**options), problems.chain(**options)
    slow.problem.structure = PlainSums()
    results = [set_up(kind, max_epochs=6, tol=0.0).run(made.problem) for made in (fast, slow)]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-10)
    assert results[0].dual == pytest.approx(results[1].dual, abs=1e-11)


@pytest.mark.parametrize(
    "solver", [SDCA(), LBFGS(), ExponentiatedGradient(), SmoothedGradient()], ids=str
)
def test_a_structure_that_cannot_count_is_refused_at_once(solver):
    """Without a log-partition the likelihood is not known, though its slope is."""
    made = make("chain")
    made.problem.structure = Uncounted()
    with pytest.raises(MissingAbilityError, match=r"needs `log_partition`.*Uncounted"):
        solver.run(made.problem)
    made.problem.structure = PlainSums()
    assert solver.set_params(max_epochs=1, tol=0.0).run(made.problem).n_epochs == 1


def test_smoothing_margins_needs_the_log_partition_too():
    made = problems.chain(lengths=(2, 1))
    made.problem.structure = Uncounted()
    with pytest.raises(MissingAbilityError, match="SmoothedGradient needs `log_partition`"):
        SmoothedGradient().run(made.problem)
    assert ExponentiatedGradient(max_epochs=2, tol=0.0).run(made.problem).n_epochs == 2


# -- runs that go on, repeat, or run side by side --------------------------------------------------
@all_solvers
def test_same_seed_same_bits_whatever_the_threads(kind):
    runs = [
        set_up(kind, max_epochs=5, tol=0.0, random_state=3).run(make("chain", n_jobs=k).problem)
        for k in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].w, runs[1].w)
    assert (runs[0].primal, runs[0].dual) == (runs[1].primal, runs[1].dual)


@pytest.mark.parametrize("later", ["lbfgs", "sdca"])
@pytest.mark.parametrize("earlier", ["lbfgs", "sdca"])
def test_each_goes_on_from_the_other(earlier, later):
    made = make("chain")
    best, _ = optimum("chain")
    first = set_up(earlier, tol=1e-6, max_epochs=200).run(made.problem)
    again = set_up(later, tol=1e-3, max_epochs=200 + first.n_epochs).run(
        made.problem, state=first.state
    )
    assert again.status is Status.CONVERGED
    assert again.n_epochs == first.n_epochs  # nothing was left to do
    assert again.primal <= first.primal + 1e-12
    assert again.dual <= best + 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "sdca"])
def test_warm_start_for_another_penalty(solver):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(12)]
    y = [rng.integers(3, size=4) for _ in X]
    model = ChainSVM(alpha=0.1, solver=solver, objective="likelihood", tol=1e-6, max_epochs=500)
    model.fit(X, y)
    wanted = clone(model).set_params(alpha=0.09).fit(X, y).result_
    found = model.set_params(alpha=0.09, warm_start=True).fit(X, y).result_
    assert found.primal == pytest.approx(wanted.primal, rel=1e-6)
    assert found.n_epochs < wanted.n_epochs


# -- L-BFGS ----------------------------------------------------------------------------------------
def test_certificates_of_lbfgs_take_no_passes_but_the_last_one(monkeypatch):
    problem, passes = make("chain").problem, []
    apply = type(problem).apply

    def counted(self, ability, *given, **options):
        passes.append(ability)
        return apply(self, ability, *given, **options)

    monkeypatch.setattr(type(problem), "apply", counted)
    result = LBFGS(tol=1e-6, check_every=1).run(problem)
    assert len(result.history) > 4
    assert passes == ["marginals"] * (result.state.n_oracle // problem.n + 1)
    monkeypatch.undo()
    assert result.primal == problem.primal(result.w)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_features_of_any_scale(scale):
    """Features times s and alpha times s^2 is the same problem, in other units."""
    plain, other = make("finite"), make("finite", alpha=problems.ALPHA * scale**2)
    other.problem.packed.value[:] *= scale
    solver = LBFGS(tol=1e-10, max_epochs=60)
    wanted, found = solver.run(plain.problem), solver.run(other.problem)
    assert found.status is Status.CONVERGED
    assert found.n_epochs == wanted.n_epochs
    np.testing.assert_allclose(found.w * scale, wanted.w, rtol=1e-6, atol=1e-9)


@all_cases
def test_a_search_that_rounding_ends_is_quiet(name):
    best, _ = optimum(name)
    result = LBFGS(tol=0.0, max_epochs=300).run(make(name).problem)
    assert result.status in (Status.CONVERGED, Status.MAX_EPOCHS)
    assert abs(result.gap) <= 1e-11 * best
    assert (result.status is Status.CONVERGED) == result.state.is_stuck


WRONG = [
    (SDCA(), {"alpha": 0.0}, "SDCA needs alpha > 0; give a small one .*no maximum"),
    (LBFGS(), {"alpha": 0.0}, "LBFGS needs alpha > 0; give a small one .*no maximum"),
    (SDCA(), {"domain": domains.L2Ball(1.0)}, 'such as solver="smoothed", or domain=None'),
    (LBFGS(), {"domain": domains.L2Ball(1.0)}, 'such as solver="smoothed", or domain=None'),
    (SDCA("none"), {}, "sampling='none' must be 'gap' or 'permutation' or 'uniform'"),
    (LBFGS(memory=0), {}, "memory=0 must be an integer at least 1"),
    (BCFW(), {}, 'cannot minimise objective="likelihood"; solvers that can: .*"sdca"'),
]


@pytest.mark.parametrize("solver, options, words", WRONG)
def test_wrong_options_are_refused(solver, options, words):
    with pytest.raises(ValueError, match=words):
        solver.run(make("finite", **options).problem)


@pytest.mark.parametrize("solver", [SDCA(), LBFGS()])
def test_margins_are_refused(solver):
    with pytest.raises(ValueError, match='cannot minimise objective="margin"'):
        solver.run(problems.finite().problem)


# -- other programs --------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_multiclass_is_logistic_regression(solver):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 4)) + y[:, None] * np.array([1.0, 0.5, 0.0, -0.5])
    alpha = 0.05
    ours = MulticlassSVM(
        alpha=alpha, solver=solver, objective="likelihood", bias=False, tol=1e-10, max_epochs=2000
    ).fit(X, y)
    theirs = LogisticRegression(
        C=1 / (alpha * len(y)), fit_intercept=False, tol=1e-10, max_iter=2000
    ).fit(X, y)
    W = theirs.coef_.T
    scores = X @ W
    loss = np.mean(logsumexp(scores, axis=1) - scores[np.arange(60), y])
    assert ours.result_.primal == pytest.approx(loss + alpha / 2 * np.sum(W**2), rel=1e-8)
    np.testing.assert_allclose(ours.coef_.reshape(W.shape), W, atol=1e-4)
    shares = np.array([m.ravel() for m in ours.predict_marginals(X)])
    np.testing.assert_allclose(shares, theirs.predict_proba(X), atol=1e-4)


def sentences(n=30, seed=0):
    """Tokens with a few of 12 binary features, that tell their tags in part."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, 7, size=n):
        tags = rng.integers(3, size=length)
        on = rng.random((length, 12)) < 0.2
        on[np.arange(length), 4 * tags + rng.integers(4, size=length)] = True
        X.append(on.astype(float))
        y.append(np.array(["A", "B", "C"])[tags])
    return X, y


@pytest.mark.parametrize("c2", [0.1, 1.0])
def test_crfsuite_agrees(c2, tmp_path):
    """Its objective is c2 |w|^2 + sum_i -log p(y_i), n times ours at alpha = 2 c2 / n."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = sentences()
    losses = []

    class Trainer(pycrfsuite.Trainer):
        def message(self, text):
            if text.startswith("Loss: "):
                losses.append(float(text.split()[1]))

    def names(x):
        ends = [["first"] * (t == 0) + ["last"] * (t == len(x) - 1) for t in range(len(x))]
        return [
            [f"f{j}" for j in np.flatnonzero(row)] + ["bias"] + end
            for row, end in zip(x, ends, strict=True)
        ]

    trainer = Trainer(verbose=False)
    for x, own in zip(X, y, strict=True):
        trainer.append(names(x), own.tolist())
    trainer.select("lbfgs")
    every = {"feature.possible_states": True, "feature.possible_transitions": True}
    exact = {"c2": c2, "epsilon": 1e-7, "delta": 1e-14, "max_iterations": 1000}
    trainer.set_params(every | exact)
    trainer.train(str(tmp_path / "model"))
    model = ChainSVM(alpha=2 * c2 / len(X), objective="likelihood", tol=1e-10, max_epochs=3000).fit(
        X, y
    )
    assert len(X) * model.result_.primal == pytest.approx(losses[-1], rel=1e-7)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    for x, shares in zip(X, model.predict_marginals(X), strict=True):
        tagger.set(names(x))
        theirs = [[tagger.marginal(k, t) for k in model.classes_] for t in range(len(x))]
        np.testing.assert_allclose(shares, theirs, atol=2e-4)
    info = tagger.info()
    pairs = {(a, b): w for (a, b), w in info.transitions.items()}
    for (a, left), (b, right) in product(enumerate(model.classes_), repeat=2):
        assert model.transition_coef_[a, b] == pytest.approx(pairs[left, right], abs=1e-3)


@pytest.mark.parametrize(("seed", "scale", "alpha"), [(15, 1e4, 2e-3), (35, 1e3, 7e-5)])
def test_rounding_of_large_scores_is_no_entropy(seed, scale, alpha):
    """On the way, scores are so large that log Z and a score differ by more than the optimum."""
    rng = np.random.default_rng(seed)
    X = [scale * rng.normal(size=(length, 3)) for length in rng.integers(1, 5, size=3)]
    y = [np.arange(len(x)) % 3 for x in X]
    sdca = ChainSVM(solver="sdca", tol=1e-9, max_epochs=60, objective="likelihood", warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for own in (alpha / 10, alpha):
            found = sdca.set_params(alpha=own).fit(X, y).result_
        best = ChainSVM(alpha, solver="lbfgs", tol=1e-12, max_epochs=2000, objective="likelihood")
        primal = best.fit(X, y).result_.primal
    assert found.dual <= min(primal, found.primal) + 1e-14
    assert found.status is not Status.FAILED
