"""Runs that survive: a `Checkpoint` keeps a run in a file, from which it goes on to the same bits.

A checkpoint has everything that the next epoch depends on: the state of the solver with its random
generator, the certificates so far, and what callbacks remember. It is written in the format of
model files, whole or not at all, and read with the same suspicion.
"""

from __future__ import annotations

from maxmargin.persistence.checkpoints.checkpoint import Checkpoint
from maxmargin.persistence.checkpoints.snapshot import Snapshot, read_snapshot

__all__ = ["Checkpoint", "Snapshot", "read_snapshot"]
