"""Whether probabilities are frequencies: of all labels given 0.8, are eight in ten right?

y_true is a list of samples, each an array of labels; probabilities has an array for each, with one
column a label, as `predict_marginals` returns them, or in the shape of the labels for the
probability of the second of two labels. One sample alone may be given without the list. Of
matchings, y_true are matrices of 0 and 1 in the shape of the probabilities, not lists of links.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from maxmargin.drawing.html_tables import table_html
from maxmargin.drawing.text_tables import score_lines
from maxmargin.exceptions import SampleError
from maxmargin.metrics.labels import in_order, safe_ratio
from maxmargin.optional import import_pandas

Strategy = Literal["uniform", "quantile"]


@dataclass(frozen=True)
class ReliabilityTable:
    """Confidence and accuracy by bin; ``print(table)``, `table.error`, ``table.to_frame()``.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Bin b has confidences above edges[b], up to edges[b + 1].
    confidence : ndarray of shape (n_bins,)
        Mean probability in each bin; NaN where the bin is empty.
    accuracy : ndarray of shape (n_bins,)
        Fraction of correct labels in each bin; NaN where the bin is empty.
    count : ndarray of shape (n_bins,)
        Number of variables in each bin.
    """

    edges: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: mean of ``|accuracy - confidence|`` over all variables."""
        return safe_ratio(float(self.count @ self._gaps()), float(self.count.sum()))

    @property
    def max_error(self) -> float:
        """Largest ``|accuracy - confidence|`` of a bin."""
        return float(self._gaps().max(initial=0.0))

    def _gaps(self) -> np.ndarray:
        return np.abs(np.nan_to_num(self.accuracy - self.confidence))

    def _rows(self) -> list[tuple[str, float, float, int]]:
        return [
            (f"{a:.3f} to {b:.3f}", float(c), float(d), int(n))
            for a, b, c, d, n in zip(
                self.edges, self.edges[1:], self.confidence, self.accuracy, self.count, strict=False
            )
            if n
        ]

    def __str__(self) -> str:
        title = f"calibration error {self.error:.4f} ({int(self.count.sum())} variables)"
        names = (" " * 14, "confidence", "accuracy", "  count")
        return "\n".join([title, *score_lines(names, self._rows())])

    def _repr_html_(self) -> str:
        """For notebooks: the same as a table."""
        return table_html(("", "confidence", "accuracy", "count"), self._rows(), str(self.error))

    def to_frame(self) -> Any:
        """Convert the table to a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per bin.
        """
        return import_pandas().DataFrame(
            {
                "above": self.edges[:-1],
                "up_to": self.edges[1:],
                "confidence": self.confidence,
                "accuracy": self.accuracy,
                "count": self.count,
            }
        )


def reliability(
    y_true: Iterable[Any],
    probabilities: Iterable[Any],
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    *,
    labels: Sequence[Hashable] | None = None,
    label: Hashable = None,
) -> ReliabilityTable:
    """Compute how often the most probable label of a variable is correct, by its probability.

    Parameters
    ----------
    y_true : iterable of array_like
        True labels of each sample, or of a single sample; for matchings, matrices of 0 and 1.
    probabilities : iterable of array_like
        Probabilities of each sample, one column per label, as `predict_marginals` returns them; or,
        in the shape of the labels, those of the second of two labels.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width from 0 to 1, or of about equal counts.
    labels : sequence of hashable or None, default=None
        Labels of the columns, such as ``model.classes_``; None means those of y_true, sorted.
    label : hashable or None, default=None
        Use the probability of this label at every variable, instead of that of the most probable
        label; this is more informative for rare labels, such as links.

    Returns
    -------
    ReliabilityTable
        Confidence, accuracy and count of each bin.
    """
    table = _columns(y_true, probabilities, labels)
    if label is None:
        confidence = table.p.max(axis=1)
        right = table.p.argmax(axis=1) == table.truth
    else:
        if label not in table.labels:
            raise ValueError(f"label={label!r} is not among the labels {table.labels}.")
        k = table.labels.index(label)
        confidence, right = table.p[:, k], table.truth == k
    return _binned(confidence, right, n_bins, strategy)


