"""Label sequences in .npz files, or in the file letter.data of handwritten words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.datasets import load_letters
from maxmargin.datasets.letters import letters_of
from maxmargin.formats.npz import Arrays, read_npz, seekable
from maxmargin.formats.text_lines import Readable, name_of, unpacked

#: bytes of letter.data, unpacked; the original has 14 million
MAX_TEXT = 1 << 28

X_CURE = "X holds the features of all sequences, row under row, as numbers (rows, features)"
Y_CURE = "y holds one label, a number or a text, for each row of X"
LENGTHS_CURE = "lengths holds the number of rows of each sequence, in order"
FOLD_CURE = "fold holds one whole number for each sequence"


class Sequences(NamedTuple):
    """What a file holds: rows of each sequence, labels (None if there are none), folds."""

    X: list[Any]
    y: list[np.ndarray] | None
    fold: np.ndarray | None
    image: tuple[int, int] | None


def read_sequences(source: Readable) -> Sequences:
    """An .npz file, or letter.data, told by the first bytes."""
    if not hasattr(source, "read") and Path(str(source)).is_dir():
        return _from_letters(load_letters(Path(str(source))))
    name = name_of(source)
    with seekable(source) as file:
        start = file.read(2)
        file.seek(0)
        if start == b"PK":
            return _from_arrays(read_npz(file, name))
        with unpacked(file) as text:
            raw = text.read(MAX_TEXT + 1)
    if len(raw) > MAX_TEXT:
        raise ValueError(f"{name}: more than {MAX_TEXT} bytes of text; this is no letter.data.")
    try:
        return _from_letters(letters_of(raw, name))
    except ValueError as error:
        raise ValueError(f"{error} (the file is no .npz, so it was read as letter.data)") from error


def _from_letters(letters: Any) -> Sequences:
    return Sequences(letters.X, letters.y, letters.fold, tuple(letters.image_shape))


def _from_arrays(arrays: Arrays) -> Sequences:
    X = arrays.matrix("X", X_CURE)
    rows, columns = X.shape
    if rows == 0 or columns == 0:
        raise arrays.wrong("X", f"has {rows} rows and {columns} columns; {X_CURE}")
    lengths = arrays.lengths("lengths", rows, LENGTHS_CURE)
    stops = np.cumsum(lengths)
    y = fold = None
    if "y" in arrays:
        flat = arrays.need("y", 1, "biufU", Y_CURE)
        if len(flat) != rows:
            raise arrays.wrong("y", f"has {len(flat)} labels for {rows} rows of X; {Y_CURE}")
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            raise arrays.wrong("y", f"has labels that are not finite; {Y_CURE}")
        y = np.split(flat, stops[:-1])
    if "fold" in arrays:
        fold = arrays.need("fold", 1, "iu", FOLD_CURE)
        if len(fold) != len(lengths):
            raise arrays.wrong("fold", f"has {len(fold)} numbers, not {len(lengths)}; {FOLD_CURE}")
    samples = [X[b - n : b] for b, n in zip(stops.tolist(), lengths.tolist(), strict=True)]
    return Sequences(samples, y, fold, None)


def chosen(found: Sequences, folds: Sequence[str], name: str) -> Sequences:
    """The sequences of the folds asked for."""
    wanted = _ranges(folds)
    if not wanted:
        return found
    if found.fold is None:
        raise ValueError(
            f"{name}: array 'fold' is missing, which folds={','.join(folds)} needs; {FOLD_CURE}, or"
            " use folds=all"
        )
    keep = np.zeros(len(found.fold), dtype=bool)
    for low, high in wanted:
        keep |= (found.fold >= low) & (found.fold <= high)
    rows = np.flatnonzero(keep).tolist()
    if not rows:
        there = ", ".join(map(str, np.unique(found.fold)[:20].tolist()))
        raise ValueError(f"{name}: no sequence is in the folds asked for; there are {there}.")
    return found._replace(
        X=[found.X[i] for i in rows],
        y=None if found.y is None else [found.y[i] for i in rows],
        fold=found.fold[rows],
    )


def _ranges(folds: Sequence[str]) -> list[tuple[int, int]]:
    """Of "0,2-4", [(0, 0), (2, 4)]; of "all" and of nothing, nothing."""
    texts = [text.strip() for own in folds for text in str(own).split(",") if text.strip()]
    if "all" in texts:
        return []
    found = []
    for text in texts:
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text, re.ASCII)
        if match is None:
            raise ValueError(f"folds: {text[:40]!r} is no fold; give e.g. 0, 1-9, 0,2-4 or all.")
        found.append((int(match[1]), int(match[2] or match[1])))
    return found
