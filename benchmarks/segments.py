"""Segments beside chains: the best outputs and sums, by the largest length of a segment.

Both are compiled; times are of one call. Growth is the exponent between 100 and 1,000 positions.
Then both as taggers of CoNLL-2000, the last tenth of the training file held out.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.measure import best_time, data_folder, exponent
from maxmargin.datasets import load_conll2000
from maxmargin.metrics import chunk_f1
from maxmargin.structures import Chain, Segments
from maxmargin.tasks import SequenceTagger

LABELS, LENGTHS, MOST = (5, 20), (100, 1000), (1, 4, 8)


def main() -> None:
    for labels in LABELS:
        for ability in ("maximize", "marginals"):
            chain = [best_time(_call(Chain(), ability, (n, labels))) for n in LENGTHS]
            for most in MOST:
                own = [best_time(_call(Segments(most), ability, (n, labels))) for n in LENGTHS]
                print(
                    f"  {labels:3} labels, {ability:9} of length up to {most}:"
                    f" {1e6 * own[1]:8.0f} us at {LENGTHS[1]} positions,"
                    f" {own[1] / chain[1]:5.2f} times a chain's, growth"
                    f" {exponent(LENGTHS, own):.2f}"
                )
    if data_folder("conll2000") is not None:
        for segments in (False, True):
            _tag(segments)


def _tag(segments: bool) -> None:
    data = load_conll2000("train")
    cut = len(data.sentences) * 9 // 10
    start = time.process_time()
    tagger = SequenceTagger(segments=segments).fit(data.sentences[:cut], data.tags[:cut])
    trained = time.process_time() - start
    start = time.process_time()
    found = tagger.predict(data.sentences[cut:])
    print(
        f"  CoNLL-2000 by {'segments' if segments else 'chains'}: F1"
        f" {chunk_f1(data.tags[cut:], found):.2%}, trained in {trained:.0f} CPU s,"
        f" {tagger.result_.certificate()}, tagged in {time.process_time() - start:.1f} s"
    )


def _call(structure: Any, ability: str, layout: tuple[int, int]) -> Any:
    """A compiled function with all that it needs, to be timed alone."""
    oracle = structure.oracle()
    function, code = oracle.compiled_function(ability), oracle._ints(layout)
    floats, ints = oracle.scratch(layout)
    theta = np.random.default_rng(0).standard_normal(structure.n_parts(layout))
    out, work, iwork = np.empty(len(theta)), np.zeros(floats), np.empty(ints, np.int64)
    return lambda: function(theta, code, out, work, iwork)
