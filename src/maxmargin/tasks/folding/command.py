"""RNA structures, from files with dot-brackets, bpseq or ct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.exceptions import SampleError
from maxmargin.formats.rna import RNARecord, parse_dot_bracket, read_rna_by_line, write_rna
from maxmargin.formats.text_lines import decoded_lines, name_of, open_unpacked
from maxmargin.metrics import pair_scores
from maxmargin.tasks.command import Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Metric, Table
from maxmargin.tasks.folding.bases import check_sequences, encode_bases
from maxmargin.tasks.folding.rna_folder import RNAFolder
from maxmargin.tasks.sequences import worst_samples

#: sequences that are folded together
_TOGETHER = 64


class FoldingCommand(TaskCommand):
    """RNA folding."""

    name = "folding"
    title = "RNA folding"
    summary = "the base pairs of an RNA sequence, its secondary structure"
    data_help = (
        "Sequences with structures, plain or gzip: FASTA with a line of dot-brackets after the"
        " bases, bpseq, or ct. What is before the first _ of a name is its family, by which reports"
        " tell results apart, unless each sequence has its own."
    )
    predict_help = (
        "Reads FASTA, or any of the formats for training, and writes the sequences with predicted"
        " structures (--format dbn, bpseq or ct)."
    )
    examples = (
        "train folding --data families.dbn --out runs/rna",
        "predict runs/rna new.fasta > folded.dbn",
        "evaluate runs/rna others.dbn --json",
    )
    score_name = "mean F1 score of pairs"
    compared = ("lbfgs",)
    compared_by_likelihood = ("lbfgs",)
    options = (
        Option("crossing", bool, False, "Fold what is left over once more: pairs may cross."),
        Option("energies", bool, True, "Use published free energies as a feature."),
        Option("max-sequences", int, 200, "Sequences to learn from at most; 0 means all."),
        Option("format", ("dbn", "bpseq", "ct"), "dbn", "What `predict` writes.", of_data=True),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        read: list[RNARecord] = []
        for path in paths:
            for number, record in _records(path, str(path)):
                if record.structure is None:
                    raise ValueError(
                        f"{path}, line {number}: {record.name!r} has no structure; give a line of"
                        " dot-brackets after its bases, or leave it out."
                    )
                read.append(record)
        if not read:
            raise ValueError(f"{paths[0]}: the file has no sequences.")
        return _data(read)

    def estimator(self, options: Mapping[str, Any]) -> RNAFolder:
        options = self.with_defaults(options)
        return RNAFolder(
            crossing=options["crossing"],
            energies=options["energies"],
            max_samples=options["max-sequences"] or None,
        )

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        return _data([data.details["records"][i] for i in indices])

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        count, kind = 0, self.with_defaults(options)["format"]
        for source in sources:
            records = (record for _, record in _records(source, name_of(source)))
            while batch := list(islice(records, _TOGETHER)):
                found = model.predict([own.sequence for own in batch])
                folded = (
                    own._replace(structure=structure)
                    for own, structure in zip(batch, found, strict=True)
                )
                sink.writelines(text.encode("utf-8") for text in write_rna(folded, kind))
                count += len(batch)
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        families = _families(data.details["records"])
        report = model.report(data.inputs, data.outputs, families)
        scores, found = report.scores, model.predict(data.inputs)
        return Evaluation(
            data=dict(data.counts),
            error=1.0 - scores.f1,
            error_name="1 - mean F1 score of pairs",
            metrics=[
                _metric("f1", scores.f1, "mean F1 score of the pairs of a sequence"),
                _metric("precision", scores.precision, "share of predicted pairs that are right"),
                _metric("recall", scores.recall, "share of true pairs that are predicted"),
                _metric("exact", scores.exact, "share of sequences with all pairs right"),
            ],
            tables=[
                Table(
                    title="Families",
                    columns=["family", "F1", "precision", "recall", "sequences"],
                    rows=[
                        [name, own.f1, own.precision, own.recall, own.n_samples]
                        for name, own in report.families
                        if len(report.families) < len(families)  # else they tell nothing
                    ],
                    note="What is learned from a family tells little about other families.",
                )
            ],
            confusion=None,
            drawings=[
                _drawing(i, errors, data.inputs[i], data.outputs[i], found[i])
                for i, errors in worst_samples(data.outputs, found, shown)
            ],
        )

    def describe(self, model: Any) -> list[Table]:
        other, close, crossing, sequences = model.left_out_.tolist()
        rows = [
            ["features of loops", f"{model.n_features_in_:,}"],
            ["sequences learned from", _describe_learned(model)],
            ["predicted pairs", "may cross" if model.crossing else "are nested"],
            ["true pairs left out: crossing others", f"{crossing:,}"],
            ["with too few bases between them", f"{close:,}"],
            ["of bases that cannot pair", f"{other:,}"],
            ["sequences with such pairs", f"{sequences:,}"],
        ]
        return [Table(title="The folder", columns=["", ""], rows=rows, note="")]

    def metric(self, data: Data) -> Any:
        """The mean F1 score of pairs."""

        def score(truth: Any, found: Any) -> float:
            return pair_scores(*(list(map(parse_dot_bracket, own)) for own in (truth, found))).f1

        return self.score_name, score


def _records(file: Any, name: str) -> Iterator[tuple[int, RNARecord]]:
    with open_unpacked(file) as raw:
        for number, record in read_rna_by_line(decoded_lines(raw, name), name):
            try:
                encode_bases(check_sequences([record.sequence])[0])
            except SampleError as error:
                where = f"{name}, line {number}: {record.name!r}"
                raise ValueError(error.told([where])) from None
            yield number, record


def _families(records: list[RNARecord]) -> list[str]:
    return [own.name.split("_")[0] for own in records]


def _data(records: list[RNARecord]) -> Data:
    counts = {"sequences": len(records), "bases": sum(len(own.sequence) for own in records)}
    families = len(set(_families(records)))
    if families < len(records):
        counts["families"] = families
    inputs, outputs = [own.sequence for own in records], [own.structure for own in records]
    return Data(inputs, outputs, counts, {"records": records})


def _describe_learned(model: Any) -> str:
    if not hasattr(model, "n_learned_"):  # of a file that is older
        return f"at most {model.max_samples}" if model.max_samples else "all"
    return f"{model.n_learned_:,} of {model.n_given_:,}"


def _metric(name: str, value: float, text: str) -> Metric:
    return Metric(name=name, value=value, better="higher", percent=True, help=text)


def _drawing(i: int, errors: int, sequence: str, truth: str, predicted: str) -> Drawing:
    true, found = (
        [[*pair, ""] for pair in parse_dot_bracket(structure)] for structure in (truth, predicted)
    )
    return Drawing(
        kind="circle",
        title=f"Sequence {i + 1}: {errors} of {len(sequence)} bases wrong",
        errors=errors,
        truth_known=True,
        tokens=list(sequence),
        truth=true,
        predicted=found,
    )
