"""Inputs of samples in flat arrays, and passes of an oracle over them, compiled or in Python."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from maxmargin._numba.compile import delay_signals
from maxmargin._numba.packed_samples import (
    PackedSamples,
    Points,
    Workspace,
    add_points,
    score_block,
    write_costs,
)
from maxmargin._numba.passes.batch import apply_range
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.features.base import Group, PackedFeatures, local_sizes, pack
from maxmargin.losses.packed_costs import pack_costs
from maxmargin.memory import CHUNK, cut_range
from maxmargin.oracles.checked import check_outputs
from maxmargin.oracles.constraints import part_score
from maxmargin.oracles.sample_calls import SampleCalls
from maxmargin.structures.base import Layout, PerLayout, Structure
from maxmargin.validation.options import check_options
from maxmargin.validation.samples import as_dense

#: all zeros
NO_POINTS = Points(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))


class Samples:
    """Inputs of n samples, packed: layouts, features, and costs added to the scores.

    The batch oracle works on these; `Problem` adds the true outputs.

    Parameters
    ----------
    structure : Structure
        Structure of the outputs.
    layouts : sequence of Layout
        Layout of each sample's output.
    features : PackedFeatures
        Features of all samples.
    costs : ndarray of shape (n_all_parts,) or iterator of ndarray, default=None
        Costs `c_i` added to the scores of all samples' parts, in one array or sample by sample;
        None means 0.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights `omega_i` of the samples; None means 1/n each.
    n_jobs : int, default=None
        Number of threads, -1 for one per core; results are identical bit for bit for any value.
    """

    #: what the first sample is called in errors, where these are some of many
    first: int = 0
    #: whether `apply` gives NaN for outputs that took too long, where they would be an error
    may_time_out: bool = False
    #: what `maximize` remembers of all samples, see `remember`; empty for nothing
    memory: np.ndarray = np.empty(0)

    def __init__(
        self,
        structure: Structure,
        layouts: Sequence[Layout],
        features: PackedFeatures,
        costs: np.ndarray | Iterator[np.ndarray] | None = None,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ):
        check_options(structure)
        self.structure = structure
        self.layouts = list(layouts)
        self.dim = features.dim
        self.part_ptr = features.part_ptr
        self.n_jobs = effective_n_jobs(n_jobs)
        self._check_layouts()
        as_ints = PerLayout(self.oracle.layout_as_ints)
        layout_ints = [np.asarray(as_ints[layout], dtype=np.int64) for layout in self.layouts]
        weight = np.full(self.n, 1.0 / max(self.n, 1)) if sample_weight is None else sample_weight
        packed_costs, cost_start = self._with_forbidden(costs, features)
        self.packed = PackedSamples(
            layout_ptr=np.concatenate(
                [[0], np.cumsum([len(c) for c in layout_ints], dtype=np.int64)]
            ),
            layouts=np.concatenate(layout_ints),
            costs=packed_costs,
            cost_start=cost_start,
            weight=_as_vector("sample_weight", weight, self.n),
            **{k: v for k, v in features._asdict().items() if k != "dim"},
        )

    @classmethod
    def from_scores(
        cls,
        structure: Structure,
        layouts: Sequence[Layout],
        scores: np.ndarray,
        n_jobs: int | None = None,
    ) -> Samples:
        """Return samples whose part scores are given, with one weight that does not matter.

        Parameters
        ----------
        structure : Structure
            Structure of the outputs.
        layouts : sequence of Layout
            Layout of each sample's output.
        scores : ndarray of shape (n_all_parts,)
            Scores of all samples' parts.
        n_jobs : int, default=None
            Number of threads.

        Returns
        -------
        Samples
            The samples.
        """
        counts = np.array([structure.n_parts(layout) for layout in layouts], dtype=np.int64)
        nothing = Group(sparse.csr_array((int(counts.sum()), 1)), counts, 1, 0)
        return Samples(structure, layouts, pack([nothing], 1), scores, n_jobs=n_jobs)

    @property
    def structure(self) -> Structure:
        """The structure of the outputs; another one brings its oracle."""
        return self.oracle.structure

    @structure.setter
    def structure(self, structure: Structure) -> None:
        self.oracle = check_outputs(structure.oracle())

    @property
    def calls(self) -> SampleCalls:
        """Calls of the oracle's Python methods, by the numbers of samples."""
        return SampleCalls(self)

    def truth_score(self, i: int, theta: np.ndarray) -> float:
        """Return the score of a sample's true output.

        Parameters
        ----------
        i : int
            Number of the sample.
        theta : ndarray of shape (n_parts,)
            Scores of the parts.

        Returns
        -------
        float
            Score; -inf if the true output is not known.
        """
        return -np.inf

    @property
    def n(self) -> int:
        return len(self.layouts)

    @property
    def sample_weight(self) -> np.ndarray:
        """Weights `omega_i` of the samples, (n_samples,)."""
        return self.packed.weight

    def parts(self, i: int, end: int | None = None) -> slice:
        """Return the position of a sample's parts in arrays of all samples' parts.

        Parameters
        ----------
        i : int
            Number of the sample.
        end : int, default=None
            Number of the sample after the last one, for those of several samples; None means one.

        Returns
        -------
        slice
            Positions of the parts.
        """
        return slice(int(self.part_ptr[i]), int(self.part_ptr[i + 1 if end is None else end]))

    def _with_forbidden(self, costs: Any, features: Any) -> tuple[np.ndarray, np.ndarray]:
        """Costs of all parts, -inf on those that are forbidden, see `pack_costs`."""
        banned = PerLayout(self.structure.forbidden)
        for i, layout in enumerate(self.layouts):
            try:
                banned[layout]
            except InfeasibleError as error:
                raise InfeasibleError.of(self.first + i, f": {error}") from error
        if costs is None and not any(len(b) for b in banned.values()):
            return np.empty(0), np.empty(0, dtype=np.int64)
        if costs is not None and not isinstance(costs, Iterator):
            flat = self._all_parts(costs)
            costs = (flat[self.parts(i)] for i in range(self.n))

        def of_samples() -> Iterator[np.ndarray]:
            sizes = np.diff(self.part_ptr).tolist()
            given = map(np.zeros, sizes) if costs is None else costs
            for i, (layout, own) in enumerate(zip(self.layouts, given, strict=True)):
                own = _as_vector(f"costs of sample {i}", own, sizes[i])
                if len(banned[layout]):
                    own = own.copy()
                    own[banned[layout]] = -np.inf
                yield own

        packed = pack_costs(of_samples(), features.row_ptr, features.width)
        if not packed[0].max(initial=0.0) < np.inf:
            raise ValueError("costs of parts, which the loss gives, must not be NaN or inf.")
        return packed

    def _check_layouts(self) -> None:
        if len(self.part_ptr) != self.n + 1:
            raise ValueError(f"features of {len(self.part_ptr) - 1} samples, layouts of {self.n}.")
        count = PerLayout(self.structure.n_parts)
        for i, (layout, found) in enumerate(zip(self.layouts, np.diff(self.part_ptr), strict=True)):
            if found != count[layout]:
                raise SampleError.of(
                    i, f": its features describe {found} parts, its structure has {count[layout]}."
                )

    def _all_parts(self, values: np.ndarray) -> np.ndarray:
        """Values of all samples' parts, fit for compiled code, which checks nothing."""
        return _as_vector("all samples' parts", values, int(self.part_ptr[-1]))

    def _weights(self, w: Any) -> np.ndarray:
        """Weights fit for compiled code; not all of it would tell NaN from a low score."""
        found = _as_vector("w", w, self.dim)
        if not all(np.isfinite(found[own]).all() for own in cut_range(self.dim, CHUNK)):
            k = int(np.flatnonzero(~np.isfinite(found))[0])
            raise FloatingPointError(f"weight {k} is {found[k]}; weights must be finite.")
        return found

    def _costs_of(self, first: int, last: int) -> np.ndarray:
        """Costs of the parts of some samples, side by side."""
        out = np.empty(int(self.part_ptr[last] - self.part_ptr[first]))
        write_costs(self.packed, first, last, out)
        return out

    def workspace(self, ability: str = "maximize") -> Any:
        """Return work space for one thread.

        Parameters
        ----------
        ability : str, default="maximize"
            Ability that the thread calls.

        Returns
        -------
        Workspace
            Arrays that are large enough for every sample.
        """
        # other abilities have memories of another kind, which their solvers keep
        own = ability == "maximize"

        parts, local, floats, ints = self._sizes
        return Workspace(
            theta=np.zeros(parts),
            vertex=np.zeros(parts),
            work=np.zeros(floats),
            iwork=np.zeros(ints, dtype=np.int64),
            local=np.zeros(local),
            change=np.zeros(local),
            scratch=np.zeros(parts),
            memory=self.memory if own else np.empty(0),
            memory_ptr=self.memory_ptr if own else np.zeros(self.n + 1, dtype=np.int64),
        )

    def remember(self, memory: np.ndarray) -> np.ndarray:
        """Let `maximize` start from what it stored in an array at its previous call.

        Parameters
        ----------
        memory : ndarray
            Memory of all samples.

        Returns
        -------
        ndarray
            The array, or a new one of zeros if its size is wrong.
        """
        size = int(self.memory_ptr[-1])
        fits = memory.shape == (size,) and memory.dtype == np.float64
        self.memory = memory if fits else np.zeros(size)
        return self.memory

    @cached_property
    def memory_ptr(self) -> np.ndarray:
        """Where each sample's share of the memory begins, and where the last one's ends."""
        known = {layout: self.oracle.memory_size(layout) for layout in set(self.layouts)}
        return np.concatenate([[0], np.cumsum([known[s] for s in self.layouts])]).astype(np.int64)

    @cached_property
    def _sizes(self) -> tuple[int, int, int, int]:
        """Parts, local weights, floats and integers of work space that the largest sample needs."""
        work = [self.oracle.scratch(layout) for layout in set(self.layouts)]
        return (
            int(np.diff(self.part_ptr).max()),
            int(local_sizes(self.packed).max()),
            max(floats for floats, _ in work),
            max(ints for _, ints in work),
        )

    def restricted(self, structure: Structure, layouts: Sequence[Layout]) -> Samples:
        """Return the same samples with fewer outputs.

        Parameters
        ----------
        structure : Structure
            Structure with the same parts that forbids more.
        layouts : sequence of Layout
            Layout of each sample's output.

        Returns
        -------
        Samples
            The restricted samples.
        """
        found = copy(self)
        found.structure, found.layouts = structure, list(layouts)
        costs = (self._costs_of(i, i + 1) for i in range(self.n))
        packed, start = found._with_forbidden(costs, self.packed)
        found.packed = self.packed._replace(costs=packed, cost_start=start)
        found.memory = np.empty(0)
        return found

    def with_divided_costs(self, divisor: float) -> Samples:
        """Return the same samples with their costs divided by a number.

        Parameters
        ----------
        divisor : float
            The number, above 0.

        Returns
        -------
        Samples
            The samples.
        """
        found = copy(self)
        found.packed = self.packed._replace(costs=self.packed.costs / divisor)
        return found

    def scores(self, w: np.ndarray, i: int) -> np.ndarray:
        """Return the scores theta_i = F_i^T w + c_i of a sample.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        i : int
            Number of the sample.

        Returns
        -------
        ndarray of shape (n_parts,)
            Scores of the parts.
        """
        w, workspace = self._weights(w), self.workspace()
        return workspace.theta[: score_block(self.packed, i, w, workspace)].copy()

    def apply(
        self,
        ability: str,
        w: np.ndarray,
        point: np.ndarray | Points | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute value_i = ability(theta_i) - theta_i . point_i for all i, by `n_jobs` threads.

        ability(theta_i) is the best score of `maximize` and `max_marginals`, the log-partition of
        `marginals` and a residual of `project`.

        Parameters
        ----------
        ability : str
            Name of the ability, such as `"maximize"`.
        w : ndarray of shape (n_weights,)
            Weights.
        point : ndarray of shape (n_all_parts,) or Points, default=None
            Points of all samples; None means 0.
        out : ndarray of shape (n_all_parts,), default=None
            Array that receives the outputs of the oracle (vertices or expectations); None discards
            them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of the samples.
        """
        w = self._weights(w)
        if not isinstance(point, Points):
            point = NO_POINTS if point is None else self._all_parts(point)
        if out is None:
            out = np.empty(0)
        elif self._all_parts(out) is not out:
            raise ValueError("out must be a contiguous array of float64.")
        values = np.empty(self.n)
        function = self.oracle.compiled_function(ability)
        run = self._interpreted(ability) if function is None else self._compiled(ability, function)
        one = function is None and self.oracle.n_processes
        threads = 1 if one else min(self.n_jobs, self.n)
        bounds = np.linspace(0, self.n, threads + 1).astype(int)
        ranges = [(a, b) for a, b in pairwise(bounds) if b > a]
        self.map_threads(lambda r: run(w, point, r[0], r[1], values, out), ranges)
        self.check_values(values, ability, w)
        return values

    def map_threads(self, function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """Call a function of each item, in `n_jobs` threads.

        Parameters
        ----------
        function : callable
            Function of one item.
        items : list
            The items.

        Returns
        -------
        list
            What the function returned for each.
        """
        if min(self.n_jobs, len(items)) < 2:
            return [function(own) for own in items]
        with ThreadPoolExecutor(min(self.n_jobs, len(items))) as pool:
            return list(pool.map(function, items))

    def sweep(
        self,
        order: np.ndarray,
        compiled: Callable[[Any, Workspace], Any],
        step: Callable[[int, Workspace, float], Any],
        score: Callable[[int, Workspace], int] | None,
        ability: str = "maximize",
        **visits: Any,
    ) -> Any:
        """Visit samples in turn: in one compiled pass where a compiled oracle is called.

        Parameters
        ----------
        order : ndarray of int
            Numbers of the samples.
        compiled : callable
            `(function, workspace) -> any`, the pass, given the oracle's compiled function.
        step : callable
            `(i, workspace, value)`, what the pass does with a sample whose oracle output is in
            `workspace.vertex`; value is the log-partition of `marginals`. The sweep ends early if
            it returns True.
        score : callable
            `(i, workspace) -> n_parts`, which writes the scores of a sample to `workspace.theta`;
            None if `step` calls the oracle itself.
        ability : str, default="maximize"
            What the oracle is asked for, `"maximize"` or `"marginals"`.
        **visits : dict
            What `SampleCalls.visits` takes beside these.

        Returns
        -------
        object
            What `compiled` returned; None if samples were visited one by one.
        """
        workspace = self.workspace(ability)
        function = self.oracle.compiled_function(ability)
        if function is not None and visits.get("known") is None:
            return compiled(function, workspace)
        if score is None:
            found = ((i, 0.0) for i in order)
        elif ability == "maximize":
            visited = self.calls.visits(order, workspace, lambda i: score(i, workspace), **visits)
            found = ((i, 0.0) for i in visited)
        else:
            found = ((i, self.write_marginals(i, workspace, score(i, workspace))) for i in order)
        with closing(found):
            for i, value in found:
                if step(i, workspace, value):
                    return None
        return None

    def write_marginals(self, i: int, workspace: Workspace, parts: int) -> float:
        """Ask the structure's Python method for the marginals of `workspace.theta`.

        Parameters
        ----------
        i : int
            Number of the sample.
        workspace : Workspace
            Its `vertex` receives the marginals.
        parts : int
            Number of the sample's parts.

        Returns
        -------
        float
            Log-partition; 0 if the structure has none.
        """
        theta = workspace.theta[:parts].copy()
        z = self.calls.compute("marginals", theta, i)
        workspace.vertex[:parts] = z
        return self.calls.value_of("marginals", theta, z, i)

    def _compiled(self, ability: str, function: Any) -> Callable:
        def run(*args: Any) -> None:
            with delay_signals():
                w, point, *rest = args
                points = (np.empty(0), point) if isinstance(point, Points) else (point, NO_POINTS)
                apply_range(self.packed, self.workspace(ability), function, w, *points, *rest)

        return run

    def _interpreted(self, ability: str) -> Callable:
        def run(
            w: np.ndarray, point: Any, first: int, last: int, values: np.ndarray, out: np.ndarray
        ) -> None:
            with closing(self._each(ability, w, range(first, last))) as each:
                for i, theta, z, value in each:
                    if z is None and self.may_time_out:
                        values[i], out[self.parts(i)] = 0.0, np.nan
                        continue
                    if z is None:  # not answered in time: the sample stays where it is
                        self.calls.refuse_late(i, skip=not len(out) or point is not NO_POINTS)
                    values[i] = value
                    own = self._point_of(point, i)
                    values[i] -= part_score(theta, own)
                    if len(out):
                        out[self.parts(i)] = own if z is None else z

        return run

    def _point_of(self, points: np.ndarray | Points, i: int) -> np.ndarray:
        """What `points` are for one sample."""
        if not isinstance(points, Points):
            return points[self.parts(i)]
        out = np.zeros(int(self.part_ptr[i + 1] - self.part_ptr[i]))
        if len(points.ptr):
            add_points(self.packed, points, i, i + 1, out)
        return out

    def _each(self, ability: str, w: np.ndarray, numbers: range) -> Generator[tuple]:
        """(i, scores, what the ability returns, its value) by the structure's Python method."""
        if ability == "maximize":
            found = self.calls.maximize_in_chunks(numbers, lambda i: self.scores(w, i))
            for i, theta, z, value in found:
                if z is not None:
                    self.oracle.count_fractional(z)
                yield i, theta, z, value
            return
        for i in numbers:
            theta = self.scores(w, i)
            z = self.calls.compute(ability, theta, i)
            yield i, theta, z, self.calls.value_of(ability, theta, z, i)

    def check_values(self, values: np.ndarray, ability: str, w: np.ndarray) -> None:
        """Raise an error that names the sample if a value of an ability is not finite.

        Parameters
        ----------
        values : ndarray of shape (n_samples,)
            Values, see `apply`.
        ability : str
            Name of the ability, such as `"maximize"`.
        w : ndarray of shape (n_weights,)
            Weights.
        """
        if np.isfinite(values).all():
            return
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        if values[i] == -np.inf:
            why = "every output is forbidden. Allow one at least."
            try:  # the layout itself may have no output
                self.oracle.check_layout(self.layouts[i])
            except InfeasibleError as error:
                why = str(error)
            raise InfeasibleError.of(self.first + i, f": {why}")
        theta = self.scores(w, i)
        if not (np.isnan(theta) | np.isposinf(theta)).any():
            try:  # the structure itself can say what is wrong with scores that are numbers
                self.calls.compute(ability, theta, i)
            except ValueError as error:
                raise SampleError.of(self.first + i, f": {error}") from error
        raise FloatingPointError(
            f"sample {self.first + i}: its scores are not finite; scale the features down."
        )


def _as_vector(name: str, values: np.ndarray, size: int) -> np.ndarray:
    if sparse.issparse(values) and values.shape == (1, size):
        values = as_dense(values)
    values = np.require(values, np.float64, ["C", "W"])  # compiled code takes no read-only arrays
    if values.shape != (size,):
        raise ValueError(f"{name}: shape {values.shape}, expected ({size},).")
    return values
