"""One battery for all engines: same bits everywhere, one optimum, a dual that never falls."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import psutil
import pytest
from joblib import Parallel, delayed

from maxmargin import ChainSVM, Graph, MatchingSVM, MulticlassSVM, NetworkSVM, StructuredSVM
from maxmargin._numba.packed_samples import Points
from maxmargin._numba.passes.mixing import follow_direction
from maxmargin.callbacks import Callback
from maxmargin.domains import Box
from maxmargin.exceptions import FitInterrupted
from maxmargin.oracles.checked import Counted
from maxmargin.parallel import (
    Engine,
    ExecutorEngine,
    ProcessEngine,
    SerialEngine,
    resolve_engine,
    shards,
    worker,
)
from maxmargin.parallel.engines import WorkerLost
from maxmargin.parallel.line_search import maximize_in_box
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.problem import Problem
from maxmargin.result import Status
from maxmargin.solvers import BCFW, OracleCache, Perceptron
from maxmargin.structures import Structure

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")


def make_chains(n: int = 20):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 3))
    X = [rng.normal(size=(rng.integers(2, 7), 4)) for _ in range(n)]
    return X, [np.argmax(x @ weights + 0.3 * rng.normal(size=(len(x), 3)), axis=1) for x in X]


def fit_chains(engine: Engine | str | None = None, callbacks=(), **options):
    options = {"tol": 1e-3, "max_epochs": 60} | options
    model = ChainSVM(engine=engine, callbacks=callbacks, **options)
    return model.fit(*make_chains()).result_


def same_bits(one, two) -> bool:
    """Whether two runs went the same way, but for the time that they took."""
    columns = ("epoch", "n_oracle", "primal", "dual", "gap", "norm_w")
    rows = [[[getattr(r, c) for c in columns] for r in own.history] for own in (one, two)]
    bits = [(own.w.tobytes(), own.primal, own.dual) for own in (one, two)]
    return repr(rows[0]) == repr(rows[1]) and repr(bits[0]) == repr(bits[1])  # NaN, too


SOLVERS = {
    "corrective": {},
    "gap": {"solver": BCFW(sampling="gap")},
    "textbook": {"solver": BCFW(step="frank-wolfe")},
    "small-cache": {"solver": BCFW(cache=OracleCache(2, 1))},
    "images": {"solver": BCFW(cache=OracleCache(3, store="images"))},
    "sdca": {"objective": "likelihood"},
    "lbfgs": {"objective": "likelihood", "solver": "lbfgs"},
    "frank-wolfe": {"solver": "fw"},
    "cutting-plane": {"solver": "cutting-plane"},
    "perceptron": {"solver": "perceptron"},
    "plain-perceptron": {"solver": Perceptron(averaged=False)},
    "batch-perceptron": {"solver": Perceptron(batch=True)},
    "smoothed": {"solver": "smoothed"},
    "smoothed-likelihood": {"objective": "likelihood", "solver": "smoothed", "domain": Box(-2, 2)},
}


@pytest.mark.parametrize("name", SOLVERS)
def test_one_shard_has_the_bits_of_a_fit_without_an_engine(name):
    alone = fit_chains(max_epochs=6, **SOLVERS[name])
    assert same_bits(alone, fit_chains(SerialEngine(1, 1), max_epochs=6, **SOLVERS[name]))


@pytest.mark.parametrize("name", ["smoothed", "smoothed-likelihood", "frank-wolfe"])
def test_sums_over_shards_have_the_same_bits_for_any_number_of_them(name, monkeypatch):
    divisors, apply = [], worker.Shard.apply

    def note(shard, ability, point, with_outputs, divisor, w):
        divisors.append(divisor)
        return apply(shard, ability, point, with_outputs, divisor, w)

    monkeypatch.setattr(worker.Shard, "apply", note)
    alone = fit_chains(max_epochs=6, **SOLVERS[name])
    assert same_bits(alone, fit_chains(SerialEngine(3), max_epochs=6, **SOLVERS[name]))
    assert len(divisors) >= 18
    assert (len(set(divisors)) > 1) == (name == "smoothed")  # workers divide the costs


class DualWatch(Callback):
    def __init__(self):
        self.duals = []

    def on_epoch(self, run):
        self.duals.append(run.solver.bound(run.problem, run.state))


@pytest.mark.parametrize("n_workers", [2, 3, 8])
@pytest.mark.parametrize("name", ["corrective", "small-cache", "images", "textbook", "sdca"])
def test_shards_share_one_optimum_and_the_dual_never_falls(n_workers, name):
    alone = fit_chains(max_epochs=500, **SOLVERS[name])
    watch = DualWatch()
    engine = SerialEngine(n_workers, 2)
    found = fit_chains(engine, [watch], max_epochs=40, **SOLVERS[name])
    duals = np.array(watch.duals)
    assert (np.diff(duals) >= -1e-12).all()
    assert found.dual <= alone.primal + 1e-12
    assert alone.dual <= found.primal + 1e-12
    assert len(found.state.z) == len(alone.state.z)


def test_perceptrons_take_the_mean_of_the_workers_weights():
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(20, 5, 4)))
    y = [np.argmax(x @ rng.normal(size=(4, 3)), axis=1) for x in X]

    def fit(X, y, engine=None, seed=0):
        solver = Perceptron(averaged=False, max_epochs=1, random_state=seed)
        return ChainSVM(engine=engine, solver=solver).fit(X, y).result_.w

    one, two = np.random.default_rng(0).spawn(2)
    halves = fit(X[:10], y[:10], seed=one), fit(X[10:], y[10:], seed=two)
    found = 2 * fit(X, y, SerialEngine(2, 1))  # steps are n omega long, half of it for each half
    np.testing.assert_allclose(found, np.mean(halves, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("averaged", [True, False])
def test_perceptrons_on_shards_converge(averaged):
    X, y = make_chains()
    weights = np.random.default_rng(0).normal(size=(4, 3))
    y = [np.argmax(x @ weights, axis=1) for x in X]  # there are weights without mistakes
    solver = Perceptron(averaged=averaged, max_epochs=200)
    found = ChainSVM(engine=SerialEngine(3, 2), solver=solver).fit(X, y)
    assert found.result_.status is Status.CONVERGED
    assert found.result_.history[-1].train_error == 0.0
    assert found.score(X, y) >= 0.95
    assert averaged or found.score(X, y) == 1.0


@pytest.mark.parametrize("kind", ["multiclass", "matching"])
def test_other_structures(kind):
    rng = np.random.default_rng(1)
    if kind == "multiclass":
        X, make = rng.normal(size=(40, 3)), MulticlassSVM
        y = np.argmax(X, axis=1)
    else:
        X = [rng.normal(size=(9, 2)) for _ in range(12)]
        X, make = [x.reshape(3, 3, 2) for x in X], MatchingSVM
        y = [[(0, 0), (1, 1), (2, 2)] for _ in X]
    alone = make(max_epochs=100).fit(X, y).result_
    found = make(max_epochs=100, engine=SerialEngine(3, 2)).fit(X, y).result_
    assert found.dual <= alone.primal + 1e-12
    assert alone.dual <= found.primal + 1e-12


def test_line_search_beats_a_grid():
    rng = np.random.default_rng(0)
    for _ in range(20):
        root, slope = rng.normal(size=(3, 2)), rng.normal(size=3)
        curvature = root @ root.T
        grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 11)] * 3), axis=-1).reshape(-1, 3)
        values = grid @ slope - np.einsum("ni,ij,nj->n", grid, curvature, grid) / 2
        best = maximize_in_box(slope, curvature)
        assert slope @ best - best @ curvature @ best / 2 >= values.max() - 1e-10
        assert ((best >= 0) & (best <= 1)).all()


# -- engines ---------------------------------------------------------------------------------------
EXPECTED: dict[str, object] = {}


def expect(**options):
    """What a run on two shards in this process gives, which others must repeat."""
    name = repr(sorted(options.items(), key=str))
    if name not in EXPECTED:
        EXPECTED[name] = fit_chains(SerialEngine(2), **options)
    return EXPECTED[name]


@pytest.fixture(params=["threads", "executor", "processes", "dask", "ray"], scope="module")
def engine(request):
    name = request.param
    if name in ("dask", "ray"):
        pytest.importorskip("distributed" if name == "dask" else "ray")
    if name == "executor":
        with ThreadPoolExecutor(2) as pool:
            yield ExecutorEngine(pool)
        return
    found = resolve_engine(name)
    yield found
    found.close()
    assert not [own for own in workers_of(name) if own.is_running()]
    assert not [own.name for own in threading.enumerate() if own.name.startswith("maxmargin-")]


def workers_of(name: str) -> list[psutil.Process]:
    """Processes of this machine's engine that make calls."""
    mark = "ray::_Worker" if name == "ray" else "spawn_main("
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if mark in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_engines_have_the_same_bits(engine):
    others = {"objective": "likelihood", "solver": "lbfgs"}, {"solver": "perceptron"}
    for options in ({"max_epochs": 3}, *others):
        assert same_bits(expect(**options), fit_chains(engine, **options))


