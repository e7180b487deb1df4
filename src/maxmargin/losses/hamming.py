"""Hamming losses: what share, or how many, of the variables are wrong."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from maxmargin.losses.base import Loss
from maxmargin.structures.base import Layout, Structure
from maxmargin.validation.options import NonNegative, check_options

ClassWeight = Annotated[
    Mapping[Any, NonNegative] | Sequence[NonNegative] | np.ndarray | None,
    "Give {label: weight}, or an array of one weight for each label.",
]


class Hamming(Loss):
    """Hamming loss `sum_v weight_v [z_v != y_v]`, over the number of variables if `normalize`.

    Variables with several labels cost their weight when the label is wrong. Variables that are 0/1
    parts cost `false_positive` when wrongly 1 and `false_negative` when wrongly 0.

    Parameters
    ----------
    normalize : bool, default=True
        Whether to divide by the number of variables of the sample (the mean instead of the count).
    class_weight : dict or array_like, default=None
        Weights by the *true* label of the variable: {label: weight}, 1 for labels not named, or an
        array with one weight for each label number; for 0/1 parts, for the values 0 and 1. Where
        outputs have no labels (matchings), only an array applies.
    false_positive, false_negative : float, default=1.0
        Costs of wrong 0/1 parts.
    """

    def __init__(
        self,
        normalize: bool = True,
        class_weight: ClassWeight = None,
        false_positive: NonNegative = 1.0,
        false_negative: NonNegative = 1.0,
    ):
        self.normalize = normalize
        self.class_weight = class_weight
        self.false_positive = false_positive
        self.false_negative = false_negative

    def bind(self, classes: np.ndarray) -> Hamming:
        check_options(self)
        if not isinstance(self.class_weight, Mapping):
            return self
        self._warn_of_unknown(classes.tolist())
        weights = np.array([float(self.class_weight.get(label, 1.0)) for label in classes.tolist()])
        return Hamming(self.normalize, weights, self.false_positive, self.false_negative)

    def _warn_of_unknown(self, known: list[Any]) -> None:
        """Of a key that is not a label: a slip, or a fold that lacks the label, hence no error."""
        assert isinstance(self.class_weight, Mapping)
        unknown = [key for key in self.class_weight if key not in known]
        if known and unknown:
            warnings.warn(
                f"class_weight names {unknown}, which are not labels here; the labels are {known}.",
                UserWarning,
                stacklevel=3,
            )

    def costs(
        self, truth: np.ndarray, layout: Layout, structure: Structure, node_weight: Any = None
    ) -> np.ndarray:
        count, labels = structure.variables(layout)
        weight = np.ones(count)
        if node_weight is not None:
            weight = _weights("node_weight", node_weight, count)
        costs = np.zeros(len(truth))
        on = truth[: count * labels].reshape(count, labels)
        if labels == 1:
            _weights("prices", (self.false_positive, self.false_negative), 2)
            price = self.false_positive - (self.false_positive + self.false_negative) * on
            if self.class_weight is not None and len(self.class_weight):
                weight = weight * self._class_weight(2)[(on[:, 0] > 0.5).astype(np.int64)]
        else:
            price = 1.0 - on
            if self.class_weight is not None:
                weight = weight * (on @ self._class_weight(labels))
        scale = 1.0 / count if self.normalize else 1.0
        costs[: count * labels] = (price * (weight * scale)[:, None]).ravel()
        return costs

    def _class_weight(self, labels: int) -> np.ndarray:
        if isinstance(self.class_weight, Mapping):
            raise ValueError("class_weight names labels; call bind(classes) before costs.")
        return _weights("class_weight", self.class_weight, labels)


def _weights(name: str, values: Any, count: int) -> np.ndarray:
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: not an array of numbers ({error}).") from None
    if weights.shape != (count,):
        raise ValueError(f"{name} has shape {weights.shape}, expected ({count},).")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} must be finite and not negative.")
    return weights
