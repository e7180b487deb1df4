"""A structure from one function: what it may return, what is checked, processes and time-outs."""

import os
import pickle
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from maxmargin import StructuredSVM, load
from maxmargin.domains import Signs
from maxmargin.exceptions import InfeasibleError, ModelFileError, OracleError
from maxmargin.losses import Hamming
from maxmargin.oracles.base import Call
from maxmargin.oracles.checked import check_outputs
from maxmargin.oracles.processes.worker_pool import Worker, Workers
from maxmargin.oracles.sample_calls import SampleCalls
from maxmargin.persistence.objects import put_together
from maxmargin.solvers import BCFW, OracleCache
from maxmargin.structures import Constraints, OracleStructure, Program, Structure
from maxmargin.structures.from_oracle.structure import Absent
from reference import oracles
from reference.oracles import best_two

ROW = Program(np.ones((1, 5)), 2.0, part_upper=1.0)


def samples(n=16, mark=None, seed=0):
    """At most two of five items; the sample `mark` is singled out by its first feature."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(5, 3)) for _ in range(n)]
    y = [best_two(x @ [1.0, -1.0, 0.5], None) for x in X]
    if mark is not None:
        X[mark][0] = 1e4
    return X, y


def fit(structure, X=None, y=None, **options):
    if X is None:
        X, y = samples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StructuredSVM(structure, **({"alpha": 0.05, "tol": 0.01} | options)).fit(X, y)


def test_what_is_nearly_zero_or_one_is_rounded():
    def nearly(theta):
        z = np.isin(np.arange(5), list(best_two(theta, None))).astype(float)
        return np.where(z > 0, 1 - 1e-9, 1e-7)

    exact = fit(Structure.from_oracle(lambda theta: best_two(theta, None)))
    np.testing.assert_array_equal(fit(Structure.from_oracle(nearly)).coef_, exact.coef_)


# -- what functions take and return ----------------------------------------------------------------


@pytest.mark.parametrize(
    "oracle",
    [
        best_two,
        lambda theta: best_two(theta, None),
        lambda theta, n=2: best_two(theta, None),
        lambda theta, layout=None: best_two(theta, layout),
        lambda theta, layout: sorted(best_two(theta, layout)),
        lambda theta, layout: np.isin(np.arange(len(theta)), list(best_two(theta, layout))),
        lambda theta, layout: np.isin(np.arange(len(theta)), list(best_two(theta, layout))) + 0.0,
        lambda theta, layout: [1 if p in best_two(theta, layout) else 0 for p in range(len(theta))],
    ],
)
def test_all_ways_to_name_an_output_are_one(oracle):
    theta = np.array([3.0, -1.0, 2.0, 1.0])
    structure = Structure.from_oracle(oracle)
    assert isinstance(structure, OracleStructure)
    assert structure.maximize(theta, (4,)).tolist() == [1, 0, 1, 0]
    assert structure.oracle().maximize(theta, (4,))[1] == 5.0


def test_indices_are_indices_also_where_lists_could_be_vectors():
    def chosen(theta):
        return [p for p in np.argsort(theta)[-2:] if theta[p] > 0]

    structure = Structure.from_oracle(chosen, encode="indices")
    for theta in ([1.0, 2.0], [2.0, 1.0]):
        assert structure.maximize(np.array(theta), (2,)).tolist() == [1, 1]
    assert structure.maximize(np.array([-1.0, 2.0]), (2,)).tolist() == [0, 1]
    assert structure.encode([1, 0], (2,)).tolist() == [1, 1]
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in (2, 3) * 10]
    y = [chosen(x @ [1.0, -1.0]) for x in X]
    assert fit(structure, X, y).score(X, y) > 0.9
    vector = Structure.from_oracle(lambda theta: (theta > 0) + 0.0, encode="indices")
    assert vector.maximize(np.array([-1.0, 2.0]), (2,)).tolist() == [0, 1]


def test_lists_that_may_be_read_in_two_ways_are_refused():
    structure = Structure.from_oracle(lambda theta: [0, 1])
    with pytest.raises(OracleError, match="may be a vector or part numbers"):
        structure.maximize(np.ones(2), (2,))
    assert structure.maximize(np.ones(3), (3,)).tolist() == [1, 1, 0]
    assert Structure.from_oracle(lambda theta: [0, 0]).maximize(np.ones(2), (2,)).sum() == 0
    assert Structure.from_oracle(lambda theta: {0}).maximize(np.ones(1), (1,)).tolist() == [1]
    assert Structure.from_oracle(lambda theta: [2, 0, 1]).maximize(np.ones(3), (3,)).sum() == 3
    assert Structure.from_oracle(lambda theta: []).maximize(np.ones(3), (3,)).sum() == 0


def test_outputs_are_given_back_as_asked():
    z = np.array([0.0, 1.0, 1.0])
    plain = Structure.from_oracle(best_two)
    listed = Structure.from_oracle(best_two, encode="indices")
    assert plain.encode({1, 2}, (3,)).tolist() == z.tolist()
    assert plain.decode(z, (3,)).tolist() == z.tolist()
    assert listed.encode([2, 1], (3,)).tolist() == z.tolist()
    assert listed.encode([1], (2,)).tolist() == [0, 1]
    assert listed.decode(z, (3,)).tolist() == [1, 2]
    assert Structure.from_oracle(best_two, encode="vector").encode([0, 1], (2,)).tolist() == [0, 1]
    named = Structure.from_oracle(
        best_two,
        n_parts=lambda layout: len(layout),
        encode=lambda y, layout: np.array([name in y for name in layout]),
        decode=lambda z, layout: {name for name, on in zip(layout, z, strict=True) if on},
    )
    layout = ("bread", "milk", "tea")
    assert named.n_parts(layout) == 3
    assert named.decode(named.encode({"tea"}, layout), layout) == {"tea"}


def test_sizes_come_from_the_layout():
    assert Structure.from_oracle(best_two).n_parts(ROW) == 5
    assert Structure.from_oracle(best_two, n_parts=7).layout_of(7) == (7,)
    with pytest.raises(ValueError, match="x has 5 rows, but there are 7"):
        Structure.from_oracle(best_two, n_parts=7).layout_of(5)
    with pytest.raises(ValueError, match="Say so by n_parts"):
        Structure.from_oracle(best_two).n_parts(("a", "b"))


def test_clones_pickles_and_grid_search():
    structure = Structure.from_oracle(best_two, time_limit=60)
    copy = pickle.loads(pickle.dumps(clone(structure)))
    assert copy.get_params() == structure.get_params()
    X, y = samples(12)
    model = StructuredSVM(Structure.from_oracle(best_two), tol=0.1, max_epochs=30)
    grid = {"alpha": [0.1], "structure__time_limit": [None, 60]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.7


# -- checks ----------------------------------------------------------------------------------------


def test_approximate_answers_worse_than_the_truth_are_counted_not_replaced():
    X, y = samples()
    structure = Structure.from_oracle(lambda t: {int(np.argmax(t))}, exact=False)
    result = fit(structure, X, y, max_epochs=5, tol=0.0).result_
    assert max(record.extra["worse_than_truth"] for record in result.history) > 0
    assert not result.exact
    assert "no proof" in result.certificate()


def test_bounds_make_gaps_into_proofs():
    X, y = samples()
    exact = fit(Structure.from_oracle(best_two), X, y, tol=1e-4)
    rough = fit(Structure.from_oracle(oracles.greedy, exact="bounded"), X, y, max_epochs=20)
    assert rough.result_.exact
    assert rough.result_.primal >= exact.result_.dual
    assert rough.result_.dual <= exact.result_.primal


def test_bounds_that_rounding_put_below_their_answers_are_raised_to_them():
    theta = np.array([3.0, 2.0, 1.0, -1.0, 0.0])

    def rounded(theta):
        z = np.isin(np.arange(5), list(best_two(theta, None))) + 0.0
        return z, z @ theta * (1 - 1e-7)

    oracle = check_outputs(Structure.from_oracle(rounded, n_parts=5, exact="bounded").oracle())
    ((z, value),) = oracle.maximize_many([Call(theta, (5,))])
    assert value == z @ theta == 5.0


def test_rows_make_projections_and_reference_solvers_possible():
    structure = Structure.from_oracle(best_two, constraints=lambda layout: ROW)
    assert structure.oracle().has("constraints")
    assert isinstance(structure.constraints((5,)), Constraints)
    assert not Structure.from_oracle(best_two).oracle().has("constraints")
    z = structure.project(np.full(5, 0.9), (5,))
    assert z == pytest.approx(np.full(5, 0.4))


def test_models_are_saved_without_their_code(tmp_path):
    X, y = samples()
    model = fit(Structure.from_oracle(best_two), X, y)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"load\(path, oracle=function\)"):
        load(tmp_path / "m")
    again = load(tmp_path / "m", oracle=best_two)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.structure.function is best_two
    full = Structure.from_oracle(best_two, decode=lambda z: tuple(np.flatnonzero(z)))
    fit(full, X, y).save(tmp_path / "full")
    with pytest.raises(ModelFileError, match=r"function, decoder.*oracle=Structure\.from_oracle"):
        load(tmp_path / "full", oracle=best_two)
    assert load(tmp_path / "full", oracle=full).predict(X[:1])[0] == tuple(sorted(y[0]))


# -- processes -------------------------------------------------------------------------------------


def test_one_process_gives_the_same_bits_and_several_the_same_optimum():
    here = fit(Structure.from_oracle(best_two))
    other = fit(Structure.from_oracle(oracles.chatty, time_limit=60))
    assert np.array_equal(here.coef_, other.coef_)
    two = [fit(Structure.from_oracle(best_two, n_jobs=2)) for _ in range(2)]
    assert np.array_equal(two[0].coef_, two[1].coef_)
    assert two[0].result_.status.name == "CONVERGED"
    assert two[0].result_.dual <= here.result_.primal
    assert here.result_.dual <= two[0].result_.primal
    assert not hasattr(two[0].structure_, "_pool")


def test_steps_of_a_batch_never_lower_the_dual():
    from contract.problems import items

    made = items(kind="function", seed=22)
    made.problem.structure = made.problem.structure.set_params(n_jobs=2)
    value = 0.0
    for solver in (BCFW("frank-wolfe", "uniform"), BCFW("pairwise", "gap")):
        state, value = solver.init(made.problem), 0.0
        for _ in range(4):
            solver.epoch(made.problem, state)
            state.epoch += 1
            risen = made.training.dual(state.z)
            assert risen >= value - 1e-13
            value = risen
        np.testing.assert_allclose(state.w, made.training.weights(state.z), rtol=0, atol=1e-11)
    made.problem.oracle.close()
    assert value > 0.01


def test_files_with_the_earlier_name_of_the_function_load():
    found = put_together(OracleStructure, {"oracle": Absent("oracle")}, {}, best_two)
    assert found.function is best_two


def test_processes_end_with_their_structure():
    structure = Structure.from_oracle(oracles.tells_process, n_jobs=2, binary=False)
    found = {int(z[0]) for z, _ in structure.oracle().maximize_many([Call(np.zeros(2), (2,))] * 6)}
    assert os.getpid() not in found
    assert 1 <= len(found) <= 2
    del structure
    assert all(is_gone(pid) for pid in found)


def is_gone(pid, seconds=300.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_no_process_is_left_when_its_parent_is_gone():
    workers = Workers(time.sleep, False, 1, None)
    worker = Worker(workers._payload, workers._inbox, False)
    try:
        workers._inbox.get(timeout=600)  # it is ready
        worker.say((3600, None))
        worker.process.stdin.close()  # which is what it sees if we end
        assert worker.process.wait(600) == 0
    finally:
        worker.kill()


def test_workers_that_left_for_want_of_work_are_replaced(monkeypatch):
    monkeypatch.setattr("maxmargin.oracles.processes.worker_pool.IDLE", 0.05)
    structure = Structure.from_oracle(oracles.tells_process, time_limit=600, binary=False)
    first = structure.maximize(np.zeros(2), (2,))[0]
    structure.oracle().workers._workers[0].process.wait(600)
    second = structure.maximize(np.zeros(2), (2,))[0]
    structure.oracle().close()
    assert first != second


def test_a_time_limit_is_that_of_the_call_and_not_of_loading_what_it_needs():
    structure = Structure.from_oracle(oracles.best_two, n_parts=3, time_limit=1.0)
    z = structure.maximize(np.array([1.0, -1.0, 2.0]), oracles.SlowToLoad((1.5,)))
    assert z.tolist() == [1, 0, 1]


def test_what_takes_too_long_is_ended_and_named():
    X, y = samples(4, mark=2)
    structure = Structure.from_oracle(oracles.hangs, time_limit=2)
    with pytest.raises(OracleError, match=r"sample 2: the oracle took more than time_limit=2 s"):
        fit(structure, X, y, alpha=1.0, solver="bcfw")


def test_what_takes_too_long_is_skipped_and_the_certificate_stays_true():
    X, y = samples(3, mark=1)
    y[1] = {0}
    structure = Structure.from_oracle(oracles.hangs, time_limit=0.5, on_timeout="skip")
    for solver in ("bcfw", "fw"):
        model = fit(structure, X, y, alpha=1.0, solver=solver, max_epochs=2, tol=0.0)
        exact = fit(Structure.from_oracle(best_two), X, y, alpha=1.0, tol=1e-3)
        record = model.result_.history[-1]
        assert record.extra["timeouts"] > 0
        assert model.result_.exact
        assert model.result_.primal >= exact.result_.dual
        assert model.result_.dual <= exact.result_.primal
    with pytest.raises(OracleError, match="sample 1: the oracle took too long"):
        model.score(X, y)


class Twice(BCFW):
    """Visits its sample again in the same pass, as gap sampling may."""

    def _order(self, problem, state):
        return np.zeros(2, dtype=np.int64)


@pytest.mark.parametrize("step", ["corrective", "frank-wolfe"])
def test_gaps_of_late_outputs_are_those_of_the_present_point(step, monkeypatch):
    late, scores = 10.0, []
    write_vertex = SampleCalls.write_vertex

    def write_first(self, i, workspace, parts, skip=False):
        scores.append(workspace.theta[:parts].copy())
        return write_vertex(self, i, workspace, parts, skip) if len(scores) == 1 else late

    monkeypatch.setattr(SampleCalls, "write_vertex", write_first)
    X, _ = samples(1)
    cache = OracleCache(passes=0) if step == "corrective" else None
    solver = Twice(step=step, cache=cache, max_epochs=1, tol=0.0)
    state = fit(Structure.from_oracle(best_two), X, [set()], solver=solver).result_.state
    z = np.asarray(state.points[slice(0, 5)])
    assert len(scores) == 2
    assert z.any()
    assert state.gaps[0] == pytest.approx(late - scores[1] @ z)


@pytest.mark.parametrize("on_timeout", ["raise", "skip"])
def test_one_answer_that_takes_too_long_does_not_cost_the_others(on_timeout):
    X, y = samples(4)
    structure = Structure.from_oracle(oracles.hangs, time_limit=1, on_timeout=on_timeout)
    model = fit(structure, X, y, alpha=1.0)
    expected = model.predict(X)
    model.coef_ = np.array([1.0, -1.0, 0.5])  # such that the mark shows
    X[2][0] = 1e4
    with pytest.warns(UserWarning, match=r"too long for 1 of 4 samples.* None: 2\. Raise"):
        found = model.predict(X)
    assert found[2] is None
    assert [len(z) for z in found[:2] + found[3:]] == [len(z) for z in expected[:3]]


def test_infeasible_truths_are_named():
    X, y = samples()
    y[3] = {0, 1, 2}
    with pytest.raises(InfeasibleError, match="sample 3: its true output .*row 0 asks for <= 2"):
        fit(Structure.from_oracle(best_two, constraints=ROW), X, y)


# -- scores of one sign ----------------------------------------------------------------------------


def dijkstra(theta):
    """Shortest paths through a square with a diagonal, for costs that are not negative."""
    if (theta > 0).any():
        raise ValueError("negative costs")
    paths = [{0, 1}, {2, 3}, {4}]  # edges 0-1, 1-3, 0-2, 2-3, 0-3
    return max(paths, key=lambda path: sum(theta[e] for e in path))


def test_scores_of_one_sign_are_all_that_some_oracles_take():
    rng = np.random.default_rng(0)
    X = [rng.uniform(0, 1, size=(5, 2)) for _ in range(12)]
    y = [dijkstra(-x @ [1.0, 0.3]) for x in X]
    with pytest.raises(OracleError, match="negative costs"):
        fit(Structure.from_oracle(dijkstra), X, y)
    path = Structure.from_oracle(dijkstra, scores="nonpositive")
    with pytest.raises(OracleError, match=r"sample \d+: part \d has the score .*Signs\(negative="):
        fit(path, X, y)
    options = {"domain": Signs(negative=[0, 1]), "loss": Hamming(false_positive=0)}
    for structure in (path, Structure.from_oracle(dijkstra, scores="nonpositive", n_jobs=2)):
        model = fit(structure, X, y, alpha=1e-3, **options)
        assert model.result_.status.name == "CONVERGED"
        assert model.score(X, y) > 0.95
        assert (model.coef_ <= 0).all()
    other = Structure.from_oracle(lambda theta: dijkstra(-theta), scores="nonnegative")
    worst = [dijkstra(-(1 - x) @ [1.0, 0.3]) for x in X]
    options = {"domain": Signs([0, 1]), "loss": Hamming(false_negative=0)}
    with pytest.raises(OracleError, match="worse than the truth"):  # the shortest is not the best
        fit(other, X, worst, **options)


def test_a_probe_can_be_left_out():
    calls = []

    def counted(theta):
        calls.append(theta)
        return best_two(theta, None)

    X, y = samples()
    problem = fit(Structure.from_oracle(counted, probe=False), X, y, max_epochs=1, solver="bcfw")
    assert len(calls) == problem.result_.state.n_oracle == 32
