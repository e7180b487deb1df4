"""Files of columns as sentences with tags, and back: which columns are taken, where tags go."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple

from maxmargin.formats.columns import (
    CONLL_U,
    ColumnFormat,
    Sentence,
    column_at,
    read_columns,
    sentence_batches,
)
from maxmargin.formats.text_lines import Readable, name_of
from maxmargin.tasks.probabilities import of_chosen

log = logging.getLogger("maxmargin")

#: characters of a tag; a longer one is of another column
MAX_TAG = 200
#: tokens of a sentence, on average of a file; more are told
MANY_TOKENS = 1000


class Places(NamedTuple):
    """Which columns of a file are features, and which is the tag (None: not in the file)."""

    features: tuple[int, ...]
    tag: int | None


def read_file(
    path: Readable, options: Mapping[str, Any], sentences: list[Any], tags: list[list[str]]
) -> list[str] | None:
    """Add what a file holds to both lists; names for its feature columns, None if two are one."""
    known: dict[str, str] = {}
    keep = known.setdefault  # one object a word type: a corpus then takes a fifth of the memory
    chosen: Places | None = None
    names: list[str] | None = None
    for sentence in read_columns(path, _format(options)):
        if not sentence.rows:
            continue
        if chosen is None:
            chosen = _places_in(path, sentence, options)
            names = _names(sentence, chosen, options)
        fields = [tuple([keep(field, field) for field in own]) for own in sentence.fields]
        assert chosen.tag is not None
        tags.append([own[chosen.tag] for own in fields])
        for label in set(tags[-1]):
            if not 0 < len(label) <= MAX_TAG or "\0" in label:  # numpy drops nulls at the end
                raise _bad_tag(path, sentence.line_of(tags[-1].index(label)), label)
        sentences.append(list(map(itemgetter(*chosen.features), fields)))
    if chosen is None:
        raise ValueError(
            f"{name_of(path)}: the file has no tokens; expected lines of columns, and a blank line"
            " after each sentence"
        )
    return names


def warn_of_long_sentences(path: Readable, n_sentences: int, n_tokens: int) -> None:
    """Tell of a file that seems to lack its blank lines."""
    if n_tokens > MANY_TOKENS * n_sentences:
        log.warning(
            "%s: found %d sentence(s) of %d tokens on average; separate sentences by blank lines,"
            " unless they are as long as that",
            name_of(path), n_sentences, n_tokens // n_sentences,
        )  # fmt: skip


def _names(sentence: Sentence, chosen: Places, options: Mapping[str, Any]) -> list[str] | None:
    """As the user or CoNLL-U calls them; else the first is "word", and others have their number."""
    wanted, width = _wanted(options), len(sentence.fields[0])
    is_conll_u = sentence.tabs and width == len(CONLL_U)
    names = []
    for k, place in enumerate(chosen.features):
        given = wanted[k].strip().lower() if wanted else ""
        if is_conll_u:
            names.append(CONLL_U[place])
        elif given.isalpha():
            names.append(given)
        else:
            names.append("word" if k == 0 else f"col{place + 1}")
    return names if len(set(names)) == len(names) else None


def _wanted(options: Mapping[str, Any]) -> list[str]:
    return [name for item in options["columns"] for name in str(item).split(",") if name.strip()]


def _places_in(
    path: Readable, sentence: Sentence, options: Mapping[str, Any], n: int | None = None
) -> Places:
    try:
        return choose_columns(len(sentence.fields[0]), sentence.tabs, options, n)
    except ValueError as error:
        raise ValueError(f"{name_of(path)}, line {sentence.line_of(0)}: {error}") from None


def _bad_tag(path: Readable, line: int, label: str) -> ValueError:
    found = f"a tag of {len(label)} characters" if label else "an empty tag"
    if "\0" in label:
        found = "a tag with a null character"
    return ValueError(
        f"{name_of(path)}, line {line}: found {found}; name the column that holds the tags with"
        " tag-column"
    )


def tag_file(
    model: Any, source: BinaryIO, sink: BinaryIO, options: Mapping[str, Any], last: bool = True
) -> int:
    """Tag one stream; returns how many sentences.

    last : no other stream follows. Else a blank line ends the last sentence if the file does not.
    """
    count, n_columns = 0, model.features_.n_columns_
    is_open = False
    chosen: Places | None = None
    for batch in sentence_batches(source, _format(options)):
        full = [sentence for sentence in batch if sentence.rows]
        tags: list[list[str]] = []
        shares: list[Any] = []
        if full:
            chosen = chosen or _places_in(source, full[0], options, n_columns)
            token = itemgetter(*chosen.features)  # a str of one column, else a tuple
            tokens = [list(map(token, sentence.fields)) for sentence in full]
            if options["nbest"] > 1:
                batch, tags = _ranked(batch, model.predict_k_best(tokens, options["nbest"]))
            else:
                tags = model.predict(tokens)
            shares = of_chosen(model, tokens, tags) if options["probabilities"] else []
        _write(sink, batch, tags, shares, chosen, options)
        sink.flush()
        count += len(full)
        is_open = bool(batch[-1].rows) and bool(batch[-1].lines[-1].strip())
    if is_open and not last and options["write"] != "only":
        sink.write(b"\n")
    return count


def _ranked(
    batch: list[Sentence], found: list[list[tuple[list[str], float]]]
) -> tuple[list[Sentence], list[list[str]]]:
    """Each sentence as often as it has taggings, and these; a line above says rank and score."""
    ranked, tags, best = [], [], iter(found)
    for sentence in batch:
        if not sentence.rows:
            ranked.append(sentence)
            continue
        first = sentence.rows[0]
        for rank, (own, score) in enumerate(next(best)):
            head = [*(sentence.lines[:first] if rank == 0 else ()), b"# %d %.6f" % (rank, score)]
            lines = [*head, *sentence.lines[first:]]
            if lines[-1].strip():
                lines.append(b"")  # the file ends without a blank line
            rows = [row - first + len(head) for row in sentence.rows]
            ranked.append(sentence._replace(lines=lines, rows=rows))
            tags.append(own)
    return ranked, tags


def _write(
    sink: BinaryIO,
    batch: list[Sentence],
    tags: list[list[str]],
    shares: list[Any],
    chosen: Places | None,
    options: Mapping[str, Any],
) -> None:
    how = options["write"]
    place = chosen.tag if chosen and how == "replace" else None
    encoded = {tag: _encoded(tag, options["encoding"]) for tag in set(chain.from_iterable(tags))}
    found, known = iter(tags), iter(shares)
    lines: list[bytes] = []
    for sentence in batch:
        own = [encoded[tag] for tag in next(found)] if sentence.rows else []
        between = b"\t" if sentence.tabs else b" "
        if own and shares:
            own = [b"%b%b%.4f" % (a, between, p) for a, p in zip(own, next(known), strict=True)]
        if how == "only":
            head = sentence.lines[sentence.rows[0] - 1 : sentence.rows[0]] if own else []
            lines += [*(head if options["nbest"] > 1 else ()), *own, b""] if own else []
        else:
            sure = between + b"1.0000" if options["probabilities"] else b""
            lines += _with_tags(sentence, own, place, sure)
    sink.write(b"\n".join([*lines, b""]) if lines else b"")


def _with_tags(
    sentence: Sentence, tags: list[bytes], place: int | None, sure: bytes
) -> list[bytes]:
    """The lines of a sentence, its tags as last column or in the place of a column.

    sure : what follows the tag of a -DOCSTART- line.
    """
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
        fields = line.split() if line.startswith(b"-DOCSTART-") else []
        if place is None and len(fields) > 1:
            lines[row] = _appended(line, b"O" + sure, tabs)
        elif place is not None and sure and len(fields) > place:
            lines[row] = _replaced(line, fields[place] + sure, tabs, place)
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


def _format(options: Mapping[str, Any]) -> ColumnFormat:
    return ColumnFormat(options["separator"], options["comments"], options["encoding"])


def choose_columns(
    width: int, tabs: bool, options: Mapping[str, Any], n_features: int | None = None
) -> Places:
    """Which columns to take of a file so wide; n_features : those of the model, when predicting."""
    wanted = _wanted(options)
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
    place = _tag_place(tag or "-1", width, n_features is not None and bool(wanted))
    if not wanted:
        features = tuple(k for k in range(width) if k != place)
    else:
        features = tuple(column_at(name, width, "columns:") for name in wanted)
    return _checked(Places(features, place), width, n_features)


def _tag_place(tag: str, width: int, may_miss: bool) -> int | None:
    """Where the tag is; None if it is not there and need not be."""
    try:
        return column_at(tag, width, "tag-column")
    except ValueError:
        if may_miss:
            return None
        raise


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
