"""Cells measured for real, each in a process of its own."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from maxmargin.cli.comparison.plan import check_plan
from maxmargin.cli.comparison.process import CellError, ask
from maxmargin.cli.comparison.run import run_study

STUDY = """
import json, sys
from maxmargin.tasks.registry import JOBS
from maxmargin.cli.comparison.run import run_study
JOBS["tiny"] = "tiny_job:TinyJob"
run_study(json.loads(sys.argv[1]), sys.argv[2], resume=True)
"""


def request(plan, tmp_path, solver="bcfw", size=40, **options):
    plan = check_plan({**plan, "task-options": options})
    cell = {"solver": solver, "size": size, "seed": 0}
    return {"job": "tiny_job:TinyJob", "plan": plan, "cell": cell, "common": str(tmp_path)}


@pytest.fixture(scope="module")
def measured(samples, known, tmp_path_factory):
    """Two cells: with a penalty, and the same solver without, as the papers have it."""
    solvers = {"bcfw": {}, "free": {"solver": "dual-extragradient", "alpha": 0, "max-epochs": 7}}
    plan = {"task": "tiny", "data": [str(samples)], "solvers": solvers, "sizes": [40]}
    place = tmp_path_factory.mktemp("cells")
    plan |= {"alpha": 0.5, "certify-every": 1, "max-epochs": 50}
    return {label: ask(request(plan, place, label)) for label in solvers}


def test_cell_holds_what_was_measured(measured):
    cell = measured["bcfw"]
    assert cell["status"] == "converged"
    assert cell["n_oracle"] == 40 * cell["n_epochs"]
    assert cell["n_project"] == 0
    assert cell["alpha"] == 0.5
    assert cell["gap"] == pytest.approx(cell["primal"] - cell["dual"])
    assert 0 <= cell["relative_gap"] <= 1e-3
    assert 0 < cell["seconds"] < cell["wall_seconds"]
    assert cell["compile_seconds"] > 0
    assert cell["peak_bytes"] >= cell["base_bytes"] > 2**20
    assert cell["solver_bytes"] > 8 * cell["n_parts"]  # its z at least
    assert cell["n_parts"] == 40 * (4 * 3 + 9)  # four nodes with three labels, one pair table
    assert 0 <= cell["train_error"] <= 1
    assert 0 <= cell["test_error"] <= 1
    assert cell["error_name"] == "label error"
    assert [record["epoch"] for record in cell["history"]] == list(range(1, cell["n_epochs"] + 1))


def test_solvers_have_settings_of_their_own(measured):
    cell = measured["free"]
    assert (cell["alpha"], cell["n_epochs"], cell["status"]) == (0.0, 7, "max_epochs")
    assert cell["n_project"] > 0
    assert cell["gap"] is None  # nothing bounds the objective
    assert cell["dual"] is None


def test_a_process_that_dies_is_told_apart_from_an_error(tiny, tmp_path):
    with pytest.raises(CellError, match="ended by SIGKILL .out of memory"):
        ask(request(tiny, tmp_path, **{"crash-at": 40}))
    with pytest.raises(CellError, match="^RuntimeError: made to fail$"):
        ask(request(tiny, tmp_path, **{"raise-at": 40}))


def test_a_process_that_cannot_start_says_why(tiny, tmp_path):
    wrong = {**request(tiny, tmp_path), "job": "no_such_module:Job"}
    with pytest.raises(CellError, match="No module named 'no_such_module'"):
        ask(wrong)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks for processes in /proc")
def test_killed_study_goes_on_where_it_was(tiny, tmp_path):
    """kill -9 of the study ends its cell, too; what was done is kept, the rest is done."""
    out = tmp_path / "s"
    plan = {**tiny, "solvers": ["bcfw"], "task-options": {"sleep-at": 40}}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", STUDY, json.dumps(plan), str(out)]
    study = subprocess.Popen(command, env=env, start_new_session=True)
    try:
        wait_for(lambda: (out / "cells" / "bcfw-10-0.json").exists())
        wait_for(lambda: len(processes_of(study.pid)) == 2)
    finally:
        os.kill(study.pid, signal.SIGKILL)
        study.wait()
    wait_for_end(study.pid)
    before = (out / "cells" / "bcfw-10-0.json").read_bytes()
    assert not (out / "cells" / "bcfw-40-0.json").exists()
    plan = {**plan, "kill-after": 2.0}
    summary = run_study(plan, out, resume=True)
    assert (out / "cells" / "bcfw-10-0.json").read_bytes() == before
    assert summary["rows"][0]["runs"] == 1
    assert summary["failed"][0]["message"] == "not done after 2 s; the process was ended"


@pytest.mark.soak
def test_a_study_killed_again_and_again_finds_the_same(tiny, tmp_path):
    plan = {**tiny, "solvers": ["bcfw", "ssg"], "seeds": 2}
    whole = run_study(plan, tmp_path / "whole")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    rng, out = random.Random(0), tmp_path / "killed"
    kills = 0
    while not (out / "study.json").exists():
        command = [sys.executable, "-c", STUDY, json.dumps(plan), str(out)]
        study = subprocess.Popen(command, env=env, start_new_session=True)
        try:
            study.wait(rng.uniform(0.5, 8.0))
        except subprocess.TimeoutExpired:
            os.kill(study.pid, signal.SIGKILL)
            kills += 1
        study.wait()
        wait_for_end(study.pid)
        for path in (out / "cells").glob("*.json"):
            assert json.loads(path.read_bytes())["status"] != "failed"
    assert kills >= 3
    same = ("solver", "size", "n_oracle", "n_epochs", "primal", "dual", "test_error")
    found = json.loads((out / "study.json").read_bytes())
    assert [[row[key] for key in same] for row in found["rows"]] == [
        [row[key] for key in same] for row in whole["rows"]
    ]


def wait_for(condition, seconds=600):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def wait_for_end(session):
    wait_for(lambda: not processes_of(session))


def processes_of(session):
    """Processes of the session that are alive."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stream:
                state = stream.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(state[3]) == session and state[0] != "Z":
            found.append(int(name))
    return found
