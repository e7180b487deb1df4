"""maxmargin: learn to predict structured things, with a proof of how good the fit is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_ELSEWHERE = {"Bipartite": "inputs", "Graph": "inputs", "load": "persistence"}
_MODULES = ("callbacks", "datasets", "domains", "metrics")

if TYPE_CHECKING:  # `as` tells type checkers that a name is public, as `*` does
    from maxmargin import (
        callbacks as callbacks,
        datasets as datasets,
        domains as domains,
        metrics as metrics,
    )
    from maxmargin.estimators import *  # noqa: F403
    from maxmargin.inputs import Bipartite as Bipartite, Graph as Graph
    from maxmargin.persistence import load as load


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import maxmargin` itself is immediate."""
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name in _ELSEWHERE:
        return getattr(import_module(f"maxmargin.{_ELSEWHERE[name]}"), name)
    if name == "__all__":  # asked for by `from maxmargin import *`
        return sorted([*_ELSEWHERE, *_MODULES, *import_module("maxmargin.estimators").__all__])
    # estimators are classes: other names, those of modules too, need not import all of them
    if name[:1].isupper() and name in import_module("maxmargin.estimators").__all__:
        return getattr(import_module("maxmargin.estimators"), name)
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
