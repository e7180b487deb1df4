"""Errors and warnings of their own kind."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class OptionError(ValueError, TypeError):
    """An option of an estimator, structure, solver ... is of the wrong type or out of its range."""


class MissingAbilityError(TypeError):
    """A solver or a method needs something that the structure cannot do; the message says what."""


class InfeasibleError(ValueError):
    """Every output of a sample is forbidden, or its truth is."""


class OracleError(ValueError):
    """An oracle in Python raised, hung, or gave an answer that cannot be right."""


class ModelFileError(ValueError):
    """A file is not a model of maxmargin, is damaged, or of a version that cannot be read."""


class UncalibratedWarning(UserWarning):
    """Probabilities were asked of a model that was not trained to have any."""


__all__ = [
    "ConvergenceWarning",
    "InfeasibleError",
    "MissingAbilityError",
    "ModelFileError",
    "OptionError",
    "OracleError",
    "UncalibratedWarning",
]
