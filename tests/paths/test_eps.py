"""Models for every alpha: each within eps wherever the path says so."""

import numpy as np
import pytest

from maxmargin import ChainSVM, MulticlassSVM, StructuredSVM, load
from maxmargin.datasets import make_sequences
from maxmargin.domains import L2Ball, NonNegative
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths import alpha_path, eps_path
from maxmargin.solvers import BCFW
from maxmargin.structures import Finite, Structure
from maxmargin.tasks import SequenceTagger

EPS = 0.1


@pytest.fixture(scope="module")
def data():
    made = make_sequences(60, (3, 7), 3, 6, separation=1.5, random_state=1)
    return made.X, made.y


@pytest.fixture(scope="module")
def path(data):
    X, y = data
    return eps_path(ChainSVM(), X[:40], y[:40], EPS, validation=(X[40:], y[40:]))


def random_alphas(path, count, seed=0):
    """In every piece, at both ends and at random."""
    rng = np.random.default_rng(seed)
    ends = path.breakpoints[np.isfinite(path.breakpoints)]
    high = min(path.breakpoints[0], 100 * ends[0])
    return [*ends, *np.exp(rng.uniform(np.log(ends[-1]), np.log(high), count))]


def holds_everywhere(path, estimator, X, y, eps, count=15):
    """Primal less the bound, computed afresh from w at each alpha: within eps of the primal."""
    problem = estimator._problem(X, y, None, None)
    for alpha in random_alphas(path, count):
        problem.alpha = alpha
        model = path.model(alpha)
        primal = problem.primal(model.coef_)
        assert model.alpha == alpha
        assert primal == pytest.approx(model.result_.primal, rel=1e-9)
        assert primal - model.result_.dual <= eps * primal * (1 + 1e-9)
        assert path.certificate(alpha) == (model.result_.primal, model.result_.dual)


def test_at_every_alpha_the_gap_is_at_most_eps(path, data):
    X, y = data
    holds_everywhere(path, ChainSVM(), X[:40], y[:40], EPS)


def test_the_bounds_are_below_the_optimum(path, data):
    X, y = data
    for alpha in random_alphas(path, 0)[1::3]:
        best = ChainSVM(alpha=alpha, tol=1e-3).fit(X[:40], y[:40]).result_
        primal, dual = path.certificate(alpha)
        assert dual <= best.primal
        assert best.dual <= primal


def test_the_pieces_leave_no_hole(path):
    assert path.breakpoints[0] == np.inf
    assert (np.diff(path.breakpoints[1:]) < 0).all()
    for above, below in zip(path.points, path.points[1:], strict=False):
        assert above.low == below.high
        assert below.low <= below.alpha <= below.high
    assert path.breakpoints[-1] == pytest.approx(1e-3 * path.points[0].low)
    assert path.gaps.max() <= EPS
    assert 3 <= len(path) <= 12
    assert path.exact
    assert path.n_epochs == sum(point.n_epochs for point in path.points) > 0


def test_it_begins_with_zero_weights_in_closed_form(path):
    first = path.points[0]
    assert first.norm_w == 0.0
    assert first.n_epochs == 0
    assert first.worst_gap == pytest.approx(EPS, rel=1e-6)
    assert path.model(1e6).result_.relative_gap < EPS / 10
    norms = [point.norm_w for point in path.points]
    assert norms == sorted(norms)


def test_a_finer_path_has_more_models(path, data):
    X, y = data
    finer = eps_path(ChainSVM(), X[:40], y[:40], 0.03, alpha_min=path.breakpoints[-1])
    assert len(finer) > len(path)
    holds_everywhere(finer, ChainSVM(), X[:40], y[:40], 0.03)


def test_models_predict_score_and_are_saved(path, data, tmp_path):
    X, y = data
    for point in path.points[1:]:
        assert path.model(point.alpha).score(X[40:], y[40:]) == point.validation_score
    best = path.best_
    best.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.coef_, best.coef_)
    assert "of a path that holds from alpha" in again.result_.certificate()
    frame = path.to_frame()
    assert frame["low"].tolist() == path.breakpoints[1:].tolist()
    assert repr(path).startswith(f"<EpsPath: {len(path)} models from ")


def test_the_same_seed_gives_the_same_bits(path, data):
    X, y = data
    again = eps_path(ChainSVM(), X[:40], y[:40], EPS, train_score=False)
    np.testing.assert_array_equal(again.breakpoints, path.breakpoints)
    assert (again.weights != path.weights).nnz == 0
    assert not again.validated


def test_one_alpha_only(data):
    path = eps_path(ChainSVM(), *data, EPS, alpha_max=0.05, alpha_min=0.05)
    assert path.breakpoints.tolist() == [0.05, 0.05]
    assert path.model(0.05).result_.relative_gap <= EPS
    holds_everywhere(path, ChainSVM(), *data, EPS, count=0)


def test_an_alpha_so_large_that_zero_weights_suffice(data):
    path = eps_path(ChainSVM(), *data, EPS, alpha_max=1e6, alpha_min=1e5)
    assert path.breakpoints.tolist() == [1e6, 1e5]
    assert path.weights.nnz == 0


def test_tiny_and_separable_data():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1])
    path = eps_path(MulticlassSVM(), X, y, EPS, alpha_min=1e-8)
    holds_everywhere(path, MulticlassSVM(), X, y, EPS)
    assert path.points[-1].hinge == pytest.approx(0, abs=1e-6)
    assert len(path) < 15  # once nothing is lost, a model is good for ever
    assert path.points[-1].high / path.points[-1].low > 1e3


