"""Dependency trees of sentences, from files in CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.formats.conllu import ParsedSentence, read_conllu, write_conllu
from maxmargin.formats.text_lines import decoding_error, name_of, open_unpacked
from maxmargin.metrics import attachment_scores
from maxmargin.tasks import DependencyParser
from maxmargin.tasks.command import OBJECTIVE, Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Metric, Table
from maxmargin.tasks.sequences import drawing_title, shown_window, worst_samples

#: sentences that are parsed together
_TOGETHER = 256


class ParsingCommand(TaskCommand):
    """Dependency parsing."""

    name = "parsing"
    title = "Dependency parsing"
    summary = "the head of every word of a sentence and its relation to it, as a tree"
    data_help = (
        "Treebanks in CoNLL-U, plain or gzip: ten columns separated by tabs, a word a line, a blank"
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
        read: list[ParsedSentence] = []
        for path in paths:
            own = list(_sentences(path, str(path)))
            for i, tree in enumerate((sentence.tree for sentence in own), start=1):
                if any(head < 0 for head, _ in tree):
                    raise ValueError(f"{path}: sentence {i} has words without a head.")
            read += own
        if not read:
            raise ValueError(f"{paths[0]}: the file has no sentences.")
        return _data([own.tokens for own in read], [own.tree for own in read])

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
        return _data([data.inputs[i] for i in indices], [data.outputs[i] for i in indices])

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
        report = model.report(data.inputs, data.outputs)
        predicted = model.predict(data.inputs)
        scores = report.scores
        words = [[f"{head}:{relation}" for head, relation in own] for own in data.outputs]
        found = [[f"{head}:{relation}" for head, relation in own] for own in predicted]
        return Evaluation(
            data=dict(data.counts),
            error=1.0 - scores.las,
            error_name="share of words with a wrong head or relation",
            metrics=[
                _metric("uas", scores.uas, "share of words with the right head"),
                _metric("las", scores.las, "share of words with the right head and relation"),
                _metric("exact", scores.exact, "share of sentences with all heads right"),
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
            drawings=[
                _drawing(i, errors, data.inputs[i], words[i], found[i])
                for i, errors in worst_samples(words, found, shown)
            ],
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
        yield from read_conllu(_lines(raw, name), name)


def _lines(raw: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(raw, start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            raise decoding_error(name, number, "utf-8") from None


def _data(sentences: list[Any], trees: list[Any]) -> Data:
    words = sum(map(len, sentences))
    relations = len({relation for tree in trees for _, relation in tree})
    counts = {"sentences": len(sentences), "words": words, "relations": relations}
    return Data(sentences, trees, counts)


def _metric(name: str, value: float, text: str) -> Metric:
    return Metric(name=name, value=value, better="higher", percent=True, help=text)


def _drawing(
    i: int, errors: int, tokens: Sequence[Any], truth: Sequence[str], predicted: Sequence[str]
) -> Drawing:
    part = shown_window(truth, predicted)
    return Drawing(
        kind="tokens",
        title=drawing_title(f"Sentence {i + 1}", errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=[token["form"] for token in tokens[part]],
        truth=list(truth[part]),
        predicted=list(predicted[part]),
    )
