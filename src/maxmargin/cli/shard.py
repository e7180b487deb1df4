"""`maxmargin shard`: cut a large file of sentences into files that fit into memory."""

from __future__ import annotations

import re
from pathlib import Path

from maxmargin.cli.console import current_console
from maxmargin.cli.errors import UsageError
from maxmargin.formats.text_lines import open_unpacked

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_size(text: str) -> int:
    """Bytes, from texts such as 100MB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", text.strip(), re.IGNORECASE)
    unit = found[2].upper().removesuffix("B") + "B" if found and found[2] else ""
    size = int(float(found[1]) * _UNITS["" if unit == "B" else unit]) if found else 0
    if size < 1:
        raise UsageError(f"--size {text!r} must be a size such as 100MB")
    return size


def shard(data: Path, out: Path, size: str) -> None:
    """Cut DATA after blank lines into files of about --size, in the new folder --out.

    A file that is much larger is told.
    """
    limit = parse_size(size)
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"--out {out} is not empty; name a new folder")
    suffix = Path(data.name.removesuffix(".gz")).suffix or ".txt"
    count, written, largest, sink = 0, 0, 0, None
    with open_unpacked(data) as lines:
        out.mkdir(parents=True, exist_ok=True)
        for line in lines:
            if sink is None:
                sink = (out / f"{count:05}{suffix}").open("wb")
                count += 1
            sink.write(line)
            written += len(line)
            largest = max(largest, written)
            if written >= limit and not line.strip():
                sink.close()
                sink, written = None, 0
    if sink is not None:
        sink.close()
    if not count:
        raise UsageError(f"{data} is empty")
    if largest > 2 * limit:
        current_console().warn(
            f"the largest file has {largest:,} bytes: {data} is cut after blank lines alone, which"
            " must separate its sentences"
        )
    current_console().emit_json({"files": count, "folder": str(out)})
    current_console().say(f"{count} files in {out}")
