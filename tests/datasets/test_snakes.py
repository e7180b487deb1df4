"""Snakes: the real arrays, walks of our own, graphs of their pixels, errors."""

from itertools import pairwise

import numpy as np
import pytest

from maxmargin.cli.info import _found_in
from maxmargin.datasets import load_snakes, make_snakes, snake_graphs, snakes

STEPS = snakes.STEPS


@pytest.fixture(autouse=True)
def sandbox(tmp_path, monkeypatch):
    """An empty cache and no data folder."""
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)


def check_snake(image, labels, length=10):
    """Each label once, each next to the one before, where its colour says; blue is the ground."""
    assert np.array_equal(np.sort(labels[labels > 0]), np.arange(1, length + 1))
    assert np.array_equal((image == snakes.BACKGROUND).all(axis=2), labels == 0)
    where = [np.argwhere(labels == k)[0] for k in range(1, length + 1)]
    for a, b in pairwise(where):
        assert tuple((b - a).tolist()) == STEPS[tuple(image[tuple(a)].tolist())]
    inner = labels[1:-1, 1:-1] > 0
    assert inner.sum() == length  # a border of one pixel, and no wider
    assert all(inner.any(axis=axis)[[0, -1]].all() for axis in (0, 1))


def test_counts_of_the_real_arrays(data_dir):
    bunch = load_snakes(data_dir)
    assert (len(bunch.images_train), len(bunch.images_test)) == (200, 100)
    assert sum(y.size for y in bunch.labels_train) == 7566
    assert sum(y.size for y in bunch.labels_test) == 3750
    assert bunch.labels_train[0].dtype == np.int64
    for image, labels in zip(bunch.images_train, bunch.labels_train, strict=True):
        check_snake(image, labels)
    assert "Nowozin" in bunch.DESCR
    assert "snakes" in _found_in(data_dir)


def test_snakes_walk():
    made = make_snakes(20, random_state=3)
    for image, labels in zip(made.images, made.labels, strict=True):
        check_snake(image, labels)
    short = make_snakes(5, length=4)
    for image, labels in zip(short.images, short.labels, strict=True):
        check_snake(image, labels, 4)


def test_same_seed_same_bits_for_any_number():
    a, b = make_snakes(4, random_state=1), make_snakes(2, random_state=np.random.RandomState(1))
    for i in range(2):
        assert np.array_equal(a.images[i], b.images[i])
        assert np.array_equal(a.labels[i], b.labels[i])
    other = make_snakes(2, random_state=2)
    assert any(not np.array_equal(a.images[i], other.images[i]) for i in range(2))


@pytest.mark.parametrize("options", [{"n_images": 0}, {"length": 1}])
def test_no_snake_at_all(options):
    with pytest.raises(ValueError, match="must be 1 or more, length"):
        make_snakes(**options)


# -- graphs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "edges, width", [("plain", 1), ("direction", 2), ("colours", 50), ("neighbourhood", 180)]
)
def test_pixels_are_joined_with_those_right_and_below(edges, width):
    made = make_snakes(2, length=5)
    for graph, labels in zip(snake_graphs(made.images, edges), made.labels, strict=True):
        height, columns = labels.shape
        assert graph.nodes.shape == (labels.size, 45)
        steps = np.diff(graph.edges, axis=1).ravel()
        assert (steps == 1).sum() == height * (columns - 1)
        assert (steps == columns).sum() == (height - 1) * columns
        assert graph.edge_features.shape == (len(steps), width)


