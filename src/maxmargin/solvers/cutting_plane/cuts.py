"""Joint cuts of all samples, kept small: which output each sample has, and the image of all.

A cut is one output for each sample, v = (v_1, ..., v_n), and says of every w

    sum_i omega_i H_i(w) >= loss + w . b,   b = sum_i omega_i F_i (v_i - y_i)

Outputs are stored once for each sample, however many cuts have them, as lists of their non-zeros
(without values where the structure is `binary`), and a cut is a list of their numbers: four bytes a
sample. Images b are lists of non-zeros, too: twelve bytes each, however many weights there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._numba.passes.cutting_plane import (
    add_outputs,
    best_outputs,
    find_outputs,
    write_outputs,
)
from maxmargin.problem import Problem
from maxmargin.solvers.identity import checksums


class Cuts(NamedTuple):
    """k cuts and the outputs of n samples, in arrays with room for more."""

    size: np.ndarray  # (2,) cuts and outputs in use
    mass: np.ndarray  # share of each cut in the dual point
    loss: np.ndarray
    idle: np.ndarray  # rounds without mass
    gram: np.ndarray  # b . b' of all pairs, rows as long as `mass`
    ids: np.ndarray  # outputs of each cut, n each; -1 for the anchor
    plane_ptr: np.ndarray  # where the non-zeros of its image begin
    column: np.ndarray
    value: np.ndarray
    head: np.ndarray  # (n,) newest output of each sample
    older: np.ndarray  # the one before it, or -1
    sample: np.ndarray  # whose output it is
    key: np.ndarray  # a checksum
    seen: np.ndarray  # epoch in which the oracle named it last
    entry_ptr: np.ndarray  # where its non-zeros begin
    part: np.ndarray
    share: np.ndarray  # and their values; empty if all are 1
    anchor: np.ndarray  # a dense dual point to begin with; empty for none

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, see `Solver.check_restored`."""

    @property
    def n_cuts(self) -> int:
        """How many cuts there are."""
        return int(self.size[0])

    def planes(self, dim: int) -> sparse.csr_array:
        """The images of all cuts, one per row."""
        stop = int(self.plane_ptr[self.n_cuts])
        parts = (self.value[:stop], self.column[:stop], self.plane_ptr[: self.n_cuts + 1])
        return sparse.csr_array(parts, shape=(self.n_cuts, dim), copy=False)


def start_cuts(problem: Problem, z: np.ndarray) -> Cuts:
    """The cut of the truth, and if z is something else, one of z, which has all mass."""
    n = problem.n
    none, ints = np.zeros(0), np.zeros(0, dtype=np.int64)
    shorts = np.zeros(0, dtype=np.int32)
    cuts = Cuts(
        np.zeros(2, dtype=np.int64), none, none, ints, none, shorts, np.zeros(1, dtype=np.int64),
        shorts, none, np.full(n, -1), ints, ints, ints, ints, np.zeros(1, dtype=np.int64), shorts,
        none, none,
    )  # fmt: skip
    cuts, ids = store_outputs(problem, cuts, problem.truth, 0)
    cuts = add_cut(problem, cuts, ids, problem.truth)
    if not np.array_equal(z, problem.truth):
        cuts = add_cut(problem, cuts._replace(anchor=z.copy()), np.full(n, -1), z)
    cuts.mass[cuts.n_cuts - 1] = 1.0
    return cuts


