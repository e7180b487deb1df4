"""The task `scan`: which of two labels each point of a point cloud has.

Text: one point per line, x y z, further columns if there are any, and the label last, or where
--label-column says; separated by spaces, tabs, commas or semicolons, plain or gzip. From # on a
line is comment. A first line without numbers names the columns.
PLY: ascii or binary; x, y and z of the vertices, their other numbers, and label, class or
classification.
npz: points (N, 3 + further columns) of all scans one after another, labels (N,), ptr (n + 1,) where
they begin and the last ends, and edges (E, 2), pairs of points numbered over the whole file, if
neighbours are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from maxmargin.formats.npz import write_npz
from maxmargin.formats.point_cloud import LABEL_HINT, Cloud, Wish
from maxmargin.tasks import Segmenter
from maxmargin.tasks.command import Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.labels import kind_of
from maxmargin.tasks.sample_names import name_samples
from maxmargin.tasks.segmentation.areas import Areas
from maxmargin.tasks.segmentation.pictures import area_roles, scan_maps
from maxmargin.tasks.segmentation.points.files import NpzLayout, read_scans
from maxmargin.tasks.segmentation.points.graphs import PointGraphs
from maxmargin.tasks.segmentation.weight_tables import weight_tables

SUFFIXES = (".txt", ".xyz", ".csv", ".pts", ".asc", ".ply", ".npz", ".gz")


class ScanCommand(TaskCommand):
    """Two labels for the points of scans, by `Segmenter(kind="points")`."""

    name: ClassVar[str] = "scan"
    title: ClassVar[str] = "Segment point clouds"
    summary: ClassVar[str] = "one of two labels for every point of a laser scan, neighbours alike"
    data_help: ClassVar[str] = (
        "One scan per file, or folders of such files. Text, plain or gzip, with one point per line:"
        " x y z, further columns if there are any, and the label last, separated by spaces, tabs or"
        " commas; from # on a line is comment, and a first line without numbers names the columns."
        " Or PLY, ascii or binary, whose vertices have x, y, z and label (or class). Or .npz with"
        " points (N, 3 or more columns), labels (N,), ptr (scans + 1,) where the scans begin if"
        " there are several, and edges (E, 2) if neighbours are known."
    )
    predict_help: ClassVar[str] = (
        "Reads the same files, labels not needed: where columns have no names, there are labels if"
        " there is a column more than the training data had beside them. Writes all columns and the"
        " predicted label in the same format: of one file to stdout or the file --out, of several"
        " files or of folders a file each, of the same name without .gz, into the folder --out."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train scan --data scan1.txt scan2.txt.gz --validation scan3.txt --out RUN",
        "train scan --data scans.npz --neighbours 8 --alpha 0.001 --out RUN",
        "predict RUN new.ply --out labelled.ply",
        "predict RUN a.txt b.txt --no-label --out labelled",
        "evaluate RUN test.txt",
    )
    #: of both families, and the simplest one beside them
    compared = ("bcfw", "dual-extragradient", "perceptron")
    one_each: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "label-column",
            str,
            "",
            "Which column holds labels: its name, or its number from 1, or -1 for the last. Known"
            " by the names label, class and classification; else the last.",
            of_data=True,
        ),
        Option(
            "no-label",
            bool,
            False,
            "Take no column for labels, whatever it is called (predict).",
            of_data=True,
            kept=False,
        ),
        Option(
            "graph",
            ("auto", "knn", "plane", "surface", "given"),
            "auto",
            "Which points are neighbours: the nearest in space (knn) or seen from above (plane),"
            " corners of a triangle seen from above (surface), those of the file (given). auto:"
            " given where a file has edges, else knn.",
        ),
        Option("neighbours", int, 6, "Of each point, for knn and plane."),
        Option(
            "features",
            ("height", "shape", "spin", "extra"),
            ("height", "shape", "extra"),
            "What is looked at: height above the ground, the shape of the surroundings, spin images"
            " of them, further columns of the file.",
            many=True,
        ),
        Option("up", ("x", "y", "z"), "z", "The axis that points up."),
        Option(
            "tables",
            bool,
            False,
            "Learn four weights for each feature of neighbours, one for each pair of labels,"
            " instead of what it costs that labels differ.",
        ),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        options = self.with_defaults(options)
        if options["no-label"]:
            raise ValueError("no-label is for predict; labels are needed to learn and to compare.")
        clouds: list[Cloud] = []
        for path, _ in self.parts(paths):
            for cloud in read_scans(path, Wish(options["label-column"])):
                if cloud.labels is None:
                    raise ValueError(f"{path}: no column of labels is known; {LABEL_HINT}.")
                if clouds:
                    _check_like(clouds[0], cloud)
                clouds.append(cloud)
        if not clouds:
            raise ValueError("no data file was given; name one at least.")
        names = [Path(cloud.name).name for cloud in clouds]
        outputs = [cloud.labels for cloud in clouds]
        return _with_counts(
            Data([_sample(own) for own in clouds], outputs, details={"names": names})
        )

    def parts(self, paths: Sequence[Path]) -> list[tuple[Path, str]]:
        found: list[Path] = []
        for path in paths:
            if not path.is_dir():
                found.append(path)
                continue
            own = [file for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES]
            if not own:
                raise ValueError(f"{path}: no file there ends in {', '.join(SUFFIXES)}.")
            found += own
        return [(path, path.name.removesuffix(".gz")) for path in found]

    def misnamed(self, source: Path | None, out: Path) -> str:
        if out.suffix.lower() == ".gz":
            return f"{out}: is not written compressed; name the file {out.stem}"
        if source is None or not out.suffix or _form(source) == _form(out):
            return ""
        ending = Path(source.name.removesuffix(".gz")).suffix or ".txt"
        return (
            f"{out}: would be written as {_form(source)}, as {source.name} is; name the file"
            f" {out.with_suffix(ending).name}"
        )

    def estimator(self, options: Mapping[str, Any]) -> Segmenter:
        options = self.with_defaults(options)
        graphs = PointGraphs(
            options["graph"], options["neighbours"], tuple(options["features"]), up=options["up"]
        )
        return Segmenter("points", graphs=graphs, tables=options["tables"])

    def knows(self, model: Any) -> bool:
        return super().knows(model) and model.kind == "points"

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        names = [data.details["names"][i] for i in indices]
        outputs = [data.outputs[i] for i in indices]
        inputs = [data.inputs[i] for i in indices]
        return _with_counts(Data(inputs, outputs, details={"names": names}))

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        """Label the points of one file, written as they were read."""
        options = self.with_defaults(options)
        if len(sources) != 1:
            raise ValueError("scans are labelled file by file; give one, or a folder to write to.")
        bare = 3 + model.graphs_.n_extra_
        wish = Wish(options["label-column"], not options["no-label"], bare)
        clouds = read_scans(sources[0], wish)
        labels = []
        for own in clouds:
            with name_samples([own.name]):
                labels += model.predict([_sample(own)])
        if isinstance(clouds[0].layout, NpzLayout):
            points = [own.points for own in clouds]
            ptr = np.cumsum([0, *map(len, labels)])
            arrays = {"points": np.concatenate(points), "labels": np.concatenate(labels)}
            write_npz(sink, arrays | {"ptr": ptr})
        else:
            clouds[0].layout.write(sink, clouds[0].points, labels[0])
        sink.flush()
        return len(clouds)

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        names, guess = data.details["names"], []
        for name, x in zip(names, data.inputs, strict=True):
            _check_width(name, _points(x), 3 + model.graphs_.n_extra_)
            with name_samples([name]):
                guess += model.predict([x])
        areas = Areas(model.classes_, data.outputs, guess, "point", names)
        drawings = [
            Drawing(
                kind="areas",
                title=areas.title(i),
                errors=areas.errors(i),
                truth_known=True,
                maps=scan_maps(
                    _points(data.inputs[i]), area_roles(model.classes_, data.outputs[i], guess[i])
                ),
                labels=[str(own) for own in model.classes_.tolist()],
            )
            for i in areas.worst(shown)
        ]
        return areas.evaluation(data.counts, drawings)

    def describe(self, model: Any) -> list[Table]:
        return weight_tables(model.model_, *model.graphs_.names())


def _form(path: Path) -> str:
    """The format that a file has by its name."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    return {".ply": "PLY", ".npz": "npz"}.get(ending, "text")


