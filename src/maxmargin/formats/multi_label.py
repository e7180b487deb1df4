"""Samples with several labels in text: `labels index:value index:value ...`, one line per sample.

The format of LIBSVM's multi-label sets: labels are separated by commas, indices of features count
from 1 and rise, features that are not there are 0. A line whose first field is a feature has no
label. From # on, a line is comment; lines with nothing else are skipped. Labels may be any text
without white space, comma and colon.
"""

from __future__ import annotations

import io
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from operator import lt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.formats.text_lines import Readable, fields_of, name_of, text_lines
from maxmargin.validation.samples import as_csr

#: features of a file at most: a larger index is a slip, and would take the memory of all weights
MAX_FEATURES = 100_000_000
_PLAIN = re.compile(r"\d{1,9}:[-+.0-9eE]+(?: \d{1,9}:[-+.0-9eE]+)*", re.ASCII)


class LabelledRows(NamedTuple):
    """X : CSR, one row per sample; labels : of each sample; lines : their numbers."""

    X: sparse.csr_array
    labels: list[tuple[str, ...]]
    lines: list[int]


def read_multilabel(
    source: Readable, n_features: int | None = None, name: str | None = None
) -> LabelledRows:
    """Read a file, plain or gzip; a ValueError names it and the line.

    n_features : columns of X; None means as many as the largest index.
    name : what errors call the file.
    """
    name = name_of(source) if name is None else name
    most = MAX_FEATURES if n_features is None else n_features
    indices, values = array("q"), array("d")  # half the memory of lists
    ends, labels, lines = [0], [], []
    for number, line in text_lines(source):
        fields = fields_of(line.partition("#")[0].strip())
        if not fields:
            continue
        try:
            own = () if ":" in fields[0] else _labels(fields[0])
            features = fields[1:] if own else fields
            if not _add_plain(features, indices, values, most):
                _add_features(features, indices, values, most)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
        ends.append(len(indices))
        labels.append(own)
        lines.append(number)
    width = n_features if n_features is not None else max(indices, default=-1) + 1
    parts = (np.array(values), np.array(indices), np.array(ends))
    return LabelledRows(sparse.csr_array(parts, shape=(len(labels), width)), labels, lines)


def _labels(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if "" in found:
        raise ValueError(f"found labels {text[:40]!r}, expected names or numbers between commas")
    if len(set(found)) < len(found):
        again = Counter(found).most_common(1)[0][0]
        raise ValueError(f"label {again[:40]!r} is there twice")
    return found


def _add_plain(fields: Sequence[str], indices: array, values: array, most: int) -> bool:
    """The features of a line at once, if nothing about it is odd; else nothing, and False."""
    if not _PLAIN.fullmatch(" ".join(fields)):
        return False
    tokens = " ".join(fields).replace(":", " ").split(" ")
    places = list(map(int, tokens[::2]))
    try:
        own = list(map(float, tokens[1::2]))
    except ValueError:
        return False
    rising = all(map(lt, places, places[1:])) and 1 <= places[0] and places[-1] <= most
    if not rising or not all(map(isfinite, own)):
        return False
    indices.extend(place - 1 for place in places)
    values.extend(own)
    return True


def _add_features(fields: Sequence[str], indices: array, values: array, most: int) -> None:
    last = 0
    for field in fields:
        left, colon, right = field.partition(":")
        if not colon:
            raise ValueError(f"found {field[:40]!r}, expected index:value")
        if not (left.isascii() and left.isdecimal() and len(left) < 12):
            raise ValueError(f"found index {left[:40]!r}, expected an integer from 1")
        index = int(left)
        if index < 1:
            raise ValueError("found index 0, but features are counted from 1")
        if index <= last:
            raise ValueError(f"index {index} after {last}; indices must rise")
        if index > most:
            raise ValueError(f"index {index} is beyond the {most} features")
        values.append(_value(right))
        indices.append(index - 1)
        last = index


def _value(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or "_" in text or not text.isascii():
        raise ValueError(f"found value {text[:40]!r}, expected a finite number")
    return value


def encode_numbers(found: LabelledRows, n_labels: int, name: str) -> np.ndarray:
    """(n, n_labels) of zeros and ones, from labels that are numbers from 0."""
    matrix = np.zeros((len(found.labels), n_labels), dtype=np.int64)
    for i, own in enumerate(found.labels):
        for text in own:
            whole = text.isascii() and text.isdecimal() and len(text) < 12
            if not whole or int(text) >= n_labels:
                raise ValueError(
                    f"{name}, line {found.lines[i]}: found label {text[:40]!r}, expected a number"
                    f" from 0 to {n_labels - 1}"
                )
            matrix[i, int(text)] = 1
    return matrix


def write_multilabel(sink: Any, X: Any, labels: Iterable[Iterable[Any]]) -> None:
    """Write samples to a binary file, values to the last bit. A sample without anything is 1:0."""
    rows = as_csr(X)
    text = io.StringIO()
    for i, own in enumerate(labels):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
        fields = [f"{k + 1}:{value!r}" for k, value in sorted(pairs) if value != 0]
        names = ",".join(map(str, own))
        text.write(" ".join([names, *fields] if names else fields or ["1:0"]) + "\n")
    sink.write(text.getvalue().encode())