def test_errors_of_workers_come_as_they_are(engine):
    with pytest.raises(ValueError, match="invalid literal"):
        engine.result(engine.submit(0, int, "one"))


class Kill(Callback):
    """Kills a worker after each epoch, some of them in the middle of the next round."""

    def __init__(self, engine: Engine):
        self.engine = engine

    def on_epoch(self, run):
        if run.state.epoch <= 2:
            victim = workers_of(self.engine.name)[0]
            threading.Timer(0.002 * (run.state.epoch - 1), victim.kill).start()


def test_a_dead_worker_is_replaced(engine):
    if engine.name in ("threads", "executor"):
        pytest.skip("threads do not die")
    expected = expect(max_epochs=3)
    found = fit_chains(engine, [Kill(engine)], max_epochs=3)
    assert same_bits(expected, found)


def test_a_shard_that_touches_no_weights_leaves_those_of_others_alone():
    base, w = np.zeros((2, 4))  # beside which the shard has none
    follow_direction(np.empty(0, np.uint32), np.arange(4, dtype=np.uint32), w + 1, base[:0], w[:0])
    assert not base.any()
    assert not w.any()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), np.arange(20) % 3
    X[:10] = 0.0  # the first shard
    options = {"bias": False, "tol": 1e-3}
    alone, two = (
        MulticlassSVM(engine=engine, **options).fit(X, y).result_
        for engine in (None, SerialEngine(2))
    )
    assert abs(two.primal - alone.primal) <= alone.gap + two.gap


