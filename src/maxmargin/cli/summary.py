"""What `maxmargin train` tells about a finished run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli import text
from maxmargin.cli.evaluate import format_metric

if TYPE_CHECKING:
    from maxmargin.cli.runs import RunFolder


def summary_document(
    folder: RunFolder, summary: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """The summary for programs; seconds : since the command began."""
    whole = {"total_seconds": seconds, "files": _files(folder.path)}
    return {"run": str(folder.path), **summary, **whole}


def describe_summary(
    folder: RunFolder, summary: Mapping[str, Any], seconds: float, resumed: bool
) -> str:
    """What was trained on what, how good it is, what was written, and what to do next.

    seconds : since the command began; resumed : which may be less than all training took.
    """
    path = folder.path
    lines = {
        "Trained": _describe_data(folder, summary),
        "Method": _method(summary),
        **_alpha(summary),
        "Certificate": summary["certificate"],
        **_calibration(summary),
        **_errors(folder, summary["metrics"]),
        "Time": f"{seconds:.1f} s{' since it was resumed' if resumed else ''};"
        f" {summary['seconds']:.1f} s of training, {_passes(summary)}",
        "Files": f"{path}: {', '.join(_files(path))}",
    }
    if summary.get("note"):
        lines["Note"] = summary["note"]
    name = text.visible_text(shlex.quote(str(path)))
    following = [
        f"  maxmargin predict {name} INPUT",
        f"  maxmargin evaluate {name} DATA",
        f"  maxmargin report {name}",
    ]
    return "\n".join([text.format_pairs(lines), "", "Next:", *following])


def _describe_data(folder: RunFolder, summary: Mapping[str, Any]) -> str:
    counts = folder.read_json("data.json").get("counts", {})
    count, learned = summary["n_samples"], summary.get("n_learned", summary["n_samples"])
    noun = next((key for key, own in counts.items() if own == count), "samples")
    some = f"; learned from {learned:,} of {count:,} {noun}" if learned < count else ""
    counts = [text.count_plurals(own, key) for key, own in counts.items() if isinstance(own, int)]
    samples = ", ".join(counts) or text.count_nouns(count, "sample")
    names = " ".join(Path(file).name for file in folder.config["data"])
    return f"{summary['title'].lower()} on {names} ({samples}){some}"


def _method(summary: Mapping[str, Any]) -> str:
    chosen = [summary["solver"]]
    chosen += ["likelihood"] if summary.get("objective") == "likelihood" else []
    chosen += [] if summary["alpha"] is None else [f"alpha {summary['alpha']:g}"]
    chosen += [] if summary["loss"] is None else [f"loss {summary['loss']}"]
    return f"{', '.join(chosen)}; {text.count_nouns(summary['n_weights'], 'weight')}"


def _alpha(summary: Mapping[str, Any]) -> dict[str, str]:
    found = summary.get("alpha_search")
    if not found:
        return {}
    tried = ", ".join(f"{alpha:.2g}: {score:.4f}" for alpha, score in found["tried"])
    return {"Alpha": f"{found['alpha']:.3g}, by {found['metric']} on {found['by']} ({tried})"}


def _calibration(summary: Mapping[str, Any]) -> dict[str, str]:
    found = summary.get("calibration")
    if not found:
        return {}
    count = text.count_nouns(found["n_samples"], "sample")
    words = f"temperature {found['temperature']:.3g}, from {count}"
    if found["left_out"]:
        words += f"; {found['left_out']:,} with labels that are not in the data left out"
    return {"Calibrated": words}


def _errors(folder: RunFolder, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The metrics as the evaluations have them, which know what is a share."""
    titles = {"train": "On the data", "validation": "On validation"}
    return {
        titles.get(name, name): ", ".join(
            f"{metric['name']} {format_metric(metric)}"
            for metric in folder.read_json(f"evaluations/{name}.json")["metrics"]
        )
        for name in metrics
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
