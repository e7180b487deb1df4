"""Estimators with weights in a domain: fitted, copied, searched, saved, warm-started."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import ChainSVM, MulticlassSVM, StructuredSVM, domains
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_sequences
from maxmargin.result import Status
from maxmargin.solvers import DualExtragradient, Perceptron, Subgradient
from maxmargin.solvers.base import solver_classes, solvers_for
from maxmargin.structures import Finite, Structure

QUIET = "ignore::sklearn.exceptions.ConvergenceWarning"
pytestmark = pytest.mark.filterwarnings(QUIET)


def listed(n=60, seed=0, noise=0.5):
    """Samples with three to five outputs, of which w = (1, -1, 0, 0) likes the true one best."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(3, 6), 4)) for _ in range(n)]
    scores = [x @ np.array([1.0, -1.0, 0, 0]) + noise * rng.normal(size=len(x)) for x in X]
    return X, [int(np.argmax(s)) for s in scores]


def ranker(**options):
    given = {
        "solver": "dual-extragradient",
        "alpha": 0.0,
        "domain": domains.L2Ball(2.0),
        "max_epochs": 300,
        "tol": 5e-2,
    }
    return StructuredSVM(Finite(), **(given | options))


def test_a_ball_is_learned_in():
    X, y = listed()
    model = ranker().fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert np.linalg.norm(model.coef_) <= 2.0 * (1 + 1e-12)
    assert model.coef_[0] > 0.5 > 0 > -0.5 > model.coef_[1]
    assert model.score(X, y) > 0.7
    held_out, truth = listed(seed=1)
    assert model.score(held_out, truth) > 0.6


@pytest.mark.parametrize(
    "domain",
    [
        None,
        domains.L2Ball(1.0),
        domains.L1Ball(1.0),
        domains.NonNegative([0]),
        domains.Signs([0], [1]),
        domains.Box([0.1, -0.5], [0.5, -0.1], [0, 1]),
        domains.Product([([0, 1], domains.L2Ball(1.0))]),
    ],
    ids=lambda d: type(d).__name__,
)
@pytest.mark.parametrize("solver", sorted(solvers_for("margin")))
@pytest.mark.one_in(4)
def test_every_domain_goes_with_every_solver(solver, domain):
    X, y = listed(20)
    needs_penalty = solver_classes()[solver]().requires.penalty
    bounded = isinstance(domain, domains.L2Ball | domains.L1Ball)
    unbounded = solver == "qp" and not bounded
    unbounded |= domain is None and solver == "smoothed"
    alpha = 0.05 if needs_penalty or unbounded else 0.0
    model = ranker(solver=solver, domain=domain, max_epochs=20, alpha=alpha).fit(X, y)
    assert domains.base.check_domain(domain, 4).contains(model.coef_)
    if solver != "perceptron":
        assert model.result_.primal < 0.95  # better than w = 0, whose loss is 1
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


class UnknownBox(domains.Box):
    """A box that compiled passes do not know, because its projection is its own."""

    def project(self, w):
        return super().project(w)