@pytest.mark.parametrize("name", ["corrective", "lbfgs", "frank-wolfe"])
def test_samples_are_sent_once(name):
    class Counting(SerialEngine):
        sent = 0

        def submit(self, worker, function, *arguments):
            self.sent += any(isinstance(own, Problem) for own in arguments)
            return super().submit(worker, function, *arguments)

    engine = Counting(2)
    fit_chains(engine, max_epochs=3, **SOLVERS[name])
    assert engine.sent == 2


@pytest.mark.parametrize("rounds", [1, 4])
def test_what_expensive_oracles_said_for_a_certificate_is_not_asked_again(rounds):
    calls = []

    def best(theta):
        calls.append(theta)
        return np.arange(len(theta)) == np.argmax(theta)

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(24)]
    y = [best(x @ [1.0, 2.0, -1.0] + 0.5 * rng.normal(size=4)) for x in X]
    counts = []
    for engine in (None, SerialEngine(2, rounds)):
        calls.clear()
        options = {"solver": "bcfw", "max_epochs": 6, "tol": 0.0, "engine": engine}
        found = StructuredSVM(Structure.from_oracle(best), **options).fit(X, y).result_
        assert found.history[-1].n_oracle == len(calls)
        counts.append(len(calls))
    assert counts[0] == counts[1]


def test_oracles_are_told_samples_by_their_numbers_among_all(monkeypatch):
    samples, maximize_many = set(), Counted.maximize_many

    def note(oracle, calls):
        samples.update(call.sample for call in calls)
        return maximize_many(oracle, calls)

    monkeypatch.setattr(Counted, "maximize_many", note)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 2, 2))
    structure = Structure.from_oracle(lambda theta: np.eye(2)[np.argmax(theta)])
    options = {"solver": "bcfw", "max_epochs": 1, "engine": SerialEngine(3)}
    StructuredSVM(structure, **options).fit(list(X), [np.eye(2)[i % 2] for i in range(10)])
    assert samples == set(range(10))


