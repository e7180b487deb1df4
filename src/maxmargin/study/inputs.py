"""The files that a study rests on, and the values of a task's own options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxmargin.jobs import Job


def options_of(job: Job, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all options of the job, by name."""
    given = plan["task-options"]
    values = {option.name: given.get(option.name, option.default) for option in job.options}
    for option in job.options:
        value = values[option.name]
        if option.many and value is not None:
            value = tuple(value) if isinstance(value, list | tuple) else (value,)
        if option.kind is Path and value is not None:
            value = tuple(map(Path, value)) if option.many else Path(value)
        values[option.name] = value
    return values


def files_of(job: Job, plan: Mapping[str, Any]) -> list[Path]:
    """All files that are read: data, test data, and those that options of the task name."""
    files = [Path(path) for key in ("data", "test") for path in plan.get(key, ())]
    values = options_of(job, plan)
    for option in job.options:
        value = values[option.name]
        if option.kind is Path and value is not None:
            files += value if option.many else [value]
    return files


def digests(files: list[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file, in order."""
    return [{"path": str(path), **_digest(path)} for path in files]


def _digest(path: Path) -> dict[str, Any]:
    if path.is_dir():
        inside = sorted(own for own in path.rglob("*") if own.is_file())
        own = "".join(f"{p.relative_to(path)} {_digest(p)['sha256']}\n" for p in inside)
        digest = hashlib.sha256(own.encode()).hexdigest()
        size = sum(p.stat().st_size for p in inside)
    else:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = path.stat().st_size
    return {"name": path.name, "bytes": size, "sha256": digest}
