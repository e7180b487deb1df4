"""The task segmentation: images in, masks out."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from maxmargin.cli import main
from maxmargin.formats.npz import read_npz
from maxmargin.tasks import ImageGraphs
from maxmargin.tasks.registry import find_task_command

pytest.importorskip("PIL")
from PIL import Image


@pytest.fixture(scope="module")
def command():
    return find_task_command("segmentation")


def make_image(seed, height=20, width=26):
    """A disc on another colour, in noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    mask = (rows - rng.integers(7, 13)) ** 2 + (columns - rng.integers(8, 18)) ** 2 < 30
    image = np.where(mask[..., None], [180, 80, 60], [70, 130, 90]) + 15 * rng.normal(
        size=(height, width, 3)
    )
    return image.clip(0, 255).astype(np.uint8), mask


def make_folder(folder, seeds, side_by_side=False):
    for name in ("", "images", "masks"):
        if not (side_by_side and name):
            (folder / name).mkdir(parents=True, exist_ok=True)
    for k in seeds:
        image, mask = make_image(k)
        places = (f"p{k}.bmp", f"p{k}_mask.png")
        if not side_by_side:
            places = (f"images/p{k}.png", f"masks/p{k}.png")
        Image.fromarray(image).save(folder / places[0])
        Image.fromarray(mask.astype(np.uint8) * 255).save(folder / places[1])
    return folder


@pytest.fixture(scope="module")
def case(command, tmp_path_factory):
    top = tmp_path_factory.mktemp("images")
    train, test = make_folder(top / "train", range(4)), make_folder(top / "test", (7, 8))
    model = command.estimator({"graph": "pixels"}).set_params(alpha=0.01, max_epochs=60, tol=0.1)
    model.graphs.set_params(features=("colour", "place"), n_bins=0)
    command.fit(model, command.read([train], {}))
    return model, train, test


def test_masks_are_learned(command, case):
    model, _, test = case
    data = command.read([test], {})
    assert data.counts == {"images": 2, "pixels": 1040}
    evaluation = command.evaluate(model, data)
    assert json.loads(json.dumps(evaluation)) == evaluation
    assert evaluation["error"] == pytest.approx(1 - model.score(data.inputs, data.outputs))
    assert evaluation["error"] < 0.1
    assert evaluation["confusion"]["labels"] == ["0", "1"]
    first = evaluation["drawings"][0]
    assert (first["maps"][0]["height"], first["maps"][0]["width"]) == (20, 26)
    assert len(json.dumps(first)) < 20_000
    assert len(command.describe(model)[1]["rows"]) == len(model.graphs_.names()[1])
    assert command.take(data, [1]).details["names"] == ["p8.png"]


def test_a_large_image_is_drawn_small(command, case):
    model = case[0]
    image, mask = make_image(3, 150, 250)
    data = command.read([case[2]], {})
    data.inputs, data.outputs, data.details["names"] = [image], [mask.astype(np.uint8)], ["<b>"]
    (drawing,) = command.evaluate(model, data)["drawings"]
    assert (drawing["maps"][0]["height"], drawing["maps"][0]["width"]) == (76, 128)
    assert len(json.dumps(drawing)) < 60_000


