"""Solvers of all families on one max-margin problem of chains: their certificates must overlap."""

import numpy as np
import pytest

from maxmargin import ChainSVM
from maxmargin.datasets import make_sequences
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
)

# gaps, relative to the objective, that each reaches in about a second
SOLVERS = {
    "fw": FrankWolfe(tol=0.2, max_epochs=2000),
    "eg": ExponentiatedGradient(tol=0.2, max_epochs=500),
    "extragradient": Extragradient(tol=0.02, max_epochs=500),
    "dual-extragradient": DualExtragradient(restarts=True, tol=0.05, max_epochs=500),
    "dual-extragradient-entropic": DualExtragradient(
        z_geometry="entropic", tol=0.02, max_epochs=1000
    ),
}
ALPHA = 0.05


@pytest.fixture(scope="module")
def samples():
    data = make_sequences(60, random_state=0)
    return data.X, data.y


@pytest.fixture(scope="module")
def optimum(samples):
    result = ChainSVM(alpha=ALPHA, solver=BCFW(tol=1e-3, max_epochs=500)).fit(*samples).result_
    assert result.gap <= 1e-3 * result.primal
    return result


@pytest.mark.parametrize("name", SOLVERS)
def test_one_optimum(samples, optimum, name):
    solver = SOLVERS[name]
    result = ChainSVM(alpha=ALPHA, solver=solver).fit(*samples).result_
    assert result.gap <= solver.tol * result.primal
    assert result.dual <= optimum.primal + 1e-12
    assert optimum.dual <= result.primal + 1e-12
    # by strong convexity, alpha/2 |w - w*|^2 <= P(w) - P* <= gap, for both
    apart = np.linalg.norm(result.w - optimum.w)
    assert apart <= np.sqrt(2 * result.gap / ALPHA) + np.sqrt(2 * optimum.gap / ALPHA)
