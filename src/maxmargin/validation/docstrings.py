"""Docstrings of classes and methods, completed by those of their bases."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

#: the methods that say what the arguments of the others are: samples, scores, states ...
_MAIN = ("fit", "plot", "maximize", "epoch")
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
            sections |= _join_entries(title, entries)
    cls.__doc__ = _join_sections(sections)


def complete_methods(cls: Any) -> None:
    """Add what the docstrings of a class's methods leave out.

    A method without a docstring has that of the method it overrides. Parameters that it does not
    describe are those of the main method of its class, of the method it overrides, or of the class
    and its bases.
    """
    found = vars(cls).items()
    methods = {k: own.__func__ if isinstance(own, classmethod) else own for k, own in found}
    methods = {name: own for name, own in methods.items() if inspect.isfunction(own)}
    main = next((getattr(cls, name) for name in _MAIN if hasattr(cls, name)), None)
    for name in sorted(methods, key=lambda name: name not in _MAIN):
        own = methods[name]
        bases = [vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)]
        arguments, overridden = _arguments(own), _arguments(bases[0]) if bases else ()
        text = own.__doc__ or (bases[0].__doc__ if bases and arguments != overridden else None)
        # looked up only where something is left out: this runs at every import
        described = {*re.findall(r"^ *(\w+) : ", text or "", re.MULTILINE)}
        if name[0] == "_" or not text or described.issuperset(arguments):
            continue
        sections = _split_sections(text)
        entries = _split_entries(sections.get("Parameters"))
        entries = [entry for entry in entries if {*arguments}.issuperset(entry.names)]
        for source in (main, *bases, *cls.__mro__):
            known = {name for entry in entries for name in entry.names}
            given = _split_sections(getattr(source, "__doc__", None)).get("Parameters")
            entries += [entry for entry in _split_entries(given) if entry.names
                        and {*arguments}.difference(known).issuperset(entry.names)]  # fmt: skip
        entries.sort(key=lambda entry: arguments.index(entry.names[0]))
        own.__doc__ = _join_sections(sections | _join_entries("Parameters", entries))


def _arguments(function: Any) -> tuple[str, ...]:
    """The names of a method's arguments, without the first; () of what is not a function."""
    code = getattr(function, "__code__", None)
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount] if code else ()


def _split_sections(doc: str | None) -> dict[str, str]:
    """Text of each section of a docstring by its title; "" for what stands before them."""
    if not doc:
        return {}
    first, *rest = _TITLE.split(inspect.cleandoc(doc) + "\n")
    return {"": first.rstrip() + "\n\n", **dict(zip(rest[::2], rest[1::2], strict=True))}


def _split_entries(text: str | None) -> list[_Entry]:
    found = re.findall(r"^\S.*\n(?:(?: .*)?\n)*", text or "", re.MULTILINE)
    return [_Entry(tuple(re.split(r", *", own.partition(" :")[0])), own) for own in found]


def _join_entries(title: str, entries: list[_Entry]) -> dict[str, str]:
    return {title: "".join(f"{entry.text.rstrip()}\n" for entry in entries) + "\n"}


def _join_sections(sections: dict[str, str]) -> str:
    """The docstring of sections, in numpydoc's order."""
    titles = [title for title in ("Parameters", "Attributes") if sections.get(title, "").strip()]
    titles += [title for title in sections if title not in ("", "Parameters", "Attributes")]
    rest = [f"{title}\n{'-' * len(title)}\n{sections[title].rstrip()}\n\n" for title in titles]
    return "".join([sections[""], *rest]).rstrip() + "\n"
