"""Where a result comes from: data, settings, machine, and how to get it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxmargin.cli.report.markup import Html, bdi, clip_text, el, join
from maxmargin.cli.report.page import Section
from maxmargin.cli.report.reading import as_mapping, as_rows
from maxmargin.cli.report.tables import grid_html, pairs_html
from maxmargin.drawing.numbers import format_count

__all__ = [
    "as_list",
    "command_line",
    "data_html",
    "data_sets",
    "environment_section",
    "page_foot",
    "repeat_html",
    "version_of",
]


def page_foot(environment: Mapping[str, Any]) -> str:
    """What stands at the end of every report."""
    version = version_of(environment)
    return f"Written by maxmargin{f' {version}' if version else ''}. This file loads nothing."


def version_of(environment: Mapping[str, Any]) -> str:
    """The version of the library that made the folder."""
    versions = as_mapping(environment.get("versions"))
    return str(versions.get("maxmargin") or environment.get("maxmargin") or "")


def as_list(found: Any) -> list[Any]:
    """A list as it is, nothing as an empty one, else a list of one."""
    return found if isinstance(found, list) else [] if found is None else [found]


DataSet = tuple[str, dict[str, Any], list[dict[str, Any]]]


def data_sets(data: Mapping[str, Any]) -> list[DataSet]:
    """(name, counts, files) of each set of data in data.json."""
    files = data.get("files")
    if isinstance(files, dict):
        files = [
            {"name": name, **(own if isinstance(own, dict) else {"sha256": own})}
            for name, own in files.items()
        ]
    found: list[DataSet] = [("", as_mapping(data.get("counts")), as_rows(files))]
    others = ((str(name), own) for name, own in data.items() if name not in ("files", "counts"))
    found += [(name, own, []) for name, own in others if isinstance(own, dict)]
    return [own for own in found if own[1] or own[2]]


def data_html(data: Mapping[str, Any], config: Mapping[str, Any]) -> Html:
    """The input files with their sizes and checksums, and what was counted in them."""
    parts: list[Html] = []
    for name, counts, files in data_sets(data):
        listed = [
            [
                str(f.get("name") or f.get("path") or ""),
                str(f.get("role") or f.get("use") or name).removeprefix("task-options."),
                "".join(f"{format_count(f[key])} bytes" for key in ("bytes", "size") if key in f),
                str(f.get("sha256") or "")[:16],
            ]
            for f in files
        ]
        if listed:
            kept = [k for k in range(4) if any(row[k] for row in listed)]
            titles = ("file", "used for", "size", "sha256 (first 16 digits)")
            parts.append(
                grid_html("", [titles[k] for k in kept], [[row[k] for k in kept] for row in listed])
            )
        if counts:
            parts.append(el("h4", "Counted in the ", bdi(name or "training"), " data"))
            parts.append(pairs_html(counts))
    if not parts:
        paths = {key: as_list(config.get(key)) for key in ("data", "validation") if key in config}
        parts.append(pairs_html(paths) if paths else el("p", "The run recorded no data files."))
    return join(parts)


def repeat_html(folder: Path, environment: Mapping[str, Any]) -> Html:
    """Commands that give the same result again."""
    again = f"maxmargin train --config {shlex.quote(str(folder / 'config.toml'))} --out NEW-FOLDER"
    parts = [
        el("p", "With the recorded settings, into another folder:"),
        el("pre", el("code", bdi(again)), class_="scroll", tabindex="0"),
    ]
    line = command_line(environment)
    if line:
        parts += [
            el("p", "The command that was given:"),
            el("pre", el("code", bdi(line)), class_="scroll", tabindex="0"),
        ]
    return join(parts)


def command_line(environment: Mapping[str, Any]) -> str:
    """The recorded command, from a string or a list of arguments."""
    for key in ("command", "command_line", "argv"):
        found = environment.get(key)
        if isinstance(found, list) and found:
            # however the program was started, this is how to start it again
            return shlex.join(["maxmargin", *(str(part) for part in found[1:])])
        if found:
            return str(found)
    return ""


def environment_section(environment: Mapping[str, Any], config: str, name: str) -> Section:
    """Settings, versions and machine, folded away."""
    body = join(
        (
            el("details", el("summary", "Configuration (", el("code", name), ")"), _pre(config)),
            el("details", el("summary", "Environment"), pairs_html(environment)),
        )
    )
    return Section("environment", "Environment", "Settings, versions, machine.", body)


def _pre(words: str) -> Html:
    lines = [clip_text(line, 500) for line in words.splitlines()[:300]]
    return el(
        "pre",
        el("code", join([bdi(line) for line in lines], Html("\n"))),
        class_="scroll",
        tabindex="0",
    )
