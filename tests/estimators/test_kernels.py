"""Kernels on the features of nodes: the same optimum by every road."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from maxmargin import Bipartite, ChainSVM, Graph, MatchingSVM, MulticlassSVM, TreeSVM, domains, load
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.features import KernelMap
from maxmargin.persistence import register
from maxmargin.solvers import BCFW, DualExtragradient, Extragradient

DATA = make_sequences(14, (1, 5), 3, 4, separation=1.0, random_state=1)
X, Y = DATA.X, DATA.y
RNG = np.random.default_rng(5)
FLAT = RNG.normal(size=(40, 2))
RING = np.where((FLAT**2).sum(axis=1) < 1.2, "in", "out")
PAIRED = list(RNG.normal(size=(10, 3, 3, 2)))
LINKS = [np.argwhere(np.hypot(x[:, :, 0], x[:, :, 1]) < 0.8)[:1] for x in PAIRED]
TREES = [Graph.from_parents(x, [-1, 0, 0, 1]) for x in RNG.normal(size=(8, 4, 2))]
KINDS = [np.where(t.nodes[:, 0] * t.nodes[:, 1] > 0, "p", "n") for t in TREES]
CASES = [
    (ChainSVM, X, Y),
    (MulticlassSVM, FLAT, RING),
    (MatchingSVM, PAIRED, LINKS),
    (TreeSVM, TREES, KINDS),
]
NAMES = [kind.__name__ for kind, *_ in CASES]


def fit(kind, X, y, **options):
    return kind(**({"alpha": 0.05, "tol": 1e-9, "max_epochs": 3000} | options)).fit(X, y)


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize(("kind", "X", "y"), CASES, ids=NAMES)
def test_the_linear_kernel_is_no_kernel(kind, X, y):
    plain, linear = fit(kind, X, y), fit(kind, X, y, kernel="linear")
    assert linear.result_.primal == pytest.approx(plain.result_.primal, abs=1e-8)
    assert same(plain.predict(X), linear.predict(X))
    assert linear.n_support_ <= plain.n_features_in_
    assert linear.n_features_in_ == plain.n_features_in_


def squares(x):
    """Monomials of degree two or less whose products are (a . b + 1)^2."""
    upper = np.triu_indices(x.shape[-1], 1)
    mixed = x[..., upper[0]] * x[..., upper[1]]
    one = np.ones((*x.shape[:-1], 1))
    return np.concatenate([x**2, np.sqrt(2) * mixed, np.sqrt(2) * x, one], axis=-1)


@pytest.mark.parametrize(("kind", "X", "y"), [CASES[0], CASES[1], CASES[2]], ids=NAMES[:3])
def test_a_polynomial_is_its_monomials(kind, X, y):
    own = fit(kind, X, y, kernel=KernelMap("poly", degree=2, gamma=1.0))
    explicit = squares(X) if isinstance(X, np.ndarray) else [squares(x) for x in X]
    plain = fit(kind, explicit, y)
    assert own.result_.primal == pytest.approx(plain.result_.primal, abs=1e-8)
    assert same(own.predict(X), plain.predict(explicit))


def test_rbf_finds_the_optimum_of_the_dual_program():
    clarabel = pytest.importorskip("clarabel")
    alpha, n, classes = 0.05, len(FLAT), 2
    K = rbf_kernel(FLAT, gamma=0.7)
    truth = np.eye(2)[(RING == "out").astype(int)].ravel()
    # min alpha/2 |w(z)|^2 - loss(z), z = y - delta in the simplex of each sample
    P = sparse.csc_array(np.kron(K, np.eye(classes)) / (alpha * n * n))
    linear = -(P @ truth) - (1 - truth) / n
    sums = sparse.csc_array(np.kron(np.eye(n), np.ones((1, classes))))
    A = sparse.vstack([sums, -sparse.eye_array(n * classes)], format="csc")
    b = np.concatenate([np.ones(n), np.zeros(n * classes)])
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(n * classes)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(P)), linear, sparse.csc_matrix(A), b, cones, settings
    ).solve()
    best = -(solved.obj_val + 0.5 * truth @ (P @ truth))
    own = fit(MulticlassSVM, FLAT, RING, kernel=KernelMap("rbf", gamma=0.7), bias=False)
    assert own.result_.primal == pytest.approx(best, abs=1e-7)
    plain = fit(MulticlassSVM, FLAT, RING, tol=1e-4)
    assert own.score(FLAT, RING) >= 0.95 > 0.8 > plain.score(FLAT, RING)


def test_every_solver_finds_the_same_optimum():
    solvers = [BCFW(), Extragradient(), DualExtragradient()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [
            fit(ChainSVM, X, Y, kernel="rbf", solver=solver, tol=1e-4, max_epochs=400).result_
            for solver in solvers
        ]
    for result in found[1:]:
        assert np.isfinite(result.gap)
        assert abs(result.primal - found[0].primal) <= result.gap + found[0].gap
        assert result.gap <= 0.01 * result.primal


def coordinates_of(kind, X, y, **options):
    """The same model that predicts from coordinates, as it does while it is trained."""
    kept = {}

    def forget(self):
        kept["basis"] = self.basis_
        self.basis_ = None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelMap, "forget", forget)
        model = fit(kind, X, y, **options)
    other = pickle.loads(pickle.dumps(model))
    other.kernel_.basis_ = kept["basis"]
    other._in_coordinates = True
    return model, other


@pytest.mark.parametrize(
    "kernel",
    ["poly", "rbf", KernelMap(max_support=9), KernelMap(method="nystroem", n_components=9)],
    ids=["poly", "rbf", "few", "nystroem"],
)  # fmt: skip
@pytest.mark.parametrize(("kind", "X", "y"), CASES, ids=NAMES)
def test_support_vectors_say_what_coordinates_say(kind, X, y, kernel):
    model, other = coordinates_of(kind, X[::2], y[::2], kernel=kernel, tol=1e-5)
    scores = [[best[0][1] for best in m.predict_k_best(X, 1)] for m in (model, other)]
    np.testing.assert_allclose(*scores, atol=1e-9)
    assert model.dual_coef_.shape == (model.n_support_, max(model._n_labels(), 1))
    assert model.support_vectors_.shape == (model.n_support_, model.n_features_in_)
    assert model.dropped_ <= 1e-9 * np.linalg.norm(model.coef_)


def test_coefficients_are_those_of_the_dual_point():
    solver = BCFW(averaging=False)
    model = fit(MulticlassSVM, FLAT, RING, kernel="rbf", solver=solver, bias=False)
    z = model.result_.state.z.reshape(40, 2)
    beta = (np.eye(2)[(RING == "out").astype(int)] - z) / (40 * 0.05)
    used = np.abs(beta).max(axis=1) > 1e-12
    assert model.n_support_ == used.sum() < 40
    np.testing.assert_allclose(model.support_vectors_, FLAT[used])
    np.testing.assert_allclose(model.dual_coef_, beta[used], atol=1e-12)


def test_equal_rows_share_one_coefficient():
    doubled, labels = np.concatenate([FLAT, FLAT]), np.concatenate([RING, RING])
    once = fit(MulticlassSVM, FLAT, RING, kernel="rbf")
    twice = fit(MulticlassSVM, doubled, labels, kernel="rbf")
    assert twice.kernel_.n_distinct_ == 40
    assert twice.result_.primal == pytest.approx(once.result_.primal, abs=1e-8)
    np.testing.assert_allclose(
        twice.decision_function(FLAT), once.decision_function(FLAT), atol=1e-4
    )


def test_the_order_of_samples_does_not_matter():
    order = np.random.default_rng(0).permutation(len(X))
    a = fit(ChainSVM, X, Y, kernel="rbf")
    b = fit(ChainSVM, [X[i] for i in order], [Y[i] for i in order], kernel="rbf")
    assert a.result_.primal == pytest.approx(b.result_.primal, abs=1e-8)
    assert same(a.predict(X), b.predict(X))


def test_support_sets_are_bounded():
    small = fit(ChainSVM, X, Y, kernel=KernelMap("rbf", max_support=7))
    assert small.n_support_ <= 7
    assert 0 < small.residual_ < 1
    assert small.result_.primal >= fit(ChainSVM, X, Y, kernel="rbf").result_.dual - 1e-9
    dropped = fit(ChainSVM, X, Y, kernel=KernelMap("rbf", drop=0.05), tol=1e-4)
    whole = fit(ChainSVM, X, Y, kernel="rbf", tol=1e-4)
    assert dropped.n_support_ < whole.n_support_
    change = np.abs(
        dropped._seen_rows(dropped._check_X(X)[0]).matrix.toarray()
        - whole._seen_rows(whole._check_X(X)[0]).matrix.toarray()
    )
    assert 0 < change.max() <= dropped.dropped_ + 1e-9  # k(x, x) = 1


def test_landmarks_everywhere_are_exact_and_random_features_come_close():
    exact = fit(ChainSVM, X, Y, kernel="rbf")
    nystroem = KernelMap("rbf", method="nystroem", n_components=1000)
    assert fit(ChainSVM, X, Y, kernel=nystroem).result_.primal == pytest.approx(
        exact.result_.primal, abs=1e-8
    )
    random = KernelMap("rbf", method="random", n_components=1000)
    near = fit(ChainSVM, X, Y, kernel=random, tol=1e-4)
    assert near.result_.primal == pytest.approx(exact.result_.primal, rel=0.1)
    assert not hasattr(near, "n_support_")
    assert near.score(X, Y) == pytest.approx(exact.score(X, Y), abs=0.05)


def test_in_a_domain_and_without_a_penalty_pivots_carry_the_weights():
    for options in ({"domain": domains.L2Ball(2.0)}, {"alpha": 0.0, "solver": "perceptron"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            own, other = coordinates_of(ChainSVM, X, Y, kernel="rbf", max_epochs=20, **options)
        for a, b in zip(own.decision_function(X), other.decision_function(X), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_weights_are_of_coordinates_and_the_rest_is_as_ever():
    model = fit(ChainSVM, X, Y, kernel="poly", tol=1e-3)
    assert model.node_coef_.shape == (model.kernel_.n_coordinates_, 3)
    assert model.bias_.shape == model.first_.shape == model.last_.shape == (3,)
    assert model.transition_coef_.shape == (3, 3)
    size = model.kernel_.n_coordinates_ * 3 + 9 + 9
    assert model.coef_.shape == model.result_.w.shape == (size,)
    before = model.predict(X)
    assert same(before, model.sparsify().predict(X))


def test_probabilities_and_calibration_take_kernels():
    model = fit(ChainSVM, X[:10], Y[:10], kernel="rbf", objective="likelihood", tol=1e-4)
    for p in model.predict_marginals(X):
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    margin = fit(ChainSVM, X[:10], Y[:10], kernel="rbf", tol=1e-3)
    assert margin.calibrate(X[10:], Y[10:]).temperature_ > 0
    assert len(margin.margins(X)) == len(X)
    edges = [Bipartite((3, 3), [(0, 0), (1, 2)], x[[0, 1], [0, 2]]) for x in PAIRED]
    links = fit(MatchingSVM, PAIRED, LINKS, kernel="rbf", tol=1e-3)
    every, some = links.edge_scores(PAIRED), links.edge_scores(edges)
    np.testing.assert_allclose(some[3], every[3][[0, 1], [0, 2]], atol=1e-12)


def test_warm_starts_and_early_stopping_go_on_in_coordinates():
    model = ChainSVM(alpha=0.05, kernel="rbf", tol=1e-5, max_epochs=500, warm_start=True)
    first = model.fit(X, Y).result_
    again = model.fit(X, Y).result_
    assert again.n_epochs <= 1 < first.n_epochs
    assert again.primal == pytest.approx(first.primal, rel=1e-5)
    for kernel in ("rbf", KernelMap(method="random", n_components=50)):
        stopping = EarlyStopping(X[10:], Y[10:])
        stopped = ChainSVM(alpha=0.05, kernel=kernel, tol=1e-3, callbacks=[stopping])
        stopped.fit(X[:10], Y[:10])
        best = max(record.validation_score for record in stopped.result_.history)
        assert stopped.score(X[10:], Y[10:]) == pytest.approx(best)


def test_a_fit_without_kernel_forgets_the_kernel():
    model = fit(ChainSVM, X, Y, kernel="rbf", tol=1e-3)
    model.set_params(kernel=None).fit(X, Y)
    assert not hasattr(model, "support_vectors_")
    assert same(model.predict(X), fit(ChainSVM, X, Y).predict(X))


def test_options_of_kernels_can_be_searched():
    search = GridSearchCV(
        MulticlassSVM(alpha=0.05, tol=1e-2, kernel=KernelMap("rbf")),
        {"kernel__gamma": [1e-6, 0.7]},
        cv=2,
    ).fit(FLAT, RING)
    assert search.best_params_ == {"kernel__gamma": 0.7}


@pytest.mark.parametrize(
    "kernel",
    ["rbf", KernelMap("poly", degree=2), KernelMap("rbf", method="random", n_components=20),
     KernelMap("poly", method="random", n_components=20),
     KernelMap("rbf", method="nystroem", n_components=5)],
    ids=["rbf", "poly", "random", "sketch", "nystroem"],
)  # fmt: skip
def test_saved_models_predict_the_same_bits(tmp_path, kernel):
    model = fit(ChainSVM, X, Y, kernel=kernel, tol=1e-3)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for a, b in zip(model.decision_function(X), loaded.decision_function(X), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(
        model.decision_function(X),
        pickle.loads(pickle.dumps(model)).decision_function(X),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def own_kernel(A, B):
    return rbf_kernel(A, B, gamma=0.5)


class Laplace:
    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        return np.exp(-self.gamma * np.abs(A[:, None] - B[None]).sum(axis=2))


def test_functions_are_not_saved_but_registered_classes_are(tmp_path):
    model = fit(MulticlassSVM, FLAT, RING, kernel=own_kernel, tol=1e-2)
    with pytest.raises(TypeError, match=r"kernel is 'own_kernel'.*named kernel.*register"):
        model.save(tmp_path / "model")
    register(Laplace)
    model = fit(MulticlassSVM, FLAT, RING, kernel=Laplace(0.8), tol=1e-2)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").decision_function(FLAT), model.decision_function(FLAT)
    )
