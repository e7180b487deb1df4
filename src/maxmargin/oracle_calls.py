"""How samples ask a structure that is written in Python, and what its answers must satisfy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError, OracleError, SampleError
from maxmargin.structures.base import Layout, Structure, part_score

#: how much lower than another score a maximum may be, relative to 1 + its size: what linear
#: programs and rounding leave
TOL = 1e-6
#: samples whose scores are held at a time
CHUNK = 1024


class OracleCalls(ABC):
    """Part of `Samples`: every answer of a Python method comes through here, and is checked."""

    structure: Structure
    layouts: list[Layout]
    first: int
    #: called after each answer of `maximize`, for progress; None for nothing
    watch: Callable[[], None] | None = None

    @abstractmethod
    def parts(self, i: int) -> slice:
        """Where sample i's parts stand in arrays of all samples' parts."""

    def _reset_oracle_counts(self) -> None:
        self._counts: Counter[str] = Counter()
        self._known: dict[int, tuple[np.ndarray, float]] = {}

    def take_oracle_metrics(self) -> dict[str, float]:
        """What was counted since the last call, for the record of a certificate."""
        counts = Counter(self._counts)
        self._counts.clear()
        found = {}
        if counts["checked"]:
            found["fractional"] = counts["fractional"] / counts["checked"]
        if not self.structure.gap_is_proof and self.structure.expensive_oracle:
            found["worse_than_truth"] = float(counts["worse_than_truth"])
        if self.structure.may_time_out:
            found["timeouts"] = float(counts["timeouts"])
        return found

    # -- one sample --------------------------------------------------------------------------------
    def write_oracle_output(
        self, i: int, workspace: Any, parts: int, skip: bool = False
    ) -> float | None:
        """workspace.vertex = argmax over workspace.theta, by the structure's Python method.

        Returns None, or if the answer was given up and that is fine (skip), a bound on its score.
        """
        theta = workspace.theta[:parts].copy()
        vertex, value = next(self.oracle_outputs([i], [theta]))
        if vertex is None:
            self._refuse_none(i, skip)
            return value
        self._check_room(i, vertex)
        workspace.vertex[:parts] = vertex
        return None

    def _check_room(self, i: int, vertex: np.ndarray) -> None:
        room = self.structure.vertex_size(self.layouts[i])
        if np.count_nonzero(vertex) > room:
            raise SampleError.of(
                self.first + i,
                f": {type(self.structure).__name__}.maximize returned"
                f" {np.count_nonzero(vertex)} non-zeros, more than vertex_size says ({room}).",
            )

    def _refuse_none(self, i: int, skip: bool) -> None:
        if not skip:
            raise OracleError.of(
                self.first + i,
                ": the oracle took too long. Only training by bcfw and fw"
                ' can go on without an answer (on_timeout="skip"); raise time_limit.',
            )

    def projected(self, point: np.ndarray, i: int) -> np.ndarray:
        """The point of sample i's polytope next to the given one, by the structure's method."""
        return self._call_oracle("project", point, i)

    def marginals_of(self, theta: np.ndarray, i: int) -> np.ndarray:
        """The expectation of sample i's parts under scores theta, by the structure's method."""
        return self._call_oracle("marginals", theta, i)

    def _call_oracle(self, ability: str, theta: np.ndarray, i: int) -> np.ndarray:
        """What the structure's Python method returns for sample i, checked."""
        if ability == "maximize":
            z, _ = next(self.oracle_outputs([i], [theta]))
            if z is None:
                self._refuse_none(i, skip=False)
            assert z is not None
            return z
        try:
            z = getattr(self.structure, ability)(theta, self.layouts[i])
        except InfeasibleError as error:
            raise InfeasibleError.of(self.first + i, f": {error}") from error
        return self._vector_of(i, ability, z, theta)

    # -- many samples ------------------------------------------------------------------------------
    def oracle_outputs(
        self, numbers: Sequence[int], thetas: Sequence[np.ndarray]
    ) -> Generator[tuple[np.ndarray | None, float]]:
        """Checked answers of `maximize` for these samples: vertex, and its score or its bound.

        The vertex is None, and the value a proven bound, if the structure gave it up.
        """
        layouts = [self.layouts[i] for i in numbers]
        found = iter(self.structure.maximize_many(thetas, layouts))
        try:
            for i, theta in zip(numbers, thetas, strict=True):
                z, bound = self._next_output(found, i)
                if self.watch is not None:
                    self.watch()
                if z is None and self.structure.may_time_out:
                    yield None, self._proven(i, theta)
                else:
                    yield self._checked(i, theta, z, bound)
        finally:
            close = getattr(found, "close", None)
            if close is not None:
                close()

    def _next_output(self, found: Iterator, i: int) -> tuple[Any, float]:
        try:
            return next(found)
        except StopIteration:
            raise ValueError("maximize_many gave fewer answers than were asked for.") from None
        except (InfeasibleError, OracleError) as error:
            named = type(error).of(self.first + i, f": {error}")
            raise named from error.__cause__ or error
        except Exception as error:
            error.add_note(f"raised by {type(self.structure).__name__} for sample {self.first + i}")
            raise

    def visits(
        self,
        order: np.ndarray,
        workspace: Any,
        score_at: Callable[[int], int],
        point: np.ndarray | None = None,
        gaps: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> Iterator[int]:
        """The samples of `order`, each with scores in workspace.theta and its answer in
        workspace.vertex.

        score_at(i) writes sample i's scores at the newest weights and returns how many. As many
        samples as the structure asks at a time (`jobs`) are asked at the same weights; their scores
        are those of the newest weights again when their turn comes. point and gaps : z of all
        samples, and where their gaps are noted; a sample whose answer was given up is left out, its
        gap being what is proven. known : answers of all samples, so that nobody is asked.
        """
        if known is not None:
            for i in order:
                parts = score_at(i)
                workspace.vertex[:parts] = known[self.parts(i)]
                yield i
            return
        jobs = self.structure.jobs
        for start in range(0, len(order), jobs):
            batch = order[start : start + jobs].tolist()
            outputs = {} if jobs == 1 else self._call_oracle_at_once(batch, workspace, score_at)
            for i in batch:
                parts = score_at(i)
                if jobs == 1:
                    value = self.write_oracle_output(i, workspace, parts, skip=gaps is not None)
                    if value is None:
                        yield i
                    elif gaps is not None and point is not None:
                        gaps[i] = value - part_score(workspace.theta[:parts], point[self.parts(i)])
                    continue
                theta, z, value = outputs[i]
                at = -np.inf if point is None else value - part_score(theta, point[self.parts(i)])
                if z is None:
                    self._refuse_none(i, skip=gaps is not None)
                else:
                    workspace.vertex[:parts] = z
                    yield i
                if gaps is not None:  # a step of another sample may have made this answer stale
                    gaps[i] = at if z is None else max(gaps[i], at)

    def _call_oracle_at_once(
        self, batch: list[int], workspace: Any, score_at: Callable[[int], int]
    ) -> dict[int, tuple[np.ndarray, np.ndarray | None, float]]:
        """Scores, answers and values of some samples at the present weights."""
        numbers = list(dict.fromkeys(batch))
        thetas = [workspace.theta[: score_at(i)].copy() for i in numbers]
        found = {}
        rows = zip(numbers, thetas, self.oracle_outputs(numbers, thetas), strict=True)
        for i, theta, (z, value) in rows:
            if z is not None:
                self._check_room(i, z)
            found[i] = (theta, z, value)
        return found

    def _maximized(self, numbers: range, thetas: Callable[[int], np.ndarray]) -> Iterator[tuple]:
        """(i, theta, vertex, value) of these samples, some at a time."""
        for start in range(0, len(numbers), CHUNK):
            chunk = numbers[start : start + CHUNK]
            scores = [thetas(i) for i in chunk]
            with closing(self.oracle_outputs(chunk, scores)) as found:
                for i, theta, (z, value) in zip(chunk, scores, found, strict=True):
                    yield i, theta, z, value

    # -- checks ------------------------------------------------------------------------------------
    def _vector_of(self, i: int, ability: str, z: Any, theta: np.ndarray) -> np.ndarray:
        z = np.asarray(z, dtype=float)
        # The best score with a forbidden part is -inf; nothing else may be.
        if z.shape != theta.shape or not (ability == "max_marginals" or np.isfinite(z).all()):
            layout = z.shape != theta.shape
            found = f"shape {z.shape}" if layout else "numbers that are not finite (NaN, inf)"
            raise OracleError.of(
                self.first + i,
                f": {type(self.structure).__name__}.{ability} returned"
                f" {found}; expected {len(theta)} finite numbers.",
            )
        return z

    def _checked(self, i: int, theta: np.ndarray, z: Any, bound: float) -> tuple[np.ndarray, float]:
        structure, layout = self.structure, self.layouts[i]
        z = self._vector_of(i, "maximize", z, theta)
        why = structure.why_infeasible(z, layout)
        if why:
            raise OracleError.of(
                self.first + i,
                f": the answer of {type(structure).__name__}.maximize is not an output: {why}.",
            )
        own = value = part_score(theta, z)
        if structure.is_bounded:
            value = float(bound)
            if not value >= own - TOL * (1 + abs(own)):
                raise OracleError.of(
                    self.first + i,
                    f": the bound {value:.6g} is below the score {own:.6g}"
                    " of the answer that it came with.",
                )
        self._compare(i, theta, own, value)
        if structure.may_time_out and structure.gap_is_proof:
            self._known[i] = (theta, value)
        return z, value

    def _truth_score(self, i: int, theta: np.ndarray) -> float:
        """The score of the true output, where it is known."""
        return -np.inf

    def _compare(self, i: int, theta: np.ndarray, own: float, value: float) -> None:
        """An answer must not be worse than the truth under the same scores."""
        truth = self._truth_score(i, theta)
        worse = own < truth - TOL * (1 + abs(truth))
        if not self.structure.gap_is_proof:
            self._counts["worse_than_truth"] += worse
        elif self.structure.is_bounded:
            if value < truth - TOL * (1 + abs(truth)):
                raise OracleError.of(
                    self.first + i,
                    f": the bound {value:.6g} is below the score {truth:.6g}"
                    " of the true output, so that it is not a bound.",
                )
        elif worse:
            raise OracleError.of(
                self.first + i,
                f": the answer of {type(self.structure).__name__}.maximize"
                f" has the score {own:.6g}, worse than the truth with {truth:.6g} under the same"
                " scores. Does the truth break a rule that the oracle keeps (`feasible` finds such"
                " samples)? Else correct the oracle (a sign? a gap at which the solver stops?), or"
                " say that it is not exact.",
            )

    def _proven(self, i: int, theta: np.ndarray) -> float:
        """An upper bound on sample i's best score that needs no answer: parts are in [0, 1]."""
        self._counts["timeouts"] += 1
        bound = float(np.maximum(theta, 0.0).sum())
        if i in self._known:
            then, value = self._known[i]
            bound = min(bound, value + float(np.maximum(theta - then, 0.0).sum()))
        return bound
