"""Features of loops: columns that several parts share, and energies as one of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._numba.nested_pairs import loops
from maxmargin.structures import NestedLayout
from maxmargin.structures.nested_pairs.layout import n_tied_parts
from maxmargin.tasks.folding.bases import BASES, N_SYMBOLS, PAIRS
from maxmargin.tasks.folding.energies import KT, loop_energies
from maxmargin.validation.samples import LaidOutRows, Rows, SampleRows

#: how much more than other features energies weigh: the penalty hardly holds their weight back
_ENERGY_SCALE = 1.0


class LoopRows(SampleRows):
    """A row for each part of each layout; those of single pairs are empty."""

    def __init__(self, layouts: list[NestedLayout], energies: bool):
        self._layouts, self._tied = layouts, loop_features(energies)
        self.lengths = np.array([layout.n_parts for layout in layouts], dtype=np.int64)
        self.n_columns = int(self._tied.shape[1])

    @property
    def matrix(self) -> sparse.csr_array:
        return self.part(0, len(self._layouts)).matrix

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the samples."""
        tied = self._tied
        sizes = np.zeros(int(self.lengths[first:last].sum()) + 1, dtype=np.int64)
        ends = np.cumsum(self.lengths[first:last])
        for end in ends.tolist():
            sizes[end - tied.shape[0] + 1 : end + 1] = np.diff(tied.indptr)
        columns, values = np.tile(tied.indices, last - first), np.tile(tied.data, last - first)
        shape = len(sizes) - 1, self.n_columns
        matrix = sparse.csr_array((values, columns, np.cumsum(sizes)), shape=shape)
        return Rows(matrix, self.lengths[first:last])


def make_rows(layouts: list[NestedLayout], energies: bool) -> LaidOutRows:
    """Rows for training."""
    return LaidOutRows(LoopRows(layouts, energies), layouts)


@lru_cache(maxsize=2)
def loop_features(energies: bool) -> sparse.csr_array:
    """The features of parts of loops, (n_tied_parts, n_columns).

    Stacked pairs are the same seen from either side. A length has a column for each length up to
    it, so that neighbours learn from each other. Parts of pairs that never occur have none. With
    energies, the last column is that of nearest neighbours, as log-probability.
    """
    size = n_tied_parts(N_SYMBOLS)
    rows: list[int] = []
    columns: list[Any] = []
    for part, names in enumerate(_names()):
        rows += [part] * len(names)
        columns += names
    known = {name: c for c, name in enumerate(dict.fromkeys(columns))}
    entries = np.ones(len(rows)), (rows, [known[name] for name in columns])
    found = sparse.csr_array(entries, shape=(size, len(known)))
    if energies:
        own = -_ENERGY_SCALE / KT * loop_energies()
        found = sparse.hstack([found, sparse.csr_array(own[:, None])], format="csr")
    return sparse.csr_array(found)


def _names() -> list[list[Any]]:
    """For each part the names of its columns."""
    letters = [*BASES, "N"]
    pairs = [a + b for a in letters for b in letters]
    found: list[list[Any]] = []
    for kind in ("stack", "hairpin", "interior", "four"):
        for a in pairs:
            for b in pairs:
                if kind == "four":
                    found.append([(kind, a + b)])
                elif a not in PAIRS or (kind == "stack" and b not in PAIRS):
                    found.append([])
                elif kind == "stack":
                    found.append([(kind, min(a + b, (a + b)[::-1]))])
                else:
                    found.append([(kind, a + b), (kind, b)])
    for kind in ("after", "before"):
        found += [[(kind, a + b)] if a in PAIRS else [] for a in pairs for b in letters]
    found += [[("pair", min(a, a[::-1]))] if a in PAIRS else [] for a in pairs]
    found += [[("end", a)] if a in PAIRS else [] for a in pairs]
    found += [[("one by one", min(a, a[::-1]))] for a in pairs]
    for kind, size in (
        ("hairpin", loops.LONGEST_HAIRPIN + 1),
        *((own, loops.LENGTHS) for own in ("bulge", "interior", "sides")),
    ):
        found += [[(f"{kind} length", up_to) for up_to in range(n + 1)] for n in range(size)]
    found += [[("small sides", n)] for n in range(loops.SMALL**2)]
    names = "multi", "multi branch", "multi unpaired", "outer branch", "outer unpaired"
    return found + [[name] for name in names]
