"""The task tree: arrays in, labels of nodes out."""

import io
import json
from itertools import pairwise

import numpy as np
import pytest

from maxmargin import TreeSVM
from maxmargin.formats.npz import read_npz
from maxmargin.tasks.arrays.reports import order_nodes
from maxmargin.tasks.registry import find_task_command

NAMES = np.array(["noun", "verb", "other"])


@pytest.fixture(scope="module")
def command():
    return find_task_command("tree")


def make_arrays(n, seed=0):
    """Trees whose children mostly have the label after their parent's, seen through noise."""
    rng = np.random.default_rng(seed)
    nodes, parents, labels = [], [], []
    for _ in range(n):
        size = int(rng.integers(1, 15))
        parent = np.array([-1, *(int(rng.integers(v)) for v in range(1, size))])
        label = np.zeros(size, dtype=int)
        for v in range(size):
            usual = 0 if v == 0 else label[parent[v]] + 1
            label[v] = usual % 3 if rng.random() < 0.9 else rng.integers(3)
        nodes.append(np.eye(3)[label] + 0.7 * rng.normal(size=(size, 3)))
        parents.append(parent)
        labels.append(NAMES[label])
    return {
        "nodes": np.concatenate(nodes),
        "parents": np.concatenate(parents),
        "labels": np.concatenate(labels),
        "n_nodes": np.array(list(map(len, labels))),
    }


def as_edges(arrays):
    """The same trees told by edges."""
    starts = np.concatenate([[0], np.cumsum(arrays["n_nodes"])])
    edges = []
    for a, b in pairwise(starts):
        parents = arrays["parents"][a:b]
        edges.append([(p, v) for v, p in enumerate(parents) if p >= 0])
    told = {key: own for key, own in arrays.items() if key != "parents"}
    flat = np.array([pair for own in edges for pair in own])
    return told | {"edges": flat, "n_edges": np.array(list(map(len, edges)))}


