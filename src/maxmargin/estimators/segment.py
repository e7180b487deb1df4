"""Segments of sequences, with labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.partial import PartialTargets, find_runs
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, SegmentFeatures
from maxmargin.features.segments import SegmentRows
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import Segments, Structure
from maxmargin.structures.base import Layout
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
)
from maxmargin.validation.samples import (
    Rows,
    as_dense,
    check_labels,
    check_sample_weight,
    check_targets,
    is_list,
    is_number,
    learn_classes,
)


class SegmentSVM(PartialTargets):
    """Structural SVM for segments of sequences: semi-Markov models with features of segments.

    A segment with label k scores its features times the weights of k, its positions score theirs
    times weights of k where it begins and others where it goes on, and each pair of neighbouring
    labels has a weight; the prediction is the best way to cut the sequence.

    A sample x is an array of shape (n, n_features), dense or CSR, the features of positions, or one
    of shape (n, max_length, n_features), those of the segments that begin at each position, or a
    tuple of both. A target y is a list of segments (begin, end, label), in order, from 0 to n.
    `score` is the F1 score of segments, over all samples. A segment (begin, end, None), of any
    length, marks positions whose segmentation is unknown; see `ChainSVM`. `predict_marginals`
    gives for each position the probabilities of labels whose segment begins there, then of those
    whose segment goes on there.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming-sum"
        Cost of an output: the number of positions with another label, or where a segment begins in
        only one of truth and output; or their fraction.
    max_length : int, default=8
        Positions of a segment at most.
    bias : bool, default=True
        Whether labels have a weight of each length of their segments.
    ends : bool, default=True
        Whether labels have weights at the first and at the last position.
    transitions : bool, default=True
        Whether pairs of neighbouring labels have weights.
    single : collection of labels, default=()
        Labels whose segments have one position.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    n_features_in_ : int
        Rows of weights: two for each feature of positions, one for each feature of segments.
    n_position_features_ : int
        Number of features of positions.
    """

    classes_: np.ndarray
    n_position_features_: CountOrZero

    def __init__(
        self,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming-sum",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        max_length: Count = 8,
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        ends: bool = True,
        transitions: bool = True,
        single: Collection[Hashable] = (),
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        objective: Literal["margin", "likelihood"] = "margin",
    ):
        self._store_shared(locals())
        self.max_length = max_length
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.single = single

    def _make_structure(self) -> Structure:
        return Segments(self.max_length, positions=True)  # labels are known later

    def _make_features(self) -> FeatureMap:
        return SegmentFeatures(self.max_length, self.bias, self.ends, self.transitions)

    def _n_labels(self) -> int:
        return len(self.classes_)

    def _check_X(self, X: Any) -> tuple[Any, None]:
        return self.feature_map_.check(X), None

    def _learn_width(self, rows: Any) -> None:
        super()._learn_width(rows)
        self.n_position_features_ = rows.positions.n_columns

    def _check_width(self, rows: Any) -> None:
        n_positions = self.n_position_features_
        for what, found, expected in (
            ("positions", rows.positions.n_columns, n_positions),
            ("segments", rows.segments.n_columns, self.n_features_in_ - 2 * n_positions),
        ):
            if found != expected:
                raise ValueError(
                    f"X has {found} features of {what}, but SegmentSVM is expecting {expected}"
                    f" features of {what} as input: those it was fitted on."
                )

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        return [(int(count), self._n_labels()) for count in rows.lengths]

    def _single(self, which: np.ndarray) -> None:
        """Let the structure know which labels have segments of one position."""
        if which.any():
            self.structure_ = Segments(self.max_length, positions=True, single=which)

    def _learn_labels(self, y: Any, rows: Any) -> list[np.ndarray]:
        check_targets(y, len(rows.lengths))
        labels = [[label for *_, label in _segments(i, own)] for i, own in enumerate(y)]
        if not all(labels):
            raise SampleError.of(labels.index([]), ": y has no segments.")
        self.classes_ = learn_classes(np.concatenate(check_labels(labels)))[0]
        known = self.classes_.tolist()
        if any(label not in known for label in self.single):
            raise ValueError(f"single={self.single!r} has labels that y does not have.")
        self._single(np.array([label in self.single for label in known]))
        return self._known_targets(y, rows)

    def _known_targets(self, y: Any, rows: Any) -> list[np.ndarray]:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = []
        for i, own in enumerate(y):
            segments = _segments(i, own)
            for _, _, label in segments:
                if label not in number:
                    raise SampleError.of(
                        i, f": y has the label {label!r}, which is not one of those learned."
                    )
            rows_of = [(a, b, number[label]) for a, b, label in segments]
            found.append(np.array(rows_of).reshape(-1, 3))
        return found

    @property
    def transition_coef_(self) -> np.ndarray | None:
        """Weights of neighbouring labels, (n_labels, n_labels); the row is the left label."""
        check_is_fitted(self, "coef_")
        labels = len(self.classes_)
        table = as_dense(self.coef_)[-labels * labels :].reshape(labels, labels)
        return table if self.transitions else None

    # -- stretches that are unknown ----------------------------------------------------------------
    def _find_known(self, y: Any) -> list[np.ndarray] | None:
        if not is_list(y):
            return None
        targets = [_segments(i, own) for i, own in enumerate(y)]
        if all(label is not None for own in targets for *_, label in own):
            return None
        for i, own in enumerate(targets):
            ends = [end for _, end, _ in own]
            if [begin for begin, *_ in own] != [0, *ends[:-1]] or not _rise(ends):
                raise SampleError.of(i, ": y: segments must follow each other from 0 to the end.")
        return [
            np.repeat([label is not None for *_, label in own], [b - a for a, b, _ in own])
            for own in targets
        ]

    def _cut(self, X: Any, y: Any, known: list[np.ndarray]) -> tuple[Any, Any, np.ndarray]:
        rows = self._make_features().check(X)
        for i, own in enumerate(known):
            if len(own) != rows.lengths[i]:
                raise SampleError.of(
                    i, f": y ends at {len(own)}, but x has {rows.lengths[i]} rows."
                )
        lengths, sample = find_runs(known)
        at = np.flatnonzero(np.concatenate(known))
        below = np.add.outer(at * self.max_length, np.arange(self.max_length)).ravel()
        pieces = SegmentRows(
            Rows(rows.positions.matrix[at], lengths),
            Rows(rows.segments.matrix[below], lengths * self.max_length),
        )
        targets: list[list[Any]] = []
        for i, own in enumerate(y):
            shift, last = 0, None
            for begin, end, label in _segments(i, own):
                if label is not None:
                    if last != begin:
                        targets.append([])
                        shift = begin
                    targets[-1].append((begin - shift, end - shift, label))
                    last = end
        return pieces, targets, sample

    def _allowed(self, y: Any, known: np.ndarray) -> np.ndarray:
        labels = self.classes_.tolist()
        found = np.ones((len(known), 2, len(labels)), dtype=bool)
        for begin, end, label in _segments(0, y):
            if label is not None:
                found[begin:end] = False
                found[begin, 0, labels.index(label)] = True
                found[begin + 1 : end, 1, labels.index(label)] = True
                found[end : end + 1, 1] = False  # another one begins there
        return found

    def _output(self, z: np.ndarray, layout: Layout) -> list[tuple[int, int, Any]]:
        names = self.classes_.tolist()
        return [(a, b, names[k]) for a, b, k in self.structure_.decode(z, layout).tolist()]

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        check_targets(y, len(outputs))
        weight = check_sample_weight(sample_weight, len(outputs)) if outputs else np.empty(0)
        both, total, n_unknown = 0.0, 0.0, 0
        for i, (truth, output) in enumerate(zip(y, outputs, strict=True)):
            a, b = set(_segments(i, truth)), set(output)
            unknown = [own for own in a if own[2] is None]
            if unknown:  # nor can predictions be scored that reach into them
                n_unknown += 1
                a -= set(unknown)
                b = {own for own in b if not any(own[0] < v and u < own[1] for u, v, _ in unknown)}
            both += weight[i] * len(a & b)
            total += weight[i] * (len(a) + len(b))
        if n_unknown and total == 0:
            raise ValueError("y has no known segments: there is nothing to score.")
        return float(2 * both / total) if total else 1.0


def _rise(ends: list[Any]) -> bool:
    whole = all(is_number(end, whole=True) for end in ends)
    return whole and all(a < b for a, b in pairwise([0, *ends]))


def _segments(i: int, y: Any) -> list[tuple[Any, Any, Any]]:
    try:
        found = [(begin, end, label) for begin, end, label in y]
        set(found)  # all of them have a hash
    except (TypeError, ValueError):
        raise SampleError.of(i, ": y must be a list of segments (begin, end, label).") from None
    text = next((str(own) for a, b, _ in found for own in (a, b) if isinstance(own, str)), None)
    if text is not None:
        raise SampleError.of(
            i,
            f": y has a segment that begins or ends at the text {text!r}, expected an integer;"
            " numpy makes texts of numbers beside labels: give a list of tuples.",
        )
    return [(a, b, k.item() if isinstance(k, np.generic) else k) for a, b, k in found]
