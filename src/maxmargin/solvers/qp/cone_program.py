"""The training problem as one convex program, with all maxima replaced by their duals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.features.base import part_features
from maxmargin.problem import Problem
from maxmargin.solvers.qp.polytopes import Polytopes, sample_polytopes
from maxmargin.solvers.qp.weight_cones import weight_cones


class ConeProgram(NamedTuple):
    """min 1/2 x . diag(square) x + linear . x + constant  where  bound - matrix @ x is in cones.

    x = (w, sizes of weights in an l1 ball, prices of the rows of all polytopes). cones : (kind,
    number of rows) one after the other; the first `n_points` rows are those whose multipliers are
    the points u of the polytopes.
    """

    square: np.ndarray
    linear: np.ndarray
    constant: float
    matrix: sparse.csc_array
    bound: np.ndarray
    cones: list[tuple[str, int]]
    n_points: int
    polytopes: Polytopes

    @property
    def is_linear(self) -> bool:
        """Whether it is a linear program."""
        return not self.square.any() and all(kind == "nonneg" for kind, _ in self.cones)

    def scaled(self, size: np.ndarray, worth: float) -> ConeProgram:
        """The same in size * x, bounds of domains not above 1, and the objective worth times.

        Multipliers of the points' rows are worth times theirs.
        """
        rows, start = np.ones(len(self.bound)), self.n_points
        for kind, count in self.cones[1:]:
            own = np.abs(self.bound[start : start + count])
            rows[start : start + count] = np.maximum(own.max() if kind == "soc" else own, 1.0)
            start += count
        matrix = sparse.diags_array(1 / rows) @ self.matrix @ sparse.diags_array(1 / size)
        return self._replace(
            square=worth * self.square / size**2,
            linear=worth * self.linear / size,
            matrix=sparse.csc_array(matrix),
            bound=self.bound / rows,
        )


def point_features(problem: Problem, found: Polytopes) -> sparse.csr_array:
    """omega_i F_i^T for all entries of the points u, a row for each."""
    scale = sparse.diags_array(problem.sample_weight[found.owner])
    features = sparse.csr_array(scale @ (found.lift.T @ part_features(problem.packed, problem.dim)))
    features.eliminate_zeros()
    return features


def cone_program(
    problem: Problem, found: Polytopes | None = None, features: sparse.csr_array | None = None
) -> ConeProgram:
    """Equation 15 of Taskar, Lacoste-Julien, Jordan (JMLR 2006) with a penalty and a domain.

    max over z in Z_i of (F_i^T w + c_i) . z  is  min b_i . p  over p >= 0 with
    A_i^T p >= F_i^T w + c_i, where Z_i = {z >= 0 : A_i z <= b_i}; prices p of equations may have
    any sign. All is multiplied by omega_i, so that the multipliers of the rows are z itself.
    """
    found = sample_polytopes(problem) if found is None else found
    features = point_features(problem, found) if features is None else features
    cones = weight_cones(problem.domain, problem.dim)
    omega = problem.sample_weight[found.owner]
    # the difference of the points' scores from what their prices cover
    points = [features, _empty(len(omega), cones.n_sizes), -found.matrix.T]
    signed = np.flatnonzero(~found.equal)
    n_prices, n_weights = found.matrix.shape[0], problem.dim + cones.n_sizes
    prices = sparse.eye_array(n_prices, format="csr")[signed]
    blocks = [sparse.hstack(points), sparse.hstack([_empty(len(signed), n_weights), -prices])]
    bounds = [-omega * (found.lift.T @ problem.loss_costs), np.zeros(len(signed))]
    kinds = [("nonneg", len(omega)), ("nonneg", len(signed))]
    for rows in cones.rows:
        blocks.append(sparse.hstack([rows.matrix, _empty(len(rows.bound), n_prices)]))
        bounds.append(rows.bound)
        kinds.append((rows.kind, len(rows.bound)))
    return ConeProgram(
        square=np.append(np.full(problem.dim, problem.alpha), np.zeros(cones.n_sizes + n_prices)),
        linear=np.concatenate(
            [-problem.features(problem.truth), np.zeros(cones.n_sizes), found.bound]
        ),
        constant=float(-problem.sample_weight @ _truth_costs(problem)),
        matrix=sparse.csc_array(sparse.vstack(blocks)),
        bound=np.concatenate(bounds),
        cones=[own for own in kinds if own[1]],
        n_points=len(omega),
        polytopes=found,
    )


def _empty(height: int, width: int) -> sparse.csr_array:
    return sparse.csr_array((height, width))


def _truth_costs(problem: Problem) -> np.ndarray:
    return np.add.reduceat(problem.loss_costs * problem.truth, problem.part_ptr[:-1])
