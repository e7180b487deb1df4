"""Options that several commands share."""

from __future__ import annotations

#: short names of the solvers, beside `maxmargin.solvers`, whose import takes too long for a help
SOLVERS = (
    "bcfw",
    "dual-extragradient",
    "extragradient",
    "fw",
    "perceptron",
    "projected-gradient",
    "ssg",
)