def find_slowly(theta):
    time.sleep(0.005)
    return np.arange(len(theta)) == np.argmax(theta)


def fit_slowly(engine, **options):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(40)]
    y = [find_slowly(x @ [1.0, 2.0, -1.0] + 0.5 * rng.normal(size=4)) for x in X]
    structure = Structure.from_oracle(find_slowly)
    return StructuredSVM(structure, solver="bcfw", tol=0.0, engine=engine, **options).fit(X, y)


def test_calls_of_oracles_in_python_are_counted_wherever_they_are_made():
    class Elsewhere(SerialEngine):
        def submit(self, worker, function, *arguments):
            return function(*pickle.loads(pickle.dumps(arguments)))

    here, there = (
        fit_slowly(kind(2), max_epochs=2).result_.history[-1] for kind in (SerialEngine, Elsewhere)
    )
    assert here.n_oracle == there.n_oracle > 80
    assert there.extra["oracle_seconds"] > 0.2


def test_a_time_limit_ends_rounds_and_repeats_none():
    repeated = []

    class Watched(SerialEngine):
        def submit(self, worker, function, *arguments):
            if function is shards.load_and_run:
                repeated.extend(arguments[4])
            return super().submit(worker, function, *arguments)

    result = fit_slowly(Watched(2), max_epochs=10**6, time_limit=1.5).result_
    assert result.status is Status.TIME_LIMIT
    assert not repeated


