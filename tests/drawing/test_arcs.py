"""Arcs above words: in order, of their kind, and safe as markup."""

from xml.etree import ElementTree

import pytest

from maxmargin.cli.report.drawings import drawing_html
from maxmargin.drawing.arcs import Arc, arcs_svg, circle_svg, compare_arcs, stack_arcs

TREE = [Arc(1, 0, "det"), Arc(2, 1, "nsubj"), Arc(-1, 2, "root"), Arc(2, 4, "obj"), Arc(4, 3)]
FOUND = [Arc(2, 0, "det"), *TREE[1:]]


def test_an_arc_is_above_those_that_it_spans():
    levels = stack_arcs([Arc(0, 5), Arc(1, 2), Arc(3, 2), Arc(1, 4), Arc(-1, 3)])
    assert levels == {
        Arc(1, 2): 1, Arc(3, 2): 1, Arc(1, 4): 2, Arc(0, 5): 3, Arc(-1, 3): 4,
    }  # fmt: skip
    assert stack_arcs([]) == {}


def test_arcs_are_right_wrong_or_missed():
    assert compare_arcs(FOUND, TREE) == (TREE[1:], [FOUND[0]], [TREE[0]])
    assert compare_arcs(FOUND, None) == (FOUND, [], [])


def test_the_drawing_is_markup_with_all_words_and_labels():
    words = ["<b>", "&", "見る", '"', ""]
    root = ElementTree.fromstring(arcs_svg(words, FOUND, TREE, 'a "title"'))
    texts = [own.text or "" for own in root.iter() if own.tag.endswith("text")]
    assert texts[:5] == words
    assert sorted(texts[5:]) == ["det", "det", "nsubj", "obj", "root"]
    dashed = [own for own in root.iter() if own.get("stroke-dasharray")]
    assert len(dashed) == 1


def test_pairs_around_a_circle():
    bases = list("GG<AACC")
    found, true = [Arc(0, 6), Arc(1, 5)], [Arc(0, 6), Arc(2, 4)]
    root = ElementTree.fromstring(circle_svg(bases, found, true, "title"))
    assert [own.text for own in root.iter() if own.tag.endswith("text")] == bases
    lines = [own for own in root.iter() if own.tag.endswith("path")]
    assert [own.get("d").count("M") for own in lines] == [1, 1, 1]
    assert [own.get("stroke-dasharray") for own in lines] == [None, None, "4 3"]
    many = circle_svg(["A"] * 500, [], None, "")
    assert [n for n in range(20, 501, 20) if f">{n}<" not in many] == []
    ElementTree.fromstring(circle_svg([], [], None, ""))


@pytest.mark.parametrize("kind", ["arcs", "circle"])
def test_a_report_lists_mistakes_in_words(kind):
    html = drawing_html(
        {"kind": kind, "title": "t", "errors": 1, "truth_known": True, "tokens": list("abcde"),
         "truth": [list(own) for own in TREE], "predicted": [list(own) for own in FOUND]}
    )  # fmt: skip
    assert "<svg" in html
    assert "missed: </b><bdi>b</bdi> to <bdi>a</bdi> det" in html
