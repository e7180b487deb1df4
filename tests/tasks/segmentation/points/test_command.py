"""The task scan: points in, labels out, as the file was."""

import gzip
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import main
from maxmargin.tasks.folders import predict_folder
from maxmargin.tasks.registry import find_task_command
from maxmargin.tasks.segmentation.points.files import read_scans


@pytest.fixture(scope="module")
def command():
    return find_task_command("scan")


def make_scan(seed, n=300):
    """Ground with a hill, and a table above it."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, n)) * 10
    label = ((x > 3) & (x < 6) & (y > 4) & (y < 8)).astype(int)
    z = 0.1 * x + 4 * label + 0.05 * rng.normal(size=n)
    return np.column_stack([x, y, z]).round(4), label


def lines(points, labels, separator=" "):
    rows = zip(points.tolist(), labels.tolist(), strict=True)
    return "".join(separator.join([*map(str, row), str(own)]) + "\n" for row, own in rows)


@pytest.fixture(scope="module")
def case(command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    for k in range(4):
        raw = lines(*make_scan(k)).encode()
        (folder / f"s{k}.txt").write_bytes(raw)
        (folder / f"s{k}.txt.gz").write_bytes(gzip.compress(raw))
    model = command.estimator({"neighbours": 4, "graph": "knn"}).set_params(
        alpha=1e-2, max_epochs=100, tol=0.05
    )
    command.fit(model, command.read([folder / "s0.txt", folder / "s1.txt.gz"], {}))
    return model, folder


def test_labels_of_points_are_learned(command, case):
    model, folder = case
    data = command.read([folder / "s2.txt", folder / "s3.txt"], {})
    assert data.counts == {"scans": 2, "points": 600}
    evaluation = command.evaluate(model, data, shown=1)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.1
    assert {row[0] for row in evaluation["tables"][1]["rows"]} == {"s2.txt", "s3.txt"}
    (drawing,) = evaluation["drawings"]
    assert [own["name"] for own in drawing["maps"]] == ["from above", "in perspective"]
    assert all(max(own["height"], own["width"]) <= 240 for own in drawing["maps"])
    assert len(json.dumps(drawing)) < 100_000
    part = command.take(data, [1])
    assert (part.details["names"], part.counts["scans"]) == (["s3.txt"], 1)
    assert {table["title"] for table in command.describe(model)} == {
        "Weights of nodes",
        "Weights of edges",
    }


def test_labels_that_were_not_learned_are_told(command, case):
    model, folder = case
    data = command.read([folder / "s2.txt"], {})
    assert command.evaluate(model, data)["tables"][0]["note"] == ""
    data.outputs[0][:3] = 7
    evaluation = command.evaluate(model, data)
    assert evaluation["tables"][0]["note"] == (
        "the model has not learned 7: its points count as wrong"
    )
    assert evaluation["error"] >= 3 / 300


def predicted(command, model, raw, options=None):
    sink = io.BytesIO()
    assert command.predict(model, [io.BytesIO(raw)], sink, options or {}) == 1
    return sink.getvalue()


def test_points_come_back_with_labels(command, case):
    model, _ = case
    points, labels = make_scan(2)
    wanted = lines(points, model.predict([points])[0]).encode()
    assert predicted(command, model, lines(points, labels).encode()) == wanted
    bare = "".join(" ".join(map(str, row)) + "\n" for row in points.tolist()).encode()
    assert predicted(command, model, bare) == wanted
    assert predicted(command, model, bare, {"no-label": True}) == wanted
    assert predicted(command, model, gzip.compress(bare)) == wanted
    named = b"z,y,x\n" + "".join(f"{z},{y},{x}\n" for x, y, z in points.tolist()).encode()
    assert predicted(command, model, named).splitlines()[:2] == [
        b"x,y,z,label",
        wanted.splitlines()[0].replace(b" ", b","),
    ]


def test_further_columns_are_not_taken_for_labels(command):
    points, labels = make_scan(4, 80)
    wide = np.column_stack([points, np.arange(80) % 7])
    model = command.estimator({"features": ("height", "extra")}).set_params(max_epochs=30, tol=0.1)
    model.fit([wide], [labels])
    bare = "".join(" ".join(map(str, row)) + "\n" for row in wide.tolist()).encode()
    wanted = predicted(command, model, lines(wide, labels).encode())
    assert predicted(command, model, bare) == wanted
    assert len(wanted.splitlines()[0].split()) == 5


def test_a_file_without_labels_is_not_judged(command, tmp_path):
    points, labels = make_scan(4, 80)
    wide = np.column_stack([points, np.arange(80) % 7])
    model = command.estimator({"features": ("height", "extra")}).set_params(max_epochs=5, tol=0.1)
    model.fit([wide], [labels])
    (tmp_path / "new.txt").write_text(lines(points, wide[:, 3].astype(int)))
    words = r"new\.txt: 3 columns beside the label, expected 4, .* is its last column no label\?"
    with pytest.raises(ValueError, match=words):
        command.evaluate(model, command.read([tmp_path / "new.txt"], {}))
    (tmp_path / "bare.txt").write_text("1 2 3\n")
    with (
        open(tmp_path / "bare.txt", "rb") as source,
        pytest.raises(ValueError, match=r"bare\.txt has 0 columns after x, y and z, expected 1"),
    ):
        command.predict(model, [source], io.BytesIO(), {})


def test_training_names_the_file_of_a_fault(case, tmp_path, capsys):
    folder = case[1]
    (tmp_path / "odd.txt").write_text("1 2 3 7 0\n4 5 6 7 1\n")
    arguments = ["train", "scan", "--data", str(folder / "s0.txt"), "--out", str(tmp_path / "run")]
    good, odd = str(folder / "s1.txt"), str(tmp_path / "odd.txt")
    assert main([*arguments, "--validation", odd]) == 2
    assert "odd.txt has 1 columns after x, y and z, expected 0" in capsys.readouterr().err
    (tmp_path / "odd.txt").write_text("1 2 3 0\n4 5 6 2\n")
    assert main([*arguments, "--validation", good, odd]) == 2
    assert "odd.txt: its labels have 2, but" in capsys.readouterr().err
    assert main([*arguments[:4], odd, *arguments[4:]]) == 2
    assert "expected two; odd.txt brings the third" in capsys.readouterr().err


def test_arrays_come_back_as_arrays(command, case, tmp_path):
    model, _ = case
    scans = [make_scan(5, 50)[0], make_scan(6, 70)[0]]
    np.savez(tmp_path / "in.npz", points=np.concatenate(scans), ptr=[0, 50, 120])
    with open(tmp_path / "in.npz", "rb") as source, open(tmp_path / "out.npz", "wb") as sink:
        assert command.predict(model, [source], sink, {}) == 2
    found = read_scans(tmp_path / "out.npz")
    for own, points, labels in zip(found, scans, model.predict(scans), strict=True):
        np.testing.assert_array_equal(own.points, points)
        np.testing.assert_array_equal(own.labels, labels)


def test_several_files_go_into_a_folder(command, case, tmp_path):
    model, folder = case
    paths = [folder / "s2.txt", folder / "s3.txt.gz"]
    assert predict_folder(command, model, paths, tmp_path / "out", {}) == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s2.txt", "s3.txt"]
    (own,) = read_scans(tmp_path / "out" / "s3.txt")
    points = make_scan(3)[0]
    np.testing.assert_array_equal(own.points, points)
    np.testing.assert_array_equal(own.labels, model.predict([points])[0])
    with pytest.raises(ValueError, match=r"s2\.txt and .*s2\.txt\.gz would both be written as s2"):
        predict_folder(
            command, model, [folder / "s2.txt", folder / "s2.txt.gz"], tmp_path / "o", {}
        )
    with pytest.raises(ValueError, match=r"s2\.txt would be replaced"):
        predict_folder(command, model, [folder / "s2.txt", folder / "s3.txt"], folder, {})
    assert (folder / "s2.txt").read_text() == lines(*make_scan(2))
    assert not (tmp_path / "o").exists()


def test_an_error_leaves_what_was_done_and_no_half_files(command, case, tmp_path):
    model, folder = case
    (tmp_path / "bad.txt").write_text("1 2 3 0\n1 2\n")
    with pytest.raises(ValueError, match=r"bad\.txt, line 2"):
        predict_folder(
            command, model, [folder / "s2.txt", tmp_path / "bad.txt"], tmp_path / "out", {}
        )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["s2.txt"]


@pytest.mark.parametrize(
    "source, out, hint",
    [
        ("new.txt", "out.ply", "as text, as new.txt is; name the file out.txt"),
        ("new.ply", "out.csv", "as PLY, as new.ply is; name the file out.ply"),
        ("new.npz", "out.txt", "as npz, .* out.npz"),
        ("new.xyz.gz", "out.npz", "as text, .* out.xyz"),
        (None, "out.txt.gz", "not written compressed; name the file out.txt"),
    ],
)
def test_a_file_to_write_ends_as_it_is_written(command, source, out, hint):
    assert re.search(hint, command.misnamed(source and Path(source), Path(out)))
    for right in ("out.csv", "out"):
        assert command.misnamed(Path("new.txt.gz"), Path(right)) == ""


def test_files_must_go_together(command, tmp_path):
    (tmp_path / "a.txt").write_text("1 2 3 0\n4 5 6 1\n")
    for raw, words in (("1 2 3 9 0\n", "4 columns beside"), ("1 2 3 tree\n", "labels are texts")):
        (tmp_path / "b.txt").write_text(raw)
        with pytest.raises(ValueError, match=rf"b\.txt: {words}"):
            command.read([tmp_path / "a.txt", tmp_path / "b.txt"], {})
    (tmp_path / "c.txt").write_text("1 2 3\n")
    with pytest.raises(ValueError, match=r"c\.txt: no column of labels is known; name it with"):
        command.read([tmp_path / "c.txt"], {})
    with pytest.raises(ValueError, match="no-label is for predict"):
        command.read([tmp_path / "a.txt"], {"no-label": True})
    with pytest.raises(ValueError, match="no data file was given"):
        command.read([], {})


def test_a_model_file_tells_its_task(case, tmp_path, capsysbinary):
    """Scans and images are learned by one class."""
    model, folder = case
    model.save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(folder / "s2.txt")]) == 0
    one = capsysbinary.readouterr().out
    assert one.count(b"\n") == 300
    out = tmp_path / "labelled"
    files = [str(folder / "s2.txt"), str(folder / "s3.txt.gz")]
    assert main(["predict", str(tmp_path / "model"), *files, "--out", str(out)]) == 0
    assert (out / "s2.txt").read_bytes() == one
    assert main(["predict", str(tmp_path / "model"), files[0], "--out", str(out)]) == 0
    assert capsysbinary.readouterr().err.endswith(f"wrote 1 prediction to {out}\n".encode())
    for arguments, words in (
        (files, b"name a folder with --out"),
        ([*files, "--out", str(out / "s2.txt")], b"is not a folder"),
        ([files[0], "--out", str(tmp_path / "s2.ply")], b"name the file s2.txt"),
        ([files[0], "-", "--out", str(out)], b"stdin (-) can only be read alone"),
        ([str(folder / "none"), str(folder), "--out", str(out)], b"does not exist"),
    ):
        assert main(["predict", str(tmp_path / "model"), *arguments]) != 0
        assert words in capsysbinary.readouterr().err
    assert maxmargin.load(tmp_path / "model").kind == "points"
