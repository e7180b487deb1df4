"""How the samples of a problem call an oracle that is written in Python."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError, OracleError, SampleError
from maxmargin.oracles.base import Call
from maxmargin.oracles.checked import Counted
from maxmargin.oracles.constraints import part_score

#: samples whose scores are held at a time
CHUNK = 1024


class SampleCalls:
    """Calls of the oracle by the number of the sample, which errors name.

    Parameters
    ----------
    samples : Samples
        The samples, with their layouts and their oracle.
    """

    def __init__(self, samples: Any):
        self.samples = samples

    @property
    def oracle(self) -> Counted:
        return self.samples.oracle

    @contextmanager
    def _name_sample(self, i: int) -> Generator[None]:
        """Say in errors which sample they are about."""
        number = self.samples.first + i
        try:
            yield
        except (InfeasibleError, OracleError) as error:
            raise type(error).of(number, f": {error}") from error.__cause__ or error
        except Exception as error:
            name = type(self.oracle.structure).__name__
            error.add_note(f"raised by {name} for sample {number}")
            raise

    # -- one sample --------------------------------------------------------------------------------
    def answer(self, ability: str, theta: np.ndarray, i: int) -> np.ndarray:
        """Return what the oracle finds for one sample, checked.

        Parameters
        ----------
        ability : str
            Name of the ability, such as `"maximize"`.
        theta : ndarray of shape (n_parts,)
            Scores of the parts, or a point to project.
        i : int
            Number of the sample.

        Returns
        -------
        ndarray of shape (n_parts,)
            The answer.
        """
        if ability != "maximize":
            with self._name_sample(i):
                return self.oracle.answer(ability, theta, self.samples.layouts[i])
        z, _ = next(self.maximize([i], [theta]))
        if z is None:
            self.refuse_late(i)
        assert z is not None
        return z

    def write_vertex(self, i: int, workspace: Any, parts: int, skip: bool = False) -> float | None:
        """workspace.vertex = argmax over workspace.theta.

        Parameters
        ----------
        i : int
            Number of the sample.
        workspace : Workspace
            Arrays of the thread.
        parts : int
            Number of parts of the sample.
        skip : bool, default=False
            Whether the answer may be given up.

        Returns
        -------
        float or None
            A bound on the score of an answer that was given up; None if there is one.
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
        if not skip:
            raise OracleError.of(
                self.samples.first + i,
                ": the oracle took too long. Only training by bcfw and fw"
                ' can go on without an answer (on_timeout="skip"); raise time_limit.',
            )

    # -- many samples ------------------------------------------------------------------------------
    def maximize(
        self, numbers: Sequence[int], thetas: Sequence[np.ndarray]
    ) -> Generator[tuple[np.ndarray | None, float]]:
        """Maximise for some samples.

        Parameters
        ----------
        numbers : sequence of int
            Numbers of the samples.
        thetas : sequence of ndarray
            Scores of their parts.

        Yields
        ------
        z : ndarray of shape (n_parts,) or None
            Vertex; None if the oracle gave it up.
        value : float
            Its score, or a bound on the maximum if that is what the oracle proves.
        """
        samples = self.samples
        calls = [
            Call(theta, samples.layouts[i], i, samples.truth_score(i, theta))
            for i, theta in zip(numbers, thetas, strict=True)
        ]
        with closing(self.oracle.maximize_many(calls)) as found:
            for i in numbers:
                with self._name_sample(i):
                    output = next(found)
                yield output

    def maximize_in_chunks(
        self, numbers: range, thetas: Callable[[int], np.ndarray]
    ) -> Iterator[tuple]:
        """Maximise for many samples, whose scores are computed some at a time.

        Parameters
        ----------
        numbers : range
            Numbers of the samples.
        thetas : callable
            Scores of a sample's parts.

        Yields
        ------
        tuple
            Sample, scores, vertex and value, see `maximize`.
        """
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
        point: np.ndarray | None = None,
        gaps: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> Iterator[int]:
        """Visit samples, with their scores in workspace.theta and answers in workspace.vertex.

        As many samples as the oracle has processes are asked at the same weights; their scores are
        those of the newest weights again when their turn comes.

        Parameters
        ----------
        order : ndarray of int
            Numbers of the samples.
        workspace : Workspace
            Arrays of the thread.
        score_at : callable
            Writes a sample's scores at the newest weights and returns how many.
        point : ndarray of shape (n_all_parts,), default=None
            The dual point z of all samples.
        gaps : ndarray of shape (n_samples,), default=None
            Where gaps are noted; a sample whose answer was given up is left out, its gap being what
            is proven.
        known : ndarray of shape (n_all_parts,), default=None
            Answers of all samples, so that the oracle is not called.

        Yields
        ------
        int
            Number of the sample.
        """
        if known is not None:
            for i in order:
                parts = score_at(i)
                workspace.vertex[:parts] = known[self.samples.parts(i)]
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
                        own = point[self.samples.parts(i)]
                        gaps[i] = value - part_score(workspace.theta[:parts], own)
                    continue
                theta, z, value = outputs[i]
                at = -np.inf
                if point is not None:
                    at = value - part_score(theta, point[self.samples.parts(i)])
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
