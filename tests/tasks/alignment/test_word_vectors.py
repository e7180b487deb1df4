"""Word vectors: files, look-up, and the rotation of one language onto another."""

import copy
import gzip

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from maxmargin.tasks import BilingualVectors, WordVectors, orthogonal_map

BODY = "the 1 0 0\nMême 0 1.5 -2e-1\n, 0 0 1\n"


def file_of(tmp_path, text, pack=bytes):
    path = tmp_path / "vectors.vec"
    path.write_bytes(pack(text if isinstance(text, bytes) else text.encode()))
    return path


def random_vectors(n, dim, seed=0):
    rng = np.random.default_rng(seed)
    return WordVectors([f"w{k}" for k in range(n)], rng.normal(size=(n, dim)) + 0.3)


def random_rotation(dim, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))[0]


@pytest.mark.parametrize(
    "text",
    [BODY, "3 3\n" + BODY, "3 3 \n" + BODY.replace("\n", " \r\n"), "4 3\n" + BODY + "the 9 9 9\n"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_reads_variants(tmp_path, text, pack):
    vectors = WordVectors.read(file_of(tmp_path, text, pack))
    assert vectors.words == ["the", "Même", ","]
    expected = np.array([[1, 0, 0], [0, 1.5, -0.2], [0, 0, 1]], dtype=np.float32)
    np.testing.assert_array_equal(vectors.matrix, expected)
    assert (len(vectors), vectors.dim) == (3, 3)


def test_limit_words_with_spaces_and_encodings(tmp_path):
    path = file_of(tmp_path, "3 3\n" + BODY)
    assert WordVectors.read(path, limit=2).words == ["the", "Même"]
    assert WordVectors.read(path, limit=0).words == []
    assert WordVectors.read(file_of(tmp_path, BODY + ". . 1 2 3\n")).words[-1] == ". ."
    path = file_of(tmp_path, BODY.encode("latin-1"))
    assert WordVectors.read(path, encoding="latin-1").words[1] == "Même"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("5 3\n" + BODY, "promises 5 words, found 3"),
        (BODY + "a 1 2\n", "line 4: found 3 fields, expected a word and 3 numbers"),
        ("3 3\n" + BODY + "a 1 2\n", "line 5: found 3 fields"),
        (BODY + "a 1 2 3 4\n", "line 4: found 5 fields"),
        (BODY + "\n", "line 4: found 0 fields"),
        ("the\n", "line 1: found 1 fields, expected a word and 1 numbers"),
        (BODY + "a 1 x 3\n", r"line 4, word 'a': could not convert string to float: 'x'"),
        (BODY + "a 1 nan 3\n", "line 4, word 'a': found a number that is not finite"),
        (BODY + "a 1 -inf 3\n", "line 4, word 'a': found a number that is not finite"),
        (BODY + "a 1 1e99 3\n", "line 4, word 'a': "),
        (BODY.encode("latin-1"), "line 2: found bytes that are not utf-8"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = file_of(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        WordVectors.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a"], np.zeros(3), r"matrix has shape \(3,\), expected a row for each of the 1 words"),
        (["a"], np.zeros((2, 3)), r"matrix has shape \(2, 3\)"),
        (["a", "b"], [[0.0], [np.nan]], "row 1, of 'b', has a number that is not finite"),
    ],
)
def test_bad_arrays(words, matrix, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(words, matrix)


def test_look_up():
    vectors = WordVectors(["Été", "ete", "house", "House", "house"], np.arange(5.0)[:, None] + 1)
    found = {w: vectors.index(w) for w in ("Été", "été", "ete", "ETE", "House", "HOUSE", "x")}
    assert found == {"Été": 0, "été": 0, "ete": 1, "ETE": 1, "House": 3, "HOUSE": 2, "x": -1}
    assert "HOUSE" in vectors
    assert "x" not in vectors
    np.testing.assert_array_equal(vectors.vectors(["x", "house"]), [[0], [3]])
    assert vectors.vectors([]).shape == (0, 1)


def test_vectors_are_shared_not_copied_nor_changed():
    class Learner(BaseEstimator):
        def __init__(self, vectors=None):
            self.vectors = vectors

    vectors = random_vectors(4, 2)
    assert clone(Learner(vectors)).vectors is vectors
    assert copy.deepcopy(vectors) is vectors
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0] = 0


def test_a_rotated_copy_is_recovered():
    target = random_vectors(60, 8)
    source = WordVectors(target.words, target.matrix @ random_rotation(8))
    for dictionary in (None, [(w, w) for w in target.words[:12]]):
        both = orthogonal_map(source, target, dictionary)
        assert both.n_seeds == (60 if dictionary is None else 12)
        np.testing.assert_allclose(both.source.matrix, both.target.matrix, atol=1e-12)
        cosines = both.cosines(target.words, target.words)
        np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-12)
        assert (cosines.argmax(axis=1) == np.arange(60)).all()


def test_noise_and_float32():
    target = random_vectors(200, 10)
    noisy = target.matrix + 0.1 * np.random.default_rng(2).normal(size=(200, 10))
    words = [f"v{k}" for k in range(200)]
    source = WordVectors(words, (noisy @ random_rotation(10)).astype(np.float32))
    both = orthogonal_map(source, target, zip(words[:50], target.words[:50], strict=True))
    assert both.source.matrix.dtype == np.float32
    cosines = both.cosines(words[50:], target.words[50:])
    assert (cosines.argmax(axis=1) == np.arange(150)).mean() > 0.98
    assert np.diag(cosines).mean() > 0.98
    assert np.abs(cosines).max() <= 1.0


def test_the_map_is_a_rotation():
    source, target = random_vectors(50, 6), random_vectors(50, 6, seed=3)
    both = orthogonal_map(source, target)
    unit = source.matrix / np.linalg.norm(source.matrix, axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(both.source.matrix @ both.source.matrix.T, centred @ centred.T,
                               atol=1e-12)  # fmt: skip
    # No other rotation does better on the seeds.
    best = np.sum(both.source.matrix * both.target.matrix)
    for seed in range(20):
        assert np.sum(centred @ random_rotation(6, seed) * both.target.matrix) < best


def test_words_without_vectors():
    source, target = random_vectors(20, 4), random_vectors(20, 4)
    cosines = orthogonal_map(source, target).cosines(["w1", "?", "W2"], ["w2", "!"])
    assert cosines.shape == (3, 2)
    assert np.count_nonzero(cosines) == 2
    assert cosines[2, 0] == pytest.approx(1)
    assert (cosines[1] == 0).all()
    assert orthogonal_map(source, target).cosines([], ["w1"]).shape == (0, 1)


def test_a_zero_vector_is_like_no_word():
    vectors = WordVectors(["a", "b"], [[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(BilingualVectors(vectors, vectors).cosines("ab", "ab"),
                               [[0, 0], [0, 1]], atol=1e-15)  # fmt: skip


@pytest.mark.parametrize(
    ("dictionary", "message"),
    [
        (None, r"found 0 seed pairs \(words spelled alike in both\), expected at least 5 .*dictio"),
        ([("w1", "v1"), ("w2", "?")], r"found 1 seed pairs with vectors among 2 given"),
        (["ab"], r"dictionary, item 0: found 'ab', expected a pair of words"),
        ([("a", "b", "c")], r"dictionary, item 0: found"),
    ],
)
def test_bad_seeds(dictionary, message):
    source = random_vectors(20, 4)
    target = WordVectors([f"v{k}" for k in range(20)], source.matrix)
    with pytest.raises(ValueError, match=message):
        orthogonal_map(source, target, dictionary)


def test_dimensions_must_agree():
    with pytest.raises(ValueError, match="source vectors have 4 numbers, target vectors 5"):
        orthogonal_map(random_vectors(20, 4), random_vectors(20, 5))
    with pytest.raises(ValueError, match="source vectors have 4 numbers, target vectors 5"):
        BilingualVectors(random_vectors(20, 4), random_vectors(20, 5))
