"""What a loss is: costs c of parts, with c . z + d zero at the truth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.structures.base import Layout, Structure
from maxmargin.validation.learned import Checked


class Loss(Checked, BaseEstimator):
    """loss(y, z) = c . z + d, linear in the parts; d = -c . y, so that the truth costs nothing."""

    @abstractmethod
    def costs(
        self, truth: np.ndarray, layout: Layout, structure: Structure, node_weight: Any = None
    ) -> np.ndarray:
        """The costs c of a sample whose truth is the vertex `truth`."""

    def bind(self, classes: np.ndarray) -> Loss:
        """The loss with everything that speaks of the user's labels turned into label numbers."""
        return self


class PartCosts(Loss):
    """Costs of the user's own: `function(truth, layout)` returns c, one number per part.

    truth is the vertex of the true output. loss(z) = c . z - c . truth must not be negative for
    any output, or training would ask for margins that the truth itself violates.
    """

    def __init__(self, function: Callable[[np.ndarray, Layout], np.ndarray]):
        self.function = function

    def costs(
        self, truth: np.ndarray, layout: Layout, structure: Structure, node_weight: Any = None
    ) -> np.ndarray:
        costs = np.asarray(self.function(truth, layout), dtype=np.float64)
        if costs.shape != truth.shape:
            raise ValueError(f"part costs have shape {costs.shape}, expected {truth.shape}.")
        if not np.isfinite(costs).all():
            raise ValueError("part costs must be finite.")
        return costs


def resolve_loss(loss: str | Loss) -> Loss:
    """A loss object from its short name."""
    from maxmargin.losses.hamming import Hamming

    if isinstance(loss, Loss):
        return loss
    names = {"hamming": Hamming(), "hamming-sum": Hamming(normalize=False)}
    if not isinstance(loss, str) or loss not in names:
        raise ValueError(f"loss={loss!r} is unknown; use one of {sorted(names)} or a Loss object.")
    return names[loss]
