"""Losses by their short names."""

from __future__ import annotations

from maxmargin.losses.base import Loss
from maxmargin.losses.hamming import Hamming


def resolve_loss(loss: str | Loss) -> Loss:
    """Return a loss object for a short name.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss
        Short name or loss; "hamming-sum" is `Hamming(normalize=False)`.

    Returns
    -------
    Loss
        The loss.
    """
    if isinstance(loss, Loss):
        return loss
    names = {"hamming": Hamming(), "hamming-sum": Hamming(normalize=False)}
    if not isinstance(loss, str) or loss not in names:
        raise ValueError(f"loss={loss!r} is unknown; use one of {sorted(names)} or a Loss object.")
    return names[loss]
