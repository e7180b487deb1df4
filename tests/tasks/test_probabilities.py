"""Probabilities beside predictions, how true they are, and files to calibrate on."""

import io
import json

import numpy as np
import pytest

from maxmargin.formats.npz import read_npz
from maxmargin.metrics import calibration_error, log_loss
from maxmargin.solvers.base import solvers_for
from maxmargin.tasks import WordAligner
from maxmargin.tasks.registry import find_task_command

NAMES = np.array(["a", "b", "c"])
SENTENCES = ["the/D cat/N sees/V Bob/N", "a/D dog/N barks/V", "Bob/N sleeps/V", "the/D dog/N"]


def chain_arrays(seed, width=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=60)
    X = np.eye(3)[y] + 0.6 * rng.normal(size=(60, 3))
    return {"X": X[:, :width], "y": NAMES[y], "lengths": np.full(15, 4)}


def tree_arrays(seed, width=3):
    own = chain_arrays(seed, width)
    parents = np.tile([1, -1, 1, 2], 15)
    return {"nodes": own["X"], "labels": own["y"], "parents": parents, "n_nodes": own["lengths"]}


ARRAYS = {"chain": chain_arrays, "tree": tree_arrays}
LABELS = {"chain": "y", "tree": "labels"}


def saved(folder, arrays, name="x.npz"):
    np.savez(folder / name, **arrays)
    return folder / name


def fitted(command, path, **options):
    model = command.estimator(options).set_params(alpha=0.05, tol=0.02)
    command.fit(model, command.read([path], {}))
    return model


@pytest.fixture(scope="module", params=list(ARRAYS))
def task(request, tmp_path_factory):
    """A task command, a model trained by likelihood, and a file of the same kind."""
    command, folder = find_task_command(request.param), tmp_path_factory.mktemp(request.param)
    make = ARRAYS[request.param]
    model = fitted(command, saved(folder, make(0)), objective="likelihood")
    return command, model, saved(folder, make(1), "new.npz")


def written(command, model, path, **options):
    sink = io.BytesIO()
    with path.open("rb") as source:
        command.predict(model, [source], sink, options)
    return sink.getvalue()


def chosen(command, model, path):
    """Labels and their probabilities, from the model itself."""
    X = command.read([path], {}).inputs
    labels = model.predict(X)
    places = [np.searchsorted(model.classes_, own) for own in labels]
    p = model.predict_marginals(X)
    return labels, [own[np.arange(len(k)), k] for own, k in zip(p, places, strict=True)]


def test_labels_in_text_are_followed_by_their_probabilities(task):
    command, model, path = task
    lines = written(command, model, path, probabilities=True).decode().splitlines()
    expected = [
        " ".join(f"{label}/{p:.4f}" for label, p in zip(*own, strict=True))
        for own in zip(*chosen(command, model, path), strict=True)
    ]
    assert lines == expected


def test_arrays_have_probabilities_only_if_asked(task, tmp_path):
    command, model, path = task
    (tmp_path / "y.npz").write_bytes(written(command, model, path, write="npz", probabilities=True))
    found = read_npz(tmp_path / "y.npz")
    labels, p = chosen(command, model, path)
    assert np.array_equal(found[LABELS[command.name]], np.concatenate(labels))
    np.testing.assert_array_equal(found["probabilities"], np.concatenate(p))
    (tmp_path / "y.npz").write_bytes(written(command, model, path, write="npz"))
    assert "probabilities" not in read_npz(tmp_path / "y.npz")


def test_evaluations_say_how_true_the_probabilities_are(task):
    command, model, path = task
    data = command.read([path], {})
    evaluation = command.evaluate(model, data, shown=0)
    assert json.loads(json.dumps(evaluation)) == evaluation
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    p, labels = model.predict_marginals(data.inputs), model.classes_
    assert named["log loss"] == pytest.approx(log_loss(data.outputs, p, labels=labels))
    expected = calibration_error(data.outputs, p, 15, labels=labels)
    assert named["calibration error"] == pytest.approx(expected)
    bins = np.array(evaluation["reliability"])
    assert bins[:, 2].sum() == 60
    assert np.average(np.abs(bins[:, 0] - bins[:, 1]), weights=bins[:, 2]) == pytest.approx(
        expected
    )


def test_margins_claim_no_probabilities_until_calibrated(tmp_path):
    command = find_task_command("chain")
    model = fitted(command, saved(tmp_path, chain_arrays(0)))
    data = command.read([saved(tmp_path, chain_arrays(1), "new.npz")], {})
    evaluation = command.evaluate(model, data)
    assert "reliability" not in evaluation
    assert "log loss" not in {own["name"] for own in evaluation["metrics"]}
    before = command.evaluate(model.calibrate(data.inputs, data.outputs), data)
    assert sum(row[2] for row in before["reliability"]) == 60


