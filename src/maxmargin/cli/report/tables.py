"""Tables, pairs of names and values, and confusions as HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from maxmargin.cli.report.markup import Html, bdi, clip_text, el, isolated, join
from maxmargin.cli.report.values import drawn_or_values
from maxmargin.drawing.numbers import finite_or_none, format_count, format_percent, format_value
from maxmargin.tasks.documents import Confusion, Table

__all__ = [
    "Number",
    "confusion_html",
    "pairs_html",
    "grid_html",
    "tables_html",
    "key_number",
    "key_numbers",
]

MAX_ROWS = 600
MAX_TABLES = 24
#: of one table, in characters
MAX_MARKUP = 200_000
#: rows shown before "show all"
FIRST_ROWS = 15
MAX_LABELS = 40


def tables_html(tables: Sequence[Table]) -> Html:
    """Tables one after the other; what is left out is counted."""
    left_out = len(tables) - MAX_TABLES
    note = el("p", f"{left_out} more tables are left out.", class_="note") if left_out > 0 else None
    return join([*(drawn_or_values(table_html, t) for t in tables[:MAX_TABLES]), note])


def table_html(table: Table) -> Html:
    """A table of a document; the page's script makes its columns sortable."""
    return grid_html(
        table.get("title", ""),
        table.get("columns", []),
        table.get("rows", []),
        table.get("note", ""),
    )


def grid_html(
    title: str, columns: Sequence[Any], rows: Sequence[Sequence[Any]], note: str = ""
) -> Html:
    """Rows under column names; cells that are Html stay as they are."""
    found = len(rows)
    rows = rows[:MAX_ROWS]
    numeric = [_is_numeric([row[k] for row in rows if k < len(row)]) for k in range(len(columns))]
    head = [
        el("th", bdi(name), scope="col", class_="n" if numeric[k] else None)
        for k, name in enumerate(columns)
    ]
    decimals = [_decimals([row[k] for row in rows if k < len(row)]) for k in range(len(columns))]
    body: list[Html] = []
    size = 0
    for row in rows:
        body.append(_row(row, numeric, decimals))
        size += len(body[-1])
        if size > MAX_MARKUP:
            break
    left_out = found - len(body)
    notes = [note] if note else []
    if left_out > 0:
        notes.append(f"{format_count(left_out)} more rows are left out.")
    grid = el(
        "div",
        el("table", el("thead", el("tr", *head)), el("tbody", *body)),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=title or "table",
    )
    return el(
        "div",
        el("h4", bdi(title)) if title else None,
        grid,
        el("p", bdi(" ".join(notes)), class_="note") if notes else None,
        class_="table",
        data_first=FIRST_ROWS if len(body) > FIRST_ROWS + 3 else None,
    )


def _is_numeric(cells: list[Any]) -> bool:
    known = [cell for cell in cells if cell is not None]
    return bool(known) and all(isinstance(cell, int | float | Number) for cell in known)


class Number(str):
    """A number already in words, with its value to sort by."""

    value: float | None

    def __new__(cls, words: str, value: Any) -> Number:
        """Words to show, value to sort by."""
        made = super().__new__(cls, words)
        made.value = finite_or_none(value)
        return made