@pytest.mark.parametrize(
    "solver",
    [Subgradient(), Subgradient("half"), Subgradient(None), Perceptron(), Perceptron(False)],
    ids=["weighted", "half", "last", "perceptron", "perceptron, last"],
)
@pytest.mark.parametrize(
    ("low", "high"),
    [(-0.1, 0.1), (0, 0.05), (0.05, 0.1), (-0.2, -0.1), (-0.05, np.inf), (-np.inf, 0.02), (1, 1)],
)
def test_compiled_steps_in_boxes_are_those_that_project_each_time(solver, low, high):
    data = make_sequences(20, 3, 4, 5, separation=0.5, random_state=0)
    weight = np.random.default_rng(0).random(20)
    options = {"alpha": 0.05, "solver": solver, "tol": 0.0, "random_state": 0, "warm_start": True}
    known, unknown = (
        ChainSVM(domain=box(low, high, [0, 3, 5]), **options) for box in (domains.Box, UnknownBox)
    )
    for epochs in (1, 4, 3):  # begun, and continued twice
        for model in (known, unknown):
            model.set_params(max_epochs=epochs).fit(data.X, data.y, weight)
        assert known.domain.contains(known.coef_)
        np.testing.assert_allclose(known.coef_, unknown.coef_, rtol=1e-10, atol=1e-12)
        for name in ("primal", "dual"):
            ours, theirs = (getattr(own.result_, name) for own in (known, unknown))
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_scaled_steps_in_boxes_go_on_after_an_interruption():
    """The weights and their average are those of the steps that were made in a pass."""
    X, y = listed(20)
    found = []
    for box in (domains.Box(-0.3, 0.2), UnknownBox(-0.3, 0.2)):
        left = iter(range(9))

        def maximize(theta, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return np.eye(len(theta))[np.argmax(theta)]

        structure = Structure.from_oracle(maximize, encode="indices", probe=False)
        model = StructuredSVM(structure, alpha=0.1, domain=box)
        problem, solver = (
            model._problem(X, [[k] for k in y], None, None),
            Subgradient(random_state=0),
        )
        state = solver.init(problem)
        with pytest.raises(KeyboardInterrupt):
            solver.epoch(problem, state)
        assert state.average.steps[0] == 9
        found.append(solver.candidates(problem, state))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


def test_estimators_for_known_structures_take_a_domain():
    data = make_sequences(12, 3, 3, 4, separation=1.0, random_state=0)
    options = {"solver": "extragradient", "max_epochs": 15, "domain": domains.L2Ball(0.5)}
    chain = ChainSVM(**options).fit(data.X, data.y)
    assert np.linalg.norm(chain.coef_) <= 0.5 * (1 + 1e-12)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    classes = MulticlassSVM(**options).fit(x, y)
    assert np.linalg.norm(classes.coef_) <= 0.5 * (1 + 1e-12)


def test_early_stopping_chooses_along_the_path():
    """Without penalty or bounds, the weights that score best on held-out samples are returned."""
    (X, y), (held_out, truth) = listed(40, noise=1.5), listed(60, seed=5, noise=1.5)
    stopping = EarlyStopping(held_out, truth, patience=10**6)
    solver = DualExtragradient(check_every=1)
    model = ranker(domain=None, solver=solver, max_epochs=40, callbacks=[stopping]).fit(X, y)
    scores = [r.validation_score for r in model.result_.history]
    assert len(scores) == 40
    assert model.score(held_out, truth) == max(scores)
    assert len(set(scores)) > 1
    assert model.result_.dual == -np.inf
    problem = model._problem(X, y, None, None)
    # the objective told is that of the weights chosen
    assert model.result_.primal == pytest.approx(problem.primal(model.coef_), abs=1e-12)


def test_early_stopping_ends_the_run():
    (X, y), (held_out, truth) = listed(40), listed(60, seed=5)
    stopping = EarlyStopping(held_out, truth, patience=3)
    solver = DualExtragradient(check_every=1)
    model = ranker(domain=None, solver=solver, max_epochs=500, callbacks=[stopping]).fit(X, y)
    assert model.result_.status is Status.STOPPED
    assert model.result_.n_epochs < 500


@pytest.mark.parametrize(
    "solver",
    ["extragradient", "dual-extragradient", DualExtragradient(memory="low"), "projected-gradient"],
    ids=["extragradient", "dual", "low", "projected"],
)
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_warm_starts(solver, alpha):
    X, y = listed(30)
    model = ranker(solver=solver, alpha=alpha, max_epochs=60, warm_start=True).fit(X, y)
    first = model.result_
    assert model.fit(X, y).result_.primal <= first.primal + 1e-9
    model.set_params(domain=domains.L2Ball(0.5), max_epochs=10).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.5 * (1 + 1e-9)
    model.set_params(domain=None, solver="bcfw", alpha=0.1, max_epochs=300, tol=1e-4).fit(X, y)
    cold = ranker(domain=None, solver="bcfw", alpha=0.1, max_epochs=300, tol=1e-4).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.result_.primal == pytest.approx(cold.result_.primal, rel=3e-4)
    model.set_params(solver=solver, alpha=alpha, domain=domains.L2Ball(2.0), max_epochs=60)
    last = model.fit(X, y).result_
    assert last.gap <= 0.12 * last.primal
    assert abs(last.primal - first.primal) <= max(first.gap, last.gap)


def test_grids_go_over_the_radius():
    X, y = listed(60)
    search = GridSearchCV(ranker(max_epochs=20), {"domain__radius": [1e-3, 0.5, 5.0]}, cv=3)
    search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] + 0.2 < scores[1] <= scores[2]  # steps from so small a ball lead nowhere
    assert search.best_params_ == {"domain__radius": 5.0}
    best = search.best_estimator_
    assert np.linalg.norm(best.coef_) <= best.domain.radius * (1 + 1e-9)


