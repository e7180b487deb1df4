"""Segments beside chains: the best outputs and sums, by the largest length of a segment.

Both are compiled; times are of one call. Growth is the exponent between 100 and 1,000 positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import best_time
from maxmargin.structures import Chain, Segments

LABELS, LENGTHS, MOST = (5, 20), (100, 1000), (1, 4, 8)


def main() -> None:
    for labels in LABELS:
        for ability in ("maximize", "marginals"):
            chain = [best_time(_call(Chain(), ability, (n, labels))) for n in LENGTHS]
            for most in MOST:
                own = [best_time(_call(Segments(most), ability, (n, labels))) for n in LENGTHS]
                growth = np.log(own[1] / own[0]) / np.log(LENGTHS[1] / LENGTHS[0])
                print(
                    f"  {labels:3} labels, {ability:9} of length up to {most}:"
                    f" {1e6 * own[1]:8.0f} us at {LENGTHS[1]} positions,"
                    f" {own[1] / chain[1]:5.2f} times a chain's, growth {growth:.2f}"
                )


def _call(structure: Any, ability: str, layout: tuple[int, int]) -> Any:
    """A compiled function with all that it needs, to be timed alone."""
    oracle = structure.oracle()
    function, code = oracle.compiled_function(ability), oracle._ints(layout)
    floats, ints = oracle.scratch(layout)
    theta = np.random.default_rng(0).standard_normal(structure.n_parts(layout))
    out, work, iwork = np.empty(len(theta)), np.zeros(floats), np.empty(ints, np.int64)
    return lambda: function(theta, code, out, work, iwork)
