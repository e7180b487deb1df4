"""States and checkpoints of other outputs are refused: their dual points prove nothing here."""

import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin.features import PartFeatures
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW
from maxmargin.structures import Matching, Restricted, RestrictedLayout, Structure
from maxmargin.validation.samples import check_rows

N = 6
FEATURES = [np.random.default_rng(i).normal(size=(9, 2)) for i in range(N)]
ONES = np.ones((1, 9))

#: what may differ between two shapes of the same size
SHAPES = {
    "no rule": RestrictedLayout((3, 3)),
    "one link": RestrictedLayout((3, 3), matrix=ONES, upper=1),
    "two links": RestrictedLayout((3, 3), matrix=ONES, upper=2),
    "a link": RestrictedLayout((3, 3), matrix=ONES, lower=1),
    "row of two": RestrictedLayout((3, 3), matrix=2 * ONES, upper=2),
    "on": RestrictedLayout((3, 3), on=[0]),
    "off": RestrictedLayout((3, 3), off=[1]),
}


def problem(shape):
    truth = np.tile(np.eye(9)[0], N)
    packed = PartFeatures().pack(check_rows(FEATURES), 0, np.full(N, 9))
    return Problem(
        Restricted(Matching()), [shape] * N, packed, costs=1 - 2 * truth, truth=truth, alpha=0.1
    )


def test_all_that_decides_the_outputs_is_in_the_key():
    keys = {problem(shape).outputs_key for shape in SHAPES.values()}
    assert len(keys) == len(SHAPES)
    assert problem(SHAPES["on"]).outputs_key == problem(RestrictedLayout((3, 3), [0])).outputs_key


def test_a_state_of_other_rules_is_refused():
    state = BCFW(max_epochs=5).run(problem(SHAPES["no rule"])).state
    with pytest.raises(ValueError, match="outputs of another structure"):
        BCFW(max_epochs=5).run(problem(SHAPES["one link"]), state)


def test_a_checkpoint_of_other_rules_is_refused(tmp_path):
    def fit(shape, resume):
        kept = Checkpoint(tmp_path / "c", epochs=1, resume=resume)
        model = StructuredSVM(Restricted(Matching()), alpha=0.3, tol=0.3, callbacks=[kept])
        return model.fit([(x, shape) for x in FEATURES], [[(0, 0)]] * N)

    fit(SHAPES["two links"], resume=False)
    with pytest.raises(ValueError, match="checkpoint of another run: another structure"):
        fit(SHAPES["one link"], resume=True)
    fit(SHAPES["two links"], resume=True)


def at_most(cap):
    def oracle(theta):
        return [p for p in np.argsort(-theta)[:cap] if theta[p] > 0]

    return oracle


def test_a_closure_over_another_number_is_another_oracle():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 2)) for _ in range(10)]
    y = [[int(rng.integers(4))] for _ in X]
    model = StructuredSVM(Structure.from_oracle(at_most(3)), alpha=0.05, tol=0.05, warm_start=True)
    model.fit(X, y)
    model.set_params(structure=Structure.from_oracle(at_most(3)), alpha=0.04).fit(X, y)
    with pytest.warns(UserWarning, match="warm_start: .* starting afresh"):
        model.set_params(structure=Structure.from_oracle(at_most(2))).fit(X, y)
    best = StructuredSVM(Structure.from_oracle(at_most(2)), alpha=0.04, tol=1e-3, max_epochs=500)
    assert model.result_.dual <= best.fit(X, y).result_.primal
