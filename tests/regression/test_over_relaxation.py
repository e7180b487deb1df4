"""Over-relaxed steps at gaps of rounding size: masses stay masses, bounds stay bounds."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

from maxmargin import ChainSVM, MulticlassSVM
from maxmargin.result import Status

pytestmark = pytest.mark.one_in(4)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("forbid", [False, True])
def test_bounds_hold_to_the_last_digit(seed, forbid):
    """Moves below the rounding of a mass once made the step explode, and z leave its polytope."""
    rng = np.random.default_rng(seed)
    W = 2 * rng.normal(size=(5, 6))
    X = [rng.normal(size=(4, 5)) for _ in range(40)]
    y = [(x @ W).argmax(1) for x in X]
    seen = {(int(j), int(k)) for a in y for j, k in pairwise(a)}
    unseen = [(j, k) for j in range(6) for k in range(6) if (j, k) not in seen]
    assert unseen or not forbid
    model = ChainSVM(
        alpha=0.015, forbidden_transitions=unseen[:1] if forbid else (), max_epochs=300, tol=1e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(X, y).result_
    assert result.gap >= -1e-12
    nodes = result.state.z.reshape(40, -1)[:, : 4 * len(np.unique(np.concatenate(y)))]
    assert nodes.min() >= 0.0
    np.testing.assert_allclose(nodes.sum(axis=1), 4.0, atol=1e-10)


def test_repeated_samples_do_not_break_the_bound():
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=60)
    X = rng.normal(size=(60, 3)) + 4 * rng.normal(size=(4, 3))[y]
    repeated = np.repeat(np.arange(60), 1 + np.arange(60) % 3)
    model = MulticlassSVM(alpha=0.05, tol=1e-6, max_epochs=1000).fit(X[repeated], y[repeated])
    assert model.result_.status is Status.CONVERGED
    assert 0 <= model.result_.gap <= 1e-6 * model.result_.primal
