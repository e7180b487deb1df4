"""The task graph: arrays in, labels of nodes out."""

import io
import json

import numpy as np
import pytest
from scipy import sparse

from maxmargin import GraphCutSVM
from maxmargin.formats.npz import read_npz
from maxmargin.tasks.registry import find_task_command


@pytest.fixture(scope="module")
def command():
    return find_task_command("graph")


def grid(height, width):
    number = np.arange(height * width).reshape(height, width)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    return np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])


def make_arrays(n, seed=0, names=("land", "sea")):
    """Grids whose left part has one label, seen through noise."""
    rng = np.random.default_rng(seed)
    found = {"nodes": [], "edges": [], "labels": []}
    for _ in range(n):
        height, width = rng.integers(4, 8, size=2)
        label = np.zeros((height, width), dtype=int)
        label[:, : rng.integers(1, width)] = 1
        noise = rng.normal(size=(height * width, 2))
        found["nodes"].append(label.reshape(-1, 1) * 2 - 1 + 1.2 * noise)
        found["edges"].append(grid(height, width))
        found["labels"].append(np.array(names)[label.ravel()])
    counts = {
        "n_nodes": [len(x) for x in found["nodes"]],
        "n_edges": list(map(len, found["edges"])),
    }
    arrays = {key: np.concatenate(own) for key, own in found.items()}
    return arrays | {key: np.array(own) for key, own in counts.items()}


