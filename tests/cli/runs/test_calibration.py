"""Runs that calibrate: what is checked first, what is saved, and that resuming changes nothing."""

import json

import numpy as np
import pytest

from cli.runs.made import config, outcome, write_sequences
from maxmargin import ChainSVM, load
from maxmargin.callbacks import Callback
from maxmargin.cli.runs import RunError, RunFolder, evaluate, train
from maxmargin.tasks.registry import find_task_command

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Crash(Callback):
    def on_epoch(self, run):
        if run.state.epoch == 3:
            raise RuntimeError("power cut")


def calibrated(folder, *paths, **changes):
    paths = paths or (write_sequences(folder / "held_out.npz", seed=1),)
    options = {"calibrate": [str(path) for path in paths]}
    options |= changes.pop("task_options", {})
    return config(folder, task_options=options, **changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run = RunFolder(folder / "whole").create(calibrated(folder))
    return folder, run, train(run)


def test_the_temperature_is_that_of_the_held_out_samples(whole):
    folder, run, summary = whole
    model = load(run.path / "model.maxmargin")
    command = find_task_command("chain")
    held_out = command.read([folder / "held_out.npz"], {})
    plain = RunFolder(folder / "plain").create(config(folder))
    assert train(plain)["calibration"] is None
    bare = load(plain.path / "model.maxmargin")
    assert np.array_equal(bare.coef_, model.coef_)
    assert bare.temperature_ == 1.0
    assert model.temperature_ == bare.calibrate(held_out.inputs, held_out.outputs).temperature_
    found = {"temperature": model.temperature_, "n_samples": 40, "left_out": 0}
    assert summary["calibration"] == found
    assert model.temperature_ != 1.0


def test_reliability_is_in_the_evaluations(whole):
    folder, run, summary = whole
    found = json.loads((run.path / "evaluations" / "train.json").read_text())
    rows = sum(len(y) for y in find_task_command("chain").read([folder / "train.npz"], {}).outputs)
    assert sum(row[2] for row in found["reliability"]) == rows
    assert "calibration error" in summary["metrics"]["train"]
    other = evaluate(run, [folder / "held_out.npz"], save=False)
    assert other["reliability"]


def test_a_resumed_run_has_the_same_bytes(whole):
    folder, run, _ = whole
    cut = RunFolder(folder / "cut").create(run.config)
    with pytest.raises(RuntimeError, match="power cut"):
        train(cut, callbacks=[Crash()])
    train(cut, resume=True)
    assert outcome(cut.path) == outcome(run.path)


def test_held_out_files_must_not_change_meanwhile(whole, tmp_path):
    path = write_sequences(tmp_path / "held_out.npz", seed=1)
    run = RunFolder(tmp_path / "run").create(calibrated(tmp_path, path))
    with pytest.raises(RuntimeError, match="power cut"):
        train(run, callbacks=[Crash()])
    write_sequences(path, seed=2)
    with pytest.raises(RunError, match=r"held_out\.npz' has changed since the run began"):
        train(run, resume=True)


def bad_file(folder):
    (folder / "bad.npz").write_bytes(b"no archive")
    return folder / "bad.npz"


def narrow_file(folder):
    np.savez(folder / "bad.npz", X=np.ones((4, 2)), y=np.arange(4), lengths=[4])
    return folder / "bad.npz"


@pytest.mark.parametrize("make", [bad_file, narrow_file])
def test_bad_files_are_found_before_training(tmp_path, make, monkeypatch):
    run = RunFolder(tmp_path / "run").create(calibrated(tmp_path, make(tmp_path)))

    def fit(*_, **__):
        raise AssertionError("training began")

    monkeypatch.setattr(ChainSVM, "fit", fit)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        train(run)
    assert not (run.path / "data.json").exists()


def test_training_data_are_not_held_out(tmp_path):
    data = write_sequences(tmp_path / "train.npz")
    run = RunFolder(tmp_path / "run").create(calibrated(tmp_path, data))
    with pytest.raises(ValueError, match=r"train\.npz: is among the data, .* other files"):
        train(run)


def test_a_copy_of_the_training_data_is_not_held_out(tmp_path):
    copy = tmp_path / "copy.npz"
    copy.write_bytes(write_sequences(tmp_path / "train.npz").read_bytes())
    run = RunFolder(tmp_path / "run").create(calibrated(tmp_path, copy))
    with pytest.raises(ValueError, match=r"copy\.npz: has the contents of .*train\.npz, among"):
        train(run)


def test_other_files_may_be_held_out_until_the_run_has_ended(whole, tmp_path, monkeypatch):
    folder, run, _ = whole
    other = write_sequences(tmp_path / "other.npz", seed=5)
    cut = RunFolder(folder / "again").create(calibrated(folder, other))
    with monkeypatch.context() as patch:
        patch.setattr(ChainSVM, "calibrate", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(cut)
    cut.hold_out(run.config["task-options"]["calibrate"])
    train(cut, resume=True)
    assert outcome(cut.path) == outcome(run.path)
    with pytest.raises(RunError, match="has ended"):
        cut.hold_out([str(other)])


def test_a_likelihood_has_no_loss(tmp_path):
    options, limits = {"objective": "likelihood"}, {"tol": 0.05, "max_epochs": 500}
    summary = train(
        RunFolder(tmp_path / "run").create(calibrated(tmp_path, task_options=options, **limits))
    )
    assert summary["objective"] == "likelihood"
    assert summary["loss"] is None
    assert summary["solver"] == "sdca"
    assert summary["alpha"] == 1e-3
    assert summary["status"] == "converged"
    assert summary["certificate"].startswith("within ")
    assert 0 <= summary["gap"] <= 0.05 * summary["primal"]
