"""Tags for the tokens of sentences, from files of columns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from maxmargin.exceptions import InfeasibleError
from maxmargin.metrics import chunk_f1
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.command import CLASS_WEIGHT, MANY_LABELS, OBJECTIVE, Data, Option, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.probabilities import CALIBRATE, PROBABILITIES, with_reliability
from maxmargin.tasks.sequences import (
    confused_table,
    confusion_table,
    drawing_title,
    score_labels,
    score_table,
    sequence_metrics,
    shown_window,
    weight_table,
    worst_samples,
)
from maxmargin.tasks.tagging.files import read_file, tag_file, warn_of_long_sentences
from maxmargin.tasks.tagging.schemes import mark_chunks
from maxmargin.tasks.tagging.shards import READING, TextShards

log = logging.getLogger("maxmargin")


class TaggingCommand(TaskCommand):
    """Sequence tagging: chunks, names, parts of speech."""

    name = "tagging"
    title = "Sequence tagging"
    summary = "a tag for every token of a sentence: chunks, names, parts of speech"
    data_help = (
        "Files of columns as in the CoNLL shared tasks, CRF++ and CoNLL-U, plain or gzip: a token a"
        " line, its columns separated by tabs or spaces, a blank line after each sentence. The last"
        " column is the tag and the others are features, unless --tag-column and --columns say"
        " otherwise; of CoNLL-U, UPOS is the tag and FORM the feature. Comments, -DOCSTART- lines"
        " and CoNLL-U's multiword and empty nodes are passed over. A folder of such files, as"
        " `maxmargin shard` makes, is learned from one file at a time, so that it need not fit into"
        " memory; all its files are data, but for hidden ones, and end alike."
    )
    predict_help = (
        "Reads files of the same columns, with or without the tag column, or pipes; writes every"
        " line as it is and the predicted tag as one column more, as crf_test does, so that"
        " conlleval can compare the last two columns. --write replace puts the tag in the place of"
        " the tag column if the file has it; --probabilities puts how probable the tag is in a"
        " column after it; --write only writes the tags alone, as crfsuite does."
        " Comments and blank lines stay; -DOCSTART- lines get O. Sentences are written as soon as"
        " their blank line is read."
    )
    examples = (
        "train tagging --data train.txt --validation dev.txt --out runs/chunks",
        "train tagging --data en_ewt-ud-train.conllu --columns form --tag-column upos --out run",
        "train tagging --data train.txt --objective likelihood --calibrate dev.txt --out runs/crf",
        "train tagging --data shards/ --engine processes --workers 2 --out runs/large",
        "predict runs/chunks new.txt > tagged.txt",
        "evaluate runs/chunks test.txt",
    )
    labels = ("tags", "is this the right column? --tag-column names another.")
    options = (
        Option(
            "tag-column",
            str,
            "",
            "Column of the tag: a number from 1 (-1 is the last), or a name: word, pos, tag, or"
            " those of CoNLL-U (form, upos, ...). Default: the last; upos of CoNLL-U.",
            of_data=True,
        ),
        Option(
            "columns",
            str,
            (),
            "Columns that are features, by number or name. Default: all but the tag; form of"
            " CoNLL-U.",
            many=True,
            of_data=True,
        ),
        Option(
            "separator",
            ("auto", "tab", "space"),
            "auto",
            "What separates columns. auto: tabs if the first token has one, else white space.",
            of_data=True,
        ),
        Option(
            "comments",
            ("auto", "yes", "no"),
            "auto",
            "Whether lines that begin with # are comments. auto: if they do not have the columns"
            " of a token.",
            of_data=True,
        ),
        Option("encoding", str, "utf-8", "Encoding of the text.", of_data=True),
        Option(
            "write",
            ("append", "replace", "only"),
            "append",
            "What predict writes: each line and the tag as a further column, the tag in the place"
            " of the tag column, or only the tags.",
            of_data=True,
        ),
        Option(
            "nbest",
            int,
            1,
            "predict: write the N best taggings of each sentence, each after a line"
            " `# rank score` (from 0), as crf_test -n does.",
            of_data=True,
            kept=False,
        ),
        Option(
            "bio",
            bool,
            False,
            "Never predict what BIO or IOBES tags rule out; not where --data is a folder.",
        ),
        Option("min-count", int, 1, "Drop features found on fewer tokens than this."),
        Option(
            "templates",
            str,
            (),
            "Features of a token, such as '0[-1]' (the word before), '0[0]|1[0]' or"
            " 'suffix3(0[0])'; feature columns count from 0 here, or have the names that reports"
            " show. Default: the word, its affixes, shape and neighbours; every other column with"
            " its neighbours and with the word.",
            many=True,
        ),
        MANY_LABELS,
        CLASS_WEIGHT,
        OBJECTIVE,
        CALIBRATE,
        PROBABILITIES,
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        options = self.with_defaults(options)
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        if any(path.is_dir() for path in paths):
            return self._read_shards(TextShards(paths, {key: options[key] for key in READING}))
        sentences: list[Any] = []
        tags: list[list[str]] = []
        names = []
        for path in paths:
            start = len(tags)
            names.append(read_file(path, options, sentences, tags))
            warn_of_long_sentences(path, len(tags) - start, sum(map(len, tags[start:])))
        first = sentences[0][0]
        width = 1 if isinstance(first, str) else len(first)
        for sentence in sentences:
            if (1 if isinstance(sentence[0], str) else len(sentence[0])) != width:
                raise ValueError(
                    "the data files differ in their number of columns; name those to use with"
                    " --columns and --tag-column."
                )
        return Data(sentences, tags, _counts(tags), {"columns": names[0]})

    def _read_shards(self, shards: TextShards) -> Data:
        """Files of a folder, of which tags alone are kept."""
        tags = shards.read_tags()
        counts = _counts(tags) | {"files": len(shards.paths)}
        share = 1.0 / len(shards.paths)  # of the sentences that are in memory at a time
        return Data(shards, tags, counts, {"columns": shards.names(), "share": share})

    def estimator(self, options: Mapping[str, Any]) -> SequenceTagger:
        options = self.with_defaults(options)
        return SequenceTagger(
            templates=list(options["templates"]) or None,
            min_count=options["min-count"],
            bio=options["bio"],
            objective=options["objective"],
        )

    def fit(self, model: SequenceTagger, data: Data, folder: Path | None = None) -> None:
        """Fit in place, with the names that the columns have in the files."""
        model.columns = data.details.get("columns")
        try:
            if isinstance(data.inputs, TextShards):
                model.fit(data.inputs)  # workers read the tags
            else:
                super().fit(model, data, folder)
        except InfeasibleError as error:
            raise InfeasibleError(
                f"{error} Sentences count from 0, over all files of --data; bio=False is --no-bio."
            ) from error

    def metric(self, data: Data) -> tuple[str, Callable[[Any, Any], float] | None]:
        """F1 of chunks by conlleval's rules, where the tags mark chunks."""
        if mark_chunks({tag for own in data.outputs or () for tag in own}):
            return "F1 of chunks", chunk_f1
        return "share of right tags", None

    def widths(self, sample: Any) -> dict[str, int]:
        return {"feature columns": 1 if isinstance(sample[0], str) else len(sample[0])}

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        if isinstance(data.inputs, TextShards):  # part of it may not fit into memory either
            raise ValueError(
                "a corpus in files is learned from as a whole, not by folds or samples of it: give"
                " a number for alpha, or if it fits into memory, the names of its files"
                " (shards/*.txt) in place of the folder's."
            )
        inputs = [data.inputs[i] for i in indices]
        outputs = [data.outputs[i] for i in indices]
        return Data(inputs, outputs, data.counts | _counts(outputs), data.details)

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        options = self.with_defaults(options)
        if options["nbest"] < 1:
            raise ValueError(f"nbest={options['nbest']} must be 1 or more.")
        if options["nbest"] > 1 and options["probabilities"]:
            raise ValueError(
                f"nbest={options['nbest']}: more than one tagging come with scores, not with"
                " probabilities; leave one of the two options out."
            )
        return sum(
            tag_file(model, source, sink, options, last=k == len(sources))
            for k, source in enumerate(sources, start=1)
        )

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        truth = data.outputs
        assert truth is not None
        _check_columns(model, data.inputs[0][0])
        predicted = model.predict(data.inputs)
        labels, chunks = score_labels(truth, predicted)
        matrix, note = confusion_table(truth, predicted)
        tables = [] if chunks is None else [score_table("Chunks by type", chunks, "type")]
        tables += [
            score_table("Tags", labels, "tag", _unseen(model, truth)),
            confused_table(truth, predicted, note),
        ]
        evaluation = Evaluation(
            data=dict(data.counts),
            error=labels.token_error,
            error_name="share of wrong tags",
            metrics=sequence_metrics(labels, chunks),
            tables=tables,
            confusion=matrix,
            drawings=[
                _drawing(i, errors, data.inputs[i], truth[i], predicted[i])
                for i, errors in worst_samples(truth, predicted, shown)
            ],
        )
        if isinstance(data.inputs, TextShards):  # probabilities of one file are enough, and fit
            sentences, tags = data.inputs.read(0)
            data = Data(sentences, tags, data.counts | _counts(tags), data.details)
        return with_reliability(evaluation, model, data)

    def describe(self, model: Any) -> list[Table]:
        features, pairs = model.top_features(10), model.top_transitions(20)
        return [
            weight_table("Strongest features of each tag", features.columns, features),
            weight_table("Strongest pairs of neighbouring tags", pairs.columns, pairs),
        ]


