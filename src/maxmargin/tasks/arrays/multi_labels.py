"""The task `multilabel`: any number of labels for each row of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.estimators import MultiLabelSVM
from maxmargin.estimators.label_rows import TextRows
from maxmargin.estimators.probabilities import fits_probabilities
from maxmargin.formats.npz import write_npz
from maxmargin.formats.text_lines import name_of
from maxmargin.metrics import MultiLabelReport, log_loss, multi_label_scores, reliability
from maxmargin.tasks.arrays.multi_label_files import Y_CURE, LabelSets, read_label_sets
from maxmargin.tasks.command import OBJECTIVE, Data, Job, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Metric, Table
from maxmargin.tasks.probabilities import BINS, CALIBRATE, PROBABILITIES
from maxmargin.tasks.sequences import weight_table
from maxmargin.tasks.tagging.reports import strongest

#: samples predicted at a time
BATCH = 2000
#: labels of one sample that a report shows
MAX_SHOWN = 40


class MultiLabelJob(Job):
    """Sets of labels, by `MultiLabelSVM`."""

    name: ClassVar[str] = "multilabel"
    title: ClassVar[str] = "Choose several labels"
    summary: ClassVar[str] = "any number of labels for a row of features, chosen together"
    data_help: ClassVar[str] = (
        "Text in LIBSVM's multi-label format, plain or gzip, one line a sample: its labels,"
        " separated by commas, then index:value of its features, counted from 1, zeros left out. A"
        " line without labels starts with its features. Or files .npz as numpy.savez writes them,"
        " with X (samples, features), or X_data, X_indices, X_indptr and X_shape of a CSR matrix; Y"
        " (samples, labels), zeros and ones; and labels (labels,), their names, if they have any."
    )
    predict_help: ClassVar[str] = (
        "Reads the same files; of text, the labels do not matter, and of arrays, Y is not needed."
        " Writes text, one line a sample with its labels separated by commas, empty if it has none;"
        " or, if the output file is called .npz or with --write npz, the arrays Y and labels. With"
        " --probabilities, each label of the text is followed by / and how probable it is, and the"
        " arrays have probabilities (samples, labels), too."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train multilabel --data scene_train.svm.gz --alpha 0.03 --out runs/scene",
        "train multilabel --data train.npz --pairs tree --objective likelihood --out RUN",
        "predict runs/scene new.svm > labels.txt",
        "evaluate runs/scene scene_test.svm.gz",
    )
    options: ClassVar[tuple[Option, ...]] = (
        Option("bias", bool, True, "Learn a constant for each label."),
        Option(
            "pairs",
            ("all", "tree", "none"),
            "all",
            "Which pairs of labels have weights: all; those of a tree, chosen by mutual"
            " information; or none, so that each label is learned by itself.",
        ),
        Option(
            "pair-features",
            bool,
            False,
            "Let the weights of pairs depend on the features, not only on the pair.",
        ),
        Option(
            "method",
            ("auto", "exact", "bounded"),
            "auto",
            "How the best labels are found: exact, for 25 labels at most or pairs without cycles;"
            " bounded, for more, with a proof of how far they are off; auto, exact for 20.",
        ),
        Option(
            "write",
            ("auto", "text", "npz"),
            "auto",
            "What predict writes. auto: npz if the output file is called .npz, else text.",
            of_data=True,
        ),
        OBJECTIVE,
        CALIBRATE,
        PROBABILITIES,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        found: list[LabelSets] = []
        for path in paths:
            own = read_label_sets(path)
            if own.sets is None:
                raise ValueError(f"{name_of(path)}: array 'Y' is missing; {Y_CURE}.")
            if found:
                _check_widths(found[0], own, name_of(path))
            found.append(own)
        width = max(own.rows.matrix.shape[1] for own in found)
        matrix = sparse.vstack([own.rows.widened(width).matrix for own in found], format="csr")
        sets = [labels for own in found for labels in own.sets or ()]
        rows = TextRows(matrix, all(own.rows.open for own in found))
        names = sorted({name for own in found for name in own.names}, key=_natural)
        return Data(rows, sets, _facts(rows, sets, names), {"names": names})

    def estimator(self, options: Mapping[str, Any]) -> MultiLabelSVM:
        own = self.with_defaults(options)
        return MultiLabelSVM(
            objective=own["objective"],
            bias=own["bias"],
            pairs=None if own["pairs"] == "none" else own["pairs"],
            pair_features=own["pair-features"],
            method=own["method"],
        )

    def fit(self, model: Any, data: Data, folder: Path | None = None) -> None:
        assert data.outputs is not None
        if not any(data.outputs):
            raise ValueError("no sample has a label; there is nothing to learn.")
        model.fit(data.inputs, data.outputs)

    def widths(self, sample: Any) -> dict[str, int]:
        return {} if sample.open else {"features": int(sample.matrix.shape[1])}

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        assert isinstance(data.inputs, TextRows)
        rows = data.inputs[np.asarray(indices, dtype=np.int64)]
        sets = [data.outputs[i] for i in indices]
        names = data.extra["names"]
        return Data(rows, sets, data.facts | _facts(rows, sets, names), data.extra)

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        options = self.with_defaults(options)
        as_npz = options["write"] == "npz" or (
            options["write"] == "auto" and ".npz" in Path(str(getattr(sink, "name", ""))).name
        )
        names = [str(own) for own in model.classes_.tolist()]
        found = [np.empty((0, len(names)), dtype=np.int64)]
        shares = [np.empty((0, len(names)))]
        count = 0
        for source in sources:
            rows = read_label_sets(source, model.n_features_in_).rows
            for start in range(0, len(rows), BATCH):
                batch = rows[start : start + BATCH]
                on = _matrix(model.predict(batch), names)
                p = model.predict_proba(batch) if options["probabilities"] else None
                count += len(on)
                if as_npz:
                    found.append(on)
                    shares.append(np.empty((0, len(names))) if p is None else p)
                else:
                    sink.write("".join(_lines(on, p, names)).encode())
        if as_npz:
            arrays = {"Y": np.concatenate(found), "labels": np.array(names)}
            if options["probabilities"]:
                arrays["probabilities"] = np.concatenate(shares)
            write_npz(sink, arrays)
        sink.flush()
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        known = [str(own) for own in model.classes_.tolist()]
        unseen = sorted({own for y in data.outputs for own in y} - set(known), key=_natural)
        names = [*known, *unseen]
        truth = _matrix(data.outputs, names)
        predicted = _matrix(model.predict(data.inputs), names)
        report = multi_label_scores(truth, predicted, names)
        errors = (truth != predicted).sum(axis=1)
        worst = sorted(range(len(truth)), key=lambda i: (-errors[i], i))[: max(shown, 0)]
        evaluation = Evaluation(
            data=dict(data.facts),
            error=report.hamming_loss,
            error_name="Hamming loss",
            metrics=_metrics(report),
            tables=[_label_table(report)],
            confusion=None,
            drawings=[_drawing(i, truth[i], predicted[i], names) for i in worst],
        )
        return _with_reliability(evaluation, model, data, truth[:, : len(known)])

    def describe(self, model: Any) -> list[Table]:
        names = [str(own) for own in model.classes_.tolist()]
        features = [
            (name, f"feature {j + 1}", model.node_coef_[j, k])
            for k, name in enumerate(names)
            for j in strongest(model.node_coef_[:, k], 5)
        ]
        tables = [
            weight_table(
                "Strongest features of each label", ("label", "feature", "weight"), features
            )
        ]
        if model.pair_coef_ is not None:
            constant = np.atleast_2d(model.pair_coef_)[-1]
            pairs = [
                (names[model.pairs_[e, 0]], names[model.pairs_[e, 1]], constant[e])
                for e in strongest(constant, 20)
            ]
            note = "Above zero: labels that go together; below: labels that seldom do."
            columns = ("label", "label", "weight")
            tables.append(weight_table("Strongest pairs of labels", columns, pairs, note))
        return tables


def _check_widths(first: LabelSets, own: LabelSets, name: str) -> None:
    if first.rows.open != own.rows.open:
        raise ValueError(f"{name}: arrays and text do not go together; give files of one kind.")
    a, b = (found.rows.matrix.shape[1] for found in (first, own))
    if not own.rows.open and a != b:
        raise ValueError(
            f"{name}: array 'X' has {b} features, the file before has {a}; all files need the same."
        )


def _natural(name: str) -> tuple[int, str]:
    """Numbers by their size, then texts."""
    whole = name.isascii() and name.isdecimal() and len(name) < 18
    return (int(name), "") if whole else (10**18, name)


def _facts(rows: TextRows, sets: Sequence[set[str]], names: Sequence[str]) -> dict[str, Any]:
    return {
        "samples": len(rows),
        "features": int(rows.matrix.shape[1]),
        "labels": len(names),
        "labels a sample": round(float(np.mean([len(own) for own in sets])), 3) if sets else 0.0,
    }


def _matrix(sets: Sequence[Any], names: Sequence[str]) -> np.ndarray:
    number = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(sets), len(names)), dtype=np.int64)
    for i, own in enumerate(sets):
        for label in own:
            matrix[i, number[str(label)]] = 1
    return matrix


def _lines(on: np.ndarray, p: np.ndarray | None, names: Sequence[str]) -> list[str]:
    found = []
    for i, row in enumerate(on):
        chosen = np.flatnonzero(row).tolist()
        own = [names[k] if p is None else f"{names[k]}/{p[i, k]:.4f}" for k in chosen]
        found.append(",".join(own) + "\n")
    return found


def _metrics(report: MultiLabelReport) -> list[Metric]:
    def metric(name: str, value: float, text: str, better: Any = "higher") -> Metric:
        return Metric(name=name, value=value, better=better, percent=True, help=text)

    return [
        metric("Hamming loss", report.hamming_loss, "share of labels that are wrong", "lower"),
        metric("exact match", report.exact_match, "share of samples with every label right"),
        metric("micro F1", report.micro_f1, "F1 of all labels of all samples together"),
        metric("macro F1", report.macro_f1, "mean of the labels' F1, each counted alike"),
        metric("example F1", report.example_f1, "mean of the samples' F1"),
        metric("Jaccard", report.jaccard, "mean of labels in both sets / labels in either"),
    ]


def _label_table(report: MultiLabelReport) -> Table:
    rows = sorted(report.rows, key=lambda row: (-row.support, str(row.label)))
    return Table(
        title="Labels",
        columns=["label", "precision", "recall", "F1", "true", "predicted"],
        rows=[
            [str(row.label), row.precision, row.recall, row.f1, row.support, row.predicted]
            for row in rows
        ],
        note="",
    )


def _drawing(i: int, truth: np.ndarray, predicted: np.ndarray, names: Sequence[str]) -> Drawing:
    """The labels of a sample; of many, only those that it has or was given."""
    errors = int((truth != predicted).sum())
    which = list(range(len(names)))
    if len(names) > MAX_SHOWN:
        which = np.flatnonzero(truth | predicted)[:MAX_SHOWN].tolist()
    words = ("no", "yes")
    return Drawing(
        kind="tokens",
        title=f"Sample {i + 1}: {errors} of {len(names)} wrong",
        errors=errors,
        truth_known=True,
        tokens=[names[k] for k in which],
        truth=[words[truth[k]] for k in which],
        predicted=[words[predicted[k]] for k in which],
    )


def _with_reliability(
    evaluation: Evaluation, model: Any, data: Data, truth: np.ndarray
) -> Evaluation:
    """How true probabilities are, of each label being on or off, where they claim to be such."""
    if not fits_probabilities(model) or not truth.size:
        return evaluation
    p = [np.column_stack([1.0 - own, own]) for own in model.predict_proba(data.inputs)]
    table = reliability(list(truth), p, BINS, labels=[0, 1])
    loss = log_loss(list(truth), p, labels=[0, 1])
    error = "mean of |confidence - accuracy|, by confidence"
    evaluation["metrics"] += [
        Metric(
            name="calibration error", value=table.error, better="lower", percent=True, help=error
        ),
        Metric(
            name="log loss", value=loss, better="lower", percent=False,
            help="mean of -log P(true label)",
        ),
    ]  # fmt: skip
    rows = zip(table.confidence, table.accuracy, table.count, strict=True)
    evaluation["reliability"] = [[float(c), float(a), int(n)] for c, a, n in rows if n]
    return evaluation
