"""LIBSVM's multi-label text, and the loaders that read it."""

import bz2
import gzip
import io
import re
import time

import numpy as np
import pytest

from maxmargin.datasets import load_scene, load_yeast, make_multilabel
from maxmargin.datasets.scene_and_yeast import SCENE
from maxmargin.formats.multi_label import encode_numbers, read_multilabel, write_multilabel

TEXT = b"0,2 1:0.5 3:-1e-3\n 2:1\n\n# all\n1 # none\r\nsea,wood\t1:.25 2:0\n"


def read(text, **options):
    return read_multilabel(io.BytesIO(text), name="x.svm", **options)


def test_lines_are_samples():
    found = read(TEXT)
    assert found.labels == [("0", "2"), (), ("1",), ("sea", "wood")]
    assert found.lines == [1, 2, 5, 6]
    expected = [[0.5, 0, -1e-3], [0, 1, 0], [0, 0, 0], [0.25, 0, 0]]
    assert found.X.toarray().tolist() == expected
    assert read(TEXT, n_features=5).X.shape == (4, 5)
    assert read(gzip.compress(TEXT)).labels == found.labels


def test_what_is_written_is_read_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.5)
    X[3] = 0.0
    labels = [tuple(np.flatnonzero(row).astype(str)) for row in rng.random((20, 4)) < 0.3]
    labels[3] = ()
    sink = io.BytesIO()
    write_multilabel(sink, X, labels)
    found = read(sink.getvalue(), n_features=6)
    assert np.array_equal(found.X.toarray(), X)
    assert found.labels == labels


@pytest.mark.parametrize(
    "line, message",
    [
        (b"1 2", "found '2', expected index:value"),
        (b"1 a:2", "found index 'a', expected an integer from 1"),
        (b"1 0:2", "found index 0, but features are counted from 1"),
        (b"1 -1:2", "found index '-1'"),
        (b"1 1_0:2", "found index '1_0'"),
        (b"1 3:1 2:1", "index 2 after 3; indices must rise"),
        (b"1 2:1 2:1", "index 2 after 2; indices must rise"),
        (b"1 9:1", "index 9 is beyond the 5 features"),
        (b"1 99999999999:1", "index 99999999999 is beyond"),
        (b"1 1:x", "found value 'x', expected a finite number"),
        (b"1 1:nan", "found value 'nan'"),
        (b"1 1:1e999", "found value '1e999'"),
        (b"1 1:1_0", "found value '1_0'"),
        (b"1 1:", "found value ''"),
        (b"1,,2 1:1", "found labels '1,,2'"),
        (b"1,2,1 1:1", "label '1' is there twice"),
        (b"\xff 1:1", "found bytes that are not utf-8 text"),
    ],
)
def test_errors_are_named_by_line(line, message):
    with pytest.raises(ValueError, match=re.escape(f"line 2: {message}")):
        read(b"0 1:1\n" + line + b"\n", n_features=5)


def test_a_label_that_is_there_twice_is_found_in_time():
    many = ",".join(map(str, range(100_000)))
    began = time.process_time()
    with pytest.raises(ValueError, match="label '99999' is there twice"):
        read(f"{many},99999 1:1\n".encode())
    assert time.process_time() - began < 10


def test_labels_beyond_the_last_are_named():
    with pytest.raises(ValueError, match="x.svm, line 1: found label '2', expected a number from"):
        encode_numbers(read(TEXT), 2, "x.svm")
    with pytest.raises(ValueError, match="line 6: found label 'sea'"):
        encode_numbers(read(TEXT), 3, "x.svm")


# -- loaders ---------------------------------------------------------------------------------------
def test_the_published_counts(data_dir):
    scene = load_scene("all", data_dir)
    assert (scene.X.shape, scene.y.shape) == ((2407, 294), (2407, 6))
    assert scene.y.sum(axis=0).tolist() == [427, 364, 397, 433, 533, 431]
    assert (scene.part == "train").sum() == 1211
    assert (0 <= scene.X.min(), scene.X.max() <= 1) == (True, True)
    train = load_yeast("train", data_dir)
    assert (train.X.shape, train.y.shape) == ((1500, 103), (1500, 14))
    assert tuple(train.y.sum(axis=0)) == (476, 645, 598, 532, 441, 378, 261, 289, 98, 161, 198,
                                          1128, 1116, 21)  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm(train.X, axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_files_are_found_and_unpacked(tmp_path, pack, monkeypatch):
    text = b"0,5 1:0.5 294:1\n2 2:0.25\n"
    (tmp_path / "scene").mkdir()
    (tmp_path / "scene" / "scene_test.svm.gz").write_bytes(pack(text))
    for path in (tmp_path, tmp_path / "scene", tmp_path / "scene" / "scene_test.svm.gz"):
        found = load_scene("test", path)
        assert found.y.tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]]
        assert found.X[0, 293] == 1
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    assert load_scene("test").label_names[0] == "beach"


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match='subset=\'dev\' must be "train", "test" or "all"'):
        load_scene("dev")
    with pytest.raises(FileNotFoundError, match="The official copy is https"):
        load_yeast("train", tmp_path)
    (tmp_path / "scene_train.svm").write_bytes(b"6 1:1\n")
    with pytest.raises(ValueError, match="scene_train.svm, line 1: found label '6', expected"):
        load_scene("train", tmp_path)
    (tmp_path / "scene_train.svm").write_bytes(bz2.compress(b"0 1:1\n")[:-4])
    with pytest.raises(ValueError, match="scene_train.svm: damaged bzip2 file"):
        load_scene("train", tmp_path)
    (tmp_path / "scene_train.svm").write_bytes(b"")
    with pytest.raises(ValueError, match="scene_train.svm: the file is empty"):
        load_scene("train", tmp_path)
    with pytest.raises(ValueError, match='subset="all" is of two files'):
        load_scene("all", tmp_path / "scene_train.svm")


def test_a_download_must_have_the_known_counts():
    with pytest.raises(ValueError, match=r"1 samples with label counts \[1, 0, 0, 0, 0, 0\]"):
        SCENE.source("train").check(b"0 1:1\n", "scene_train.bz2")


# -- made ------------------------------------------------------------------------------------------
def test_made_labels_follow_their_weights():
    data = make_multilabel(3000, 3, 2, coupling=2.0, random_state=1)
    assert (data.X.shape, data.y.shape) == ((3000, 2), (3000, 3))
    again = make_multilabel(3000, 3, 2, coupling=2.0, random_state=1)
    assert np.array_equal(again.y, data.y)
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    common = bits @ data.bias + ((bits @ data.pairs) * bits).sum(axis=1) / 2
    scores = data.X @ data.coef.T @ bits.T + common
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = np.bincount(data.y @ [1, 2, 4], minlength=8) / 3000
    np.testing.assert_allclose(found, p.mean(axis=0), atol=0.03)
    with pytest.raises(ValueError, match="n_labels 16 at most: got 10, 17, 3"):
        make_multilabel(10, 17, 3)
