"""Maximisation by linear and integer programming, and what is wrong with a program."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.structures.base import Constraints

TIMED_OUT, _INFEASIBLE, _UNBOUNDED = 1, 2, 3


def maximize_linear(
    constraints: Constraints, theta: np.ndarray, integrality: np.ndarray | None = None
) -> np.ndarray:
    """The argmax of theta . z over the polytope, by the HiGHS simplex method (so a vertex).

    integrality : which parts must be whole numbers; then by branch and bound, to the optimum.
    """
    matrix = constraints.matrix
    costs = np.zeros(matrix.shape[1])
    costs[: len(theta)] = np.where(np.isfinite(theta), -theta, 0.0)
    ceiling = np.full(matrix.shape[1], np.inf)
    ceiling[: len(theta)][theta == -np.inf] = 0.0
    scale = np.abs(costs).max() or 1.0
    answer = solve_rows(costs / scale, constraints, ceiling, integrality)
    if answer.x is None:
        raise InfeasibleError(_why(constraints, costs, ceiling, answer, integrality))
    z = answer.x[: len(theta)]
    whole = np.rint(z)
    # The solver's own tolerance is 1e-7; most polytopes here have vertices of whole numbers.
    near = np.abs(z - whole) < 1e-9
    if integrality is not None:  # these are whole, but for the solver's tolerance of 1e-6
        near |= integrality[: len(theta)]
    return np.where(near, whole, z)


def solve_rows(
    costs: np.ndarray,
    constraints: Constraints,
    ceiling: np.ndarray,
    integrality: np.ndarray | None = None,
    time_limit: float | None = None,
) -> Any:
    """What scipy says; `milp` is its one interface for two-sided rows, without integrality too.

    integrality : which of the first columns must be whole; then to the optimum: else an answer up
    to 1e-4 worse would pass for the maximum. Presolving, which small programs gain nothing by, made
    HiGHS 1.12 hang on some of them and call others infeasible, so that this is asked again.
    """
    options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    whole, presolve = None, True
    if integrality is not None:
        whole = np.zeros(len(costs))
        whole[: len(integrality)] = integrality
        presolve = len(costs) > 1000
        options["mip_rel_gap"] = 0.0
    rows = optimize.LinearConstraint(constraints.matrix, constraints.lower, constraints.upper)
    while True:
        answer = optimize.milp(
            costs,
            integrality=whole,
            constraints=rows,
            bounds=optimize.Bounds(0.0, ceiling),
            options={**options, "presolve": presolve},
        )
        if answer.x is not None or whole is None or answer.status == TIMED_OUT or not presolve:
            return answer
        presolve = False


def _why(
    constraints: Constraints,
    costs: np.ndarray,
    ceiling: np.ndarray,
    answer: Any,
    integrality: np.ndarray | None,
) -> str:
    """Why there is no maximum, with the row or part where that shows."""
    row = violated_row(constraints, ceiling)
    if row >= 0:
        return f"no output satisfies all rows: row {row} cannot hold together with the others."
    part = endless_part(constraints, ceiling, costs)
    if part >= 0:
        return f"the program has no bound: part {part} may grow for ever. Give it an upper bound."
    if integrality is not None and answer.status == _INFEASIBLE:
        return "no output of whole numbers satisfies all rows."
    return f"the linear program has no solution: {answer.message}"


def violated_row(constraints: Constraints, ceiling: np.ndarray) -> int:
    """A row that cannot hold together with the others; -1 if all can.

    By the least sum of violations over all rows: that row which is off most, for its size.
    """
    matrix = constraints.matrix
    rows, columns = matrix.shape
    size = np.maximum(np.abs(matrix).max(axis=1).toarray().ravel() if rows else np.zeros(0), 1e-300)
    scaled = sparse.csr_array(sparse.diags_array(1 / size) @ matrix)
    slack = sparse.eye_array(rows, format="csr")
    elastic = Constraints(
        sparse.csr_array(sparse.hstack([scaled, slack, -slack])),
        constraints.lower / size,
        constraints.upper / size,
    )
    costs = np.concatenate([np.zeros(columns), np.ones(2 * rows)])
    answer = solve_rows(costs, elastic, np.concatenate([ceiling, np.full(2 * rows, np.inf)]))
    if answer.x is None:
        return -1
    off = np.abs(answer.x[columns : columns + rows] - answer.x[columns + rows :])
    return int(off.argmax()) if rows and off.max() > 1e-6 else -1


def endless_part(constraints: Constraints, ceiling: np.ndarray, costs: np.ndarray) -> int:
    """A part that may grow for ever while costs . z falls; -1 if there is none."""
    lower = np.where(np.isfinite(constraints.lower), 0.0, -np.inf)
    upper = np.where(np.isfinite(constraints.upper), 0.0, np.inf)
    room = np.where(np.isfinite(ceiling), 0.0, 1.0)
    scale = np.abs(costs).max() or 1.0
    answer = solve_rows(costs / scale, Constraints(constraints.matrix, lower, upper), room)
    if answer.x is None or answer.fun > -1e-9:
        return -1
    return int((costs * answer.x).argmin())
