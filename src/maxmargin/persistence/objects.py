"""How objects of registered classes are taken apart, and put together again without their code."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from sklearn.base import BaseEstimator

from maxmargin.exceptions import ModelFileError
from maxmargin.result import History, State
from maxmargin.structures.frozen import Frozen

#: of a State, what a warm start takes up; the rest belongs to a run that is over
_KEPT_OF_STATE = ("w", "z", "rng", "epoch", "n_oracle", "n_project", "seconds", "solver", "best")


def options_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The options of an estimator, callbacks left out."""
    own = getattr(estimator, "_saved_options", None)
    options = estimator.get_params(deep=False) if own is None else own()
    if "callbacks" in options:
        options["callbacks"] = [] if isinstance(options["callbacks"], list) else ()
    return options


def facts_of(value: Any) -> dict[str, Any]:
    """All else that makes up an object, by name."""
    if isinstance(value, Enum):
        return {"value": value.value}
    if isinstance(value, State):
        return {name: getattr(value, name) for name in _KEPT_OF_STATE}
    if isinstance(value, History):
        return {"records": list(value)}
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]  # only NamedTuples get here
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    facts = dict(value.__getstate__() or {})
    if isinstance(value, BaseEstimator):
        facts = {k: v for k, v in facts.items() if k not in value.get_params(deep=False)}
    return facts


def put_together(cls: type, options: dict[str, Any], facts: dict[str, Any]) -> Any:
    """The object of these options and facts."""
    value = _put_together(cls, options, facts)
    check = getattr(value, "_check_loaded", None)
    if check is not None:
        check()
    return value


def _put_together(cls: type, options: dict[str, Any], facts: dict[str, Any]) -> Any:
    if issubclass(cls, BaseEstimator):
        facts = _complete(cls, options) | facts
    elif options:
        raise ModelFileError(f"a {cls.__name__} has no options.")
    if issubclass(cls, Enum):
        return cls(facts["value"])
    if issubclass(cls, History):
        return cls(facts["records"])
    if issubclass(cls, tuple | Frozen) or is_dataclass(cls):
        return cls(**facts)
    value = cls.__new__(cls)
    for name in facts:
        known = getattr(cls, name, None)
        if name.startswith("__") or callable(known) or isinstance(known, property):
            raise ModelFileError(f"{name!r} is no attribute that a {cls.__name__} learns.")
    value.__dict__.update(facts)
    return value


def _complete(cls: type, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the defaults of those that the library learned to know since."""
    known = {p.name: p.default for p in inspect.signature(cls).parameters.values()}
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise ModelFileError(f"this version's {cls.__name__} has no option {unknown[0]!r}.")
    missing = [n for n, d in known.items() if d is inspect.Parameter.empty and n not in options]
    if missing:
        raise ModelFileError(f"the {cls.__name__} lacks its option {missing[0]!r}.")
    return known | options
