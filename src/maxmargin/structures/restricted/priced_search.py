"""Maximisation under linear rules by the structure's own oracle: Lagrangian branch and bound.

For dual prices p >= 0 of rules B z <= d, max_z (theta - B'p) . z + p . d is an upper bound on the
maximum, whatever p is. It is minimised by column generation: each output that the oracle finds goes
to the master problem, which gives the next prices, and weights of the outputs. Where the weighted
mean of the outputs is fractional, the search branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import NamedTuple

import numpy as np

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.constraints import part_score
from maxmargin.structures.base import Constraints
from maxmargin.structures.restricted.inequalities import ROUNDING, as_inequalities
from maxmargin.structures.restricted.price_master import PriceMaster

#: oracle calls in a node at most
_STEPS = 300
#: means nearer to integers than this are integers
_NEAR = 1e-7


class _Output(NamedTuple):
    z: np.ndarray
    value: float
    slack: np.ndarray


@dataclass
class _Node:
    """Outputs without the parts `banned`, and with the parts `drawn`."""

    banned: np.ndarray
    drawn: np.ndarray
    prices: np.ndarray
    #: a score by which parts are drawn
    draw: float
    bound: float = np.inf
    #: what rounding may add to the bound
    noise: float = 0.0
    known: list[_Output] = field(default_factory=list)
    mean: np.ndarray | None = None


class PricedSearch:
    """The maximum of theta . z over the outputs of an oracle that keep linear rules.

    Parameters
    ----------
    oracle : scores -> (output, its score), the exact maximum; an InfeasibleError if scores of -inf
        forbid all outputs. Outputs are vectors of integers.
    theta : array of float, scores of the parts, -inf where forbidden.
    rules : Constraints, lower <= matrix @ z <= upper.
    variables : (count, labels), see `Structure.variables`; with labels = 1, they are 0 or 1.
    keeps : output -> bool, whether it keeps all rules.
    end : when to stop, in seconds of `time.monotonic`.
    max_nodes, max_calls : nodes of branch and bound, and calls of the oracle, at most.
    """

    def __init__(
        self,
        oracle: Callable[[np.ndarray], tuple[np.ndarray, float]],
        theta: np.ndarray,
        rules: Constraints,
        variables: tuple[int, int],
        keeps: Callable[[np.ndarray], bool],
        end: float = np.inf,
        max_nodes: int = 1000,
        max_calls: int = 5000,
    ):
        self.oracle, self.theta, self.keeps = oracle, theta, keeps
        self.count, self.labels = variables
        self.end, self.nodes_left, self.calls_left = end, max_nodes, max_calls
        self.rules = as_inequalities(rules)
        self.best: np.ndarray | None = None
        self.value = -np.inf

    def run(self, drawn: np.ndarray) -> tuple[np.ndarray | None, float]:
        """Search for the best output.

        Parameters
        ----------
        drawn : array of int, variables that must be on.

        Returns
        -------
        The best output found, None if none was, and a proven bound on the maximum: -inf if no
        output keeps all rules, the output's score where that is the maximum up to rounding.
        """
        sizes = np.abs(self.theta[np.isfinite(self.theta) & (self.theta != 0)])
        draw = 8.0 * float(np.median(sizes)) if len(sizes) else 1.0
        root = _Node(np.empty(0, dtype=np.int64), drawn, np.zeros(len(self.rules.most)), draw)
        left = [] if self.rules.impossible else [root]
        done: list[_Node] = []
        while left and self.nodes_left > 0 and not self._is_late():
            # depth first until there is an output, then the node of the highest bound
            place = -1 if self.best is None else int(np.argmax([node.bound for node in left]))
            node = left.pop(place)
            self.nodes_left -= 1
            try:
                if not self._is_closed(node):
                    self._tighten(node)
            except InfeasibleError:
                continue
            children = [] if self._is_closed(node) else self._children(node)
            left += children
            if not children:
                done.append(node)
        still = [node.bound + node.noise for node in left + done if not self._is_closed(node)]
        return self.best, max([self.value, *still])

    def _is_late(self) -> bool:
        return self.calls_left <= 0 or monotonic() >= self.end

    def _is_closed(self, node: _Node) -> bool:
        return node.bound - self.value <= node.noise

    def _call_oracle(
        self, node: _Node, theta: np.ndarray, prices: np.ndarray
    ) -> tuple[float, float]:
        """The bound at these prices, and what rounding may add; the output becomes known."""
        scores = theta - self.rules.rows.T @ prices
        scores[node.banned] = -np.inf
        while True:
            drawn = scores.copy()
            drawn[node.drawn] += node.draw
            z, top = self.oracle(drawn)
            self.calls_left -= 1
            if (z[node.drawn] > 0.5).all():
                break
            if node.draw > 1.0 + 2.0 * float(np.abs(scores[np.isfinite(scores)]).sum()):
                raise InfeasibleError("no output has all parts that must be on")
            node.draw *= 8.0
        value = part_score(self.theta, z)
        if value > self.value and self.keeps(z):
            self.best, self.value = z, value
        node.known.append(_Output(z, value, self.rules.most - self.rules.rows @ z))
        draws = node.draw * len(node.drawn)
        sizes = part_score(np.abs(theta) + self.rules.sizes.T @ prices, z)
        sizes += float(prices @ np.abs(self.rules.most))
        bound = max(top, part_score(drawn, z)) - draws + float(prices @ self.rules.most)
        return bound, ROUNDING * (sizes + 2.0 * draws)

    def _tighten(self, node: _Node) -> None:
        """Minimise the bound of a node over prices; an InfeasibleError if no output is left."""
        master, prices, floor = PriceMaster(self.rules.room), node.prices, -np.inf
        for output in node.known:
            master.add(output.value, output.slack)
        none = np.where(np.isneginf(self.theta), -np.inf, 0.0)
        is_ray, node.bound = False, np.inf
        for _ in range(_STEPS):
            bound, noise = self._call_oracle(node, none if is_ray else self.theta, prices)
            master.add(node.known[-1].value, node.known[-1].slack)
            if is_ray and bound + float(prices @ self.rules.room) < -noise:
                raise InfeasibleError("no output keeps all rules")
            if not is_ray and bound + noise < node.bound + node.noise:
                node.bound, node.noise, node.prices = bound, noise, prices
            if self._is_closed(node) or bound - floor <= 4.0 * noise or self._is_late():
                return
            prices, floor, weights, is_ray = master.solve()
            if not np.isfinite(prices).all() or not weights.any():  # a basis that is singular
                return
            used = np.flatnonzero(weights)
            total = weights[used] @ np.array([node.known[k].z for k in used])
            node.mean = total / (float(weights[used].sum()) or 1.0)

    def _children(self, node: _Node) -> list[_Node]:
        """The node split by its most fractional variable; none if that would gain nothing."""
        whole = np.full(len(self.theta), 0.5) if node.mean is None else node.mean
        mean = whole[: self.count * self.labels]
        distance = np.where(self._is_free(node), np.abs(mean - 0.5), np.inf)
        part = int(np.argmin(distance))
        if distance[part] == np.inf:
            return []
        if distance[part] > 0.5 - _NEAR and self.keeps(np.rint(whole)):
            return []
        off = replace(node, banned=np.append(node.banned, part), mean=None)
        if self.labels > 1:
            first = part - part % self.labels
            others = np.setdiff1d(np.arange(first, first + self.labels), part)
            on = replace(node, banned=np.append(node.banned, others), mean=None)
        else:
            on = replace(node, drawn=np.append(node.drawn, part), mean=None)
        for child in (off, on):
            child.known = [output for output in node.known if _fits(output.z, child)]
        return [off, on] if mean[part] >= 0.5 else [on, off]

    def _is_free(self, node: _Node) -> np.ndarray:
        """Which labels their variables may have, or not have, in the node."""
        free = self.theta[: self.count * self.labels] > -np.inf
        free[node.banned] = free[node.drawn] = False
        if self.labels > 1:
            table = free.reshape(self.count, self.labels)
            table[table.sum(axis=1) == 1] = False
        return free


def _fits(z: np.ndarray, node: _Node) -> bool:
    return not z[node.banned].any() and bool((z[node.drawn] > 0.5).all())
