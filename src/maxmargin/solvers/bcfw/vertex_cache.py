"""Memory for remembered vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._numba.passes.block_step import Counters, start_counters
from maxmargin._numba.passes.vertex_cache import WORD, VertexCache, start_vertex_cache
from maxmargin._numba.passes.vertex_pass import cached_pass
from maxmargin._numba.passes.weights import Weights
from maxmargin.memory import sparse_zeros
from maxmargin.problem import Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.domain_steps import BlockState, visit_samples
from maxmargin.solvers.identity import checksums

#: vertices this many times as large as an image are worth one
_WORTH = 2
#: bytes of a non-zero of a vertex in a list
_ENTRY = 20


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

    @property
    def stores(self) -> str:
        """What is stored of vertices, "vertices" or "images"; nothing as yet if empty."""
        if self.vertex_cache is None:
            return ""
        return "images" if len(self.vertex_cache.image) else "vertices"


def images_pay(problem: Problem) -> bool:
    """Whether images are clearly smaller than lists of non-zeros; with bits they replace these."""
    images = int(_local_sizes(problem).sum()) + problem.n
    vertices = int(_vertex_sizes(problem).sum())
    bits = int(problem.part_ptr[-1]) // 8 if problem.structure.binary else 0
    return _WORTH * images <= vertices and 8 * images + bits <= _ENTRY * vertices


def _local_sizes(problem: Problem) -> np.ndarray:
    """How many weights each sample touches."""
    packed = problem.packed
    ends = np.concatenate([[0], np.cumsum(packed.block_width, dtype=np.int64)])
    return np.diff(ends[packed.block_ptr])


def _vertex_sizes(problem: Problem) -> np.ndarray:
    """How many non-zeros a vertex of each sample has at most."""
    sizes = [problem.structure.vertex_size(layout) for layout in problem.layouts]
    return np.array(sizes, dtype=np.int64)


def slot_count(problem: Problem, size: int) -> int:
    """Slots for `size` vertices; the anchor and the starting point come on top."""
    counts = [problem.structure.n_vertices(layout) for layout in set(problem.layouts)]
    known = [count for count in counts if count is not None]
    return (min(size, max(known)) if len(known) == len(counts) else size) + 2


def make_vertex_cache(
    problem: Problem, z: np.ndarray, size: int, with_images: bool = False
) -> VertexCache:
    """A cache of `size` vertices per sample, which holds z itself as its first entry.

    A z_i that can be stored as a vertex (the truth) takes an ordinary slot; any other one becomes
    the dense anchor.
    """
    n, slots, parts = problem.n, slot_count(problem, size), np.diff(problem.part_ptr)
    with_bits = with_images and problem.structure.binary
    none = np.zeros(n, dtype=np.int64)
    room = none if with_bits else _vertex_sizes(problem)
    n_words = -(-parts // WORD) if with_bits else none
    local = _local_sizes(problem) if with_images else none
    entry_ptr, word_ptr, image_ptr = (
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        for sizes in (room * (slots - 1), n_words * (slots - 1), local * slots)
    )
    largest = 0 if with_images else int(parts.max())
    cache = VertexCache(
        count=np.full(n, 2, dtype=np.int64),
        mass=np.zeros(n * slots),
        gram=np.zeros(n * slots * slots),
        used=np.zeros(n * slots, dtype=np.int64),
        active=np.zeros(n * slots, dtype=np.int64),
        n_active=np.zeros(n, dtype=np.int64),
        anchor=sparse_zeros(int(problem.part_ptr[-1]), n),
        length=np.zeros(n * slots, dtype=np.int64),
        entry_ptr=entry_ptr[:-1].copy(),
        room=room,
        part=np.zeros(entry_ptr[-1], dtype=np.int32),
        row=np.zeros(entry_ptr[-1], dtype=np.int32),
        label=np.zeros(entry_ptr[-1], dtype=np.int32),
        value=np.zeros(entry_ptr[-1]),
        n_words=n_words.astype(np.int64),
        word_ptr=word_ptr[:-1].copy(),
        word=np.zeros(word_ptr[-1], dtype=np.int64),
        size=local.astype(np.int64),
        image_ptr=image_ptr[:-1].copy(),
        image=np.zeros(image_ptr[-1]),
        cost=np.zeros(n * slots if with_images else 0),
        score=np.zeros(slots),
        start=np.zeros(slots),
        dense=np.zeros(slots * slots + 4 * slots),
        stamp=np.zeros(largest + 1, dtype=np.int64),
        delta=np.zeros(largest),
        change=np.zeros(int(local.max())),
        bits=np.zeros(int(n_words.max()), dtype=np.int64),
    )
    start_vertex_cache(problem.packed, problem.workspace(), cache, z)
    return cache


def step_between_vertices(
    problem: Problem, state: CacheState, order: np.ndarray, limit: int, relaxation: float
) -> float:
    """A pass of steps between cached vertices; returns the gap that was found among them."""
    left = 0.0

    def steps(order: np.ndarray, weights: Weights) -> None:
        nonlocal left
        rest = (problem.alpha, limit, relaxation, weights, state.z, state.counters)
        left += cached_pass(problem.packed, workspace, state.vertex_cache, order, *rest)

    workspace = problem.workspace()
    visit_samples(steps, problem, state, state.w_unprojected, order)
    return left


def check_vertex_cache(problem: Problem, fresh_state: CacheState, state: CacheState) -> None:
    """That every number by which compiled code looks something up is in its range."""
    if state.cache_size != fresh_state.cache_size:
        raise ValueError("it remembers another number of vertices")
    fresh: Any = fresh_state.vertex_cache
    found: Any = state.vertex_cache
    packed, n, slots = problem.packed, problem.n, len(fresh.score)
    for name in ("entry_ptr", "room", "n_words", "word_ptr", "size", "image_ptr"):
        if not np.array_equal(getattr(found, name), getattr(fresh, name)):
            raise ValueError(f"{name} of its vertices is out of range")
    sample = np.repeat(np.arange(n), fresh.room * (slots - 1))
    row = packed.row_ptr[sample] + found.row
    ranges = {
        "count": (found.count, 1, slots + 1),
        "n_active": (found.n_active, 0, slots + 1),
        "active": (found.active, 0, slots),
        "length": (found.length.reshape(n, slots), 0, fresh.room[:, None] + 1),
        "part": (found.part, 0, np.diff(packed.part_ptr)[sample]),
        "row": (found.row, 0, np.diff(packed.row_ptr)[sample]),
    }
    for name, (values, low, high) in ranges.items():
        if np.any(values < low) or np.any(values >= high):
            raise ValueError(f"{name} of its vertices is out of range")
    if np.any(found.label < 0) or np.any(found.label >= np.maximum(packed.width[row], 1)):
        raise ValueError("label of its vertices is out of range")


def vertex_cache_key(problem: Problem, state: CacheState) -> int:
    """Checksums of all that a memory depends on: features, layout, what is forbidden, and z.

    Images know the costs of vertices, too.
    """
    packed = problem.packed
    costs = [packed.costs, packed.cost_start]
    if state.stores != "images":
        costs = [problem.forbidden_parts]
    arrays = (state.z, packed.value, packed.global_index, packed.indptr, packed.part_ptr, *costs)
    return checksums(*arrays)
