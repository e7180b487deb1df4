"""Text chunking (CoNLL-2000 shared task)."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, find_file, has_file, read_file
from maxmargin.formats.columns import ColumnFormat, read_columns

TRAIN_SHA256 = "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"
TEST_COUNTS = (2012, 47377)  # sentences, tokens, as published

DESCR = """\
Text chunking of Wall Street Journal text: tokens (word, part of speech), chunk tags B-X, I-X, O.

train: sections 15-18, 8,936 sentences, 211,727 tokens, 106,978 chunks, 22 tags.
test: section 20, 2,012 sentences, 47,377 tokens, 23,852 chunks; its tag I-LST is not in train.

Source: https://www.clips.uantwerpen.be/conll2000/chunking/ . E. F. Tjong Kim Sang, S. Buchholz,
Introduction to the CoNLL-2000 shared task: chunking, CoNLL 2000. No licence is stated; the text
is derived from LDC's Wall Street Journal corpus.
"""

Sentences = list[list[tuple[str, str]]]


def load_conll2000(subset: str = "train", path: str | os.PathLike | None = None) -> Bunch:
    """Load the sentences of one subset of CoNLL-2000 and their chunk tags.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        Subset to load.
    path : str, path or None, default=None
        The text file (plain or gzip), its folder, or the folder that holds ``conll2000/``. None
        means the folder in MAXMARGIN_DATA, then the cache, then the official address. Only a
        download is compared with the known content.

    Returns
    -------
    Bunch
        With `sentences`, list of lists of (word, part of speech); `tags`, list of lists of str;
        `DESCR`.
    """
    if subset not in SOURCES:
        raise ValueError(f"subset is {subset!r}, expected 'train' or 'test'")
    file = find_file(SOURCES[subset], path)
    sentences, tags = _parse(read_file(file), str(file))
    return Bunch(sentences=sentences, tags=tags, DESCR=DESCR)


def _parse(raw: bytes, name: str) -> tuple[Sentences, list[list[str]]]:
    file = io.BytesIO(raw)
    file.name = name  # for errors
    sentences, tags = [], []
    keep = dict[str, str]().setdefault  # equal strings once in memory
    for sentence in read_columns(file, ColumnFormat(separator="space", comments="no")):
        if sentence.rows and len(sentence.fields[0]) != 3:
            raise ValueError(
                f"{name}, line {sentence.line_of(0)}: found {len(sentence.fields[0])} columns, "
                "expected 3 (word, part of speech, chunk tag)"
            )
        if sentence.rows:
            sentences.append([(keep(a, a), keep(b, b)) for a, b, _ in sentence.fields])
            tags.append([keep(tag, tag) for _, _, tag in sentence.fields])
    if not sentences:
        raise ValueError(f"{name}: the file is empty, expected lines of 3 columns")
    return sentences, tags


def _check_train(raw: bytes, name: str) -> None:
    found = hashlib.sha256(raw).hexdigest()
    if found != TRAIN_SHA256:
        raise ValueError(f"sha256 of the text is {found}, expected {TRAIN_SHA256}")


def _check_test(raw: bytes, name: str) -> None:
    sentences, _ = _parse(raw, name)
    found = len(sentences), sum(map(len, sentences))
    if found != TEST_COUNTS:
        raise ValueError(f"found (sentences, tokens) {found}, expected {TEST_COUNTS}")


SOURCES = {
    subset: Source(
        folder="conll2000",
        names=(f"{subset}.txt.gz", f"{subset}.txt"),
        url=f"https://www.clips.uantwerpen.be/conll2000/chunking/{subset}.txt.gz",
        check=check,
    )
    for subset, check in (("train", _check_train), ("test", _check_test))
}


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    return [f"conll2000 ({subset})" for subset, own in SOURCES.items() if has_file(own, folder)]
