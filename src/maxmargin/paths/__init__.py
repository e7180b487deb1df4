"""Paths: models over a range of penalties, of radii, or of moments of one run."""

from maxmargin.paths.alpha import AlphaPath, alpha_path
from maxmargin.paths.base import Path, PathPoint
from maxmargin.paths.eps import EpsPath, EpsPoint, eps_path
from maxmargin.paths.iterates import IteratesPath, iterates_path
from maxmargin.paths.l1 import L1Path, l1_path

__all__ = [
    "AlphaPath",
    "EpsPath",
    "EpsPoint",
    "IteratesPath",
    "L1Path",
    "Path",
    "PathPoint",
    "alpha_path",
    "eps_path",
    "iterates_path",
    "l1_path",
]
