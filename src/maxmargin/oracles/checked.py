"""What the answers of an oracle must satisfy, and what is known where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from time import perf_counter
from typing import Any

import numpy as np

from maxmargin.exceptions import OracleError, TimeIsUp
from maxmargin.oracles.base import Call, Layout, Oracle, Wrapper
from maxmargin.oracles.constraints import part_score

#: how much lower than another score a maximum may be, relative to 1 + its size: what linear
#: programs and rounding leave
TOL = 1e-6


def check_outputs(oracle: Oracle) -> Counted:
    """The oracle with all that makes its outputs safe for a problem."""
    checked = Checked(oracle)
    return Counted(Timed(checked) if oracle.may_time_out else checked)


def is_below(value: float, other: float) -> bool:
    """Whether a score is lower than another, and not by rounding."""
    return value < other - TOL * (1 + abs(other))


class Checked(Wrapper):
    """An oracle whose answers are outputs, no worse than the truth, with bounds that are none less.

    `maximize_many` yields the bound if `is_bounded`, else the score of the answer.
    """

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        with closing(self.inner.maximize_many(calls)) as found:
            for call in calls:
                try:
                    z, bound = next(found)
                except StopIteration:
                    raise ValueError("the oracle gave fewer answers than calls.") from None
                if z is None and self.ends_calls:
                    yield None, bound
                else:
                    yield self._check_output(call, z, bound)

    def _check_output(self, call: Call, z: Any, bound: float) -> tuple[np.ndarray, float]:
        z = self.check_vector("maximize", z, call.theta)
        name = f"{type(self.structure).__name__}.maximize"
        why = self.structure.why_infeasible(z, call.layout)
        if why:
            raise OracleError(f"the answer of {name} is not an output: {why}.")
        score = part_score(call.theta, z)
        if self.is_bounded:
            if not bound >= score - TOL * (1 + abs(score)):
                raise OracleError(
                    f"the bound {bound:.6g} is below the score {score:.6g} of the answer that it"
                    " came with."
                )
            if is_below(bound, call.floor):
                raise OracleError(
                    f"the bound {bound:.6g} is below the score {call.floor:.6g} of the true output,"
                    " so that it is not a bound."
                )
            return z, max(float(bound), score)  # what was found is possible, whatever is promised
        if self.is_exact and is_below(score, call.floor):
            raise OracleError(
                f"the answer of {name} has the score {score:.6g}, worse than the truth with"
                f" {call.floor:.6g} under the same scores. Does the truth break a rule that the"
                " oracle keeps (`feasible` finds such samples)? Else correct the oracle (a sign? a"
                " gap at which the solver stops?), or say that it is not exact."
            )
        return z, score

    def compute(self, ability: str, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """What another ability than `maximize` returns, checked."""
        return self.check_vector(ability, getattr(self.inner, ability)(theta, layout), theta)

    def check_vector(self, ability: str, z: Any, theta: np.ndarray) -> np.ndarray:
        """The answer as a vector; an OracleError if it is not one of finite numbers."""
        z = np.asarray(z, dtype=float)
        # The best score with a forbidden part is -inf; nothing else may be.
        if z.shape != theta.shape or not (ability == "max_marginals" or np.isfinite(z).all()):
            wrong = z.shape != theta.shape
            found = f"shape {z.shape}" if wrong else "numbers that are not finite (NaN, inf)"
            raise OracleError(
                f"{type(self.structure).__name__}.{ability} returned {found}; expected"
                f" {len(theta)} finite numbers."
            )
        return z


class Timed(Wrapper):
    """An oracle that may give up, with a proven bound in the place of such answers.

    Parts are in [0, 1], so that max theta . z <= b + sum of max(theta - theta', 0), where b is the
    bound of the sample's last answer, at theta', or 0 at 0.
    """

    def __init__(self, inner: Oracle):
        super().__init__(inner)
        self._known: dict[int, tuple[np.ndarray, float]] = {}

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        with closing(self.inner.maximize_many(calls)) as found:
            for call, (z, value) in zip(calls, found, strict=True):
                if z is None:
                    value = self._bound(call)
                elif self.gap_is_proof:
                    self._known[call.sample] = (call.theta, value)
                yield z, value

    def _bound(self, call: Call) -> float:
        bound = float(np.maximum(call.theta, 0.0).sum())
        if call.sample in self._known:
            then, value = self._known[call.sample]
            bound = min(bound, value + float(np.maximum(call.theta - then, 0.0).sum()))
        return bound


class Counted(Wrapper):
    """An oracle that counts calls from Python, and what their answers were like.

    Attributes
    ----------
    watch : callable or None
        Called after each answer of `maximize_many`, for progress.
    n_calls, seconds : int and float
        Number of calls, and how long their answers were waited for.
    deadline : float
        Calls after this time, of `perf_counter`, raise `TimeIsUp`.
    """

    def __init__(self, inner: Oracle):
        super().__init__(inner)
        self.watch: Callable[[], None] | None = None
        self.n_calls, self.seconds, self.deadline = 0, 0.0, np.inf
        self._counts: Counter[str] = Counter()

    def check_time(self) -> float:
        """The time now; raises `TimeIsUp` after the deadline."""
        now = perf_counter()
        if now > self.deadline:
            raise TimeIsUp
        return now

    def _end(self, begun: float) -> None:
        self.n_calls += 1
        self.seconds += perf_counter() - begun

    def compute(self, ability: str, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """What another ability than `maximize` returns, checked."""
        begun = self.check_time()
        found = self.inner.compute(ability, theta, layout)
        if ability == "marginals":
            self._end(begun)
        return found

    def maximize_many(self, calls: Sequence[Call]) -> Generator[tuple[Any, float]]:
        begun = self.check_time()
        with closing(self.inner.maximize_many(calls)) as found:
            for call, (z, value) in zip(calls, found, strict=True):
                self._end(begun)
                self._counts["timeouts"] += z is None
                self._counts["worse_than_truth"] += is_below(value, call.floor)
                if self.watch is not None:
                    self.watch()
                yield z, value
                begun = self.check_time() if call is not calls[-1] else 0.0

    def take_counts(self) -> tuple[int, float, Counter[str]]:
        """What `add_counts` of another one takes: what was counted since the last call."""
        found = self.n_calls, self.seconds, Counter(self._counts)
        self.n_calls, self.seconds = 0, 0.0
        self._counts.clear()
        return found

    def add_counts(self, n_calls: int, seconds: float, counts: Counter[str]) -> None:
        """Count what was counted elsewhere."""
        self.n_calls += n_calls
        self.seconds += seconds
        self._counts.update(counts)

    def count_fractional(self, z: np.ndarray) -> None:
        """Count whether an answer is fractional, if calls are expensive."""
        if self.is_expensive:
            self._counts["checked"] += 1
            self._counts["fractional"] += self.is_fractional(z)

    def take_metrics(self) -> dict[str, float]:
        """What was counted since the last call, for the record of a certificate."""
        counts = Counter(self._counts)
        self._counts.clear()
        found = {}
        if counts["checked"]:
            found["fractional"] = counts["fractional"] / counts["checked"]
        if not self.gap_is_proof and self.is_expensive:
            found["worse_than_truth"] = float(counts["worse_than_truth"])
        if self.may_time_out:
            found["timeouts"] = float(counts["timeouts"])
        return found
