"""Programs solved by HiGHS: one large score hides no other, and bounds are never too low."""

from itertools import product

import numpy as np
import pytest

from maxmargin import ChainSVM, Restriction, StructuredSVM
from maxmargin.oracles.constraints import part_score
from maxmargin.structures import (
    Chain,
    LinearProgram,
    Program,
    Restricted,
    RestrictedLayout,
    Structure,
)


def knapsack(rng):
    """A program in integers, and all its outputs."""
    parts = int(rng.integers(3, 8))
    rows = rng.integers(0, 5, size=(2, parts)).astype(float)
    most = rng.integers(3, 9, size=2).astype(float)
    listed = np.array(list(product((0.0, 1.0), repeat=parts)))
    return Program(rows, most, part_upper=1.0), listed[(listed @ rows.T <= most).all(axis=1)]


def counted_chain():
    """Chains of 3 labels whose label 1 occurs once or twice."""
    rule = np.zeros((1, 18))
    rule[0, [1, 4, 7]] = 1.0
    return Restricted(Chain()), RestrictedLayout((3, 3), matrix=rule, lower=1, upper=2)


def draw(rng, parts, largest):
    """Scores of about 1, times any unit, but for one or two that are up to `largest` times that."""
    theta = rng.normal(size=parts)
    for place in rng.integers(parts, size=rng.integers(1, 3)):
        theta[place] = rng.choice([-1, 1]) * 10 ** rng.uniform(2, np.log10(largest))
    return theta * 10.0 ** rng.integers(-6, 7)


def check(structure, layout, outputs, theta, exact=True):
    z, bound = structure.oracle().maximize(theta, layout)
    best = float((outputs @ theta).max())
    # sums of the outputs, and the smallest differences that they can show
    slack = 1e-14 * float((outputs @ np.abs(theta)).max()) + 1e-9 * float(np.median(np.abs(theta)))
    assert bound >= best - slack
    assert bound >= part_score(theta, z)
    if exact:
        assert theta @ z >= best - slack


@pytest.mark.parametrize("seed", range(25))
def test_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    program, outputs = knapsack(rng)
    check(LinearProgram(integral=True), program, outputs, draw(rng, program.n_parts, 1e8))


@pytest.mark.parametrize("seed", range(15))
def test_rules_and_counts(seed):
    rng = np.random.default_rng(seed)
    structure, layout = counted_chain()
    outputs = np.array(list(structure.vertices(layout)))
    check(structure, layout, outputs, draw(rng, 18, 1e8))


