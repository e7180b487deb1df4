"""The linear map F of one sample as a dense matrix, one column per part."""

import numpy as np


def conjoined(x, n_labels, bias=True, ends=True, transitions=True, n_tables=1):
    """Column (t, k): x[t] in the weights of label k; then columns of the pairs (j, k), by table.

    A weight is named by (feature, label) or (left label, right label) and numbered at the end.
    """
    x = np.asarray(x, dtype=float)
    length, n_features = x.shape
    names = [("x", f) for f in range(n_features)]
    names += [("bias",)] * bias + [("first",), ("last",)] * ends
    weights = [(name, k) for name in names for k in range(n_labels)]
    pairs = [(j, k) for j in range(n_labels) for k in range(n_labels)]
    weights += [("pair", pair) for pair in pairs] * transitions
    number = {name: i for i, name in enumerate(weights)}
    columns = []
    for t in range(length):
        for k in range(n_labels):
            column = np.zeros(len(weights))
            for f in range(n_features):
                column[number[("x", f), k]] = x[t, f]
            if bias:
                column[number[("bias",), k]] = 1.0
            if ends and t == 0:
                column[number[("first",), k]] = 1.0
            if ends and t == length - 1:
                column[number[("last",), k]] = 1.0
            columns.append(column)
    for _ in range(n_tables):
        for pair in pairs:
            column = np.zeros(len(weights))
            if transitions:
                column[number["pair", pair]] = 1.0
            columns.append(column)
    return np.array(columns).T


def rows_and_one(x):
    """Column p: row p of x, then a one, whose weight is the bias."""
    x = np.asarray(x, dtype=float)
    return np.vstack([x.T, np.ones(len(x))])


def labelled_rows(x, labels=3):
    """Columns of row p: its features, once for the weights of each label."""
    return np.kron(np.asarray(x, dtype=float), np.eye(labels)).T