def test_labels_never_seen_in_training_get_no_probability(task, tmp_path):
    command, model, _ = task
    arrays = ARRAYS[command.name](1)
    key = LABELS[command.name]
    arrays[key] = np.where(np.arange(60) == 7, "zzz", arrays[key])
    data = command.read([saved(tmp_path, arrays)], {})
    evaluation = command.evaluate(model, data)
    named = {own["name"]: own["value"] for own in evaluation["metrics"]}
    assert np.isfinite(named["log loss"])
    p = [np.pad(own, ((0, 0), (0, 1))) for own in model.predict_marginals(data.inputs)]
    labels = [*model.classes_, "zzz"]
    assert named["log loss"] == pytest.approx(log_loss(data.outputs, p, labels=labels))
    assert named["calibration error"] > 0


def test_likelihoods_are_compared_by_solvers_that_can(task):
    command = task[0]
    chosen = command.solvers({"objective": "likelihood"})
    assert len(chosen) == 3
    assert set(chosen) <= set(solvers_for("likelihood"))
    assert set(command.solvers({})) <= set(solvers_for("margin"))


def test_files_to_calibrate_on_are_checked_against_the_data(task, tmp_path):
    command, _, path = task
    data, make, key = command.read([path], {}), ARRAYS[command.name], LABELS[command.name]
    narrow = saved(tmp_path, make(2, width=2), "narrow.npz")
    with pytest.raises(ValueError, match=r"narrow\.npz: has 2 features.*, the data have 3"):
        command.held_out({"calibrate": (narrow,)}, data)
    strange = saved(tmp_path, make(2) | {key: np.repeat("zzz", 60)}, "strange.npz")
    with pytest.raises(ValueError, match=r"strange\.npz: every sample has a label"):
        command.held_out({"calibrate": (strange,)}, data)
    assert command.held_out({}, data) is None


def test_samples_with_unknown_labels_are_left_out_and_counted(task, tmp_path):
    command, _, path = task
    arrays, key = ARRAYS[command.name](3), LABELS[command.name]
    arrays[key] = np.where(np.isin(np.arange(60), (5, 6, 20)), "zzz", arrays[key])
    data = command.read([path], {})
    found = command.held_out({"calibrate": (saved(tmp_path, arrays),)}, data)
    assert found.counts["left out"] == 2  # samples, of four labels each
    assert len(found) == 13
    assert "zzz" not in np.concatenate(found.outputs)


# -- columns ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    path = tmp_path_factory.mktemp("tagging") / "train.txt"
    tokens = [[token.replace("/", " ") for token in own.split()] for own in SENTENCES]
    path.write_text("\n\n".join("\n".join(own) for own in tokens) + "\n")
    return fitted(find_task_command("tagging"), path, objective="likelihood")


def tagged(tagger, text, **options):
    sink, options = io.BytesIO(), {"probabilities": True} | options
    find_task_command("tagging").predict(tagger, [io.BytesIO(text.encode())], sink, options)
    return sink.getvalue().decode()


@pytest.mark.parametrize("between", ["\t", " "])
def test_probabilities_are_a_column_after_the_tag(tagger, between):
    text = f"the{between}X\ndog{between}X\n\nBob{between}X\n"
    p = [own.max(axis=1) for own in tagger.predict_marginals([["the", "dog"], ["Bob"]])]
    (a, b), (c,) = ([f"{x:.4f}" for x in own] for own in p)
    rows = [["the", "X", "D", a], ["dog", "X", "N", b], [""], ["Bob", "X", "N", c]]
    assert tagged(tagger, text) == "".join(f"{between.join(row)}\n" for row in rows)
    replaced = [[*row[:1], *row[2:]] for row in rows]
    expected = "".join(f"{between.join(row)}\n" for row in replaced)
    assert tagged(tagger, text, write="replace") == expected
    bare = [between.join(row[2:]) for row in rows]
    assert tagged(tagger, text, write="only") == "\n".join([*bare, "", ""])


@pytest.mark.parametrize("write, columns", [("append", 4), ("replace", 3)])
def test_lines_that_begin_documents_have_as_many_columns(tagger, write, columns):
    text = "-DOCSTART- O\n\nthe D\ndog N\n\n-DOCSTART- O\n\nBob N\n"
    lines = tagged(tagger, text, write=write).splitlines()
    assert {len(line.split()) for line in lines if line} == {columns}
    assert [line.split()[-2:] for line in lines if line.startswith("-DOC")] == [["O", "1.0000"]] * 2


def test_an_aligner_without_errors_on_held_out_pairs_warns():
    pairs = [(f"a{i} b{i} c{i}".split(), f"A{i} B{i} C{i}".split()) for i in range(40)]
    links = [[(k, k) for k in range(3)]] * 40
    aligner = WordAligner().fit(pairs[:15], links[:15])
    assert aligner.score(pairs[15:], links[15:]) == 1.0
    with pytest.warns(UserWarning, match="every held-out variable is predicted rightly"):
        aligner.calibrate(pairs[15:], links[15:])
