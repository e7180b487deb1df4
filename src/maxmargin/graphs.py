"""Samples that are graphs, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.structures.candidates import Candidates


class Bipartite:
    """Candidate links between J rows and K columns, with features.

    Parameters
    ----------
    shape : (J, K), the numbers of rows and columns.
    edges : (E, 2), the pairs (row, column) that may be linked, in any order, none twice. None means
        all pairs, row by row.
    features : (E, p) array or CSR matrix, one row for each edge.
    row_caps, column_caps : (J,) and (K,), in how many links each node may be; None leaves that to
        the estimator.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        edges: Any,
        features: Any,
        row_caps: Any = None,
        column_caps: Any = None,
    ):
        self.candidates = Candidates(shape, edges, row_caps, column_caps)
        self.features = features if sparse.issparse(features) else _as_array(features)
        if self.features.ndim != 2 or self.features.shape[0] != self.candidates.n_edges:
            raise ValueError(
                f"features have shape {self.features.shape}, expected"
                f" ({self.candidates.n_edges}, n_features): one row for each edge."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.candidates.shape

    @property
    def edges(self) -> np.ndarray:
        return self.candidates.links

    def __repr__(self) -> str:
        return (
            f"Bipartite({self.shape}, {len(self.edges)} edges, {self.features.shape[1]} features)"
        )


def _as_array(features: Any) -> np.ndarray:
    try:
        return np.asarray(features)
    except ValueError as error:
        raise ValueError(f"features: not an array, (E, n_features) ({error})") from None
