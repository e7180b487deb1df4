"""Tree: shapes, against brute force and Chain, deep trees, extreme scores, the k best."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from maxmargin import Graph
from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Chain, Network, Tree, TreeLayout
from reference import enumeration, trees


def path(length, labels):
    return TreeLayout(Network(length, [(t, t + 1) for t in range(length - 1)]), labels)


def star(leaves, labels, inward=False):
    ends = [(v, 0) if inward else (0, v) for v in range(1, leaves + 1)]
    return TreeLayout(Network(leaves + 1, ends), labels)


@st.composite
def layouts(draw):
    n, labels = draw(st.sampled_from([(1, 3), (2, 3), (3, 3), (4, 2), (5, 2), (6, 2), (4, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = trees.random_edges(n, rng, draw(st.sampled_from([1.0, 0.6, 0.0])))
    allowed = None
    if draw(st.booleans()):
        allowed = rng.random((n, labels)) < 0.7
        allowed[np.arange(n), rng.integers(labels, size=n)] = True
    return TreeLayout(Network(n, edges), labels, allowed)


def listed(layout, tied, pairs=None):
    edges, labels = layout.network.edges.tolist(), layout.n_labels
    found = trees.labelings(layout.n_nodes, edges, labels, layout.allowed, pairs)
    return np.array([trees.vertex(y, edges, labels, tied) for y in found])


def scores(structure, layout, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.standard_normal(structure.n_parts(layout))
    theta[structure.forbidden(layout)] = -np.inf
    return theta


# -- shapes ----------------------------------------------------------------------------------------
def test_layouts_are_equal_if_all_is():
    edges, mask = [(0, 1), (1, 2)], [[True, False], [True, True], [True, True]]
    layout = TreeLayout(Network(3, edges), 2, mask)
    assert layout == TreeLayout(Graph(np.ones((3, 1)), edges), 2, np.array(mask))
    assert hash(layout) == hash(TreeLayout(Network(3, edges), 2, mask))
    assert layout != TreeLayout(Network(3, edges), 2)
    assert layout != TreeLayout(Network(3, edges[::-1]), 2, mask)
    assert TreeLayout(Network(3, edges), 2) != TreeLayout(Network(3, edges), 3)
    assert layout != (3, 2)
    assert TreeLayout(Network(3, edges), 2, np.ones((3, 2), dtype=bool)).allowed is None
    assert repr(layout) == "TreeLayout(3 nodes, 2 edges, 2 labels, some forbidden)"
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout
    assert np.array_equal(again.order, layout.order)


def test_layouts_are_frozen():
    layout = TreeLayout(Network(2, [(0, 1)]), 2, [[True, False], [True, True]])
    with pytest.raises(AttributeError, match="a TreeLayout is frozen: .* n_labels"):
        layout.n_labels = 3
    with pytest.raises(ValueError, match="read-only"):
        layout.allowed[0, 0] = False


@given(layout=layouts())
def test_the_order_goes_from_roots_down_with_siblings_side_by_side(layout):
    nodes, above, edge, down = layout.order
    assert sorted(nodes) == list(range(layout.n_nodes))
    place = np.argsort(nodes)
    roots = int((above < 0).sum())
    assert (above[:roots] < 0).all()
    for i in range(roots, layout.n_nodes):
        assert place[above[i]] < i
        ends = (above[i], nodes[i]) if down[i] else (nodes[i], above[i])
        assert tuple(layout.network.edges[edge[i]]) == ends
    runs = 1 + np.count_nonzero(np.diff(above))
    assert runs == len(set(above.tolist()))


@pytest.mark.parametrize(
    "edges, nodes",
    [
        ([(0, 1), (1, 2), (2, 0)], {0, 1, 2}),
        ([(5, 0), (1, 2), (3, 2), (3, 4), (1, 4)], {1, 2, 3, 4}),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 2)], {2, 3, 4, 5}),
    ],
)
def test_cycles_are_named(edges, nodes):
    with pytest.raises(ValueError, match=r"edges: nodes .* Drop one .* NetworkSVM") as caught:
        TreeLayout(Network(6, edges), 2)
    text = str(caught.value)
    names = text.split("nodes ")[1].split(" are a cycle")[0]
    assert {int(name) for name in names.split(", ")} == nodes
    assert f"a cycle of {len(nodes)}," in text


def test_a_long_cycle_is_cut_short():
    ring = [(v, (v + 1) % 500) for v in range(500)]
    with pytest.raises(ValueError, match=r"(\d+, ){12}\.\.\. are a cycle of 500"):
        TreeLayout(Network(500, ring), 2)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_score_that_is_no_number_is_a_failure(tied, number):
    layout, structure = star(3, 3), Tree(tied)
    layout_ints = np.array(structure.oracle().layout_as_ints(layout), dtype=np.int64)
    floats, ints = structure.oracle().scratch(layout)
    for place in range(structure.n_parts(layout)):
        theta = scores(structure, layout, 0)
        theta[place] = number
        out, iwork = np.zeros(len(theta)), np.zeros(ints, dtype=np.int64)
        assert np.isnan(
            structure.oracle().compiled_function("marginals")(
                theta, layout_ints, out, np.zeros(floats), iwork
            )
        )


# -- against brute force ---------------------------------------------------------------------------
@given(layout=layouts(), tied=st.booleans(), seed=st.integers(0, 1000), data=st.data())
@settings(max_examples=40)
def test_everything_equals_enumeration(layout, tied, seed, data):
    pairs = None
    if data.draw(st.booleans()):
        pairs = np.random.default_rng(seed).random((layout.n_labels,) * 2) < 0.2
    structure, vertices = Tree(tied, pairs), listed(layout, tied, pairs)
    theta = scores(structure, layout, seed)
    if len(vertices) == 0:
        for call in (structure.maximize, structure.marginals, structure.oracle().max_marginals):
            with pytest.raises(InfeasibleError):
                call(theta, layout)
        with pytest.raises(InfeasibleError):
            structure.k_best(theta, layout, 3)
        return
    best = enumeration.best(theta, vertices)
    assert enumeration.score(theta, structure.maximize(theta, layout)) == pytest.approx(best)
    found = structure.marginals(theta, layout)
    assert np.abs(found - enumeration.expectation(theta, vertices)).max() <= 1e-12
    value = structure.log_partition(theta, layout)
    assert value == pytest.approx(enumeration.log_partition(theta, vertices), abs=1e-12)
    n = layout.n_nodes * layout.n_labels
    wanted = enumeration.max_marginals(theta, vertices, n)
    np.testing.assert_allclose(
        structure.oracle().max_marginals(theta, layout)[:n], wanted, atol=1e-12
    )
    falling = np.sort(enumeration.scores(theta, vertices))[::-1]
    for k in (1, 2, 5, len(vertices) + 3):
        check_best(structure.k_best(theta, layout, k), theta, vertices, falling[:k])


def check_best(found, theta, vertices, falling):
    assert [score for _, score in found] == pytest.approx(falling.tolist(), abs=1e-12)
    known = {tuple(vertex) for vertex in vertices}
    assert len({tuple(z) for z, _ in found}) == len(found)
    for z, score in found:
        assert tuple(z) in known
        assert enumeration.score(theta, z) == pytest.approx(score, abs=1e-12)


@given(layout=layouts(), seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_the_order_of_the_edges_does_not_matter(layout, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(layout.n_edges)
    other = TreeLayout(
        Network(layout.n_nodes, layout.network.edges[order]), layout.n_labels, layout.allowed
    )
    for tied in (True, False):
        structure = Tree(tied)
        theta = scores(structure, layout, seed)
        n, square = layout.n_nodes * layout.n_labels, layout.n_labels**2
        moved = theta.copy()
        if not tied:
            moved[n:] = theta[n:].reshape(-1, square)[order].ravel()
        value = structure.log_partition(theta, layout)
        assert structure.log_partition(moved, other) == pytest.approx(value, abs=1e-12)
        a, b = structure.maximize(theta, layout), structure.maximize(moved, other)
        assert np.array_equal(a[:n], b[:n])


def test_the_direction_of_an_edge_matters():
    table = np.array([[0.0, 3.0], [1.0, 0.0]])
    theta = np.concatenate([np.zeros(4), table.ravel()])
    there, back = TreeLayout(Network(2, [(0, 1)]), 2), TreeLayout(Network(2, [(1, 0)]), 2)
    assert Tree().decode(Tree().maximize(theta, there), there).tolist() == [0, 1]
    assert Tree().decode(Tree().maximize(theta, back), back).tolist() == [1, 0]
    turned = np.concatenate([np.zeros(4), table.T.ravel()])
    assert np.array_equal(Tree().marginals(theta, there)[:4], Tree().marginals(turned, back)[:4])


# -- a path is a chain -----------------------------------------------------------------------------
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("length, labels", [(1, 3), (2, 1), (7, 4), (40, 9), (300, 5)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_path_is_a_chain(length, labels, tied, turned):
    banned = np.random.default_rng(1).random((labels, labels)) < 0.1
    layout, chain, tree = path(length, labels), Chain(tied, banned), Tree(tied, banned)
    theta = scores(chain, (length, labels), length)
    assert np.array_equal(tree.forbidden(layout), chain.forbidden((length, labels)))
    given_theta, nodes = theta, length * labels
    if turned:  # the same path from its other end, each edge too
        ends = [(t + 1, t) for t in range(length - 1)]
        layout = TreeLayout(Network(length, ends), labels)
        tree = Tree(tied, banned.T)
        tables = theta[nodes:].reshape(-1, labels, labels).transpose(0, 2, 1)
        given_theta = np.concatenate([theta[:nodes], tables.ravel()])

    def back(z):
        if not turned:
            return z
        tables = z[nodes:].reshape(-1, labels, labels).transpose(0, 2, 1)
        return np.concatenate([z[:nodes], tables.ravel()])

    whole = (length, labels)
    assert np.array_equal(back(tree.maximize(given_theta, layout)), chain.maximize(theta, whole))
    np.testing.assert_allclose(
        tree.oracle().max_marginals(given_theta, layout),
        chain.oracle().max_marginals(theta, whole),
        rtol=1e-12,
    )
    found = back(tree.marginals(given_theta, layout))
    np.testing.assert_allclose(found, chain.marginals(theta, whole), atol=1e-11)
    value = tree.log_partition(given_theta, layout)
    assert value == pytest.approx(chain.log_partition(theta, whole), rel=1e-12)
    assert tree.radius(layout) == chain.radius(whole)
    assert tree.vertex_size(layout) == chain.vertex_size(whole)


# -- deep, wide, extreme ---------------------------------------------------------------------------
DEEP = {
    "path": path(10_000, 3),
    "path from the end": TreeLayout(Network(10_000, [(t + 1, t) for t in range(9_999)]), 3),
    "star": star(10_000, 3),
    "star of edges inwards": star(10_000, 3, inward=True),
    "random": TreeLayout(Network(10_000, trees.random_edges(10_000, np.random.default_rng(0))), 3),
}


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("tied", [True, False])
def test_ten_thousand_nodes_at_any_scale(name, scale, tied):
    layout, structure = DEEP[name], Tree(tied)
    theta = scores(structure, layout, 3, scale)
    count, labels = structure.variables(layout)
    best = structure.maximize(theta, layout)
    z = structure.marginals(theta, layout)
    value = structure.log_partition(theta, layout)
    assert np.isfinite(z).all()
    assert z.min() >= 0.0
    nodes = z[: count * labels].reshape(count, labels)
    np.testing.assert_allclose(nodes.sum(axis=1), 1.0, rtol=1e-12)
    check_tables(z, nodes, layout, tied)
    top = structure.oracle().max_marginals(theta, layout)[: count * labels].reshape(count, labels)
    np.testing.assert_allclose(top.max(axis=1), theta @ best, rtol=1e-12)
    slack = 1e-12 * (np.abs(theta) @ best)  # sums are taken in different orders
    assert theta @ best - slack <= value <= theta @ best + count * np.log(labels) + slack
    if scale == 1e9:
        assert np.abs(z - best).max() <= 1e-9
    if scale == 1e-9:
        assert np.abs(nodes - 1 / 3).max() <= 1e-3


def check_tables(z, nodes, layout, tied):
    """Tables have their ends' labels as row and column sums."""
    labels, ends = layout.n_labels, layout.network.edges
    tables = z[nodes.size :].reshape(-1, labels, labels)
    rows, columns = nodes[ends[:, 0]], nodes[ends[:, 1]]
    if tied:
        rows, columns = rows.sum(axis=0)[None], columns.sum(axis=0)[None]
    np.testing.assert_allclose(tables.sum(axis=2), rows, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(tables.sum(axis=1), columns, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("tied", [True, False])
def test_numbers_and_logarithms_agree_where_one_takes_over_from_the_other(tied):
    """Scores so far apart that plain numbers are just enough, or just not."""
    layout = TreeLayout(Network(6, [(0, 1), (2, 1), (1, 3), (5, 4)]), 3)
    structure, vertices = Tree(tied), listed(layout, tied)
    for scale in (20.0, 60.0, 100.0, 150.0, 250.0, 400.0):
        for seed in range(4):
            theta = scores(structure, layout, seed, scale)
            found = structure.marginals(theta, layout)
            assert np.abs(found - enumeration.expectation(theta, vertices)).max() <= 1e-10
            value = structure.log_partition(theta, layout)
            assert value == pytest.approx(enumeration.log_partition(theta, vertices), rel=1e-13)


def test_a_label_that_only_forbidden_ones_would_beat_is_found():
    """What one subtree makes next to impossible, another may force."""
    layout = TreeLayout(Network(3, [(1, 0), (1, 2)]), 2)
    theta = np.zeros(Tree(False).n_parts(layout))
    theta[6:10] = [0.0, -np.inf, -900.0, 0.0]  # (1, 0): label 1 at 0 unless label 1 at 1
    theta[0] = -900.0
    theta[10:] = [-np.inf, -np.inf, 0.0, -1800.0]
    vertices = listed(layout, False)
    found = Tree(False).marginals(theta, layout)
    assert np.abs(found - enumeration.expectation(theta, vertices)).max() <= 1e-12


def test_a_sum_next_to_nothing_is_no_ban():
    """Label 1 at both ends of each edge is all that is left, at a price just above the least."""
    layout = TreeLayout(Network(4, [(0, 1), (1, 2), (2, 3)]), 2, [[False, True], [True, True]] * 2)
    for price in (-140.0, -155.0, -170.0, -300.0, -340.0, -350.0):
        for tied in (True, False):
            structure = Tree(tied, [[False, False], [True, False]])
            theta = np.zeros(structure.n_parts(layout))
            theta[8:].reshape(-1, 4)[:, 3] = price
            theta[[3, 7]] = price
            theta[structure.forbidden(layout)] = -np.inf
            assert structure.log_partition(theta, layout) == pytest.approx(5 * price, rel=1e-14)
            wanted = structure.encode([1, 1, 1, 1], layout)
            assert np.abs(structure.marginals(theta, layout) - wanted).max() <= 1e-14


def test_the_k_best_of_a_long_path_and_of_a_wide_star():
    for layout in (path(1200, 4), star(1200, 4)):
        structure = Tree()
        theta = scores(structure, layout, 5)
        found = structure.k_best(theta, layout, 4)
        values = [score for _, score in found]
        assert values == sorted(values, reverse=True)
        assert np.array_equal(found[0][0], structure.maximize(theta, layout))
        top = structure.oracle().max_marginals(theta, layout)[: layout.n_nodes * 4].reshape(-1, 4)
        # the second best differs somewhere: it is the best of all second best labels
        assert values[1] == pytest.approx(np.sort(top, axis=1)[:, -2].max(), rel=1e-12)


@given(layout=layouts(), tied=st.booleans(), seed=st.integers(0, 1000), k=st.integers(1, 20))
@settings(max_examples=40)
def test_the_k_best_among_equals_begin_with_the_best_and_with_fewer(layout, tied, seed, k):
    structure = Tree(tied)
    theta = np.round(scores(structure, layout, seed))
    few, many = (structure.k_best(theta, layout, n) for n in (k, 3 * k))
    assert np.array_equal(few[0][0], structure.maximize(theta, layout))
    for (a, x), (b, y) in zip(few, many, strict=False):
        assert x == y
        assert np.array_equal(a, b)


# -- refusals --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: TreeLayout((3, 2), 2), TypeError, "must be a Network or a Graph"),
        (lambda: TreeLayout(Network(2, []), 0), ValueError, "n_labels=0 must be an integer"),
        (lambda: TreeLayout(Network(2, []), 1.5), ValueError, "n_labels=1.5 must be an integer"),
        (lambda: TreeLayout(Network(2, []), 2, [[True, True]]), ValueError,
         r"allowed has shape \(1, 2\), expected \(2, 2\), \(nodes, labels\)"),
        (lambda: TreeLayout(Network(2, []), 2, [[True, True], [False, False]]), ValueError,
         "node 1 may have no label at all; allow one at least"),
        (lambda: TreeLayout(Network(2, []), 2, [[1, 1], [2, 1]]), TypeError, "expected bool"),
        (lambda: Tree().n_parts((3, 2)), TypeError, "must be a TreeLayout"),
        (lambda: Tree(forbidden_pairs=[[True]]).forbidden(path(3, 2)), ValueError,
         r"forbidden_pairs has shape \(1, 1\), expected \(2, 2\)"),
        (lambda: Tree().encode([0, 1], path(3, 2)), ValueError, r"y has shape \(2,\), expected"),
        (lambda: Tree().encode([0, 1, 2], path(3, 2)), ValueError, "labels outside 0 to 1"),
        (lambda: Tree().encode([0, 0.5, 1], path(3, 2)), ValueError, "not integers: 0.5"),
        (lambda: Tree().k_best(np.zeros(10), path(3, 2), 0), ValueError, "k=0 must be"),
    ],
)  # fmt: skip
def test_bad_layouts_and_outputs_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