def test_features_tell_colours():
    made = make_snakes(1, length=5)
    image, labels = made.images[0], made.labels[0]
    palette = [snakes.BACKGROUND, *STEPS]
    number = np.array([[palette.index(tuple(p)) for p in row] for row in image.tolist()])
    (graph,) = snake_graphs([image], "colours")
    nodes = graph.nodes.reshape(*labels.shape, 3, 3, 5)
    for (r, c), own in np.ndenumerate(number):
        assert nodes[r, c, 1, 1].argmax() == own
        if r > 0 and c > 0:
            assert nodes[r, c, 0, 0].argmax() == number[r - 1, c - 1]
    assert nodes[0, 0, 0].sum() == 0  # outside
    flat = number.ravel()
    for (a, b), features in zip(graph.edges, graph.edge_features.toarray(), strict=True):
        down = int(b - a != 1)
        assert np.flatnonzero(features).tolist() == [25 * down + 5 * flat[a] + flat[b]]
    (wide,) = snake_graphs([image], "neighbourhood")
    for (a, b), features in zip(wide.edges, wide.edge_features.toarray(), strict=True):
        down = int(b - a != 1)
        both = np.concatenate([graph.nodes[a], graph.nodes[b]])
        assert np.array_equal(features[90 * down : 90 * down + 90], both)
        assert features.sum() == both.sum()


def test_images_that_are_no_snakes():
    image = make_snakes(1, length=3).images[0]
    with pytest.raises(ValueError, match="edges='all' must be \"plain\""):
        snake_graphs([image], "all")
    with pytest.raises(ValueError, match=r"image 1 has shape \(4, 4\), expected"):
        snake_graphs([image, np.zeros((4, 4))])
    image[1, 0] = 7
    with pytest.raises(ValueError, match=r"image 0: pixel \(1, 0\) has the colour \(7, 7, 7\)"):
        snake_graphs([image])


# -- files -----------------------------------------------------------------------------------------
def arrays(**changed):
    made = make_snakes(3, length=4)
    found = {}
    for subset, part in (("train", slice(0, 2)), ("test", slice(2, 3))):
        images, labels = made.images[part], made.labels[part]
        found[f"shape_{subset}"] = np.array([y.shape for y in labels], dtype=np.int32)
        found[f"X_{subset}"] = np.concatenate([x.reshape(-1, 3) for x in images])
        found[f"Y_{subset}"] = np.concatenate([y.ravel() for y in labels]).astype(np.uint8)
    return {name: own for name, own in (found | changed).items() if own is not None}


def test_file_folder_parent_and_environment(tmp_path, monkeypatch):
    (tmp_path / "snakes").mkdir()
    file = tmp_path / "snakes" / "snakes.npz"
    np.savez(file, **arrays())
    made = make_snakes(3, length=4)
    for place in (file, file.parent, str(tmp_path)):
        bunch = load_snakes(place)
        found = bunch.images_train + bunch.images_test
        assert all(np.array_equal(a, b) for a, b in zip(found, made.images, strict=True))
        assert np.array_equal(bunch.labels_test[0], made.labels[2])
    with pytest.raises(FileNotFoundError, match=r"no snakes.npz at .*cache.*is a pickle"):
        load_snakes()
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    assert len(load_snakes().images_train) == 2
    assert _found_in(tmp_path) == ["snakes"]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"Y_test": None}, "not a file of snakes .*Y_test.*expected arrays shape_train"),
        ({"X_train": np.zeros((3, 3), np.uint8)}, "train: shape .* do not fit together"),
        ({"shape_test": np.array([[-2, 3]])}, "test: shape .* do not fit together"),
        ({"shape_test": np.ones((1, 2))}, "test: shape .* do not fit together"),
        ({"Y_train": None, "Y_train.x": np.ones(2)}, "not a file of snakes"),
        ({"Y_test": np.array([{}], dtype=object)}, "not a file of snakes"),
    ],
)
def test_errors_of_files(tmp_path, changed, message):
    np.savez(tmp_path / "snakes.npz", **arrays(**changed))
    with pytest.raises(ValueError, match=message):
        load_snakes(tmp_path)


def test_other_types_and_no_archive(tmp_path):
    own = arrays()
    np.savez(tmp_path / "snakes.npz", **own | {"X_test": own["X_test"].astype(float)})
    with pytest.raises(ValueError, match="test: X must be uint8 and Y integers, found float"):
        load_snakes(tmp_path)
    (tmp_path / "snakes.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="not a file of snakes"):
        load_snakes(tmp_path)
