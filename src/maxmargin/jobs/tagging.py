"""Tags for the tokens of sentences, from files of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from maxmargin.column_files import (
    CONLL_U,
    ColumnFormat,
    Sentence,
    column_at,
    read_columns,
    sentence_batches,
)
from maxmargin.documents import Drawing, Evaluation, Table
from maxmargin.jobs.base import Data, Job, Option
from maxmargin.jobs.sequences import (
    confused_table,
    confusion,
    reports,
    score_table,
    sequence_metrics,
    titled,
    weight_table,
    window,
    worst,
)
from maxmargin.tasks import SequenceTagger
from maxmargin.text_lines import Readable, name_of

#: characters of a tag; a longer one is of another column
MAX_TAG = 200


class Places(NamedTuple):
    """Which columns of a file are features, and which is the tag (None: not in the file)."""

    features: tuple[int, ...]
    tag: int | None


class TaggingJob(Job):
    """Sequence tagging: chunks, names, parts of speech."""

    name = "tagging"
    title = "Sequence tagging"
    summary = "a tag for every token of a sentence: chunks, names, parts of speech"
    data_help = (
        "Files of columns as in the CoNLL shared tasks, CRF++ and CoNLL-U, plain or gzip: a token a"
        " line, its columns separated by tabs or spaces, a blank line after each sentence. The last"
        " column is the tag and the others are features, unless --tag-column and --columns say"
        " otherwise; of CoNLL-U, UPOS is the tag and FORM the feature. Comments, -DOCSTART- lines"
        " and CoNLL-U's multiword and empty nodes are passed over."
    )
    predict_help = (
        "Reads files of the same columns, with or without the tag column, or pipes; writes every"
        " line as it is and the predicted tag as one column more, as crf_test does, so that"
        " conlleval can compare the last two columns. --write replace puts the tag in the place of"
        " the tag column if the file has it; --write only writes the tags alone, as crfsuite does."
        " Comments and blank lines stay; -DOCSTART- lines get O. Sentences are written as soon as"
        " their blank line is read."
    )
    examples = (
        "train tagging --data train.txt --validation dev.txt --out runs/chunks",
        "train tagging --data en_ewt-ud-train.conllu --columns form --tag-column upos --out run",
        "predict runs/chunks new.txt > tagged.txt",
        "evaluate runs/chunks test.txt",
    )
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
        Option("bio", bool, False, "Never predict what BIO or IOBES tags rule out."),
        Option("min-count", int, 1, "Drop features found on fewer tokens than this."),
        Option(
            "templates",
            str,
            (),
            "Features of a token, such as '0[-1]' (the word before), '0[0]|1[0]' or"
            " 'suffix3(0[0])'; feature columns count from 0 here. Default: a set that suits the"
            " number of columns.",
            many=True,
        ),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        options = self.with_defaults(options)
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        sentences: list[Any] = []
        tags: list[list[str]] = []
        for path in paths:
            _read_file(path, options, sentences, tags)
        first = sentences[0][0]
        width = 1 if isinstance(first, str) else len(first)
        for sentence in sentences:
            if (1 if isinstance(sentence[0], str) else len(sentence[0])) != width:
                raise ValueError(
                    "the data files differ in their number of columns; name those to use with"
                    " columns and tag-column."
                )
        facts = {
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "tags": len({tag for own in tags for tag in own}),
        }
        return Data(sentences, tags, facts)

    def with_defaults(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All options of the task, defaults where none is given."""
        return {option.name: options.get(option.name, option.default) for option in self.options}

    def estimator(self, options: Mapping[str, Any]) -> SequenceTagger:
        options = self.with_defaults(options)
        return SequenceTagger(
            templates=list(options["templates"]) or None,
            min_count=options["min-count"],
            bio=options["bio"],
        )

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        inputs = [data.inputs[i] for i in indices]
        outputs = [data.outputs[i] for i in indices]
        facts = data.facts | {"sentences": len(inputs), "tokens": sum(map(len, inputs))}
        facts["tags"] = len({tag for own in outputs for tag in own})
        return Data(inputs, outputs, facts, data.extra)

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        options = self.with_defaults(options)
        return sum(_tag_file(model, source, sink, options) for source in sources)

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        truth = data.outputs
        assert truth is not None
        predicted = model.predict(data.inputs)
        labels, chunks = reports(truth, predicted)
        matrix, note = confusion(truth, predicted)
        tables = [] if chunks is None else [score_table("Chunks by type", chunks, "type")]
        tables += [
            score_table("Tags", labels, "tag", _unseen(model, truth)),
            confused_table(truth, predicted, note),
        ]
        return Evaluation(
            data=dict(data.facts),
            error=labels.token_error,
            error_name="share of wrong tags",
            metrics=sequence_metrics(labels, chunks, "token"),
            tables=tables,
            confusion=matrix,
            drawings=[
                _drawing(i, errors, data.inputs[i], truth[i], predicted[i])
                for i, errors in worst(truth, predicted, shown)
            ],
        )

    def describe(self, model: Any) -> list[Table]:
        features, pairs = model.top_features(10), model.top_transitions(20)
        return [
            weight_table("Strongest features of each tag", features.columns, features),
            weight_table("Strongest pairs of neighbouring tags", pairs.columns, pairs),
        ]


