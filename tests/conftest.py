"""Set-up shared by all tests: fresh numba kernels, repeatable hypothesis, the real data."""

import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import settings

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


def find_data() -> Path | None:
    """Folder of the real data: MAXMARGIN_DATA, else ../shared/data by the project, else None."""
    named = os.environ.get("MAXMARGIN_DATA")
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    return folder.resolve() if folder.is_dir() else None


# All of this must come before numba and numpy are imported, hence at import of this file.
use_own_numba_cache()
os.environ.setdefault("MPLBACKEND", "Agg")
# The test processes fill the cores already; one thread each also makes sums repeat bit for bit.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("thorough", deadline=None, derandomize=False, max_examples=1000)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs the real data, so that `-m "not data"` leaves it out."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; the test is skipped where there is none."""
    folder = find_data()
    if folder is None:
        named = os.environ.get("MAXMARGIN_DATA")
        found = f" (it is {named!r}, which is no folder)" if named else ""
        pytest.skip(
            "real data not found: set MAXMARGIN_DATA to the folder that holds the data sets" + found
        )
    return folder
