"""Memory for remembered vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._numba.passes.block_step import Counters, start_counters
from maxmargin._numba.passes.vertex_cache import VertexCache, start_vertex_cache
from maxmargin.memory import sparse_zeros
from maxmargin.problem import Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.domain_steps import BlockState
from maxmargin.solvers.identity import checksums


@dataclass(repr=False)
class CacheState(BlockState):
    """State of a solver that remembers vertices of each sample."""

    #: gap of each sample at its last call of the oracle, and their weighted sum after an epoch
    gaps: np.ndarray = state_field(empty_array, warm="keep")
    estimate: float = state_field(np.inf, warm="keep")
    counters: Counters = state_field(start_counters, warm="keep")
    #: remembered vertices and their masses; how many there may be for each sample
    vertex_cache: VertexCache | None = state_field(None, warm="refit")
    cache_size: int = state_field(0, warm="refit")
    #: the data and the z that they are of, see `vertex_cache_key`; 0 if not known
    cache_key: int = state_field(0, warm="refit")


def make_vertex_cache(problem: Problem, z: np.ndarray, size: int) -> VertexCache:
    """A cache of `size` vertices per sample, which holds z itself as its first entry.

    A z_i with few non-zeros (a vertex, the truth) takes an ordinary slot; any other one becomes the
    dense anchor.
    """
    room = np.array([problem.structure.vertex_size(layout) for layout in problem.layouts])
    cache = empty_vertex_cache(problem, room.astype(np.int64), slot_count(problem, size))
    start_vertex_cache(problem.packed, problem.workspace(), cache, z)
    return cache


def slot_count(problem: Problem, size: int) -> int:
    """Slots for `size` vertices; the anchor and the starting point come on top."""
    counts = [problem.structure.n_vertices(layout) for layout in set(problem.layouts)]
    known = [count for count in counts if count is not None]
    return (min(size, max(known)) if len(known) == len(counts) else size) + 2


def empty_vertex_cache(problem: Problem, room: np.ndarray, slots: int) -> VertexCache:
    """Slots without vertices. room : non-zeros of a vertex, for each sample."""
    n = problem.n
    entry_ptr = np.concatenate([[0], np.cumsum(room * (slots - 1))]).astype(np.int64)
    total = int(entry_ptr[-1])
    largest = int(np.diff(problem.part_ptr).max()) if total else 0
    return VertexCache(
        count=np.full(n, 2, dtype=np.int64),
        mass=np.zeros(n * slots),
        gram=np.zeros(n * slots * slots),
        used=np.zeros(n * slots, dtype=np.int64),
        awake=np.zeros(n * slots, dtype=np.int64),
        n_awake=np.zeros(n, dtype=np.int64),
        length=np.zeros(n * slots, dtype=np.int64),
        entry_ptr=entry_ptr[:-1].copy(),
        room=room,
        part=np.zeros(total, dtype=np.int32),
        row=np.zeros(total, dtype=np.int32),
        label=np.zeros(total, dtype=np.int32),
        value=np.zeros(total),
        anchor=sparse_zeros(len(problem.truth), problem.n),
        score=np.zeros(slots),
        start=np.zeros(slots),
        dense=np.zeros(slots * slots + 4 * slots),
        stamp=np.zeros(largest + 1, dtype=np.int64),
        delta=np.zeros(largest),
    )


def check_vertex_cache(problem: Problem, fresh_state: CacheState, state: CacheState) -> None:
    """That every number by which compiled code looks something up is in its range."""
    if state.cache_size != fresh_state.cache_size:
        raise ValueError("it remembers another number of vertices")
    fresh: Any = fresh_state.vertex_cache
    found: Any = state.vertex_cache
    packed, n, slots = problem.packed, problem.n, len(fresh.score)
    for name in ("entry_ptr", "room"):
        if not np.array_equal(getattr(found, name), getattr(fresh, name)):
            raise ValueError(f"{name} of its vertices is out of range")
    sample = np.repeat(np.arange(n), fresh.room * (slots - 1))
    row = packed.row_ptr[sample] + found.row
    ranges = {
        "count": (found.count, 1, slots + 1),
        "n_awake": (found.n_awake, 0, slots + 1),
        "awake": (found.awake, 0, slots),
        "length": (found.length.reshape(n, slots), 0, fresh.room[:, None] + 1),
        "part": (found.part, 0, np.diff(packed.part_ptr)[sample]),
        "row": (found.row, 0, np.diff(packed.row_ptr)[sample]),
    }
    for name, (values, low, high) in ranges.items():
        if np.any(values < low) or np.any(values >= high):
            raise ValueError(f"{name} of its vertices is out of range")
    if np.any(found.label < 0) or np.any(found.label >= np.maximum(packed.width[row], 1)):
        raise ValueError("label of its vertices is out of range")


def vertex_cache_key(problem: Problem, z: np.ndarray, with_images: bool = False) -> int:
    """Checksums of all that a memory depends on: features, layout, what is forbidden, and z.

    images : that it knows the costs of vertices too.
    """
    packed = problem.packed
    costs = packed.costs if with_images else problem.forbidden_parts
    arrays = (z, packed.value, packed.global_index, packed.indptr, packed.part_ptr, costs)
    return checksums(*arrays)
