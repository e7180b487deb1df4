"""The k best outputs: against sorted enumeration, ties, bans, errors; and of estimators."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from maxmargin import ChainSVM, MulticlassSVM
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures import Chain, Finite, Structure
from reference import chains, enumeration
from reference.user_structures import AtMostTwo

layouts = st.sampled_from([(1, 1), (1, 5), (2, 4), (3, 3), (4, 3), (5, 2), (7, 1)])
seeds = st.integers(0, 2**32 - 1)


def draw(layout, tied, seed, whole, banned):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(Chain(tied=tied).n_parts(layout))
    if whole:
        theta = np.round(theta)
    theta[rng.random(len(theta)) < banned] = -np.inf
    return theta


@given(
    layouts,
    st.booleans(),
    seeds,
    st.booleans(),
    st.sampled_from([0, 0.15, 0.5]),
    st.integers(1, 300),
)
def test_k_best_equal_sorted_enumeration(layout, tied, seed, whole, banned, k):
    theta, structure = draw(layout, tied, seed, whole, banned), Chain(tied=tied)
    values = enumeration.scores(theta, list(structure.vertices(layout)))
    expected = np.sort(values[np.isfinite(values)])[::-1][:k]
    if not len(expected):
        with pytest.raises(InfeasibleError, match="every output is forbidden"):
            structure.k_best(theta, layout, k)
        return
    found = structure.k_best(theta, layout, k)
    scores = [score for _, score in found]
    assert len(found) == len(expected)
    assert np.abs(np.array(scores) - expected).max() <= 1e-13
    assert scores == sorted(scores, reverse=True)
    sequences = [tuple(structure.decode(z, layout)) for z, _ in found]
    assert len(set(sequences)) == len(found)
    for (z, score), labels in zip(found, sequences, strict=True):
        assert np.array_equal(z, chains.vertex(labels, layout, tied))
        assert enumeration.score(theta, z) == pytest.approx(score, rel=1e-13, abs=1e-13)
    assert np.array_equal(found[0][0], structure.maximize(theta, layout))


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 9), seeds)
def test_more_outputs_begin_with_fewer(length, labels, k, seed):
    layout = (length, labels)
    theta = draw(layout, True, seed, False, 0.0)
    many, few = (Chain().k_best(theta, layout, n) for n in (2 * k, k))
    assert np.array_equal(few[0][0], Chain().maximize(theta, layout))
    for (a, x), (b, y) in zip(few, many, strict=False):
        assert x == y
        assert np.array_equal(a, b)


def test_second_best_of_max_marginals_is_the_second_best_output():
    layout = (9, 6)
    theta = draw(layout, True, 5, False, 0.0)
    (_, best), (_, second) = Chain().k_best(theta, layout, 2)
    table = np.sort(Chain().oracle().max_marginals(theta, layout)[:54].reshape(9, 6), axis=1)
    assert table[:, -1] == pytest.approx(best, rel=1e-14)
    assert table[:, -2].max() == pytest.approx(second, rel=1e-14)


def test_masks_hold():
    structure = Chain(forbidden_transitions=~np.eye(3, dtype=bool), forbidden_first=[1, 0, 0])
    found = structure.k_best(np.zeros(21), (4, 3), 10)
    assert [structure.decode(z, (4, 3)).tolist() for z, _ in found] == [[1] * 4, [2] * 4]


def test_listed_outputs_are_sorted():
    found = Finite().k_best(np.array([1.0, 3.0, -np.inf, 2.0, 3.0]), (5,), 9)
    assert [(int(z.argmax()), score) for z, score in found] == [(1, 3), (4, 3), (3, 2), (0, 1)]
    with pytest.raises(InfeasibleError):
        Finite().k_best(np.full(3, -np.inf), (3,), 1)


def test_structures_without_the_ability_say_so():
    assert Chain().oracle().has("k_best")
    assert Finite().oracle().has("k_best")
    assert not AtMostTwo().oracle().has("k_best")
    with pytest.raises(MissingAbilityError, match="AtMostTwo has no `k_best`, only `maximize`"):
        AtMostTwo().k_best(np.zeros(3), (3,), 2)


def test_too_many_outputs_are_not_listed(monkeypatch):
    monkeypatch.setattr("maxmargin.oracles.base.MOST_LISTED", 100)

    class Corners(Structure):
        def n_parts(self, layout):
            return layout[0]

        def vertices(self, layout):
            return (
                np.array(list(np.binary_repr(i, layout[0])), float) for i in range(2 ** layout[0])
            )

    assert Corners().k_best(np.array([1.0, -2.0]), (2,), 1)[0][1] == 1.0
    with pytest.raises(MissingAbilityError, match="more than 100. Define Corners.k_best"):
        Corners().k_best(np.zeros(40), (40,), 1)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None, True])
def test_numbers_that_are_none_are_refused(k):
    for structure, theta, layout in ((Chain(), np.zeros(8), (2, 2)), (Finite(), np.zeros(2), (2,))):
        with pytest.raises(ValueError, match="must be an integer, 1 or more"):
            structure.k_best(theta, layout, k)


# -- estimators ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagger():
    data = make_sequences(n_samples=12, length=5, n_labels=3, n_features=6, random_state=0)
    names = np.array(["x", "y", "z"])
    return ChainSVM(alpha=1.0, max_epochs=50, tol=0.5).fit(
        data.X, [names[y] for y in data.y]
    ), data.X


def test_estimator_gives_outputs_and_scores(tagger):
    est, X = tagger
    found = est.predict_k_best(X, 4)
    best, values = est.predict(X), est.decision_function(X)  # best scores with each label
    for outputs, y, value in zip(found, best, values, strict=True):
        assert len(outputs) == 4
        assert np.array_equal(outputs[0][0], y)
        assert outputs[0][1] == pytest.approx(value[0].max(), rel=1e-13)
        assert [s for _, s in outputs] == sorted((s for _, s in outputs), reverse=True)
        assert len({tuple(y) for y, _ in outputs}) == 4


def test_estimator_refuses_bad_numbers(tagger):
    est, X = tagger
    with pytest.raises(ValueError, match="k=0 must be an integer"):
        est.predict_k_best(X, 0)
    assert est.predict_k_best([], 3) == []


def test_multiclass_ranks_its_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.integers(0, 3, 30)
    est = MulticlassSVM(alpha=1.0, max_epochs=50, tol=0.5).fit(X, y)
    scores = est.decision_function(X)
    for outputs, row in zip(est.predict_k_best(X, 5), scores, strict=True):
        assert [c for c, _ in outputs] == est.classes_[np.argsort(-row)].tolist()
        assert [s for _, s in outputs] == pytest.approx(np.sort(row)[::-1].tolist(), rel=1e-12)
