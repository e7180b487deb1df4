"""ReferenceQP against optima found without it, in every domain, and what it refuses."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

from contract import problems
from contract.optimum_table import network
from maxmargin import ChainSVM
from maxmargin.datasets import make_sequences
from maxmargin.domains import Domain, L1Ball, L2Ball, NonNegative, Product, Signs, SubmodularCone
from maxmargin.exceptions import ConvergenceWarning, MissingAbilityError
from maxmargin.features.base import part_features
from maxmargin.result import Status
from maxmargin.solvers import BCFW, ReferenceQP
from maxmargin.solvers.qp import interior_point, program_size, reference_qp
from maxmargin.solvers.qp.cone_program import cone_program
from maxmargin.solvers.qp.feasible import nearest_feasible
from maxmargin.solvers.qp.polytopes import sample_polytopes
from maxmargin.solvers.qp.program_size import ProgramTooLargeError
from maxmargin.structures import Structure
from reference.training import optimum

CASES = {
    name: make
    for name, make in (problems.CASES | problems.INSIDE | {"matching": problems.matching}).items()
    if not name.startswith(("items", "from-oracle"))
}
GROUPS = Product([([0], L1Ball(0.5)), ([1, 2], L2Ball(0.4, Signs([0])))])
PLACES = {
    "l1 ball": (problems.matching, L1Ball(0.8)),
    "l1 ball with signs": (problems.multiclass, L1Ball(0.8, Signs([0, 3], [5]))),
    "l2 ball": (problems.chain, L2Ball(0.8)),
    "l2 ball with a cone": (problems.finite, L2Ball(0.7, SubmodularCone())),
    "l2 ball with signs": (problems.matching, L2Ball(0.5, NonNegative([1]))),
    "product": (problems.matching, GROUPS),
}


def violation(problem, z):
    """By how much z violates a row of its sample's constraints at most."""
    worst = -z.min()
    for i, layout in enumerate(problem.layouts):
        rows = problem.structure.constraints(layout)
        values = rows.matrix @ z[problem.parts(i)]
        worst = max(worst, (rows.lower - values).max(), (values - rows.upper).max())
    return worst


@pytest.mark.parametrize("name", CASES)
@pytest.mark.one_in(3)
def test_the_optimum_is_that_of_projected_gradient_over_all_vertices(name):
    made = CASES[name]()
    best, bound, w = optimum(made.training, 1e-7)
    result = ReferenceQP(tol=1e-7).run(made.problem)
    assert result.status is Status.CONVERGED
    assert result.relative_gap <= 1e-7
    # oracles that are linear programs have HiGHS's tolerance of 1e-7
    slack = 1e-7 if name in ("assignment", "linear-program") else 1e-9
    assert bound - slack <= result.primal <= best + slack
    assert made.training.primal(result.w) == pytest.approx(result.primal, abs=slack)
    assert made.training.dual(result.state.z) == pytest.approx(result.dual, abs=1e-9)
    if name.startswith("cut"):  # edges may have more than the hull of all cuts gives them
        assert violation(made.problem, result.state.z) <= 1e-12
    else:
        assert made.training.distance(result.state.z) < 1e-9
    # P is strongly convex: alpha/2 |w - w*|^2 <= P(w) - P* for both
    assert np.linalg.norm(result.w - w) <= np.sqrt(8e-7 * best / problems.ALPHA)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_weights_stay_in_their_domain_with_a_penalty_and_without(place, alpha):
    make, domain = PLACES[place]
    problem = make(alpha=alpha, domain=domain).problem
    result = ReferenceQP(tol=1e-7).run(problem)
    assert result.status is Status.CONVERGED
    assert result.relative_gap <= 1e-7
    assert domain.contains(result.w, 1e-12)
    # no better point nearby or far
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        for _ in range(20):
            other = domain.project(result.w + size * rng.normal(size=problem.dim))
            assert problem.primal(other) >= result.primal - 1e-7


def test_linear_programs_go_to_highs_and_all_else_to_clarabel(monkeypatch):
    asked = []
    for name in ("by_highs", "by_clarabel"):
        real = getattr(interior_point, name)
        monkeypatch.setattr(
            reference_qp,
            name,
            lambda *args, real=real, name=name: asked.append(name) or real(*args),
        )
    for alpha, domain in ((0.0, L1Ball(1.0)), (0.1, L1Ball(1.0)), (0.0, L2Ball(1.0))):
        ReferenceQP().run(problems.matching(alpha=alpha, domain=domain).problem)
    assert asked == ["by_highs", "by_clarabel", "by_clarabel"]


def test_features_of_parts_are_the_maps_of_all_samples():
    for name in ("chain-csr", "tree-untied", "cut-tables"):
        made = CASES[name]()
        wanted = np.hstack([block.matrix for block in made.training.blocks]).T
        np.testing.assert_allclose(
            part_features(made.problem.packed, made.problem.dim).toarray(), wanted, atol=1e-15
        )


