"""Runs that survive: training into a folder that keeps all there is to know about it.

A run folder has `config.toml`, `environment.json`, `data.json` (checksums of the files),
`history.jsonl` (a record a line), `checkpoint.maxmargin`, `model.maxmargin`, `summary.json` and
`evaluations/`. Every file is written whole or not at all. A run that was stopped, by a signal, a
power cut or a full disk, goes on from its last checkpoint to the same model, byte for byte.
"""

from __future__ import annotations

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