def saved(folder, arrays, name="x.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


def one_graph(**changes):
    arrays = {
        "nodes": np.arange(6.0).reshape(3, 2),
        "edges": np.array([[0, 1], [2, 1]]),
        "labels": np.array([0, 1, 1]),
    }
    arrays |= changes
    return {key: value for key, value in arrays.items() if value is not None}


@pytest.fixture(scope="module")
def case(command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    train, test = (saved(folder, make_arrays(n, n), f"{n}.npz") for n in (40, 12))
    model = command.estimator({}).set_params(alpha=0.01)
    command.fit(model, command.read([train], {}))
    return model, train, test


def test_labels_of_nodes_are_learned(command, case):
    model, _, test = case
    data = command.read([test], {})
    assert isinstance(model, GraphCutSVM)
    evaluation = command.evaluate(model, data, shown=3)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.1
    guess = np.concatenate(model.predict(data.inputs))
    truth = np.concatenate(data.outputs)
    counts = [
        [int(np.sum((truth == a) & (guess == b))) for b in ("land", "sea")] for a in ("land", "sea")
    ]
    assert evaluation["confusion"] == {"labels": ["land", "sea"], "counts": counts}
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    both = counts[1][1]
    overlap = both / (sum(counts[1]) + counts[0][1])
    assert named["IoU"] == pytest.approx(overlap)
    assert named["accuracy"] == pytest.approx(1 - named["node error"])
    assert named["mean IoU"] == pytest.approx((overlap + counts[0][0] / (len(truth) - both)) / 2)
    labels, samples = evaluation["tables"]
    assert [row[0] for row in labels["rows"]] == ["land", "sea"]
    assert len(samples["rows"]) == 12
    wrong = [row[2] for row in samples["rows"]]
    assert wrong == sorted(wrong, reverse=True)
    assert sum(wrong) == np.sum(truth != guess)
    assert [drawing["errors"] for drawing in evaluation["drawings"]] == wrong[:3]


def test_a_file_without_parts_is_one_graph(command, tmp_path):
    data = command.read([saved(tmp_path, one_graph())], {})
    assert len(data) == 1
    assert data.inputs[0].edges.tolist() == [[0, 1], [2, 1]]
    assert data.inputs[0].edge_features.tolist() == [[1.0], [1.0]]
    assert data.outputs[0].tolist() == [0, 1, 1]
    assert data.counts == {
        "graphs": 1, "nodes": 3, "edges": 2, "features": 2, "edge features": 1,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["pointers", "counts"])
def test_samples_are_as_written(command, tmp_path, kind):
    nodes = sparse.csr_array(np.eye(5))
    arrays = {
        "nodes_data": nodes.data,
        "nodes_indices": nodes.indices,
        "nodes_indptr": nodes.indptr,
        "nodes_shape": np.array([5, 5]),
        "edges": np.array([[1, 0], [0, 2], [1, 2]]),
        "edge_features": np.array([[1.0, 0.5], [2.0, 0.0], [3.0, 0.1]]),
        "labels": np.array(["a", "b", "b", "a", "b"]),
    }
    parts = {"node_ptr": [0, 2, 5], "edge_ptr": [0, 1, 3]}
    if kind == "counts":
        parts = {"n_nodes": [2, 3], "n_edges": [1, 2]}
    data = command.read([saved(tmp_path, arrays | parts)], {})
    assert [own.nodes.toarray().argmax(axis=1).tolist() for own in data.inputs] == [
        [0, 1],
        [2, 3, 4],
    ]
    assert [own.edges.tolist() for own in data.inputs] == [[[1, 0]], [[0, 2], [1, 2]]]
    assert data.inputs[1].edge_features.tolist() == [[2.0, 0.0], [3.0, 0.1]]
    assert [own.tolist() for own in data.outputs] == [["a", "b"], ["b", "a", "b"]]
    part = command.take(data, [1])
    assert (part.counts["nodes"], part.outputs[0].tolist()) == (3, ["b", "a", "b"])


def test_predictions_are_lines_or_arrays(command, case, tmp_path):
    model, _, test = case
    wanted = model.predict(command.read([test], {}).inputs)
    sink = io.BytesIO()
    with open(test, "rb") as source:
        assert command.predict(model, [source], sink, {}) == 12
    assert [line.split() for line in sink.getvalue().decode().splitlines()] == [
        own.tolist() for own in wanted
    ]
    with open(test, "rb") as source, open(tmp_path / "out.npz", "wb") as file:
        command.predict(model, [source], file, {})
    arrays = read_npz(tmp_path / "out.npz")
    np.testing.assert_array_equal(arrays["labels"], np.concatenate(wanted))
    assert arrays["node_ptr"].tolist() == np.cumsum([0, *map(len, wanted)]).tolist()


def test_a_graph_without_edges_is_labelled(command, case, tmp_path):
    path = saved(
        tmp_path, {"nodes": np.array([[3.0, 3.0], [-3.0, -3.0]]), "edges": np.zeros((0, 2))}
    )
    sink = io.BytesIO()
    with open(path, "rb") as source:
        assert command.predict(case[0], [source], sink, {}) == 1
    assert sink.getvalue() == b"sea land\n"


def test_four_tables_can_be_asked_for(command, case):
    model = command.estimator({"tables": True, "bias": False}).set_params(alpha=0.01, max_epochs=20)
    command.fit(model, command.take(command.read([case[1]], {}), range(10)))
    assert model.edge_coef_.shape == (1, 4)
    nodes, edges = command.describe(model)
    assert {row[0] for row in nodes["rows"]} == {"feature 0", "feature 1"}
    assert edges["columns"] == ["feature", "land land", "land sea", "sea land", "sea sea"]
    assert [row[0] for row in edges["rows"]] == ["edge feature 0"]
    plain = command.describe(case[0])
    assert sorted(row[0] for row in plain[0]["rows"]) == ["bias", "feature 0", "feature 1"]
    assert plain[1]["rows"][0][1] >= 0


def test_more_labels_can_be_asked_for(command, case):
    data = command.take(command.read([case[1]], {}), range(6))
    for own in data.outputs:
        own[-3:] = "isle"
    model = command.estimator({"multiclass": True}).set_params(alpha=0.05, tol=0.5, max_epochs=50)
    command.fit(model, data)
    assert command.evaluate(model, data)["confusion"]["labels"] == ["isle", "land", "sea"]
    nodes, edges = command.describe(model)
    assert nodes["columns"] == ["feature", "isle", "land", "sea"]
    assert len(edges["rows"]) == 1


def test_labels_that_the_model_does_not_know_count_as_wrong(command, case, tmp_path):
    arrays = make_arrays(2, 5)
    arrays["labels"] = np.where(arrays["labels"] == "sea", "lake", arrays["labels"])
    evaluation = command.evaluate(case[0], command.read([saved(tmp_path, arrays)], {}))
    assert evaluation["confusion"]["labels"] == ["lake", "land", "sea"]
    lake = evaluation["confusion"]["counts"][0]
    assert lake[0] == 0
    assert evaluation["error"] >= sum(lake) / len(arrays["labels"])
    with pytest.raises(
        ValueError, match="labels of the data are numbers, those of the model are texts"
    ):
        command.evaluate(case[0], command.read([saved(tmp_path, one_graph())], {}))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"nodes": None}, "array 'nodes' is missing"),
        ({"nodes": np.zeros((0, 2))}, "array 'nodes': has 0 rows"),
        ({"nodes": np.array([[1.0, np.nan]] * 3)}, "has nan at \\[0, 1\\]"),
        ({"edges": None}, "array 'edges' is missing"),
        ({"edges": np.array([[0, 3]])}, "array 'edges': sample 0: .*3"),
        ({"edges": np.array([[0, -1]])}, "has -1 at .0, 1., expected integers from 0"),
        ({"edges": np.array([[1, 1]])}, "sample 0: "),
        ({"edges": np.array([[0, 1], [1, 0]])}, "sample 0: "),
        ({"edges": np.array([[0, 1, 2]])}, "has 3 columns"),
        ({"edges": np.array([[0.0, 1.0]])}, "type float64"),
        ({"edge_features": np.ones((3, 1))}, "has 3 rows for 2 edges"),
        ({"labels": None}, "array 'labels' is missing"),
        ({"labels": np.array([0, 1])}, "has 2 labels for 3 nodes"),
        ({"labels": np.array([0, 1, np.nan])}, "has nan at .2., expected labels that are finite"),
        ({"node_ptr": np.array([0, 3])}, "found without edge_ptr or n_edges"),
        ({"node_ptr": np.array([0, 2]), "edge_ptr": np.array([0, 2])}, "does not lead from 0 to 3"),
        ({"n_nodes": np.array([0, 3]), "n_edges": np.array([0, 2])}, "sample 0 has 0"),
        ({"n_nodes": np.array([1, 2]), "n_edges": np.array([2])}, "is of 1 samples, expected 2"),
        ({"n_nodes": np.array([2**62, 3]), "n_edges": np.array([1, 1])}, "integers from 0 to 3"),
        ({"node_ptr": np.array([0, 3, 1, 3]), "edge_ptr": np.arange(4) // 2 * 2}, "sample 1 has"),
    ],
)  # fmt: skip
def test_errors_are_named(command, tmp_path, changes, words):
    path = saved(tmp_path, one_graph(**changes))
    with pytest.raises(ValueError, match=rf"x\.npz: {words}|x\.npz: array .*{words}"):
        command.read([path], {})


def test_files_must_go_together(command, tmp_path):
    first = saved(tmp_path, one_graph())
    for changes, words in (
        ({"nodes": np.ones((3, 4))}, "'nodes' has 4 features of nodes, the file before has 2"),
        ({"edge_features": np.ones((2, 3))}, "'edge_features' has 3 features of edges"),
        ({"labels": np.array(["a", "b", "a"])}, "'labels' has texts, the file before has numbers"),
    ):
        second = saved(tmp_path, one_graph(**changes), "y.npz")
        with pytest.raises(ValueError, match=words):
            command.read([first, second], {})
    assert len(command.read([first, first], {})) == 2
    with pytest.raises(ValueError, match="no data file was given"):
        command.read([], {})
