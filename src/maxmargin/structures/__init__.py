"""Structures: families of polytopes, with the algorithms that optimise over them."""

from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.chain import Chain
from maxmargin.structures.simplex import Finite, Multiclass

__all__ = ["Chain", "Constraints", "Finite", "Multiclass", "Structure"]
