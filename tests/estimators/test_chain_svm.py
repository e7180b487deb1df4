"""What ChainSVM learns and says, against sums over all label sequences."""

import enum
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from maxmargin import ChainSVM, MulticlassSVM
from maxmargin.datasets import make_sequences
from maxmargin.losses import Hamming

DATA = make_sequences(25, (1, 4), 3, 4, separation=1.5, random_state=3)
NAMES = np.array(["noun", "verb", "other"])
TAGS = [NAMES[y] for y in DATA.y]


@pytest.fixture(scope="module")
def fitted():
    return ChainSVM(alpha=0.02).fit(DATA.X, TAGS)


def score(model, x, labels):
    """The score of a label sequence by the named parts of the weights."""
    number = [list(model.classes_).index(label) for label in labels]
    total = sum(x[t] @ model.node_coef_[:, k] + model.bias_[k] for t, k in enumerate(number))
    total += model.first_[number[0]] + model.last_[number[-1]]
    return total + sum(model.transition_coef_[j, k] for j, k in pairwise(number))


def all_scores(model, x):
    return {y: score(model, x, y) for y in product(model.classes_, repeat=len(x))}


def test_the_parts_of_the_weights_have_their_shapes(fitted):
    assert fitted.classes_.tolist() == sorted(NAMES.tolist())
    assert fitted.n_features_in_ == 4
    assert fitted.node_coef_.shape == (4, 3)
    assert fitted.bias_.shape == fitted.first_.shape == fitted.last_.shape == (3,)
    assert fitted.transition_coef_.shape == (3, 3)
    assert fitted.coef_.size == 4 * 3 + 3 * 3 + 9


def test_predictions_are_the_best_sequences(fitted):
    for x, found in zip(DATA.X, fitted.predict(DATA.X), strict=True):
        scores = all_scores(fitted, x)
        assert scores[tuple(found)] == pytest.approx(max(scores.values()), abs=1e-12)


def test_decision_values_are_the_best_scores_with_each_label(fitted):
    decisions = fitted.decision_function(DATA.X)
    margins = fitted.margins(DATA.X)
    for x, found, lead, labels in zip(
        DATA.X, decisions, margins, fitted.predict(DATA.X), strict=True
    ):
        scores = all_scores(fitted, x)
        wanted = [
            [max(s for y, s in scores.items() if y[t] == k) for k in fitted.classes_]
            for t in range(len(x))
        ]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], labels)
        ordered = np.sort(wanted, axis=1)
        np.testing.assert_allclose(lead, ordered[:, -1] - ordered[:, -2], atol=1e-12)


def test_marginals_are_those_of_the_softmax_over_sequences(fitted):
    for x, found in zip(DATA.X, fitted.predict_marginals(DATA.X), strict=True):
        scores = all_scores(fitted, x)
        weight = np.exp(np.array(list(scores.values())))
        weight /= weight.sum()
        wanted = [
            [
                sum(p for y, p in zip(scores, weight, strict=True) if y[t] == k)
                for k in fitted.classes_
            ]
            for t in range(len(x))
        ]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_the_objective_is_the_one_in_the_docstring(fitted):
    """alpha/2 |w|^2 + mean_i max_y [score(y) - score(y_i) + share of wrong labels]."""
    hinges = []
    for x, truth in zip(DATA.X, TAGS, strict=True):
        scores = all_scores(fitted, x)
        hinges.append(
            max(s + np.mean(np.array(y) != truth) for y, s in scores.items()) - scores[tuple(truth)]
        )
    wanted = 0.01 * (fitted.coef_ @ fitted.coef_) + np.mean(hinges)
    assert fitted.result_.primal == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    "names", [NAMES, [0, 1, 2], [10, -3, 7], [2.5, 0.5, 1.5], [b"p", b"q", b"r"]]
)
def test_labels_of_any_type(fitted, names):
    names = np.array(names)
    model = ChainSVM(alpha=0.02, tol=1e-6, max_epochs=500).fit(DATA.X, [names[y] for y in DATA.y])
    assert model.classes_.dtype == names.dtype
    wanted = ChainSVM(alpha=0.02, tol=1e-6, max_epochs=500).fit(DATA.X, TAGS)
    back = dict(zip(names.tolist(), NAMES.tolist(), strict=True))
    for found, other in zip(model.predict(DATA.X), wanted.predict(DATA.X), strict=True):
        assert found.dtype == names.dtype
        assert [back[label] for label in found.tolist()] == other.tolist()


