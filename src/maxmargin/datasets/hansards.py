"""English-French word alignment: the Canadian Hansards (HLT-NAACL 2003 shared task)."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, cache_folder, download_file, read_file
from maxmargin.formats.alignment import (
    Pair,
    check_links,
    read_naacl,
    read_pairs,
    read_sentence_numbers,
)
from maxmargin.metrics.links import Links

DESCR = """\
Sentence pairs of the Canadian Hansards, English and French, with manual word alignments.

dev: the shared task's 37 trial pairs, 338 sure and 1,446 further possible links.
train: sentences 1-100 of its test set, 949 sure and 2,400 further possible links.
test: sentences 101-447 of its test set. Taskar and others train and test on this division.
parallel: 310,661 pairs of the 36th parliament without links, for word association; at most
26 words a side, in lower case and without accents, unlike the sentences with links.

pairs: (English tokens, French tokens). links: (sure, possible) sets of (i, j) from 0, i English,
j French; possible includes sure. numbers: how the files number the sentences.

Source: https://web.eecs.umich.edu/~mihalcea/wpt/ and, of the parallel text,
https://www.isi.edu/natural-language/download/hansard/ . R. Mihalcea, T. Pedersen, An evaluation
exercise for word alignment, HLT-NAACL 2003; F. J. Och, H. Ney, Improved statistical alignment
models, ACL 2000; U. Germann, Aligned Hansards of the 36th Parliament of Canada, 2001. No licence
is stated.
"""

SUBSETS = ("dev", "train", "test", "parallel")
FOLDER = "hansards"
BASE_URL = "https://web.eecs.umich.edu/~mihalcea/wpt/data/"
# Where the archives of the shared task put their files.
PLACES = tuple(
    f"{outer}{inner}"
    for outer in ("", f"{FOLDER}/", "English-French/", f"{FOLDER}/English-French/")
    for inner in ("", "test/", "answers/", "trial/")
)
TEST_FILES = ("test.e", "test.f", "test.wa.nonullalign")
# English, French and links, each way in which they are found, best first.
GOLD = {
    "dev": (
        ("dev.e", "dev.f", "dev.wa.nonullalign"),
        ("trial.e", "trial.f", "trial.wa.nonullalign"),
        ("trial.e", "trial.f", "trial.wa"),
        ("trial.e", "trial.f", "dev.wa.nonullalign"),
    ),
    "train": (("test001-100.e", "test001-100.f", "test001-100.wa.nonullalign"), TEST_FILES),
    "test": (TEST_FILES,),
}
PARALLEL = ("hansard36.en.gz", "hansard36.fr.gz")
# Sentence numbers that a subset takes from the whole test set.
PARTS = {"train": range(1, 101), "test": range(101, 448)}
# Sentences, sure links, possible links that are not sure, as published.
COUNTS = {"dev": (37, 338, 1446), "test": (447, 4038, 13400)}


class NamedBytes(io.BytesIO):
    """The content of a file in UTF-8, under its name."""

    def __init__(self, name: str, raw: bytes):
        try:
            raw.decode()
        except UnicodeDecodeError:  # the shared task's own files are in Latin-1
            raw = raw.decode("latin-1").encode()
        super().__init__(raw)
        self.name = name


def load_hansards(
    subset: str = "dev", path: str | os.PathLike | None = None, n_pairs: int | None = None
) -> Bunch:
    """Load sentence pairs of the Canadian parliament's debates and their word alignments.

    Parameters
    ----------
    subset : {"dev", "train", "test", "parallel"}, default="dev"
        37 pairs; sentences 1-100 of the shared task's test set; its sentences 101-447; many pairs
        without links.
    path : str, path or None, default=None
        The folder of the files, the folder that holds ``hansards/``, or an archive of the shared
        task. None means the folder in MAXMARGIN_DATA, then the cache, then (except for "parallel")
        the official address. Only a download is compared with the known counts.
    n_pairs : int or None, default=None
        Number of pairs to load, from the first; None means all.

    Returns
    -------
    Bunch
        With `pairs`, list of (English tokens, French tokens); `links`, list of (sure, possible)
        sets of (i, j) from 0, possible including sure, or None for "parallel"; `numbers`, the
        sentence numbers in the files; `DESCR`.
    """
    if subset not in SUBSETS:
        expected = ", ".join(map(repr, SUBSETS))
        raise ValueError(f"subset is {subset!r}, expected one of {expected}")
    if n_pairs is not None and n_pairs < 0:
        raise ValueError(f"n_pairs={n_pairs} must not be negative")
    if subset == "parallel":
        english, french = _find_parallel(path)
        pairs = read_pairs(english, french, n_pairs=n_pairs)
        numbers = list(range(1, len(pairs) + 1))
        return Bunch(pairs=pairs, links=None, numbers=numbers, DESCR=DESCR)
    pairs, links, numbers = _parse(_find_gold(subset, path))
    if subset in PARTS:
        pairs, links, numbers = _part(subset, pairs, links, numbers)
    kept = slice(n_pairs)
    return Bunch(pairs=pairs[kept], links=links[kept], numbers=numbers[kept], DESCR=DESCR)


def is_in(folder: Path, subset: str) -> bool:
    """Whether the files of a subset are in `folder`, so that nothing need be downloaded."""
    if subset == "parallel":
        return _look_in(folder, (PARALLEL,)) is not None
    return _look_in(folder, GOLD[subset]) is not None or _archive_in(folder, subset) is not None


def _parse(files: Sequence[NamedBytes]) -> tuple[list[Pair], list[Links], list[int]]:
    """Return pairs, links and the sentence numbers used in the file of the links."""
    english, french, alignment = files
    in_english, in_french = read_sentence_numbers(english), read_sentence_numbers(french)
    if len(in_english) == len(in_french) and in_english != in_french:
        raise ValueError(f"{english.name} and {french.name} number the sentences differently")
    english.seek(0)
    french.seek(0)
    pairs = read_pairs(english, french)
    numbers: Sequence[int] = in_english
    first = alignment.getvalue().split(None, 1)[:1]
    if first and first[0].isdigit() and int(first[0]) not in in_english:
        numbers = range(1, len(pairs) + 1)  # by line, though the text is numbered otherwise
    links = read_naacl(alignment, numbers=numbers, skip_null=True)
    try:
        check_links(pairs, links)
    except ValueError as error:
        raise ValueError(f"{alignment.name}: {error}") from error
    return pairs, links, list(numbers)


def _part(
    subset: str, pairs: list[Pair], links: list[Links], numbers: list[int]
) -> tuple[list[Pair], list[Links], list[int]]:
    """Return the sentences of one subset out of the shared task's test set."""
    places = {number: place for place, number in enumerate(numbers)}
    wanted = PARTS[subset]
    missing = [number for number in wanted if number not in places]
    if missing:
        raise ValueError(
            f"subset {subset!r} is sentences {wanted[0]} to {wanted[-1]}, but the files found have "
            f"{len(numbers)} sentences and no number {missing[0]}. Whole files: {TEST_URL}"
        )
    kept = [places[number] for number in wanted]
    return [pairs[k] for k in kept], [links[k] for k in kept], list(wanted)


