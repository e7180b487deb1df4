"""Solvers of all families on one max-margin problem of chains: their certificates must overlap."""

import numpy as np
import pytest

from maxmargin import ChainSVM
from maxmargin.datasets import make_words
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
)

# how large a gap, relative to the objective, each is left with after epochs that take a second
SOLVERS = {
    "bcfw": (BCFW(tol=1e-5, max_epochs=500), 1e-5),
    "fw": (FrankWolfe(tol=2e-2, max_epochs=2000), 2e-2),
    "eg": (ExponentiatedGradient(tol=2e-2, max_epochs=500), 2e-2),
    "extragradient": (Extragradient(tol=2e-2, max_epochs=500), 2e-2),
    "dual-extragradient": (DualExtragradient(restarts=True, tol=2e-2, max_epochs=500), 2e-2),
    "dual-extragradient-entropic": (
        DualExtragradient(z_geometry="entropic", tol=0.1, max_epochs=500),
        0.1,
    ),
}


@pytest.fixture(scope="module")
def words():
    data = make_words(60, random_state=0)
    return data.X, data.y


@pytest.fixture(scope="module")
def optimum(words):
    result = ChainSVM(alpha=1e-2, solver=SOLVERS["bcfw"][0]).fit(*words).result_
    assert result.gap <= 1e-5 * result.primal
    return result


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "bcfw"])
def test_one_optimum(words, optimum, name):
    solver, tol = SOLVERS[name]
    result = ChainSVM(alpha=1e-2, solver=solver).fit(*words).result_
    assert result.gap <= tol * result.primal
    assert result.dual <= optimum.primal + 1e-12
    assert optimum.dual <= result.primal + 1e-12
    # strong convexity: alpha/2 |w - w*|^2 <= P(w) - P*, for both
    apart = np.linalg.norm(result.w - optimum.w)
    assert apart <= np.sqrt(2 * result.gap / 1e-2) + np.sqrt(2 * optimum.gap / 1e-2)
