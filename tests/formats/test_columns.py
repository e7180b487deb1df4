"""Files of columns: what is read, what is kept as it is, and errors named by file and line."""

import gzip
import io
import os
import threading

import pytest
from hypothesis import given, strategies as st

from maxmargin.formats import columns
from maxmargin.formats.columns import ColumnFormat, column_at, read_columns, sentence_batches

CONLL_U = (
    "# sent_id = 1\n# text = vámonos al mar\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n"
    "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_\n\n"
)


def read(text, **options):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(read_columns(io.BytesIO(raw), ColumnFormat(**options)))


def words(sentences):
    return [[" ".join(token) for token in sentence.fields] for sentence in sentences]


def test_sentences_end_at_blank_lines_and_at_the_end_of_the_file():
    found = read("a DT\nb NN\n\n\n \t\nc VB")
    assert words(found) == [["a DT", "b NN"], ["c VB"]]
    assert [sentence.lines for sentence in found] == [
        [b"a DT", b"b NN", b""],
        [b"", b" \t", b"c VB"],
    ]
    assert [s.line_of(t) for s in found for t in range(len(s.rows))] == [1, 2, 6]


def test_fields_of_files_with_tabs_may_hold_spaces_and_be_empty():
    assert read("New York\tB\nx\t\n")[0].fields == [("New York", "B"), ("x", "")]
    assert read("New York\tB\n", separator="space")[0].fields == [("New", "York", "B")]
    assert read("a\u00a0b\u2028c d\x85\n")[0].fields == [("a\u00a0b\u2028c", "d\x85")]