def _decimals(cells: list[Any]) -> int | None:
    """As many for a whole column that its largest number has four digits; None: as each needs."""
    sizes = [abs(cell) for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    least = min((size for size in sizes if size), default=0.0)
    if not sizes or not 0.01 <= max(sizes) < 1000 or all(size == int(size) for size in sizes):
        return None
    found = 4 if max(sizes) <= 1 else 3 - math.floor(math.log10(max(sizes)))
    return found if least >= 10.0**-found else None


def _row(row: Sequence[Any], numeric: list[bool], decimals: list[int | None]) -> Html:
    cells = []
    for k, cell in enumerate(row[: len(numeric)]):
        if numeric[k]:
            own = cell.value if isinstance(cell, Number) else finite_or_none(cell)
            shown = str(cell) if isinstance(cell, Number) else format_value(cell)
            if isinstance(cell, float) and decimals[k] is not None and own is not None:
                shown = f"{cell:.{decimals[k]}f}"
            cells.append(el("td", shown, class_="n", data_v="" if own is None else own))
        else:
            words = cell if isinstance(cell, Html) else bdi(clip_text(format_value(cell)))
            wide = not isinstance(cell, Html) and len(format_value(cell)) > 44
            cells.append(el("td", words, class_="wide" if wide else None))
    return el("tr", *cells)


def pairs_html(counts: Mapping[str, Any]) -> Html:
    """Names and values; what is nested is spelled out with a dot between names."""
    pairs = _flat(counts)
    rows = [
        el("div", el("dt", bdi(name)), el("dd", bdi(clip_text(format_value(own), 2000))))
        for name, own in pairs
    ]
    return el("dl", *rows[:MAX_ROWS], class_="pairs")


def _flat(counts: Any, prefix: str = "", depth: int = 0) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, own in counts.items():
        label = f"{prefix}{name}" if prefix else name  # which may be Html
        if isinstance(own, Mapping) and own and depth < 6:
            pairs += _flat(own, f"{label}.", depth + 1)
        elif isinstance(own, list):
            pairs.append((label, ", ".join(format_value(item) for item in own) or "none"))
        else:
            pairs.append((label, own))
    return pairs


def key_number(label: str, shown: str, under: str = "", help_: str = "") -> Html:
    """A key number."""
    return el(
        "div",
        el("dt", bdi(label)),
        el("dd", el("span", shown, class_="big"), el("span", bdi(under), class_="under")),
        class_="tile",
        title=help_ or None,
    )


def confusion_html(confusion: Confusion, listed: bool = False) -> Html:
    """Truth by prediction as a heat map, and the commonest mistakes, unless `listed` already."""
    labels, counts, left_out = _most_confused(confusion)
    labels = [clip_text(label, 60) for label in labels]
    totals = [sum(int(finite_or_none(c) or 0) for c in row) for row in counts]
    head = el(
        "tr",
        el("td", "true ↓ predicted →", class_="corner"),
        *(el("th", el("span", bdi(label)), scope="col") for label in labels),
    )
    body = [
        el(
            "tr",
            el("th", bdi(label), scope="row"),
            *(_heat(labels, totals[a], counts[a], a, b) for b in range(len(labels))),
        )
        for a, label in enumerate(labels)
    ]
    note = "Shading: share of the row, on a square-root scale; blue right, orange wrong. " + (
        f"The {len(labels)} labels with most mistakes of {left_out + len(labels)}." * (left_out > 0)
    )
    flat = all(len(label) <= 2 for label in labels)  # no need to turn them
    table = el(
        "table", el("thead", head), el("tbody", *body), class_="heat flat" if flat else "heat"
    )
    return el(
        "div",
        el("h4", "Confusion"),
        el("div", table, class_="scroll", tabindex="0", role="region", aria_label="confusion"),
        el("p", note, class_="note"),
        None if listed else _commonest(labels, counts, totals),
        class_="confusion",
    )


def _most_confused(confusion: Confusion) -> tuple[list[str], list[list[int]], int]:
    """The labels that matter where there are too many to show, in their own order."""
    labels, counts = confusion["labels"], confusion["counts"]
    n = min(len(labels), len(counts))
    if n <= MAX_LABELS:
        return labels[:n], [row[:n] for row in counts[:n]], 0
    wrong = [
        sum(counts[a]) + sum(row[a] for row in counts if a < len(row)) - 2 * counts[a][a]
        for a in range(n)
    ]
    kept = sorted(sorted(range(n), key=lambda a: -wrong[a])[:MAX_LABELS])
    return [labels[a] for a in kept], [[counts[a][b] for b in kept] for a in kept], n - len(kept)


def _heat(labels: list[str], total: int, row: list[int], a: int, b: int) -> Html:
    n = row[b] if b < len(row) else 0
    kind = "hit" if a == b else "miss"
    if not n:
        return el("td", class_="d" if a == b else None)
    share = n / total
    strength = math.sqrt(share)
    return el(
        "td",
        el("span", f"{n}" if n < 10_000 else f"{n / 1000:.0f}k"),
        class_=join((kind, *heat_classes(kind, strength)), " "),
        style=f"--v:{strength:.2f}",
        title=join(
            (
                "true ",
                isolated(labels[a]),
                ", predicted ",
                isolated(labels[b]),
                f": {format_count(n)} ({format_percent(share)} of the row)",
            )
        ),
    )


def heat_classes(kind: str, strength: float) -> tuple[str, ...]:
    """Which text stands out: on pale cells the page's own, on dark ones of light pages white."""
    warm = ("warm",) if strength > (0.69 if kind == "hit" else 0.68) else ()
    return (*warm, "hot") if kind == "hit" and strength > 0.9 else warm


def _commonest(labels: list[str], counts: list[list[int]], totals: list[int]) -> Html | None:
    cells = [
        (row[b], a, b)
        for a, row in enumerate(counts)
        for b in range(min(len(row), len(labels)))
        if a != b and row[b]
    ]
    cells.sort(key=lambda cell: -cell[0])
    rows = [
        [labels[a], labels[b], n, Number(format_percent(n / totals[a]), n / totals[a])]
        for n, a, b in cells[:12]
    ]
    if not rows:
        return None
    return grid_html("Commonest confusions", ["true", "predicted", "count", "share of true"], rows)


def key_numbers(found: Sequence[Html]) -> Html:
    """Key numbers side by side."""
    return el("dl", join(found), class_="tiles")
