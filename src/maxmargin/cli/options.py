"""Options of training and of the tasks, and what they become in a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Option
from maxmargin.cli.errors import UsageError
from maxmargin.cli.settings import (
    AUTO,
    CHECKPOINTS,
    DEFAULTS,
    OF_RUNS,
    PARAMETERS,
    SOLVER,
    TIME,
    Setting,
    solver_names,
)
from maxmargin.cli.types import Assignment, Duration, Known, Number, Whole

if TYPE_CHECKING:
    from maxmargin.tasks.registry import Option as TaskOption, TaskCommand

FILE = click.Path(path_type=Path)
#: names of kinds of values in a help
_METAVARS = {int: "N", float: "X", Path: "FILE", TIME: "TIME"}
#: parameters of the tasks' own options start so, lest two names clash
_TASK = "task_"


def training_options(command: TaskCommand) -> list[click.Parameter]:
    """What `train` takes for every task, with the defaults that this one has."""
    model = command.estimator({})
    first = [
        replace(own, help=own.help + _default_text(own, model))
        for own in sorted(OF_RUNS, key=lambda own: own.name != "solver")
    ]
    return [
        *setting_options(first, "Data"),
        *setting_options(first, "Training"),
        Option(
            "--solver-option",
            type=Assignment(),
            multiple=True,
            metavar="NAME=VALUE",
            section="Training",
            help="An option of the constructor of --solver, as in --solver bcfw --solver-option"
            " check_every=5; may be repeated.",
        ),
        config_option(),
        *_folder_options(),
    ]


def _default_text(own: Setting, model: Any) -> str:
    name = "solver" if own.kind == SOLVER else own.parameter
    value = getattr(model, name, None) if own.default is None and name else own.default
    return "" if value is None else f"  [default: {AUTO if value == 'cv' else value}]"


def setting_options(
    settings: Iterable[Setting], section: str, prefix: str = ""
) -> list[click.Parameter]:
    """The options of a section's settings."""
    return [
        Option(
            f"--{prefix}{own.name}",
            type=_type(own),
            many=own.kind is Path,
            metavar=own.metavar or _METAVARS.get(own.kind, "NAME"),
            section=section,
            help=own.help.format(solvers=", ".join(solver_names()))
            if own.kind == SOLVER
            else own.help,
        )
        for own in settings
        if own.section == section
    ]


def _type(own: Setting) -> click.ParamType:
    if own.kind is int:
        return Whole(own.least, own.most)
    if own.kind is float:
        return Number(word=own.word)
    if own.kind == SOLVER:
        return _kind(("auto", *solver_names()))
    return Duration() if own.kind == TIME else _kind(own.kind)


def config_option() -> Option:
    """The file that options go before."""
    text = "Take all that is not given here from a TOML file."
    return Option("--config", type=FILE, metavar="FILE", section="Training", help=text)


def _folder_options() -> list[click.Parameter]:
    section = "Run folder"
    return [
        Option("--out", type=FILE, metavar="RUN", section=section, help="The folder to make."),
        *setting_options(OF_RUNS, section),
        *setting_options(CHECKPOINTS, section, "checkpoint-"),
        Option(
            "--resume",
            is_flag=True,
            section=section,
            help="Go on with the run in that folder, if there is one, from its last checkpoint.",
        ),
        Option(
            "--force",
            is_flag=True,
            section=section,
            help="Replace the run in that folder, once the new one has succeeded; with --resume, go"
            " on with such a replacement.",
        ),
    ]


def task_options(command: TaskCommand, of_data: bool = False) -> list[click.Parameter]:
    """The task's own options; of_data: only those about how files are read."""
    chosen = [own for own in command.options if own.of_data or not of_data]
    return [_task_option(own, command) for own in chosen]


def _task_option(own: TaskOption, command: TaskCommand) -> Option:
    text = own.help[:1].upper() + own.help[1:].rstrip(".") + "."
    if own.default not in (None, "", (), []) and not isinstance(own.default, bool):
        default = " ".join(map(str, own.default)) if own.many else own.default
        text += f"  [default: {default}]"
    names, settings = f"--{own.name}", dict[str, Any]()
    if own.kind is bool:
        names, settings = f"--{own.name}/--no-{own.name}", {"is_flag": True}
        if own.name.startswith("no-"):  # its opposite is to leave it out
            names, settings = f"--{own.name}", {"is_flag": True, "flag_value": True}
        text += f"  [default: {'yes' if own.default else 'no'}]"
    else:
        settings = {"type": _kind(own.kind), "many": own.many, "metavar": _metavar(own.kind)}
    parameter = _TASK + own.name.replace("-", "_")
    section = f"{command.title} ({command.name})"
    return Option(names, parameter, section=section, help=text, default=None, **settings)


def _kind(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return Known(kind)
    return FILE if kind is Path else kind


def _metavar(kind: Any) -> str:
    if isinstance(kind, tuple):
        return "|".join(kind)
    return _METAVARS.get(kind, "TEXT")


def given_task_options(command: TaskCommand, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those on the command line, by the names they have in a configuration."""
    found = {}
    for own in command.options:
        value = values.get(_TASK + own.name.replace("-", "_"))
        if value is None or (own.many and not value):
            continue
        found[own.name] = [_plain(v) for v in value] if own.many else _plain(value)
    return found


def _plain(value: Any) -> Any:
    return str(value.absolute()) if isinstance(value, Path) else value


def given_settings(settings: Iterable[Setting], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those on the command line, as a configuration; paths are absolute."""
    found = {}
    for own in settings:
        value = values.get(own.name.replace("-", "_"))
        if value is not None and value != ():
            found[own.name] = [_plain(v) for v in value] if own.kind is Path else value
    return found


def given_config(command: TaskCommand, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says, as a configuration; paths are absolute."""
    config: dict[str, Any] = {"task": command.name}
    config |= given_settings(OF_RUNS, values)
    tables = {
        "solver-options": dict(values.get("solver_option", ())),
        "task-options": given_task_options(command, values),
        "checkpoints": {
            own.name: values[f"checkpoint_{own.name}"]
            for own in CHECKPOINTS
            if values.get(f"checkpoint_{own.name}") is not None
        },
    }
    return config | {name: table for name, table in tables.items() if table}


def join_configs(over: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Two configurations in one; what the first says counts, within tables too."""
    task = over.get("task")
    if task is not None and under.get("task", task) != task:
        raise UsageError(
            f"the configuration is for the task {under['task']!r}, not {task!r};"
            f" use `maxmargin train {under['task']}`"
        )
    result = dict(under)
    if "solver" in over and over["solver"] != under.get("solver"):
        result.pop("solver-options", None)  # those of the other solver mean nothing to this one
    for key, value in over.items():
        known = result.get(key)
        result[key] = {**known, **value} if isinstance(known, dict) else value
    return result


def effective_config(command: TaskCommand, config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the defaults that will be used, so that a run records them all."""
    chosen = {option.name: option.default for option in command.options}
    chosen |= config.get("task-options", {})
    options = {name: value for name, value in chosen.items() if value not in (None, "", (), [])}
    params = command.estimator(chosen).get_params(deep=False)
    known = {key: params.get(name) for key, name in (PARAMETERS | {"solver": "solver"}).items()}
    defaults = {key: value for key, value in known.items() if isinstance(value, str | int | float)}
    if isinstance(defaults.get("alpha"), str):  # the estimator chooses it
        defaults["alpha"] = AUTO
    found = defaults | DEFAULTS | dict(config)
    if options:
        found["task-options"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in options.items()
        }
    return found
