"""Runs that survive: training into a folder that keeps all there is to know about it.

A run folder has `config.toml`, `environment.json`, `data.json` (checksums of the files),
`history.jsonl` (a record a line), `checkpoint.maxmargin`, `model.maxmargin`, `summary.json` and
`evaluations/`. Every file is written whole or not at all. A run that was stopped, by a signal, a
power cut or a full disk, goes on from its last checkpoint to the same model, byte for byte.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.cli.runs.config import check_config, read_config, write_config
    from maxmargin.cli.runs.errors import LockedError, RunError
    from maxmargin.cli.runs.evaluating import evaluate
    from maxmargin.cli.runs.folder import RunFolder
    from maxmargin.cli.runs.training import train

__all__ = [
    "LockedError",
    "RunError",
    "RunFolder",
    "check_config",
    "evaluate",
    "read_config",
    "train",
    "write_config",
]

_ELSEWHERE = {
    "LockedError": "errors",
    "RunError": "errors",
    "RunFolder": "folder",
    "evaluate": "evaluating",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    """Import on first use: what only reads a run folder needs no solvers."""
    if name in __all__:
        module = import_module(f"maxmargin.cli.runs.{_ELSEWHERE.get(name, 'config')}")
        return getattr(module, name)
    raise AttributeError(f"module 'maxmargin.cli.runs' has no attribute {name!r}")
