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
    """Loss that is linear in the parts.

    loss(y, z) = c . z + d with d = -c . y, so that the true output costs nothing.
    """

    @abstractmethod
    def costs(
        self, truth: np.ndarray, layout: Layout, structure: Structure, node_weight: Any = None
    ) -> np.ndarray:
        """Return the costs c of the parts of a sample.

        Parameters
        ----------
        truth : ndarray of shape (n_parts,)
            Vertex of the true output.
        layout : Layout
            Layout of the sample's output.
        structure : Structure
            Structure of the output.
        node_weight : array_like of shape (n_variables,), default=None
            Weights of the variables; None means 1 each.

        Returns
        -------
        ndarray of shape (n_parts,)
            Costs of the parts.
        """

    def bind(self, classes: np.ndarray) -> Loss:
        """Return the loss with the user's labels replaced by label numbers.

        Parameters
        ----------
        classes : ndarray of shape (n_labels,)
            Labels.

        Returns
        -------
        Loss
            A loss that does not depend on the labels' names.
        """
        return self


class PartCosts(Loss):
    """Loss with user-defined costs of the parts.

    loss(z) = c . z - c . truth must not be negative for any output, or training would require
    margins that the true output itself violates.

    Parameters
    ----------
    function : callable or None, default=None
        `function(truth, layout)` returns the costs c, one number per part; truth is the vertex of
        the true output. None: each sample has costs of its own, given to `fit` beside y as
        `node_weight`, one array per sample.
    """

    def __init__(self, function: Callable[[np.ndarray, Layout], np.ndarray] | None = None):
        self.function = function

    def costs(
        self, truth: np.ndarray, layout: Layout, structure: Structure, node_weight: Any = None
    ) -> np.ndarray:
        if self.function is None and node_weight is None:
            raise ValueError("function=None takes costs from fit(X, y, node_weight=costs).")
        found = node_weight if self.function is None else self.function(truth, layout)
        costs = np.asarray(found, dtype=np.float64)
        if costs.shape != truth.shape:
            raise ValueError(f"part costs have shape {costs.shape}, expected {truth.shape}.")
        if not np.isfinite(costs).all():
            raise ValueError("part costs must be finite.")
        return costs
