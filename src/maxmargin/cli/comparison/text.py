"""What `maxmargin compare` tells: progress on stderr, tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.console import Console
from maxmargin.cli.text import count_nouns, visible_text
from maxmargin.drawing.text_tables import align_cells

if TYPE_CHECKING:
    from maxmargin.cli.comparison.run import Event

#: title of a column, key of a row, how a number is written
COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("seconds", "seconds", lambda x: f"{x:.3g}" if x < 100 else f"{x:.0f}"),
    ("oracle calls", "n_oracle", lambda x: f"{x:,.0f}"),
    ("projections", "n_project", lambda x: f"{x:,.0f}"),
    ("memory MB", "memory_bytes", lambda x: f"{x / 1e6:.1f}"),
    ("solver MB", "solver_bytes", lambda x: f"{x / 1e6:.1f}"),
    ("epochs", "n_epochs", lambda x: f"{x:.3g}"),
    ("objective", "primal", lambda x: f"{x:.4g}"),
    ("gap %", "relative_gap", lambda x: f"{100 * x:.2g}"),
    ("train error", "train_error", lambda x: f"{x:.4f}"),
    ("test error", "test_error", lambda x: f"{x:.4f}"),
)
QUANTITIES = {
    "seconds": "seconds",
    "cpu_seconds": "processor time",
    "peak_bytes": "memory",
    "solver_bytes": "solver's memory",
    "n_oracle": "oracle calls",
    "n_project": "projections",
}


class Progress:
    """Lines on stderr as runs begin and end."""

    def __init__(self, console: Console):
        self.console = console

    def __call__(self, event: Event) -> None:
        """Tell about the event."""
        if event.stage == "prepare":
            self.console.note(f"reading the data of {event.total} runs")
            return
        assert event.run_spec is not None
        what = f"{event.run_spec.solver}, size {event.run_spec.size:,}, seed {event.run_spec.seed}"
        where = f"run {event.number} of {event.total}"
        document = event.document or {}
        if event.stage == "start":
            self.console.note(f"{where}: {what}{_left(event.left)}")
        elif event.stage == "failed":
            self.console.warn(f"{where} failed: {what}: {document['message']}")
        elif event.stage == "done" or self.console.verbose:
            self.console.note(f"{where} {event.stage}: {what}: {_result(document)}")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f"; about {seconds:.0f} s left"
    minutes = seconds / 60
    return (
        f"; about {minutes:.0f} min left" if minutes < 90 else f"; about {minutes / 60:.1f} h left"
    )


def _result(run_spec: Mapping[str, Any]) -> str:
    parts = [f"{run_spec['seconds']:.2f} s", count_nouns(run_spec["n_epochs"], "epoch")]
    if run_spec["relative_gap"] is not None:
        parts.append(f"gap {100 * run_spec['relative_gap']:.2g} %")
    if run_spec["test_error"] is not None:
        parts.append(f"test {run_spec['error_name']} {run_spec['test_error']:.4f}")
    return ", ".join([*parts, run_spec["status"]])


def describe_comparison(summary: Mapping[str, Any], out: Path, report: Path | None) -> str:
    """All that was found, for people."""
    return "\n\n".join(
        part
        for part in (
            _head(summary),
            _settings(summary),
            _rows(summary),
            _growth(summary),
            f"Files: {visible_text(report or out)}",
        )
        if part
    )


def _head(summary: Mapping[str, Any]) -> str:
    counts = ", ".join(
        f"{visible_text(key)} {visible_text(value)}" for key, value in summary["counts"].items()
    )
    return f"{summary['title']}: {counts}; error: {visible_text(summary['error_name'])}"


def _settings(summary: Mapping[str, Any]) -> str:
    """What each solver ran with, since objectives with and without a penalty do not compare."""
    lines = []
    for label, settings in summary["settings"].items():
        own = {k: v for k, v in settings.items() if k not in ("options",)} | settings["options"]
        if own["solver"] == label:
            del own["solver"]
        told = ", ".join(f"{key} {visible_text(value)}" for key, value in own.items())
        lines.append(f"  {label}: {told or 'defaults'}")
    return "\n".join(["Settings", *lines])


def _rows(summary: Mapping[str, Any]) -> str:
    head = ["solver", summary["size_name"], "alpha", *(title for title, _, _ in COLUMNS)]
    lines = [
        [
            row["solver"],
            f"{row['size']:,}",
            "-" if row["alpha"] is None else f"{row['alpha']:.3g}",
            *(_spread(row, key, write) for _, key, write in COLUMNS),
        ]
        for row in summary["rows"]
    ]
    note = "means ± standard deviations over seeds; " if summary["seeds"] > 1 else ""
    title = f"Runs ({note}memory: peak of the process above its size with the data loaded; solver:"
    return f"{title} what it allocates itself)\n" + _table(head, *lines)


def _spread(row: Mapping[str, Any], key: str, write: Callable[[float], str]) -> str:
    mean, deviation = row[key], row[f"{key}_std"]
    if mean is None:
        return "failed" if not row["runs"] and key == "seconds" else "-"
    return f"{write(mean)} ±{write(deviation)}" if deviation else write(mean)


def _growth(summary: Mapping[str, Any]) -> str:
    solvers = list(dict.fromkeys(e["solver"] for e in summary["exponents"]))
    if not solvers:
        return ""
    found = {(e["solver"], e["quantity"]): e for e in summary["exponents"]}
    lines = [[s, *(_exponent(found.get((s, q))) for q in QUANTITIES)] for s in solvers]
    known = any(e["low"] is not None for e in summary["exponents"])
    interval = "95 % interval" if known else "too few runs for an interval"
    title = f"Growth: quantity ~ {summary['size_name']} ^ exponent ({interval})"
    if any("time_limit" in row["statuses"] for row in summary["rows"]):
        title += "; none for the time and calls of solvers that a time limit has cut short"
    return f"{title}\n" + _table(["solver", *QUANTITIES.values()], *lines)


def _exponent(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    if found["low"] is None:
        return f"{found['exponent']:.2f}"
    return f"{found['exponent']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def _table(*lines: Sequence[str]) -> str:
    return "\n".join(
        align_cells([[visible_text(value) for value in line] for line in lines], indent="  ")
    )
