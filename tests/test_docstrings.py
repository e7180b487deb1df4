"""Docstrings of the public API are complete in the format of numpydoc."""

import inspect
from enum import Enum
from importlib import import_module

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

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
