"""The task matching: arrays in, links out."""

import io
import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from maxmargin import MatchingSVM
from maxmargin.domains import Signs
from maxmargin.tasks.registry import find_task_command

WEIGHTS = np.array([1.0, -2.0, 0.5])


@pytest.fixture(scope="module")
def command():
    return find_task_command("matching")


def make_arrays(n, seed=0, sparse=False):
    """Samples whose links are the best assignment of a known score; a third of edges dropped."""
    rng = np.random.default_rng(seed)
    found = {key: [] for key in ("X", "shapes", "edges", "n_edges", "links")}
    for i in range(n):
        rows, columns = rng.integers(2, 6, size=2)
        x = rng.normal(size=(rows, columns, 3))
        score = x @ WEIGHTS
        allowed = rng.random((rows, columns)) < 0.67 if sparse else np.ones((rows, columns), bool)
        allowed[0, 0] = True
        worth = np.where(allowed, np.maximum(score, 0.0), 0.0)
        for j, k in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[j, k] > 0:
                found["links"].append((i, j, k))
        found["X"].append(x[allowed])
        found["edges"].append(np.argwhere(allowed))
        found["shapes"].append((rows, columns))
        found["n_edges"].append(int(allowed.sum()))
    arrays = {key: np.array(found[key]) for key in ("shapes", "links")}
    arrays["X"] = np.concatenate(found["X"])
    if sparse:
        arrays |= {"edges": np.concatenate(found["edges"]), "n_edges": np.array(found["n_edges"])}
    return arrays


