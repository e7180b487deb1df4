"""Horses in photographs, with masks: the Weizmann horses (Borenstein and Ullman)."""

from __future__ import annotations

import io
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from maxmargin.datasets._files import Source, cache_folder, download_file
from maxmargin.optional import import_pillow

DESCR = """\
Photographs of horses seen from the side, and masks: 1 where the horse is, 0 elsewhere.

The release has 328 pictures as JPEG files, in colour (rgb/), in grey (gray/) and as masks
(figure_ground/). Its colour pictures are larger than its masks; they are made as small as these.
horses96_train.npz holds the 164 with odd places in name order, the longer side 96 pixels, 25.4 %
of the pixels horse.

Source: https://www.msri.org/people/members/eranb/ . E. Borenstein, S. Ullman, Class-specific,
top-down segmentation, ECCV 2002. For research; no licence is stated.
"""

FOLDER = "weizmann_horses"
RELEASE = "weizmann_horse_db"
ARCHIVE = f"{RELEASE}.tar.gz"
SMALL = "horses96_train.npz"
URL = f"https://www.msri.org/people/members/eranb/{ARCHIVE}"
N_RELEASED = 328
KINDS = ("rgb", "figure_ground")
PICTURE = re.compile(r"horse(\d+)\.jpe?g", re.IGNORECASE)
HALF = 128  # masks are JPEG, too: a value from here on is horse


def load_horses(path: str | os.PathLike | None = None) -> Bunch:
    """Load the Weizmann horses: colour images and masks.

    Parameters
    ----------
    path : str, path or None, default=None
        The folder that holds rgb/ and figure_ground/, the archive weizmann_horse_db.tar.gz, the
        file horses96_train.npz, or a folder that holds one of these, itself or in weizmann_horses/
        or weizmann_horse_db/. None means the folder in MAXMARGIN_DATA, then the cache, then the
        official address. Images of the folder and the archive are read by pillow: ``pip install
        "maxmargin[images]"``.

    Returns
    -------
    Bunch
        With `images`, list of (H, W, 3) uint8; `masks`, list of (H, W) uint8, 1 = horse; `ids`, the
        numbers in the file names; `DESCR`.
    """
    found = _find(path)
    if found.is_dir():
        images, masks, ids = _of_pictures(_in_folder(found), str(found))
    elif found.suffix == ".npz":
        images, masks, ids = _of_arrays(found)
    else:
        images, masks, ids = _of_pictures(_in_archive(found.read_bytes(), str(found)), str(found))
    return Bunch(images=images, masks=masks, ids=ids, DESCR=DESCR)


def is_in(folder: Path) -> bool:
    """Whether the pictures would be read from there without a download."""
    return _look_in(folder) is not None


# -- where the pictures are ------------------------------------------------------------------------
def _find(path: str | os.PathLike | None) -> Path:
    shared = os.environ.get("MAXMARGIN_DATA")
    places = [Path(shared).expanduser()] if shared else []
    places = [*places, cache_folder()] if path is None else [Path(path).expanduser()]
    for place in places:
        found = _look_in(place)
        if found is not None:
            return found
    if path is not None:
        raise FileNotFoundError(
            f"no horses at {os.fspath(path)!r}: expected a folder with rgb/ and figure_ground/,"
            f" {ARCHIVE} or {SMALL}; or the folder that holds {FOLDER}/ or {RELEASE}/. The"
            f" official copy is {URL}"
        )
    return download_file(SOURCE)


def _look_in(place: Path) -> Path | None:
    if place.is_file():
        return place
    for folder in ("", FOLDER, RELEASE, f"{FOLDER}/{RELEASE}"):
        here = place / folder
        if all((here / kind).is_dir() for kind in KINDS):
            return here
        for name in (ARCHIVE, SMALL):
            if (here / name).is_file():
                return here / name
    return None


# -- the release's pictures ------------------------------------------------------------------------
#: kind -> number -> (name, content or the file that has it)
Pictures = dict[str, dict[int, tuple[str, Any]]]


def _sorted_in(files: Iterator[tuple[str, str, Any]]) -> Pictures:
    found: Pictures = {kind: {} for kind in KINDS}
    for kind, name, source in files:
        match = PICTURE.fullmatch(name)
        if kind in found and match:
            found[kind][int(match[1])] = (f"{kind}/{name}", source)
    return found


