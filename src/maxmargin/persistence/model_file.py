"""The model file itself: a zip archive, written whole or not at all, checked as it is read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from maxmargin import __version__
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence.archive import (
    DAMAGE,
    check_total,
    list_members,
    read_bytes,
    unpacked_limit,
)
from maxmargin.persistence.files import write_whole
from maxmargin.persistence.members import read_array, write_array

FORMAT = "maxmargin model"
VERSION = 1
HEADER = "header.json"
#: bytes of the header; JSON takes up to twenty times as much in memory
MAX_HEADER = 16 << 20
#: of deflate, from 1 to 9; on a tagger's weights, 6 saves another 2 % and takes a quarter longer
LEVEL = 4

_MEMBER = re.compile(r"a(0|[1-9]\d{0,6})\.npy")
_COMMENT = "maxmargin model, sha256 of the header: {}"
_KEYS = {"format", "version", "library", "class", "model", "members"}
_SPEC = {"bytes": int, "sha256": str, "dtype": str, "shape": list, "fortran": bool}


class Contents(NamedTuple):
    """What a file holds: the tree, its arrays, and how many bytes may be allocated besides."""

    tree: Any
    arrays: dict[str, np.ndarray]
    allowance: int


# -- writing ---------------------------------------------------------------------------------------
def write_model(
    path: str | os.PathLike,
    tree: dict[str, Any],
    arrays: list[np.ndarray],
    level: int | None = None,
) -> None:
    """Write a file whole or not at all."""
    used = LEVEL if level is None else level
    write_whole(path, lambda file: _write_zip(file, tree, arrays, used))


def _write_zip(file: BinaryIO, tree: dict[str, Any], arrays: list[np.ndarray], level: int) -> None:
    members = {}
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=level) as archive:
        for number, array in enumerate(arrays):
            name = f"a{number}.npy"
            # by name, so that zipfile dates it 1980: nothing depends on the time
            with archive.open(name, "w", force_zip64=array.nbytes > 1 << 30) as out:
                members[name] = write_array(out, array)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            "class": tree["class"],
            "model": tree,
            "members": members,
        }
        raw = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")
        if len(raw) > MAX_HEADER:
            raise ValueError(
                f"the model has too many small parts to be saved ({len(raw)} bytes of header, at"
                f" most {MAX_HEADER}); hold them in arrays."
            )
        with archive.open(HEADER, "w") as out:
            out.write(raw)
        for info in archive.infolist():
            info.create_system = 3  # nor on the system
        archive.comment = _COMMENT.format(hashlib.sha256(raw).hexdigest()).encode("ascii")


# -- reading ---------------------------------------------------------------------------------------
def read_model(path: str | os.PathLike, max_bytes: int | None = None) -> Contents:
    """What a file holds, all of it checked; a ModelFileError says what is wrong."""
    if Path(path).expanduser().is_dir():
        raise IsADirectoryError(errno.EISDIR, _of_folder(Path(path)), os.fspath(path))
    with Path(path).expanduser().open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        limit = unpacked_limit(size, max_bytes)
        try:
            with ZipFile(file) as archive:
                return _read_zip(archive, size, limit)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
        except DAMAGE as error:
            raise ModelFileError(
                f"{os.fspath(path)!r} is not a model file, or is damaged or cut short ({error})."
            ) from error


def _of_folder(path: Path) -> str:
    found = sorted(path.expanduser().glob("*.maxmargin"))
    names = [own for own in found if own.name != "checkpoint.maxmargin"]
    hint = f"; load the file in it, load({os.fspath(path / names[0].name)!r})" if names else ""
    return f"it is a folder, not a model file{hint}"


def _read_zip(archive: ZipFile, size: int, limit: int) -> Contents:
    infos = list_members(archive, size, ModelFileError)
    for name in infos:
        if name != HEADER and not _MEMBER.fullmatch(name):
            raise ModelFileError(f"it has a member {name[:80]!r}, which no model file has.")
    raw = _read_header(archive, infos)
    header = _parse(raw)
    expected = _COMMENT.format(hashlib.sha256(raw).hexdigest()).encode("ascii")
    if archive.comment != expected:
        raise ModelFileError("its header is damaged: its checksum is wrong.")
    members = header["members"]
    if members.keys() != infos.keys() - {HEADER}:
        raise ModelFileError("its members are not those that its header names.")
    for name, spec in members.items():
        _check_spec(name, spec, infos[name].file_size)
    hint = "If you trust it, load it with max_bytes={total} or more."
    check_total(infos, limit, hint, ModelFileError)
    arrays = {}
    for name, spec in members.items():
        with archive.open(infos[name]) as stream:
            arrays[name] = read_array(stream, name, spec)  # type: ignore[arg-type]
    return Contents(header["model"], arrays, limit)


def _read_header(archive: ZipFile, infos: dict[str, ZipInfo]) -> bytes:
    if HEADER not in infos:
        raise ModelFileError(f"it has no {HEADER}, so it is not a model of maxmargin.")
    if infos[HEADER].file_size > MAX_HEADER:
        raise ModelFileError(f"its {HEADER} has more than {MAX_HEADER} bytes.")
    with archive.open(infos[HEADER]) as stream:
        return read_bytes(stream, infos[HEADER].file_size).tobytes()


def _parse(raw: bytes) -> dict[str, Any]:
    header = json.loads(raw.decode("ascii"), parse_constant=_no_constant, object_pairs_hook=_unique)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("it is not a model of maxmargin.")
    version = header.get("version")
    if type(version) is int and version > VERSION:
        library = str(header.get("library"))[:40]
        raise ModelFileError(
            f"it was written by maxmargin {library} in format {version}; this version reads format"
            f" {VERSION}. Upgrade: pip install --upgrade maxmargin."
        )
    if type(version) is not int or version < 1 or header.keys() != _KEYS:
        raise ModelFileError("its header does not follow the format.")
    members, model = header["members"], header["model"]
    if not (isinstance(members, dict) and isinstance(model, dict)):
        raise ModelFileError("its header does not follow the format.")
    if model.get("is") != "object" or model.get("class") != header["class"]:
        raise ModelFileError("its header names another class than its model has.")
    return header


def _check_spec(name: str, spec: Any, size: int) -> None:
    """Types and sizes of what the header says about an array, before memory is asked for."""
    if not isinstance(spec, dict) or spec.keys() != _SPEC.keys():
        raise ModelFileError(f"its header does not describe {name} as the format asks.")
    if any(type(spec[key]) is not kind for key, kind in _SPEC.items()):
        raise ModelFileError(f"its header does not describe {name} as the format asks.")
    if any(type(length) is not int or length < 0 for length in spec["shape"]):
        raise ModelFileError(f"its header gives {name} an impossible shape.")
    if spec["bytes"] != size:
        raise ModelFileError(f"its header and its directory differ on the size of {name}.")


def _no_constant(text: str) -> Any:
    raise ModelFileError(f"its header has the number {text}, which JSON does not know.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("its header says the same thing twice.")
    return found
