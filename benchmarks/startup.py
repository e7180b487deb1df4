"""Import time, and the first fit with code to compile and with code found in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

SCRIPT = """
import time
begun = time.perf_counter()
import maxmargin
bare = time.perf_counter() - begun
from maxmargin import ChainSVM
loaded = time.perf_counter() - begun
data = maxmargin.datasets.make_words(50)
begun = time.perf_counter()
ChainSVM(max_epochs=2, tol=1).fit(data.X, data.y)
print(f"import maxmargin {bare:.2f} s; with ChainSVM {loaded:.2f} s; first fit",
      f"{time.perf_counter() - begun:.2f} s")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label in ("empty compile cache", "second process", "third process"):
            command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            print(f"  {label}: {run.stdout.strip()}", flush=True)
