"""Manual word alignments of more language pairs, each as three plain text files."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sklearn.utils import Bunch

from maxmargin.datasets._files import cache_folder
from maxmargin.formats.alignment import check_links, read_naacl, read_pairs

FOLDER = "alignment_other"
PAIR = re.compile(r"([A-Za-z]{2,8})-([A-Za-z]{2,8})")

DESCR = """\
Sentence pairs with manual word alignments. links: (sure, possible) sets of (i, j) from 0, i in
the first language of the pair's name, j in the second; possible includes sure.

ro-en: 248 sentences, R. Mihalcea, T. Pedersen, HLT-NAACL 2003,
  https://web.eecs.umich.edu/~mihalcea/wpt/ . zh-en: 450, test data of TsinghuaAligner (Y. Liu).
de-en: 100, E. Bicici 2014, of Europarl, https://github.com/bicici/SMTData . en-cs: 2,500, CzEnAli
1.0, D. Marecek (CC BY-SA 4.0). en-sv: 1,164, M. Holmqvist, L. Ahrenberg, NODALIDA 2011, of
Europarl. en-es, en-pt: 100 each, J. Graca and others, LREC 2008. Of the last four only sure links
are known here. No licence is stated except for en-cs.
"""


def load_alignment(pair: str = "ro-en", path: str | os.PathLike | None = None) -> Bunch:
    """Load the sentence pairs and the word alignments of one pair of languages.

    The originals come in many forms, so none is downloaded. The loader reads three files: XX-YY.XX
    and XX-YY.YY, one tokenised sentence per line, and XX-YY.wa, lines ``sentence i j S|P`` from 1.

    Parameters
    ----------
    pair : str, default="ro-en"
        The languages, "XX-YY": "ro-en", "zh-en", "de-en", "en-cs", "en-sv", "en-es", "en-pt", or
        the name of files of your own.
    path : str, path or None, default=None
        The folder of the files, or the folder that holds ``alignment_other/``. None means the
        folder in MAXMARGIN_DATA, then the cache.

    Returns
    -------
    Bunch
        With `pairs`, list of (source tokens, target tokens); `links`, list of (sure, possible) sets
        of (i, j) from 0, possible including sure; `numbers`, from 1; `DESCR`.
    """
    match = PAIR.fullmatch(pair)
    if match is None:
        raise ValueError(f"pair is {pair!r}, expected two languages such as 'ro-en'")
    folder = _find(pair, path)
    source, target, alignment = (folder / name for name in _names(pair))
    pairs = read_pairs(source, target)
    links = read_naacl(alignment, len(pairs))
    try:
        check_links(pairs, links)
    except ValueError as error:
        raise ValueError(f"{alignment}: {error}") from error
    numbers = list(range(1, len(pairs) + 1))
    return Bunch(pairs=pairs, links=links, numbers=numbers, DESCR=DESCR)


def pairs_in(place: Path) -> list[str]:
    """Names of the language pairs whose three files are in `place` or its data folder."""
    found = set()
    for folder in (place, place / FOLDER):
        for file in folder.glob("*-*.wa"):
            if PAIR.fullmatch(file.stem) and _is_whole(folder, file.stem):
                found.add(file.stem)
    return sorted(found)


def _names(pair: str) -> tuple[str, str, str]:
    source, target = pair.split("-")
    return f"{pair}.{source}", f"{pair}.{target}", f"{pair}.wa"


def _is_whole(folder: Path, pair: str) -> bool:
    return all((folder / name).is_file() for name in _names(pair))


def _find(pair: str, path: str | os.PathLike | None) -> Path:
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [cache_folder()] if path is None else [Path(path).expanduser()]
    if path is None and shared:
        places.insert(0, Path(shared).expanduser())
    for place in places:
        for folder in (place, place / FOLDER):
            if _is_whole(folder, pair):
                return folder
    known = sorted({name for place in places for name in pairs_in(place)})
    raise FileNotFoundError(
        f"no {', '.join(_names(pair))} in {', '.join(map(str, places))} "
        f"(pairs found there: {', '.join(known) or 'none'}). They are not downloaded: put them in "
        f"{cache_folder() / FOLDER}, or in a folder {FOLDER}/ inside the folder that "
        "MAXMARGIN_DATA names, or pass their folder as path="
    )


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    found = pairs_in(folder)
    return [f"alignment ({', '.join(found)})"] if found else []
