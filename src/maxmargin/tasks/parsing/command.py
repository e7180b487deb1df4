"""Dependency trees of sentences, from files in CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.formats.conllu import ParsedSentence, read_conllu, write_conllu
from maxmargin.formats.text_lines import decoded_lines, name_of, open_unpacked
from maxmargin.metrics import attachment_scores
from maxmargin.tasks import DependencyParser
from maxmargin.tasks.command import OBJECTIVE, Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table, share_metric
from maxmargin.tasks.parsing.trees import Tree, tree_arcs
from maxmargin.tasks.sample_names import name_samples

#: sentences that are parsed together
_TOGETHER = 256
#: sentences that are drawn where all are right
_RIGHT = 3


class ParsingCommand(TaskCommand):
    """Dependency parsing."""

    name = "parsing"
    title = "Dependency parsing"
    summary = "the head of every word of a sentence and its relation to it, as a tree"
    data_help = (
        "Treebanks in CoNLL-U, plain or gzip: ten columns between tabs, one line per word, a blank"
        " line after each sentence. Form, lemma, parts of speech and features of words are used;"
        " words written as one (3-4), words left out (8.1) and comments are passed over."
    )
    predict_help = (
        "Reads CoNLL-U, with or without heads, and writes it with the predicted heads and"
        " relations; all other columns, comments and lines stay as they are."
    )
    examples = (
        "train parsing --data en_lines-ud-train.conllu --out runs/english",
        "predict runs/english new.conllu > parsed.conllu",
        "evaluate runs/english en_lines-ud-dev.conllu --json",
    )
    score_name = "share of words with the right head and relation"
    options = (
        Option(
            "trees",
            ("auto", "projective", "crossing"),
            "auto",
            "Whether arcs of predicted trees may cross. auto: if 10 % of those in training do.",
        ),
        Option("single-root", bool, True, "Just one word of a sentence hangs from the root."),
        Option("guided", bool, True, "Predict twice, the second time beside the first tree."),
        OBJECTIVE,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        read, names = [], []
        for path in paths:
            for sentence in _sentences(path, str(path)):
                names.append(f"{path}, sentence in line {sentence.first}")
                if any(head < 0 for head, _ in sentence.tree):
                    raise ValueError(f"{names[-1]}: it has words without a head.")
                read.append(sentence)
        if not read:
            raise ValueError(f"{paths[0]}: the file has no sentences.")
        return _data([own.tokens for own in read], [own.tree for own in read], names)

    def estimator(self, options: Mapping[str, Any]) -> DependencyParser:
        options = self.with_defaults(options)
        known = {"auto": None, "projective": True, "crossing": False}
        return DependencyParser(
            projective=known[options["trees"]],
            single_root=options["single-root"],
            guided=options["guided"],
            objective=options["objective"],
        )

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        lists = data.inputs, data.outputs, data.details["names"]
        return _data(*([own[i] for i in indices] for own in lists))

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        count = 0
        for source in sources:
            sentences = _sentences(source, name_of(source))
            while batch := list(islice(sentences, _TOGETHER)):
                trees = model.predict([own.tokens for own in batch])
                parsed = (own.with_tree(tree) for own, tree in zip(batch, trees, strict=True))
                sink.writelines(text.encode("utf-8") for text in write_conllu(parsed))
                count += len(batch)
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        with name_samples(data.details["names"]):
            report = model.report(data.inputs, data.outputs)
        scores, drawn = report.scores, report.worst or range(min(len(report.trees), _RIGHT))
        return Evaluation(
            data=dict(data.counts),
            error=1.0 - scores.las,
            error_name="share of words with a wrong head or relation",
            metrics=[
                share_metric("uas", scores.uas, "share of words with the right head"),
                share_metric("las", scores.las, "share of words with the right head and relation"),
                share_metric("exact", scores.exact, "share of sentences with all heads right"),
            ],
            tables=[
                Table(
                    title="Relations",
                    columns=["relation", "recall", "precision", "words"],
                    rows=[[name, a, b, n] for name, n, a, b in report.relations],
                    note="",
                ),
                Table(
                    title="Lengths of sentences",
                    columns=["words in a sentence", "UAS", "LAS", "words"],
                    rows=[[name, own.uas, own.las, own.n_words] for name, own in report.lengths],
                    note="",
                ),
            ],
            confusion=None,
            drawings=[_drawing(i, *report.trees[i]) for i in drawn[:shown]],
        )

    def describe(self, model: Any) -> list[Table]:
        rows = [
            ["predicted trees", "projective" if model.projective_ else "with crossing arcs"],
            ["features of arcs", f"{model.n_features_in_:,}"],
            ["relations", f"{len(model.relations_):,}"],
        ]
        return [Table(title="The parser", columns=["", ""], rows=rows, note="")]

    def metric(self, data: Data) -> Any:
        """The labelled attachment score."""
        return self.score_name, lambda truth, found: attachment_scores(truth, found).las


def _sentences(file: Any, name: str) -> Iterator[ParsedSentence]:
    with open_unpacked(file) as raw:
        yield from read_conllu(decoded_lines(raw, name), name)


def _data(sentences: list[Any], trees: list[Any], names: list[str]) -> Data:
    words = sum(map(len, sentences))
    relations = len({relation for tree in trees for _, relation in tree})
    counts = {"sentences": len(sentences), "words": words, "relations": relations}
    return Data(sentences, trees, counts, {"names": names})


def _drawing(i: int, forms: list[str], truth: Tree, predicted: Tree) -> Drawing:
    errors = sum(a != b for a, b in zip(truth, predicted, strict=True))
    return Drawing(
        kind="arcs",
        title=f"Sentence {i + 1}: {errors} of {len(forms)} words wrong",
        errors=errors,
        truth_known=True,
        tokens=forms,
        truth=tree_arcs(truth),
        predicted=tree_arcs(predicted),
    )
