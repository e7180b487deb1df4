"""SequenceTagger as a conditional random field."""

import numpy as np
import pytest

import maxmargin
from maxmargin.solvers import LBFGS
from maxmargin.tasks import SequenceTagger

WORDS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "walk": "N", "sleeps": "V", "barks": "V"}
SENTENCES = [
    ["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "walk"], ["a", "cat", "barks"],
]  # fmt: skip
TAGS = [[WORDS[word] for word in sentence] for sentence in SENTENCES]


def test_probabilities_are_those_of_the_chain_and_predictions_their_mode():
    tagger = SequenceTagger(objective="likelihood", tol=1e-8, max_epochs=1000).fit(SENTENCES, TAGS)
    assert tagger.model_.objective == "likelihood"
    assert tagger.result_.state.solver == "sdca"
    assert tagger.result_.gap <= 1e-8 * tagger.result_.primal
    assert tagger.model_.alpha == 0.2 / len(SENTENCES)
    assert tagger.predict(SENTENCES) == TAGS
    for own, shares in zip(TAGS, tagger.predict_marginals(SENTENCES), strict=True):
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
        assert [tagger.classes_[k] for k in shares.argmax(axis=1)] == own
    # the gradient vanishes at the optimum: of each tag, the expected count is the true one less
    # what the penalty takes
    bias = tagger.model_.bias_
    expected = np.sum([m.sum(axis=0) for m in tagger.predict_marginals(SENTENCES)], axis=0)
    counts = [sum(own.count(tag) for own in TAGS) for tag in tagger.classes_]
    np.testing.assert_allclose(expected - counts, -0.2 * bias, atol=1e-4)


def test_solvers_agree_and_margins_are_the_default():
    first = SequenceTagger(objective="likelihood", tol=1e-8, max_epochs=1000).fit(SENTENCES, TAGS)
    again = SequenceTagger(objective="likelihood", solver=LBFGS(), tol=1e-8).fit(SENTENCES, TAGS)
    assert first.result_.primal == pytest.approx(again.result_.primal, rel=1e-8)
    margin = SequenceTagger().fit(SENTENCES, TAGS)
    assert margin.model_.objective == "margin"
    assert margin.result_.state.solver == "bcfw"
    assert margin.model_.alpha == 10.0 / len(SENTENCES)


def test_saved_and_loaded(tmp_path):
    tagger = SequenceTagger(objective="likelihood").fit(SENTENCES, TAGS)
    tagger.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert again.get_params()["objective"] == "likelihood"
    pairs = zip(
        tagger.predict_marginals(SENTENCES), again.predict_marginals(SENTENCES), strict=True
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="'margin' or 'likelihood'"):
        SequenceTagger(objective="hinge").fit(SENTENCES, TAGS)
