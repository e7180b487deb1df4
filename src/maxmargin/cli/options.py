"""Options of training and of the tasks, and what they become in a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Option
from maxmargin.cli.errors import UsageError
from maxmargin.cli.types import Assignment, Duration, Known, Number, Whole

if TYPE_CHECKING:
    from maxmargin.tasks.registry import Option as TaskOption, TaskCommand

#: short names of the solvers, beside `maxmargin.solvers`, whose import takes too long for a help
SOLVERS = (
    "bcfw",
    "cutting-plane",
    "dual-extragradient",
    "eg",
    "extragradient",
    "fw",
    "lbfgs",
    "perceptron",
    "projected-gradient",
    "qp",
    "sdca",
    "smoothed",
    "ssg",
)
LOSSES = ("hamming", "hamming-sum")
LOSS_HELP = "hamming (the share of wrong labels) or hamming-sum (their number)"
FILE, FOLDER = click.Path(path_type=Path), click.Path(file_okay=False, path_type=Path)
#: parameter of the command -> key of the configuration
KEYS = {
    "data": "data",
    "validation": "validation",
    "solver": "solver",
    "alpha": "alpha",
    "loss": "loss",
    "tol": "tol",
    "max_epochs": "max-epochs",
    "seed": "seed",
    "time_limit": "time-limit",
    "threads": "threads",
    "worst": "worst",
}
#: parameters of the tasks' own options start so, lest two names clash
_TASK = "task_"


def training_options() -> list[click.Parameter]:
    """What `train` takes for every task."""
    return [
        Option(
            "--data",
            type=FILE,
            many=True,
            metavar="FILE",
            section="Data",
            help="Labelled files to learn from; which ones, see below.",
        ),
        Option(
            "--validation",
            type=FILE,
            many=True,
            metavar="FILE",
            section="Data",
            help="Files as for --data, to choose the weights by: those that do best on them.",
        ),
        *_method_options(),
        *_folder_options(),
    ]


def _method_options() -> list[click.Parameter]:
    def option(name: str, kind: click.ParamType, metavar: str, text: str, **more: Any) -> Option:
        return Option(name, type=kind, metavar=metavar, section="Training", help=text, **more)

    return [
        option("--solver", Known(("auto", *SOLVERS)), "NAME", f"auto, {', '.join(SOLVERS)}."),
        option(
            "--alpha",
            Number(word="auto"),
            "X|auto",
            "Strength of the penalty on the weights (lambda). auto: the best of several by the"
            " task's metric, on --validation, else by three folds.",
        ),
        option("--loss", Known(LOSSES), "NAME", f"What an error costs: {LOSS_HELP}."),
        option("--tol", Number(), "X", "Stop when the gap is at most X times the objective."),
        option("--max-epochs", Whole(0), "N", "Passes over the data at most."),
        option("--seed", Whole(0, 2**32 - 1), "S", "The same seed gives the same bits."),
        option("--time-limit", Duration(), "TIME", "Stop training after 30 (seconds), 5m, 2h ..."),
        option("--threads", Whole(1), "N", "Threads; results do not depend on their number."),
        option(
            "--solver-option",
            Assignment(),
            "NAME=VALUE",
            "An option of the solver's constructor, such as check_every=5; may be repeated.",
            multiple=True,
        ),
        option("--config", FILE, "FILE", "Take all that is not given here from a TOML file."),
    ]


def _folder_options() -> list[click.Parameter]:
    section = "Run folder"
    return [
        Option("--out", type=FILE, metavar="RUN", section=section, help="The folder to make."),
        Option(
            "--worst",
            type=Whole(0),
            metavar="N",
            section=section,
            help="Keep the N samples with the most errors for reports; by default 12.",
        ),
        Option(
            "--checkpoint-seconds",
            type=Duration(),
            metavar="TIME",
            section=section,
            help="Save the state of training so often.",
        ),
        Option(
            "--checkpoint-epochs",
            type=Whole(1),
            metavar="N",
            section=section,
            help="Save it after this many passes, too.",
        ),
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
    return {int: "N", float: "X", Path: "FILE"}.get(kind, "TEXT")


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


def given_config(command: TaskCommand, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says, as a configuration; paths are absolute."""
    config: dict[str, Any] = {"task": command.name}
    for parameter, key in KEYS.items():
        value = values.get(parameter)
        if value is None or value == ():
            continue
        config[key] = [_plain(v) for v in value] if isinstance(value, tuple) else value
    tables = {
        "solver-options": dict(values.get("solver_option", ())),
        "task-options": given_task_options(command, values),
        "checkpoints": {
            key: values[f"checkpoint_{key}"]
            for key in ("seconds", "epochs")
            if values.get(f"checkpoint_{key}") is not None
        },
    }
    return config | {name: table for name, table in tables.items() if table}


def joined(over: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
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


def effective(command: TaskCommand, config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the defaults that will be used, so that a run records them all."""
    chosen = {option.name: option.default for option in command.options}
    chosen |= config.get("task-options", {})
    options = {name: value for name, value in chosen.items() if value not in (None, "", (), [])}
    params = command.estimator(chosen).get_params(deep=False)
    known = {KEYS[name]: params[name] for name in _OF_ESTIMATOR if name in params}
    defaults = {key: value for key, value in known.items() if isinstance(value, str | int | float)}
    found = {"seed": 0, "threads": 1, **defaults, **config}
    if options:
        found["task-options"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in options.items()
        }
    return found


_OF_ESTIMATOR = ("alpha", "loss", "solver", "tol", "max_epochs")
