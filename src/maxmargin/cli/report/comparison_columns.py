"""Columns of a comparison's tables: what its runs are measured by, gathered over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import stdev
from typing import Any

from maxmargin.cli.report.glossary import explained_term
from maxmargin.cli.report.markup import Html, el, join
from maxmargin.cli.report.page import Section
from maxmargin.cli.report.tables import Number, grid_html
from maxmargin.drawing.numbers import (
    finite_or_none,
    format_count,
    format_megabytes,
    format_percent,
    format_seconds,
)

__all__ = ["FIELDS", "QUANTITIES", "Group", "figures_section", "group_runs", "has_failed"]

#: key, name with unit, curves: of each its key and its name
QUANTITIES: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("seconds", "Time (s)", (("seconds", "time"),)),
    ("train_mb", "Memory for training (MB)", (("train_mb", "memory for training"),)),
    ("peak_mb", "Peak memory (MB)", (("peak_mb", "peak"), ("base_mb", "before training"))),
    ("n_oracle", "Oracle calls", (("n_oracle", "oracle calls"),)),
    ("n_project", "Projections", (("n_project", "projections"),)),
    ("error", "Error", (("test_error", "test error"), ("train_error", "training error"))),
    ("relative_gap", "Relative gap", (("relative_gap", "relative gap"),)),
)
FIELDS = tuple(key for _, _, curves in QUANTITIES for key, _ in curves)
Group = dict[str, Any]


def has_failed(run: Mapping[str, Any]) -> bool:
    """Whether there is no model from this run."""
    return str(run.get("status")) not in (
        "converged",
        "max_epochs",
        "time_limit",
        "stopped",
        "rounding",
        "interrupted",
    )


def group_runs(runs: Sequence[Mapping[str, Any]], solvers: Sequence[str]) -> list[Group]:
    """Mean, standard deviation, least and most over seeds, for each solver and size."""
    found: dict[tuple[int, float], list[Mapping[str, Any]]] = {}
    for run in runs:
        size = finite_or_none(run.get("size"))
        if size is not None:
            found.setdefault((solvers.index(str(run["solver"])), size), []).append(run)
    groups = []
    for (k, size), own in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        group: Group = {"solver": solvers[k], "index": k, "size": size, "seeds": len(own)}
        group["error_name"] = str(own[0].get("error_name") or "error")
        for field in FIELDS:
            values = [v for v in (_field(run, field) for run in own) if v is not None]
            if values:
                group[field] = sum(values) / len(values)
                group[f"{field}_low"], group[f"{field}_high"] = min(values), max(values)
                group[f"{field}_std"] = stdev(values) if len(values) > 1 else 0.0
        groups.append(group)
    return groups


def _field(run: Mapping[str, Any], field: str) -> float | None:
    if field == "train_mb":  # what training took beyond data and program
        peak, base = finite_or_none(run.get("peak_bytes")), finite_or_none(run.get("base_bytes"))
        return None if peak is None or base is None else max(0.0, peak - base) / 1e6
    if field.endswith("_mb"):
        size = finite_or_none(run.get(field.replace("_mb", "_bytes")))
        return None if size is None else size / 1e6
    return finite_or_none(run.get(field))


Column = tuple[str, str, Callable[[Any], str]]
COLUMNS: tuple[Column, ...] = (
    ("seconds", "time", format_seconds),
    ("n_oracle", "oracle calls", lambda v: format_count(round(v))),
    ("n_project", "projections", lambda v: format_count(round(v))),
    ("train_mb", "memory for training", lambda v: format_megabytes(1e6 * v)),
    ("peak_mb", "peak memory", lambda v: format_megabytes(1e6 * v)),
    ("relative_gap", "relative gap", format_percent),
    ("train_error", "training error", format_percent),
    ("test_error", "test error", format_percent),
)


def figures_section(
    groups: Sequence[Group], runs: Sequence[Mapping[str, Any]], unit: str
) -> Section | None:
    """Everything that was measured, by solver and size and by run."""
    if not runs:
        return None
    used = [column for column in COLUMNS if any(g.get(column[0]) for g in groups)]
    table = []
    for g in groups:
        row: list[Any] = [
            explained_term(g["solver"]),
            Number(format_count(g["size"]), g["size"]),
            g["seeds"],
        ]
        for key, _, words in used:
            row.append(None if g.get(key) is None else Number(_with_spread(g, key, words), g[key]))
        table.append(row)
    columns = ["solver", unit, "seeds", *(explained_term(name) for _, name, _ in used)]
    error = groups[0]["error_name"] if groups else "error"
    note = f"Means and standard deviations over seeds. Errors: {error}."
    body = join((grid_html("By solver and size", columns, table, note), _runs_table(runs, unit)))
    return Section("figures", "All figures", "Click on a column to sort by it.", body)


def _with_spread(group: Group, key: str, words: Callable[[Any], str]) -> str:
    spread = group[f"{key}_std"]
    shown = words(group[key])
    return f"{shown} ± {words(spread)}" if group["seeds"] > 1 and spread > 0 else shown


def _runs_table(runs: Sequence[Mapping[str, Any]], unit: str) -> Html:
    table = [
        [
            str(c["solver"]),
            finite_or_none(c.get("size")),
            c.get("seed"),
            str(c.get("status", "")),
            finite_or_none(c.get("seconds")),
            finite_or_none(c.get("wall_seconds")),
            finite_or_none(c.get("compile_seconds")),
            finite_or_none(c.get("n_epochs")),
            finite_or_none(c.get("primal")),
            finite_or_none(c.get("gap")),
        ]
        for c in runs
    ]
    columns = [
        "solver",
        unit,
        "seed",
        "status",
        "seconds",
        "wall seconds",
        "compiling",
        explained_term("passes"),
        "objective",
        explained_term("gap"),
    ]
    return el("details", el("summary", "Every run"), grid_html("", columns, table))
