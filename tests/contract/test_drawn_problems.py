"""Problems drawn at random, so small that all outputs are listed: no certificate may be false.

A draw is a structure, its sizes, alpha, costs, weights of samples, a domain of the weights, and
some runs, each of a drawn solver for a few epochs. Each run after the first goes on from the state
before it, maybe with another alpha, other costs or weights of samples, more samples or another
domain. After each run, all that it says is compared with the formulas over the listed outputs.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from contract.problems import BANNED
from contract.test_solvers import ASCENT, CERTIFIED, DUAL
from maxmargin.domains import L1Ball, L2Ball, NonNegative, Product, Signs, SubmodularCone
from maxmargin.domains.combine import intersect_domains
from maxmargin.result import State, Status
from maxmargin.solvers import (
    BCFW,
    LBFGS,
    SDCA,
    ExponentiatedGradient,
    OracleCache,
    SmoothedGradient,
)
from reference.likelihood import likelihood, most_likely
from reference.linear import violation
from reference.training import approach_optimum
from reference.weight_sets import EdgeSet, into_ball

#: caches that are far too small or of the other storage, which meet every structure here
CACHES = {
    f"bcfw-{step}-{store}-{size}": BCFW(step, cache=OracleCache(size, passes, store))
    for step in ("frank-wolfe", "pairwise", "corrective")
    for store in ("vertices", "images")
    for size, passes in ((1, 2), (2, 0), (30, "auto"))
}
SOLVERS = CERTIFIED | CACHES
LIKELY = {
    "lbfgs": LBFGS(),
    "sdca": SDCA(),
    "eg": ExponentiatedGradient(),
    "smoothed": SmoothedGradient(),
}
#: by linear programs, whose tolerance is 1e-7
LOOSE = ("assignment", "rows")


def draw_sizes(rng, least=1, most=4):
    return tuple(int(size) for size in rng.integers(least, most + 1, size=rng.integers(3, 6)))


def draw_chain(rng):
    labels = int(rng.integers(2, 4))
    banned = BANNED if labels == 3 and rng.random() < 0.4 else None
    flags = {name: bool(rng.random() < 0.3) for name in ("as_csr", "plain")}
    flags["plain"] &= not flags["as_csr"]
    most = 3 if flags["plain"] else 4
    return partial(
        problems.chain, lengths=draw_sizes(rng, 1, most), labels=labels, banned=banned, **flags
    )


def draw_tree(rng, method=None):
    labels, tied = int(rng.integers(2, 4)), bool(rng.random() < 0.5)
    banned = BANNED if labels == 3 and tied and rng.random() < 0.4 else None
    sizes = draw_sizes(rng, 1, 3 if method else 4)
    return partial(
        problems.tree, sizes=sizes, labels=labels, tied=tied, banned=banned, method=method
    )


def draw_count(rng):
    return int(rng.integers(3, 7))


STRUCTURES = {
    "multiclass": lambda rng: partial(
        problems.multiclass, n=draw_count(rng), labels=int(rng.integers(2, 5))
    ),
    "finite": lambda rng: partial(problems.finite, n=draw_count(rng)),
    "chain": draw_chain,
    "tree": draw_tree,
    "network": lambda rng: draw_tree(rng, "exact"),
    "multi-label": lambda rng: partial(
        problems.multi_label, n=draw_count(rng), labels=int(rng.integers(1, 5))
    ),
    "matching": lambda rng: partial(
        problems.matching, n=draw_count(rng), layout=tuple(map(int, rng.integers(1, 4, size=2)))
    ),
    "items": lambda rng: partial(problems.items, n=draw_count(rng)),
    "function": lambda rng: partial(problems.items, n=draw_count(rng), kind="function"),
    "rows": lambda rng: partial(problems.items, n=3, kind="rows"),
    "assignment": lambda rng: partial(problems.assignment, n=3, size=int(rng.integers(2, 4))),
    "cut": lambda rng: partial(problems.cut, n=draw_count(rng), plain=bool(rng.random() < 0.3)),
    "tables": lambda rng: partial(problems.cut, n=draw_count(rng), tables=True),
}
CUTS = ("cut", "tables")
#: weights of nodes in cuts, before those of edges
NODES = 3


@dataclass(frozen=True)
class Limits:
    """Edges of cuts, then signs, then balls of groups of weights: (numbers, kind, radius)."""

    signs: np.ndarray
    balls: tuple
    edges: EdgeSet | None = None

    def project(self, w):
        w = w.copy() if self.edges is None else self.edges.project(w)
        w = np.where(self.signs * w < 0, 0.0, w)
        for own, kind, radius in self.balls:
            w[own] = into_ball(w[own], kind, radius)
        return w


def draw_domain(rng, dim, name):
    """A domain, and the same by its definition."""
    cone, edges = None, None
    if name in CUTS:
        kind = SubmodularCone if name == "tables" else NonNegative
        cone, edges = kind(np.arange(NODES, dim)), EdgeSet(NODES, name == "tables")
    kinds = ["signs", "l2", "signed l2", "l1", "signed l1", "groups"]
    kind = "free" if rng.random() < 0.3 else str(rng.choice(kinds))
    kind = kind.replace("l1", "l2") if name == "tables" else kind
    radius, split = float(10 ** rng.uniform(-1.5, 0.5)), NODES if cone else max(dim // 2, 1)
    signs = np.zeros(dim)
    signed = np.arange(NODES if cone else dim)
    if "sign" in kind:
        signs[signed] = rng.integers(-1, 2, size=len(signed))
    given = Signs(np.flatnonzero(signs > 0), np.flatnonzero(signs < 0))
    everything = np.arange(dim)
    domain, balls = given if "sign" in kind else None, ()
    if "l2" in kind:
        domain, balls = L2Ball(radius, domain), ((everything, "l2", radius),)
    elif "l1" in kind:
        domain, balls = L1Ball(radius, domain), ((everything, "l1", radius),)
    elif kind == "groups":
        first, rest = everything[:split], everything[split:]
        ball = L1Ball(radius) if rng.random() < 0.3 else L2Ball(radius)
        balls = ((first, "l1" if isinstance(ball, L1Ball) else "l2", radius),)
        groups = [(first, ball)]
        if cone is None and len(rest):
            groups.append((rest, NonNegative()))
            signs[rest] = 1.0
        domain = Product(groups)
    if cone is not None:
        domain = cone if domain is None else intersect_domains(domain, cone, dim)
    return domain, Limits(signs, balls, edges)


class Draw:
    """A problem that can be made anew with some of its options drawn again, and its runs."""

    CHANGES = ("alpha", "cost", "weight", "count", "domain")

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.name = list(STRUCTURES)[seed % len(STRUCTURES)]
        self.make = partial(STRUCTURES[self.name](rng), seed=int(rng.integers(1000)))
        problem = self.make().problem
        self.n, self.dim, self.solver = problem.n, problem.dim, ""
        likely = rng.random() < 0.2 and problem.oracle.has_expectations
        self.options = {"objective": "likelihood" if likely else "margin", "count": 1}
        for name in self.CHANGES:
            self.change(name)

    @property
    def tolerance(self):
        return 1e-6 if self.name in LOOSE else 1e-10

    @property
    def likely(self):
        return self.options["objective"] == "likelihood"

    def change(self, name):
        rng, options = self.rng, self.options
        if name == "alpha":
            options["alpha"] = float(10 ** rng.uniform(-1.7, 0.3))
        elif name == "cost":
            options.pop("cost", None)
            options |= {"cost": problems.generic} if rng.random() < 0.5 else {}
        elif name == "weight":
            weight = np.append(1, rng.integers(0, 4, size=self.n - 1))
            options["weight"] = weight if rng.random() < 0.6 else None
        elif name == "count":
            options["count"] = int(rng.integers(options["count"], self.n + 1))
        else:
            options["domain"], options["where"] = draw_domain(rng, self.dim, self.name)

    def draw_solver(self, problem):
        """The name of a solver that can solve it, and the solver."""
        known, rng = LIKELY if self.likely else SOLVERS, self.rng
        free = self.options["domain"] is None
        able = [
            name
            for name, solver in known.items()
            if solver.requires.are_met_by(problem.structure)
            and (free or solver.requires.any_domain)
        ]
        if self.solver not in able or rng.random() < 0.6:  # else what it remembers is used again
            self.solver = str(rng.choice(able))
        name, every = self.solver, [None, 1, 2][rng.integers(3)]
        seed, count = int(rng.integers(100)), int(rng.integers(7))
        return name, clone(known[name]).set_params(
            tol=0.0, random_state=seed, check_every=every, max_epochs=count
        )


def begin(state, problem):
    """The state, with the true outputs of samples that were added, and no epochs behind it."""
    z = problem.truth_copy()
    if state.outputs != problem.outputs_key:
        z[: len(state.z)] = state.z
        state = State(state.w, z, state.rng, best=state.best)
    state.epoch = 0
    return state


def bracket(made, likely, steps):
    """Numbers between which the optimum is, as near as that many steps of the reference come."""
    training = made.training
    if not likely:
        best, bound, _ = approach_optimum(training, 1e-8, steps)
        return bound, best
    alpha, project = training.alpha, training.where.project
    w, rate = project(most_likely(training)[1]), 1.0
    value, slope = likelihood(training, w)
    for _ in range(steps // 10):  # projected gradients, no longer than what lowers P
        new = project(w - rate * slope)
        lower, ahead = likelihood(training, new)
        if lower < value:
            w, value, slope, rate = new, lower, ahead, 1.5 * rate
        else:
            rate /= 2
    # P is strongly convex, so above this parabola, whose lowest point in W is v
    v = project(w - slope / alpha)
    return value + slope @ (v - w) + alpha / 2 * ((v - w) @ (v - w)), value


def check_run(result, made, draw, steps):
    """That all of a result is true; steps : see `bracket`."""
    training, z, small = made.training, result.state.z, draw.tolerance
    bound, best = bracket(made, draw.likely, steps)
    assert result.status is not Status.FAILED
    assert np.abs(training.where.project(result.w) - result.w).max() <= 1e-13
    true = likelihood(training, result.w)[0] if draw.likely else training.primal(result.w)
    assert abs(result.primal - true) <= small
    assert result.gap == result.primal - result.dual
    for record in [result, *result.history]:
        assert record.primal >= bound - small
        assert record.dual <= best + small
        assert record.gap >= -small
    if draw.likely or not len(z):
        return
    if draw.name in CUTS:  # points between are of the relaxation, which costs nothing there
        rows = map(made.problem.structure.constraints, made.problem.layouts)
        assert max(map(violation, rows, training.split(z))) <= small
    else:
        assert training.distance(z) <= small
    assert result.dual >= training.dual(z) - small


def check_draw(seed, steps):
    """Make the runs of a draw, and check each of them."""
    draw, state = Draw(seed), None
    for stage in range(3):
        if stage:
            draw.change(draw.CHANGES[draw.rng.integers(len(draw.CHANGES))])
        made = draw.make(**draw.options)
        name, solver = draw.draw_solver(made.problem)
        state = None if state is None else begin(state, made.problem)
        start = None if state is None else state.z.copy()
        result = solver.run(made.problem, state=state)
        state = result.state
        try:
            check_run(result, made, draw, steps)
            if name in DUAL | CACHES:
                np.testing.assert_allclose(state.w, made.training.weights(state.z), atol=1e-10)
                if start is not None and len(start):  # certified where it began
                    assert result.dual >= made.training.dual(start) - draw.tolerance
            if name in ASCENT or name in CACHES:
                reached = max(made.training.dual(state.z), 0.0)
                assert abs(result.dual - reached) <= draw.tolerance
        except AssertionError as error:
            error.add_note(f"stage {stage} of {draw.name}, {name}: {solver}, {draw.options}")
            raise


@pytest.mark.parametrize("seed", range(60))
def test_some_certificates_are_true(seed):
    check_draw(seed, 500)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(60, 1060, 100))
def test_many_certificates_are_true(first):
    for seed in range(first, first + 100):
        check_draw(seed, 3000)
