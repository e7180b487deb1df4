"""A full disk, a read-only folder and a limit on files lose nothing that was written."""

import contextlib
import errno
import os
import resource
import shutil
import subprocess

import pytest

from cli.runs.made import config, outcome
from maxmargin.callbacks import Callback
from maxmargin.cli.runs import RunError, RunFolder, train
from maxmargin.persistence.checkpoints import read_snapshot

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


AGAIN = "disk is full.*checkpoint is whole: mend the cause, then resume"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run on a disk with room, and its data beside it."""
    home = tmp_path_factory.mktemp("whole")
    train(RunFolder(home / "run").create(config(home)))
    return home


@contextlib.contextmanager
def mounted(path, options):
    """A small disk of its own; skipped where that is not allowed."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a disk")
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


class Fill(Callback):
    """Fill the disk after one epoch, and make room again after another."""

    def __init__(self, path, full, free):
        self.path, self.full, self.free = path, full, free

    def on_epoch(self, run):
        if run.state.epoch == self.full:
            fill(self.path)
        if run.state.epoch == self.free:
            self.path.unlink()


def fill(path):
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size):
                    pass


def test_disk_that_is_full_for_a_while(whole, tmp_path):
    with mounted(tmp_path / "disk", "size=2m") as disk:
        folder = RunFolder(disk / "run").create(config(whole))
        with pytest.warns(RuntimeWarning) as caught:
            train(folder, callbacks=[Fill(disk / "junk", 4, 8)])
        printed = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        assert any("no checkpoint was written" in words and "full" in words for words in printed)
        assert outcome(folder.path) == outcome(whole / "run")


def test_disk_that_stays_full(whole, tmp_path):
    with mounted(tmp_path / "disk", "size=2m") as disk:
        folder = RunFolder(disk / "run").create(config(whole))
        with pytest.warns(RuntimeWarning), pytest.raises(OSError, match=AGAIN) as caught:
            train(folder, callbacks=[Fill(disk / "junk", 4, None)])
        assert caught.value.errno == errno.ENOSPC
        assert not folder.has("model.maxmargin")
        assert not folder.has("summary.json")
        assert read_snapshot(folder.path / "checkpoint.maxmargin").state["epoch"] == 4
        assert folder.history()[0]["epoch"] == 1
        assert not list(folder.path.glob(".*.part"))
        (disk / "junk").unlink()
        train(folder, resume=True)
        assert outcome(folder.path) == outcome(whole / "run")


def test_read_only_folder(whole, tmp_path):
    with mounted(tmp_path / "disk", "size=2m") as disk:
        folder = RunFolder(disk / "run").create(config(whole))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(OSError, match="Read-only") as caught:
            train(folder)
        assert caught.value.errno == errno.EROFS
        with pytest.raises(OSError, match="cannot make .*Read-only"):
            RunFolder(disk / "other").create(config(whole))
        assert RunFolder(disk / "run").open().config == config(whole)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        train(folder)
        assert outcome(folder.path) == outcome(whole / "run")


def test_limit_on_the_size_of_files(whole, tmp_path):
    folder = RunFolder(tmp_path / "run").create(config(whole))
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, largest[1]))
    try:
        with (
            pytest.warns(RuntimeWarning, match="no checkpoint was written.*larger than allowed"),
            pytest.raises(OSError, match="larger than allowed"),
        ):
            train(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    assert not folder.has("checkpoint.maxmargin")
    assert not folder.has("summary.json")
    train(folder, resume=True)
    assert outcome(folder.path) == outcome(whole / "run")


@pytest.mark.parametrize("name", ["write", "fsync", "replace", "open"])
def test_any_call_that_fails(whole, tmp_path, monkeypatch, name):
    folder = RunFolder(tmp_path / "run").create(config(whole))
    real = getattr(os, name)

    def fails(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Break(Callback):
        """From epoch 3 to 6, the call fails."""

        def on_epoch(self, run):
            if run.state.epoch in (3, 6):
                monkeypatch.setattr(os, name, fails if run.state.epoch == 3 else real)

    with pytest.warns(RuntimeWarning, match="Training goes on"):
        train(folder, callbacks=[Break()])
    assert outcome(folder.path) == outcome(whole / "run")


@pytest.mark.parametrize("name", ["config.toml", "data.json", "checkpoint.maxmargin"])
def test_damaged_files_are_named(whole, tmp_path, name):
    shutil.copytree(whole / "run", tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    path = tmp_path / "run" / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises((RunError, ValueError), match=name.replace(".", r"\.")):
        train(tmp_path / "run", resume=True)
