"""RNA and disulfide bonds of public databases."""

import pytest

from maxmargin.datasets import load_disulfides, load_rna


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "own.dbn"
    path.write_text(">5s_x\nGGGAAACCC\n(((...)))\n>tRNA_y\nGGG\n")
    data = load_rna(path=path)
    assert data == (["GGGAAACCC"], ["(((...)))"], ["5s_x"], ["5s"])
    with pytest.raises(ValueError, match="expected one of"):
        load_rna("tmRNA")


def test_disulfide_bonds(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(">a\t47.0\t2\nACACCC\n2-4 5-6\n")
    data = load_disulfides(path=path)
    assert data.names == ["a"]
    assert data.bonds[0].tolist() == [[1, 3], [4, 5]]
    for text, words in [
        (">a\nACAC\n2-3\n", "not of two cysteines"),
        (">a\nACAC\n2-9\n", "not pairs of places"),
        (">a\nACAC\n2:4\n", "expected '>'"),
        (">a\nACAC\n", "three lines a protein"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            load_disulfides(path=path)


def test_disulfide_bonds_are_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"no disulfide_sprot/train.txt.gz found: give .*path"
    ):
        load_disulfides()
