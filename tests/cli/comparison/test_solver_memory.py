import numpy as np

from maxmargin import MatchingSVM
from maxmargin.callbacks import Callback
from maxmargin.cli.comparison.solver_memory import solver_bytes, state_bytes
from maxmargin.result import State
from maxmargin.solvers import DualExtragradient


class Keep(Callback):
    def on_start(self, run):
        self.problem = run.problem


def test_arrays_of_a_state_are_counted_once():
    w = np.zeros(10)
    state = State(w, np.zeros(1000), np.random.default_rng(0))
    before = state_bytes(state)
    assert before == 8 * (10 + 1000)
    state.best = w
    state.lists, state.views, state.number = [np.zeros(5), w], (w[:3],), 7
    assert state_bytes(state) == before + 8 * 5


def test_the_lean_variant_takes_less():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 6, 3)) for _ in range(60)]
    y = [[(0, 0), (1, 1)] for _ in range(60)]
    keep, sizes = Keep(), {}
    for kind in ("plain", "low"):
        solver = DualExtragradient(memory=kind, max_epochs=2, tol=0.0)
        state = MatchingSVM(solver=solver, alpha=0.0, callbacks=[keep]).fit(X, y).result_.state
        sizes[kind] = solver_bytes(solver, keep.problem, state)
    assert 0 < sizes["low"] < sizes["plain"]
    larger = State(state.w, np.zeros(10**6), state.rng)
    more = solver_bytes(solver, keep.problem, larger) - sizes["low"]
    assert 7e6 < more <= 8e6