def test_samples_of_no_weight_keep_their_truth():
    made = problems.chain(weight=[1, 0, 1, 1, 0, 1])
    result = ReferenceQP(tol=1e-7).run(made.problem)
    assert result.relative_gap <= 1e-7
    own = made.problem.parts(1)
    np.testing.assert_array_equal(result.state.z[own], made.problem.truth[own])


def test_points_off_by_a_solvers_tolerance_are_made_feasible():
    made = problems.chain()
    program = cone_program(made.problem)
    exact = interior_point.by_clarabel(program).points
    off = exact + 1e-8 * np.random.default_rng(0).normal(size=len(exact))
    u, miss = nearest_feasible(program.polytopes, off)
    assert miss <= 1e-12
    assert np.abs(u - exact).max() < 1e-5
    assert made.training.distance(program.polytopes.lift @ u) < 1e-11


def test_where_equations_cannot_be_met_the_structure_projects(monkeypatch):
    monkeypatch.setattr(
        reference_qp, "nearest_feasible", lambda found, u: (np.maximum(u, 0.0), 1e-6)
    )
    made = problems.matching()
    result = ReferenceQP(tol=1e-7).run(made.problem)
    assert result.relative_gap <= 1e-7
    assert made.training.distance(result.state.z) < 1e-12


def test_it_goes_on_from_another_solver_and_stops_at_its_own_optimum():
    problem = problems.chain().problem
    first = BCFW(max_epochs=3, tol=0.0).run(problem)
    result = ReferenceQP(tol=1e-7).run(problem, state=first.state)
    assert result.relative_gap <= 1e-7
    again = ReferenceQP(tol=1e-7).run(problem, state=result.state)
    assert again.n_epochs == result.n_epochs
    assert again.status is Status.CONVERGED
    other = ReferenceQP(tol=1e-7).run(problems.chain(alpha=0.3).problem, state=again.state)
    assert other.relative_gap <= 1e-7


def test_a_failure_of_the_interior_point_solver_is_told(monkeypatch):
    def fails(program, *limits):
        return interior_point.Solution(
            None, np.empty(0), "Clarabel says NumericalError after 3 steps"
        )

    monkeypatch.setattr(reference_qp, "by_clarabel", fails)
    result = ReferenceQP().run(problems.chain().problem)
    assert result.status is Status.FAILED
    assert result.message == "Clarabel says NumericalError after 3 steps"
    assert np.isfinite(result.primal)  # of w = 0, which is what is left


def test_an_answer_that_misses_tol_is_a_failure_with_its_gap(monkeypatch):
    real = interior_point.by_clarabel

    def poor(program, *limits):
        answer = real(program, *limits)
        return answer._replace(x=0.9 * answer.x, points=0.999 * answer.points, words="poor")

    monkeypatch.setattr(reference_qp, "by_clarabel", poor)
    result = ReferenceQP(tol=1e-9).run(problems.multiclass().problem)
    assert result.status is Status.FAILED
    assert result.message == "poor"
    assert 1e-9 < result.relative_gap < 0.1


# -- relaxations -----------------------------------------------------------------------------------
def test_few_outputs_are_listed_where_constraints_are_a_relaxation():
    exact = ReferenceQP(tol=1e-7).run(network())
    relaxed = ReferenceQP(tol=1e-7).run(network("relaxed"))
    assert exact.status is relaxed.status is Status.CONVERGED
    assert exact.primal <= relaxed.primal + 1e-9
    assert BCFW(tol=1e-6, max_epochs=500).run(network()).primal == pytest.approx(
        exact.primal, rel=1e-5
    )


