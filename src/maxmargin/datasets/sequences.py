"""Synthetic chains from a Gaussian hidden Markov model, of any size, best weights known."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state


def make_sequences(
    n_samples: int = 100,
    length: int | tuple[int, int] = 10,
    n_labels: int = 5,
    n_features: int = 20,
    *,
    density: float = 1.0,
    separation: float = 1.5,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Draw label sequences and their features from a hidden Markov model.

    y is a Markov chain, x_t is Gaussian around coef[y_t] with unit variance, so that ::

        log p(y | x) = first[y_1] + sum_t coef[y_t].x_t + sum_t transitions[y_t, y_t+1] + c

    The means have entries of one size and random sign, so that all labels have means of equal norm,
    over any subset of the features, and the linear chain model above is exactly the best one.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sequences.
    length : int or tuple of int, default=10
        Length of all sequences, or (shortest, longest), both inclusive.
    n_labels : int, default=5
        Number of labels.
    n_features : int, default=20
        Number of features.
    density : float, default=1.0
        Fraction of the features present in a row, at random places; below 1 rows are CSR.
    separation : float, default=1.5
        Scale of the distances of the means; the difficulty does not depend on n_features and
        density.
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `X`, list of float64 arrays or CSR matrices (length, n_features); `y`, list of int
        arrays; `coef`, (n_labels, n_features); `transitions`, (n_labels, n_labels); `first`,
        (n_labels,).
    """
    ends = (length, length) if np.isscalar(length) else length
    shortest, longest = cast(tuple[int, int], ends)  # isscalar does not tell mypy what is left
    if min(n_samples, shortest, n_labels, n_features) < 1 or longest < shortest:
        raise ValueError(
            "n_samples, length, n_labels, n_features must be at least 1 and length in order: got "
            f"{n_samples}, {length}, {n_labels}, {n_features}"
        )
    if not 0 < density <= 1:
        raise ValueError(f"density is {density}, expected a number in (0, 1]")
    rng = check_random_state(random_state)
    lengths = rng.randint(shortest, longest + 1, size=n_samples)
    first, transitions = _chain(n_labels, rng)
    labels = _labels(lengths, first, transitions, rng)
    n_present = max(1, round(density * n_features))
    size = separation / np.sqrt(n_present)
    coef = size * (2.0 * rng.randint(2, size=(n_labels, n_features)) - 1.0)
    cuts = np.cumsum(lengths)[:-1]
    if density == 1.0:
        rows = np.split(coef[labels] + rng.standard_normal((len(labels), n_features)), cuts)
    else:
        rows = _sparse_rows(labels, cuts, coef, n_present, rng)
    return Bunch(
        X=rows,
        y=np.split(labels, cuts),
        coef=coef,
        transitions=np.log(transitions),
        first=np.log(first),
    )


def _chain(n_labels: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return first and transition probabilities: peaked rows, but none near zero."""
    rows = rng.dirichlet(np.full(n_labels, 0.3), size=n_labels + 1)
    rows = 0.9 * rows + 0.1 / n_labels
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[0], rows[1:]


def _labels(
    lengths: np.ndarray, first: np.ndarray, transitions: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Draw all chains in lockstep and return their labels one after another."""
    n_steps = lengths.max()
    uniform = rng.random_sample((n_steps, len(lengths)))
    steps = np.empty((len(lengths), n_steps), dtype=np.int64)
    table = np.cumsum(transitions, axis=1)[:, :-1]
    steps[:, 0] = np.searchsorted(np.cumsum(first)[:-1], uniform[0], side="right")
    for t in range(1, n_steps):
        steps[:, t] = (table[steps[:, t - 1]] <= uniform[t][:, None]).sum(axis=1)
    return steps[np.arange(n_steps) < lengths[:, None]]


def _sparse_rows(
    labels: np.ndarray,
    cuts: np.ndarray,
    coef: np.ndarray,
    n_present: int,
    rng: np.random.RandomState,
) -> list[sparse.csr_matrix]:
    # One feature from each of n_present equal ranges: distinct and sorted without a search.
    n_features = coef.shape[1]
    bounds = np.arange(n_present + 1) * n_features // n_present
    uniform = rng.random_sample((len(labels), n_present))
    columns = bounds[:-1] + (uniform * np.diff(bounds)).astype(np.int64)
    values = coef[labels[:, None], columns] + rng.standard_normal(columns.shape)
    rows = []
    for block, data in zip(np.split(columns, cuts), np.split(values, cuts), strict=True):
        pointer = np.arange(len(block) + 1) * n_present
        shape = (len(block), n_features)
        rows.append(sparse.csr_matrix((data.ravel(), block.ravel(), pointer), shape=shape))
    return rows
