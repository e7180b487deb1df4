"""Any subset of a set of labels, with scores for pairs of labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from maxmargin._numba.multi_label import qpbo, subsets
from maxmargin.exceptions import MissingAbilityError
from maxmargin.oracles.base import check_k, check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Structure, check_sides
from maxmargin.structures.frozen import read_only
from maxmargin.structures.multi_label.subsets import (
    best_subsets,
    encode_subset,
    subset_hull,
    subset_vertices,
)
from maxmargin.structures.network.network import Network, check_bits, network_of
from maxmargin.structures.tree.k_best import best_labels
from maxmargin.structures.tree.layout import TreeLayout
from maxmargin.structures.tree.tree import Tree
from maxmargin.validation.options import check_options

#: labels of which "auto" tries all subsets, and "exact" at most
FEW, MOST = 20, 25
#: labels whose subsets' hull is written down: it takes a column for each of them
HULL = 10
#: labels of which all pairs are written down
_PAIRED = 4096
_ALL, _FOREST, _QPBO = 0, 1, 2
Method = Literal["exact", "bounded", "auto"]


class MultiLabel(Structure):
    """Any of the 2^L subsets of L labels. layout = (L,) for all pairs of labels, or a Network.

    The score is ::

        score(z) = sum_k theta_k z_k + sum over pairs of theta_km z_k z_m

    Parts: L labels, then one for each pair, which is 1 if both labels are. For (L,), pairs are (0,
    1), (0, 2), ..., (L - 2, L - 1); for a Network, whose nodes are the labels, its edges. An output
    y is L zeros and ones; Z is the hull of all of them.

    Parameters
    ----------
    method : {"exact", "bounded", "auto"}, default="exact"
        How the best subset is found.

        - "exact": for at most 25 labels where pairs have cycles.
        - "bounded": by roof duality. The answer is the best one if the cut leaves at most 18 labels
          open, as it does if no score of a pair is negative; else it is a subset of high score,
          with the bound of the linear relaxation, which `oracle().maximize` returns, and gaps of
          training are proven; there are no expectations.
        - "auto": "exact" for at most 20 labels or without cycles, else "bounded".

    Notes
    -----
    Pairs without cycles are solved by max-product for any L. Otherwise all subsets are tried, which
    takes some microseconds for 14 labels and twice as long for each further label; or a minimum cut
    (roof duality) determines most labels of some best subset and an upper bound on its score.
    """

    binary = True

    def __init__(self, method: Method = "exact"):
        self.method = method

    def _make_oracle(self) -> SubsetOracle:
        check_options(self)
        return (SubsetOracle if self.method == "exact" else QPBOOracle)(self)

    # -- sizes -------------------------------------------------------------------------------------
    def n_parts(self, layout: Any) -> int:
        network = labels_of(layout)
        return network.n_nodes + network.n_edges

    def layout_of(self, n_parts: int) -> Any:
        # all pairs of L labels: L (L + 1) / 2 parts
        labels = round((2 * n_parts + 0.25) ** 0.5 - 0.5)
        return (labels,) if labels * (labels + 1) == 2 * n_parts else super().layout_of(n_parts)

    def variables(self, layout: Any) -> tuple[int, int]:
        return labels_of(layout).n_nodes, 1

    def radius(self, layout: Any) -> float:
        return float(np.sqrt(self.n_parts(layout)))

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Any) -> np.ndarray:
        network = labels_of(layout)
        return encode_subset(check_bits(y, network), network)

    def decode(self, z: np.ndarray, layout: Any) -> np.ndarray:
        return (np.asarray(z)[: labels_of(layout).n_nodes] > 0.5).astype(np.int64)

    # -- descriptions ------------------------------------------------------------------------------
    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        return subset_vertices(labels_of(layout))

    def constraints(self, layout: Any) -> Constraints:
        # Without cycles, 0 <= z_km <= z_k, z_m <= 1 and z_km >= z_k + z_m - 1; else the hull, which
        # has a column for each of its vertices beside those of the parts.
        network = labels_of(layout)
        if forest_of(network) is not None:
            return _local(network)
        if network.n_nodes > HULL:
            raise MissingAbilityError(
                f"MultiLabel has no `constraints` for {network.n_nodes} labels whose pairs have"
                f" cycles: the hull of 2^{network.n_nodes} outputs is too large to write down"
                f" ({HULL} labels at most). Use pairs without cycles, or a solver that only asks"
                ' for the best output, such as solver="bcfw".'
            )
        return subset_hull(network)


class SubsetOracle(CompiledOracle):
    """All subsets, or max-product where pairs have no cycles."""

    structure: MultiLabel
    compiled: ClassVar[dict[str, str]] = {
        "maximize": "multi_label.maximize",
        "max_marginals": "multi_label.maximize",
        "leads": "multi_label.maximize",
        "marginals": "multi_label.marginals",
    }

    def layout_as_ints(self, layout: Any) -> Any:
        return _pack_layout(labels_of(layout), self.structure.method)[0]

    def scratch(self, layout: Any) -> tuple[int, int]:
        return _pack_layout(labels_of(layout), self.structure.method)[1]

    def _goes_through_all(self, layout: Any) -> bool:
        return int(self.layout_as_ints(layout)[0]) != _QPBO

    def leads(self, theta: np.ndarray, layout: Any) -> np.ndarray:
        """Return the score of the best output with each label minus that of the best without.

        Parameters
        ----------
        theta : ndarray of shape (n_parts,)
            Scores of the parts.
        layout : Layout
            Layout of the sample's output.

        Returns
        -------
        ndarray of shape (n_parts,)
            Differences of the scores; 0 for parts that are not labels.
        """
        return self._run("leads", theta, layout)[0]

    def _run(self, ability: str, theta: np.ndarray, layout: Any) -> tuple[np.ndarray, float]:
        if ability != "maximize":
            self._require_all(layout, ability)
        return super()._run(ability, theta, labels_of(layout))

    def _require_all(self, layout: Any, ability: str) -> None:
        """Fail unless all outputs of the layout can be gone through."""
        if not self._goes_through_all(layout):
            raise MissingAbilityError(
                f"MultiLabel(method={self.structure.method!r}) has no `{ability}` for"
                f" {labels_of(layout).n_nodes} labels whose pairs have cycles: it does not go"
                ' through all outputs. Use pairs without cycles, or method="exact" with'
                f" {MOST} labels at most."
            )

    def k_best(self, theta: np.ndarray, layout: Any, k: int) -> list[tuple[np.ndarray, float]]:
        # max-product with lists of the k best, or all outputs sorted
        self._require_all(layout, "k_best")
        k, theta, network = (
            check_k(k),
            check_scores(self.structure, theta, layout),
            labels_of(layout),
        )
        forest = forest_of(network)
        if forest is None:
            return best_subsets(theta, network, k)
        scores = np.zeros(2 * network.n_nodes + 4 * network.n_edges)
        scores[1 : 2 * network.n_nodes : 2] = theta[: network.n_nodes]
        scores[2 * network.n_nodes + 3 :: 4] = theta[network.n_nodes :]
        layout_ints = np.asarray(Tree(tied=False).oracle().layout_as_ints(forest))
        found = best_labels(scores, layout_ints, k)
        return [(self.structure.encode(labels, network), score) for labels, score in found]


class QPBOOracle(SubsetOracle):
    """Roof duality (QPBO) where subsets are too many: a good one, and a bound on the best."""

    is_exact = False
    is_bounded = True

    def is_exact_for(self, layout: Any) -> bool:
        return self._goes_through_all(layout)

    def has(self, ability: str) -> bool:
        if ability in ("marginals", "max_marginals", "leads"):
            return self.structure.method != "bounded"
        return super().has(ability)


def labels_of(layout: Any) -> Network:
    """The labels of a layout as nodes of a network, their pairs as its edges."""
    if not isinstance(layout, tuple):
        return network_of(layout)
    labels = check_sides(layout, "number of labels", other=" or a Network of labels")[0]
    if labels > _PAIRED:
        raise ValueError(
            f"{labels} labels have too many pairs: at most {_PAIRED} may have all. Give a Network"
            " of the pairs that count as the layout."
        )
    return _all_pairs(labels)


@lru_cache(maxsize=64)
def _all_pairs(labels: int) -> Network:
    return Network(labels, np.column_stack(np.triu_indices(labels, 1)))


@lru_cache(maxsize=64)
def forest_of(network: Network) -> TreeLayout | None:
    """The labels as nodes with two labels, off and on, of a tree or forest; None with cycles."""
    if network.n_edges >= network.n_nodes:
        return None
    try:
        return TreeLayout(network, 2)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _pack_layout(network: Network, method: str) -> tuple[np.ndarray, tuple[int, int]]:
    """What compiled code reads, and the work space it needs."""
    labels, pairs = network.n_nodes, network.n_edges
    size = 2 * labels + 4 * pairs
    forest = None if method == "bounded" else forest_of(network)
    head = [labels, pairs, *network.edges.ravel().tolist()]
    if forest is not None:
        tree = Tree(tied=False).oracle()
        floats, ints = tree.scratch(forest)
        return _as_ints(_FOREST, head, tree.layout_as_ints(forest)), (
            labels + 2 * size + floats,
            ints,
        )
    if method == "exact" and labels > MOST:
        raise ValueError(
            f"{labels} labels whose pairs have cycles have 2^{labels} outputs, too many to try all"
            f' ({MOST} labels at most). Use method="bounded", which proves how far it may be off,'
            ' or pairs without cycles (pairs="tree" of MultiLabelSVM).'
        )
    if method == "exact" or (method == "auto" and labels <= FEW):
        floats = subsets.float_size(labels) + (1 << min(labels, subsets.LOW)) + 3 * labels
        return _as_ints(_ALL, head, []), (floats, labels * labels)
    return _as_ints(_QPBO, head, []), qpbo.work_size(labels, pairs)


def _as_ints(kind: int, head: list[int], rest: Any) -> np.ndarray:
    return read_only(np.concatenate([[kind], head, rest]).astype(np.int64))


def _local(network: Network) -> Constraints:
    n, m = network.n_nodes, network.n_edges
    rows, ones = np.arange(m), np.ones(m)
    first, second = (
        sparse.csr_array((ones, (rows, network.edges[:, side])), shape=(m, n)) for side in (0, 1)
    )
    own = sparse.eye_array(m)
    blocks = [[sparse.eye_array(n), sparse.csr_array((n, m))]]
    if m:
        blocks += [[-first, own], [-second, own], [first + second, -own]]
    upper = np.concatenate([np.ones(n), np.zeros(2 * m), np.ones(m)])
    matrix = sparse.csr_array(sparse.block_array(blocks))
    return Constraints(matrix, np.full(len(upper), -np.inf), upper)