def saved(folder, arrays, name="x.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


def one_tree(**changes):
    arrays = {
        "nodes": np.arange(6.0).reshape(3, 2),
        "parents": np.array([1, -1, 1]),
        "labels": np.array([0, 1, 1]),
    }
    arrays |= changes
    return {key: value for key, value in arrays.items() if value is not None}


@pytest.fixture(scope="module", params=["margin", "likelihood"])
def case(command, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("trees")
    train, test = (saved(folder, make_arrays(n, n), f"{n}.npz") for n in (80, 20))
    model = command.estimator({"objective": request.param}).set_params(alpha=0.01, tol=0.02)
    command.fit(model, command.read([train], {}))
    return model, test


def test_labels_of_nodes_are_learned(command, case):
    model, test = case
    data = command.read([test], {})
    assert isinstance(model, TreeSVM)
    evaluation = command.evaluate(model, data, shown=3)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.2
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    guess = model.predict(data.inputs)
    wrong = [np.sum(a != b) for a, b in zip(guess, data.outputs, strict=True)]
    assert named["tree error"] == pytest.approx(np.mean(np.array(wrong) > 0))
    assert [own["errors"] for own in evaluation["drawings"]] == sorted(wrong, reverse=True)[:3]
    assert {own["kind"] for own in evaluation["drawings"]} == {"outline"}


def test_edges_say_the_same_as_parents(command, tmp_path):
    arrays = make_arrays(6)
    by_parents = command.read([saved(tmp_path, arrays)], {})
    by_edges = command.read([saved(tmp_path, as_edges(arrays), "e.npz")], {})
    assert by_parents.counts == by_edges.counts
    for a, b in zip(by_parents.inputs, by_edges.inputs, strict=True):
        assert sorted(a.edges.tolist()) == sorted(b.edges.tolist())
        assert np.array_equal(a.nodes, b.nodes)


def test_edge_features_are_those_of_nodes_with_a_parent(command, tmp_path):
    arrays = one_tree(edge_features=np.array([[5.0], [7.0]]))
    (graph,) = command.read([saved(tmp_path, arrays)], {}).inputs
    told = dict(zip(map(tuple, graph.edges.tolist()), graph.edge_features.ravel(), strict=True))
    assert told == {(1, 0): 5.0, (1, 2): 7.0}


@pytest.mark.parametrize("write", ["auto", "text", "npz"])
def test_predictions_are_written(command, case, write, tmp_path):
    model, test = case
    expected = model.predict(command.read([test], {}).inputs)
    sink = io.BytesIO()
    with test.open("rb") as source:
        assert command.predict(model, [source], sink, {"write": write}) == len(expected)
    if write == "npz":
        (tmp_path / "y.npz").write_bytes(sink.getvalue())
        arrays = read_npz(tmp_path / "y.npz")
        assert np.array_equal(arrays["labels"], np.concatenate(expected))
        assert np.diff(arrays["node_ptr"]).tolist() == list(map(len, expected))
    else:
        lines = sink.getvalue().decode().splitlines()
        assert lines == [" ".join(own) for own in expected]


def test_what_was_learned_is_described(command, case):
    features, pairs, ends = command.describe(case[0])
    assert {row[0] for row in features["rows"]} == set(NAMES)
    best = max(pairs["rows"], key=lambda row: row[-1])
    usual = dict(zip(NAMES, np.roll(NAMES, -1), strict=True))
    assert usual[best[1]] == best[2]
    assert [row[0] for row in ends["rows"]] == sorted(NAMES)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"parents": np.array([1, 2, 0])}, r"array 'parents': sample 0: .*cycle"),
        (
            {"parents": np.array([-1, -1, 1])},
            r"sample 0: nodes 0, 1 are 2 roots, .*--forest allows.*n_nodes",
        ),
        (
            {"parents": np.array([-1, -1, -1]), "n_nodes": np.array([1, 2])},
            r"sample 1: nodes 0, 1 are 2 roots, and a tree has one; --forest allows several\.$",
        ),
        ({"parents": None}, r"array 'parents' is missing, and so is 'edges'"),
        (
            {"parents": None, "parent": np.array([1, -1, 1])},
            r"array 'parent': is not known; did you mean 'parents'\?",
        ),
        (
            {"n_nodes": np.array([3]), "node_ptr": np.array([0, 3])},
            r"array 'n_nodes': says what node_ptr says, too",
        ),
        ({"edge_feature": np.ones((2, 1))}, r"array 'edge_feature': .*mean 'edge_features'\?"),
        ({"parents": np.array([1, -1])}, r"array 'parents': has 2 numbers for 3 nodes"),
        ({"parents": np.array([1.5, -1, 1])}, r"array 'parents': .*give parents \(nodes,\)"),
        ({"parents": np.array([7, -1, 1])}, r"array 'parents': sample 0"),
        ({"edges": np.array([[1, 0]])}, r"array 'parents': says what edges says, too"),
        ({"edge_features": np.ones((3, 1))}, r"has 3 rows for 2 nodes with a parent"),
        (
            {"parents": None, "edges": np.array([[0, 1], [1, 2], [2, 0]])},
            r"array 'edges': sample 0: .*cycle",
        ),
        ({"labels": None}, r"array 'labels' is missing"),
    ],
)
def test_errors_name_the_array_and_a_hint(command, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        command.read([saved(tmp_path, one_tree(**changes))], {})


def test_several_roots_may_be_promised(command, tmp_path):
    path = saved(tmp_path, one_tree(parents=np.array([-1, -1, 1])))
    (graph,) = command.read([path], {"forest": True}).inputs
    assert graph.edges.tolist() == [[1, 2]]


def test_children_follow_their_parents():
    order, depth = order_nodes(6, np.array([[2, 0], [2, 5], [0, 1], [3, 4]]))
    assert order == [2, 0, 1, 5, 3, 4]
    assert depth == [0, 1, 2, 1, 0, 1]