def store_outputs(
    problem: Problem, cuts: Cuts, vertex: np.ndarray, now: int
) -> tuple[Cuts, np.ndarray]:
    """The numbers of the outputs in `vertex`, with those stored that are new."""
    ids, found, length = (np.empty(problem.n, dtype=np.int64) for _ in range(3))
    lists = (cuts.head, cuts.older, cuts.key, cuts.entry_ptr, cuts.part, cuts.share)
    find_outputs(problem.part_ptr, *lists, vertex, ids, found, length)
    known, new = ids[ids >= 0], np.flatnonzero(ids < 0)
    cuts.seen[known] = now
    before, after = int(cuts.size[1]), int(cuts.size[1]) + len(new)
    used = int(cuts.entry_ptr[before])
    ends = used + np.cumsum(length[new])
    total = int(ends[-1]) if len(new) else used
    cuts = cuts._replace(
        **{
            name: _longer(getattr(cuts, name), after) for name in ("older", "sample", "key", "seen")
        },
        entry_ptr=_longer(cuts.entry_ptr, after + 1),
        part=_longer(cuts.part, total),
        share=cuts.share if problem.structure.binary else _longer(cuts.share, total),
    )
    fresh = np.arange(before, after)
    ids[new] = fresh
    cuts.older[fresh], cuts.head[new] = cuts.head[new], fresh
    cuts.sample[fresh], cuts.key[fresh], cuts.seen[fresh] = new, found[new], now
    cuts.entry_ptr[before + 1 : after + 1] = ends
    cuts.size[1] = after
    entries = (cuts.entry_ptr, cuts.part, cuts.share)
    write_outputs(problem.part_ptr, vertex, cuts.sample, fresh, *entries)
    return cuts, ids


def add_cut(problem: Problem, cuts: Cuts, ids: np.ndarray, vertex: np.ndarray) -> Cuts:
    """One more cut, of mass 0. vertex : the point of all samples' parts that it is of."""
    k, n = cuts.n_cuts, problem.n
    image = problem.loss_gradient(vertex)
    products = cuts.planes(problem.dim) @ image if k else np.empty(0)
    at = np.flatnonzero(image)
    used = int(cuts.plane_ptr[k])
    cuts = cuts._replace(
        gram=_wider(cuts.gram, len(cuts.mass), k + 1),
        **{name: _longer(getattr(cuts, name), k + 1) for name in ("mass", "loss", "idle")},
        ids=_longer(cuts.ids, (k + 1) * n),
        plane_ptr=_longer(cuts.plane_ptr, k + 2),
        column=_longer(cuts.column, used + len(at)),
        value=_longer(cuts.value, used + len(at)),
    )
    gram = cuts.gram.reshape(len(cuts.mass), -1)
    gram[k, :k] = gram[:k, k] = products
    gram[k, k] = image @ image
    cuts.mass[k], cuts.idle[k] = 0.0, 0
    cuts.loss[k] = float(problem.sample_weight @ problem.loss_at(vertex))
    cuts.ids[k * n : (k + 1) * n] = ids
    cuts.column[used : used + len(at)] = at
    cuts.value[used : used + len(at)] = image[at]
    cuts.plane_ptr[k + 1] = used + len(at)
    cuts.size[0] = k + 1
    return cuts


def dual_point(problem: Problem, cuts: Cuts) -> np.ndarray:
    """The sum of mass * outputs over the cuts: a feasible z, as a mixture of outputs."""
    share, z = np.zeros(int(cuts.size[1])), np.zeros_like(problem.truth)
    rows = cuts.ids[: cuts.n_cuts * problem.n].reshape(-1, problem.n)
    for j in np.flatnonzero(cuts.mass[: cuts.n_cuts]):
        if rows[j, 0] < 0:
            z += cuts.mass[j] * cuts.anchor
        else:
            share[rows[j]] += cuts.mass[j]  # a cut has one output of each sample
    used = np.flatnonzero(share)
    lists = (cuts.sample, cuts.entry_ptr, cuts.part, cuts.share)
    add_outputs(problem.part_ptr, *lists, used, share[used], z)
    return z


