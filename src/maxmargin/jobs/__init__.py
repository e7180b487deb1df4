"""The tasks that the program knows, by name: `JOBS`."""

from __future__ import annotations

from importlib import import_module

from maxmargin.jobs.base import Data, Job, Option

__all__ = ["JOBS", "Data", "Job", "Option", "job_named"]

#: name of a task -> where its job is; imported only when asked for
JOBS: dict[str, str] = {
    "tagging": "maxmargin.jobs.tagging:TaggingJob",
    "alignment": "maxmargin.jobs.alignment:AlignmentJob",
    "chain": "maxmargin.jobs.chains:ChainJob",
    "matching": "maxmargin.jobs.matchings:MatchingJob",
    "graph": "maxmargin.jobs.graphs:GraphJob",
    "tree": "maxmargin.jobs.trees:TreeJob",
    "network": "maxmargin.jobs.networks:NetworkJob",
    "multilabel": "maxmargin.jobs.multi_labels:MultiLabelJob",
    "segmentation": "maxmargin.jobs.segmentation:SegmentationJob",
    "scan": "maxmargin.jobs.scans:ScanJob",
}


def job_named(name: str) -> Job:
    """The job of that name."""
    if name not in JOBS:
        raise ValueError(f"task {name!r} is unknown; use one of {', '.join(JOBS)}.")
    module, _, attribute = JOBS[name].partition(":")
    return getattr(import_module(module), attribute)()
