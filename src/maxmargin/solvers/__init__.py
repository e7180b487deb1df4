"""Solvers: each minimises a Problem, and proves how close it has come."""

from maxmargin.solvers.base import Requires, Solver, resolve_solver, solver_classes
from maxmargin.solvers.bcfw import BCFW
from maxmargin.solvers.cutting_plane.cutting_plane import CuttingPlane
from maxmargin.solvers.entropic.exponentiated_gradient import ExponentiatedGradient
from maxmargin.solvers.entropic.sdca import SDCA
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.lbfgs import LBFGS
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.qp.reference_qp import ReferenceQP
from maxmargin.solvers.saddle.dual_extragradient import DualExtragradient
from maxmargin.solvers.saddle.extragradient import Extragradient
from maxmargin.solvers.saddle.projected_gradient import ProjectedGradient
from maxmargin.solvers.smoothed_gradient import SmoothedGradient
from maxmargin.solvers.subgradient import Subgradient
from maxmargin.solvers.vertex_cache import OracleCache

__all__ = [
    "BCFW",
    "LBFGS",
    "SDCA",
    "CuttingPlane",
    "DualExtragradient",
    "ExponentiatedGradient",
    "Extragradient",
    "FrankWolfe",
    "OracleCache",
    "Perceptron",
    "ProjectedGradient",
    "ReferenceQP",
    "Requires",
    "SmoothedGradient",
    "Solver",
    "Subgradient",
    "resolve_solver",
    "solver_classes",
]
