"""Training of word translation models on sentence pairs without links, and their posteriors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from maxmargin._numba.alignment import word_models, word_pairs
from maxmargin.progress import tell_progress

CHUNK = 20_000  # sentence pairs between two signs of progress
FLOOR = 1e-12  # no probability of words that occur together is less, so none is divided by zero


class Text(NamedTuple):
    """Sentences as word numbers, one after another; sentence s is words[ptr[s] : ptr[s + 1]]."""

    words: np.ndarray  # int32
    ptr: np.ndarray  # int64

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.ptr)


class Cells(NamedTuple):
    """The word pairs that occur together; see `_numba.alignment.word_pairs`."""

    row_ptr: np.ndarray
    column: np.ndarray
    together: np.ndarray
    cell_of: np.ndarray
    cell_ptr: np.ndarray


class Jumps(NamedTuple):
    """Weights of jumps, which lengths of sentences turn into probabilities.

    weight (2, buckets), forward and backward: jumps of -far, ..., far words, then first places 0,
    ..., far. A jump further than `far` weighs as much as one of `far`.
    """

    weight: np.ndarray
    far: int


def start_pointers(counts: Any) -> np.ndarray:
    """0, counts[0], counts[0] + counts[1], ..."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def find_word_pairs(source: Text, target: Text, n_source: int) -> Cells:
    """Number the word pairs that occur in sentence pairs."""
    places = np.argsort(source.words, kind="stable")
    place_ptr = start_pointers(np.bincount(source.words, minlength=n_source))
    owner = np.repeat(np.arange(len(source.ptr) - 1), source.lengths)
    cell_ptr = start_pointers(source.lengths * target.lengths)
    cell_of = np.empty(cell_ptr[-1], dtype=np.int32)
    column = np.empty(cell_ptr[-1], dtype=np.int32)
    together = np.empty(cell_ptr[-1], dtype=np.int32)
    row_ptr = np.empty(n_source + 1, dtype=np.int64)
    n = word_pairs.number_cells(
        source.words, source.ptr, target.words, target.ptr, place_ptr, places, owner, cell_ptr,
        cell_of, column, together, row_ptr,
    )  # fmt: skip
    return Cells(row_ptr, column[:n].copy(), together[:n].copy(), cell_of, cell_ptr)


class MoveTables:
    """Tables of the moves from state to state, for each number of states that occurs.

    At ptr[S] starts a table (S + 1, S): row 0 is the start of a sentence, row r the state r - 1.
    """

    def __init__(self, lengths: np.ndarray, far: int):
        longest = int(lengths.max(initial=1))
        self.far = far
        present = np.unique(lengths)
        sizes = np.zeros(longest + 1, dtype=np.int64)
        sizes[present] = (present + 1) * present
        self.ptr = start_pointers(sizes)
        rows = [np.repeat(np.arange(S + 1), S) for S in present.tolist()]
        states = [np.tile(np.arange(S), S + 1) for S in present.tolist()]
        row, state = (np.concatenate(x) if x else np.empty(0, np.int64) for x in (rows, states))
        jump = np.clip(state - row + 1, -far, far) + far
        first = 2 * far + 1 + np.minimum(state, far)
        self.bucket = np.where(row == 0, first, jump)
        starts = start_pointers(np.repeat(present, present + 1))
        self.row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    @property
    def n_buckets(self) -> int:
        return 3 * self.far + 2

    def probabilities(self, weight: np.ndarray) -> np.ndarray:
        """The tables of one direction: each row's weights, scaled to sum 1."""
        own = weight[self.bucket]
        return own / np.bincount(self.row, own)[self.row]

    def maximize(self, counts: np.ndarray, weight: np.ndarray, rounds: int = 10) -> np.ndarray:
        """Weights that make the moves counted likelier: w_b = count_b / sum_rows n_row / Z_row.

        The sum Z of weights differs from row to row, so shares of the counts would not do. These
        rounds never lower the likelihood (Hunter 2004, on the Plackett-Luce model).
        """
        observed = np.bincount(self.bucket, counts, minlength=self.n_buckets)
        made = np.bincount(self.row, counts)
        for _ in range(rounds):
            total = np.bincount(self.row, weight[self.bucket])
            chance = np.bincount(self.bucket, (made / total)[self.row], minlength=self.n_buckets)
            weight = np.where(chance > 0, observed / np.maximum(chance, 1e-300), weight)
            weight = np.maximum(weight / weight.max(), 1e-7)
        return weight