def calibration_error(
    y_true: Iterable[Any],
    probabilities: Iterable[Any],
    n_bins: int = 15,
    strategy: Strategy = "uniform",
    *,
    labels: Sequence[Hashable] | None = None,
    classwise: bool = False,
) -> float:
    """Compute the expected calibration error.

    It is the mean over variables of ``|accuracy - confidence|`` of their bin, and 0 if
    probabilities are frequencies. It does not measure how informative they are; `log_loss` does.

    Parameters
    ----------
    y_true : iterable of array_like
        True labels of each sample, or of a single sample; for matchings, matrices of 0 and 1.
    probabilities : iterable of array_like
        Probabilities of each sample, one column per label, as `predict_marginals` returns them; or,
        in the shape of the labels, those of the second of two labels.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width from 0 to 1, or of about equal counts.
    labels : sequence of hashable or None, default=None
        Labels of the columns, such as ``model.classes_``; None means those of y_true, sorted.
    classwise : bool, default=False
        Return the mean over labels of the error of each label's own probability.

    Returns
    -------
    float
        Error from 0 to 1.
    """
    table = _columns(y_true, probabilities, labels)
    if not classwise:
        right = table.p.argmax(axis=1) == table.truth
        return _binned(table.p.max(axis=1), right, n_bins, strategy).error
    errors = [
        _binned(table.p[:, k], table.truth == k, n_bins, strategy).error
        for k in range(table.p.shape[1])
    ]
    return float(np.mean(errors))


def log_loss(
    y_true: Iterable[Any],
    probabilities: Iterable[Any],
    *,
    labels: Sequence[Hashable] | None = None,
    eps: float = 1e-12,
) -> float:
    """Compute the mean over all variables of -log P(true label).

    Parameters
    ----------
    y_true : iterable of array_like
        True labels of each sample, or of a single sample; for matchings, matrices of 0 and 1.
    probabilities : iterable of array_like
        Probabilities of each sample, one column per label, as `predict_marginals` returns them; or,
        in the shape of the labels, those of the second of two labels.
    labels : sequence of hashable or None, default=None
        Labels of the columns, such as ``model.classes_``; None means those of y_true, sorted.
    eps : float, default=1e-12
        Smaller probabilities are replaced by this one.

    Returns
    -------
    float
        Mean negative log-likelihood.
    """
    table = _columns(y_true, probabilities, labels)
    return float(-np.mean(np.log(np.maximum(table.true, eps))))


def brier_score(
    y_true: Iterable[Any], probabilities: Iterable[Any], *, labels: Sequence[Hashable] | None = None
) -> float:
    """Compute the Brier score, the mean over variables of sum_k (P(k) - [k is true])^2.

    Parameters
    ----------
    y_true : iterable of array_like
        True labels of each sample, or of a single sample; for matchings, matrices of 0 and 1.
    probabilities : iterable of array_like
        Probabilities of each sample, one column per label, as `predict_marginals` returns them; or,
        in the shape of the labels, those of the second of two labels.
    labels : sequence of hashable or None, default=None
        Labels of the columns, such as ``model.classes_``; None means those of y_true, sorted.

    Returns
    -------
    float
        Score from 0 (best) to 2.
    """
    table = _columns(y_true, probabilities, labels)
    # of the true label, (1 - P)^2 = P^2 + 1 - 2 P
    each = (table.p**2).sum(axis=1) + 1.0 - 2.0 * table.true
    return float(each.mean())


class _Columns(NamedTuple):
    """All variables in one table: P (m, K), the column of the true label (m,), its labels."""

    p: np.ndarray
    truth: np.ndarray
    labels: list[Hashable]

    @property
    def true(self) -> np.ndarray:
        return self.p[np.arange(len(self.p)), self.truth]


