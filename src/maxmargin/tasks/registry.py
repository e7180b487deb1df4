"""The tasks that the program knows, by name: `TASK_COMMANDS`."""

from __future__ import annotations

from importlib import import_module

from maxmargin.tasks.command import Data, Option, TaskCommand

__all__ = ["TASK_COMMANDS", "Data", "Option", "TaskCommand", "find_task_command"]

#: name of a task -> where its task command is; imported only when asked for
TASK_COMMANDS: dict[str, str] = {
    "tagging": "maxmargin.tasks.tagging.command:TaggingJob",
    "alignment": "maxmargin.tasks.alignment.command:AlignmentJob",
    "chain": "maxmargin.tasks.arrays.table:ChainJob",
    "matching": "maxmargin.tasks.arrays.table:MatchingJob",
    "graph": "maxmargin.tasks.arrays.table:GraphJob",
    "tree": "maxmargin.tasks.arrays.table:TreeJob",
    "network": "maxmargin.tasks.arrays.table:NetworkJob",
    "multilabel": "maxmargin.tasks.arrays.table:MultiLabelJob",
    "segmentation": "maxmargin.tasks.segmentation.images.command:SegmentationJob",
    "scan": "maxmargin.tasks.segmentation.points.command:ScanJob",
}


def find_task_command(name: str) -> TaskCommand:
    """The task command of that name."""
    if name not in TASK_COMMANDS:
        raise ValueError(f"task {name!r} is unknown; use one of {', '.join(TASK_COMMANDS)}.")
    module, _, attribute = TASK_COMMANDS[name].partition(":")
    return getattr(import_module(module), attribute)()