@pytest.mark.parametrize("batch", [True, False])
def test_perceptrons_on_a_shard_without_weight(batch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    y = np.argmax(X[:, :3], axis=1)
    options = {"solver": Perceptron(batch=batch), "max_epochs": 20}
    weight = np.repeat([0.0, 1.0], 10)
    model = MulticlassSVM(engine=SerialEngine(2, 1), **options).fit(X, y, weight)
    assert model.score(X[10:], y[10:]) > 0.5


class Unreliable(SerialEngine):
    """Loses a worker, with all that it knows, at every third call, before or after that is made."""

    count = lost = 0

    def submit(self, worker, function, *arguments):
        self.count += 1
        if self.count % 3 == 0 and arguments and function is not shards.forget_shards:
            if self.count % 2:
                function(*arguments)
            worker_shards().clear()
            return WorkerLost
        return function(*arguments)

    def result(self, future):
        if future is WorkerLost:
            self.lost += 1
            raise WorkerLost("lost")
        return future


def worker_shards():
    return worker._shards


@pytest.mark.parametrize("name", ["corrective", "textbook", "sdca", "images", "perceptron"])
@pytest.mark.parametrize("n_workers", [1, 2])
def test_lost_workers_change_no_bit(name, n_workers, monkeypatch):
    monkeypatch.setattr(shards, "JOURNAL_BYTES", 1 << 11)  # snapshots of every second epoch or so
    options = SOLVERS[name] | {"max_epochs": 8, "tol": 1e-9}
    engine = Unreliable(n_workers)
    expected = fit_chains(SerialEngine(n_workers), **options)
    assert same_bits(expected, fit_chains(engine, **options))
    assert engine.lost > 10
    assert not worker_shards()


class SettledShards(Callback):
    """Checks that the driver's weights are those of what shards have, and how far visits went."""

    def __init__(self):
        self.n_parts = []

    def on_epoch(self, run):
        z = run.solver._gather_points(run.problem)
        np.testing.assert_allclose(run.state.w, run.problem.weights(z), rtol=0, atol=1e-12)
        for own in run.solver._shards.records:
            self.n_parts += [rest[-1] for name, rest in own.journal if name == "visit"]


@pytest.mark.parametrize("name", ["corrective", "gap", "textbook", "sdca"])
def test_time_limits_of_rounds_leave_certificates_exact(name, monkeypatch):
    """On a clock that goes otherwise where what a lost worker did is done again."""
    clock, alone = [0.0], fit_chains(max_epochs=500, **SOLVERS[name])
    draw = np.random.default_rng(0)

    def tick():
        clock[0] += draw.uniform()
        return clock[0]

    monkeypatch.setattr(worker.time, "perf_counter", tick)
    watch, settled = DualWatch(), SettledShards()
    engine = Unreliable(2, 2, round_limit=2)
    options = SOLVERS[name] | {"max_epochs": 30, "tol": 1e-9}
    found = fit_chains(engine, [watch, settled], **options)
    assert engine.lost > 10
    assert (np.diff(watch.duals) >= -1e-12).all()
    assert found.dual <= alone.primal + 1e-12
    assert alone.dual <= found.primal + 1e-12
    assert len({type(own) for own in settled.n_parts}) == 1
    assert len(set(settled.n_parts)) > 2
    assert found.history[-1].n_oracle < 30 * 20


def test_rounds_within_their_time_limit_have_the_same_bits():
    assert same_bits(
        expect(max_epochs=3), fit_chains(SerialEngine(2, round_limit=1e6), max_epochs=3)
    )


def test_a_worker_that_is_lost_again_and_again_is_told():
    class Dead(SerialEngine):
        def result(self, future):
            raise WorkerLost("a worker died")

    with pytest.raises(RuntimeError, match="4 times in a row.*smaller files, or more workers"):
        fit_chains(Dead(2))


def test_shards_that_do_not_fit_into_memory_are_named(monkeypatch):
    def fail(shard, *arguments):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(worker.Shard, "describe", fail)
    with pytest.raises(MemoryError, match="shard 0 does not fit.*smaller files, or more workers"):
        fit_chains("threads")


def test_workers_that_ray_ends_for_want_of_memory_are_lost(monkeypatch):
    ray = pytest.importorskip("ray")
    engine = resolve_engine("ray")

    def get(future, timeout):
        raise ray.exceptions.OutOfMemoryError("the node is low on memory")

    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(WorkerLost, match="OutOfMemoryError"):
        engine.result(None)


def test_a_worker_that_hangs_is_replaced():
    engine = ProcessEngine(1)
    try:
        assert engine.result(engine.submit(0, int, "1")) == 1  # it has started
        engine.task_limit = 1.0
        with pytest.raises(WorkerLost, match="not answered for 1 s"):
            engine.result(engine.submit(0, time.sleep, 60))
        engine.restart(0)
        engine.task_limit = None
        assert engine.result(engine.submit(0, int, "2")) == 2
    finally:
        engine.close()


def test_a_worker_that_hangs_does_not_hold_up_the_end():
    engine = ProcessEngine(1, retries=0)
    try:
        assert engine.result(engine.submit(0, int, "1")) == 1
        process = next(iter(engine._pools[0]._processes.values()))
        engine.task_limit = 1.0
        with pytest.raises(RuntimeError, match="not answered for 1 s"):
            engine.wait(0, engine.submit(0, time.sleep, 60), int)
        assert not process.is_alive()
    finally:
        if process.is_alive():
            process.kill()
        engine.close()


def test_processes_that_die_at_once_are_told_of_the_guard():
    engine = ProcessEngine(1)
    calls = lambda: engine.submit(0, os._exit, 1)  # noqa: E731
    with pytest.raises(RuntimeError, match="__main__"):
        engine.wait(0, calls(), calls)
    engine.close()


def test_dask_moves_calls_and_waits_for_workers_that_are_slow_to_return(monkeypatch):
    pytest.importorskip("distributed")
    import dask.config

    from maxmargin.parallel import dask_engine

    monkeypatch.setattr(dask_engine, "_STEP", 0.2)
    name = "distributed.deploy.lost-worker-timeout"
    with dask.config.set({name: "100ms"}):
        engine = resolve_engine("dask", n_workers=2)
        try:
            future = engine.submit(0, time.sleep, 2)
            assert engine._client.direct_to_workers  # large values do not pass the scheduler
            psutil.Process(engine._client.run(os.getpid)[future[1]]).kill()
            assert engine.result(future) is None  # by the other worker, and not begun again
            for victim in workers_of("dask"):
                victim.kill()

            def again():
                return engine.submit(0, int, "1")

            assert engine.wait(0, again(), again) == 1
        finally:
            engine.close()
        assert dask.config.get(name) == "100ms"


# -- checkpoints -----------------------------------------------------------------------------------
class Stop(Exception):
    pass


class StopAfter(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise Stop


@pytest.mark.parametrize("name", ["corrective", "sdca", "perceptron"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2)])
def test_a_driver_that_died_goes_on_to_the_same_bits(tmp_path, name, shape):
    options = SOLVERS[name] | {"max_epochs": 5}
    expected = fit_chains(SerialEngine(*shape), **options)
    path = tmp_path / "run.checkpoint"
    callbacks = [Checkpoint(path, epochs=1, resume=True), StopAfter(3)]
    with pytest.raises(Stop):
        fit_chains(SerialEngine(*shape), callbacks, **options)
    again = fit_chains(SerialEngine(*shape), [Checkpoint(path, resume=True)], **options)
    assert same_bits(expected, again)
    with pytest.raises(ValueError, match="another run"):
        fit_chains(SerialEngine(3, 2), [Checkpoint(path, resume=True)], **options)


def test_oracles_with_a_memory_go_on_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    ring, path = [(0, 1), (1, 2), (2, 3), (3, 0)], tmp_path / "run.checkpoint"
    X = [Graph(rng.normal(size=(4, 3)), ring, rng.normal(size=(4, 2))) for _ in range(6)]
    y = [np.arange(4) % 3] * 6

    def fit(max_epochs):
        options = {"max_epochs": max_epochs, "tol": 1e-9, "method": "bounded"}
        checkpoint = Checkpoint(path, resume=True)
        return NetworkSVM(engine=SerialEngine(), callbacks=[checkpoint], **options).fit(X, y)

    expected = fit(4).result_
    path.unlink()
    assert len(fit(2).result_.state.z)
    assert same_bits(expected, fit(4).result_)


@pytest.mark.parametrize("name", ["corrective", "images", "textbook", "sdca"])
def test_forged_states_of_shards_are_refused(name):
    """Every array, with an entry more or that is no number, or missing."""

    class Forge(Callback):
        count = 0

        def on_epoch(self, run):
            solver, problem = run.solver, run.problem
            state, fresh = solver.state_to_save(run.state), solver.init(problem)
            solver.check_restored(problem, fresh, state)
            own = state.shards[1]
            for field, array in list(own.items()):
                forged = [np.append(array, array.dtype.type()), None]
                if array.dtype.kind == "f" and array.size and "vertex_cache" in field:
                    forged.append(np.full_like(array, np.nan))
                for other in forged:
                    own[field] = other
                    if other is None:
                        del own[field]
                    with pytest.raises(ValueError):  # noqa: PT011
                        solver.check_restored(problem, fresh, state)
                    self.count += 1
                own[field] = array
            state.shards.append(own)
            with pytest.raises(ValueError, match="it has 3 shards, not 2"):
                solver.check_restored(problem, fresh, state)

    forge = Forge()
    fit_chains(SerialEngine(2), [forge], max_epochs=1, **SOLVERS[name])
    assert forge.count > 20


@pytest.mark.parametrize("number", [-1, 625, 10**40, "[" * 10**5])
def test_forged_random_numbers_of_shards_are_refused(number):
    class Forge(Callback):
        def on_epoch(self, run):
            state = run.solver.state_to_save(run.state)
            own = state.shards[0]
            own["rng"] = np.array(re.sub(r'("pos": )\d+', rf"\g<1>{number}", str(own["rng"])))
            with pytest.raises(ValueError, match="range|recursion|too"):
                run.solver.check_restored(run.problem, run.solver.init(run.problem), state)

    seed = np.random.Generator(np.random.MT19937(0))
    fit_chains(SerialEngine(2), [Forge()], max_epochs=1, random_state=seed)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_warm_starts(n_workers):
    X, y = make_chains()
    model = ChainSVM(engine=SerialEngine(n_workers), warm_start=True, tol=0.05).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    dual = model.result_.dual
    assert model.fit(X, y).result_.n_epochs == 0
    assert model.result_.dual == pytest.approx(dual, rel=1e-12)
    model.set_params(engine=None).fit(X, y)
    assert model.result_.n_epochs == 0


def test_points_of_shards_that_keep_them_otherwise_are_joined():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 4)) for length in [2] * 30 + [2000, 2000]]
    y = [np.argmax(x[:, :3], axis=1) for x in X]
    kinds = set()

    class Watched(SerialEngine):
        def result(self, future):
            kinds.update(map(type, future or ()))
            return future

    state = ChainSVM(max_epochs=2, engine=Watched(3)).fit(X, y).result_.state
    assert {np.ndarray, Points} <= kinds  # images are kept of long chains
    starts = np.cumsum([0] + [3 * len(x) + 9 * (len(x) - 1) for x in X])  # labels and pairs
    for first, x in zip(starts, X, strict=False):
        labels = state.z[first : first + 3 * len(x)].reshape(-1, 3)
        np.testing.assert_allclose(labels.sum(axis=1), 1.0)


