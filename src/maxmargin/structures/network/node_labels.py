"""What labels of the nodes of trees and of other networks have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.chain import _whole
from maxmargin.structures.network.layout import NetworkLayout


class NetworkLabels(Structure):
    """A label at each node of a network, with scores for the pairs of labels at the ends of edges.

    Parts: V * K node-label parts, then pair parts in tables (K, K), row = label of the edge's first
    end: one table of counts if `tied`, else one for each edge, in the order of the edges.
    """

    #: the class of the layouts
    layouts: ClassVar[type[NetworkLayout]] = NetworkLayout
    tied: bool
    forbidden_pairs: Any

    def _known(self, layout: Any) -> Any:
        if not isinstance(layout, self.layouts):
            name = self.layouts.__name__
            raise TypeError(f"layout={layout!r} must be a {name}(network, number of labels).")
        return layout

    def _n_tables(self, layout: NetworkLayout) -> int:
        return 1 if self.tied else layout.n_edges

    def n_parts(self, layout: NetworkLayout) -> int:
        labels = self._known(layout).n_labels
        return layout.n_nodes * labels + self._n_tables(layout) * labels * labels

    def variables(self, layout: NetworkLayout) -> tuple[int, int]:
        return self._known(layout).n_nodes, layout.n_labels

    def vertex_size(self, layout: NetworkLayout) -> int:
        return self._known(layout).n_nodes + layout.n_edges

    def radius(self, layout: NetworkLayout) -> float:
        # |z - z'| is largest where all labels differ and, if tied, all edges have the same one
        pairs = self._known(layout).n_edges
        return float(np.sqrt(2 * layout.n_nodes + 2 * (pairs**2 if self.tied else pairs)))

    def forbidden(self, layout: NetworkLayout) -> np.ndarray:
        labels = self._known(layout).n_labels
        found = []
        if layout.allowed is not None:
            found.append(np.flatnonzero(~layout.allowed))
        if self.forbidden_pairs is not None:
            pairs = np.flatnonzero(self._mask(labels))
            starts = layout.n_nodes * labels + np.arange(self._n_tables(layout)) * labels * labels
            found.append(np.add.outer(starts, pairs).ravel())
        return np.concatenate(found) if found else super().forbidden(layout)

    def _mask(self, labels: int) -> np.ndarray:
        mask = np.asarray(self.forbidden_pairs, dtype=bool)
        if mask.shape != (labels, labels):
            raise ValueError(
                f"forbidden_pairs has shape {mask.shape}, expected {(labels, labels)}."
            )
        return mask

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: NetworkLayout) -> np.ndarray:
        count, labels = self.variables(layout)
        y = _whole(np.asarray(y))
        if y.shape != (count,):
            raise ValueError(f"y has shape {y.shape}, expected ({count},).")
        if y.min() < 0 or y.max() >= labels:
            raise ValueError(f"y has labels outside 0 to {labels - 1}.")
        z = np.zeros(self.n_parts(layout))
        z[np.arange(count) * labels + y] = 1.0
        ends = y[layout.network.edges]
        stride = 0 if self.tied else labels * labels
        starts = count * labels + np.arange(layout.n_edges) * stride
        np.add.at(z, starts + ends[:, 0] * labels + ends[:, 1], 1.0)
        return z

    def decode(self, z: np.ndarray, layout: NetworkLayout) -> np.ndarray:
        count, labels = self.variables(layout)
        return np.asarray(z)[: count * labels].reshape(count, labels).argmax(axis=1)

    # -- descriptions ------------------------------------------------------------------------------
    def vertices(self, layout: NetworkLayout) -> Iterator[np.ndarray]:
        banned = self.forbidden(layout)
        for y in product(range(layout.n_labels), repeat=layout.n_nodes):
            z = self.encode(y, layout)
            if not z[banned].any():
                yield z

    def constraints(self, layout: NetworkLayout) -> Constraints:
        """Each node has one label; each pair table has its ends' labels as row and column sums."""
        (count, labels), edges = self.variables(layout), layout.n_edges
        line, same = np.ones((1, labels)), sparse.eye_array(labels)
        square = labels * labels
        rows = [_wide(sparse.kron(sparse.eye_array(count), line), 0, edges * square)]
        for side, sums in enumerate((sparse.kron(same, line), sparse.kron(line, same))):
            where = (np.arange(edges), layout.network.edges[:, side])
            ends = sparse.csr_array((np.ones(edges), where), shape=(edges, count))
            tables = sparse.kron(sparse.eye_array(edges), sums)
            rows.append(sparse.hstack([-sparse.kron(ends, same), tables], format="csr"))
        matrix = sparse.vstack(rows[: 3 if edges else 1], format="csr")
        if self.tied:  # the tables become auxiliary variables, their sum the tied table
            cut = [matrix[:, : count * labels], sparse.csr_array((matrix.shape[0], square))]
            matrix = sparse.hstack([*cut, matrix[:, count * labels :]], format="csr")
            total = sparse.hstack(
                [-sparse.eye_array(square), *[sparse.eye_array(square)] * edges], format="csr"
            )
            total = _wide(total, count * labels, 0)
            matrix = sparse.vstack([matrix, total], format="csr")
        banned = self.forbidden(layout)
        none = sparse.eye_array(matrix.shape[1], format="csr")[banned]
        equal = np.zeros(matrix.shape[0] + len(banned))
        equal[:count] = 1.0
        return Constraints(sparse.csr_array(sparse.vstack([matrix, none])), equal, equal)


def _wide(matrix: Any, before: int, after: int) -> Any:
    """With this many columns of zeros on both sides."""
    rows = matrix.shape[0]
    parts = [sparse.csr_array((rows, before)), matrix, sparse.csr_array((rows, after))]
    return sparse.hstack(parts, format="csr")
