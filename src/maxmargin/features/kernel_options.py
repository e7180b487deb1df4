"""The options of kernels, judged before the first number is computed."""

from __future__ import annotations

from typing import Any

from maxmargin.features.kernel_functions import NAMES
from maxmargin.validation import is_number

METHODS = ("exact", "nystroem", "random")
LANDMARKS = ("random", "k-means++")


def check_options(own: Any) -> None:
    """Fail unless a KernelMap's options make sense, alone and together."""
    if not (callable(own.kernel) or (isinstance(own.kernel, str) and own.kernel in NAMES)):
        raise ValueError(
            f"kernel={own.kernel!r} must be one of {', '.join(map(repr, NAMES))}, a function"
            " (A, B) -> matrix, or a KernelMap."
        )
    if own.method not in METHODS:
        raise ValueError(f"method={own.method!r} must be one of {list(METHODS)}.")
    if own.landmarks not in LANDMARKS:
        raise ValueError(f"landmarks={own.landmarks!r} must be one of {list(LANDMARKS)}.")
    if own.gamma != "scale" and not (is_number(own.gamma) and own.gamma > 0):
        raise ValueError(f'gamma={own.gamma!r} must be a positive number, or "scale".')
    if not is_number(own.degree, whole=True) or own.degree < 1:
        raise ValueError(f"degree={own.degree!r} must be a whole number, 1 or more.")
    if not (is_number(own.coef0) and own.coef0 >= 0):
        raise ValueError(
            f"coef0={own.coef0!r} must be a number, 0 or more: below, the polynomial is no"
            " inner product."
        )
    if not (is_number(own.drop) and 0 <= own.drop < 1):
        raise ValueError(f"drop={own.drop!r} must be a number from 0 to below 1.")
    for key in ("n_components", "max_support"):
        value = getattr(own, key)
        if value is not None and not (is_number(value, whole=True) and value >= 1):
            raise ValueError(f"{key}={value!r} must be a whole number, 1 or more, or None.")
    _check_together(own)


def _check_together(own: Any) -> None:
    if own.max_support is not None and own.method != "exact":
        raise ValueError(f'max_support goes with method="exact"; "{own.method}" has n_components.')
    if own.n_components is not None and own.method == "exact":
        raise ValueError('n_components goes with "nystroem" and "random"; "exact" has max_support.')
    if own.method == "random" and own.kernel not in ("rbf", "poly"):
        raise ValueError(
            'method="random" is for kernel="rbf" and "poly"; use method="nystroem", which any'
            " kernel can have."
        )
