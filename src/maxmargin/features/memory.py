"""How much memory is free, and what would not fit."""

from __future__ import annotations

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
#: where the system does not tell
UNKNOWN = 8 << 30


def available() -> int:
    """Bytes that can be used without harm to others, as far as the system tells."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return UNKNOWN


def refuse(need: int, what: str, cure: str) -> None:
    """Fail if so many bytes are not to be had."""
    free = available()
    if need > free:
        cure = "Use fewer coordinates, or fewer rows." if cure == "fewer" else cure
        raise MemoryError(
            f"{what} need about {need / 2**30:.3g} GiB of memory, {free / 2**30:.3g} GiB are free."
            f" {cure}"
        )