def saved(folder, arrays, name="x.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


@pytest.fixture(scope="module", params=[False, True], ids=["all pairs", "candidates"])
def case(request, command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    train = saved(folder, make_arrays(80, 0, request.param), "train.npz")
    test = saved(folder, make_arrays(40, 1, request.param), "test.npz")
    model = command.estimator({})
    command.fit(model, command.read([train], {}))
    return model, train, test


def test_a_matching_is_learned(command, case):
    model, _, test = case
    data = command.read([test], {})
    evaluation = command.evaluate(model, data, shown=5)
    assert evaluation["error"] == pytest.approx(1.0 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.1
    assert json.loads(json.dumps(evaluation)) == evaluation
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    predicted = model.predict(data.inputs)
    exact = [
        np.array_equal(np.unique(own, axis=0), truth)
        for own, truth in zip(predicted, data.outputs, strict=True)
    ]
    assert named["exact"] == np.mean(exact)
    assert named["links predicted"] == sum(map(len, predicted))
    errors = [drawing["errors"] for drawing in evaluation["drawings"]]
    assert len(errors) == 5
    assert errors == sorted(errors, reverse=True)
    first = evaluation["drawings"][0]
    i = int(first["title"].split()[1])
    assert first["truth_known"]
    assert first["sure"] == data.outputs[i].tolist()
    assert (len(first["source"]), len(first["target"])) == data.inputs[i].shape[:2]


def test_samples_are_as_written(command, tmp_path):
    arrays = {
        "X": np.arange(14.0).reshape(7, 2),
        "shapes": np.array([[2, 3], [1, 1]]),
        "links": np.array([[1, 0, 0], [0, 1, 2], [0, 0, 1]]),
    }
    data = command.read([saved(tmp_path, arrays)], {})
    np.testing.assert_array_equal(data.inputs[0], np.arange(12.0).reshape(2, 3, 2))
    np.testing.assert_array_equal(data.inputs[1], [[[12.0, 13.0]]])
    assert [own.tolist() for own in data.outputs] == [[[0, 1], [1, 2]], [[0, 0]]]
    assert data.counts == {"samples": 2, "rows": 3, "columns": 4, "links": 3}
    part = command.take(data, [1])
    assert part.counts == {"samples": 1, "rows": 1, "columns": 1, "links": 1}
    assert part.outputs[0].tolist() == [[0, 0]]
    both = command.read([saved(tmp_path, arrays), saved(tmp_path, arrays, "y.npz")], {})
    assert len(both) == 4


def test_candidates_are_as_written(command, tmp_path):
    arrays = {
        "X": np.eye(3),
        "shapes": np.array([[2, 2], [5, 1]]),
        "edges": np.array([[1, 0], [0, 1], [4, 0]]),
        "n_edges": np.array([2, 1]),
        "links": np.array([[0, 1, 0]]),
    }
    data = command.read([saved(tmp_path, arrays)], {})
    assert data.inputs[0].shape == (2, 2)
    np.testing.assert_array_equal(data.inputs[0].edges, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(data.inputs[1].features, [[0.0, 0.0, 1.0]])
    assert [own.tolist() for own in data.outputs] == [[[1, 0]], []]


def test_predictions_are_lines_of_links(command, case):
    model, _, test = case
    sink = io.BytesIO()
    with open(test, "rb") as source:
        assert command.predict(model, [source], sink, {}) == 40
    lines = sink.getvalue().decode().split("\n")
    assert lines.pop() == ""
    wanted = model.predict(command.read([test], {}).inputs)
    found = [[list(map(int, link.split("-"))) for link in line.split()] for line in lines]
    assert found == [np.unique(own, axis=0).reshape(-1, 2).tolist() for own in wanted]


def test_predictions_as_arrays_can_be_read_again(command, case, tmp_path):
    model, _, test = case
    sink = io.BytesIO()
    with open(test, "rb") as source:
        command.predict(model, [source], sink, {"write": "npz"})
    wanted = model.predict(command.read([test], {}).inputs)
    arrays = dict(np.load(test)) | dict(np.load(io.BytesIO(sink.getvalue())))
    found = command.read([saved(tmp_path, arrays)], {}).outputs
    assert [sorted(map(tuple, own.tolist())) for own in found] == [
        sorted(map(tuple, np.reshape(own, (-1, 2)).tolist())) for own in wanted
    ]


def test_a_sample_without_edges_is_an_empty_line(command, case, tmp_path):
    model = case[0]
    arrays = {"X": np.array([[9.0, -9.0, 0.0]]), "shapes": np.array([[0, 3], [1, 1], [2, 0]])}
    path = saved(tmp_path, arrays)
    sink = io.BytesIO()
    with open(path, "rb") as source:
        assert command.predict(model, [source], sink, {}) == 3
    assert sink.getvalue() == b"\n0-0\n\n"
    with pytest.raises(ValueError, match=r"x\.npz: sample 0 has nothing to link"):
        command.read([path], {})


def test_without_a_truth_there_is_no_error(command, case, tmp_path):
    model, _, test = case
    with np.load(test) as file:
        arrays = {key: file[key] for key in file.files if key != "links"}
    data = command.read([saved(tmp_path, arrays)], {})
    assert data.outputs is None
    evaluation = command.evaluate(model, data, shown=2)
    assert evaluation["error"] is None
    assert [own["name"] for own in evaluation["metrics"]] == ["links predicted"]
    assert not any(drawing["truth_known"] for drawing in evaluation["drawings"])
    with pytest.raises(ValueError, match="no links to learn from"):
        command.fit(MatchingSVM(), data)


def test_a_description_lists_all_weights(command, case):
    model = case[0]
    (table,) = command.describe(model)
    weights = dict(table["rows"])
    assert weights == {
        "feature 0": model.coef_[0],
        "feature 1": model.coef_[1],
        "feature 2": model.coef_[2],
        "bias": model.coef_[3],
    }
    assert table["rows"][0][0] == "feature 1"


def test_options_reach_the_estimator(command, case):
    model = command.estimator({"row-cap": 2, "column-cap": 3, "bias": False})
    assert (model.row_cap, model.column_cap, model.bias) == (2, 3, False)
    assert model.domain is None
    signed = command.estimator({"positive": (0,), "negative": (1, 2)})
    assert isinstance(signed.domain, Signs)
    signed.set_params(solver="dual-extragradient", max_epochs=200, tol=0.4)
    data = command.read([case[1]], {})
    command.fit(signed, command.take(data, range(20)))
    assert signed.coef_[0] >= 0 >= signed.coef_[1]
    assert signed.coef_[2] <= 0  # though the truth has it above


GOOD = {"X": np.ones((4, 1)), "shapes": np.array([[2, 2]]), "links": np.array([[0, 1, 1]])}
SPARSE = GOOD | {"edges": np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), "n_edges": np.array([4])}
BAD = {
    "no X": ({"shapes": GOOD["shapes"]}, r"array 'X' is missing"),
    "no shapes": ({"X": GOOD["X"]}, r"array 'shapes' is missing"),
    "flat X": (GOOD | {"X": np.ones(4)}, r"array 'X': found 1 dimension"),
    "texts": (GOOD | {"X": np.array([["a"]] * 4)}, r"array 'X': found type"),
    "rows": (GOOD | {"X": np.ones((5, 1))}, r"array 'X': has 5 rows, but shapes say 4 pairs"),
    "negative": (
        GOOD | {"shapes": np.array([[-2, -2]])},
        r"'shapes': has -2 at \[0, 0\], expected integers from 0",
    ),
    "huge": (GOOD | {"shapes": np.array([[2**62, 4]])}, r"'shapes': has \d+ at .* to 2\^60"),
    "fractions": (GOOD | {"shapes": np.array([[2.0, 2.0]])}, r"array 'shapes': found type float"),
    "three": (
        GOOD | {"shapes": np.array([[2, 2, 1]])},
        r"array 'shapes': has 3 columns, expected 2",
    ),
    "alone": (GOOD | {"n_edges": np.array([4])}, r"array 'n_edges': found without edges"),
    "short": (SPARSE | {"n_edges": np.array([3])}, r"array 'n_edges': adds up to 3, expected 4"),
    "many": (SPARSE | {"n_edges": np.array([2, 2])}, r"'n_edges': is of 2 samples, expected 1"),
    "nodes": (SPARSE | {"shapes": np.array([[2**40, 2]])}, r"'shapes': has \d+ rows and col"),
    "outside": (SPARSE | {"edges": np.full((4, 2), 7)}, r"array 'edges': sample 0: "),
    "sample": (GOOD | {"links": np.array([[1, 0, 0]])}, r"'links': row 0 is of sample 1, but"),
    "link": (GOOD | {"links": np.array([[0, 0, 2]])}, r"'links': sample 0: found \(0, 2\), but"),
    "twice": (GOOD | {"links": np.array([[0, 1, 1]] * 2)}, r"sample 0: found \(1, 1\) twice"),
    "no edge": (
        SPARSE | {"X": np.ones((3, 1)), "edges": SPARSE["edges"][:3], "n_edges": np.array([3])},
        r"'links': sample 0: found \(1, 1\), which is not one of its edges",
    ),
    "empty": (
        {"X": np.ones((0, 1)), "shapes": np.zeros((0, 2), int)},
        r"no samples \(shapes is empty\)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_name_the_file_and_the_array(command, tmp_path, name):
    arrays, message = BAD[name]
    with pytest.raises(ValueError, match=rf"x\.npz: .*{message}|x\.npz: {message}"):
        command.read([saved(tmp_path, arrays)], {})


def test_good_arrays_are_read(command, tmp_path):
    for arrays in (GOOD, SPARSE):
        assert len(command.read([saved(tmp_path, arrays)], {})) == 1


def test_files_without_samples_are_passed_over(command, tmp_path):
    empty = {"X": np.ones((0, 1)), "shapes": np.zeros((0, 2), int)}
    paths = [saved(tmp_path, empty, "empty.npz"), saved(tmp_path, GOOD)]
    assert len(command.read(paths, {})) == len(command.read(paths[::-1], {})) == 1


def test_files_with_and_without_links_do_not_mix(command, tmp_path):
    plain = saved(tmp_path, {key: GOOD[key] for key in ("X", "shapes")}, "plain.npz")
    linked = saved(tmp_path, GOOD, "linked.npz")
    for paths in ([plain, linked], [linked, plain]):
        with pytest.raises(ValueError, match="some of the files have links and some do not"):
            command.read(paths, {})
    with pytest.raises(ValueError, match="no data file was given"):
        command.read([], {})


def test_what_is_no_archive_is_refused(command, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"X, shapes\n")
    with pytest.raises(ValueError, match=r"x\.npz: "):
        command.read([path], {})
    np.savez(path, X=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match=r"x\.npz: array 'X'"):
        command.read([path], {})


def test_kernels_are_options_and_are_told(command, tmp_path):
    data = command.read([saved(tmp_path, make_arrays(12))], {})
    model = command.estimator({"kernel": "rbf", "kernel-method": "nystroem", "kernel-size": 10})
    command.fit(model.set_params(alpha=0.05, tol=0.05), data)
    (kernel,) = command.describe(model)
    assert dict(kernel["rows"])["support vectors"] == "10"
    assert 0 <= command.evaluate(model, data)["error"] < 0.5
    with pytest.raises(ValueError, match="signs are of features"):
        command.estimator({"kernel": "rbf", "positive": (0,)})
