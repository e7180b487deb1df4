"""Kernels on the features of nodes: what estimators do when they have the option `kernel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.domains import Domain, L2Ball
from maxmargin.domains.base import RealSpace
from maxmargin.features.kernels import cholesky
from maxmargin.features.kernels.functions import kernel_diagonal
from maxmargin.features.kernels.kernel_map import KernelMap, as_kernel_map
from maxmargin.problem import Problem
from maxmargin.validation.learned import check_array
from maxmargin.validation.samples import as_dense

_LEARNED = (
    "support_vectors_",
    "dual_coef_",
    "n_support_",
    "residual_",
    "dropped_",
    "_in_coordinates",
)


class Support(NamedTuple):
    """Scores at x are k(x, rows) @ coefficients. dropped : by how much others could change them,
    times sqrt(k(x, x)).
    """

    rows: Any
    coefficients: np.ndarray
    dropped: float


class Kernelised:
    """Trains in the kernel's coordinates, predicts from support vectors.

    Solvers see coordinates L of the training rows with L L^T = K, so that every solver and its
    certificates are those of the kernel's own space. What is learned is kept as coefficients of
    rows of the training set. Predictions put the scores k(x, support) @ coefficients in the place
    of features, with weights of one for each label's own, so that all that is known of linear
    models holds.
    """

    kernel: Any = None
    #: while training: weights are of coordinates, and so must be what validation samples have
    _in_coordinates = False
    kernel_: KernelMap | None
    support_vectors_: Any
    dual_coef_: np.ndarray
    n_support_: int
    residual_: Any
    dropped_: float
    coef_: Any
    n_features_in_: int
    _n_labels: Callable[[], int]

    # -- training ----------------------------------------------------------------------------------
    def _training_rows(self, rows: Any) -> Any:
        """Checked samples, with coordinates for features."""
        self.kernel_ = as_kernel_map(self.kernel)
        for name in _LEARNED:
            self.__dict__.pop(name, None)
        if self.kernel_ is None:
            return rows
        _check_domain(getattr(self, "domain", None))
        self._in_coordinates = True
        return _with_nodes(rows, self.kernel_.learn(getattr(rows, "nodes", rows)))

    def _learn_support(self, problem: Problem) -> None:
        """After a fit: keep what predictions need, forget the rest."""
        own = getattr(self, "kernel_", None)
        if own is None:
            return
        self.residual_ = own.residual_
        if own.basis_ is not None:
            found = self._support(own, problem)
            self.support_vectors_, self.dual_coef_, self.dropped_ = found
            self.n_support_ = len(self.dual_coef_)
        own.forget()
        del self._in_coordinates

    def _support(self, own: KernelMap, problem: Problem) -> Support:
        """The shorter of two: coefficients of the dual point, or those of the pivots."""
        basis = own.basis_
        assert basis is not None
        w = self._node_weights()
        among_pivots = cholesky.solve_triangle(basis.triangle, w, transposed=True)
        known = []
        beta = self._dual_coefficients(own, problem)
        if beta is not None and _close(basis.of_rows.T @ beta, w):
            known.append((basis.distinct, beta))
        known.append((basis.landmarks, among_pivots))
        found = [_shortened(own, rows, beta, w) for rows, beta in known]
        return min(found, key=lambda support: len(support.coefficients))

    def _dual_coefficients(self, own: KernelMap, problem: Problem) -> np.ndarray | None:
        """Each distinct row's sum of omega_i / alpha (y - z), if w = w(z) can be told from it."""
        state = self.result_.state  # type: ignore[attr-defined]
        free = isinstance(problem.domain, RealSpace) and problem.alpha > 0
        if not (own.is_whole and free and state is not None):
            return None
        if len(state.z) != len(problem.truth):
            return None
        basis = own.basis_
        assert basis is not None
        lengths, labels = basis.lengths, max(self._n_labels(), 1)
        rate = np.repeat(problem.sample_weight / problem.alpha, lengths)
        starts = np.repeat(problem.part_ptr[:-1] - labels * _before(lengths), lengths)
        first = starts + labels * np.arange(len(rate))
        parts = first[:, None] + np.arange(labels)
        shares = rate[:, None] * (problem.truth - state.z)[parts]
        shape = (len(basis.of_rows), len(rate))
        merge = sparse.csr_array((np.ones(len(rate)), (basis.which, np.arange(len(rate)))), shape)
        return merge @ shares

    def _node_weights(self) -> np.ndarray:
        labels, columns = max(self._n_labels(), 1), self._n_columns()
        return as_dense(self.coef_)[: columns * labels].reshape(columns, labels)

    def _n_columns(self) -> int:
        """Features that have weights: coordinates, if there is a kernel."""
        own = getattr(self, "kernel_", None)
        return self.n_features_in_ if own is None else own.n_coordinates_

    # -- predicting --------------------------------------------------------------------------------
    def _seen_rows(self, rows: Any) -> Any:
        """Checked samples as predictions take them: scores in the place of features."""
        own = getattr(self, "kernel_", None)
        if own is None:
            return rows
        matrix = getattr(rows, "nodes", rows).matrix.astype(np.float64, copy=False)
        if self._in_coordinates:
            return _with_nodes(rows, sparse.csr_array(own.coordinates(matrix)))
        if own.method == "random":
            scores = own.coordinates(matrix) @ self._node_weights()
        else:
            scores = own.products(matrix, self.support_vectors_, self.dual_coef_)
        return _with_nodes(rows, sparse.csr_array(scores))

    def _check_kernel(self) -> None:
        """Of a model file: as many support vectors as coefficients, of as many features."""
        own = getattr(self, "kernel_", None)
        if own is None:
            return
        if own.n_features_in_ != self.n_features_in_:
            raise ValueError("kernel_ is of another number of features")
        if own.method == "random":
            return
        labels, rows = max(self._n_labels(), 1), self.support_vectors_
        check_array("dual_coef_", self.dual_coef_, shape=(self.n_support_, labels), any_order=True)
        if not isinstance(rows, np.ndarray | sparse.csr_array):
            raise ValueError("support_vectors_ is not an array")
        if rows.shape != (self.n_support_, self.n_features_in_):
            raise ValueError(f"support_vectors_ has shape {rows.shape}")
        values = rows.data if sparse.issparse(rows) else rows
        check_array("support_vectors_", values, shape=(None,) * values.ndim, any_order=True)

    def _weights(self) -> Any:
        """Weights of what `_seen_rows` gives."""
        own = getattr(self, "kernel_", None)
        if own is None or self._in_coordinates:
            return self.coef_
        labels = max(self._n_labels(), 1)
        rest = as_dense(self.coef_)[own.n_coordinates_ * labels :]
        return np.concatenate([np.eye(labels).ravel(), rest])


