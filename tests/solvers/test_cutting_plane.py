"""Cutting planes: cuts, the small program, both variants against brute force over all outputs."""

from dataclasses import replace

import numpy as np
import pytest

from contract import problems
from contract.problems import case
from maxmargin import ChainSVM
from maxmargin.callbacks import Callback
from maxmargin.oracles.base import Oracle
from maxmargin.result import Status
from maxmargin.solvers import BCFW, CuttingPlane, OracleCache
from maxmargin.solvers.cutting_plane import cuts as cuts_of
from maxmargin.solvers.cutting_plane.checks import check_cuts
from maxmargin.structures import Finite
from reference.training import Training, optimum

VARIANTS = {
    "1-slack": CuttingPlane(),
    "1-slack, no cache": CuttingPlane(cache=None),
    "1-slack, dropping": CuttingPlane(drop_after=1, cache=OracleCache(size=1, passes=3)),
    "n-slack": CuttingPlane("n-slack"),
    "n-slack, one by one": CuttingPlane("n-slack", resolve_every=1),
}
all_variants = pytest.mark.parametrize("variant", VARIANTS)


def solver(variant, **options):
    made = VARIANTS[variant]
    return type(made)(**(made.get_params(deep=False) | options))


class EachRound(Callback):
    """Records of all rounds, with their weights and dual points."""

    def __init__(self):
        self.seen = []

    def on_record(self, run, record):
        self.seen.append((record, run.state.w.copy(), run.state.z.copy()))


# -- against brute force ---------------------------------------------------------------------------
@all_variants
@pytest.mark.parametrize("name", ["chain", "finite", "items"])
def test_every_round_has_a_true_certificate_and_the_optimum_is_reached(name, variant):
    weight = 1.0 + np.arange(case(name).problem.n) % 3
    weight[1] = 0.0
    made = problems.CASES[name](weight=weight)
    best, bound, _ = optimum(made.training, 1e-7)
    rounds = EachRound()
    chosen = solver(variant, tol=1e-6, max_epochs=200, check_every=1)
    result = chosen.run(made.problem, callbacks=[rounds])
    assert result.status is Status.CONVERGED
    assert bound - 1e-9 <= result.primal <= best + 1e-6 * best + 1e-9
    dual = 0.0
    for record, w, z in rounds.seen:
        assert record.dual <= best + 1e-9
        assert record.primal >= bound - 1e-9
        np.testing.assert_allclose(w, made.training.weights(z), rtol=0, atol=1e-11)
        assert made.training.distance(z) < 1e-12
        assert made.training.dual(z) >= dual - 1e-13
        dual = made.training.dual(z)


@pytest.mark.parametrize("variant", ["1-slack", "n-slack"])
@pytest.mark.parametrize("name", ["finite-l2", "multiclass-l1", "cut"])
def test_weights_stay_in_their_domain(name, variant):
    made = problems.INSIDE[name]()
    best, bound, _ = optimum(made.training, 1e-7)
    rounds = EachRound()
    chosen = solver(variant, tol=1e-4, max_epochs=200, check_every=1)
    result = chosen.run(made.problem, callbacks=[rounds])
    assert result.status is Status.CONVERGED
    assert made.problem.domain.contains(result.w)
    assert bound - 1e-9 <= result.primal <= best * (1 + 1e-4) + 1e-9
    dual = 0.0
    for _, w, z in rounds.seen:
        np.testing.assert_allclose(w, made.training.weights(z), rtol=0, atol=1e-9)
        assert dual - 1e-12 <= made.training.dual(z) <= best + 1e-9
        dual = made.training.dual(z)


@all_variants
def test_one_sample_is_solved(variant):
    made = problems.chain(lengths=(3,))
    result = solver(variant, tol=1e-7, max_epochs=100).run(made.problem)
    best, bound, _ = optimum(made.training, 1e-9)
    assert result.status is Status.CONVERGED
    assert bound - 1e-9 <= result.primal <= best * (1 + 1e-6)


@all_variants
def test_ties_everywhere_end_at_once(variant):
    """Without features all outputs score the same: the loss is the objective, and w is zero."""
    made = problems.finite(n_features=1)
    made.problem.packed.value[:] = 0.0
    flat = Training([replace(b, matrix=0 * b.matrix) for b in made.training.blocks], problems.ALPHA)
    result = solver(variant, tol=1e-9, max_epochs=5).run(made.problem)
    assert result.status is Status.CONVERGED
    assert not result.w.any()
    assert result.primal == pytest.approx(flat.primal(np.zeros(1)), abs=1e-15)


# -- cuts ------------------------------------------------------------------------------------------
@pytest.fixture
def state_with_cuts():
    """A problem and a state after some rounds."""
    made = case("chain")
    chosen = CuttingPlane(max_epochs=6, tol=0.0)
    return made, chosen, chosen.run(made.problem).state


