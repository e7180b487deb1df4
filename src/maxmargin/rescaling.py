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

from maxmargin.exceptions import MissingAbilityError
from maxmargin.features.base import Group, PackedFeatures, pack
from maxmargin.structures.base import Shape, Structure

#: outputs of a sample at most
MOST = 4096


def rescaled(
    structure: Structure,
    shapes: list[Shape],
    features: PackedFeatures,
    costs: np.ndarray | None,
    truth: np.ndarray,
) -> tuple[list[Shape], PackedFeatures, np.ndarray, np.ndarray]:
    """Shapes, features, costs and truth of the problem over listed outputs, for `Finite`."""
    if costs is None:
        raise ValueError('objective="slack" multiplies by the loss; give costs.')
    if features.part_ptr[-1] != len(costs) or len(costs) != len(truth):
        raise ValueError(f"costs of {len(costs)} parts, truth of {len(truth)}, expected the same.")
    lists = {shape: _outputs(structure, shape) for shape in set(shapes)}
    moves, losses, one_hot, counts = [], [], [], []
    for i, shape in enumerate(shapes):
        part = slice(int(features.part_ptr[i]), int(features.part_ptr[i + 1]))
        move = lists[shape] - truth[part]
        at = np.flatnonzero(~move.any(axis=1))
        if len(at) != 1:
            raise ValueError(f"sample {i}: its true output is {len(at)} of the listed ones, not 1.")
        loss = move @ costs[part]
        if loss.min() < 0:
            raise ValueError(
                f'sample {i}: its loss is negative; objective="slack" needs 0 or more.'
            )
        one_hot.append((np.arange(len(loss)) == at[0]).astype(float))
        moves.append(sparse.csr_array(move * loss[:, None]))
        losses.append(loss)
        counts.append(len(loss))
    matrix = sparse.csr_array(sparse.block_diag(moves, format="csr") @ _scores(features))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    packed = pack([Group(matrix, np.array(counts), 1, 0)], features.dim)
    return [(m,) for m in counts], packed, np.concatenate(losses), np.concatenate(one_hot)


def _outputs(structure: Structure, shape: Shape) -> np.ndarray:
    """All outputs that are allowed, one a row."""
    name, found = type(structure).__name__, []
    count = structure.n_vertices(shape)
    if structure.has("vertices") and (count is None or count <= MOST):
        found = list(islice(structure.vertices(shape), MOST + 1))
    if not 1 <= len(found) <= MOST:
        raise MissingAbilityError(
            f'objective="slack" lists all outputs of a sample, {MOST} at most, and {name} of shape'
            f' {shape} has more, or cannot list them. Use objective="margin".'
        )
    listed = np.array(found, dtype=float)
    return listed[~listed[:, structure.forbidden(shape)].any(axis=1)]


def _scores(features: PackedFeatures) -> sparse.csr_array:
    """F^T of all samples, one row a part."""
    width = features.width.astype(np.int64)
    row = np.repeat(np.arange(len(width)), width)
    place = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width)
    size = np.diff(features.indptr)[row]
    pointers = np.concatenate([[0], np.cumsum(size)])
    entries = np.arange(pointers[-1]) + np.repeat(features.indptr[:-1][row] - pointers[:-1], size)
    columns = features.home[entries] + np.repeat(place, size)
    shape = (len(row), features.dim)
    return sparse.csr_array((features.value[entries], columns, pointers), shape=shape)
