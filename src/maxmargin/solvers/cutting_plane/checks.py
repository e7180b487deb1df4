"""That cuts from a file may be handed to compiled code, which looks up what it is told."""

from __future__ import annotations

import numpy as np

from maxmargin.problem import Problem
from maxmargin.solvers.cutting_plane.cuts import Cuts


def check_cuts(problem: Problem, cuts: Cuts) -> None:
    """That every number by which something is looked up is in its range."""
    (k, outputs), n = cuts.size, problem.n
    lengths = {"mass": k, "loss": k, "idle": k, "ids": k * n, "plane_ptr": k + 1}
    lengths |= dict.fromkeys(("older", "sample", "key", "seen"), outputs)
    lengths |= {"entry_ptr": outputs + 1, "head": n}
    if k < 1 or outputs < 0 or len(cuts.gram) != len(cuts.mass) ** 2 or len(cuts.head) != n:
        raise ValueError("its cuts do not go together")
    for name, least in lengths.items():
        if len(getattr(cuts, name)) < least:
            raise ValueError(f"{name} of its cuts is too short")
    parts, rows = np.diff(problem.part_ptr), cuts.ids[: k * n].reshape(k, n)
    _check_pointers("entry_ptr", cuts.entry_ptr[: outputs + 1], len(cuts.part))
    _check_pointers("plane_ptr", cuts.plane_ptr[: k + 1], min(len(cuts.column), len(cuts.value)))
    sample = cuts.sample[:outputs]
    _check_range("sample", sample, 0, n)
    used = int(cuts.entry_ptr[outputs])
    room = np.repeat(parts[sample], np.diff(cuts.entry_ptr[: outputs + 1]))
    _check_range("part", cuts.part[:used], 0, room)
    _check_range("column", cuts.column[: int(cuts.plane_ptr[k])], 0, problem.dim)
    _check_range("ids", rows, -1, outputs)
    _check_range("head", cuts.head, 0, outputs)
    _check_range("older", cuts.older[:outputs], -1, np.arange(outputs))  # so that lists end
    _check_owners(cuts, rows, outputs)
    if len(cuts.share) < (0 if problem.structure.binary else used):
        raise ValueError("share of its cuts is too short")
    if len(cuts.anchor) != (len(problem.truth) if (rows < 0).any() else len(cuts.anchor)):
        raise ValueError("it lacks the point that a cut is of")


def _check_pointers(name: str, values: np.ndarray, last: int) -> None:
    if values[0] != 0 or np.any(np.diff(values) < 0) or values[-1] > last:
        raise ValueError(f"{name} of its cuts is out of range")


def _check_range(name: str, values: np.ndarray, low: int, high: int | np.ndarray) -> None:
    if np.any(values < low) or np.any(values >= high):
        raise ValueError(f"{name} of its cuts is out of range")


def _check_owners(cuts: Cuts, rows: np.ndarray, outputs: int) -> None:
    """That lists and cuts have outputs of their own samples, with parts in order."""
    sample, older = cuts.sample[:outputs], cuts.older[:outputs]
    listed = np.array_equal(sample[cuts.head], np.arange(len(cuts.head)))
    listed &= bool(np.all((older < 0) | (sample[older] == sample)))
    if not listed or np.any((rows >= 0) & (sample[rows] != np.arange(rows.shape[1]))):
        raise ValueError("its cuts have outputs of other samples")
    ends = cuts.entry_ptr[: outputs + 1]
    first = np.zeros(int(ends[-1]) + 1, dtype=bool)
    first[ends] = True
    part = cuts.part[: int(ends[-1])].astype(np.int64)
    if np.any(np.diff(part)[~first[1:-1]] <= 0):
        raise ValueError("part of its cuts is out of order")
