"""Memory for remembered vertices of large samples with few weights: their images and costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._numba.packed_samples import Workspace, score_block
from maxmargin._numba.passes.image_cache import WORD, ImageCache, rebuild_point, start_image_cache
from maxmargin._numba.passes.image_pass import (
    Course,
    image_cached_pass,
    image_oracle_pass,
    image_step,
)
from maxmargin.domains import Signs
from maxmargin.exceptions import SampleError
from maxmargin.problem import Problem
from maxmargin.result import state_field
from maxmargin.solvers.bcfw.vertex_cache import CacheState, empty_vertex_cache, slot_count

#: vertices this many times as large as an image are worth one
_WORTH = 2
#: bytes of a non-zero of a vertex in a list
_ENTRY = 20
#: "auto" passes over images end when their gap is this share of the oracle's,
_SHARE = 0.1
#: which is looked at after this many passes, or when they have cost about what the oracle has: one
#: visit takes as long as it needs for 30 parts
_CHUNK = 5
_PARTS = 30
_LIMIT = 100


@dataclass(repr=False)
class BCFWState(CacheState):
    """State of `BCFW`."""

    #: images of the remembered vertices, where these are stored
    image_cache: ImageCache | None = state_field(None, warm="refit")
    #: room for what an expensive oracle returns; whether it did so at the present weights
    oracle_outputs: np.ndarray | None = state_field(None, warm="keep")
    outputs_known: bool = state_field(False)


def images_pay(problem: Problem) -> bool:
    """Whether images are clearly smaller than lists of non-zeros, and take no more memory."""
    images = int(local_sizes(problem).sum()) + problem.n
    vertices = sum(problem.structure.vertex_size(layout) for layout in problem.layouts)
    if _WORTH * images > vertices:
        return False
    packed = int(problem.part_ptr[-1]) * (1 if problem.structure.binary else 64) // 8
    return 8 * images + packed <= _ENTRY * vertices


def local_sizes(problem: Problem) -> np.ndarray:
    """How many weights each sample touches."""
    packed = problem.packed
    ends = np.concatenate([[0], np.cumsum(packed.block_width, dtype=np.int64)])
    return np.diff(ends[packed.block_ptr])


def make_image_cache(problem: Problem, z: np.ndarray, size: int) -> tuple[Any, Any]:
    """A cache of `size` vertices per sample, which holds z itself as its first entry.

    Returns masses and inner products, as `empty_vertex_cache` has, but without lists of non-zeros,
    and the images.
    """
    slots = slot_count(problem, size)
    parts, local = np.diff(problem.part_ptr), local_sizes(problem)
    length = -(-parts // WORD) if problem.structure.binary else parts
    pack_ptr = np.concatenate([[0], np.cumsum(length * (slots - 1))]).astype(np.int64)
    image_ptr = np.concatenate([[0], np.cumsum(local * slots)]).astype(np.int64)
    words, values = (pack_ptr[-1], 0) if problem.structure.binary else (0, pack_ptr[-1])
    cache = empty_vertex_cache(problem, np.zeros(problem.n, dtype=np.int64), slots)
    images = ImageCache(
        size=local.astype(np.int64),
        image_ptr=image_ptr[:-1].copy(),
        image=np.zeros(image_ptr[-1]),
        cost=np.zeros(problem.n * slots),
        length=length.astype(np.int64),
        pack_ptr=pack_ptr[:-1].copy(),
        word=np.zeros(words, dtype=np.int64),
        value=np.zeros(values),
        gap=np.zeros(problem.n),
        change=np.zeros(int(local.max())),
        packed=np.zeros(-(-int(parts.max()) // WORD), dtype=np.int64),
    )
    start_image_cache(problem.packed, problem.workspace(), cache, images, z)
    return cache, images


def check_image_cache(fresh: Any, found: Any) -> None:
    """That every number by which compiled code looks something up is in its range."""
    for name in ("size", "image_ptr", "length", "pack_ptr"):
        if not np.array_equal(getattr(found, name), getattr(fresh, name)):
            raise ValueError(f"{name} of its images is out of range")


def rebuild_z(problem: Problem, state: BCFWState) -> None:
    """state.z from masses and vertices."""
    rebuild_point(problem.packed, state.vertex_cache, state.image_cache, state.z)


def weight_bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper bounds of all weights, where these are all that the domain says."""
    if not isinstance(problem.domain, Signs):
        return None
    lower, upper = np.full(problem.dim, -np.inf), np.full(problem.dim, np.inf)
    up, down = problem.domain._signed(problem.dim)
    lower[up], upper[down] = 0.0, 0.0
    return lower, upper


