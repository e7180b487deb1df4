"""make_words: shapes, seeds, and that neighbouring letters carry information."""

import string

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from maxmargin.datasets import make_words, words


def test_shapes_and_types():
    bunch = make_words(50)
    assert len(bunch.X) == len(bunch.y) == len(bunch.fold) == 50
    for x, y in zip(bunch.X, bunch.y, strict=True):
        assert x.shape == (len(y), 128)
        assert x.dtype == np.float64
        assert 3 <= len(y) <= 12
        assert set(y) <= set(string.ascii_lowercase)
    assert set(np.unique(np.concatenate(bunch.X))) == {0.0, 1.0}
    assert bunch.image_shape == (16, 8)
    assert len(bunch.feature_names) == 128
    assert np.bincount(bunch.fold).tolist() == [5] * 10


def test_same_seed_same_bits_other_seed_other_bits():
    a, b, c = make_words(40), make_words(40), make_words(40, random_state=1)
    for k in range(40):
        np.testing.assert_array_equal(a.X[k], b.X[k])
        np.testing.assert_array_equal(a.y[k], b.y[k])
    assert any(len(a.y[k]) != len(c.y[k]) or (a.X[k] != c.X[k]).any() for k in range(40))


def test_random_state_object_moves_on():
    rng = np.random.RandomState(0)
    first, second = make_words(5, random_state=rng), make_words(5, random_state=rng)
    assert ["".join(y) for y in first.y] == ["".join(y) for y in make_words(5).y]
    assert ["".join(y) for y in first.y] != ["".join(y) for y in second.y]


def test_noise_flips_that_share_of_the_pixels():
    clean, noisy = (np.concatenate(make_words(200, noise=noise).X) for noise in (0.0, 0.2))
    assert abs((clean != noisy).mean() - 0.2) < 0.01
    assert 0.1 < clean.mean() < 0.5


def test_every_letter_is_drawn_and_differs_from_the_others():
    assert set(words.STROKES) == set(string.ascii_lowercase)
    tables = words._distance_tables().reshape(26, -1)
    distances = np.abs(tables[:, None] - tables[None]).max(axis=2)
    assert (distances[~np.eye(26, dtype=bool)] > 0.3).all()
    assert set("".join(words.LEXICON.split())) == set(string.ascii_lowercase)


def test_new_words_are_spelled_not_only_listed():
    spelled = {"".join(y) for y in make_words(300).y}
    assert len(spelled - set(words.LEXICON.split())) > 100


@pytest.mark.parametrize(("option", "value"), [("n_words", 0), ("noise", 0.7), ("noise", -0.1)])
def test_bad_options_are_named(option, value):
    with pytest.raises(ValueError, match=f"{option} is {value}"):
        make_words(**{option: value})


def viterbi(unary, transitions):
    best, back = unary[0], []
    for row in unary[1:]:
        scores = best[:, None] + transitions
        back.append(scores.argmax(axis=0))
        best = scores.max(axis=0) + row
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def test_neighbours_tell_about_a_letter():
    """Single letters err on about a quarter; letter-pair frequencies remove a good part of that."""
    bunch = make_words(1500)
    codes = [np.searchsorted(words.LETTERS, y) for y in bunch.y]
    train, truth = np.concatenate(codes[:1000]), np.concatenate(codes[1000:])
    model = LinearDiscriminantAnalysis().fit(np.concatenate(bunch.X[:1000]), train)
    assert len(model.classes_) == 26
    alone = model.predict(np.concatenate(bunch.X[1000:]))
    pairs = np.full((26, 26), 0.1)
    for y in codes[:1000]:
        np.add.at(pairs, (y[:-1], y[1:]), 1)
    prior = np.log(model.priors_)
    transitions = np.log(pairs / pairs.sum(axis=1, keepdims=True)) - prior
    joint = [viterbi(model.predict_log_proba(x), transitions) for x in bunch.X[1000:]]
    error_alone = np.mean(alone != truth)
    error_joint = np.mean(np.concatenate(joint) != truth)
    assert 0.18 < error_alone < 0.28
    assert error_joint < 0.8 * error_alone
