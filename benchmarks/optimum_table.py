"""One optimum: every solver on every structure, beside what ReferenceQP proves, as docs show it."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    # the problems are those of the tests
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from contract.optimum_table import STRUCTURES, cell, text
    from maxmargin.solvers.base import solver_classes

    cells = {
        (solver, name): cell(solver, name) for name in STRUCTURES for solver in solver_classes()
    }
    print(text(cells))
