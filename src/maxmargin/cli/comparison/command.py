"""`maxmargin compare`: solvers beside each other, as the data grow."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.commands import Command
from maxmargin.cli.comparison.options import compare_options
from maxmargin.cli.comparison.run import config_in, run_comparison
from maxmargin.cli.comparison.text import Progress, describe_comparison
from maxmargin.cli.console import current_console
from maxmargin.cli.errors import Interrupted, RunFailed, UsageError
from maxmargin.cli.options import given_settings, given_task_options, task_options
from maxmargin.cli.report.write import write_report
from maxmargin.cli.settings import OF_COMPARISONS
from maxmargin.cli.task_group import TaskGroup, TaskSubcommand
from maxmargin.cli.text import as_list_entry

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand

_EXAMPLES = (
    "compare tagging --data train.txt --sizes 500,1000,5000 --out comparison",
    "compare tagging --data train.txt --test dev.txt --solvers bcfw,ssg --sizes 500,1000"
    " --seeds 3 --out comparison",
    "compare --config comparison.toml --out comparison",
    "compare --resume comparison",
)


def _command_of(command: TaskCommand) -> Command:
    def callback(**values: Any) -> None:
        _compare(command, values)

    # of images and scans a few are many
    sizes = ("5,10,20", "5,20") if command.one_each else ("500,1000,5000", "100,1000")
    return TaskSubcommand(
        command,
        files="Files of --data and --test",
        callback=callback,
        help=f"Compare solvers: {command.title.lower()} ({as_list_entry(command.summary)}).",
        params=[*compare_options(command, sizes[0]), *task_options(command)],
        examples=(
            f"compare {command.name} --data ... --sizes {sizes[0]} --seeds 3 --out comparison",
            f"compare {command.name} --data ... --solvers bcfw,dual-extragradient"
            f" --set dual-extragradient.alpha=0 --sizes {sizes[1]} --out comparison",
        ),
    )


def _compare(command: TaskCommand, values: Mapping[str, Any]) -> None:
    if values["out"] is None:
        raise UsageError("--out COMPARISON is missing: the folder to make for the comparison")
    out, under = values["out"], {}
    resume = values["resume"] and (out / "comparison.toml").exists()
    if values["config"]:
        under = _config(command, values["config"])
    elif resume:
        under = config_in(out)
    if under.get("task", command.name) != command.name:
        raise UsageError(
            f"the configuration is for the task {under['task']!r}, not {command.name!r}"
        )
    _go({**_joined(command, values, under), "task": command.name}, out, resume)


def _joined(
    command: TaskCommand, values: Mapping[str, Any], under: Mapping[str, Any]
) -> dict[str, Any]:
    """The configuration, with what the command line says over it."""
    config = dict(under) | given_settings(OF_COMPARISONS, values)
    if values["sizes"] is not None:
        config["sizes"] = values["sizes"]
    options = given_task_options(command, values)
    if options:
        config["task-options"] = {**config.get("task-options", {}), **options}
    known = config.get("solvers", {})
    known = known if isinstance(known, Mapping) else {label: {} for label in known}
    chosen = values["solvers"] or known or command.solvers(config.get("task-options", {}))
    solvers = {label: dict(known.get(label, {})) for label in chosen}
    for label, key, value in values["set"]:
        if label not in solvers:
            raise UsageError(
                f"--set {label}.{key}: the comparison has no solver {label!r}, only"
                f" {', '.join(solvers)}"
            )
        solvers[label][key] = value
    return {**config, "solvers": solvers}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _config(command: TaskCommand, path: Path) -> dict[str, Any]:
    """A configuration file; its paths start from its own folder."""
    config, home = _read_toml(path), path.absolute().parent
    for key in ("data", "test"):
        if key in config:
            config[key] = _placed(config[key], home)
    options = config.get("task-options")
    for option in command.options:
        if isinstance(options, dict) and option.kind is Path and option.name in options:
            options[option.name] = _placed(options[option.name], home)
    return config


def _placed(value: Any, home: Path) -> Any:
    if isinstance(value, list):
        return [_placed(own, home) for own in value]
    return str(home / value) if isinstance(value, str) else value


def _go(config: Mapping[str, Any], out: Path, resume: bool) -> None:
    try:
        summary = run_comparison(config, out, resume=resume, listener=Progress(current_console()))
    except KeyboardInterrupt:
        again = f"maxmargin compare --resume {shlex.quote(str(out))}"
        raise Interrupted(f"interrupted; go on with: {again}") from None
    report = _report(out)
    current_console().emit_json(
        {"comparison": str(out), **summary, "report": report and str(report)}
    )
    current_console().say(describe_comparison(summary, out, report))
    failed = summary["failed"]
    if failed:
        first = failed[0]
        where = f"{first['solver']}-{first['size']}-{first['seed']}"
        raise RunFailed(
            f"{len(failed)} of {summary['runs']} runs failed, first {where}: {first['message']}"
        )


def _report(out: Path) -> Path | None:
    """The comparison as an HTML file; an error there does not spoil what was measured."""
    try:
        return write_report(out)
    except (OSError, ValueError) as error:
        current_console().warn(f"the comparison is complete, but it has no report: {error}")
        return None


def _recorded(path: Path, force: bool) -> dict[str, Any]:
    return dict(config_in(path))


compare = TaskGroup(
    "compare",
    make=_command_of,
    read=_read_toml,
    recorded=_recorded,
    folder="COMPARISON",
    examples=lambda: _EXAMPLES,
    help="""Train with several solvers on more and more data, and compare what that takes and
    brings.

    Each run, a run of the comparison, has a process of its own, so that its memory is its own; time
    and calls are those of training, without compiling and without the certificates. Sizes and seeds
    choose the same samples for all solvers. Runs that are done are kept: a comparison that was
    stopped goes on with the one that it was at.
    """,
)
