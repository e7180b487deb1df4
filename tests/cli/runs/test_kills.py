"""kill -9 at random moments, also while a checkpoint is written: the model is the same bytes."""

import random
import shutil
import signal
import subprocess
import time

import pytest

from cli.runs.made import Nursery, Started, config, outcome, start
from cli.runs.test_tasks import alignment
from maxmargin.cli.runs import RunFolder

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def kill_loop(tmp_path, kills, seed, fresh=False, **changes):
    """Start, kill, start again, until there were enough kills; then let the run end.

    A run that ends before is compared, and another one started. Returns how the kills fell.
    fresh : every process imports everything anew, so that kills fall into that, too.
    """
    rng = random.Random(seed)
    options, path = config(tmp_path, **changes), tmp_path / "run"
    RunFolder(tmp_path / "whole").create(options)
    nursery = Nursery(tmp_path / "whole")
    counts = {"kills": 0, "in a write": 0, "before training": 0, "runs": 0, "starts": 0}
    expected = None
    while counts["kills"] < kills or path.exists():
        if not path.exists():
            RunFolder(path).create(options)
        process = Started(start(path, **QUIET)) if fresh else nursery.start(path)
        counts["starts"] += 1
        if counts["kills"] < kills and _killed(process, path, rng, fresh, counts):
            continue
        assert process.wait() == 0
        expected = expected or outcome(tmp_path / "whole")
        assert outcome(path) == expected
        assert not list(path.glob(".*.part"))
        counts["runs"] += 1
        shutil.rmtree(path)
    nursery.close()
    return counts


def _killed(process, path, rng, fresh, counts):
    """Kill at a random moment of one of three kinds; False if the run ended first."""
    kind = rng.choice(["any time", "in training", "in a write"])
    before, parts = _size(path), set(path.glob(".*.part"))
    if kind == "any time":
        _until(process, lambda: False, rng.uniform(0.0, 4.0 if fresh else 0.3))
    else:
        _until(process, lambda: _size(path) != before)
        time.sleep(rng.uniform(0.0, 0.2))
        if kind == "in a write":
            _until(process, lambda: set(path.glob(".*.part")) - parts)
    if process.poll() is not None:
        return False
    process.kill()
    if process.wait() == 0:
        return False
    assert process.code == -signal.SIGKILL
    counts["kills"] += 1
    counts["in a write"] += bool(set(path.glob(".*.part")) - parts)
    counts["before training"] += _size(path) == before
    return True


def _size(path):
    """When and how long the history was written last."""
    try:
        counts = (path / "history.jsonl").stat()
    except FileNotFoundError:
        return None
    return counts.st_mtime_ns, counts.st_size


def _until(process, happens, seconds=60.0):
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end and not happens():
        time.sleep(0.0005)


def test_a_few_kills(tmp_path):
    counts = kill_loop(tmp_path, kills=5, seed=0, max_epochs=60)
    assert counts["kills"] == 5
    assert counts["runs"] >= 1


@pytest.mark.soak
@pytest.mark.parametrize(
    "changes",
    [
        {"solver": "bcfw", "fresh": True},
        {"solver": "bcfw", "solver_options": {"step": "pairwise", "sampling": "gap"}},
        {"solver": "ssg"},
        {"task": "alignment", "alpha": 0.1},
    ],
    ids=["fresh", "pairwise-gap", "ssg", "alignment"],
)
def test_many_kills(tmp_path, changes):
    if "task" in changes:  # kills fall into the statistics of words, too
        changes = changes | alignment(tmp_path)
    counts = kill_loop(tmp_path, kills=60, seed=1, max_epochs=400, **changes)
    print(counts)
    assert counts["kills"] == 60
    assert counts["in a write"] >= 5
    assert counts["runs"] >= 1
