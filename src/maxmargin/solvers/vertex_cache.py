"""The cache of oracle outputs: its options, its arrays, and steps between what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from zlib import crc32

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._numba.packed_samples import Points
from maxmargin._numba.passes.block_step import Counters, start_counters
from maxmargin._numba.passes.vertex_cache import (
    WORD,
    VertexCache,
    collect_points,
    rebuild_points,
    start_vertex_cache,
)
from maxmargin._numba.passes.vertex_pass import cached_pass
from maxmargin._numba.passes.weights import Weights
from maxmargin.features.base import local_sizes
from maxmargin.memory import SparsePoints, sparse_zeros
from maxmargin.problem import Dual, Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.domain_steps import BlockState, visit_samples
from maxmargin.solvers.identity import checksums
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Bounds, CountOrZero

#: vertices this many times as large as an image are worth one
_WORTH = 2
#: vertices of this many non-zeros need not stand side by side: shorter ones share cache lines, and
#: passes over handwritten words, of 15, were an eighth slower
_LONG = 32
#: bytes of a non-zero of a vertex in a list
_ENTRY = 20
#: by how much rounding may take masses and values out of their ranges
_SLACK = 1e-6


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

    # the field of `State`: an array for all but those who look at `points`
    @property  # type: ignore[misc]
    def z(self) -> np.ndarray:
        """Dual point, the parts of all samples; made at each call where it is kept sparse."""
        return self.points if isinstance(self.points, np.ndarray) else self.points[:]

    @z.setter
    def z(self, z: Dual) -> None:
        self.__dict__["z"] = z

    @property
    def points(self) -> Dual:
        return self.__dict__["z"]

    def make_dense(self) -> None:
        """Keep z as an array, which steps may move."""
        self.z = self.z


class OracleCache(Checked, BaseEstimator):
    """Cache of the oracle's outputs, for steps between them without calling it.

    Parameters
    ----------
    size : int, default=30
        Maximum number of vertices for each sample; further ones are merged, so that no mass is
        lost.
    passes : int or "auto", default="auto"
        Number of passes over cached vertices after each pass with the oracle. See Notes.
    store : {"auto", "vertices", "images"}, default="auto"
        What is stored of a vertex. "vertices": its non-zeros, 20 bytes each. "images": its image F
        v and its cost, which is all that steps need, and a bit per part (its non-zeros where the
        structure is not `binary`), from which z is rebuilt once an epoch. "auto": images where an
        image has at most half the numbers of a vertex and with bits takes no more memory: many
        parts, few weights, as in graph cuts (`python -m benchmarks oracle_cache`).

    Notes
    -----
    With `passes="auto"` there are 5 passes, or as many times 5 as leave a gap among cached vertices
    that is a tenth of the oracle's, while they cost less than it: at most 100 if the oracle is
    `is_expensive`, and the number of a sample's parts / 30 (100 at most) with "images", where
    they cost next to nothing.
    """

    def __init__(
        self,
        size: Annotated[int, Bounds(1, 10_000)] = 30,
        passes: CountOrZero | Literal["auto"] = "auto",
        store: Literal["auto", "vertices", "images"] = "auto",
    ):
        self.size = size
        self.passes = passes
        self.store = store

    def keeps_images(self, problem: Problem) -> bool:
        """Tell whether images are stored for this problem.

        Parameters
        ----------
        problem : Problem
            The training problem.

        Returns
        -------
        bool
            True for images, False for vertices.
        """
        return images_pay(problem) if self.store == "auto" else self.store == "images"


def images_pay(problem: Problem) -> bool:
    """Whether images are clearly smaller than lists of non-zeros; with bits they replace these."""
    images = int(local_sizes(problem.packed).sum()) + problem.n
    vertices = int(_vertex_sizes(problem).sum())
    bits = int(problem.part_ptr[-1]) // 8 if problem.structure.binary else 0
    return _WORTH * images <= vertices and 8 * images + bits <= _ENTRY * vertices


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
    problem: Problem, z: Dual, size: int, with_images: bool = False
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
    local = local_sizes(problem.packed) if with_images else none
    # the slots of a sample side by side, or each slot of all samples, so that those that are never
    # used take no memory
    apart = room.mean() >= _LONG
    width = room if apart else room * (slots - 1)
    entry_ptr, word_ptr, image_ptr = (
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        for sizes in (width, n_words * (slots - 1), local * slots)
    )
    entries = int(room.sum()) * (slots - 1)
    largest = 0 if with_images else int(parts.max())
    cache = VertexCache(
        count=np.full(n, 2, dtype=np.int64),
        mass=np.zeros(n * slots),
        gram=np.zeros(n * (slots * (slots + 1) // 2)),
        used=np.zeros(n * slots, dtype=np.int64),
        active=np.zeros(n * slots, dtype=np.int64),
        n_active=np.zeros(n, dtype=np.int64),
        anchor=sparse_zeros(int(problem.part_ptr[-1]), n),
        length=np.zeros(n * slots, dtype=np.int64),
        entry_ptr=entry_ptr[:-1].copy(),
        stride=np.full(n, room.sum()) if apart else room,
        room=room,
        part=np.zeros(entries, dtype=np.int32),
        row=np.zeros(entries, dtype=np.int32),
        label=np.zeros(entries, dtype=np.int32),
        value=np.zeros(entries),
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
    workspace = problem.workspace()
    for a, b in problem.ranges():
        start_vertex_cache(problem.packed, a, b, workspace, cache, z[problem.parts(a, b)])
    return cache


def take_points(problem: Problem, state: CacheState) -> None:
    """Let z be what the masses of vertices say."""
    packed, cache = problem.packed, state.vertex_cache
    assert cache is not None
    if state.stores == "images":
        state.make_dense()
        rebuild_points(packed, cache, state.z)
        return
    has_mass = cache.mass.reshape(problem.n, -1) > 0.0
    parts = np.where(has_mass[:, 0], np.diff(problem.part_ptr), 0)
    most = int((parts + (cache.length.reshape(has_mass.shape) * has_mass).sum(axis=1)).sum())
    ptr = np.zeros(problem.n + 1, dtype=np.int64)
    part, value = np.empty(most, dtype=np.int32), np.empty(most)
    count = collect_points(packed, cache, ptr, part, value)
    points = Points(ptr, part[:count].copy(), value[:count].copy())
    state.z = SparsePoints(points, problem.part_ptr)


def step_between_vertices(
    problem: Problem, state: CacheState, order: np.ndarray, limit: int, relaxation: float
) -> float:
    """A pass of steps between cached vertices; returns the gap that was found among them."""
    left = 0.0

    def steps(order: np.ndarray, weights: Weights) -> None:
        nonlocal left
        rest = (problem.alpha, limit, relaxation, weights, state.counters)
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
    for name in ("entry_ptr", "stride", "room", "n_words", "word_ptr", "size", "image_ptr"):
        if not np.array_equal(getattr(found, name), getattr(fresh, name)):
            raise ValueError(f"{name} of its vertices is out of range")
    sample = np.empty(len(fresh.part), dtype=np.int64)
    own = np.repeat(np.arange(n), fresh.room)
    place = np.arange(len(own)) + (fresh.entry_ptr - np.cumsum(fresh.room) + fresh.room)[own]
    for slot in range(slots - 1):
        sample[place + slot * fresh.stride[own]] = own
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
    mass = found.mass.reshape(n, slots)
    if np.any(mass < 0.0) or np.any(np.abs(mass.sum(axis=1) - 1.0) > _SLACK):
        raise ValueError("mass of its vertices is out of range")
    radius = {layout: problem.structure.radius(layout) for layout in set(problem.layouts)}
    truth = float(np.abs(problem.truths.value).max(initial=1.0))
    most = truth + np.array([radius[layout] for layout in problem.layouts])
    if np.any(np.abs(found.value) > (1.0 + _SLACK) * most[sample]):
        raise ValueError("value of its vertices is out of range")


def vertex_cache_key(problem: Problem, state: CacheState) -> int:
    """Checksums of all that a memory depends on: features, layout, what is forbidden, and z.

    Images know the costs of vertices, too.
    """
    packed = problem.packed
    costs = [packed.costs, packed.cost_start]
    if state.stores != "images":
        costs = [problem.forbidden_parts]
    places = packed.index, packed.index_high, packed.block_ptr, packed.block_start
    points = 0  # the same in whatever form z is kept
    for a, b in problem.ranges():
        points = crc32(state.points[problem.parts(a, b)].data, points)
    arrays = (packed.value, *places, packed.indptr, packed.part_ptr, *costs)
    return checksums(np.array([points]), *arrays)
