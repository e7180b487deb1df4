"""What sentence pairs without links say about which words translate each other."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from maxmargin._numba.alignment import word_models, word_pairs
from maxmargin.tasks.alignment.checks import Pair, check_iterable, check_pair
from maxmargin.tasks.alignment.pair_edges import Edges
from maxmargin.tasks.alignment.statistics_checks import check_stems, check_tables
from maxmargin.tasks.alignment.translation_models import (
    MoveTables,
    Text,
    TranslationModels,
    start_pointers,
)
from maxmargin.tasks.alignment.word_forms import Vocabulary
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Bounds, Count, CountOrZero, NJobs, Verbosity, check_options

_UNSEEN = 1e-7  # probability of words that were not seen together, or too seldom to keep
_UNKNOWN = 1e-5  # of words not in the vocabulary, so that the places of their neighbours decide
_SAME_WORD = 0.1  # of an unknown word that is written alike on both sides: a name, a number


class Association(NamedTuple):
    """One number for each edge of `Edges`.

    Forward, the posterior that the target word was drawn from the source word; backward, that the
    source word was drawn from the target word.
    """

    dice: np.ndarray
    mixture_forward: np.ndarray
    mixture_backward: np.ndarray
    hmm_forward: np.ndarray
    hmm_backward: np.ndarray


class WordStatistics(Checked, BaseEstimator):
    """Co-occurrence counts and translation models, learned from sentence pairs without links.

    Dice coefficients 2 n(e, f) / (n(e) + n(f)) over sentence pairs with both words; the mixture of
    IBM model 1 and the HMM of Vogel et al. (1996) in both directions, trained by expectation
    maximisation (EM). Words are compared in lower case, without accents. The tables are sparse
    (arrays, so that they are saved without pickle) and are all that new sentences need.

    Parameters
    ----------
    mixture_rounds, hmm_rounds : int, default=5
        Rounds of EM of either model.
    agree : bool, default=True
        Train both directions to agree (Liang et al. 2006). Stems are trained the other way:
        features of two models that differ are more informative than those of two similar ones.
    p0 : float, default=0.2
        Probability that a word translates nothing.
    far : int, default=10
        Largest jump, in words, that the HMM distinguishes.
    max_length : int, default=60
        Sentence pairs with more words on a side are ignored; memory grows with the square of it.
    min_probability : float, default=1e-05
        Word pairs that no model gives this probability are dropped after training; their Dice
        coefficient is then 0.
    stem_length : int or None, default=5
        Also train on the first stem_length letters of all words, which helps for rare words; None
        means no stems.
    verbose : int, default=0
        1 shows progress on stderr.
    n_jobs : int or None, default=None
        Threads; with two or more, words and stems are trained at the same time. Results do not
        depend on it.

    Attributes
    ----------
    source_words_ : list of str
        Source words, the most frequent first; ``target_words_`` likewise.
    source_counts_ : ndarray
        Number of sentence pairs with each source word; ``target_counts_`` likewise.
    row_ptr_ : ndarray
        Row pointers of the word pairs kept, in CSR form by source word.
    column_ : ndarray
        Target word of each word pair kept.
    together_ : ndarray
        Number of sentence pairs with both words of each pair.
    mixture_ : ndarray of shape (2, n)
        Probabilities of each word pair forward (target given source) and backward; ``hmm_``
        likewise.
    mixture_null_target_ : ndarray
        Probabilities of words given no word; likewise for source and ``hmm``.
    jumps_ : ndarray of shape (2, n_buckets)
        Weights of jumps.
    n_pairs_ : int
        Number of sentence pairs used.
    stems_ : WordStatistics or None
        The same for stems.
    """

    n_pairs_: CountOrZero
    source_words_: list[str]
    target_words_: list[str]
    source_counts_: np.ndarray
    target_counts_: np.ndarray
    row_ptr_: np.ndarray
    column_: np.ndarray
    together_: np.ndarray
    mixture_: np.ndarray
    hmm_: np.ndarray
    mixture_null_source_: np.ndarray
    mixture_null_target_: np.ndarray
    hmm_null_source_: np.ndarray
    hmm_null_target_: np.ndarray
    jumps_: np.ndarray
    log_likelihood_: Any
    stems_: WordStatistics | None

    def __init__(
        self,
        mixture_rounds: Count = 5,
        hmm_rounds: CountOrZero = 5,
        *,
        agree: bool = True,
        p0: Annotated[float, Bounds(0, 1, True, True)] = 0.2,
        far: Annotated[int, Bounds(1, 10**6)] = 10,
        max_length: Count = 60,
        min_probability: Annotated[float, Bounds(0, 1, open_high=True)] = 1e-5,
        stem_length: Count | None = 5,
        verbose: Verbosity = 0,
        n_jobs: NJobs = None,
    ):
        self.mixture_rounds = mixture_rounds
        self.hmm_rounds = hmm_rounds
        self.agree = agree
        self.p0 = p0
        self.far = far
        self.max_length = max_length
        self.min_probability = min_probability
        self.stem_length = stem_length
        self.verbose = verbose
        self.n_jobs = n_jobs

    # -- learning ----------------------------------------------------------------------------------
    def fit(self, pairs: Iterable[Pair], y: Any = None) -> WordStatistics:
        """Learn all tables in one pass over the sentence pairs.

        Parameters
        ----------
        pairs : iterable of (source tokens, target tokens)
            Tokenised sentence pairs.
        y : None, default=None
            Ignored, for compatibility with scikit-learn.

        Returns
        -------
        WordStatistics
            The fitted object.
        """
        check_options(self)
        check_iterable(pairs)
        self.__dict__.pop("_known", None)  # vocabularies of an earlier fit
        vocabularies = Vocabulary(), Vocabulary()
        source, target = _encode(pairs, vocabularies, self.max_length, self.verbose)
        if len(source.ptr) == 1:
            raise ValueError(
                "no sentence pair to learn from: all are empty, or longer than"
                f" max_length={self.max_length} words."
            )
        words = vocabularies[0].words, vocabularies[1].words
        self.stems_ = None
        if self.stem_length is None:
            self._fit_text(source, target, *words)
            return self
        other = {"stem_length": None, "agree": not self.agree}
        self.stems_ = WordStatistics(**(self.get_params() | other))
        self.stems_.stems_ = None
        stems = [_cut(own, self.stem_length) for own in words]
        of_stems = (
            Text(stems[0][1][source.words], source.ptr),
            Text(stems[1][1][target.words], target.ptr),
            stems[0][0], stems[1][0], "stems",
        )  # fmt: skip
        if effective_n_jobs(self.n_jobs) == 1:
            self._fit_text(source, target, *words)
            self.stems_._fit_text(*of_stems)
            return self
        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(self.stems_._fit_text, *of_stems)
            self._fit_text(source, target, *words)
            task.result()
        return self

    def _fit_text(
        self,
        source: Text,
        target: Text,
        source_words: list[str],
        target_words: list[str],
        what: str = "words",
    ) -> None:
        counts = np.zeros(len(source_words), np.int64), np.zeros(len(target_words), np.int64)
        word_pairs.pairs_with_word(source.words, source.ptr, counts[0])
        word_pairs.pairs_with_word(target.words, target.ptr, counts[1])
        models = TranslationModels(
            source, target, (len(source_words), len(target_words)),
            p0=self.p0, agree=self.agree, far=self.far, verbose=self.verbose, what=what,
            rounds=self.mixture_rounds + self.hmm_rounds,
        )  # fmt: skip
        for _ in range(self.mixture_rounds):
            models.iterate(jumps=False)
        mixture = models.cells.astype(np.float32).reshape(-1, 2).T
        mixture_null = models.null
        for _ in range(self.hmm_rounds):
            models.iterate(jumps=True)
        hmm = models.cells.astype(np.float32).reshape(-1, 2).T
        self.n_pairs_ = len(source.ptr) - 1
        self.log_likelihood_ = np.array(models.log_likelihood)
        self.jumps_ = models.jumps.weight
        self._keep(models, mixture, hmm, counts)
        orders = [np.argsort(-own, kind="stable") for own in counts]
        self.mixture_null_target_ = mixture_null[0][orders[1]].astype(np.float32)
        self.mixture_null_source_ = mixture_null[1][orders[0]].astype(np.float32)
        self.hmm_null_target_ = models.null[0][orders[1]].astype(np.float32)
        self.hmm_null_source_ = models.null[1][orders[0]].astype(np.float32)
        self.source_counts_, self.target_counts_ = counts[0][orders[0]], counts[1][orders[1]]
        self.source_words_ = [source_words[k] for k in orders[0].tolist()]
        self.target_words_ = [target_words[k] for k in orders[1].tolist()]

    def _keep(
        self, models: TranslationModels, mixture: np.ndarray, hmm: np.ndarray, counts: Any
    ) -> None:
        """Store the word pairs that matter, with words renumbered by frequency."""
        pairs = models.pairs
        keep = np.flatnonzero(
            np.maximum(mixture.max(axis=0), hmm.max(axis=0)) >= self.min_probability
        )
        ranks = []
        for own in counts:
            rank = np.empty(len(own), dtype=np.int64)
            rank[np.argsort(-own, kind="stable")] = np.arange(len(own))
            ranks.append(rank)
        row = np.repeat(np.arange(len(counts[0])), np.diff(pairs.row_ptr))[keep]
        row, column = ranks[0][row], ranks[1][pairs.column[keep]]
        order = np.lexsort((column, row))
        keep = keep[order]
        self.row_ptr_ = start_pointers(np.bincount(row, minlength=len(counts[0])))
        self.column_ = column[order].astype(np.int32)
        self.together_ = pairs.together[keep]
        self.mixture_ = np.ascontiguousarray(mixture[:, keep])
        self.hmm_ = np.ascontiguousarray(hmm[:, keep])

    # -- using -------------------------------------------------------------------------------------
    def numbers(self, pairs: Sequence[Pair], stems: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Look up the words of all pairs, one after another.

        Parameters
        ----------
        pairs : sequence of (source tokens, target tokens)
            Tokenised sentence pairs.
        stems : bool, default=False
            Look up stems in the words of ``stems_``.

        Returns
        -------
        tuple of ndarray
            Indices of the source and the target words in ``source_words_`` and ``target_words_``;
            -1 for unknown words.
        """
        check_is_fitted(self, "hmm_")
        found = []
        for side, vocabulary in enumerate(self._vocabularies(stems)):
            own = [number for pair in pairs for number in vocabulary.find(pair[side])]
            found.append(np.array(own, dtype=np.int32))
        return found[0], found[1]

    def _vocabularies(self, stems: bool) -> tuple[Vocabulary, Vocabulary]:
        if not hasattr(self, "_known"):
            self._known: dict[bool, tuple[Vocabulary, Vocabulary]] = {}
        if stems not in self._known:
            own, cut = (self.stems_, self.stem_length) if stems else (self, None)
            assert own is not None
            words = own.source_words_, own.target_words_
            self._known[stems] = Vocabulary(words[0], cut), Vocabulary(words[1], cut)
        return self._known[stems]

    def association(
        self, numbers: tuple[np.ndarray, np.ndarray], edges: Edges, same: np.ndarray
    ) -> Association:
        """Compute Dice coefficients and posteriors of all edges.

        Parameters
        ----------
        numbers : tuple of ndarray
            Word indices, as `numbers` returns them.
        edges : Edges
            Edges of the sentence pairs.
        same : ndarray of bool
            Whether the words of an edge are spelled alike.

        Returns
        -------
        Association
            One number per edge of each kind.
        """
        source, target = numbers
        cell = np.empty(len(edges), dtype=np.int64)
        word_pairs.find_cells(
            self.row_ptr_, self.column_, source, edges.source_ptr, target, edges.target_ptr,
            edges.ptr, cell,
        )  # fmt: skip
        known = cell >= 0
        dice = np.zeros(len(edges))
        both = (
            self.source_counts_[source[edges.row[known]]]
            + self.target_counts_[target[edges.column[known]]]
        )
        dice[known] = 2.0 * self.together_[cell[known]] / both
        unknown = (source[edges.row] < 0) | (target[edges.column] < 0)
        other = np.where(unknown, np.where(same, _SAME_WORD, _UNKNOWN), _UNSEEN)
        mixture_null = self.mixture_null_target_, self.mixture_null_source_
        hmm_null = self.hmm_null_target_, self.hmm_null_source_
        mixture = self._posteriors(False, self.mixture_, mixture_null, cell, other, numbers, edges)
        hmm = self._posteriors(True, self.hmm_, hmm_null, cell, other, numbers, edges)
        return Association(dice, *mixture, *hmm)

    def _posteriors(
        self,
        jumps: bool,
        table: np.ndarray,
        nulls: Any,
        cell: np.ndarray,
        other: np.ndarray,
        numbers: Any,
        edges: Edges,
    ) -> Any:
        known = cell >= 0
        cells = np.column_stack([other, other])
        cells[known] = np.maximum(table[:, cell[known]].T, _UNSEEN)
        source, target = numbers
        null_target = np.where(target >= 0, nulls[0][target], _UNKNOWN).astype(np.float64)
        null_source = np.where(source >= 0, nulls[1][source], _UNKNOWN).astype(np.float64)
        lengths = np.concatenate([edges.source_lengths, edges.target_lengths])
        moves = MoveTables(lengths[lengths > 0], self.far)
        tables = word_models.Tables(
            cells.ravel(), null_target, null_source,
            np.concatenate([moves.probabilities(weight) for weight in self.jumps_]), moves.ptr,
        )  # fmt: skip
        corpus = word_models.Corpus(
            np.arange(len(source), dtype=np.int32), edges.source_ptr,
            np.arange(len(target), dtype=np.int32), edges.target_ptr,
            np.arange(len(edges), dtype=np.int32), edges.ptr,
        )  # fmt: skip
        longest = int(lengths.max(initial=1))
        forward, backward = np.empty(len(edges)), np.empty(len(edges))
        word_models.write_posteriors(
            corpus, tables, self.p0, jumps, longest, forward, backward,
            np.empty_like(tables.moves), np.empty(word_models.space_for(longest)),
        )  # fmt: skip
        return forward, backward

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_known"}

    def validate(self) -> None:
        """Raise ValueError unless the tables are such as `fit` makes, as compiled code needs."""
        if hasattr(self, "hmm_"):
            check_options(self)
            check_tables(self)
            check_stems(self, self.stems_, WordStatistics)


def _encode(
    pairs: Iterable[Pair], vocabularies: tuple[Vocabulary, Vocabulary], longest: int, verbose: int
) -> tuple[Text, Text]:
    words, lengths = (array("i"), array("i")), (array("q"), array("q"))
    bar = tqdm(pairs, desc="reading sentence pairs", disable=not verbose, file=sys.stderr)
    for s, pair in enumerate(bar):
        source, target = check_pair(s, pair, empty_ok=True)
        if not (0 < len(source) <= longest and 0 < len(target) <= longest):
            continue
        for side, tokens in enumerate((source, target)):
            words[side].extend(vocabularies[side].add(tokens))
            lengths[side].append(len(tokens))
    source_text, target_text = (
        Text(
            np.array(words[side], dtype=np.int32),
            start_pointers(np.array(lengths[side], dtype=np.int64)),
        )
        for side in (0, 1)
    )
    return source_text, target_text


def _cut(words: list[str], letters: int) -> tuple[list[str], np.ndarray]:
    """Stems of words, and the number of each word's stem."""
    number: dict[str, int] = {}
    found = [number.setdefault(word[:letters], len(number)) for word in words]
    return list(number), np.array(found, dtype=np.int32)
