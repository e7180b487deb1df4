"""RNA sequences with known structures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from maxmargin.datasets._files import Source, find_file, has_file, read_file
from maxmargin.formats.rna import RNARecord, read_rna

_STORED = "https://raw.githubusercontent.com/persalteas/biorseo/6ca2e36b/data/sec_structs"
#: name -> folder, files, address
_FILES = {
    "archiveII": (
        "rna_archiveII",
        ("archiveII_train.dbn.gz", "archiveII_train.dbn"),
        "https://rna.urmc.rochester.edu/pub/archiveII.tar.gz",
    ),
    "pseudobase": (
        "rna",
        ("pseudobase.dbn.gz", "pseudobase.dbn", "pseudobase++_short.dbn"),
        f"{_STORED}/pseudobase++_short.dbn",
    ),
    "rnastrand": (
        "rna",
        ("rnastrand_verified.dbn.gz", "verified_secondary_structures_database.dbn"),
        f"{_STORED}/verified_secondary_structures_database.dbn",
    ),
}
#: folders of the data, as names
_FOLDERS = {"rna_archiveII": "archiveII", "rna": "rnastrand"}


class RNAData(NamedTuple):
    """Sequences and structures, as `RNAFolder` takes them.

    Parameters
    ----------
    sequences : list of str
        Bases.
    structures : list of str
        Dot-brackets.
    names : list of str
        Names; those of "archiveII" begin with the family and "_".
    families : list of str
        What is before the first "_" of each name.
    """

    sequences: list[str]
    structures: list[str]
    names: list[str]
    families: list[str]


def load_rna(name: str = "rna_archiveII", path: str | os.PathLike | None = None) -> RNAData:
    """Load RNA sequences with their structures.

    Parameters
    ----------
    name : str, default="rna_archiveII"
        "archiveII" (or "rna_archiveII"; families of RNA up to 500 bases), "pseudobase" (short, all
        with crossing pairs) or "rnastrand" (or "rna"; many kinds, from 4 to 3,032 bases).
    path : str, path or None, default=None
        The file (plain or gzip; FASTA with dot-brackets, bpseq or ct), its folder, or the folder
        that holds one of that name. None means the folder in MAXMARGIN_DATA, then the cache, then
        the official address.

    Returns
    -------
    RNAData
        Sequences, structures, names and families.
    """
    known = _FOLDERS.get(name, name)
    if known not in _FILES:
        names = ", ".join(map(repr, [*_FILES, *_FOLDERS]))
        raise ValueError(f"name is {name!r}, expected one of {names}.")
    found = find_file(_source(known), path)
    return parse_rna(read_file(found), str(found))


def parse_rna(raw: bytes, name: str) -> RNAData:
    """The records of a file that have a structure. name : of it, for errors."""
    try:
        lines = raw.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not a text in UTF-8 ({error}).") from None
    read: list[RNARecord] = [own for own in read_rna(lines, name) if own.structure is not None]
    names = [own.name for own in read]
    families = [own.split("_")[0] for own in names]
    structures = [own.structure or "" for own in read]
    return RNAData([own.sequence for own in read], structures, names, families)


def _source(name: str) -> Source:
    folder, names, url = _FILES[name]
    return Source(folder, names, url, _check)


def _check(raw: bytes, name: str) -> None:
    if not parse_rna(raw, name).sequences:
        raise ValueError(f"{name}: no sequences with structures")


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    found = [name for name in _FILES if has_file(_source(name), folder)]
    return [f"RNA ({', '.join(found)})"] if found else []
