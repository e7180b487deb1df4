"""Handwritten words (Kassel; Taskar, Guestrin and Koller), the letter.data file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NoReturn

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, find_file, has_file, read_file

HEIGHT, WIDTH = 16, 8
N_PIXELS = HEIGHT * WIDTH
COLUMNS = ("id", "letter", "next_id", "word_id", "position", "fold")
FEATURE_NAMES = [f"p_{i}_{j}" for i in range(HEIGHT) for j in range(WIDTH)]
TAIL = 2 * N_PIXELS - 1  # bytes of "0<TAB>1<TAB>...<TAB>0"
TAB = ord("\t")

# Of words, folds and pixels in reading order: blind to the id, word_id and position columns, whose
# values differ between copies of the file.
DIGEST = "3d1d5244f84dc8aafafe9782e16c80708a9a0f075e4062502427a0b5ff18e8e0"

DESCR = """\
Handwritten words, one 16 x 8 binary image per letter, the first letter of each word left out.

6,877 words, 52,152 letters, 26 labels, ten folds. Train on fold 0 and test on the others ("small"),
or train on folds 1-9 and test on fold 0 ("large").

Source: http://ai.stanford.edu/~btaskar/ocr/ . R. Kassel, PhD thesis, MIT, 1995; B. Taskar,
C. Guestrin, D. Koller, Max-margin Markov networks, NIPS 2003. No licence is stated.
"""


def load_letters(path: str | os.PathLike | None = None) -> Bunch:
    """Load handwritten words: sequences of letter images, and their letters.

    Parameters
    ----------
    path : str, path or None, default=None
        letter.data or letter.data.gz, its folder, or the folder that holds ``ocr_letters/``. None
        means the folder in MAXMARGIN_DATA, then the cache, then the official address. Only a
        download is compared with the known content.

    Returns
    -------
    Bunch
        With `X`, list of float64 arrays (length, 128), pixels row by row; `y`, list of arrays of
        one-letter strings; `fold`, (n_words,); `feature_names`; `image_shape`; `DESCR`.
    """
    file = find_file(SOURCE, path)
    return letters_of(read_file(file), str(file))


def letters_of(raw: bytes, name: str) -> Bunch:
    """What `load_letters` returns, of the text of such a file; errors call it by the name."""
    letters, folds, pixels, lengths = _parse(raw, name)
    cuts = np.cumsum(lengths)[:-1]
    return Bunch(
        X=np.split(pixels.astype(np.float64), cuts),
        y=np.split(letters, cuts),
        fold=folds,
        feature_names=list(FEATURE_NAMES),
        image_shape=(HEIGHT, WIDTH),
        DESCR=DESCR,
    )


def _parse(raw: bytes, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return letters, fold of each word, pixels (uint8) and word lengths, in reading order."""
    raw = raw.replace(b"\r\n", b"\n")
    starts, stops, numbers = _lines(raw)
    if not len(starts):
        raise ValueError(f"{name}: the file is empty, expected lines of 134 fields")
    try:
        pixels = _pixels(raw, starts, stops)
        heads = [raw[a:b].split(b"\t") for a, b in zip(starts, stops - TAIL - 1, strict=True)]
        id_texts, chars, next_texts, _, _, fold_texts = zip(*heads, strict=True)
        ids, nexts, folds = (
            np.array(list(map(int, texts)), dtype=np.int64)
            for texts in (id_texts, next_texts, fold_texts)
        )
        letters = np.array(b"\n".join(chars).decode().split("\n"))
        if letters.dtype != "<U1" or len(letters) != len(ids) or not np.char.isalpha(letters).all():
            raise ValueError("letters")
    except (ValueError, OverflowError):
        _blame(raw, starts, stops, numbers, name)
    rows, lengths = _follow(ids, nexts, numbers, name)
    folds = folds[rows]
    first = np.cumsum(lengths) - lengths
    strayed = np.flatnonzero(folds != np.repeat(folds[first], lengths))
    if len(strayed):
        line = numbers[rows[strayed[0]]]
        raise ValueError(
            f"{name}, line {line}: fold {folds[strayed[0]]} differs from the start of the word"
        )
    return letters[rows], folds[first], pixels[rows], lengths


