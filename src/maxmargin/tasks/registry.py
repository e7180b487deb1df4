"""The tasks that the program knows, by name: `TASK_COMMANDS`."""

from __future__ import annotations

from importlib import import_module

from maxmargin.tasks import TASK_COMMANDS
from maxmargin.tasks.command import Data, Option, TaskCommand

__all__ = ["TASK_COMMANDS", "Data", "Option", "TaskCommand", "find_task_command"]


def find_task_command(name: str) -> TaskCommand:
    """The task command of that name."""
    if name not in TASK_COMMANDS:
        raise ValueError(f"task {name!r} is unknown; use one of {', '.join(TASK_COMMANDS)}.")
    module, _, attribute = TASK_COMMANDS[name].partition(":")
    return getattr(import_module(module), attribute)()
