"""Label sequences: npz files and letters in, labels out, evaluations and tables."""

import io
import json

import numpy as np
import pytest
from scipy import sparse

from maxmargin.features import KernelMap
from maxmargin.formats.npz import read_npz
from maxmargin.tasks.documents import finite_values
from maxmargin.tasks.registry import find_task_command

COMMAND = find_task_command("chain")
RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(1, 6, size=30)
Y = RNG.integers(0, 3, size=LENGTHS.sum())
X = np.eye(4)[Y] + 0.05 * RNG.random((len(Y), 4))


def parts(**changed):
    arrays = {"X": X, "y": Y, "lengths": LENGTHS, "fold": np.arange(30) % 3} | changed
    return {name: value for name, value in arrays.items() if value is not None}


def csr(matrix, **changed):
    matrix = sparse.csr_array(matrix)
    found = {
        "X_data": matrix.data,
        "X_indices": matrix.indices,
        "X_indptr": matrix.indptr,
        "X_shape": np.array(matrix.shape),
    }
    return parts(X=None) | found | changed


def saved(tmp_path, arrays, name="data.npz"):
    np.savez(tmp_path / name, **arrays)
    return tmp_path / name


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = COMMAND.read([saved(tmp_path_factory.mktemp("chain"), parts())], {})
    found = COMMAND.estimator({}).set_params(alpha=1e-3, max_epochs=200)
    COMMAND.fit(found, data)
    return found


@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_dense_and_sparse_files_are_the_same_data(tmp_path, kind):
    y = Y.astype(kind)
    dense = COMMAND.read([saved(tmp_path, parts(y=y))], {})
    loose = COMMAND.read([saved(tmp_path, csr(X, y=y))], {})
    assert dense.counts["sequences"] == 30
    assert dense.counts["rows"] == len(Y)
    assert loose.counts == dense.counts
    for a, b, own in zip(dense.inputs, loose.inputs, dense.outputs, strict=True):
        np.testing.assert_array_equal(a, b.toarray())
        assert own.dtype == y.dtype
    np.testing.assert_array_equal(np.concatenate(loose.outputs), y)


def test_folds_and_subsets(tmp_path):
    path = saved(tmp_path, parts())
    zero = COMMAND.read([path], {"folds": ("0",)})
    rest = COMMAND.read([path], {"folds": ["1-2"]})
    both = COMMAND.read([path], {"folds": ("0,2",)})
    each = COMMAND.read([path], {"folds": ("all",)})
    assert [d.counts["sequences"] for d in (zero, rest, both, each)] == [10, 20, 20, 30]
    assert [len(x) for x in zero.inputs] == LENGTHS[::3].tolist()
    some = COMMAND.take(zero, [3, 1])
    np.testing.assert_array_equal(some.inputs[1], zero.inputs[1])
    assert some.counts["sequences"] == 2


