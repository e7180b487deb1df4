"""The training problem: samples with true outputs, and its exact objectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from maxmargin._numba.packed_samples import PackedSamples, Points, add_points
from maxmargin._numba.passes.batch import add_absolute_features, add_features
from maxmargin.domains.base import Domain, Limits, RealSpace, check_domain, check_limits
from maxmargin.exceptions import InfeasibleError, MissingAbilityError, SampleError
from maxmargin.features.base import PackedFeatures
from maxmargin.fingerprint import fingerprint, own_attributes
from maxmargin.losses.slack_rescaling import rescale_slacks
from maxmargin.memory import SparsePoints, cut_range, sparse_zeros
from maxmargin.oracles.checked import TOL, Counted
from maxmargin.oracles.constraints import part_score
from maxmargin.samples import NO_POINTS, Samples
from maxmargin.structures.base import Layout, Structure
from maxmargin.structures.simplex import Finite

#: what sums may be off by, relative to the sizes of their terms: a few units of the last place
ROUNDING = 2.0**-49
#: entries of long arrays that are worked on at a time, and where sums of weights are cut in
#: ranges, on which bits depend
CHUNK, _SUMMED = 1 << 17, 1 << 20
#: sums of features of at most this many weights are made by threads; number of groups of samples
FEW_WEIGHTS, _GROUPS = 1 << 16, 8
#: points of all samples
Dual = np.ndarray | SparsePoints
#: options of structures that say how outputs are found, not which there are
_NOT_OUTPUTS = ("n_jobs", "time_limit", "on_timeout", "scores", "probe")


def outputs_key(structure: Structure, layouts: Sequence[Layout]) -> int:
    """Return a checksum of polytopes, but for what is forbidden.

    Parameters
    ----------
    structure : Structure
        Structure of the outputs.
    layouts : sequence of Layout
        Layout of each sample's output.

    Returns
    -------
    int
        Checksum.
    """
    ours = type(structure).__module__.startswith("maxmargin.")
    own = {
        name: value
        for name, value in own_attributes(structure).items()
        if not (ours and name.startswith("forbidden")) and name not in _NOT_OUTPUTS
    }
    numbers: dict[Layout, int] = {}
    which = np.array([numbers.setdefault(layout, len(numbers)) for layout in layouts])
    return fingerprint(type(structure), own, list(numbers), which)


class Problem(Samples):
    """Training problem: minimise the penalised risk P(w) over w in W, its domain.

    With `a_i = F_i^T w + c_i`, it is ::

        min P(w) = alpha/2 |w|^2 + sum_i omega_i H_i(w) over w in W,  H_i(w) = max_z a_i . (z - y_i)

    and its dual variable is z::

        w(z) = argmin over W of alpha/2 |w|^2 + w . g(z),   g(z) = sum_i omega_i F_i (z_i - y_i)
        D(z) = that minimum + sum_i omega_i c_i . (z_i - y_i)

    On all of R^d with alpha > 0, w(z) = -g(z) / alpha. If W is unbounded and alpha is 0, there is
    mostly no minimum, and D(z) = -inf.

    Parameters
    ----------
    structure : Structure
        Structure of the outputs.
    layouts : sequence of Layout
        Layout of each sample's output.
    features : PackedFeatures
        Features of all samples.
    costs : ndarray of shape (n_all_parts,), default=None
        Costs `c_i` of all samples' parts, the loss; None means 0.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights `omega_i` of the samples; None means 1/n each.
    n_jobs : int, default=None
        Number of threads, -1 for one per core; results are identical bit for bit for any value.
    truth : ndarray of shape (n_all_parts,) or Points
        Vertices `y_i` of the true outputs.
    alpha : float
        Coefficient of the penalty, at least 0.
    domain : Domain, default=None
        Domain W of the weights; None means R^d.
    objective : {"margin", "likelihood", "slack"}, default="margin"
        Definition of `H_i`; see Notes.

    Notes
    -----
    With `objective="likelihood"`, `H_i(w) = -log p(y_i)` under `p(z) ~ exp(F_i^T w . z)`, so that
    P(w) is the penalised negative log-likelihood of a conditional random field. The costs are then
    ignored, except that forbidden parts stay forbidden, and D(z) has sum_i omega_i entropy_i in
    their place, entropy_i being that of the distribution whose expectations are z_i.

    With `objective="slack"`, `H_i(w) = max_z loss_i(z) (1 + F_i^T w . (z - y_i))`: outputs of a
    large loss need no larger margin, but errors weigh more. The outputs are listed for it, and the
    problem is one over that list, whose structure is `Finite`: see `losses.slack_rescaling`.
    """

    _truth: np.ndarray | None
    #: what tells samples that are elsewhere from others, if it has few itself
    source_key: str = ""

    def __init__(
        self,
        structure: Structure,
        layouts: Sequence[Layout],
        features: PackedFeatures,
        costs: np.ndarray | Iterator[np.ndarray] | None = None,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
        *,
        truth: np.ndarray | Points,
        alpha: float,
        domain: Domain | None = None,
        objective: str = "margin",
    ):
        check_objective(objective, structure)
        costs = costs if objective != "likelihood" else None
        if objective == "slack":
            if isinstance(truth, Points):
                truth = _flat(truth, features)
            if isinstance(costs, Iterator):
                costs = np.concatenate(list(costs))
            listed = rescale_slacks(structure, list(layouts), features, costs, truth)
            structure, (layouts, features, costs, truth) = Finite(), listed
        super().__init__(structure, layouts, features, costs, sample_weight, n_jobs)
        self.objective = objective
        self.truth = truth
        self.alpha = float(alpha)
        self.domain = check_domain(domain, self.dim)
        self._plain: Samples | None = None
        self._refuse_forbidden_truth()
        self._check_truth()

    def _check_truth(self) -> None:
        """An InfeasibleError if a true output is none, as far as the structure can tell."""
        if type(self.structure).why_infeasible is Structure.why_infeasible:
            return
        for i, layout in enumerate(self.layouts):
            why = self.structure.why_infeasible(self._point_of(self.truths, i), layout)
            if why:
                raise InfeasibleError.of(
                    i,
                    f": its true output is not an output of its structure: {why}. Correct"
                    " it, or what the structure allows.",
                )

    def truth_score(self, i: int, theta: np.ndarray) -> float:
        return part_score(theta, self._point_of(self.truths, i))

    @property
    def truth(self) -> np.ndarray:
        """Vertices `y_i` of the true outputs, (n_all_parts,); `truths` are the same, sparse."""
        if self._truth is None:
            self._truth = self.truth_copy()
        return self._truth

    @truth.setter
    def truth(self, truth: np.ndarray | Points) -> None:
        self._truth = None
        self.truths = (
            self._check_points(truth) if isinstance(truth, Points) else self._as_points(truth)
        )

    def _check_points(self, points: Points) -> Points:
        """Points fit for compiled code."""
        ptr = points.ptr  # compared, since differences may overflow
        if ptr.shape != (self.n + 1,) or ptr[0] != 0 or (ptr[1:] < ptr[:-1]).any():
            raise ValueError(f"truth: ptr must be {self.n + 1} numbers that rise from 0.")
        count = int(ptr[-1])
        if points.part.shape != (count,) or points.value.shape != (count,):
            raise ValueError(f"truth: there must be {count} parts and values.")
        limits = np.repeat(np.diff(self.part_ptr), np.diff(ptr))
        if ((points.part < 0) | (points.part >= limits)).any():
            raise ValueError("truth: a part is out of range.")
        return points

    def _as_points(self, values: np.ndarray) -> Points:
        values = self._all_parts(values)
        where = np.flatnonzero(values)
        ptr = np.searchsorted(where, self.part_ptr)
        part = where - np.repeat(self.part_ptr[:-1], np.diff(ptr))
        return Points(ptr, part.astype(np.int32), values[where])

    def truth_copy(self) -> np.ndarray:
        """Return the vertices `y_i` of the true outputs in an array of their own.

        Returns
        -------
        ndarray of shape (n_all_parts,)
            Points of all samples.
        """
        out = sparse_zeros(int(self.part_ptr[-1]), self.n)
        add_points(self.packed, self.truths, 0, self.n, out)
        return out

    def truth_points(self) -> SparsePoints:
        """Return the vertices `y_i` of the true outputs by their non-zeros.

        Returns
        -------
        SparsePoints
            Points of all samples.
        """
        return SparsePoints(self.truths, self.part_ptr)

    def is_truth(self, values: object) -> bool:
        """Tell whether an array is `truth`, the same object.

        Parameters
        ----------
        values : object
            Any object.

        Returns
        -------
        bool
            True if it is.
        """
        return self._truth is not None and values is self._truth

    def _refuse_forbidden_truth(self) -> None:
        """Fail if a true output has a part that none may have."""
        for i in range(self.n if np.isneginf(self.packed.costs).any() else 0):
            own = self.truths.part[self.truths.ptr[i] : self.truths.ptr[i + 1]]
            wrong = own[np.isneginf(self._costs_of(i, i + 1)[own])]
            if len(wrong):
                raise InfeasibleError.of(
                    i,
                    f": its true output is forbidden (part {wrong[0]})."
                    " Allow it in the structure, or leave the sample out.",
                )

    def _allowed_costs_of(self, first: int, last: int) -> np.ndarray:
        """Costs of the parts of some samples, zero on those that are forbidden."""
        costs = self._costs_of(first, last)
        costs[np.isneginf(costs)] = 0.0
        return costs

    @property
    def loss_costs(self) -> np.ndarray:
        """Costs of all samples' parts, zero on those that are forbidden."""
        return self._allowed_costs_of(0, self.n)

    @cached_property
    def weight_limits(self) -> Limits | None:
        """Bounds and radius of the weights, where the domain is no more; see `Domain.limits`."""
        return check_limits(self.domain, self.dim)

    @cached_property
    def forbidden_parts(self) -> np.ndarray:
        """Where, among all samples' parts, those stand that no output may have."""
        none = np.empty(0, dtype=np.int64)
        if not np.isneginf(self.packed.costs).any():
            return none
        found = [
            self.part_ptr[a] + np.flatnonzero(np.isneginf(self._costs_of(a, b)))
            for a, b in self.ranges()
        ]
        return np.concatenate([none, *found])

    @cached_property
    def outputs_key(self) -> int:
        """A checksum of the polytopes of all samples, but for what is forbidden."""
        return outputs_key(self.structure, self.layouts)

    def probe(self) -> None:
        """Check a `maximize` written in Python on random scores: its answers must be maxima.

        They are compared with the true output and with the answer to the opposite scores, on a few
        samples, so that a wrong sign or a wrong output is found before it leads to a false
        certificate.
        """
        self._probe_layouts()
        if self.oracle.compiled_function("maximize") is not None or not self.oracle.is_probed:
            return
        rng, sign = np.random.default_rng(0), self.oracle.sign
        for i in range(min(3, self.n)):
            theta = rng.normal(size=int(np.diff(self.part_ptr)[i]))
            other = -theta
            if sign:
                theta, other = sign * np.abs(theta), sign * np.abs(rng.normal(size=len(theta)))
            banned = self.structure.forbidden(self.layouts[i])
            found = []
            for scores in (theta, other):
                scores = scores.copy()
                scores[banned] = -np.inf
                found.append(next(self.calls.maximize([i], [scores])))
            (first, value), (second, _) = found
            if first is None or second is None:
                self.calls.refuse_late(i, skip=True)
            if not self.oracle.gap_is_proof or first is None or second is None:
                continue
            better = max(theta @ second, theta @ self._point_of(self.truths, i))
            if better > value + TOL * (1 + abs(value)):
                raise SampleError.of(
                    i,
                    f": {type(self.structure).__name__}.maximize returned an output of"
                    f" score {value:.6g} where one of {better:.6g} exists. Correct it, or say"
                    " is_exact = False if it is meant to be approximate.",
                )
        self.oracle.take_metrics()

    def _probe_layouts(self) -> None:
        """Whether there are best outputs at all, layout by layout."""
        seen: set[Layout] = set()
        for i, layout in enumerate(self.layouts):
            if layout not in seen:
                seen.add(layout)
                try:
                    self.oracle.check_layout(layout)
                except InfeasibleError as error:
                    raise InfeasibleError.of(i, f": {error}") from error

    def part(self, first: int, last: int) -> Problem:
        """Return the problem of the samples first <= i < last, with the weights they have here.

        Parameters
        ----------
        first, last : int
            Range of the samples.

        Returns
        -------
        Problem
            Their problem; objectives and bounds of parts add up, but for the penalty.
        """
        found, old = copy(self), self.packed
        for name in ("weight_limits", "forbidden_parts", "outputs_key", "memory_ptr", "_sizes"):
            found.__dict__.pop(name, None)
        found.__dict__.pop("_sizes_of_terms", None)

        def cut(ptr: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            a, b = int(ptr[first]), int(ptr[last])
            return ptr[first : last + 1] - a, *(own[a:b] for own in arrays)

        rows = slice(int(old.row_ptr[first]), int(old.row_ptr[last]))
        entries = slice(int(old.indptr[rows.start]), int(old.indptr[rows.stop]))
        row_ptr, width = cut(old.row_ptr, old.width)
        groups = len(old.group_width)
        blocks = slice(*(int(old.block_ptr[groups * i]) for i in (first, last)))
        layout_ptr, layouts = cut(old.layout_ptr, old.layouts)
        (part_ptr,) = cut(old.part_ptr)
        costs, cost_start = old.costs, old.cost_start
        if len(cost_start):
            cost_start = cost_start[rows]
        elif len(costs):
            costs = costs[self.parts(first, last)]
        found.packed = PackedSamples(
            layout_ptr=layout_ptr, layouts=layouts, part_ptr=part_ptr, row_ptr=row_ptr, width=width,
            shift=old.shift[rows], indptr=old.indptr[rows.start : rows.stop + 1] - entries.start,
            index=old.index[entries], index_high=old.index_high[entries], value=old.value[entries],
            block_ptr=old.block_ptr[groups * first : groups * last + 1] - blocks.start,
            block_start=old.block_start[blocks], group_width=old.group_width, costs=costs,
            cost_start=cost_start, weight=old.weight[first:last],
        )  # fmt: skip
        found.layouts, found.part_ptr, found.first = self.layouts[first:last], part_ptr, first
        found.truths = Points(*cut(self.truths.ptr, self.truths.part, self.truths.value))
        found._truth, found._plain, found.memory = None, None, np.empty(0)
        # which calls may be made at the same time, and where nobody watches
        found.oracle = Counted(self.oracle.inner)
        return found

    def without_loss(self) -> Samples:
        """Return the same samples without costs, except that forbidden parts stay forbidden.

        They share the memory of the oracle, because a small loss changes little.

        Returns
        -------
        Samples
            The samples without loss.
        """
        if self._plain is None:
            bare = copy(self)
            # rows that were not kept cost nothing, those that were nothing but what is forbidden
            forbidden = np.where(np.isfinite(self.packed.costs), 0.0, -np.inf)
            bare.packed = self.packed._replace(costs=forbidden)
            self._plain = bare
        self._plain.memory = self.memory
        return self._plain

    def hinges(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return H_i(w) of each sample.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        out : ndarray of shape (n_all_parts,), default=None
            Array that receives the outputs of the oracle (vertices or expectations); None discards
            them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of `H_i`.
        """
        ability = "marginals" if self.objective == "likelihood" else "maximize"
        return np.maximum(self.apply(ability, w, point=self.truths, out=out), 0.0)

    def primal(self, w: np.ndarray, out: np.ndarray | None = None) -> float:
        """Return the objective P(w), exact if the structure's oracle is.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        out : ndarray of shape (n_all_parts,), default=None
            Array that receives the outputs of the oracle (vertices or expectations); None discards
            them.

        Returns
        -------
        float
            Objective.
        """
        return float(self.sample_weight @ self.hinges(w, out) + self.alpha / 2 * (w @ w))

    def rounding(self, w: np.ndarray) -> float:
        """Return a bound on the rounding errors of P(w) and D, which grow with the scores.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        float
            Bound on the absolute error.
        """
        features, costs = self._sizes_of_terms
        step = self.dim // len(features)
        total = 0.0
        for own in cut_range(len(features), max(1, CHUNK // step)):
            sizes = np.abs(w[step * own.start : step * own.stop]).reshape(-1, step)
            total += float((features[own] @ sizes).sum())
        return ROUNDING * float(total + costs + self.alpha * (w @ w))

    def rounding_of_bound(self, gap: float) -> float:
        """Return what rounding may add to D(z) beyond `rounding(w)`.

        D(z) has the rounding errors of w(z), and ``alpha/2 |w - w(z)|^2 <= P(w) - D(z)``.

        Parameters
        ----------
        gap : float
            Difference P(w) - D(z).

        Returns
        -------
        float
            Bound on the absolute error.
        """
        features, _ = self._sizes_of_terms
        most = 2 * self.domain.max_norm(self.dim)
        if self.alpha > 0:
            most = min(most, np.sqrt(2 * max(gap, 0.0) / self.alpha))
        size = float(np.linalg.norm(features)) * np.sqrt(self.dim // len(features))
        return ROUNDING * size * float(most) if size else 0.0

    @property
    def size_of_losses(self) -> float:
        """Mean over samples, with their weights, of the sums of all parts' costs."""
        return self._sizes_of_terms[1]

    @cached_property
    def _sizes_of_terms(self) -> tuple[np.ndarray, float]:
        """sum_i omega_i |F_i| and sum_i omega_i |c_i|, over all parts.

        The first has one number for each feature, not for each of its weights, where all features
        have as many of them: the labels'.
        """
        costs = self._by_sample(lambda a, b: np.abs(self._allowed_costs_of(a, b)))
        starts = self.packed.block_start
        step = np.gcd.reduce([self.dim, *np.unique(self.packed.width).tolist()])
        step = int(np.gcd(step, np.gcd.reduce(starts)) if len(starts) else step) or 1
        features = np.zeros(self.dim // step)
        add_absolute_features(self.packed, step, features)
        return features, float(self.sample_weight @ costs)

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return the weighted sum of features, sum_i omega_i F_i z_i.

        Parameters
        ----------
        z : ndarray of shape (n_all_parts,)
            Points of the polytopes, one after the other.

        Returns
        -------
        ndarray of shape (n_weights,)
            Sum of the features.
        """
        return self._summed(z, NO_POINTS)

    def _summed(self, z: Dual, y: Points, out: np.ndarray | None = None) -> np.ndarray:
        total = np.zeros(self.dim) if out is None else out
        total[:] = 0.0
        many = self.dim > FEW_WEIGHTS
        z, ranges = self._points(z), list(self.ranges(CHUNK if many else _SUMMED))

        def add(some: list[tuple[int, int]], own: np.ndarray) -> np.ndarray:
            workspace = self.workspace()
            for a, b in some:
                add_features(self.packed, workspace, a, b, z[self.parts(a, b)], y, own)
            return own

        if many:
            return add(ranges, total)
        # groups that do not depend on n_jobs, so that neither do the bits
        groups = [ranges[k::_GROUPS] for k in range(min(_GROUPS, len(ranges)))]
        for own in self.map_threads(lambda some: add(some, np.zeros(self.dim)), groups):
            total += own
        return total

    def _points(self, z: Dual) -> Dual:
        """Points of all samples, whose slices are fit for compiled code."""
        if not isinstance(z, SparsePoints):
            return self._all_parts(z)
        if not np.array_equal(z.part_ptr, self.part_ptr):
            raise ValueError("z is of samples of other sizes.")
        return z

    def ranges(self, most: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Cut the samples in ranges of few parts, so that no array of all parts need be made.

        Parameters
        ----------
        most : int
            Number of parts of a range, unless a sample has more.

        Yields
        ------
        tuple of int
            First sample of a range, and the one after its last.
        """
        first = 0
        while first < self.n:
            last = int(np.searchsorted(self.part_ptr, self.part_ptr[first] + most, side="right"))
            last = min(max(last - 1, first + 1), self.n)
            yield first, last
            first = last

    def _by_sample(self, values: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Sums over the parts of each sample; values: of the parts of a range of samples."""
        sums = np.empty(self.n)
        for a, b in self.ranges():
            sums[a:b] = np.add.reduceat(values(a, b), self.part_ptr[a:b] - self.part_ptr[a])
        return sums

    def weights(self, z: Dual, out: np.ndarray | None = None) -> np.ndarray:
        """Return the weights w(z) of a dual point.

        Parameters
        ----------
        z : ndarray of shape (n_all_parts,) or SparsePoints
            Points of the polytopes, one after the other.
        out : ndarray of shape (n_weights,), default=None
            Array that receives the weights; None makes a new one.

        Returns
        -------
        ndarray of shape (n_weights,)
            Weights.
        """
        found = self._summed(z, self.truths, out)
        if self.alpha > 0 and isinstance(self.domain, RealSpace):
            found /= -self.alpha
        else:
            found[:] = self.domain.argmin_linear(found, self.alpha)[0]
        return found

    def loss_gradient(self, z: Dual) -> np.ndarray:
        """Return g(z) = sum_i omega_i F_i (z_i - y_i).

        Parameters
        ----------
        z : ndarray of shape (n_all_parts,) or SparsePoints
            Points of the polytopes, one after the other.

        Returns
        -------
        ndarray of shape (n_weights,)
            Gradient of the losses.
        """
        return self._summed(z, self.truths)

    def loss_at(self, z: Dual) -> np.ndarray:
        """Return the loss c_i . (z_i - y_i) of each sample.

        Parameters
        ----------
        z : ndarray of shape (n_all_parts,) or SparsePoints
            Points of the polytopes, one after the other.

        Returns
        -------
        ndarray of shape (n_samples,)
            Losses.
        """
        z = self._points(z)

        def worth(first: int, last: int) -> np.ndarray:
            change = np.zeros(int(self.part_ptr[last] - self.part_ptr[first]))
            add_points(self.packed, self.truths, first, last, change)
            np.subtract(z[self.parts(first, last)], change, out=change)
            change *= self._allowed_costs_of(first, last)
            return change

        return self._by_sample(worth)

    def loss_of_change(self, change: np.ndarray) -> np.ndarray:
        """Return c_i . d_i for each sample.

        Parameters
        ----------
        change : ndarray of shape (n_all_parts,)
            Differences `d_i` of points of all samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Changes of the losses.
        """
        return self._by_sample(lambda a, b: self._allowed_costs_of(a, b) * change[self.parts(a, b)])

    def dual(
        self, z: Dual, w: np.ndarray | None = None, entropy: np.ndarray | None = None
    ) -> float:
        """Return the dual objective D(z).

        Parameters
        ----------
        z : ndarray of shape (n_all_parts,) or SparsePoints
            Points of the polytopes, one after the other.
        w : ndarray of shape (n_weights,), default=None
            The weights w(z) if they are known; used on R^d only.
        entropy : ndarray of shape (n_samples,), default=None
            Entropy of each sample's distribution; required for the likelihood, because expectations
            of tied parts do not determine it.

        Returns
        -------
        float
            Dual objective.
        """
        if (entropy is None) == (self.objective == "likelihood"):
            raise ValueError("give the entropy of each sample for the likelihood, and only for it.")
        worth = self.loss_at(z) if entropy is None else entropy
        loss = float(self.sample_weight @ worth)
        if w is not None and isinstance(self.domain, RealSpace):
            return loss - self.alpha / 2 * float(w @ w)
        return loss + self.domain.argmin_linear(self.loss_gradient(z), self.alpha)[1]

    def likelihood(self, w: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Return P(w), and D and the loss gradient g at the expectations under w.

        One pass of `marginals`. On R^d, `P(w) - D = |alpha w + g|^2 / (2 alpha)`.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        primal : float
            Objective P(w).
        dual : float
            D of the expectations.
        gradient : ndarray of shape (n_weights,)
            Gradient of P at w, without alpha w.
        """
        z = np.empty(int(self.part_ptr[-1]))
        hinges = self.apply("marginals", w, point=self.truths, out=z)
        loss_gradient = self.loss_gradient(z)
        return self.likelihood_of(w, float(self.sample_weight @ hinges), loss_gradient)

    def likelihood_of(
        self, w: np.ndarray, smooth: float, loss_gradient: np.ndarray
    ) -> tuple[float, float, np.ndarray]:
        """Return what `likelihood` does, from its sums over the samples.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        smooth : float
            P(w) without the penalty.
        loss_gradient : ndarray of shape (n_weights,)
            Loss gradient g at the expectations under w.

        Returns
        -------
        primal : float
            Objective P(w).
        dual : float
            D of the expectations.
        gradient : ndarray of shape (n_weights,)
            The loss gradient.
        """
        # entropy = log Z - theta . z, so that the sum of all is smooth - w . loss_gradient
        minimum = self.domain.argmin_linear(loss_gradient, self.alpha)[1]
        return (
            smooth + self.alpha / 2 * float(w @ w),
            minimum + smooth - float(w @ loss_gradient),
            loss_gradient,
        )

    def block_gaps(self, w: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gap max_s a_i . (s - z_i) of each sample.

        Their sum weighted by omega_i is the duality gap at w(z).

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        z : ndarray of shape (n_all_parts,)
            Points of the polytopes, one after the other.

        Returns
        -------
        ndarray of shape (n_samples,)
            Gaps.
        """
        return self.apply("maximize", w, point=z)


def check_objective(objective: str, structure: Structure) -> None:
    """Raise an error, with a remedy, if the structure does not support the objective.

    Parameters
    ----------
    objective : str
        Name of the objective.
    structure : Structure
        Structure of the outputs.
    """
    if objective not in ("margin", "likelihood", "slack"):
        raise ValueError(
            f'objective={objective!r} must be "margin" or "likelihood", or where outputs are few'
            ' "slack".'
        )
    oracle = structure.oracle()
    if objective == "likelihood" and not oracle.has_expectations:
        raise MissingAbilityError(
            f'objective="likelihood" needs expectations over all outputs (`marginals`), which'
            f" {type(structure).__name__} cannot compute. {oracle.hint_for('marginals')}, or use"
            ' objective="margin".'
        )


def _flat(points: Points, features: PackedFeatures) -> np.ndarray:
    out = np.zeros(int(features.part_ptr[-1]))
    out[np.repeat(features.part_ptr[:-1], np.diff(points.ptr)) + points.part] = points.value
    return out
