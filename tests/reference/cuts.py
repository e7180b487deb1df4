"""Labelings of Markov networks, by trying all of them."""

from itertools import combinations, product

import numpy as np


def binary_vertex(labels, edges):
    """Labels of the nodes, then which edges have ends that differ."""
    labels = list(labels)
    return np.array(labels + [float(labels[j] != labels[k]) for j, k in edges], dtype=float)


def binary_vertices(n_nodes, edges):
    return [binary_vertex(labels, edges) for labels in product((0.0, 1.0), repeat=n_nodes)]


def class_vertex(labels, n_labels, edges):
    """One of K for each node, then which edges have ends that differ."""
    ones = [float(own == k) for own in labels for k in range(n_labels)]
    return np.array(ones + [float(labels[j] != labels[k]) for j, k in edges])


def class_vertices(n_nodes, n_labels, edges):
    every = product(range(n_labels), repeat=n_nodes)
    return [class_vertex(labels, n_labels, edges) for labels in every]


def some_edges(rng, n_nodes, share=0.5):
    """Some of all pairs, in a random order and direction."""
    pairs = [p for p in combinations(range(n_nodes), 2) if rng.random() < share]
    turned = [p if rng.random() < 0.5 else p[::-1] for p in pairs]
    return np.array([turned[i] for i in rng.permutation(len(pairs))], dtype=int).reshape(-1, 2)


def grid_edges(height, width):
    ids = np.arange(height * width).reshape(height, width)
    across = np.column_stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()])
    return np.concatenate([across, np.column_stack([ids[:-1].ravel(), ids[1:].ravel()])])