def _find_gold(subset: str, path: str | os.PathLike | None) -> list[NamedBytes]:
    for place in _places(path):
        files = _look_in(place, GOLD[subset])
        if files is not None:
            return [NamedBytes(str(file), read_file(file)) for file in files]
        archive = _archive_in(place, subset)
        if archive is not None:
            return _unpack(read_file(archive), str(archive))
    source = ARCHIVES[subset]
    if path is None:
        archive = download_file(source)
        return _unpack(read_file(archive), str(archive))
    names = "; or ".join(", ".join(names) for names in GOLD[subset])
    raise FileNotFoundError(
        f"no files of subset {subset!r} at {os.fspath(path)!r}: expected {names}; or the archive "
        f"{source.names[0]}. Give their folder, the folder that holds {FOLDER}/, or the archive. "
        f"The official copy is {source.url}"
    )


def _find_parallel(path: str | os.PathLike | None) -> Sequence[Path]:
    places = _places(path)
    for place in places:
        files = _look_in(place, (PARALLEL,))
        if files is not None:
            return files
    looked = ", ".join(map(str, places))
    raise FileNotFoundError(
        f"no {' and '.join(PARALLEL)} in {looked}. This tokenised text cannot be downloaded as "
        f"such: put the two files, line k of one the translation of line k of the other, in "
        f"{cache_folder() / FOLDER}, or in a folder {FOLDER}/ inside the folder that "
        "MAXMARGIN_DATA names, or pass their folder as path=. Any parallel text will do; the "
        "debates are at https://www.isi.edu/natural-language/download/hansard/ . Other file "
        "names: maxmargin.tasks.read_pairs(source, target)"
    )


