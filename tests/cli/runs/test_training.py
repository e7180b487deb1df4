"""Training into a folder: recorded, interrupted, resumed."""

import json
import os
import signal

import numpy as np
import pytest

from cli.runs.made import config, outcome, write_sequences
from maxmargin.callbacks import Callback
from maxmargin.cli.runs import RunError, RunFolder, evaluate, train

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def whole(data):
    """A run that nothing stopped."""
    folder = RunFolder(data / "whole").create(config(data))
    train(folder)
    return folder


class Signal(Callback):
    """Send signals to this process after an epoch has begun to count."""

    def __init__(self, epoch, *numbers):
        self.epoch, self.numbers = epoch, numbers

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            for number in self.numbers:
                os.kill(os.getpid(), number)


class Crash(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise RuntimeError("power cut")


def test_what_a_killed_process_was_writing_goes_in_all_folders(data):
    folder = RunFolder(data / "killed").create(config(data))
    (folder.path / "evaluations").mkdir()
    partial = f".{'0' * 32}.part"
    for place in (folder.path, folder.path / "evaluations"):
        (place / partial).write_text("half")
        (place / "mine.part").write_text("somebody's")
    train(folder)
    assert {p.name for p in folder.path.rglob("*.part")} == {"mine.part"}


def test_what_a_run_leaves(whole, data):
    summary = whole.read_json("summary.json")
    assert (summary["status"], summary["n_epochs"]) == ("max_epochs", 12)
    assert summary["task"] == "chain"
    assert summary["n_samples"] == 40
    assert summary["solver"] == "bcfw"
    assert summary["primal"] >= summary["dual"]
    assert summary["tables"]
    assert summary["metrics"]["train"] == {
        m["name"]: m["value"] for m in whole.read_json("evaluations/train.json")["metrics"]
    }
    records = whole.history()
    assert records[-1]["epoch"] == 12
    assert records[-1]["dual"] == summary["dual"]
    counts = whole.read_json("data.json")
    assert counts["files"][0]["name"] == "train.npz"
    assert len(counts["files"][0]["sha256"]) == 64
    environment = whole.read_json("environment.json")
    assert environment["packages"]["numpy"] == np.__version__
    assert len(whole.model().coef_) == summary["n_weights"]
    assert not [p for p in whole.path.iterdir() if p.suffix == ".part"]


def test_a_recorded_run_can_be_repeated(whole, tmp_path):
    from maxmargin.cli.runs import read_config

    again = RunFolder(tmp_path / "run").create(read_config(whole.path / "config.toml"))
    train(again)
    assert outcome(again.path) == outcome(whole.path)


@pytest.mark.parametrize("cut", [1, 5, 11])
def test_crash_and_resume(whole, data, tmp_path, cut):
    folder = RunFolder(tmp_path / "run").create(config(data))
    with pytest.raises(RuntimeError, match="power cut"):
        train(folder, callbacks=[Crash(cut)])
    assert not folder.has("summary.json")
    with pytest.raises(RunError, match="has begun already"):
        train(folder)
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole.path)
    assert len(folder.read_json("environment.json")["resumed"]) == 1


def test_resume_without_a_checkpoint_starts(whole, data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data))
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole.path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_epoch(whole, data, tmp_path, number):
    folder = RunFolder(tmp_path / "run").create(config(data))
    handler = signal.getsignal(number)
    summary = train(folder, callbacks=[Signal(3, number)])
    assert signal.getsignal(number) is handler
    assert summary["status"] == "interrupted"
    assert summary["message"] == f"by {number.name}; the run can be resumed"
    assert summary["n_epochs"] == 4  # it came when callbacks had seen epoch 3 already
    assert folder.read_json("summary.json") == summary
    assert len(folder.model().coef_) == summary["n_weights"]
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole.path)


def test_a_signal_that_is_ignored_stays_ignored(whole, data, tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        folder = RunFolder(tmp_path / "run").create(config(data))
        train(folder, callbacks=[Signal(3, signal.SIGINT)])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome(folder.path) == outcome(whole.path)


def test_a_signal_after_the_last_epoch_leaves_the_rest_to_be_done(whole, data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data))
    with pytest.raises(KeyboardInterrupt):
        train(folder, callbacks=[Signal(12, signal.SIGTERM)])
    assert not folder.has("summary.json")
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole.path)


def test_a_second_signal_ends_it_at_once(whole, data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data))
    with pytest.raises(KeyboardInterrupt):
        train(folder, callbacks=[Signal(3, signal.SIGINT, signal.SIGINT)])
    assert not folder.has("model.maxmargin")
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole.path)


