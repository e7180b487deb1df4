"""load_horses: the real arrays, the release's folder and archive, errors."""

import io
import sys
import tarfile
from urllib.error import URLError

import numpy as np
import pytest

from maxmargin.cli.info import _found_in
from maxmargin.datasets import _files, horses, load_horses

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(autouse=True)
def sandbox(tmp_path, monkeypatch):
    """An empty cache, no data folder, and no network."""
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)

    def refuse(url, timeout):
        raise URLError("no route to host")

    monkeypatch.setattr(_files, "urlopen", refuse)


def draw(folder, numbers=(1, 2), larger=2):
    """Pictures as in the release: a white disc on black, the colour pictures larger."""
    for kind in ("rgb", "gray", "figure_ground"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for number in numbers:
        size = np.array([20, 24 + number])
        for kind, scale in (("rgb", larger), ("figure_ground", 1)):
            rows, columns = np.indices(size * scale) / scale
            disc = (rows - 10) ** 2 + (columns - 12) ** 2 < 36
            picture = (disc * 255).astype(np.uint8)
            if kind == "rgb":
                picture = np.stack([picture, picture // 2, 0 * picture], axis=2)
            Image.fromarray(picture).save(folder / kind / f"horse{number:03d}.jpg", quality=95)
    return folder


def store(file, **changed):
    arrays = {
        "ids": np.array([1, 5], dtype=np.int32),
        "shape": np.array([[2, 3], [1, 4]], dtype=np.int32),
        "rgb": np.arange(30, dtype=np.uint8).reshape(10, 3),
        "mask": np.array([0, 1, 0, 1, 1, 0, 0, 0, 1, 1], dtype=np.uint8),
    }
    arrays |= changed
    np.savez(file, **{name: value for name, value in arrays.items() if value is not None})
    return file


def test_counts_of_the_real_arrays(data_dir):
    bunch = load_horses(data_dir)
    assert len(bunch.images) == len(bunch.masks) == len(bunch.ids) == 164
    assert bunch.ids[:3].tolist() == [1, 3, 5]
    pixels = sum(mask.size for mask in bunch.masks)
    assert round(sum(int(mask.sum()) for mask in bunch.masks) / pixels, 3) == 0.254
    for image, mask in zip(bunch.images, bunch.masks, strict=True):
        assert image.dtype == mask.dtype == np.uint8
        assert image.shape == (*mask.shape, 3)
        assert max(mask.shape) == 96
    assert "Borenstein" in bunch.DESCR


def test_arrays_are_cut_in_reading_order(tmp_path):
    bunch = load_horses(store(tmp_path / "horses96_train.npz"))
    assert bunch.ids.tolist() == [1, 5]
    assert bunch.masks[0].tolist() == [[0, 1, 0], [1, 1, 0]]
    assert bunch.masks[1].tolist() == [[0, 0, 1, 1]]
    assert bunch.images[1].tolist() == [[[18, 19, 20], [21, 22, 23], [24, 25, 26], [27, 28, 29]]]


@pytest.mark.parametrize("inside", ["", "weizmann_horses", "weizmann_horse_db"])
def test_the_release_s_folder(tmp_path, inside):
    draw(tmp_path / "data" / inside)
    (tmp_path / "data" / inside / "rgb" / "Thumbs.db").write_bytes(b"")
    bunch = load_horses(tmp_path / "data")
    assert bunch.ids.tolist() == [1, 2]
    for number, image, mask in zip(bunch.ids, bunch.images, bunch.masks, strict=True):
        assert mask.shape == (20, 24 + number)
        assert image.shape == (*mask.shape, 3)
        rows, columns = np.indices(mask.shape)
        np.testing.assert_array_equal(mask, (rows - 10) ** 2 + (columns - 12) ** 2 < 36)
        # What is white in the mask is bright in the picture, which was twice as large.
        assert image[mask == 1][:, 0].mean() > 230
        assert image[mask == 0][:, 0].mean() < 10


def archive_of(folder):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        archive.add(folder, arcname="weizmann_horse_db")
    return raw.getvalue()


def test_the_archive_equals_the_folder(tmp_path):
    folder = draw(tmp_path / "weizmann_horse_db")
    packed = tmp_path / "packed" / "weizmann_horse_db.tar.gz"
    packed.parent.mkdir()
    packed.write_bytes(archive_of(folder))
    loose, own = load_horses(folder), load_horses(packed)
    assert load_horses(packed.parent).ids.tolist() == own.ids.tolist() == loose.ids.tolist()
    for a, b in zip(loose.images + loose.masks, own.images + own.masks, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_download_is_counted(tmp_path, monkeypatch):
    raw = archive_of(draw(tmp_path / "few"))
    monkeypatch.setattr(_files, "urlopen", lambda url, timeout: io.BytesIO(raw))
    with pytest.raises(ValueError, match="2 pictures and 2 masks, expected 328 of each.*kept"):
        load_horses()
    assert not horses.is_in(tmp_path / "cache")
    monkeypatch.setattr(horses, "N_RELEASED", 2)
    assert load_horses().ids.tolist() == [1, 2]
    assert horses.is_in(tmp_path / "cache")
    assert _found_in(tmp_path / "cache") == ["horses"]


def test_the_folder_in_the_environment(tmp_path, monkeypatch):
    draw(tmp_path / "shared" / "weizmann_horses", numbers=(7,))
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path / "shared"))
    assert load_horses().ids.tolist() == [7]


def test_nowhere(tmp_path):
    with pytest.raises(ConnectionError, match="weizmann_horse_db.tar.gz.*By hand: fetch"):
        load_horses()
    with pytest.raises(FileNotFoundError, match="rgb/ and figure_ground/.*horses96_train.npz"):
        load_horses(tmp_path)


@pytest.mark.parametrize("kind, other", [("rgb", "figure_ground"), ("figure_ground", "rgb")])
def test_a_picture_without_partner(tmp_path, kind, other):
    draw(tmp_path)
    (tmp_path / other / "horse002.jpg").unlink()
    with pytest.raises(ValueError, match=f"{kind}/horse002.jpg has no partner in {other}/"):
        load_horses(tmp_path)


def test_damaged_and_empty(tmp_path):
    draw(tmp_path / "a")
    (tmp_path / "a" / "rgb" / "horse002.jpg").write_bytes(b"not a picture")
    with pytest.raises(ValueError, match="rgb/horse002.jpg is not a picture"):
        load_horses(tmp_path / "a")
    draw(tmp_path / "b", numbers=())
    with pytest.raises(ValueError, match="no rgb/horseNNN.jpg"):
        load_horses(tmp_path / "b")
    (tmp_path / "c.tar.gz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not the archive"):
        load_horses(tmp_path / "c.tar.gz")
    np.savez_compressed(tmp_path / "whole.npz", ids=np.arange(50))
    raw = bytearray((tmp_path / "whole.npz").read_bytes())
    raw[60] ^= 0xFF
    for content in (b"nothing", bytes(raw)):
        (tmp_path / "d.npz").write_bytes(content)
        with pytest.raises(ValueError, match="not a file of horses"):
            load_horses(tmp_path / "d.npz")


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"mask": None}, "not a file of horses.*mask"),
        ({"shape": np.array([[2, 3], [1, 5]])}, "do not fit together"),
        ({"ids": np.array([1])}, "do not fit together"),
        ({"mask": np.full(10, 255, dtype=np.uint8)}, "mask 0 or 1"),
        ({"rgb": np.zeros((10, 3))}, "must be uint8"),
        ({"ids": np.array([{}, {}], dtype=object)}, "not a file of horses"),
    ],
)
def test_arrays_that_are_not_horses(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        load_horses(store(tmp_path / "horses96_train.npz", **changed))


def test_without_pillow(tmp_path, monkeypatch):
    draw(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"maxmargin\[images\]"):
        load_horses(tmp_path)
