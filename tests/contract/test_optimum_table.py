"""One optimum: every solver on every structure, beside the optimum that ReferenceQP proves.

`pytest -s` prints the table that docs/optimum.md shows; so does `python -m benchmarks
optimum_table`.
"""

import numpy as np
import pytest

from contract.optimum_table import BY_HIGHS, STRUCTURES, cell, optimum, problem, text
from maxmargin import structures
from maxmargin.solvers.base import solver_classes
from maxmargin.structures import Structure

SOLVERS = list(solver_classes())
CELLS = {}
#: linear programs are solved to HiGHS's tolerance
ROUNDING = dict.fromkeys(STRUCTURES, 1e-9) | dict.fromkeys(
    ("assignment", "linear-program", "network-relaxed", "restricted"), 1e-6
)
#: it comes nearer like 1 / sqrt(epochs): the gap says how near
SLOW = {"projected-gradient"}
#: stopped before, because each pass asks HiGHS
FAR = {
    (solver, structure)
    for solver in ("fw", "ssg", "extragradient", "dual-extragradient")
    for structure in BY_HIGHS
}
#: why a solver cannot, in the words of its error
CANNOT = {
    "likelihood": 'cannot minimise objective="margin"',
    "ability": "needs `",
    "expectations": "expectations",
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_solver_ends_within_its_certificate_of_the_one_optimum(structure):
    best = optimum(structure)
    assert best.relative_gap <= 1e-7
    slack = ROUNDING[structure] * best.primal
    for solver in SOLVERS:
        own = CELLS[solver, structure] = cell(solver, structure)
        where = f"{solver} on {structure}: {own}"
        if np.isnan(own.value):
            assert any(words in own.words for words in CANNOT.values()), where
            continue
        assert own.value >= best.dual - slack, where
        if np.isnan(own.gap):
            assert own.words.startswith("no certificate: this solver does not bound"), where
            continue
        assert own.value - best.primal <= own.gap + slack, where
        assert own.value - own.gap <= best.primal + slack, where
        if solver not in SLOW and (solver, structure) not in FAR:
            assert own.value - best.primal <= 1e-4 * best.primal + slack, where


def test_cells_are_empty_for_reasons_that_are_known():
    for structure in STRUCTURES:
        known = problem(structure).structure
        for solver in SOLVERS:
            kind = solver_classes()[solver]
            own = CELLS.get((solver, structure)) or cell(solver, structure)
            able = "margin" in kind.objectives and all(
                any(known.has(ability) for ability in names) for names in kind().requires
            )
            able = able and (known.tilt_is_expectation or not kind.needs_expectations)
            assert able == (not np.isnan(own.value)), (solver, structure, own)


def test_no_structure_is_missing():
    kinds = [getattr(structures, name) for name in structures.__all__]
    wanted = {k for k in kinds if isinstance(k, type) and issubclass(k, Structure)} - {Structure}
    assert wanted <= {type(problem(name).structure) for name in STRUCTURES}


def test_no_cell_is_missing():
    wanted = {(solver, structure) for solver in SOLVERS for structure in STRUCTURES}
    cells = {key: CELLS.get(key) or cell(*key) for key in wanted}
    shown = text(cells)
    print(f"\n{shown}")
    rows = [line for line in shown.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(STRUCTURES)
    assert all(len(row.split("|")) == len(SOLVERS) + 4 for row in rows)
    assert all(part.strip() for row in rows for part in row.strip("|").split("|"))
