"""The alignment matrix as text, character by character."""

import unicodedata

import numpy as np
import pytest

from maxmargin.datasets import load_alignment
from maxmargin.tasks import render_alignment

SOURCE, TARGET = ["let", "me", "go", "."], ["lâche", "-", "moi", "."]
PREDICTED = [(0, 0), (1, 1), (2, 2), (1, 0)]
SURE, POSSIBLE = {(0, 0), (1, 2), (3, 3)}, {(1, 1), (2, 0)}

UNICODE = """\
     l
     â
     c   m
     h   o
     e - i .
let  ■ · · ·
 me  ✗ ▪ □ ·
 go  ▫ · ✗ ·
  .  · · · □

■ right 1   ▪ possible 1   ✗ wrong 2   □ missed 2   ▫ possible, not predicted 1"""

ASCII = """\
     l
     a
     c   m
     h   o
     e - i .
let  # . . .
 me  x + o .
 go  - . x .
  .  . . . o

# right 1   + possible 1   x wrong 2   o missed 2   - possible, not predicted 1"""


def cells(line):
    """Columns of a terminal that a line takes."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in line
    )


@pytest.mark.parametrize("unicode, expected", [(True, UNICODE), (False, ASCII)])
def test_small_matrix(unicode, expected):
    text = render_alignment(SOURCE, TARGET, PREDICTED, SURE, POSSIBLE, unicode=unicode)
    assert text == expected
    assert text.isascii() != unicode


def test_composed_and_combining_accents_look_alike():
    target = [unicodedata.normalize("NFD", word) for word in TARGET]
    assert render_alignment(SOURCE, target, PREDICTED, SURE, POSSIBLE) == UNICODE
    strange = render_alignment(["a\u0302\u0331b", "c\td"], ["x\u0331\u0302\u200d"], [(0, 0)])
    assert strange.splitlines() == [
        "     x\u0331\u0302\u200d", " \u00e2\u0331b  ■", "c?d  ·", "", "■ link 1",
    ]  # fmt: skip


def test_wide_characters_take_two_cells():
    text = render_alignment(["海洋", "a"], ["土卫六", "b", "。"], [(0, 0), (1, 2)])
    assert text.splitlines() == [
        "      土",
        "      卫",
        "      六 b  。",
        "海洋  ■  ·  ·",
        "   a  ·  ·  ■",
        "",
        "■ link 2",
    ]
    plain = render_alignment(["海洋"], ["é"], [(0, 0)], unicode=False)
    assert plain.splitlines() == ["    e", "??  #", "", "# link 1"]


def test_without_possible_links_the_legend_is_short():
    text = render_alignment(SOURCE, TARGET, [(0, 0)], {(0, 0), (1, 1)})
    assert text.splitlines()[-1] == "■ right 1   ✗ wrong 0   □ missed 1"
    assert render_alignment(SOURCE, TARGET, np.array([[0, 0]])).endswith("■ link 1")


def test_bands():
    text = render_alignment(SOURCE, TARGET, PREDICTED, SURE, POSSIBLE, width=9)
    first, second, legend = text.split("\n\n")
    assert first.splitlines()[-4:] == ["let  ■ ·", " me  ✗ ▪", " go  ▫ ·", "  .  · ·"]
    assert second.splitlines()[-4:] == ["let  · ·", " me  □ ·", " go  ✗ ·", "  .  · □"]
    assert len(legend.splitlines()) == 5
    assert render_alignment(SOURCE, TARGET, PREDICTED, width=12).count("\n\n") == 1
    # narrower than the names: a column a band, rather than an error
    assert render_alignment(SOURCE, TARGET, PREDICTED, width=1).count("let") == 4


def test_long_words_are_cut():
    text = render_alignment(["x" * 40], ["y" * 40], [], unicode=False)
    assert text.splitlines()[13] == " " * 20 + "~"
    assert text.splitlines()[14].startswith("x" * 17 + "~  .")


@pytest.mark.parametrize("source, target", [([], []), (["a"], []), ([], ["a"])])
def test_empty_sentences(source, target):
    assert render_alignment(source, target, []).endswith("■ link 0")
    assert "right 0" in render_alignment(source, target, [], [], width=5)


@pytest.mark.parametrize(
    "links, message",
    [
        ([(4, 0)], r"link \(4, 0\) is out of range: the source has 4 words"),
        ([(0, -1)], "positions count from 0"),
        ([3], "found 3, expected a link"),
    ],
)
def test_bad_links(links, message):
    with pytest.raises(ValueError, match=message):
        render_alignment(SOURCE, TARGET, links)


def test_real_sentences_stay_within_the_width(data_dir):
    bunch = load_alignment("zh-en", data_dir)
    for (source, target), (sure, _) in zip(bunch.pairs[:60], bunch.links, strict=False):
        for a, b, S in ((source, target, sure), (target, source, {(j, i) for i, j in sure})):
            text = render_alignment(a, b, S, S, width=60)
            assert max(map(cells, text.splitlines())) <= 60
            matrix, _, legend = text.rpartition("\n\n")
            n_words = sum("■" in word for word in (*a, *b))
            assert n_words or matrix.count("■") == len(S)
            assert legend == f"■ right {len(S)}   ✗ wrong 0   □ missed 0"
