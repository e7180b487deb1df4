"""Aligned pairs of strings are read and written as they were."""

import pytest

from maxmargin.formats.string_pairs import aligned_rows, read_string_pairs, write_string_pairs

PSA = 'Aligned pairs\n"foot",(x)\nGerman.\tf\tũ\ts\nEnglish\tf\tʊ\tt\n# 0.00\n\n'
LETTERS = ">fam\tset\taB\tcD\nkKPr-\ndR-rA\n"


@pytest.mark.parametrize("text", [PSA, PSA + "next\nA\ta͡b\t-\nB\t-\tc\n# 0.00\n\n", LETTERS * 2])
def test_files_are_written_as_they_were_read(text):
    pairs = list(read_string_pairs(text.splitlines()))
    assert "".join(write_string_pairs(pairs)) == text
    again = [pair.with_alignment(pair.alignment) for pair in pairs]
    assert [pair.alignment for pair in again] == [pair.alignment for pair in pairs]


def test_symbols_letters_and_what_is_reliable():
    (word,) = read_string_pairs(PSA.splitlines())
    assert word.strings == (["f", "ũ", "s"], ["f", "ʊ", "t"])
    assert word.names == ("German.", "English")
    (protein,) = read_string_pairs(("\ufeff" + LETTERS).splitlines())
    assert protein.strings == ("KKPR", "DRRA")
    assert protein.columns == [(0, 0), (1, 1), (2, -1), (3, 2), (-1, 3)]
    assert protein.alignment == [(0, 0), (1, 1), (3, 2)]
    assert protein.core == [(1, 1)]


def test_rows_have_gaps_where_nothing_matches():
    assert aligned_rows("abc", "xyz", [(1, 2)]) == (list("a--bc"), list("-xyz-"))
    assert aligned_rows("ab", "", []) == (list("ab"), list("--"))
    assert aligned_rows([1], [2], [(0, 0)]) == ([1], [2])
