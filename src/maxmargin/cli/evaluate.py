"""`maxmargin evaluate`: compare a model with labelled files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli import text
from maxmargin.cli.console import current_console
from maxmargin.cli.errors import UsageError
from maxmargin.cli.run_source import Source
from maxmargin.cli.runs import RunFolder
from maxmargin.cli.runs.evaluating import OF_THE_RUN, evaluate_on, evaluation_name
from maxmargin.cli.sources import current_source

if TYPE_CHECKING:
    from maxmargin.tasks.documents import Evaluation, Metric

_NAME = re.compile(r"[\w][\w.+-]*")
MOST_ROWS = 60


def evaluate(
    run: Path,
    data: Sequence[Path],
    name: str | None,
    no_save: bool,
    threads: int | None,
    worst: int,
    **values: Any,
) -> None:
    """Compare what the model of RUN predicts with the labels in DATA.

    Prints metrics and tables, and saves them in the run folder, from where reports take them.
    """
    chosen = current_source()
    chosen.use_threads(threads)
    name = _checked(name) if name else evaluation_name(data[0])
    evaluation = _evaluate_source(chosen, data, values, worst)
    saved = None if no_save else _saved(chosen, evaluation, name)
    current_console().emit_json(evaluation | {"saved": None if saved is None else str(saved)})
    current_console().say(report_of(evaluation))
    if saved is not None:
        current_console().note(f"saved in {saved}")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r} must be letters, digits, - and _, as in a file's name")
    if name in OF_THE_RUN:
        raise UsageError(f"--name {name} is taken by the run's own evaluation; give another name")
    return name


def _evaluate_source(
    chosen: Source, data: Sequence[Path], values: dict[str, Any], worst: int
) -> Evaluation:
    samples = chosen.command.read(list(data), chosen.options(values))
    if not len(samples):
        raise UsageError(f"{data[0]}: there are no samples to compare with")
    chosen.command.check_truth(samples, str(data[0]))
    return evaluate_on(chosen.command, chosen.model, samples, data, worst)


def _saved(chosen: Source, evaluation: Evaluation, name: str) -> Path | None:
    """Where it was saved; a folder that cannot be written to is no reason to fail."""
    if not chosen.is_folder:
        current_console().note("not saved, because a model file has no run folder")
        return None
    file = f"evaluations/{name}.json"
    try:
        RunFolder(chosen.path).open().write_json(file, evaluation)
    except OSError as error:
        current_console().warn(f"not saved in {str(chosen.path)!r}: {error.strerror or error}")
        return None
    return chosen.path / file


def report_of(evaluation: Evaluation) -> str:
    """Metrics, then tables, in aligned columns."""
    lines = [f"On {text.visible_text(describe_data(evaluation['data']))}:", ""]
    rows = [
        [metric["name"], format_metric(metric), metric["help"]] for metric in evaluation["metrics"]
    ]
    size = max((text.text_width(row[1]) for row in rows), default=0)
    for row in rows:
        row[1] = text.pad_text(row[1], size, right=True)
    lines.append(text.format_rows(rows))
    for own in (table for table in evaluation["tables"] if table["rows"]):
        lines += ["", text.visible_text(own["title"])]
        lines.append(text.format_table(own["columns"], own["rows"][:MOST_ROWS]))
        hidden = len(own["rows"]) - MOST_ROWS
        if hidden > 0:
            lines.append(f"  ... and {text.count_nouns(hidden, 'more row')} (--json shows all)")
        if own["note"]:
            lines.append(f"  {text.visible_text(own['note'])}")
    return "\n".join(lines)


def describe_data(data: Mapping[str, Any]) -> str:
    """The data in words: `dev.txt (30 sentences, 96 tokens)`."""
    rest = {name: value for name, value in data.items() if name != "files"}
    counts = [
        text.count_plurals(value, name) if isinstance(value, int) else f"{name} {value}"
        for name, value in rest.items()
    ]
    return f"{data['files']} ({', '.join(counts)})" if "files" in data else ", ".join(counts)


def format_metric(metric: Metric) -> str:
    """A metric's value for people."""
    value = metric["value"]
    if value is None:
        return "-"
    return f"{100 * value:.2f} %" if metric["percent"] else text.format_cell(value)
