"""Run folders: made once, locked, read with care."""

import json
import subprocess
import sys

import pytest

from maxmargin.runs import LockedError, RunError, RunFolder
from runs.made import config

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
    assert again.job().name == "chain"
    assert sorted(p.name for p in made.path.iterdir()) == [".lock", "config.toml"]


def test_a_run_is_not_replaced_unless_asked_for(tmp_path, made):
    made.write_json("evaluations/old.json", {"a": 1})
    with pytest.raises(RunError, match="has a run already"):
        made.create(config(tmp_path, alpha=1.0))
    assert made.config["alpha"] == 1e-3
    made.create(config(tmp_path, alpha=1.0), force=True)
    assert made.config["alpha"] == 1.0
    assert not made.has("evaluations")


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
    with pytest.raises(RunError, match="is no run folder"):
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
    made.create(config(tmp_path), force=True)
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
