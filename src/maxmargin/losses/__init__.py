"""Losses: what each wrong part costs."""

from maxmargin.losses.base import Loss, PartCosts, resolve_loss
from maxmargin.losses.hamming import Hamming

__all__ = ["Hamming", "Loss", "PartCosts", "resolve_loss"]