def test_processes_are_not_reached_by_interrupts_while_they_start():
    engine = ProcessEngine(1)
    try:
        (blocked,) = engine.map(signal.pthread_sigmask, [(signal.SIG_BLOCK, ())])
    finally:
        engine.close()
    assert signal.SIGINT in blocked
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def map_on_a_process(number):
    engine = ProcessEngine(1)
    try:
        return list(engine.map(abs, [(number,)])), multiprocessing.get_start_method()
    finally:
        engine.close()


def test_processes_start_within_those_of_joblib():
    found = Parallel(n_jobs=2, backend="loky")(delayed(map_on_a_process)(k) for k in (-1, -2))
    assert found == [([1], "loky"), ([2], "loky")]


def test_interrupts_do_not_end_processes():
    engine = ProcessEngine(1)
    try:
        pid = engine.result(engine.submit(0, os.getpid))
        os.kill(pid, signal.SIGINT)
        assert engine.result(engine.submit(0, os.getpid)) == pid
    finally:
        engine.close()


# -- other processes -------------------------------------------------------------------------------
def test_engines_are_pickled_without_their_workers(engine):
    if engine.name == "executor":
        pytest.skip("its executor is not")
    assert engine.result(engine.submit(0, int, "1")) == 1
    other = pickle.loads(pickle.dumps(engine))
    assert type(other) is type(engine)
    assert other.__getstate__() == engine.__getstate__()
    other.close()
    assert engine.result(engine.submit(0, int, "2")) == 2


