"""Set-up shared by all tests: compiled functions, repeatable hypothesis, the real data."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from kernel_cache import compile_all
from thinning import is_left_out

ROOT = Path(__file__).resolve().parents[1]


def find_data() -> Path | None:
    """Folder of the real data: MAXMARGIN_DATA, else ../shared/data by the project, else None."""
    named = os.environ.get("MAXMARGIN_DATA")
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    return folder.resolve() if folder.is_dir() else None


# All of this must come before numba and numpy are imported, hence at import of this file.
os.environ.setdefault("MPLBACKEND", "Agg")
# The test processes fill the cores already; one thread each also makes sums repeat bit for bit.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("thorough", deadline=None, derandomize=False, max_examples=1000)
settings.load_profile("repeatable")


def pytest_collection_finish(session):
    """Share out the compilation among the workers of a large run."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw") and len(session.items) > 1000:
        compile_all(int(worker[2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs the real data, and of tests with many parameters those for long runs."""
    seen = Counter()
    for item in items:
        if is_left_out(item.nodeid, seen):
            item.add_marker("soak")
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