@pytest.mark.parametrize("blank", ["\t", "\t\t", " ", "\x0b"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_white_space_alone_ends_a_sentence_of_tabs_too(blank, end):
    text = f"a\tA\n{blank}\nb\tB\n\n{blank}\nc\tC\n\n".replace("\n", end)
    assert words(read(text)) == [["a A"], ["b B"], ["c C"]]
    assert read("a\tA\n\n\tB\n\n")[1].fields == [("", "B")]


def test_nulls_right_to_left_and_emoji_pass_through():
    hebrew, arabic, family = "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d", "👩\u200d👧"
    text = f"\x00 \x01\n{hebrew} {arabic}\n{family} \u202egnp\n"
    assert read(text)[0].fields == [("\x00", "\x01"), (hebrew, arabic), (family, "\u202egnp")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_crlf_bom_and_gzip(pack):
    raw = pack(b"\xef\xbb\xbfa\tDT\r\nb\tNN\r\n\r\nc\tVB\r\n")
    found = read(raw)
    assert words(found) == [["a DT", "b NN"], ["c VB"]]
    assert found[0].lines == [b"a\tDT\r", b"b\tNN\r", b"\r"]


def test_conll_u_comments_and_nodes_that_are_no_tokens_are_kept_as_lines():
    (sentence,) = read(CONLL_U)
    assert [token[1] for token in sentence.fields] == ["vamos", "nos", "a"]
    assert list(sentence.rows) == [3, 4, 7]
    assert b"\n".join([*sentence.lines, b""]) == CONLL_U.encode()


def test_docstart_ends_a_sentence_and_is_no_token():
    found = read("-DOCSTART- -X- O\n\na DT B\n-DOCSTART- -X- O\nb NN I\n")
    assert words(found) == [["a DT B"], ["b NN I"]]
    assert found[1].lines[0] == b"-DOCSTART- -X- O"


def test_a_hash_is_a_word_where_it_has_the_columns_of_one():
    text = "# text = a b\n# # B\na DT O\n\n# # B\nb NN O\n\n# c\nc NN O\n"
    assert words(read(text)) == [["# # B", "a DT O"], ["# # B", "b NN O"], ["c NN O"]]
    assert words(read(text, comments="yes")) == [["a DT O"], ["b NN O"], ["c NN O"]]
    with pytest.raises(ValueError, match="line 2: found 3 columns in 'a b c', expected 2"):
        read("# c\na b c\n", comments="no")


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments\n"])
def test_files_without_tokens_have_no_sentences_with_rows(text):
    found = read(text)
    assert [line for sentence in found for line in sentence.lines] == text.encode().split(b"\n")[
        :-1
    ]


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("a b\nc\n", {}, r"the input, line 2: found 1 column in 'c', expected 2 as in the first"),
        ("a\tb\n\nc d\n", {}, r"line 3: found 1 column separated by tabs in 'c d', expected 2"),
        (b"a b\n\n\xff b\n", {}, r"line 3: found bytes .* not utf-8 text; .* --encoding latin-1"),
        (gzip.compress(b"a b\n", mtime=0)[:-9], {}, r"damaged gzip file"),
        ("a b\n", {"encoding": "utf-16"}, r"encoding 'utf-16' cannot be read by lines"),
        ("a b\n", {"encoding": "no such"}, r"encoding 'no such'"),
        ("a b\n", {"separator": ","}, r"separator is ',', use auto, tab, space"),
        ("x" * (1 << 21), {}, r"line 1: more than 1048576 bytes"),
        ("a b\n" + "x" * (1 << 21) + "\n", {}, r"line 2: more than 1048576 bytes"),
    ],
)
def test_errors_are_named(text, options, message):
    with pytest.raises(ValueError, match=message):
        read(text, **options)


def test_a_sentence_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(columns, "MAX_TOKENS", 100)
    with pytest.raises(ValueError, match="line 101: 100 tokens without a blank line"):
        read("a b\n" * 1000)


def test_sentences_before_a_error_are_given_first():
    batches = sentence_batches(io.BytesIO(b"a b\n\nc d\n\nwrong\n"))
    assert words(next(batches)) == [["a b"], ["c d"]]
    with pytest.raises(ValueError, match="line 5"):
        next(batches)


def test_a_pipe_gives_each_sentence_when_its_blank_line_is_there():
    ends = os.pipe()
    source, hand = os.fdopen(ends[0], "rb"), os.fdopen(ends[1], "wb", buffering=0)
    with source, hand:
        batches = sentence_batches(source)
        for word in (b"a", b"b", b"c"):
            hand.write(word + b" X\n\n")
            assert words(next(batches)) == [[word.decode() + " X"]]
        closer = threading.Thread(target=hand.close)
        closer.start()
        assert next(batches, None) is None
        closer.join()


@pytest.mark.parametrize(
    "name, width, place",
    [("1", 3, 0), ("-1", 3, 2), ("tag", 3, 2), ("pos", 3, 1), ("word", 10, 1), ("UPOS", 10, 3)],
)
def test_columns_go_by_number_from_one_or_by_name(name, width, place):
    assert column_at(name, width) == place


@pytest.mark.parametrize("name", ["0", "4", "-4", "upos", "", "1.5", "9" * 5000])
def test_columns_that_are_not_there(name):
    with pytest.raises(ValueError, match=r"3 columns; give"):
        column_at(name, 3)


field = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\n\r\x0b\x0c"), min_size=1, max_size=5
).filter(lambda text: text[0] not in "#-\ufeff")
corpus = st.lists(st.lists(st.tuples(field, field), min_size=1, max_size=4), min_size=1, max_size=4)


@given(corpus=corpus, tabs=st.booleans(), crlf=st.booleans(), piece=st.integers(1, 50))
def test_what_is_written_is_read_back(corpus, tabs, crlf, piece):
    """Whichever way it is read: whole sentences, line by line, or in pieces of some bytes."""
    mark, end = "\t" if tabs else " ", "\r\n" if crlf else "\n"
    raw = "".join(
        "".join(mark.join(token) + end for token in sentence) + end for sentence in corpus
    ).encode()

    class Slow(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(min(size, piece))

    for source in (io.BytesIO(raw), Slow(raw)):
        found = list(read_columns(source))
        assert [sentence.fields for sentence in found] == corpus
        assert b"\n".join([line for s in found for line in s.lines] + [b""]) == raw
