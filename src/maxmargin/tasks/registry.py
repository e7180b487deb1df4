"""The tasks that the program knows, by name: `JOBS`."""

from __future__ import annotations

from importlib import import_module

from maxmargin.tasks.command import Data, Job, Option

__all__ = ["JOBS", "Data", "Job", "Option", "job_named"]

#: name of a task -> where its job is; imported only when asked for
JOBS: dict[str, str] = {
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


def job_named(name: str) -> Job:
    """The job of that name."""
    if name not in JOBS:
        raise ValueError(f"task {name!r} is unknown; use one of {', '.join(JOBS)}.")
    module, _, attribute = JOBS[name].partition(":")
    return getattr(import_module(module), attribute)()