def _columns(y_true: Any, probabilities: Any, labels: Any) -> _Columns:
    y, p = _as_lists(y_true, probabilities)
    if not any(own.size for own in y):
        raise ValueError("y_true has no labels, of which there is nothing to measure.")
    tables = [_table(i, a, b) for i, (a, b) in enumerate(zip(y, p, strict=True))]
    width = tables[0].shape[1]
    for i, own in enumerate(tables):
        if own.shape[1] != width:
            raise SampleError.of(i, f": {own.shape[1]} columns, sample 0 has {width}.")
    names = _names(y, labels, width)
    number = {name: k for k, name in enumerate(names)}
    truth = []
    for i, own in enumerate(y):
        found = [number.get(name, -1) for name in own.ravel().tolist()]
        if -1 in found:
            odd = own.ravel().tolist()[found.index(-1)]
            raise SampleError.of(i, f": y_true has {odd!r}, which is not among the labels.")
        truth.append(np.array(found, dtype=np.int64))
    return _Columns(np.concatenate(tables), np.concatenate(truth), names)


def _as_lists(y_true: Any, probabilities: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    y_true, probabilities = list(y_true), list(probabilities)
    if len(y_true) != len(probabilities):
        raise ValueError(
            f"y_true has {len(y_true)} samples, probabilities has {len(probabilities)}."
        )
    if y_true and np.ndim(y_true[0]) == 0:  # one sample alone
        y_true, probabilities = [y_true], [probabilities]
    numbers = [_numbers(i, own) for i, own in enumerate(probabilities)]
    return [np.asarray(own) for own in y_true], numbers


def _table(i: int, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Probabilities of sample i, one row per variable, checked."""
    if p.shape == y.shape:
        p = np.stack([1.0 - p, p], axis=-1)
    if p.ndim == 0 or p.shape[:-1] != y.shape:
        raise SampleError.of(
            i,
            f": probabilities have shape {p.shape}, expected {(*y.shape, 'labels')}, or"
            f" {y.shape} for those of the second label.{_of_links(y, p)}",
        )
    if not ((p >= -1e-9) & (p <= 1 + 1e-9)).all():
        raise SampleError.of(
            i, ": probabilities must be from 0 to 1; scores are not probabilities."
        )
    if not (np.abs(p.sum(axis=-1) - 1.0) <= 1e-6).all():
        raise SampleError.of(i, ": the probabilities of a variable must sum to 1.")
    return p.reshape(y.size, p.shape[-1])


def _of_links(y: np.ndarray, p: np.ndarray) -> str:
    links = y.ndim == 2 and y.shape[1] == 2 and y.dtype.kind in "iu" and p.ndim == 2
    return " If y_true are links, give matrices of 0 and 1 in their place." if links else ""


def _numbers(i: int, p: Any) -> np.ndarray:
    try:
        return np.asarray(p, dtype=float)
    except (TypeError, ValueError) as error:
        raise SampleError.of(
            i,
            f": probabilities are not arrays of numbers ({error}); are the arguments"
            " swapped? y_true comes first.",
        ) from None


def _names(y: list[np.ndarray], labels: Any, width: int) -> list[Hashable]:
    if labels is not None:
        names = np.asarray(labels).tolist()
    else:
        names = in_order({name for own in y for name in np.unique(own).tolist()})
        if width == 2 and set(names) <= {0, 1}:
            names = [0, 1]
    if len(names) != width:
        told = "labels are given" if labels is not None else "labels are in y_true"
        raise ValueError(
            f"{len(names)} {told}, but the probabilities have {width} columns. Give"
            " labels=model.classes_."
        )
    return names


def _binned(
    confidence: np.ndarray, right: np.ndarray, n_bins: int, strategy: str
) -> ReliabilityTable:
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r} must be an integer, 1 or more.")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f'strategy={strategy!r} must be "uniform" or "quantile".')
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile" and len(confidence):
        inner = np.unique(np.quantile(confidence, edges[1:-1]))
        edges = np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])
    place = np.searchsorted(edges[1:-1], confidence, side="left")
    count = np.bincount(place, minlength=len(edges) - 1)
    with np.errstate(invalid="ignore"):
        return ReliabilityTable(
            edges,
            np.bincount(place, confidence, len(count)) / count,
            np.bincount(place, right, len(count)) / count,
            count,
        )
