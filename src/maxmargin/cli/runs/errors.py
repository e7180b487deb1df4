"""What can be wrong with a run folder."""

from __future__ import annotations


class RunError(Exception):
    """A run folder cannot be used as asked; the message says why and what to do."""


class LockedError(RunError):
    """Another process is at work in the folder."""
