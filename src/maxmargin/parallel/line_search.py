"""How far to go along each of several directions at once."""

from __future__ import annotations

import numpy as np


def join_directions(
    w: np.ndarray,
    places: list[np.ndarray],
    changes: list[np.ndarray],
    gains: np.ndarray,
    alpha: float,
    scratch: np.ndarray,
) -> np.ndarray:
    """Maximise D over z + sum_k gamma_k d_k, gamma in [0, 1]^K, where K shards moved apart.

    With delta_k = w(z + d_k) - w(z), D along these directions is D(z) plus ::

        sum_k gamma_k (gain_k - alpha w . delta_k) - alpha/2 |sum_k gamma_k delta_k|^2

    Parameters
    ----------
    w : ndarray of shape (n_weights,)
        Weights w(z).
    places, changes : list of ndarray
        Where each delta_k is not zero, and what it is there.
    gains : ndarray of shape (K,)
        Changes of the losses (or entropies) that the shards would bring.
    alpha : float
        Coefficient of the penalty.
    scratch : ndarray of shape (n_weights,)
        Zeros, which it holds again at the end.

    Returns
    -------
    ndarray of shape (K,)
        The maximiser.
    """
    n = len(places)
    products, slope = np.zeros((n, n)), np.array(gains)
    for k, (at, own) in enumerate(zip(places, changes, strict=True)):
        slope[k] -= alpha * float(w[at] @ own)
        scratch[at] = own
        for j in range(k + 1):
            products[j, k] = products[k, j] = float(scratch[places[j]] @ changes[j])
        scratch[at] = 0.0
    return maximize_in_box(slope, alpha * products)


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
