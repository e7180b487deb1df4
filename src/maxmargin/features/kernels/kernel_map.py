"""Kernels as feature maps: coordinates in which inner products are the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError

from maxmargin.features.kernels import cholesky, functions, random_features
from maxmargin.features.kernels.equal_rows import merge_rows
from maxmargin.features.kernels.functions import Kernel
from maxmargin.features.kernels.options import check_together
from maxmargin.memory import refuse_bytes
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import (
    Bounds,
    Count,
    CountOrZero,
    NonNegative,
    Positive,
    check_options,
)
from maxmargin.validation.samples import Rows, as_csr, check_rows, locate_row

#: bytes for each pair of rows while an exact factor is made and packed
PAIR_BYTES = 32
#: bytes for each coordinate of a row
ROW_BYTES = 48


class Basis(NamedTuple):
    """What coordinates are told from, during a fit: triangle^-1 k(landmarks, x).

    of_rows : (distinct rows, r) coordinates of the training rows; which : which of them each row
    is; lengths : how many of these a sample has; landmarks : (r, features) rows.
    """

    distinct: Any
    which: np.ndarray
    of_rows: np.ndarray
    lengths: np.ndarray
    landmarks: Any
    triangle: np.ndarray


class KernelMap(Checked, TransformerMixin, BaseEstimator):
    """Map to vectors whose inner products are a kernel, for linear models with a kernel.

    It computes phi with phi(a) . phi(b) = k(a, b). As `kernel=` of `ChainSVM`, `TreeSVM`,
    `MatchingSVM` and `MulticlassSVM` it replaces the features of nodes (of edges, for matchings);
    biases and pair tables are unchanged. Also a scikit-learn transformer.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"} or callable, default="rbf"
        `a . b`, `(gamma a . b + coef0)^degree`, `exp(-gamma |a - b|^2)`, or a function (A, B) ->
        matrix with k(A[i], B[j]), A and B being arrays of rows. It must be symmetric and positive
        semi-definite.
    gamma : float or "scale", default="scale"
        Coefficient of "poly" and "rbf"; "scale" means 1 / (n_features * variance of all features).
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant of "poly", at least 0.
    method : {"exact", "nystroem", "random"}, default="exact"
        How the coordinates are computed.

        - "exact": a pivoted Cholesky factor of the kernel matrix of all distinct rows.
        - "nystroem": the kernel's projection on the span of landmarks drawn from the rows.
        - "random": random Fourier features for "rbf", a tensor sketch for "poly"; the expectation
          of their products is the kernel.
    n_components : int, default=None
        Number of coordinates for "nystroem" (landmarks) and "random"; None means 100.
    landmarks : {"random", "k-means++"}, default="random"
        How the landmarks of "nystroem" are drawn; "k-means++" draws them far from each other.
    max_support : int, default=None
        Maximum number of pivots of "exact", each the row that those before explain least, and hence
        of support vectors; `residual_` is the remaining error. None means no limit.
    drop : float, default=1e-9
        Support vectors are left out, least first, while no score changes by more than `drop |w|
        sqrt(k(x, x))`.
    random_state : int, Generator or None, default=0
        Seed of landmarks and random features.

    Attributes
    ----------
    gamma_ : float
        Value of gamma.
    n_features_in_ : int
        Number of features of a row.
    n_coordinates_ : int
        Number of coordinates of phi(x).
    n_distinct_ : int
        Number of distinct rows.
    residual_ : float
        `trace(K - L L^T) / trace(K)` over the distinct rows, the fraction of the kernel that the
        coordinates leave out; NaN for "random".
    """

    gamma_: Positive
    n_features_in_: CountOrZero
    n_coordinates_: Count
    n_distinct_: CountOrZero
    residual_: Any
    basis_: Basis | None
    frequencies_: np.ndarray
    hashes_: np.ndarray
    signs_: np.ndarray

    def __init__(
        self,
        kernel: Literal["linear", "poly", "rbf"] | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: Positive | Literal["scale"] = "scale",
        degree: Count = 3,
        coef0: NonNegative = 1.0,
        method: Literal["exact", "nystroem", "random"] = "exact",
        n_components: Count | None = None,
        landmarks: Literal["random", "k-means++"] = "random",
        max_support: Count | None = None,
        drop: Annotated[float, Bounds(0, 1, open_high=True)] = 1e-9,
        random_state: CountOrZero | np.random.Generator | None = 0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.n_components = n_components
        self.landmarks = landmarks
        self.max_support = max_support
        self.drop = drop
        self.random_state = random_state

    # -- as a transformer --------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None) -> KernelMap:
        """Compute the coordinate system from rows.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_rows, n_features)
            Training rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        KernelMap
            The fitted map itself.
        """
        matrix = _matrix(X)
        self.learn(check_rows(Rows(matrix, np.ones(matrix.shape[0], dtype=np.int64))))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_coordinates)
            Coordinates.
        """
        if not hasattr(self, "n_coordinates_"):
            raise NotFittedError("this KernelMap is not fitted yet; call fit first.")
        matrix = _matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but KernelMap is expecting"
                f" {self.n_features_in_}: those it was fitted on."
            )
        return self.coordinates(matrix)

    # -- for estimators ----------------------------------------------------------------------------
    def learn(self, rows: Rows) -> sparse.csr_array:
        """Fit to the rows of samples and return their coordinates.

        Parameters
        ----------
        rows : Rows
            Rows of all samples.

        Returns
        -------
        csr_array of shape (n_rows, n_coordinates)
            Coordinates.
        """
        check_options(self)
        check_together(self)
        matrix = rows.matrix.astype(np.float64, copy=False)
        self.n_features_in_ = int(matrix.shape[1])
        self.gamma_ = self._number(matrix)
        self.basis_ = None
        self.residual_ = float("nan")
        if self.method == "random":
            return self._learn_random(matrix)
        first, which = merge_rows(matrix)
        self.n_distinct_ = len(first)
        distinct = self._plain(matrix[first])

        def name_of(row: int) -> str:
            return _name(int(first[row]), rows.lengths)

        self._refuse_size(matrix.shape[0], self.n_distinct_)
        factor = self._factor(distinct, name_of)
        self.residual_ = factor.residual
        landmarks, triangle = distinct[factor.pivots], factor.lower[factor.pivots]
        self.basis_ = Basis(distinct, which, factor.lower, rows.lengths, landmarks, triangle)
        self.n_coordinates_ = int(factor.lower.shape[1])
        return _as_csr(factor, which)

    def coordinates(self, matrix: Any) -> np.ndarray:
        """Return the coordinates phi(x) of rows; after `forget`, for "random" only.

        Parameters
        ----------
        matrix : csr_array of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_coordinates)
            Coordinates.
        """
        if self.method == "random":
            return random_features.transform_rows(self, self._plain(matrix))
        if self.basis_ is None:
            raise NotFittedError("this KernelMap has forgotten its rows; fit it by itself.")
        gram = functions.full_kernel_matrix(
            self.function(), self.basis_.landmarks, self._plain(matrix)
        )
        return cholesky.solve_triangle(self.basis_.triangle, gram).T

    def products(self, matrix: Any, rows: Any, coefficients: np.ndarray) -> np.ndarray:
        """Return k(matrix, rows) @ coefficients, without storing the whole kernel matrix.

        Parameters
        ----------
        matrix : csr_array of shape (n_rows, n_features)
            Rows.
        rows : {ndarray, csr_array} of shape (n_support, n_features)
            Support vectors.
        coefficients : ndarray of shape (n_support, n_outputs)
            Coefficients of the support vectors.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Products.
        """
        plain = self._plain(matrix)
        out = np.empty((plain.shape[0], coefficients.shape[1]))
        for part, block in functions.in_blocks(self.function(), plain, rows):
            out[part] = block @ coefficients
        return out

    def validate(self) -> None:
        # of a file, which holds no basis; random features are as many as coordinates
        if not hasattr(self, "n_coordinates_"):
            return
        check_together(self)
        if self.basis_ is not None or type(self.residual_) is not float:
            raise ValueError("KernelMap: basis_ or residual_ is nothing that files hold")
        if self.method == "random":
            random_features.check_random_features(self)

    def forget(self) -> None:
        """Delete the training rows and their coordinates, which support vectors replace."""
        self.basis_ = None

    def function(self) -> Kernel:
        """Return the kernel as a function.

        Returns
        -------
        callable
            Function (A, B) -> matrix with k(A[i], B[j]).
        """
        if callable(self.kernel):
            return self.kernel
        return functions.named_kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    @property
    def is_whole(self) -> bool:
        """Whether the coordinates leave nothing out of the kernel of the training rows."""
        return self.method == "exact" and self.residual_ <= self.n_distinct_ * cholesky.PIVOT_TOL

    # -- inside ------------------------------------------------------------------------------------
    def _plain(self, matrix: Any) -> Any:
        return functions.plain_rows(matrix, dense=callable(self.kernel))

    def _factor(self, distinct: Any, name: Callable[[int], str]) -> cholesky.Factor:
        kernel = self.function()
        if self.method == "nystroem":
            return self._nystroem(kernel, distinct, name)
        if self.max_support is not None and self.max_support < distinct.shape[0]:
            size = functions.kernel_diagonal(kernel, distinct)

            def column(j: int) -> np.ndarray:
                return functions.kernel_matrix(kernel, distinct, distinct[j : j + 1])[:, 0]

            return cholesky.greedy_cholesky(column, size, self.max_support, name)
        gram = functions.full_kernel_matrix(kernel, distinct, distinct)
        functions.check_symmetric(gram, name)
        return cholesky.full_cholesky(gram, name)

    def _nystroem(
        self, kernel: Kernel, distinct: Any, name: Callable[[int], str]
    ) -> cholesky.Factor:
        chosen = self._landmarks(distinct)
        own = distinct[chosen]
        gram = functions.full_kernel_matrix(kernel, own, own)
        functions.check_symmetric(gram, lambda row: name(int(chosen[row])))
        factor = cholesky.full_cholesky(gram, lambda row: name(int(chosen[row])))
        triangle = factor.lower[factor.pivots]
        at = chosen[factor.pivots]
        cross = functions.full_kernel_matrix(kernel, distinct[at], distinct)
        lower = np.ascontiguousarray(cholesky.solve_triangle(triangle, cross).T)
        lower[at] = triangle
        size = functions.kernel_diagonal(kernel, distinct)
        left = size - np.einsum("ij,ij->i", lower, lower)
        if left.min() < -cholesky.NEGATIVE * size.max():
            raise cholesky.not_psd(
                f"the landmarks explain {name(int(left.argmin()))} to {left.min():.3g} below 0"
            )
        return cholesky.Factor(lower, at, float(np.maximum(left, 0.0).sum() / size.sum()))

    def _landmarks(self, distinct: Any) -> np.ndarray:
        count, most = self._components(), distinct.shape[0]
        if count >= most:
            return np.arange(most)
        if self.landmarks == "k-means++":
            # slow to import, and only kernels need it
            from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415

            found = kmeans_plusplus(distinct, count, random_state=self.random_state)[1]
            return np.unique(found)
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(most, size=count, replace=False))

    def _learn_random(self, matrix: sparse.csr_array) -> sparse.csr_array:
        self.n_distinct_ = int(matrix.shape[0])
        self.n_coordinates_ = self._components()
        need = ROW_BYTES * matrix.shape[0] * self.n_coordinates_
        refuse_bytes(
            need, f"{self.n_coordinates_} random features of {matrix.shape[0]} rows", "fewer"
        )
        random_features.draw_random_features(self)
        return sparse.csr_array(self.coordinates(matrix))

    def _components(self) -> int:
        return 100 if self.n_components is None else int(self.n_components)

    def _number(self, matrix: sparse.csr_array) -> float:
        if self.gamma != "scale":
            return float(self.gamma)
        total = matrix.shape[0] * matrix.shape[1]
        mean = matrix.data.sum() / total
        variance = float((matrix.data**2).sum() / total - mean * mean)
        return 1.0 / (matrix.shape[1] * variance) if variance > 1e-12 * mean * mean else 1.0

    def _refuse_size(self, rows: int, distinct: int) -> None:
        hint = (
            'Use method="nystroem" or "random" with n_components, or max_support: '
            'KernelMap("rbf", method="nystroem", n_components=1000).'
        )
        if self.method == "nystroem" or self.max_support is not None:
            most = self._components() if self.method == "nystroem" else int(self.max_support or 0)
            count = min(most, distinct)
            refuse_bytes(ROW_BYTES * rows * count, f"{count} coordinates of {rows} rows", "fewer")
            return
        need = PAIR_BYTES * distinct * max(distinct, rows)
        refuse_bytes(need, f"exact coordinates of {distinct} distinct rows", hint)


