"""How far to go along each of several directions at once."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.passes.mixing import sparse_product


def join_directions(
    slopes: np.ndarray,
    squares: np.ndarray,
    places: list[np.ndarray],
    changes: list[np.ndarray],
    alpha: float,
) -> np.ndarray:
    """Maximise D over z + sum_k gamma_k d_k, gamma in [0, 1]^K, where K shards moved apart.

    With delta_k = w(z + d_k) - w(z), D along these directions is D(z) plus ::

        sum_k gamma_k slope_k - alpha/2 |sum_k gamma_k delta_k|^2

    Parameters
    ----------
    slopes : ndarray of shape (K,)
        Changes of the losses (or entropies) that the shards would bring, less alpha w . delta_k.
    squares : ndarray of shape (K,)
        |delta_k|^2.
    places, changes : list of ndarray
        Where each delta_k is not zero, in rising order, and what it is there.
    alpha : float
        Coefficient of the penalty.

    Returns
    -------
    ndarray of shape (K,)
        The maximiser.
    """
    products = np.diag(squares)
    for k in range(len(places)):
        for j in range(k):
            product = sparse_product(places[j], changes[j], places[k], changes[k])
            products[j, k] = products[k, j] = product
    return maximize_in_box(slopes, alpha * products)


def maximize_in_box(slope: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Maximise slope . g - g . curvature g / 2 over g in [0, 1]^K, one coordinate after the other.

    Every step raises the value, from that of g = 0.
    """
    shares = np.zeros(len(slope))
    for _ in range(1000):
        largest = 0.0
        for k in range(len(shares)):
            own = curvature[k, k]
            rise = slope[k] - curvature[k] @ shares
            best = shares[k] + rise / own if own > 0.0 else float(rise > 0.0)
            best = min(max(best, 0.0), 1.0)
            largest = max(largest, abs(best - shares[k]))
            shares[k] = best
        if largest < 1e-12:
            break
    return shares