def test_bool_labels_and_labels_in_objects():
    y = [labels == "noun" for labels in TAGS]
    model = ChainSVM(alpha=0.02).fit(DATA.X, y)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(DATA.X)[0].dtype == bool
    objects = ChainSVM(alpha=0.02).fit(DATA.X, [labels.astype(object) for labels in TAGS])
    lists = ChainSVM(alpha=0.02).fit(DATA.X, [labels.tolist() for labels in TAGS])
    np.testing.assert_array_equal(objects.coef_, lists.coef_)


def test_dense_and_sparse_rows_give_the_same_bits(fitted):
    for convert in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        X = [convert(x) for x in DATA.X]
        model = ChainSVM(alpha=0.02).fit(X, TAGS)
        np.testing.assert_array_equal(model.coef_, fitted.coef_)
        for a, b in zip(model.predict(X), fitted.predict(DATA.X), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_fold_without_some_label():
    kept = [i for i, y in enumerate(TAGS) if "verb" not in y]
    model = ChainSVM(alpha=0.02).fit([DATA.X[i] for i in kept], [TAGS[i] for i in kept])
    assert model.classes_.tolist() == ["noun", "other"]
    found = model.predict(DATA.X)
    assert {label for labels in found for label in labels} <= {"noun", "other"}
    right = sum(np.sum(a == b) for a, b in zip(found, TAGS, strict=True))
    assert model.score(DATA.X, TAGS) == pytest.approx(right / sum(len(y) for y in TAGS))
    assert 0 < model.score(DATA.X, TAGS) < 1


def test_what_is_forbidden_is_never_predicted():
    banned = {("noun", "noun"), ("verb", "other")}
    data = make_sequences(150, (1, 4), 3, 4, random_state=8)
    tags = [NAMES[y] for y in data.y]
    kept = [i for i, y in enumerate(tags) if not banned & set(pairwise(y.tolist()))]
    kept = [i for i in kept if tags[i][0] != "other" and tags[i][-1] != "verb"]
    assert len(kept) > 10
    model = ChainSVM(
        alpha=0.1,
        forbidden_transitions=sorted(banned),
        forbidden_first=["other"],
        forbidden_last=["verb"],
    ).fit([data.X[i] for i in kept], [tags[i] for i in kept])
    found = zip(
        data.X, model.predict(data.X), model.decision_function(data.X), strict=True
    )  # on samples whose truth is forbidden, too
    for x, labels, decision in found:
        allowed = {
            y: s
            for y, s in all_scores(model, x).items()
            if not banned & set(pairwise(y)) and y[0] != "other" and y[-1] != "verb"
        }
        assert allowed[tuple(labels.tolist())] == pytest.approx(max(allowed.values()), abs=1e-12)
        assert decision[0][model.classes_ == "other"] == -np.inf


def test_without_transitions_tokens_are_classified_one_by_one():
    """With the number of errors as loss, the hinge of a chain is the sum over its tokens.

    With N tokens in n chains: P_chain(w; alpha) = N/n P_multiclass(w; alpha n/N).
    """
    n, N = len(DATA.X), sum(len(x) for x in DATA.X)
    options = {"tol": 1e-7, "max_epochs": 3000}
    chain = ChainSVM(0.3, "hamming-sum", ends=False, transitions=False, **options)
    chain.fit(DATA.X, TAGS)
    flat, labels = np.concatenate(DATA.X), np.concatenate(TAGS)
    single = MulticlassSVM(0.3 * n / N, **options).fit(flat, labels)
    assert chain.result_.primal == pytest.approx(N / n * single.result_.primal, rel=2e-7)
    np.testing.assert_allclose(chain.coef_, single.coef_, atol=2e-3)
    np.testing.assert_array_equal(np.concatenate(chain.predict(DATA.X)), single.predict(flat))
    np.testing.assert_allclose(
        np.concatenate(chain.predict_marginals(DATA.X)), single.predict_marginals(flat), atol=1e-3
    )


def test_without_transitions_the_mean_loss_divides_the_weights_by_the_length():
    """For chains of one length T: P_chain(w / T; alpha) = P_multiclass(w; alpha / T^2)."""
    data = make_sequences(20, 3, 3, 4, random_state=1)
    options = {"tol": 1e-7, "max_epochs": 3000}
    chain = ChainSVM(0.3, ends=False, transitions=False, **options).fit(data.X, data.y)
    single = MulticlassSVM(0.3 / 9, **options)
    single.fit(np.concatenate(data.X), np.concatenate(data.y))
    assert chain.result_.primal == pytest.approx(single.result_.primal, rel=2e-7)
    np.testing.assert_allclose(3 * chain.coef_, single.coef_, atol=2e-3)


def test_parts_that_are_not_learned_are_none():
    model = ChainSVM(alpha=0.1, bias=False, ends=False, transitions=False).fit(DATA.X, TAGS)
    assert (model.bias_, model.first_, model.last_, model.transition_coef_) == (None,) * 4
    assert model.coef_.size == model.node_coef_.size == 12
    partly = ChainSVM(alpha=0.1, bias=False, ends=True, transitions=False).fit(DATA.X, TAGS)
    assert partly.coef_.size == 12 + 6
    np.testing.assert_array_equal(partly.last_, partly.coef_[-3:])


def test_node_weights_price_errors_one_by_one():
    """Weight zero on all variables but the first: only they are fitted."""
    options = {"alpha": 0.02, "tol": 1e-5, "max_epochs": 500}
    ones = [np.ones(len(y)) for y in TAGS]
    plain = ChainSVM(**options).fit(DATA.X, TAGS)
    weighted = ChainSVM(**options).fit(DATA.X, TAGS, node_weight=ones)
    np.testing.assert_array_equal(plain.coef_, weighted.coef_)
    double = ChainSVM(**options).fit(DATA.X, TAGS, node_weight=[2 * w for w in ones])
    # loss 2 c: P(2 w; alpha, 2 c) = 2 (2 alpha/2 |w|^2 + mean hinge(w; c))
    half = ChainSVM(**options | {"alpha": 0.04}).fit(DATA.X, TAGS)
    assert double.result_.primal == pytest.approx(2 * half.result_.primal, rel=2e-5)
    none = ChainSVM(**options).fit(DATA.X, TAGS, node_weight=[0 * w for w in ones])
    assert not none.coef_.any()
    assert none.result_.primal == 0.0


def test_class_and_node_weights_in_the_objective():
    prices = {"noun": 3.0, "verb": 0.5}
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0.0, 2.0, size=len(y)) for y in TAGS]
    model = ChainSVM(alpha=0.02, loss=Hamming(class_weight=prices)).fit(
        DATA.X, TAGS, node_weight=weights
    )
    hinges = []
    for x, truth, weight in zip(DATA.X, TAGS, weights, strict=True):
        scores = all_scores(model, x)
        price = weight * np.array([prices.get(label, 1.0) for label in truth.tolist()])
        hinges.append(
            max(s + np.mean(price * (np.array(y) != truth)) for y, s in scores.items())
            - scores[tuple(truth)]
        )
    wanted = 0.01 * (model.coef_ @ model.coef_) + np.mean(hinges)
    assert model.result_.primal == pytest.approx(wanted, abs=1e-12)