def _places(path: str | os.PathLike | None) -> list[Path]:
    if path is not None:
        return [Path(path).expanduser()]
    shared = os.environ.get("MAXMARGIN_DATA")
    return [*([Path(shared).expanduser()] if shared else []), cache_folder()]


def _look_in(place: Path, choices: Sequence[tuple[str, ...]]) -> list[Path] | None:
    """Return the files of the first choice that is complete, each wherever it is below `place`."""
    for names in choices:
        files = []
        for name in names:
            here = (place / folder / name for folder in PLACES)
            files += [file for file in here if file.is_file()][:1]
        if len(files) == len(names):
            return files
    return None


def _archive_in(place: Path, subset: str) -> Path | None:
    if place.is_file():
        return place
    here = (place / folder / ARCHIVES[subset].names[0] for folder in ("", FOLDER))
    return next((file for file in here if file.is_file()), None)


def _unpack(raw: bytes, name: str) -> list[NamedBytes]:
    """Return the English, French and link files of an archive of the shared task."""
    choices = [names for choice in GOLD.values() for names in choice]
    try:
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            members = {Path(member.name).name: member for member in archive if member.isfile()}
            for names in choices:
                if set(names) <= members.keys():
                    files = [archive.extractfile(members[member]) for member in names]
                    contents = [b"" if file is None else file.read() for file in files]
                    return [
                        NamedBytes(f"{name}/{n}", c) for n, c in zip(names, contents, strict=True)
                    ]
    except tarfile.TarError as error:
        raise ValueError(f"{name}: not an archive of the shared task ({error})") from error
    raise ValueError(
        f"{name}: found neither {', '.join(TEST_FILES)} nor trial.e, trial.f, trial.wa"
    )


def _check(subset: str) -> Callable[[bytes, str], None]:
    def check(raw: bytes, name: str) -> None:
        _, links, _ = _parse(_unpack(raw, name))
        n_sure = sum(len(sure) for sure, _ in links)
        found = len(links), n_sure, sum(len(possible) for _, possible in links) - n_sure
        if found != COUNTS[subset]:
            raise ValueError(
                f"found (sentences, sure, other possible links) {found}, expected {COUNTS[subset]}"
            )

    return check


def _archive(kind: str, subset: str) -> Source:
    name = f"English-French.{kind}.tar.gz"
    return Source(FOLDER, (name,), f"{BASE_URL}{name}", _check(subset))


ARCHIVES = {"dev": _archive("trial", "dev"), "test": _archive("test", "test")}
ARCHIVES["train"] = ARCHIVES["test"]
TEST_URL = ARCHIVES["test"].url


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    found = [subset for subset in SUBSETS if is_in(folder, subset)]
    return [f"hansards ({', '.join(found)})"] if found else []
