"""Resident memory of this process, now and at its peak."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def resident() -> int | None:
    """Bytes in use now; the peak where the system does not tell."""
    return _status("VmRSS") or peak()


def peak() -> int | None:
    """The most bytes in use so far, or since `reset_peak`."""
    # Not ru_maxrss on Linux: it counts the process that started this one, too.
    return _status("VmHWM") or _maxrss()


def reset_peak() -> bool:
    """Forget the peak so far; False where the system cannot."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None


def _maxrss() -> int | None:
    if resource is None:
        return None
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
