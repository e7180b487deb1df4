"""maxmargin: learn to predict structured things, with a proof of how good the fit is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin import callbacks, datasets, domains, metrics
    from maxmargin.estimators import (
        ChainSVM,
        GraphCutSVM,
        MatchingSVM,
        MulticlassSVM,
        MultiLabelSVM,
        NetworkSVM,
        Restriction,
        StructuredSVM,
        TreeSVM,
    )
    from maxmargin.inputs import Bipartite, Graph
    from maxmargin.persistence import load

__version__ = "0.1.0"
__all__ = [
    "Bipartite",
    "ChainSVM",
    "Graph",
    "GraphCutSVM",
    "MatchingSVM",
    "MultiLabelSVM",
    "MulticlassSVM",
    "Restriction",
    "NetworkSVM",
    "StructuredSVM",
    "TreeSVM",
    "callbacks",
    "datasets",
    "domains",
    "load",
    "metrics",
]

_ELSEWHERE = {"Bipartite": "inputs", "Graph": "inputs", "load": "persistence"}
_MODULES = ("callbacks", "datasets", "domains", "metrics")


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import maxmargin` itself is immediate."""
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name in __all__:
        return getattr(import_module(f"maxmargin.{_ELSEWHERE.get(name, 'estimators')}"), name)
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
