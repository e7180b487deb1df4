"""The best of a structure's outputs that keep rules, by its own oracle or by a program."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.oracles.base import Oracle, check_scores
from maxmargin.oracles.constraints import Constraints, part_score
from maxmargin.oracles.linear_program.maximize import maximize_linear
from maxmargin.structures.restricted.inequalities import ROUNDING
from maxmargin.structures.restricted.layout import (
    RestrictedLayout,
    inner_layout,
    rule_matrix,
    why_excluded,
)
from maxmargin.structures.restricted.priced_search import PricedSearch

if TYPE_CHECKING:
    from maxmargin.structures.restricted.restricted import Restricted

_NONE_KEEPS = "no output keeps all rules; give fewer, or wider ones."


class RestrictedOracle(Oracle):
    """The oracle of the structure inside, and a search over prices of the rules around it."""

    structure: Restricted
    #: with rules, what is proven is a bound, which mostly is the score of the answer
    is_exact = False
    #: rows of rules may cut corners off that are not outputs
    is_tight = False

    def __init__(self, structure: Restricted):
        super().__init__(structure)
        self.inner = structure.structure.oracle()
        self.is_bounded = self.inner.gap_is_proof
        self.marginals_are_exact = self.inner.marginals_are_exact

    def layout_as_ints(self, layout: RestrictedLayout) -> Any:
        return self.inner.layout_as_ints(inner_layout(layout))

    def has(self, ability: str) -> bool:
        return self.has("maximize") if ability == "project" else self.inner.has(ability)

    def is_tight_for(self, layout: RestrictedLayout) -> bool:
        # parts that are 0 or 1 leave a face of the polytope inside, at least 1 of a count does not
        is_face = self.structure.binary or not len(self._drawn(layout))
        inner = inner_layout(layout)
        return layout.matrix is None and is_face and self.inner.is_tight_for(inner)

    def separate(self, layout: RestrictedLayout, z: np.ndarray | None = None) -> Constraints:
        found = self.inner.separate(inner_layout(layout), z)
        return self.structure.add_rows(found, layout) if z is None else found

    def maximize(self, theta: np.ndarray, layout: RestrictedLayout) -> tuple[np.ndarray, float]:
        theta = check_scores(self.structure, theta, layout)
        if layout.matrix is not None:
            return self._by_rules(theta, layout)
        drawn = self._drawn(layout)
        scores = theta
        if len(drawn):
            draw = 1.0 + 2.0 * float(np.abs(theta[np.isfinite(theta)]).sum())
            scores = theta.copy()
            scores[drawn] += draw
        z, bound = self.inner.maximize(scores, layout.layout)
        counted = bool((z[drawn] > 1.5).any())  # parts that occur twice are drawn twice as much
        missing = drawn[z[drawn] <= 0.5]
        # what other parts count may be worth more than the draw, unless they are there once at most
        sure = self.inner.is_exact and (
            self.structure.structure.binary or not self.inner.has("constraints")
        )
        if counted or (len(missing) and not sure):
            return self._by_rules(theta, layout)
        if len(missing):
            raise InfeasibleError(f"no output has all parts that must be on (part {missing[0]}).")
        excess = bound - part_score(scores, z) if not self.inner.is_exact else 0.0
        if len(drawn):  # which costs digits
            excess = max(excess, ROUNDING * part_score(np.abs(scores), z))
        return z, part_score(theta, z) + max(excess, 0.0)

    def _by_rules(self, theta: np.ndarray, layout: RestrictedLayout) -> tuple[np.ndarray, float]:
        """By dual prices of the rules; by a mixed-integer program where these do not serve."""
        seconds = np.inf if self.structure.time_limit is None else self.structure.time_limit
        half, end = monotonic() + seconds / 2, monotonic() + seconds
        best, bound = None, np.inf
        rules, drawn = self._rules(layout)
        if self._has_prices(rules, layout):
            search = PricedSearch(
                lambda scores: self.inner.maximize(scores, layout.layout),
                theta,
                rules,
                self.structure.variables(layout),
                lambda z: not why_excluded(z, layout),
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
        (count, labels), on = self.structure.variables(layout), self._drawn(layout)
        counted = on[on >= count] if labels == 1 else on
        parts = self.structure.n_parts(layout)
        rows = [sparse.eye_array(parts, format="csr")[counted]]
        lower, upper = [np.ones(len(counted))], [np.full(len(counted), np.inf)]
        if layout.matrix is not None:
            rows.append(rule_matrix(layout, parts))
            lower.append(layout.lower)
            upper.append(layout.upper)
        matrix = sparse.csr_array(sparse.vstack(rows))
        found = Constraints(matrix, np.concatenate(lower), np.concatenate(upper))
        return found, np.setdiff1d(on, counted)

    def _has_prices(self, rules: Constraints, layout: RestrictedLayout) -> bool:
        """Whether the oracle inside is exact, compiled, and takes the scores that prices make."""
        inner, (count, labels) = self.inner, self.structure.variables(layout)
        return (
            inner.compiled_function("maximize") is not None
            and inner.is_exact_for(layout.layout)
            and (labels > 1 or inner.structure.binary)
            and (inner.any_scores or not (rules.matrix.indices >= count * labels).any())
        )

    def _by_program(
        self, theta: np.ndarray, layout: RestrictedLayout, end: float
    ) -> tuple[np.ndarray, float]:
        """By a mixed-integer program over the structure's constraints and the rules."""
        within = "" if self.structure.time_limit is None else f" in {self.structure.time_limit} s"
        late = TimeoutError(
            f"no output that keeps all rules was found{within}, nor a proof that there is none;"
            " raise time_limit, or give fewer rules."
        )
        if monotonic() >= end:
            raise late
        if self.has("separate"):  # too many to list; outputs in integers need the first ones only
            found = self.separate(layout)
        else:
            found = self.structure.constraints(layout)
        count, labels = self.structure.variables(layout)
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
        z = self.structure.structure.encode(self.structure.decode(z, layout), layout.layout)
        why = why_excluded(z, layout, 1e-6)
        if why:
            raise MissingAbilityError(
                f"{type(self.inner.structure).__name__} cannot keep this: {why}. Its `constraints`"
                " do not tie that to its outputs; give rules about other parts, such as labels."
            )
        return z, max(part_score(theta, z), bound)

    def _drawn(self, layout: RestrictedLayout) -> np.ndarray:
        """Parts that must be on, and are not labels of variables."""
        count, labels = self.structure.variables(layout)
        return layout.on[layout.on >= count * labels] if labels > 1 else layout.on

    def marginals(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.inner.marginals(self._sure("marginals", theta, layout), layout.layout)

    def log_partition(self, theta: np.ndarray, layout: RestrictedLayout) -> float:
        return self.inner.log_partition(self._sure("marginals", theta, layout), layout.layout)

    def max_marginals(self, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        return self.inner.max_marginals(self._sure("max_marginals", theta, layout), layout.layout)

    def k_best(
        self, theta: np.ndarray, layout: RestrictedLayout, k: int
    ) -> list[tuple[np.ndarray, float]]:
        return self.inner.k_best(self._sure("k_best", theta, layout), layout.layout, k)

    def _sure(self, ability: str, theta: np.ndarray, layout: RestrictedLayout) -> np.ndarray:
        """Scores in which all that is known is forbidden parts."""
        if layout.matrix is not None or len(self._drawn(layout)):
            raise MissingAbilityError(
                f"Restricted has no `{ability}` with rules, or with parts that must be on and are"
                " no labels of variables; it can `maximize`."
            )
        return check_scores(self.structure, theta, layout)
