"""What the tasks whose models have exact probabilities do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.estimators.probabilities import fits_probabilities
from maxmargin.metrics import log_loss, reliability
from maxmargin.tasks.command import Data, Option
from maxmargin.tasks.documents import Evaluation, Metric

PROBABILITIES = Option(
    "probabilities",
    bool,
    False,
    "predict: also write how probable the model thinks each label; margins must be calibrated for"
    " these to be frequencies, see --calibrate of train.",
    of_data=True,
    kept=False,
)
CALIBRATE = Option(
    "calibrate",
    Path,
    (),
    "Files as for --data, but not among those: held-out samples that say how sure the model may be"
    " of its labels. Only probabilities depend on it.",
    many=True,
)
BINS = 15


def of_chosen(model: Any, X: Any, labels: Sequence[Any]) -> list[np.ndarray]:
    """The probability of each label that was chosen."""
    number = {label: k for k, label in enumerate(model.classes_.tolist())}
    found = []
    for own, p in zip(labels, model.predict_marginals(X), strict=True):
        columns = [number[label] for label in np.asarray(own).tolist()]
        found.append(p[np.arange(len(p)), columns])
    return found


def with_reliability(evaluation: Evaluation, model: Any, data: Data) -> Evaluation:
    """Say how true the probabilities of labels are, if the model claims to have such.

    Parameters
    ----------
    evaluation : Evaluation
        Changed in place.
    model : estimator
        Fitted, with `predict_marginals`.
    data : Data
        Labelled samples.

    Returns
    -------
    Evaluation
        The same object.
    """
    truth = [np.asarray(own) for own in data.outputs or ()]
    if not fits_probabilities(model) or not any(own.size for own in truth):
        return evaluation
    labels, widen = _columns(model.classes_, truth)
    p = [widen(own) for own in model.predict_marginals(data.inputs)]
    return add_reliability(evaluation, truth, p, labels)


def add_reliability(
    evaluation: Evaluation,
    truth: Sequence[np.ndarray],
    probabilities: Sequence[np.ndarray],
    labels: Sequence[Any],
) -> Evaluation:
    """Add calibration error, log loss and the bins of a reliability diagram.

    Parameters
    ----------
    evaluation : Evaluation
        Changed in place.
    truth : sequence of numpy.ndarray
        The true labels of each sample.
    probabilities : sequence of numpy.ndarray
        For each sample, (its labels, len(labels)).
    labels : sequence
        What the columns are.

    Returns
    -------
    Evaluation
        The same object.
    """
    p, labels = list(probabilities), list(labels)
    table, loss = reliability(truth, p, BINS, labels=labels), log_loss(truth, p, labels=labels)
    evaluation["metrics"] += [
        _metric("calibration error", table.error, "mean of |confidence - accuracy|, by confidence"),
        _metric("log loss", loss, "mean of -log P(true label)", False),
    ]
    rows = zip(table.confidence, table.accuracy, table.count, strict=True)
    evaluation["reliability"] = [[float(c), float(a), int(n)] for c, a, n in rows if n]
    return evaluation


def _columns(
    classes: np.ndarray, truth: Sequence[np.ndarray]
) -> tuple[list[Any], Callable[[np.ndarray], np.ndarray]]:
    """Labels of the model, then those it never saw, which it gives no probability."""
    unseen = np.setdiff1d(np.concatenate([classes[:0], *truth]), classes).tolist()

    def widen(p: np.ndarray) -> np.ndarray:
        return np.pad(p, ((0, 0), (0, len(unseen))))

    return [*classes.tolist(), *unseen], widen


def _metric(name: str, value: float, text: str, percent: bool = True) -> Metric:
    return Metric(name=name, value=value, better="lower", percent=percent, help=text)
