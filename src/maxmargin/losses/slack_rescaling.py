"""Slack rescaling, where outputs can be listed: a margin problem over the list.

    H_i(w) = max_v loss_i(v) (1 + w . F_i (v - y_i))

is the hinge of a problem whose outputs are the M vertices themselves, each a part of its own with
the features loss_i(v) F_i (v - y_i) and the cost loss_i(v). The truth has neither. So the oracle is
that of `Finite`, and every solver, dual point and certificate of margins serves slacks, too.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from scipy import sparse

from maxmargin.exceptions import MissingAbilityError, SampleError
from maxmargin.features.base import Group, PackedFeatures, pack, part_features
from maxmargin.memory import refuse_bytes
from maxmargin.structures.base import Layout, Structure

#: outputs of a sample at most
MOST = 4096
#: bytes for each feature of a listed output, while they are packed
ENTRY_BYTES = 48


def rescale_slacks(
    structure: Structure,
    layouts: list[Layout],
    features: PackedFeatures,
    costs: np.ndarray | None,
    truth: np.ndarray,
) -> tuple[list[Layout], PackedFeatures, np.ndarray, np.ndarray]:
    """Layouts, features, costs and truth of the problem over listed outputs, for `Finite`."""
    if costs is None:
        raise ValueError('objective="slack" multiplies by the loss; give costs.')
    if features.part_ptr[-1] != len(costs) or len(costs) != len(truth):
        raise ValueError(f"costs of {len(costs)} parts, truth of {len(truth)}, expected the same.")
    lists = {layout: _outputs(structure, layout) for layout in set(layouts)}
    parts = part_features(features, features.dim)
    _refuse_size(parts, [lists[layout] for layout in layouts], features.part_ptr)
    moves, losses, one_hot, counts = [], [], [], []
    for i, layout in enumerate(layouts):
        part = slice(int(features.part_ptr[i]), int(features.part_ptr[i + 1]))
        move = lists[layout] - truth[part]
        at = np.flatnonzero(~move.any(axis=1))
        if len(at) != 1:
            raise SampleError.of(i, f": its true output is {len(at)} of the listed ones, not 1.")
        loss = move @ costs[part]
        if loss.min() < 0:
            raise SampleError.of(i, ': its loss is negative; objective="slack" needs 0 or more.')
        one_hot.append((np.arange(len(loss)) == at[0]).astype(float))
        moves.append(sparse.csr_array(move * loss[:, None]))
        losses.append(loss)
        counts.append(len(loss))
    matrix = sparse.csr_array(sparse.block_diag(moves, format="csr") @ parts)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    packed = pack([Group(matrix, np.array(counts), 1, 0)], features.dim)
    return [(m,) for m in counts], packed, np.concatenate(losses), np.concatenate(one_hot)


def _outputs(structure: Structure, layout: Layout) -> np.ndarray:
    """All outputs that are allowed, one per row."""
    name, found = type(structure).__name__, []
    count = structure.n_vertices(layout)
    if structure.oracle().has("vertices") and (count is None or count <= MOST):
        found = list(islice(structure.vertices(layout), MOST + 1))
    if not 1 <= len(found) <= MOST:
        raise MissingAbilityError(
            f'objective="slack" lists all outputs of a sample, {MOST} at most, and {name} of layout'
            f' {layout} has more, or cannot list them. Use objective="margin".'
        )
    listed = np.array(found, dtype=float)
    return listed[~listed[:, structure.forbidden(layout)].any(axis=1)]


def _refuse_size(parts: sparse.csr_array, lists: list[np.ndarray], part_ptr: np.ndarray) -> None:
    """Fail if the features of all outputs would not fit.

    An output has at most those of its own parts and of the true ones.
    """
    total, size = 0.0, np.diff(parts.indptr).astype(float)
    for i, own in enumerate(lists):
        each = size[int(part_ptr[i]) : int(part_ptr[i + 1])]
        total += min(2 * float(np.count_nonzero(own, axis=0) @ each), len(own) * parts.shape[1])
    count = sum(map(len, lists))
    refuse_bytes(
        ENTRY_BYTES * total,
        f'objective="slack": the features of all {count} outputs of {len(lists)} samples',
        'Use objective="margin", which lists none, or fewer or shorter samples.',
    )
