"""Which samples a run trains on: the same for all solvers, smaller sizes within larger ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def order_samples(n_samples: int, seed: int) -> list[int]:
    """All samples in the order in which that seed takes them."""
    return np.random.default_rng(seed).permutation(n_samples).tolist()


def samples_wanted(config: Mapping[str, Any]) -> int:
    """How many samples the comparison needs, where a task can be asked for this many."""
    return max(config["sizes"]) + (0 if config.get("test") else config.get("test-size", 0))


def check_size(n_samples: int, size: int) -> None:
    """Whether there are this many samples."""
    if size > n_samples:
        raise ValueError(
            f"size {size} is more than the {n_samples} samples of the data; leave it out of"
            " --sizes, or give more data."
        )


def training_samples(n_samples: int, size: int, seed: int) -> list[int]:
    """The samples to train on: the first ones in the seed's order."""
    check_size(n_samples, size)
    return order_samples(n_samples, seed)[:size]


def held_out(n_samples: int, largest: int, seed: int, limit: int | None = None) -> list[int]:
    """The samples that no size of the comparison trains on, `limit` at most."""
    rest = order_samples(n_samples, seed)[largest:]
    return rest if limit is None else rest[:limit]
