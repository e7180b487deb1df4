"""The task `segmentation`: which pixels of an image are foreground, which are background.

A folder with sub-folders images and masks, whose files go together by their names without endings;
or a folder in which photo_mask.png (or photo-mask.png, photo.mask.png) is the mask of photo.jpg; or
an npz file with shape (n, 2), rgb (pixels, 3) and mask (pixels,), images one after another. A mask
has two values, of which the larger is the foreground: 0 and 255, or 0 and 1, or two colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from maxmargin.drawing.png import png_bytes
from maxmargin.formats.images import read_image
from maxmargin.formats.npz import open_seekable, read_npz, write_npz
from maxmargin.formats.text_lines import name_of
from maxmargin.tasks import Segmenter
from maxmargin.tasks.command import Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.sample_names import name_samples
from maxmargin.tasks.segmentation.areas import Areas
from maxmargin.tasks.segmentation.images.files import (
    LAYOUT,
    Pictured,
    images_of,
    in_arrays,
    masks_beside,
    read_pairs,
)
from maxmargin.tasks.segmentation.images.graphs import ImageGraphs
from maxmargin.tasks.segmentation.pictures import area_roles, encode_bytes, image_map
from maxmargin.tasks.segmentation.weight_tables import weight_tables


class SegmentationCommand(TaskCommand):
    """Masks of images, by `Segmenter(kind="images")`."""

    name: ClassVar[str] = "segmentation"
    title: ClassVar[str] = "Segment images"
    summary: ClassVar[str] = "which pixels of an image are foreground and which are background"
    data_help: ClassVar[str] = (
        "Folders. Either with sub-folders images and masks, in which an image and its mask have the"
        " same name but for the ending; or with both side by side, photo.jpg and photo_mask.png."
        " PNG, JPEG, BMP or TIFF; images are turned upright as their EXIF entry says, and"
        " transparent parts are taken for white. A mask is as large as its image and has two values"
        " in all its pixels, of which the larger is the foreground; masks in JPEG are cut at 128."
        " Or"
        " .npz files with shape (n, 2), the rows and columns of each image, rgb (pixels, 3) uint8"
        " and mask (pixels,), row after row, one image after another."
    )
    predict_help: ClassVar[str] = (
        "Reads images, or folders of images. Writes masks as PNG, 255 where the foreground is and 0"
        " elsewhere: of one image to stdout or the file --out, of several images or of folders one"
        " each, photo.png of photo.jpg, into the folder --out. Of an .npz file, an .npz file with"
        " shape and mask."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train segmentation --data photos --out RUN",
        "train segmentation --data photos --validation others --segments 2000 --out RUN",
        "predict RUN photo.jpg --out mask.png",
        "predict RUN new1.jpg new2.jpg --out masks",
        "evaluate RUN others",
    )
    #: of both families, and the simplest one beside them
    compared = ("bcfw", "dual-extragradient", "perceptron")
    one_each: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "graph",
            ("superpixels", "pixels"),
            "superpixels",
            "What has a label: patches of like pixels, or each pixel by itself.",
        ),
        Option(
            "segments",
            int,
            ImageGraphs().n_segments,
            "About how many superpixels an image is made of.",
        ),
        Option(
            "tables",
            bool,
            False,
            "Learn four weights for each feature of neighbours, one for each pair of labels,"
            " instead of what it costs that labels differ.",
        ),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError(f"no data were given; {LAYOUT}.")
        values = _Values()
        found = [values.seen(own, path) for path in paths for own in read_pairs(path)]
        masks = [values.foreground(own.mask) for own in found]
        names = [own.name for own in found]
        details = {"names": names, "cut": any(own.cut for own in found)}
        return _with_counts(Data([own.image for own in found], masks, details=details))

    def parts(self, paths: Sequence[Path]) -> list[tuple[Path, str]]:
        files = [file for path in paths for file in (images_of(path) if path.is_dir() else [path])]
        return [
            (path, path.name if path.suffix == ".npz" else f"{path.stem}.png") for path in files
        ]

    def misnamed(self, source: Path | None, out: Path) -> str:
        kinds = (".png", ".npz") if source is None else (Path(self.parts([source])[0][1]).suffix,)
        if not out.suffix or out.suffix.lower() in kinds:
            return ""
        what = "arrays are written as npz" if kinds == (".npz",) else "masks are written as PNG"
        return f"{out}: {what}; name the file {out.with_suffix(kinds[0]).name}"

    def truths(self, paths: Sequence[Path]) -> list[Path]:
        return [mask for path in paths for mask in masks_beside(path)]

    def estimator(self, options: Mapping[str, Any]) -> Segmenter:
        options = self.with_defaults(options)
        graphs = ImageGraphs(graph=options["graph"], n_segments=options["segments"])
        return Segmenter("images", graphs=graphs, tables=options["tables"])

    def knows(self, model: Any) -> bool:
        return super().knows(model) and model.kind == "images"

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        details = data.details | {"names": [data.details["names"][i] for i in indices]}
        outputs = [data.outputs[i] for i in indices]
        return _with_counts(Data([data.inputs[i] for i in indices], outputs, details=details))

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        """The mask of one image, or those of one npz file."""
        if len(sources) != 1:
            raise ValueError("masks are made one by one; give one image, or a folder to write to.")
        name = name_of(sources[0])
        with open_seekable(sources[0]) as file:
            start = file.read(2)
            file.seek(0)
            if start == b"PK":
                return _predict_arrays(model, in_arrays(read_npz(file, name), masks=False), sink)
            image = read_image(file, name)
        with name_samples([name]):
            foreground = _foreground(model, image)
        pixels = (foreground * np.uint8(255)).tobytes()
        sink.write(png_bytes(pixels, foreground.shape[0], foreground.shape[1], "grey"))
        sink.flush()
        return 1

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        names, guess = data.details["names"], []
        for name, x in zip(names, data.inputs, strict=True):
            with name_samples([name]):
                guess += model.predict([x])
        areas = Areas(model.classes_, data.outputs, guess, "pixel", names)
        drawings = []
        for i in areas.worst(shown):
            roles = area_roles(model.classes_, data.outputs[i], guess[i])
            own, kept = image_map("", roles)
            drawing = Drawing(
                kind="areas",
                title=areas.title(i),
                errors=areas.errors(i),
                truth_known=True,
                maps=[own],
                labels=["background", "foreground"],
                picture=encode_bytes(_colours(data.inputs[i][kept])),
            )
            drawings.append(drawing)
        return areas.evaluation(data.counts, drawings)

    def describe(self, model: Any) -> list[Table]:
        return weight_tables(model.model_, *model.graphs_.names())


class _Values:
    """The values that masks have: two at most, in all of them together."""

    def __init__(self) -> None:
        self.known: dict[int, str] = {}

    def seen(self, own: Pictured, path: Path) -> Pictured:
        """The same, if its mask has no third value."""
        assert own.mask is not None
        for value in np.unique(own.mask).tolist():
            self.known.setdefault(value, own.name)
            if len(self.known) > 2:
                values = ", ".join(f"{v} (of {name})" for v, name in self.known.items())
                raise ValueError(
                    f"{path}: masks have more than two values: {values}; make them 0 and 255."
                )
        return own

    def foreground(self, mask: np.ndarray | None) -> np.ndarray:
        """1 for the larger of two values, or where there is but one, for all but 0."""
        assert mask is not None
        largest = max(self.known)
        return (mask == largest if len(self.known) > 1 else mask != 0).astype(np.uint8)


def _foreground(model: Any, image: np.ndarray) -> np.ndarray:
    return model.predict([image])[0] == model.classes_[-1]


def _predict_arrays(model: Any, images: Sequence[Pictured], sink: BinaryIO) -> int:
    masks = [_foreground(model, own.image).astype(np.uint8) for own in images]
    shape = np.array([own.shape for own in masks], dtype=np.int32)
    write_npz(sink, {"shape": shape, "mask": np.concatenate([own.ravel() for own in masks])})
    sink.flush()
    return len(masks)


def _colours(pixels: np.ndarray) -> np.ndarray:
    """Of uint8, (..., 3)."""
    if pixels.dtype == np.uint8:
        return pixels
    top = 65535.0 if pixels.dtype == np.uint16 else 1.0
    grey = np.clip(pixels / top, 0.0, 1.0) * 255
    return np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2)


def _with_counts(data: Data) -> Data:
    data.counts = {
        "images": len(data.inputs),
        "pixels": sum(own.shape[0] * own.shape[1] for own in data.inputs),
    }
    if data.details["cut"]:
        data.counts["masks"] = "in JPEG, cut at 128"
    return data
