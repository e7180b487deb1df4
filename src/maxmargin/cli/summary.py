"""What `maxmargin train` tells about a finished run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli import text

if TYPE_CHECKING:
    from maxmargin.runs import RunFolder


def document(folder: RunFolder, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary for programs."""
    return {"run": str(folder.path), **summary, "files": _files(folder.path)}


def words(folder: RunFolder, summary: Mapping[str, Any]) -> str:
    """What was trained on what, how good it is, what was written, and what to do next."""
    path = folder.path
    lines = {
        "Trained": _what(folder, summary),
        "Certificate": summary["certificate"],
        **_errors(summary["metrics"]),
        "Time": f"{summary['seconds']:.1f} s of training, {_passes(summary)}",
        "Files": f"{path}: {', '.join(_files(path))}",
    }
    name = shlex.quote(str(path))
    following = [
        ("predict", f"maxmargin predict {name} INPUT"),
        ("evaluate", f"maxmargin evaluate {name} DATA"),
        ("report", f"maxmargin report {name}"),
    ]
    return "\n".join(
        [text.facts(lines), "", "Next:", *(f"  {text.shown(line)}" for _, line in following)]
    )


def _what(folder: RunFolder, summary: Mapping[str, Any]) -> str:
    facts = folder.read_json("data.json").get("facts", {})
    counts = [f"{value:,} {key}" for key, value in facts.items() if isinstance(value, int)]
    samples = ", ".join(counts) or text.counted(summary["n_samples"], "sample")
    weights = text.counted(summary["n_weights"], "weight")
    return (
        f"{summary['title'].lower()} on {samples}; {weights},"
        f" by {summary['solver']} with alpha {summary['alpha']:g}, loss {summary['loss']}"
    )


def _errors(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    titles = {"train": "On the data", "validation": "On validation"}
    return {
        titles.get(name, name): ", ".join(f"{own} {text.cell(value)}" for own, value in one.items())
        for name, one in metrics.items()
        if one
    }


def _passes(summary: Mapping[str, Any]) -> str:
    passes = summary["n_epochs"]
    return "1 pass over the data" if passes == 1 else f"{passes:,} passes over the data"


def _files(path: Path) -> list[str]:
    return sorted(
        file.relative_to(path).as_posix()
        for file in path.rglob("*")
        if file.is_file() and not file.name.startswith(".")
    )
