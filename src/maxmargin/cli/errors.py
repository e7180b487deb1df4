"""What a user can put right."""

from __future__ import annotations


class UsageError(Exception):
    """A fault in what was asked for; shown as one line, without a traceback."""
