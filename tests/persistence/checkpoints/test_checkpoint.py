"""A run that is cut after any epoch and goes on from its checkpoint ends with the same bits."""

import pytest

from contract import problems
from contract.cut_runs import CASES, EPOCHS, outcome, sequences, solver_of
from maxmargin import ChainSVM
from maxmargin.callbacks import Callback, EarlyStopping, TimeLimit
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import save
from maxmargin.persistence.checkpoints import Checkpoint, read_snapshot
from maxmargin.persistence.checkpoints.checkpoint import SHARE
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe


@pytest.mark.parametrize("name", CASES)
@pytest.mark.one_in(5)
def test_cut_after_any_epoch(name, tmp_path):
    make = CASES[name][1]
    whole = outcome(solver_of(name).run(make().problem))
    path = tmp_path / "run"
    for cut in range(1, EPOCHS):
        short = solver_of(name, max_epochs=cut).run(make().problem, callbacks=[Checkpoint(path)])
        assert short.n_epochs == (1 if name == "qp" else cut)  # all in one
        again = solver_of(name).run(make().problem, callbacks=[Checkpoint(path, resume=True)])
        assert outcome(again) == whole
        path.unlink()


@pytest.mark.parametrize("name", ["dual-restarts", "dual-restarts-ball"])
def test_the_cases_with_restarts_have_some(name):
    state = solver_of(name).run(CASES[name][1]().problem).state
    assert 0 < state.n_steps < EPOCHS - 2


