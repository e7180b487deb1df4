"""Samples drawn as what they are: sentences with tags or arcs, pictures, links as a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maxmargin.cli.report.areas import areas_html
from maxmargin.cli.report.markup import Html, bdi, clip_text, el, isolated, join, visible_text
from maxmargin.cli.report.values import drawn_or_values, values_html
from maxmargin.drawing.arcs import Arc, arcs_svg, circle_svg, compare_arcs
from maxmargin.drawing.numbers import format_count
from maxmargin.drawing.png import ink_png, png_uri

__all__ = ["DRAWINGS", "drawing_html", "drawings_html"]

MAX_DRAWINGS = 60
MAX_TOKENS = 400
MAX_IMAGES = 80
MAX_PIXELS = 128 * 128
MAX_WORDS = 120
#: tokens around a circle
MAX_CIRCLE = 600
#: how far in a node of a tree may stand
MAX_DEPTH = 40
#: nodes of a tree below one another; more are set in columns
MAX_COLUMN = 24
#: of all evaluations together, in characters
MAX_MARKUP = 1_600_000
#: drawings shown before "show more"
FIRST = 6
LEGEND = {
    "tokens": "Below each word, node or label is what was predicted for it. A mistake is framed:"
    " ✗ what was predicted, ✓ the truth.",
    "outline": "Beside each node its label; children stand below their parent and further in. A"
    " mistake is framed: ✗ what was predicted, ✓ the truth.",
    "images": "Beneath each picture its label. A mistake is framed: ✗ what was predicted,"
    " ✓ the truth.",
    "links": "A disc is a link that was predicted and is in the truth, a cross one that is not. A"
    " solid square is a sure link, filled with colour where it was missed; a dashed square is a"
    " possible link, which may be left out.",
    "arcs": "Above the words are the predicted arcs, blue where they are in the truth and orange"
    " where not; dashed below are those of the truth that were missed.",
    "circle": "Lines join what is predicted to be paired, blue where it is in the truth and orange"
    " where not; dashed are pairs of the truth that were missed. Places are numbered clockwise.",
    "areas": "Blue is the foreground (the second label), grey the background. Among the mistakes,"
    " orange is background that was taken for foreground, yellow is foreground that was"
    " missed.",
}
#: where links are true or not, and none is merely possible
TRUE_LINKS = (
    "A disc is a link that was predicted and is true, a cross one that is not. A square is a true"
    " link, filled with colour where it was missed."
)


def drawings_html(
    drawings: Sequence[Any], most: int = MAX_MARKUP, worst: int | None = None
) -> Html:
    """The first `worst` samples; what does not fit into `most` characters is only counted."""
    known = [d for d in drawings if isinstance(d, dict)][:worst]
    parts: list[Html] = []
    size = 0
    for drawing in known[: MAX_DRAWINGS if worst is None else worst]:
        made = drawing_html(drawing)
        size += len(made)
        if size > most and parts:
            break
        parts.append(made)
    if not parts:
        return Html("")
    kinds = dict.fromkeys(str(d.get("kind")) for d in known)
    left_out = len(known) - len(parts)
    return el(
        "div",
        el("h4", "Samples, worst mistakes first"),
        *(el("p", _legend(kind, known), class_="note") for kind in kinds if kind in LEGEND),
        el("div", join(parts), class_="samples", data_first=FIRST if len(parts) > FIRST else None),
        el("p", f"{format_count(left_out)} more samples are left out.", class_="note")
        if left_out
        else None,
    )


def _legend(kind: str, drawings: Sequence[dict[str, Any]]) -> str:
    own = [drawing for drawing in drawings if drawing.get("kind") == kind]
    if own[0].get("legend"):
        return str(own[0]["legend"])
    return TRUE_LINKS if kind == "links" and not any(map(_has_possible, own)) else LEGEND[kind]


def _has_possible(drawing: dict[str, Any]) -> bool:
    """Whether some links are possible, but not sure."""
    try:
        return bool(_pairs(drawing.get("possible")) - _pairs(drawing.get("sure")))
    except (TypeError, ValueError):  # damaged: its values are shown
        return False


def drawing_html(drawing: dict[str, Any]) -> Html:
    """One sample by its kind; a kind that is not known here is shown as its values."""
    draw = DRAWINGS.get(str(drawing.get("kind")), values_html)
    body = drawn_or_values(draw, drawing)
    wrong = drawing.get("errors") or 0
    badge = None
    if drawing.get("truth_known"):
        words = f"✗ {format_count(wrong)} wrong" if wrong else "✓ all right"
        badge = el("span", words, class_="badge bad" if wrong else "badge good")
    title = el("h5", bdi(clip_text(drawing.get("title", ""))), " ", badge)
    return el("article", title, body, class_="sample")


def tokens_html(drawing: dict[str, Any]) -> Html:
    """A sentence with its tags beneath the words."""
    tokens = drawing["tokens"]
    parts = []
    before = ""
    for k, token in enumerate(tokens[:MAX_TOKENS]):
        predicted, truth = _labels(drawing, k)
        known = bool(drawing.get("truth_known"))
        joined = predicted.startswith("I-") and before not in ("", "O")
        parts.append(
            el(
                "span",
                bdi(clip_text(token), class_="w"),
                _label(predicted, truth, known),
                class_=_classes("tok", predicted, truth, known, joined),
            )
        )
        before = predicted
    return el(
        "div",
        join(parts, " "),
        _rest(len(tokens), MAX_TOKENS, "words"),
        class_="tokens",
        dir="auto",
    )


def outline_html(drawing: dict[str, Any]) -> Html:
    """The nodes of a tree below one another, their labels beside them."""
    tokens, depth = drawing["tokens"], drawing["depth"]
    known = bool(drawing.get("truth_known"))
    rows = []
    for k, (token, level) in enumerate(zip(tokens[:MAX_TOKENS], depth, strict=False)):
        predicted, truth = _labels(drawing, k)
        own = el(
            "span",
            bdi(clip_text(token), class_="w"),
            _label(predicted, truth, known),
            class_=_classes("tok", predicted, truth, known, False),
        )
        rows.append(el("li", own, style=f"--in:{min(max(int(level), 0), MAX_DEPTH)}"))
    kind = "outline long" if len(rows) > MAX_COLUMN else "outline"
    return join((el("ul", join(rows), class_=kind), _rest(len(tokens), MAX_TOKENS, "nodes")))


def images_html(drawing: dict[str, Any]) -> Html:
    """Small pictures in a row with their labels."""
    height, width = int(drawing["height"]), int(drawing["width"])
    if not (0 < height * width <= MAX_PIXELS and height > 0):
        raise ValueError("pictures of this size are not drawn")
    images = drawing["images"]
    scale = max(1, round(56 / height))
    parts = []
    for k, values in enumerate(images[:MAX_IMAGES]):
        predicted, truth = _labels(drawing, k)
        known = bool(drawing.get("truth_known"))
        picture = el(
            "img",
            src=png_uri(ink_png(values, height, width)),
            alt=f"picture {k + 1}",
            width=width * scale,
            height=height * scale,
        )
        kind = _classes("tok glyph", predicted, truth, known, False)
        parts.append(el("span", picture, _label(predicted, truth, known), class_=kind))
    return el("div", join(parts, " "), _rest(len(images), MAX_IMAGES, "pictures"), class_="tokens")


def _labels(drawing: dict[str, Any], k: int) -> tuple[str, str]:
    predicted, truth = drawing.get("predicted") or [], drawing.get("truth") or []
    return (
        clip_text(predicted[k]) if k < len(predicted) else "",
        clip_text(truth[k]) if k < len(truth) else "",
    )


def _classes(base: str, predicted: str, truth: str, known: bool, joined: bool) -> str:
    kinds = [base]
    if known and predicted != truth:
        kinds.append("wrong")
    if predicted in ("O", ""):
        kinds.append("none")
    if joined:
        kinds.append("joined")
    return " ".join(kinds)


def _label(predicted: str, truth: str, known: bool) -> Html:
    if not known or predicted == truth:
        return bdi(predicted, class_="t")
    return join(
        (
            el("span", _mark("✗", "predicted"), bdi(predicted), class_="t p"),
            el("span", _mark("✓", "true"), bdi(truth), class_="t y"),
        )
    )


def _mark(sign: str, meaning: str) -> Html:
    return join((el("span", f"{sign}\u202f", aria_hidden="true"), el("span", meaning, class_="vh")))


def _rest(found: int, shown: int, what: str) -> Html | None:
    if found <= shown:
        return None
    return el("span", f"… {format_count(found - shown)} more {what}", class_="note")


def links_html(drawing: dict[str, Any]) -> Html:
    """Links as a matrix: source words down, target words across."""
    source = [clip_text(w, 80) for w in drawing["source"][:MAX_WORDS]]
    target = [clip_text(w, 80) for w in drawing["target"][:MAX_WORDS]]
    sure, possible = _pairs(drawing.get("sure")), _pairs(drawing.get("possible"))
    predicted = _pairs(drawing.get("predicted"))
    possible |= sure
    known = bool(drawing.get("truth_known"))
    true = "" if not known else "sure" if _has_possible(drawing) else "true"
    rows, cols = len(source), len(target)
    inside = sorted((i, j) for i, j in possible | predicted if i < rows and j < cols)
    across = [
        el("span", bdi(w), class_="c", style=f"grid-area:1/{j + 2}") for j, w in enumerate(target)
    ]
    down = [
        el("span", bdi(w), class_="r", style=f"grid-area:{i + 2}/1") for i, w in enumerate(source)
    ]
    marks = [
        _link(i, j, (i, j) in sure, (i, j) in possible, (i, j) in predicted, true, source, target)
        for i, j in inside
    ]
    grid_lines = el("span", class_="grid-lines", style=f"grid-area:2/2/{rows + 2}/{cols + 2}")
    corner = el("span", class_="corner")
    grid = el(
        "div",
        grid_lines,
        join(across),
        join(down),
        join(marks),
        corner,
        class_="matrix",
        style=f"--rows:{rows};--cols:{cols}",
        aria_hidden="true",
    )
    box = el(
        "div", grid, class_="scroll", tabindex="0", role="region", aria_label="alignment matrix"
    )
    rest = (
        _rest(len(drawing["source"]), MAX_WORDS, "source words"),
        _rest(len(drawing["target"]), MAX_WORDS, "target words"),
    )
    return join((box, *rest, _mistakes(drawing, sure, possible, predicted, known)))


def _pairs(found: Any) -> set[tuple[int, int]]:
    pairs = {(int(i), int(j)) for i, j in found or []}
    return {(i, j) for i, j in pairs if i >= 0 and j >= 0}


def _link(
    i: int,
    j: int,
    sure: bool,
    possible: bool,
    predicted: bool,
    true: str,
    source: Sequence[str],
    target: Sequence[str],
) -> Html:
    """The mark of a link; true : what those of the truth are called, "" if it is not known."""
    kinds = ["sure" if sure else "maybe" if possible else ""]
    if predicted:
        kinds.append("hit" if possible or not true else "extra")
    elif sure:
        kinds.append("missed")
    truth = true if sure else "possible" if possible else "not in the truth" if true else ""
    words = [part for part in (truth, "predicted" if predicted else "not predicted") if part]
    return el(
        "i",
        class_=" ".join(kind for kind in ("m", *kinds) if kind),
        style=f"grid-area:{i + 2}/{j + 2}",
        title=join((isolated(source[i]), "–", isolated(target[j]), ": ", ", ".join(words))),  # noqa: RUF001
    )


def _mistakes(
    drawing: dict[str, Any],
    sure: set[tuple[int, int]],
    possible: set[tuple[int, int]],
    predicted: set[tuple[int, int]],
    known: bool,
) -> Html | None:
    """The same in words: for those who cannot see the matrix, and to search in."""
    if not known:
        return _pair_list("linked", predicted, drawing)
    return join(
        (
            _pair_list("predicted, but not in the truth", predicted - possible, drawing),
            _pair_list("missed", sure - predicted, drawing),
        )
    )


def _pair_list(label: str, pairs: set[tuple[int, int]], drawing: dict[str, Any]) -> Html | None:
    source, target = drawing["source"], drawing["target"]
    named = [
        (source[i], target[j]) for i, j in sorted(pairs) if i < len(source) and j < len(target)
    ]
    if not named:
        return None
    shown = [join((bdi(clip_text(a, 80)), "–", bdi(clip_text(b, 80)))) for a, b in named[:24]]  # noqa: RUF001
    more = f", and {len(named) - 24} more" if len(named) > 24 else ""
    return el("p", el("b", f"{label}: "), join(shown, ", "), more, class_="pairs")


def arcs_html(drawing: dict[str, Any]) -> Html:
    """Arcs above and below the words of a sentence."""
    return _draw_arcs(drawing, arcs_svg, MAX_WORDS, "arcs between words")


def circle_html(drawing: dict[str, Any]) -> Html:
    """Pairs of bases, around a circle."""
    return _draw_arcs(drawing, circle_svg, MAX_CIRCLE, "pairs around a circle", "bases")


def _draw_arcs(
    drawing: dict[str, Any], draw: Callable[..., str], most: int, title: str, noun: str = "words"
) -> Html:
    tokens = [clip_text(visible_text(token), 30) for token in drawing["tokens"][:most]]
    predicted = _arcs(drawing["predicted"], len(tokens))
    truth = _arcs(drawing["truth"], len(tokens)) if drawing.get("truth_known") else None
    _, wrong, missed = compare_arcs(predicted, truth)
    picture = el(
        "div",
        Html(draw(tokens, predicted, truth, title)),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=title,
    )
    rest = _rest(len(drawing["tokens"]), most, noun)
    names = ["the root", *tokens]  # -1 is the root
    listed = (("predicted, but not in the truth", wrong), ("missed", missed))
    return join((picture, rest, *(_arc_list(label, own, names) for label, own in listed)))


def _arcs(found: Any, n: int) -> list[Arc]:
    """The arcs between words that are shown."""
    arcs = [Arc(int(i), int(j), clip_text(visible_text(label), 30)) for i, j, label in found]
    return [arc for arc in arcs if -1 <= arc.start < n and 0 <= arc.end < n]


def _arc_list(label: str, arcs: Sequence[Arc], names: Sequence[str]) -> Html | None:
    """The same in words, for those who cannot see the arcs."""
    if not arcs:
        return None
    shown = [
        join((bdi(names[arc.start + 1]), " to ", bdi(names[arc.end + 1]), f" {arc.label}".rstrip()))
        for arc in arcs[:24]
    ]
    more = f", and {len(arcs) - 24} more" if len(arcs) > 24 else ""
    return el("p", el("b", f"{label}: "), join(shown, ", "), more, class_="pairs")


#: how a drawing of each kind becomes HTML; a new kind of sample is one more line
DRAWINGS: dict[str, Callable[[dict[str, Any]], Html]] = {
    "tokens": tokens_html,
    "outline": outline_html,
    "images": images_html,
    "links": links_html,
    "arcs": arcs_html,
    "circle": circle_html,
    "areas": areas_html,
}