def weights_of_state(problem: Problem, state: BCFWState, bounded: bool) -> Any:
    """The weights of the state as compiled code moves them."""
    w_unprojected: Any = np.empty(0)
    lower = upper = w_unprojected
    if bounded:
        w_unprojected = state.w_unprojected
        lower, upper = weight_bounds(problem) or (lower, upper)
    return Course(state.w, w_unprojected, lower, upper, state.average, state.counters)


def oracle_pass(
    problem: Problem,
    state: BCFWState,
    order: np.ndarray,
    policy: tuple[int, float],
    bounded: bool,
    known: np.ndarray | None = None,
) -> None:
    """Ask the oracle for each sample in `order`, and step; known : its answers, if they are."""
    packed, workspace, gaps = problem.packed, problem.workspace(), state.gaps
    memory = (state.vertex_cache, state.image_cache)
    options = (problem.alpha, *policy, weights_of_state(problem, state, bounded))
    function = problem.oracle.compiled_function("maximize")
    if function is not None:
        image_oracle_pass(packed, workspace, *memory, function, order, *options, gaps)
    else:

        def at(i: int) -> int:
            return score_block(packed, i, state.w, workspace)

        for i in problem.visits(order, workspace, at, state.z, gaps, known):
            gaps[i] = image_step(packed, i, workspace, *memory, *options)
    if np.isnan(gaps).any():
        i = int(np.flatnonzero(np.isnan(gaps))[0])
        raise SampleError.of(
            i,
            f": {type(problem.structure).__name__}.maximize returned something else than"
            " zeros and ones; say binary = False in the structure.",
        )


def cached_pass(
    problem: Problem, state: BCFWState, order: np.ndarray, policy: tuple[int, float], bounded: bool
) -> None:
    """Steps between remembered vertices only."""
    images: Any = state.image_cache
    workspace = _small_workspace(len(images.change))
    options = (problem.alpha, *policy, weights_of_state(problem, state, bounded))
    image_cached_pass(problem.packed, workspace, state.vertex_cache, images, order, *options)


def _small_workspace(size: int) -> Any:
    """Scratch for visits that look at weights only, this many of them."""
    none, ints = np.empty(0), np.empty(0, dtype=np.int64)
    return Workspace(none, none, none, ints, np.empty(size), none, none, none, ints)


def cached_passes(
    problem: Problem, state: BCFWState, passes: int | str, visit: Callable[[np.ndarray], None]
) -> None:
    """So many passes, or as many as pay.

    "auto": until the gap among remembered vertices is a tenth of the oracle's gap in this epoch:
    what is gained below that is soon undone by the next vertices. Counted, not timed: the same
    seed gives the same bits.
    """
    weight, rng = problem.packed.weight, state.rng
    if passes != "auto":
        if passes:
            visit(np.concatenate([rng.permutation(problem.n) for _ in range(int(passes))]))
        return
    target = _SHARE * float(weight @ np.maximum(state.gaps, 0.0))
    images: Any = state.image_cache
    limit = min(max(int(problem.part_ptr[-1]) // (_PARTS * problem.n), _CHUNK), _LIMIT)
    for _ in range(limit // _CHUNK):
        visit(np.concatenate([rng.permutation(problem.n) for _ in range(_CHUNK)]))
        if float(weight @ images.gap) <= target:
            return
