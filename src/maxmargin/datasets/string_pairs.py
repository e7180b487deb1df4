"""Aligned pairs of strings: words in phonetic script, and proteins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.datasets._files import find_local, read_file
from maxmargin.formats.string_pairs import read_string_pairs
from maxmargin.validation.options import Seed

#: folder -> names of its file
_FILES = {
    "bdpa": ("bdpa_train.psa.gz", "bdpa_train.psa"),
    "balibase3": ("pairs.txt.gz", "pairs.txt"),
    "homstrad_struct": ("pairs.txt.gz", "pairs.txt"),
}
_SOURCES = {
    "bdpa": "http://alignments.lingpy.org (List and Prokic, LREC 2014)",
    "balibase3": "http://www.lbgi.fr/balibase (Thompson et al., Proteins 61, 2005)",
    "homstrad_struct": "https://github.com/steineggerlab/foldmason-analysis (HOMSTRAD, 1998)",
}


class _PairsAndAlignments(NamedTuple):
    pairs: list[tuple[Any, Any]]
    alignments: list[list[tuple[int, int]]]


class StringPairs(_PairsAndAlignments):
    """Pairs of strings and their alignments, as `StringAligner` takes them.

    Parameters
    ----------
    pairs : list of (sequence, sequence)
        Lists of phonetic symbols, or letters of amino acids.
    alignments : list of list of (int, int)
        Matched positions, from 0.

    Attributes
    ----------
    groups : list of str
        Word set or family of each pair; pairs of a group are alike, so split by these.
    core : list of list of (int, int)
        Matches that are reliable: all of them for words.
    """

    groups: list[str]
    core: list[list[tuple[int, int]]]


def load_string_pairs(name: str = "bdpa", path: str | os.PathLike | None = None) -> StringPairs:
    """Load aligned pairs of strings.

    Parameters
    ----------
    name : {"bdpa", "balibase3", "homstrad_struct"}, default="bdpa"
        Words of related languages and dialects in phonetic script; proteins.
    path : str, path or None, default=None
        The file (plain or gzip), its folder, or the folder that holds one of that name. None means
        the folder in MAXMARGIN_DATA, then the cache.

    Returns
    -------
    StringPairs
        The pairs and their alignments; ``pairs, alignments = load_string_pairs(...)``. Attributes
        `groups` and `core` say which pairs are alike and which matches are reliable.
    """
    if name not in _FILES:
        raise ValueError(f"name is {name!r}, expected one of {', '.join(map(repr, _FILES))}.")
    found = find_local(name, _FILES[name], path, _SOURCES[name])
    try:
        text = read_file(found).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{found}: not a text in UTF-8 ({error}).") from None
    read = list(read_string_pairs(text.split("\n"), str(found)))
    made = StringPairs([own.strings for own in read], [own.alignment for own in read])
    made.groups = [_group(own.title, bool(own.names)) for own in read]
    made.core = [own.alignment if own.names else own.core for own in read]
    return made


def _group(title: str, words: bool) -> str:
    """The gloss of words with their languages, or the family of proteins."""
    return title.split("(phonalign")[0].rstrip(", ") if words else title.split("\t")[0]


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    found = [
        name
        for name, files in _FILES.items()
        if any((folder / name / file).is_file() for file in files)
    ]
    return [f"string_pairs ({', '.join(found)})"] if found else []


#: what becomes of letters of the words made here: sounds that shift, and letters that are dropped
_SHIFTS = {"p": "f", "t": "s", "k": "h", "d": "t", "b": "p", "g": "k", "e": "i", "o": "u"}


def make_string_pairs(n_samples: int = 100, random_state: Seed = 0) -> StringPairs:
    """Make words of two related languages with their alignments, for tests and demonstrations.

    Parameters
    ----------
    n_samples : int, default=100
        Number of pairs.
    random_state : int, Generator, RandomState or None, default=0
        Seed; the same integer gives the same pairs.

    Returns
    -------
    StringPairs
        Words of two to four syllables; in the second language consonants are shifted, vowels at the
        end are dropped, and some vowels are inserted.
    """
    rng = np.random.default_rng(random_state)
    made = [_make_pair(rng) for _ in range(n_samples)]
    found = StringPairs([pair for pair, _ in made], [links for _, links in made])
    found.groups = [str(i) for i in range(n_samples)]
    found.core = found.alignments
    return found


def _make_pair(rng: np.random.Generator) -> tuple[tuple[str, str], list[tuple[int, int]]]:
    def draw(letters: str) -> str:
        return letters[rng.integers(len(letters))]

    syllables = [draw("ptkbdglrmns") + draw("aeiou") for _ in range(rng.integers(2, 5))]
    first, second, links = "".join(syllables), "", []
    for i, letter in enumerate(first):
        if i == len(first) - 1 and rng.random() < 0.7:
            continue
        if letter in "lr" and rng.random() < 0.4:
            second += "e"
        links.append((i, len(second)))
        second += _SHIFTS.get(letter, letter) if rng.random() < 0.8 else letter
    return (first, second), links
