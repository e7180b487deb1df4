"""What structures of decisions share: some of m parts are chosen."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxmargin.oracles.outputs import as_vector
from maxmargin.structures.base import Layout, Structure, check_sides


class Selection(Structure):
    """Some of m parts, subject to what a subclass says. layout = (m,).

    y is a vector of m zeros and ones, or a set of the numbers of the parts that are chosen.
    """

    binary = True
    #: what there is a part for each of
    listed_in: ClassVar[str] = ""

    def size(self) -> int | None:
        """Return the number of parts.

        Returns
        -------
        int or None
            Number of parts; None if it may differ between samples.
        """
        return None

    def layout_of(self, n_parts: int) -> Layout:
        self.n_parts((n_parts,))
        return (n_parts,)

    def n_parts(self, layout: Layout) -> int:
        count, known = check_sides(layout, "number of parts")[0], self.size()
        if known is not None and count != known:
            self.oracle()  # which may know that the structure itself is at fault
            raise ValueError(
                f"{type(self).__name__} has {known} parts, one for each of its {self.listed_in},"
                f" found {count}. Give as many costs, scores or rows of features."
            )
        return count

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        z = as_vector(y, self.n_parts(layout))
        if not ((z == 0) | (z == 1)).all():
            raise ValueError(f"a decision is of zeros and ones, found {z[(z != 0) & (z != 1)][0]}.")
        why = self.why_infeasible(z, layout)
        if why:
            raise ValueError(why)
        return z

    def why_no_decision(self, z: np.ndarray, layout: Layout) -> str:
        """Tell why an output is not a decision, where the oracle's outputs are more than these.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Output.
        layout : Layout
            Its layout.

        Returns
        -------
        str
            Reason; empty if it is one.
        """
        return ""

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        return np.rint(z).astype(np.int64)

    def decide(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        """Return the decision in an output, where the oracle's outputs are more than these.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Output.
        layout : Layout
            Its layout.

        Returns
        -------
        ndarray of int of shape (n_parts,)
            Decision.
        """
        return self.decode(z, layout)


def check_edges(edges: Any) -> np.ndarray:
    """Edges as an array of shape (m, 2) of node numbers; a ValueError if they are anything else."""
    try:
        found = np.asarray(edges)
    except ValueError:
        found = np.empty(0)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu" or not len(found):
        raise ValueError(
            f"edges have shape {found.shape} and type {found.dtype}, expected (m, 2) integers, the"
            " numbers of nodes."
        )
    found = found.astype(np.int64)
    if found.min() < 0 or found.max() > 100 * len(found) + 1000:
        wrong = found.min() if found.min() < 0 else found.max()
        raise ValueError(
            f"edges name node {wrong}, and there are {len(found)} of them; number the nodes from 0"
            " without gaps: np.unique(edges, return_inverse=True)."
        )
    loops = np.flatnonzero(found[:, 0] == found[:, 1])
    if len(loops):
        raise ValueError(f"edge {loops[0]} joins node {found[loops[0], 0]} with itself.")
    return found
