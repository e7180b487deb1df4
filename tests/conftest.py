"""Set-up shared by all tests: compiled functions, repeatable hypothesis, the real data."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from compile_cache import compile_all

ROOT = Path(__file__).resolve().parents[1]
#: what tests read of the real data
DATA_SETS = {
    *("alignment_other", "balibase3", "bdpa", "conll2000", "hansards", "homstrad_struct"),
    *("isprs_filter", "nltk_treebank", "ocr_letters", "scene", "snakes", "ud_english_ewt"),
    *("ud_english_lines", "ud_hungarian_szeged", "weizmann_horses", "yeast"),
}


def find_data() -> Path | None:
    """Folder of the real data: MAXMARGIN_DATA, else ../shared/data by the project, else None.

    A folder without some of them does not count: it is another one, or not yet complete.
    """
    named = os.environ.get("MAXMARGIN_DATA")
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    return folder.resolve() if all((folder / name).is_dir() for name in DATA_SETS) else None


# All of this must come before numba and numpy are imported, hence at import of this file.
os.environ["MPLBACKEND"] = "Agg"
# The test processes fill the cores already; one thread each also makes sums repeat bit for bit.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Collection makes a million objects that all stay, so that to look for garbage among them is a
# quarter of its time; it is looked for again, beside them, when the tests begin.
gc.disable()

# A slow machine is not an error of a test. "repeatable" draws the same each time, whatever the
# seed; "seeded" draws as --hypothesis-seed says.
UNHURRIED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None, print_blob=True
)
settings.register_profile("repeatable", UNHURRIED, derandomize=True, max_examples=20)
settings.register_profile("seeded", UNHURRIED, derandomize=False, max_examples=50)
settings.register_profile("thorough", UNHURRIED, derandomize=False, max_examples=1000)
settings.load_profile("repeatable")


def pytest_collection_finish(session):
    """Look for garbage again; compile all functions once for the workers of a large run."""
    gc.freeze()
    gc.enable()
    if "PYTEST_XDIST_WORKER" in os.environ and len(session.items) > 1000:
        compile_all()


def argument_values(item) -> list[tuple]:
    """Return (test, argument, value) of each parameter of a case."""
    test = item.nodeid.partition("[")[0]
    plain = str | int | float | None
    return [
        (test, name, value if isinstance(value, plain) else id(value))
        for name, value in sorted(item.callspec.params.items())
    ]


def choose_cases(items) -> list:
    """Return the cases that run, of tests marked `one_in(n)`.

    Tests and the values of each of their arguments are numbered, and those cases run whose numbers
    add up to a multiple of n, so that tests of the same values run different ones. Every test runs,
    and where it has several arguments, every value of each: cases are added until that is so.
    """
    numbers: dict[tuple, dict] = {}
    tests: dict[str, int] = {}
    chosen, rest, seen = [], [], set()
    for item in items:
        values = argument_values(item)
        test = values[0][0]
        known = [numbers.setdefault(own[:2], {}) for own in values]
        total = sum(k.setdefault(own, len(k)) for k, own in zip(known, values, strict=True))
        total += tests.setdefault(test, len(tests))
        if total % item.get_closest_marker("one_in").args[0]:
            rest.append((item, test, values))
        else:
            chosen.append(item)
            seen.update(values, {test})
    for item, test, values in rest:
        if test not in seen or (len(values) > 1 and not seen.issuperset(values)):
            chosen.append(item)
            seen.update(values, {test})
    return chosen


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs the real data, and with `soak` the cases that are left to long runs."""
    sampled = [item for item in items if item.get_closest_marker("one_in") is not None]
    sampled = [item for item in sampled if hasattr(item, "callspec")]
    chosen = set(choose_cases(sampled))
    for item in sampled:
        if item not in chosen:
            item.add_marker("soak")
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session", autouse=True)
def _usual_signals():
    """Signals act as in a terminal, here and in child processes.

    Background jobs of shells and many CI runners begin with SIGINT ignored.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; the test is skipped where there is none."""
    folder = find_data()
    if folder is None:
        named = os.environ.get("MAXMARGIN_DATA")
        found = f" (it is {named!r}, which does not hold them all)" if named else ""
        pytest.skip(
            "real data not found: set MAXMARGIN_DATA to the folder that holds the data sets" + found
        )
    return folder
