"""In what order to get rid of the nodes of a network, and what must then be remembered.

Node after node is maximised over (or summed over): its best score, given the labels of those that
it is joined to, is a table over these, which are neighbours of each other from then on. The node
and those neighbours are a bucket. The message of a bucket goes to the bucket of the first of these
neighbours to be eliminated. The buckets, so joined, are a junction tree.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from maxmargin.structures.base import Constraints
from maxmargin.structures.frozen import read_only
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.network import Network

_LARGE = 300  # nodes: beyond this, the order goes by degrees, which are quicker to keep than fills


class Buckets(NamedTuple):
    """order[i] is the i-th node to go, scopes[i] who then remains of those that it is joined to."""

    order: list[int]
    scopes: list[list[int]]
    complete: bool  # False if given up, because the last bucket is too wide

    @property
    def width(self) -> int:
        """The largest number of nodes that a message is about."""
        return max(map(len, self.scopes))

    def entries(self, n_labels: int) -> int:
        """How many numbers the tables of all buckets have."""
        return sum(n_labels ** (len(scope) + 1) for scope in self.scopes)


@lru_cache(maxsize=4096)
def buckets_of(network: Network, n_labels: int, widest: int) -> Buckets:
    """The best of some orders: by new edges, as numbered, and from one outer node to another.

    New edges alone close in on grids from all sides, with a front that is too long.

    widest : the most neighbours that a node may have when it goes; an order is given up beyond it.
    """
    tried = [_greedy(network, widest)]
    tried += [_in_order(network, order, widest) for order in _orders(network)]
    return min(tried, key=lambda found: (not found.complete, found.entries(n_labels)))


def _orders(network: Network) -> list[list[int]]:
    """Nodes as numbered; and by how much nearer they are to one of four corners than to another."""
    n, (a, b) = network.n_nodes, network.edges.T
    joined = sparse.csr_array((np.ones(len(a)), (a, b)), shape=(n, n))
    far, corner = [], 0
    for _ in range(5):  # the first is anywhere, and only leads to the others
        way = csgraph.dijkstra(joined, directed=False, unweighted=True, indices=corner)
        far.append(np.where(np.isfinite(way), way, n))
        corner = int(np.min(far[1:] or far, axis=0).argmax())
    pairs = [np.lexsort((one, one - other)).tolist() for one, other in combinations(far[1:], 2)]
    return [list(range(n)), *pairs]


def _neighbours(network: Network) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(network.n_nodes)]
    for a, b in network.edges.tolist():
        near[a].add(b)
        near[b].add(a)
    return near


def _in_order(network: Network, order: list[int], widest: int) -> Buckets:
    near = _neighbours(network)
    left: list[set[int]] = []
    for v in order:
        left.append(near[v])
        if len(near[v]) > widest:
            break
        _eliminate(near, v, True)
    return _sorted(order[: len(left)], left, network.n_nodes)


def _sorted(order: list[int], left: list[set[int]], n_nodes: int) -> Buckets:
    """Scopes by who goes first, if all go."""
    place = {v: i for i, v in enumerate(order)}
    complete = len(order) == n_nodes
    key = place.__getitem__ if complete else None
    return Buckets(order, [sorted(scope, key=key) for scope in left], complete)


def _greedy(network: Network, widest: int) -> Buckets:
    """Nodes by the least number of new edges that go with them."""
    near = _neighbours(network)
    by_degree = network.n_nodes > _LARGE
    queue = [(_price(near, v, by_degree), v) for v in range(network.n_nodes)]
    known = [price for price, _ in queue]
    heapify(queue)
    order: list[int] = []
    left: list[set[int]] = []
    while queue:
        price, v = heappop(queue)
        if price != known[v]:
            continue
        order.append(v)
        left.append(near[v])
        if len(near[v]) > widest:
            break
        known[v] = (-1, -1)
        for u in _eliminate(near, v, by_degree):
            known[u] = _price(near, u, by_degree)
            heappush(queue, (known[u], u))
    return _sorted(order, left, network.n_nodes)


def _price(near: list[set[int]], v: int, by_degree: bool) -> tuple[int, int]:
    """New edges and degree."""
    degree = len(near[v])
    if by_degree:
        return degree, degree
    joined = sum(len(near[u] & near[v]) for u in near[v]) // 2
    return degree * (degree - 1) // 2 - joined, degree


def _eliminate(near: list[set[int]], v: int, by_degree: bool) -> set[int]:
    """Join all neighbours of v and forget it; returns those whose price may be another now."""
    own = near[v]
    touched = set(own)
    for u in own:
        near[u].discard(v)
        near[u] |= own - {u}
        if not by_degree:
            touched |= near[u]
    return touched


def widest_of(n_labels: int, max_table: int) -> int:
    """The most neighbours of a node whose bucket has a table of up to max_table numbers."""
    if n_labels == 1:
        return max_table
    found = 0
    while n_labels ** (found + 2) <= max_table:
        found += 1
    return found


def tables_of(layout: NetworkLayout, max_table: int) -> Buckets:
    """The buckets of a layout, as far as tables of `max_table` entries reach."""
    return buckets_of(layout.network, layout.n_labels, widest_of(layout.n_labels, max_table))


def tables_fit(layout: NetworkLayout, max_table: int) -> bool:
    """Whether the tables of all buckets have `max_table` entries at most."""
    found = tables_of(layout, max_table)
    return found.complete and found.entries(layout.n_labels) <= max_table


def check_tables(layout: NetworkLayout, max_table: int) -> None:
    """A ValueError if the tables do not fit."""
    if tables_fit(layout, max_table):
        return
    found, labels = tables_of(layout, max_table), layout.n_labels
    more = "" if found.complete else "at least "
    raise ValueError(
        f"layout {layout}: a treewidth of {more}{found.width} with {labels} labels needs"
        f" {more}{found.entries(labels):,} entries in the tables of the junction tree, more than"
        f" max_table={max_table:,}; use method='bounded'."
    )


@lru_cache(maxsize=1024)
def junction_tree_ints(layout: NetworkLayout, tied: bool, widest: int) -> np.ndarray:
    """What compiled code reads of the buckets, see `_numba.markov_network.junction_tree`."""
    found = buckets_of(layout.network, layout.n_labels, widest)
    labels, n = layout.n_labels, layout.n_nodes
    terms = _terms(layout, found, tied)
    records = []
    table, message = 0, 0
    for v, scope, own in zip(found.order, found.scopes, terms, strict=True):
        size = labels ** len(scope)
        head = [v, len(scope), table, message, size, len(own)]
        records.append([*head, *scope, *[number for term in own for number in term]])
        table, message = table + size * labels, message + size
    starts = np.cumsum([2 + n, *[len(record) for record in records]])[:-1].tolist()
    flat = [table, message, *starts]
    for record in records:
        flat += record
    return read_only(np.array(flat, dtype=np.int64))


def _terms(layout: NetworkLayout, found: Buckets, tied: bool) -> list[list[list[int]]]:
    """What each bucket's table is the sum of: (kind, where it starts, then its strides)."""
    labels, n = layout.n_labels, layout.n_nodes
    place = {v: i for i, v in enumerate(found.order)}
    scopes = [[v, *scope] for v, scope in zip(found.order, found.scopes, strict=True)]
    terms: list[list[list[int]]] = [[] for _ in range(n)]
    for v in range(n):
        i = place[v]
        terms[i].append([0, v * labels, *loop_groups(scopes[i], {v: 1}, labels)])
    for e, (a, b) in enumerate(layout.network.edges.tolist()):
        i = min(place[a], place[b])
        start = n * labels + (0 if tied else e * labels * labels)
        terms[i].append([0, start, *loop_groups(scopes[i], {a: labels, b: 1}, labels)])
    start = 0
    for scope in found.scopes:
        if scope:
            above = place[scope[0]]
            terms[above].append(
                [1, start, *loop_groups(scopes[above], table_strides(scope, labels), labels)]
            )
        start += labels ** len(scope)
    return terms


