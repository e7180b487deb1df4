"""Nested pairs: positions of a sequence are paired, and no two pairs cross."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maxmargin.oracles.base import check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.derivations.derivations import Derivations
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.structures.nested_pairs.layout import NestedLayout, check_positions, scratch_sizes
from maxmargin.structures.nested_pairs.program import folding_program
from maxmargin.validation.options import CountOrZero


class NestedPairs(Structure):
    """Pairs of positions that do not cross, such as base pairs of RNA. layout = NestedLayout.

    A layout (n, pairs) means ``NestedLayout(n, pairs)``, and (n,) all pairs of n positions with
    `min_loop` others between them or more.

    Parts: one per allowed pair, in the order of `pairs`. If the layout has symbols, parts of loops
    come after them, which count how often a loop of this kind occurs: pairs that are stacked, the
    ends of helices with their neighbours, hairpins, bulges and interior loops by length, multiloops
    (see the guide). An interior loop of more than 16 positions is a multiloop with one branch.
    An output y is an array of shape (m, 2), the pairs in any order.

    Parameters
    ----------
    min_loop : int, default=3
        Least number of positions between two that are paired.

    Notes
    -----
    All is O(n^3) in the manner of Zuker and Stiegler (1981) and of McCaskill (1990), with some
    hundred interior loops for each pair. `marginals` of parts of loops are expected counts.
    """

    def __init__(self, min_loop: CountOrZero = 3):
        self.min_loop = min_loop

    def _make_oracle(self) -> NestedPairsOracle:
        return NestedPairsOracle(self)

    def layout(self, layout: Any) -> NestedLayout:
        """Return the checked layout.

        Parameters
        ----------
        layout : NestedLayout or tuple
            Layout, (n, pairs), or (n,).

        Returns
        -------
        NestedLayout
            Positions and pairs.
        """
        if isinstance(layout, tuple | list) and len(layout) == 1:
            n = check_positions(layout[0])
            layout = NestedLayout(n, np.transpose(np.triu_indices(n, int(self.min_loop) + 1)))
        elif isinstance(layout, tuple | list) and len(layout) == 2:
            layout = NestedLayout(*layout)
        if not isinstance(layout, NestedLayout):
            raise TypeError(f"layout={layout!r} must be a NestedLayout, (n, pairs) or (n,).")
        if layout.shortest < self.min_loop:
            raise ValueError(
                f"pairs: two positions have {layout.shortest} between them, and"
                f" min_loop={self.min_loop}; leave such pairs out."
            )
        return layout

    def n_parts(self, layout: Any) -> int:
        return self.layout(layout).n_parts

    def variables(self, layout: Any) -> tuple[int, int]:
        return len(self.layout(layout).pairs), 1

    def vertex_size(self, layout: Any) -> int:
        # of each loop a few parts; no more than n loops with their pairs
        layout = self.layout(layout)
        return min(layout.n_parts, 16 * layout.n_positions)

    def radius(self, layout: Any) -> float:
        layout = self.layout(layout)
        if not layout.n_symbols:
            return float(np.sqrt(min(layout.n_positions, len(layout.pairs))))
        # counts of parts: less than 16 per position in all
        return float(np.sqrt(2.0) * 16 * layout.n_positions)

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Any) -> np.ndarray:
        layout, pairs = self.layout(layout), as_integers("y", y)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"y has shape {pairs.shape}, expected (m, 2), pairs of positions.")
        pairs = np.sort(pairs, axis=1)
        n = layout.n_positions
        places = {code: p for p, code in enumerate((layout.pairs @ [n, 1]).tolist())}
        theta = np.zeros(layout.n_parts)
        theta[: len(layout.pairs)] = -np.inf
        for pair in pairs.tolist():
            place = places.get(pair[0] * n + pair[1]) if pair[1] < n else None
            if place is None:
                raise ValueError(f"y: {tuple(pair)} is not a pair of the layout.")
            theta[place] = 1.0
        # only those pairs are allowed, so the best output has all of them, or they cross
        z, value = self.oracle().maximize(theta, layout)
        if value < len(pairs):
            raise ValueError(why_not_nested(pairs))
        return z

    def decode(self, z: np.ndarray, layout: Any) -> np.ndarray:
        pairs = self.layout(layout).pairs
        return pairs[np.asarray(z)[: len(pairs)] > 0.5]

    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        layout = self.layout(layout)
        pairs = layout.pairs
        for chosen in product((False, True), repeat=len(pairs)):
            own = pairs[list(chosen)]
            if not why_not_nested(own):
                yield self.encode(own, layout)

    def constraints(self, layout: Any) -> Constraints:
        return Derivations().constraints(folding_program(self.layout(layout)))


class NestedPairsOracle(CompiledOracle):
    """One recursion over spans, for maxima and for sums."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(
        ("maximize", "marginals"), "nested_pairs.folding"
    )
    projects_by_maximize = True
    structure: NestedPairs

    def layout_as_ints(self, layout: Any) -> Any:
        return self.structure.layout(layout).as_ints

    def scratch(self, layout: Any) -> tuple[int, int]:
        return scratch_sizes(self.structure.layout(layout))

    def k_best(self, theta: np.ndarray, layout: Any, k: int) -> list[tuple[np.ndarray, float]]:
        theta = check_scores(self.structure, theta, layout)
        program = folding_program(self.structure.layout(layout))
        return Derivations().k_best(theta, program, k)


def why_not_nested(pairs: np.ndarray) -> str:
    """What is wrong with pairs i < j, in a sentence; empty if they are nested."""
    open_pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for i, j in sorted(pairs.tolist()):
        if {i, j} & used:
            return f"y: position {min({i, j} & used)} is in more than one pair."
        used |= {i, j}
        while open_pairs and open_pairs[-1][1] < i:
            open_pairs.pop()
        if open_pairs and open_pairs[-1][1] < j:
            return f"y: the pairs {open_pairs[-1]} and {(i, j)} cross."
        open_pairs.append((i, j))
    return ""
