"""One battery for all engines: same bits everywhere, one optimum, a dual that never falls."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from maxmargin import ChainSVM, MatchingSVM, MulticlassSVM
from maxmargin.callbacks import Callback
from maxmargin.parallel import Engine, ExecutorEngine, SerialEngine
from maxmargin.parallel.line_search import maximize_in_box
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.solvers import BCFW, OracleCache

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
    return rows[0] == rows[1] and bits[0] == bits[1]


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
}


@pytest.mark.parametrize("name", SOLVERS)
def test_one_shard_has_the_bits_of_a_fit_without_an_engine(name):
    alone = fit_chains(max_epochs=6, **SOLVERS[name])
    assert same_bits(alone, fit_chains(SerialEngine(1, 1), max_epochs=6, **SOLVERS[name]))


class DualWatch(Callback):
    def __init__(self):
        self.duals = []

    def on_epoch(self, run):
        self.duals.append(run.solver.bound(run.problem, run.state))


@pytest.mark.parametrize("n_workers", [2, 3, 8])
@pytest.mark.parametrize("name", ["corrective", "small-cache", "images", "textbook", "sdca"])
def test_shards_share_one_optimum_and_the_dual_never_falls(n_workers, name):
    alone = fit_chains(max_epochs=40, **SOLVERS[name])
    watch = DualWatch()
    engine = SerialEngine(n_workers, 2, scale=1.5 if name == "corrective" else None)
    found = fit_chains(engine, [watch], max_epochs=40, **SOLVERS[name])
    duals = np.array(watch.duals)
    assert (np.diff(duals) >= -1e-12).all()
    assert found.dual <= alone.primal + 1e-12
    assert alone.dual <= found.primal + 1e-12
    assert len(found.state.z) == len(alone.state.z)


@pytest.mark.parametrize("kind", ["multiclass", "matching"])
def test_other_structures(kind):
    rng = np.random.default_rng(1)
    if kind == "multiclass":
        X, make = rng.normal(size=(40, 3)), MulticlassSVM
        y = np.argmax(X, axis=1)
    else:
        X = [rng.normal(size=(9, 2)) for _ in range(12)]
        X, make = [x.reshape(3, 3, 2) for x in X], MatchingSVM
        y = [np.arange(3) for _ in X]
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
def make_engine(name: str, **options) -> Engine:
    options = {"n_workers": 2, "rounds": 2} | options
    if name == "threads":
        return ExecutorEngine(lambda: ThreadPoolExecutor(2), **options)
    if name == "processes":
        return ExecutorEngine(**options)
    package = pytest.importorskip("distributed" if name == "dask" else name)
    assert package
    from maxmargin import parallel

    return {"dask": parallel.DaskEngine, "ray": parallel.RayEngine}[name](**options)


@pytest.fixture(params=["threads", "processes", "dask", "ray"], scope="module")
def engine(request):
    found = make_engine(request.param)
    yield found
    found.close()


def test_engines_have_the_same_bits(engine):
    expected = fit_chains(SerialEngine(2, 2))
    assert same_bits(expected, fit_chains(engine))
    likelihood = {"objective": "likelihood", "solver": "lbfgs", "max_epochs": 5}
    assert same_bits(fit_chains(SerialEngine(2, 2), **likelihood), fit_chains(engine, **likelihood))


def test_errors_of_workers_are_those_of_the_oracle(engine):
    X, y = make_chains()
    X[7] = X[7] * 1e200
    X[7][0] = 1e308
    with pytest.raises((FloatingPointError, OverflowError)), np.errstate(all="ignore"):
        ChainSVM(engine=engine, max_epochs=3).fit(X, y)


class KillOnce(Callback):
    """Kills a worker, found by what its engine knows, after the first epochs."""

    def __init__(self, victims, times: int = 1):
        self.victims, self.times = victims, times

    def on_epoch(self, run):
        if run.state.epoch <= self.times:
            os.kill(self.victims(), signal.SIGKILL)


def pid_of_worker(engine: Engine) -> int:
    return engine.run(_pid, [()])[1][0]


def _pid():
    return None, os.getpid()


def test_a_dead_worker_is_replaced(engine):
    if getattr(engine, "executor", None) is not None:
        pytest.skip("threads do not die")
    expected = fit_chains(SerialEngine(2, 2), max_epochs=4)
    kill = KillOnce(lambda: pid_of_worker(engine))
    assert same_bits(expected, fit_chains(engine, [kill], max_epochs=4))


def _hang_once(path: str):
    if not Path(path).exists():
        Path(path).touch()
        time.sleep(60)
    return None, "done"


def test_a_worker_that_hangs_is_replaced(tmp_path):
    engine = make_engine("processes", task_limit=1.0)
    assert engine.run(_hang_once, [(str(tmp_path / "seen"),)])[1] == ["done"]
    engine.close()


def test_an_executor_that_is_given_cannot_be_replaced():
    with ProcessPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="function that returns"):
        ExecutorEngine(pool).run(_kill_itself, [()])


def _kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


# -- checkpoints -----------------------------------------------------------------------------------
class Stop(Exception):
    pass


class StopAfter(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise Stop


@pytest.mark.parametrize("name", ["corrective", "sdca"])
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


def test_warm_starts():
    X, y = make_chains()
    model = ChainSVM(engine=SerialEngine(2, 2), warm_start=True, max_epochs=100).fit(X, y)
    assert model.fit(X, y).result_.n_epochs == 0


# -- errors ----------------------------------------------------------------------------------------
def test_solvers_that_work_in_one_process_say_so():
    with pytest.raises(ValueError, match="Subgradient works in one process only.*bcfw"):
        fit_chains("serial", solver="ssg")


def test_unknown_engines():
    with pytest.raises(ValueError, match="must be one of"):
        fit_chains("spark")
    with pytest.raises(ValueError, match="from 1 to n_workers"):
        SerialEngine(2, scale=3.0)


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