def table_strides(scope: list[int], labels: int) -> dict[int, int]:
    """How far apart the labels of each node are, in a table over the scope; the last one's by 1."""
    return {v: labels ** (len(scope) - 1 - p) for p, v in enumerate(scope)}


def loop_groups(scope: list[int], own: dict[int, int], labels: int) -> list[int]:
    """How many loops, their lengths and their strides, the innermost first.

    Over a table of the scope, with an index into another one by strides of its own. Neighbouring
    loops are one where that makes no difference.
    """
    lengths: list[int] = []
    steps: list[int] = []
    for v in reversed(scope):
        step = own.get(v, 0)
        if lengths and step == lengths[-1] * steps[-1]:
            lengths[-1] *= labels
        else:
            lengths.append(labels)
            steps.append(step)
    return [len(lengths), *lengths, *steps]


def term_indices(term: list[int]) -> Any:
    """Where each entry of a bucket's table is in the other one, by the numbers of `loop_groups`."""
    count = term[0]
    found = np.zeros(1, dtype=np.int64)
    for length, step in zip(term[1 : 1 + count], term[1 + count : 1 + 2 * count], strict=True):
        found = np.add.outer(np.arange(length) * step, found).ravel()
    return found


def junction_constraints(
    layout: NetworkLayout, tied: bool, widest: int, n_parts: int, banned: np.ndarray
) -> Constraints:
    """The hull of labellings: each bucket has a table of shares, as auxiliary variables.

    A bucket's shares, summed over its node, are those of the bucket above summed over all that the
    message is not about; the shares of each tree of buckets add up to 1; and parts are sums of
    shares. What is banned is 0.
    """
    labels = layout.n_labels
    found = buckets_of(layout.network, labels, widest)
    sizes = [labels ** len(scope) for scope in found.scopes]
    first = n_parts + labels * np.concatenate([[0], np.cumsum(sizes)])  # columns of tables
    below = n_parts + np.concatenate([[0], np.cumsum(sizes)])  # rows of messages, after the parts
    rows, columns, values = [np.arange(n_parts)], [np.arange(n_parts)], [np.ones(n_parts)]
    for i, terms in enumerate(_terms(layout, found, tied)):
        entries = np.arange(first[i], first[i + 1])
        added = [(below[i] + np.arange(len(entries)) % sizes[i], 1.0)]
        for kind, start, *loops in terms:
            added.append(((below[0] if kind else 0) + start + term_indices(loops), -1.0))
        for row, sign in added:
            rows.append(row)
            columns.append(entries)
            values.append(np.full(len(entries), sign))
    where = (np.concatenate(rows), np.concatenate(columns))
    matrix = sparse.csr_array((np.concatenate(values), where), shape=(below[-1], first[-1]))
    none = sparse.eye_array(matrix.shape[1], format="csr")[banned]
    equal = np.zeros(matrix.shape[0] + len(banned))
    roots = [i for i, scope in enumerate(found.scopes) if not scope]
    equal[below[roots]] = 1.0
    return Constraints(sparse.csr_array(sparse.vstack([matrix, none])), equal, equal)
