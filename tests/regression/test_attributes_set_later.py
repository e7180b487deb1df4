"""A run goes on only under the rules that it began with, also those set after construction."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from maxmargin import StructuredSVM
from maxmargin.features import PartFeatures
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW
from maxmargin.structures import Structure
from maxmargin.validation.samples import check_rows

N = 6
FEATURES = [np.random.default_rng(i).normal(size=(5, 2)) for i in range(N)]
ANOTHER = "checkpoint of another run: another structure"


class AtMost(Structure):
    """At most `limit` of the items, which is no option."""

    limit = 1

    def n_parts(self, layout):
        return layout[0]

    def encode(self, y, layout):
        return np.isin(np.arange(layout[0]), y).astype(float)

    def decode(self, z, layout):
        return np.flatnonzero(z)

    def maximize(self, theta, layout):
        return self.encode([p for p in np.argsort(-theta)[: self.limit] if theta[p] > 0], layout)


def problem(limit):
    structure, truth = AtMost(), np.tile(np.eye(5)[0], N)
    structure.limit = limit
    packed = PartFeatures().pack(check_rows(FEATURES), 0, np.full(N, 5))
    return Problem(structure, [(5,)] * N, packed, costs=1 - 2 * truth, truth=truth, alpha=0.1)


def run(path, limit, resume, epochs=2):
    kept = Checkpoint(path, epochs=1, resume=resume)
    return BCFW(max_epochs=epochs, tol=0.0).run(problem(limit), callbacks=[kept])


def test_a_state_under_another_limit_is_refused():
    state = BCFW(max_epochs=2).run(problem(3)).state
    with pytest.raises(ValueError, match="outputs of another structure"):
        BCFW(max_epochs=2).run(problem(4), state)
    BCFW(max_epochs=2).run(problem(3), state)


def test_a_checkpoint_under_another_limit_is_refused(tmp_path):
    run(tmp_path / "c", 3, resume=False)
    with pytest.raises(ValueError, match=ANOTHER):
        run(tmp_path / "c", 4, resume=True)
    whole = run(tmp_path / "whole", 3, resume=False, epochs=5)
    assert run(tmp_path / "c", 3, resume=True, epochs=5).dual == whole.dual


def test_another_process_goes_on_under_the_same_limit_only(tmp_path):
    def start(code):
        return subprocess.run(
            [sys.executable, "-c", "import pytest, test_attributes_set_later as t\n" + code],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=300,
        )

    path = str(tmp_path / "c")
    assert start(f"t.run({path!r}, 3, False, 2)").returncode == 0
    again = start(
        f"with pytest.raises(ValueError, match=t.ANOTHER): t.run({path!r}, 4, True, 5)\n"
        f"print(t.run({path!r}, 3, True, 5).dual)"
    )
    assert again.returncode == 0, again.stderr
    whole = run(tmp_path / "whole", 3, resume=False, epochs=5)
    assert float(again.stdout) == whole.dual


class Solver(BaseEstimator):
    def solve(self, theta):
        return [p for p in np.argsort(-theta)[: self.limit] if theta[p] > 0]


def test_oracles_that_are_methods_count_with_what_was_set_on_their_objects(tmp_path):
    def fit(limit, resume):
        solver = Solver()
        solver.limit = limit
        kept = Checkpoint(tmp_path / "c", epochs=1, resume=resume)
        structure = Structure.from_oracle(solver.solve)
        model = StructuredSVM(structure, alpha=0.3, tol=0.3, callbacks=[kept])
        return model.fit(FEATURES, [[0]] * N)

    fit(3, resume=False)
    with pytest.raises(ValueError, match=ANOTHER):
        fit(4, resume=True)
    fit(3, resume=True)


class Fewer(AtMost):
    """Limits by an option whose name begins as those that the library checks by itself."""

    def __init__(self, forbidden_above=2):
        self.forbidden_above = forbidden_above

    @property
    def limit(self):
        return self.forbidden_above


def test_options_of_own_structures_count_whatever_their_names():
    X = [(x, (5,)) for x in FEATURES]
    model = StructuredSVM(Fewer(3), alpha=0.3, tol=0.3, warm_start=True).fit(X, [[0]] * N)
    with pytest.warns(UserWarning, match="the structure or what it forbids changed"):
        model.set_params(structure=Fewer(2)).fit(X, [[0]] * N)
