"""Cone programs given to library solvers: Clarabel, and HiGHS for linear programs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse

from maxmargin.optional import optional_module
from maxmargin.solvers.qp.cone_program import ConeProgram
from maxmargin.solvers.qp.program_size import program_bytes, refuse_size

#: what the interior-point method is asked for; it stops earlier where rounding forbids more
_ACCURACY = 1e-10


class Solution(NamedTuple):
    """x (None if there is none), the multipliers u of the points' rows, what was said, and the
    bytes that the solve was expected to take.
    """

    x: np.ndarray | None
    points: np.ndarray
    words: str
    n_bytes: float = np.nan


def load_clarabel() -> Any:
    """The package, or an error that says how to get it."""
    return optional_module(
        "clarabel",
        'solver="qp" needs the interior-point solver Clarabel: pip install "maxmargin[qp]"',
    )


def by_clarabel(program: ConeProgram, limit: float = np.inf, seconds: float = np.inf) -> Solution:
    """The optimum by an interior-point method, unless its factor would take too many bytes."""
    clarabel = load_clarabel()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    settings.time_limit = seconds
    settings.max_threads = 1  # the same bits whatever the machine
    settings.direct_solve_method = "faer"  # works on dense blocks, which letters have
    kinds = {"nonneg": clarabel.NonnegativeConeT, "soc": clarabel.SecondOrderConeT}
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(program.square)),
        program.linear,
        sparse.csc_matrix(program.matrix),
        program.bound,
        [kinds[kind](size) for kind, size in program.cones],
        settings,
    )
    size = solver.get_info().linsolver  # its own count; nothing of the factor is filled yet
    sizes = f"{program.matrix.shape[1]} variables, {program.matrix.shape[0]} rows"
    needed = program_bytes(program.matrix.nnz, size.nnzL)
    refuse_size(needed, limit, sizes)
    found = solver.solve()
    x, duals = np.array(found.x), np.array(found.z)
    words = f"Clarabel says {found.status} after {found.iterations} steps"
    if not (np.isfinite(x).all() and np.isfinite(duals).all()):
        return Solution(None, duals, words, needed)
    return Solution(x, duals[: program.n_points], words, needed)


def by_highs(program: ConeProgram, seconds: float = np.inf) -> Solution:
    """The optimum of a linear program, by HiGHS."""
    found = optimize.linprog(
        program.linear,
        A_ub=program.matrix,
        b_ub=program.bound,
        bounds=(None, None),
        method="highs",
        options={
            "primal_feasibility_tolerance": _ACCURACY,
            "dual_feasibility_tolerance": _ACCURACY,
            "time_limit": None if seconds == np.inf else seconds,
        },
    )
    words = f"HiGHS says: {found.message}"
    if found.x is None:
        return Solution(None, np.empty(0), words)
    return Solution(found.x, -found.ineqlin.marginals[: program.n_points], words)
