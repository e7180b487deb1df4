"""The task multilabel: text or arrays in, sets of labels out."""

import io
import json

import numpy as np
import pytest

from maxmargin import MultiLabelSVM
from maxmargin.cli import main
from maxmargin.datasets import make_multilabel
from maxmargin.formats.multi_label import write_multilabel
from maxmargin.formats.npz import read_npz
from maxmargin.tasks.registry import find_task_command

NAMES = np.array(["10", "2", "sea"])


@pytest.fixture(scope="module")
def command():
    return find_task_command("multilabel")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same samples as text and as arrays."""
    folder = tmp_path_factory.mktemp("labels")
    data = make_multilabel(120, 3, 4, signal=2.0, random_state=0)
    for name, part in (("train", slice(0, 80)), ("test", slice(80, 120))):
        X, y = data.X[part], data.y[part]
        with (folder / f"{name}.svm").open("wb") as sink:
            write_multilabel(sink, X, [NAMES[row == 1] for row in y])
        np.savez(folder / f"{name}.npz", X=X, Y=y, labels=NAMES)
    return folder


@pytest.fixture(scope="module", params=["margin", "likelihood"])
def model(command, files, request):
    model = command.estimator({"objective": request.param}).set_params(alpha=0.01, tol=0.02)
    command.fit(model, command.read([files / "train.svm"], {}))
    return model


def test_sets_are_learned(command, files, model):
    data = command.read([files / "test.svm"], {})
    assert isinstance(model, MultiLabelSVM)
    evaluation = command.evaluate(model, data, shown=3)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.3
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    guess = model.predict(data.inputs)
    right = np.mean([a == b for a, b in zip(guess, data.outputs, strict=True)])
    assert named["exact match"] == pytest.approx(right)
    wrong = sorted((len(a ^ b) for a, b in zip(guess, data.outputs, strict=True)), reverse=True)
    assert [own["errors"] for own in evaluation["drawings"]] == wrong[:3]
    assert ("reliability" in evaluation) == (model.objective == "likelihood")


def test_arrays_say_the_same_as_text(command, files):
    text, arrays = (command.read([files / f"test.{kind}"], {}) for kind in ("svm", "npz"))
    assert text.counts == arrays.counts
    assert text.outputs == arrays.outputs
    assert np.array_equal(text.inputs.matrix.toarray(), arrays.inputs.matrix.toarray())
    some = command.take(text, [5, 2])
    assert some.outputs == [text.outputs[5], text.outputs[2]]
    both = command.read([files / "train.svm", files / "test.svm"], {})
    assert both.counts["samples"] == 120


@pytest.mark.parametrize("probable", [False, True])
@pytest.mark.parametrize("write", ["auto", "npz"])
def test_predictions_are_written(command, files, model, write, probable, tmp_path):
    data = command.read([files / "test.svm"], {})
    expected, sink = model.predict(data.inputs), io.BytesIO()
    with (files / "test.svm").open("rb") as source:
        options = {"write": write, "probabilities": probable}
        assert command.predict(model, [source], sink, options) == len(expected)
    if write == "npz":
        (tmp_path / "y.npz").write_bytes(sink.getvalue())
        arrays = read_npz(tmp_path / "y.npz")
        assert arrays["labels"].tolist() == NAMES.tolist()
        assert [set(NAMES[row == 1].tolist()) for row in arrays["Y"]] == expected
        if probable:
            assert np.array_equal(arrays["probabilities"], model.predict_proba(data.inputs))
        return
    lines = sink.getvalue().decode().split("\n")[:-1]
    found = [{own.split("/")[0] for own in line.split(",") if own} for line in lines]
    assert found == expected
    assert all(("/" in line) == probable for line in lines if line)


def test_what_was_learned_is_described(command, model):
    features, pairs = command.describe(model)
    assert {row[0] for row in features["rows"]} == set(NAMES)
    assert len(pairs["rows"]) == 3


def test_labels_that_were_not_learned_count_as_missed(command, model, files, tmp_path):
    text = (files / "test.svm").read_text().splitlines()
    (tmp_path / "new.svm").write_text("lake,2 1:1\n" + "\n".join(text[1:]) + "\n")
    evaluation = command.evaluate(model, command.read([tmp_path / "new.svm"], {}))
    table = {row[0]: row for row in evaluation["tables"][0]["rows"]}
    assert table["lake"][2:] == [0.0, 0.0, 1, 0]


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"Y": None}, r"array 'Y' is missing; give Y \(samples, labels\), zeros and ones"),
        ({"Y": np.full((2, 3), 2)}, r"array 'Y': has 2 at \[0, 0\], expected 0 or 1"),
        ({"Y": np.ones((3, 3))}, r"array 'Y': has 3 rows for 2 samples"),
        ({"labels": np.array(["a", "b"])}, "array 'labels': has 2 names for 3 labels"),
        (
            {"labels": np.array(["a", "b", "a"])},
            r"array 'labels': has 'a' at \[2\], expected no name twice",
        ),
        ({"X": np.ones((2, 0))}, "array 'X'"),
    ],
)
def test_arrays_that_are_wrong(command, tmp_path, arrays, message):
    given = {"X": np.ones((2, 4)), "Y": np.ones((2, 3), dtype=int)} | arrays
    np.savez(tmp_path / "x.npz", **{k: own for k, own in given.items() if own is not None})
    with pytest.raises(ValueError, match=rf"x\.npz: {message}"):
        command.read([tmp_path / "x.npz"], {})


def test_texts_that_are_wrong(command, model, files, tmp_path):
    (tmp_path / "x.svm").write_text("a 5:1\n")
    with (
        (tmp_path / "x.svm").open("rb") as source,
        pytest.raises(ValueError, match="line 1: index 5 is beyond the 4 features"),
    ):
        command.predict(model, [source], io.BytesIO(), {})
    (tmp_path / "x.svm").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"x\.svm: holds no samples"):
        command.read([tmp_path / "x.svm"], {})
    (tmp_path / "x.svm").write_text("a\nb\n")
    with pytest.raises(ValueError, match=r"x\.svm: no sample has a feature"):
        command.read([tmp_path / "x.svm"], {})
    with pytest.raises(ValueError, match="arrays and text do not go together"):
        command.read([files / "train.svm", files / "test.npz"], {})
    (tmp_path / "x.svm").write_text("1:1\n2:1\n")
    with pytest.raises(ValueError, match="no sample has a label"):
        command.fit(command.estimator({}), command.read([tmp_path / "x.svm"], {}))


def test_from_files_to_a_report(files, tmp_path, capsys):
    run = str(tmp_path / "run")
    train = ["train", "multilabel", "--data", str(files / "train.svm"), "--pairs", "tree"]
    train += ["--validation", str(files / "test.svm"), "--alpha", "0.1", "--out", run]
    assert main([*train, "--max-epochs", "20"]) == 0
    said = capsys.readouterr().out
    assert "exact match" in said
    assert main(["predict", run, str(files / "test.svm")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    assert main(["evaluate", run, str(files / "test.svm")]) == 0
    assert "Hamming loss" in capsys.readouterr().out
    assert main(["report", run]) == 0
    assert "exact match" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
