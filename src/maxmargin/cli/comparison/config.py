"""What a comparison is to measure: its configuration, checked, and the runs that it is made of."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxmargin.cli.runs.config import check_config, check_held_out
from maxmargin.cli.runs.solvers import check_solver
from maxmargin.cli.settings import OF_COMPARISONS, OWN, TIME, Setting
from maxmargin.solvers.base import solver_classes, solvers_for

#: a solver's label is part of a file name
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

NUMBERS = {own.name: own for own in OF_COMPARISONS if own.kind in (int, float, TIME)}
#: options of all solvers that comparisons set themselves
FIXED = ("random-state", "check-every")
KEYS = ("task", "data", "test", "solvers", "sizes", "loss", "task-options", *NUMBERS)


@dataclass(frozen=True, order=True)
class ComparisonRun:
    """One training run of a comparison."""

    solver: str
    size: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.solver}-{self.size}-{self.seed}"


def check_comparison(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same configuration with every value checked; `solvers` becomes {label: settings}."""
    for key in given:
        if key not in KEYS:
            raise ValueError(f"unknown key {key!r}{_meant(key, KEYS)}; use {', '.join(KEYS)}.")
    config = {key: given[key] for key in KEYS if given.get(key) is not None}
    for key in ("task", "data", "solvers", "sizes"):
        if not config.get(key):
            raise ValueError(f"{key} is missing: give --{key}, or `{key}` in the configuration.")
    for key in ("data", "test"):
        if key in config:
            config[key] = _paths(key, config[key])
    for key, own in NUMBERS.items():
        if key in config:
            config[key] = _number(own, config[key])
    if "loss" in config and not isinstance(config["loss"], str):
        raise ValueError(f"loss={config['loss']!r} must be the name of a loss.")
    config["sizes"] = _sizes(config["sizes"])
    for key in ("seeds", "seed"):
        config.setdefault(key, NUMBERS[key].default)
    config["solvers"] = _solvers(config["solvers"])
    of_task = {key: config.get(key) for key in ("task", "task-options")}
    config["task-options"] = check_config(of_task).get("task-options", {})
    check_held_out(config, "test")
    _check_objective(config)
    return config


def _check_objective(config: Mapping[str, Any]) -> None:
    """Fail before the first run if a solver cannot minimise what the task's options ask for."""
    objective = config["task-options"].get("objective", "margin")
    for label, settings in config["solvers"].items():
        if settings.get("solver", label) not in (able := solvers_for(objective)):
            raise ValueError(
                f"solver {label}: cannot minimise the objective {objective!r}; solvers that can:"
                f" {', '.join(able)}."
            )


def _meant(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, 1)
    return f" (do you mean {near[0]!r}?)" if near else ""


def _paths(key: str, value: Any) -> list[str]:
    many = [value] if isinstance(value, str | Path) else value
    if not isinstance(many, list | tuple) or not all(isinstance(p, str | Path) for p in many):
        raise ValueError(f"{key}={value!r} must be a list of files.")
    return [str(Path(path).absolute()) for path in many]


def _number(own: Setting, value: Any) -> Any:
    kind = int if own.kind is int else float
    right = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
    if not right or not own.least <= value < float("inf") or (own.above_zero and value == 0):
        what = "an integer" if kind is int else "a number"
        bound = "above 0" if own.above_zero else f"{own.least} or more"
        raise ValueError(f"{own.name}={value!r} must be {what}, {bound}.")
    return kind(value)


def _sizes(value: Any) -> list[int]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"sizes={value!r} must be a list of integers.")
    sizes = [_number(Setting("sizes", int, least=1), size) for size in value]
    if len(set(sizes)) < len(sizes):
        raise ValueError(f"sizes={list(value)!r} names a size twice.")
    return sorted(sizes)


