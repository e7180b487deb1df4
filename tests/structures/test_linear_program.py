"""Outputs by inequalities: what programs hold, what is wrong with them, and what comes out."""

import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from maxmargin import StructuredSVM, load
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.oracles.linear_program import project as quadratic
from maxmargin.structures import LinearProgram, Program

TRIANGLE = Program([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1.0)


def test_programs_are_equal_by_what_they_hold():
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    one = Program(matrix, [3, 1], part_upper=1)
    other = Program(sparse.coo_array(matrix), np.array([3.0, 1.0]), None, [], np.ones(3))
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert pickle.loads(pickle.dumps(one)) == one
    for changed in (
        Program(matrix, [3, 2], part_upper=1),
        Program(matrix, [3, 1], 0, part_upper=1),
        Program(matrix, [3, 1], equal=[True, False], part_upper=1),
        Program(matrix, [3, 1]),
        Program(2 * matrix, [3, 1], part_upper=1),
    ):
        assert changed != one
    with pytest.raises(AttributeError, match="frozen"):
        one.upper = np.ones(2)


def test_a_program_does_not_follow_its_arrays():
    matrix, upper = sparse.csr_array(np.ones((1, 2))), np.ones(1)
    program = Program(matrix, upper)
    matrix.data[:], upper[:] = 7, 7
    assert program == Program(np.ones((1, 2)), 1)


def test_all_of_it_as_rows():
    program = Program([[1, 1]], 3, equal=[0], part_upper=[np.inf, 2])
    matrix, lower, upper = program.constraints
    assert np.array_equal(matrix.toarray(), [[1, 1], [0, 1]])
    assert lower.tolist() == [3, -np.inf]
    assert upper.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("z", "why"),
    [
        ([1, 1, 0], ""),
        ([1, 1, 1], "row 0 asks for <= 2, found 3"),
        ([0, 0, 0.5], "row 1 asks for >= 0, found -0.5"),
        ([-0.5, 0, 0], "row 1 asks for >= 0, found -0.5"),
        ([1.5, 0, 0], "part 0 is 1.5, outside 0 to 1"),
        ([0.5, 0.5, 0], "part 0 is 0.5 and must be an integer"),
    ],
)
def test_what_is_wrong_with_an_output(z, why):
    program = Program([[1, 1, 1], [1, 0, -1]], [2, np.inf], [-np.inf, 0], part_upper=1)
    assert LinearProgram(integral=True).why_infeasible(np.array(z, dtype=float), program) == why


def test_rows_that_cannot_hold_are_named():
    program = Program([[1, 1], [1, 0], [0, 1]], [1, 5, 5], [-np.inf, 0, 3])
    with pytest.raises(InfeasibleError, match="row 2 cannot hold|row 0 cannot hold"):
        LinearProgram().maximize(np.ones(2), program)
    with pytest.raises(InfeasibleError, match="no output of integers"):
        LinearProgram(integral=True).maximize(np.ones(1), Program([[1]], 0.7, 0.3))


def test_parts_without_a_bound_are_named():
    program = Program([[1, 1, -1], [0, 1, 0]], [1, 3])
    with pytest.raises(InfeasibleError, match="part 2 may grow for ever"):
        LinearProgram().maximize(np.array([0.0, 0.0, 1.0]), program)
    with pytest.raises(InfeasibleError, match=r"part [02] may grow for ever.*part_upper"):
        LinearProgram().oracle().check_layout(program)
    LinearProgram().oracle().check_layout(TRIANGLE)
    assert LinearProgram().maximize(-np.ones(3), program).tolist() == [0, 0, 0]


def test_relaxed_answers_have_fractions_and_whole_ones_none():
    theta = np.array([1.0, 1.1, 1.2])
    relaxed = LinearProgram().maximize(theta, TRIANGLE)
    assert relaxed == pytest.approx([0.5, 0.5, 0.5])
    assert LinearProgram().integrality(relaxed) == pytest.approx(0.5)
    assert LinearProgram().oracle().is_fractional(relaxed)
    assert LinearProgram(integral=True).maximize(theta, TRIANGLE).tolist() == [0, 0, 1]
    some = LinearProgram(integral=[2]).maximize(theta, TRIANGLE)
    assert some[2] in (0, 1)
    assert theta @ some == pytest.approx(1.2)
    mask = np.array([False, False, True])
    assert np.array_equal(LinearProgram(integral=mask).maximize(theta, TRIANGLE), some)


def test_whole_numbers_have_no_rows_and_project_on_their_hull():
    whole = LinearProgram(integral=True)
    assert LinearProgram().oracle().has("constraints")
    assert not whole.oracle().has("constraints")
    with pytest.raises(MissingAbilityError, match="has no `constraints`"):
        whole.constraints(TRIANGLE)
    # the hull of 000, 100, 010, 001 is a simplex, which is less than the rows allow
    assert whole.project(np.ones(3), TRIANGLE) == pytest.approx(np.full(3, 1 / 3))
    assert LinearProgram().project(np.ones(3), TRIANGLE) == pytest.approx(np.full(3, 0.5))


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_to_project_agree(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((4, 6)) < 0.5).astype(float)
    program = Program(matrix, rng.integers(1, 3, 4), part_upper=1)
    equal = Program(np.vstack([matrix, np.ones(6)]), [*program.upper, 1], equal=[4], part_upper=1)
    for layout, scale in product((program, equal), (0.3, 3.0)):
        point = scale * rng.normal(size=6)
        z = LinearProgram().project(point, layout)
        with monkeypatch.context() as without:
            without.setattr(quadratic, "has_clarabel", lambda: False)
            assert np.abs(LinearProgram().project(point, layout) - z).max() < 1e-9
        assert layout.why_infeasible(z) == ""


