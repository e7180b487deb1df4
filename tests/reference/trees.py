"""Labelled trees: vertices by definition, and random trees."""

from itertools import product

import numpy as np


def vertex(labels, edges, n_labels, tied):
    """Node parts, then one table of pair counts (tied) or a table for each edge."""
    nodes = np.zeros((len(labels), n_labels))
    pairs = np.zeros((1 if tied else len(edges), n_labels, n_labels))
    for v, k in enumerate(labels):
        nodes[v][k] = 1
    for e, (a, b) in enumerate(edges):
        pairs[0 if tied else e][labels[a]][labels[b]] += 1
    return np.concatenate([nodes.ravel(), pairs.ravel()])


def labelings(n_nodes, edges, n_labels, allowed=None, pairs=None):
    """All labels of the nodes but those that the masks forbid."""
    for labels in product(range(n_labels), repeat=n_nodes):
        if allowed is not None and not all(allowed[v][k] for v, k in enumerate(labels)):
            continue
        if pairs is not None and any(pairs[labels[a]][labels[b]] for a, b in edges):
            continue
        yield labels


def random_edges(n_nodes, rng, joined=1.0):
    """A random tree over nodes in a random order, edges turned and in order at random.

    joined : the share of the edges that are kept, so that the rest is a forest.
    """
    names = rng.permutation(n_nodes)
    edges = []
    for v in range(1, n_nodes):
        if rng.random() < joined:
            ends = (int(names[v]), int(names[rng.integers(v)]))
            edges.append(ends if rng.random() < 0.5 else ends[::-1])
    return [edges[e] for e in rng.permutation(len(edges))]
