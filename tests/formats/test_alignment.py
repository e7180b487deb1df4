"""Alignment files: what is written is read back exactly, and errors are named by file and line."""

import gzip
import io
import os
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, strategies as st

from maxmargin.formats.alignment import (
    check_links,
    read_naacl,
    read_pairs,
    read_pharaoh,
    read_sentence_numbers,
    read_sentences,
    write_naacl,
    write_pharaoh,
)
from maxmargin.metrics.links import as_links, compare_links

LINKS = [({(0, 0), (2, 1)}, {(0, 0), (2, 1), (1, 3)}), (set(), set()), (set(), {(4, 0)})]

link = st.tuples(st.integers(0, 40), st.integers(0, 40))
sentence = st.tuples(st.sets(link, max_size=6), st.sets(link, max_size=6)).map(
    lambda item: (item[0], item[0] | item[1])
)


def file_of(tmp_path, raw, name="file.wa"):
    path = tmp_path / name
    path.write_bytes(raw)
    return path


@given(links=st.lists(sentence, max_size=5))
def test_round_trips_are_exact(links, tmp_path_factory):
    path = tmp_path_factory.mktemp("links") / "file"
    write_naacl(path, links)
    assert read_naacl(path, len(links)) == links
    numbers = [7 + 3 * k for k in range(len(links))]
    write_naacl(path, links, numbers=numbers)
    assert read_naacl(path, numbers=numbers) == links
    for one_based in (False, True):
        for mark in "?p":
            write_pharaoh(path, links, one_based=one_based, mark=mark)
            assert read_pharaoh(path, one_based=one_based) == links


def test_what_is_written(tmp_path):
    path = tmp_path / "links"
    write_naacl(path, LINKS)
    assert path.read_bytes() == b"1 1 1 S\n1 2 4 P\n1 3 2 S\n3 5 1 P\n"
    write_pharaoh(path, LINKS)
    assert path.read_bytes() == b"0-0 1?3 2-1\n\n4?0\n"


def test_plain_links_are_sure(tmp_path):
    path = tmp_path / "links"
    plain = [[(0, 1), (2, 3)], np.array([[5, 5]]), set(), np.zeros((0, 2), dtype=int)]
    write_naacl(path, plain)
    expected = [{(0, 1), (2, 3)}, {(5, 5)}, set(), set()]
    assert read_naacl(path, 4) == [(links, links) for links in expected]


def test_lists_of_sure_and_possible_are_told_from_two_links():
    assert as_links([(0, 1), (2, 3)]) == ({(0, 1), (2, 3)}, {(0, 1), (2, 3)})
    assert as_links(([(0, 1)], [(2, 3)])) == ({(0, 1)}, {(0, 1), (2, 3)})
    assert as_links(([(0, 1), (1, 1)], [])) == ({(0, 1), (1, 1)}, {(0, 1), (1, 1)})


