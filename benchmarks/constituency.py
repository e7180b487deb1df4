"""Constituents: best trees beside a plain C loop, and a parser beside a probabilistic grammar.

The grammar is read off the same binary trees, with parts of speech as its words.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import best_time, data_folder, exponent
from maxmargin.datasets import load_treebank
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.memory import peak_bytes, reset_peak, resident_bytes
from maxmargin.metrics import bracket_scores
from maxmargin.structures import Constituents
from maxmargin.tasks import ConstituencyParser
from maxmargin.validation.brackets import binarise, build_tree, parse_tree

LENGTHS, LONGEST, LONG = (50, 100, 200), 40, 300


def main() -> None:
    if shutil.which("gcc") is None:
        print("gcc is not there to compare with")
    else:
        _compare_with_c()
    if data_folder("nltk_treebank") is not None:
        _parse()


def _compare_with_c() -> None:
    print("  words    C us   ours us  (times)   sums us")
    times = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "spans.so"
        source = Path(__file__).with_name("plain_spans.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source],
                       check=True)  # fmt: skip
        spans = ctypes.CDLL(str(library)).best_spans
        spans.restype = ctypes.c_double
        for n in LENGTHS:
            theta = np.random.default_rng(n).standard_normal(n * (n + 1) // 2)
            chart, split = np.empty((n + 1) ** 2), np.empty((n + 1) ** 2, np.int32)
            given = [own.ctypes.data_as(ctypes.c_void_p) for own in (theta, chart, split)]

            def plain(n: int = n, given: list[Any] = given) -> float:
                return spans(given[0], n, *given[1:])

            calls = [plain, *(_call(name, theta, n) for name in ("maximize", "marginals"))]
            assert calls[0]() == calls[1]()
            a, b, c = (1e6 * best_time(call) for call in calls)
            print(f"  {n:5} {a:8.1f} {b:9.1f} {b / a:8.2f} {c:9.1f}")
            times.append((b, c))
    best, sums = (exponent(LENGTHS, own) for own in zip(*times, strict=True))
    print(f"  growth: best trees {best:.2f}, sums {sums:.2f}")


def _call(ability: str, theta: np.ndarray, n: int) -> Any:
    """A compiled function with all that it needs, to be timed alone."""
    oracle = Constituents().oracle()
    function, (floats, ints) = oracle.compiled_function(ability), oracle.scratch((n, 1))
    code, out, work = np.array([n, 1]), np.empty(len(theta)), np.zeros(floats)
    iwork = np.empty(ints, np.int64)
    return lambda: function(theta, code, out, work, iwork)


def _parse() -> None:
    data = [load_treebank("nltk_treebank", name, constituents=True) for name in ("train", "dev")]
    (sentences, trees), (others, truth) = (
        zip(*((a, b) for a, b in zip(*own, strict=True) if len(a) <= LONGEST), strict=True)
        for own in data
    )
    for guided in (False, True):
        parser: Any = None  # its memory is not that of the next
        reset_peak()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            parser = ConstituencyParser(guided=guided).fit(sentences, trees)
        trained = time.process_time() - start
        start = time.process_time()
        scores = bracket_scores(truth, parser.predict(others))
        rate = len(others) / (time.process_time() - start)
        print(
            f"  {'two trees' if guided else 'one tree'}: trained on {len(trees)} sentences in"
            f" {trained:.0f} CPU s, {parser.result_.certificate()}; F1 {scores.f1:.2%} (precision"
            f" {scores.precision:.2%}, recall {scores.recall:.2%}) of {len(truth)}, {rate:.0f}"
            f" sentences/s; peak {peak_bytes() / 2**20:.0f} MB"
        )
    reset_peak()
    start, before = time.process_time(), resident_bytes()
    parser.predict([[word for own in others for word in own][:LONG]])
    more = (peak_bytes() - before) / 2**20
    print(f"  {LONG} words: {time.process_time() - start:.2f} CPU s, {more:.0f} MB more")
    grammar = Grammar([binarise(parse_tree(tree)) for tree in trees], sentences)
    found = [grammar.parse(sentence) for sentence in others]
    scores = bracket_scores(truth, found)
    print(f"  grammar of {len(grammar.scores)} rules: F1 {scores.f1:.2%}")


class Grammar:
    """Rules of binary trees with their frequencies, and parts of speech below them."""

    def __init__(self, spans: list[Any], sentences: Any):
        rules: Counter[tuple[str, str, str]] = Counter()
        self.lexicon: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for own, words in zip(spans, sentences, strict=True):
            label = {(i, j): _symbol(name, i, j, words) for i, j, name in own}
            for i, j in label:
                if j == i + 1:
                    self.lexicon[words[i][1]][label[i, j]] += 1
                else:
                    k = max(k for k in range(i + 1, j) if (i, k) in label and (k, j) in label)
                    rules[label[i, j], label[i, k], label[k, j]] += 1
        self.names = sorted({name for rule in rules for name in rule})
        number = {name: k for k, name in enumerate(self.names)}
        total: Counter[str] = Counter()
        for (head, *_), count in rules.items():
            total[head] += count
        for own in self.lexicon.values():
            for name, count in own.items():
                total[name] += count
        order = sorted(rules, key=lambda rule: number[rule[0]])
        self.rules = np.array([[number[name] for name in rule] for rule in order]).T
        self.scores = np.log([rules[rule] / total[rule[0]] for rule in order])
        self.starts = np.flatnonzero(np.diff(self.rules[0], prepend=-1))
        self.words = {
            tag: [(number[name], np.log(count / total[name])) for name, count in own.items()
                  if name in number]
            for tag, own in self.lexicon.items()
        }  # fmt: skip

    def parse(self, words: Any) -> Any:
        n, size = len(words), len(self.names)
        heads, left, right = self.rules
        best = np.full((n + 1, n + 1, size), -np.inf)
        back: dict[tuple[int, int, int], tuple[int, int]] = {}
        for i, (_, tag) in enumerate(words):
            for symbol, score in self.words.get(tag, self.words["NN"]):
                best[i, i + 1, symbol] = score
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                j = i + width
                both = best[i, i + 1 : j][:, left] + best[i + 1 : j, j][:, right]
                split = both.argmax(axis=0)
                score = both[split, np.arange(len(left))] + self.scores
                top = np.maximum.reduceat(score, self.starts)
                own = heads[self.starts]
                best[i, j, own] = top
                some = top > -np.inf
                for symbol, first in zip(own[some], self.starts[some], strict=True):
                    last = np.searchsorted(heads, symbol, side="right")
                    rule = first + int(score[first:last].argmax())
                    back[i, j, int(symbol)] = rule, i + 1 + int(split[rule])
        root = int(best[0, n].argmax())
        if n > 1 and best[0, n, root] == -np.inf:
            return build_tree([(0, n, "S"), *_comb(n)], words)
        spans, waiting = [], [(0, n, root)]
        while waiting:
            i, j, symbol = waiting.pop()
            name = self.names[symbol] if best[i, j, symbol] > -np.inf else "|"
            spans.append((i, j, name.split("|")[0] if j == i + 1 else name))
            if j > i + 1:
                rule, k = back[i, j, symbol]
                waiting += [(i, k, int(left[rule])), (k, j, int(right[rule]))]
        return build_tree(spans, words)


def _comb(n: int) -> list[tuple[int, int, str]]:
    return [*((i, n, "@S") for i in range(1, n - 1)), *((i, i + 1, "") for i in range(n))]


def _symbol(name: str, i: int, j: int, words: Any) -> str:
    """The name of a span in the grammar: of single words with their part of speech."""
    return f"{name}|{words[i][1]}" if j == i + 1 else name
