"""Predictions of tasks that keep what is known."""

import numpy as np
import pytest

from maxmargin import ChainSVM, MatchingSVM, Restriction
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.tasks import Segmenter, SequenceTagger, WordAligner

SENTENCES = [["the", "cat", "sees"], ["a", "dog", "barks"], ["the", "saw", "cuts"]]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger().fit(SENTENCES, [["D", "N", "V"]] * 3)


def test_known_tags_are_kept_and_the_rest_is_the_best(tagger):
    assert tagger.predict_restricted(SENTENCES, [None] * 3) == tagger.predict(SENTENCES)
    first, nothing, other = tagger.predict_restricted(
        [SENTENCES[0], [], SENTENCES[1]],
        [Restriction(known={2: "N"}), None, Restriction(counts={"V": 0})],
    )
    assert first[2] == "N"
    assert nothing == []
    assert "V" not in other


def test_errors_name_the_sentence_also_behind_empty_ones(tagger):
    with pytest.raises(SampleError, match="sample 1: label 'X' was not learned") as caught:
        tagger.predict_restricted([[], SENTENCES[0]], [None, Restriction(known={0: "X"})])
    assert caught.value.index == 1
    with pytest.raises(ValueError, match="1 restrictions, but there are 2 samples"):
        tagger.predict_restricted([[], SENTENCES[0]], [None])


def test_chains_without_elements_are_predicted_as_such():
    X = [np.eye(2), np.eye(2)]
    model = ChainSVM().fit(X, [["a", "b"]] * 2)
    found = model.predict_restricted([X[0], np.empty((0, 2))], [Restriction(known={0: "b"}), None])
    assert found[0][0] == "b"
    assert len(found[1]) == 0


def test_known_links_are_kept():
    pairs = [(f"a{i} b{i} c{i}".split(), f"A{i} B{i} C{i}".split()) for i in range(10)]
    aligner = WordAligner().fit(pairs, [[(k, k) for k in range(3)]] * 10)
    assert aligner.predict_restricted(pairs, [None] * 10) == aligner.predict(pairs)
    known, empty, free = aligner.predict_restricted(
        [pairs[0], ([], ["x"]), pairs[1]],
        [Restriction(known=[(0, 1)]), None, Restriction(forbidden=[(0, 0)])],
    )
    assert (0, 1) in known
    assert empty == []
    assert (0, 0) not in free
    for restriction, text in (
        (Restriction(known=[(0, 9)]), r"pair 1: links: \(0, 9\) at place 0 is outside"),
        (Restriction(known={0: 0}), r"pair 1: known=\{0: 0\} must be a list of links"),
        (Restriction(known=[(0, 0), (0, 1)]), r"pair 1: known links \(0, 0\), \(0, 1\): row 0"),
    ):
        with pytest.raises(SampleError, match=text):
            aligner.predict_restricted([([], ["x"]), pairs[0]], [None, restriction])


@pytest.mark.parametrize(
    "restriction, kind, text",
    [
        (Restriction(known={0: 0}), SampleError, r"such as \[\(0, 1\)\]"),
        (Restriction(known=(0, 1)), SampleError, r"known=\(0, 1\) must be a list of links"),
        (Restriction(known=[(0, 0), (1, 0)]), InfeasibleError, r"\(1, 0\): column 0 is in 2"),
        (Restriction([(0, 0)], [(0, 0)]), InfeasibleError, r"link \(0, 0\) is known, and forb"),
    ],
)
def test_links_that_cannot_be_are_named(restriction, kind, text):
    X = list(np.random.default_rng(0).normal(size=(6, 2, 2, 2)))
    model = MatchingSVM(tol=0.5).fit(X, [[(0, 0)]] * 6)
    with pytest.raises(kind, match=f"sample 1: .*{text}"):
        model.predict_restricted(X[:2], [None, restriction])


def test_known_pixels_are_kept():
    rng = np.random.default_rng(0)
    masks = [np.zeros((8, 8), dtype=int) for _ in range(3)]
    for mask in masks:
        mask[2:6, 2:6] = 1
    images = [0.2 + 0.5 * mask + 0.1 * rng.random(size=mask.shape) for mask in masks]
    model = Segmenter(tol=0.5).fit(images, masks)
    plain = model.predict(images[:1])[0]
    kept, free = model.predict_restricted(
        images[:2], [Restriction(known={(0, 0): 1}, forbidden={(3, 3): [1]}), None]
    )
    assert plain[0, 0] == 0
    assert (kept[0, 0], kept[3, 3]) == (1, 0)
    np.testing.assert_array_equal(free, model.predict(images[1:2])[0])
    for restriction, text in (
        (Restriction(known={(9, 0): 1}), r"\(9, 0\) is not a pair \(row, column\) within"),
        (Restriction(known={0: 1}), "0 is not a pair"),
        (Restriction(counts={1: 3}), "a Segmenter takes known and forbidden"),
        (Restriction(known={(0, 0): 7}), "label 7 was not learned"),
    ):
        with pytest.raises(SampleError, match=f"image 1: {text}"):
            model.predict_restricted(images[:2], [None, restriction])
