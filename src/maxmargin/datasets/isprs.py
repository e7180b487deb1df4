"""Airborne laser scans, bare earth and objects (ISPRS filter test, Sithole and Vosselman)."""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, cache_folder, download_file, read_file

#: points and points of bare earth of each scan, as published
COUNTS = {
    "samp11": (38010, 21786),
    "samp12": (52119, 26691),
    "samp21": (12960, 10085),
    "samp22": (32706, 22504),
    "samp23": (25095, 13223),
    "samp24": (7492, 5434),
    "samp31": (28862, 15556),
    "samp41": (11231, 5602),
    "samp42": (42470, 12443),
    "samp51": (17845, 13950),
    "samp52": (22474, 20112),
    "samp53": (34378, 32989),
    "samp54": (8608, 3983),
    "samp61": (35060, 33854),
    "samp71": (15645, 13875),
}
FOLDER = "isprs_filter"
FILE = re.compile(r"(samp\d+)\.txt(\.gz)?", re.IGNORECASE)

DESCR = """\
Fifteen airborne laser scans, each point bare earth (0) or object (1: buildings, plants, bridges).

384,955 points, 252,087 of them bare earth. Scans 11 to 42 are of towns, one point a square metre or
so; 51 to 71 of the country, with fewer. Coordinates are metres, as in the files: some copies have
map coordinates in the millions, so take the mean off before computing in single precision.

Source: ISPRS working group III/3, https://www.itc.nl/isprs/wgIII-3/filtertest/ . G. Sithole,
G. Vosselman, Experimental comparison of filter algorithms for bare-earth extraction from airborne
laser scanning point clouds, ISPRS Journal of Photogrammetry and Remote Sensing 59, 2004.
"""


def load_isprs(path: str | os.PathLike | None = None, names: Sequence[str] | None = None) -> Bunch:
    """Load laser scans whose points are labelled bare earth or object.

    Parameters
    ----------
    path : str, path or None, default=None
        The folder of the files sampNN.txt or sampNN.txt.gz, the folder that holds
        ``isprs_filter/``, one such file, or the archive Reference.zip. None means the folder in
        MAXMARGIN_DATA, then the cache, then the official address. Only a download is compared with
        the known counts.
    names : sequence of str or None, default=None
        The scans to load, such as ["samp11", "samp53"]; None means all that are there.

    Returns
    -------
    Bunch
        With `clouds`, list of float64 arrays (N, 3), the coordinates of the files, nothing
        subtracted; `labels`, list of int64 arrays (N,), 0 = bare earth, 1 = object; `names`;
        `DESCR`.
    """
    found = _find(path)
    if names is not None:
        missing = [name for name in names if name not in found]
        if missing:
            raise ValueError(f"no scan {missing[0]!r}; there are {', '.join(sorted(found))}")
        found = {name: found[name] for name in names}
    names = list(found) if names is not None else sorted(found)
    clouds, labels = [], []
    for name in names:
        where, raw = found[name]
        cloud, own = scan_of(read_file(where) if raw is None else raw, str(where))
        clouds.append(cloud)
        labels.append(own)
    return Bunch(clouds=clouds, labels=labels, names=names, DESCR=DESCR)


def is_in(folder: Path) -> bool:
    """Whether scans would be read from there without a download."""
    return bool(_look_in(folder))


def scan_of(raw: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and labels, of the text of such a file; errors call it by the name."""
    if not raw.strip():
        raise ValueError(f"{name}: the file is empty, expected lines `x y z label`")
    try:
        rows = np.loadtxt(io.BytesIO(raw), comments=None, ndmin=2, encoding="utf-8")
    except (ValueError, UnicodeDecodeError):
        _blame(raw, name)
    good = rows.shape[1] == 4 and np.isfinite(rows).all() and np.isin(rows[:, 3], (0, 1)).all()
    if not good:
        _blame(raw, name)
    return np.ascontiguousarray(rows[:, :3]), rows[:, 3].astype(np.int64)


def _blame(raw: bytes, name: str) -> NoReturn:
    """Read again, slowly, and raise for the first malformed line."""
    for number, line in enumerate(raw.decode(errors="replace").split("\n"), start=1):
        error = _find_error(line.split())
        if error:
            raise ValueError(f"{name}, line {number}: {error}")
    raise ValueError(f"{name}: not lines `x y z label`")


def _find_error(fields: list[str]) -> str | None:
    if not fields:
        return None
    if len(fields) != 4:
        return f"found {len(fields)} fields, expected 4: x y z label"
    for column, text in zip("xyz", fields[:3], strict=True):
        try:
            finite = np.isfinite(float(text)) and "_" not in text
        except ValueError:
            finite = False
        if not finite:
            return f"found {column} = {text!r}, expected a finite number"
    try:
        known = float(fields[3]) in (0.0, 1.0)
    except ValueError:
        known = False
    return None if known else f"found label {fields[3]!r}, expected 0 (bare earth) or 1 (object)"


Found = dict[str, tuple[Path, bytes | None]]


def _find(path: str | os.PathLike | None) -> Found:
    """The scans by name: each with its file, and its text if that is inside an archive."""
    if path is not None:
        found = _look_in(Path(path).expanduser())
        if not found:
            raise FileNotFoundError(
                f"no sampNN.txt or sampNN.txt.gz at {os.fspath(path)!r}: give their folder, the"
                f" folder that holds {FOLDER}/, one file, or {SOURCE.names[0]}. The official copy"
                f" is {SOURCE.url}"
            )
        return found
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [Path(shared).expanduser()] if shared else []
    for place in [*places, cache_folder()]:
        found = _look_in(place)
        if found:
            return found
    return _unpack(download_file(SOURCE))


def _look_in(place: Path) -> Found:
    if place.is_file():
        if zipfile.is_zipfile(place):
            return _unpack(place)
        match = FILE.fullmatch(place.name)
        return {match[1].lower() if match else place.name.split(".")[0]: (place, None)}
    for folder in (place, place / FOLDER):
        found: Found = {}
        for file in sorted(folder.glob("[sS][aA][mM][pP]*")):
            match = FILE.fullmatch(file.name)
            if match and file.is_file():
                found.setdefault(match[1].lower(), (file, None))
        if found:
            return found
        for name in SOURCE.names:
            if (folder / name).is_file():
                return _unpack(folder / name)
    return {}


def _unpack(archive: Path) -> Found:
    return {
        name: (archive / member, raw)
        for name, member, raw in _members(archive.read_bytes(), str(archive))
    }


def _members(raw: bytes, name: str) -> list[tuple[str, str, bytes]]:
    """Scans in an archive: name, name of the member, text."""
    found = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for member in archive.namelist():
                match = FILE.fullmatch(Path(member).name)
                if match and not match[2]:
                    found.append((match[1].lower(), member, archive.read(member)))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(f"{name}: damaged archive ({error}); fetch it again") from error
    return found


def _check(raw: bytes, name: str) -> None:
    """Fail unless an archive has the published numbers of points and of bare earth."""
    found = {}
    for scan, member, text in _members(raw, name):
        _, labels = scan_of(text, f"{name}/{member}")
        found[scan] = (len(labels), int((labels == 0).sum()))
    for scan, expected in COUNTS.items():
        if found.get(scan) != expected:
            raise ValueError(
                f"{scan} has (points, bare earth) {found.get(scan)}, expected {expected}"
            )


SOURCE = Source(
    folder=FOLDER,
    names=("Reference.zip",),
    url="https://www.itc.nl/isprs/wgIII-3/filtertest/Reference.zip",
    check=_check,
)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    return ["isprs"] if is_in(folder) else []
