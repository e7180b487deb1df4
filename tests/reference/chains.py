"""Label sequences: vertices and Viterbi in plain Python."""

from itertools import pairwise, product

import numpy as np


def vertex(labels, shape, tied):
    """Node parts, then one table of pair counts (tied) or a table for each place."""
    length, n_labels = shape
    nodes = np.zeros((length, n_labels))
    pairs = np.zeros((1 if tied else length - 1, n_labels, n_labels))
    for t, k in enumerate(labels):
        nodes[t][k] = 1
    for t, (j, k) in enumerate(pairwise(labels)):
        pairs[0 if tied else t][j][k] += 1
    return np.concatenate([nodes.ravel(), pairs.ravel()])


def sequences(shape, transitions=None, first=None, last=None):
    """All label sequences but those that the masks forbid."""
    for labels in product(range(shape[1]), repeat=shape[0]):
        if transitions is not None and any(transitions[j][k] for j, k in pairwise(labels)):
            continue
        if (first is not None and first[labels[0]]) or (last is not None and last[labels[-1]]):
            continue
        yield labels


def viterbi(theta, shape, tied):
    """(best score, its labels), the first in order among equals; (-inf, None) if there is none."""
    length, n_labels = shape
    node = [[theta[t * n_labels + k] for k in range(n_labels)] for t in range(length)]

    def pair(t, j, k):
        table = 0 if tied else t
        return theta[length * n_labels + (table * n_labels + j) * n_labels + k]

    best = {(k,): node[0][k] for k in range(n_labels)}
    for t in range(1, length):
        longer = {}
        for k in range(n_labels):
            value, labels = max(
                ((s + pair(t - 1, y[-1], k), y) for y, s in best.items()), key=lambda c: c[0]
            )
            longer[(*labels, k)] = value + node[t][k]
        best = longer
    labels, value = max(best.items(), key=lambda item: item[1])
    return (value, labels) if value > -np.inf else (-np.inf, None)
