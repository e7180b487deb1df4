"""Compile all functions before the tests of a large run, the work shared out among its workers."""

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "maxmargin" / "_numba"


def compile_all(worker: int, workers: int) -> None:
    """Compile all functions into the cache, each worker beginning with others.

    Left to the tests, all workers would compile most of them at the same time, each for itself.
    """
    from maxmargin._numba.compile import compile_module
    from maxmargin._numba.disk_cache import cache_folder, source_digest

    paths = sorted(PACKAGE.rglob("*.py"))
    state = hashlib.sha256(b"".join(map(source_digest, paths))).hexdigest()[:24]
    done = cache_folder() / f"complete-{state}"
    if done.exists():
        return
    first = worker * len(paths) // workers
    for path in paths[first:] + paths[:first]:
        if path.name != "__init__.py":
            compile_module(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    done.parent.mkdir(parents=True, exist_ok=True)
    done.touch()
