"""Entropic steps in z, for the dual extragradient method.

A point z_i is kept as potentials q_i, of which it is the `marginals`: the expectation of the parts
under p(s) ~ exp(q_i . s) on the outputs s. Its distance function is the negative entropy of p, so
that a step along a gradient adds eta times the gradient to q_i. That is one pass of sum-product in
place of a projection, and never leaves the inside of the polytope.

**Norms.** By Pinsker's inequality the relative entropy of two distributions is at least half the
square of |p - p'|_1, the sum over all outputs. So z_i is measured by that norm. From p to p', the
value of a gradient theta changes by at most |p - p'|_1 (max theta . s - min theta . s) / 2, hence
its dual norm is half the range of theta . s over outputs s. That is at most |theta|_2 radius_i /
2, so the operator norm of w -> (F_i^T w)_i is at most that of the Euclidean geometry with each
sample's weight omega_i times radius_i^2 / 4. Another bound on half the range is |w|_2 times the
largest sum of |F_p|_2 over the parts p of an output. `operator_norm` takes the smaller one. Where
`marginals` is not an expectation (matchings), the entropy is a sum of x log x over coordinates of
at most 1, with second derivatives of at least 1, so that the norms are the Euclidean ones.

**What is promised.** Let s be the sum of eta_k times the gradients at u_k, x = (w', z') any point,
and d(x) its distance from the start. Whatever the steps were,

    sum_k eta_k (L(u_w, z') - L(w', u_z)) <= d(x) + excess,
    excess = max over x of [s . x - d(x)] + sum_k eta_k (alpha |u_w|^2 - loss of u_z)

so that the average, weighted by eta_k, has a gap of at most (d(x) + excess) / sum_k eta_k against
all x. With steps of 1 / L the excess is never positive. It is known exactly, for the maximum is a
log-partition: step="adaptive" takes longer steps as long as it stays at or below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin._numba.passes.entropic_saddle import marginals_range
from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.solvers.base import check_counts
from maxmargin.solvers.saddle.base import measure_sample_move
from maxmargin.solvers.saddle.weight_geometry import Weights
from maxmargin.structures.base import Layout


class Steps(NamedTuple):
    """What a pass is to do: u from q + lead (scores of look), next v from q + step (scores of w).

    Where q is not kept, it is height y + far (scores of mean). once: no v is asked for.
    """

    mean: np.ndarray
    far: float
    look: np.ndarray
    lead: float
    w: np.ndarray
    step: float
    once: bool


class Moved(NamedTuple):
    """What a pass leaves: potentials of the next v, z of u, its loss, sum omega (log Z - q . y)."""

    after: np.ndarray
    out: np.ndarray
    loss: float
    log_total: float


def check_marginals(solver: Any, problem: Problem) -> None:
    """Fail unless the structure can do entropic steps; say the remedy."""
    kind = type(problem.structure).__name__
    hint = "use z_geometry='euclidean'"
    if not problem.oracle.has("marginals"):
        raise MissingAbilityError(
            f"{type(solver).__name__}(z_geometry='entropic') needs `marginals`, which {kind}"
            " cannot do."
            f" Define {kind}.marginals and {kind}.log_partition, or {hint}."
        )
    who = f"{type(solver).__name__}(z_geometry='entropic')"
    check_counts(problem, who, f" Or {hint}.")


class EntropicOutputs:
    """z of a problem, by potentials. height: how much those of the start favour the z given."""

    def __init__(self, problem: Problem, height: float):
        self.problem, self.height = problem, float(height)

    def potentials(self, z: np.ndarray) -> np.ndarray:
        """Of the start: height z, and -inf on forbidden parts."""
        q = self.height * z
        q[self.problem.forbidden_parts] = -np.inf
        return q

    def max_distance(self, z: np.ndarray) -> float:
        """The largest distance of any point from the start."""
        problem, known = self.problem, dict[Layout, float]()
        q, far = self.potentials(z), np.empty(problem.n)
        for i, layout in enumerate(problem.layouts):
            if self.height != 0.0 or layout not in known:  # else all of a layout are the same
                known[layout] = self._farthest(q[problem.parts(i)], layout)
            far[i] = known[layout]
        return float(problem.sample_weight @ far)

    def _farthest(self, q: np.ndarray, layout: Layout) -> float:
        """The largest log Z(q) - q . s over outputs s; for matchings, a bound."""
        oracle = self.problem.oracle
        value, allowed = oracle.log_partition(q, layout), np.isfinite(q)
        if not q[allowed].any():
            return value
        least, _ = oracle.maximize(np.where(allowed, -q, -np.inf), layout)
        return value - float(q[allowed] @ least[allowed])

    def operator_norm(self, geometry: Weights, steps: int) -> float:
        """A bound on the norm of w -> F^T w at ratio 1, see above."""
        problem = self.problem
        if not problem.oracle.marginals_are_exact:
            return geometry.norm(problem, steps)
        radius = {layout: problem.structure.radius(layout) for layout in set(problem.layouts)}
        squares = np.array([radius[layout] ** 2 for layout in problem.layouts]) / 4
        found = geometry.norm(problem, steps, problem.sample_weight * squares)
        columns = geometry.column_norms(problem)
        if columns is None or problem.oracle.compiled_function("maximize") is None:
            return found
        return min(found, self._norm_by_parts(columns))

    def _norm_by_parts(self, columns: np.ndarray) -> float:
        """sqrt(sum_i omega_i M_i^2), M_i the largest sum of norms of F's columns for an output."""
        problem = self.problem
        most = np.empty(problem.n)
        for i, layout in enumerate(problem.layouts):
            own = columns[problem.parts(i)]
            most[i] = own @ problem.structure.maximize(own, layout)
        return float(np.sqrt(problem.sample_weight @ most**2))

    def move(
        self, steps: Steps, q: np.ndarray, in_ranges: Callable, keep: bool
    ) -> tuple[np.ndarray, np.ndarray, Moved]:
        """g(u), g(next v) and the rest of a pass of `marginals_range`. keep: all parts."""
        problem = self.problem
        function = problem.oracle.compiled_function("marginals")
        size = len(problem.truth) if keep else 0
        after, out = np.empty(size), np.empty(size)
        largest = int(np.diff(problem.part_ptr).max())

        def visit(first: int, last: int, sums: list[np.ndarray], sums_of_pass: np.ndarray) -> None:
            if function is None:
                self._visit_in_python(steps, q, after, out, range(first, last), sums, sums_of_pass)
                return
            marginals_range(
                problem.packed, problem.workspace("marginals"), function, first, last, steps.mean,
                steps.look,
                steps.w, self.height, steps.far, steps.lead, steps.step, steps.once, q, after, out,
                problem.truth, np.empty(largest), *sums, sums_of_pass,
            )  # fmt: skip

        (total_u, total_v), sums_of_pass = in_ranges(problem, 2, visit)
        return total_u, total_v, Moved(after, out, float(sums_of_pass[3]), float(sums_of_pass[4]))

    def _visit_in_python(
        self,
        steps: Steps,
        q: np.ndarray,
        after: np.ndarray,
        out: np.ndarray,
        samples: range,
        sums: list[np.ndarray],
        sums_of_pass: np.ndarray,
    ) -> None:
        """The compiled `marginals_range`, for structures with `marginals` in Python."""
        problem = self.problem
        for i in samples:
            part, layout, omega = problem.parts(i), problem.layouts[i], problem.sample_weight[i]
            truth = problem.truth[part]
            if len(q):
                base = q[part]
            else:
                base = _ahead(self.height * truth, problem.scores(steps.mean, i), steps.far)
            u = problem.calls.compute(
                "marginals", _ahead(base, problem.scores(steps.look, i), steps.lead), i
            )
            base = _ahead(base, problem.scores(steps.w, i), steps.step)
            if len(after):
                after[part], out[part] = base, u
            measure_sample_move(problem, i, u, u, sums[0], sums_of_pass)
            if steps.once:
                continue
            v, on = problem.calls.compute("marginals", base, i), truth != 0
            measure_sample_move(problem, i, v, v, sums[1], np.zeros(len(sums_of_pass)))
            value = problem.oracle.log_partition(base, layout) - float(base[on] @ truth[on])
            sums_of_pass[4] += omega * value


def _ahead(base: np.ndarray, gradient: np.ndarray, step: float) -> np.ndarray:
    allowed = gradient > -np.inf
    return np.where(allowed, base + step * np.where(allowed, gradient, 0.0), -np.inf)
