"""Some of a structure's outputs: what is known of them, and rules that they must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures.base import Constraints, Layout, Structure, score
from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.structures.linear_program.maximize import maximize_linear
from maxmargin.structures.matching.candidates import whole
from maxmargin.validation.options import PositiveOrInf
from maxmargin.validation.samples import as_csr

#: sums are off by less than this times the sum of the sizes of their terms
_ROUNDING = 2.0**-50


class RestrictedLayout(Frozen):
    """The layout of a sample with some of its outputs only. Frozen; equal if all is equal.

    Parameters
    ----------
    layout : that of the structure inside.
    on, off : numbers of parts that each output must have, and that none may have.
    matrix, lower, upper : rules lower <= matrix @ z <= upper, a row each; the bounds may be
        infinite, and one number stands for all rows.
    """

    fields = ("layout", "on", "off", "matrix", "lower", "upper")
    layout: Layout
    on: np.ndarray
    off: np.ndarray
    matrix: sparse.csr_array | None
    lower: np.ndarray
    upper: np.ndarray

    def __init__(
        self,
        layout: Layout,
        on: Any = (),
        off: Any = (),
        matrix: Any = None,
        lower: Any = -np.inf,
        upper: Any = np.inf,
    ):
        rows = None if matrix is None else _rows(matrix)
        count = 0 if rows is None else rows.shape[0]
        self.layout = layout
        self.on, self.off = _numbers("on", on), _numbers("off", off)
        self.matrix = rows
        self.lower, self.upper = _bounds("lower", lower, count), _bounds("upper", upper, count)

    def __repr__(self) -> str:
        rules = 0 if self.matrix is None else self.matrix.shape[0]
        return (
            f"RestrictedLayout({self.layout!r}, {len(self.on)} parts on, {len(self.off)} off,"
            f" {rules} rules)"
        )


class Restricted(Structure):
    """The outputs of another structure that have, or have not, given parts, and keep given rules.

    layout = RestrictedLayout(layout, on, off, matrix, lower, upper). Parts are those of the
    structure inside. Parts that are on or off cost nothing: the structure's own oracle finds the
    best output, labels that are known being the only ones allowed, and other parts drawing so high
    a score that no output without them is better. Rules go to the mixed-integer solver HiGHS, over
    the structure's `constraints`; that finds the best output, too, but it may take long. So do
    parts of tied tables, which are counts, where one that must be on could be there more than once.

    Parameters
    ----------
    structure : the structure inside.
    time_limit : seconds for a sample with rules; None means as long as it takes. With a limit, the
        best output found counts, and how far it is off at most is told (`is_bounded`).
    """

    def __init__(self, structure: Structure, time_limit: PositiveOrInf | None = None):
        self.structure = structure
        self.time_limit = time_limit

    #: with rules, what is proven is a bound, which mostly is the score of the answer
    is_exact = False

    @property
    def is_bounded(self) -> bool:
        return self.structure.gap_is_proof

    @property
    def is_tight(self) -> bool:  # type: ignore[override]
        """Rows of rules may cut corners off that are not outputs."""
        return False

    @property
    def marginals_are_exact(self) -> bool:  # type: ignore[override]
        return self.structure.marginals_are_exact

    @property
    def binary(self) -> bool:  # type: ignore[override]
        return self.structure.binary

    # -- what the structure inside says --------------------------------------------------------
    def n_parts(self, layout: RestrictedLayout) -> int:
        return self.structure.n_parts(_inside(layout))

    def encode(self, y: Any, layout: RestrictedLayout) -> np.ndarray:
        z = self.structure.encode(y, _inside(layout))
        self._check(z, layout)
        return z

    def decode(self, z: np.ndarray, layout: RestrictedLayout) -> Any:
        return self.structure.decode(z, _inside(layout))

    def variables(self, layout: RestrictedLayout) -> tuple[int, int]:
        return self.structure.variables(_inside(layout))

    def layout_as_ints(self, layout: RestrictedLayout) -> Any:
        return self.structure.layout_as_ints(_inside(layout))

    def vertex_size(self, layout: RestrictedLayout) -> int:
        return self.structure.vertex_size(_inside(layout))

    def radius(self, layout: RestrictedLayout) -> float:
        return self.structure.radius(_inside(layout))

    def has(self, ability: str) -> bool:
        if ability in (
            "marginals",
            "k_best",
            "max_marginals",
            "constraints",
            "vertices",
            "maximize",
        ):
            return self.structure.has(ability)
        return super().has(ability)

    # -- what is forbidden, and what is sure ---------------------------------------------------
    def forbidden(self, layout: RestrictedLayout) -> np.ndarray:
        """What the structure forbids, what is off, and other labels where one is known."""
        inner = _inside(layout)
        parts = self.n_parts(layout)
        for name in ("on", "off"):
            own = getattr(layout, name)
            if len(own) and own.max() >= parts:
                raise ValueError(f"{name}: there is no part {own.max()}, only 0 to {parts - 1}.")
        count, labels = self.structure.variables(inner)
        known = layout.on[layout.on < count * labels] if labels > 1 else layout.on[:0]
        others = (known // labels)[:, None] * labels + np.arange(labels) if len(known) else None
        found = [self.structure.forbidden(inner), layout.off]
        if others is not None:
            found.append(np.setdiff1d(others, known))
        banned = np.unique(np.concatenate(found)).astype(np.int64)
        twice = np.intersect1d(known if labels > 1 else layout.on, banned)
        if len(twice):
            raise InfeasibleError(f"part {twice[0]} must be on, and is forbidden.")
        return banned

    def _drawn(self, layout: RestrictedLayout) -> np.ndarray:
        """Parts that must be on, and are not labels of variables."""
        count, labels = self.structure.variables(_inside(layout))
        return layout.on[layout.on >= count * labels] if labels > 1 else layout.on

    # -- abilities -----------------------------------------------------------------------------
    def maximize(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.maximize_within(theta, layout)[0]

    def maximize_within(
        self, theta: np.ndarray, layout: RestrictedLayout
    ) -> tuple[np.ndarray, float]:
        theta = self._allowed(theta, layout)
        if layout.matrix is not None:
            return self._by_program(theta, layout)
        drawn = self._drawn(layout)
        scores = theta
        if len(drawn):
            draw = 1.0 + 2.0 * float(np.abs(theta[np.isfinite(theta)]).sum())
            scores = theta.copy()
            scores[drawn] += draw
        z, bound = self.structure.maximize_within(scores, layout.layout)
        counted = bool((z[drawn] > 1.5).any())  # parts that occur twice are drawn twice as much
        missing = drawn[z[drawn] <= 0.5]
        # what other parts count may be worth more than the draw, unless they are there once at most
        sure = self.structure.is_exact and (
            self.structure.binary or not self.structure.has("constraints")
        )
        if counted or (len(missing) and not sure):
            return self._by_program(theta, layout)
        if len(missing):
            raise InfeasibleError(f"no output has all parts that must be on (part {missing[0]}).")
        excess = bound - score(scores, z) if not self.structure.is_exact else 0.0
        if len(drawn):  # which costs digits
            excess = max(excess, _ROUNDING * score(np.abs(scores), z))
        return z, score(theta, z) + max(excess, 0.0)

    def _by_program(self, theta: np.ndarray, layout: RestrictedLayout) -> tuple[np.ndarray, float]:
        """By a mixed-integer program over the structure's constraints and the rules."""
        found = self.constraints(layout)
        count, labels = self.structure.variables(layout.layout)
        ceiling = np.full(found.matrix.shape[1], np.inf)
        if labels > 1:
            ceiling[: count * labels] = 1.0
        integral = np.ones(count * labels, dtype=bool)
        try:
            z, bound = maximize_linear(found, theta, integral, ceiling, self.time_limit)
        except TimeoutError:
            raise TimeoutError(
                f"no output that keeps all rules was found in {self.time_limit} s; raise"
                " time_limit, or give fewer rules."
            ) from None
        except InfeasibleError:
            raise InfeasibleError("no output keeps all rules; give fewer, or wider ones.") from None
        z = self.structure.encode(self.structure.decode(z, layout.layout), layout.layout)
        why = self._broken(z, layout, 1e-6)
        if why:
            raise MissingAbilityError(
                f"{type(self.structure).__name__} cannot keep this: {why}. Its `constraints` do not"
                " tie that to its outputs; give rules about other parts, such as labels."
            )
        return z, max(score(theta, z), bound)

    def marginals(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.structure.marginals(self._sure("marginals", theta, layout), layout.layout)

    def log_partition(self, theta: np.ndarray, layout: RestrictedLayout) -> float:
        return self.structure.log_partition(self._sure("marginals", theta, layout), layout.layout)

    def max_marginals(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.structure.max_marginals(
            self._sure("max_marginals", theta, layout), layout.layout
        )

    def k_best(
        self, theta: np.ndarray, layout: RestrictedLayout, k: int
    ) -> list[tuple[np.ndarray, float]]:
        return self.structure.k_best(self._sure("k_best", theta, layout), layout.layout, k)

    def _sure(self, ability: str, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        """Scores in which all that is known is forbidden parts."""
        if layout.matrix is not None or len(self._drawn(layout)):
            raise MissingAbilityError(
                f"Restricted has no `{ability}` with rules, or with parts that must be on and are"
                " no labels of variables; it can `maximize`."
            )
        return self._allowed(theta, layout)

    # -- descriptions ----------------------------------------------------------------------------
    def constraints(self, layout: RestrictedLayout) -> Constraints:
        inner = self.structure.constraints(_inside(layout))
        parts, columns = self.n_parts(layout), inner.matrix.shape[1]
        sure = np.concatenate([layout.on, self.forbidden(layout)])
        rows = [inner.matrix, sparse.eye_array(columns, format="csr")[sure]]
        value = np.concatenate([np.ones(len(layout.on)), np.zeros(len(sure) - len(layout.on))])
        # parts of tied tables are counts, and on if they are 1 or more
        lower, upper = [inner.lower, value], [inner.upper, np.where(value > 0.0, np.inf, 0.0)]
        if layout.matrix is not None:
            if layout.matrix.shape[1] != parts:
                raise ValueError(
                    f"the rules have {layout.matrix.layout[1]} columns, but there are {parts}"
                    " parts."
                )
            rest = sparse.csr_array((layout.matrix.shape[0], columns - parts))
            rows.append(sparse.hstack([layout.matrix, rest], format="csr"))
            lower.append(layout.lower)
            upper.append(layout.upper)
        matrix = sparse.csr_array(sparse.vstack(rows))
        return Constraints(matrix, np.concatenate(lower), np.concatenate(upper))

    def vertices(self, layout: RestrictedLayout) -> Iterator[np.ndarray]:
        self.forbidden(layout)
        for z in self.structure.vertices(_inside(layout)):
            if not self._broken(z, layout):
                yield z

    def _broken(self, z: np.ndarray, layout: RestrictedLayout, tol: float = 1e-9) -> str:
        """What an output does not keep, in words; nothing if it keeps all."""
        for own, wanted in ((layout.on, "must be on"), (layout.off, "must be off")):
            wrong = own[(z[own] > 0.5) != (wanted == "must be on")]
            if len(wrong):
                return f"part {wrong[0]} {wanted}"
        if layout.matrix is not None:
            sums = layout.matrix @ z
            low, high = layout.lower - tol, layout.upper + tol
            wrong = np.flatnonzero((sums < low) | (sums > high))
            if len(wrong):
                row = int(wrong[0])
                return (
                    f"rule {row} asks for {layout.lower[row]:g} to {layout.upper[row]:g}, and finds"
                    f" {sums[row]:g}"
                )
        return ""

    def _check(self, z: np.ndarray, layout: RestrictedLayout) -> None:
        why = self._broken(z, layout)
        if why:
            raise ValueError(f"y is none of the outputs left: {why}")


def _inside(layout: Any) -> Layout:
    if not isinstance(layout, RestrictedLayout):
        raise TypeError(f"layout={layout!r} must be a RestrictedLayout(layout, on, off, ...).")
    return layout.layout


def _rows(matrix: Any) -> sparse.csr_array:
    rows = as_csr(matrix) if sparse.issparse(matrix) else np.atleast_2d(np.asarray(matrix))
    found = sparse.csr_array(rows, dtype=float, copy=True)
    found.sum_duplicates()
    if not np.isfinite(found.data).all():
        raise ValueError("the matrix of the rules has numbers that are not finite.")
    return read_only(found)


def _numbers(name: str, parts: Any) -> np.ndarray:
    given = np.asarray(list(parts))
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be numbers of parts, 0 or more; found {given.flat[0]!r}.")
    found = np.unique(whole(name, given))
    if found.size and found[0] < 0:
        raise ValueError(f"{name} must be numbers of parts, 0 or more; found {found[0]!r}.")
    return read_only(found)


def _bounds(name: str, values: Any, count: int) -> np.ndarray:
    found = np.asarray(values, dtype=float)
    if np.isnan(found).any():
        raise ValueError(f"{name} has NaN.")
    if found.ndim and found.shape != (count,):
        raise ValueError(f"{name} has shape {found.shape}, expected one number for {count} rows.")
    return read_only(np.array(np.broadcast_to(found, (count,))))
