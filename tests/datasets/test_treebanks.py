"""Treebanks: those of files, and the one made here."""

import gzip

import pytest

from maxmargin.datasets import load_treebank, make_treebank
from maxmargin.structures.dependencies.heads import why_no_tree

TEXT = "# x\n1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


def test_files_are_found_by_name(tmp_path):
    folder = tmp_path / "ud_latin_perseus"
    folder.mkdir()
    with gzip.open(folder / "la_perseus-ud-train.conllu.gz", "wt") as file:
        file.write(TEXT)
    sentences, trees = load_treebank("ud_latin_perseus", "train", tmp_path)
    assert [token["form"] for token in sentences[0]] == ["a", "cat"]
    assert trees == [[(2, "det"), (0, "root")]]


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="name is 'x', expected one of 'ud_english_lines'"):
        load_treebank("x")
    with pytest.raises(ValueError, match="subset is 'x', expected 'train'"):
        load_treebank("ud_latin_perseus", "x")
    (tmp_path / "en_lines-ud-dev.conllu").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not a text in UTF-8"):
        load_treebank("ud_english_lines", "dev", tmp_path)


def test_sentences_made_here_are_trees_and_repeat():
    sentences, trees = make_treebank(50, random_state=3)
    assert make_treebank(50, random_state=3) == (sentences, trees)
    for sentence, tree in zip(sentences, trees, strict=True):
        assert len(sentence) == len(tree)
        assert why_no_tree([head for head, _ in tree], True, True) == ""


def test_real_treebanks_have_the_published_sizes(data_dir):
    for name, subset, sizes in (
        ("ud_english_lines", "dev", (1118, 21637)),
        ("ud_hungarian_szeged", "dev", (441, 11418)),
        ("nltk_treebank", "train", (3000, None)),
    ):
        sentences, _ = load_treebank(name, subset, data_dir)
        words = sum(map(len, sentences))
        assert len(sentences) == sizes[0]
        assert sizes[1] in (None, words)