def as_kernel_map(kernel: Any) -> KernelMap | None:
    """What an estimator's option `kernel` stands for."""
    if kernel is None:
        return None
    if isinstance(kernel, KernelMap):
        return clone(kernel)
    return KernelMap(kernel)


def _name(row: int, lengths: np.ndarray) -> str:
    """What errors call a row."""
    i, place = locate_row(row, lengths)
    return f"sample {i}" if lengths[i] == 1 else f"row {place} of sample {i}"


def _matrix(X: Any) -> sparse.csr_array:
    return sparse.csr_array(as_csr(X), dtype=np.float64)


def _as_csr(factor: cholesky.Factor, which: np.ndarray) -> sparse.csr_array:
    """Coordinates of all rows; pivots have none after their own, which saves half of the work."""
    rank = factor.lower.shape[1]
    used = np.full(len(factor.lower), rank, dtype=np.int64)
    used[factor.pivots] = np.arange(1, rank + 1)
    counts = used[which]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    data = np.empty(int(indptr[-1]))
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    columns = np.arange(rank, dtype=np.int32)
    for row, own in enumerate(which):
        place = slice(indptr[row], indptr[row + 1])
        data[place] = factor.lower[own, : counts[row]]
        indices[place] = columns[: counts[row]]
    return sparse.csr_array((data, indices, indptr), shape=(len(which), rank))
