"""Errors and warnings of their own kind."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class OptionError(ValueError, TypeError):
    """An option of an estimator, structure or solver has the wrong type or is out of range."""


class MissingAbilityError(TypeError):
    """A solver or a method needs an ability that the structure lacks; the message names it."""


class InfeasibleError(ValueError):
    """Every output of a sample is forbidden, or its true output is."""


class OracleError(ValueError):
    """An oracle in Python raised an error, timed out, or gave an answer that cannot be right."""


class ModelFileError(ValueError):
    """A file is not a model of maxmargin, is damaged, or has a version that cannot be read."""


class UncalibratedWarning(UserWarning):
    """Probabilities were requested from a model that was not trained to have any."""


__all__ = [
    "ConvergenceWarning",
    "InfeasibleError",
    "MissingAbilityError",
    "ModelFileError",
    "OptionError",
    "OracleError",
    "UncalibratedWarning",
]