def test_both_layouts_give_the_same(command, case, tmp_path):
    beside = command.read([make_folder(tmp_path / "beside", range(4), side_by_side=True)], {})
    apart = command.read([case[1]], {})
    for a, b in zip(beside.inputs + beside.outputs, apart.inputs + apart.outputs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert beside.details["names"] == [f"p{k}.bmp" for k in range(4)]
    assert {own.dtype for own in apart.outputs} == {np.dtype(np.uint8)}


@pytest.mark.parametrize("values", [(0, 1), (10, 20)])
def test_the_larger_of_two_values_is_the_foreground(command, tmp_path, values):
    folder = make_folder(tmp_path, (0, 1))
    for k in (0, 1):
        mask = np.array(values, dtype=np.uint8)[make_image(k)[1].astype(int)]
        Image.fromarray(mask).save(folder / f"masks/p{k}.png")
    for k, found in enumerate(command.read([folder], {}).outputs):
        np.testing.assert_array_equal(found, make_image(k)[1])


def test_an_image_may_be_all_background_or_all_foreground(command, tmp_path):
    folder = make_folder(tmp_path, (0, 1, 2))
    Image.new("L", (26, 20), 0).save(folder / "masks/p1.png")
    Image.new("L", (26, 20), 255).save(folder / "masks/p2.png")
    found = command.read([folder], {}).outputs
    assert (found[1].max(), found[2].min()) == (0, 1)


def test_jpeg_masks_are_told(command, tmp_path):
    folder = make_folder(tmp_path, (0,))
    (folder / "masks/p0.png").unlink()
    Image.fromarray(make_image(0)[1].astype(np.uint8) * 255).save(folder / "masks/p0.jpg")
    assert command.read([folder], {}).counts["masks"] == "in JPEG, cut at 128"


def test_errors_of_folders_are_named(command, tmp_path):
    folder = make_folder(tmp_path / "a", range(8))
    for k in range(7):
        (folder / f"masks/p{k}.png").unlink()
    Image.new("L", (3, 3)).save(folder / "masks/other.png")
    words = (
        r"no mask of p0\.png, .*p4\.png and 2 more, and no image of other\.png;"
        r" add masks/p0\.png, or give"
    )
    with pytest.raises(ValueError, match=words):
        command.read([folder], {})
    beside = make_folder(tmp_path / "b", range(2), side_by_side=True)
    (beside / "p1_mask.png").unlink()
    with pytest.raises(ValueError, match=r"no mask of p1\.bmp; add p1_mask\.png, or give"):
        command.read([beside], {})
    (folder / "masks").rename(folder / "mask")
    with pytest.raises(ValueError, match="has a folder images, but none called masks"):
        command.read([folder], {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: holds no image"):
        command.read([tmp_path / "empty"], {})
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(ValueError, match=r"file\.txt: is neither a folder nor an npz file"):
        command.read([tmp_path / "file.txt"], {})
    with pytest.raises(ValueError, match="no data were given"):
        command.read([], {})


def test_errors_of_masks_are_named(command, tmp_path):
    folder = make_folder(tmp_path, (0, 1))
    Image.new("L", (25, 20)).save(folder / "masks/p1.png")
    words = r"p1\.png has 25 x 20 pixels, .*p1\.png has 26 x 20; a mask needs the size"
    with pytest.raises(ValueError, match=words):
        command.read([folder], {})
    Image.new("L", (26, 20), 7).save(folder / "masks/p1.png")
    with pytest.raises(ValueError, match=r"more than two values: 0 .*255 .*7 \(of p1\.png\)"):
        command.read([folder], {})
    Image.fromarray(make_image(1)[0]).save(folder / "images/p1.bmp")
    with pytest.raises(ValueError, match=r"p1\.png and p1\.bmp are of one name"):
        command.read([folder], {})


def test_arrays_are_read_and_written(command, case, tmp_path):
    pairs = [make_image(1), make_image(2, 12, 30)]
    arrays = {
        "shape": np.array([mask.shape for _, mask in pairs], dtype=np.int32),
        "rgb": np.concatenate([image.reshape(-1, 3) for image, _ in pairs]),
        "mask": np.concatenate([mask.ravel() for _, mask in pairs]).astype(np.uint8),
        "ids": np.array([4, 9]),
    }
    np.savez(tmp_path / "a.npz", **arrays)
    data = command.read([tmp_path / "a.npz"], {})
    assert data.details["names"] == ["image 4", "image 9"]
    for k, (image, mask) in enumerate(pairs):
        np.testing.assert_array_equal(data.inputs[k], image)
        np.testing.assert_array_equal(data.outputs[k], mask)
    with open(tmp_path / "a.npz", "rb") as source, open(tmp_path / "b.npz", "wb") as sink:
        assert command.predict(case[0], [source], sink, {}) == 2
    found = read_npz(tmp_path / "b.npz")
    wanted = np.concatenate([own.ravel() for own in case[0].predict(data.inputs)])
    np.testing.assert_array_equal(found["mask"], wanted)
    np.testing.assert_array_equal(found["shape"], arrays["shape"])
    for changes, words in (
        ({"mask": arrays["mask"][1:]}, "'mask': has 879 pixels"),
        ({"rgb": arrays["rgb"].astype(np.uint16)}, "'rgb': has shape"),
        ({"shape": arrays["shape"] + 1}, "'shape': says"),
        ({"shape": np.array([[2**31, 2**31]])}, "'shape': has sizes"),
    ):
        np.savez(tmp_path / "c.npz", **(arrays | changes))
        with pytest.raises(ValueError, match=rf"c\.npz: array {words}"):
            command.read([tmp_path / "c.npz"], {})


def test_masks_are_written_as_png(command, case, tmp_path, capsysbinary):
    model, _, test = case
    model.save(tmp_path / "model")
    image = make_image(7)[0]
    wanted = model.predict([image])[0] * 255
    sink = io.BytesIO()
    with open(test / "images/p7.png", "rb") as source:
        assert command.predict(model, [source], sink, {}) == 1
    with Image.open(io.BytesIO(sink.getvalue())) as mask:
        assert mask.mode == "L"
        np.testing.assert_array_equal(np.asarray(mask), wanted)
    assert main(["predict", str(tmp_path / "model"), str(test / "images" / "p7.png")]) == 0
    assert capsysbinary.readouterr().out == sink.getvalue()
    out = tmp_path / "out"
    assert main(["predict", str(tmp_path / "model"), str(test), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["p7.png", "p8.png"]
    assert (out / "p7.png").read_bytes() == sink.getvalue()


@pytest.mark.parametrize(
    "source, out, hint",
    [("p.jpg", "z.jpg", "as PNG; name the file z.png"), ("p.npz", "z.png", "npz; .* z.npz"),
     (None, "z.tif", "as PNG; name the file z.png")],
)  # fmt: skip
def test_a_file_to_write_ends_as_it_is_written(command, source, out, hint):
    assert re.search(hint, command.misnamed(source and Path(source), Path(out)))
    for right in ("z.png", "z.PNG", "z"):
        assert command.misnamed(Path("p.jpg"), Path(right)) == ""


@pytest.mark.parametrize("name", ["images", "masks"])
def test_images_and_true_masks_are_not_written_over(command, case, tmp_path, capsysbinary, name):
    model, _, test = case
    model.save(tmp_path / "model")
    own = test / name / "p7.png"
    before = own.read_bytes()
    image = str(test / "images/p7.png")
    for files, out in (([str(test)], own.parent), ([image], own.parent), ([image], own)):
        assert main(["predict", str(tmp_path / "model"), *files, "--out", str(out)]) == 2
        assert b"p7.png would be replaced" in capsysbinary.readouterr().err
        assert own.read_bytes() == before


def test_options_go_to_the_graphs(command):
    model = command.estimator({"graph": "superpixels", "segments": 77, "tables": True})
    assert (model.kind, model.tables, model.graphs.graph, model.graphs.n_segments) == (
        "images", True, "superpixels", 77,
    )  # fmt: skip
    assert command.estimator({}).graphs.n_segments == ImageGraphs().n_segments
    assert command.knows(model)
    assert not find_task_command("scan").knows(model)