def places(
    width: int, tabs: bool, options: Mapping[str, Any], n_features: int | None = None
) -> Places:
    """Which columns to take of a file so wide; n_features : those of the model, when predicting."""
    wanted = [name for item in options["columns"] for name in str(item).split(",") if name.strip()]
    tag = str(options["tag-column"]).strip()
    if tabs and width == len(CONLL_U) and n_features in (None, 1):
        wanted, tag = wanted or ["form"], tag or "upos"
    if n_features is not None and width == n_features and not _all_there(wanted, width):
        return Places(tuple(range(width)), None)
    if n_features is not None and not wanted and width != n_features + 1:
        raise ValueError(
            f"found {width} columns, expected {n_features} as the model was trained on, or"
            f" {n_features + 1} with the tag"
        )
    place = column_at(tag or "-1", width, "tag-column")
    if not wanted:
        features = tuple(k for k in range(width) if k != place)
    else:
        features = tuple(column_at(name, width, "columns:") for name in wanted)
    return _checked(Places(features, place), width, n_features)


def _all_there(wanted: list[str], width: int) -> bool:
    try:
        return bool(wanted) and all(column_at(name, width) >= 0 for name in wanted)
    except ValueError:
        return False


def _checked(found: Places, width: int, n_features: int | None) -> Places:
    if n_features is not None:
        if len(found.features) != n_features:
            raise ValueError(
                f"columns names {len(found.features)} columns, but the model was trained on"
                f" {n_features}; name as many, in the same order"
            )
        return found._replace(tag=None) if found.tag in found.features else found
    if not found.features:
        raise ValueError(
            f"found {width} column(s), expected one feature at least and the tag; if the file has"
            " no tags, it can only be predicted"
        )
    if found.tag in found.features:
        raise ValueError(
            f"column {(found.tag or 0) + 1} is both the tag and a feature; leave it out of columns,"
            " or name another tag-column"
        )
    return found


def _format(options: Mapping[str, Any]) -> ColumnFormat:
    return ColumnFormat(options["separator"], options["comments"], options["encoding"])


def _read_file(
    path: Readable, options: Mapping[str, Any], sentences: list[Any], tags: list[list[str]]
) -> None:
    """Add what a file holds to both lists."""
    known: dict[str, str] = {}
    keep = known.setdefault  # one object a word type: a corpus then takes a fifth of the memory
    chosen: Places | None = None
    for sentence in read_columns(path, _format(options)):
        if not sentence.rows:
            continue
        if chosen is None:
            chosen = _places_in(path, sentence, options)
        fields = [tuple([keep(field, field) for field in own]) for own in sentence.fields]
        assert chosen.tag is not None
        tags.append([own[chosen.tag] for own in fields])
        for t, label in enumerate(tags[-1]):
            if not 0 < len(label) <= MAX_TAG:
                raise _bad_tag(path, sentence.line_of(t), label)
        sentences.append(list(map(itemgetter(*chosen.features), fields)))
    if chosen is None:
        raise ValueError(
            f"{name_of(path)}: the file has no tokens; expected lines of columns, and a blank line"
            " after each sentence"
        )


def _places_in(
    path: Readable, sentence: Sentence, options: Mapping[str, Any], n: int | None = None
) -> Places:
    try:
        return places(len(sentence.fields[0]), sentence.tabs, options, n)
    except ValueError as error:
        raise ValueError(f"{name_of(path)}, line {sentence.line_of(0)}: {error}") from None