def test_class_weights_favour_the_expensive_label():
    rng = np.random.default_rng(0)
    numbers = [rng.integers(3, size=4) for _ in range(60)]
    X = [np.eye(3)[y] + rng.normal(size=(4, 3)) for y in numbers]
    tags = [NAMES[y] for y in numbers]

    def found(weights):
        loss = Hamming(class_weight=weights)
        model = ChainSVM(alpha=0.1, loss=loss, tol=1e-2, transitions=False).fit(X, tags)
        return np.concatenate(model.predict(X))

    verbs = [np.mean(found({"verb": price}) == "verb") for price in (0.2, 1.0, 5.0)]
    assert verbs[0] < verbs[1] < verbs[2]
    with pytest.warns(UserWarning, match=r"class_weight names \['not there'\]"):
        unknown = found({"noun": 1.0, "not there": 5.0})
    np.testing.assert_array_equal(unknown, found(None))


def test_one_single_label():
    model = ChainSVM().fit(DATA.X, [["only"] * len(y) for y in TAGS])
    assert model.result_.primal == 0.0
    assert model.score(DATA.X, [["only"] * len(y) for y in TAGS]) == 1.0
    assert all((m == np.inf).all() for m in model.margins(DATA.X))
    assert all((p == 1.0).all() for p in model.predict_marginals(DATA.X))


