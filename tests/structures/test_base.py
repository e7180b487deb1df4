"""What a structure gets for free, and what it is told when an ability is missing."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.oracles.linear_program.maximize import maximize_linear
from maxmargin.oracles.min_norm_point import project_by_vertices
from maxmargin.structures import Chain, Constraints, Finite, MarkovNetwork, Multiclass, Structure
from reference import enumeration
from reference.abilities import ability_of
from reference.user_structures import Assignment, AtMostTwo

ABILITIES = ["maximize", "project", "marginals", "max_marginals", "constraints", "vertices"]


def test_a_structure_fits_in_the_head():
    public = [name for name in vars(Structure) if not name.startswith("_")]
    assert len(public) <= 20, public


def test_methods_of_a_class_go_before_its_oracle():
    class Doubled(Finite):
        def marginals(self, theta, layout):
            return 2 * super().marginals(theta, layout)

    own, theta = Doubled(), np.zeros(4)
    assert own.marginals(theta, (4,)).tolist() == own.oracle().marginals(theta, (4,)).tolist()
    assert own.oracle().marginals(theta, (4,)).tolist() == [0.5] * 4
    assert own.oracle().maximize(theta, (4,))[1] == 0.0
    assert own.oracle().compiled_function("marginals") is None
    assert own.oracle().compiled_function("project") is not None


def test_a_class_that_may_miss_maxima_proves_nothing():
    class Hasty(MarkovNetwork):
        def maximize(self, theta, layout):
            return self.encode(np.zeros(layout.n_nodes), layout)

    assert MarkovNetwork(method="bounded").oracle().gap_is_proof
    assert not Hasty(method="bounded").oracle().gap_is_proof
    assert Hasty(method="exact").oracle().gap_is_proof  # unless it says is_exact = False


class Bare(Structure):
    """Nothing at all."""


class Slow(Finite):
    """A compiled ability replaced by one in plain Python."""

    def maximize(self, theta, layout):
        return np.eye(layout[0])[int(np.argmin(theta))]


@pytest.mark.parametrize(
    "structure, expected",
    [
        (Bare(), []),
        (AtMostTwo(), ["maximize", "project"]),
        (Assignment(), ["maximize", "project", "constraints"]),
        (Chain(), ABILITIES),
        (Finite(), ABILITIES),
    ],
)
def test_has(structure, expected):
    assert [ability for ability in ABILITIES if structure.oracle().has(ability)] == expected


@pytest.mark.parametrize(
    "ability", ["maximize", "project", "marginals", "log_partition", "max_marginals"]
)
def test_missing_abilities_are_named_with_a_hint(ability):
    with pytest.raises(MissingAbilityError) as caught:
        ability_of(Bare(), ability)(np.zeros(2), (2,))
    assert str(caught.value) == f"Bare has no `{ability}`. Define Bare.{ability}."


@pytest.mark.parametrize("ability", ["constraints", "vertices", "n_parts"])
def test_missing_descriptions_are_named(ability):
    with pytest.raises(MissingAbilityError, match=f"Bare has no `{ability}`"):
        getattr(Bare(), ability)((2,))


def test_missing_ability_lists_what_is_there():
    with pytest.raises(MissingAbilityError, match="only `maximize`, `project`"):
        AtMostTwo().marginals(np.zeros(2), (2,))


def test_an_ability_replaced_in_python_is_not_taken_from_compiled_code():
    assert Slow().oracle().compiled_function("maximize") is None
    assert Slow().oracle().compiled_function("marginals") is Finite().oracle().compiled_function(
        "marginals"
    )
    assert Slow().maximize(np.array([3.0, 1.0, 2.0]), (3,)).tolist() == [0, 1, 0]


def test_a_marginals_in_python_does_not_give_the_log_partition_of_compiled_code():
    class Other(Finite):
        def marginals(self, theta, layout):
            return np.full(layout[0], 1 / layout[0])

    with pytest.raises(MissingAbilityError, match="log_partition"):
        Other().log_partition(np.zeros(3), (3,))


@pytest.mark.parametrize("y", [-1, 3, 10])
def test_outputs_that_are_not_listed_are_refused(y):
    with pytest.raises(ValueError, match="expected an output number from 0 to 2"):
        Finite().encode(y, (3,))


# -- linear programs -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_linear_program_finds_the_best_assignment(n, scale):
    theta = scale * np.random.default_rng(n).standard_normal((n, n))
    rows, columns = linear_sum_assignment(-theta)
    z = Assignment().maximize(theta, (n,))
    assert set(np.unique(z)) <= {0.0, 1.0}
    assert theta.ravel() @ z == pytest.approx(theta[rows, columns].sum(), rel=1e-12)


def test_linear_program_with_two_sided_rows_and_extra_columns():
    # 1 <= z0 + z1 + e <= 2, e <= 0.5, z0 - z1 >= -0.25
    matrix = sparse.csr_array(np.array([[1.0, 1, 1], [0, 0, 1], [1, -1, 0]]))
    lower, upper = np.array([1.0, -np.inf, -0.25]), np.array([2.0, 0.5, np.inf])
    constraints = Constraints(matrix, lower, upper)
    assert maximize_linear(constraints, np.array([1.0, 2.0]))[0] == pytest.approx([0.875, 1.125])
    assert maximize_linear(constraints, np.array([-1.0, -2.0]))[0] == pytest.approx([0.5, 0.0])
    assert maximize_linear(constraints, np.array([1.0, -np.inf]))[0] == pytest.approx([2.0, 0.0])
    with pytest.raises(
        InfeasibleError, match="no output satisfies all rows"
    ):  # z1 + e reach 0.75 at most
        maximize_linear(constraints, np.array([-np.inf, 1.0]))


def test_linear_program_without_solution_says_so():
    impossible = Constraints(sparse.csr_array(np.ones((1, 2))), np.array([3.0]), np.array([2.0]))
    with pytest.raises(InfeasibleError, match="no solution"):
        maximize_linear(impossible, np.zeros(2))


# -- projection by vertices ------------------------------------------------------------------------


def oracle(vertices):
    return lambda theta: vertices[int(np.argmax(enumeration.scores(theta, vertices)))]


@pytest.mark.parametrize("n, dim", [(1, 3), (2, 1), (5, 3), (30, 4), (40, 20)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 10.0])
def test_projection_on_hulls_of_any_vertices(n, dim, scale):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        vertices = rng.standard_normal((n, dim))
        point = scale * rng.standard_normal(dim)
        z = project_by_vertices(oracle(vertices), point)
        assert np.abs(z - enumeration.nearest_in_hull(point, vertices)).max() <= 1e-8


def test_projection_on_a_hull_of_repeated_and_aligned_vertices():
    vertices = np.array([[0.0, 0], [2, 0], [1, 0], [1, 0], [0.5, 0], [2, 0]])
    for point, expected in [((0.7, 5.0), 0.7), ((-3.0, 1.0), 0.0), ((9.0, 0.0), 2.0)]:
        assert project_by_vertices(oracle(vertices), np.array(point)) == pytest.approx(
            [expected, 0]
        )


def test_projection_that_does_not_settle_is_an_error():
    vertices = np.random.default_rng(0).standard_normal((20, 5))
    with pytest.raises(RuntimeError, match="did not converge in 1 steps"):
        project_by_vertices(oracle(vertices), np.zeros(5), max_steps=1)


def test_projection_of_a_huge_point_is_as_good_as_its_digits():
    point = 1e9 + np.array([0.0, -0.9375, -3.0])
    expected = [0.96875, 0.03125, 0.0]
    assert np.abs(project_by_vertices(oracle(np.eye(3)), point) - expected).max() <= 1e-6
    assert np.abs(Finite().project(point, (3,)) - expected).max() <= 1e-6


def test_scores_may_be_read_only():
    theta = np.array([0.0, 2.0, 1.0])
    theta.flags.writeable = False
    assert Multiclass().maximize(theta, (3,)).tolist() == [0.0, 1.0, 0.0]


def test_labels_are_whole_numbers():
    with pytest.raises(ValueError, match=r"y is 1.7, expected an output number"):
        Multiclass().encode(1.7, (3,))
    with pytest.raises(ValueError, match=r"labels that are not integers: 1.7"):
        Chain().encode([0, 1.7], (2, 3))
    assert Multiclass().encode(np.float64(1.0), (3,)).argmax() == 1


def test_finite_structures_say_how_many_outputs_they_have():
    from maxmargin.structures import Chain, Finite, Multiclass

    for structure in (Finite(), Multiclass()):
        assert structure.n_vertices((7,)) == len(list(structure.vertices((7,)))) == 7
    assert Chain().n_vertices((3, 2)) is None


def test_no_more_vertices_are_remembered_than_there_are():
    from contract import problems
    from maxmargin.solvers import BCFW

    made = problems.multiclass()
    state = BCFW().init(made.problem)
    classes = made.problem.layouts[0][0]
    assert len(state.vertex_cache.count) == made.problem.n
    assert len(state.vertex_cache.score) == min(30, classes) + 2
