"""Samples that are graphs: what they hold and what they refuse."""

# ruff: noqa: E501

import pickle

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Bipartite, Graph
from maxmargin.structures.matching.candidates import Candidates

EDGES = [(2, 0), (0, 1), (1, 1)]
FEATURES = np.arange(6.0).reshape(3, 2)


def test_a_graph_says_what_it_holds():
    graph = Bipartite((3, 2), EDGES, FEATURES)
    assert graph.shape == (3, 2)
    assert graph.edges.tolist() == [[2, 0], [0, 1], [1, 1]]  # as given: the features' order
    assert graph.features is FEATURES
    assert repr(graph) == "Bipartite((3, 2), 3 edges, 2 features)"


def test_features_may_be_lists_or_sparse():
    assert np.array_equal(Bipartite((3, 2), EDGES, FEATURES.tolist()).features, FEATURES)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        found = Bipartite((3, 2), EDGES, form(FEATURES))
        assert found.features.shape == (3, 2)
        assert np.array_equal(found.features.toarray(), FEATURES)


def test_no_edges_named_means_all_pairs_row_by_row():
    graph = Bipartite((2, 3), None, np.zeros((6, 1)))
    assert graph.edges.tolist() == [[j, k] for j in range(2) for k in range(3)]


def test_caps_go_to_the_candidates():
    graph = Bipartite((3, 2), EDGES, FEATURES, row_caps=[1, 2, 0], column_caps=[3, 1])
    assert graph.candidates == Candidates((3, 2), EDGES, [1, 2, 0], [3, 1])
    assert graph.candidates != Bipartite((3, 2), EDGES, FEATURES).candidates


def test_edges_cannot_be_changed_behind_the_back():
    graph = Bipartite((3, 2), EDGES, FEATURES)
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0] = 0
    with pytest.raises(AttributeError):
        graph.shape = (4, 4)


def test_pickles_are_the_same_graph():
    graph = Bipartite((3, 2), EDGES, FEATURES, column_caps=[2, 2])
    again = pickle.loads(pickle.dumps(graph))
    assert again.candidates == graph.candidates
    assert np.array_equal(again.features, graph.features)


BAD = {
    "a row of features too many": ({"features": np.zeros((4, 2))},
        r"features have shape \(4, 2\), expected \(3, n_features\): one row for each edge"),
    "features in one dimension": ({"features": np.zeros(3)}, r"features have shape \(3,\), expected"),
    "features in three": ({"features": np.zeros((3, 1, 2))}, r"features have shape \(3, 1, 2\)"),
    "features of differing lengths": ({"features": [[1], [1, 2], [1]]}, "features: not an array"),
    "an edge twice": ({"edges": [(0, 1), (1, 1), (0, 1)]},
        r"edges: \(0, 1\) at place 2 is there already; leave it out"),
    "an edge outside": ({"edges": [(0, 1), (1, 2), (0, 0)]},
        r"edges: \(1, 2\) at place 1 is outside 3 rows and 2 columns"),
    "a negative edge": ({"edges": [(0, 1), (-1, 1), (0, 0)]}, r"edges: \(-1, 1\) at place 1 is outside"),
    "edges that are triples": ({"edges": [(0, 1, 1)]}, r"edges: shape \(1, 3\), expected \(m, 2\)"),
    "edges of differing lengths": ({"edges": [(0, 1), (1,)]}, "edges: not an array of integers"),
    "edges as a matrix of bool": ({"edges": np.eye(3, 2, dtype=bool)},
        r"edges: shape \(3, 2\) of bool, .* np.argwhere\(matrix\)"),
    "half an edge": ({"edges": [(0, 0.5)]}, "edges: 0.5 is not an integer"),
    "edges in words": ({"edges": [("a", "b")]}, "edges: expected integers"),
    "one side only": ({"shape": 3}, r"shape is 3, expected \(J, K\)"),
    "three sides": ({"shape": (3, 2, 2)}, r"shape is \(3, 2, 2\), expected \(J, K\)"),
    "a negative side": ({"shape": (3, -2)}, r"shape is \(3, -2\), expected"),
    "a negative cap": ({"row_caps": [1, -1, 1]}, "row_caps: -1 at place 1 must be 0 or more; 0 means"),
    "caps of other nodes": ({"column_caps": [1, 1, 1]}, r"column_caps has shape \(3,\), expected \(2,\)"),
    "one cap for all": ({"column_caps": 2}, r"column_caps has shape \(\), expected \(2,\)"),
    "half a cap": ({"row_caps": [1, 1.5, 1]}, "row_caps: 1.5 is not an integer"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs_are_refused(name):
    changed, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        Bipartite(**({"shape": (3, 2), "edges": EDGES, "features": FEATURES} | changed))


def test_one_number_an_edge_is_one_feature():
    nodes, edges = np.eye(3), [(0, 1), (1, 2)]
    graph = Graph(nodes, edges, [1.0, 2.0])
    np.testing.assert_array_equal(graph.edge_features, [[1.0], [2.0]])
    assert Graph(nodes, [], []).edge_features.shape[0] == 0
    with pytest.raises(
        ValueError, match=r"edge_features have shape \(3, 1\), expected \(2, n_feat"
    ):
        Graph(nodes, edges, [1.0, 2.0, 3.0])
