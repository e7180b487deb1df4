"""Dual points given by log-potentials: their expectations and entropies, for all samples."""

from __future__ import annotations

from copy import copy

import numpy as np

from maxmargin._numba.passes.batch import apply_range
from maxmargin._numba.passes.exponentiated_gradient import copy_scores
from maxmargin.exceptions import InfeasibleError
from maxmargin.problem import Problem
from maxmargin.samples import NO_POINTS


def expected_points(problem: Problem, potentials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points marginals(potentials), and the entropy of each sample's distribution."""
    bare = copy(problem)  # nothing but the potentials in place of the costs
    costs, every_part = potentials.copy(), np.empty(0, dtype=np.int64)
    costs[problem.forbidden_parts] = -np.inf
    bare.packed = problem.packed._replace(costs=costs, cost_start=every_part)
    z = np.empty_like(potentials)
    values = bare.apply("marginals", np.zeros(problem.dim), out=z)
    return z, values - inner_products(problem, potentials, z)


def check_entropy(problem: Problem, entropy: np.ndarray) -> None:
    """That entropies read from a file are between 0 and the log of the number of outputs."""
    most = expected_points(problem, np.zeros(int(problem.part_ptr[-1])))[1]
    slack = 1e-6 * (1.0 + np.abs(most))
    if np.any(entropy < -slack) or np.any(entropy > most + slack):
        raise ValueError("entropy is out of range")


def inner_products(problem: Problem, values: np.ndarray, z: np.ndarray) -> np.ndarray:
    """values_i . z_i of each sample."""
    return np.add.reduceat(values * z, problem.part_ptr[:-1])


def scores_of(problem: Problem, w: np.ndarray) -> np.ndarray:
    """F_i^T w + c_i of all samples, 0 on forbidden parts."""
    out, none = np.empty(int(problem.part_ptr[-1])), np.empty(0)
    apply_range(
        problem.packed, problem.workspace("marginals"), copy_scores.dispatcher, w, none, NO_POINTS,
        0, problem.n,
        np.empty(problem.n), out,
    )  # fmt: skip
    return np.where(np.isneginf(out), 0.0, out)


def why_stuck(problem: Problem, i: int, w: np.ndarray) -> Exception:
    """Why sample i has no marginals."""
    scores = problem.scores(w, i)
    if np.isnan(scores).any() or np.isposinf(scores).any():
        why = "its scores are not finite"
        return FloatingPointError(f"sample {i}: {why}; scale the features down.")
    try:
        problem.calls.compute("marginals", scores, i)
    except InfeasibleError as error:
        return error
    return FloatingPointError(f"sample {i}: `marginals` failed; scale the features down.")
