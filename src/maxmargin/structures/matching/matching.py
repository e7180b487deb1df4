"""Bipartite matchings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.exceptions import MissingAbilityError
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides
from maxmargin.structures.matching.candidates import (
    Candidates,
    all_pairs,
    check_pairs,
    find_repeated,
)
from maxmargin.validation.options import Bounds, check_options

#: in how many links a node may be
Cap = Annotated[
    int,
    Bounds(0),
    "Where the caps of nodes differ, give samples Bipartite(..., row_caps=..., column_caps=...), or"
    " to a structure used by hand Candidates as layouts.",
]
MatchingLayout = Layout | Candidates


class Matching(Structure):
    """Links between J rows and K columns, each node in a limited number. layout = (J, K).

    Every node may stay unmatched, unless matchings are complete. Parts: one per edge; all pairs row
    by row for a layout (J, K), else the edges of a `Candidates`. An output y is an array of pairs
    (row, column), sorted.

    Parameters
    ----------
    row_cap, column_cap : int, default=1
        Maximum number of links of a row or a column, unless the layout is a `Candidates` with its
        own capacities. An edge is used at most once.
    complete : bool, default=False
        Whether every node of the smaller side is in a link, as in assignments; with capacities of 1
        only.

    Notes
    -----
    `marginals` is the entropic projection on the polytope: it maximises theta . z + H, where H is
    the entropy -sum x log x of the edges' z and of the nodes' slacks, 1 - (sum of the node), and
    `log_partition` is that maximum. These are *not* the marginals of a distribution over matchings,
    which are #P-hard. It is available for capacities of 1 only, and not for complete matchings.
    """

    binary = True

    def __init__(self, row_cap: Cap = 1, column_cap: Cap = 1, complete: bool = False):
        self.row_cap = row_cap
        self.column_cap = column_cap
        self.complete = complete

    def _make_oracle(self) -> MatchingOracle:
        return CompleteOracle(self) if self.complete is True else MatchingOracle(self)

    def n_parts(self, layout: MatchingLayout) -> int:
        rows, columns = sides_of(layout)
        if self.complete and any((caps != 1).any() for caps in self._caps(layout)):
            raise ValueError("complete=True goes with caps of 1; leave row and column caps out.")
        return layout.n_edges if isinstance(layout, Candidates) else rows * columns

    # -- caps --------------------------------------------------------------------------------------
    def _cap(self, side: str) -> int:
        """The cap of all nodes of a side that have none of their own."""
        check_options(self)
        return int(getattr(self, f"{side}_cap"))

    def _capped(self, rows: int, columns: int) -> list[int]:
        return [min(self._cap("row"), columns), min(self._cap("column"), rows)]

    def _caps(self, layout: MatchingLayout) -> tuple[np.ndarray, np.ndarray]:
        """The caps of each row and each column."""
        rows, columns = sides_of(layout)
        row_caps = getattr(layout, "row_caps", None)
        column_caps = getattr(layout, "column_caps", None)
        return (  # no larger than can matter, lest sums of them overflow
            np.minimum(self._cap("row") if row_caps is None else row_caps, np.full(rows, columns)),
            np.minimum(
                self._cap("column") if column_caps is None else column_caps, np.full(columns, rows)
            ),
        )

    def _top(self, layout: MatchingLayout) -> int:
        """The largest cap of a node, even where the other side has fewer nodes."""
        own = {side: getattr(layout, f"{side}_caps", None) for side in ("row", "column")}
        return max(
            self._cap(side) if caps is None else int(caps.max(initial=0))
            for side, caps in own.items()
        )

    def forbidden(self, layout: MatchingLayout) -> np.ndarray:
        # the edges of nodes that may be in no link
        if not isinstance(layout, Candidates) and self._cap("row") and self._cap("column"):
            return super().forbidden(())
        row_caps, column_caps = self._caps(layout)
        if row_caps.all() and column_caps.all():
            return super().forbidden(())
        links = _links(layout)
        return np.flatnonzero((row_caps[links[:, 0]] == 0) | (column_caps[links[:, 1]] == 0))

    def vertex_size(self, layout: MatchingLayout) -> int:
        # the most links there can be, by the caps and edges of each side
        return self._most_links(layout, 1)

    def _most_links(self, layout: MatchingLayout, times: int) -> int:
        """A bound on the number of links with all caps multiplied; exact if all pairs are edges."""
        rows, columns = sides_of(layout)
        if not isinstance(layout, Candidates):
            by_row = rows * min(times * self._cap("row"), columns)
            return min(by_row, columns * min(times * self._cap("column"), rows))
        links, (row_caps, column_caps) = layout.links, self._caps(layout)
        by_row = np.minimum(np.bincount(links[:, 0], minlength=rows), times * row_caps).sum()
        by_column = np.bincount(links[:, 1], minlength=columns)
        return int(min(by_row, np.minimum(by_column, times * column_caps).sum()))

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: MatchingLayout) -> np.ndarray:
        sides = sides_of(layout)
        pairs = check_pairs("links", y, sides)
        again = find_repeated(pairs, sides)
        if again >= 0:
            pair = tuple(pairs[again].tolist())
            raise ValueError(f"links: {pair} at place {again} is there already; leave it out.")
        for side, (name, caps) in enumerate(
            zip(("row", "column"), self._caps(layout), strict=True)
        ):
            found = np.bincount(pairs[:, side], minlength=sides[side])
            if (found > caps).any():
                node = int(np.flatnonzero(found > caps)[0])
                own = getattr(layout, f"{name}_caps", None) is not None
                raise ValueError(
                    f"{name} {node} is in {found[node]} links, at most {caps[node]} allowed;"
                    f" drop links or raise {f'{name}_caps[{node}]' if own else f'{name}_cap'}."
                )
        if self.complete and len(pairs) != min(sides):
            raise ValueError(
                f"{len(pairs)} links, but complete matchings of {sides[0]} rows and {sides[1]}"
                f" columns have {min(sides)}; add links, or say complete=False."
            )
        z = np.zeros(self.n_parts(layout))
        z[_numbers(pairs, layout)] = 1.0
        return z

    def decode(self, z: np.ndarray, layout: MatchingLayout) -> np.ndarray:
        on = np.flatnonzero(np.asarray(z) > 0.5)
        if not isinstance(layout, Candidates) or layout.edges is None:
            columns = max(sides_of(layout)[1], 1)
            return np.column_stack([on // columns, on % columns])
        found = layout.edges[on]
        return found[np.lexsort((found[:, 1], found[:, 0]))]

    # -- descriptions ------------------------------------------------------------------------------
    def constraints(self, layout: MatchingLayout) -> Constraints:
        # no node in more links than its cap; no edge used more than once
        links, sides, caps = _links(layout), sides_of(layout), self._caps(layout)
        n = len(links)
        ones, parts = np.ones(n), np.arange(n)
        sums = [
            sparse.csr_array((ones, (links[:, side], parts)), shape=(sides[side], n))
            for side in range(2)
        ]
        # it follows where one end may have one link only
        free = (caps[0][links[:, 0]] > 1) & (caps[1][links[:, 1]] > 1)
        matrix = sparse.vstack([*sums, sparse.eye_array(n, format="csr")[free]], format="csr")
        upper = np.concatenate([*caps, np.ones(int(free.sum()))]).astype(np.float64)
        lower = np.full(len(upper), -np.inf)
        if self.complete:  # each node of the smaller side is in a link
            lower[slice(sides[0]) if sides[0] <= sides[1] else slice(sides[0], sum(sides))] = 1.0
        return Constraints(sparse.csr_array(matrix), lower, upper)

    def vertices(self, layout: MatchingLayout) -> Iterator[np.ndarray]:
        links = _links(layout)
        left = [caps.copy() for caps in self._caps(layout)]
        z = np.zeros(len(links))

        def extend(part: int) -> Iterator[np.ndarray]:
            if part == len(links):
                if not self.complete or z.sum() == min(sides_of(layout)):
                    yield z.copy()
                return
            yield from extend(part + 1)
            j, k = links[part]
            if left[0][j] > 0 and left[1][k] > 0:
                left[0][j] -= 1
                left[1][k] -= 1
                z[part] = 1.0
                yield from extend(part + 1)
                z[part] = 0.0
                left[0][j] += 1
                left[1][k] += 1

        yield from extend(0)

    def radius(self, layout: MatchingLayout) -> float:
        # Two matchings differ most if they have no link in common. Together they then are a
        # matching with twice the caps; and each such one falls in two.
        return float(np.sqrt(self._most_links(layout, 2)))


class MatchingOracle(CompiledOracle):
    """Shortest augmenting paths; projections and entropic ones by prices of the nodes."""

    structure: Matching
    compiled: ClassVar[dict[str, str]] = {
        "maximize": "matching.maximize",
        "project": "matching.project",
        "marginals": "matching.marginals",
    }
    marginals_are_exact = False

    def has(self, ability: str) -> bool:
        structure = self.structure
        if ability == "marginals" and max(structure._cap("row"), structure._cap("column")) > 1:
            return False
        return super().has(ability)

    def _run(
        self, ability: str, theta: np.ndarray, layout: MatchingLayout
    ) -> tuple[np.ndarray, float]:
        if ability == "marginals" and self.structure._top(layout) > 1:
            raise MissingAbilityError(
                f"Matching has no `marginals` with caps above 1, and {layout} has"
                f" {self.structure._top(layout)}; use `project`, or caps of 1."
            )
        return super()._run(ability, theta, layout)

    def layout_as_ints(self, layout: MatchingLayout) -> Any:
        # (J, K, E, row cap, column cap, where caps begin, where the index begins, ...)
        rows, columns = sides_of(layout)
        parts = rows * columns
        if not isinstance(layout, Candidates):
            return rows, columns, parts, *self.structure._capped(rows, columns), 0, 0
        own = layout.row_caps is not None or layout.column_caps is not None
        caps = np.concatenate(self.structure._caps(layout)) if own else np.empty(0, dtype=np.int64)
        index = layout.index
        head = [rows, columns, layout.n_edges]
        head += [-1, -1] if own else self.structure._capped(rows, columns)
        head += [7, 7 + len(caps) if len(index) else 0]
        return np.concatenate([np.array(head, dtype=np.int64), caps, index])

    def scratch(self, layout: MatchingLayout) -> tuple[int, int]:
        rows, columns = sides_of(layout)
        least, most, parts = min(rows, columns), max(rows, columns), self.structure.n_parts(layout)
        nodes = rows + columns
        flow = columns + 2 * parts if self.structure._top(layout) > 1 else 0
        floats = least * least + 2 * parts + 5 * nodes + 8 * least + 2 * most
        return floats, max(parts + 2 * nodes + 1, 4 * nodes + flow)

    def warm_size(self, layout: MatchingLayout) -> int:
        # the prices of the rows and of the columns
        return sum(sides_of(layout))


class CompleteOracle(MatchingOracle):
    """Shortest augmenting paths for scores that are raised until every link pays."""

    compiled: ClassVar[dict[str, str]] = {"maximize": "matching.complete"}
    projects_by_maximize = True
    when_none = "no matching of allowed links is complete."

    def has(self, ability: str) -> bool:
        return CompiledOracle.has(self, ability)

    def scratch(self, layout: MatchingLayout) -> tuple[int, int]:
        rows, columns = sides_of(layout)
        parts = self.structure.n_parts(layout)
        return rows + 2 * columns + parts, max(parts, 2 * rows + 4 * columns)

    def warm_size(self, layout: MatchingLayout) -> int:
        return 0

    def check_layout(self, layout: MatchingLayout) -> None:
        self.maximize(np.zeros(self.structure.n_parts(layout)), layout)


def sides_of(layout: MatchingLayout) -> tuple[int, int]:
    """(J, K)."""
    sides = layout.shape if isinstance(layout, Candidates) else layout
    rows, columns = check_sides(sides, "rows", "columns", least=0, other=" or Candidates")
    return rows, columns


def _links(layout: MatchingLayout) -> np.ndarray:
    return layout.links if isinstance(layout, Candidates) else all_pairs(sides_of(layout))


def _numbers(pairs: np.ndarray, layout: MatchingLayout) -> np.ndarray:
    """The parts of the pairs."""
    if not isinstance(layout, Candidates) or layout.edges is None:
        return pairs[:, 0] * sides_of(layout)[1] + pairs[:, 1]
    try:
        return np.array([layout.numbers[j, k] for j, k in pairs.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ValueError(
            f"links: {error.args[0]} is not a candidate edge; drop it or add it to the candidates."
        ) from None