@pytest.mark.parametrize("name", ["bcfw-corrective-gap", "ssg-half", "dual-restarts"])
def test_cut_after_every_epoch(name, tmp_path):
    make, path = CASES[name][1], tmp_path / "run"
    whole = outcome(solver_of(name).run(make().problem))
    for epochs in range(EPOCHS + 1):
        last = solver_of(name, max_epochs=epochs).run(
            make().problem, callbacks=[Checkpoint(path, resume=True)]
        )
    assert outcome(last) == whole
    # a run that was over ends the same way once more
    again = solver_of(name).run(make().problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == whole


class Crash(Callback):
    """Ends the process, as it were, after a number of epochs."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise RuntimeError("power cut")


def test_crash_between_checkpoints(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    whole = solver_of("bcfw-corrective-permutation").run(problem)
    with pytest.raises(RuntimeError, match="power cut"):
        solver_of("bcfw-corrective-permutation").run(
            problem, callbacks=[Checkpoint(path, epochs=2), Crash(5)]
        )
    assert read_snapshot(path).state["epoch"] == 4
    again = solver_of("bcfw-corrective-permutation").run(
        problem, callbacks=[Checkpoint(path, resume=True)]
    )
    assert outcome(again) == outcome(whole)


def test_warm_start_goes_on(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    given = lambda: solver_of("fw", max_epochs=2).run(problem).state  # noqa: E731
    name = "bcfw-corrective-permutation"
    whole = solver_of(name).run(problem, given())
    solver_of(name, max_epochs=4).run(problem, given(), [Checkpoint(path)])
    again = solver_of(name).run(problem, given(), [Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(whole)


def test_converged_run_stays_converged(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    first = BCFW(tol=0.01).run(problem, callbacks=[Checkpoint(path)])
    assert first.status is Status.CONVERGED
    again = BCFW(tol=0.01).run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(first)
    further = BCFW(tol=1e-6).run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert further.status is Status.CONVERGED
    assert further.n_epochs > first.n_epochs


def test_time_limit_counts_the_whole_run(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    solver_of("fw", max_epochs=2).run(problem, callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.wall = 100.0
    save(snapshot, path)
    again = solver_of("fw").run(problem, callbacks=[Checkpoint(path, resume=True), TimeLimit(99.0)])
    assert (again.status, again.n_epochs) == (Status.TIME_LIMIT, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("first", [True, False])
def test_early_stopping_remembers(tmp_path, first):
    path, (X, y), held_out = tmp_path / "run", sequences(), sequences(1)

    def fit(max_epochs, *checkpoints):
        stopping = EarlyStopping(*held_out, patience=3)
        callbacks = [*checkpoints, stopping] if first else [stopping, *checkpoints]
        model = ChainSVM(alpha=1e-3, tol=0.0, max_epochs=max_epochs, callbacks=callbacks)
        return model.set_params(solver=BCFW(check_every=1)).fit(X, y)

    whole = fit(60).result_
    assert whole.status is Status.STOPPED
    for cut in (1, whole.n_epochs - 1):
        fit(cut, Checkpoint(path))
        again = fit(60, Checkpoint(path, resume=True)).result_
        assert outcome(again) == outcome(whole)
    # and once more, from the checkpoint of the very end
    assert outcome(fit(60, Checkpoint(path, resume=True)).result_) == outcome(whole)
    with pytest.raises(ModelFileError, match="callback EarlyStopping; give it again"):
        ChainSVM(
            alpha=1e-3, solver=BCFW(check_every=1), callbacks=[Checkpoint(path, resume=True)]
        ).fit(X, y)


# -- when and how it is written --------------------------------------------------------------------
@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 1),
        ({"epochs": 3}, 3),
        ({"epochs": 1}, EPOCHS),
        ({"seconds": 2.0}, 4),
        ({"seconds": 3.0, "epochs": 2}, 4),
    ],
)
def test_when_it_is_written(tmp_path, monkeypatch, options, expected):
    now = [0.0]

    class Work(Callback):
        def on_epoch(self, run):
            now[0] += 1.0

    monkeypatch.setattr(
        "maxmargin.persistence.checkpoints.checkpoint.time.perf_counter", lambda: now[0]
    )
    checkpoint = Checkpoint(tmp_path / "run", **options)
    solver_of("fw").run(problems.chain().problem, callbacks=[Work(), checkpoint])
    assert checkpoint.n_written_ == expected
    assert checkpoint.error_ is None


def test_writing_takes_a_small_share(tmp_path, monkeypatch):
    now = [0.0]

    def slow_save(*args, **options):
        now[0] += 10.0

    class Work(Callback):
        def on_epoch(self, run):
            now[0] += 1.0

    monkeypatch.setattr(
        "maxmargin.persistence.checkpoints.checkpoint.time.perf_counter", lambda: now[0]
    )
    monkeypatch.setattr("maxmargin.persistence.checkpoints.checkpoint.save", slow_save)
    checkpoint = Checkpoint(tmp_path / "run", seconds=1.0)
    solver_of("fw", max_epochs=1000).run(problems.chain().problem, callbacks=[checkpoint, Work()])
    assert checkpoint.n_written_ >= 3
    assert (checkpoint.n_written_ - 2) * 10.0 <= now[0] / SHARE


def test_full_disk_is_a_warning(tmp_path, monkeypatch):
    path, problem = tmp_path / "run", problems.chain().problem
    solver_of("fw", max_epochs=2).run(problem, callbacks=[Checkpoint(path)])
    before = path.read_bytes()
    checkpoint = Checkpoint(path, epochs=1, resume=True)

    def no_room(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("maxmargin.persistence.model_file.os.fsync", no_room)
        with pytest.warns(RuntimeWarning, match="the disk is full.*Training goes on") as caught:
            result = solver_of("fw").run(problem, callbacks=[checkpoint])
    assert len(caught) == 1
    assert result.n_epochs == EPOCHS
    assert "full" in checkpoint.error_
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    again = solver_of("fw").run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(solver_of("fw").run(problem))


def test_wrong_options(tmp_path):
    problem = problems.chain().problem
    for options, error in (
        ({"seconds": -1.0}, ValueError),
        ({"seconds": "often"}, ValueError),
        ({"epochs": 0}, ValueError),
        ({"path": tmp_path / "none" / "run"}, FileNotFoundError),
    ):
        with pytest.raises(error):
            FrankWolfe().run(
                problem, callbacks=[Checkpoint(**({"path": tmp_path / "run"} | options))]
            )
