"""load_string_pairs: small files, the real counts, and words made here."""

import pytest

from maxmargin.datasets import load_string_pairs, make_string_pairs
from maxmargin.datasets.string_pairs import names_in

LETTERS = ">fam\tset\taB\tcD\nkKPr-\ndR-rA\n"


def test_small_files(tmp_path):
    folder = tmp_path / "balibase3"
    folder.mkdir()
    (folder / "pairs.txt").write_text(LETTERS)
    for path in (tmp_path, folder, folder / "pairs.txt"):
        found = load_string_pairs("balibase3", path)
        pairs, alignments = found
        assert pairs == [("KKPR", "DRRA")]
        assert alignments == [[(0, 0), (1, 1), (3, 2)]]
        assert found.core == [[(1, 1)]]
        assert found.groups == ["fam"]
    assert names_in(tmp_path) == ["string_pairs (balibase3)"]
    with pytest.raises(FileNotFoundError, match="no bdpa/bdpa_train.psa.gz found.*lingpy"):
        load_string_pairs("bdpa", tmp_path)
    with pytest.raises(ValueError, match="name is 'x', expected one of 'bdpa'"):
        load_string_pairs("x")
    (folder / "pairs.txt").write_bytes(b">a\n\xff\n\xff\n")
    with pytest.raises(ValueError, match="not a text in UTF-8"):
        load_string_pairs("balibase3", tmp_path)


@pytest.mark.parametrize(
    ("name", "pairs", "matches", "core"),
    [
        ("bdpa", 3599, 13002, 13002),
        ("balibase3", 510, 78501, 44364),
        ("homstrad_struct", 664, 87126, 79305),
    ],
)
def test_real_counts(name, pairs, matches, core, data_dir):
    found = load_string_pairs(name, data_dir)
    assert len(found.pairs) == len(found.groups) == pairs
    assert sum(map(len, found.alignments)) == matches
    assert sum(map(len, found.core)) == core


def test_words_made_here():
    assert make_string_pairs(5) == make_string_pairs(5) != make_string_pairs(5, random_state=1)
    for (a, b), links in zip(*make_string_pairs(30), strict=True):
        assert all(0 <= i < len(a) and 0 <= j < len(b) for i, j in links)
