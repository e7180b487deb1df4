"""Bipartite samples and links in the arrays of an npz file, see `maxmargin.jobs.matchings`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin.graphs import Bipartite

#: rows and columns of all samples together, beyond ten for each edge: more is a damaged file
MOST_NODES = 10_000_000


def samples_in(arrays: Mapping[str, np.ndarray], name: str) -> list[Any]:
    """Samples as `MatchingSVM` takes them; None for one without anything to link."""
    X = _array(arrays, name, "X", "one row of features for each edge", "(edges, n_features)", 2)
    shapes = _whole(arrays, name, "shapes", "rows and columns of each sample", 2)
    if ("edges" in arrays) != ("n_edges" in arrays):
        given = "edges" if "edges" in arrays else "n_edges"
        raise ValueError(
            f"{name}: found {given} alone; edges (total, 2) and n_edges (n,) go together, or are"
            " both left out where all pairs may be linked."
        )
    sides = shapes.tolist()
    for i, (rows, columns) in enumerate(sides):
        if min(rows, columns) < 0:
            raise ValueError(f"{name}: shapes[{i}] is ({rows}, {columns}); sides are 0 or more.")
    if "edges" not in arrays:
        return _all_pairs(X, sides, name)
    return _candidates(arrays, X, sides, name)


def _all_pairs(X: np.ndarray, sides: list[list[int]], name: str) -> list[Any]:
    total = sum(rows * columns for rows, columns in sides)
    if total != len(X):
        raise ValueError(
            f"{name}: X has {len(X)} rows, but shapes say {total} pairs of a row and a column; X"
            " needs one for each, sample by sample and row by row (or give edges and n_edges)."
        )
    samples, start = [], 0
    for rows, columns in sides:
        stop = start + rows * columns
        own = X[start:stop].reshape(rows, columns, X.shape[1]) if stop > start else None
        samples.append(own)
        start = stop
    return samples


def _candidates(
    arrays: Mapping[str, np.ndarray], X: np.ndarray, sides: list[list[int]], name: str
) -> list[Any]:
    edges = _whole(arrays, name, "edges", "row and column of each candidate link", 2)
    counts = _whole(arrays, name, "n_edges", "how many edges each sample has", None)
    if len(counts) != len(sides) or min(counts.tolist(), default=0) < 0:
        raise ValueError(
            f"{name}: n_edges has {len(counts)} numbers for {len(sides)} samples (shapes); it needs"
            " one for each sample, 0 or more."
        )
    total = sum(counts.tolist())
    if not len(edges) == len(X) == total:
        raise ValueError(
            f"{name}: X has {len(X)} rows, edges {len(edges)}, and n_edges sum to {total}; all"
            " three must agree."
        )
    if sum(map(sum, sides)) > MOST_NODES + 10 * total:
        raise ValueError(
            f"{name}: shapes have {sum(map(sum, sides))} rows and columns but only {total} edges;"
            " leave out rows and columns that cannot be linked."
        )
    samples: list[Any] = []
    start = 0
    for i, (shape, count) in enumerate(zip(sides, counts.tolist(), strict=True)):
        own = slice(start, start + count)
        start += count
        try:
            found = Bipartite((shape[0], shape[1]), edges[own], X[own]) if count else None
        except ValueError as error:
            raise ValueError(f"{name}: sample {i}: {error}") from error
        samples.append(found)
    return samples


def links_in(
    arrays: Mapping[str, np.ndarray], samples: list[Any], name: str
) -> list[np.ndarray] | None:
    """The links (row, column) of each sample; None where the file has none."""
    if "links" not in arrays:
        return None
    links = _whole(arrays, name, "links", "sample, row and column of each link", 3)
    owner = links[:, 0]
    if len(links) and not (0 <= owner.min() and owner.max() < len(samples)):
        k = int(np.flatnonzero((owner < 0) | (owner >= len(samples)))[0])
        raise ValueError(
            f"{name}: links[{k}] is of sample {owner[k]}, but there are {len(samples)} samples,"
            " counted from 0."
        )
    order = np.lexsort((links[:, 2], links[:, 1], owner))
    ends = np.searchsorted(owner[order], np.arange(len(samples) + 1))
    found = [links[order[a:b], 1:] for a, b in pairwise(ends.tolist())]
    for i, own in enumerate(found):
        _check_links(name, i, samples[i], own)
    return found


def _check_links(name: str, i: int, sample: Any, links: np.ndarray) -> None:
    shape = (0, 0) if sample is None else sample.shape[:2]
    outside = (links < 0).any(axis=1) | (links >= shape).any(axis=1)
    if outside.any():
        row, column = links[outside][0].tolist()
        raise ValueError(
            f"{name}: links: sample {i} has a link ({row}, {column}), but {shape[0]} rows and"
            f" {shape[1]} columns, counted from 0."
        )
    twice = (links[1:] == links[:-1]).all(axis=1)
    if twice.any():
        row, column = links[1:][twice][0].tolist()
        raise ValueError(f"{name}: links: sample {i} has ({row}, {column}) twice; leave one out.")
    if isinstance(sample, Bipartite):
        known = sample.candidates.numbers
        missing = [link for link in map(tuple, links.tolist()) if link not in known]
        if missing:
            raise ValueError(
                f"{name}: links: sample {i} has a link {missing[0]} that is none of its candidate"
                " edges; add it to edges, or leave the link out."
            )


def _array(
    arrays: Mapping[str, np.ndarray], name: str, key: str, what: str, shape: str, ndim: int
) -> np.ndarray:
    if key not in arrays:
        known = ", ".join(sorted(arrays)) or "nothing"
        raise ValueError(f"{name}: no array {key} ({what}); found {known}.")
    array = arrays[key]
    if array.ndim != ndim:
        raise ValueError(f"{name}: {key} has shape {array.shape}, expected {shape}: {what}.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: {key} is of type {array.dtype}, expected numbers.")
    return array


def _whole(
    arrays: Mapping[str, np.ndarray], name: str, key: str, what: str, width: int | None
) -> np.ndarray:
    """An array of whole numbers, (n, width) or (n,)."""
    shape = "(n,)" if width is None else f"(n, {width})"
    array = _array(arrays, name, key, what, shape, 1 if width is None else 2)
    if width is not None and array.shape[1] != width:
        raise ValueError(f"{name}: {key} has shape {array.shape}, expected {shape}: {what}.")
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name}: {key} is of type {array.dtype}, expected whole numbers: {what}.")
    if array.size and max(abs(int(array.max())), abs(int(array.min()))) > 2**62:
        raise ValueError(f"{name}: {key} has a number beyond all bounds; is the file damaged?")
    return array.astype(np.int64)
