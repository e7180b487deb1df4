"""Small seeded training problems, each built twice: for the package, and over all its vertices."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, permutations, product

import numpy as np
from scipy import sparse

from maxmargin import Graph
from maxmargin.domains import Box, L1Ball, L2Ball, NonNegative, SubmodularCone
from maxmargin.features import (
    GraphFeatures,
    LabelConjoined,
    MultiLabelFeatures,
    PartFeatures,
    TreeFeatures,
)
from maxmargin.problem import Problem
from maxmargin.structures import (
    Chain,
    Finite,
    GraphCut,
    LinearProgram,
    MarkovNetwork,
    Matching,
    Multiclass,
    MultiLabel,
    NetworkLayout,
    Program,
    Structure,
    Tree,
    TreeLayout,
)
from maxmargin.structures.base import Constraints
from maxmargin.validation.samples import check_rows
from reference import matchings, trees
from reference.training import Block, Training
from reference.weight_sets import BoundedSet, EdgeSet, WeightSet

ALPHA = 0.1


@dataclass(frozen=True)
class Case:
    """problem: as the package sees it; training: the same by definition."""

    problem: Problem
    training: Training


# -- structures of a user, in plain Python ---------------------------------------------------------
class AtMostTwo(Structure):
    """At most two of n items, none included, by sorting. shape = (n,)."""

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.isin(np.arange(layout[0]), list(y)).astype(float)

    def decode(self, z, layout):
        return tuple(np.flatnonzero(z > 0.5).tolist())

    def maximize(self, theta, layout):
        best = sorted(range(layout[0]), key=lambda p: -theta[p])[:2]
        return self.encode([p for p in best if theta[p] > 0], layout)


class Assignment(Structure):
    """A column of its own for each of n rows; only its constraints are known. shape = (n, n)."""

    def n_parts(self, layout):
        return layout[0] * layout[1]

    def encode(self, y, layout):
        return np.eye(layout[0])[list(y)].ravel()

    def decode(self, z, layout):
        return tuple(z.reshape(layout).argmax(axis=1).tolist())

    def constraints(self, layout):
        n = layout[0]
        sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
        return Constraints(sparse.csr_array(sums), np.ones(2 * n), np.ones(2 * n))


class PlainChain(Chain):
    """The chain with an oracle in plain Python: tries every sequence that is allowed."""

    def maximize(self, theta, layout):
        theta = np.array(theta)
        theta[self.forbidden(layout)] = -np.inf
        labels = range(layout[1])
        sequences = product(labels, repeat=layout[0])
        return chain_vertex(max(sequences, key=lambda y: chain_score(theta, y, layout)), layout)


class PlainCut(GraphCut):
    """The graph cut with an oracle in plain Python: tries every labeling."""

    def maximize(self, theta, layout):
        return max(self.vertices(layout), key=lambda z: theta @ z)


def chain_vertex(y, layout):
    """Node parts, then counts of neighbouring pairs."""
    length, labels = layout
    z = np.zeros(length * labels + labels * labels)
    for t, k in enumerate(y):
        z[t * labels + k] = 1.0
    for j, k in pairwise(y):
        z[length * labels + j * labels + k] += 1.0
    return z


def chain_score(theta, y, layout):
    length, labels = layout
    nodes = sum(theta[t * labels + k] for t, k in enumerate(y))
    return nodes + sum(theta[length * labels + j * labels + k] for j, k in pairwise(y))


# -- cases -----------------------------------------------------------------------------------------
def make_case(structure, features, X, layouts, maps, truths, vertices, *, n_labels=0, **options):
    """maps: F of each sample, a column per part; vertices: all allowed outputs of each sample.

    count, an option: of the first samples only.
    """
    rng = np.random.default_rng(options.get("seed", 0))
    alpha, weight = options.get("alpha", ALPHA), options.get("weight")
    omega = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    X, layouts, maps, truths, vertices, omega = (
        own[: options.get("count")] for own in (X, layouts, maps, truths, vertices, omega)
    )
    omega = omega / omega.sum()
    costs = [
        options["cost"](rng, truth, layout) for truth, layout in zip(truths, layouts, strict=True)
    ]
    n_parts = np.array([len(t) for t in truths])
    problem = Problem(
        structure,
        layouts,
        features.pack(options.get("rows", check_rows)(X), n_labels, n_parts),
        costs=np.concatenate(costs),
        sample_weight=omega,
        n_jobs=options.get("n_jobs"),
        truth=np.concatenate(truths),
        alpha=alpha,
        domain=options.get("domain"),
        objective=options.get("objective", "margin"),
    )
    blocks = [
        Block(F, c, y, np.array(v), o)
        for F, c, y, v, o in zip(maps, costs, truths, vertices, omega, strict=True)
    ]
    return Case(problem, Training(blocks, alpha, options.get("where", WeightSet("all"))))


def zero_one(rng, truth, layout):
    """Costs of the zero-one loss."""
    return 1.0 - truth


def generic(rng, truth, layout):
    """Costs without ties: any part that the truth lacks costs something else."""
    return rng.uniform(0.5, 1.5, len(truth)) * (truth == 0)


def share_wrong(rng, truth, layout):
    """Costs of the normalised Hamming loss of a chain."""
    nodes = layout[0] * layout[1]
    return np.append(1.0 - truth[:nodes], np.zeros(len(truth) - nodes)) / layout[0]


def prices(rng, truth, layout):
    """Costs of wrong items, a missed one 1.5 and a needless one 0.5."""
    return (0.5 - 2.0 * truth) / len(truth)


def multiclass(cost=zero_one, n=9, n_features=3, labels=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)) + 0.3
    y = rng.permutation(np.arange(n) % labels)
    maps = [
        np.kron(np.append(row, 1.0)[:, None], np.eye(labels)) for row in x
    ]  # weights (n_features + bias, labels), row by row
    return make_case(
        Multiclass(), LabelConjoined(True, False, False), list(x[:, None, :]),
        [(labels,)] * n, maps, list(np.eye(labels)[y]), [np.eye(labels)] * n,
        n_labels=labels, cost=cost, seed=seed, **options,
    )  # fmt: skip


def finite(cost=zero_one, n=8, n_features=4, seed=1, **options):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n)
    X = [rng.normal(size=(m, n_features)) for m in sizes]
    truths = [np.eye(m)[rng.integers(m)] for m in sizes]
    return make_case(
        Finite(), PartFeatures(), X, [(int(m),) for m in sizes], [x.T for x in X], truths,
        [np.eye(m) for m in sizes], cost=cost, seed=seed, **options,
    )  # fmt: skip


def chain_map(x, labels):
    """F of a chain with bias, ends and transitions: one column per node-label and pair part."""
    length, n_features = x.shape
    rows = n_features + 3
    full = np.zeros((rows * labels + labels * labels, length * labels + labels * labels))
    for t in range(length):
        metrics = np.concatenate([x[t], [1.0, float(t == 0), float(t == length - 1)]])
        for k in range(labels):
            full[np.arange(rows) * labels + k, t * labels + k] = metrics
    full[rows * labels :, length * labels :] = np.eye(labels * labels)
    return full


def chain(
    cost=share_wrong,
    lengths=(1, 2, 3, 4, 3, 2),
    n_features=3,
    labels=3,
    seed=2,
    as_csr=False,
    banned=None,
    plain=False,
    **options,
):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(length, n_features)) for length in lengths]
    if as_csr:
        X = [x * (rng.random(x.shape) < 0.5) for x in X]
    allowed = [
        [
            y
            for y in product(range(labels), repeat=length)
            if banned is None or not any(banned[j][k] for j, k in pairwise(y))
        ]
        for length in lengths
    ]
    layouts = [(length, labels) for length in lengths]
    vertices = [[chain_vertex(y, s) for y in ys] for ys, s in zip(allowed, layouts, strict=True)]
    kind = PlainChain if plain else Chain
    return make_case(
        kind(forbidden_transitions=banned), LabelConjoined(),
        [sparse.csr_matrix(x) for x in X] if as_csr else X, layouts,
        [chain_map(x, labels) for x in X], [v[rng.integers(len(v))] for v in vertices], vertices,
        n_labels=labels, cost=cost, seed=seed, **options,
    )  # fmt: skip


BANNED = np.array([[False, True, False], [False, False, True], [False, False, True]])


def best_two(theta, layout):
    """At most two of n items, as part numbers: a structure by one function."""
    best = sorted(range(layout[0]), key=lambda p: -theta[p])[:2]
    return {p for p in best if theta[p] > 0}


def at_most_two(n):
    """The same by rows."""
    return Program(np.ones((1, n)), 2.0, part_upper=1.0)


def items(cost=prices, n=6, n_features=3, seed=3, kind="class", **options):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=n)
    X = [rng.normal(size=(m, n_features)) for m in sizes]
    vertices = []
    for m in sizes:
        chosen = [c for size in range(3) for c in combinations(range(m), size)]
        vertices.append([np.isin(np.arange(m), c).astype(float) for c in chosen])
    truths = [v[rng.integers(len(v))] for v in vertices]
    truths[0] = vertices[0][0]  # nothing chosen: a truth without parts
    layouts = [at_most_two(m) if kind == "rows" else (int(m),) for m in sizes]
    structures = {
        "class": AtMostTwo(),
        "rows": LinearProgram(),
        "function": Structure.from_oracle(best_two),
    }
    return make_case(
        structures[kind], PartFeatures(), X, layouts, [x.T for x in X], truths,
        vertices, cost=cost, seed=seed, **options,
    )  # fmt: skip


def assignment(cost=zero_one, n=4, size=3, n_features=3, seed=4, **options):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(size * size, n_features)) for _ in range(n)]
    vertices = [np.eye(size)[list(p)].ravel() for p in permutations(range(size))]
    truths = [vertices[rng.integers(len(vertices))] for _ in range(n)]
    return make_case(
        Assignment(), PartFeatures(), X, [(size, size)] * n, [x.T for x in X], truths,
        [vertices] * n, cost=cost, seed=seed, **options,
    )  # fmt: skip


def matching(cost=zero_one, n=5, layout=(2, 3), n_features=3, seed=7, **options):
    rng = np.random.default_rng(seed)
    parts = layout[0] * layout[1]
    X = [rng.normal(size=(parts, n_features)) for _ in range(n)]
    vertices = list(matchings.vertices(matchings.pairs(layout), [1] * layout[0], [1] * layout[1]))
    truths = [vertices[rng.integers(len(vertices))] for _ in range(n)]
    return make_case(
        Matching(), PartFeatures(), X, [layout] * n, [x.T for x in X], truths, [vertices] * n,
        cost=cost, seed=seed, **options,
    )  # fmt: skip


def graph_map(x, tables):
    """F of a graph with a bias: a column per node, "label 1", and per edge, "the ends differ"."""
    (n, p), (m, q) = x.nodes.shape, x.edge_features.shape
    full = np.zeros((p + 1 + (4 * q if tables else q), n + m))
    full[:p, :n], full[p, :n] = x.nodes.T, 1.0
    for e, (j, k) in enumerate(x.edges):
        f = x.edge_features[e]
        if not tables:
            full[p + 1 :, n + e] = -f
            continue
        # labels ab score t[ab] = t00 + (t10 - t00) a + (t01 - t00) b + (t00 + t11 - t01 - t10) ab,
        # and ab = (a + b - [a differs from b]) / 2
        twice = np.outer(f, [1.0, -1.0, -1.0, 1.0]).ravel() / 2
        full[p + 1 :, j] += np.outer(f, [-1.0, 0.0, 1.0, 0.0]).ravel() + twice
        full[p + 1 :, k] += np.outer(f, [-1.0, 1.0, 0.0, 0.0]).ravel() + twice
        full[p + 1 :, n + e] -= twice
    return full


def wrong_nodes(rng, truth, layout):
    """Costs of the share of wrong nodes."""
    n = layout.n_nodes
    return np.append(1.0 - 2.0 * truth[:n], np.zeros(len(truth) - n)) / n


def generic_nodes(rng, truth, layout):
    """Costs of wrong nodes, all different."""
    return wrong_nodes(rng, truth, layout) * rng.uniform(0.5, 1.5, len(truth))


def cut(cost=wrong_nodes, n=6, n_features=2, tables=False, seed=12, plain=False, **options):
    """Small graphs with two edge features whose labels like to change along edges."""
    rng = np.random.default_rng(seed)
    cost = generic_nodes if cost is generic else cost  # edges must not be rewarded
    X, truths, vertices = [], [], []
    for _ in range(n):
        size = int(rng.integers(1, 6))
        pairs = np.array(list(combinations(range(size), 2))).reshape(-1, 2)
        edges = pairs[rng.random(len(pairs)) < 0.7]
        edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
        x = Graph(rng.normal(size=(size, n_features)), edges, rng.random((len(edges), 2)))
        X.append(x)
        vertices.append(list(GraphCut().vertices(x.network)))
        truths.append(vertices[-1][rng.integers(len(vertices[-1]))])
    base = n_features + 1
    features = GraphFeatures(tables=tables)
    dim = base + (8 if tables else 2)
    domain = SubmodularCone(np.arange(base, dim)) if tables else NonNegative(np.arange(base, dim))
    return make_case(
        PlainCut() if plain else GraphCut(), features, X, [x.network for x in X],
        [graph_map(x, tables) for x in X], truths, vertices, cost=cost, seed=seed,
        rows=features.check, **({"domain": domain, "where": EdgeSet(base, tables)} | options),
    )  # fmt: skip


def tree_map(x, labels, tied, bias=True, ends=True, transitions=True):
    """F of a tree: one column per node-label and pair part."""
    n, (m, q) = len(x.nodes), x.edge_features.shape
    first, second = (set(x.edges[:, side].tolist()) for side in range(2))
    rows = []
    for v in range(n):
        own = [float(v not in second), float(v not in first)] if ends else []
        rows.append(np.concatenate([x.nodes[v], [1.0] if bias else [], own]))
    width, square, tables = len(rows[0]), labels * labels, 1 if tied else m
    pairs = q * square if transitions else 0
    full = np.zeros((width * labels + pairs, n * labels + tables * square))
    for v, metrics in enumerate(rows):
        for k in range(labels):
            full[np.arange(width) * labels + k, v * labels + k] = metrics
    for e in range(tables if transitions else 0):
        features = np.ones(1) if tied else x.edge_features[e]
        start = n * labels + e * square
        full[width * labels :, start : start + square] = np.kron(features[:, None], np.eye(square))
    return full


def share_of_nodes(rng, truth, layout):
    """Costs of the normalised Hamming loss of a tree."""
    nodes = layout.n_nodes * layout.n_labels
    return np.append(1.0 - truth[:nodes], np.zeros(len(truth) - nodes)) / layout.n_nodes


def tree(
    cost=share_of_nodes,
    sizes=(1, 2, 3, 4, 4, 3),
    n_features=2,
    labels=3,
    tied=True,
    banned=None,
    seed=13,
    method=None,
    **options,
):
    """Small trees and forests; if not tied, with two edge features and nodes that lack labels.

    method : of a `MarkovNetwork`; most pairs of nodes are then joined.
    """
    rng = np.random.default_rng(seed)
    X, layouts, truths, vertices = [], [], [], []
    for size in sizes:
        edges = np.array(trees.random_edges(size, rng, 0.8)).reshape(-1, 2)
        if method is not None:
            pairs = np.array(list(combinations(range(size), 2))).reshape(-1, 2)
            edges = pairs[rng.random(len(pairs)) < 0.9]
        metrics = None if tied else rng.normal(size=(len(edges), 2))
        allowed = rng.random((size, labels)) < 0.8
        allowed[np.arange(size), rng.integers(labels, size=size)] = True
        kind = TreeLayout if method is None else NetworkLayout
        layout = kind(Graph(np.ones((size, 1)), edges), labels, None if tied else allowed)
        X.append(Graph(rng.normal(size=(size, n_features)), edges, metrics))
        layouts.append(layout)
        found = trees.labelings(size, edges.tolist(), labels, layout.allowed, banned)
        vertices.append([trees.vertex(y, edges.tolist(), labels, tied) for y in found])
        truths.append(vertices[-1][rng.integers(len(vertices[-1]))])
    features = TreeFeatures(n_edge_features=1 if tied else 2)
    own = Tree(tied, banned) if method is None else MarkovNetwork(tied, banned, method)
    return make_case(
        own, features, X, layouts, [tree_map(x, labels, tied) for x in X], truths,
        vertices, n_labels=labels, cost=cost, seed=seed, rows=features.check, **options,
    )  # fmt: skip


def share_of_labels(rng, truth, layout):
    """Costs of the share of wrong labels."""
    n = layout[0]
    return np.append(1.0 - 2.0 * truth[:n], np.zeros(len(truth) - n)) / n


def generic_labels(rng, truth, layout):
    """Costs of wrong labels, all different."""
    return share_of_labels(rng, truth, layout) * rng.uniform(0.5, 1.5, len(truth))


def multi_label(cost=share_of_labels, n=7, n_features=2, labels=3, seed=15, **options):
    """All pairs of a few labels; a row of features per sample."""
    cost = generic_labels if cost is generic else cost  # parts of the truth that are off cost, too
    rng = np.random.default_rng(seed)
    pairs = list(combinations(range(labels), 2))
    x = rng.normal(size=(n, n_features))
    nodes = (n_features + 1) * labels  # weights (n_features + bias, labels), row by row; then pairs
    maps = [np.zeros((nodes + len(pairs), labels + len(pairs))) for _ in range(n)]
    for full, row in zip(maps, x, strict=True):
        full[:nodes, :labels] = np.kron(np.append(row, 1.0)[:, None], np.eye(labels))
        full[nodes:, labels:] = np.eye(len(pairs))
    vertices = [
        np.array([*y, *(y[j] * y[k] for j, k in pairs)]) for y in product([0.0, 1.0], repeat=labels)
    ]
    truths = [vertices[rng.integers(len(vertices))] for _ in range(n)]
    return make_case(
        MultiLabel(), MultiLabelFeatures(n_pairs=len(pairs)), list(x[:, None, :]), [(labels,)] * n,
        maps, truths, [vertices] * n, n_labels=labels, cost=cost, seed=seed, **options,
    )  # fmt: skip


BOUNDED = BoundedSet(27)
#: with weights in a domain of their own
INSIDE = {
    "finite-l2": lambda **options: finite(
        **({"domain": L2Ball(0.3), "where": WeightSet("l2", 0.3)} | options)
    ),
    "multiclass-l1": lambda **options: multiclass(
        domain=L1Ball(1.2), where=WeightSet("l1", 1.2), **options
    ),
    "chain-nonnegative": lambda **options: chain(
        domain=NonNegative(), where=WeightSet("nonnegative"), **options
    ),
    "items-l2": lambda **options: items(
        domain=L2Ball(0.05), where=WeightSet("l2", 0.05), **options
    ),
    "chain-box": lambda **options: chain(
        domain=Box(BOUNDED.low, BOUNDED.high), where=BOUNDED, **options
    ),
    "cut": cut,
    "cut-tables": lambda **options: cut(tables=True, **options),
}
CASES = {
    "multiclass": multiclass,
    "finite": finite,
    "chain": chain,
    "chain-csr": lambda **options: chain(seed=5, as_csr=True, **options),
    "chain-forbidden": lambda **options: chain(seed=6, banned=BANNED, **options),
    "tree": lambda **options: tree(banned=BANNED, sizes=(1, 2, 3, 4, 3, 2), seed=16, **options),
    "tree-untied": lambda **options: tree(tied=False, seed=14, **options),
    "network": lambda **options: tree(
        tied=False, sizes=(1, 3, 3, 3, 2, 3), seed=14, method="exact", **options
    ),
    "multi-label": multi_label,
    "items": items,
    "assignment": assignment,
}
#: oracles that cost more than steps; with them solvers go another way
EXPENSIVE = {
    "linear-program": lambda **options: items(kind="rows", n=4, seed=21, **options),
    "from-oracle": lambda **options: items(kind="function", seed=22, **options),
}


@lru_cache
def case(name):
    """The case of that name; shared by tests, which must not change it."""
    return (CASES | INSIDE | EXPENSIVE)[name]()