def cached_cut(problem: Problem, cuts: Cuts, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best cut of remembered outputs at w: their numbers, and the vertex they make."""
    ids, vertex = np.empty(problem.n, dtype=np.int64), np.zeros_like(problem.truth)
    stamp = np.zeros(int(np.diff(problem.part_ptr).max()) + 1, dtype=np.int64)
    lists = (cuts.entry_ptr, cuts.part, cuts.share)
    workspace = problem.workspace()
    best_outputs(problem.packed, workspace, cuts.head, cuts.older, *lists, w, ids, stamp)
    add_outputs(problem.part_ptr, cuts.sample, *lists, ids, np.ones(problem.n), vertex)
    return ids, vertex


def drop_cuts(problem: Problem, cuts: Cuts, idle: int, recent: int) -> Cuts:
    """Without the cuts that had no mass for this many rounds, and outputs that only they had.

    recent : outputs kept for each sample all the same, the last ones that the oracle named. The
    cut of the truth stays.
    """
    k, n = cuts.n_cuts, problem.n
    cuts.idle[:k] = np.where(cuts.mass[:k] > 0.0, 0, cuts.idle[:k] + 1)
    stay = cuts.idle[:k] < idle
    stay[0] = True
    if 10 * np.count_nonzero(~stay) < k:  # a few at a time would be as costly as many
        return cuts
    kept = np.flatnonzero(stay)
    planes = cuts.planes(problem.dim)[kept]
    rows = cuts.ids[: k * n].reshape(k, n)[kept]
    gram = cuts.gram.reshape(len(cuts.mass), -1)[np.ix_(kept, kept)]
    size = np.array([len(kept), cuts.size[1]])
    cuts = cuts._replace(
        size=size, mass=cuts.mass[kept], loss=cuts.loss[kept], idle=cuts.idle[kept],
        gram=gram.ravel(), ids=rows.ravel(), plane_ptr=planes.indptr.astype(np.int64),
        column=planes.indices.astype(np.int32), value=planes.data,
    )  # fmt: skip
    if (rows[:, 0] >= 0).all():
        cuts = cuts._replace(anchor=np.zeros(0))
    return _forget(cuts, rows, n, recent)


def _forget(cuts: Cuts, rows: np.ndarray, n: int, recent: int) -> Cuts:
    """Without outputs that no cut has and that are not among a sample's last ones."""
    total = int(cuts.size[1])
    sample, seen = cuts.sample[:total], cuts.seen[:total]
    order = np.lexsort((np.arange(total), -seen, sample))
    first = np.searchsorted(sample[order], np.arange(n))
    rank = np.empty(total, dtype=np.int64)
    rank[order] = np.arange(total) - first[sample[order]]
    stay = rank < recent
    stay[rows[rows >= 0]] = True
    number = np.cumsum(stay) - 1
    kept = np.flatnonzero(stay)
    length = np.diff(cuts.entry_ptr[: total + 1])
    entries = np.repeat(stay, length)
    used = int(cuts.entry_ptr[total])
    head, older = _lists(sample[kept], n)
    return cuts._replace(
        size=np.array([cuts.size[0], len(kept)]),
        ids=np.where(rows >= 0, number[rows], -1).astype(np.int32).ravel(),
        head=head, older=older, sample=sample[kept], key=cuts.key[:total][kept], seen=seen[kept],
        entry_ptr=np.concatenate([[0], np.cumsum(length[kept])]).astype(np.int64),
        part=cuts.part[:used][entries],
        share=cuts.share[:used][entries] if len(cuts.share) else cuts.share,
    )  # fmt: skip


def _lists(sample: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The newest output of each sample, and the one before each output."""
    head, older = np.full(n, -1), np.full(len(sample), -1)
    order = np.argsort(sample, kind="stable")
    same = sample[order[1:]] == sample[order[:-1]]
    older[order[1:][same]] = order[:-1][same]
    head[sample[order]] = order  # the last of each sample
    return head, older


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """The same with room for `size` entries at least, and half as many again if it must grow."""
    if len(array) >= size:
        return array
    longer = np.zeros(max(size, len(array) + len(array) // 2), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _wider(gram: np.ndarray, room: int, size: int) -> np.ndarray:
    """A square table with room for `size` rows, grown as `_longer` would."""
    if room >= size:
        return gram
    wider = max(size, room + room // 2)
    table = np.zeros((wider, wider))
    table[:room, :room] = gram.reshape(room, room)
    return table.ravel()


def last_violation(cuts: Cuts, dim: int, w: np.ndarray) -> float:
    """By how much the last cut is above all others at w."""
    values = cuts.planes(dim) @ w + cuts.loss[: cuts.n_cuts]
    return float(values[-1] - values[:-1].max())


def cuts_key(problem: Problem, z: np.ndarray) -> int:
    """Checksums of all that cuts depend on: features, weights, costs, truth, and z."""
    packed = problem.packed
    costs = (packed.costs, packed.cost_start)
    places = packed.index, packed.index_high, packed.block_ptr, packed.block_start
    arrays = (z, *problem.truths, packed.weight, *costs, packed.value, *places)
    return checksums(*arrays, packed.indptr, packed.part_ptr)
