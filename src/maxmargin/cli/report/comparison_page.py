"""The report of a comparison: solvers compared at several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maxmargin.cli.report.charts import chart_html, convergence_chart
from maxmargin.cli.report.comparison_columns import (
    FIELDS,
    QUANTITIES,
    Group,
    figures_section,
    group_runs,
    has_failed,
)
from maxmargin.cli.report.glossary import STATUS, explained_term
from maxmargin.cli.report.markup import Html, bdi, el, join, visible_text
from maxmargin.cli.report.page import Section, page_html
from maxmargin.cli.report.provenance import command_line, environment_section, page_foot
from maxmargin.cli.report.reading import as_mapping, as_rows, read_json, read_toml
from maxmargin.cli.report.tables import grid_html, pairs_html
from maxmargin.drawing.numbers import (
    format_count,
    format_percent,
    format_seconds,
    format_time,
    format_value,
)
from maxmargin.drawing.svg import Curve, finite_or_none, line_svg

__all__ = ["comparison_report"]


def comparison_report(folder: Path) -> str:
    """The HTML of a comparison folder."""
    comparison = as_mapping(read_json(folder / "comparison.json"))
    environment = as_mapping(read_json(folder / "environment.json"))
    config, config_text = read_toml(folder / "comparison.toml")
    runs = [as_mapping(read_json(path)) for path in sorted((folder / "runs").glob("*.json"))]
    runs = [run for run in runs if run.get("solver") is not None]
    runs.sort(
        key=lambda c: (finite_or_none(c.get("size")) or 0, str(c["solver"]), str(c.get("seed")))
    )
    solvers = _solvers(comparison, runs)
    unit = str(comparison.get("size_name") or "samples")
    groups = group_runs([c for c in runs if not has_failed(c)], solvers)
    title = str(
        comparison.get("title") or comparison.get("task") or config.get("task") or folder.name
    )
    sections = [
        Section(
            "compared",
            "Compared",
            "What was run on what.",
            _compared(comparison, runs, solvers, unit),
        ),
        _scaling(comparison, groups, solvers, unit),
        _convergence(runs, solvers, unit),
        figures_section(groups, runs, unit),
        Section("repeat", "Repeat", "The same comparison again.", _repeat(folder, environment)),
        environment_section(environment, config_text, "comparison.toml"),
    ]
    return page_html(
        title=title,
        eyebrow="maxmargin · comparison of solvers",
        lead=_lead(groups, unit),
        counts=_page_summary(comparison, solvers, unit, environment),
        sections=[section for section in sections if section is not None],
        foot=page_foot(environment),
    )


def _solvers(comparison: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    named = comparison.get("solvers")
    listed = [str(name) for name in named] if isinstance(named, list) else []
    return list(dict.fromkeys([*listed, *(str(run["solver"]) for run in runs)]))


def _lead(groups: Sequence[Group], unit: str) -> Html:
    """The finding in a sentence: times at the largest size that all, or most, reached."""
    timed = [g for g in groups if g.get("seconds") is not None]
    if not timed:
        return el("p", "No run of this comparison has finished yet.")
    reached: dict[float, int] = {}
    for g in timed:
        reached[g["size"]] = reached.get(g["size"], 0) + 1
    largest = max(size for size, n in reached.items() if n == max(reached.values()))
    last = sorted((g for g in timed if g["size"] == largest), key=lambda g: g["seconds"])
    parts: list[Any] = [f"At {format_count(largest)} {unit}, "]
    for k, g in enumerate(last):
        # a time means nothing without what was reached in it
        gap = finite_or_none(g.get("relative_gap"))
        reached_gap = "no certificate" if gap is None else f"to a gap of {format_percent(gap)}"
        parts += [
            "" if k == 0 else " and " if k == len(last) - 1 else ", ",
            el("b", explained_term(g["solver"])),
            f" took {format_seconds(g['seconds'])} ({reached_gap})",
        ]
    return el("p", *parts, ".")


def _page_summary(
    comparison: Mapping[str, Any], solvers: Sequence[str], unit: str, environment: Mapping[str, Any]
) -> Html:
    sizes = comparison.get("sizes")
    shown = {
        "solvers": ", ".join(solvers),
        unit: ", ".join(format_count(s) for s in sizes) if isinstance(sizes, list) else None,
        "seeds": comparison.get("seeds"),
        "date": format_time(environment["started"]) if environment.get("started") else None,
    }
    return pairs_html({name: own for name, own in shown.items() if own not in (None, "")})


def _compared(
    comparison: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    solvers: Sequence[str],
    unit: str,
) -> Html:
    failed = [run for run in runs if has_failed(run)]
    planned = finite_or_none(comparison.get("runs"))
    done = f"{format_count(len(runs) - len(failed))} runs finished"
    if planned and planned > len(runs):
        done += f" of {format_count(planned)} planned"
    words = (
        f"{done}: each trains one of {len(solvers)} solvers on a number of {unit} drawn with a"
        " seed, in a process of its own."
    )
    parts = [el("p", words), _endings(runs)]
    if as_mapping(comparison.get("counts")):
        parts.append(pairs_html(as_mapping(comparison["counts"])))
    if failed:
        named = [
            [
                str(c["solver"]),
                finite_or_none(c.get("size")),
                format_value(c.get("seed")),
                str(c.get("status")),
                str(c.get("message") or ""),
            ]
            for c in failed
        ]
        columns = ["solver", unit, "seed", "status", "what happened"]
        parts.append(
            el(
                "div",
                grid_html(
                    f"✗ {len(failed)} {'run' if len(failed) == 1 else 'runs'} failed",
                    columns,
                    named,
                ),
                class_="alarm",
            )
        )
    elif comparison.get("failed"):
        parts.append(
            el("p", bdi(f"✗ failed: {format_value(comparison['failed'])}"), class_="alarm")
        )
    return join(parts)


def _endings(runs: Sequence[Mapping[str, Any]]) -> Html:
    """How the runs ended: a time means little without it."""
    found: dict[tuple[str, str], int] = {}
    for run in runs:
        key = (str(run["solver"]), STATUS.get(str(run.get("status")), ("", "failed"))[1])
        found[key] = found.get(key, 0) + 1
    ends = [
        join((explained_term(solver), f": {n} {how}")) for (solver, how), n in sorted(found.items())
    ]
    return el("p", "How they ended: ", join(ends, "; "), ".") if ends else Html("")


def _scaling(
    comparison: Mapping[str, Any], groups: Sequence[Group], solvers: Sequence[str], unit: str
) -> Section | None:
    if not groups:
        return None
    series: list[dict[str, Any]] = []
    for k, solver in enumerate(solvers):
        own = [g for g in groups if g["index"] == k]
        if own:
            keys = [f"{f}{end}" for f in FIELDS for end in ("", "_low", "_high")]
            data = {key: [g.get(key) for g in own] for key in ("size", *keys)}
            data = {
                key: column for key, column in data.items() if any(v is not None for v in column)
            }
            series.append({"name": visible_text(solver), "facet": "", "group": k, "data": data})
    sizes = sorted({g["size"] for g in groups})
    known = {key for s in series for key in s["data"] if any(s["data"][key])}
    quantities = [
        {
            "key": key,
            "label": label,
            "log": True,
            "curves": [
                {"key": field, "name": name, "dash": dash}
                for dash, (field, name) in enumerate(curves)
                if field in known
            ],
        }
        for key, label, curves in QUANTITIES
    ]
    spec = {
        "x": [{"key": "size", "label": visible_text(unit), "marks": sizes[:8]}],
        "y": [q for q in quantities if q["curves"]],
        "series": series,
        "groups": [visible_text(s) for s in solvers],
        "facets": [""],
        "facetName": "",
        "logX": True,
    }
    chart = chart_html(spec, _static_times(series, unit), "Scaling curves")
    note = el(
        "p", "Points are means over seeds; bars go from the least to the most.", class_="note"
    )
    lead = "Straight lines on these axes are powers of the size; the steeper, the faster it grows."
    return Section("scaling", "Scaling", lead, join((chart, note, _exponents(comparison))))


def _static_times(series: Sequence[Mapping[str, Any]], unit: str) -> str:
    curves = [
        Curve(
            s["name"],
            s["data"]["size"],
            s["data"]["seconds"],
            colour=s["group"],
            dash=s["group"],
            low=s["data"]["seconds_low"],
            high=s["data"]["seconds_high"],
        )
        for s in series
        if "seconds" in s["data"]
    ]
    title = f"Training time by number of {unit}"
    return line_svg(curves, title=title, x_label=unit, y_label="seconds", log_x=True, log_y=True)


def _exponents(comparison: Mapping[str, Any]) -> Html | None:
    found = as_rows(comparison.get("exponents"))
    table = []
    for own in found:
        low, high = finite_or_none(own.get("low")), finite_or_none(own.get("high"))
        power = finite_or_none(own.get("exponent"))
        if power is None:
            continue
        grown = _grown(str(own.get("quantity", "")))
        unsure = low is None or high is None or high - low > 1
        doubt = ", but these runs hardly tell" if unsure else None
        grows = join((f"{grown} like n", el("sup", f"{power:.2f}"), doubt))
        between = f"{low:.2f} to {high:.2f}" if low is not None and high is not None else ""
        table.append([str(own.get("solver", "")), grows, between])
    if not table:
        return None
    columns = ["solver", "in words", "95 % interval of the exponent"]
    if not any(between for *_, between in table):  # two runs leave none
        table, columns = [own[:2] for own in table], columns[:2]
    return grid_html("Growth", columns, table)


def _grown(quantity: str) -> str:
    """What grows, with its verb."""
    known = {
        "seconds": "time grows",
        "cpu_seconds": "processor time grows",
        "peak_bytes": "memory for training grows",
        "solver_bytes": "memory of the solver's state grows",
        "n_oracle": "oracle calls grow",
        "n_project": "projections grow",
    }
    return known.get(quantity, f"{quantity} grows")


def _convergence(
    runs: Sequence[Mapping[str, Any]], solvers: Sequence[str], unit: str
) -> Section | None:
    curves = [
        (str(c["solver"]), format_count(c.get("size")), as_rows(c.get("history")))
        for c in runs
        if as_rows(c.get("history"))
    ]
    chart = convergence_chart(curves, unit, solvers) if curves else None
    if chart is None:
        return None
    return Section("convergence", "Convergence", "Every run, one line for each seed.", chart)


def _repeat(folder: Path, environment: Mapping[str, Any]) -> Html:
    line = command_line(environment)
    if not line:
        return el("p", "The settings are in ", el("code", "comparison.toml"), " beside this file.")
    return el("pre", el("code", bdi(line)), class_="scroll", tabindex="0")