def test_many_outputs_give_the_optimum_of_the_relaxation_and_say_so(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.qp.polytopes.MOST_VERTICES", 3)
    result = ReferenceQP(tol=1e-7).run(network(alpha=0.02))
    relaxed = ReferenceQP(tol=1e-7).run(network("relaxed", alpha=0.02))
    assert result.status is Status.STOPPED
    assert "the optimum of a relaxation" in result.message
    assert f"{relaxed.primal:.6g}"[:6] in result.message
    assert result.dual <= result.primal <= relaxed.primal + 1e-8


# -- what is refused -------------------------------------------------------------------------------
class Listed(problems.AtMostTwo):
    def vertices(self, layout):
        for bits in np.ndindex(*[2] * layout[0]):
            if sum(bits) <= 2:
                yield np.array(bits, dtype=float)


def test_vertices_serve_where_constraints_are_not_known(monkeypatch):
    made = problems.items()
    with pytest.raises(MissingAbilityError, match="needs `constraints` or `vertices`.* Define"):
        ReferenceQP().run(made.problem)
    made.problem.structure = Listed()
    best, bound, _ = optimum(made.training, 1e-7)
    result = ReferenceQP(tol=1e-7).run(made.problem)
    assert bound - 1e-9 <= result.primal <= best + 1e-9
    monkeypatch.setattr("maxmargin.solvers.qp.polytopes.MOST_VERTICES", 3)
    with pytest.raises(MissingAbilityError, match="Listed has `vertices` only.*more than 3.*bcfw"):
        ReferenceQP().run(made.problem)


def test_what_would_not_fit_is_refused_before_it_is_solved(monkeypatch):
    problem = problems.chain().problem
    needed = ReferenceQP().run(problem).state.n_bytes
    assert needed > 1e4
    for limit in (1e3, 0.5 * needed, 0.99 * needed):
        with pytest.raises(ProgramTooLargeError, match=r"would take about .* MB.*solver=\"bcfw\""):
            ReferenceQP(memory_limit=limit).run(problem)
    assert ReferenceQP(memory_limit=needed, tol=1e-7).run(problem).status is Status.CONVERGED
    monkeypatch.setattr(program_size, "available_bytes", lambda: 1000.0)
    with pytest.raises(ValueError, match="the limit is 0.0008 MB"):
        ReferenceQP().run(problem)


def test_lists_of_outputs_that_would_not_fit_are_refused_before_they_are_joined():
    problem = network()
    found = sample_polytopes(problem)
    own = found.lift.nnz + found.matrix.nnz
    with pytest.raises(ProgramTooLargeError, match=f"{own} non-zeros of polytopes alone"):
        sample_polytopes(problem, limit=program_size.program_bytes(own, 0) - 1)


def test_the_rough_count_of_the_factor_is_near_clarabels_own():
    for make in (problems.chain, problems.matching, problems.multiclass):
        problem = make(n_features=6).problem
        found = sample_polytopes(problem)
        features = reference_qp.point_features(problem, found)
        rough = program_size.rough_factor(problem, found, features)
        program = cone_program(problem, found, features)
        bytes_ = interior_point.by_clarabel(program).n_bytes
        exact = (bytes_ - program_size.program_bytes(program.matrix.nnz, 0)) / program_size._FACTOR
        assert 0.2 * rough < exact < 3 * rough


class Halfspace(Domain):
    def project(self, w):
        return w - min(w.sum(), 0.0) / len(w)

    def _argmin_linear(self, slope):
        return None


def test_bad_options_and_problems_are_refused_with_a_hint(monkeypatch):
    with pytest.raises(ValueError, match="needs alpha > 0 or a bounded domain"):
        ReferenceQP().run(problems.chain(alpha=0.0).problem)
    with pytest.raises(ValueError, match=r"cannot state a Halfspace.*solver=\"bcfw\""):
        ReferenceQP().run(problems.chain(domain=Halfspace()).problem)
    with pytest.raises(ValueError, match="memory_limit=-1 must be a number above 0"):
        ReferenceQP(memory_limit=-1).run(problems.chain().problem)
    with pytest.raises(ValueError, match='ReferenceQP cannot minimise objective="likelihood"'):
        ReferenceQP().run(problems.chain(objective="likelihood").problem)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r'pip install "maxmargin\[qp\]"'):
        ReferenceQP().run(problems.chain().problem)
    # linear programs need none
    lone = problems.matching(alpha=0.0, domain=L1Ball(0.8)).problem
    assert ReferenceQP(tol=1e-7).run(lone).status is Status.CONVERGED


class TwoSided(Structure):
    """One or two of n items, by rows that are bounded on both sides."""

    def n_parts(self, layout):
        return layout[0]

    def constraints(self, layout):
        n = layout[0]
        matrix = sparse.csr_array(np.vstack([np.ones((1, n)), np.eye(n)]))
        upper = np.append(2.0, np.ones(n))
        return problems.Constraints(matrix, np.append(1.0, np.full(n, -np.inf)), upper)


def test_rows_may_be_bounded_on_both_sides():
    made = problems.items(seed=11)
    truths = made.training.split(made.problem.truth)
    some = np.concatenate([t if t.any() else np.eye(len(t))[0] for t in truths])
    made.problem.structure, made.problem.truth = TwoSided(), some
    result = ReferenceQP(tol=1e-7).run(made.problem)
    assert result.relative_gap <= 1e-7
    assert result.status is Status.CONVERGED


def test_a_time_limit_holds_within_the_solve():
    data = make_sequences(60, (8, 12), 8, 6, random_state=0)
    best = ChainSVM(alpha=0.1, tol=1e-2).fit(data.X, data.y).result_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ChainSVM(alpha=0.1, solver="qp", time_limit=0.02).fit(data.X, data.y)
    result = model.result_
    assert result.status is not Status.CONVERGED
    assert result.dual <= best.primal
    assert result.primal >= best.dual
