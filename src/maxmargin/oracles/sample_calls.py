"""How the samples of a problem call an oracle that is written in Python."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, NoReturn

import numpy as np

from maxmargin.exceptions import InfeasibleError, MissingAbilityError, OracleError, SampleError
from maxmargin.oracles.base import Call
from maxmargin.oracles.checked import Counted
from maxmargin.oracles.constraints import part_score

#: samples whose scores are held at a time
CHUNK = 1024


class SampleCalls:
    """Calls of the oracle of `Samples` by the number of the sample, which errors name."""

    def __init__(self, samples: Any):
        self.samples = samples

    @property
    def oracle(self) -> Counted:
        return self.samples.oracle

    def _raise_named(self, error: Exception, i: int) -> NoReturn:
        """Raise an error that says which sample it is about."""
        number = self.samples.first + i
        if isinstance(error, InfeasibleError | OracleError):
            raise type(error).of(number, f": {error}") from error.__cause__ or error
        name = type(self.oracle.structure).__name__
        error.add_note(f"raised by {name} for sample {number}")
        raise error

    # -- one sample --------------------------------------------------------------------------------
    def compute(self, ability: str, theta: np.ndarray, i: int) -> np.ndarray:
        """What the oracle finds for sample i, checked. theta : scores, or a point to project."""
        if ability != "maximize":
            try:
                return self.oracle.compute(ability, theta, self.samples.layouts[i])
            except Exception as error:
                self._raise_named(error, i)
        z, _ = next(self.maximize([i], [theta]))
        if z is None:
            self.refuse_late(i)
        assert z is not None
        return z

    def write_vertex(self, i: int, workspace: Any, parts: int, skip: bool = False) -> float | None:
        """workspace.vertex = argmax over workspace.theta.

        Returns None, or if the answer was given up and that is fine (skip), a bound on its score.
        """
        theta = workspace.theta[:parts].copy()
        vertex, value = next(self.maximize([i], [theta]))
        if vertex is None:
            self.refuse_late(i, skip)
            return value
        self._check_room(i, vertex)
        workspace.vertex[:parts] = vertex
        return None

    def _check_room(self, i: int, vertex: np.ndarray) -> None:
        structure = self.oracle.structure
        room = structure.vertex_size(self.samples.layouts[i])
        if np.count_nonzero(vertex) > room:
            raise SampleError.of(
                self.samples.first + i,
                f": {type(structure).__name__}.maximize returned"
                f" {np.count_nonzero(vertex)} non-zeros, more than vertex_size says ({room}).",
            )

    def refuse_late(self, i: int, skip: bool = False) -> None:
        """Raise an error for an answer that was given up, unless that is fine (skip)."""
        if skip and self.oracle.may_time_out:
            return
        why = (
            ": the oracle took too long. Only training by bcfw and fw can go on without an answer"
            ' (on_timeout="skip"); raise time_limit.'
        )
        if not self.oracle.may_time_out:
            why = (
                f": the oracle took more than time_limit={self.oracle.structure.time_limit:g} s and"
                " was ended. Raise the limit, or go on without such answers by"
                ' on_timeout="skip".'
            )
        raise OracleError.of(self.samples.first + i, why)

    def value_of(self, ability: str, theta: np.ndarray, z: np.ndarray, i: int) -> float:
        """What the compiled function of another ability than `maximize` would return with z."""
        layout = self.samples.layouts[i]
        if ability == "marginals":
            try:
                return self.oracle.log_partition(theta, layout)
            except MissingAbilityError:
                return 0.0  # a structure may have marginals without a log-partition
        if ability == "max_marginals":
            count, labels = self.oracle.structure.variables(layout)
            return float(np.max(z[: count * labels]))
        return 0.0

    # -- many samples ------------------------------------------------------------------------------
    def maximize(
        self, numbers: Sequence[int], thetas: Sequence[np.ndarray]
    ) -> Generator[tuple[np.ndarray | None, float]]:
        """Vertices of these samples, and their scores, or bounds if that is what is proven.

        A vertex is None, and its value a proven bound, if the oracle gave it up.
        """
        samples = self.samples
        calls = [
            Call(theta, samples.layouts[i], samples.first + i, samples.truth_score(i, theta))
            for i, theta in zip(numbers, thetas, strict=True)
        ]
        with closing(self.oracle.maximize_many(calls)) as found:
            for i in numbers:
                try:
                    output = next(found)
                except Exception as error:
                    self._raise_named(error, i)
                yield output

    def maximize_in_chunks(
        self, numbers: range, thetas: Callable[[int], np.ndarray]
    ) -> Iterator[tuple]:
        """(i, theta, vertex, value) of these samples, whose scores are made some at a time."""
        for start in range(0, len(numbers), CHUNK):
            chunk = numbers[start : start + CHUNK]
            scores = [thetas(i) for i in chunk]
            with closing(self.maximize(chunk, scores)) as found:
                for i, theta, (z, value) in zip(chunk, scores, found, strict=True):
                    yield i, theta, z, value

    def visits(
        self,
        order: np.ndarray,
        workspace: Any,
        score_at: Callable[[int], int],
        point: Callable[[int], np.ndarray] | None = None,
        gaps: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> Iterator[int]:
        """The samples of `order`, with scores in workspace.theta and answers in workspace.vertex.

        score_at(i) writes sample i's scores at the newest weights and returns how many. As many
        samples as the oracle has processes are asked at the same weights; their scores are those of
        the newest weights again when their turn comes. point(i) : z of a sample as it is now.
        gaps : where gaps are noted; a sample whose answer was given up is left out, its gap being
        what is proven. known : answers of all samples, so that the oracle is not called.
        """
        if known is not None:
            for i in order:
                parts, vertex = score_at(i), known[self.samples.parts(i)]
                self._check_room(i, vertex)
                workspace.vertex[:parts] = vertex
                yield i
            return
        at_once = max(self.oracle.n_processes, 1)
        for start in range(0, len(order), at_once):
            batch = order[start : start + at_once].tolist()
            outputs = {} if at_once == 1 else self._maximize_at_once(batch, workspace, score_at)
            for i in batch:
                parts = score_at(i)
                if at_once == 1:
                    value = self.write_vertex(i, workspace, parts, skip=gaps is not None)
                    if value is None:
                        yield i
                    elif gaps is not None and point is not None:
                        gaps[i] = value - part_score(workspace.theta[:parts], point(i))
                    continue
                theta, z, value = outputs[i]
                at = -np.inf
                if point is not None:
                    at = value - part_score(theta, point(i))
                if z is None:
                    self.refuse_late(i, skip=gaps is not None)
                else:
                    workspace.vertex[:parts] = z
                    yield i
                if gaps is not None:  # a step of another sample may have made this answer stale
                    gaps[i] = at if z is None else max(gaps[i], at)

    def _maximize_at_once(
        self, batch: list[int], workspace: Any, score_at: Callable[[int], int]
    ) -> dict[int, tuple[np.ndarray, np.ndarray | None, float]]:
        """Scores, answers and values of some samples at the present weights."""
        numbers = list(dict.fromkeys(batch))
        thetas = [workspace.theta[: score_at(i)].copy() for i in numbers]
        found = {}
        rows = zip(numbers, thetas, self.maximize(numbers, thetas), strict=True)
        for i, theta, (z, value) in rows:
            if z is not None:
                self._check_room(i, z)
            found[i] = (theta, z, value)
        return found
