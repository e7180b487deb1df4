"""Runs of every solver, cut short after a few epochs, whose checkpoints are forged."""

import warnings

import numpy as np

from contract import problems
from maxmargin.domains import L2Ball, NonNegative
from maxmargin.parallel import SerialEngine
from maxmargin.parallel.driver import Rounds
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.solvers import (
    BCFW,
    LBFGS,
    SDCA,
    CuttingPlane,
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
    OracleCache,
    Perceptron,
    ProjectedGradient,
    SmoothedGradient,
    Subgradient,
)

#: in which edges of cuts have their signs
BALL = L2Ball(0.3, NonNegative(np.arange(3, 5)))
RUNS = {
    "run of bcfw": lambda: (BCFW(max_epochs=4, tol=0.0), problems.chain().problem),
    "run of bcfw pairwise": lambda: (
        BCFW("pairwise", max_epochs=4, tol=0.0, cache=OracleCache(5)), problems.matching().problem,
    ),
    "run of bcfw images": lambda: (
        BCFW(max_epochs=4, tol=0.0, cache=OracleCache(5, store="images")), problems.chain().problem,
    ),
    "run of bcfw in a ball": lambda: (
        BCFW(max_epochs=4, tol=0.0, cache=OracleCache(2)), problems.cut(domain=BALL).problem,
    ),
    "run of bcfw, expensive": lambda: (
        BCFW(max_epochs=4, tol=0.0), problems.items(kind="function").problem,
    ),
    "run of n-slack in a ball": lambda: (
        CuttingPlane("n-slack", max_epochs=4, tol=0.0), problems.cut(domain=BALL).problem,
    ),
    "run of ssg in a ball": lambda: (
        Subgradient("half", max_epochs=4, tol=0.0), problems.cut(domain=BALL).problem,
    ),
    "run of fw": lambda: (FrankWolfe(max_epochs=4, tol=0.0), problems.chain().problem),
    "run of cuts": lambda: (CuttingPlane(max_epochs=4, tol=0.0), problems.chain().problem),
    "run of n-slack": lambda: (
        CuttingPlane("n-slack", max_epochs=4, tol=0.0), problems.chain().problem,
    ),
    "run of ssg": lambda: (Subgradient(max_epochs=4, tol=0.0), problems.chain().problem),
    "run of perceptron": lambda: (Perceptron(max_epochs=4), problems.chain().problem),
    "run of extragradient": lambda: (
        Extragradient(max_epochs=4, tol=0.0), problems.matching().problem,
    ),
    "run of dual extragradient": lambda: (
        DualExtragradient(max_epochs=4, tol=0.0), problems.matching().problem,
    ),
    "run of projected gradient": lambda: (
        ProjectedGradient(max_epochs=4, tol=0.0), problems.matching().problem,
    ),
    "run of eg": lambda: (
        ExponentiatedGradient(max_epochs=4, tol=0.0), problems.chain().problem,
    ),
    "run of smoothed": lambda: (SmoothedGradient(max_epochs=4, tol=0.0), problems.chain().problem),
    "run of sdca": lambda: (
        SDCA(max_epochs=4, tol=0.0), problems.chain(objective="likelihood").problem,
    ),
    "run of lbfgs": lambda: (
        LBFGS(max_epochs=4, tol=0.0), problems.chain(objective="likelihood").problem,
    ),
    "shards of bcfw": lambda: (
        Rounds(BCFW(max_epochs=4, tol=0.0), SerialEngine()), problems.chain().problem,
    ),
    "shards of bcfw images": lambda: (
        Rounds(BCFW(max_epochs=4, tol=0.0, cache=OracleCache(5, store="images")), SerialEngine()),
        problems.chain().problem,
    ),
    "shards of bcfw, other generator": lambda: (
        Rounds(BCFW("frank-wolfe", max_epochs=4, tol=0.0, random_state=mersenne()), SerialEngine()),
        problems.matching().problem,
    ),
    "shard of bcfw": lambda: (
        Rounds(BCFW(max_epochs=4, tol=0.0), SerialEngine(1)),
        problems.matching().problem,
    ),
    "shards of sdca": lambda: (
        Rounds(SDCA(max_epochs=4, tol=0.0), SerialEngine()),
        problems.chain(objective="likelihood").problem,
    ),
}  # fmt: skip


def mersenne():
    return np.random.Generator(np.random.MT19937(0))


def write_run(name, path):
    """The checkpoint of a run after two epochs."""
    solver, problem = RUNS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(solver, "solver", solver).set_params(max_epochs=2)  # that of `Rounds` is inside
        solver.run(problem, callbacks=[Checkpoint(path)])
