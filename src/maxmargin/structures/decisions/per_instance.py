"""Decisions whose structure differs between instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from maxmargin._numba.decisions.per_instance import KINDS
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout, check_sides
from maxmargin.structures.decisions.selection import Selection
from maxmargin.structures.frozen import Frozen, read_only


class DecisionLayout(Frozen):
    """The structure of one instance's decisions, as a layout of `PerInstance`.

    Immutable. Layouts are equal if they have the same decisions.

    Parameters
    ----------
    structure : ShortestPath, Knapsack, SpanningTree or TopK
        The structure, of which a copy is kept.
    n_parts : int or None, default=None
        Number of parts; None where the structure tells it, as all but TopK do.
    """

    fields = ("structure", "n_parts")
    structure: Selection
    n_parts: int

    def __init__(self, structure: Any, n_parts: Any = None):
        if not isinstance(structure, Selection) or isinstance(structure, PerInstance):
            raise ValueError(
                f"{structure!r} is not a structure of decisions, such as ShortestPath(edges, 0, 5)."
            )
        self.structure = clone(structure)
        self.own = check_sides((structure.size() if n_parts is None else n_parts,), "n_parts")
        self.n_parts = self.structure.n_parts(self.own)
        self.oracle = self.structure.oracle()
        kind = getattr(self.oracle, "compiled", {}).get("maximize")
        if kind not in KINDS:
            raise ValueError(
                f"{type(structure).__name__} is not solved by compiled code here, as knapsacks with"
                " more than four decimals, or 32 items in several dimensions, are not; round the"
                " weights, or use Structure.from_oracle."
            )
        own = np.asarray(self.oracle.layout_as_ints(self.own), dtype=np.int64)
        self.as_ints = read_only(np.concatenate([[KINDS.index(kind)], own]))

    def _key(self) -> tuple[Any, ...]:
        return (self.as_ints.tobytes(),)

    def __repr__(self) -> str:
        return f"DecisionLayout({type(self.structure).__name__}, {self.n_parts} parts)"


class PerInstance(Selection):
    """Decisions whose structure is given with each instance. layout = a structure of decisions.

    Samples are pairs of features and structures, such as ``(features, ShortestPath(edges, 0, 5))``
    or ``(features, Knapsack(weights, capacity))``: graphs, weights and capacities may differ.

    Notes
    -----
    The structures are `ShortestPath`, `SpanningTree`, `TopK`, and `Knapsack` where compiled code
    solves it; kinds may differ, too.
    """

    def _make_oracle(self) -> PerInstanceOracle:
        return PerInstanceOracle(self)

    def layout_of(self, n_parts: int) -> Layout:
        raise ValueError(
            f"PerInstance cannot tell the structure of {n_parts} parts; give each sample as a pair"
            " (features, structure)."
        )

    def n_parts(self, layout: Layout) -> int:
        return as_decision_layout(layout).n_parts

    def vertex_size(self, layout: Layout) -> int:
        found = as_decision_layout(layout)
        return found.structure.vertex_size(found.own)

    def n_vertices(self, layout: Layout) -> int | None:
        found = as_decision_layout(layout)
        return found.structure.n_vertices(found.own)

    def constraints(self, layout: Layout) -> Constraints:
        found = as_decision_layout(layout)
        return found.structure.constraints(found.own)

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        found = as_decision_layout(layout)
        return found.structure.why_infeasible(z, found.own)

    def why_no_decision(self, z: np.ndarray, layout: Layout) -> str:
        found = as_decision_layout(layout)
        return found.structure.why_no_decision(z, found.own)

    def decide(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        found = as_decision_layout(layout)
        return found.structure.decide(z, found.own)

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        found = as_decision_layout(layout)
        return found.structure.vertices(found.own)


class PerInstanceOracle(CompiledOracle):
    """The compiled code of each instance's structure."""

    structure: PerInstance
    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.per_instance"}
    projects_by_maximize = True
    when_none = "its structure has no output of allowed parts."

    def has(self, ability: str) -> bool:
        return ability != "constraints" and super().has(ability)  # knapsacks have none

    def layout_as_ints(self, layout: Layout) -> Any:
        return as_decision_layout(layout).as_ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        found = as_decision_layout(layout)
        return found.oracle.scratch(found.own)

    def check_layout(self, layout: Layout) -> None:
        found = as_decision_layout(layout)
        found.oracle.check_layout(found.own)


def as_decision_layout(layout: Any, n_parts: int | None = None) -> DecisionLayout:
    """The layout of a structure, which may be one already.

    Parameters
    ----------
    layout : DecisionLayout or Selection
        The layout, or a structure of decisions.
    n_parts : int or None, default=None
        Number of parts, where the structure does not tell it.

    Returns
    -------
    DecisionLayout
        The layout.
    """
    if isinstance(layout, DecisionLayout):
        return layout
    size = layout.size() if isinstance(layout, Selection) else None
    return DecisionLayout(layout, n_parts if size is None else None)
