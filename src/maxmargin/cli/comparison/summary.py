"""What a comparison has found: a row for each solver and size, and how the costs grow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from maxmargin.cli.comparison.config import settings_of
from maxmargin.cli.comparison.growth import growth_exponent

#: what rows give the mean and spread of
QUANTITIES = (
    "seconds",
    "wall_seconds",
    "cpu_seconds",
    "compile_seconds",
    "n_oracle",
    "n_project",
    "memory_bytes",
    "solver_bytes",
    "peak_bytes",
    "n_epochs",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "train_error",
    "test_error",
)
#: what every run that did not fail has
NEEDED = {*QUANTITIES, "base_bytes", "alpha", "n_parts", "n_weights", "error_name"} - {
    "memory_bytes",
    "solver_bytes",
}
#: what growth exponents are given for; peak_bytes here is above base_bytes
GROWING = {
    "seconds": "seconds",
    "cpu_seconds": "cpu_seconds",
    "peak_bytes": "memory_bytes",
    "solver_bytes": "solver_bytes",
    "n_oracle": "n_oracle",
    "n_project": "n_project",
}
#: what a time limit cuts short, so that it says nothing of how the work grows
_WORK = ("seconds", "cpu_seconds", "n_oracle", "n_project")
#: less is pages that come and go, not growth
LEAST_BYTES = 2**20


def summarise_comparison(
    config: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    about: Mapping[str, Any],
    title: str,
) -> dict[str, Any]:
    """The document `comparison.json`. about : what was found when the data were read."""
    good = [_with_memory(run) for run in runs if run["status"] != "failed"]
    failed = [_name_run(run) for run in runs if run["status"] == "failed"]
    solvers = list(config["solvers"])
    return {
        "task": config["task"],
        "title": title,
        "solvers": solvers,
        "settings": {label: settings_of(config, label) for label in solvers},
        "sizes": config["sizes"],
        "seeds": config["seeds"],
        "size_name": about["size_name"],
        "error_name": good[0]["error_name"] if good else "",
        "counts": {**about["counts"], "test samples": _n_test(config, about)},
        "runs": len(runs),
        "failed": failed,
        "rows": [
            row
            for label in solvers
            for size in config["sizes"]
            if (row := _row(label, size, good, failed)) is not None
        ],
        "exponents": [found for label in solvers for found in _exponents(label, good)],
    }


def _n_test(config: Mapping[str, Any], about: Mapping[str, Any]) -> int:
    if about["n_test"] is not None:
        return about["n_test"]
    rest = about["n_samples"] - max(config["sizes"])
    return min(rest, config.get("test-size", rest))


def _name_run(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: run[key] for key in ("solver", "size", "seed", "message")}


def _with_memory(run: Mapping[str, Any]) -> dict[str, Any]:
    """With what training took beyond the process that had the data and compiled code already."""
    peak, base = run["peak_bytes"], run["base_bytes"]
    # the system counts a peak a few pages late
    above = None if None in (peak, base) else max(peak - base, 0)
    return {"solver_bytes": None, **run, "memory_bytes": above}


def _row(
    label: str, size: int, good: list[dict[str, Any]], failed: list[dict[str, Any]]
) -> dict[str, Any] | None:
    own = [run for run in good if (run["solver"], run["size"]) == (label, size)]
    bad = sum((run["solver"], run["size"]) == (label, size) for run in failed)
    if not own and not bad:
        return None
    row: dict[str, Any] = {"solver": label, "size": size, "runs": len(own), "failed": bad}
    row["statuses"] = sorted({run["status"] for run in own})
    for name in ("alpha", "n_parts", "n_weights"):
        row[name] = _same_or_mean([run[name] for run in own])
    for name in QUANTITIES:
        row |= _spread(name, [run[name] for run in own])
    return row


def _same_or_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(set(known)) == 1:
        return known[0]
    return math.fsum(known) / len(known) if known else None


def _spread(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    """Mean, standard deviation (of the sample), least and largest; None where a run has none."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return {name: None, f"{name}_std": None, f"{name}_min": None, f"{name}_max": None}
    mean = math.fsum(known) / len(known)
    square = math.fsum((value - mean) ** 2 for value in known)
    return {
        name: mean,
        f"{name}_std": math.sqrt(square / (len(known) - 1)) if len(known) > 1 else None,
        f"{name}_min": min(known),
        f"{name}_max": max(known),
    }


def _exponents(label: str, good: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own = [run for run in good if run["solver"] == label]
    cut = any(run["status"] == "time_limit" for run in own)
    found = []
    for quantity, key in GROWING.items():
        if not own or any(run[key] is None for run in own) or (cut and quantity in _WORK):
            continue
        values = [run[key] for run in own]
        if quantity == "peak_bytes" and max(values) < LEAST_BYTES:
            continue
        fit = growth_exponent([run["size"] for run in own], values)
        if fit is not None:
            found.append({"solver": label, "quantity": quantity, **fit._asdict()})
    return found
