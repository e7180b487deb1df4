"""Points between two states of the same samples: z <- (1 - share) z + share z', with vertices."""

from __future__ import annotations

from maxmargin._numba.compile import compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE
from maxmargin._numba.passes.vertex_cache import (
    FLOAT,
    INT,
    VERTEX_CACHE,
    activate_all,
    add_vertex,
    anchor_of,
    store_vertex,
    write_products,
)


@compiled_function(types.void(PACKED, WORKSPACE, VERTEX_CACHE, VERTEX_CACHE, FLOAT, INT))
def blend_vertex_caches(packed, workspace, old, cache, share, now):
    """Let the masses of `cache` be `share` of theirs, the rest those of `old`.

    Vertices of `old` that `cache` has dropped since are stored again. 0 < share < 1. now : epoch.
    """
    slots = len(cache.score)
    for i in range(len(packed.weight)):
        first = i * slots
        anchor, before = anchor_of(packed, i, cache), anchor_of(packed, i, old)
        point = workspace.vertex[: len(anchor)]
        for slot in range(cache.count[i]):
            cache.mass[first + slot] *= share
        rest = (1.0 - share) * old.mass[first]
        if rest > 0.0:
            total = cache.mass[first] + rest
            keep, take = cache.mass[first] / total, rest / total
            for p in range(len(anchor)):
                anchor[p] = keep * anchor[p] + take * before[p]
                point[p] = anchor[p]
            cache.mass[first] = total
            write_products(packed, i, workspace, cache, 0)
        for slot in range(1, old.count[i]):
            rest = (1.0 - share) * old.mass[first + slot]
            if rest > 0.0:
                point[:] = 0.0
                add_vertex(old, i, slot, 1.0, point)
                place = store_vertex(packed, i, workspace, cache, now)
                cache.mass[first + place] += rest
        activate_all(cache, i)
