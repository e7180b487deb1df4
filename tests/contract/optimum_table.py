"""Every solver on every structure: the objective that it ends with, and what it proves of it."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from contract import problems
from contract.cases import found_dict, found_list
from maxmargin import Graph, GraphCutSVM
from maxmargin.exceptions import MissingAbilityError
from maxmargin.features import PartFeatures
from maxmargin.problem import Problem
from maxmargin.solvers import (
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
    ProjectedGradient,
    ReferenceQP,
    SmoothedGradient,
    Subgradient,
)
from maxmargin.solvers.base import solver_classes
from maxmargin.structures import Chain, MarkovNetwork, NetworkLayout, Restricted, RestrictedLayout

#: large, so that the steps of all solvers soon arrive
ALPHA = 4.0
#: relative gap that is asked for
TOL = 5e-5
#: options of solvers that need more than the default ones
SOLVERS = {
    "fw": FrankWolfe(max_epochs=1200, check_every=200),
    "ssg": Subgradient(max_epochs=2000, check_every=250),
    "extragradient": Extragradient(max_epochs=400),
    "dual-extragradient": DualExtragradient(restarts=True, max_epochs=1500),
    "projected-gradient": ProjectedGradient(decay=False, max_epochs=300, check_every=100),
    "eg": ExponentiatedGradient(max_epochs=1000),
    "smoothed": SmoothedGradient(max_epochs=1000),
    **found_dict("OPTIMUM"),
}
#: their oracles are linear programs, so that passes are expensive
BY_HIGHS = ("assignment", "linear-program", "restricted", "network-relaxed")
FEWER = dict.fromkeys(("fw", "ssg"), 20) | {"perceptron": 10}
FEWER |= dict.fromkeys(("extragradient", "dual-extragradient", "projected-gradient"), 3)


class Listed(problems.AtMostTwo):
    """The same items with all their outputs listed."""

    def vertices(self, layout):
        for bits in np.ndindex(*[2] * layout[0]):
            if sum(bits) <= 2:
                yield np.array(bits, dtype=float)


def network(method="exact", alpha=ALPHA):
    """Rings of three and four nodes, two labels, a table for each edge."""
    rng, structure = np.random.default_rng(3), MarkovNetwork(tied=False, method=method)
    layouts, X, truths, costs = [], [], [], []
    for size in (3, 4, 3):
        edges = [(j, (j + 1) % size) for j in range(size)]
        layout = NetworkLayout(Graph(np.ones((size, 1)), edges), 2)
        y = structure.encode(rng.integers(2, size=size), layout)
        nodes = np.arange(len(y)) < 2 * size
        layouts.append(layout)
        truths.append(y)
        costs.append(np.where(nodes, 1.0 - y, 0.0) / size)
        X.append(rng.normal(scale=0.5, size=(len(y), 3)))
    return plain_problem(structure, layouts, X, truths, costs, alpha)


def restricted(alpha=ALPHA):
    """Chains in which the first node has its true label, and no more than two nodes label 0."""
    rng, inner = np.random.default_rng(4), Chain(tied=False)
    layouts, X, truths, costs = [], [], [], []
    for labels in ([0, 1, 1], [1, 0, 1], [1, 1, 0]):
        y = inner.encode(np.array(labels), (3, 2))
        count = np.zeros((1, len(y)))
        count[0, [0, 2, 4]] = 1.0
        layouts.append(RestrictedLayout((3, 2), on=[labels[0]], matrix=count, upper=2.0))
        truths.append(y)
        costs.append(np.where(np.arange(len(y)) < 6, 1.0 - y, 0.0) / 3)
        X.append(rng.normal(scale=0.5, size=(len(y), 3)))
    return plain_problem(Restricted(inner), layouts, X, truths, costs, alpha)


def plain_problem(structure, layouts, X, truths, costs, alpha):
    packed = PartFeatures().pack(
        problems.check_rows(X), 0, np.array([len(truth) for truth in truths])
    )
    truth, cost = np.concatenate(truths), np.concatenate(costs)
    return Problem(structure, layouts, packed, costs=cost, truth=truth, alpha=alpha)


def potts(alpha=ALPHA):
    """Paths of three nodes with three labels."""
    rng = np.random.default_rng(5)
    X = [Graph(rng.normal(size=(3, 2)), [(0, 1), (1, 2)]) for _ in range(3)]
    y = [[0, 1, 2], [1, 1, 0], [2, 2, 2]]
    return GraphCutSVM(alpha=alpha, multiclass=True)._problem(X, y, None, None)


def of_kind(kind):
    model, X, y = kind.few(alpha=ALPHA)
    return model._problem(X, y, None, None)


STRUCTURES = {
    **{
        name: (lambda make=make: make(alpha=ALPHA).problem)
        for name, make in (
            problems.CASES | problems.INSIDE | {"matching": problems.matching} | problems.EXPENSIVE
        ).items()
    },
    "assignment": lambda: problems.assignment(alpha=ALPHA, n=2).problem,
    "network": network,
    "network-relaxed": lambda: network("relaxed"),
    "restricted": restricted,
    "potts": potts,
    **{make.__name__: lambda make=make: of_kind(make()) for make in found_list("ESTIMATORS")},
}


@dataclass(frozen=True)
class Cell:
    """A value with its gap (nan if the solver proves nothing), or why there is none."""

    value: float = np.nan
    gap: float = np.nan
    words: str = ""


def listed(structure):
    """The same with the outputs that its case lists."""
    kind = type(structure)
    (case, *_) = [own for own in found_list("STRUCTURES") if type(own.structure) is kind]
    own = {"vertices": lambda self, layout: iter(case.listed(layout))}
    return type("Listed", (kind,), own)(**structure.get_params(deep=False))


@lru_cache
def problem(structure):
    return STRUCTURES[structure]()


@lru_cache
def optimum(structure):
    """By ReferenceQP; items, of which nothing but `maximize` is known, with outputs listed."""
    found = problem(structure)
    if structure in ("items", "items-l2", "from-oracle"):
        found = STRUCTURES[structure]()
        found.structure = Listed()
    elif not (
        found.structure.oracle().has("constraints") or found.structure.oracle().has("vertices")
    ):
        found = STRUCTURES[structure]()
        found.structure = listed(found.structure)
    return ReferenceQP(tol=0.0).run(found)


def cell(solver, structure):
    """What the solver ends with, after few passes where each of them asks HiGHS."""
    chosen = SOLVERS.get(solver, solver_classes()[solver]()).set_params(tol=TOL)
    if structure in BY_HIGHS:
        chosen = type(chosen)(**(chosen.get_params(deep=False) | {"max_epochs": FEWER.get(solver)}))
    try:
        result = chosen.run(problem(structure))
    except (MissingAbilityError, ValueError) as error:
        return Cell(words=str(error))
    if not chosen.certifies:
        value = problem(structure).primal(result.w)
        return Cell(value, words=result.certificate())
    return Cell(result.primal, result.gap, result.certificate())


def text(cells):
    """A table: rows are structures; each cell its error and its gap, relative to the optimum."""
    solvers = list(dict.fromkeys(solver for solver, _ in cells))
    lines = ["| structure | optimum | " + " | ".join(f"`{s}`" for s in solvers) + " |"]
    lines.append("|---" * (len(solvers) + 2) + "|")
    notes = {}
    for structure in dict.fromkeys(structure for _, structure in cells):
        best = optimum(structure).primal
        shown = [_shown(cells[solver, structure], best, notes) for solver in solvers]
        lines.append(f"| {structure} | {best:.8f} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", *(f"{mark}. {words}" for words, mark in notes.items())])


def _shown(own, best, notes):
    if np.isnan(own.value):
        return f"- ({notes.setdefault(own.words, len(notes) + 1)})"
    error = f"{max(own.value - best, 0.0) / best:.0e}"
    if np.isnan(own.gap):
        mark = notes.setdefault("no certificate: this solver does not bound it", len(notes) + 1)
        return f"{error} ({mark})"
    return f"{error} of {max(own.gap, 0.0) / best:.0e}"
