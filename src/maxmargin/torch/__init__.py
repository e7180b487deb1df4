"""Losses and layers of PyTorch over any structure (`pip install "maxmargin[torch]"`)."""

from maxmargin.torch.layers import argmax, k_best, marginals
from maxmargin.torch.losses import (
    Likelihood,
    PerturbedFenchelYoung,
    SparseMAP,
    SPOPlus,
    StructuredHinge,
)

__all__ = [
    "Likelihood",
    "PerturbedFenchelYoung",
    "SPOPlus",
    "SparseMAP",
    "StructuredHinge",
    "argmax",
    "k_best",
    "marginals",
]
