"""CoNLL-U is read, and written as it was."""

import pytest

from maxmargin.formats.conllu import make_conllu, read_conllu, write_conllu

TEXT = """# sent_id = 1
# text = del gato
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tel\tel\tDET\t_\tGender=Masc\t3\tdet\t_\t_
3\tgato\tgato\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No
3.1\tx\tx\tX\t_\t_\t_\t_\t_\t_

1\tSi\tsi\tINTJ\t_\t_\t0\troot\t_\t_

"""


def read(text):
    return list(read_conllu(text.split("\n"), "file"))


def test_comments_and_words_written_as_one_are_kept():
    sentences = read(TEXT)
    assert [len(own.tokens) for own in sentences] == [3, 1]
    assert sentences[0].tokens[1]["feats"] == "Gender=Masc"
    assert sentences[0].tree == [(3, "case"), (3, "det"), (0, "root")]
    assert "".join(write_conllu(sentences)) == TEXT
    other = sentences[0].with_tree([(0, "root"), (1, "a"), (1, "b")])
    text = "".join(write_conllu([other]))
    assert "1-2\tdel" in text
    assert "3.1\tx" in text
    assert "SpaceAfter=No" in text
    assert read(text)[0].tree == [(0, "root"), (1, "a"), (1, "b")]


def test_a_last_line_without_its_end_a_mark_and_other_line_ends_are_read():
    assert len(read("\ufeff" + TEXT.rstrip())) == 2
    assert read(TEXT.replace("\n", "\r\n"))[0].tree == read(TEXT)[0].tree
    assert read("\n\n") == []


def test_heads_may_be_missing():
    (own,) = read("1\ta\t_\t_\t_\t_\t_\t_\t_\t_")
    assert own.tree == [(-1, "_")]


def test_sentences_are_made_of_tokens_and_trees():
    own = make_conllu([{"form": "a", "upos": "X"}, {"form": "b"}], [(2, "x"), (0, "root")])
    assert read("".join(write_conllu([own])))[0].tree == [(2, "x"), (0, "root")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 a", "file, line 1: found 1 columns, expected 10"),
        ("2\ta\t_\t_\t_\t_\t0\tx\t_\t_", "word number '2', expected 1"),
        ("x\ta\t_\t_\t_\t_\t0\tx\t_\t_", "word number 'x', expected 1"),
        ("1\t\t_\t_\t_\t_\t0\tx\t_\t_", "has no form"),
        ("1\ta\t_\t_\t_\t_\tone\tx\t_\t_", "head 'one' is not an integer"),
        ("1\ta\t_\t_\t_\t_\t-1\tx\t_\t_", "head '-1' is not an integer"),
        ("1\ta\t_\t_\t_\t_\t" + "9" * 30 + "\tx\t_\t_", "is not an integer"),
    ],
)
def test_broken_lines_are_named(line, words):
    with pytest.raises(ValueError, match=words):
        read(line)
