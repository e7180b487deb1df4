"""Sentences as dependency trees: the English Web Treebank and a sample of the Penn Treebank."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, find_file, has_file, read_file

SHA256 = {
    "dev": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}
PENN_COUNTS = (3914, 94084)  # sentences, tokens

DESCR = """\
Sentences with a dependency tree each: every word but one, the root, hangs on another one.

ewt: Universal Dependencies English Web Treebank, May 2025. dev: 2,001 sentences, 25,147 words;
test: 2,077 sentences, 25,094 words. Source:
https://github.com/UniversalDependencies/UD_English-EWT . N. Silveira and others, A gold standard
dependency corpus for English, LREC 2014. CC BY-SA 4.0.

penn: sections 0001-0199 of the Wall Street Journal, the sample that NLTK distributes. 3,914
sentences, 94,084 words, without relations. (C) Linguistic Data Consortium 1995; for fair,
non-commercial use only. Source: https://github.com/nltk/nltk_data .
"""


class Token(NamedTuple):
    """A word, its dictionary form, its part of speech and its relation to its head.

    The Penn sample has neither forms nor relations: they are empty.
    """

    word: str
    lemma: str
    tag: str
    relation: str


class _Row(NamedTuple):
    line: int
    head: int
    token: Token


def load_dependencies(
    subset: str = "dev", source: str = "ewt", path: str | os.PathLike | None = None
) -> Bunch:
    """Load sentences and their dependency trees.

    Parameters
    ----------
    subset : {"dev", "test"}, default="dev"
        Subset of "ewt"; not used for "penn".
    source : {"ewt", "penn"}, default="ewt"
        "ewt" has universal parts of speech and relations, "penn" the Penn parts of speech.
    path : str, path or None, default=None
        The file (plain or gzip; CoNLL-U for "ewt"), its folder, or the folder that holds
        ``ud_english_ewt/`` or ``nltk_treebank/``. None means the folder in MAXMARGIN_DATA, then the
        cache, then the official address. Only a download is compared with the known content.

    Returns
    -------
    Bunch
        With `sentences`, list of lists of `Token`; `heads`, list of integer arrays, the index of
        each word's head and -1 for the root, as `Graph.from_parents` takes them; `DESCR`.
    """
    if source not in ("ewt", "penn"):
        raise ValueError(f"source is {source!r}, expected 'ewt' or 'penn'")
    if subset not in SHA256:
        raise ValueError(f"subset is {subset!r}, expected 'dev' or 'test'")
    file = find_file(PENN if source == "penn" else EWT[subset], path)
    raw = read_file(file)
    sentences, heads = (_penn if source == "penn" else _conllu)(raw, str(file))
    return Bunch(sentences=sentences, heads=heads, DESCR=DESCR)


# -- formats ---------------------------------------------------------------------------------------
def _conllu(raw: bytes, name: str) -> tuple[list, list]:
    """CoNLL-U: comments, words written as one (3-4) and words left out (8.1) are passed over."""

    def row(line: int, fields: list[str], place: int) -> _Row | None:
        if len(fields) != 10:
            raise ValueError(f"{name}, line {line}: found {len(fields)} columns, expected 10")
        number, word, lemma, tag, _, _, head, relation, _, _ = fields
        if "-" in number or "." in number:
            return None
        if number != str(place):
            raise ValueError(f"{name}, line {line}: word number {number!r}, expected {place}")
        return _Row(line, _whole(head, name, line), Token(word, lemma, tag, relation))

    return _collect(raw, name, row, comments=True)


def _penn(raw: bytes, name: str) -> tuple[list, list]:
    """Lines word, part of speech, head; or an archive of such files, in order of their names."""

    def row(line: int, fields: list[str], place: int) -> _Row:
        if len(fields) != 3:
            raise ValueError(
                f"{name}, line {line}: found {len(fields)} columns, expected 3 (word, part of "
                "speech, head)"
            )
        return _Row(line, _whole(fields[2], name, line), Token(fields[0], "", fields[1], ""))

    if raw[:4] == b"PK\x03\x04":
        raw = _unzipped(raw, name)
    return _collect(raw, name, row, comments=False)


def _unzipped(raw: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts = sorted(part for part in archive.namelist() if part.endswith(".dp"))
            return b"\n\n".join(archive.read(part) for part in parts)
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{name}: damaged zip file ({error}); fetch it again") from error


def _collect(
    raw: bytes, name: str, row: Callable[[int, list[str], int], _Row | None], comments: bool
) -> tuple[list, list]:
    sentences, heads = [], []
    for lines in _blocks(raw, name, comments):
        rows: list[_Row] = []
        for line, text in lines:
            found = row(line, text.split("\t"), len(rows) + 1)
            if found is not None:
                rows.append(found)
        if rows:
            sentences.append([found.token for found in rows])
            heads.append(_tree(rows, name))
    if not sentences:
        raise ValueError(f"{name}: the file has no sentences")
    return sentences, heads


def _blocks(raw: bytes, name: str, comments: bool) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each sentence; an empty line ends it."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            text = line.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            raise ValueError(f"{name}, line {number}: found bytes that are not utf-8") from None
        if text.strip() and not (comments and text.startswith("#")):
            block.append((number, text))
        elif not text.strip() and block:
            yield block
            block = []
    if block:
        yield block


def _whole(head: str, name: str, line: int) -> int:
    if not (head.isascii() and head.isdigit()):
        raise ValueError(f"{name}, line {line}: head {head!r} is not an integer")
    return int(head)


# -- trees -----------------------------------------------------------------------------------------
def _tree(rows: list[_Row], name: str) -> np.ndarray:
    """Heads from 0, -1 for the one root; anything but a tree is refused."""
    heads = np.array([row.head for row in rows]) - 1
    for place, row in enumerate(rows):
        if row.head > len(rows):
            raise ValueError(
                f"{name}, line {row.line}: head {row.head}, but the sentence has {len(rows)} words"
            )
        if heads[place] == place:
            raise ValueError(f"{name}, line {row.line}: {row.token.word!r} is its own head")
    known = np.zeros(len(rows), dtype=bool)  # words from which there is a way to the root
    for start in range(len(rows)):
        way = [start]
        while heads[way[-1]] >= 0 and not known[way[-1]]:
            way.append(int(heads[way[-1]]))
            if len(way) > len(rows):
                cycle = way[way.index(way[-1]) :]
                words = " -> ".join(rows[place].token.word for place in cycle[: _period(cycle) + 1])
                raise ValueError(f"{name}, line {rows[start].line}: a cycle of heads: {words}")
        known[way] = True
    roots = [row for row in rows if row.head == 0]
    for first, second in pairwise(roots):
        raise ValueError(
            f"{name}, line {second.line}: a second root {second.token.word!r}, besides "
            f"{first.token.word!r} in line {first.line}"
        )
    return heads


def _period(way: list[int]) -> int:
    """After how many steps a cycle is back where it began."""
    return way.index(way[0], 1)


# -- files -----------------------------------------------------------------------------------------
def _check_ewt(subset: str) -> Callable[[bytes, str], None]:
    def check(raw: bytes, name: str) -> None:
        found = hashlib.sha256(raw).hexdigest()
        if found != SHA256[subset]:
            raise ValueError(f"sha256 of the text is {found}, expected {SHA256[subset]}")

    return check


def _check_penn(raw: bytes, name: str) -> None:
    sentences, _ = _penn(raw, name)
    found = len(sentences), sum(map(len, sentences))
    if found != PENN_COUNTS:
        raise ValueError(f"found (sentences, tokens) {found}, expected {PENN_COUNTS}")


EWT = {
    subset: Source(
        folder="ud_english_ewt",
        names=(f"en_ewt-ud-{subset}.conllu", f"en_ewt-ud-{subset}.conllu.gz"),
        url="https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/15d613d8/"
        f"en_ewt-ud-{subset}.conllu",
        check=_check_ewt(subset),
    )
    for subset in SHA256
}
PENN = Source(
    folder="nltk_treebank",
    names=("dependency_treebank.zip", "dependency_treebank.dp.gz", "dependency_treebank.dp"),
    url="https://raw.githubusercontent.com/nltk/nltk_data/5db857e6/packages/corpora/"
    "dependency_treebank.zip",
    check=_check_penn,
)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    sources = {f"ewt {subset}": source for subset, source in EWT.items()} | {"penn": PENN}
    found = [name for name, source in sources.items() if has_file(source, folder)]
    return [f"dependencies ({', '.join(found)})"] if found else []
