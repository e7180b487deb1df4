"""What a run is of: the problem and the solver, in a few comparable words and checksums."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.problem import Problem

#: options of a solver that may change as a run goes on, and its seed, which is told apart
_NOT_OPTIONS = ("max_epochs", "tol", "random_state")


def run_identity(solver: Any, problem: Problem) -> dict[str, Any]:
    """Two runs with the same identity go the same way, but for when they end."""
    options = solver.get_params(deep=False).items()
    seed = solver.random_state
    return {
        "objective": problem.objective,  # first, for samples have other costs with another one
        "structure": problem.outputs_key,
        "samples": samples_key(problem),
        "alpha": problem.alpha,
        "domain": describe_object(problem.domain),
        "solver": type(solver).__name__,
        "options": ", ".join(
            f"{k}={describe_object(v)}" for k, v in options if k not in _NOT_OPTIONS
        ),
        "seed": "0" if seed is None else str(seed) if isinstance(seed, int) else "given",
    }


def checksums(*arrays: np.ndarray) -> int:
    """The checksums of all arrays, side by side in one integer."""
    return int.from_bytes(b"".join(crc32(array.data).to_bytes(4, "big") for array in arrays), "big")


def samples_key(problem: Problem) -> int:
    """A checksum of features, costs, weights and truth."""
    key = crc32(f"{problem.n} {problem.dim}{problem.source_key}".encode())
    for array in (*problem.packed, *problem.truths):
        key = crc32(np.ascontiguousarray(array).data, key)
    return key


def describe_object(value: Any) -> str:
    """All that an object says of itself; its repr leaves out the middle of long lists."""
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False).items()
        return (
            f"{type(value).__name__}({', '.join(f'{k}={describe_object(v)}' for k, v in params)})"
        )
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe_object, value))}]"
    return repr(value)