@pytest.mark.parametrize(
    "text",
    [
        "1 1 1 S\n1 3 2 S\n1 2 4 P\n3 5 1 P\n",
        "0003 5 1 P\n0001 3 2 S\n0001 1 1 S\n0001 2 4 P\n",  # any order, padded
        "1 1 1\n1 3 2 S 0.5\n1 2 4 p 1\n\n3 5 1 P\n",  # no type, confidences, an empty line
        "1 1 1 0.9\n1 3 2 s\r\n1\t2  4 P\n3 5 1 P\n3 5 1 P",
        "\ufeff1 1 1 P\n1 1 1 S\n1 3 2 S\n1 2 4 P\n3 5 1 P\n",  # sure wins over possible
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_naacl_variants(tmp_path, text, pack):
    path = file_of(tmp_path, pack(text.encode()))
    assert read_naacl(path) == LINKS
    assert read_naacl(path, 3) == LINKS
    assert read_naacl(path, 4) == [*LINKS, (set(), set())]
    assert read_naacl(io.BytesIO(pack(text.encode()))) == LINKS


def test_sentence_numbers_of_the_file(tmp_path):
    path = file_of(tmp_path, b"1003 5 1 P\n1001 1 1 S\n1001 3 2 S\n1001 2 4 P\n")
    assert read_naacl(path, numbers=[1001, 1002, 1003]) == LINKS
    assert read_naacl(path, numbers=range(1001, 1004)) == LINKS
    assert read_naacl(path, numbers=[1003, 1001]) == [LINKS[2], LINKS[0]]
    with pytest.raises(ValueError, match=r"line 2: found sentence 1001, which is not among the 2"):
        read_naacl(path, numbers=[1003, 1004])
    with pytest.raises(ValueError, match="the same sentence number twice"):
        read_naacl(path, numbers=[1003, 1003])


def test_sentences_far_beyond_the_lines_are_taken_when_their_number_is_given(tmp_path):
    found = read_naacl(file_of(tmp_path, b"5000 1 1 S\n"), 5000)
    assert len(found) == 5000
    assert found[-1] == ({(0, 0)}, {(0, 0)})
    assert all(own == (set(), set()) for own in found[:-1])
    assert len({id(own[0]) for own in found}) == 5000  # none shares its set with another
    path = file_of(tmp_path, b"20000000 1 1 S\n")
    assert read_naacl(path, numbers=[20_000_000]) == [({(0, 0)}, {(0, 0)})]
    assert len(read_naacl(file_of(tmp_path, b"1010 1 1 S\n"))) == 1010


def test_null_links_are_left_out_when_asked(tmp_path):
    path = file_of(tmp_path, b"1 0 3 S\n1 2 0 P\n1 1 1 S\n")
    assert read_naacl(path, skip_null=True) == [({(0, 0)}, {(0, 0)})]


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (b"1 1 1 S\n1 2\n", {}, r"line 2: found '1 2', expected `sentence i j`"),
        (b"1 1 1 S 0.5 x\n", {}, r"line 1: found '1 1 1 S 0.5 x', expected"),
        (b"1 a 1 S\n", {}, r"line 1: found '1 a 1 S', expected"),
        (b"1 1 1.5 S\n", {}, r"line 1: found '1 1 1.5 S', expected"),
        (b"1 1 1 S\n1 0 2 S\n", {}, r"line 2: found position 0, but this format counts from 1 .*"
                                    "skip_null=True"),
        (b"1 1 -2 S\n", {}, r"line 1: found position -2, but this format counts from 1"),
        (b"1 1 -2 S\n", {"skip_null": True}, r"line 1: found position -2"),
        (b"0 1 1 S\n", {}, r"line 1: found sentence 0, expected numbers from 1; .* numbers="),
        (b"4 1 1 S\n", {"n_sentences": 3}, r"found sentence 4, expected numbers from 1 to 3"),
        (b"1 1 1 S\n20000000 1 1 S\n2 1 1 S\n", {}, r"line 2: found sentence 20000000 in a file of "
                                                   r"only 3 lines; .* n_sentences=, or numbers="),
        (b"1011 1 1 S\n", {}, r"line 1: found sentence 1011 in a file of only 1 lines"),
        (b"1 1 1 X\n", {}, r"line 1: found type 'X', expected S \(sure\) or P \(possible\)"),
        (b"1 1 1 S high\n", {}, r"line 1: found 'high', expected one number, a confidence"),
        (b"1 1 1 S\n1 1 2 \xe9\n", {}, r"line 2: found bytes .* utf-8.*--encoding latin-1"),
        (gzip.compress(b"1 1 1 S\n" * 99, mtime=0)[:-9], {}, r"damaged gzip file"),
    ],
)  # fmt: skip
def test_bad_naacl_files(tmp_path, raw, options, message):
    path = file_of(tmp_path, raw)
    with pytest.raises(ValueError, match=message) as caught:
        read_naacl(path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (b"0-0 1-1\n0-0 1_1\n", {}, r"line 2: found '1_1', expected a link such as 0-2"),
        (b"0--1\n", {}, r"line 1: found '0--1'"),
        (b"-1-0\n", {}, r"line 1: found '-1-0'"),
        (b"1-1 0-1\n", {"one_based": True}, r"line 1: found '0-1', but one_based=True"),
        (b"0-0\n\xff\n", {}, r"line 2: found bytes that are not utf-8"),
    ],
)
def test_bad_pharaoh_files(tmp_path, raw, options, message):
    path = file_of(tmp_path, raw)
    with pytest.raises(ValueError, match=message) as caught:
        read_pharaoh(path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([(0, 1, 2)], r"sample 1: found \(0, 1, 2\), expected a link"),
        ([(0, 0.5)], r"sample 1: found \(0, 0.5\), expected a link"),
        ([(0, -1)], r"sample 1: found link \(0, -1\), but positions count from 0"),
        (["01"], r"sample 1: found '01', expected a link"),
    ],
)
@pytest.mark.parametrize("write", [write_naacl, write_pharaoh])
def test_bad_links_are_not_written(tmp_path, write, item, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "links", [set(), item])
    assert not (tmp_path / "links").exists()


