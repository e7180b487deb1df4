"""The configuration of a run: a TOML file, or a dict with the same keys."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from maxmargin.cli.runs.checks import check_integer, check_names, check_number, shown_value
from maxmargin.cli.runs.solvers import check_solver
from maxmargin.cli.settings import CHECKPOINTS, FILES, OF_RUNS, SOLVER, Setting
from maxmargin.persistence.files import write_whole
from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

#: bytes of a configuration; it is written by hand
MAX_BYTES = 1 << 20
TABLES = ("solver-options", "task-options", "checkpoints")
#: role of the files to calibrate on, which may be others until a run has ended
HELD_OUT = "task-options.calibrate"


def read_config(path: str | os.PathLike) -> dict[str, Any]:
    """Read and check a configuration file; paths in it are relative to its folder."""
    path = Path(path).expanduser()
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"{path}: has more than {MAX_BYTES} bytes, so it is not a configuration.")
    try:
        config = check_config(tomllib.loads(raw.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: is not TOML ({error}).") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return absolute_paths(config, path.absolute().parent)


def write_config(config: Mapping[str, Any], path: str | os.PathLike) -> None:
    """Write a configuration that `read_config` reads."""
    config = {key: value for key, value in check_config(config).items() if value != {}}
    try:
        raw = tomli_w.dumps(config).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"a name is not valid text ({error}); rename the file.") from error
    write_whole(path, lambda file: file.write(raw))


def absolute_paths(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same configuration with paths that do not depend on where one is."""
    found = dict(config)
    for key in FILES:
        if key in found:
            found[key] = [_absolute(path, folder) for path in found[key]]
    if "task" in found and found.get("task-options"):
        command = _find_command(found["task"])
        kinds = {option.name: option.kind for option in command.options}

        def placed(name: str, value: Any) -> Any:
            path = _absolute(value, folder)
            return str(command.placed(name, Path(path))) if isinstance(path, str) and path else path

        found["task-options"] = {
            name: placed(name, value) if kinds[name] is Path else value
            for name, value in found["task-options"].items()
        }
    return found


def _absolute(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_absolute(path, folder) for path in value]
    return os.path.normpath(folder / Path(value).expanduser()) if value else value


def check_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with values of the right types; a ValueError names what is wrong.

    Keys with None are left out. Options of the task are checked if the task is named.
    """
    known = {key: value for key, value in config.items() if value is not None}
    check_names(known, [*_CHECKS, *TABLES], "")
    found = {key: _CHECKS[key](key, known[key]) for key in _CHECKS if key in known}
    for name in TABLES:
        table = known.get(name, {})
        if not isinstance(table, Mapping):
            raise ValueError(
                f"{name} must be a table, such as [{name}]; found {shown_value(table)}."
            )
    if known.get("solver-options") or "solver" in found:
        options = known.get("solver-options", {})
        found["solver-options"] = check_solver(found.get("solver"), options)
    if known.get("task-options"):
        found["task-options"] = _check_task_options(found.get("task"), known["task-options"])
    if known.get("checkpoints"):
        found["checkpoints"] = _check_checkpoints(known["checkpoints"])
    return {key: found[key] for key in found if found[key] != {}}


# -- values ----------------------------------------------------------------------------------------
def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text in quotes, found {shown_value(value)}.")
    return value


def _task(key: str, value: Any) -> str:
    return _find_command(_text(key, value)).name


def _paths(key: str, value: Any) -> list[str]:
    value = [value] if isinstance(value, str | os.PathLike) else value
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{key} must be a list of files, found {shown_value(value)}.")
    paths = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in value]
    if not all(isinstance(path, str) and path and "\0" not in path for path in paths):
        raise ValueError(f"{key} must be a list of files, found {shown_value(value)}.")
    return paths


def _value(own: Setting, key: str, value: Any) -> Any:
    """A value of a setting."""
    if own.kind is Path:
        return _paths(key, value)
    if own.kind == SOLVER or isinstance(own.kind, tuple):
        return _text(key, value)
    if own.word is not None and value == own.word:
        return value
    found = (check_integer if own.kind is int else check_number)(key, value)
    if own.above_zero and found <= 0:
        raise ValueError(f"{key} must be more than 0, found {shown_value(value)}.")
    if found < own.least:
        raise ValueError(f"{key} must be {own.least} or more, found {shown_value(value)}.")
    return found


def _threads(key: str, value: Any) -> int:
    if check_integer(key, value) == 0:
        raise ValueError(f"{key} must be 1 or more, or -1 for one per core; found 0.")
    return value


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "task": _task,
    **{own.name: partial(_value, own) for own in OF_RUNS},
    "threads": _threads,  # the command line has no -1
}


def _check_checkpoints(table: Mapping[str, Any]) -> dict[str, Any]:
    known = {own.name: own for own in CHECKPOINTS}
    check_names(table, known, "in checkpoints: ")
    return {name: _value(known[name], f"checkpoints.{name}", table[name]) for name in table}


# -- options of tasks ------------------------------------------------------------------------------
def _find_command(name: str) -> Any:
    if name not in TASK_COMMANDS:
        near = difflib.get_close_matches(name, TASK_COMMANDS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(TASK_COMMANDS)}."
        raise ValueError(f"task {name[:80]!r} is unknown; {hint}")
    return find_task_command(name)


def _check_task_options(task: str | None, table: Mapping[str, Any]) -> dict[str, Any]:
    if task is None:
        return dict(table)
    known = {option.name: option for option in _find_command(task).options}
    check_names(table, known, f"in task-options of {task}: ")
    return {name: _of_option(known[name], value) for name, value in table.items()}


def _of_option(option: Any, value: Any) -> Any:
    key = f"task-options.{option.name}"
    if not option.many:
        return _of_kind(key, option.kind, value)
    if not isinstance(value, list | tuple):
        value = [value]
    return [_of_kind(key, option.kind, own) for own in value]


def _of_kind(key: str, kind: Any, value: Any) -> Any:
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{key} must be true or false, found {shown_value(value)}.")
        return value
    if kind is int:
        return check_integer(key, value)
    if kind is float:
        return check_number(key, value)
    found = _text(key, os.fspath(value) if isinstance(value, os.PathLike) else value)
    if isinstance(kind, tuple) and found not in kind:
        near = difflib.get_close_matches(found, kind, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(kind)}."
        raise ValueError(f"{key} = {shown_value(found)} is unknown; {hint}")
    return found


def check_held_out(config: Mapping[str, Any], key: str) -> None:
    """Fail if an option names files beside those of `key`, "validation" or "test", without them."""
    given = config.get("task-options", {})
    for option in _find_command(config["task"]).options:
        if option.of_held_out and given.get(option.name) and not config.get(key):
            raise ValueError(
                f"{option.name} goes with files of {key}, and there are none: give --{key} FILE"
                f" too, or leave --{option.name} out."
            )


def task_options(config: Mapping[str, Any], command: Any) -> dict[str, Any]:
    """All options of the task, as its command takes them."""
    given = config.get("task-options", {})
    return {option.name: _for_command(option, given) for option in command.options}


def _for_command(option: Any, given: Mapping[str, Any]) -> Any:
    if option.name not in given:
        return option.default
    value = given[option.name]
    if option.kind is Path:
        value = [Path(own) for own in value] if option.many else Path(value)
    return tuple(value) if option.many else value
