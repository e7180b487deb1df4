"""load_dependencies: small files of both formats, errors named by line, the real counts."""

import gzip
import zipfile

import numpy as np
import pytest

from maxmargin.datasets import dependencies, load_dependencies
from maxmargin.datasets.dependencies import Token


def line(number, word, tag, head, relation):
    return f"{number}\t{word}\t{word.lower()}\t{tag}\tX\t_\t{head}\t{relation}\t_\t_\n"


DOGS = line(1, "Dogs", "NOUN", 2, "nsubj") + line(2, "bark", "VERB", 0, "root")
TEXT = (
    "# sent_id = a\n" + DOGS + "\n# text = It's so\n"
    "1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + line(1, "It", "PRON", 3, "nsubj")
    + line(2, "'s", "AUX", 3, "cop")
    + "2.1\tleft\tleft\tVERB\t_\t_\t_\t_\t0:root\t_\n"
    + line(3, "so", "ADV", 0, "root")
)
PENN = "Stop\tVB\t0\n\nHe\tPRP\t2\nruns\tVBZ\t0\nfast\tRB\t2\n\n"


@pytest.mark.parametrize("text", [TEXT, TEXT + "\n\n\n", TEXT.replace("\n", "\r\n"), "\n" + TEXT])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_reads_conllu(tmp_path, text, suffix):
    raw = text.encode()
    file = tmp_path / f"en_ewt-ud-test.conllu{suffix}"
    file.write_bytes(gzip.compress(raw) if suffix else raw)
    bunch = load_dependencies("test", path=tmp_path)
    assert [[token.word for token in s] for s in bunch.sentences] == [
        ["Dogs", "bark"],
        ["It", "'s", "so"],
    ]
    assert bunch.sentences[0][0] == Token("Dogs", "dogs", "NOUN", "nsubj")
    assert [heads.tolist() for heads in bunch.heads] == [[1, -1], [2, 2, -1]]
    assert all(heads.dtype.kind == "i" for heads in bunch.heads)


@pytest.mark.parametrize("packed", [False, True])
def test_reads_the_penn_sample(tmp_path, packed):
    file = tmp_path / "dependency_treebank.dp"
    if packed:
        file = tmp_path / "dependency_treebank.zip"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("dependency_treebank/wsj_0002.dp", PENN[PENN.index("He") :])
            archive.writestr("dependency_treebank/wsj_0001.dp", "Stop\tVB\t0\n")
            archive.writestr("dependency_treebank/README", "not a tree")
    else:
        file.write_text(PENN)
    bunch = load_dependencies(source="penn", path=tmp_path)
    assert bunch.sentences[0] == [Token("Stop", "", "VB", "")]
    assert [heads.tolist() for heads in bunch.heads] == [[-1], [1, -1, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no sentences"),
        ("# only a comment\n", "the file has no sentences"),
        (DOGS + "3\tloud\n", "line 3: found 2 columns, expected 10"),
        (DOGS + line(4, "loud", "ADV", 2, "advmod"), "line 3: word number '4', expected 3"),
        (DOGS + line(3, "loud", "ADV", "_", "advmod"), "line 3: head '_' is not an integer"),
        (DOGS + line(3, "loud", "ADV", -1, "advmod"), "line 3: head '-1' is not an integer"),
        (DOGS + line(3, "loud", "ADV", 4, "advmod"), "line 3: head 4, but the sentence has 3"),
        (DOGS + line(3, "loud", "ADV", 3, "advmod"), "line 3: 'loud' is its own head"),
        (DOGS + line(3, "loud", "ADV", 0, "root"), "line 3: a second root 'loud', besides 'bark'"),
        (
            DOGS
            + line(3, "a", "X", 4, "x")
            + line(4, "b", "X", 5, "x")
            + line(5, "c", "X", 3, "x"),
            "line 3: a cycle of heads: (a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)",
        ),
    ],
)
def test_errors_are_named(tmp_path, text, message):
    (tmp_path / "en_ewt-ud-dev.conllu").write_text(text)
    with pytest.raises(ValueError, match=r"en_ewt-ud-dev\.conllu.*" + message):
        load_dependencies(path=tmp_path)


def test_errors_of_the_penn_format(tmp_path):
    file = tmp_path / "dependency_treebank.dp"
    file.write_bytes(b"He\tPRP\n")
    with pytest.raises(ValueError, match="line 1: found 2 columns, expected 3"):
        load_dependencies(source="penn", path=file)
    file.write_bytes(b"He\tPRP\t2\nr\xff\tVB\t0\n")
    with pytest.raises(ValueError, match="line 2: found bytes that are not utf-8"):
        load_dependencies(source="penn", path=file)
    file.write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(ValueError, match="damaged zip file"):
        load_dependencies(source="penn", path=file)


def test_unknown_choices(tmp_path):
    with pytest.raises(ValueError, match="source is 'ud'"):
        load_dependencies(source="ud")
    with pytest.raises(ValueError, match="subset is 'train', expected 'dev' or 'test'"):
        load_dependencies("train")
    with pytest.raises(FileNotFoundError, match="no en_ewt-ud-dev.conllu or"):
        load_dependencies(path=tmp_path)


@pytest.mark.parametrize(
    ("subset", "source", "count", "words"),
    [("dev", "ewt", 2001, 25147), ("test", "ewt", 2077, 25094), ("dev", "penn", 3914, 94084)],
)
def test_real_files(data_dir, subset, source, count, words):
    bunch = load_dependencies(subset, source, data_dir)
    assert len(bunch.sentences) == len(bunch.heads) == count
    assert sum(map(len, bunch.sentences)) == words
    assert all((heads < 0).sum() == 1 for heads in bunch.heads)
    assert [len(s) for s in bunch.sentences] == [len(h) for h in bunch.heads]
    if source == "ewt":
        raw = gzip.decompress(
            (data_dir / "ud_english_ewt" / f"en_ewt-ud-{subset}.conllu.gz").read_bytes()
        )
        dependencies.EWT[subset].check(raw, "the file")
        first = zip(bunch.sentences, bunch.heads, strict=True)
        assert all([t.relation == "root" for t in s] == list(np.asarray(h) < 0) for s, h in first)
    else:
        dependencies._check_penn(
            gzip.decompress(
                (data_dir / "nltk_treebank" / "dependency_treebank.dp.gz").read_bytes()
            ),
            "the file",
        )
