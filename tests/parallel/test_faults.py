"""Workers and drivers that are killed in the middle of rounds, and networks that are cut."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from maxmargin import ChainSVM
from maxmargin.callbacks import Callback
from maxmargin.parallel import DaskEngine, SerialEngine, resolve_engine

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning"),
]
KILLS = 20
OPTIONS: dict[str, float] = {"alpha": 1e-3, "tol": 1e-9}


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
    expected = ChainSVM(engine=SerialEngine(2, 2), max_epochs=5, **OPTIONS).fit(X, y)
    engine = resolve_engine(name, n_workers=2, rounds=2, retries=100)
    killer = Killer(name)
    ChainSVM(engine=engine, max_epochs=1, **OPTIONS).fit(X, y)  # started
    killer.start()
    begun = time.time()
    while killer.killed < KILLS and time.time() < begun + 2000:
        found = ChainSVM(engine=engine, max_epochs=5, **OPTIONS).fit(X, y)
        assert found.coef_.tobytes() == expected.coef_.tobytes()
        assert found.result_.gap == expected.result_.gap
    killer.over.set()
    killer.join()
    engine.close()
    assert killer.killed == KILLS
    left = [own.name() for own in psutil.Process().children(recursive=True)]
    assert not [own for own in left if "ray" in own], left
    assert not worker_pids(name)


# -- drivers ---------------------------------------------------------------------------------------
DRIVER = """
import sys
import numpy as np
from maxmargin import ChainSVM
from maxmargin.callbacks import Callback
from maxmargin.parallel import resolve_engine
from maxmargin.persistence.checkpoints import Checkpoint
from test_faults import OPTIONS, make_chains

class Tell(Callback):
    def on_epoch(self, run):
        print(run.state.epoch, flush=True)

if __name__ == "__main__":
    name, folder = sys.argv[1:]
    engine = resolve_engine(name, n_workers=2, rounds=2)
    callbacks = [Checkpoint(folder + "/run.checkpoint", epochs=1, resume=True), Tell()]
    fitted = ChainSVM(engine=engine, callbacks=callbacks, max_epochs=8, **OPTIONS)
    np.save(folder + "/coef.npy", fitted.fit(*make_chains()).coef_)
    engine.close()
"""


def files_left() -> set[str]:
    """Segments of shared memory, and what runs keep in the folder of temporary files."""
    folders = [Path("/dev/shm"), *Path(tempfile.gettempdir()).glob("maxmargin-*")]
    return {str(own) for folder in folders for own in [folder, *folder.glob("*")]}


@pytest.mark.parametrize("name", ["processes", "ray", "dask"])
def test_a_killed_driver_goes_on_to_the_same_bits_and_leaves_nothing(tmp_path, name):
    if name != "processes":
        pytest.importorskip("ray" if name == "ray" else "distributed")
    expected = ChainSVM(engine=SerialEngine(2, 2), max_epochs=8, **OPTIONS).fit(*make_chains())
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), name, str(tmp_path)]
    before = files_left()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    options = {"stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **options) as driver:
        assert driver.stdout is not None
        while int(driver.stdout.readline()) < 3:
            pass
        family = psutil.Process(driver.pid).children(recursive=True)
        driver.kill()
    assert len(family) >= 2
    _, alive = psutil.wait_procs(family, timeout=120)
    assert not alive
    assert not files_left() - before
    told = subprocess.run(command, check=True, **options).stdout.split()
    assert told[-1] == "8"
    assert len(told) < 8
    assert np.load(tmp_path / "coef.npy").tobytes() == expected.coef_.tobytes()


# -- networks --------------------------------------------------------------------------------------
def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """A network of this machine and of another one, which is a namespace."""

    here, there = "198.51.100.1", "198.51.100.2"

    def __init__(self, stack: ExitStack):
        self.name, self.link = f"maxmargin-{os.getpid()}", f"mm{os.getpid()}"
        if shutil.which("ip") is None:
            pytest.skip("there is no command `ip`, which makes namespaces of networks")
        try:
            ip("netns", "add", self.name)
            stack.callback(ip, "netns", "del", self.name)
            peer = ["peer", "name", "eth0", "netns", self.name]
            ip("link", "add", self.link, "type", "veth", *peer)
            stack.callback(ip, "link", "del", self.link)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no namespaces of networks can be made here: {error.stderr.strip()}")
        ip("addr", "add", f"{self.here}/30", "dev", self.link)
        ip("-n", self.name, "addr", "add", f"{self.there}/30", "dev", "eth0")
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "set", "eth0", "up")
        self.turn("up")

    def turn(self, state: str) -> None:
        ip("link", "set", self.link, state)


class CutAndHeal(Callback):
    """Cuts a network in the middle of a round, and heals it after so many seconds."""

    def __init__(self, network: Network, seconds: float):
        self.network, self.seconds = network, seconds
        self.thread = threading.Thread(target=self.run, daemon=True)

    def on_epoch(self, run):
        if run.state.epoch == 2:
            self.thread.start()

    def run(self):
        time.sleep(0.005)
        self.network.turn("down")
        time.sleep(self.seconds)
        self.network.turn("up")


@pytest.mark.parametrize("seconds", [2, 30])
def test_a_worker_that_is_cut_off_and_healed_changes_no_bit(tmp_path, seconds, monkeypatch):
    """For less than Dask's time limit, and for longer, so that the worker is given up first."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "12s")
    X, y = make_chains()
    expected = ChainSVM(engine=SerialEngine(2, 2), max_epochs=8, **OPTIONS).fit(X, y)
    before = files_left()
    with ExitStack() as stack:
        network = Network(stack)
        hub = str(tmp_path / "scheduler.json")
        dask = [sys.executable, "-m", "dask"]
        at = ["--no-dashboard", "--host"]
        worker = [*dask, "worker", "--scheduler-file", hub, "--nthreads", "1"]
        worker += ["--local-directory", str(tmp_path)]
        commands = [
            [*dask, "scheduler", "--scheduler-file", hub, *at, network.here, "--port", "0"],
            [*worker, *at, network.here],
            ["ip", "netns", "exec", network.name, *worker, *at, network.there],
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

        def start(command: list[str]) -> subprocess.Popen:
            found = stack.enter_context(subprocess.Popen(command, **quiet))
            stack.callback(found.kill)
            return found

        cluster = list(map(start, commands))
        client = stack.enter_context(distributed.Client(scheduler_file=hub, set_as_default=False))
        client.wait_for_workers(2, timeout=120)
        engine = DaskEngine(client, n_workers=2, rounds=2)
        cut = CutAndHeal(network, seconds)
        found = ChainSVM(engine=engine, callbacks=[cut], max_epochs=8, **OPTIONS).fit(X, y)
        cut.thread.join()
        if seconds > 12:  # workers that were given up end, and their cluster starts others
            cluster[2].wait(timeout=120)
            cluster[2] = start(commands[2])
        client.wait_for_workers(2, timeout=120)
        again = ChainSVM(engine=engine, max_epochs=8, **OPTIONS).fit(X, y)
        engine.close()
        client.shutdown()
        assert [own.wait(timeout=120) for own in cluster] == [0, 0, 0]
        pids = subprocess.run(["ip", "netns", "pids", network.name], capture_output=True, text=True)
        assert not pids.stdout.split()
    for fitted in (found, again):
        assert fitted.coef_.tobytes() == expected.coef_.tobytes()
        assert fitted.result_.gap == expected.result_.gap
    assert not files_left() - before
