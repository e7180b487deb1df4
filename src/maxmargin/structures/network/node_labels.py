"""What labels of the nodes of trees and of other networks have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Constraints, Structure
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
        z = np.zeros(self.n_parts(layout))
        return write_labels(z, y, count, labels, layout.network.edges, bool(self.tied))

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
        count, labels = self.variables(layout)
        banned = self.forbidden(layout)
        return label_constraints(count, labels, layout.network.edges, bool(self.tied), banned)


def write_labels(
    z: np.ndarray, y: Any, count: int, labels: int, edges: np.ndarray, tied: bool
) -> np.ndarray:
    """Z of labels of all nodes, and of the pairs at the ends of edges, in an array of zeros."""
    y = as_whole_labels(np.asarray(y))
    if y.shape != (count,):
        raise ValueError(f"y has shape {y.shape}, expected ({count},).")
    if y.min() < 0 or y.max() >= labels:
        raise ValueError(f"y has labels outside 0 to {labels - 1}.")
    z[np.arange(count) * labels + y] = 1.0
    ends = y[edges]
    starts = count * labels + np.arange(len(edges)) * (0 if tied else labels * labels)
    np.add.at(z, starts + ends[:, 0] * labels + ends[:, 1], 1.0)
    return z


def as_whole_labels(labels: np.ndarray) -> np.ndarray:
    """Labels as integers; a ValueError if they are not."""
    if labels.dtype.kind in "fO":
        labels = labels.astype(np.float64)
        broken = ~np.isfinite(labels) | (labels != np.floor(labels))
        if broken.any():
            raise ValueError(f"y has labels that are not integers: {labels[broken][0]}.")
    return labels.astype(np.int64)


def label_constraints(
    count: int, labels: int, edges: np.ndarray, tied: bool, banned: np.ndarray
) -> Constraints:
    """Each node has one label; each pair table has its ends' labels as row and column sums."""
    tables, square = len(edges), labels * labels
    line, same = np.ones((1, labels)), sparse.eye_array(labels)
    rows = [_wide(sparse.kron(sparse.eye_array(count), line), 0, tables * square)]
    for side, sums in enumerate((sparse.kron(same, line), sparse.kron(line, same))):
        where = (np.arange(tables), edges[:, side])
        ends = sparse.csr_array((np.ones(tables), where), shape=(tables, count))
        pairs = sparse.kron(sparse.eye_array(tables), sums)
        rows.append(sparse.hstack([-sparse.kron(ends, same), pairs], format="csr"))
    matrix = sparse.vstack(rows[: 3 if tables else 1], format="csr")
    if tied:  # the tables become auxiliary variables, their sum the tied table
        cut = [matrix[:, : count * labels], sparse.csr_array((matrix.shape[0], square))]
        matrix = sparse.hstack([*cut, matrix[:, count * labels :]], format="csr")
        total = sparse.hstack(
            [-sparse.eye_array(square), *[sparse.eye_array(square)] * tables], format="csr"
        )
        matrix = sparse.vstack([matrix, _wide(total, count * labels, 0)], format="csr")
    none = sparse.eye_array(matrix.shape[1], format="csr")[banned]
    equal = np.zeros(matrix.shape[0] + len(banned))
    equal[:count] = 1.0
    return Constraints(sparse.csr_array(sparse.vstack([matrix, none])), equal, equal)


def _wide(matrix: Any, before: int, after: int) -> Any:
    """With this many columns of zeros on both sides."""
    rows = matrix.shape[0]
    parts = [sparse.csr_array((rows, before)), matrix, sparse.csr_array((rows, after))]
    return sparse.hstack(parts, format="csr")
