"""One optimum: every solver on every structure, beside the optimum that ReferenceQP proves.

`pytest -s` prints a row for each structure; `python -m benchmarks optimum_table` prints the table
that docs/optimum.md shows.
"""

import numpy as np
import pytest

from contract import problems
from contract.cases import check_cases, exported
from contract.optimum_table import BY_HIGHS, STRUCTURES, cell, optimum, problem, text
from maxmargin import structures
from maxmargin.solvers.base import solver_classes
from maxmargin.structures import Structure

SOLVERS = list(solver_classes())
#: linear programs are solved to HiGHS's tolerance
ROUNDING = dict.fromkeys(STRUCTURES, 1e-9) | dict.fromkeys(
    ("assignment", "linear-program", "network-relaxed", "restricted"), 1e-6
)
#: it comes nearer like 1 / sqrt(epochs): the gap says how near
SLOW = {"projected-gradient"}
#: stopped before, because each pass asks HiGHS, or because a prior leaves a small objective
FAR = {
    (solver, structure)
    for solver in ("fw", "ssg", "extragradient", "dual-extragradient")
    for structure in (*BY_HIGHS, "decisions", "part_costs")
}
#: why a solver cannot, in the words of its error
CANNOT = {
    "likelihood": 'cannot minimise objective="margin"',
    "ability": "needs `",
    "expectations": "expectations",
    "rules": "has no `marginals` with rules",
}


#: rows of the same structure with other data or in a domain, for long runs
MORE = {"chain-csr", "chain-forbidden", "tree-untied", *problems.INSIDE}
ROWS = [pytest.param(name, marks=[pytest.mark.soak] if name in MORE else []) for name in STRUCTURES]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("solvers", [SOLVERS[k::6] for k in range(6)], ids=[*"123456"])
@pytest.mark.parametrize("structure", ROWS)
def test_every_solver_ends_within_its_certificate_of_the_one_optimum(structure, solvers):
    best = optimum(structure)
    assert best.relative_gap <= 1e-7
    slack = ROUNDING[structure] * best.primal
    cells = {(solver, structure): cell(solver, structure) for solver in solvers}
    for (solver, _), own in cells.items():
        where = f"{solver} on {structure}: {own}"
        assert can(solver, structure) == (not np.isnan(own.value)), where
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
    shown = text(cells)
    print(f"\n{shown}")
    (row,) = [line for line in shown.splitlines() if line.startswith(f"| {structure} ")]
    assert len(row.split("|")) == len(solvers) + 4
    assert all(part.strip() for part in row.strip("|").split("|"))


def can(solver, structure):
    """Whether the structure has what the solver says that it needs."""
    known, kind = problem(structure).structure, solver_classes()[solver]
    if "margin" not in kind().requires.objectives:
        return False
    lacks = {"marginals"} if structure == "restricted" else set()  # with rules it cannot
    able = all(
        any(known.oracle().has(own) for own in {*names} - lacks)
        for names in kind().requires.abilities
    )
    return able and (known.oracle().marginals_are_exact or not kind().requires.expectations)


def test_no_structure_is_missing():
    known = [type(problem(name).structure) for name in STRUCTURES]
    check_cases(exported(structures, Structure), known, "ESTIMATORS")
