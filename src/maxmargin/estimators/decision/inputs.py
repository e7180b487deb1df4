"""What is known of instances: features beforehand, costs and decisions afterwards."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._numba.packed_samples import Points
from maxmargin.exceptions import SampleError
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.structures.decisions.per_instance import as_decision_layout
from maxmargin.structures.decisions.selection import Selection
from maxmargin.validation.samples import is_list


class Instances(NamedTuple):
    """What is known afterwards: costs of the parts of each instance, decisions, or both.

    Parameters
    ----------
    costs, decisions : list or None
        One entry per instance.
    """

    costs: Any = None
    decisions: Any = None

    @classmethod
    def of(cls, costs: Any, decisions: Any = None) -> Instances:
        """Take costs and decisions as users give them, in data frames and series, too.

        Parameters
        ----------
        costs, decisions : array_like, list or None
            One row per instance.

        Returns
        -------
        Instances
            The same as arrays or lists.
        """
        return cls(as_rows(costs), as_rows(decisions))

    @property
    def n(self) -> int:
        return len(self.decisions if self.costs is None else self.costs)

    def take(self, which: np.ndarray) -> Instances:
        """Return some of the instances.

        Parameters
        ----------
        which : ndarray of int
            Their numbers.

        Returns
        -------
        Instances
            The same of these.
        """
        return type(self)(*(own if own is None else [own[i] for i in which] for own in self))


def as_instances(y: Any) -> Instances:
    """Return what is known of instances, of which costs alone may be given.

    Parameters
    ----------
    y : Instances, array_like or list
        What is known, or costs.

    Returns
    -------
    Instances
        What is known.
    """
    return y if isinstance(y, Instances) else Instances.of(y)


def as_rows(values: Any) -> Any:
    """Data frames and series as arrays, and arrays of vectors as lists; all else as it is."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    is_list_of_vectors = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == "O"
    return list(values) if is_list_of_vectors else values


class Chosen(Instances):
    """Instances whose decisions are known to be good, or were looked at before."""


def check_costs(costs: Any, counts: Sequence[int]) -> list[np.ndarray]:
    """Costs of each instance as a vector; errors name the instance.

    Parameters
    ----------
    costs : array_like or list
        As the user gave them.
    counts : sequence of int
        Number of parts of each instance.

    Returns
    -------
    list of ndarray
        The costs.
    """
    if not is_list(costs) or getattr(costs, "ndim", 2) < 2:
        raise ValueError("costs must be of shape (n_instances, n_parts), or a list of vectors.")
    if len(costs) != len(counts):
        raise ValueError(f"X has {len(counts)} samples, costs has {len(costs)}.")
    found = []
    for i, (own, count) in enumerate(zip(costs, counts, strict=True)):
        try:
            vector = np.asarray(own, dtype=float) if np.isrealobj(own) else None
        except (TypeError, ValueError):
            vector = None
        if vector is None or _has_text(own) or np.ma.is_masked(own):
            raise SampleError.of(i, ": its costs are not numbers.")
        if vector.shape != (count,):
            raise SampleError.of(
                i, f": its costs have shape {vector.shape}, but it has {count} parts."
            )
        if not np.isfinite(vector).all():
            p = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise SampleError.of(i, f": the cost of part {p} is {vector[p]}; costs must be finite.")
        found.append(vector)
    return found


def _has_text(values: Any) -> bool:
    array = np.asarray(values)
    return array.dtype.kind in "SU" or (
        array.dtype == object and any(isinstance(own, str | bytes) for own in array.flat)
    )


def check_decision_layouts(given: Sequence[Any], counts: Sequence[int]) -> list[Layout]:
    """The structure of each instance as a layout, made once; errors name the instance.

    Parameters
    ----------
    given : sequence of Selection or DecisionLayout
        As the user gave them.
    counts : sequence of int
        Number of rows of each instance.

    Returns
    -------
    list of DecisionLayout
        The layouts.
    """
    found = []
    for i, (layout, count) in enumerate(zip(given, counts, strict=True)):
        try:
            found.append(as_decision_layout(layout, int(count)))
        except (TypeError, ValueError) as error:
            raise SampleError.of(i, f": {error}") from error
    return found