@pytest.mark.parametrize("largest", [1e8, 1e14, 1e16])
def test_pairs_that_must_be_on_beside_vetoes(largest):
    """They are drawn in by a score above all others, which costs as many digits."""
    rng, structure = np.random.default_rng(0), Restricted(Chain(tied=False))
    for _ in range(100):
        layout, theta = RestrictedLayout((4, 3), on=[rng.integers(12, 39)]), rng.normal(size=39)
        theta[rng.integers(39)] = -largest
        z, bound = structure.oracle().maximize(theta, layout)
        best = max(part_score(theta, output) for output in structure.vertices(layout))
        assert bound >= best
        assert largest > 1e8 or part_score(theta, z) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_vetoes_of_any_size_in_relaxed_programs(seed):
    """The same answer as with a veto that is small enough for any solver."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, size=(3, 6)).astype(float)
    program, theta = Program(rows, 1.0, part_upper=1.0), rng.normal(size=6)
    values = []
    for veto in (-30.0, -1e4, -1e7, -1e9):
        theta[0] = veto
        z, bound = LinearProgram().oracle().maximize(theta, program)
        assert z[0] == 0.0
        assert bound == pytest.approx(theta @ z, abs=1e-12)
        values.append(theta @ z)
    assert values == pytest.approx([values[0]] * 4, abs=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000))
def test_scores_up_to_1e13_are_bounded(seed):
    """Beyond 1e8 answers may miss what the solver cannot see, but not their bounds."""
    rng = np.random.default_rng(seed)
    program, outputs = knapsack(rng)
    theta = draw(rng, program.n_parts, 1e13)
    check(LinearProgram(integral=True), program, outputs, theta, exact=False)
    structure, layout = counted_chain()
    outputs = np.array(list(structure.vertices(layout)))
    check(structure, layout, outputs, draw(rng, 18, 1e13), exact=False)


def test_an_integrality_gap_of_the_largest_score_is_bounded():
    structure, layout = counted_chain()
    theta = np.array([2.5, -0.9, 0.2, 1.1, 1.8, 0.1, 0.5, 0.3, 1, 8.75e12, -1, -1.1, 1.6, -1.5])
    theta = np.concatenate([theta, [-1.1, 1.2, -2.3, -1.65e9]]) * 1e-2
    check(structure, layout, np.array(list(structure.vertices(layout))), theta, exact=False)


class ByRows(Structure):
    """Outputs by rows alone: `maximize` is a linear program over them."""

    def n_parts(self, layout):
        return layout.n_parts

    def constraints(self, layout):
        return layout.constraints


def test_structures_by_rows_alone_have_bounds():
    program = Program([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1.0)
    theta = np.array([1.0, -1e9, 2.0])
    z, bound = ByRows().oracle().maximize(theta, program)
    assert ByRows().oracle().is_bounded
    assert not Chain().oracle().is_bounded
    assert z.tolist() == [0.0, 0.0, 1.0]
    assert bound == 2.0


def test_objectives_are_true_beside_vetoes():
    """A feature that vetoes in some samples and decides in others: P by enumeration."""
    rng, parts, alpha = np.random.default_rng(1), 4, 1e-6
    row = np.array([2.0, 3, 2, 3])
    outputs = np.array([z for z in product((0.0, 1.0), repeat=parts) if row @ z <= 5])
    X, Y = [], []
    for i in range(8):
        x = np.zeros((parts, 3))
        x[:, 1:] = rng.normal(size=(parts, 2))
        if i < 4:
            x[:, 0] = 1e-3 * rng.normal(size=parts)
            y = outputs[(outputs @ x[:, 0]).argmax()]
        else:
            x[0, 0], y = -1e4, np.zeros(parts)
        X.append(x)
        Y.append(y)
    structure = LinearProgram(Program([row], 5.0, part_upper=1.0), integral=True)
    with pytest.warns(UserWarning, match="max_epochs"):
        model = StructuredSVM(structure, alpha=alpha, max_epochs=40).fit(X, Y)
    w = model.coef_
    costs = [(1 - 2 * y) / parts for y in Y]
    hinges = [((outputs - y) @ (x @ w + c)).max() for x, y, c in zip(X, Y, costs, strict=True)]
    assert model.result_.primal == pytest.approx(alpha / 2 * w @ w + np.mean(hinges), rel=1e-9)
    for x, z in zip(X, model.predict(X), strict=True):
        assert z @ (x @ w) == pytest.approx((outputs @ (x @ w)).max(), abs=1e-9)


def test_counts_beside_an_outlier_of_a_feature():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(20)]
    y = [(x @ rng.normal(size=(3, 3))).argmax(1) for x in X]
    model = ChainSVM(alpha=0.1, bias=False, ends=False).fit(X, y)
    nodes, pairs = model.coef_[:9].reshape(3, 3), model.coef_[9:].reshape(3, 3)
    for big in (1e6, -1e7, 1e8):
        x = rng.normal(size=(4, 3))
        x[0, 0] = big
        scores = x @ nodes
        scores[0] -= scores[0].max()  # the same for all outputs, and no digits are lost
        allowed = [own for own in product(range(3), repeat=4) if 1 <= own.count(1) <= 2]
        values = {
            own: scores[np.arange(4), list(own)].sum() + pairs[list(own[:-1]), list(own[1:])].sum()
            for own in allowed
        }
        found = model.predict_restricted([x], [Restriction(counts={1: (1, 2)})])[0]
        assert values[tuple(found.tolist())] == pytest.approx(max(values.values()), abs=1e-6)
