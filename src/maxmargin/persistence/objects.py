"""How objects of registered classes are taken apart, and made again by their constructors."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from sklearn.base import BaseEstimator

from maxmargin.exceptions import ModelFileError
from maxmargin.persistence.registry import is_own
from maxmargin.result import History, State
from maxmargin.validation.learned import arguments_of, check_learned, is_free, learned_attributes
from maxmargin.validation.options import check_options

#: of a State, what a warm start takes up; the rest belongs to a run that is over
_SAVED_OF_STATE = tuple(own.name for own in fields(State) if own.metadata["saved"])


# -- taking apart ----------------------------------------------------------------------------------
def options_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The options of an estimator, callbacks and engines left out."""
    own = getattr(estimator, "_saved_options", None)
    options = estimator.get_params(deep=False) if own is None else own()
    if "callbacks" in options:
        options["callbacks"] = [] if isinstance(options["callbacks"], list) else ()
    if "engine" in options:
        options["engine"] = None
    return options


def learned_state(value: Any) -> dict[str, Any]:
    """All else that makes up an object, by name; a TypeError if it could not be loaded again."""
    cls = type(value)
    if isinstance(value, Enum):
        return {"value": value.value}
    if isinstance(value, History):
        return {"records": list(value)}
    if isinstance(value, tuple) or is_dataclass(value):
        return {name: getattr(value, name) for name in _saved_arguments(cls)}
    learned = {k: v for k, v in (value.__getstate__() or {}).items() if not _is_found_again(cls, k)}
    if isinstance(value, BaseEstimator):
        learned = {k: v for k, v in learned.items() if k not in value.get_params(deep=False)}
    for name in learned:
        if not _may_have(cls, name):
            raise TypeError(
                f"{cls.__name__}.{name} is nothing that a {cls.__name__} learns, and cannot be"
                f" saved with it: del model.{name} before, and save it by itself."
            )
    return learned


def _saved_arguments(cls: Any) -> tuple[str, ...]:
    """The names that a file may give the constructor, of a class without options."""
    return _SAVED_OF_STATE if issubclass(cls, State) else arguments_of(cls)


def _is_found_again(cls: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


def _may_have(cls: Any, name: str) -> bool:
    """Whether a file may give objects of a class this, besides their options.

    The caller's own classes need not declare what they learn; nothing may hide what a class has.
    """
    if not issubclass(cls, BaseEstimator) and name in _saved_arguments(cls):
        return True
    if is_own(cls):
        return is_free(cls, name) and name not in arguments_of(cls)
    return name in learned_attributes(cls)


#: names of attributes in files of earlier versions -> their names now
_RENAMED = {"_last_shapes": "_last_layouts", "shape": "layout"}
#: the same of options
_RENAMED_OPTIONS = {("OracleStructure", "oracle"): "function"}


# -- making again ----------------------------------------------------------------------------------
def put_together(cls: Any, options: dict[str, Any], learned: dict[str, Any], oracle: Any) -> Any:
    """The object of these options and learned attributes, checked by its class.

    oracle : what a structure needs that no file holds.
    """
    if options and not issubclass(cls, BaseEstimator):
        raise ModelFileError(f"a {cls.__name__} has no options.")
    if issubclass(cls, Enum):
        return cls(learned["value"])
    value = cls(learned["records"]) if issubclass(cls, History) else _made(cls, options, learned)
    supply = getattr(value, "_supply", None)
    if supply is not None:
        supply(oracle)
    if isinstance(value, BaseEstimator):
        check_options(value)
    if hasattr(value, "__dict__"):
        check_learned(value)
    if not is_own(cls) or hasattr(value, "validate"):
        value.validate()
    return value


def _made(cls: Any, options: dict[str, Any], learned: dict[str, Any]) -> Any:
    learned = {
        k if _may_have(cls, k) else _RENAMED.get(k, k): v
        for k, v in learned.items()
        if not _is_found_again(cls, k)
    }
    for name in learned:
        if not _may_have(cls, name):
            raise ModelFileError(f"{name!r} is not an attribute that a {cls.__name__} learns.")
    if issubclass(cls, BaseEstimator):
        options = {_RENAMED_OPTIONS.get((cls.__name__, k), k): v for k, v in options.items()}
        _check_names(cls, options)
        value = cls(**options)
    elif is_own(cls):
        value = cls.__new__(cls)
    else:
        given = {name: learned.pop(name) for name in _saved_arguments(cls) if name in learned}
        value = cls(**given)
    if learned:
        vars(value).update(learned)
    return value


def _check_names(cls: Any, options: dict[str, Any]) -> None:
    known = inspect.signature(cls).parameters
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise ModelFileError(f"this version's {cls.__name__} has no option {unknown[0]!r}.")
    for name, own in known.items():
        if own.default is own.empty and name not in options:
            raise ModelFileError(f"the {cls.__name__} lacks its option {name!r}.")
