"""Linear and integer programs given to HiGHS, and what is wrong where there is no solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, sparse

from maxmargin.oracles.constraints import Constraints

TIMED_OUT, INFEASIBLE = 1, 2
#: how large costs are at most when HiGHS sees them: its tolerances are absolute, 1e-10 for linear
#: programs here, and 1e-6 or so for those in integers
_LARGEST, _LARGEST_WHOLE = 1e3, 1e5
#: largest costs below this are as good as none
_SMALLEST = 1e-300
_ACCURACY = 1e-10
#: and where no solution is that accurate: beside terms of 1e3, sums are rounded by more
_COARSE = 1e-7
#: absolute gap of the optimum at which HiGHS stops branching
_GAP = 1e-6


def solve_linear(
    costs: np.ndarray,
    matrix: sparse.csr_array,
    low: np.ndarray,
    high: np.ndarray,
    time_limit: float | None = None,
) -> Any:
    """A vertex x of least costs . x where matrix @ x = 0, as scipy says it, with prices.

    x is None where there is none, and after time_limit seconds.
    `prices` are of the rows: costs - matrix' prices is 0 or more where x is low, else 0 or less.
    """
    scale = _LARGEST / np.abs(costs).max(initial=_SMALLEST)
    options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    for accuracy in (_ACCURACY, _COARSE):
        solution = optimize.linprog(
            scale * costs,
            A_eq=matrix,
            b_eq=np.zeros(matrix.shape[0]),
            bounds=np.column_stack([low, high]),
            method="highs-ds",
            options={
                **options,
                "primal_feasibility_tolerance": accuracy,
                "dual_feasibility_tolerance": accuracy,
            },
        )
        if solution.status == TIMED_OUT:
            solution.x = None
        if solution.x is not None or solution.status == TIMED_OUT:
            break
    if solution.x is not None:
        solution.prices = solution.eqlin.marginals / scale
    return solution


def solve_whole(
    costs: np.ndarray,
    matrix: sparse.csr_array,
    low: np.ndarray,
    high: np.ndarray,
    whole: np.ndarray,
    time_limit: float | None = None,
) -> Any:
    """The least costs . x where matrix @ x = 0 and some x are integers, as scipy says it.

    `least` is what HiGHS proves the minimum to be at least, `unsure` how much of that is its gap.
    Presolving, which small programs gain
    nothing by, made HiGHS 1.12 hang on some of them and call others infeasible, so that this is
    asked again.
    """
    scale = _LARGEST_WHOLE / np.abs(costs).max(initial=_SMALLEST)
    options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    presolve = len(costs) > 1000
    while True:
        solution = optimize.milp(
            scale * costs,
            integrality=whole,
            constraints=optimize.LinearConstraint(matrix, 0.0, 0.0),
            bounds=optimize.Bounds(low, high),
            options={**options, "presolve": presolve, "mip_rel_gap": 0.0},
        )
        if solution.x is not None or solution.status == TIMED_OUT or not presolve:
            break
        presolve = False
    least, solution.unsure = solution.get("mip_dual_bound"), _GAP / scale
    solution.least = -np.inf if least is None else float(least) / scale - solution.unsure
    return solution


def violated_row(constraints: Constraints, ceiling: np.ndarray) -> int:
    """A row that cannot hold together with the others; -1 if all can.

    By the least sum of violations over all rows: that row which is off most, for its size.
    """
    matrix = constraints.matrix
    rows, columns = matrix.shape
    size = np.maximum(np.abs(matrix).max(axis=1).toarray().ravel() if rows else np.zeros(0), 1e-300)
    scaled = sparse.csr_array(sparse.diags_array(1 / size) @ matrix)
    own = sparse.eye_array(rows, format="csr")
    solution = solve_linear(
        np.concatenate([np.zeros(columns), np.ones(2 * rows), np.zeros(rows)]),
        sparse.csr_array(sparse.hstack([scaled, own, -own, -own])),
        np.concatenate([np.zeros(columns + 2 * rows), constraints.lower / size]),
        np.concatenate([ceiling, np.full(2 * rows, np.inf), constraints.upper / size]),
    )
    if solution.x is None:
        return -1
    off = np.abs(
        solution.x[columns : columns + rows] - solution.x[columns + rows : columns + 2 * rows]
    )
    return int(off.argmax()) if rows and off.max() > 1e-6 else -1


def endless_part(constraints: Constraints, ceiling: np.ndarray, costs: np.ndarray) -> int:
    """A part that may grow for ever while costs . z falls; -1 if there is none."""
    rows, columns = constraints.matrix.shape
    room = np.where(np.isfinite(ceiling), 0.0, 1.0)
    solution = solve_linear(
        np.append(costs, np.zeros(columns + rows - len(costs))),
        sparse.csr_array(sparse.hstack([constraints.matrix, -sparse.eye_array(rows)])),
        np.append(np.zeros(columns), np.where(np.isfinite(constraints.lower), 0.0, -np.inf)),
        np.append(room, np.where(np.isfinite(constraints.upper), 0.0, np.inf)),
    )
    if solution.x is None:
        return -1
    falls = costs * solution.x[: len(costs)]
    return int(falls.argmin()) if falls.sum() < -1e-9 * np.abs(costs).max() else -1
