"""Random features whose inner products are a kernel on average."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(owner: Any) -> None:
    """Give a KernelMap its random numbers, as arrays, so that saved models have the same ones."""
    if owner.kernel == "rbf":
        # pairs of a cosine and a sine: half the variance of cosines with random phases
        rng = np.random.default_rng(owner.random_state)
        half = -(-owner.n_coordinates_ // 2)
        owner.frequencies_ = rng.normal(
            scale=np.sqrt(2 * owner.gamma_), size=(owner.n_features_in_, half)
        )
        owner.n_coordinates_ = 2 * half
        return
    sketch = _sketch(owner).fit(np.zeros((1, owner.n_features_in_)))
    owner.hashes_, owner.signs_ = sketch.indexHash_, sketch.bitHash_


def transform(owner: Any, matrix: Any) -> np.ndarray:
    """(rows, n_coordinates_)."""
    if owner.kernel == "rbf":
        angles = matrix @ owner.frequencies_
        scale = np.sqrt(1.0 / owner.frequencies_.shape[1])
        return scale * np.hstack([np.cos(angles), np.sin(angles)])
    sketch = _sketch(owner)
    sketch.n_features_in_ = owner.n_features_in_
    sketch.indexHash_, sketch.bitHash_ = owner.hashes_, owner.signs_
    return np.asarray(sketch.transform(matrix))


def _sketch(owner: Any) -> Any:
    from sklearn.kernel_approximation import PolynomialCountSketch

    return PolynomialCountSketch(
        gamma=owner.gamma_,
        degree=owner.degree,
        coef0=owner.coef0,
        n_components=owner.n_coordinates_,
        random_state=owner.random_state,
    )
