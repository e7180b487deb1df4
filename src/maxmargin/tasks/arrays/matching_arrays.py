"""Bipartite samples and links in the arrays of an npz file, see `tasks.arrays.matchings`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.formats.npz import Arrays
from maxmargin.inputs import Bipartite

#: rows and columns of all samples together, beyond ten for each edge: more is a damaged file
MOST_NODES = 10_000_000
X_CURE = "give X (edges, n_features), one row for each pair that may be linked."
SHAPES_CURE = "give shapes (n, 2), the numbers of rows and columns of each sample."
EDGES_CURE = "give edges (edges, 2), row and column of each row of X, and n_edges (n,)."
LINKS_CURE = "give links (m, 3), sample, row and column of each link, all from 0."


def samples_in(arrays: Arrays) -> list[Any]:
    """Samples as `MatchingSVM` takes them; None for one without anything to link."""
    X = arrays.matrix("X", X_CURE)
    sides = _whole(arrays, "shapes", 2, SHAPES_CURE).tolist()
    for i, (rows, columns) in enumerate(sides):
        if min(rows, columns) < 0:
            raise arrays.wrong("shapes", f"sample {i} has sides ({rows}, {columns}), below 0.")
    if ("edges" in arrays) != ("n_edges" in arrays):
        given, other = ("edges", "n_edges") if "edges" in arrays else ("n_edges", "edges")
        raise arrays.wrong(given, f"found without {other}; {EDGES_CURE}")
    if "edges" in arrays:
        return _candidates(arrays, X, sides)
    total = sum(rows * columns for rows, columns in sides)
    if total != X.shape[0]:
        raise arrays.wrong(
            "X",
            f"found {X.shape[0]} rows, but shapes say {total} pairs of a row and a column; X needs"
            f" one for each, row by row. Where only some may be linked, {EDGES_CURE}",
        )
    return _all_pairs(X, sides)


def _all_pairs(X: Any, sides: list[list[int]]) -> list[Any]:
    samples: list[Any] = []
    stop = 0
    for rows, columns in sides:
        start, stop = stop, stop + rows * columns
        if start == stop:
            samples.append(None)
        elif sparse.issparse(X):
            samples.append(Bipartite((rows, columns), None, X[start:stop]))
        else:
            samples.append(X[start:stop].reshape(rows, columns, X.shape[1]))
    return samples


def _candidates(arrays: Arrays, X: Any, sides: list[list[int]]) -> list[Any]:
    edges = _whole(arrays, "edges", 2, EDGES_CURE)
    counts = _whole(arrays, "n_edges", None, EDGES_CURE).tolist()
    if len(counts) != len(sides) or min(counts, default=0) < 0:
        raise arrays.wrong(
            "n_edges", f"expected {len(sides)} numbers, one for each sample, 0 or more."
        )
    total, nodes = sum(counts), sum(map(sum, sides))
    if not len(edges) == X.shape[0] == total:
        raise arrays.wrong(
            "edges",
            f"found {len(edges)} edges, {X.shape[0]} rows in X, and n_edges that add up to {total};"
            " all three must agree.",
        )
    if nodes > MOST_NODES + 10 * total:
        raise arrays.wrong(
            "shapes",
            f"found {nodes} rows and columns but only {total} edges; leave out rows and columns"
            " that cannot be linked.",
        )
    samples: list[Any] = []
    stop = 0
    for i, ((rows, columns), count) in enumerate(zip(sides, counts, strict=True)):
        start, stop = stop, stop + count
        try:
            own = Bipartite((rows, columns), edges[start:stop], X[start:stop]) if count else None
        except ValueError as error:
            raise arrays.wrong("edges", f"sample {i}: {error}") from error
        samples.append(own)
    return samples


def links_in(arrays: Arrays, samples: list[Any]) -> list[np.ndarray] | None:
    """The links (row, column) of each sample, sorted; None where the file has none."""
    if "links" not in arrays:
        return None
    links = _whole(arrays, "links", 3, LINKS_CURE)
    owner = links[:, 0]
    strange = np.flatnonzero((owner < 0) | (owner >= len(samples)))
    if len(strange):
        raise arrays.wrong(
            "links",
            f"row {strange[0]} is of sample {owner[strange[0]]}, but there are {len(samples)}"
            " samples, counted from 0.",
        )
    order = np.lexsort((links[:, 2], links[:, 1], owner))
    ends = np.searchsorted(owner[order], np.arange(len(samples) + 1)).tolist()
    found = [links[order[a:b], 1:] for a, b in pairwise(ends)]
    for i, own in enumerate(found):
        fault = _fault(samples[i], own)
        if fault:
            raise arrays.wrong("links", f"sample {i}: {fault}")
    return found


def _fault(sample: Any, links: np.ndarray) -> str:
    """What is wrong with the links of a sample, if anything."""
    shape = (0, 0) if sample is None else sample.shape[:2]
    for link in links.tolist():
        if not (0 <= link[0] < shape[0] and 0 <= link[1] < shape[1]):
            return (
                f"found ({link[0]}, {link[1]}), but it has {shape[0]} rows and {shape[1]} columns,"
                " counted from 0."
            )
    twice = (links[1:] == links[:-1]).all(axis=1)
    if twice.any():
        return f"found {tuple(links[1:][twice][0].tolist())} twice; leave one out."
    if isinstance(sample, Bipartite):
        for link in map(tuple, links.tolist()):
            if link not in sample.candidates.numbers:
                return f"found {link}, which is none of its edges; add it there, or leave it out."
    return ""


def _whole(arrays: Arrays, name: str, width: int | None, cure: str) -> np.ndarray:
    """An array of whole numbers, (n, width) or (n,)."""
    array = arrays.need(name, 1 if width is None else 2, "iu", cure)
    if width is not None and array.shape[1] != width:
        raise arrays.wrong(name, f"found {array.shape[1]} columns; {cure}")
    if array.size and max(int(array.max()), -int(array.min())) >= 1 << 60:
        raise arrays.wrong(name, f"found a number beyond all bounds; {cure}")
    return array.astype(np.int64)
