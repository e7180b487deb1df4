"""States of solvers as flat arrays by name, which travel, wait in files and go into checkpoints."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from maxmargin._numba.packed_samples import Points
from maxmargin.memory import SparsePoints
from maxmargin.persistence.checkpoints.sparse import Sparse, pack_sparse, unpack_sparse
from maxmargin.persistence.decode import check_generator_state
from maxmargin.problem import Problem


def flatten_state(problem: Problem, state: Any) -> dict[str, np.ndarray]:
    """Copies of all fields of a state; long arrays that are mostly zero by their other entries."""
    flat: dict[str, np.ndarray] = {}
    for field in fields(state):
        _flatten(field.name, state.__dict__[field.name], flat)
    cache = getattr(state, "vertex_cache", None)
    if cache is not None:  # of the anchors, those with mass: they are long and few
        for end in ("", ".steps", ".values"):
            flat.pop(f"vertex_cache.anchor{end}", None)
        own = _anchored(problem, cache)
        flat["vertex_cache.anchor.some"] = np.concatenate([cache.anchor[:0], *own])
    return flat


def _anchored(problem: Problem, cache: Any) -> list[np.ndarray]:
    with_mass = cache.mass.reshape(problem.n, -1)[:, 0] > 0
    return [cache.anchor[problem.parts(int(i))] for i in np.flatnonzero(with_mass)]


def _flatten(name: str, value: Any, flat: dict[str, np.ndarray]) -> None:
    if value is None or name == "vertex_cache.anchor":
        return
    if isinstance(value, np.random.Generator):
        state = json.dumps(value.bit_generator.state, default=np.ndarray.tolist)
        flat[name] = np.array(state)
    elif isinstance(value, SparsePoints):
        _flatten(name, value.points, flat)
    elif isinstance(value, np.ndarray):
        packed = pack_sparse(value)
        if isinstance(packed, Sparse):
            flat[f"{name}.steps"], flat[f"{name}.values"] = packed.steps, packed.values
        else:
            flat[name] = value.copy()
    elif hasattr(value, "_fields"):
        for part, own in zip(value._fields, value, strict=True):
            _flatten(f"{name}.{part}", own, flat)
    else:
        flat[name] = np.array(value)


def restore_state(problem: Problem, state: Any, flat: dict[str, np.ndarray]) -> None:
    """Let a new state be that which was taken apart, in the arrays that it has.

    One of `WRONG_PARTS` says what does not fit; numbers are looked at by `check_state` and
    `Solver.check_restored` only.
    """
    used = {"vertex_cache.anchor.some"} & flat.keys()
    for field in fields(state):
        fresh = state.__dict__[field.name]
        if field.name == "z" and "z.ptr" in flat:
            points = Points(*(flat[f"z.{own}"] for own in Points._fields))
            kinds = [own.dtype for own in points]
            if kinds != [own.dtype for own in problem.truths]:
                raise TypeError("z is of other types")
            state.z = SparsePoints(problem._check_points(points), problem.part_ptr)
            used |= {f"z.{own}" for own in Points._fields}
        elif field.name != "best":
            if field.name == "z" and not isinstance(fresh, np.ndarray):
                fresh = np.zeros(len(fresh))
            state.__dict__[field.name] = _restored(field.name, fresh, flat, used)
    if used != flat.keys():
        raise ValueError(f"it has a field {min(flat.keys() - used)!r}")
    if getattr(state, "vertex_cache", None) is not None:
        some, first = flat["vertex_cache.anchor.some"], 0
        for own in _anchored(problem, state.vertex_cache):
            own[:] = some[first : first + len(own)]
            first += len(own)
        if some.shape != (first,):
            raise ValueError("the anchors of its vertices are of other samples")


def _restored(name: str, fresh: Any, flat: dict[str, np.ndarray], used: set[str]) -> Any:
    """The value of a field, in the place of the fresh one where that is an array of its size."""
    if fresh is None or name == "vertex_cache.anchor":
        return fresh
    if hasattr(fresh, "_fields"):
        parts = zip(fresh._fields, fresh, strict=True)
        return type(fresh)(*(_restored(f"{name}.{p}", own, flat, used) for p, own in parts))
    if isinstance(fresh, np.ndarray) and f"{name}.steps" in flat:
        used |= {f"{name}.steps", f"{name}.values"}
        sparse = Sparse(len(fresh), flat[f"{name}.steps"], flat[f"{name}.values"])
        fresh[:] = unpack_sparse(sparse, fresh)
        return fresh
    found = flat[name]
    used.add(name)
    if isinstance(fresh, np.random.Generator):
        fresh.bit_generator.state = check_generator_state(json.loads(str(found)))
        return fresh
    if isinstance(fresh, np.ndarray):
        if (found.dtype, found.shape) != (fresh.dtype, fresh.shape):
            raise ValueError(f"{name} is {found.dtype} {found.shape}")
        fresh[:] = found
        return fresh
    return type(fresh)(found.item())


def size_of(problem: Problem) -> int:
    """Bytes of the arrays of a problem."""
    return sum(array.nbytes for array in problem.packed)
