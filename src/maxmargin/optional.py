"""Packages that may be missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional_module(name: str, hint: str) -> Any:
    """Import a module now; an ImportError that gives a hint if it is not installed."""
    try:
        import_module(name.partition(".")[0])  # as an import statement does
        return import_module(name)
    except ImportError as error:
        raise ImportError(hint) from error


def import_pandas() -> Any:
    """The package that tables are given in by `to_frame`."""
    return optional_module("pandas", "to_frame needs pandas: pip install pandas")


def import_pillow(part: str) -> Any:
    """A module of the package that reads pictures."""
    hint = 'pillow is needed to read images: pip install "maxmargin[images]"'
    return optional_module(f"PIL.{part}", hint)
