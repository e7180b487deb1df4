"""Damaged files: each is refused by a ModelFileError, or gives the very same model."""

import tracemalloc

import numpy as np
import pytest

import maxmargin
from maxmargin.exceptions import ModelFileError
from persistence.model_files import contents, forge, made

KINDS = ["words", "dicts", "classes", "aligned"]


class Trial:
    """Loads damaged versions of one file and counts what came of it."""

    def __init__(self, name, folder):
        self.path, self.again = folder / "damaged.mm", folder / "again.mm"
        made(name)[0].save(self.path)
        self.whole = self.path.read_bytes()
        self.refused = self.accepted = 0

    def __call__(self, raw):
        self.path.write_bytes(raw)
        try:
            model = maxmargin.load(self.path)
        except ModelFileError:
            self.refused += 1
            return
        self.accepted += 1
        model.save(self.again)
        assert self.again.read_bytes() == self.whole


def flipped(raw, rng, count):
    damaged = bytearray(raw)
    for at in rng.integers(len(raw), size=count):
        damaged[at] ^= int(rng.integers(1, 256))
    return bytes(damaged)


def moved(raw, rng):
    """A piece left out, doubled, or written over with another piece."""
    a, b, c = sorted(rng.integers(len(raw) + 1, size=3).tolist())
    which = rng.integers(3)
    if which == 0:
        return raw[:a] + raw[b:]
    if which == 1:
        return raw[:b] + raw[a:]
    return raw[:a] + raw[b:c] + raw[a + c - b :]


@pytest.mark.parametrize("name", KINDS)
def test_flipped_bytes(name, tmp_path):
    trial, rng = Trial(name, tmp_path), np.random.default_rng(0)
    for count in [1] * 100 + [2] * 20 + [20] * 20:
        trial(flipped(trial.whole, rng, count))
    # dates and the like stand in for nothing; all that carries the model is checked
    assert trial.refused > 5 * trial.accepted


@pytest.mark.parametrize("name", KINDS)
def test_cut_files(name, tmp_path):
    trial, rng = Trial(name, tmp_path), np.random.default_rng(1)
    size = len(trial.whole)
    every_percent = [size * share // 100 for share in range(100)]
    for length in [1, 21, 22, size - 1, size - 2, *every_percent, *rng.integers(size, size=80)]:
        trial(trial.whole[: int(length)])
    assert trial.accepted == 0


@pytest.mark.parametrize("name", KINDS)
def test_moved_pieces(name, tmp_path):
    trial, rng = Trial(name, tmp_path), np.random.default_rng(2)
    for _ in range(60):
        trial(moved(trial.whole, rng))
    assert trial.refused > 40


def check_forged(name, folder, count, seed):
    made(name)[0].save(folder / "model.mm")
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(count):
        header, members = contents(folder / "model.mm")
        path = forge(folder / "forged.mm", header, members, rng)
        if path is None:
            continue
        try:
            maxmargin.load(path)
        except ModelFileError:
            refused += 1
    assert refused > count / 5


@pytest.mark.parametrize("name", KINDS)
def test_forged_trees_raise_no_other_error(name, tmp_path):
    check_forged(name, tmp_path, 80, seed=3)


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_take_no_more_memory_than_whole_ones(name, tmp_path):
    trial, rng = Trial(name, tmp_path), np.random.default_rng(6)
    trial(trial.whole)
    tracemalloc.start()
    try:
        trial(trial.whole)
        allowed = 4 * tracemalloc.get_traced_memory()[1] + (4 << 20)
        for number in range(24):
            raw = moved(trial.whole, rng) if number % 2 else flipped(trial.whole, rng, 3)
            tracemalloc.reset_peak()
            trial(raw)
            assert tracemalloc.get_traced_memory()[1] <= allowed
    finally:
        tracemalloc.stop()
    assert trial.refused > 12


@pytest.mark.soak
@pytest.mark.parametrize("name", KINDS)
def test_every_byte(name, tmp_path):
    trial, rng = Trial(name, tmp_path), np.random.default_rng(4)
    for at in range(len(trial.whole)):
        for change in (1, 0x80, int(rng.integers(1, 256))):
            trial(trial.whole[:at] + bytes([trial.whole[at] ^ change]) + trial.whole[at + 1 :])
    for length in range(len(trial.whole)):
        trial(trial.whole[:length])
    for _ in range(3000):
        trial(moved(trial.whole, rng))


@pytest.mark.soak
@pytest.mark.parametrize("name", KINDS)
def test_many_forged_trees(name, tmp_path):
    check_forged(name, tmp_path, 5000, seed=5)
