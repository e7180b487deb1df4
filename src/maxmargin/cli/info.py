"""`maxmargin info`: what is installed, where compiled code is kept, what there is to work with."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from maxmargin import __version__, datasets
from maxmargin._numba import disk_cache
from maxmargin._numba.compile import compile_modules, list_modules
from maxmargin.cli import text
from maxmargin.cli.console import current_console
from maxmargin.cli.settings import solver_names
from maxmargin.datasets import _files
from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "click", "tqdm", "matplotlib", "pandas",
    "scikit-image", "pillow",
)  # fmt: skip


def info(compile_all: bool = False) -> None:
    """Show versions, threads, the compile cache, the tasks and solvers, and the data sets found."""
    if compile_all:
        with compile_modules(*list_modules()):
            pass
    counts: dict[str, Any] = {"maxmargin": __version__, "python": platform.python_version()}
    counts |= {name: _version(name) for name in PACKAGES}
    counts |= _threads() | _compiled_code() | _abilities() | _data()
    current_console().emit_json(counts)
    lines = {k: ", ".join(v) if isinstance(v, list) else v for k, v in counts.items()}
    current_console().say(text.format_pairs(lines))


def _abilities() -> dict[str, list[str]]:
    """Tasks whose modules can be imported here, and solvers."""
    usable = []
    for name in TASK_COMMANDS:
        with suppress(ImportError):
            usable.append(find_task_command(name).name)
    return {"tasks": usable, "solvers": list(solver_names())}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed (optional)"


def _threads() -> dict[str, str]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"threads": f"{usable} (use them with --threads {usable}, or n_jobs={usable} in Python)"}


def _compiled_code() -> dict[str, str]:
    folder = disk_cache.cache_folder()
    count = sum(1 for _ in folder.glob("*.nbc"))
    state = f"{count} functions" if count else "none yet; the first fit compiles, once"
    return {"compile cache": str(folder), "compiled code": state}


def _data() -> dict[str, str]:
    named = os.environ.get("MAXMARGIN_DATA")
    folders = {"MAXMARGIN_DATA": Path(named).expanduser()} if named else {}
    folders["data cache"] = _files.cache_folder()
    counts = {} if named else {"MAXMARGIN_DATA": "not set"}
    for name, folder in folders.items():
        found = ", ".join(_found_in(folder)) or "no data sets"
        counts[name] = f"{folder}: {found if folder.exists() else 'no such folder'}"
    return dict(sorted(counts.items()))


def _found_in(folder: Path) -> list[str]:
    """Names of the data sets that the loaders would read there without a download."""
    loaders = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")]
    modules = dict.fromkeys(sys.modules[loader.__module__] for loader in loaders)
    return [name for module in modules for name in module.names_in(folder)]
