"""Outputs that a dynamic program derives step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import check_k, check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.derivations.k_best import BestDerivations
from maxmargin.structures.derivations.layout import DerivationLayout
from maxmargin.structures.label_hull import in_hull
from maxmargin.validation.options import Seed


class Derivations(Structure):
    """Derivations of a goal by the steps of any dynamic program. layout = DerivationLayout(...).

    Parts: those that the layout's steps switch on; z counts how often each is. A derivation is a
    tree of steps, its score the sum of the scores of their parts. An output y is an array of part
    numbers, sorted, each as often as it is on.

    Notes
    -----
    Derivations that differ have parts that differ, if each step that is a choice has a part of its
    own. Otherwise `marginals`, `log_partition` and `k_best` count an output once for each of its
    derivations.

    `encode` refuses what is no mixture of derivations. Where parts count more than once, a mixture
    may have whole numbers that no derivation has, and is taken: to find out whether some derivation
    has just given parts is as hard as an exact cover, whose sets are steps and whose elements are
    parts.
    """

    def _make_oracle(self) -> DerivationOracle:
        return DerivationOracle(self)

    def n_parts(self, layout: DerivationLayout) -> int:
        return _checked(layout).n_parts

    def radius(self, layout: DerivationLayout) -> float:
        # parts may count, up to the number of parts of the longest derivation
        longest = self.oracle().maximize(np.ones(self.n_parts(layout)), layout)[1]
        return float(np.sqrt(2.0) * longest)

    def encode(self, y: Any, layout: DerivationLayout) -> np.ndarray:
        numbers, count = np.asarray(y), self.n_parts(layout)
        if numbers.size == 0:
            numbers = numbers.astype(np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError("y must be a list of part numbers.")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
            raise ValueError(f"y has numbers beyond those of parts, 0 to {count - 1}.")
        z = np.bincount(numbers, minlength=count).astype(np.float64)
        why = self.why_infeasible(z, layout)
        if why:
            raise ValueError(why)
        return z

    def decode(self, z: np.ndarray, layout: DerivationLayout) -> np.ndarray:
        times = np.rint(np.asarray(z)).astype(np.int64)
        return np.repeat(np.arange(len(times)), times)

    def why_infeasible(self, z: np.ndarray, layout: DerivationLayout) -> str:
        # among outputs of zeros and ones, z scores more here than any other
        near = self.oracle().maximize(2.0 * np.asarray(z) - 1.0, layout)[0]
        if np.array_equal(near, z) or in_hull(self, z, near, layout):
            return ""
        return "no derivation has just these parts"

    def constraints(self, layout: DerivationLayout) -> Constraints:
        # the flow of each step; what flows into an item is what is used of it
        steps, items = len(layout.heads), layout.n_items
        number = np.arange(steps)
        owner = np.repeat(number, np.diff(layout.part_ptr))
        shape = layout.n_parts, steps
        counts = sparse.csr_array((-np.ones(len(owner)), (layout.parts, owner)), shape=shape)
        tail, side = layout.tails.ravel(), np.repeat(number, 2)
        kept = tail >= 0
        rows = np.concatenate([layout.heads, tail[kept]])
        columns = np.concatenate([number, side[kept]])
        values = np.concatenate([np.ones(steps), -np.ones(int(kept.sum()))])
        flow = sparse.csr_array((values, (rows, columns)), shape=(items, steps))
        matrix = sparse.block_array([[sparse.eye_array(layout.n_parts), counts], [None, flow]])
        bounds = np.zeros(layout.n_parts + items)
        bounds[-1] = 1.0
        return Constraints(sparse.csr_array(matrix), bounds, bounds)

    def vertices(self, layout: DerivationLayout) -> Iterator[np.ndarray]:
        starts = np.searchsorted(layout.heads, np.arange(layout.n_items + 1))
        sums: list[list[np.ndarray]] = []
        for v in range(layout.n_items):
            sums.append([])
            for e in range(starts[v], starts[v + 1]):
                own = layout.parts[layout.part_ptr[e] : layout.part_ptr[e + 1]]
                found = [np.bincount(own, minlength=layout.n_parts).astype(np.float64)]
                for tail in layout.tails[e]:
                    if tail >= 0:
                        found = [z + more for z in found for more in sums[tail]]
                sums[v] += found
        yield from sums[-1]

    def sample(
        self, theta: np.ndarray, layout: DerivationLayout, n_draws: int = 1, random_state: Seed = 0
    ) -> np.ndarray:
        """Draw derivations with p(z) proportional to exp(theta . z).

        Parameters
        ----------
        layout : DerivationLayout
            Items and steps.
        n_draws : int, default=1
            Number of derivations.
        random_state : int, Generator, RandomState or None, default=0
            Seed; the same integer gives the same derivations.

        Returns
        -------
        ndarray of shape (n_draws, n_parts)
            Parts of the derivations.
        """
        shares = DerivationOracle(self).step_shares(theta, layout)
        rng = check_random_state(random_state)
        starts = np.searchsorted(layout.heads, np.arange(layout.n_items + 1))
        drawn = np.zeros((check_k(n_draws), layout.n_parts))
        for z in drawn:
            waiting = [layout.n_items - 1]
            while waiting:
                v = waiting.pop()
                first, last = starts[v], starts[v + 1]
                e = first + rng.choice(last - first, p=shares[first:last])
                np.add.at(z, layout.parts[layout.part_ptr[e] : layout.part_ptr[e + 1]], 1.0)
                waiting += [tail for tail in layout.tails[e] if tail >= 0]
        return drawn


class DerivationOracle(CompiledOracle):
    """One recursion over the items, for maxima and for sums."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(
        ("maximize", "marginals", "max_marginals"), "derivations.recursion"
    )
    projects_by_maximize = True

    def layout_as_ints(self, layout: DerivationLayout) -> Any:
        return layout.as_ints()

    def scratch(self, layout: DerivationLayout) -> tuple[int, int]:
        return 2 * layout.n_items + len(layout.heads), layout.n_items

    def _work(self, ability: str, theta: np.ndarray, layout: DerivationLayout) -> np.ndarray:
        """What a compiled function leaves in its work space."""
        function: Any = self.compiled_function(ability)
        theta = check_scores(self.structure, theta, layout)
        floats, ints = self.scratch(layout)
        work, iwork = np.zeros(floats), np.empty(ints, dtype=np.int64)
        value = function(theta, self._ints(layout), np.empty(len(theta)), work, iwork)
        if value == -np.inf:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return work

    def step_shares(self, theta: np.ndarray, layout: DerivationLayout) -> np.ndarray:
        """The probability of each step, if its head is to be derived."""
        return self._work("marginals", theta, layout)[2 * layout.n_items :]

    def k_best(
        self, theta: np.ndarray, layout: DerivationLayout, k: int
    ) -> list[tuple[np.ndarray, float]]:
        best = self._work("maximize", theta, layout)[: layout.n_items]
        theta = check_scores(self.structure, theta, layout)
        return list(islice(BestDerivations(theta, layout, best), check_k(k)))


def _checked(layout: Any) -> DerivationLayout:
    if not isinstance(layout, DerivationLayout):
        raise ValueError(f"layout={layout!r} must be a DerivationLayout; `Deduction` makes them.")
    return layout
