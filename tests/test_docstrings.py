"""Docstrings of the public API are complete in the format of numpydoc."""

import builtins
import inspect
import re
from enum import Enum
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import maxmargin

MODULES = [
    "maxmargin",
    *(
        f"maxmargin.{name}"
        for name in (
            "structures", "solvers", "features", "losses", "domains", "estimators", "metrics",
            "paths", "plotting", "datasets", "tasks", "persistence", "callbacks", "result",
            "problem", "inputs", "exceptions",
        )
    ),
]  # fmt: skip
CHECKS = {"GL08", "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "RT03"}


def is_own(name, module):
    return getattr(getattr(module, name), "__module__", "") == module.__name__


def public_objects():
    """{name: object} of classes, functions, and methods that do not inherit their docstrings."""
    found, seen = {}, set()
    for path in MODULES:
        module = import_module(path)
        names = getattr(module, "__all__", None) or [
            name for name in dir(module) if not name.startswith("_") and is_own(name, module)
        ]
        for name in names:
            own = getattr(module, name)
            if id(own) in seen or not (inspect.isclass(own) or inspect.isfunction(own)):
                continue
            seen.add(id(own))
            if not own.__module__.startswith("maxmargin"):
                continue
            found[f"{path}.{name}"] = own
            if inspect.isclass(own):
                found |= {f"{path}.{name}.{key}": f for key, f in methods(own)}
    return found


def methods(kind):
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        inherits = not function.__doc__ and any(name in vars(base) for base in kind.__mro__[1:])
        if not name.startswith("_") and inspect.isfunction(function) and not inherits:
            yield name, function


OBJECTS = public_objects()


def returns_nothing(function):
    return function.__annotations__.get("return", "None") in (None, "None", "NoReturn")


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring(name):
    own = OBJECTS[name]
    if inspect.isclass(own) and issubclass(own, BaseException | Enum):
        assert own.__doc__, name
        return
    errors = [text for code, text in validate(name)["errors"] if code in CHECKS]
    if inspect.isfunction(own) and not returns_nothing(own):
        doc = Validator(get_doc_object(own))
        if not doc.returns and not doc.yields:
            errors.append("No Returns section found")
    assert not errors, f"{name}: {'; '.join(errors)}"


SOURCE = Path(maxmargin.__file__).parent
#: symbols of formulas, and names of other things than code
SYMBOLS = re.compile(r"[a-zA-Z]+_(i|e|jk)|a\d\.npy|(images|labels)_(train|test)|FileLock")


#: docstrings and comments; else strings and names (`tokenize` takes five times as long)
TOKENS = re.compile(
    r'''(?P<text>\w*"""(?:[^\\]|\\(?:.|\n))*?"""|\#.*)|'''
    r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+"""
)


def test_names_in_docstrings_and_comments_exist():
    known, mentioned = set(dir(builtins)), []
    for path in sorted(SOURCE.rglob("*.py")):
        place, source = path.relative_to(SOURCE), path.read_text(encoding="utf-8")
        known.update(place.with_suffix("").parts)
        code = set()
        for token in TOKENS.finditer(source):
            if token["text"] is None:
                code.add(token[0])
                continue
            names = re.findall(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)", token["text"])
            line = source.count("\n", 0, token.start()) + 1 if names else None
            mentioned += [(f"{place}:{line}", name) for name in names]
        known.update(re.findall(r"\w+", " ".join(code)))
    gone = [
        (place, name)
        for place, name in mentioned
        if not SYMBOLS.fullmatch(name) and not known.issuperset(name.split("."))
    ]
    assert not gone
