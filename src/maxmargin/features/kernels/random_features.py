"""Random features whose inner products are a kernel on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.validation.learned import check_array


def draw_random_features(owner: Any) -> None:
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


def check_random_features(owner: Any) -> None:
    """Raise ValueError unless a KernelMap has what `draw_random_features` gives it."""
    inputs, outputs = owner.n_features_in_, owner.n_coordinates_
    if owner.kernel == "rbf":
        if outputs % 2:
            raise ValueError("KernelMap: n_coordinates_ is not even")
        check_array("frequencies_", owner.frequencies_, shape=(inputs, outputs // 2))
        return
    shape = (owner.degree, inputs + (owner.coef0 != 0))
    check_array("hashes_", owner.hashes_, owner.hashes_.dtype, shape, 0, outputs - 1)
    check_array("signs_", owner.signs_, owner.signs_.dtype, shape, -1, 1)
    if owner.hashes_.dtype.kind != "i" or owner.signs_.dtype.kind not in "if":
        raise ValueError("KernelMap: hashes_ or signs_ are not numbers")


def transform_rows(owner: Any, matrix: Any) -> np.ndarray:
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
    # slow to import, and only kernels need it
    from sklearn.kernel_approximation import PolynomialCountSketch  # noqa: PLC0415

    return PolynomialCountSketch(
        gamma=owner.gamma_,
        degree=owner.degree,
        coef0=owner.coef0,
        n_components=owner.n_coordinates_,
        random_state=owner.random_state,
    )
