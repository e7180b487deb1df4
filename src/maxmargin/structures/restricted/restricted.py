"""Some of a structure's outputs: what is known of them, and rules that they must keep."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures.base import Constraints, Structure, part_score
from maxmargin.structures.linear_program.maximize import maximize_linear
from maxmargin.structures.restricted.inequalities import KEPT
from maxmargin.structures.restricted.layout import RestrictedLayout, inner_layout
from maxmargin.structures.restricted.priced_search import ROUNDING, PricedSearch
from maxmargin.validation.options import PositiveOrInf

_NONE_KEEPS = "no output keeps all rules; give fewer, or wider ones."


class Restricted(Structure):
    """The outputs of another structure that have, or lack, given parts and satisfy given rules.

    layout = RestrictedLayout(layout, on, off, matrix, lower, upper). Parts are those of the inner
    structure.

    Parameters
    ----------
    structure : Structure
        The inner structure.
    time_limit : float, default=None
        Maximum number of seconds for a sample with rules; None means no limit. With a limit, the
        best output found is returned, with a bound on its error (`is_bounded`).

    Notes
    -----
    Parts that are on or off do not increase the cost: the inner structure's own oracle finds the
    best output, where known labels are the only ones allowed, and other required parts get a score
    so high that no output without them is better. Rules, and counts of tied tables that must be 1
    or more, get dual prices: an exact compiled oracle is called with prices in its scores, by
    branch and bound until the answer is proven. Other structures, and searches of too many nodes,
    go to the mixed-integer solver HiGHS, over the structure's `constraints`.
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
        return self.structure.n_parts(inner_layout(layout))

    def encode(self, y: Any, layout: RestrictedLayout) -> np.ndarray:
        z = self.structure.encode(y, inner_layout(layout))
        self._check(z, layout)
        return z

    def decode(self, z: np.ndarray, layout: RestrictedLayout) -> Any:
        return self.structure.decode(z, inner_layout(layout))

    def variables(self, layout: RestrictedLayout) -> tuple[int, int]:
        return self.structure.variables(inner_layout(layout))

    def layout_as_ints(self, layout: RestrictedLayout) -> Any:
        return self.structure.layout_as_ints(inner_layout(layout))

    def vertex_size(self, layout: RestrictedLayout) -> int:
        return self.structure.vertex_size(inner_layout(layout))

    def radius(self, layout: RestrictedLayout) -> float:
        return self.structure.radius(inner_layout(layout))

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
        # what the structure forbids, what is off, and other labels where one is known
        inner = inner_layout(layout)
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
        count, labels = self.structure.variables(inner_layout(layout))
        return layout.on[layout.on >= count * labels] if labels > 1 else layout.on

    # -- abilities -----------------------------------------------------------------------------
    def maximize(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.maximize_within(theta, layout)[0]

    def maximize_within(
        self, theta: np.ndarray, layout: RestrictedLayout
    ) -> tuple[np.ndarray, float]:
        theta = self._allowed(theta, layout)
        if layout.matrix is not None:
            return self._by_rules(theta, layout)
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
            return self._by_rules(theta, layout)
        if len(missing):
            raise InfeasibleError(f"no output has all parts that must be on (part {missing[0]}).")
        excess = bound - part_score(scores, z) if not self.structure.is_exact else 0.0
        if len(drawn):  # which costs digits
            excess = max(excess, ROUNDING * part_score(np.abs(scores), z))
        return z, part_score(theta, z) + max(excess, 0.0)

    def _by_rules(self, theta: np.ndarray, layout: RestrictedLayout) -> tuple[np.ndarray, float]:
        """By dual prices of the rules; by a mixed-integer program where these do not serve."""
        seconds = np.inf if self.time_limit is None else self.time_limit
        half, end = monotonic() + seconds / 2, monotonic() + seconds
        best, bound = None, np.inf
        rules, drawn = self._rules(layout)
        if self._has_prices(rules, layout):
            search = PricedSearch(
                lambda scores: self.structure.maximize_within(scores, layout.layout),
                theta,
                rules,
                self.structure.variables(layout.layout),
                lambda z: not self._broken(z, layout),
                half,
            )
            best, bound = search.run(drawn)
            if bound == -np.inf:
                raise InfeasibleError(_NONE_KEEPS)
        if best is None or bound > part_score(theta, best):
            try:
                z, top = self._by_program(theta, layout, end)
            except (InfeasibleError, MissingAbilityError, TimeoutError):
                if best is None:
                    raise
                return best, bound
            bound = min(bound, top)
            if best is None or part_score(theta, z) > part_score(theta, best):
                best = z
        return best, max(part_score(theta, best), bound)

    def _rules(self, layout: RestrictedLayout) -> tuple[Constraints, np.ndarray]:
        """The rules, parts that must be on among them, and 0/1 variables that must be on."""
        (count, labels), on = self.structure.variables(layout.layout), self._drawn(layout)
        counted = on[on >= count] if labels == 1 else on
        rows = [sparse.eye_array(self.n_parts(layout), format="csr")[counted]]
        lower, upper = [np.ones(len(counted))], [np.full(len(counted), np.inf)]
        if layout.matrix is not None:
            rows.append(self._matrix(layout))
            lower.append(layout.lower)
            upper.append(layout.upper)
        matrix = sparse.csr_array(sparse.vstack(rows))
        found = Constraints(matrix, np.concatenate(lower), np.concatenate(upper))
        return found, np.setdiff1d(on, counted)

    def _has_prices(self, rules: Constraints, layout: RestrictedLayout) -> bool:
        """Whether the oracle inside is exact, compiled, and takes the scores that prices make."""
        inner, (count, labels) = self.structure, self.structure.variables(layout.layout)
        return (
            inner.compiled_function("maximize") is not None
            and inner.is_exact_for(layout.layout)
            and (labels > 1 or inner.binary)
            and (inner.any_scores or not (rules.matrix.indices >= count * labels).any())
        )

    def _by_program(
        self, theta: np.ndarray, layout: RestrictedLayout, end: float
    ) -> tuple[np.ndarray, float]:
        """By a mixed-integer program over the structure's constraints and the rules."""
        within = "" if self.time_limit is None else f" in {self.time_limit} s"
        late = TimeoutError(
            f"no output that keeps all rules was found{within}, nor a proof that there is none;"
            " raise time_limit, or give fewer rules."
        )
        if monotonic() >= end:
            raise late
        found = self.constraints(layout)
        count, labels = self.structure.variables(layout.layout)
        ceiling = np.full(found.matrix.shape[1], np.inf)
        if labels > 1:
            ceiling[: count * labels] = 1.0
        integral = np.ones(count * labels, dtype=bool)
        try:
            z, bound = maximize_linear(found, theta, integral, ceiling, end)
        except TimeoutError:
            raise late from None
        except InfeasibleError:
            raise InfeasibleError(_NONE_KEEPS) from None
        z = self.structure.encode(self.structure.decode(z, layout.layout), layout.layout)
        why = self._broken(z, layout, 1e-6)
        if why:
            raise MissingAbilityError(
                f"{type(self.structure).__name__} cannot keep this: {why}. Its `constraints` do not"
                " tie that to its outputs; give rules about other parts, such as labels."
            )
        return z, max(part_score(theta, z), bound)

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
        inner = self.structure.constraints(inner_layout(layout))
        parts, columns = self.n_parts(layout), inner.matrix.shape[1]
        sure = np.concatenate([layout.on, self.forbidden(layout)])
        rows = [inner.matrix, sparse.eye_array(columns, format="csr")[sure]]
        value = np.concatenate([np.ones(len(layout.on)), np.zeros(len(sure) - len(layout.on))])
        # parts of tied tables are counts, and on if they are 1 or more
        lower, upper = [inner.lower, value], [inner.upper, np.where(value > 0.0, np.inf, 0.0)]
        if layout.matrix is not None:
            rest = sparse.csr_array((layout.matrix.shape[0], columns - parts))
            rows.append(sparse.hstack([self._matrix(layout), rest], format="csr"))
            lower.append(layout.lower)
            upper.append(layout.upper)
        matrix = sparse.csr_array(sparse.vstack(rows))
        return Constraints(matrix, np.concatenate(lower), np.concatenate(upper))

    def _matrix(self, layout: RestrictedLayout) -> Any:
        parts, found = self.n_parts(layout), layout.matrix
        if found is not None and found.shape[1] != parts:
            raise ValueError(
                f"the rules have {found.shape[1]} columns, but there are {parts} parts."
            )
        return found

    def vertices(self, layout: RestrictedLayout) -> Iterator[np.ndarray]:
        self.forbidden(layout)
        for z in self.structure.vertices(inner_layout(layout)):
            if not self._broken(z, layout):
                yield z

    def _broken(self, z: np.ndarray, layout: RestrictedLayout, tol: float = KEPT) -> str:
        """What an output does not keep, in words; nothing if it keeps all."""
        for own, wanted in ((layout.on, "must be on"), (layout.off, "must be off")):
            wrong = own[(z[own] > 0.5) != (wanted == "must be on")]
            if len(wrong):
                return f"part {wrong[0]} {wanted}"
        if layout.matrix is not None:
            sums = layout.matrix @ z
            room = tol + ROUNDING * (abs(layout.matrix) @ np.abs(z))
            low, high = layout.lower - room, layout.upper + room
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
            raise ValueError(f"y is not among the outputs left: {why}")
