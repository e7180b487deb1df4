"""Oracles: how the outputs of a structure are found for given scores of their parts."""

from maxmargin.oracles.base import Oracle
from maxmargin.oracles.compiled import CompiledOracle

__all__ = ["CompiledOracle", "Oracle"]
