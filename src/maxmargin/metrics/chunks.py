"""Chunks of tagged sequences, by the rules of conlleval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from maxmargin.exceptions import SampleError
from maxmargin.metrics.labels import SequenceReport, in_order, make_report, pairs_of

Span = tuple[int, int, str]


def chunk_spans(tags: Sequence[str]) -> list[Span]:
    """Find the chunks of one tag sequence.

    The rules are those of conlleval, which accept any sequence: a chunk starts at B- or S-, at I-
    or E- after O, E- or S-, and wherever the type changes; it ends before B-, S- or O, after E- or
    S-, and where the type changes. IOB1, IOB2 and IOBES are thus all supported. The type is the
    text after the first hyphen, possibly empty.

    Parameters
    ----------
    tags : sequence of str
        Tags of the tokens.

    Returns
    -------
    list of (start, stop, type)
        The chunks; stop is exclusive.
    """
    spans: list[Span] = []
    start: int | None = None
    last, last_type = "O", ""
    for i, tag in enumerate([*tags, "O"]):
        now, _, kind = str(tag).partition("-")
        starts = _starts(last, now, last_type, kind)
        if start is not None and (starts or _ends(last, now, last_type, kind)):
            spans.append((start, i, last_type))
            start = None
        if starts:
            start = i
        last, last_type = now, kind
    return spans


def chunk_scores(
    y_true: Iterable[Sequence[str]], y_pred: Iterable[Sequence[str]]
) -> SequenceReport:
    """Compute precision and recall of chunks by type, as conlleval does.

    A predicted chunk is correct if its start, stop and type are those of a true chunk.

    Parameters
    ----------
    y_true, y_pred : iterable of sequences of str
        True and predicted tags of each sentence, such as "B-NP", "I-NP" and "O".

    Returns
    -------
    SequenceReport
        One row per type. The overall row pools all types: its f1 is conlleval's FB1, as a fraction,
        not in per cent.
    """
    y_true = list(y_true)
    for i, own in enumerate(y_true):
        if any(tag is None for tag in own):
            raise SampleError.of(
                i, ": y_true has tags that are None; chunks need all of them. Leave it out."
            )
    pairs = list(pairs_of(y_true, y_pred))
    correct, predicted, support = Counter[str](), Counter[str](), Counter[str]()
    for t, p, _ in pairs:
        truth, guess = set(chunk_spans(t.tolist())), set(chunk_spans(p.tolist()))
        support.update(kind for *_, kind in truth)
        predicted.update(kind for *_, kind in guess)
        correct.update(kind for *_, kind in truth & guess)
    return make_report(
        in_order(support.keys() | predicted.keys()), correct, predicted, support, pairs
    )


def chunk_f1(y_true: Iterable[Sequence[str]], y_pred: Iterable[Sequence[str]]) -> float:
    """Compute the F1 score over chunks of all types, by the rules of conlleval.

    Parameters
    ----------
    y_true, y_pred : iterable of sequences of str
        True and predicted tags of each sentence, such as "B-NP", "I-NP" and "O".

    Returns
    -------
    float
        2 correct / (predicted + true chunks).
    """
    return chunk_scores(y_true, y_pred).overall.f1


def _ends(last: str, now: str, last_type: str, kind: str) -> bool:
    return last in ("E", "S") or now in ("B", "S", "O") or last_type != kind


def _starts(last: str, now: str, last_type: str, kind: str) -> bool:
    if now in ("O", "."):
        return False
    after_end = now in ("I", "E") and last in ("O", "E", "S")
    return now in ("B", "S") or after_end or last_type != kind
