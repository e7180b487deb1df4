"""Where a fit with `warm_start` begins: the dual point of the last one, for other samples, too."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from maxmargin.problem import Problem, outputs_key
from maxmargin.result import Result, State
from maxmargin.structures.base import Layout
from maxmargin.structures.label_hull import in_hull
from maxmargin.validation.samples import as_dense


def find_added(known: list[Layout] | None, problem: Problem) -> np.ndarray | None:
    """Return the numbers that samples had in the last fit if all others follow them, -1 for these.

    Parameters
    ----------
    known : list of Layout or None
        Layouts of the last fit.
    problem : Problem
        The new problem.

    Returns
    -------
    ndarray of int of shape (n_samples,) or None
        Numbers; None if nothing was added at the end.
    """
    count = len(known or ())
    if not 0 < count < problem.n or problem.layouts[:count] != known:
        return None
    return np.where(np.arange(problem.n) < count, np.arange(problem.n), -1)


def move_state(
    old: State, known: list[Layout] | None, problem: Problem, previous: Any
) -> State | None:
    """Return a state with the dual point of samples that were there before, the truth for others.

    Parameters
    ----------
    old : State
        State of the last fit.
    known : list of Layout or None
        Layouts of the last fit.
    problem : Problem
        The new problem.
    previous : array_like of int of shape (n_samples,)
        Numbers of the samples in the last fit, -1 for new ones.

    Returns
    -------
    State or None
        The new state; None if the old one does not fit.
    """
    number, layouts = np.asarray(previous), list(known or ())
    if (
        number.shape != (problem.n,)
        or number.dtype.kind not in "iu"
        or (number >= len(layouts)).any()
        or (number < -1).any()
    ):
        raise ValueError(
            f"previous must be {problem.n} integers, the numbers of instances among the"
            f" {len(layouts)} of the last fit, or -1."
        )
    start = np.cumsum([0, *(problem.structure.n_parts(layout) for layout in layouts)])
    trusted = old.outputs == outputs_key(problem.structure, layouts)
    if len(old.points) != start[-1] or not (trusted or old.outputs == 0) or problem.alpha <= 0:
        return None
    z = problem.truth_copy()
    for i, j in enumerate(number.tolist()):
        own, layout = problem.parts(i), problem.layouts[i]
        if j < 0 or layouts[j] != layout:
            continue
        point = old.points[start[j] : start[j + 1]]
        if trusted or in_hull(problem.structure, point, z[own], layout):
            z[own] = point
    if z[problem.forbidden_parts].any():
        return None
    return State(problem.weights(z), z, deepcopy(old.rng))


def continue_state(result: Result, known: list[Layout] | None, problem: Problem) -> State | None:
    """Return the state of the last fit for the same samples.

    Parameters
    ----------
    result : Result
        Result of the last fit, with its state.
    known : list of Layout or None
        Layouts of the last fit.
    problem : Problem
        The new problem.

    Returns
    -------
    State or None
        The new state; None if the old one does not fit.
    """
    old = result.state
    assert old is not None
    same = known == problem.layouts and result.w.shape[-1] == problem.dim
    same = same and old.outputs in (0, problem.outputs_key)
    same = same and (old.best is None or old.best.shape == (problem.dim,))
    if same and len(old.points) == 0:  # of a solver that keeps no z: all it knows is w
        return State(as_dense(result.w).copy(), problem.truth_copy(), deepcopy(old.rng))
    same = same and len(old.points) == int(problem.part_ptr[-1])
    if same and old.outputs == 0:  # from a file
        same = all(
            in_hull(problem.structure, old.points[own], problem.truth[own], problem.layouts[i])
            for i, own in enumerate(map(problem.parts, range(problem.n)))
        )
    if not same or old.z[problem.forbidden_parts].any():
        return None
    certified = np.isfinite(result.dual) and problem.alpha > 0
    return old.move_to_refit(
        problem.weights(old.points) if certified else as_dense(result.w).copy()
    )