def test_clone_repr_and_parameters():
    model = ranker(domain=domains.L1Ball(3.0, signs=domains.Signs([0], [2])))
    again = clone(model)
    assert repr(again) == repr(model)
    assert "L1Ball(radius=3.0" in repr(model)
    assert again.domain is not model.domain
    again.set_params(domain__radius=1.0, domain__signs__positive=[1])
    assert (model.domain.radius, model.domain.signs.positive) == (3.0, [0])
    assert again.domain.signs.positive == [1]


@pytest.mark.parametrize("memory", ["plain", "low"])
@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize(
    "domain",
    [
        domains.L2Ball(2.0, signs=domains.Signs([0], np.array([1]))),
        domains.Product([([0, 1], domains.L2Ball(1.0)), ([2, 3], domains.NonNegative())]),
        domains.RealSpace(),
    ],
    ids=["ball", "product", "all"],
)
def test_pickles_and_files_keep_everything(tmp_path, domain, warm_start, memory):
    X, y = listed(20)
    solver = DualExtragradient(memory=memory, max_epochs=10)
    model = ranker(domain=domain, solver=solver, warm_start=warm_start).fit(X, y)
    model.save(tmp_path / "model.mm")
    for again in (maxmargin.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.coef_, model.coef_)
        assert repr(again) == repr(model)
        assert again.predict(X) == model.predict(X)
        assert again.result_.history[-1].extra == model.result_.history[-1].extra
        if warm_start:
            np.testing.assert_array_equal(again.result_.state.z, model.result_.state.z)
        again.fit(X, y)
        assert np.isfinite(again.coef_).all()


@pytest.mark.parametrize("kind", ["extragradient", "dual-extragradient", "projected-gradient"])
def test_a_loaded_model_goes_on_from_its_weights_and_dual_point(tmp_path, kind):
    X, y = listed(20)
    model = ranker(solver=kind, max_epochs=5, tol=0.0, warm_start=True).fit(X, y)
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm").fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.fit(X, y).coef_)
    assert again.result_.primal == model.result_.primal


BAD = [
    ({"solver": "bcfw", "alpha": 0.0}, ValueError, "BCFW needs alpha > 0; give a small one"),
    ({"solver": "ssg"}, ValueError, "Subgradient needs alpha > 0"),
    ({"domain": domains.L2Ball(0)}, ValueError, "radius=0 must be a finite number above 0"),
    ({"domain": domains.NonNegative([4])}, ValueError, "names weight 4, but there are 4"),
    ({"domain": 2.0}, TypeError, "domain=2.0 must be an object of class Domain or None"),
    ({"domain": domains.L2Ball}, TypeError, "must be an object of class Domain"),
    ({"solver": DualExtragradient("entropic")}, ValueError, "needs domain=L1Ball"),
    ({"alpha": -1.0}, ValueError, "alpha=-1.0 must be"),
    ({"alpha": "0"}, TypeError, "alpha='0' must be a finite number"),
    ({"solver": "extra"}, ValueError, "solver='extra' is unknown"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD, ids=range(len(BAD)))
def test_bad_options_are_refused(options, error, words):
    X, y = listed(5)
    with pytest.raises(error, match=words):
        ranker(**options).fit(X, y)