def is_table(X: Any) -> bool:
    """Whether X has one row of features per instance, and not a matrix of its parts."""
    if sparse.issparse(X) or hasattr(X, "columns"):
        return True
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype != object:
        raise ValueError(
            f"X has shape {X.shape}, expected a row for each instance: X.reshape(-1, 1) for a"
            " single feature, X.reshape(1, -1) for a single instance."
        )
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and (X.dtype != object or not X.size or np.ndim(X[0, 0]) == 0)
    if not is_list(X) or not len(X):
        return False
    return not isinstance(X[0], tuple) and not sparse.issparse(X[0]) and np.ndim(X[0]) == 1


def take_instances(X: Any, which: np.ndarray) -> Any:
    """Some of the instances, in the form of all."""
    if hasattr(X, "iloc"):
        return X.iloc[which]
    if sparse.issparse(X):
        return sparse.csr_array(X)[which]
    return X[which] if isinstance(X, np.ndarray) else [X[i] for i in which]


def count_parts(structure: Structure, y: Any) -> int:
    """How many parts instances have, by the structure, or by the costs or decision of the first."""
    known = as_instances(y)
    given = known.decisions if known.costs is None else known.costs
    if not is_list(given):
        raise ValueError("give costs, or decisions=, one for each row of X.")
    if not len(given):
        raise ValueError("no costs or decisions were given: at least one instance is needed.")
    size = structure.size() if isinstance(structure, Selection) else None
    if known.costs is None and size is not None:
        return size
    first = given[0]
    if np.ndim(first) != 1 or isinstance(first, str):
        what = "decisions" if known.costs is None else "costs"
        hint = ", as sets do not say how many parts there are" if isinstance(first, Set) else ""
        raise ValueError(
            f"{what} must be of shape (n_instances, n_parts), or a list of vectors{hint}."
        )
    return len(first)


def encode_decision(structure: Structure, i: int, y: Any, layout: Layout) -> np.ndarray:
    """A decision as a vector, from one up to a solver's tolerance or what the structure encodes."""
    count = structure.n_parts(layout)
    try:
        z = np.asarray(y, dtype=float) if is_list(y) else np.empty(0)
    except (TypeError, ValueError):
        z = np.empty(0)
    try:
        if z.shape == (count,) and (np.minimum(np.abs(z), np.abs(z - 1)) < 1e-6).all():
            z = np.rint(z) + 0.0
        else:
            z = structure.encode(y, layout)
        why = structure.why_infeasible(z, layout) or why_no_decision(structure, z, layout)
    except (ValueError, IndexError, TypeError) as error:
        why = str(error).rstrip(".")
    if why:
        raise SampleError.of(i, f": its decision does not fit its structure ({why}).")
    return z


def why_no_decision(structure: Structure, z: np.ndarray, layout: Layout) -> str:
    """Why an output of the oracle is not a decision, such as a path with cycles; "" if it is."""
    return structure.why_no_decision(z, layout) if isinstance(structure, Selection) else ""


def as_points(vertices: list[np.ndarray]) -> Points:
    """The non-zeros of vectors, side by side."""
    parts = [np.flatnonzero(z) for z in vertices]
    ptr = np.concatenate([[0], np.cumsum([len(own) for own in parts], dtype=np.int64)])
    values = [z[own] for z, own in zip(vertices, parts, strict=True)]
    return Points(ptr, np.concatenate(parts).astype(np.int32), np.concatenate(values))


def stack_outputs(outputs: list[Any]) -> Any:
    """One array of vectors that are equally long."""
    sizes = {np.shape(own) for own in outputs}
    if len(sizes) > 1 or any(len(size) != 1 for size in sizes):
        return outputs
    return np.array(outputs)
