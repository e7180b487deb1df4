"""Damaged files of every format: an error in words, or a result; nothing else, and in time."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

from fuzz.parsers import PARSERS, attempt

SECONDS = 20
#: changes may leave a file whole, or as good as another
FEW, MANY = 120, 1500


@contextmanager
def watched(what):
    """An input that takes too long is an error, not a hang."""

    def late(number, frame):
        raise AssertionError(f"{what} took more than {SECONDS} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of our own work, whatever else runs here
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fuzz(name, count, seed, tmp_path):
    """Try `count` files; the number of the file that failed is in the message."""
    parser, path, accepted = PARSERS[name], tmp_path / "damaged.bin", 0
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        try:
            with watched(f"{name}, seed {seed}, file {k}"):
                accepted += attempt(parser, path, rng)
        except Exception as error:
            raise AssertionError(
                f"{name}, seed {seed}, file {k}: {type(error).__name__}: {error}"
            ) from error
    return accepted


@pytest.mark.parametrize("name", PARSERS)
def test_some_damaged_files(name, tmp_path):
    accepted = fuzz(name, FEW, 0, tmp_path)
    assert accepted < FEW  # the damage is real: some are refused


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("name", PARSERS)
def test_many_damaged_files(name, seed, tmp_path):
    accepted = fuzz(name, MANY, seed, tmp_path)
    print(f"{name}, seed {seed}: {MANY} files, {accepted} accepted, {MANY - accepted} refused")
    assert accepted < MANY