@pytest.mark.parametrize(
    "arrays, options, message",
    [
        (parts(X=None), {}, "array 'X' is missing .* give X .*, the features"),
        (parts(X=X[:, 0]), {}, "array 'X': found 1 dimension"),
        (parts(X=X.astype(str)), {}, "array 'X': found type"),
        (parts(X=X[:0], y=Y[:0]), {}, "array 'X': has 0 rows"),
        (parts(y=None), {}, "array 'y' is missing"),
        (parts(y=Y[1:]), {}, "array 'y': has"),
        (parts(y=Y * np.nan), {}, "array 'y': has nan at .0., expected labels that are finite"),
        (parts(lengths=None), {}, "array 'lengths' is missing"),
        (parts(lengths=LENGTHS[1:]), {}, "array 'lengths': adds up to"),
        (parts(lengths=LENGTHS * 0), {}, "array 'lengths': adds up to 0, expected"),
        (parts(lengths=-LENGTHS), {}, "array 'lengths': expected integers from 0 to"),
        (
            parts(lengths=np.append(LENGTHS, 0)),
            {},
            "array 'lengths': sample 30 has 0 rows; 1 or more is needed",
        ),
        (parts(lengths=np.array([2**63 + 5] * 2, dtype="u8")), {}, "array 'lengths': expected"),
        (parts(fold=None), {"folds": ("0",)}, "array 'fold' is missing"),
        (parts(), {"folds": ("7",)}, "no sequence is in the folds asked for; there are 0, 1, 2"),
        (parts(), {"folds": ("x",)}, "folds: 'x' is not a fold"),
        (parts(), {"image": "3x3"}, "image: 3x3 is 9 pixels, but X has 4 features"),
        (parts(), {"image": "x"}, "image: 'x' is not a size"),
        (csr(X, X_shape=np.array([1, 2, 3])), {}, "array 'X_shape'"),
        (csr(X, X_shape=np.array([10**12, 4])), {}, "array 'X_shape': expected .* below 2.31"),
        (csr(X, X_indptr=np.zeros(3, int)), {}, "array 'X_indptr': has 3 numbers for"),
        (csr(X, X_indptr=np.zeros(len(X) + 1, int)), {}, "array 'X_indptr': expected numbers"),
        (csr(X, X_indices=np.full(X.size, 4)), {}, "'X_indices': expected numbers from 0 to 3"),
        (csr(X, X_indices=np.arange(3)), {}, "array 'X_indices': has 3 numbers"),
        (csr(X, X_data=None), {}, "array 'X_data' has type"),
    ],
)
def test_errors_name_the_array_and_a_hint(tmp_path, arrays, options, message):
    with pytest.raises(ValueError, match=message) as error:
        COMMAND.read([saved(tmp_path, arrays)], options)
    places = ["data.npz", *(f"{name}: " for name in options)]  # an option's error names the option
    assert any(place in str(error.value) for place in places)


def test_files_that_do_not_go_together(tmp_path):
    first = saved(tmp_path, parts())
    with pytest.raises(ValueError, match="'X' has 3 features, the file before has 4"):
        COMMAND.read([first, saved(tmp_path, parts(X=X[:, :3]), "b.npz")], {})
    with pytest.raises(ValueError, match="'y' has texts, the file before has numbers"):
        COMMAND.read([first, saved(tmp_path, parts(y=Y.astype(str)), "b.npz")], {})
    (tmp_path / "text").write_text("neither\n")
    with pytest.raises(
        ValueError, match="line 1: .*not an .npz file, so it was read as letter.data"
    ):
        COMMAND.read([tmp_path / "text"], {})


def test_labels_as_lines_or_as_npz(model, tmp_path):
    path = saved(tmp_path, parts(y=None))
    text, arrays = io.BytesIO(), io.BytesIO()
    with path.open("rb") as a, path.open("rb") as b:
        assert COMMAND.predict(model, [a, b], text, {}) == 60
    with path.open("rb") as a:
        assert COMMAND.predict(model, [a], arrays, {"write": "npz"}) == 30
    arrays.seek(0)
    found = read_npz(arrays)
    np.testing.assert_array_equal(found["y"], Y)
    np.testing.assert_array_equal(found["lengths"], LENGTHS)
    lines = text.getvalue().decode().splitlines()
    assert lines[:30] == lines[30:]
    assert " ".join(lines[:30]).split() == Y.astype(str).tolist()
    with path.open("rb") as a, (tmp_path / "out.npz").open("wb") as sink:
        COMMAND.predict(model, [a], sink, {})
    assert read_npz(tmp_path / "out.npz")["y"].tolist() == Y.tolist()


def test_labels_with_spaces_need_npz(tmp_path):
    data = COMMAND.read([saved(tmp_path, parts(y=np.array(["a b", "c", "d"])[Y]))], {})
    spaced = COMMAND.estimator({}).set_params(max_epochs=3, tol=1.0)
    COMMAND.fit(spaced, data)
    with (tmp_path / "data.npz").open("rb") as source, pytest.raises(ValueError, match="write npz"):
        COMMAND.predict(spaced, [source], io.BytesIO(), {})


def test_labels_that_were_not_learned_are_told(model, tmp_path):
    data = COMMAND.read([saved(tmp_path, parts(y=Y + 50))], {})
    note = COMMAND.evaluate(model, data)["tables"][0]["note"]
    assert note == (
        "30 of 30 sequences have labels that the model has not learned, which count as wrong:"
        " 50, 51, 52."
    )


