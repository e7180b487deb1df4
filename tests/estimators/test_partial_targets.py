"""Targets of which some positions are unknown, of ChainSVM, SegmentSVM and SequenceTagger."""

from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from contract.cases.segments import segment_svm
from maxmargin import ChainSVM, SegmentSVM, metrics
from maxmargin.estimators.restrictions import Restriction
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.tasks import SequenceTagger

CENTRES = 2.0 * np.eye(3)


def make_chains(n, seed):
    """Sequences in which a label often follows itself."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = [int(rng.integers(3))]
        while len(labels) < 8:
            labels.append(labels[-1] if rng.random() < 0.8 else int(rng.integers(3)))
        X.append(CENTRES[labels] + rng.normal(size=(8, 3)))
        y.append(["abc"[k] for k in labels])
    return X, y


def hide(y, share, seed=0):
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else label for label in own] for own in y]


X, Y = make_chains(30, 0)
OTHERS, OTHER_LABELS = make_chains(40, 1)


@pytest.mark.parametrize("objective", ["margin", "likelihood"])
def test_chains_learn_from_partial_labels(objective):
    options = {"objective": objective, "alpha": 0.05, "tol": 0.02, "max_epochs": 300}
    full = ChainSVM(**options).fit(X, Y)
    half = ChainSVM(**options).fit(X, hide(Y, 0.5))
    assert not hasattr(full, "n_imputations_")
    assert half.n_imputations_ >= 1
    rounds = f"epochs and bound are of round {half.n_imputations_}, for the labels that were filled"
    assert rounds in half.result_.certificate()
    assert "round" not in full.result_.certificate()
    assert half.warm_start is False
    assert half.classes_.tolist() == ["a", "b", "c"]
    assert half.score(OTHERS, OTHER_LABELS) > full.score(OTHERS, OTHER_LABELS) - 0.06


def test_objective_is_the_least_over_all_outputs_that_agree():
    """At the end no other labels in the unknown places have a smaller loss, by enumeration."""
    x, y = X[:6], [own[:5] for own in hide(Y[:6], 0.4, seed=3)]
    x = [own[:5] for own in x]
    model = ChainSVM(alpha=0.1, tol=1e-4, max_epochs=1000).fit(x, y)
    filled = model.predict_restricted(x, [_known(own) for own in y])
    for i, own in enumerate(y):
        gaps = [t for t, label in enumerate(own) if label is None]
        scores = {}
        for labels in product("abc", repeat=len(gaps)):
            full = list(own)
            for t, label in zip(gaps, labels, strict=True):
                full[t] = label
            scores[tuple(full)] = _score(model, x[i], full)
        assert scores[tuple(filled[i])] == pytest.approx(max(scores.values()))


def _known(labels):
    return Restriction(known={t: label for t, label in enumerate(labels) if label is not None})


def _score(model, x, labels):
    k = [model.classes_.tolist().index(label) for label in labels]
    nodes = x @ model.node_coef_ + model.bias_
    score = nodes[np.arange(len(k)), k].sum() + model.first_[k[0]] + model.last_[k[-1]]
    return score + model.transition_coef_[k[:-1], k[1:]].sum()


def test_forbidden_ends_bind_sequences_not_their_known_parts():
    y = [[None, *own[1:]] for own in Y]
    assert any(own[1] == "a" for own in y)
    model = ChainSVM(forbidden_first=["a"], alpha=0.1, tol=0.05).fit(X, y)
    assert all(own[0] != "a" for own in model.predict(OTHERS))


def test_segments_learn_from_partial_labels():
    kind = segment_svm()
    y = []
    for i, own in enumerate(kind.y):
        hidden = own[i % len(own)]
        y.append([(a, b, None) if (a, b) == hidden[:2] else (a, b, k) for a, b, k in own])
    model = SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(kind.X, y)
    assert model.n_imputations_ >= 1
    assert model.score(kind.X, kind.y) > 0.8
    long = [[(0, len(kind.X[0]), None)], *kind.y[1:]]
    assert SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(kind.X, long).n_imputations_ >= 1


def test_taggers_learn_from_partial_tags():
    sentences = [["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "dog", "sleeps"]]
    tags = [["D", "N", None], ["D", None, "V"], [None, "N", "V"]]
    tagger = SequenceTagger().fit(sentences, tags)
    assert tagger.predict([["a", "cat", "sleeps"]]) == [["D", "N", "V"]]
    assert tagger.score(sentences, tags) == 1.0
    with pytest.raises(ValueError, match="all tags are None"):
        tagger.score(sentences, [[None] * 3] * 3)
    with pytest.raises(TypeError, match="sentence 0, token 2: the tag None"):
        tagger.report(sentences, tags)


def test_unknown_labels_are_left_out_of_scores():
    model = ChainSVM(alpha=0.05, tol=0.02).fit(X, Y)
    found, hidden = model.predict(OTHERS), hide(OTHER_LABELS, 0.5)
    pairs = [(a, b) for t, p in zip(hidden, found, strict=True) for a, b in zip(t, p, strict=True)]
    wrong = [a != b for a, b in pairs if a is not None]
    assert 0 < sum(wrong) < len(wrong)
    assert model.score(OTHERS, hidden) == pytest.approx(1 - np.mean(wrong))
    assert metrics.token_error(hidden, found) == pytest.approx(np.mean(wrong))
    assert metrics.per_label_scores(hidden, found).n_tokens == len(wrong)
    nothing = [[None] * 8] * 40
    assert metrics.sequence_error([[None] * 8, *OTHER_LABELS], [found[0], *found]) == (
        metrics.sequence_error(OTHER_LABELS, found)
    )
    with pytest.raises(ValueError, match="no known labels"):
        model.score(OTHERS, nothing)
    with pytest.raises(ValueError, match="all labels of y_true are None"):
        metrics.token_error(nothing, found)
    with pytest.raises(ValueError, match="sample 0: y_true has tags that are None"):
        metrics.chunk_f1([["B-X", None]], [["B-X", "O"]])
    grid = GridSearchCV(ChainSVM(tol=0.05), {"alpha": [0.05, 0.1]}, cv=2).fit(X, hide(Y, 0.3))
    assert grid.best_score_ > 0.7


def test_unknown_segments_are_left_out_of_scores():
    kind = segment_svm()
    model = SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(kind.X, kind.y)
    found = model.predict(kind.X)
    (a, b, _), *rest = found[0]
    assert rest
    hidden = [[(a, b, None), *rest], *found[1:]]
    assert model.score(kind.X, hidden) == 1.0
    with pytest.raises(ValueError, match="no known segments"):
        model.score(kind.X, [[(0, len(x), None)] for x in kind.X])


@pytest.mark.parametrize(
    ("model", "x", "y", "words"),
    [
        (ChainSVM(), [np.ones((2, 1))], [[None, None]], "no known labels"),
        (ChainSVM(), [np.ones((3, 1))], [["a", None]], "sample 0"),
        (SegmentSVM(), [np.ones((3, 1))], [[(0, 1, "a"), (1, 2, None)]], "sample 0: y ends at 2"),
        (SegmentSVM(), [np.ones((3, 1))], [[(0, 1, "a"), (2, 3, None)]], "must follow each other"),
        (SegmentSVM(), [np.ones((3, 1))], [[(0, 3, None)]], "no known labels"),
        (SequenceTagger(), [["a"]], [[None]], "all tags are None"),
    ],
)
def test_what_cannot_be_learned_is_refused(model, x, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(x, y)


def test_checkpoints_do_not_go_on_with_unknown_labels(tmp_path):
    path, y = tmp_path / "run.ckpt", hide(Y, 0.3)
    model = ChainSVM(alpha=0.05, tol=0.02, callbacks=[Checkpoint(path, epochs=1)])
    assert model.fit(X, y).n_imputations_ >= 1
    model.set_params(callbacks=[Checkpoint(path, resume=True)])
    with pytest.raises(ValueError, match="needs labels that are all known"):
        model.fit(X, y)
