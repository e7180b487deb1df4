"""Find a data file: the user's path, the MAXMARGIN_DATA folder, the cache, the official address."""

from __future__ import annotations

import gzip
import http.client
import logging
import os
import shutil
import sys
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

logger = logging.getLogger("maxmargin")

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Source:
    """One public file.

    `folder` is the data set's folder name, `names` the file names accepted on disk (the first is
    that of the download), `url` the official address. `check(raw, name)` gets the decompressed
    bytes of a download and raises ValueError unless they are the known content.
    """

    folder: str
    names: tuple[str, ...]
    url: str
    check: Callable[[bytes, str], None]


def find_file(source: Source, path: str | os.PathLike | None = None) -> Path:
    """Return the file of `source`; only when it is nowhere on disk is it downloaded."""
    if path is not None:
        found = _look_in(Path(path).expanduser(), source)
        if found is None:
            raise FileNotFoundError(
                f"no {' or '.join(source.names)} at {os.fspath(path)!r}: give the file, its "
                f"folder, or the folder that holds {source.folder}/. "
                f"The official copy is {source.url}"
            )
        return found
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [Path(shared).expanduser()] if shared else []
    for place in [*places, cache_folder()]:
        found = _look_in(place, source)
        if found is not None:
            return found
    return download_file(source)


def find_local(folder: str, names: tuple[str, ...], path: Any, source: str) -> Path:
    """Return a file that is not downloaded, and say where it is from if it is not found.

    folder, names : as for `Source`. path : the user's file or folder, or None.
    """
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [Path(path).expanduser()] if path is not None else [Path(shared)] if shared else []
    for place in [*places, *([cache_folder()] if path is None else [])]:
        if place.is_file():
            return place
        for name in names:
            for found in (place / name, place / folder / name):
                if found.is_file():
                    return found
    raise FileNotFoundError(
        f"no {folder}/{names[0]} found: give its folder as path, or set MAXMARGIN_DATA to the one"
        f" that holds {folder}/. The source: {source}."
    )


def has_file(source: Source, folder: Path) -> bool:
    """Whether a folder holds the file, where `find_file` would look for it."""
    return _look_in(folder, source) is not None


def read_file(path: Path) -> bytes:
    """Return the content of a file, decompressed when it is gzip by its first bytes."""
    raw = path.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{path}: damaged gzip file ({error}); delete it and fetch it again"
        ) from error


def cache_folder() -> Path:
    """Return MAXMARGIN_CACHE, or the folder where this platform keeps a user's caches."""
    own = os.environ.get("MAXMARGIN_CACHE")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "maxmargin"


def download_file(source: Source) -> Path:
    """Fetch `source` into the cache; the file appears there whole and checked, or not at all."""
    target = cache_folder() / source.folder / source.names[0]
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    except OSError as error:
        raise OSError(
            f"cannot write to the cache folder {target.parent} ({error}); "
            "set MAXMARGIN_CACHE to a folder you may write to"
        ) from error
    try:
        _fetch(source, target, partial)
        try:
            source.check(read_file(partial), target.name)
        except ValueError as error:
            raise ValueError(
                f"{source.url} did not deliver the known {target.name}: {error}. Nothing was kept. "
                f"If you trust a copy of your own, pass its place as path=. {_by_hand(source)}"
            ) from error
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _fetch(source: Source, target: Path, partial: Path) -> None:
    logger.info("downloading %s to %s", source.url, target)
    try:
        with urlopen(source.url, timeout=TIMEOUT_SECONDS) as reply, partial.open("wb") as out:
            shutil.copyfileobj(reply, out)
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(
            f"{target.name} is not on this machine and {source.url} could not be reached "
            f"({error}). {_by_hand(source)}"
        ) from error


def _by_hand(source: Source) -> str:
    target = cache_folder() / source.folder / source.names[0]
    return (
        f"By hand: fetch {source.url} on any machine and save it as {target}, "
        f"or in a folder {source.folder}/ inside the folder that MAXMARGIN_DATA names, "
        "or pass its place as path=."
    )


def _look_in(place: Path, source: Source) -> Path | None:
    if place.is_file():
        return place
    for folder in (place, place / source.folder):
        for name in source.names:
            if (folder / name).is_file():
                return folder / name
    return None
