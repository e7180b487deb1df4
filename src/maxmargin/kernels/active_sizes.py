"""How much space the projections by active sets need; plain Python, compiled where it is used."""

from __future__ import annotations

MOST = 512  # vertices at a time: their factor then takes one megabyte


def most_vertices(parts: int) -> int:
    """How many vertices may be active: more than the parts are never independent."""
    return min(parts, MOST)


def kept_vertices(parts: int, nodes: int) -> int:
    """How many of them are kept for the next call: as much memory as z itself takes."""
    return min(max(parts // (nodes + 1), 4), MOST)


def warm_size(parts: int, nodes: int) -> int:
    """A count, then a share and the labels of each vertex kept."""
    return 1 + kept_vertices(parts, nodes) * (nodes + 1)


def float_size(parts: int, nodes: int) -> int:
    """Numbers of work space, besides those of `maximize`."""
    most = most_vertices(parts)
    return warm_size(parts, nodes) + parts + 4 * most + most * (most + 1) // 2


def int_size(parts: int, nodes: int) -> int:
    """Integers of work space, besides those of `maximize`."""
    return (most_vertices(parts) + 1) * nodes
