"""The task network: arrays in, labels of nodes out, for graphs with cycles."""

import io
import json

import numpy as np
import pytest
from scipy import sparse

from maxmargin import NetworkSVM
from maxmargin.formats.npz import read_npz
from maxmargin.tasks.registry import find_task_command

NAMES = np.array(["noun", "verb", "other"])


@pytest.fixture(scope="module")
def command():
    return find_task_command("network")


def make_arrays(n, seed=0):
    """Rings whose labels mostly go on by one from node to node, seen through noise."""
    rng = np.random.default_rng(seed)
    found = {"nodes": [], "edges": [], "labels": []}
    for size in 3 * rng.integers(1, 3, size=n):
        labels = (rng.integers(3) + np.arange(size)) % 3
        found["nodes"].append(np.eye(3)[labels] + 0.9 * rng.normal(size=(size, 3)))
        found["edges"].append([(v, (v + 1) % size) for v in range(size)])
        found["labels"].append(NAMES[labels])
    counts = np.array(list(map(len, found["nodes"])))
    arrays = {key: np.concatenate(own) for key, own in found.items()}
    return arrays | {"n_nodes": counts, "n_edges": counts}


def saved(folder, arrays, name="x.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


@pytest.fixture(scope="module", params=["margin", "likelihood"])
def case(command, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("networks")
    train, test = (saved(folder, make_arrays(n, n), f"{n}.npz") for n in (40, 12))
    model = command.estimator({"objective": request.param}).set_params(alpha=0.01, tol=0.02)
    command.fit(model, command.read([train], {}))
    return model, test


def test_labels_of_nodes_are_learned(command, case):
    model, test = case
    data = command.read([test], {})
    assert isinstance(model, NetworkSVM)
    assert data.counts["networks"] == 12
    evaluation = command.evaluate(model, data, shown=3)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.15
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    guess = model.predict(data.inputs)
    wrong = [np.sum(a != b) for a, b in zip(guess, data.outputs, strict=True)]
    assert named["network error"] == pytest.approx(np.mean(np.array(wrong) > 0))
    assert named["proven best"] == 1.0
    assert ("log loss" in named) == (model.objective == "likelihood")
    assert [own["errors"] for own in evaluation["drawings"]] == sorted(wrong, reverse=True)[:3]
    assert {own["kind"] for own in evaluation["drawings"]} == {"tokens"}


def test_edge_features_may_be_sparse(command, tmp_path):
    arrays = make_arrays(3)
    features = np.random.default_rng(0).integers(0, 2, size=(len(arrays["edges"]), 4)) * 1.5
    rows = sparse.csr_array(features)
    four = {
        "edge_features_data": rows.data,
        "edge_features_indices": rows.indices,
        "edge_features_indptr": rows.indptr,
        "edge_features_shape": rows.shape,
    }
    dense = command.read([saved(tmp_path, arrays | {"edge_features": features})], {})
    found = command.read([saved(tmp_path, arrays | four)], {})
    for own, other in zip(found.inputs, dense.inputs, strict=True):
        assert np.array_equal(own.edge_features.toarray(), other.edge_features)
    short = arrays | four
    del short["edge_features_shape"]
    with pytest.raises(ValueError, match="edge_features_indptr and edge_features_shape of a CSR"):
        command.read([saved(tmp_path, short)], {})


@pytest.mark.parametrize("write", ["auto", "npz"])
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
    else:
        assert sink.getvalue().decode().splitlines() == [" ".join(own) for own in expected]


def test_what_was_learned_is_described(command, case):
    features, pairs = command.describe(case[0])
    assert {row[0] for row in features["rows"]} == set(NAMES)
    assert pairs["columns"] == ["edge", "first end", "second end", "weight"]
    best = max(pairs["rows"], key=lambda row: row[-1])
    following = dict(zip(NAMES, np.roll(NAMES, -1), strict=True))
    assert following[best[1]] == best[2]


def test_options_reach_the_estimator(command, tmp_path):
    options = {"method": "bounded", "transitions": False, "bias": False, "ends": True}
    model = command.estimator(options)
    assert {name: getattr(model, name) for name in options} == options
    assert command.knows(model)
    assert not find_task_command("tree").knows(model)
    data = command.read([saved(tmp_path, make_arrays(5))], {})
    command.fit(model.set_params(alpha=10.0), data)
    titles = [table["title"] for table in command.describe(model)]
    assert titles == ["Strongest features of each label", "Roots and leaves"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"edges": np.array([[0, 7]])}, r"array 'edges': sample 0: .*outside 3 nodes"),
        ({"edges": None}, r"array 'edges' is missing"),
        ({"edges": None, "parents": np.array([1, -1, 1])}, r"array 'edges' is missing"),
        ({"labels": None}, r"array 'labels' is missing"),
        ({"edge_features": np.ones((1, 2))}, r"has 1 rows for 3 edges"),
    ],
)
def test_errors_name_the_array_and_a_hint(command, tmp_path, changes, message):
    arrays = {
        "nodes": np.arange(6.0).reshape(3, 2),
        "edges": np.array([[0, 1], [1, 2], [2, 0]]),
        "labels": np.array([0, 1, 1]),
    } | changes
    kept = {key: value for key, value in arrays.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        command.read([saved(tmp_path, kept)], {})
