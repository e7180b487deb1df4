"""Synthetic triplets: three items, two of which belong together, by a metric that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from maxmargin.validation.samples import is_number

#: output number -> the two items that belong together; the third is the odd one
PAIRS = ((0, 1), (0, 2), (1, 2))


def make_triplets(
    n_samples: int = 300,
    n_classes: int = 6,
    n_features: int = 20,
    n_relevant: int = 5,
    *,
    noise: float = 0.5,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Draw triplets with two items of one class and one of another, in random order.

    An item of class k is prototype_k + noise * Gaussian in `n_relevant` features, each in a unit of
    its own, and Gaussian noise of about the same size in the others. Distances thus tell which
    items belong together, but only for the right metric ::

        distance(i, j) = sum_f metric[f] (x_if - x_jf)^2

    whose entries are the squared units, and 0 for irrelevant features. The score of a pair under
    weights w is w . (-(x_i - x_j)^2); `metric` is the ideal w.

    Parameters
    ----------
    n_samples : int, default=300
        Number of triplets.
    n_classes : int, default=6
        Number of classes.
    n_features : int, default=20
        Number of features.
    n_relevant : int, default=5
        Number of relevant features.
    noise : float, default=0.5
        Standard deviation of an item about its prototype, relative to the spread of the prototypes.
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `X`, list of arrays (3, n_features), a row for each pair, -(x_i - x_j)^2; `y`, int
        array, the index of the pair of one class; `pairs`, the items of each pair; `triplets`, the
        items, (n_samples, 3, n_features); `metric`, (n_features,).
    """
    _check(n_samples, n_classes, n_features, n_relevant, noise)
    rng = check_random_state(random_state)
    relevant = np.sort(rng.permutation(n_features)[:n_relevant])
    metric = np.zeros(n_features)
    metric[relevant] = rng.uniform(0.5, 2.0, n_relevant) ** 2
    prototypes = rng.standard_normal((n_classes, n_relevant))
    y = rng.randint(3, size=n_samples)
    same = rng.randint(n_classes, size=n_samples)
    other = (same + rng.randint(1, n_classes, size=n_samples)) % n_classes
    together = np.array([[k in pair for k in range(3)] for pair in PAIRS])[y]
    classes = np.where(together, same[:, None], other[:, None])
    items = np.sqrt(1.0 + noise**2) * rng.standard_normal((n_samples, 3, n_features))
    drawn = prototypes[classes] + noise * rng.standard_normal((n_samples, 3, n_relevant))
    items[:, :, relevant] = drawn / np.sqrt(metric[relevant])
    first, second = np.array(PAIRS).T
    return Bunch(
        X=list(-((items[:, first] - items[:, second]) ** 2)),
        y=y,
        pairs=PAIRS,
        triplets=items,
        metric=metric,
    )


def _check(n_samples: Any, n_classes: Any, n_features: Any, n_relevant: Any, noise: Any) -> None:
    least = {"n_samples": 1, "n_classes": 2, "n_features": 1, "n_relevant": 1}
    values = (n_samples, n_classes, n_features, n_relevant)
    for (name, low), value in zip(least.items(), values, strict=True):
        if not is_number(value, whole=True) or value < low:
            raise ValueError(f"{name}={value!r} must be an integer, {low} or more.")
    if n_relevant > n_features:
        raise ValueError(f"n_relevant={n_relevant} is more than n_features={n_features}.")
    if not is_number(noise) or not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise!r} must be a finite number, 0 or more.")
