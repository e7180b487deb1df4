"""Segments of sequences, with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, LabelConjoined
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
    as_array,
    check_is_list,
    check_labels,
    check_rows,
    check_sample_weight,
    check_targets,
    learn_classes,
)


class SegmentSVM(StructuredSVM):
    """Structural SVM for segments of sequences: semi-Markov models with features of segments.

    A segment with label k scores its features times the weights of k, and each pair of neighbouring
    labels has a weight; the prediction is the best way to cut the sequence.

    A sample x is an array of shape (n, n_features), dense or CSR, the features of positions: a
    segment has their sum, those of its first position, and a feature of its length. Or it is one of
    shape (n, max_length, n_features), the features of the segments that begin at each position. A
    target y is a list of segments (begin, end, label), in order, from 0 to n. `score` is the F1
    score of segments, over all samples.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming-sum"
        Cost of an output: the number of segments that are wrong or missing, or their mean over all
        possible ones.
    max_length : int, default=8
        Positions of a segment at most.
    bias : bool, default=True
        Whether labels have a constant feature.
    transitions : bool, default=True
        Whether pairs of neighbouring labels have weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    """

    classes_: np.ndarray

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
        transitions: bool = True,
        n_jobs: NJobs = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        objective: Literal["margin", "likelihood"] = "margin",
    ):
        self._store_shared(locals())
        self.max_length = max_length
        self.bias = bias
        self.transitions = transitions

    def _make_structure(self) -> Structure:
        return Segments(self.max_length)

    def _make_features(self) -> FeatureMap:
        return LabelConjoined(self.bias, False, self.transitions)

    def _n_labels(self) -> int:
        return len(self.classes_)

    def _check_X(self, X: Any) -> tuple[Rows, None]:
        check_is_list(X)
        return check_rows([_segment_rows(i, x, self.max_length) for i, x in enumerate(X)]), None

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        return [(int(count) // self.max_length, len(self.classes_)) for count in rows.lengths]

    def _learn_labels(self, y: Any, rows: Any) -> list[np.ndarray]:
        check_targets(y, len(rows.lengths))
        labels = [[label for *_, label in _segments(i, own)] for i, own in enumerate(y)]
        if not all(labels):
            raise SampleError.of(labels.index([]), ": y has no segments.")
        self.classes_ = learn_classes(np.concatenate(check_labels(labels)))[0]
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

    def _output(self, z: np.ndarray, layout: Layout) -> list[tuple[int, int, Any]]:
        names = self.classes_.tolist()
        return [(a, b, names[k]) for a, b, k in self.structure_.decode(z, layout).tolist()]

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        check_targets(y, len(outputs))
        weight = check_sample_weight(sample_weight, len(outputs)) if outputs else np.empty(0)
        both, total = 0.0, 0.0
        for i, (truth, output) in enumerate(zip(y, outputs, strict=True)):
            a, b = set(_segments(i, truth)), set(output)
            both += weight[i] * len(a & b)
            total += weight[i] * (len(a) + len(b))
        return float(2 * both / total) if total else 1.0


def _segments(i: int, y: Any) -> list[tuple[Any, Any, Any]]:
    try:
        found = [(begin, end, label) for begin, end, label in y]
        set(found)  # all of them have a hash
    except (TypeError, ValueError):
        raise SampleError.of(i, ": y must be a list of segments (begin, end, label).") from None
    return [(a, b, k.item() if isinstance(k, np.generic) else k) for a, b, k in found]


def _segment_rows(i: int, x: Any, most: int) -> Any:
    """A feature row for each first position and length."""
    array = as_array(i, x)
    if array.ndim == 3:
        if array.shape[1] != most:
            raise SampleError.of(
                i,
                f": x has shape {array.shape}, expected features of segments of 1 to"
                f" max_length={most} positions, (n, {most}, n_features).",
            )
        return array.reshape(-1, array.shape[2])
    if array.ndim != 2:
        raise SampleError.of(i, f": x has shape {array.shape}, expected (n, n_features).")
    n = array.shape[0]
    begin, length = np.divmod(np.arange(n * most), most)
    inside = np.flatnonzero(begin + length < n)  # others are not segments, and have no features
    counts = length[inside] + 1
    rows = np.repeat(inside, counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    features = sparse.csr_array(array)

    def indicate(at: np.ndarray, columns: np.ndarray, size: int) -> sparse.csr_array:
        return sparse.csr_array((np.ones(len(at)), (at, columns)), shape=(n * most, size))

    blocks = [
        indicate(rows, begin[rows] + within, n) @ features,
        indicate(inside, begin[inside], n) @ features,
        indicate(inside, length[inside], most),
    ]
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))
