"""Proteins with known disulfide bonds."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin.datasets._files import find_local, read_file

_FOLDER, _FILES = "disulfide_sprot", ("train.txt.gz", "train.txt")
_SOURCE = "Swiss-Prot, https://www.uniprot.org; load_disulfides tells the form of the file"


class DisulfideData(NamedTuple):
    """Proteins and their bonds.

    Parameters
    ----------
    sequences : list of str
        Amino acids.
    bonds : list of ndarray of shape (m, 2)
        Places of bonded cysteines, from 0, i < j.
    names : list of str
        Names of the proteins.
    """

    sequences: list[str]
    bonds: list[np.ndarray]
    names: list[str]


def load_disulfides(
    name: str = "disulfide_sprot", path: str | os.PathLike | None = None
) -> DisulfideData:
    """Load proteins of Swiss-Prot with two to five disulfide bonds.

    Parameters
    ----------
    name : str, default="disulfide_sprot"
        The data set, of which there is one.
    path : str, path or None, default=None
        The file (plain or gzip; three lines a protein: ">" and a name, amino acids, bonds
        ``i-j i-j ...`` from 1), its folder, or the folder that holds it. None means the folder in
        MAXMARGIN_DATA, then the cache; it is not downloaded.

    Returns
    -------
    DisulfideData
        Sequences, bonds and names.
    """
    if name != _FOLDER:
        raise ValueError(f"name is {name!r}, expected {_FOLDER!r}.")
    found = find_local(_FOLDER, _FILES, path, _SOURCE)
    return parse_disulfides(read_file(found), str(found))


def parse_disulfides(raw: bytes, name: str) -> DisulfideData:
    """The proteins of a file. name : of it, for errors."""
    try:
        lines = raw.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not a text in UTF-8 ({error}).") from None
    data = DisulfideData([], [], [])
    kept = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    for (number, title), *rest in zip(kept[::3], kept[1::3], kept[2::3], strict=False):
        (_, sequence), (_, bonds) = rest
        if not title.startswith(">") or not re.fullmatch(r"\d+-\d+( \d+-\d+)*", bonds):
            raise ValueError(
                f"{name}, line {number}: expected '>', amino acids and bonds 'i-j ...'."
            )
        pairs = np.array([own.split("-") for own in bonds.split()]).astype(np.int64) - 1
        places = pairs.ravel()
        if (
            places.min() < 0
            or places.max() >= len(sequence)
            or len({*places.tolist()}) < places.size
        ):
            raise ValueError(f"{name}, line {number + 2}: bonds are not pairs of places.")
        if {sequence[place] for place in places} != {"C"}:
            raise ValueError(f"{name}, line {number + 2}: a bond is not of two cysteines.")
        data.sequences.append(sequence)
        data.bonds.append(np.sort(pairs, axis=1))
        data.names.append(title[1:].split("\t")[0])
    if len(kept) % 3 or not kept:
        raise ValueError(f"{name}: expected three lines a protein, found {len(kept)} lines.")
    return data


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    there = any((folder / _FOLDER / file).is_file() for file in _FILES)
    return ["disulfide bonds"] if there else []
