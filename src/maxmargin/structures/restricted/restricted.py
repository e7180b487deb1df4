"""Some of a structure's outputs: what is known of them, and rules that they must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.restricted.layout import (
    RestrictedLayout,
    inner_layout,
    rule_matrix,
    why_excluded,
)
from maxmargin.structures.restricted.oracle import RestrictedOracle
from maxmargin.validation.options import PositiveOrInf, check_options


class Restricted(Structure):
    """The outputs of another structure that have, or lack, given parts and satisfy given rules.

    layout = RestrictedLayout(layout, on, off, matrix, lower, upper). Parts are those of the inner
    structure.

    Parameters
    ----------
    structure : Structure
        The inner structure.
    time_limit : float, default=None
        Maximum number of seconds for a sample with rules; None means no limit. With a limit, the
        best output found is returned, with a bound on its error (`is_bounded`).

    Notes
    -----
    Parts that are on or off do not increase the cost: the inner structure's own oracle finds the
    best output, where known labels are the only ones allowed, and other required parts get a score
    so high that no output without them is better. Rules, and counts of tied tables that must be 1
    or more, get dual prices: an exact compiled oracle is called with prices in its scores, by
    branch and bound until the answer is proven. Other structures, and searches of too many nodes,
    go to the mixed-integer solver HiGHS, over the structure's `constraints`.
    """

    def __init__(self, structure: Structure, time_limit: PositiveOrInf | None = None):
        self.structure = structure
        self.time_limit = time_limit

    def _make_oracle(self) -> RestrictedOracle:
        check_options(self)
        return RestrictedOracle(self)

    @property
    def binary(self) -> bool:
        return self.structure.binary

    # -- what the structure inside says --------------------------------------------------------
    def n_parts(self, layout: RestrictedLayout) -> int:
        return self.structure.n_parts(inner_layout(layout))

    def encode(self, y: Any, layout: RestrictedLayout) -> np.ndarray:
        z = self.structure.encode(y, inner_layout(layout))
        self._check(z, layout)
        return z

    def decode(self, z: np.ndarray, layout: RestrictedLayout) -> Any:
        return self.structure.decode(z, inner_layout(layout))

    def variables(self, layout: RestrictedLayout) -> tuple[int, int]:
        return self.structure.variables(inner_layout(layout))

    def vertex_size(self, layout: RestrictedLayout) -> int:
        return self.structure.vertex_size(inner_layout(layout))

    def radius(self, layout: RestrictedLayout) -> float:
        return self.structure.radius(inner_layout(layout))

    # -- what is forbidden, and what is sure ---------------------------------------------------
    def forbidden(self, layout: RestrictedLayout) -> np.ndarray:
        # what the structure forbids, what is off, and other labels where one is known
        inner = inner_layout(layout)
        parts = self.n_parts(layout)
        for name in ("on", "off"):
            own = getattr(layout, name)
            if len(own) and own.max() >= parts:
                raise ValueError(f"{name}: there is no part {own.max()}, only 0 to {parts - 1}.")
        count, labels = self.structure.variables(inner)
        known = layout.on[layout.on < count * labels] if labels > 1 else layout.on[:0]
        others = (known // labels)[:, None] * labels + np.arange(labels) if len(known) else None
        found = [self.structure.forbidden(inner), layout.off]
        if others is not None:
            found.append(np.setdiff1d(others, known))
        banned = np.unique(np.concatenate(found)).astype(np.int64)
        twice = np.intersect1d(known if labels > 1 else layout.on, banned)
        if len(twice):
            raise InfeasibleError(f"part {twice[0]} must be on, and is forbidden.")
        return banned

    # -- descriptions ----------------------------------------------------------------------------
    def constraints(self, layout: RestrictedLayout) -> Constraints:
        return self.add_rows(self.structure.constraints(inner_layout(layout)), layout)

    def add_rows(self, inner: Constraints, layout: RestrictedLayout) -> Constraints:
        """Add what is known and the rules to constraints of the structure inside.

        Parameters
        ----------
        inner : Constraints
            All constraints of the structure inside, or some.
        layout : RestrictedLayout
            Layout of the sample's output.

        Returns
        -------
        Constraints
            These and those.
        """
        parts, columns = self.n_parts(layout), inner.matrix.shape[1]
        sure = np.concatenate([layout.on, self.forbidden(layout)])
        rows = [inner.matrix, sparse.eye_array(columns, format="csr")[sure]]
        value = np.concatenate([np.ones(len(layout.on)), np.zeros(len(sure) - len(layout.on))])
        # parts of tied tables are counts, and on if they are 1 or more
        lower, upper = [inner.lower, value], [inner.upper, np.where(value > 0.0, np.inf, 0.0)]
        if layout.matrix is not None:
            rest = sparse.csr_array((layout.matrix.shape[0], columns - parts))
            rows.append(sparse.hstack([rule_matrix(layout, parts), rest], format="csr"))
            lower.append(layout.lower)
            upper.append(layout.upper)
        matrix = sparse.csr_array(sparse.vstack(rows))
        return Constraints(matrix, np.concatenate(lower), np.concatenate(upper))

    def vertices(self, layout: RestrictedLayout) -> Iterator[np.ndarray]:
        self.forbidden(layout)
        for z in self.structure.vertices(inner_layout(layout)):
            if not why_excluded(z, layout):
                yield z

    def _check(self, z: np.ndarray, layout: RestrictedLayout) -> None:
        why = why_excluded(z, layout)
        if why:
            raise ValueError(f"y is not among the outputs left: {why}")
