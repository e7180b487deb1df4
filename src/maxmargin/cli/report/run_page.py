"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxmargin.cli.report.charts import convergence_chart
from maxmargin.cli.report.drawings import MAX_MARKUP, drawings_html
from maxmargin.cli.report.glossary import STATUS, explained_term
from maxmargin.cli.report.markup import Html, bdi, el, join
from maxmargin.cli.report.page import Section, page_html
from maxmargin.cli.report.provenance import (
    as_list,
    data_html,
    data_sets,
    environment_section,
    page_foot,
    repeat_html,
    version_of,
)
from maxmargin.cli.report.reading import as_mapping, as_rows, read_json, read_lines, read_toml
from maxmargin.cli.report.reliability import reliability_html
from maxmargin.cli.report.tables import (
    confusion_html,
    key_number,
    key_numbers,
    pairs_html,
    tables_html,
)
from maxmargin.cli.report.values import drawn_or_values
from maxmargin.cli.text import as_sentence
from maxmargin.drawing.numbers import (
    format_bounds,
    format_count,
    format_percent,
    format_seconds,
    format_time,
    format_value,
)
from maxmargin.drawing.svg import finite_or_none

__all__ = ["run_report"]


def run_report(folder: Path, worst: int | None = None) -> str:
    """The HTML of a run folder; `worst` samples are drawn at most."""
    summary = as_mapping(read_json(folder / "summary.json"))
    environment = as_mapping(read_json(folder / "environment.json"))
    data = as_mapping(read_json(folder / "data.json"))
    config, config_text = read_toml(folder / "config.toml")
    history = read_lines(folder / "history.jsonl")
    evaluations = _evaluations(folder)
    title = str(summary.get("title") or summary.get("task") or config.get("task") or folder.name)
    sections = [
        Section(
            "result",
            "Result",
            "How well it predicts, then what training proved.",
            _result(summary, evaluations),
        ),
        _convergence(history),
        _evaluation_section(evaluations, worst),
        _learned(summary),
        Section("data", "Data", "The files that went in.", data_html(data, config)),
        Section("repeat", "Repeat", "The same run again.", repeat_html(folder, environment)),
        environment_section(environment, config_text, "config.toml"),
    ]
    return page_html(
        title=title,
        eyebrow="maxmargin · report of a run",
        lead=_lead(summary, config),
        counts=_page_summary(summary, config, data, environment),
        sections=[section for section in sections if section is not None],
        foot=page_foot(environment),
    )


def _evaluations(folder: Path) -> dict[str, dict[str, Any]]:
    """By name: training data first, then validation data, then others."""
    order = {"train": 0, "validation": 1}
    paths = sorted(
        (folder / "evaluations").glob("*.json"), key=lambda p: (order.get(p.stem, 2), p.stem)
    )
    found = {path.stem: as_mapping(read_json(path)) for path in paths}
    return {name: own for name, own in found.items() if own}


def _count_samples(summary: Mapping[str, Any]) -> str:
    """The number of samples, or of those that were learned from: "200 of 300"."""
    count = summary.get("n_samples")
    learned = summary.get("n_learned", count)  # runs that are older lack it
    return format_count(count) if learned == count else f"{learned:,} of {format_count(count)}"