def test_images_losses_and_products_of_cuts_are_those_of_their_outputs(state_with_cuts):
    made, _, state = state_with_cuts
    problem, cuts = made.problem, state.cuts
    k, outputs = cuts.size
    assert k > 6  # more than one a round: some were made of remembered outputs
    planes = cuts.planes(problem.dim).toarray()
    for j, ids in enumerate(cuts.ids[: k * problem.n].reshape(k, -1)):
        np.testing.assert_array_equal(cuts.sample[ids], np.arange(problem.n))
        z = np.zeros_like(problem.truth)
        for i, p in enumerate(ids):
            at = slice(cuts.entry_ptr[p], cuts.entry_ptr[p + 1])
            z[problem.part_ptr[i] + cuts.part[at]] = cuts.share[at]
        for block, own in zip(made.training.blocks, made.training.split(z), strict=True):
            assert (block.vertices == own).all(axis=1).any()
        np.testing.assert_allclose(planes[j], -problem.alpha * made.training.raw(z), atol=1e-14)
        assert cuts.loss[j] == pytest.approx(made.training.dual(z) + _penalty(made, z), abs=1e-13)
    gram = cuts.gram.reshape(len(cuts.mass), -1)[:k, :k]
    np.testing.assert_allclose(gram, planes @ planes.T, atol=1e-14)
    assert outputs < k * problem.n  # stored once, however many cuts have them
    assert dual_of(cuts, problem.alpha) == pytest.approx(made.training.dual(state.z), abs=1e-13)


def dual_of(cuts, alpha):
    """From masses and products of images only."""
    k = cuts.n_cuts
    mass, gram = cuts.mass[:k], cuts.gram.reshape(len(cuts.mass), -1)[:k, :k]
    return float(mass @ cuts.loss[:k] - mass @ (gram @ mass) / (2 * alpha))


def _penalty(made, z):
    w = made.training.weights(z)
    return made.problem.alpha / 2 * (w @ w)


def test_cuts_without_mass_are_dropped_and_others_are_not(state_with_cuts):
    made, _, state = state_with_cuts
    cuts = state.cuts
    before = dual_of(cuts, made.problem.alpha)
    fewer = cuts_of.drop_cuts(made.problem, cuts, idle=1, recent=0)
    assert fewer.n_cuts < cuts.n_cuts
    assert (fewer.mass[1:] > 0).all()
    assert fewer.size[1] < cuts.size[1]
    assert dual_of(fewer, made.problem.alpha) == pytest.approx(before, abs=1e-15)
    np.testing.assert_allclose(cuts_of.dual_point(made.problem, fewer), state.z, atol=1e-15)
    check_cuts(made.problem, fewer)
    again, ids = cuts_of.store_outputs(made.problem, fewer, made.problem.truth, 9)
    assert again.size[1] == fewer.size[1]  # the truth is never forgotten
    np.testing.assert_array_equal(again.ids[: made.problem.n], ids)


@pytest.mark.parametrize(
    "name, place, value, words",
    [
        ("head", 0, 1, "outputs of other samples"),
        ("head", 0, 10**9, "head of its cuts is out of range"),
        ("older", -1, 0, "outputs of other samples"),
        ("older", 0, 0, "older of its cuts is out of range"),
        ("ids", 1, 0, "outputs of other samples"),
        ("sample", 0, -1, "sample of its cuts is out of range"),
        ("part", 0, 10**9, "part of its cuts is out of range"),
        ("column", 0, -1, "column of its cuts is out of range"),
        ("entry_ptr", 1, -1, "entry_ptr of its cuts is out of range"),
        ("plane_ptr", 0, 1, "plane_ptr of its cuts is out of range"),
    ],
)
def test_cuts_from_a_file_that_compiled_code_must_not_see_are_refused(
    state_with_cuts, name, place, value, words
):
    made, _, state = state_with_cuts
    cuts = cuts_of.drop_cuts(made.problem, state.cuts, idle=1, recent=0)
    check_cuts(made.problem, cuts)
    wrong = getattr(cuts, name).copy()
    wrong[place] = value
    with pytest.raises(ValueError, match=words):
        check_cuts(made.problem, cuts._replace(**{name: wrong}))


def test_parts_of_outputs_from_a_file_must_be_in_order(state_with_cuts):
    made, _, state = state_with_cuts
    cuts = state.cuts
    long = int(np.flatnonzero(np.diff(cuts.entry_ptr[: cuts.size[1] + 1]) > 1)[0])
    part, at = cuts.part.copy(), int(cuts.entry_ptr[long])
    part[[at, at + 1]] = part[[at + 1, at]]
    with pytest.raises(ValueError, match="part of its cuts is out of order"):
        check_cuts(made.problem, cuts._replace(part=part))


