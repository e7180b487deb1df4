"""One folder of compiled kernels for each state of their sources, which tests and docs share."""

import hashlib
import os
import shutil
import time
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "maxmargin"
CACHE = ROOT / ".cache"
UNUSED_SECONDS = 3600.0


def source_hash(package: Path = PACKAGE / "kernels") -> str:
    """Digest of the names and contents of all Python files that hold compiled code."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def compile_all(cache: Path, worker: int, workers: int) -> None:
    """Compile all kernels into an empty cache, each worker beginning with others.

    Left to the tests, all workers would compile most kernels at the same time, each for itself.
    """
    done = cache / "complete"
    if done.exists():
        return
    names = sorted(path.stem for path in (PACKAGE / "kernels").glob("*.py"))
    first = worker * len(names) // workers
    for name in names[first:] + names[:first]:
        if name != "__init__":
            import_module(f"maxmargin.kernels.{name}")
    done.touch()


def use_own_numba_cache() -> Path:
    """Point numba at a cache folder that belongs to the present sources, and drop old ones.

    Numba reuses compiled code as long as the caller's own file is unchanged, even if a kernel that
    it calls from another file changed. A folder per state of the sources rules that out. Folders
    used within the last hour stay, since another test run may be working in them.
    """
    current = CACHE / f"numba-{source_hash()}"
    current.mkdir(parents=True, exist_ok=True)
    os.utime(current)
    os.environ["NUMBA_CACHE_DIR"] = str(current)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for folder in CACHE.glob("numba-*"):
            if folder != current and time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
    return current
