"""python -m benchmarks [NAME ...]: run all measurements, or those named."""

from __future__ import annotations

import argparse
from importlib import import_module
from inspect import signature

NAMES = (
    "startup",
    "growth",
    "memory",
    "sums",
    "passes",
    "k_best",
    "projection",
    "general_matching",
    "cuts",
    "cut_projection",
    "large_graphs",
    "domains",
    "gaps",
    "curves",
    "cutting_plane",
    "oracle_cache",
    "expensive_oracle",
    "paths",
    "optimum",
    "optimum_table",
    "reference",
    "letters",
    "kernels",
    "multiclass",
    "chunking",
    "likelihood",
    "tagging_speed",
    "engines",
    "calibration",
    "trees",
    "parsing",
    "strings",
    "rna",
    "constituency",
    "segments",
    "networks",
    "scene",
    "alignment",
    "puppets",
    "horses",
    "isprs",
    "snakes",
    "decisions",
    "torch_paths",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    found, options = parser.parse_known_args()
    chosen = found.names or NAMES
    if options and len(chosen) != 1:
        parser.error(f"options ({' '.join(options)}) go with one NAME")
    for name in chosen:
        if name not in NAMES:
            parser.error(f"no measurement is called {name!r}; there are {', '.join(NAMES)}")
    for name in chosen:
        module = import_module(f"benchmarks.{name}")
        print(f"\n## {name}: {module.__doc__.splitlines()[0]}", flush=True)
        takes_options = bool(signature(module.main).parameters)
        if options and not takes_options:
            parser.error(f"{name} takes no options, found {' '.join(options)}")
        module.main(options) if takes_options else module.main()


if __name__ == "__main__":
    main()
