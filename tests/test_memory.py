"""Memory that is free, and that this process uses."""

import itertools
import mmap

import numpy as np
import pytest

from maxmargin import memory
from maxmargin._numba.packed_samples import Points


def test_free_memory_is_told_or_unlimited(monkeypatch):
    assert 2**20 < memory.available_bytes() < np.inf

    def untold():
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr(memory.psutil, "virtual_memory", untold)
    assert memory.available_bytes() == np.inf
    memory.refuse_bytes(1e30, "many rows", "fewer")


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2.0**30)
    memory.refuse_bytes(2.0**30, "the rows", "Wait.")
    with pytest.raises(MemoryError, match=r"the rows need about 2 GiB.*1 GiB are free. Wait."):
        memory.refuse_bytes(2.0**31, "the rows", "Wait.")


def test_the_peak_is_above_what_is_in_use():
    memory.reset_peak()
    before = memory.resident_bytes()
    size = 1 << 26
    with mmap.mmap(-1, size) as block:  # always new pages: numpy may reuse memory in use
        block.write(b"1" * size)
        assert memory.resident_bytes() - before > size // 2
    assert memory.peak_bytes() - before > size // 2


def test_the_peak_is_known_without_proc(monkeypatch, tmp_path):
    told = memory.peak_bytes()
    monkeypatch.setattr(memory, "STATUS", tmp_path / "none")
    monkeypatch.setattr(memory, "CLEAR", tmp_path / "none" / "none")
    assert memory.peak_bytes() > told / 2
    assert not memory.reset_peak()


def test_arrays_that_are_mostly_zero_take_memory_where_they_are_not():
    size, n = 1 << 24, 100
    values = memory.sparse_zeros(size, n)
    before = memory.resident_bytes()
    values[:: size // n] = 1.0
    assert memory.resident_bytes() - before < size  # of 8 bytes an entry
    assert values.sum() == len(values[:: size // n])
    assert values.flags.writeable
    assert values.flags.c_contiguous


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_compact_arrays_keep_every_bit(share):
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1001) < share, rng.normal(size=1001), 0.0)
    values[7] = -0.0
    compact = memory.CompactArray(values)
    given = values.copy()
    values[:] = 1.0
    assert np.array_equal(compact.expand().view(np.uint64), given.view(np.uint64))


def test_scaled_sums_are_taken_in_place(monkeypatch):
    monkeypatch.setattr(memory, "CHUNK", 3)
    target = np.arange(8.0)
    memory.add_scaled(target, 2.0, np.ones(8))
    assert np.array_equal(target, np.arange(8.0) + 2.0)


def test_arrays_grow_in_place():
    array = np.arange(3.0)
    memory.append_in_place(array, np.array([7.0, 8.0]))
    assert array.tolist() == [0.0, 1.0, 2.0, 7.0, 8.0]


def test_sparse_points_are_arrays_sample_by_sample():
    rng = np.random.default_rng(0)
    part_ptr = np.array([0, 4, 4, 9, 12])
    dense = np.where(rng.random(12) < 0.4, rng.random(12), 0.0)
    where = rng.permutation(np.flatnonzero(dense))
    where = where[np.argsort(np.searchsorted(part_ptr, where, side="right"), kind="stable")]
    ptr = np.searchsorted(np.sort(where), part_ptr)
    part = where - np.repeat(part_ptr[:-1], np.diff(ptr))
    points = memory.SparsePoints(Points(ptr, part.astype(np.int32), dense[where]), part_ptr)
    assert len(points) == 12
    assert np.array_equal(points[:], dense)
    for a, b in itertools.combinations(part_ptr, 2):
        assert np.array_equal(points[a:b], dense[a:b])
