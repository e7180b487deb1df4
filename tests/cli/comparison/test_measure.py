"""Cells measured for real, each in a process of its own."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from maxmargin.cli.comparison.config import check_comparison
from maxmargin.cli.comparison.process import ComparisonRunError, run_in_process
from maxmargin.cli.comparison.run import run_comparison

COMPARISON = """
import json, sys
from maxmargin.tasks.registry import TASK_COMMANDS
from maxmargin.cli.comparison.run import run_comparison
TASK_COMMANDS["tiny"] = "tiny_command:TinyCommand"
run_comparison(json.loads(sys.argv[1]), sys.argv[2], resume=True)
"""


def request(config, tmp_path, solver="bcfw", size=40, **options):
    config = check_comparison({**config, "task-options": options})
    run_spec = {"solver": solver, "size": size, "seed": 0}
    return {
        "command": "tiny_command:TinyCommand",
        "config": config,
        "run": run_spec,
        "common": str(tmp_path),
    }


@pytest.fixture(scope="module")
def measured(samples, known, tmp_path_factory):
    """Two runs: with a penalty, and the same solver without, as the papers have it."""
    solvers = {"bcfw": {}, "free": {"solver": "dual-extragradient", "alpha": 0, "max-epochs": 7}}
    config = {"task": "tiny", "data": [str(samples)], "solvers": solvers, "sizes": [40]}
    place = tmp_path_factory.mktemp("runs")
    config |= {"alpha": 0.5, "certify-every": 1, "max-epochs": 50}
    return {label: run_in_process(request(config, place, label)) for label in solvers}


def test_cell_holds_what_was_measured(measured):
    run_spec = measured["bcfw"]
    assert run_spec["status"] == "converged"
    assert run_spec["n_oracle"] == 40 * run_spec["n_epochs"]
    assert run_spec["n_project"] == 0
    assert run_spec["alpha"] == 0.5
    assert run_spec["gap"] == pytest.approx(run_spec["primal"] - run_spec["dual"])
    assert 0 <= run_spec["relative_gap"] <= 1e-3
    assert 0 < run_spec["seconds"] < run_spec["wall_seconds"]
    assert run_spec["compile_seconds"] > 0
    assert run_spec["peak_bytes"] >= run_spec["base_bytes"] > 2**20
    assert run_spec["solver_bytes"] > 8 * run_spec["n_parts"]  # its z at least
    assert run_spec["n_parts"] == 40 * (4 * 3 + 9)  # four nodes with three labels, one pair table
    assert 0 <= run_spec["train_error"] <= 1
    assert 0 <= run_spec["test_error"] <= 1
    assert run_spec["error_name"] == "label error"
    assert [record["epoch"] for record in run_spec["history"]] == list(
        range(1, run_spec["n_epochs"] + 1)
    )


def test_solvers_have_settings_of_their_own(measured):
    run_spec = measured["free"]
    assert (run_spec["alpha"], run_spec["n_epochs"], run_spec["status"]) == (0.0, 7, "max_epochs")
    assert run_spec["n_project"] > 0
    assert run_spec["gap"] is None  # nothing bounds the objective
    assert run_spec["dual"] is None


def test_a_process_that_dies_is_told_apart_from_an_error(tiny, tmp_path):
    with pytest.raises(ComparisonRunError, match="ended by SIGKILL .out of memory"):
        run_in_process(request(tiny, tmp_path, **{"crash-at": 40}))
    with pytest.raises(ComparisonRunError, match="^RuntimeError: made to fail$"):
        run_in_process(request(tiny, tmp_path, **{"raise-at": 40}))


def test_a_process_that_cannot_start_says_why(tiny, tmp_path):
    wrong = {**request(tiny, tmp_path), "command": "no_such_module:Command"}
    with pytest.raises(ComparisonRunError, match="No module named 'no_such_module'"):
        run_in_process(wrong)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks for processes in /proc")
def test_killed_comparison_goes_on_where_it_was(tiny, tmp_path):
    """kill -9 of the comparison ends its run, too; what was done is kept, the rest is done."""
    out = tmp_path / "s"
    config = {**tiny, "solvers": ["bcfw"], "task-options": {"sleep-at": 40}}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", COMPARISON, json.dumps(config), str(out)]
    comparison = subprocess.Popen(command, env=env, start_new_session=True)
    try:
        wait_for(lambda: (out / "runs" / "bcfw-10-0.json").exists())
        wait_for(lambda: len(processes_of(comparison.pid)) == 2)
    finally:
        os.kill(comparison.pid, signal.SIGKILL)
        comparison.wait()
    wait_for_end(comparison.pid)
    before = (out / "runs" / "bcfw-10-0.json").read_bytes()
    assert not (out / "runs" / "bcfw-40-0.json").exists()
    config = {**config, "kill-after": 2.0}
    summary = run_comparison(config, out, resume=True)
    assert (out / "runs" / "bcfw-10-0.json").read_bytes() == before
    assert summary["rows"][0]["runs"] == 1
    assert summary["failed"][0]["message"] == "not done after 2 s; the process was ended"


@pytest.mark.soak
def test_a_comparison_killed_again_and_again_finds_the_same(tiny, tmp_path):
    config = {**tiny, "solvers": ["bcfw", "ssg"], "seeds": 2}
    whole = run_comparison(config, tmp_path / "whole")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    rng, out = random.Random(0), tmp_path / "killed"
    kills = 0
    while not (out / "comparison.json").exists():
        command = [sys.executable, "-c", COMPARISON, json.dumps(config), str(out)]
        comparison = subprocess.Popen(command, env=env, start_new_session=True)
        try:
            comparison.wait(rng.uniform(0.5, 8.0))
        except subprocess.TimeoutExpired:
            os.kill(comparison.pid, signal.SIGKILL)
            kills += 1
        comparison.wait()
        wait_for_end(comparison.pid)
        for path in (out / "runs").glob("*.json"):
            assert json.loads(path.read_bytes())["status"] != "failed"
    assert kills >= 3
    same = ("solver", "size", "n_oracle", "n_epochs", "primal", "dual", "test_error")
    found = json.loads((out / "comparison.json").read_bytes())
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
