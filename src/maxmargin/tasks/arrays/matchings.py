"""The task `matching`: which rows to link with which columns, from arrays in an npz file.

X : (edges, n_features), one row for each pair that may be linked, one sample after another.
shapes : (n, 2), the numbers of rows and columns of each sample. Without further arrays, all pairs
    of a sample may be linked, and X has them row by row: (j, k) of J x K stands at j K + k.
edges, n_edges : (edges, 2) and (n,), where only some pairs may be linked: row and column of each
    row of X, and how many edges each sample has.
links : (m, 3), sample, row and column of each true link, in any order; all count from 0. May be
    left out where there is no truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from maxmargin.domains import Signs
from maxmargin.estimators import MatchingSVM
from maxmargin.formats.npz import read_npz
from maxmargin.metrics.links import JudgedLinks, judge_links
from maxmargin.tasks.arrays.kernel_options import OPTIONS as KERNEL, kernel_of, kernel_table
from maxmargin.tasks.arrays.matching_arrays import links_in, samples_in
from maxmargin.tasks.command import Data, Job, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.link_documents import kinds_table, link_drawing, metric, ratio
from maxmargin.validation.samples import as_dense

BATCH = 512
SHOWN_ROWS = 20


class MatchingJob(Job):
    """Bipartite matchings, by `MatchingSVM`."""

    name: ClassVar[str] = "matching"
    title: ClassVar[str] = "Bipartite matching"
    summary: ClassVar[str] = (
        "Which rows to link with which columns, none more often than allowed: assignments, tracks,"
        " correspondences."
    )
    data_help: ClassVar[str] = (
        "FILE.npz ...: arrays X (edges, n_features), one row for each pair that may be linked, all"
        " samples one after another; shapes (n, 2), rows and columns of each sample; links (m, 3),"
        " sample, row and column of each true link, from 0. Without edges, all pairs of a sample"
        " may be linked and X has them row by row; else edges (edges, 2), row and column of each"
        " row of X, and n_edges (n,)."
    )
    predict_help: ClassVar[str] = (
        "Reads a file as for --data (links are not looked at); writes a line of links `row-column`"
        " for each sample, counted from 0, empty if it has none."
    )
    score_name: ClassVar[str] = "F1 of links"
    examples: ClassVar[tuple[str, ...]] = (
        "train matching --data train.npz --out RUN",
        "train matching --data train.npz --row-cap 2 --positive 0 3 --solver dual-extragradient"
        " --out RUN",
        "predict RUN new.npz > new.links",
        "evaluate RUN test.npz",
    )
    #: those of the study of 2019, and the simplest one beside them
    compared = ("dual-extragradient", "bcfw", "perceptron")
    options: ClassVar[tuple[Option, ...]] = (
        Option("row-cap", int, 1, "in how many links a row may be"),
        Option("column-cap", int, 1, "in how many links a column may be"),
        Option("bias", bool, True, "learn a constant that every link adds"),
        Option(
            "positive",
            int,
            (),
            "features whose weights are kept 0 or more, by number, from 0; for the saddle-point"
            " solvers (dual-extragradient)",
            many=True,
        ),
        Option("negative", int, (), "features whose weights are kept 0 or less", many=True),
        *KERNEL,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        """Samples and links of one file or more; outputs None if no file has links."""
        if not paths:
            raise ValueError("matching takes one npz file or more, found none.")
        inputs: list[Any] = []
        outputs: list[Any] = []
        for path in paths:
            arrays = read_npz(path)
            samples = samples_in(arrays)
            links = links_in(arrays, samples)
            for i, sample in enumerate(samples):
                if sample is None:
                    raise ValueError(f"{path}: sample {i} has nothing to link. Leave it out.")
            if inputs and (links is None) != (not outputs):
                raise ValueError(f"{path}: some of the files have links and some do not.")
            inputs += samples
            outputs += links or []
        if not inputs:
            raise ValueError(f"{paths[0]}: no samples (shapes is empty).")
        return _with_counts(Data(inputs, outputs or None))

    def estimator(self, options: Mapping[str, Any]) -> MatchingSVM:
        """A MatchingSVM with caps and signs."""
        options = self.with_defaults(options)
        positive, negative = options["positive"], options["negative"]
        kernel = kernel_of(options)
        if kernel is not None and (positive or negative):
            raise ValueError("signs are of features, which have no weights with --kernel.")
        return MatchingSVM(
            row_cap=options["row-cap"],
            column_cap=options["column-cap"],
            bias=options["bias"],
            domain=Signs(list(positive), list(negative)) if positive or negative else None,
            kernel=kernel,
        )

    def fit(self, model: MatchingSVM, data: Data, folder: Path | None = None) -> None:
        """Fit in place."""
        if data.outputs is None:
            raise ValueError("no links to learn from: the files lack an array links (m, 3).")
        model.fit(data.inputs, data.outputs)

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        """Some of the samples, in that order."""
        outputs = None if data.outputs is None else [data.outputs[i] for i in indices]
        return _with_counts(Data([data.inputs[i] for i in indices], outputs))

    def predict(
        self,
        model: MatchingSVM,
        sources: Sequence[BinaryIO],
        sink: BinaryIO,
        options: Mapping[str, Any],
    ) -> int:
        """Write a line of links for each sample; the arrays of one file are in memory at a time."""
        count = 0
        for source in sources:
            samples = samples_in(read_npz(source))
            for start in range(0, len(samples), BATCH):
                batch = samples[start : start + BATCH]
                for links in _predicted(model, batch):
                    sink.write((" ".join(f"{j}-{k}" for j, k in links) + "\n").encode())
                sink.flush()
            count += len(samples)
        return count

    def evaluate(self, model: MatchingSVM, data: Data, shown: int = 12) -> Evaluation:
        """Precision, recall and F1 of the links, and the share of samples that are all right."""
        predicted = _predicted(model, data.inputs)
        if data.outputs is None:
            judged = [judge_links(own) for own in predicted]
            known = _Counts(judged, known=False)
        else:
            truth = [set(map(tuple, own.tolist())) for own in data.outputs]
            judged = [judge_links(a, b, b) for a, b in zip(predicted, truth, strict=True)]
            known = _Counts(judged, known=True)
        score = known.f1
        return Evaluation(
            data=dict(data.facts),
            error=None if score is None else 1.0 - score,
            error_name="1 - F1 of links",
            metrics=known.metrics(),
            tables=known.tables(),
            confusion=None,
            drawings=_drawings(data, judged, known, shown),
        )

    def describe(self, model: MatchingSVM) -> list[Table]:
        """The weights, strongest first."""
        kernel = kernel_table(model)
        if kernel is not None:
            return [kernel]
        weights = as_dense(model.coef_)
        names = [f"feature {k}" for k in range(model.n_features_in_)]
        names += ["bias"] * (len(weights) - len(names))
        order = np.argsort(-np.abs(weights), kind="stable")[:50]
        rows = [[names[k], float(weights[k])] for k in order.tolist()]
        note = "a positive weight speaks for a link, a negative one against it"
        return [Table(title="Weights", columns=["feature", "weight"], rows=rows, note=note)]


class _Counts:
    """Numbers and tables of judged samples; known: whether the truth is."""

    def __init__(self, judged: Sequence[JudgedLinks], known: bool):
        self.judged, self.known = judged, known
        right = sum(len(own.right) for own in judged)
        self.predicted = right + sum(len(own.wrong) for own in judged)
        true = right + sum(len(own.missed) for own in judged)
        self.precision, self.recall = ratio(right, self.predicted), ratio(right, true)
        both = self.predicted + true
        score = 2 * right / both if both else 1.0
        self.f1 = score if known else None

    def errors(self, i: int) -> int:
        return len(self.judged[i].wrong) + len(self.judged[i].missed)

    def worst(self) -> list[int]:
        return sorted(range(len(self.judged)), key=lambda i: (-self.errors(i), i))

    def metrics(self) -> list[Any]:
        count = metric(
            "links predicted", self.predicted, "in all samples", "neither", percent=False
        )
        if not self.known:
            return [count]
        exact = sum(self.errors(i) == 0 for i in range(len(self.judged)))
        return [
            metric("F1", self.f1, "harmonic mean of precision and recall"),
            metric("precision", self.precision, "share of the predicted links that are true"),
            metric("recall", self.recall, "share of the true links that are predicted"),
            metric(
                "exact",
                ratio(exact, len(self.judged)),
                "share of the samples with every link right",
            ),
            count,
        ]

    def tables(self) -> list[Table]:
        if not self.known:
            return []
        rows = [
            [i, _listed(self.judged[i].missed), _listed(self.judged[i].wrong)]
            for i in self.worst()[:SHOWN_ROWS]
            if self.errors(i)
        ]
        columns = ["sample", "missed", "wrong"]
        note = "samples are counted from 0"
        worst = Table(title="Samples with the most errors", columns=columns, rows=rows, note=note)
        return [kinds_table(self.judged, with_possible=False), worst]


def _predicted(model: MatchingSVM, samples: Sequence[Any]) -> list[list[tuple[int, int]]]:
    """The links of each sample; none where there is nothing to link."""
    found: list[list[tuple[int, int]]] = [[] for _ in samples]
    full = [i for i, sample in enumerate(samples) if sample is not None]
    for start in range(0, len(full), BATCH):
        batch = full[start : start + BATCH]
        for i, links in zip(batch, model.predict([samples[i] for i in batch]), strict=True):
            found[i] = sorted((int(j), int(k)) for j, k in links)
    return found


def _drawings(
    data: Data, judged: Sequence[JudgedLinks], counts: _Counts, shown: int
) -> list[Drawing]:
    drawings = []
    for i in counts.worst()[:shown]:
        rows, columns = data.inputs[i].shape[:2]
        own = judged[i]
        true = own.right | own.missed
        sides = [str(j) for j in range(rows)], [str(k) for k in range(columns)]
        truth = (true, true) if counts.known else None
        errors = counts.errors(i)
        drawings.append(link_drawing(f"sample {i}", sides, own.right | own.wrong, truth, errors))
    return drawings


def _listed(links: set[tuple[int, int]]) -> str:
    return " ".join(f"{j}-{k}" for j, k in sorted(links))


def _with_counts(data: Data) -> Data:
    shapes = [sample.shape[:2] for sample in data.inputs]
    data.facts = {
        "samples": len(shapes),
        "rows": sum(rows for rows, _ in shapes),
        "columns": sum(columns for _, columns in shapes),
    }
    if data.outputs is not None:
        data.facts["links"] = sum(map(len, data.outputs))
    return data