def test_sizes_bound_the_polytope():
    assert LinearProgram().radius(Program(np.ones((1, 3)), 2)) >= np.sqrt(8)
    assert LinearProgram().radius(Program(np.ones((1, 2)), 9, part_upper=1)) == np.sqrt(2)


def samples(n=12, seed=0):
    """Paths in words: one of three ways, of which two share a part."""
    rng = np.random.default_rng(seed)
    w = np.array([1.0, -1.0])
    X = [rng.normal(size=(3, 2)) for _ in range(n)]
    return X, [LinearProgram(integral=True).maximize(x @ w, TRIANGLE) for x in X]


def test_training_says_which_share_of_answers_had_fractions():
    X, y = samples()
    relaxed = StructuredSVM(LinearProgram(TRIANGLE), alpha=0.05, tol=0.01).fit(X, y)
    whole = StructuredSVM(LinearProgram(TRIANGLE, integral=True), alpha=0.05, tol=0.01).fit(X, y)
    shares = [record.extra["fractional"] for record in relaxed.result_.history]
    assert 0 < max(shares) <= 1
    assert {record.extra["fractional"] for record in whole.result_.history} == {0.0}
    assert relaxed.result_.exact
    assert whole.result_.exact
    # the relaxed problem has more outputs, so its hinges are larger
    assert relaxed.result_.primal >= whole.result_.dual
    predicted = whole.predict(X)
    assert all(set(z) <= {0.0, 1.0} for z in predicted)
    rounded = StructuredSVM(LinearProgram(TRIANGLE, rounded=True), alpha=0.05).fit(X, y)
    assert all(set(z) <= {0.0, 1.0} for z in rounded.predict(X))


def test_each_sample_may_have_its_own_program_and_models_are_saved(tmp_path):
    X, y = samples()
    pairs = [(x, TRIANGLE if i % 2 else Program(np.ones((1, 3)), 1)) for i, x in enumerate(X)]
    model = StructuredSVM(LinearProgram(integral=True), alpha=0.05).fit(pairs, y)
    model.save(tmp_path / "own")
    again = load(tmp_path / "own")
    for a, b in zip(model.predict(pairs), again.predict(pairs), strict=True):
        assert np.array_equal(a, b)
    model = StructuredSVM(LinearProgram(TRIANGLE), alpha=0.05).fit(X, y)
    model.save(tmp_path / "same")
    assert load(tmp_path / "same").structure_.program == TRIANGLE


@pytest.mark.parametrize("part", [3, -4, 2**31, 10**19])
def test_whole_parts_that_a_program_has_not(part):
    structure = LinearProgram(Program(np.ones((1, 3)), 2.0, part_upper=1.0), integral=[part])
    with pytest.raises(ValueError, match="integral"):
        structure.why_infeasible(np.zeros(3), structure.program)


def test_whole_parts_may_all_score_nothing():
    """At weights of zero, say, where the relaxed answer has fractions."""
    program = Program([[-3, 0], [1, 2]], upper=[-2, 6], part_upper=1)
    z, bound = LinearProgram(integral=True).oracle().maximize(np.zeros(2), program)
    assert program.why_infeasible(z) == ""
    assert (z[0], bound) == (1, 0)


def test_scores_next_to_nothing_are_no_error():
    program = Program([[2, 2, 1], [1, 2, 2]], upper=3, part_upper=1)
    theta = np.array([3e-320, 2e-320, 1e-310])
    for integral in (False, True):
        z, bound = LinearProgram(integral=integral).oracle().maximize(theta, program)
        assert program.why_infeasible(z) == ""
        assert bound >= theta @ z


@pytest.mark.parametrize("large", [1e6, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("integral", [True, [1], False])
def test_whole_parts_are_so_beside_large_coefficients(large, integral):
    """Part 0 needs part 1, of which the tolerance of a solver would be enough."""
    program = Program([[1, -large]], upper=0, part_upper=1)
    z, bound = LinearProgram(integral=integral).oracle().maximize(np.array([1.0, -0.5]), program)
    assert program.why_infeasible(z) == ""
    best = 0.5 if integral else 1 - 0.5 / large
    assert_allclose([z @ [1, -0.5], bound], best, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("matrix", "z", "theta"),
    [
        (
            [[-0.001, -0.2, 0, 30, -3000], [3, -1000, -0.01, 0.02, 100]],
            [1, 0, 0, 0, 1],
            [0, 2, 1, 0, 0],
        ),
        (
            [
                [0, 0.001, 0.002, 10],
                [0, 20, 0.002, -3],
                [0.2, -200, -0.02, 200],
                [100, -0.1, 200, -0.1],
            ],
            [0, 0, 1, 1],
            [121464.58, -1.11679581, 181.393619, -5.05525147e-10],
        ),
    ],
)
def test_rows_of_mixed_sizes_keep_their_only_output(matrix, z, theta):
    values = np.array(matrix) @ z
    program = Program(matrix, upper=values, lower=values, part_upper=1)
    found, bound = LinearProgram(integral=True).oracle().maximize(np.array(theta, float), program)
    assert found.tolist() == z
    assert_allclose(bound, np.dot(theta, z), atol=1e-12)
