"""Losses: what each wrong part costs."""

from maxmargin.losses.base import Loss, PartCosts
from maxmargin.losses.hamming import Hamming
from maxmargin.losses.names import resolve_loss

__all__ = ["Hamming", "Loss", "PartCosts", "resolve_loss"]
