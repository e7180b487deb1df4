"""Docstrings of classes, completed by those of their bases."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


class _Entry(NamedTuple):
    """What a section says of one name, or of several: ``a, b : int``, and the lines below."""

    names: tuple[str, ...]
    text: str


def complete_docstring(cls: Any) -> None:
    """Add what bases say of parameters and attributes that the docstring of a class leaves out.

    So a parameter that many classes have is described once, in their base.
    """
    sections = _split_sections(vars(cls).get("__doc__"))
    if not sections:
        return
    order = {name: k for k, name in enumerate(inspect.signature(cls.__init__).parameters)}
    bases = [_split_sections(base.__doc__) for base in cls.__mro__[1:]]
    known: set[str] = set()
    for title in ("Parameters", "Attributes"):
        entries = _split_entries(sections.get(title))
        known.update(name for entry in entries for name in entry.names)
        count = len(entries)
        # what a base without a constructor calls an attribute may be a parameter of the class
        found = [own for base in bases for own in _split_entries(base.get("Parameters"))]
        others = [own for base in bases for own in _split_entries(base.get("Attributes"))]
        for entry in found + others if title == "Parameters" else others:
            is_parameter = order.keys() >= set(entry.names)
            if is_parameter == (title == "Parameters") and known.isdisjoint(entry.names):
                entries.append(entry)
                known.update(entry.names)
        if title == "Parameters":
            entries.sort(key=lambda entry: min(order.get(name, 10**6) for name in entry.names))
        if len(entries) > count:
            sections[title] = "".join(f"{entry.text.rstrip()}\n" for entry in entries) + "\n"
    first = sections.pop("")
    ordered = {
        title: sections[title] for title in ("Parameters", "Attributes") if title in sections
    }
    rest = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in (ordered | sections).items()]
    cls.__doc__ = "".join([first, *rest]).rstrip() + "\n"


def _split_sections(doc: str | None) -> dict[str, str]:
    """Text of each section of a docstring by its title; "" for what stands before them."""
    if not doc:
        return {}
    first, *rest = _TITLE.split(inspect.cleandoc(doc) + "\n")
    return {"": first.rstrip() + "\n\n", **dict(zip(rest[::2], rest[1::2], strict=True))}


def _split_entries(text: str | None) -> list[_Entry]:
    found = re.findall(r"^\S.*\n(?:(?: .*)?\n)*", text or "", re.MULTILINE)
    return [_Entry(tuple(re.split(r", *", own.partition(" :")[0])), own) for own in found]
