"""Links without gold, on which two directed models agree."""

import numpy as np
import pytest

from maxmargin.tasks import WordAligner, WordStatistics, intersected_links

PAIRS = [(list(own), list(own.upper())) for own in ("abc", "bca", "cde", "eda", "bd", "aebdc")]


@pytest.fixture(scope="module")
def statistics():
    return WordStatistics(stem_length=None).fit(20 * PAIRS)


def test_translations_in_order_are_found(statistics):
    found = intersected_links(statistics, PAIRS)
    assert found == [[(k, k) for k in range(len(source))] for source, _ in PAIRS]


def test_no_word_is_linked_twice_and_equal_beliefs_link_nothing(statistics):
    pairs = [(list("aab"), list("ABB")), (["?"], ["!"]), (list("ab"), list("BABA"))]
    for (source, target), links in zip(pairs, intersected_links(statistics, pairs), strict=True):
        for side, words in enumerate((source, target)):
            ends = [link[side] for link in links]
            assert len(set(ends)) == len(ends)
            assert all(0 <= end < len(words) for end in ends)


def test_a_higher_bar_leaves_fewer_links(statistics):
    rng = np.random.default_rng(0)
    pairs = [(list(rng.choice(list("abcde"), 6)), list(rng.choice(list("ABCDE"), 6)))
             for _ in range(30)]  # fmt: skip
    low, high = (intersected_links(statistics, pairs, least) for least in (0.1, 0.9))
    assert all(set(b) <= set(a) for a, b in zip(low, high, strict=True))
    assert sum(map(len, high)) < sum(map(len, low))


def test_empty_sentences_have_no_links(statistics):
    assert intersected_links(statistics, [([], ["A"]), (["a"], ["A"])]) == [[], [(0, 0)]]
    assert intersected_links(statistics, []) == []


def test_they_are_labels_to_train_on(statistics):
    links = intersected_links(statistics, PAIRS)
    aligner = WordAligner().fit(PAIRS, links, statistics)
    assert aligner.predict(PAIRS) == links


@pytest.mark.parametrize(
    "pairs, least, error, told",
    [
        ([("a b", "A B")], 0.3, TypeError, "pair 0: its source sentence is a str"),
        (PAIRS, 3, ValueError, "least=3 must be a probability"),
    ],
)
def test_bad_input(statistics, pairs, least, error, told):
    with pytest.raises(error, match=told):
        intersected_links(statistics, pairs, least)
    with pytest.raises(TypeError, match="statistics is list, expected a fitted WordStatistics"):
        intersected_links(pairs, statistics)


def test_long_sentences_are_worked_out_a_few_at_a_time(statistics, monkeypatch):
    whole = intersected_links(statistics, PAIRS)
    monkeypatch.setattr("maxmargin.tasks.alignment.pair_edges.EDGES_AT_A_TIME", 10)
    assert intersected_links(statistics, PAIRS) == whole