class TranslationModels:
    """p(target word | source word) and back, by expectation maximisation on sentence pairs.

    First the mixture (IBM model 1), then the HMM with its jumps, `agree` as in
    `word_models.add_expected_counts`.
    """

    def __init__(
        self,
        source: Text,
        target: Text,
        n_words: tuple[int, int],
        *,
        p0: float = 0.1,
        agree: bool = True,
        far: int = 10,
        verbose: int = 0,
        what: str = "words",
        rounds: int = 1,
    ):
        self.p0, self.agree, self.verbose = p0, agree, verbose
        self.what, self.rounds = what, rounds
        self.n_words = n_words
        self.pairs = find_word_pairs(source, target, n_words[0])
        self.corpus = word_models.Corpus(
            source.words, source.ptr, target.words, target.ptr, self.pairs.cell_of,
            self.pairs.cell_ptr,
        )  # fmt: skip
        lengths = np.concatenate([source.lengths, target.lengths])
        self.longest = int(lengths.max(initial=1))
        self._moves = MoveTables(lengths, far)
        buckets = self._moves.n_buckets
        self.jumps = Jumps(np.ones((2, buckets)), far)
        n = len(self.pairs.column)
        self._counts = self._empty_tables()
        self.cells = np.tile([1.0 / n_words[1], 1.0 / n_words[0]], n)
        self.null = (np.full(n_words[1], 1.0 / n_words[1]), np.full(n_words[0], 1.0 / n_words[0]))
        self.log_likelihood: list[float] = []

    def _empty_tables(self) -> Any:
        n_source, n_target = self.n_words
        return word_models.Tables(
            np.zeros(2 * len(self.pairs.column)), np.zeros(n_target), np.zeros(n_source),
            np.zeros(2 * len(self._moves.bucket)), self._moves.ptr,
        )  # fmt: skip

    def iterate(self, jumps: bool) -> None:
        """One round of expectation and maximisation."""
        counts, tables = self._counts, self.tables()
        for array in counts[:4]:
            array[:] = 0.0
        work = np.empty(word_models.space_for(self.longest))
        value = 0.0
        for a, b in self._chunks("HMM" if jumps else "IBM 1"):
            value += word_models.add_expected_counts(
                self.corpus, tables, counts, self.p0, jumps, self.agree, a, b, self.longest, work
            )
        self.log_likelihood.append(value)
        self._maximize(jumps)

    def _chunks(self, what: str) -> Iterator[tuple[int, int]]:
        n = len(self.corpus.source_ptr) - 1
        with tqdm(total=n, desc=what, disable=not self.verbose, file=sys.stderr) as bar:
            for a in range(0, n, CHUNK):
                b = min(a + CHUNK, n)
                yield a, b
                bar.update(b - a)
                done = len(self.log_likelihood) * n + b
                tell_progress("learning statistics", self.what, done, self.rounds * n, " pairs")

    def _maximize(self, jumps: bool) -> None:
        counts = self._counts
        word_models.maximize_cells(
            self.pairs.row_ptr, self.pairs.column, counts.cells, self.cells, FLOOR,
            np.empty(self.n_words[1]),
        )  # fmt: skip
        self.null = _shares(counts.null_target), _shares(counts.null_source)
        if jumps:
            halves = counts.moves.reshape(2, -1)
            both = zip(halves, self.jumps.weight, strict=True)
            weight = np.stack([self._moves.maximize(own, old) for own, old in both])
            self.jumps = Jumps(weight, self.jumps.far)

    def tables(self) -> Any:
        """The present probabilities, as compiled code takes them."""
        moves = [self._moves.probabilities(weight) for weight in self.jumps.weight]
        null_target, null_source = self.null
        return word_models.Tables(
            self.cells, null_target, null_source, np.concatenate(moves), self._moves.ptr
        )


def _shares(counts: np.ndarray) -> np.ndarray:
    return np.maximum(counts / max(counts.sum(), 1e-300), FLOOR)
