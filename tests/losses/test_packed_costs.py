"""Costs of parts, of which equal rows are kept once."""

import numpy as np
import pytest

from maxmargin import ChainSVM
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.losses import Hamming, packed_costs


@pytest.mark.parametrize("most", [0, 2, 1000])
def test_rows_are_found_again(most, monkeypatch):
    monkeypatch.setattr(packed_costs, "_MOST", most)
    rng = np.random.default_rng(0)
    width = np.tile([7, 7, 49], 100).astype(np.int32)
    row_ptr = np.arange(0, 301, 3)
    rows = rng.integers(0, 2, size=(4, 7)) * 1.5
    given = [
        np.concatenate([rows[rng.integers(4)], rows[rng.integers(4)], np.zeros(49)])
        for _ in range(100)
    ]
    given[50][20] = -np.inf
    costs, start = packed_costs.pack_costs(iter(given), row_ptr, width)
    found = [np.zeros(w) if s < 0 else costs[s : s + w] for s, w in zip(start, width, strict=True)]
    assert np.array_equal(np.concatenate(found), np.concatenate(given))
    assert len(costs) == 7 * 4 + 49 or most < 1000


def test_few_or_narrow_parts_are_kept_as_they_are():
    given = [np.arange(6.0), np.ones(3)]
    costs, start = packed_costs.pack_costs(given, np.array([0, 6, 9]), np.ones(9, dtype=np.int32))
    assert np.array_equal(costs, np.concatenate(given))
    assert len(start) == 0


@pytest.mark.parametrize("solver", ["bcfw", "cutting-plane", "ssg", "smoothed", "extragradient"])
def test_solvers_see_the_same_costs(solver, monkeypatch):
    """A problem whose costs are kept by rows is solved to the same bits as one that is not."""
    data = make_sequences(n_samples=60, length=10, n_labels=7, random_state=0)
    results = []
    for wide in (4, 1000):
        monkeypatch.setattr(packed_costs, "_WIDE", wide)
        model = ChainSVM(
            alpha=0.05,
            loss=Hamming(class_weight=np.arange(1.0, 8.0)),
            solver=solver,
            max_epochs=4,
            tol=0,
        )
        problem = model._problem(data.X, data.y, None, None)
        assert (len(problem.packed.cost_start) > 0) == (wide == 4)
        with pytest.warns(ConvergenceWarning):
            results.append(model.fit(data.X, data.y).result_)
    assert np.array_equal(results[0].w, results[1].w)
    assert (results[0].primal, results[0].dual) == (results[1].primal, results[1].dual)