def test_outputs_that_were_allowed_before_do_not_haunt_a_warm_start():
    """A dual point with mass on what is now forbidden would prove a bound that is not true."""
    kept = [i for i, y in enumerate(TAGS) if ("noun", "noun") not in pairwise(y.tolist())]
    X, y = [DATA.X[i] for i in kept], [TAGS[i] for i in kept]
    warm = ChainSVM(alpha=0.02, warm_start=True).fit(X, y)
    warm.set_params(forbidden_transitions=[("noun", "noun")])
    with pytest.warns(UserWarning, match="what it forbids changed.*; starting afresh"):
        warm.fit(X, y)
    fresh = ChainSVM(alpha=0.02, forbidden_transitions=[("noun", "noun")]).fit(X, y)
    np.testing.assert_array_equal(warm.coef_, fresh.coef_)
    assert fresh.result_.primal < ChainSVM(alpha=0.02).fit(X, y).result_.dual


def test_chains_in_another_order_are_other_shapes():
    X, y = DATA.X[:8], TAGS[:8]
    assert len(X[0]) != len(X[1])
    warm = ChainSVM(alpha=0.1, warm_start=True).fit(X, y)
    swap = [1, 0, *range(2, 8)]
    with pytest.warns(UserWarning, match="starting afresh"):
        warm.fit([X[i] for i in swap], [y[i] for i in swap])


def test_sequences_without_elements():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (2, 4, 3)]
    y = [np.where(x[:, 0] > 0, "a", "b") for x in X]
    model = ChainSVM().fit(X, y)
    for nothing in ([], np.empty((0, 3)), sparse.csr_array((0, 3))):
        holes = [nothing, X[0], nothing, *X[1:]]
        for method, layout in (
            ("predict", (0,)),
            ("margins", (0,)),
            ("decision_function", (0, 2)),
            ("predict_marginals", (0, 2)),
        ):
            found, own = getattr(model, method)(holes), getattr(model, method)(X)
            assert found[0].shape == found[2].shape == layout
            for a, b in zip([found[1], *found[3:]], own, strict=True):
                np.testing.assert_array_equal(a, b)
        assert [len(tags) for tags, _ in model.predict_k_best(holes, 2)[2]] == [0]
        assert model.score(holes, [[], y[0], [], *y[1:]]) == model.score(X, y)
        assert [len(own) for own in model.predict([nothing])] == [0]
    with pytest.raises(ValueError, match=r"sample 3: x\[0, 1\] is nan"):
        model.predict([[], X[0], [], np.full((1, 3), [0.0, np.nan, 0.0])])
    with pytest.raises(ValueError, match="sample 2: y has 1 labels but x has 0 rows"):
        model.score([X[0], X[1], []], [*y[:2], ["a"]])
    with pytest.raises(ValueError, match="sample 1: x has no rows"):
        model.fit([X[0], []], [y[0], []])


def test_data_frames_must_agree_in_their_columns():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(np.eye(3)[:n], columns=list("abc")) for n in (2, 3)]
    y = [["u", "v"], ["u", "v", "v"]]
    assert [len(own) for own in ChainSVM().fit(frames, y).predict(frames)] == [2, 3]
    with pytest.raises(ValueError, match=r"sample 1: its columns are \['b', 'a', 'c'\]"):
        ChainSVM().fit([frames[0], frames[1][list("bac")]], y)
    with pytest.raises(TypeError, match=r"found DataFrame. One sample alone: \[x\]"):
        ChainSVM().fit(frames[0], y[:1])


def test_labels_that_cannot_be_sorted():
    labels = enum.Enum("Colour", ["RED", "BLUE"])
    with pytest.raises(TypeError, match="labels of type Colour cannot be sorted.*Use str"):
        ChainSVM().fit([np.eye(2)], [[labels.RED, labels.BLUE]])


def test_labels_that_are_forbidden_and_do_not_occur_are_told():
    X, y = [np.eye(2)] * 2, [["a", "b"]] * 2
    options = {"forbidden_transitions": [("b", "z"), ("b", "a")], "forbidden_last": ["q"]}
    text = "forbidden_transitions has 'z', and forbidden_last has 'q': labels that y does not have"
    with pytest.warns(UserWarning, match=text) as caught:
        ChainSVM(**options).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