def _lead(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Html:
    sign, words = STATUS.get(
        str(summary.get("status")), ("◦", str(summary.get("status", "no summary yet")))
    )
    kind = "bad" if sign == "✗" else "good" if sign == "✓" else "plain"
    solver = summary.get("solver") or config.get("solver") or "the default solver"
    message = summary.get("message")
    return el(
        "p",
        el("span", f"{sign} {words}", class_=f"badge {kind}"),
        " Trained with ",
        el("b", explained_term(solver)),
        f" on {_count_samples(summary)} samples" if summary.get("n_samples") else None,
        f" in {format_seconds(summary.get('seconds'))}"
        if summary.get("seconds") is not None
        else None,
        ".",
        join((" ", bdi(as_sentence(message)))) if message else None,
    )


def _page_summary(
    summary: Mapping[str, Any],
    config: Mapping[str, Any],
    data: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> Html:
    files = [
        Path(str(f.get("name") or f.get("path") or "")).name for s in data_sets(data) for f in s[2]
    ]
    files = files or [Path(str(p)).name for p in as_list(config.get("data"))]
    counted = [
        f"{format_count(v)} {k}"
        for s in data_sets(data)[:1]
        for k, v in s[1].items()
        if type(v) is int
    ]
    shown = {
        "files": ", ".join(files[:6]) + (f" and {len(files) - 6} more" if len(files) > 6 else ""),
        "training data": ", ".join(counted[:4]),
        "solver": summary.get("solver") or config.get("solver"),
        explained_term("alpha"): summary.get("alpha", config.get("alpha")),
        "objective": "likelihood" if summary.get("objective") == "likelihood" else None,
        "loss": _loss(summary, config),
        explained_term("temperature"): _temperature(as_mapping(summary.get("calibration"))),
        "date": format_time(environment["started"]) if environment.get("started") else None,
        "version": version_of(environment),
    }
    return pairs_html({name: own for name, own in shown.items() if own not in (None, "")})


def _loss(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    """None where the objective has none."""
    if summary.get("objective", "margin") != "margin":
        return None
    return summary.get("loss") or config.get("loss")


def _costs(summary: Mapping[str, Any]) -> str:
    """What the objective has beside the penalty."""
    if summary.get("objective") == "likelihood":
        return "mean of -log P(true output)"
    return "mean loss"


def _temperature(calibration: Mapping[str, Any]) -> str | None:
    if finite_or_none(calibration.get("temperature")) is None:
        return None
    count = format_count(calibration.get("n_samples"))
    return f"{format_value(calibration['temperature'])}, from {count} samples"


def _result(summary: Mapping[str, Any], evaluations: Mapping[str, dict[str, Any]]) -> Html:
    """The task's own metric on each set of data, those not trained on first; then the bound."""
    ordered = sorted(evaluations.items(), key=lambda item: item[0] == "train")
    headlines = [_headline(name, own) for name, own in ordered if _main(own)]
    if not headlines:
        headlines = [
            key_number(f"{name} · {metric}", format_value(own))
            for name, metrics in as_mapping(summary.get("metrics")).items()
            for metric, own in as_mapping(metrics).items()
        ]
    compared = [table for _, own in ordered for table in as_rows(own.get("compared"))]
    cost = [
        ("passes", format_count(summary.get("n_epochs"))),
        ("training time", format_seconds(summary.get("seconds"))),
        ("oracle calls", format_count(summary.get("n_oracle"))),
        ("projections", format_count(summary.get("n_project")))
        if summary.get("n_project")
        else None,
        ("weights", format_count(summary.get("n_weights"))),
    ]
    spent = [key_number(explained_term(p[0]), p[1]) for p in cost if p and p[1] not in ("–", "")]  # noqa: RUF001
    return join(
        (
            key_numbers(headlines) if headlines else None,
            el("div", tables_html(compared), class_="compared") if compared else None,  # type: ignore[arg-type]
            _certificate(summary),
            key_numbers(spent),
        )
    )


def _main(evaluation: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The metric that the task is evaluated by: its first, else its error."""
    for metric in as_rows(evaluation.get("metrics"))[:1]:
        if finite_or_none(metric.get("value")) is not None:
            return metric
    error = finite_or_none(evaluation.get("error"))
    if error is None:
        return None
    name = evaluation.get("error_name") or "error"
    return {"name": name, "value": error, "percent": 0 <= error <= 1, "better": "lower"}


def _headline(name: str, evaluation: Mapping[str, Any]) -> Html:
    metric = _main(evaluation) or {}
    data = as_mapping(evaluation.get("data"))
    sizes = [f"{format_count(v)} {k}" for k, v in data.items() if isinstance(v, int)]
    under = "; ".join(filter(None, (_better(metric), ", ".join(sizes[:2]))))
    return key_number(
        f"{name} · {metric.get('name')}", _shown(metric), under, str(metric.get("help") or "")
    )


def _shown(metric: Mapping[str, Any]) -> str:
    return (
        format_percent(metric.get("value"))
        if metric.get("percent")
        else format_value(metric.get("value"))
    )


def _better(metric: Mapping[str, Any]) -> str:
    ways = {"higher": "higher is better", "lower": "lower is better"}
    return ways.get(str(metric.get("better")), "")


def _certificate(summary: Mapping[str, Any]) -> Html:
    words = str(summary.get("certificate") or "")
    primal, dual = finite_or_none(summary.get("primal")), finite_or_none(summary.get("dual"))
    stated = el("p", bdi(as_sentence(words)), class_="stated") if words else None
    if primal is None or dual is None:
        meaning = (
            "Nothing bounds how far these weights are from the best ones. Judge the run by its"
            " errors on data it has not seen."
        )
        return el("div", stated, el("p", meaning), class_="certificate")
    low, high = format_bounds(dual, primal)
    estimated = "estimated" in str(words)
    meaning = (
        f"The number on the right is the objective of these weights (penalty and {_costs(summary)}"
        f" on the training data), recomputed from all samples that were learned from"
        f" ({_count_samples(summary)}). The one on the left is a lower bound that"
        + (
            " was estimated with an oracle that may miss maxima."
            if estimated
            else " no weights can beat."
        )
        + " Their difference is the "
    )
    line = el(
        "p",
        el("span", low, class_="num"),
        " ≤ ",
        el("span", "best possible", class_="mid"),
        " ≤ ",
        el("span", high, class_="num"),
        class_="between",
        aria_label=f"The best possible objective is between {low} and {high}",
        role="math",
    )
    other = ". How well the model does on other data is another question."
    return el(
        "div", stated, line, el("p", meaning, explained_term("gap"), other), class_="certificate"
    )


def _convergence(history: list[dict[str, Any]]) -> Section | None:
    chart = convergence_chart([("run", "", history)]) if history else None
    if chart is None:
        return None
    lead = "Point at the curves, or move along them with the arrow keys."
    return Section("convergence", "Convergence", lead, chart)


def _evaluation_section(
    evaluations: Mapping[str, dict[str, Any]], worst: int | None
) -> Section | None:
    if not evaluations:
        return None
    share = MAX_MARKUP // len(evaluations)
    parts = [_evaluation(name, own, share, worst) for name, own in evaluations.items()]
    lead = "Predictions beside the truth, on each set of data."
    first = "validation" if "validation" in evaluations else list(evaluations)[-1]
    body = el("div", *parts, class_="tabs", data_first=first)
    return Section("predictions", "Predictions", lead, body)


def _evaluation(name: str, own: Mapping[str, Any], most: int, worst: int | None) -> Html:
    metrics = [
        key_number(str(m.get("name", "")), _shown(m), _better(m), str(m.get("help") or ""))
        for m in as_rows(own.get("metrics"))
    ]
    confusion = own.get("confusion")
    listed = any(
        str(t.get("columns")).startswith("['true', 'predicted'") for t in as_rows(own.get("tables"))
    )
    return el(
        "section",
        el("h3", bdi(name)),
        pairs_html(as_mapping(own.get("data"))) if own.get("data") else None,
        key_numbers(metrics) if metrics else None,
        drawings_html(as_rows(own.get("drawings")), most, worst),
        tables_html(as_rows(own.get("tables"))),  # type: ignore[arg-type]
        drawn_or_values(lambda c: confusion_html(c, listed), confusion) if confusion else None,
        drawn_or_values(reliability_html, own["reliability"]) if own.get("reliability") else None,
        class_="panel",
        data_name=name,
        aria_label=name,
    )


def _learned(summary: Mapping[str, Any]) -> Section | None:
    tables = as_rows(summary.get("tables"))
    if not tables:
        return None
    lead = "The weights that say most. Click on a column to sort by it."
    return Section("learned", "What it learned", lead, tables_html(tables))  # type: ignore[arg-type]