def _check_domain(domain: Domain | None) -> None:
    """Fail if turned coordinates would change where the weights live."""
    if domain is not None and not isinstance(domain, RealSpace | L2Ball):
        raise ValueError(
            f"domain={domain!r} is about single weights, but with a kernel these belong to"
            " coordinates that could as well be turned. Use domains.L2Ball, or kernel=None."
        )


def _with_nodes(rows: Any, matrix: sparse.csr_array) -> Any:
    if hasattr(rows, "nodes"):
        return rows._replace(nodes=rows.nodes._replace(matrix=matrix))
    return rows._replace(matrix=matrix)


def _before(lengths: np.ndarray) -> np.ndarray:
    return np.cumsum(lengths) - lengths


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= 1e-10 * np.abs(b).max(initial=0.0))


def _shortened(own: KernelMap, rows: Any, beta: np.ndarray, w: np.ndarray) -> Support:
    """Without the rows that count least, as `drop` allows."""
    size = np.sqrt(np.maximum(kernel_diagonal(own.function(), rows), 0.0))
    worth = np.abs(beta).max(axis=1, initial=0.0) * size
    order = np.argsort(worth, kind="stable")
    spent = np.cumsum(worth[order])
    count = int(np.searchsorted(spent, own.drop * np.sqrt((w * w).sum()), side="right"))
    kept = np.sort(order[count:])
    return Support(rows[kept], beta[kept], float(spent[count - 1]) if count else 0.0)