def _bad_tag(path: Readable, line: int, label: str) -> ValueError:
    found = f"a tag of {len(label)} characters" if label else "an empty tag"
    return ValueError(
        f"{name_of(path)}, line {line}: found {found}; name the column that holds the tags with"
        " tag-column"
    )


def _tag_file(model: Any, source: BinaryIO, sink: BinaryIO, options: Mapping[str, Any]) -> int:
    """Tag one stream; returns how many sentences."""
    count, n_columns = 0, model.features_.n_columns_
    chosen: Places | None = None
    for batch in sentence_batches(source, _format(options)):
        full = [sentence for sentence in batch if sentence.rows]
        tags: list[list[str]] = []
        if full:
            chosen = chosen or _places_in(source, full[0], options, n_columns)
            token = itemgetter(*chosen.features)  # a str of one column, else a tuple
            tags = model.predict([list(map(token, sentence.fields)) for sentence in full])
        _write(sink, batch, tags, chosen, options)
        sink.flush()
        count += len(full)
    return count


def _write(
    sink: BinaryIO,
    batch: list[Sentence],
    tags: list[list[str]],
    chosen: Places | None,
    options: Mapping[str, Any],
) -> None:
    how = options["write"]
    place = chosen.tag if chosen and how == "replace" else None
    encoded = {tag: _encoded(tag, options["encoding"]) for tag in set(chain.from_iterable(tags))}
    found = iter(tags)
    lines: list[bytes] = []
    for sentence in batch:
        own = [encoded[tag] for tag in next(found)] if sentence.rows else []
        if how == "only":
            lines += [*own, b""] if own else []
        else:
            lines += _with_tags(sentence, own, place)
    sink.write(b"\n".join([*lines, b""]) if lines else b"")


def _with_tags(sentence: Sentence, tags: list[bytes], place: int | None) -> list[bytes]:
    """The lines of a sentence, its tags as last column or in the place of a column."""
    lines, n, tabs = sentence.lines, len(sentence.rows), sentence.tabs
    if place is None and len(lines) == n + 1 and not lines[n]:  # as nearly all sentences are
        return [*[_appended(line, tag, tabs) for line, tag in zip(lines, tags)], b""]  # noqa: B905
    lines = list(lines)
    for row, tag in zip(sentence.rows, tags, strict=True):
        if place is None:
            lines[row] = _appended(lines[row], tag, tabs)
        else:
            lines[row] = _replaced(lines[row], tag, tabs, place)
    for row, line in enumerate(lines):
        if place is None and line.startswith(b"-DOCSTART-") and len(line.split()) > 1:
            lines[row] = _appended(line, b"O", tabs)
    return lines


def _appended(line: bytes, tag: bytes, tabs: bool) -> bytes:
    if line[-1] > 32:
        return line + (b"\t" if tabs else b" ") + tag
    end = b"\r" if line.endswith(b"\r") else b""
    if tabs:
        return line.removesuffix(b"\r") + b"\t" + tag + end
    return line.rstrip() + b" " + tag + end


def _replaced(line: bytes, tag: bytes, tabs: bool, place: int) -> bytes:
    if tabs:
        plain = line.removesuffix(b"\r")
        fields = plain.split(b"\t")
        fields[place] = tag
        return b"\t".join(fields) + line[len(plain) :]
    field = list(re.finditer(rb"[^ \t\r\x0b\x0c]+", line))[place]  # white space stays as it is
    return line[: field.start()] + tag + line[field.end() :]


def _encoded(tag: str, encoding: str) -> bytes:
    try:
        return tag.encode(encoding)
    except UnicodeEncodeError:
        raise ValueError(
            f"the tag {tag!r} cannot be written in the encoding {encoding}; use utf-8"
        ) from None


def _unseen(model: Any, truth: Sequence[Sequence[str]]) -> str:
    unseen = sorted({tag for own in truth for tag in own} - set(model.classes_.tolist()))
    if not unseen:
        return ""
    more = f" and {len(unseen) - 10} more" if len(unseen) > 10 else ""
    return f"Not in the training data: {', '.join(unseen[:10])}{more}."


def _drawing(
    i: int, errors: int, tokens: Sequence[Any], truth: Sequence[str], predicted: Sequence[str]
) -> Drawing:
    part = window(truth, predicted)
    words = [token if isinstance(token, str) else token[0] for token in tokens[part]]
    return Drawing(
        kind="tokens",
        title=titled(f"Sentence {i + 1}", errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=words,
        truth=list(truth[part]),
        predicted=list(predicted[part]),
    )
