"""Label sequences: vertices and Viterbi in plain Python."""

from itertools import pairwise, product

import numpy as np


def vertex(labels, layout, tied):
    """Node parts, then one table of pair counts (tied) or a table for each place."""
    length, n_labels = layout
    nodes = np.zeros((length, n_labels))
    pairs = np.zeros((1 if tied else length - 1, n_labels, n_labels))
    for t, k in enumerate(labels):
        nodes[t][k] = 1
    for t, (j, k) in enumerate(pairwise(labels)):
        pairs[0 if tied else t][j][k] += 1
    return np.concatenate([nodes.ravel(), pairs.ravel()])


def sequences(layout, transitions=None, first=None, last=None):
    """All label sequences but those that the masks forbid."""
    for labels in product(range(layout[1]), repeat=layout[0]):
        if transitions is not None and any(transitions[j][k] for j, k in pairwise(labels)):
            continue
        if (first is not None and first[labels[0]]) or (last is not None and last[labels[-1]]):
            continue
        yield labels


def viterbi(theta, layout, tied):
    """(best score, its labels), the first in order among equals; (-inf, None) if there is none."""
    length, n_labels = layout
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


def _log_sum(x, axis):
    high = x.max(axis=axis, keepdims=True)
    high = np.where(np.isneginf(high), 0.0, high)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - high).sum(axis=axis)) + np.squeeze(high, axis=axis)


def marginals(theta, layout, tied):
    """(log Z, expectations) by forward-backward in the log domain; (-inf, None) if there is none.

    Messages are relative to their maximum, as sums of 10,000 scores would lose digits.
    """
    length, n_labels = layout
    node = theta[: length * n_labels].reshape(length, n_labels)
    tables = theta[length * n_labels :].reshape(-1, n_labels, n_labels)
    ahead, behind = np.empty(layout), np.zeros(layout)
    total = 0.0
    for t in range(length):
        ahead[t] = node[t]
        if t:
            ahead[t] += _log_sum(ahead[t - 1][:, None] + tables[0 if tied else t - 1], axis=0)
        high = ahead[t].max()
        if high == -np.inf:
            return -np.inf, None
        ahead[t] -= high
        total += high
    pairs = np.zeros((1 if tied else length - 1, n_labels, n_labels))
    for t in range(length - 2, -1, -1):
        after = tables[0 if tied else t] + node[t + 1] + behind[t + 1]
        behind[t] = _log_sum(after, axis=1)
        behind[t] -= behind[t].max()
        joint = ahead[t][:, None] + after
        joint = np.exp(joint - joint.max())
        pairs[0 if tied else t] += joint / joint.sum()
    nodes = np.exp(ahead + behind - (ahead + behind).max(axis=1, keepdims=True))
    nodes /= nodes.sum(axis=1, keepdims=True)
    value = float(total + _log_sum(ahead[-1], axis=0))
    return value, np.concatenate([nodes.ravel(), pairs.ravel()])
