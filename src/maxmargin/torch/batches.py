"""Scores of a batch as flat arrays, and what oracles say of them, by threads of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.exceptions import MissingAbilityError
from maxmargin.optional import optional_module
from maxmargin.samples import Samples
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout

torch = optional_module("torch", 'PyTorch is not installed: pip install "maxmargin[torch]"')


class Batch(NamedTuple):
    """Part scores of several instances, one after another, and where each begins."""

    flat: Any
    layouts: list[Layout]
    sizes: list[int]

    def split(self, flat: Any) -> list[Any]:
        """Cut values of all parts into those of the instances."""
        return list(torch.split(flat, self.sizes))

    def sums(self, flat: Any) -> Any:
        """Sum values of the parts of each instance."""
        return torch.stack([own.sum() for own in self.split(flat)])


def as_batch(structure: Structure, scores: Any, layouts: Sequence[Layout] | None) -> Batch:
    """Read scores: a matrix, or a list of vectors that may differ in length."""
    rows = list(scores)
    if not rows or any(own.ndim != 1 for own in rows):
        raise ValueError("scores must be of shape (n, n_parts), or a list of vectors.")
    sizes = [len(own) for own in rows]
    known = [structure.layout_of(size) for size in sizes] if layouts is None else list(layouts)
    if [structure.n_parts(layout) for layout in known] != sizes:
        raise ValueError(f"scores are of {sizes} parts, which does not go with the layouts.")
    return Batch(torch.cat(rows), known, sizes)


def as_flat(batch: Batch, values: Any, name: str) -> Any:
    """Values of all parts, of the batch's type: targets, or true costs."""
    rows = [torch.as_tensor(np.asarray(own) if isinstance(own, list) else own) for own in values]
    if [len(own) for own in rows] != batch.sizes:
        raise ValueError(f"{name} must have as many numbers per instance as scores.")
    return torch.cat(rows).to(batch.flat)


def call_oracles(
    structure: Structure,
    layouts: list[Layout],
    scores: np.ndarray,
    ability: str,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """What an ability gives for each instance, and its values."""
    if not structure.oracle().has(ability):
        kind = type(structure).__name__
        raise MissingAbilityError(f"{kind} has no `{ability}`, which this loss or layer needs.")
    bad = np.isnan(scores) | (scores == np.inf)
    if bad.any():
        ends = np.cumsum([structure.n_parts(layout) for layout in layouts])
        i = int(np.searchsorted(ends, np.argmax(bad), side="right"))
        raise ValueError(f"instance {i}: scores must be finite or -inf (forbidden).")
    samples = Samples.from_scores(structure, layouts, scores, n_jobs)
    out = np.empty(len(scores))
    return out, samples.apply(ability, np.zeros(1), out=out)


_Function: Any = torch.autograd.Function


class _Value(_Function):
    """F_i(theta_i) of each instance, whose gradient is what the oracle gives."""

    @staticmethod
    def forward(
        ctx: Any, flat: Any, structure: Structure, batch: Batch, ability: str, n_jobs: Any
    ) -> Any:
        theta = flat.detach().cpu().numpy().astype(np.float64)
        z, values = call_oracles(structure, batch.layouts, theta, ability, n_jobs)
        if ability == "project":  # max of theta . z - |z|^2 / 2
            ends = np.cumsum([0, *batch.sizes])
            values = np.add.reduceat(theta * z - z * z / 2, ends[:-1])
        ctx.z, ctx.sizes = torch.as_tensor(z).to(flat), torch.as_tensor(batch.sizes)
        return torch.as_tensor(values).to(flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        shares = torch.repeat_interleave(gradients[0], ctx.sizes.to(gradients[0].device))
        return shares * ctx.z, None, None, None, None


def value_of(
    structure: Structure, batch: Batch, flat: Any, ability: str, n_jobs: int | None
) -> Any:
    """The best score ("maximize"), log-partition ("marginals") or the same of `project`."""
    return _Value.apply(flat, structure, batch, ability, n_jobs)
