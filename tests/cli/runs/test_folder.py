"""Run folders: made once, locked, read with care."""

import json
import os
import subprocess
import sys

import pytest

from cli.runs.made import config
from maxmargin.cli.runs import LockedError, RunError, RunFolder, train
from maxmargin.cli.runs.places import check_output

#: holds the lock as `Lock` does, without the time that importing the package takes
HOLD = """
import fcntl, json, os, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
json.dump({"pid": os.getpid(), "host": "elsewhere"}, file)
file.flush()
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def made(tmp_path):
    return RunFolder(tmp_path / "run").create(config(tmp_path))


def test_create_and_open(tmp_path, made):
    again = RunFolder(tmp_path / "run").open()
    assert again.config == config(tmp_path)
    assert again.command().name == "chain"
    assert sorted(p.name for p in made.path.iterdir()) == [".lock", "config.toml"]


def test_a_run_is_not_replaced_unless_asked_for(tmp_path, made):
    made.write_json("evaluations/old.json", {"a": 1})
    with pytest.raises(RunError, match="has a run already"):
        made.create(config(tmp_path, alpha=1.0))
    assert made.config["alpha"] == 1e-3
    new = RunFolder(made.path).create(config(tmp_path, alpha=1.0), force=True)
    assert new.config["alpha"] == 1.0
    assert not new.has("evaluations")
    assert RunFolder(made.path).config["alpha"] == 1e-3
    new.replace_old_run()
    assert RunFolder(made.path).config["alpha"] == 1.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "train.npz"]


def test_other_files_are_never_removed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("all of it")
    for force in (False, True):
        with pytest.raises(RunError, match="other files in it, such as 'thesis.tex'"):
            RunFolder(tmp_path / "run").create(config(tmp_path), force=force)
    assert (tmp_path / "run" / "thesis.tex").read_text() == "all of it"


def test_what_is_no_run(tmp_path):
    with pytest.raises(RunError, match="does not exist"):
        RunFolder(tmp_path / "none").open()
    with pytest.raises(RunError, match="is not a run folder"):
        RunFolder(tmp_path).open()
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="a file is in its place"):
        RunFolder(tmp_path / "file").create(config(tmp_path))
    with pytest.raises(RunError, match="no 'task'"):
        RunFolder(tmp_path / "run").create({"data": ["x"]})
    with pytest.raises(RunError, match="no 'data'"):
        RunFolder(tmp_path / "run").create({"task": "chain"})
    assert not (tmp_path / "run").exists()


def test_documents(made):
    made.write_json("summary.json", {"gap": float("inf"), "list": [1, float("nan")]})
    assert made.read_json("summary.json") == {"gap": None, "list": [1, None]}
    with pytest.raises(RunError, match="has no none.json"):
        made.read_json("none.json")
    for damaged in ("{", "[]"):
        (made.path / "summary.json").write_text(damaged)
        with pytest.raises(RunError, match="is damaged"):
            made.read_json("summary.json")
    with pytest.raises(RunError, match="has no model yet"):
        made.model()


def test_history_with_an_unfinished_line(made):
    assert made.history() == []
    (made.path / "history.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    assert made.history() == [{"epoch": 1}, {"epoch": 2}]


def test_only_limits_can_be_changed(made):
    made.update({"max-epochs": 50, "checkpoints": None})
    assert made.config["max-epochs"] == 50
    assert "checkpoints" not in made.config
    with pytest.raises(RunError, match="'alpha' of a run cannot be changed"):
        made.update({"alpha": 1.0})


def test_lock(made):
    other = RunFolder(made.path)
    with made.locked(), made.locked(), pytest.raises(LockedError, match="in use by process"):
        other._lock.__enter__()
    with RunFolder(made.path).locked():
        assert "pid" in json.loads((made.path / ".lock").read_text())


def test_lock_of_another_process_ends_with_it(made):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, made.path / ".lock"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(LockedError, match=f"process {holder.pid} on elsewhere"), made.locked():
            pytest.fail("two at a time")
        with pytest.raises(LockedError):
            made.create({"task": "chain", "data": ["x"]}, force=True)
    finally:
        holder.kill()
        holder.communicate()
    with made.locked():  # its name is still in the file, and means nothing
        assert made.config["task"] == "chain"


def test_a_damaged_lock_file_does_not_matter(made):
    with made.locked():
        (made.path / ".lock").write_bytes(b"\xff{")
        with pytest.raises(LockedError, match="in use by another process"):
            RunFolder(made.path)._lock.__enter__()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["data.json", "config.toml", "report.html", "evaluations"])
def test_files_of_the_same_names_are_not_taken_for_a_run(tmp_path, name, force):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("mine = true")
    with pytest.raises(RunError, match="other files in it|is not of a run|has a run already"):
        RunFolder(tmp_path / "run").create(config(tmp_path), force=force)
    assert (tmp_path / "run" / name).read_text() == "mine = true"


def test_notes_among_the_evaluations_are_kept(tmp_path, made):
    made.write_json("evaluations/old.json", {"a": 1})
    (made.path / "evaluations" / "notes.txt").write_text("mine")
    made.create(config(tmp_path), force=True).replace_old_run()
    assert made.path == tmp_path / "run"
    assert [p.name for p in (made.path / "evaluations").iterdir()] == ["notes.txt"]


def test_discard_spares_a_run_that_trains(made):
    (made.path / "history.jsonl").write_text("")
    made.discard()
    assert made.has("config.toml")
    (made.path / "history.jsonl").unlink()
    made.discard()
    assert [p.name for p in made.path.iterdir()] == [".lock"]
    with made.locked(), pytest.raises(LockedError):
        RunFolder(made.path).discard()


# -- taking the place of an older run --------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_replacement_waits_until_it_has_succeeded(tmp_path, made):
    new = RunFolder(made.path).create(config(tmp_path, max_epochs=1), force=True)
    assert new.home == made.path
    assert made.open().config["max-epochs"] == 12
    assert made.replacement().config["max-epochs"] == 1
    summary = train(new)
    assert summary["n_epochs"] == 1
    assert new.path == made.path
    assert made.has("model.maxmargin")
    assert RunFolder(made.path).config["max-epochs"] == 1
    assert made.replacement() is None
    assert not (tmp_path / ".run.replacement").exists()


@pytest.mark.parametrize("step", range(1, 8))
def test_a_crash_while_replacing_leaves_a_whole_run(tmp_path, made, monkeypatch, step):
    """The process dies before one of the calls that change names or remove files."""
    (made.path / "model.maxmargin").write_text("old")
    new = RunFolder(made.path).create(config(tmp_path, alpha=1.0), force=True)
    (new.path / "model.maxmargin").write_text("new")
    count = 0

    def dying(function):
        def call(*args, **options):
            nonlocal count
            count += 1
            if count == step:
                raise SystemExit
            return function(*args, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("rename", "unlink", "rmdir"):
            patch.setattr(os, name, dying(getattr(os, name)))
        with pytest.raises(SystemExit):
            new.replace_old_run()
    found = RunFolder(made.path).open()
    text = (found.path / "model.maxmargin").read_text()
    assert (text, found.config["alpha"]) in (("old", 1e-3), ("new", 1.0))
    assert text == ("old" if step == 1 else "new")
    RunFolder(made.path).create(config(tmp_path, alpha=2.0), force=True).replace_old_run()
    assert found.open().path.is_dir()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "train.npz"]


def test_a_run_in_use_is_not_replaced(tmp_path, made):
    new = RunFolder(made.path).create(config(tmp_path, alpha=1.0), force=True)
    with RunFolder(made.path).locked(), pytest.raises(RunError, match=r"whole, in .*in use by"):
        new.replace_old_run()
    assert made.config["alpha"] == 1e-3
    new.replace_old_run()
    assert RunFolder(made.path).config["alpha"] == 1.0


def test_a_folder_that_is_a_link_is_replaced_behind_it(tmp_path, made):
    (tmp_path / "link").symlink_to("run")
    RunFolder(tmp_path / "link").create(config(tmp_path, alpha=1.0), force=True).replace_old_run()
    assert (tmp_path / "link").is_symlink()
    assert RunFolder(made.path).config["alpha"] == 1.0


def test_the_current_folder_is_not_replaced(tmp_path, made, monkeypatch):
    monkeypatch.chdir(made.path)
    with pytest.raises(RunError, match="is the current folder"):
        RunFolder(".").create(config(tmp_path), force=True)
    assert made.config["alpha"] == 1e-3


# -- links -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [".lock", "history.jsonl", "evaluations", "evaluations/dev.json"])
def test_links_in_a_run_are_refused_and_what_they_point_to_stays(tmp_path, made, name):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "a.json").write_text("mine")
    if name == "evaluations/dev.json":
        made.write_json("evaluations/own.json", {})
    (made.path / name).unlink(missing_ok=True)
    (made.path / name).symlink_to(kept if name == "evaluations" else kept / "a.json")
    for use in (
        lambda: made.open(),
        lambda: train(made, resume=True),
        lambda: RunFolder(made.path).create(config(tmp_path), force=True),
        lambda: made.discard(),
        lambda: made._lock.__enter__() if name == ".lock" else made.open(),
    ):
        with pytest.raises((RunError, OSError), match=r"is a link|symbolic"):
            use()
    assert (kept / "a.json").read_text() == "mine"


@pytest.mark.parametrize("ending", [".replaced", ".replacement"])
def test_links_beside_a_run_are_refused_and_what_they_point_to_stays(tmp_path, made, ending):
    kept = RunFolder(tmp_path / "kept").create(config(tmp_path, alpha=3.0))
    (kept.path / "notes.txt").write_text("mine")
    new = RunFolder(made.path).create(config(tmp_path, alpha=1.0), force=True)
    if ending == ".replacement":
        new.path.rename(tmp_path / "new")
    (tmp_path / f".run{ending}").symlink_to("kept")
    for use in (
        lambda: (
            RunFolder(made.path).create(config(tmp_path, alpha=2.0), force=True).replace_old_run()
        ),
        lambda: new.replace_old_run(),
        lambda: made.path.rename(tmp_path / "old") and RunFolder(made.path).open(),
    ):
        with pytest.raises(RunError, match="is a link"):
            use()
    assert (kept.path / "notes.txt").read_text() == "mine"
    assert kept.config["alpha"] == 3.0


def test_a_lock_with_another_name_is_not_emptied(tmp_path, made):
    (tmp_path / "mine").write_text("mine")
    (made.path / ".lock").unlink()
    os.link(tmp_path / "mine", made.path / ".lock")
    with made.locked():
        pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_outputs_are_not_files_of_a_run(tmp_path, made):
    made.write_json("environment.json", {})
    check_output(made.path / "predicted.txt")
    check_output(made.path / "report.html", report_of=made.path)
    (tmp_path / "alias").symlink_to("run/model.maxmargin")
    (made.path / "out.txt").symlink_to("../elsewhere.txt")
    for path in ("run/model.maxmargin", "run/evaluations/a.json", "run/.lock", "run/report.html"):
        with pytest.raises(RunError, match="is among the files of the run"):
            check_output(tmp_path / path)
    for path in ("alias", "run/out.txt"):
        with pytest.raises(RunError, match="is among the files of the run"):
            check_output(tmp_path / path, report_of=made.path)
