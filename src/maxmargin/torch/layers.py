"""Outputs as layers: the best ones, expectations of parts, the k best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.torch.batches import Batch, as_batch, call_oracles, torch

#: step of the difference by which marginals are differentiated, relative to scores
_STEP = 1e-5


def argmax(
    structure: Structure,
    scores: Any,
    layouts: Sequence[Layout] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Return the best outputs, which have no gradient.

    Parameters
    ----------
    structure : Structure
        Possible outputs.
    scores : Tensor of shape (n, n_parts) or list of Tensor
        Part scores.
    layouts : sequence of Layout or None, default=None
        Layouts; None where the numbers of parts tell them.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.

    Returns
    -------
    Tensor of shape (n, n_parts) or list of Tensor
        Vectors of parts.
    """
    batch = as_batch(structure, scores, layouts)
    theta = batch.flat.detach().cpu().numpy().astype(np.float64)
    z, _ = call_oracles(structure, batch.layouts, theta, "maximize", n_jobs)
    return _like(scores, batch, torch.as_tensor(z).to(batch.flat))


class _Marginals(torch.autograd.Function):
    """Expectations; their derivative along g is that of the gradient of log Z, by differences."""

    @staticmethod
    def forward(ctx: Any, flat: Any, structure: Structure, batch: Batch, n_jobs: Any) -> Any:
        ctx.rest = structure, batch, n_jobs
        ctx.theta = flat.detach().cpu().numpy().astype(np.float64)
        z, _ = call_oracles(structure, batch.layouts, ctx.theta, "marginals", n_jobs)
        return torch.as_tensor(z).to(flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        structure, batch, n_jobs = ctx.rest
        along = gradients[0].detach().cpu().numpy().astype(np.float64)
        size = _STEP * (1.0 + np.abs(ctx.theta).max()) / max(np.abs(along).max(), 1e-300)
        ends = [
            call_oracles(structure, batch.layouts, ctx.theta + s * along, "marginals", n_jobs)[0]
            for s in (size, -size)
        ]
        change = torch.as_tensor((ends[0] - ends[1]) / (2 * size)).to(gradients[0])
        return change, None, None, None


def marginals(
    structure: Structure,
    scores: Any,
    layouts: Sequence[Layout] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Return the expectations of parts under p(z) ~ exp(theta . z), with a gradient.

    Parameters
    ----------
    structure : Structure
        Possible outputs; it must have `marginals`.
    scores : Tensor of shape (n, n_parts) or list of Tensor
        Part scores.
    layouts : sequence of Layout or None, default=None
        Layouts; None where the numbers of parts tell them.
    n_jobs : int or None, default=None
        Threads that call the oracle, -1 for all cores.

    Returns
    -------
    Tensor of shape (n, n_parts) or list of Tensor
        Expectations.
    """
    batch = as_batch(structure, scores, layouts)
    return _like(scores, batch, _Marginals.apply(batch.flat, structure, batch, n_jobs))


def k_best(
    structure: Structure, scores: Any, k: int, layouts: Sequence[Layout] | None = None
) -> list[list[tuple[Any, Any]]]:
    """Return the k best outputs of each instance and their scores, which have gradients.

    Parameters
    ----------
    structure : Structure
        Possible outputs; it must have `k_best`.
    scores : Tensor of shape (n, n_parts) or list of Tensor
        Part scores.
    k : int
        Number of outputs per instance.
    layouts : sequence of Layout or None, default=None
        Layouts; None where the numbers of parts tell them.

    Returns
    -------
    list of list of (Tensor, Tensor)
        Vectors of parts and scores, best first.
    """
    batch = as_batch(structure, scores, layouts)
    found = []
    for own, layout in zip(batch.split(batch.flat), batch.layouts, strict=True):
        best = structure.k_best(own.detach().cpu().numpy().astype(np.float64), layout, k)
        outputs = [torch.as_tensor(z).to(own) for z, _ in best]
        found.append([(z, (z * own).sum()) for z in outputs])
    return found


def _like(scores: Any, batch: Batch, flat: Any) -> Any:
    """A matrix if scores are one, else a list."""
    return flat.reshape(scores.shape) if hasattr(scores, "shape") else batch.split(flat)
