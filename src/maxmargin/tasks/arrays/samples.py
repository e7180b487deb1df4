"""Samples as the estimators take them, made of checked arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.inputs import Bipartite, Graph
from maxmargin.structures import TreeLayout
from maxmargin.tasks.arrays.reading import Contents

#: rows and columns of all samples together, beyond ten for each edge: more is a damaged file
MAX_NODES = 10_000_000


@dataclass
class Samples:
    """What a file holds.

    Parameters
    ----------
    inputs : sequence
        As the estimator takes them.
    outputs : sequence or None
        None if the file has none.
    details : dict
        What else is known: "fold" and "image" of sequences, "names" of all labels.
    """

    inputs: Any
    outputs: Any = None
    details: dict[str, Any] = field(default_factory=dict)


def select_folds(found: Samples, folds: Sequence[str], name: str, hint: str) -> Samples:
    """Keep the samples of some folds.

    Parameters
    ----------
    found : Samples
        All samples of a file.
    folds : sequence of str
        Such as "0", "1-9", "0,2-4" or "all"; none means all.
    name, hint : str
        The file, and what the array `fold` must be, for messages.

    Returns
    -------
    Samples
        Those of the folds, in their order.
    """
    wanted, fold = _parse_ranges(folds), found.details.pop("fold", None)
    if not wanted:
        return found
    if fold is None:
        raise ValueError(
            f"{name}: array 'fold' is missing, which folds={','.join(folds)} needs; give {hint}, or"
            " use folds=all"
        )
    keep = np.zeros(len(fold), dtype=bool)
    for low, high in wanted:
        keep |= (fold >= low) & (fold <= high)
    rows = np.flatnonzero(keep).tolist()
    if not rows:
        there = ", ".join(map(str, np.unique(fold)[:20].tolist()))
        raise ValueError(f"{name}: no sequence is in the folds asked for; there are {there}.")
    outputs = None if found.outputs is None else [found.outputs[i] for i in rows]
    return Samples([found.inputs[i] for i in rows], outputs, found.details)


def _parse_ranges(folds: Sequence[str]) -> list[tuple[int, int]]:
    """Of "0,2-4", [(0, 0), (2, 4)]; of "all" and of nothing, nothing."""
    texts = [text.strip() for own in folds for text in str(own).split(",") if text.strip()]
    if "all" in texts:
        return []
    found = []
    for text in texts:
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text, re.ASCII)
        if match is None:
            raise ValueError(f"folds: {text[:40]!r} is not a fold; give e.g. 0, 1-9, 0,2-4 or all.")
        found.append((int(match[1]), int(match[2] or match[1])))
    return found


def parse_image_size(text: str, n_features: int) -> tuple[int, int] | None:
    """Read a size such as 16x8.

    Parameters
    ----------
    text : str
        HEIGHTxWIDTH, or "".
    n_features : int
        How many pixels the images must have.

    Returns
    -------
    tuple of int or None
        Height and width; None of "".
    """
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,6})[x*](\d{1,6})", str(text).strip(), re.ASCII)
    if match is None:
        raise ValueError(f"image: {text!r} is not a size; give HEIGHTxWIDTH, e.g. 16x8.")
    height, width = int(match[1]), int(match[2])
    if height * width != n_features:
        raise ValueError(
            f"image: {height}x{width} is {height * width} pixels, but X has {n_features} features."
        )
    return height, width


def build_graphs(found: Contents, cycles: bool = True) -> Samples:
    """Make graphs of nodes, edges and edge_features, and their labels.

    Parameters
    ----------
    found : Contents
        The checked arrays of a file.
    cycles : bool, default=True
        Whether graphs may have cycles.

    Returns
    -------
    Samples
        The samples and their labels.
    """

    def make_graph(*arrays: Any) -> Graph:
        graph = Graph(*arrays)
        if not cycles:
            TreeLayout(graph.network, 1)
        return graph

    nodes, edges = found.split("nodes", "nodes"), found.split("edges", "edges")
    features = found.split("edge_features", "edges")
    graphs = found.make_each("edges", make_graph, zip(nodes, edges, features, strict=True))
    return Samples(graphs, found.split_labels("labels", "nodes"))


def build_trees(found: Contents, forest: bool) -> Samples:
    """Make trees of nodes, parents and edge_features, and their labels.

    Parameters
    ----------
    found : Contents
        The checked arrays of a file.
    forest : bool
        Whether a sample may have several roots.

    Returns
    -------
    Samples
        The samples and their labels.
    """
    nodes, parents = found.values["nodes"], found.values["parents"]
    features = found.values.get("edge_features")
    children = np.concatenate([[0], np.cumsum(parents >= 0)])
    if features is not None and features.shape[0] != children[-1]:
        error = f"has {features.shape[0]} rows for {children[-1]} nodes with a parent."
        raise found.arrays.wrong("edge_features", error)
    one_sample = "n_nodes" not in found.arrays and "node_ptr" not in found.arrays

    def make_tree(a: int, b: int) -> Graph:
        if not forest:
            _check_root(parents[a:b], one_sample)
        own = None if features is None else features[children[a] : children[b]]
        return Graph.from_parents(nodes[a:b], parents[a:b], own, forest=forest)

    graphs = found.make_each("parents", make_tree, pairwise(found.starts["nodes"]))
    return Samples(graphs, found.split_labels("labels", "nodes"))


def _check_root(parents: np.ndarray, one_sample: bool) -> None:
    """Fail if a sample has several roots."""
    roots = np.flatnonzero(parents == -1)
    if len(roots) < 2:
        return
    names = ", ".join(map(str, roots[:12].tolist())) + ", ..." * (len(roots) > 12)
    hint = " If these are several trees, give n_nodes (n,), how many nodes each has, or node_ptr."
    raise ValueError(
        f"nodes {names} are {len(roots)} roots, and a tree has one; --forest allows several."
        + hint * one_sample
    )


def build_matchings(found: Contents) -> Samples:
    """Make bipartite samples of X, shapes and edges, and group links by sample.

    Parameters
    ----------
    found : Contents
        The checked arrays of a file.

    Returns
    -------
    Samples
        As `MatchingSVM` takes them, None for one without anything to link.
    """
    X, sides = found.values["X"], found.values["shapes"].tolist()
    if "edges" in found.values:
        nodes, n_edges = sum(map(sum, sides)), X.shape[0]
        if nodes > MAX_NODES + 10 * n_edges:
            raise found.arrays.wrong(
                "shapes",
                f"has {nodes} rows and columns but only {n_edges} edges; leave out rows and columns"
                " that cannot be linked.",
            )
        edges, features = found.split("edges", "edges"), found.split("X", "edges")
    else:
        sizes = [rows * columns for rows, columns in sides]
        if sum(sizes) != X.shape[0]:
            raise found.arrays.wrong(
                "X",
                f"has {X.shape[0]} rows, but shapes say {sum(sizes)} pairs of a row and a column;"
                " give one for each, row by row. Where only some may be linked, give edges"
                " (edges, 2), row and column of each row of X, and n_edges (samples,).",
            )
        found.starts["edges"] = np.cumsum([0, *sizes]).tolist()
        edges, features = [None] * len(sides), found.split("X", "edges")
    samples = found.make_each("edges", _make_sample, zip(sides, edges, features, strict=True))
    return Samples(samples, _group_links(found, samples))


def _make_sample(shape: list[int], edges: np.ndarray | None, X: Any) -> Any:
    """A sample of these edges, or of all pairs; None if it has none."""
    if X.shape[0] == 0:
        return None
    if edges is None and not sparse.issparse(X):
        return X.reshape(*shape, X.shape[1])
    return Bipartite((shape[0], shape[1]), edges, X)


def _group_links(found: Contents, samples: list[Any]) -> list[np.ndarray] | None:
    """The links (row, column) of each sample, sorted; None where the file has none."""
    links = found.values.get("links")
    if links is None:
        return None
    owner = links[:, 0]
    strange = np.flatnonzero((owner < 0) | (owner >= len(samples)))
    if len(strange):
        raise found.arrays.wrong(
            "links",
            f"row {strange[0]} is of sample {owner[strange[0]]}, but there are {len(samples)}"
            " samples, counted from 0.",
        )
    order = np.lexsort((links[:, 2], links[:, 1], owner))
    ends = np.searchsorted(owner[order], np.arange(len(samples) + 1)).tolist()
    grouped = [links[order[a:b], 1:] for a, b in pairwise(ends)]
    return found.make_each("links", _check_links, zip(samples, grouped, strict=True))


def _check_links(sample: Any, links: np.ndarray) -> np.ndarray:
    """The links of a sample, if it can have them."""
    rows, columns = (0, 0) if sample is None else sample.shape[:2]
    for j, k in links.tolist():
        if not (0 <= j < rows and 0 <= k < columns):
            raise ValueError(
                f"found ({j}, {k}), but it has {rows} rows and {columns} columns, counted from 0."
            )
        if isinstance(sample, Bipartite) and (j, k) not in sample.candidates.numbers:
            raise ValueError(
                f"found ({j}, {k}), which is not one of its edges; add it there, or leave it out."
            )
    twice = (links[1:] == links[:-1]).all(axis=1)
    if twice.any():
        raise ValueError(f"found {tuple(links[1:][twice][0].tolist())} twice; leave one out.")
    return links
