"""Import time, first fits of each kind with nothing compiled yet, and again in a second process.

Kinds follow each other, so that later ones find what earlier ones compiled, as users do. "alone" is
the first fit of a kind where nothing at all is compiled. --functions lists functions by the time
that compiling them takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

PREPARE = """
import time
begun = time.perf_counter()
import maxmargin
imported = time.perf_counter() - begun
import numpy as np
from maxmargin import ChainSVM, Graph, GraphCutSVM, MatchingSVM
rng = np.random.default_rng(0)
words = maxmargin.datasets.make_words(50)
pairs = [rng.normal(size=(4, 4, 3)) for _ in range(20)]
links = [[(i, i) for i in range(4)]] * 20
edges = [(i, i + 1) for i in range(7)]
graphs = [Graph(rng.normal(size=(8, 3)), edges, np.ones((7, 1))) for _ in range(20)]
sides = [rng.integers(0, 2, 8) for _ in range(20)]
few = dict(max_epochs=2, tol=1.0)
begun = time.perf_counter()
"""
FITS = {
    "chain": "ChainSVM(**few).fit(words.X, words.y)",
    "chain, likelihood": "ChainSVM(objective='likelihood', **few).fit(words.X, words.y)",
    "matching": "MatchingSVM(**few).fit(pairs, links)",
    "graph cut": "GraphCutSVM(**few).fit(graphs, sides)",
    "dual extragradient": (
        "MatchingSVM(solver='dual-extragradient', **few).fit(pairs, links);"
        "GraphCutSVM(solver='dual-extragradient', **few).fit(graphs, sides)"
    ),
}
REPORT = "\nprint(f'{imported:.2f} {time.perf_counter() - begun:.2f} {time.process_time():.2f}')"
LIST_FUNCTIONS = """
import time
from maxmargin._numba import dispatchers
from maxmargin._numba.compile import functions_of, list_modules
inner, rows, make = [0.0], [], dispatchers._dispatcher

def measure(lazy):
    inner.append(0.0)
    begun = time.process_time()
    made = make(lazy)
    seconds = time.process_time() - begun
    rows.append((seconds - inner.pop(), f"{lazy.__module__}.{lazy.__qualname__}"))
    inner[-1] += seconds
    return made

dispatchers._dispatcher = measure
for module in list_modules():
    for function in functions_of(module):
        function.compile()
print(f"{sum(row[0] for row in rows):.1f} s for {len(rows)} functions")
for seconds, name in sorted(rows, reverse=True)[:40]:
    print(f"{seconds:6.2f} s  {name.removeprefix('maxmargin._numba.')}")
"""


def run(code: str, cache: str, cores: int | None = None) -> str:
    """Run a program with a cache of compiled functions; returns what it prints."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    if cores is not None and hasattr(os, "sched_setaffinity"):
        keep = sorted(os.sched_getaffinity(0))[:cores]
        command[-1] = f"import os; os.sched_setaffinity(0, {keep})\n{code}"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def measure(fit: str, cache: str, cores: int | None = None) -> tuple[float, ...]:
    """Seconds of importing, of the fit, and of the processor in that process."""
    return tuple(map(float, run(f"{PREPARE}{fit}{REPORT}", cache, cores).split()))


def main(arguments: Sequence[str] = ()) -> None:
    if "--functions" in arguments:
        with tempfile.TemporaryDirectory() as cache:
            print(run(LIST_FUNCTIONS, cache), flush=True)
        return
    for cores in (1, 2):
        with tempfile.TemporaryDirectory() as cache:
            for again in (False, True):
                total = 0.0
                for kind, fit in FITS.items():
                    imported, seconds, _ = measure(fit, cache, cores)
                    total += seconds
                    when = "later process" if again else "nothing compiled"
                    print(
                        f"  {cores} cores, {when}: {kind} {seconds:.2f} s"
                        f" (import maxmargin {imported:.2f} s)",
                        flush=True,
                    )
                print(f"  {cores} cores, {when}: all kinds {total:.2f} s", flush=True)
    for kind, fit in FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            print(f"  2 cores, alone: {kind} {measure(fit, cache, 2)[1]:.2f} s", flush=True)
