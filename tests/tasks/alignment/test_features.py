"""AlignmentFeatures: edges, neighbours and rivals by brute force, features by hand."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from maxmargin.tasks import AlignmentFeatures, WordStatistics
from maxmargin.tasks.alignment.pair_edges import Edges

PAIRS = [
    (["the", "government", "has", "2", "."], ["le", "gouvernement", "a", "2", "."]),
    (["the", "house"], ["la", "maison"]),
    (["the", "minister", ","], ["le", "ministre", ","]),
    (["house", "."], ["maison", "."]),
]


@pytest.fixture(scope="module")
def statistics():
    return WordStatistics(stem_length=4).fit(PAIRS)


def table(features, pairs, columns=None):
    rows = features.transform(pairs, columns)
    names = features.feature_names_out()
    assert rows.matrix.shape == (sum(len(e) * len(f) for e, f in pairs), len(names))
    return rows, dict(zip(names, rows.matrix.toarray().T, strict=True))


def test_shifts_and_rivals_by_brute_force():
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (2, 3), (4, 2), (1, 5), (3, 3)]
    edges = Edges([j for j, _ in shapes], [k for _, k in shapes])
    values = rng.integers(0, 4, len(edges)).astype(float)  # small numbers, hence ties
    blocks = [values[a:b].reshape(s) for a, b, s in zip(edges.ptr, edges.ptr[1:], shapes)]  # noqa: B905
    for di, dj in [(-1, -1), (1, 1), (0, 1), (-1, 0), (1, -1), (2, 0)]:
        expected = []
        for block in blocks:
            for i, j in np.ndindex(block.shape):
                inside = 0 <= i + di < block.shape[0] and 0 <= j + dj < block.shape[1]
                expected.append(block[i + di, j + dj] if inside else 0.0)
        np.testing.assert_array_equal(edges.shifted(values, di, dj), expected)
    for by, axis in (("source", 0), ("target", 1)):
        expected = []
        for block in blocks:
            for i, j in np.ndindex(block.shape):
                others = np.delete(block[i], j) if axis == 0 else np.delete(block[:, j], i)
                expected.append(others.max(initial=0.0))
        np.testing.assert_array_equal(edges.best_rival(values, by), expected)


def test_spelling_by_hand(statistics):
    pair = (["government", "2", ",", "Été"], ["gouvernement", "2", ".", "ete", "3"])
    _, found = table(AlignmentFeatures().fit(statistics), [pair])
    at = {(e, f): i * 5 + j for i, e in enumerate(pair[0]) for j, f in enumerate(pair[1])}
    first = at["government", "gouvernement"]
    assert found["spelling: common prefix"][first] == pytest.approx(2 / 12)
    assert found["spelling: common letters"][first] == pytest.approx(2 * 10 / 12 - 1)
    assert found["spelling: nearly the same"][first] == 1
    assert found["spelling: length difference"][first] == pytest.approx(0.2)
    assert found["spelling: same word"][at["Été", "ete"]] == 1
    assert found["spelling: same long word"][at["Été", "ete"]] == 0
    assert found["spelling: same number"][at["2", "2"]] == 1
    assert found["spelling: other number"][at["2", "3"]] == 1
    assert found["spelling: number and word"][at["2", "ete"]] == 1
    assert found["spelling: other punctuation"][at[",", "."]] == 1
    assert found["spelling: punctuation and word"][at[",", "ete"]] == 1
    assert found["spelling: same word"].sum() == 2


def test_places_and_counts_by_hand(statistics):
    pair = (["the", "zebra"], ["le", "la", "house", "."])
    _, found = table(AlignmentFeatures().fit(statistics), [pair])
    np.testing.assert_allclose(
        found["places: distance"], np.abs([0.25 - x for x in (0.125, 0.375, 0.625, 0.875)]
        + [0.75 - x for x in (0.125, 0.375, 0.625, 0.875)]),
    )  # fmt: skip
    assert found["places: both first"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert found["places: both last"].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert found["counts: source unknown"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found["counts: target unknown"].tolist() == [0, 0, 1, 0, 0, 0, 1, 0]
    assert found["pairs: the = le"].tolist() == pytest.approx([0.75, 0, 0, 0, 0, 0, 0, 0])


def test_beliefs_belong_together(statistics):
    _, found = table(AlignmentFeatures().fit(statistics), PAIRS)
    both = found["words: agreement"]
    np.testing.assert_allclose(both**2, found["words: forward"] * found["words: backward"])
    np.testing.assert_array_equal(found["words: agreement > 0.5"], both > 0.5)
    np.testing.assert_allclose(
        found["words: least"] + found["words: most"],
        found["words: forward"] + found["words: backward"],
    )
    # of the first pair, edge (1, 1) has (0, 0) before and (2, 2) after it
    assert found["words: agreement before both"][6] == both[0]
    assert found["words: agreement after both"][6] == both[12]
    assert any(name.startswith("stems: ") for name in found)
    for name, column in found.items():
        assert np.abs(column).max() <= 2.0, name


def test_chunks_do_not_matter(statistics, monkeypatch):
    features = AlignmentFeatures().fit(statistics)
    whole = features.transform(PAIRS)
    monkeypatch.setattr("maxmargin.tasks.alignment.pair_edges.EDGES_AT_A_TIME", 10)
    parts = features.transform(PAIRS)
    assert parts.lengths.tolist() == whole.lengths.tolist() == [25, 4, 9, 4]
    np.testing.assert_allclose(parts.matrix.toarray(), whole.matrix.toarray(), atol=1e-12)


def test_links_of_other_aligners(statistics):
    features = AlignmentFeatures().fit(statistics, ["giza"])
    links = [{(0, 0)}, {(0, 0), (0, 1)}, set(), {(1, 1)}]
    _, found = table(features, PAIRS, {"giza": links})
    assert found["links: giza"].sum() == 4
    assert found["links: giza"][25:29].tolist() == [1, 1, 0, 0]
    assert found["links: giza, only one of source"][25:29].tolist() == [0, 0, 0, 0]
    assert found["links: giza, only one of target"][25:29].tolist() == [1, 1, 0, 0]
    assert found["links: giza before both"][6] == 1


class Vectors:
    def cosines(self, source, target):
        return np.array([[1.0 if e[0] == f[0] else -0.5 for f in target] for e in source])


def test_cosines_of_word_vectors(statistics):
    _, found = table(AlignmentFeatures(vectors=Vectors()).fit(statistics), PAIRS[1:2])
    assert found["vectors: cosine"].tolist() == [0, 0, 0, 0]
    _, found = table(AlignmentFeatures(vectors=Vectors()).fit(statistics), [(["lo"], ["le", "x"])])
    assert found["vectors: cosine"].tolist() == [1, 0]
    assert found["vectors: cosine over rivals of source"].tolist() == [1, 0]


def test_fewer_words_than_asked_for_and_no_stems():
    statistics = WordStatistics(stem_length=None).fit(PAIRS)
    _, found = table(AlignmentFeatures(frequent=1000).fit(statistics), PAIRS)
    assert not any(name.startswith("stems") for name in found)
    assert sum(name.startswith("pairs") for name in found) == len(statistics.source_words_) * len(
        statistics.target_words_
    )
    _, none = table(AlignmentFeatures(frequent=0).fit(statistics), PAIRS)
    assert not any(name.startswith("pairs") for name in none)


def test_bad_options(statistics):
    with pytest.raises(ValueError, match="frequent=-1"):
        AlignmentFeatures(frequent=-1).fit(statistics)
    with pytest.raises(TypeError, match="vectors is int"):
        AlignmentFeatures(vectors=3).fit(statistics)
    with pytest.raises(NotFittedError):
        AlignmentFeatures().fit(WordStatistics())
    with pytest.raises(NotFittedError):
        AlignmentFeatures().feature_names_out()
