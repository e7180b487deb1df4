"""Measures of points as columns for a linear model: piecewise-linear functions of each measure."""

from __future__ import annotations

import numpy as np
from scipy import sparse

#: columns (n, e) or (e,) of the entries of n rows, and their values (n, e)
Columns = tuple[np.ndarray, np.ndarray]


def learn_knots(table: np.ndarray, count: int) -> np.ndarray:
    """(q, count), rising: quantiles of each column, at equal shares."""
    knots = np.quantile(table, np.linspace(0.01, 0.99, count), axis=0).T
    step = np.maximum(np.abs(knots).max(axis=1, keepdims=True), 1e-12) * 1e-6
    # Where many values are equal so are quantiles; they are moved apart by next to nothing.
    return np.maximum.accumulate(knots, axis=1) + step * np.arange(count)


def hat_columns(table: np.ndarray, knots: np.ndarray) -> Columns:
    """Each measure as shares of the two knots that it lies between: columns and values, (n, 2 q).

    A weight at every knot then makes a function of the measure that is linear between knots and
    constant beyond the first and the last, so that no outlier counts for more than they do.
    """
    n, q = table.shape
    count = knots.shape[1]
    columns = np.empty((n, q, 2), dtype=np.int32)
    values = np.empty((n, q, 2))
    for k in range(q):
        place = np.interp(table[:, k], knots[k], np.arange(count))
        left = np.minimum(place.astype(np.int32), count - 2)
        columns[:, k, 0] = left + k * count
        values[:, k, 1] = place - left
    columns[:, :, 1] = columns[:, :, 0] + 1
    values[:, :, 0] = 1.0 - values[:, :, 1]
    return columns.reshape(n, -1), values.reshape(n, -1)


def learn_axes(table: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean (q,) and principal axes (q, count), divided by the spread along each of them.

    The signs are such that the largest entry of an axis is positive. Axes along which nothing
    varies are left out.
    """
    if not table.shape[1]:
        return np.empty(0), np.empty((0, 0))
    mean = table.mean(axis=0)
    values, vectors = np.linalg.eigh((table - mean).T @ (table - mean) / len(table))
    order = np.argsort(values)[::-1][:count]
    order = order[values[order] > 1e-12 * values.max(initial=1e-300)]
    axes = vectors[:, order]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return mean, axes / np.sqrt(values[order])


class RowFiller:
    """A CSR matrix with the same number of entries in each row, filled a few rows at a time."""

    def __init__(self, n_rows: int, n_entries: int, n_columns: int):
        self.columns = np.empty((n_rows, n_entries), dtype=np.int32)
        self.values = np.empty((n_rows, n_entries))
        self.n_columns = n_columns

    def put(self, rows: slice, parts: list[Columns]) -> None:
        """Fill the rows with parts side by side."""
        first = 0
        for columns, values in parts:
            last = first + values.shape[1]
            self.columns[rows, first:last] = columns
            self.values[rows, first:last] = values
            first = last

    def matrix(self) -> sparse.csr_array:
        n_rows, n_entries = self.values.shape
        starts = np.arange(0, n_rows * n_entries + 1, max(n_entries, 1))[: n_rows + 1]
        shape = (n_rows, self.n_columns)
        return sparse.csr_array((self.values.ravel(), self.columns.ravel(), starts), shape=shape)
