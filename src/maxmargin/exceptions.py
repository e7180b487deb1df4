"""Errors and warnings of their own kind."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class MissingAbilityError(TypeError):
    """A solver or a method needs something that the structure cannot do; the message says what."""


class InfeasibleError(ValueError):
    """Every output of a sample is forbidden, or its truth is."""


__all__ = ["ConvergenceWarning", "InfeasibleError", "MissingAbilityError"]