def test_outputs_that_all_cost_nothing_and_features_that_tell_nothing():
    single = [np.ones((1, 2)) for _ in range(3)]
    path = eps_path(StructuredSVM(Finite()), single, [0, 0, 0], EPS, alpha_min=1e-3)
    assert path.breakpoints.tolist() == [np.inf, 1e-3]
    assert path.model(0.5).result_.primal == 0.0
    same = [np.ones((3, 2)) for _ in range(3)]
    path = eps_path(StructuredSVM(Finite()), same, [0, 1, 2], EPS, alpha_min=1e-3)
    assert len(path) == 1
    assert path.model(0.01).result_.gap == 0.0
    path = eps_path(StructuredSVM(Finite()), same, [0, 1, 2], EPS, alpha_max=2.0)
    assert path.breakpoints[0] == 2.0


def test_chains_with_one_label_only(data):
    X = data[0][:5]
    path = eps_path(ChainSVM(), X, [np.zeros(len(x), dtype=int) for x in X], EPS, alpha_min=1e-3)
    assert path.gaps.max() <= EPS


def test_cones_too(data):
    X, y = np.vstack(data[0])[:60], np.concatenate(data[1])[:60]
    model = MulticlassSVM(domain=NonNegative())
    path = eps_path(model, X, y, EPS, alpha_min=0.02)
    assert path.weights.min() >= 0
    assert path.weights.nnz > 0
    holds_everywhere(path, model, X, y, EPS)


def test_tasks_and_sample_weights(data):
    sentences = [["the", "cat", "sat"], ["a", "dog", "ran", "off"], ["the", "dog", "sat"]]
    tags = [["D", "N", "V"], ["D", "N", "V", "P"], ["D", "N", "V"]]
    weight = {"sample_weight": np.array([1.0, 2.0, 1.0])}
    path = eps_path(SequenceTagger(), sentences, tags, EPS, fit_params=weight)
    model = path.model(path.breakpoints[-1])
    assert model.predict(sentences) == tags
    assert model.alpha == model.model_.alpha == path.breakpoints[-1]
    fitted = SequenceTagger(alpha=model.alpha, tol=1e-4).fit(sentences, tags, **weight)
    assert model.result_.dual <= fitted.result_.primal <= model.result_.primal * (1 + 1e-9)


def test_too_few_epochs_end_the_path_where_they_do(data):
    with pytest.warns(ConvergenceWarning, match="the path ends at alpha .* Raise max_epochs or"):
        path = eps_path(ChainSVM(), *data, 1e-3, alpha_min=1e-6, max_epochs=3)
    assert path.breakpoints[-1] > 1e-6
    holds_everywhere(path, ChainSVM(), *data, 1e-3, count=3)
    with pytest.raises(ValueError, match="no model within eps at alpha_max: 1 epochs"):
        eps_path(ChainSVM(), *data, 1e-3, alpha_max=1e-4, alpha_min=1e-5, max_epochs=1)


def test_outside_the_path(path):
    for alpha in (1e-9, "a", np.nan):
        with pytest.raises(ValueError, match="the path goes from inf down to"):
            path.model(alpha)


@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
    [
        (ChainSVM(), {"eps": 0}, ValueError, "eps=0 must be"),
        (ChainSVM(), {"eps": 1.0}, ValueError, "eps=1.0 must be"),
        (ChainSVM(), {"kappa": 1.5}, ValueError, "kappa=1.5"),
        (ChainSVM(), {"alpha_max": 0.0}, ValueError, "alpha_max=0.0 must be"),
        (ChainSVM(), {"alpha_min": np.nan}, ValueError, "alpha_min=nan must be"),
        (ChainSVM(), {"alpha_max": 0.1, "alpha_min": 1.0}, ValueError, "exchange them"),
        (ChainSVM(), {"validation": 3}, TypeError, "a pair"),
        (ChainSVM(domain=L2Ball(1.0)), {}, ValueError, "L2Ball .* Take domain=None"),
        (ChainSVM(objective="likelihood"), {}, ValueError, "is for .margin.* Take alpha_path"),
        (ChainSVM(solver="ssg"), {}, ValueError, "needs the dual point of BCFW"),
        (ChainSVM, {}, TypeError, "is not an estimator object"),
    ],
)
def test_bad_options(model, options, error, words, data):
    with pytest.raises(error, match=words):
        eps_path(model, *data, **options)


def test_a_solver_of_yours(data):
    own = BCFW(step="frank-wolfe", sampling="gap")
    path = eps_path(ChainSVM(), *data, EPS, alpha_min=0.05, solver=own)
    assert own.tol is None
    assert path.gaps.max() <= EPS


def test_bounds_too_wide_to_say_where_the_path_begins_are_told():
    def loose(theta, layout):
        return np.eye(len(theta))[theta.argmax()], theta.max() + 1.0

    rng = np.random.default_rng(0)
    samples = [rng.normal(size=(4, 3)) for _ in range(5)]
    truth = [np.eye(4)[0]] * 5
    oracle = Structure.from_oracle(loose, n_parts=lambda layout: layout[0], exact="bounded")
    model = StructuredSVM(structure=oracle)
    with pytest.raises(ValueError, match=r"bounds of this oracle at w = 0.*Give alpha_max"):
        eps_path(model, samples, truth, eps=0.1)
    with pytest.raises(ValueError, match=r"bounds of this oracle at w = 0.*give alphas"):
        alpha_path(model, samples, truth)