def test_a_finished_run_is_left_alone(whole):
    before = {p: p.stat().st_mtime_ns for p in whole.path.rglob("*") if p.name != ".lock"}
    summary = train(whole, resume=True)
    assert "had ended already (max_epochs)" in summary["note"]
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_raised_limits_continue_the_run(whole, data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data, max_epochs=4))
    train(folder)
    folder.update({"max-epochs": 12})
    assert train(folder, resume=True)["n_epochs"] == 12
    assert outcome(folder.path) == outcome(whole.path)


def test_smaller_tol_continues_the_run(data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data, tol=0.5, alpha=0.1, max_epochs=200))
    first = train(folder)
    assert first["status"] == "converged"
    folder.update({"tol": 0.9})
    assert "note" in train(folder, resume=True)
    folder.update({"tol": 0.01})
    second = train(folder, resume=True)
    assert second["status"] == "converged"
    assert second["relative_gap"] <= 0.01 < first["relative_gap"]


def test_time_limit(data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data, max_epochs=10**6, time_limit=0.05))
    first = train(folder)
    assert first["status"] == "time_limit"
    assert "note" in train(folder, resume=True)
    folder.update({"time-limit": first["seconds"] + 0.5})
    second = train(folder, resume=True)
    assert second["status"] == "time_limit"
    assert second["n_epochs"] > first["n_epochs"]


def test_changed_data_are_refused(tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(tmp_path))
    with pytest.raises(RuntimeError, match="power cut"):
        train(folder, callbacks=[Crash(2)])
    write_sequences(tmp_path / "train.npz", seed=5)
    with pytest.raises(RunError, match=r"train.npz' has changed since the run began"):
        train(folder, resume=True)
    os.unlink(tmp_path / "train.npz")
    with pytest.raises(FileNotFoundError):
        train(folder, resume=True)


def test_validation_stops_early(data, tmp_path):
    held_out = write_sequences(tmp_path / "dev.npz", seed=7)
    changes = {"validation": [str(held_out)], "max_epochs": 200}
    runs = []
    for name, cut in (("whole", None), ("cut", 5)):
        folder = RunFolder(tmp_path / name).create(config(data, **changes))
        if cut:
            with pytest.raises(RuntimeError, match="power cut"):
                train(folder, callbacks=[Crash(cut)])
        runs.append(train(folder, resume=True))
        assert folder.has("evaluations/validation.json")
    assert outcome(tmp_path / "whole") == outcome(tmp_path / "cut")
    assert runs[0]["status"] == "stopped"
    assert set(runs[0]["metrics"]) == {"train", "validation"}
    assert "validation_score" in RunFolder(tmp_path / "cut").history()[0]


def test_solver_options_and_loss(data, tmp_path):
    options = {"step": "pairwise", "cache": {"size": 4, "passes": 1}}
    folder = RunFolder(tmp_path / "run").create(
        config(data, solver="bcfw", solver_options=options, loss="hamming-sum", seed=4, threads=2)
    )
    summary = train(folder)
    assert (summary["solver"], summary["loss"]) == ("bcfw", "hamming-sum")
    model = folder.model()
    assert (model.solver.step, model.solver.cache.size) == ("pairwise", 4)
    assert (model.random_state, model.n_jobs) == (4, 2)


def test_wrong_values_fail_before_training(data, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(data, loss="haming"))
    with pytest.raises(ValueError, match="haming"):
        train(folder)
    assert not folder.has("checkpoint.maxmargin")


def test_evaluate(whole, data, tmp_path):
    other = write_sequences(tmp_path / "test.npz", seed=8)
    found = evaluate(whole, [other])
    assert whole.read_json("evaluations/test.json") == json.loads(json.dumps(found))
    assert found["data"]["files"] == "test.npz"
    (whole.path / "evaluations" / "test.json").unlink()
    evaluate(whole, [other], save=False)
    assert not whole.has("evaluations/test.json")


def test_the_model_knows_no_times(whole):
    result = whole.model().result_
    assert result.state is None
    assert len(result.history) == len(whole.history())
    assert all(np.isnan(record.seconds) for record in result.history)
    assert [r.primal for r in result.history] == [r["primal"] for r in whole.history()]


def test_models_of_runs_on_engines_know_no_times(data, tmp_path):
    models = []
    for name, n_epochs in (("whole", 4), ("again", 4), ("resumed", 2)):
        run = RunFolder(tmp_path / name)
        run.create(config(data, engine="threads", workers=2, max_epochs=n_epochs))
        train(run)
        run.update({"max-epochs": 4})
        train(run, resume=True)
        models.append((run.path / "model.maxmargin").read_bytes())
        assert "visit_seconds" in (run.path / "history.jsonl").read_text()
    assert models[0] == models[1] == models[2]