def _in_folder(folder: Path) -> Pictures:
    files = ((kind, file.name, file) for kind in KINDS for file in (folder / kind).iterdir())
    return _sorted_in(files)


def _in_archive(raw: bytes, name: str) -> Pictures:
    try:
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            return _sorted_in(_members(archive))
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name}: not the archive {ARCHIVE} ({error})") from error


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, str, Any]]:
    for member in archive:
        place = Path(member.name)
        opened = archive.extractfile(member) if member.isfile() else None
        if opened is not None and place.parent.name in KINDS:
            yield place.parent.name, place.name, io.BytesIO(opened.read())


def _of_pictures(pictures: Pictures, name: str) -> tuple[list, list, np.ndarray]:
    rgb, foreground = (pictures[kind] for kind in KINDS)
    if not rgb:
        raise ValueError(f"{name}: no rgb/horseNNN.jpg in it")
    for kind, own, other in ((KINDS[1], rgb, foreground), (KINDS[0], foreground, rgb)):
        lost = sorted(own.keys() - other.keys())
        if lost:
            raise ValueError(f"{name}: {own[lost[0]][0]} has no partner in {kind}/")
    images, masks = [], []
    for number in sorted(rgb):
        mask = np.asarray(_opened(*foreground[number], name).convert("L"))
        height, width = mask.shape
        image = _opened(*rgb[number], name).convert("RGB")
        if image.size != (width, height):
            image = image.resize((width, height), resample=_lanczos())
        images.append(np.asarray(image))
        masks.append((mask >= HALF).astype(np.uint8))
    return images, masks, np.array(sorted(rgb), dtype=np.int64)


def _opened(name: str, source: Any, where: str) -> Any:
    Image = import_pillow("Image")
    try:
        with Image.open(source) as picture:
            picture.load()
            return picture
    except OSError as error:  # among them PIL.UnidentifiedImageError
        raise ValueError(f"{where}: {name} is not a picture, or damaged ({error})") from error


def _lanczos() -> Any:
    return import_pillow("Image").Resampling.LANCZOS


# -- the small arrays ------------------------------------------------------------------------------
def _of_arrays(file: Path) -> tuple[list, list, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in ("ids", "shape", "rgb", "mask")}
    except (KeyError, ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{file}: not a file of horses ({error}); expected arrays ids, shape, rgb, mask"
        ) from error
    _check_arrays(arrays, file)
    shapes = [(int(height), int(width)) for height, width in arrays["shape"]]
    cuts = np.cumsum([height * width for height, width in shapes])[:-1]
    rgb, mask = (np.split(arrays[name], cuts) for name in ("rgb", "mask"))
    return (
        [own.reshape(*shape, 3) for own, shape in zip(rgb, shapes, strict=True)],
        [own.reshape(shape) for own, shape in zip(mask, shapes, strict=True)],
        arrays["ids"].astype(np.int64),
    )


def _check_arrays(arrays: Mapping[str, np.ndarray], file: Path) -> None:
    ids, shape, rgb, mask = (arrays[name] for name in ("ids", "shape", "rgb", "mask"))
    n = len(ids) if ids.ndim == 1 else -1
    total = int(shape.prod(axis=1).sum()) if shape.shape == (n, 2) and n > 0 else -1
    if total < 0 or shape.min() < 1 or rgb.shape != (total, 3) or mask.shape != (total,):
        raise ValueError(
            f"{file}: ids {ids.shape}, shape {shape.shape}, rgb {rgb.shape} and mask {mask.shape}"
            " do not fit together"
        )
    if rgb.dtype != np.uint8 or mask.dtype != np.uint8 or mask.max() > 1:
        raise ValueError(f"{file}: rgb and mask must be uint8, and mask 0 or 1")


def _check(raw: bytes, name: str) -> None:
    """By counts: no digest of the archive is published."""
    pictures = _in_archive(raw, name)
    found = tuple(len(pictures[kind]) for kind in KINDS)
    if found != (N_RELEASED, N_RELEASED):
        raise ValueError(f"{found[0]} pictures and {found[1]} masks, expected {N_RELEASED} of each")


SOURCE = Source(folder=FOLDER, names=(ARCHIVE,), url=URL, check=_check)


def names_in(folder: Path) -> list[str]:
    """What `maxmargin info` says is in a folder."""
    return ["horses"] if is_in(folder) else []
