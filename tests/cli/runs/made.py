"""Small runs for the tests of run folders."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import maxmargin

SOURCES = Path(maxmargin.__file__).parents[1]
TRAIN = "import sys; from maxmargin.cli.runs import train; train(sys.argv[1], resume=True)"
#: makes processes that have imported everything already: a path a line, "pid" and "ended code" back
NURSERY = """
import os, sys
from maxmargin.cli.runs import RunFolder, train
train(sys.argv[1], resume=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            train(line.rstrip("\\n"), resume=True)
            code = 0
        finally:
            os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def write_sequences(path, n=40, seed=0, noise=1.0):
    """Chains whose labels follow from their features and neighbours, with some noise."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 7, size=n)
    y = rng.integers(4, size=lengths.sum())
    X = np.eye(4)[y] @ np.random.default_rng(9).normal(size=(4, 6))
    X += noise * rng.normal(size=X.shape)
    np.savez(path, X=X, y=y, lengths=lengths)
    return path


def config(folder, **changes):
    """A configuration for chains, with data in that folder."""
    data = folder / "train.npz"
    if not data.exists():
        write_sequences(data)
    found = {
        "task": "chain",
        "data": [str(data)],
        "alpha": 1e-3,
        "tol": 0.0,
        "max-epochs": 12,
        "checkpoints": {"epochs": 1},
    } | {key.replace("_", "-"): value for key, value in changes.items()}
    return {key: value for key, value in found.items() if value is not None}


def start(path, code=TRAIN, **options):
    """A process of its own that trains (or goes on) in a run folder."""
    env = os.environ | {"PYTHONPATH": str(SOURCES), "PYTHONWARNINGS": "ignore"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([sys.executable, "-c", code, str(path)], env=env, **options)


class Started:
    """A training process; `fresh` ones import everything anew."""

    def __init__(self, process, pid=None):
        self._process, self._pid = process, process.pid if pid is None else pid
        self._own = pid is None
        self.code = None

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)

    def poll(self):
        """The exit code, None while it runs."""
        if self.code is None and self._own:
            self.code = self._process.poll()
        elif self.code is None and select.select([self._process.stdout], [], [], 0)[0]:
            self.code = int(self._process.stdout.readline())
        return self.code

    def wait(self):
        while self.poll() is None:
            time.sleep(0.001)
        return self.code


class Nursery:
    """Starts training processes by forking one that has trained in the given folder."""

    def __init__(self, path):
        self._process = start(path, NURSERY, stdin=subprocess.PIPE, bufsize=0)

    def start(self, path):
        self._process.stdin.write(f"{path}\n".encode())
        return Started(self._process, int(self._process.stdout.readline()))

    def close(self):
        self._process.communicate()
        assert self._process.returncode == 0


def outcome(path):
    """What must not depend on how often a run was stopped; the model first, byte for byte."""
    summary = json.loads((path / "summary.json").read_text())
    history = [json.loads(line) for line in (path / "history.jsonl").read_text().splitlines()]
    for counts in (summary, *history):
        counts.pop("seconds")
    evaluations = {p.name: p.read_bytes() for p in (path / "evaluations").iterdir()}
    return (path / "model.maxmargin").read_bytes(), summary, history, evaluations
