"""HTML that what is put into it cannot break: text is escaped unless it is `Html` already."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

__all__ = [
    "Html",
    "bdi",
    "clip_text",
    "data_block",
    "el",
    "isolated",
    "join",
    "escape_text",
    "visible_text",
]

VOID = frozenset({"br", "hr", "img", "input", "meta"})
# Shown by name: codes that steer the direction of text, because one left open would turn round
# what follows it, in the page and in tooltips alike; and those without width, because two words
# would look the same. Joiners stay: scripts and emoji are written with them.
NAMED = "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
HIDDEN = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|([{NAMED}])")


class Html(str):
    """A string that is markup, not text."""

    __slots__ = ()


def visible_text(value: Any) -> str:
    """The text with a visible sign for each character that has none of its own."""
    return HIDDEN.sub(_sign, str(value))


def _sign(match: re.Match) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"[U+{code:04X}]" if match[1] else "\ufffd"


def escape_text(value: Any) -> Html:
    """Anything as text of an element or value of an attribute."""
    return value if isinstance(value, Html) else Html(escape(visible_text(value), quote=True))


def bdi(value: Any, class_: str | None = None) -> Html:
    """Text from the data: set apart, so that right-to-left words do not move their neighbours."""
    return el("bdi", value, class_=class_)


def clip_text(value: Any, most: int = 200) -> str:
    """The text, or its beginning if it is very long."""
    words = str(value)
    return words if len(words) <= most else f"{words[:most]}…"


def isolated(value: Any) -> Html:
    """The same for the value of an attribute, where there can be no element."""
    return Html(f"\u2068{escape_text(value)}\u2069")


def join(parts: Any, between: str = "") -> Html:
    """Several pieces one after the other."""
    return Html(escape_text(between).join(escape_text(part) for part in parts if part is not None))


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """One element. A trailing _ is dropped from names of attributes, other _ become -.

    Children and attributes that are None are left out; an attribute that is True has no value.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        parts.append(f" {label}" if value is True else f' {label}="{escape_text(value)}"')
    parts.append(">")
    if name in VOID:
        return Html("".join(parts))
    return Html(f"{''.join(parts)}{join(children)}</{name}>")


def data_block(value: Any, **attributes: Any) -> Html:
    """JSON for the page's own script; nothing in it can end the element that holds it."""
    safe = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        safe = safe.replace(sign, f"\\u{ord(sign):04x}")
    return el("script", Html(safe), type="application/json", **attributes)
