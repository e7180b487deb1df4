"""The tasks that the program knows, by name: `TASK_COMMANDS`."""

from __future__ import annotations

from importlib import import_module

from maxmargin.tasks.command import Data, Option, TaskCommand

__all__ = ["TASK_COMMANDS", "Data", "Option", "TaskCommand", "find_task_command"]

#: name of a task -> where its task command is; imported only when asked for
TASK_COMMANDS: dict[str, str] = {
    "tagging": "maxmargin.tasks.tagging.command:TaggingCommand",
    "alignment": "maxmargin.tasks.alignment.command:AlignmentCommand",
    "chain": "maxmargin.tasks.arrays.table:ChainCommand",
    "matching": "maxmargin.tasks.arrays.table:MatchingCommand",
    "graph": "maxmargin.tasks.arrays.table:GraphCommand",
    "tree": "maxmargin.tasks.arrays.table:TreeCommand",
    "network": "maxmargin.tasks.arrays.table:NetworkCommand",
    "multilabel": "maxmargin.tasks.arrays.table:MultiLabelCommand",
    "segmentation": "maxmargin.tasks.segmentation.images.command:SegmentationCommand",
    "scan": "maxmargin.tasks.segmentation.points.command:ScanCommand",
}


def find_task_command(name: str) -> TaskCommand:
    """The task command of that name."""
    if name not in TASK_COMMANDS:
        raise ValueError(f"task {name!r} is unknown; use one of {', '.join(TASK_COMMANDS)}.")
    module, _, attribute = TASK_COMMANDS[name].partition(":")
    return getattr(import_module(module), attribute)()
