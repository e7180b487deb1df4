"""Tokens of sentences as codes, from which compiled code makes features of arcs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from maxmargin._numba.parsing.arc_features import CONJUNCTION, INDEX, PUNCTUATION, VERB
from maxmargin.exceptions import SampleError

#: columns of CoNLL-U that are read
COLUMNS = ("form", "upos", "xpos", "feats", "lemma")
#: values of the column feats that have a code of their own
_MORPHOLOGY = ("Case", "Number", "Gender", "Person", "VerbForm")
#: different values of a column from which on it is taken for lemmas
_MANY = 200
#: parts of speech that are told apart where several may stand between head and dependent
MOST_TAGS = 61
_DIGITS = re.compile(r"\d")

Token = Any


class Coded(NamedTuple):
    """Sentences as codes: rows ptr[i] to ptr[i + 1] of codes (n_rows, WIDTH) are sentence i."""

    codes: np.ndarray
    ptr: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Numbers of words."""
        return np.diff(self.ptr) - 3

    def part(self, first: int, last: int) -> Coded:
        """Some of the sentences."""
        ptr = self.ptr[first : last + 1]
        return Coded(self.codes[ptr[0] : ptr[-1]], ptr - ptr[0])


def guess_columns(sentences: Sequence[Sequence[Token]]) -> list[str]:
    """What the places of tuples hold: form and part of speech, then what their values look like."""
    tuples = [token for sentence in sentences for token in sentence if isinstance(token, tuple)]
    width = min(map(len, tuples), default=0)
    columns = ["form", "upos"][:width]
    for place in range(2, width):
        values = {token[place] for token in tuples}
        if any("=" in value for value in values if isinstance(value, str)):
            name = "feats"
        else:
            name = "lemma" if len(values) > _MANY else "xpos"
        columns.append(name if name not in columns else "")
    return columns


def check_sentences(sentences: Any) -> list[Sequence[Token]]:
    """Sentences as a list of lists of tokens."""
    if isinstance(sentences, (str, Mapping)) or not isinstance(sentences, Iterable):
        raise TypeError(
            f"sentences is a {type(sentences).__name__}, expected a list of lists of tokens."
        )
    found = list(sentences)
    for i, sentence in enumerate(found):
        if isinstance(sentence, (str, Mapping)) or not hasattr(sentence, "__len__"):
            raise SampleError.of(
                i, f": a {type(sentence).__name__}, expected a list of tokens.", noun="sentence"
            )
    tuples = [own for own in found if isinstance(own, tuple) and own]
    if len(tuples) > 1 and all(isinstance(part, str) for own in tuples for part in own):
        raise TypeError(
            f"sentences holds tuples of strings such as {tuples[0]!r:.60}, which look like tokens;"
            " put a single sentence in a list, and give sentences as lists."
        )
    return found


class TokenCodes:
    """Makes codes of tokens. tags : parts of speech that have a number. columns : of tuples."""

    def __init__(self, tags: Sequence[str], columns: Sequence[str]):
        self.numbers = {tag: k for k, tag in enumerate(tags, start=1)}
        self.columns = list(columns) or ["form", "upos"]  # where none were learned
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._rows = [self._row((f"<{name}>", *[f"<{name}>"] * 2, "", ""))
                      for name in ("start", "root", "end")]  # fmt: skip
        self._rows[1][INDEX] = 0

    def encode(self, sentences: Sequence[Sequence[Token]]) -> Coded:
        """The codes of all tokens."""
        rows: list[int] = []
        lengths = np.empty(len(sentences), dtype=np.int64)
        for i, sentence in enumerate(sentences):
            rows += (0, 1)
            rows += [self._number(i, t, token) for t, token in enumerate(sentence)]
            rows.append(2)
            lengths[i] = len(sentence) + 3
        ptr = np.concatenate([[0], np.cumsum(lengths)])
        return Coded(np.array(self._rows, dtype=np.int64)[np.array(rows, dtype=np.int64)], ptr)

    def texts(self, sentences: Sequence[Sequence[Token]]) -> list[list[tuple[str, ...]]]:
        """The texts of all tokens, in the order of COLUMNS."""
        return [
            [_check_texts(i, t, token, self._raw(i, t, token)) for t, token in enumerate(sentence)]
            for i, sentence in enumerate(sentences)
        ]

    def _number(self, i: int, t: int, token: Token) -> int:
        """The number of a token's row; checked once for each that differs."""
        raw = self._raw(i, t, token)
        try:
            found = self._numbers.get(raw)
        except TypeError:  # something that has no hash is not a str
            found = None
        if found is None:
            self._rows.append(self._row(_check_texts(i, t, token, raw)))
            found = self._numbers[raw] = len(self._rows) - 1
        return found

    def _raw(self, i: int, t: int, token: Token) -> tuple[Any, ...]:
        """What a token has in the order of COLUMNS."""
        get: Any
        if isinstance(token, tuple | list):
            get = dict(zip(self.columns, token, strict=False)).get
        elif isinstance(token, str):
            get = {"form": token}.get
        elif isinstance(token, Mapping):
            get = token.get
        else:
            raise TypeError(
                f"sentence {i}, token {t}: a {type(token).__name__}, expected a tuple (form, upos,"
                " ...) or a dict with names of columns of CoNLL-U."
            )
        return get("form"), get("upos"), get("xpos"), get("feats"), get("lemma")

    def _row(self, values: tuple[str, ...]) -> list[int]:
        form, tag, fine, feats, lemma = values
        tag = tag or fine
        lower = _DIGITS.sub("0", form.lower())
        pairs = dict(pair.split("=", 1) for pair in feats.split("|") if "=" in pair)
        morphology = [encode_text(pairs[name]) if name in pairs else 0 for name in _MORPHOLOGY]
        texts = _DIGITS.sub("0", form), lemma or lower, tag, fine or tag, feats
        return [
            *map(encode_text, texts), *morphology, encode_text(lower[-3:]),
            min(self.numbers.get(tag, MOST_TAGS + 1), MOST_TAGS + 1), _kind(form, tag), 0,
        ]  # fmt: skip


def _check_texts(i: int, t: int, token: Token, raw: tuple[Any, ...]) -> tuple[str, ...]:
    if not raw[0] or not all(value is None or isinstance(value, str) for value in raw):
        raise SampleError.of(
            i, f", token {t}: {token!r} has no form, or columns that are not str.", noun="sentence"
        )
    return (raw[0], *("" if value in (None, "_") else value for value in raw[1:]))


def encode_text(text: str) -> int:
    """A code of a text, above 0."""
    return crc32(text.encode("utf-8", "surrogatepass")) + 1


def _kind(form: str, tag: str) -> int:
    if tag == "PUNCT" or not any(map(str.isalnum, form)):
        return PUNCTUATION
    if tag in ("CCONJ", "CC"):
        return CONJUNCTION
    return VERB if tag[:1] == "V" or tag in ("AUX", "MD") else 0
