"""A process that compiles functions into the cache on disk, see `schedules`."""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    """Compile the functions named on standard input, and repeat each name when that is done."""
    import_module("maxmargin._numba.dispatchers")
    for line in sys.stdin:
        module, name = line.split()
        getattr(import_module(module), name).compile()
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
