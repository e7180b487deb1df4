"""Instances and their costs in files: tables as CSV, or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.formats.npz import open_seekable, read_npz
from maxmargin.formats.tables import read_table
from maxmargin.formats.text_lines import Readable, name_of

#: columns of a table of instances that start so are costs
PREFIX = "cost"
COSTS = "a column for each part, a row for each instance"


class Instances(NamedTuple):
    """What a file holds: features, costs if it has them, and names of the columns of both or ()."""

    X: np.ndarray
    costs: np.ndarray | None
    names: tuple[str, ...] = ()
    cost_names: tuple[str, ...] = ()


def read_instances(source: Readable) -> Instances:
    """Read features, and costs if the file has them.

    Parameters
    ----------
    source : Path or binary file
        An .npz file with `X` (n, features) or (n, parts, features) and `costs` (n, parts), or CSV,
        in which columns called cost... are costs.

    Returns
    -------
    Instances
        Features, costs of shape (n, parts) or None, and the names that CSV gives the features.
    """
    name = name_of(source)
    with open_seekable(source) as file:
        start = file.read(2)
        file.seek(0)
        if start == b"PK":
            return _from_arrays(read_npz(file, name), name)
        names, rows = read_table(file, name)
    is_cost = np.array([own.lower().startswith(PREFIX) for own in names] or [False] * rows.shape[1])
    if is_cost.all():
        raise ValueError(f"{name}: all columns are costs; instances need features, too.")
    known = [tuple(np.array(names)[own].tolist()) if names else () for own in (~is_cost, is_cost)]
    return Instances(rows[:, ~is_cost], rows[:, is_cost] if is_cost.any() else None, *known)


def read_costs(paths: Sequence[Path]) -> list[tuple[np.ndarray, tuple[str, ...]]]:
    """Read a table of costs from each file.

    Parameters
    ----------
    paths : sequence of Path
        CSV files, or .npz files with an array `costs`.

    Returns
    -------
    list of (ndarray of shape (n, parts), tuple of str)
        Costs, and the names of the columns or ().
    """
    found = []
    for path in paths:
        with open_seekable(path) as file:
            is_npz = file.read(2) == b"PK"
        arrays = read_npz(path, str(path)) if is_npz else {}
        if is_npz and "costs" not in arrays:
            raise ValueError(f"{path}: array 'costs' is missing; give {COSTS}.")
        names, costs = ([], arrays["costs"]) if is_npz else read_table(path, str(path))
        found.append((_checked(costs, f"{path}: costs", (2,)), tuple(names)))
    return found


def _from_arrays(arrays: Mapping[str, Any], name: str) -> Instances:
    if "X" not in arrays:
        raise ValueError(
            f"{name}: array 'X' is missing; give (n, features) or (n, parts, features)."
        )
    X = _checked(arrays["X"], f"{name}: array 'X'", (2, 3))
    if "costs" not in arrays:
        return Instances(X, None)
    costs = _checked(arrays["costs"], f"{name}: array 'costs'", (2,))
    if len(costs) != len(X):
        raise ValueError(f"{name}: array 'costs' has {len(costs)} rows, 'X' {len(X)} instances.")
    return Instances(X, costs)


def _checked(values: Any, name: str, dimensions: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(values)
    if found.ndim not in dimensions or found.dtype.kind not in "biuf":
        wanted = " or ".join(map(str, dimensions))
        raise ValueError(
            f"{name}: shape {found.shape} of {found.dtype}, expected numbers in {wanted} dimensions"
        )
    if not np.isfinite(found).all():
        place = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ValueError(f"{name}: the value at {place} is not finite.")
    return found.astype(np.float64)
