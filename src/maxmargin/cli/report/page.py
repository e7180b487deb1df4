"""The frame of a report: one HTML file with its style and script inside and no way out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from maxmargin.cli.report.markup import Html, bdi, el, escape_text, join

__all__ = ["Section", "page_html"]

STYLES = ("page.css", "pieces.css", "print.css")
SCRIPTS = ("chart.js", "page.js")


@dataclass(frozen=True)
class Section:
    """A part of the page: `key` is its address within, `lead` a sentence beside its title."""

    key: str
    title: str
    lead: str
    body: Html


def page_html(
    *, title: str, eyebrow: str, lead: Html, counts: Html, sections: Sequence[Section], foot: str
) -> str:
    """The whole file."""
    script = _assets(SCRIPTS)
    head = join(
        (
            el("meta", charset="utf-8"),
            el("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", name="referrer", content="no-referrer"),
            el("meta", name="color-scheme", content="light dark"),
            el("title", f"{title} – maxmargin"),  # noqa: RUF001
            el("style", Html(_assets(STYLES))),
        )
    )
    top = el(
        "header",
        el("p", eyebrow, class_="eyebrow"),
        el("h1", bdi(title)),
        el("div", lead, class_="lead"),
        counts,
        class_="top",
    )
    links = [el("li", el("a", s.title, href=f"#{s.key}")) for s in sections]
    body = join(
        (
            el("a", "Skip to the content", href="#content", class_="skip"),
            el("nav", el("ul", *links), aria_label="Sections", id="sections"),
            el("div", top, el("main", *map(_section, sections), id="content"), class_="sheet"),
            el("footer", el("p", escape_text(foot))),
            el("script", Html(script)),
        )
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _section(section: Section) -> Html:
    return el(
        "section",
        el(
            "div",
            el("h2", section.title, id=f"{section.key}-title"),
            el("p", section.lead) if section.lead else None,
            class_="side",
        ),
        el("div", section.body, class_="body"),
        id=section.key,
        aria_labelledby=f"{section.key}-title",
    )


def _assets(names: Sequence[str]) -> str:
    folder = files("maxmargin.cli.report") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(script: str) -> str:
    """Only the script in this file may run, only pictures in this file may be shown.

    Shades of a heat map and places in a grid are style attributes, which no hash can allow.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