def test_bad_options_of_writers(tmp_path):
    with pytest.raises(ValueError, match="numbers has 1 sentences, links has 3"):
        write_naacl(tmp_path / "links", LINKS, numbers=[5])
    with pytest.raises(ValueError, match='mark=\'-\' must be "\\?" or "p"'):
        write_pharaoh(tmp_path / "links", LINKS, mark="-")


def test_sentences_with_and_without_wrappers(tmp_path):
    plain = file_of(tmp_path, "the  house \n\nça\u00a0va <s> !\n".encode(), "plain")
    assert read_sentences(plain) == [["the", "house"], [], ["ça\u00a0va", "<s>", "!"]]
    assert read_sentence_numbers(plain) == [1, 2, 3]
    assert read_sentences(plain, n_sentences=1) == [["the", "house"]]
    wrapped = file_of(
        tmp_path,
        gzip.compress(b"<s snum=0017> the house </s>\r\n<s snum=18></s>\n<s snum=21>a </s> \n"),
        "wrapped",
    )
    assert read_sentences(wrapped) == [["the", "house"], [], ["a"]]
    assert read_sentence_numbers(wrapped) == [17, 18, 21]


@contextmanager
def pipe_of(pieces, buffering):
    """The end of a pipe into which a thread writes one piece after another."""
    source, sink = os.pipe()

    def write():
        with os.fdopen(sink, "wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)

    writer = threading.Thread(target=write)
    with os.fdopen(source, "rb", buffering=buffering) as file:
        writer.start()
        yield file
        writer.join()


@pytest.mark.parametrize("buffering", [0, -1])
@pytest.mark.parametrize("pack", [bytes, lambda raw: gzip.compress(raw, mtime=0)])
def test_pipes_are_read(pack, buffering):
    text = "".join(f"le chat numéro {k}\n" for k in range(20_000))  # more than a pipe holds
    raw = pack(text.encode())
    expected = [line.split() for line in text.splitlines()]
    for pieces in ([raw], [raw[:1], raw[1:2], raw[2:5], raw[5:]]):
        with pipe_of(pieces, buffering) as file:
            assert not file.seekable()
            assert read_sentences(file) == expected
            assert not file.closed
    for short in (b"", b"a", b"a\n", b"\xef\xbb\xbfa b\n\n"):
        with pipe_of([pack(short)], buffering) as file:
            assert read_sentences(file) == read_sentences(io.BytesIO(short))


def test_damaged_pipes_are_named():
    with (
        pipe_of([gzip.compress(b"a b\n" * 99, mtime=0)[:-9]], -1) as file,
        pytest.raises(ValueError, match="damaged gzip file"),
    ):
        read_sentences(file)


def test_pairs_and_encodings(tmp_path):
    source = file_of(tmp_path, b"a b\nc\n", "source")
    target = file_of(tmp_path, "é f\ng\n".encode("latin-1"), "target")
    assert read_pairs(source, target, encoding="latin-1") == [(["a", "b"], ["é", "f"]),
                                                              (["c"], ["g"])]  # fmt: skip
    with pytest.raises(ValueError, match=r"target, line 1: found bytes that are not utf-8"):
        read_pairs(source, target)


def test_pairs_of_different_length(tmp_path):
    source, target = file_of(tmp_path, b"a\nb\n", "one"), file_of(tmp_path, b"a\nb\nc\n", "two")
    with pytest.raises(ValueError, match=r"one has 2 lines, .*two has 3"):
        read_pairs(source, target)
    assert read_pairs(source, target, n_pairs=2) == [(["a"], ["a"]), (["b"], ["b"])]


def test_links_out_of_range():
    pairs = [(["a"], ["b", "c"]), (["a", "b"], ["c"])]
    check_links(pairs, [({(0, 1)}, {(0, 0), (0, 1)}), [(1, 0)]])
    with pytest.raises(ValueError, match=r"sample 1: link \(1, 1\) is out of range: the source"):
        check_links(pairs, [set(), (set(), {(1, 1)})])
    with pytest.raises(ValueError, match=r"there are 2 sentence pairs but links for 1"):
        check_links(pairs, [set()])


def test_compared_links():
    compared = compare_links([(0, 0), (1, 1), (2, 2)], {(0, 0), (3, 3)}, {(1, 1), (4, 4)})
    assert compared.right == {(0, 0)}
    assert compared.possible == {(1, 1)}
    assert compared.wrong == {(2, 2)}
    assert compared.missed == {(3, 3)}
    assert compared.left == {(4, 4)}
    assert compare_links(np.array([[1, 2]])).right == {(1, 2)}
    assert compare_links([(1, 2)], set()).wrong == {(1, 2)}