def _solvers(value: Any) -> dict[str, dict[str, Any]]:
    if isinstance(value, list | tuple):
        if len(set(map(str, value))) < len(value):
            raise ValueError(f"solvers={list(value)!r} names a solver twice; give it two labels.")
        value = {label: {} for label in value}
    if not isinstance(value, Mapping):
        raise ValueError(f"solvers={value!r} must be a list of names or a table of solvers.")
    return {label: _solver(label, settings) for label, settings in value.items()}


def _solver(label: Any, settings: Any) -> dict[str, Any]:
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise ValueError(f"solver {label!r}: names have letters, digits, '.', '_' and '-' only.")
    if not isinstance(settings, Mapping):
        raise ValueError(f"solvers.{label}={settings!r} must be a table of settings.")
    checked = dict(settings)
    for key, own in NUMBERS.items():
        if own.own and key in checked:
            try:
                checked[key] = _number(own, checked[key])
            except ValueError as error:
                raise ValueError(f"solver {label}: {error}") from None
    _check_options(label, checked)
    return checked


def _check_options(label: str, settings: Mapping[str, Any]) -> None:
    """Whether there is such a solver, and has these options."""
    name = settings.get("solver", label)
    if not isinstance(name, str):
        raise ValueError(f"solver {label}: solver={name!r} must be the name of a solver.")
    classes = solver_classes()
    if name not in classes:
        raise ValueError(
            f"solver {name!r} is unknown{_meant(name, list(classes))}; use one of"
            f' {", ".join(classes)}. A label of your own needs `solver = "..."` beside it.'
        )
    constructor = inspect.signature(classes[name]).parameters
    known = [*OWN, *(own for own in constructor if own.replace("_", "-") not in (*OWN, *FIXED))]
    options = {}
    for key, value in settings.items():
        if key in OWN:
            continue
        options[key.replace("-", "_")] = value
        if key.replace("-", "_") not in known:
            raise ValueError(
                f"solver {label}: unknown option {key!r}{_meant(key, known)};"
                f" use {', '.join(known)}."
            )
    try:
        check_solver(name, options)
    except ValueError as error:
        raise ValueError(f"solver {label}: {error}") from None


def runs_of(config: Mapping[str, Any]) -> list[ComparisonRun]:
    """All runs, small ones first, so that something is seen of every solver early."""
    seeds = range(config["seed"], config["seed"] + config["seeds"])
    return [
        ComparisonRun(solver, size, seed)
        for size in config["sizes"]
        for seed in seeds
        for solver in config["solvers"]
    ]


def settings_of(config: Mapping[str, Any], label: str) -> dict[str, Any]:
    """What a solver runs with: its own settings before the common ones, its options apart."""
    own = dict(config["solvers"][label])
    settings: dict[str, Any] = {"solver": own.pop("solver", label)}
    for key in OWN[1:]:
        value = own.pop(key, config.get(key))
        if value is not None:
            settings[key] = value
    settings["options"] = {key.replace("-", "_"): value for key, value in own.items()}
    return settings


def key_of(
    config: Mapping[str, Any], label: str, files: Sequence[Mapping[str, Any]], fixed: bool = True
) -> dict[str, Any]:
    """All on which a run's numbers rest; two runs with the same key may stand side by side.

    files : digests of the data; where they lie does not matter. fixed : which samples are read does
    not depend on how many the comparison needs.
    """
    key = {
        "task": config["task"],
        "task-options": config["task-options"],
        "threads": config.get("threads", NUMBERS["threads"].default),
        "test-size": config.get("test-size"),
        "files": contents_of(files),
        **settings_of(config, label),
    }
    if not (fixed and config.get("test")):
        key["largest size"] = max(config["sizes"])
    return key


def contents_of(files: Sequence[Mapping[str, Any]]) -> str:
    """A fingerprint of what is in the files."""
    return digest_of([file["sha256"] for file in files])


def digest_of(document: Any) -> str:
    """A fingerprint of plain values."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
