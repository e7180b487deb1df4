"""Nearest and best matchings beside general QP solvers and scipy's assignment, same answers.

Ours is called from compiled code, as the solvers call it. The others have their default tolerances
(OSQP 1e-8), so that the largest difference is their error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog

from benchmarks.measure import best_time
from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin.structures import Constraints, Matching

SHAPES = ((10, 11), (20, 20), (60, 60))
CAPPED, CAPS = ((60, 60), (300, 300)), (1, 2, 5)
N_POINTS, N_OTHERS = 100, 10
MATCHING = Matching()


def main() -> None:
    rng = np.random.default_rng(0)
    print(
        f"nearest matchings, microseconds per point; warm: the point moved by 1 %; {N_POINTS}"
        " points"
    )
    for layout in SHAPES:
        for kind in ("normal", "vertex + 0.5 normal"):
            _projections(layout, kind, _points(rng, layout, kind), rng)
    print("best matchings, microseconds per point; scipy with columns of zeros to stay unmatched")
    for layout in SHAPES:
        _assignments(layout, rng.standard_normal((N_POINTS, layout[0] * layout[1])))
    print("best links where nodes may have several, milliseconds; HiGHS solves the linear program")
    for layout in CAPPED:
        _several_links(layout, rng.standard_normal(layout[0] * layout[1]))


def _points(rng: np.random.Generator, layout: tuple[int, int], kind: str) -> np.ndarray:
    points = rng.standard_normal((N_POINTS, layout[0] * layout[1]))
    if kind == "normal":
        return points
    starts = rng.standard_normal(points.shape)
    return 0.5 * points + [MATCHING.maximize(theta, layout) for theta in starts]


def _projections(
    layout: tuple[int, int], kind: str, points: np.ndarray, rng: np.random.Generator
) -> None:
    nearby = points * (1.0 + 0.01 * rng.standard_normal(points.shape))
    z, prices = _outputs("project", nearby, layout)
    cold = _our_time("project", points, layout, np.zeros_like(prices))
    warm = _our_time("project", points, layout, prices)
    z, _ = _outputs("project", points, layout)
    print(f"  {layout[0]}x{layout[1]}, {kind}: ours cold {1e6 * cold:.1f}, warm {1e6 * warm:.1f}")
    for name, prepare in (("piqp", _piqp), ("clarabel", _clarabel), ("osqp", _osqp)):
        try:
            module = import_module(name)
        except ImportError:
            print(f"    {name} is not installed: left out")
            continue
        solve = prepare(module, MATCHING.constraints(layout))
        times, apart = [], 0.0
        for point, ours in zip(points[:N_OTHERS], z, strict=False):
            start = time.perf_counter()
            theirs = solve(point)
            times.append(time.perf_counter() - start)
            apart = max(apart, np.abs(theirs - ours).max())
        least = float(np.median(times))
        print(
            f"    {name}: {1e6 * least:.0f}, {least / cold:.0f} times ours cold,"
            f" {least / warm:.0f} times ours warm; largest difference {apart:.0e}"
        )


def _assignments(layout: tuple[int, int], scores: np.ndarray) -> None:
    ours = _our_time("maximize", scores, layout, np.zeros((len(scores), 0)))
    z, _ = _outputs("maximize", scores, layout)
    costs = [-theta.reshape(layout) for theta in scores]
    padded = [np.hstack([c, np.zeros((layout[0], layout[0]))]) for c in costs]
    theirs = best_time(lambda: [linear_sum_assignment(c) for c in padded]) / len(padded)
    plain = best_time(lambda: [linear_sum_assignment(c) for c in costs]) / len(costs)
    for theta, c, mine in zip(scores, padded, z, strict=True):
        assert abs(theta @ mine + c[linear_sum_assignment(c)].sum()) <= 1e-9
    print(
        f"  {layout[0]}x{layout[1]}: ours {1e6 * ours:.1f}, scipy {1e6 * theirs:.1f}"
        f" ({theirs / ours:.1f} times ours); scipy without the choice {1e6 * plain:.1f}"
    )


def _several_links(layout: tuple[int, int], theta: np.ndarray) -> None:
    times = []
    for cap in CAPS:
        structure = Matching(cap, cap)
        times.append(best_time(lambda s=structure: s.maximize(theta, layout), 3))
    rows = structure.constraints(layout)
    start = time.perf_counter()
    found = linprog(-theta, rows.matrix, rows.upper, bounds=(0, 1), method="highs")
    theirs = time.perf_counter() - start
    assert abs(theta @ structure.maximize(theta, layout) + found.fun) <= 1e-6
    ours = ", ".join(f"{1e3 * t:.1f} (cap {c})" for c, t in zip(CAPS, times, strict=True))
    print(f"  {layout[0]}x{layout[1]}: ours {ours}, HiGHS {1e3 * theirs:.0f} (cap {CAPS[-1]})")


# -- ours ------------------------------------------------------------------------------------------


@compiled_function(types.void(POINTER, FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS))
def _loop(ability, points, layout_ints, starts, out, work, iwork):
    parts = len(out)
    n = len(points) // parts
    size = len(starts) // n
    for i in range(n):
        copy_values(starts[i * size : (i + 1) * size], work[:size])
        ability(points[i * parts : (i + 1) * parts], layout_ints, out, work, iwork)


def _arguments(layout: tuple[int, int]) -> tuple[Any, ...]:
    floats, ints = MATCHING.oracle().scratch(layout)
    layout_ints = np.array(MATCHING.oracle().layout_as_ints(layout), dtype=np.int64)
    return (
        layout_ints,
        np.zeros(layout[0] * layout[1]),
        np.zeros(floats),
        np.zeros(ints, dtype=np.int64),
    )


def _our_time(
    ability: str, points: np.ndarray, layout: tuple[int, int], starts: np.ndarray
) -> float:
    layout_ints, out, work, iwork = _arguments(layout)
    function = MATCHING.oracle().compiled_function(ability)
    flat, begin = points.ravel(), starts.ravel()
    return best_time(lambda: _loop(function, flat, layout_ints, begin, out, work, iwork), 15) / len(
        points
    )


def _outputs(
    ability: str, points: np.ndarray, layout: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """All z, and the prices that are left behind."""
    layout_ints, out, work, iwork = _arguments(layout)
    function, nodes = MATCHING.oracle().compiled_function(ability), sum(layout)
    z, prices = np.empty_like(points), np.empty((len(points), nodes))
    for i, point in enumerate(points):
        work[:nodes] = 0.0
        function(point, layout_ints, out, work, iwork)
        z[i], prices[i] = out, work[:nodes]
    return z, prices


# -- theirs: a function of the point; what can be set up once is not timed -----------------------

Solve = Callable[[np.ndarray], np.ndarray]


def _piqp(piqp: Any, constraints: Constraints) -> Solve:
    n, solver = constraints.matrix.shape[1], piqp.SparseSolver()
    solver.setup(
        sparse.csc_matrix(sparse.eye_array(n)), np.zeros(n), None, None,
        sparse.csc_matrix(constraints.matrix), None, constraints.upper,
        np.zeros(n), np.full(n, np.inf),
    )  # fmt: skip

    def solve(point: np.ndarray) -> np.ndarray:
        solver.update(c=-point)
        solver.solve()
        return np.array(solver.result.x)

    return solve


def _clarabel(clarabel: Any, constraints: Constraints) -> Solve:
    n, settings = constraints.matrix.shape[1], clarabel.DefaultSettings()
    settings.verbose = False
    square = sparse.csc_matrix(sparse.eye_array(n))
    rows = sparse.csc_matrix(sparse.vstack([constraints.matrix, -sparse.eye_array(n)]))
    upper = np.concatenate([constraints.upper, np.zeros(n)])
    cones = [clarabel.NonnegativeConeT(len(upper))]

    def solve(point: np.ndarray) -> np.ndarray:
        solver = clarabel.DefaultSolver(square, -point, rows, upper, cones, settings)
        return np.array(solver.solve().x)

    return solve


def _osqp(osqp: Any, constraints: Constraints) -> Solve:
    n, solver = constraints.matrix.shape[1], osqp.OSQP()
    rows = sparse.csc_matrix(sparse.vstack([constraints.matrix, sparse.eye_array(n)]))
    solver.setup(
        sparse.csc_matrix(sparse.eye_array(n)), np.zeros(n), rows,
        np.concatenate([constraints.lower, np.zeros(n)]),
        np.concatenate([constraints.upper, np.full(n, np.inf)]),
        verbose=False, eps_abs=1e-8, eps_rel=1e-8, max_iter=100_000,
    )  # fmt: skip

    def solve(point: np.ndarray) -> np.ndarray:
        solver.update(q=-point)
        return solver.solve().x

    return solve