def test_evaluation(model, tmp_path):
    y = Y.copy()
    last = slice(len(Y) - LENGTHS[-1], None)
    y[last] = (y[last] + 1) % 3
    data = COMMAND.read([saved(tmp_path, parts(y=y))], {})
    found = COMMAND.evaluate(model, data, shown=3)
    assert json.loads(json.dumps(found, allow_nan=False)) == finite_values(found)
    values = {metric["name"]: metric["value"] for metric in found["metrics"]}
    assert values["label error"] == found["error"] == pytest.approx(LENGTHS[-1] / len(Y))
    assert values["sequence error"] == pytest.approx(1 / 30)
    assert np.sum(found["confusion"]["counts"]) == len(Y)
    assert [table["note"] for table in found["tables"]] == ["", ""]
    worst = found["drawings"][0]
    assert (worst["kind"], worst["errors"]) == ("tokens", LENGTHS[-1])
    assert worst["tokens"] == [str(t + 1) for t in range(LENGTHS[-1])]
    assert worst["predicted"] == Y[last].astype(str).tolist()
    with pytest.raises(ValueError, match="are texts, those of the model are numbers"):
        COMMAND.evaluate(model, COMMAND.read([saved(tmp_path, parts(y=Y.astype(str)))], {}))


@pytest.mark.parametrize("arrays", [parts(X=X - 0.5), csr(X)])
def test_rows_are_drawn_as_images(model, tmp_path, arrays):
    data = COMMAND.read([saved(tmp_path, arrays)], {"image": "2x2"})
    drawing = COMMAND.evaluate(model, data, shown=1)["drawings"][0]
    assert (drawing["kind"], drawing["height"], drawing["width"]) == ("images", 2, 2)
    pixels = np.array(drawing["images"])
    assert pixels.shape == (len(drawing["truth"]), 4)
    assert pixels.min() >= 0
    assert pixels.max() == 1


def test_what_the_model_has_learned(model):
    features, pairs, ends = COMMAND.describe(model)
    best = {label: name for label, name, weight in reversed(features["rows"]) if weight > 0}
    assert best == {"0": "feature 0", "1": "feature 1", "2": "feature 2"}
    assert all(isinstance(row[2], float) for row in pairs["rows"])
    assert [row[0] for row in ends["rows"]] == ["0", "1", "2"]


def test_kernels_are_options_and_are_told(tmp_path):
    data = COMMAND.read([saved(tmp_path, parts())], {})
    options = {"kernel": "poly", "degree": 2, "gamma": 0.5, "kernel-size": 6}
    found = COMMAND.estimator(options).set_params(tol=0.01)
    assert (
        found.kernel.get_params()
        == KernelMap("poly", degree=2, gamma=0.5, max_support=6).get_params()
    )
    COMMAND.fit(found, data)
    kernel, pairs, _ = COMMAND.describe(found)
    told = dict(kernel["rows"])
    assert told["kernel"] == "poly"
    assert told["support vectors"] == str(found.n_support_)
    assert len(pairs["rows"]) == 9
    assert COMMAND.evaluate(found, data)["error"] == 0
    assert COMMAND.estimator({}).kernel is None
    with pytest.raises(ValueError, match="--gamma goes with --kernel"):
        COMMAND.estimator({"gamma": 1.0})
    random = COMMAND.estimator({"kernel": "rbf", "kernel-method": "random", "kernel-size": 8})
    random.set_params(tol=0.01)
    COMMAND.fit(random, data)
    assert dict(COMMAND.describe(random)[0]["rows"])["coordinates"] == "8"


def test_letters(data_dir):
    path = data_dir / "ocr_letters" / "letter.data.gz"
    data = COMMAND.read([path], {"folds": ("0",)})
    assert data.counts == {"sequences": 626, "rows": 4617, "features": 128, "labels": 26}
    assert data.details["image"] == (16, 8)
    letters = COMMAND.estimator({}).set_params(max_epochs=1, tol=1.0)
    COMMAND.fit(letters, COMMAND.take(data, range(100)))
    drawing = COMMAND.evaluate(letters, data, shown=1)["drawings"][0]
    assert (drawing["kind"], len(drawing["images"][0])) == ("images", 128)
    sink = io.BytesIO()
    with path.open("rb") as source:
        assert COMMAND.predict(letters, [source], sink, {"folds": ("0",)}) == 6877
    lines = sink.getvalue().decode().splitlines()
    assert sum(len(line.split()) for line in lines) == 52152
