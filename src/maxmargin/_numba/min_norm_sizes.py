"""How much space the projections by active sets need; plain Python, compiled where it is used."""

from __future__ import annotations

#: vertices at a time, in a solver. More are met in its first steps only, where they cost most and
#: gain nothing: with 128, 400 steps on 626 words took 15 times as long to the same gap
MOST = 32


def most_vertices(parts: int) -> int:
    """How many vertices may be active: more than the parts are never independent."""
    return min(parts, MOST)


def kept_vertices(parts: int, nodes: int) -> int:
    """How many of them are kept for the next call: up to four times the memory of z itself."""
    return min(max(4 * parts // (nodes + 1), 4), MOST)


def warm_size(parts: int, nodes: int) -> int:
    """A count, then a share and the labels of each vertex kept."""
    return 1 + kept_vertices(parts, nodes) * (nodes + 1)


def float_size(parts: int, nodes: int, most: int | None = None) -> int:
    """Numbers of work space, besides those of `maximize`."""
    most = most_vertices(parts) if most is None else most
    return warm_size(parts, nodes) + parts + 4 * most + most * (most + 1) // 2


def int_size(parts: int, nodes: int, most: int | None = None) -> int:
    """Integers of work space, besides those of `maximize`."""
    return ((most_vertices(parts) if most is None else most) + 1) * nodes
