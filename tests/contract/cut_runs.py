"""Solvers of every kind for runs that are cut, and all that must not depend on the cut."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
from sklearn.base import clone

from contract import problems
from maxmargin import Graph, GraphCutSVM, domains
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
    ReferenceQP,
    SmoothedGradient,
    Subgradient,
)
from reference import cuts

EPOCHS = 7
MATCHING = lambda: problems.matching(n=40)  # noqa: E731  # enough samples for several ranges
LIKELIHOOD = lambda: problems.chain(objective="likelihood")  # noqa: E731
BALL = domains.L1Ball(1.2)


def graph_cut(n=8):
    """Grids whose oracle remembers its flow."""
    rng = np.random.default_rng(0)
    labels = [(rng.normal(size=12).cumsum() > 0).astype(int) for _ in range(n)]
    labels[0][:2] = 0, 1
    edges = cuts.grid_edges(3, 4)
    X = [Graph(np.column_stack([y, 1 - y]) + rng.normal(size=(12, 2)), edges) for y in labels]
    return SimpleNamespace(problem=GraphCutSVM(alpha=0.05)._problem(X, labels, None, None))


CASES = {
    **{
        f"bcfw-{step}-{sampling}": (BCFW(step, sampling), problems.chain)
        for step, sampling in product(
            ("frank-wolfe", "pairwise", "corrective"), ("permutation", "uniform", "gap")
        )
    },
    "bcfw-fixed": (BCFW("frank-wolfe", line_search=False), problems.chain),
    "bcfw-plain": (BCFW(averaging=False), problems.multiclass),
    "bcfw-small-cache": (BCFW("pairwise", cache=OracleCache(1, 2)), problems.matching),
    "bcfw-cached": (BCFW("frank-wolfe", cache=OracleCache(3, 3)), problems.matching),
    "bcfw-python": (BCFW(), problems.items),
    "bcfw-every-epoch": (BCFW(check_every=1), problems.chain),
    "bcfw-ball": (BCFW(), problems.INSIDE["finite-l2"]),
    "bcfw-cut": (BCFW("pairwise", "gap"), problems.cut),
    "bcfw-tables": (BCFW("frank-wolfe", "uniform"), problems.INSIDE["cut-tables"]),
    "bcfw-python-ball": (BCFW(), problems.INSIDE["items-l2"]),
    "fw-cut": (FrankWolfe(), problems.cut),
    "ssg-cut": (Subgradient(), problems.cut),
    "ssg-half-ball": (Subgradient("half"), problems.INSIDE["finite-l2"]),
    "perceptron-cut": (Perceptron(), problems.cut),
    "perceptron-batch-tables": (Perceptron(batch=True), problems.INSIDE["cut-tables"]),
    "bcfw-memory": (BCFW("frank-wolfe"), graph_cut),
    "bcfw-vertex-cache-memory": (BCFW("corrective"), graph_cut),
    "cuts-1": (CuttingPlane(), problems.chain),
    "cuts-1-plain": (CuttingPlane(cache=None, drop_after=1), problems.matching),
    "cuts-1-drop": (CuttingPlane(drop_after=1, cache=OracleCache(size=1)), problems.chain),
    "cuts-1-cone": (CuttingPlane(), problems.cut),
    "cuts-n-ball": (CuttingPlane("n-slack"), problems.INSIDE["finite-l2"]),
    "cuts-n": (CuttingPlane("n-slack", resolve_every=2), problems.chain),
    "cuts-n-python": (CuttingPlane("n-slack"), problems.items),
    "fw": (FrankWolfe(), problems.chain),
    "fw-fixed": (FrankWolfe(line_search=False), problems.chain),
    "ssg": (Subgradient(), problems.chain),
    "ssg-half": (Subgradient("half"), problems.chain),
    "ssg-last": (Subgradient(None), problems.chain),
    "perceptron": (Perceptron(), problems.chain),
    "perceptron-last": (Perceptron(averaged=False), problems.chain),
    "perceptron-batch": (Perceptron(batch=True), problems.chain),
    "eg": (ExponentiatedGradient(), problems.chain),
    "eg-uniform": (ExponentiatedGradient(sampling="uniform", averaging=False), problems.finite),
    "eg-batch": (ExponentiatedGradient("batch"), problems.chain),
    "eg-ball": (ExponentiatedGradient(), problems.INSIDE["finite-l2"]),
    "eg-batch-ball": (ExponentiatedGradient("batch"), problems.INSIDE["finite-l2"]),
    "extragradient": (Extragradient(), MATCHING),
    "extragradient-norm": (Extragradient(step="norm"), MATCHING),
    "extragradient-python": (Extragradient(), problems.items),
    "dual": (DualExtragradient(), MATCHING),
    "dual-low": (DualExtragradient(memory="low"), MATCHING),
    "dual-past": (DualExtragradient(past=True), MATCHING),
    "dual-low-past": (DualExtragradient(memory="low", past=True), MATCHING),
    "dual-adaptive": (DualExtragradient(step="adaptive"), MATCHING),
    "dual-restarts": (
        DualExtragradient(restarts=True, check_every=1), lambda: problems.multiclass(alpha=1.0)
    ),
    "dual-restarts-ball": (
        DualExtragradient(restarts=True, check_every=1),
        lambda: problems.matching(domain=domains.L2Ball(0.8)),
    ),
    "dual-entropic": (
        DualExtragradient("entropic"), lambda: problems.matching(n=40, domain=BALL, alpha=0.0)
    ),
    "dual-entropic-low": (
        DualExtragradient("entropic", "low"), lambda: problems.matching(domain=BALL)
    ),
    "projected-gradient": (ProjectedGradient(), MATCHING),
    "smoothed": (SmoothedGradient(), problems.chain),
    "projected-gradient-even": (ProjectedGradient(decay=False), MATCHING),
    "lbfgs": (LBFGS(memory=3), LIKELIHOOD),
    "qp": (ReferenceQP(), problems.chain),
    "sdca": (SDCA(), LIKELIHOOD),
    "sdca-permutation": (SDCA("permutation", check_every=1), LIKELIHOOD),
    "sdca-uniform": (SDCA("uniform"), LIKELIHOOD),
}  # fmt: skip


def solver_of(name, **options):
    return clone(CASES[name][0]).set_params(**({"max_epochs": EPOCHS, "tol": 0.0} | options))


def outcome(result):
    """All that must not change, bit for bit."""
    state, records = result.state, [replace(r, seconds=0.0) for r in result.history]
    own = vars(state) | {"rng": state.rng.bit_generator.state, "seconds": 0.0, "z": state.z}
    return (
        result.w.tobytes(),
        np.array([result.primal, result.dual]).tobytes(),
        result.status,
        result.n_epochs,
        [repr(record) for record in records],
        repr(as_bytes(own)),
    )


def as_bytes(value):
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {k: as_bytes(v) for k, v in sorted(value.items())}
    return [as_bytes(v) for v in value] if isinstance(value, tuple) else value


def sequences(seed=0, n=12):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(5, 4)) for _ in range(n)]
    return X, [rng.integers(3, size=5) for _ in X]