def _sample(cloud: Cloud) -> Any:
    return cloud.points if cloud.edges is None else (cloud.points, cloud.edges)


def _points(sample: Any) -> np.ndarray:
    return sample[0] if isinstance(sample, tuple) else sample


def _check_like(known: Cloud, new: Cloud) -> None:
    """That files go together."""
    assert known.labels is not None
    assert new.labels is not None
    if known.points.shape[1] != new.points.shape[1]:
        raise ValueError(
            f"{new.name}: {new.points.shape[1]} columns beside the label, {known.name} has"
            f" {known.points.shape[1]}; all scans need the same."
        )
    if kind_of(known.labels) != kind_of(new.labels):
        raise ValueError(
            f"{new.name}: labels are {kind_of(new.labels)}, those of {known.name} are"
            f" {kind_of(known.labels)}; all scans need labels of one kind."
        )


def _check_width(name: str, points: np.ndarray, expected: int) -> None:
    """That a labelled file has the columns of the training data."""
    found = points.shape[1]
    if found != expected:
        hint = "; is its last column no label?" if found == expected - 1 else "."
        raise ValueError(
            f"{name}: {found} columns beside the label, expected {expected}, as in training{hint}"
        )


def _with_counts(data: Data) -> Data:
    data.counts = {
        "scans": len(data.inputs),
        "points": sum(len(_points(own)) for own in data.inputs),
    }
    return data
