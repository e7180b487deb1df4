"""Labels for sequences of feature rows, from .npz files or the handwritten letters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from maxmargin.estimators import ChainSVM
from maxmargin.formats.npz import write_npz
from maxmargin.formats.text_lines import name_of
from maxmargin.tasks.arrays.chain_files import Y_CURE, chosen, read_sequences
from maxmargin.tasks.arrays.kernel_options import OPTIONS as KERNEL, kernel_of, kernel_table
from maxmargin.tasks.command import MANY_LABELS, OBJECTIVE, Data, Job, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.labels import kind_of, lines_of, texts_of
from maxmargin.tasks.probabilities import CALIBRATE, PROBABILITIES, of_chosen, with_reliability
from maxmargin.tasks.sequences import check_kinds, label_evaluation, titled, weight_table, window
from maxmargin.tasks.tagging.reports import strongest

#: sequences labelled at a time
BATCH = 1000
#: pixels of an image, and images of a sequence, that a report draws
MAX_PIXELS, MAX_IMAGES = 4096, 40


class ChainJob(Job):
    """Label sequences from rows of numbers."""

    name = "chain"
    title = "Label sequences"
    summary = "a label for every row of a sequence of feature rows"
    data_help = (
        "Files .npz as numpy.savez writes them, with X (rows, features) of all sequences row under"
        " row, or X_data, X_indices, X_indptr and X_shape of a CSR matrix; y (rows,), numbers or"
        " texts; lengths (sequences,), the rows of each; and fold (sequences,) if parts are to be"
        " chosen with --folds (validation files are read with the same folds). Or the file"
        " letter.data of handwritten words, plain or gzip."
    )
    predict_help = (
        "Reads the same files, y not needed. Writes text, one line a sequence with its labels"
        " separated by spaces; or, if the output file is called .npz or with --write npz, the"
        " arrays y and lengths. With --probabilities, each label of the text is followed by / and"
        " how probable it is, and the arrays have probabilities, too."
    )
    examples = (
        "train chain --data train.npz --validation dev.npz --out runs/chain",
        "train chain --data letter.data.gz --folds 0 --out runs/letters",
        "predict runs/chain new.npz > labels.txt",
        "evaluate runs/letters letter.data.gz --folds 1-9",
        "train chain --data letter.data.gz --folds 0 --kernel rbf --out runs/rbf",
    )
    options = (
        Option(
            "folds",
            str,
            (),
            "Only sequences of these folds: 0, 1-9, 0,2-4 or all (the default).",
            many=True,
            of_data=True,
            kept=False,
        ),
        Option(
            "image",
            str,
            "",
            "Draw each row as an image, HEIGHTxWIDTH, e.g. 16x8 (known for letters).",
            of_data=True,
        ),
        Option(
            "write",
            ("auto", "text", "npz"),
            "auto",
            "What predict writes. auto: npz if the output file is called .npz, else text.",
            of_data=True,
        ),
        MANY_LABELS,
        OBJECTIVE,
        *KERNEL,
        CALIBRATE,
        PROBABILITIES,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        options = self.with_defaults(options)
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        inputs: list[Any] = []
        outputs: list[np.ndarray] = []
        image = None
        for path in paths:
            found = chosen(read_sequences(path), options["folds"], name_of(path))
            if found.y is None:
                raise ValueError(f"{name_of(path)}: array 'y' is missing; {Y_CURE}")
            if inputs and inputs[0].shape[1] != found.X[0].shape[1]:
                raise ValueError(
                    f"{name_of(path)}: array 'X' has {found.X[0].shape[1]} features, the file"
                    f" before has {inputs[0].shape[1]}; all files need the same."
                )
            if outputs and kind_of(outputs[0]) != kind_of(found.y[0]):
                raise ValueError(
                    f"{name_of(path)}: array 'y' has {kind_of(found.y[0])}, the file before has"
                    f" {kind_of(outputs[0])}; all files need labels of one kind."
                )
            inputs += found.X
            outputs += found.y
            image = found.image
        extra = {"image": _image(options["image"], inputs[0].shape[1]) or image}
        return Data(inputs, outputs, _facts(inputs, outputs), extra)

    def estimator(self, options: Mapping[str, Any]) -> ChainSVM:
        options = self.with_defaults(options)
        return ChainSVM(objective=options["objective"], kernel=kernel_of(options))

    def widths(self, sample: Any) -> dict[str, int]:
        return {"features": int(sample.shape[1])}

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        inputs = [data.inputs[i] for i in indices]
        outputs = [data.outputs[i] for i in indices]
        return Data(inputs, outputs, data.facts | _facts(inputs, outputs), data.extra)

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        options = self.with_defaults(options)
        as_npz = options["write"] == "npz" or (
            options["write"] == "auto" and ".npz" in Path(str(getattr(sink, "name", ""))).name
        )
        found: list[np.ndarray] = []
        known: list[np.ndarray] = []
        count = 0
        for source in sources:
            X = read_sequences(source).X
            for start in range(0, len(X), BATCH):
                batch = X[start : start + BATCH]
                labels = model.predict(batch)
                count += len(labels)
                shares = of_chosen(model, batch, labels) if options["probabilities"] else []
                if as_npz:
                    found += labels
                    known += shares
                else:
                    sink.write("".join(lines_of(labels, shares)).encode())
        if as_npz:
            lengths = np.array([len(own) for own in found], dtype=np.int64)
            y = np.concatenate(found) if found else model.classes_[:0]
            arrays = {"y": y, "lengths": lengths}
            if options["probabilities"]:
                arrays["probabilities"] = np.concatenate([np.empty(0), *known])
            write_npz(sink, arrays)
        sink.flush()
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        check_kinds(model, data.outputs)
        guess = model.predict(data.inputs)
        truth, predicted = ([texts_of(own) for own in y] for y in (data.outputs, guess))

        def drawn(i: int, errors: int) -> Drawing:
            return _drawing(i, errors, data, truth[i], predicted[i])

        known = texts_of(model.classes_)
        evaluation = label_evaluation(truth, predicted, data.facts, drawn, shown, known)
        return with_reliability(evaluation, model, data)

    def describe(self, model: Any) -> list[Table]:
        labels = texts_of(model.classes_)
        kernel = kernel_table(model)
        features = [
            (label, f"feature {j}", model.node_coef_[j, k])
            for k, label in enumerate(labels)
            for j in strongest(model.node_coef_[:, k], 5)
        ]
        pairs = model.transition_coef_
        neighbours = [
            (labels[j // len(labels)], labels[j % len(labels)], pairs.ravel()[j])
            for j in strongest(pairs.ravel(), 20)
        ]
        ends = [(label, model.first_[k], model.last_[k]) for k, label in enumerate(labels)]
        title = "Strongest features of each label"
        return [
            kernel or weight_table(title, ("label", "feature", "weight"), features),
            weight_table("Strongest pairs of neighbours", ("left", "right", "weight"), neighbours),
            Table(
                title="First and last labels",
                columns=["label", "as first", "as last"],
                rows=[[label, float(first), float(last)] for label, first, last in ends],
                note="",
            ),
        ]


def _image(text: str, n_features: int) -> tuple[int, int] | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,6})[x*](\d{1,6})", str(text).strip(), re.ASCII)
    if match is None:
        raise ValueError(f"image: {text!r} is no size; give HEIGHTxWIDTH, e.g. 16x8.")
    height, width = int(match[1]), int(match[2])
    if height * width != n_features:
        raise ValueError(
            f"image: {height}x{width} is {height * width} pixels, but X has {n_features} features."
        )
    return height, width


def _facts(inputs: Sequence[Any], outputs: Sequence[np.ndarray]) -> dict[str, Any]:
    facts = {"sequences": len(inputs), "rows": sum(x.shape[0] for x in inputs)}
    if inputs:
        facts["features"] = int(inputs[0].shape[1])
        facts["labels"] = len(np.unique(np.concatenate(outputs)))
    return facts


def _drawing(i: int, errors: int, data: Data, truth: list[str], predicted: list[str]) -> Drawing:
    part = window(truth, predicted)
    image = data.extra.get("image")
    if image is not None and image[0] * image[1] <= MAX_PIXELS:
        part = slice(part.start, min(part.stop, part.start + MAX_IMAGES))
    drawing = Drawing(
        kind="tokens",
        title=titled(f"Sequence {i + 1}", errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=[str(t + 1) for t in range(part.start, part.stop)],
        truth=truth[part],
        predicted=predicted[part],
    )
    if image is not None and image[0] * image[1] <= MAX_PIXELS:
        drawing["kind"] = "images"
        drawing["height"], drawing["width"] = image
        drawing["images"] = _pixels(data.inputs[i][part])
    return drawing


def _pixels(rows: Any) -> list[list[float]]:
    """Rows scaled to numbers from 0 to 1."""
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    low, high = min(rows.min(), 0.0), rows.max()
    scaled = (rows - low) / (high - low) if high > low else np.zeros_like(rows)
    return np.round(scaled, 3).tolist()
