"""Strings from data in a terminal."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from maxmargin.cli.text import (
    count_nouns,
    count_plurals,
    cut_text,
    format_cell,
    format_pairs,
    format_rows,
    format_table,
    pad_text,
    text_width,
    visible_text,
)

DANGEROUS = ["\x1b[31m", "\x00", "\x9b2J", "\r", "\n", "\t", "\u202e", "\u2066", "\u2028", "\x7f"]


@pytest.mark.parametrize("text", DANGEROUS)
def test_what_acts_on_a_terminal_is_made_visible(text):
    made = visible_text(f"a{text}b")
    assert made.startswith("a\\")
    assert made.endswith("b")
    assert all(unicodedata.category(c) not in ("Cc", "Zl", "Zp") for c in made)
    assert not set("\u202e\u2066") & set(made)


def test_escapes_are_those_of_python():
    assert visible_text("\x1b]0;title\x07") == "\\x1b]0;title\\x07"
    assert visible_text("\u202eabc") == "\\u202eabc"
    assert visible_text("\ud800") == "\\ud800"


@pytest.mark.parametrize("text", ["Ärger", "שלום", "漢字", "👩\u200d👩\u200d👧", "a b", "<b>&'\""])
def test_text_of_people_stays_as_it_is(text):
    assert visible_text(text) == text


@given(st.text())
def test_what_is_shown_is_one_line_that_a_terminal_only_prints(text):
    made = visible_text(text)
    assert len(made.splitlines()) <= 1
    assert made.isprintable() or all(
        c.isprintable() or unicodedata.category(c) in ("Zs", "Cf", "Co", "Cn") for c in made
    )
    made.encode("utf-8")


@pytest.mark.parametrize(
    "text, columns", [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("😀", 2), ("\uff46", 2), ("", 0)]
)
def test_width(text, columns):
    assert text_width(text) == columns


def test_pad_and_cut_count_columns():
    assert pad_text("漢", 4) == "漢  "
    assert pad_text("漢", 4, right=True) == "  漢"
    assert cut_text("漢字漢字", 8) == "漢字漢字"
    assert cut_text("漢字漢字漢", 8) == "漢字..."
    assert cut_text("abcdefghij", 8) == "abcde..."


def test_tables_stay_aligned_with_wide_characters_and_escapes():
    made = format_table(
        ["tag", "share", "n"], [["漢字", 0.5, 1200], ["\x1b[2J", None, 3], ["N", 1.0, 4]]
    )
    lines = made.splitlines()
    assert lines == [
        "  tag      share      n",
        "  漢字       0.5  1,200",
        "  \\x1b[2J      -      3",
        "  N            1      4",
    ]
    assert len({text_width(line) for line in lines}) == 1


def test_rows_and_facts_are_aligned():
    assert format_rows([["a", "1"], ["bbb", "2"]]) == "  a    1\n  bbb  2"
    assert format_rows([]) == ""
    assert format_pairs({"a": 1, "long": "x\ny"}) == "a     1\nlong  x\\ny"


def test_cells():
    assert [format_cell(v) for v in (None, True, 12345, 0.12345, 123456.7)] == [
        "-", "yes", "12,345", "0.1235", "123,457",
    ]  # fmt: skip
    assert format_cell("x" * 50) == "x" * 37 + "..."
    assert count_nouns(1, "word") == "1 word"
    assert count_nouns(2000, "word") == "2,000 words"


@pytest.mark.parametrize(
    "number, plural, printed",
    [
        (1, "scans", "1 scan"),
        (2000, "scans", "2,000 scans"),
        (0, "scans", "0 scans"),
        (1, "edge features", "1 edge feature"),
        (1, "families", "1 family"),
        (1, "pairs without links", "1 pair without links"),
    ],
)
def test_one_is_no_plural(number, plural, printed):
    assert count_plurals(number, plural) == printed