def test_a_cut_of_remembered_outputs_is_the_best_one(state_with_cuts):
    made, _, state = state_with_cuts
    problem, cuts = made.problem, state.cuts
    w = np.random.default_rng(0).normal(size=problem.dim)
    ids, vertex = cuts_of.cached_cut(problem, cuts, w)
    assert (cuts.sample[ids] == np.arange(problem.n)).all()
    for i, own in enumerate(made.training.split(vertex)):
        theta = made.training.blocks[i].matrix.T @ w + made.training.blocks[i].costs
        scores = []
        for p in np.flatnonzero(cuts.sample[: cuts.size[1]] == i):
            at = slice(cuts.entry_ptr[p], cuts.entry_ptr[p + 1])
            scores.append(theta[cuts.part[at]] @ cuts.share[at])
        assert theta @ own == pytest.approx(max(scores), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 12])
def test_the_small_program_is_solved(k):
    from maxmargin._numba.passes.cutting_plane import ascend_masses

    rng = np.random.default_rng(k)
    planes, loss, alpha = rng.normal(size=(k, 5)), rng.random(k), 0.3
    mass, room = np.eye(k)[0], k + 2
    gram = np.zeros((room, room))
    gram[:k, :k] = planes @ planes.T
    left = ascend_masses(gram.ravel(), room, loss, alpha, mass, np.empty(k), 1e-12, 100_000)
    assert left <= 1e-12
    assert mass.min() >= 0
    assert mass.sum() == pytest.approx(1.0, abs=1e-12)
    slope = loss - planes @ (mass @ planes) / alpha
    assert slope.max() - mass @ slope <= 1e-11  # concave, so nothing is better than this


# -- going on --------------------------------------------------------------------------------------
def test_cuts_serve_another_penalty():
    first = CuttingPlane(tol=1e-5, max_epochs=100).run(case("chain").problem)
    known = first.state.cuts.n_cuts
    other = problems.chain(alpha=0.05)
    again = CuttingPlane(tol=1e-5, max_epochs=200).run(other.problem, state=first.state)
    best, bound, _ = optimum(other.training, 1e-7)
    assert again.status is Status.CONVERGED
    assert bound - 1e-9 <= again.primal <= best * (1 + 1e-5)
    assert again.state.cuts.n_cuts > known
    cold = CuttingPlane(tol=1e-5, max_epochs=200).run(other.problem)
    assert again.n_epochs - first.n_epochs < cold.n_epochs


def test_the_dual_point_of_another_solver_is_a_cut():
    made = case("chain")
    first = BCFW(tol=1e-3, max_epochs=100).run(made.problem)
    result = CuttingPlane(tol=1e-6, max_epochs=200).run(made.problem, state=first.state)
    best, bound, _ = optimum(made.training, 1e-7)
    assert result.status is Status.CONVERGED
    assert bound - 1e-9 <= result.primal <= best * (1 + 1e-6)
    assert result.history[0].dual >= first.dual - 1e-12


def test_an_estimator_goes_on_with_its_cuts():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(8)]
    y = [rng.integers(2, size=4) for _ in X]
    model = ChainSVM(solver="cutting-plane", warm_start=True, tol=1e-5, max_epochs=200).fit(X, y)
    n_epochs = model.result_.n_epochs
    assert n_epochs > 1
    model.fit(X, y)
    assert model.result_.n_epochs == 0  # certified as it is
    assert model.result_.status is Status.CONVERGED
    assert model.result_.state.cuts.n_cuts > 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("part", lambda a: a + 1000), ("column", lambda a: a - 1000), ("older", lambda a: 0 * a),
        ("head", lambda a: a + 10_000), ("sample", lambda a: a - 1), ("ids", lambda a: a + 10_000),
        ("entry_ptr", lambda a: a[::-1].copy()), ("plane_ptr", lambda a: a + 1),
        ("mass", lambda a: a[:3]), ("size", lambda a: -a), ("share", lambda a: a[:1]),
        ("gram", lambda a: a[1:]), ("ids", lambda a: np.full_like(a, -1)),
    ],
)  # fmt: skip
def test_damaged_cuts_are_refused(state_with_cuts, name, change):
    made, chosen, state = state_with_cuts
    fresh = chosen.init(made.problem)
    chosen.check_restored(made.problem, fresh, state)
    cuts = state.cuts
    state.cuts = cuts._replace(**{name: change(getattr(cuts, name))})
    with pytest.raises(ValueError, match=r"its cuts|it lacks"):
        chosen.check_restored(made.problem, fresh, state)


class Roughly(Finite):
    """An oracle that may miss the best output by a little, and says so."""

    def _make_oracle(self):
        return RoughOracle(self)


class RoughOracle(Oracle):
    is_exact, is_bounded = False, True

    def maximize(self, theta, layout):
        best = np.flatnonzero(theta >= theta.max() - 1e-3)[0]
        return np.eye(layout[0])[best], float(theta.max())


@all_variants
def test_oracles_with_bounds_give_proofs(variant):
    made = problems.finite()
    made.problem.structure = Roughly()
    result = solver(variant, tol=1e-2, max_epochs=100).run(made.problem)
    best, bound, _ = optimum(made.training, 1e-7)
    assert result.exact
    assert result.status is Status.CONVERGED
    assert result.primal >= bound - 1e-9
    assert result.dual <= best + 1e-9
    assert result.gap <= 1e-2 * result.primal
