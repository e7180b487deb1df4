"""Constituents of sentences, from files of bracketed trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.formats.text_lines import decoded_lines, name_of, open_unpacked
from maxmargin.metrics import bracket_scores
from maxmargin.tasks import ConstituencyParser
from maxmargin.tasks.command import OBJECTIVE, Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table, share_metric
from maxmargin.tasks.sample_names import name_samples
from maxmargin.validation.brackets import (
    Node,
    clean_tree,
    list_constituents,
    parse_tree,
    read_trees,
)


class ConstituencyCommand(TaskCommand):
    """Constituency parsing."""

    name = "constituency"
    title = "Constituency parsing"
    summary = "the constituents of a sentence and their labels, as a tree"
    data_help = (
        "Bracketed trees, plain or gzip: (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))), over as"
        " many lines as they take. Traces, functions such as -SBJ and outer brackets without a"
        " label are removed."
    )
    predict_help = (
        "Reads bracketed trees, of which only words and parts of speech are used, so that"
        " (X (DT the) (NN cat)) will do, and writes predicted ones, one a line."
    )
    examples = (
        "train constituency --data wsj.mrg --out runs/wsj",
        "predict runs/wsj new.mrg > parsed.mrg",
        "evaluate runs/wsj other.mrg --json",
    )
    score_name = "F1 score of constituents"
    options = (
        Option("guided", bool, True, "Predict twice, the second time beside the first tree."),
        OBJECTIVE,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        read = [own for path in paths for own in _trees(path, str(path))]
        if not read:
            raise ValueError(f"{paths[0]}: the file has no trees.")
        return _data(*map(list, zip(*read, strict=True)))

    def estimator(self, options: Mapping[str, Any]) -> ConstituencyParser:
        options = self.with_defaults(options)
        return ConstituencyParser(guided=options["guided"], objective=options["objective"])

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        lists = data.outputs, data.details["names"]
        return _data(*([own[i] for i in indices] for own in lists))

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        count = 0
        for source in sources:
            for tree, where in _trees(source, name_of(source)):
                with name_samples([where]):
                    found = model.predict([tree.words()])[0]
                sink.write(f"{found}\n".encode())
                count += 1
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        with name_samples(data.details["names"]):
            predicted = [parse_tree(tree) for tree in model.predict(data.inputs)]
        scores = bracket_scores(data.outputs, predicted)
        wrong = [
            len({*_arcs(a)} ^ {*_arcs(b)}) for a, b in zip(data.outputs, predicted, strict=True)
        ]
        worst = sorted((i for i, errors in enumerate(wrong) if errors), key=lambda i: -wrong[i])
        return Evaluation(
            data=dict(data.counts),
            error=1.0 - scores.f1,
            error_name="1 - F1 score of constituents",
            metrics=[
                share_metric("f1", scores.f1, "F1 score of constituents, as evalb counts"),
                share_metric("precision", scores.precision, "share of constituents that are right"),
                share_metric("recall", scores.recall, "share of true constituents that are found"),
                share_metric("exact", scores.exact, "share of sentences that are all right"),
            ],
            tables=[],
            confusion=None,
            drawings=[_drawing(data, i, predicted[i], wrong[i]) for i in worst[:shown]],
        )

    def describe(self, model: Any) -> list[Table]:
        rows = [
            ["labels of spans", f"{len(model.labels_):,}"],
            ["features of spans", f"{model.n_features_in_:,}"],
            ["predicted trees of a sentence", "two" if len(model.guide_) else "one"],
        ]
        return [Table(title="The parser", columns=["", ""], rows=rows, note="")]

    def metric(self, data: Data) -> Any:
        """The F1 score of constituents."""
        return self.score_name, lambda truth, found: bracket_scores(truth, found).f1


def _trees(file: Any, name: str) -> Iterator[tuple[Node, str]]:
    with open_unpacked(file) as raw:
        for tree, where in read_trees(decoded_lines(raw, name), name):
            clean = clean_tree(tree)
            if clean is not None:
                yield clean, where


def _data(trees: list[Any], names: list[str]) -> Data:
    sentences = [tree.words() for tree in trees]
    counts = {"sentences": len(trees), "words": sum(map(len, sentences))}
    return Data(sentences, trees, counts, {"names": names})


def _arcs(tree: Node) -> list[tuple[int, int, str]]:
    """Constituents as arcs from their first word to their last."""
    return [(i, j - 1, label) for i, j, label in list_constituents(tree)]


def _drawing(data: Data, i: int, predicted: Node, errors: int) -> Drawing:
    assert data.outputs is not None
    return Drawing(
        kind="arcs",
        title=f"{data.details['names'][i]}: {errors} constituents wrong or missing",
        errors=errors,
        truth_known=True,
        tokens=[form for form, _ in data.inputs[i]],
        truth=[list(arc) for arc in _arcs(data.outputs[i])],
        predicted=[list(arc) for arc in _arcs(predicted)],
    )
