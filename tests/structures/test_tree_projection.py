"""Projections on trees: on paths those of chains, else the only point with no output ahead."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from maxmargin.oracles.min_norm_point import project_by_vertices
from maxmargin.structures import Chain, Network, Tree, TreeLayout

seeds = st.integers(0, 2**32 - 1)


def draw_tree(seed, nodes, labels):
    """A forest with edges in any order and either way round."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(v)), v) for v in range(1, nodes) if rng.random() < 0.85]
    edges = [edge[:: rng.choice([-1, 1])] for edge in edges]
    order = rng.permutation(len(edges))
    return TreeLayout(Network(nodes, [edges[e] for e in order]), labels)


@given(st.integers(1, 6), st.integers(1, 4), st.booleans(), seeds)
def test_a_path_is_a_chain(nodes, labels, tied, seed):
    layout = TreeLayout(Network(nodes, [(t, t + 1) for t in range(nodes - 1)]), labels)
    tree, chain = Tree(tied=tied), Chain(tied=tied)
    count = tree.n_parts(layout)
    point = np.random.default_rng(seed).standard_normal(max(count, chain.n_parts((nodes, labels))))
    apart = tree.project(point[:count], layout) - chain.project(point, (nodes, labels))[:count]
    assert np.abs(apart).max() <= 1e-10


@given(st.integers(1, 7), st.integers(1, 4), st.booleans(), seeds, st.sampled_from([0.1, 1.0, 9.0]))
def test_equals_plain_python_and_has_nothing_ahead(nodes, labels, tied, seed, scale):
    tree, layout = Tree(tied=tied), draw_tree(seed, nodes, labels)
    point = scale * np.random.default_rng(seed).standard_normal(tree.n_parts(layout))
    z = tree.project(point, layout)
    ahead = tree.maximize(point - z, layout)
    assert (point - z) @ (ahead - z) <= 1e-13 * scale
    plain = project_by_vertices(lambda theta: tree.maximize(theta, layout), point)
    assert np.abs(z - plain).max() <= 1e-10


@pytest.mark.parametrize("tied", [True, False])
def test_labels_that_a_node_must_not_have_stay_out(tied):
    network = Network(4, [(1, 0), (1, 2), (3, 1)])
    allowed = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]], dtype=bool)
    tree, layout = Tree(tied=tied), TreeLayout(network, 3, allowed)
    point = np.random.default_rng(0).standard_normal(tree.n_parts(layout))
    z = tree.project(point, layout)
    assert z[:12].reshape(4, 3)[~allowed].max() == 0.0
    assert z[:12].reshape(4, 3).sum(axis=1) == pytest.approx(np.ones(4), abs=1e-14)
    assert z[9] == pytest.approx(1.0, abs=1e-14)
