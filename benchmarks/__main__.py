"""python -m benchmarks [NAME ...]: run all measurements, or those named."""

from __future__ import annotations

import argparse
from importlib import import_module

NAMES = (
    "startup",
    "growth",
    "passes",
    "projection",
    "cuts",
    "cut_projection",
    "large_graphs",
    "gaps",
    "oracle_cache",
    "letters",
    "multiclass",
    "chunking",
    "likelihood",
    "tagging_speed",
    "alignment",
    "puppets",
    "horses",
    "isprs",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    chosen = parser.parse_args().names or NAMES
    for name in chosen:
        if name not in NAMES:
            parser.error(f"no measurement is called {name!r}; there are {', '.join(NAMES)}")
    for name in chosen:
        module = import_module(f"benchmarks.{name}")
        print(f"\n## {name}: {module.__doc__.splitlines()[0]}", flush=True)
        module.main()


if __name__ == "__main__":
    main()
