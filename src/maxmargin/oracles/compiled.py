"""Oracles whose abilities are compiled functions."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin._numba.compile import announce_compilation
from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import Layout, Oracle, check_scores

_MANY = 4096  # active vertices: their factor takes 64 megabytes


class CompiledOracle(Oracle):
    """An oracle whose abilities are functions of `maxmargin._numba`, see `compiled`."""

    projects_by_maximize = False
    #: what is wrong where no output is left
    when_none: ClassVar[str] = "every output is forbidden (all scores are -inf)."

    def has(self, ability: str) -> bool:
        if ability == "log_partition":
            return self.has("marginals")
        if ability in ("marginals", "max_marginals"):
            return ability in self.compiled
        return super().has(ability)

    def compiled_function(self, ability: str) -> Any | None:
        if ability not in self.compiled:
            return None
        name = f"maxmargin._numba.{self.compiled[ability]}"
        with nullcontext() if name in sys.modules else announce_compilation():
            return getattr(import_module(name), ability).dispatcher

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        return self._run("maximize", theta, layout)

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        if "project" not in self.compiled:
            return super().project(point, layout)
        return self._run("project", point, layout)[0]

    def marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        return self._run("marginals", theta, layout)[0]

    def log_partition(self, theta: np.ndarray, layout: Layout) -> float:
        if "marginals" not in self.compiled:
            raise self.missing("log_partition")
        return self._run("marginals", theta, layout)[1]

    def max_marginals(self, theta: np.ndarray, layout: Layout) -> np.ndarray:
        return self._run("max_marginals", theta, layout)[0]

    def _run(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        """What a compiled function writes and returns, checked before and after."""
        if self.compiled_function(ability) is None:
            raise self.missing(ability)
        out, value = self._call(ability, check_scores(self.structure, theta, layout), layout)
        if value == -np.inf:
            raise InfeasibleError(self.when_none)
        if np.isnan(value):
            raise FloatingPointError(f"`{ability}` failed; scale the scores down.")
        return out, value

    def _call(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        """The same, with scratch of its own."""
        function: Any = self.compiled_function(ability)
        floats, ints = self.scratch(layout)
        out, work, iwork = np.zeros(len(theta)), np.zeros(floats), np.empty(ints, dtype=np.int64)
        return out, function(theta, self._ints(layout), out, work, iwork)

    def _ints(self, layout: Layout) -> np.ndarray:
        return np.require(self.layout_as_ints(layout), np.int64, ["C", "W"])


class HullOracle(CompiledOracle):
    """Labels of nodes, whose compiled `project` is an active set over the compiled `maximize`."""

    projects_by_maximize = True

    def warm_size(self, layout: Layout) -> int:
        # the labels and shares of the vertices that the last projection is a mixture of
        nodes = self.structure.variables(layout)[0]
        return min_norm_sizes.warm_size(self.structure.n_parts(layout), nodes)

    def _call(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        if ability != "project":
            return super()._call(ability, theta, layout)
        function, nodes = self.compiled_function(ability), self.structure.variables(layout)[0]
        return project_compiled(function, theta, self._ints(layout), nodes, self.scratch(layout))


def project_compiled(
    function: Any, point: np.ndarray, code: np.ndarray, nodes: int, scratch: tuple[int, int]
) -> tuple[np.ndarray, float]:
    """`_numba.min_norm_point` with as many active vertices as it takes; its answer and value.

    Solvers stop at `min_norm_sizes.MOST`, because a step from a point nearly as good does as well.
    """
    parts, most = len(point), min_norm_sizes.most_vertices(len(point))
    while True:
        work = np.zeros(scratch[0] + min_norm_sizes.float_size(parts, nodes, most))
        ints = np.empty(scratch[1] + min_norm_sizes.int_size(parts, nodes, most), dtype=np.int64)
        work[0] = -most
        out = np.zeros(parts)
        value = function(point, code, out, work, ints)
        if not -np.inf < value < 0.0:
            return out, value
        if most == min(parts, _MANY):
            raise RuntimeError(
                f"the projection did not converge with {most} vertices; it may be {-value:.1e} off."
            )
        most = min(4 * most, parts, _MANY)
