"""Synthetic samples with several labels that depend on each other, best weights known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.utils import Bunch, check_random_state

#: all subsets of labels are drawn from at once
MAX_LABELS = 16


def make_multilabel(
    n_samples: int = 200,
    n_labels: int = 6,
    n_features: int = 10,
    *,
    signal: float = 1.0,
    coupling: float = 1.5,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Draw samples with dependent labels from a pairwise log-linear model.

    The model is ::

        log p(y | x) = sum_k y_k (coef[k].x + bias[k]) + sum over pairs of pairs[k, m] y_k y_m + c

    where x is standard normal. Half of the pairs attract or repel each other, so that labels depend
    on each other given x. Labels are drawn exactly, over all subsets.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_labels : int, default=6
        Number of labels, 16 at most.
    n_features : int, default=10
        Number of features.
    signal : float, default=1.0
        Strength of the dependence of labels on x.
    coupling : float, default=1.5
        Strength of the dependence between labels.
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `X`, float64 (n_samples, n_features); `y`, int64 (n_samples, n_labels), zeros and ones;
        `coef`, (n_labels, n_features); `bias`, (n_labels,); `pairs`, (n_labels, n_labels),
        symmetric.
    """
    if min(n_samples, n_labels, n_features) < 1 or n_labels > MAX_LABELS:
        raise ValueError(
            f"n_samples, n_labels, n_features must be at least 1 and n_labels {MAX_LABELS} at most:"
            f" got {n_samples}, {n_labels}, {n_features}"
        )
    rng = check_random_state(random_state)
    coef = signal * rng.standard_normal((n_labels, n_features)) * np.sqrt(3.0 / n_features)
    pairs = np.zeros((n_labels, n_labels))
    for k, m in combinations(range(n_labels), 2):
        pairs[k, m] = pairs[m, k] = coupling * rng.choice([-1.0, 0.0, 0.0, 1.0])
    # as often on as off, if x says nothing: what pairs give on average is taken off again
    bias = -pairs.sum(axis=1) / 2
    X = rng.standard_normal((n_samples, n_features))
    subsets = (np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1
    common = subsets @ bias + ((subsets @ pairs) * subsets).sum(axis=1) / 2
    y = np.empty((n_samples, n_labels), dtype=np.int64)
    for i, own in enumerate(X @ coef.T):
        scores = common + subsets @ own
        # the largest score plus Gumbel noise is a draw
        y[i] = subsets[np.argmax(scores + rng.gumbel(size=len(scores)))]
    return Bunch(X=X, y=y, coef=coef, bias=bias, pairs=pairs)
