"""Units of costs and features, and weights in these."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.validation.samples import Rows

#: added to the diagonal of least squares, relative to its mean
_RIDGE = 1e-8


def learn_scales(rows: Any, omega: np.ndarray, may_shift: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return what is subtracted from features, and what they are divided by then.

    Parameters
    ----------
    rows : Rows
        Features.
    omega : ndarray of shape (n_instances,)
        Weights of the instances.
    may_shift : bool
        Whether anything may be subtracted.

    Returns
    -------
    mean, scale : ndarray of shape (n_features,)
        Mean, or zeros, and standard deviation.
    """
    matrix = rows.matrix.astype(np.float64)
    weight = np.repeat(omega / np.maximum(rows.lengths, 1), rows.lengths)
    size = np.abs(matrix).max(axis=0).toarray().ravel()
    unit = np.maximum(size, np.finfo(float).tiny)  # squares of larger numbers may overflow
    matrix = sparse.csr_array(matrix @ sparse.diags_array(1 / unit))
    mean = weight @ matrix
    # the many zeros of sparse features are worth more than a mean of zero, which would also be an
    # intercept
    if not may_shift or matrix.nnz <= 0.5 * np.prod(matrix.shape):
        mean = np.zeros(len(mean))
    spread = np.sqrt(np.maximum(weight @ matrix.multiply(matrix) - mean**2, 0.0))
    return unit * mean, np.where(spread > 1e-9, unit * spread, np.maximum(size, 1.0))


def scale_rows(rows: Any, mean: np.ndarray, scale: np.ndarray) -> Rows:
    """Return rows of scaled features.

    Parameters
    ----------
    rows : Rows
        Features.
    mean, scale : ndarray of shape (n_features,)
        What `learn_scales` found.

    Returns
    -------
    Rows
        The same, scaled.
    """
    matrix = rows.matrix.astype(np.float64)
    if mean.any():
        return Rows(sparse.csr_array((matrix.toarray() - mean) / scale), rows.lengths)
    return Rows(sparse.csr_array(matrix @ sparse.diags_array(1 / scale)), rows.lengths)


def fit_least_squares(
    matrix: sparse.csr_array, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the w of least sum of weight (matrix @ w - target)^2, the shortest of several.

    Parameters
    ----------
    matrix : csr_array of shape (n, n_weights)
        Features.
    target, weight : ndarray of shape (n,)
        What is to be predicted, and how much it counts.

    Returns
    -------
    ndarray of shape (n_weights,)
        The weights.
    """
    scaled = sparse.csr_array(sparse.diags_array(weight) @ matrix)
    normal = sparse.csc_array(matrix.T @ scaled)
    ridge = _RIDGE * max(normal.trace() / len(target), 1e-300) * sparse.eye_array(normal.shape[0])
    found = sparse.linalg.spsolve(sparse.csc_array(normal + ridge), scaled.T @ target)
    return np.ascontiguousarray(found, dtype=float)
