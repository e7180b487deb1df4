"""Predictions of which something is known, against all outputs that keep it."""

from itertools import pairwise, product

import numpy as np
import pytest

from maxmargin import (
    ChainSVM,
    Graph,
    GraphCutSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    Restriction,
    TreeSVM,
)
from maxmargin.exceptions import InfeasibleError


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    y = [rng.choice(list("abc"), size=5) for _ in range(20)]
    X = [np.eye(3)[np.searchsorted(list("abc"), own)] + rng.normal(size=(5, 3)) for own in y]
    return ChainSVM(alpha=0.1).fit(X, y), X, y


def scored(model, x, y):
    """w . F y, by the definition of the weights."""
    numbers = np.searchsorted(model.classes_, y)
    total = sum(x[t] @ model.node_coef_[:, k] + model.bias_[k] for t, k in enumerate(numbers))
    total += sum(model.transition_coef_[a, b] for a, b in pairwise(numbers))
    return total + model.first_[numbers[0]] + model.last_[numbers[-1]]


def test_chains_keep_known_labels_and_counts(chain):
    model, X, _ = chain
    restrictions = [
        Restriction(known={1: "c"}),
        Restriction(forbidden={0: ["a", "b"], 4: "c"}),
        Restriction(counts={"a": 2, "b": (1, 1)}),
        Restriction(known={0: "b"}, counts={"c": (None, 0)}),
        None,
    ]

    def kept(y, own):
        if own is None:
            return True
        low_high = [
            (k, v if isinstance(v, tuple) else (v, v)) for k, v in (own.counts or {}).items()
        ]
        return (
            all(y[t] == k for t, k in (own.known or {}).items())
            and all(y[t] not in k for t, k in (own.forbidden or {}).items())
            and all((a or 0) <= list(y).count(k) <= b for k, (a, b) in low_high)
        )

    found = model.predict_restricted(X[:5], restrictions)
    for x, y, own in zip(X, found, restrictions, strict=False):
        assert kept(y, own)
        best = max(scored(model, x, z) for z in product("abc", repeat=5) if kept(z, own))
        assert scored(model, x, y) == pytest.approx(best, abs=1e-9)
    assert np.array_equal(found[4], model.predict(X[4:5])[0])


def test_known_labels_help_their_neighbours(chain):
    model, X, y = chain
    known = [Restriction(known={1: own[1], 3: own[3]}) for own in y]
    found = model.predict_restricted(X, known)
    free = model.predict(X)
    rest = [0, 2, 4]

    def right(outputs):
        return sum((own[rest] == z[rest]).sum() for own, z in zip(y, outputs, strict=True))

    assert right(found) >= right(free)
    assert all((own[[1, 3]] == z[[1, 3]]).all() for own, z in zip(y, found, strict=True))


def test_matchings_keep_known_links():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(3, 3, 2)) for _ in range(8)]
    y = [np.c_[np.arange(3), rng.permutation(3)] for _ in X]
    model = MatchingSVM(alpha=0.1).fit(X, y)
    (found,) = model.predict_restricted(
        X[:1], [Restriction(known=[(0, 2)], forbidden=[(1, 0), (2, 0)])]
    )
    links = {tuple(pair) for pair in found.tolist()}
    assert (0, 2) in links
    assert not links & {(1, 0), (2, 0)}
    with pytest.raises(InfeasibleError, match=r"sample 0: known links \(0, 2\), \(1, 2\): col"):
        model.predict_restricted(X[:1], [Restriction(known=[(0, 2), (1, 2)])])
    with pytest.raises(ValueError, match="sample 0: counts are of labels"):
        model.predict_restricted(X[:1], [Restriction(counts={1: 2})])


