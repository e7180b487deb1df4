"""Solvers by name, with options as a configuration has them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from maxmargin.cli.runs.checks import check_integer, check_names
from maxmargin.solvers import OracleCache
from maxmargin.solvers.base import solver_classes

#: what every run has keys of its own for
_COMMON = ("max_epochs", "tol", "random_state")


def check_solver(name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, checked as far as that is possible without a problem."""
    classes = solver_classes()
    if name is None:
        return dict(options)
    if name == "auto":
        if options:
            raise ValueError(
                "solver-options need a solver by name, such as bcfw: auto has no options."
            )
        return {}
    if name not in classes:
        near = difflib.get_close_matches(name, classes, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(classes)}."
        raise ValueError(f"solver {name[:80]!r} is unknown; {hint}")
    known = [p for p in inspect.signature(classes[name]).parameters if p not in _COMMON]
    check_names(options, known, f"in solver-options of {name}: ")
    for key, value in options.items():
        if key == "cache" and isinstance(value, Mapping):
            check_names(value, ("size", "passes", "store"), "in solver-options.cache: ")
            for own, found in value.items():
                _check_cache(own, found)
        elif not isinstance(value, bool | int | float | str):
            raise ValueError(f"solver-options.{key} must be a number, text, true or false.")
    return dict(options)


def _check_cache(key: str, value: Any) -> None:
    if key == "store":
        if value not in ("auto", "vertices", "images"):
            raise ValueError("solver-options.cache.store must be auto, vertices or images.")
    elif (key, value) != ("passes", "auto"):
        check_integer(f"solver-options.cache.{key}", value)


def make_solver(name: str, options: Mapping[str, Any]) -> Any:
    """A solver for an estimator: its name if there are no options."""
    options = check_solver(name, options)
    if not options:
        return name
    if isinstance(options.get("cache"), Mapping):
        options["cache"] = OracleCache(**options["cache"])
    return solver_classes()[name](**options)
