"""The polytopes of all samples as one system of linear equations and bounds."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.solvers.qp.program_size import program_bytes, refuse_size
from maxmargin.structures.base import Constraints, Layout, Structure

#: outputs of a sample that are listed at most, where its constraints are not known
MOST_VERTICES = 20_000


class Polytopes(NamedTuple):
    """All z that are lift @ u with matrix @ u <= bound (= bound where `equal`) and u >= 0.

    u holds, sample after sample, the parts that are not forbidden and auxiliary variables, or,
    where vertices are listed, the share of each. owner : the sample of each entry of u. relaxed :
    whether some z are not mixtures of outputs, see `Structure.is_tight`.
    """

    lift: sparse.csr_array
    matrix: sparse.csr_array
    bound: np.ndarray
    equal: np.ndarray
    owner: np.ndarray
    relaxed: bool

    def tightened(self, problem: Problem, u: np.ndarray) -> Polytopes:
        """With constraints that u violates, if there are any; see `Oracle.separate`."""
        z = self.lift @ u
        own = [
            _rows(problem.oracle.separate(layout, z[problem.parts(i)]), 0, False)
            for i, layout in enumerate(problem.layouts)
        ]
        more = _stacked([part.matrix for part in own]) @ self.lift
        return self._replace(
            matrix=sparse.vstack([self.matrix, more], format="csr"),
            bound=np.concatenate([self.bound, *(part.bound for part in own)]),
            equal=np.concatenate([self.equal, *(part.equal for part in own)]),
        )


def sample_polytopes(problem: Problem, limit: float = np.inf) -> Polytopes:
    """Those of all samples whose weight is not zero, unless they alone take more bytes."""
    known = {layout: _one(problem.structure, layout) for layout in set(problem.layouts)}
    banned = np.zeros(len(problem.truth), dtype=bool)
    banned[problem.forbidden_parts] = True
    own = [known[layout] for layout in problem.layouts]
    count = sum(part.lift.nnz + part.matrix.nnz for part in own)
    refuse_size(program_bytes(count, 0), limit, f"{count} non-zeros of polytopes alone")
    lift, matrix = _stacked([part.lift for part in own]), _stacked([part.matrix for part in own])
    bound = np.concatenate([part.bound for part in own])
    equal = np.concatenate([part.equal for part in own])
    owner = np.repeat(np.arange(problem.n), [part.lift.shape[1] for part in own])
    # an entry of u that would switch a forbidden part on is left out
    kept = np.asarray(lift[banned].sum(axis=0)).ravel() == 0
    kept &= problem.sample_weight[owner] > 0
    matrix = matrix[:, kept]
    used = np.diff(matrix.indptr) > 0
    return Polytopes(
        lift=lift[:, kept],
        matrix=matrix[used],
        bound=bound[used],
        equal=equal[used],
        owner=owner[kept],
        relaxed=any(part.relaxed for part in known.values()),
    )


class _Part(NamedTuple):
    """The same of one layout."""

    lift: sparse.csr_array
    matrix: sparse.csr_array
    bound: np.ndarray
    equal: np.ndarray
    relaxed: bool


def _one(structure: Structure, layout: Layout) -> _Part:
    oracle = structure.oracle()
    is_tight, in_part = oracle.is_tight_for(layout), oracle.has("separate")
    by_constraints = in_part or oracle.has("constraints")
    if oracle.has("vertices") and not (by_constraints and is_tight):
        # sparse at once: thousands of outputs of thousands of parts each
        some = islice(structure.vertices(layout), MOST_VERTICES + 1)
        listed = [sparse.coo_array(np.asarray(v, dtype=float)[None]) for v in some]
        if len(listed) <= MOST_VERTICES:
            return _listed(sparse.vstack(listed))
    if not by_constraints:
        raise MissingAbilityError(_words(structure, layout))
    rows = oracle.separate(layout) if in_part else structure.constraints(layout)
    return _rows(rows, structure.n_parts(layout), not is_tight)


def _words(structure: Structure, layout: Layout) -> str:
    oracle, kind = structure.oracle(), type(structure).__name__
    why = "which it cannot do"
    if oracle.has("vertices"):
        why = f"and layout {layout} has more than {MOST_VERTICES}"
    return (
        f"ReferenceQP needs `constraints`, or `vertices` where outputs are few; {kind} has"
        f" {'`vertices` only' if oracle.has('vertices') else 'neither'}, {why}."
        f' {oracle.hint_for("constraints")}, or use solver="bcfw", which needs `maximize` only.'
    )


def _listed(vertices: sparse.coo_array) -> _Part:
    """Shares of the vertices, a row each, which sum to one."""
    total = sparse.csr_array(np.ones((1, vertices.shape[0])))
    return _Part(sparse.csr_array(vertices.T), total, np.ones(1), np.ones(1, dtype=bool), False)


def _rows(constraints: Constraints, n_parts: int, relaxed: bool) -> _Part:
    """Two-sided rows as one-sided ones; rows that say nothing are left out."""
    matrix = sparse.csr_array(constraints.matrix)
    lower, upper = (np.asarray(b, dtype=float) for b in (constraints.lower, constraints.upper))
    equal = lower == upper
    above, below = np.isfinite(upper), np.isfinite(lower) & ~equal
    stacked = sparse.vstack([matrix[above], -matrix[below]], format="csr")
    bound = np.concatenate([upper[above], -lower[below]])
    same = np.concatenate([equal[above], np.zeros(int(below.sum()), dtype=bool)])
    lift = sparse.eye_array(n_parts, matrix.shape[1], format="csr")
    return _Part(sparse.csr_array(lift), sparse.csr_array(stacked), bound, same, relaxed)


def _stacked(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """Blocks along the diagonal."""
    rows = np.cumsum([0, *(b.shape[0] for b in blocks)])
    columns = np.cumsum([0, *(b.shape[1] for b in blocks)])
    data = np.concatenate([b.data for b in blocks])
    index = np.concatenate([b.indices + c for b, c in zip(blocks, columns, strict=False)])
    starts = np.cumsum([0, *(b.nnz for b in blocks)])
    indptr = np.concatenate(
        [[0], *(b.indptr[1:] + s for b, s in zip(blocks, starts, strict=False))]
    )
    return sparse.csr_array((data, index, indptr), shape=(int(rows[-1]), int(columns[-1])))
