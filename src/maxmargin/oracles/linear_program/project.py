"""Projection on a polytope given by rows, by an interior point and one exact step."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear

from maxmargin.optional import optional_module
from maxmargin.oracles.constraints import Constraints

#: rows with less slack than this may be tight
_TIGHT = 1e-6
#: what an answer may be off by, of feasibility and of multipliers' signs
_CHECKED = 1e-10


def has_clarabel() -> bool:
    """Whether the interior point solver is installed."""
    return find_spec("clarabel") is not None


def project_linear(constraints: Constraints, point: np.ndarray) -> np.ndarray | None:
    """The nearest z with lower <= matrix z <= upper, z >= 0; None if it cannot be proven here.

    The interior point is exact to about 1e-8. The rows that are tight there give z by least
    squares, exact but for rounding, which is checked by the conditions of the optimum.
    """
    finite = np.isfinite(point)
    # points far away would cost the interior point its digits
    if not has_clarabel() or not finite.all() or np.abs(point).max(initial=0.0) > 1e4:
        return None
    rows, bound, equal = _one_sided(constraints, len(point))
    near = _interior(rows, bound, equal, point)
    if near is None or near.shape != point.shape:
        return None
    tight = equal | (rows @ near > bound - _TIGHT * (1 + np.abs(bound)))
    return _polished(rows, bound, equal, tight, point)


def _one_sided(constraints: Constraints, parts: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """All as rows @ z <= bound, those of `equal` with equality, the signs of parts at the end."""
    matrix, lower, upper = constraints
    equal = lower == upper
    over, under = np.isfinite(upper), np.isfinite(lower) & ~equal
    rows = sparse.vstack([matrix[over], -matrix[under], -sparse.eye_array(parts)], format="csr")
    bound = np.concatenate([upper[over], -lower[under], np.zeros(parts)])
    same = np.concatenate([equal[over], np.zeros(under.sum() + parts, dtype=bool)])
    return rows, bound, same


def _interior(rows: Any, bound: np.ndarray, equal: np.ndarray, point: np.ndarray) -> Any:
    clarabel = optional_module("clarabel", "pip install clarabel")
    order = np.concatenate([np.flatnonzero(equal), np.flatnonzero(~equal)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_threads = 1
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int((~equal).sum()))]
    solver = clarabel.DefaultSolver(
        sparse.eye_array(len(point), format="csc"),
        -point,
        sparse.csc_array(rows[order]),
        bound[order],
        cones,
        settings,
    )
    solution = solver.solve()
    return np.asarray(solution.x) if np.isfinite(solution.x).all() else None


def _polished(
    rows: Any, bound: np.ndarray, equal: np.ndarray, tight: np.ndarray, point: np.ndarray
) -> np.ndarray | None:
    """The z nearest to the point with these rows tight, if it is the projection; else None."""
    active = rows[np.flatnonzero(tight)].toarray()
    if len(active) == 0:
        z = point.copy()
    else:
        change, *_ = np.linalg.lstsq(active, bound[tight] - active @ point, rcond=1e-12)
        z = point + change
    if (np.abs(active @ z - bound[tight]) > _CHECKED * (1 + np.abs(bound[tight]))).any():
        return None
    if (rows @ z - bound > _CHECKED * (1 + np.abs(bound))).any():
        return None
    # point - z = sum of prices times tight rows, prices of inequalities being 0 or more
    residual = point - z
    if len(active):
        least = np.where(equal[tight], -np.inf, 0.0)
        prices = lsq_linear(active.T, residual, (least, np.inf), method="bvls", tol=1e-14)
        residual = residual - active.T @ prices.x
    if np.abs(residual).max(initial=0.0) > _CHECKED * (1 + np.abs(point).max(initial=0.0)):
        return None
    clean = np.maximum(z, 0.0)
    whole = np.rint(clean)
    return np.where(np.abs(clean - whole) < 1e-13, whole, clean)
