"""The master problem of dual prices: a small linear program to which outputs are added."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: reduced costs below this times the sizes of their terms are zero
_ROUNDING = 2.0**-46
#: pivots, and weights, below this are zero
_ZERO = 1e-11
_PIVOTS = 500


class Prices(NamedTuple):
    """Dual prices of rules.

    prices : (rules,) array of float, 0 or more.
    top : the highest of value + prices . slack over the outputs so far.
    weights : (outputs,) array of float, a convex combination that attains this.
    is_ray : whether no combination keeps all rules; prices then are a direction in which
        prices . slack is negative for all outputs so far.
    """

    prices: np.ndarray
    top: float
    weights: np.ndarray
    is_ray: bool


class PriceMaster:
    """min over prices p >= 0 of the highest of value + p . slack over known outputs.

    Solved in its dual, the convex combination of outputs of highest value whose slacks are 0 or
    more, by the simplex method, which goes on from its last basis when an output was added.

    Parameters
    ----------
    room : (rules,) array of float, what slacks may be below 0, so that few bases are degenerate.
    """

    def __init__(self, room: np.ndarray):
        self.rules = len(room)
        self.right = np.append(1.0, room)
        # columns are slack variables, one artificial output that keeps all rules, and outputs
        self.columns = np.roll(np.eye(self.rules + 1), -1, axis=1)
        self.values = np.zeros(self.rules + 1)
        self.basis = np.append(self.rules, np.arange(self.rules))

    def add(self, value: float, slack: np.ndarray) -> None:
        """Add an output.

        Parameters
        ----------
        value : its score.
        slack : (rules,) array of float, what is left of each rule, negative if it is violated.
        """
        self.columns = np.column_stack([self.columns, np.append(1.0, -slack)])
        self.values = np.append(self.values, value)

    def solve(self) -> Prices:
        """The best prices for the outputs so far.

        Returns
        -------
        Prices, a ray where outputs are missing.
        """
        artificial = np.zeros(len(self.values))
        artificial[self.rules] = -1.0
        prices, weights = self._simplex(artificial)
        is_ray = bool(weights[self.rules] > _ZERO)
        if not is_ray:
            prices, weights = self._simplex(self.values)
        found = np.maximum(prices[1:], 0.0)
        size = float(found.max(initial=0.0)) or 1.0 if is_ray else 1.0
        return Prices(found / size, prices[0] / size, weights[self.rules + 1 :], is_ray)

    def _simplex(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dual and primal solutions that maximise values, from the last basis on."""
        for pivots in range(_PIVOTS):
            inverse = _inverse(self.columns[:, self.basis])
            level, prices = inverse @ self.right, values[self.basis] @ inverse
            gains = values - prices @ self.columns
            sizes = np.abs(values) + np.abs(prices) @ np.abs(self.columns)
            gains[gains <= _ROUNDING * sizes] = 0.0
            gains[self.rules] = gains[self.basis] = 0.0  # the artificial one never comes back
            if not gains.any():
                break
            # the first one, as Bland says, ends cycles
            enter = int(gains.argmax() if pivots < _PIVOTS // 2 else np.flatnonzero(gains)[0])
            change = inverse @ self.columns[:, enter]
            falls = change > _ZERO
            if not falls.any():
                break
            ratios = np.full(len(level), np.inf)
            ratios[falls] = np.maximum(level[falls], 0.0) / change[falls]
            ties = np.flatnonzero(ratios == ratios.min())
            self.basis[ties[self.basis[ties].argmin()]] = enter
        weights = np.zeros(len(values))
        weights[self.basis] = np.maximum(level, 0.0)
        return prices, weights


def _inverse(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)
