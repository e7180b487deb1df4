"""Oracles of structures that say in Python what they can: by methods, or by constraints."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from maxmargin.oracles.base import Call, Layout, Oracle, Wrapper, check_scores
from maxmargin.oracles.constraints import part_score
from maxmargin.oracles.linear_program.maximize import maximize_linear

#: what a class may have as methods, in place of what its oracle does
METHODS = "maximize", "project", "marginals", "log_partition", "max_marginals", "k_best"
#: what a class may say of them, in place of what its oracle says
_STATEMENTS = "is_exact", "is_expensive", "marginals_are_exact"


class MethodOracle(Wrapper):
    """An oracle some of whose abilities are methods of the structure's class.

    A class may say `is_exact = False` of its `maximize`, `is_expensive = True`, and
    `marginals_are_exact = False` of its `marginals`.

    Parameters
    ----------
    inner : Oracle
        The oracle for all else.
    methods : set of str
        Names of the abilities that are methods.
    """

    def __init__(self, inner: Oracle, methods: set[str]):
        super().__init__(inner)
        self.methods = methods
        for name in methods - {"maximize"}:
            setattr(self, name, getattr(inner.structure, name))
        for name in _STATEMENTS:
            setattr(self, name, getattr(inner.structure, name, getattr(inner, name)))
        self.is_bounded = inner.is_bounded and "maximize" not in methods

    gap_is_proof, has_expectations = Oracle.gap_is_proof, Oracle.has_expectations

    def is_exact_for(self, layout: Layout) -> bool:
        return self.is_exact if "maximize" in self.methods else self.inner.is_exact_for(layout)

    def _is_made_of_methods(self, ability: str) -> bool:
        """Whether it is a method, or follows from one and not from the oracle inside."""
        if ability == "project" and "maximize" in self.methods and self.inner.projects_by_maximize:
            return True
        return ability in self.methods

    def has(self, ability: str) -> bool:
        if ability == "separate" and "maximize" in self.methods:  # perhaps of other outputs
            return False
        return self._is_made_of_methods(ability) or self.inner.has(ability)

    def compiled_function(self, ability: str) -> Any | None:
        return None if self._is_made_of_methods(ability) else self.inner.compiled_function(ability)

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        if "maximize" not in self.methods:
            return self.inner.maximize(theta, layout)
        z = np.asarray(self.structure.maximize(theta, layout), dtype=float)
        return z, part_score(np.asarray(theta, dtype=float), z)

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        if "maximize" not in self.methods:
            yield from self.inner.maximize_many(calls)
            return
        for call in calls:  # as they are: whoever asks checks them
            yield self.structure.maximize(call.theta, call.layout), np.nan

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        if self._is_made_of_methods("project"):
            return Oracle.project(self, point, layout)
        return self.inner.project(point, layout)

    def log_partition(self, theta: np.ndarray, layout: Layout) -> float:
        if "marginals" in self.methods:  # that of other marginals is not theirs
            raise self.missing("log_partition")
        return self.inner.log_partition(theta, layout)


class LinearOracle(Oracle):
    """Maxima over the structure's `constraints` by linear programming, with a bound by duality."""

    is_bounded = True

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        scores = check_scores(self.structure, theta, layout)
        return maximize_linear(self.structure.constraints(layout), scores)