# -- errors ----------------------------------------------------------------------------------------
def test_solvers_that_work_in_one_process_say_so():
    with pytest.raises(ValueError, match="Subgradient works in one process only.*bcfw"):
        fit_chains("serial", solver="ssg")


def test_engines_print_their_options():
    assert repr(SerialEngine(3, rounds=2)) == (
        "SerialEngine(n_workers=3, rounds=2, retries=3, task_limit=None, round_limit=None)"
    )


def test_unknown_engines():
    with pytest.raises(ValueError, match="must be one of"):
        fit_chains("spark")


@pytest.mark.parametrize("name", ["ray", "dask"])
def test_engines_that_are_not_installed(name, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray" if name == "ray" else "distributed", None)
    with pytest.raises(ImportError, match=rf"maxmargin\[{name}\]"):
        fit_chains(name)


def test_old_versions():
    from maxmargin.parallel.engines import check_version

    with pytest.raises(ImportError, match="ray 1.13.0 is installed.*2.9"):
        check_version("ray", "1.13.0")


def test_an_interrupted_oracle_in_python_is_not_called_for_all_epochs_again():
    """The shard that it was called for is made anew, from its state at the end of an epoch."""
    calls = []

    def best(theta):
        calls.append(0)
        if len(calls) == 1500:
            raise KeyboardInterrupt
        return np.arange(4) == np.argmax(theta)

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(60)]
    y = [np.arange(4) == np.argmax(x @ [1, 2, -1] + 0.5 * rng.normal(size=4)) for x in X]
    model = StructuredSVM(
        Structure.from_oracle(best), solver="bcfw", tol=0.0, max_epochs=60, engine=SerialEngine(2)
    )
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert len(calls) <= 1500 + 3 * len(X)
