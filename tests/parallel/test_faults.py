"""Workers that are killed again and again, in the middle of rounds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from maxmargin import ChainSVM
from maxmargin.parallel import SerialEngine, resolve_engine

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning"),
]
KILLS = 20


def make_chains():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(30, 6))
    X = [rng.normal(size=(rng.integers(5, 30), 30)) for _ in range(300)]
    return X, [np.argmax(x @ weights + 3 * rng.normal(size=(len(x), 6)), axis=1) for x in X]


def worker_pids(name: str) -> list[int]:
    """Processes of this machine's engine that run tasks."""
    mark = "ray::_Worker" if name == "ray" else "spawn_main("
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if mark in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


class Killer(threading.Thread):
    def __init__(self, name: str):
        super().__init__(daemon=True)
        self.engine, self.killed, self.over = name, 0, threading.Event()

    def run(self):
        draw = random.Random(0)
        while self.killed < KILLS and not self.over.wait(draw.uniform(0.5, 1.5)):
            pids = worker_pids(self.engine)
            if pids:
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(pids), signal.SIGKILL)
                    self.killed += 1


SCRIPT = """
import os
from maxmargin.parallel import ProcessEngine
if __name__ == "__main__":
    engine = ProcessEngine(2)
    pids = [engine.result(engine.submit(k, os.getpid)) for k in (0, 1)]
    print(*pids, flush=True)
    engine.result(engine.submit(0, __import__("time").sleep, 600))
"""


def test_processes_end_with_a_driver_that_is_killed(tmp_path):
    (tmp_path / "driver.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "driver.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        workers = [psutil.Process(int(pid)) for pid in driver.stdout.readline().split()]
        driver.kill()
    assert len(workers) == 2
    _, alive = psutil.wait_procs(workers, timeout=600)
    assert not alive


@pytest.mark.parametrize("name", ["processes", "ray", "dask"])
def test_twenty_kills_change_no_bit(name):
    if name != "processes":
        pytest.importorskip("ray" if name == "ray" else "distributed")
    X, y = make_chains()
    options = {"alpha": 1e-3, "tol": 1e-9}
    expected = ChainSVM(engine=SerialEngine(2, 2), max_epochs=5, **options).fit(X, y)
    engine = resolve_engine(name, n_workers=2, rounds=2, retries=100)
    killer = Killer(name)
    ChainSVM(engine=engine, max_epochs=1, **options).fit(X, y)  # started
    killer.start()
    begun = time.time()
    while killer.killed < KILLS and time.time() < begun + 2000:
        found = ChainSVM(engine=engine, max_epochs=5, **options).fit(X, y)
        assert found.coef_.tobytes() == expected.coef_.tobytes()
        assert found.result_.gap == expected.result_.gap
    killer.over.set()
    killer.join()
    engine.close()
    assert killer.killed == KILLS
    left = [own.name() for own in psutil.Process().children(recursive=True)]
    assert not [own for own in left if "ray" in own], left
    assert not worker_pids(name)
