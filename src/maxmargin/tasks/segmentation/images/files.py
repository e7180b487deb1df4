"""Images paired with their masks: folders, or arrays of an npz file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin.formats.images import SUFFIXES, read_image, read_mask
from maxmargin.formats.npz import Arrays, read_npz

#: of the name of a mask beside its image: photo.png, photo_mask.png
MARKS = ("_mask", "-mask", ".mask")
LAYOUT = (
    "give a folder with sub-folders images and masks, or one with photo.jpg and photo_mask.png side"
    " by side, or an npz file"
)
SHAPE_HINT = "give shape (n, 2), the rows and columns of each image."
RGB_HINT = "give rgb (pixels, 3) uint8, row after row, one image after another."
MASK_HINT = "give mask (pixels,), 0 or another value for each pixel of rgb."


class Pictured(NamedTuple):
    """An image, its mask as it is in the file (None if there is none), and what to call it."""

    image: np.ndarray
    mask: np.ndarray | None
    name: str
    cut: bool = False


def read_pairs(path: Path) -> Iterator[Pictured]:
    """All images of a folder or an npz file, with their masks."""
    if not path.is_dir():
        if not _is_npz(path):
            raise ValueError(f"{path}: is neither a folder nor an npz file; {LAYOUT}.")
        yield from in_arrays(read_npz(path), masks=True)
        return
    for image, mask in _pairs(path):
        pixels = read_image(image)
        values, cut = read_mask(mask)
        if pixels.shape[:2] != values.shape:
            raise ValueError(
                f"{mask} has {_size(values)} pixels, {image} has {_size(pixels)}; a mask needs the"
                " size of its image."
            )
        yield Pictured(pixels, values, image.name, cut)


def _size(pixels: np.ndarray) -> str:
    return f"{pixels.shape[1]} x {pixels.shape[0]}"


def _is_npz(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def images_of(folder: Path) -> list[Path]:
    """The images of a folder, or of its sub-folder images; no masks."""
    inner = folder / "images"
    where = inner if inner.is_dir() else folder
    found = [path for path in _files(where) if inner.is_dir() or _bare(path) is None]
    if not found:
        raise ValueError(f"{where}: holds no image ({', '.join(SUFFIXES)}).")
    return found


def masks_beside(image: Path) -> list[Path]:
    """The masks of an image of a folder images, in the folder masks at its side."""
    own = image.absolute().parent
    if own.name != "images":
        return []
    names = [own.parent / "masks" / f"{image.stem}{suffix}" for suffix in SUFFIXES]
    return [path for path in names if path.is_file()]


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file())


def _bare(path: Path) -> str | None:
    """The stem of the image whose mask it is, by its name; None if it is not a mask."""
    for mark in MARKS:
        if path.stem.lower().endswith(mark) and len(path.stem) > len(mark):
            return path.stem[: -len(mark)]
    return None


def _pairs(folder: Path) -> list[tuple[Path, Path]]:
    """(image, mask), by stem."""
    if (folder / "images").is_dir():
        if not (folder / "masks").is_dir():
            raise ValueError(f"{folder}: has a folder images, but none called masks; {LAYOUT}.")
        masks = [(path, path.stem) for path in _files(folder / "masks")]
        masks = [(path, _bare(path) or stem) for path, stem in masks]
    else:
        masks = [(path, bare) for path in _files(folder) if (bare := _bare(path)) is not None]
    images = _by_stem([(path, path.stem) for path in images_of(folder)])
    known = _by_stem(masks)
    lacking = [images[stem].name for stem in images if stem not in known]
    extra = [known[stem].name for stem in known if stem not in images]
    if lacking or extra:
        errors = [f"no mask of {_listed(lacking)}"] if lacking else []
        errors += [f"no image of {_listed(extra)}"] if extra else []
        stem = Path(lacking[0]).stem if lacking else ""
        mask = f"masks/{stem}.png" if (folder / "images").is_dir() else f"{stem}_mask.png"
        hint = f"add {mask}, or " if lacking else ""
        raise ValueError(f"{folder}: {', and '.join(errors)}; {hint}{LAYOUT}.")
    return [(images[stem], known[stem]) for stem in images]


def _by_stem(files: Sequence[tuple[Path, str]]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path, stem in files:
        if stem in found:
            raise ValueError(f"{path} and {found[stem].name} are of one name; rename one of them.")
        found[stem] = path
    return found


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + rest


def in_arrays(arrays: Arrays, masks: bool) -> list[Pictured]:
    """The images of arrays shape, rgb, mask and ids, as the file of the horses has them."""
    shape = arrays.need("shape", 2, "iu", SHAPE_HINT)
    rgb = arrays.need("rgb", 2, "u", RGB_HINT)
    if rgb.dtype != np.uint8 or rgb.shape[1] != 3:
        raise arrays.wrong("rgb", f"has shape {rgb.shape} and type {rgb.dtype}; {RGB_HINT}")
    if shape.shape[1] != 2 or not len(shape) or shape.min() < 1 or shape.max() > len(rgb):
        raise arrays.wrong("shape", f"has sizes that do not suit the pixels of rgb; {SHAPE_HINT}")
    sizes = shape.astype(np.int64)
    ends = np.cumsum(sizes.astype(object).prod(axis=1)).tolist()
    if ends[-1] != len(rgb):
        raise arrays.wrong("shape", f"says {ends[-1]} pixels, but rgb has {len(rgb)}.")
    mask = None
    if masks:
        mask = arrays.need("mask", 1, "biu", MASK_HINT)
        if len(mask) != len(rgb):
            raise arrays.wrong("mask", f"has {len(mask)} pixels, rgb has {len(rgb)}; {MASK_HINT}")
        if mask.size and int(mask.max()) >= 1 << 62:
            raise arrays.wrong("mask", f"has a number beyond all bounds; {MASK_HINT}")
    ids = _ids(arrays, len(sizes))
    found = []
    for k, (height, width) in enumerate(sizes.tolist()):
        part = slice(ends[k] - height * width, ends[k])
        own = None if mask is None else mask[part].astype(np.int64).reshape(height, width)
        found.append(Pictured(rgb[part].reshape(height, width, 3), own, ids[k]))
    return found


def _ids(arrays: Arrays, count: int) -> list[str]:
    if "ids" not in arrays or arrays["ids"].shape != (count,):
        return [f"image {k}" for k in range(count)]
    return [f"image {own}" for own in arrays["ids"].tolist()]