def _counts(tags: Sequence[Sequence[str]]) -> dict[str, Any]:
    known = {tag for own in tags for tag in own}
    return {"sentences": len(tags), "tokens": sum(map(len, tags)), "tags": len(known)}


def _check_columns(model: Any, token: str | tuple[str, ...]) -> None:
    found, wanted = 1 if isinstance(token, str) else len(token), model.features_.n_columns_
    if found != wanted:
        raise ValueError(
            f"the data have {found} feature column(s) beside the tag, but the model was trained on"
            f" {wanted}; give files with the same columns and the true tag, or name them with"
            " --columns and --tag-column."
        )


def _unseen(model: Any, truth: Sequence[Sequence[str]]) -> str:
    """Which tags the model does not know, in words; a warning if these are most of them."""
    tags = {tag for own in truth for tag in own}
    unseen = sorted(tags.difference(model.classes_.tolist()))
    if not unseen:
        return ""
    more = f" and {len(unseen) - 10} more" if len(unseen) > 10 else ""
    names = f"{', '.join(unseen[:10])}{more}"
    if 2 * len(unseen) > len(tags):
        log.warning(
            "the model does not know %d of the %d tags: %s; %s",
            len(unseen), len(tags), names, TaggingCommand.labels[1],
        )  # fmt: skip
    return f"Not in the training data: {names}."


def _drawing(
    i: int, errors: int, tokens: Sequence[Any], truth: Sequence[str], predicted: Sequence[str]
) -> Drawing:
    part = shown_window(truth, predicted)
    words = [token if isinstance(token, str) else token[0] for token in tokens[part]]
    return Drawing(
        kind="tokens",
        title=drawing_title(f"Sentence {i + 1}", errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=words,
        truth=list(truth[part]),
        predicted=list(predicted[part]),
    )
