"""A dual point of other caps is not a point of the new polytopes: its bound would prove nothing."""

import numpy as np
import pytest

from maxmargin import MatchingSVM, StructuredSVM
from maxmargin.solvers import BCFW, DualExtragradient, resolve_solver
from maxmargin.structures import Matching, Structure

SOLVERS = ["bcfw", "fw", "ssg", "extragradient", "dual-extragradient", "projected-gradient"]


class Subset(Structure):
    """Exactly k of n items."""

    def __init__(self, k):
        self.k = k

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.isin(np.arange(layout[0]), y).astype(float)

    def decode(self, z, layout):
        return np.flatnonzero(z)

    def maximize(self, theta, layout):
        return self.encode(np.argsort(theta)[-self.k :], layout)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4, 4, 3))
    scores = X @ [1.0, -1.0, 0.5] + rng.normal(size=(30, 4, 4))
    structure = Matching()
    y = [structure.decode(structure.maximize(s.ravel(), (4, 4)), (4, 4)) for s in scores]
    return X, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_warm_start_with_smaller_caps_starts_afresh(data, solver):
    options = {"alpha": 0.1, "solver": solver, "max_epochs": 60}
    fresh = MatchingSVM(**options).fit(*data)
    warm = MatchingSVM(warm_start=True, row_cap=3, column_cap=3, **options).fit(*data)
    with pytest.warns(UserWarning, match="the structure or what it forbids changed"):
        warm.set_params(row_cap=1, column_cap=1).fit(*data)
    assert warm.result_.dual <= fresh.result_.primal + 1e-9
    assert warm.result_.primal >= fresh.result_.dual - 1e-9
    assert warm.result_.primal == pytest.approx(fresh.result_.primal)


@pytest.mark.parametrize("solver", [BCFW(max_epochs=3), DualExtragradient(max_epochs=3)])
def test_a_state_of_other_caps_is_refused(data, solver):
    wide, narrow = (MatchingSVM(0.1, row_cap=c, column_cap=c) for c in (3, 1))
    state = solver.run(wide._problem(*data, None, None)).state
    with pytest.raises(ValueError, match="outputs of another structure"):
        resolve_solver("bcfw").run(narrow._problem(*data, None, None), state)


def test_options_of_a_structure_in_python_count_too():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(5, 2)) for _ in range(10)]
    model = StructuredSVM(Subset(3), alpha=0.1, warm_start=True)
    model.fit(X, [np.argsort(x[:, 0])[-3:] for x in X])
    with pytest.warns(UserWarning, match="the structure or what it forbids changed"):
        model.set_params(structure=Subset(2)).fit(X, [np.argsort(x[:, 0])[-2:] for x in X])
