"""Domains of weights as rows of a cone program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.domains import Box, Domain, L1Ball, L2Ball, Product, RealSpace, Signs, SubmodularCone
from maxmargin.domains.base import as_indices, check_limits


class Rows(NamedTuple):
    """bound - matrix @ (w, sizes) is not negative ("nonneg") or in a second-order cone ("soc")."""

    kind: str
    matrix: sparse.csr_array
    bound: np.ndarray


class WeightCones(NamedTuple):
    """The rows of a domain, and how many auxiliary variables, the sizes, they speak of."""

    rows: list[Rows]
    n_sizes: int


def weight_cones(domain: Domain, dim: int) -> WeightCones:
    """What a domain says about its weights, in linear rows and second-order cones."""
    pieces = list(_pieces(domain, np.arange(dim)))
    n_sizes = sum(len(own) for ball, own in pieces if isinstance(ball, L1Ball))
    rows, start = [], dim
    for piece, own in pieces:
        if isinstance(piece, L1Ball):
            rows += _l1(piece.radius, own, start, dim + n_sizes)
            start += len(own)
        elif isinstance(piece, L2Ball):
            rows.append(_l2(piece.radius, own, dim + n_sizes))
        else:
            rows += _cone(piece, own, dim + n_sizes)
    return WeightCones([r for r in rows if r.matrix.shape[0]], n_sizes)


def is_polyhedral(domain: Domain, dim: int) -> bool:
    """Whether linear rows are enough."""
    return not any(isinstance(piece, L2Ball) for piece, _ in _pieces(domain, np.arange(dim)))


def _pieces(domain: Domain, own: np.ndarray) -> list[tuple[Domain, np.ndarray]]:
    """Domains that have rows of their own, and the numbers of their weights."""
    if isinstance(domain, RealSpace):
        return []
    if isinstance(domain, Product):
        found = []
        for inner, part in domain._parts():
            found += _pieces(part, own[inner])
        return found
    if isinstance(domain, L1Ball | L2Ball):
        signs = [] if domain.signs is None else _pieces(domain.signs, own)
        return [(domain, own), *signs]
    if isinstance(domain, Box | Signs | SubmodularCone):
        return [(domain, own)]
    limits = check_limits(domain, len(own))
    if limits is not None and limits.radius == np.inf:  # bounds, such as those around a prior
        low = limits.low if len(limits.low) else -np.inf
        return [(Box(low, limits.high if len(limits.high) else np.inf), own)]
    raise ValueError(
        f"ReferenceQP cannot state a {type(domain).__name__} as a cone program; it knows L2Ball,"
        " L1Ball, Box, Fixed, Signs, NonNegative, SubmodularCone and Products of these. Use"
        ' solver="bcfw" with a penalty, or solver="dual-extragradient".'
    )


def _cone(domain: Domain, own: np.ndarray, width: int) -> list[Rows]:
    if isinstance(domain, Box):
        low, high = domain._bounds(len(own))
        up, down = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
        index, signs = (
            np.append(own[up], own[down]),
            np.append(-np.ones(len(up)), np.ones(len(down))),
        )
        matrix = _entries(signs, np.arange(len(index)), index, len(index), width)
        return [Rows("nonneg", matrix, signs * np.append(low[up], high[down]))]
    if isinstance(domain, Signs):
        up, down = domain._signed(len(own))
        index = np.concatenate([own[up], own[down]])
        values = np.concatenate([-np.ones(len(up)), np.ones(len(down))])
        matrix = _entries(values, np.arange(len(index)), index, len(index), width)
        return [Rows("nonneg", matrix, np.zeros(len(index)))]
    assert isinstance(domain, SubmodularCone)
    chosen = np.arange(len(own)) if domain.indices is None else as_indices(domain.indices)
    tables = len(chosen) // 4
    values = np.tile([-1.0, 1.0, 1.0, -1.0], tables)
    matrix = _entries(values, np.repeat(np.arange(tables), 4), own[chosen], tables, width)
    return [Rows("nonneg", matrix, np.zeros(tables))]


def _l2(radius: float, own: np.ndarray, width: int) -> Rows:
    """(radius, w) in the second-order cone."""
    n = len(own)
    matrix = _entries(-np.ones(n), 1 + np.arange(n), own, n + 1, width)
    return Rows("soc", matrix, np.concatenate([[radius], np.zeros(n)]))


def _l1(radius: float, own: np.ndarray, start: int, width: int) -> list[Rows]:
    """|w_k| <= t_k and sum t_k <= radius."""
    n = len(own)
    rows, sizes = np.arange(n), start + np.arange(n)
    ones = np.ones(n)
    both = [
        _entries(
            np.concatenate([sign * ones, -ones]),
            np.concatenate([rows, rows]),
            np.concatenate([own, sizes]),
            n,
            width,
        )
        for sign in (1.0, -1.0)
    ]
    total = _entries(ones, np.zeros(n, dtype=int), sizes, 1, width)
    matrix = sparse.csr_array(sparse.vstack([*both, total]))
    return [Rows("nonneg", matrix, np.append(np.zeros(2 * n), radius))]


def _entries(
    values: np.ndarray, rows: np.ndarray, columns: np.ndarray, height: int, width: int
) -> sparse.csr_array:
    return sparse.csr_array((values, (rows, columns)), shape=(height, width))
