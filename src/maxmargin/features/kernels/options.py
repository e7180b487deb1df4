"""Options of kernels that do not go together."""

from __future__ import annotations

from typing import Any


def check_together(own: Any) -> None:
    """Fail unless a KernelMap's options, each right by itself, make sense together."""
    if own.max_support is not None and own.method != "exact":
        raise ValueError(f'max_support goes with method="exact"; "{own.method}" has n_components.')
    if own.n_components is not None and own.method == "exact":
        raise ValueError('n_components goes with "nystroem" and "random"; "exact" has max_support.')
    if own.method == "random" and own.kernel not in ("rbf", "poly"):
        raise ValueError(
            'method="random" is for kernel="rbf" and "poly"; use method="nystroem", which any'
            " kernel can have."
        )
