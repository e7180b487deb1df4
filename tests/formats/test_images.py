"""Image files and masks."""

import io
import struct
import sys
import zlib

import numpy as np
import pytest

from maxmargin.formats import images
from maxmargin.formats.images import read_image, read_mask

PIL = pytest.importorskip("PIL")
from PIL import Image  # noqa: E402

RGB = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
MASK = np.array([[0, 1, 1], [0, 0, 1]], dtype=np.uint8)


def saved(tmp_path, image, name="a.png", **options):
    image.save(tmp_path / name, **options)
    return tmp_path / name


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.tiff"])
def test_colours_are_as_written(tmp_path, name):
    found = read_image(saved(tmp_path, Image.fromarray(RGB), name))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, RGB)


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK", "YCbCr", "RGBA", "LA"])
def test_other_kinds_become_colours(tmp_path, mode):
    image = Image.fromarray(RGB).convert(mode)
    name = {"CMYK": "a.tif", "YCbCr": "a.jpg"}.get(mode, "a.png")
    path = saved(tmp_path, image, name)
    with Image.open(path) as again:
        wanted = np.asarray(again.convert("RGB"))
    np.testing.assert_array_equal(read_image(path), wanted)


def test_transparent_parts_are_white(tmp_path):
    clear = np.dstack([RGB, np.zeros(RGB.shape[:2], dtype=np.uint8)])
    clear[0, 0, 3] = 255
    found = read_image(saved(tmp_path, Image.fromarray(clear)))
    np.testing.assert_array_equal(found[0, 0], RGB[0, 0])
    assert (found[1:] == 255).all()
    palette = Image.fromarray(RGB).convert("P")
    number = int(np.asarray(palette)[2, 3])
    found = read_image(saved(tmp_path, palette, transparency=number))
    assert found[2, 3].tolist() == [255, 255, 255]


def test_greys_of_16_bits_stay(tmp_path):
    deep = np.array([[0, 1000], [40000, 65535]], dtype=np.uint16)
    for name in ("a.png", "a.tif"):
        found = read_image(saved(tmp_path, Image.fromarray(deep), name))
        assert found.dtype == np.uint16
        np.testing.assert_array_equal(found, deep)
    wide = Image.fromarray(np.array([[0, 70000]], dtype=np.int32))
    with pytest.raises(ValueError, match=r"b\.tif: greys are beyond 16 bits"):
        read_image(saved(tmp_path, wide, "b.tif"))


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    path = saved(tmp_path, Image.fromarray(RGB), exif=exif)
    np.testing.assert_array_equal(read_image(path), np.rot90(RGB, -1))


@pytest.mark.parametrize("values", [(0, 1), (0, 255), (3, 7)])
@pytest.mark.parametrize("name", ["m.png", "m.bmp", "m.tif"])
def test_masks_keep_their_values(tmp_path, values, name):
    mask = np.array(values, dtype=np.uint8)[MASK]
    found, cut = read_mask(saved(tmp_path, Image.fromarray(mask), name))
    assert not cut
    np.testing.assert_array_equal(found, mask)


def test_masks_of_many_kinds(tmp_path):
    bits = Image.fromarray(MASK * 255).convert("1")
    np.testing.assert_array_equal(read_mask(saved(tmp_path, bits))[0], MASK)
    palette = Image.fromarray(MASK).convert("P")
    palette.putpalette([9, 9, 9, 200, 0, 0])
    found = read_mask(saved(tmp_path, palette))[0]
    assert len(np.unique(found)) == 2
    for shade in (np.array([[0, 0, 0], [255, 255, 255]]), np.array([[0, 0, 90], [200, 10, 0]])):
        colours = Image.fromarray(shade.astype(np.uint8)[MASK])
        found = read_mask(saved(tmp_path, colours))[0]
        np.testing.assert_array_equal(found == found.max(), MASK == 1)
    deep = Image.fromarray(MASK.astype(np.uint16) * 65535)
    assert read_mask(saved(tmp_path, deep))[0].max() == 65535
    with pytest.raises(ValueError, match=r"f\.tif: a mask of floats"):
        read_mask(saved(tmp_path, Image.fromarray(MASK.astype(np.float32)), "f.tif"))


def test_masks_in_jpeg_are_cut(tmp_path):
    large = np.kron(MASK, np.ones((16, 16), dtype=np.uint8))
    found, cut = read_mask(saved(tmp_path, Image.fromarray(large * 255), "m.jpg", quality=60))
    assert cut
    np.testing.assert_array_equal(found, large.astype(int) * 255)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def forged(width, height, text=b""):
    """A PNG that claims a size, with a text that is packed."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"zTXt", b"a\0\0" + zlib.compress(text))]
    parts += [chunk(b"IDAT", zlib.compress(b"\0" * 100)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    "raw, words",
    [
        (b"", "is not an image in PNG, JPEG, BMP or TIFF"),
        (b"GIF89a" + b"\0" * 50, "is not an image in PNG"),
        (b"just text", "is not an image in PNG"),
        (forged(60_000, 60_000), "has more than 100,000,000 pixels"),
        (forged(12_000, 12_000), "has more than 100,000,000 pixels"),
        (forged(100, 100), "damaged or cut short"),
        (forged(2, 2, b"\0" * (2 << 20)), "damaged or cut short .Decompressed data too large"),
        (forged(2, 2)[:8] + chunk(b"IHDR", b"\0"), "damaged or cut short .Truncated IHDR"),
    ],
)
def test_what_is_no_image_is_named(tmp_path, raw, words):
    (tmp_path / "a.png").write_bytes(raw)
    for read in (read_image, read_mask):
        with pytest.raises(ValueError, match=rf"a\.png: {words}"):
            read(tmp_path / "a.png")
    with pytest.raises(ValueError, match=rf"stdin: {words}"):
        read_image(io.BytesIO(raw), "stdin")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "BMP"])
def test_a_file_cut_short_is_named(tmp_path, form):
    whole = io.BytesIO()
    Image.fromarray(np.repeat(np.repeat(RGB, 9, 0), 9, 1)).save(whole, form)
    (tmp_path / "cut").write_bytes(whole.getvalue()[: len(whole.getvalue()) * 2 // 3])
    with pytest.raises(ValueError, match=r"cut: (damaged or cut short|is not an image)"):
        read_image(tmp_path / "cut")


def test_pages_are_not_guessed(tmp_path):
    frames = [Image.fromarray(RGB), Image.fromarray(RGB)]
    path = saved(tmp_path, frames[0], "a.tif", save_all=True, append_images=frames[1:])
    with pytest.raises(ValueError, match=r"a\.tif: holds 2 images; save them one by one"):
        read_image(path)


def test_a_missing_file_is_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_image(tmp_path / "none.png")


def test_without_pillow_a_hint_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'pip install "maxmargin\[images\]"'):
        read_image(tmp_path / "a.png")
    assert images.FORMATS == ("PNG", "JPEG", "BMP", "TIFF")
