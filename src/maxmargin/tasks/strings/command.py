"""Alignments of strings, from files of aligned pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.formats.string_pairs import StringPair, read_string_pairs, write_string_pairs
from maxmargin.formats.text_lines import decoded_lines, name_of, open_unpacked
from maxmargin.metrics import string_alignment_scores
from maxmargin.tasks import StringAligner
from maxmargin.tasks.command import OBJECTIVE, Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table, share_metric
from maxmargin.tasks.sample_names import name_samples

#: pairs that are aligned together
_TOGETHER = 256


class StringsCommand(TaskCommand):
    """Alignment of strings."""

    name = "strings"
    title = "Alignment of strings"
    summary = "which symbol of a string goes with which of another, and which are in gaps"
    data_help = (
        "Aligned pairs of strings, plain or gzip. Either .psa: a title, then for each pair a line"
        " about it, two lines of a name and symbols separated by tabs, a line that begins with #,"
        " and an empty one. Or a line that begins with >, then a line of letters for each string."
        " A gap is -."
    )
    predict_help = (
        "Reads pairs in either form, with gaps, which are ignored, or without, and writes them"
        " aligned."
    )
    examples = (
        "train strings --data words.psa --out runs/words",
        "predict runs/words new.psa > aligned.psa",
        "evaluate runs/words other.psa --json",
    )
    score_name = "F1 score of matches"
    options = (
        Option(
            "ends",
            ("global", "free", "local"),
            "global",
            "Whether gaps at the ends cost what is learned, or nothing, or only parts of strings"
            " are aligned.",
        ),
        replace(OBJECTIVE, default="likelihood"),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        read = [own for path in paths for own in _pairs(path, str(path))]
        if not read:
            raise ValueError(f"{paths[0]}: the file has no pairs of strings.")
        links = [own.alignment for own in read]
        return _data([own.strings for own in read], links, [own.where for own in read])

    def estimator(self, options: Mapping[str, Any]) -> StringAligner:
        options = self.with_defaults(options)
        return StringAligner(ends=options["ends"], objective=options["objective"])

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        lists = data.inputs, data.outputs, data.details["names"]
        return _data(*([own[i] for i in indices] for own in lists))

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        aligned = (pair for source in sources for pair in _align(model, source))
        count = 0
        for text in write_string_pairs(aligned):
            sink.write(text.encode("utf-8"))
            count += 1
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        with name_samples(data.details["names"]):
            scores = model.report(data.inputs, data.outputs)
        predicted = model.predict(data.inputs)
        wrong = [len({*a} ^ {*b}) for a, b in zip(data.outputs, predicted, strict=True)]
        worst = sorted((i for i, errors in enumerate(wrong) if errors), key=lambda i: -wrong[i])
        return Evaluation(
            data=dict(data.counts),
            error=1.0 - scores.pairs_f1,
            error_name="1 - F1 score of matches",
            metrics=[
                share_metric("exact", scores.exact, "share of pairs that are all right"),
                share_metric("pairs_f1", scores.pairs_f1, "F1 score of matched symbols"),
                share_metric("precision", scores.precision, "share of matches that are right"),
                share_metric("recall", scores.recall, "share of true matches that are found"),
            ],
            tables=[],
            confusion=None,
            drawings=[_drawing(data, i, predicted[i], wrong[i]) for i in worst[:shown]],
        )

    def describe(self, model: Any) -> list[Table]:
        rows = [
            *(
                [["pairs learned from", f"{model.n_learned_:,} of {model.n_given_:,}"]]
                if hasattr(model, "n_learned_")  # files that are older lack it
                else []
            ),
            ["symbols", f"{len(model.symbols_):,}"],
            ["features", f"{model.n_features_in_:,}"],
            ["known similarities", str(model.similarity_ or "none")[:40]],
        ]
        return [Table(title="The aligner", columns=["", ""], rows=rows, note="")]

    def metric(self, data: Data) -> Any:
        """The F1 score of matches."""
        return self.score_name, lambda truth, found: string_alignment_scores(truth, found).pairs_f1


def _pairs(file: Any, name: str) -> Iterator[StringPair]:
    with open_unpacked(file) as raw:
        yield from read_string_pairs(decoded_lines(raw, name), name)


def _align(model: Any, source: BinaryIO) -> Iterator[StringPair]:
    pairs = _pairs(source, name_of(source))
    while batch := list(islice(pairs, _TOGETHER)):
        with name_samples([own.where for own in batch]):
            found = model.predict([own.strings for own in batch])
        yield from (own.with_alignment(links) for own, links in zip(batch, found, strict=True))


def _data(pairs: list[Any], links: list[Any], names: list[str]) -> Data:
    symbols, matches = sum(len(a) + len(b) for a, b in pairs), sum(map(len, links))
    counts = {"pairs": len(pairs), "symbols": symbols, "matches": matches}
    return Data(pairs, links, counts, {"names": names})


def _drawing(data: Data, i: int, predicted: Any, errors: int) -> Drawing:
    assert data.outputs is not None
    known = [list(link) for link in data.outputs[i]]
    source, target = (list(map(str, string)) for string in data.inputs[i])
    return Drawing(
        kind="links",
        title=f"{data.details['names'][i]}: {errors} matches wrong or missing",
        errors=errors,
        truth_known=True,
        source=source,
        target=target,
        sure=known,
        possible=known,
        predicted=[list(link) for link in predicted],
    )
