"""`maxmargin info`: what is installed, where kernels are kept, which data sets are at hand."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "tqdm", "matplotlib", "pandas")


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add the subcommand to a parser."""
    parser = commands.add_parser(
        "info",
        help="show versions, threads, the kernel cache and the data sets found",
        description="Show versions, threads, the kernel cache and the data sets found.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print all facts, a name and its value on each line."""
    from maxmargin import __version__

    facts = {"maxmargin": __version__, "python": platform.python_version()}
    facts |= {name: _version(name) for name in PACKAGES}
    facts |= _threads() | _kernels() | _data()
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name:{width}}  {value}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed (optional)"


def _threads() -> dict[str, str]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"threads": f"{usable} (use them with n_jobs={usable})"}


def _kernels() -> dict[str, str]:
    from numba import njit

    from maxmargin.kernels import compile as compiling

    # Any plain function of the kernels' folder tells where numba keeps that folder's kernels;
    # without a signature nothing is compiled.
    folder = Path(str(njit(cache=True)(compiling.tuple_type).stats.cache_path))
    sources = {
        path.stem: path.stat().st_mtime for path in Path(compiling.__file__).parent.glob("*.py")
    }
    tag = f".py{sys.version_info.major}{sys.version_info.minor}"
    fresh = [
        index
        for index in folder.glob(f"*{tag}.nbi")
        if index.stat().st_mtime >= sources.get(index.name.split(".")[0], float("inf"))
    ]
    state = f"{len(fresh)} compiled" if fresh else "none compiled yet; the first fit does it, once"
    return {"kernel cache": str(folder), "kernels": state}


def _data() -> dict[str, str]:
    from maxmargin.datasets._files import cache_folder

    named = os.environ.get("MAXMARGIN_DATA")
    folders = {"MAXMARGIN_DATA": Path(named).expanduser()} if named else {}
    folders["data cache"] = cache_folder()
    facts = {} if named else {"MAXMARGIN_DATA": "not set"}
    for name, folder in folders.items():
        found = ", ".join(_found_in(folder)) or "no data sets"
        facts[name] = f"{folder}: {found if folder.exists() else 'no such folder'}"
    return dict(sorted(facts.items()))


def _found_in(folder: Path) -> list[str]:
    """Names of the data sets that the loaders would read there without a download."""
    from maxmargin.datasets import _files, alignment, conll2000, hansards, letters

    sources = {"letters": letters.SOURCE}
    sources |= {f"conll2000 ({subset})": source for subset, source in conll2000.SOURCES.items()}
    found = []
    for name, source in sources.items():
        try:
            _files.find(source, folder)
        except FileNotFoundError:
            continue
        found.append(name)
    groups = {
        "hansards": [subset for subset in hansards.SUBSETS if hansards.is_in(folder, subset)],
        "alignment": alignment.pairs_in(folder),
    }
    return [*found, *(f"{name} ({', '.join(parts)})" for name, parts in groups.items() if parts)]
