"""Losses F(theta) - theta . y of part scores, whose gradients are predictions minus truths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from maxmargin.losses import Loss, resolve_loss
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.torch.batches import Batch, as_batch, as_flat, call_oracles, torch, value_of


class StructuredLoss(torch.nn.Module, ABC):
    """What all losses share: part scores and targets in, a number out.

    Parameters
    ----------
    structure : Structure
        Possible outputs.
    reduction : {"mean", "sum", "none"}, default="mean"
        What is made of the losses of a batch.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.
    """

    def __init__(
        self,
        structure: Structure,
        reduction: Literal["mean", "sum", "none"] = "mean",
        n_jobs: int | None = None,
    ):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f'reduction={reduction!r} must be "mean", "sum" or "none".')
        self.structure, self.reduction, self.n_jobs = structure, reduction, n_jobs

    def forward(self, scores: Any, targets: Any, layouts: Sequence[Layout] | None = None) -> Any:
        """Compute the loss.

        Parameters
        ----------
        scores : Tensor of shape (n, n_parts) or list of Tensor
            Part scores.
        targets : Tensor of shape (n, n_parts) or list
            True outputs, vectors of parts.
        layouts : sequence of Layout or None, default=None
            Layouts; None where the numbers of parts tell them.

        Returns
        -------
        Tensor
            A scalar, or one number per instance if ``reduction="none"``.
        """
        batch = as_batch(self.structure, scores, layouts)
        return self._reduce(self._losses(batch, as_flat(batch, targets, "targets")))

    @abstractmethod
    def _losses(self, batch: Batch, truth: Any) -> Any:
        """Compute the loss of each instance."""

    def _reduce(self, losses: Any) -> Any:
        return losses if self.reduction == "none" else getattr(losses, self.reduction)()

    def _value(self, batch: Batch, flat: Any, ability: str) -> Any:
        return value_of(self.structure, batch, flat, ability, self.n_jobs)


class StructuredHinge(StructuredLoss):
    """Structured hinge, `max_z [theta . (z - y) + loss(z)]`.

    Parameters
    ----------
    structure : Structure
        Possible outputs.
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming"
        Loss of an output.
    reduction : {"mean", "sum", "none"}, default="mean"
        What is made of the losses of a batch.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.
    """

    def __init__(
        self,
        structure: Structure,
        loss: str | Loss = "hamming",
        reduction: Literal["mean", "sum", "none"] = "mean",
        n_jobs: int | None = None,
    ):
        super().__init__(structure, reduction, n_jobs)
        self.loss = resolve_loss(loss)

    def _losses(self, batch: Batch, truth: Any) -> Any:
        rows = zip(batch.split(truth.detach().cpu()), batch.layouts, strict=True)
        costs = [self.loss.costs(y.numpy().astype(float), s, self.structure) for y, s in rows]
        augmented = batch.flat + torch.as_tensor(np.concatenate(costs)).to(batch.flat)
        return self._value(batch, augmented, "maximize") - batch.sums(augmented * truth)


class Likelihood(StructuredLoss):
    """Negative log-likelihood `log sum_z exp(theta . z) - theta . y` of a random field.

    The structure must have exact `marginals`. Parameters are those of `StructuredLoss`.
    """

    def _losses(self, batch: Batch, truth: Any) -> Any:
        if not self.structure.oracle().has_expectations:
            kind = type(self.structure).__name__
            raise ValueError(f"{kind} has no exact marginals; use StructuredHinge or SparseMAP.")
        return self._value(batch, batch.flat, "marginals") - batch.sums(batch.flat * truth)


class SparseMAP(StructuredLoss):
    """SparseMAP loss, `max_z [theta . z - |z|^2 / 2] - theta . y + |y|^2 / 2` over the hull.

    Its prediction is the projection of theta, a mixture of few outputs. Parameters are those of
    `StructuredLoss`.
    """

    def _losses(self, batch: Batch, truth: Any) -> Any:
        value = self._value(batch, batch.flat, "project")
        return value + batch.sums(truth * truth / 2 - batch.flat * truth)


class PerturbedFenchelYoung(StructuredLoss):
    """Fenchel-Young loss of perturbed maxima, `E max_z [(theta + sigma noise) . z] - theta . y`.

    Parameters
    ----------
    structure : Structure
        Possible outputs.
    n_samples : int, default=10
        Draws of normal noise.
    sigma : float, default=1.0
        Their size.
    reduction : {"mean", "sum", "none"}, default="mean"
        What is made of the losses of a batch.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.
    random_state : int or None, default=None
        Seed of each call; None means noise that differs from call to call.
    """

    def __init__(
        self,
        structure: Structure,
        n_samples: int = 10,
        sigma: float = 1.0,
        reduction: Literal["mean", "sum", "none"] = "mean",
        n_jobs: int | None = None,
        random_state: int | None = None,
    ):
        super().__init__(structure, reduction, n_jobs)
        self.n_samples, self.sigma, self.random_state = n_samples, sigma, random_state

    def _losses(self, batch: Batch, truth: Any) -> Any:
        generator = None
        if self.random_state is not None:
            generator = torch.Generator().manual_seed(self.random_state)
        count = self.n_samples
        noise = torch.randn(count * len(batch.flat), generator=generator).to(batch.flat)
        wide = Batch(batch.flat.repeat(count), batch.layouts * count, batch.sizes * count)
        values = self._value(wide, wide.flat + self.sigma * noise, "maximize")
        mean = values.reshape(count, -1).mean(dim=0)
        return mean - batch.sums(batch.flat * truth)


class SPOPlus(StructuredLoss):
    """SPO+ loss of predicted costs, `max_z [(c - 2 c_hat) . (z - z*)]`, a bound on the regret.

    Called with predicted costs in the place of scores, and true costs in that of targets.

    Parameters
    ----------
    structure : Structure
        Possible decisions.
    sense : {"min", "max"}, default="min"
        Whether costs are minimised or values maximised.
    reduction : {"mean", "sum", "none"}, default="mean"
        What is made of the losses of a batch.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.
    """

    def __init__(
        self,
        structure: Structure,
        sense: Literal["min", "max"] = "min",
        reduction: Literal["mean", "sum", "none"] = "mean",
        n_jobs: int | None = None,
    ):
        super().__init__(structure, reduction, n_jobs)
        if sense not in ("min", "max"):
            raise ValueError(f'sense={sense!r} must be "min" or "max".')
        self.sense = sense

    def _losses(self, batch: Batch, truth: Any) -> Any:
        sign = 1.0 if self.sense == "min" else -1.0
        costs = (-sign * truth).detach().cpu().numpy().astype(np.float64)
        best, _ = call_oracles(self.structure, batch.layouts, costs, "maximize", self.n_jobs)
        theta = sign * (truth - 2 * batch.flat)
        return self._value(batch, theta, "maximize") - batch.sums(
            theta * torch.as_tensor(best).to(theta)
        )
