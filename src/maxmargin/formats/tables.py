"""Tables of numbers in text: CSV with or without a line of names."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

import numpy as np

from maxmargin.formats.text_lines import Readable, decoding_error, name_of, open_unpacked

#: characters that separate columns; the one that the first line has most of is taken
_SEPARATORS = ",;\t"


class NumberTable(NamedTuple):
    """names : of the columns, empty if there are none. rows : (n_rows, n_columns)."""

    names: list[str]
    rows: np.ndarray


def read_table(source: Readable, name: str | None = None) -> NumberTable:
    """Read a table, plain or gzip; a ValueError names the file and the line.

    The first line holds names if none of its fields is a number. Empty lines are skipped.
    """
    name = name_of(source) if name is None else name
    with open_unpacked(source) as raw:
        lines = list(_decoded(raw, name))
    filled = [(number, line) for number, line in lines if line.strip()]
    if not filled:
        raise ValueError(f"{name}: the file is empty; give rows of numbers separated by commas.")
    separator = max(_SEPARATORS, key=filled[0][1].count)
    cells = [(number, _split(line, separator, name, number)) for number, line in filled]
    names: list[str] = []
    if all(_number(cell) is None for cell in cells[0][1]):
        names = cells.pop(0)[1]
    width = len(names) or (len(cells[0][1]) if cells else 0)
    rows = np.empty((len(cells), width))
    for i, (number, row) in enumerate(cells):
        if len(row) != width:
            raise ValueError(f"{name}, line {number}: {len(row)} fields, expected {width}.")
        for k, cell in enumerate(row):
            value = _number(cell)
            if value is None or not isfinite(value):
                what = "not a number" if value is None else "not finite"
                column = f" (column {names[k][:40]!r})" if names else ""
                hint = "" if names or i else ", or give all columns a name that is not a number"
                raise ValueError(
                    f"{name}, line {number}: field {k + 1}{column} is {what}: {cell[:40]!r}. Fill"
                    f" gaps and encode texts before{hint}."
                )
            rows[i, k] = value
    return NumberTable(names, rows)


def _decoded(raw: Iterator[bytes], name: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(raw, start=1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise decoding_error(name, number, "utf-8", "convert the file") from None


def _split(line: str, separator: str, name: str, number: int) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    except (csv.Error, StopIteration) as error:
        raise ValueError(f"{name}, line {number}: not a line of a table ({error}).") from None


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None