def test_cuts_trees_and_classes_keep_known_labels():
    rng = np.random.default_rng(2)
    edges = [(0, 1), (1, 2), (2, 3)]
    graphs = [Graph(rng.normal(size=(4, 2)), edges) for _ in range(10)]
    labels = [np.where(g.nodes[:, 0] > 0, "in", "out") for g in graphs]
    for model in (GraphCutSVM(alpha=0.1), TreeSVM(alpha=0.1)):
        model.fit(graphs, labels)
        one, two, three = model.predict_restricted(
            graphs[:3],
            [
                Restriction(known={0: "in", 3: "out"}),
                Restriction(counts={"in": 3}),
                Restriction(counts={"out": (3, None)}),
            ],
        )
        assert (one[0], one[3]) == ("in", "out")
        assert (two == "in").sum() == 3
        assert (three == "out").sum() >= 3
    X, y = rng.normal(size=(30, 2)), rng.choice(["x", "y", "z"], size=30)
    classes = MulticlassSVM(alpha=0.1).fit(X, y)
    left = classes.predict_restricted(X, [Restriction(forbidden={0: ["x", "y"]})] * 30)
    assert set(left) == {"z"}


def test_labels_chosen_together_keep_what_is_known():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4)) > 0).astype(int)
    model = MultiLabelSVM(alpha=0.1).fit(X, Y)
    known = [Restriction(known={0: 1, 2: 0}), Restriction(counts={1: (3, None)}), None]
    found = model.predict_restricted(X[:3], known)
    assert found[0, 0] == 1
    assert found[0, 2] == 0
    assert found[1].sum() >= 3
    assert np.array_equal(found[2], model.predict(X[2:3])[0])
    for x, own, kept in (
        (0, found[0], lambda z: z[0] == 1 and z[2] == 0),
        (1, found[1], lambda z: sum(z) >= 3),
    ):
        ranked = [(score, z) for z, score in model.predict_k_best(X[x : x + 1], 16)[0] if kept(z)]
        assert np.array_equal(max(ranked, key=lambda pair: pair[0])[1], own)
    with pytest.raises(ValueError, match="sample 0: label 9 was not learned"):
        model.predict_restricted(X[:1], [Restriction(known={9: 1})])
    with pytest.raises(ValueError, match="sample 0: counts={1: n} says how many labels are on"):
        model.predict_restricted(X[:1], [Restriction(counts={0: 1})])
    sets = MultiLabelSVM(alpha=0.1).fit(X, [{"abcd"[k] for k in np.flatnonzero(y)} for y in Y])
    assert sets.predict_restricted(X[:1], [Restriction(known={"b": 1}, counts={1: 1})]) == [{"b"}]


@pytest.mark.parametrize(
    "restriction, message",
    [
        (Restriction(known={5: "a"}), "sample 0: there is no node 5, only 0 to 4"),
        (Restriction(known={0: "q"}), "sample 0: label 'q' was not learned; known are 'a', 'b'"),
        (Restriction(known=["a"]), "must be a dictionary"),
        (Restriction(counts={"a": (3, 2)}), "cannot be there"),
        (Restriction(counts={"a": "3"}), "cannot be there"),
        (Restriction(counts={"q": 1}), "was not learned"),
    ],
)
def test_restrictions_that_do_not_fit_name_the_sample(chain, restriction, message):
    model, X, _ = chain
    with pytest.raises(ValueError, match=message):
        model.predict_restricted(X[:1], [restriction])


def test_too_few_or_odd_restrictions_are_refused(chain):
    model, X, _ = chain
    with pytest.raises(ValueError, match="1 restrictions, but X has 2 samples"):
        model.predict_restricted(X[:2], [None])
    with pytest.raises(TypeError, match="must be a list, one for each sample"):
        model.predict_restricted(X[:1], Restriction())
    with pytest.raises(TypeError, match="is not a Restriction"):
        model.predict_restricted(X[:1], [{0: "a"}])
    with pytest.raises(InfeasibleError, match="sample 1: no output keeps all rules"):
        model.predict_restricted(X[:2], [None, Restriction(counts={"a": 6})])
    with pytest.raises(InfeasibleError, match="sample 1: part 0 must be on, and is forbidden"):
        model.predict_restricted(X[:2], [None, Restriction(known={0: "a"}, forbidden={0: "a"})])
