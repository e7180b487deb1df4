"""Solvers: each minimises a Problem, and proves how close it has come."""

from maxmargin.solvers.base import Solver, resolve_solver
from maxmargin.solvers.bcfw import BCFW, OracleCache
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.subgradient import Subgradient

__all__ = [
    "BCFW",
    "FrankWolfe",
    "OracleCache",
    "Perceptron",
    "Solver",
    "Subgradient",
    "resolve_solver",
]
