"""Outputs given by linear inequalities: any linear or integer program."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import Oracle, check_scores
from maxmargin.oracles.linear_program.highs import endless_part
from maxmargin.oracles.linear_program.maximize import maximize_linear
from maxmargin.oracles.linear_program.project import project_linear
from maxmargin.oracles.outputs import as_vector
from maxmargin.structures.base import Constraints, Layout, Structure
from maxmargin.structures.linear_program.program import Program

#: parts nearer to integers than this are whole
WHOLE = 1e-6


class LinearProgram(Structure):
    """All vectors z that satisfy the linear constraints of a `Program`.

    Outputs maximise theta . z subject to the constraints. layout = a `Program`, one for each sample
    (each x is a pair (features, program)), or the same for all, given here. y is the vector z, or a
    set of the numbers of the parts that are 1.

    Parameters
    ----------
    program : Program, default=None
        Program of all samples; None if each has its own.
    integral : bool or array_like, default=False
        Which parts must be integers: all (True), none (False), or those given by a mask or by their
        numbers.
    rounded : bool, default=False
        Whether `decode` rounds to integers.

    Notes
    -----
    `maximize` is solved by HiGHS. Without `integral`, outputs are vertices of the polytope, which
    may be fractional: training and its certificates are exact for this relaxed problem,
    `fractional` in the records of the history is the fraction of samples with such answers, and
    predictions are returned as they are, or, with `rounded`, as the nearest integers, which may
    violate rows. With `integral`, the program is solved to the integer optimum by branch and bound,
    and Z is the hull of these solutions, whose inequalities are not known.

    `project` is a quadratic program, solved by Clarabel if it is installed (`pip install
    "maxmargin[qp]"`) and made exact from the rows that are tight at its answer. Otherwise, wherever
    that check fails, and for integers, an active-set method over vertices is used, which is as
    exact and slower.
    """

    def __init__(
        self, program: Program | None = None, integral: Any = False, rounded: bool = False
    ):
        self.program = program
        self.integral = integral
        self.rounded = rounded

    def _make_oracle(self) -> ProgramOracle:
        return ProgramOracle(self)

    def layout_of(self, n_parts: int) -> Layout:
        if self.program is None:
            raise ValueError(
                "which program? Give LinearProgram(program) for all samples, or each sample as a"
                " pair (features, Program)."
            )
        program = _program(self.program)
        if program.n_parts != n_parts:
            raise ValueError(f"x has {n_parts} rows, but the program has {program.n_parts} parts.")
        return program

    def n_parts(self, layout: Layout) -> int:
        return _program(layout).n_parts

    def radius(self, layout: Layout) -> float:
        # by the bounds of parts, or by the largest sum of parts that rows allow
        program = _program(layout)
        total = float(maximize_linear(program.constraints, np.ones(program.n_parts))[1])
        # z and z' are not negative, so that |z - z'|^2 <= |z|^2 + |z'|^2
        return min(float(np.linalg.norm(program.part_upper)), float(np.sqrt(2) * total))

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        return as_vector(y, self.n_parts(layout))

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        return np.rint(z) if self.rounded else np.array(z, dtype=float)

    def integrality(self, z: Any) -> float:
        """Return the largest distance of a part of z from the nearest integer.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Vertex of the polytope.

        Returns
        -------
        float
            Between 0 and 0.5; 0 if all parts are integers.
        """
        z = np.asarray(z, dtype=float)
        return float(np.abs(z - np.rint(z)).max(initial=0.0))

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        program = _program(layout)
        why = program.why_infeasible(z)
        mask = self._mask(program)
        if why or mask is None:
            return why
        broken = mask & (np.abs(z - np.rint(z)) > WHOLE)
        if broken.any():
            p = int(np.flatnonzero(broken)[0])
            return f"part {p} is {z[p]:.6g} and must be an integer"
        return ""

    def constraints(self, layout: Layout) -> Constraints:
        if self._has_integers():
            raise self._missing("constraints")
        return _program(layout).constraints

    def _has_integers(self) -> bool:
        """Whether any part must be an integer."""
        return self.integral is not False and np.size(self.integral) > 0

    def _mask(self, program: Program) -> np.ndarray | None:
        if not self._has_integers():
            return None
        if self.integral is True:
            return np.ones(program.n_parts, dtype=bool)
        which = np.asarray(self.integral)
        if which.dtype == bool and which.shape != (program.n_parts,):
            raise ValueError(
                f"integral has shape {which.shape}, but a program has {program.n_parts} parts."
            )
        mask = np.zeros(program.n_parts, dtype=bool)
        try:
            mask[which] = True
        except (IndexError, OverflowError):
            raise ValueError(
                f"integral={self.integral!r} must be True, False, a mask, or numbers of the"
                f" {program.n_parts} parts."
            ) from None
        return mask


class ProgramOracle(Oracle):
    """Linear and integer programs by HiGHS, with bounds from the prices of their rows."""

    structure: LinearProgram
    is_expensive = True
    is_exact = False
    is_bounded = True
    projects_by_maximize = False

    def layout_as_ints(self, layout: Layout) -> tuple[int, ...]:
        program = _program(layout)
        return program.n_rows, program.n_parts, program.checksum

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return 0, 0

    def is_fractional(self, z: np.ndarray) -> bool:
        return self.structure.integrality(z) > WHOLE

    def check_layout(self, layout: Layout) -> None:
        # fail if scores exist for which the program has no maximum
        program = _program(layout)
        free = np.full(program.n_parts, np.inf)
        part = -1
        if not np.isfinite(program.part_upper).all():
            part = endless_part(program.constraints, free, -np.ones(program.n_parts))
        if part >= 0:
            raise InfeasibleError(
                f"its program has no bound: part {part} may grow for ever. Give it an upper bound,"
                " e.g. part_upper=1."
            )

    def has(self, ability: str) -> bool:
        if ability == "constraints":
            return not self.structure._has_integers()
        return super().has(ability)

    def hint_for(self, ability: str) -> str:
        if ability == "constraints":
            return "Relax the program (integral=False)"
        return f"Linear programs have no `{ability}`: use what they can"

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        program, scores = _program(layout), check_scores(self.structure, theta, layout)
        return maximize_linear(program.constraints, scores, self.structure._mask(program))

    def project(self, point: np.ndarray, layout: Layout) -> np.ndarray:
        if not self.structure._has_integers():
            allowed = check_scores(self.structure, point, layout)
            found = project_linear(_program(layout).constraints, allowed)
            if found is not None:
                return found
        return super().project(point, layout)


def _program(layout: Layout) -> Program:
    if not isinstance(layout, Program):
        raise TypeError(f"layout={layout!r} must be a Program(matrix, upper, ...).")
    return layout
