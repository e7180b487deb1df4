"""RNA of public databases."""

import pytest

from maxmargin.datasets import load_rna


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "own.dbn"
    path.write_text(">5s_x\nGGGAAACCC\n(((...)))\n>tRNA_y\nGGG\n")
    data = load_rna(path=path)
    assert data == (["GGGAAACCC"], ["(((...)))"], ["5s_x"], ["5s"])
    with pytest.raises(ValueError, match="expected one of"):
        load_rna("tmRNA")
