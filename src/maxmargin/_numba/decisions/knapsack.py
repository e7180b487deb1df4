"""Items within one integer capacity, by dynamic programming. layout = (m, capacity, weights)."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best items; returns the sum of their scores.

    work: capacity + 1, the best sum within each capacity. iwork: m (capacity + 1), 1 where the item
    is in that sum.
    """
    count, room = layout[0], layout[1]
    best = work[: room + 1]
    best[:] = 0.0
    for p in range(count):
        weight, taken = layout[2 + p], iwork[p * (room + 1) : (p + 1) * (room + 1)]
        taken[:] = 0
        if theta[p] <= 0.0:
            continue
        for c in range(room, weight - 1, -1):
            score = best[c - weight] + theta[p]
            if score > best[c]:
                best[c], taken[c] = score, 1
    c = room
    for p in range(count - 1, -1, -1):
        out[p] = float(iwork[p * (room + 1) + c])
        if out[p] > 0.0:
            c -= layout[2 + p]
    return best[room]
