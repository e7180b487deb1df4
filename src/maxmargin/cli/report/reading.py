"""The files of a run folder or a comparison folder, as they are found: parts may be missing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["as_mapping", "read_json", "read_lines", "read_toml", "as_rows"]


def read_json(path: Path) -> Any:
    """A JSON file, or None where there is none; a damaged one is a ValueError that names it."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path}: not JSON ({error}). The file is damaged; restore it, or repeat the run."
        ) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Records, one JSON object a line. A line cut off by a crash is left out."""
    records = []
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """A TOML file and its text; empty where there is none or it cannot be read."""
    try:
        words = path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return {}, ""
    try:
        return tomllib.loads(words), words
    except tomllib.TOMLDecodeError:
        return {}, words


def as_mapping(found: Any) -> dict[str, Any]:
    """The same if it is a mapping, else an empty one."""
    return dict(found) if isinstance(found, Mapping) else {}


def as_rows(found: Any) -> list[dict[str, Any]]:
    """The mappings in a list, or none."""
    return [own for own in found if isinstance(own, dict)] if isinstance(found, list) else []
