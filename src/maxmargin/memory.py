"""How much memory is free, and what would not fit."""

from __future__ import annotations

import os
from pathlib import Path

INFO = Path("/proc/meminfo")


def available() -> float:
    """Bytes that this machine has free; if it does not tell, all it has, or else infinity."""
    try:
        for line in INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def refuse(need: float, what: str, hint: str) -> None:
    """Fail if this many bytes are not to be had."""
    free = available()
    if need > free:
        hint = "Use fewer coordinates, or fewer rows." if hint == "fewer" else hint
        raise MemoryError(
            f"{what} need about {need / 2**30:.3g} GiB of memory, {free / 2**30:.3g} GiB are free."
            f" {hint}"
        )
