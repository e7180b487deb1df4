"""Where a run took place, and on which files."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from maxmargin import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_PIECE = 1 << 20


def describe_environment(threads: int) -> dict[str, Any]:
    """Versions, machine and command line."""
    return {
        "maxmargin": __version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads,
        "command": sys.argv,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def files_of(config: Mapping[str, Any], command: Any) -> list[dict[str, Any]]:
    """Size and checksum of every file that the run reads."""
    named = [(key, Path(path)) for key in ("data", "validation") for path in config.get(key, ())]
    given = config.get("task-options", {})
    for option in command.options:
        if option.kind is Path and given.get(option.name):
            value = given[option.name]
            own = value if option.many else [value]
            role = f"task-options.{option.name}"
            named += [(role, command.placed(option.name, Path(path))) for path in own]
    return [{"role": role, **_file_summary(path)} for role, path in named]


def _file_summary(path: Path) -> dict[str, Any]:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path}: is a pipe or a device, and data are read more than once; write them to a file"
            " first."
        )
    digest, size = hashlib.sha256(), 0
    for file in _files(path):
        if path.is_dir():
            digest.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
                size += len(piece)
    return {"name": path.name, "path": str(path), "bytes": size, "sha256": digest.hexdigest()}


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*")):  # hidden ones are not data
        if file.is_file() and not any(own[0] == "." for own in file.relative_to(path).parts):
            yield file
