"""Training on many processes or machines: rounds over shards, and the engines that compute them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxmargin.parallel.engines import (
    Engine,
    ExecutorEngine,
    ProcessEngine,
    SerialEngine,
    ThreadEngine,
    resolve_engine,
)

if TYPE_CHECKING:
    from maxmargin.parallel.dask_engine import DaskEngine as DaskEngine
    from maxmargin.parallel.ray_engine import RayEngine as RayEngine

__all__ = [
    "DaskEngine",
    "Engine",
    "ExecutorEngine",
    "ProcessEngine",
    "RayEngine",
    "SerialEngine",
    "ThreadEngine",
    "resolve_engine",
]
_ELSEWHERE = {"DaskEngine": "dask_engine", "RayEngine": "ray_engine"}


def __getattr__(name: str) -> Any:
    """Import engines of packages that may be missing on first use."""
    if name in _ELSEWHERE:
        return getattr(import_module(f"maxmargin.parallel.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module 'maxmargin.parallel' has no attribute {name!r}")
