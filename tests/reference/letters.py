"""The gap of a chain model by plain numpy: own features, own Viterbi, one word after another."""

import numpy as np

N_LABELS = 26


def tables(x, w):
    """Node scores (T, K) and transitions (K, K) from the flat weights.

    w: rows of (features + bias + first + last, K), then the (K, K) table.
    """
    rows = x.shape[1] + 3
    weights, pairs = w[: rows * N_LABELS].reshape(rows, N_LABELS), w[rows * N_LABELS :]
    ends = np.zeros((len(x), 2))
    ends[0, 0] = ends[-1, 1] = 1.0
    return np.hstack([x, np.ones((len(x), 1)), ends]) @ weights, pairs.reshape(N_LABELS, N_LABELS)


def score(node, pair, y):
    return node[np.arange(len(y)), y].sum() + pair[y[:-1], y[1:]].sum()


def best(node, pair):
    """The highest score of a label sequence."""
    value = node[0]
    for t in range(1, len(node)):
        value = (value[:, None] + pair).max(axis=0) + node[t]
    return value.max()


def primal(X, y, w, alpha):
    """alpha/2 |w|^2 + mean_i max_y [score(y) - score(y_i) + share of wrong letters]."""
    hinges = []
    for x, truth in zip(X, y, strict=True):
        node, pair = tables(x, w)
        wrong = np.arange(N_LABELS) != truth[:, None]
        hinges.append(best(node + wrong / len(x), pair) - score(node, pair, truth))
    return alpha / 2 * (w @ w) + np.mean(hinges)


def dual(X, y, z, alpha):
    """(D(z), w(z), how far z is from label distributions), z the parts of all words in a row."""
    n, rows = len(X), X[0].shape[1] + 3
    weights, pairs = np.zeros((rows, N_LABELS)), np.zeros((N_LABELS, N_LABELS))
    loss, off, start = 0.0, 0.0, 0
    for x, truth in zip(X, y, strict=True):
        size = len(x) * N_LABELS
        nodes = z[start : start + size].reshape(len(x), N_LABELS)
        table = z[start + size : start + size + N_LABELS**2].reshape(N_LABELS, N_LABELS)
        start += size + N_LABELS**2
        apart = np.eye(N_LABELS)[truth] - nodes
        ends = np.zeros((len(x), 2))
        ends[0, 0] = ends[-1, 1] = 1.0
        weights += np.hstack([x, np.ones((len(x), 1)), ends]).T @ apart / n
        counts = np.zeros((N_LABELS, N_LABELS))
        np.add.at(counts, (truth[:-1], truth[1:]), 1.0)
        pairs += (counts - table) / n
        loss += (1.0 - nodes[np.arange(len(x)), truth]).mean() / n
        # rows of a pair table sum to the labels before, columns to the labels after
        off = max(off, -nodes.min(), -table.min(), np.abs(nodes.sum(axis=1) - 1).max())
        off = max(off, np.abs(table.sum(axis=1) - nodes[:-1].sum(axis=0)).max())
        off = max(off, np.abs(table.sum(axis=0) - nodes[1:].sum(axis=0)).max())
    assert start == len(z)
    w = np.concatenate([weights.ravel(), pairs.ravel()]) / alpha
    return loss - alpha / 2 * (w @ w), w, off
