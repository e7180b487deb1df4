"""The oracle of structures that state their constraints: a linear program."""

from __future__ import annotations

import numpy as np

from maxmargin.oracles.base import Layout, Oracle, check_scores
from maxmargin.oracles.linear_program.maximize import maximize_linear


class LinearOracle(Oracle):
    """Maxima over the structure's `constraints` by linear programming, with a bound by duality."""

    is_bounded = True

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        scores = check_scores(self.structure, theta, layout)
        return maximize_linear(self.structure.constraints(layout), scores)
