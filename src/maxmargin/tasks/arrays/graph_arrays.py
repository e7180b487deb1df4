"""Graphs and their labels in the arrays of an npz file, see `maxmargin.tasks.arrays.graphs`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin.formats.npz import Arrays, NpzError
from maxmargin.inputs import Graph
from maxmargin.structures import TreeShape

KNOWN = (
    "nodes", "edges", "edge_features", "parents", "labels",
    "node_ptr", "edge_ptr", "n_nodes", "n_edges",
)  # fmt: skip
NODES_CURE = "give nodes (V, n_features), one row for each node, all samples one after another."
EDGES_CURE = "give edges (E, 2), the two nodes of each edge, counted from 0 within their sample."
FEATURES_CURE = (
    "give edge_features (E, n_features), one row for each edge, or edge_features_data,"
    " edge_features_indices, edge_features_indptr and edge_features_shape of a CSR matrix."
)
LABELS_CURE = "give labels (V,), one number or text for each node."
PARENTS_CURE = (
    "give parents (V,), the parent of each node, counted from 0 within its sample, -1 for a root."
)
PARTS_CURE = (
    "give node_ptr and edge_ptr (n + 1,), where the nodes and edges of each sample begin and the"
    " last ones end, or n_nodes and n_edges (n,), how many each has; neither for a single sample."
)


def graphs_in(arrays: Arrays) -> tuple[list[Graph], np.ndarray]:
    """The samples, and where the nodes of each begin."""
    _check_spelling(arrays)
    nodes = arrays.matrix("nodes", NODES_CURE)
    if 0 in nodes.shape:
        raise arrays.wrong("nodes", f"has {nodes.shape[0]} rows, {nodes.shape[1]} columns.")
    edges = _edges(arrays)
    features = None
    if "edge_features" in arrays or "edge_features_data" in arrays:
        features = arrays.matrix("edge_features", FEATURES_CURE)
        if features.shape[0] != len(edges):
            raise arrays.wrong(
                "edge_features", f"has {features.shape[0]} rows for {len(edges)} edges."
            )
    node_ptr, edge_ptr = _parts(arrays, nodes.shape[0], len(edges))
    found = []
    for i, ((a, b), (c, d)) in enumerate(zip(pairwise(node_ptr), pairwise(edge_ptr), strict=True)):
        own = None if features is None else features[c:d]
        try:
            found.append(Graph(nodes[a:b], edges[c:d], own))
        except ValueError as error:
            raise arrays.wrong("edges", f"sample {i}: {error}") from error
    return found, np.array(node_ptr)


def trees_in(arrays: Arrays, forest: bool) -> tuple[list[Graph], np.ndarray]:
    """The same for graphs without cycles, which may be told by the parent of each node."""
    _check_spelling(arrays)
    if "parents" not in arrays and "edges" not in arrays:
        found = ", ".join(sorted(arrays)) or "none"
        raise NpzError(
            f"{arrays.name}: array 'parents' is missing, and so is 'edges' (there are: {found});"
            f" {PARENTS_CURE} Or {EDGES_CURE}"
        )
    if "parents" not in arrays:
        graphs, starts = graphs_in(arrays)
        return _each(arrays, "edges", graphs, _without_cycles), starts
    if "edges" in arrays:
        raise arrays.wrong("parents", "says what edges says, too; give one of the two.")
    nodes = arrays.matrix("nodes", NODES_CURE)
    if 0 in nodes.shape:
        raise arrays.wrong("nodes", f"has {nodes.shape[0]} rows, {nodes.shape[1]} columns.")
    parents = arrays.need("parents", 1, "iu", PARENTS_CURE)
    if len(parents) != nodes.shape[0]:
        raise arrays.wrong("parents", f"has {len(parents)} entries for {nodes.shape[0]} nodes.")
    given = [name for name in ("node_ptr", "n_nodes") if name in arrays]
    if len(given) == 2:
        raise arrays.wrong("n_nodes", "says what node_ptr says, too; give one of the two.")
    ptr = _starts(arrays, given[0], len(parents), 1) if given else [0, len(parents)]
    has_parent = np.concatenate([[0], np.cumsum(parents >= 0)])
    features = None
    if "edge_features" in arrays or "edge_features_data" in arrays:
        features = arrays.matrix("edge_features", FEATURES_CURE)
        if features.shape[0] != has_parent[-1]:
            raise arrays.wrong(
                "edge_features",
                f"has {features.shape[0]} rows for {has_parent[-1]} nodes with a parent.",
            )

    def tree(part: tuple[int, int]) -> Graph:
        a, b = part
        if not forest:
            _check_root(parents[a:b], not given)
        own = None if features is None else features[has_parent[a] : has_parent[b]]
        return Graph.from_parents(nodes[a:b], parents[a:b].astype(np.int64), own, forest=forest)

    return _each(arrays, "parents", list(pairwise(ptr)), tree), np.array(ptr)


def _check_root(parents: np.ndarray, alone: bool) -> None:
    """That a sample has not several roots; alone : that the file does not say where samples end."""
    roots = np.flatnonzero(parents == -1)
    if len(roots) < 2:
        return
    names = ", ".join(map(str, roots[:12].tolist())) + (", ..." if len(roots) > 12 else "")
    several = (
        " If these are several trees, give n_nodes (n,), how many nodes each has, or node_ptr."
        if alone
        else ""
    )
    raise ValueError(
        f"nodes {names} are {len(roots)} roots, and a tree has one; --forest allows several."
        f"{several}"
    )


def _check_spelling(arrays: Arrays) -> None:
    """Fail if an array that is left aside looks like one that is missing, but for its spelling."""
    missing = [name for name in KNOWN if name not in arrays and f"{name}_data" not in arrays]
    for name in arrays:
        near = difflib.get_close_matches(name, missing, 1, 0.8)
        if near and name not in KNOWN and not name.startswith(("nodes_", "edge_features_")):
            raise arrays.wrong(
                name, f"is not known; did you mean {near[0]!r}? Rename it, or leave it out."
            )


def _each(arrays: Arrays, name: str, samples: list[Any], make: Callable) -> list[Graph]:
    """What is made of each sample; faults say of which."""
    found = []
    for i, sample in enumerate(samples):
        try:
            found.append(make(sample))
        except ValueError as error:
            raise arrays.wrong(name, f"sample {i}: {error}") from error
    return found


def _without_cycles(graph: Graph) -> Graph:
    TreeShape(graph.network, 1)
    return graph


def labels_in(arrays: Arrays, starts: np.ndarray) -> list[np.ndarray] | None:
    """The labels of each sample; None where the file has none."""
    if "labels" not in arrays:
        return None
    flat = arrays.need("labels", 1, "biufU", LABELS_CURE)
    if len(flat) != starts[-1]:
        raise arrays.wrong("labels", f"has {len(flat)} labels for {starts[-1]} nodes.")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise arrays.wrong("labels", "has labels that are not finite.")
    return np.split(flat, starts[1:-1])


def _edges(arrays: Arrays) -> np.ndarray:
    if "edges" in arrays and arrays["edges"].size == 0:
        return np.zeros((0, 2), dtype=np.int64)  # of any type and width, as numpy makes them
    edges = arrays.need("edges", 2, "iu", EDGES_CURE)
    if edges.shape[1] != 2:
        raise arrays.wrong("edges", f"has {edges.shape[1]} columns; {EDGES_CURE}")
    if int(edges.min()) < 0 or int(edges.max()) >= 1 << 31:
        raise arrays.wrong("edges", f"has numbers out of range; {EDGES_CURE}")
    return edges.astype(np.int64)


def _parts(arrays: Arrays, n_nodes: int, n_edges: int) -> tuple[list[int], list[int]]:
    """Where the nodes and the edges of the samples begin, and where the last ones end."""
    given = {name for name in ("node_ptr", "edge_ptr", "n_nodes", "n_edges") if name in arrays}
    if not given:
        return [0, n_nodes], [0, n_edges]
    for pair in (("node_ptr", "edge_ptr"), ("n_nodes", "n_edges")):
        if given == set(pair):
            nodes = _starts(arrays, pair[0], n_nodes, 1)
            edges = _starts(arrays, pair[1], n_edges, 0)
            if len(nodes) != len(edges):
                raise arrays.wrong(
                    pair[1], f"is of {len(edges) - 1} samples, {pair[0]} of {len(nodes) - 1}."
                )
            return nodes, edges
    raise arrays.wrong(sorted(given)[0], f"does not go with the others found; {PARTS_CURE}")


def _starts(arrays: Arrays, name: str, total: int, least: int) -> list[int]:
    """Begins of the samples and the end of the last, from those or from counts."""
    found: Any = arrays.need(name, 1, "iu", PARTS_CURE)
    if found.size and (int(found.min()) < 0 or int(found.max()) > total):
        raise arrays.wrong(name, f"expected numbers from 0 to {total}; {PARTS_CURE}")
    found = found.astype(np.int64)
    starts = found if name.endswith("_ptr") else np.concatenate([[0], np.cumsum(found)])
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != total:
        raise arrays.wrong(name, f"does not lead from 0 to {total}; {PARTS_CURE}")
    steps = np.diff(starts)
    if steps.min() < least:
        raise arrays.wrong(
            name, f"sample {int(steps.argmin())} has {int(steps.min())}; {least} or more is needed."
        )
    return starts.tolist()