def _lines(raw: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where each line not blank starts and stops (trailing TAB off), and its number."""
    buffer = np.frombuffer(raw, np.uint8)
    stops = np.flatnonzero(buffer == ord("\n"))
    if len(raw) and raw[-1:] != b"\n":
        stops = np.append(stops, len(raw))
    starts = np.concatenate([[0], stops[:-1] + 1])[: len(stops)]
    stops = stops - ((stops > starts) & (buffer[stops - 1] == TAB))
    kept = np.flatnonzero(stops > starts)
    return starts[kept], stops[kept], kept + 1


def _pixels(raw: bytes, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the last 128 fields of every line as 0/1; ValueError if any is something else."""
    if (stops - starts <= TAIL + 1).any():
        raise ValueError("short line")
    buffer = np.frombuffer(raw, np.uint8)
    tails = np.lib.stride_tricks.sliding_window_view(buffer, TAIL)[stops - TAIL]
    values = tails[:, ::2] - np.uint8(ord("0"))
    gaps = tails[:, 1::2] != TAB
    if gaps.any() or (values > 1).any() or (buffer[stops - TAIL - 1] != TAB).any():
        raise ValueError("pixels")
    return values


def _blame(
    raw: bytes, starts: np.ndarray, stops: np.ndarray, numbers: np.ndarray, name: str
) -> NoReturn:
    """Read again, slowly, and raise for the first malformed line."""
    for start, stop, number in zip(starts, stops, numbers, strict=True):
        fields = raw[start:stop].decode(errors="replace").split("\t")
        error = _find_error(fields)
        if error:
            raise ValueError(f"{name}, line {number}: {error}")
    raise ValueError(f"{name}: a number in it is too large to be an id or a fold")


def _find_error(fields: list[str]) -> str | None:
    if len(fields) != len(COLUMNS) + N_PIXELS:
        return f"found {len(fields)} TAB-separated fields, expected {len(COLUMNS) + N_PIXELS}"
    if len(fields[1]) != 1 or not fields[1].isalpha():
        return f"found letter {fields[1]!r}, expected one letter"
    for k in (0, 2, 5):
        try:
            int(fields[k])
        except ValueError:
            return f"found {COLUMNS[k]} {fields[k]!r}, expected an integer"
    for feature, value in zip(FEATURE_NAMES, fields[len(COLUMNS) :], strict=True):
        if value not in ("0", "1"):
            return f"found {feature} = {value!r}, expected 0 or 1"
    return None


def _follow(
    ids: np.ndarray, nexts: np.ndarray, numbers: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in reading order (words by the id of their first letter) and word lengths."""
    order = np.argsort(ids, kind="stable")
    ids, nexts, numbers = ids[order], nexts[order], numbers[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        k = twice[0]
        raise ValueError(f"{name}, line {numbers[k + 1]}: id {ids[k]} is that of line {numbers[k]}")
    following = np.searchsorted(ids, nexts)
    lost = (nexts != -1) & (ids[np.minimum(following, len(ids) - 1)] != nexts)
    if lost.any():
        k = np.flatnonzero(lost)[0]
        raise ValueError(
            f"{name}, line {numbers[k]}: next_id {nexts[k]} is not a line's id, nor -1"
        )
    following[nexts == -1] = -1
    n_before = np.bincount(following[following >= 0], minlength=len(ids))
    if (n_before > 1).any():
        k = np.flatnonzero(n_before > 1)[0]
        raise ValueError(f"{name}, line {numbers[k]}: id {ids[k]} is the next_id of several lines")
    rows, ends = [], []
    step = following.tolist()
    for k in np.flatnonzero(n_before == 0).tolist():
        while k >= 0:
            rows.append(k)
            k = step[k]
        ends.append(len(rows))
    if len(rows) < len(ids):
        k = np.setdiff1d(np.arange(len(ids)), rows)[0]
        raise ValueError(f"{name}, line {numbers[k]}: id {ids[k]} leads by next_id to itself")
    return order[rows], np.diff(ends, prepend=0)


def _digest(letters: np.ndarray, folds: np.ndarray, pixels: np.ndarray, lengths: np.ndarray) -> str:
    words = [part.tobytes() for part in np.split(letters.astype("S1"), np.cumsum(lengths)[:-1])]
    digest = hashlib.sha256(b"\n".join(words))
    digest.update(folds.astype("<i8").tobytes())
    digest.update(np.packbits(pixels, axis=1).tobytes())
    return digest.hexdigest()


def _check(raw: bytes, name: str) -> None:
    found = _digest(*_parse(raw, name))
    if found != DIGEST:
        raise ValueError(f"content digest is {found}, expected {DIGEST}")


SOURCE = Source(
    folder="ocr_letters",
    names=("letter.data.gz", "letter.data"),
    url="http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
    check=_check,
)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    return ["letters"] if has_file(SOURCE, folder) else []
