"""Features of the word pairs of sentence pairs, for word alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.memory import append_in_place
from maxmargin.tasks.alignment import edge_features
from maxmargin.tasks.alignment.checks import Pair
from maxmargin.tasks.alignment.pair_edges import Edges, split_by_edges
from maxmargin.tasks.alignment.word_statistics import WordStatistics
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import CountOrZero, check_options
from maxmargin.validation.samples import Rows

_NOTHING = 1e-3  # half of all features are posteriors below this; what is left trains twice as fast
Groups = dict[str, edge_features.Features]


class AlignmentFeatures(Checked, BaseEstimator):
    """Features of the word pairs (edges) of sentence pairs, as one sparse matrix.

    All J x K word pairs of a sentence pair have a row, source word by source word. The features
    are, by group: `spelling` (same word, common letters, punctuation, numbers), `places`, `counts`
    (rare and unknown words), `words` and `stems` (Dice coefficients and posteriors of translation
    models, of the edge, its neighbours and its competitors), `conjoined`, `links` of other
    aligners, `vectors` (cosines) and `pairs` (indicators of pairs of the most frequent words, such
    as the = le, decreasing with their distance).

    Parameters
    ----------
    frequent : int, default=30
        Number of the most frequent words of each side that have features of their own.
    vectors : BilingualVectors, object or None, default=None
        Object whose method ``cosines(source_tokens, target_tokens)`` returns an array (J, K), such
        as the result of `orthogonal_map`.

    Attributes
    ----------
    statistics_ : WordStatistics
        The statistics in use.
    columns_ : list of str
        Names of the other aligners.
    """

    statistics_: WordStatistics
    columns_: list[str]

    def __init__(self, frequent: CountOrZero = 30, vectors: Any = None):
        self.frequent = frequent
        self.vectors = vectors

    def fit(self, statistics: WordStatistics, columns: Sequence[str] = ()) -> AlignmentFeatures:
        """Set the statistics, and the names of other aligners whose links will be given.

        Parameters
        ----------
        statistics : WordStatistics
            Fitted statistics.
        columns : sequence of str, default=()
            Names of other aligners.

        Returns
        -------
        AlignmentFeatures
            The object itself.
        """
        check_is_fitted(statistics, "hmm_")
        check_options(self)
        if self.vectors is not None and not hasattr(self.vectors, "cosines"):
            raise TypeError(
                f"vectors is {type(self.vectors).__name__}, expected an object with a method"
                " cosines(source_tokens, target_tokens)."
            )
        self.statistics_ = statistics
        self.columns_ = list(columns)
        return self

    def feature_names_out(self) -> list[str]:
        """Return the names of the columns, as ``group: feature``.

        Returns
        -------
        list of str
            One name per column.
        """
        return [f"{group}: {name}" for group, name in self._names()]

    def _names(self) -> list[tuple[str, str]]:
        check_is_fitted(self, "statistics_")
        one = [(["a"], ["b"])]  # any pair will do
        _, groups, _ = self._dense(one, {name: [()] for name in self.columns_})
        names = [(group, name) for group, own in groups.items() for name in own]
        source, target = self._frequent_words()
        return names + [("pairs", f"{e} = {f}") for e in source for f in target]

    def _frequent_words(self) -> tuple[list[str], list[str]]:
        stats = self.statistics_
        return stats.source_words_[: self.frequent], stats.target_words_[: self.frequent]

    def transform(self, pairs: Sequence[Pair], columns: Mapping[str, Any] | None = None) -> Rows:
        """Compute the features of all edges of all pairs.

        Parameters
        ----------
        pairs : sequence of (source tokens, target tokens)
            Tokenised sentence pairs, none of them empty.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.

        Returns
        -------
        Rows
            CSR matrix with one row per edge, and the number of rows of each pair.
        """
        check_is_fitted(self, "statistics_")
        columns = columns or {}
        values, indices, lengths = np.empty(0), np.empty(0, dtype=np.int32), []
        starts = np.zeros(1, dtype=np.int64)
        for part in split_by_edges(pairs):
            own = {name: columns[name][part] for name in self.columns_}
            edges, groups, numbers = self._dense(pairs[part], own)
            dense = [column for group in groups.values() for column in group.values()]
            full = np.column_stack(dense)
            full[np.abs(full) < _NOTHING] = 0.0
            matrix = sparse.csr_array(full)
            words = self._word_pairs(edges, numbers, groups["places"]["distance"])
            rows = sparse.csr_array(sparse.hstack([matrix, words], format="csr"))
            append_in_place(values, rows.data)
            append_in_place(indices, rows.indices)
            append_in_place(starts, rows.indptr[1:] + starts[-1])
            lengths.append(np.diff(edges.ptr))
        shape = (len(starts) - 1, rows.shape[1])
        starts = starts.astype(sparse.get_index_dtype(maxval=int(starts[-1])))
        return Rows(sparse.csr_array((values, indices, starts), shape), np.concatenate(lengths))

    def agreement(self, rows: Rows) -> np.ndarray:
        """Compute the agreement of the models of both directions on each edge, from its features.

        Parameters
        ----------
        rows : Rows
            Features, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_edges,)
            One number per edge.
        """
        column = self._names().index(("words", "agreement"))
        return rows.matrix[:, [column]].toarray().ravel()

    def _dense(
        self, pairs: Sequence[Pair], columns: Mapping[str, Any]
    ) -> tuple[Edges, Groups, tuple[np.ndarray, np.ndarray]]:
        stats = self.statistics_
        lengths = np.array([[len(side) for side in pair] for pair in pairs], dtype=np.int64)
        edges = Edges(lengths[:, 0], lengths[:, 1])
        numbers = stats.numbers(pairs)
        groups: Groups = {"bias": {"bias": np.ones(len(edges))}}
        groups["spelling"] = edge_features.spelling_features(pairs, edges)
        same = groups["spelling"]["same word"] > 0
        groups["places"] = edge_features.place_features(edges)
        groups["counts"] = edge_features.count_features(stats, numbers, edges)
        groups["words"] = edge_features.belief_features(
            stats.association(numbers, edges, same), edges
        )
        if stats.stems_ is not None:
            found = stats.stems_.association(stats.numbers(pairs, stems=True), edges, same)
            groups["stems"] = edge_features.belief_features(found, edges)
        groups["conjoined"] = edge_features.conjoin_features(
            groups["words"], groups["places"], groups["counts"]
        )
        groups["links"] = {}
        for name, links in columns.items():
            groups["links"] |= edge_features.given_links(name, links, edges)
        if self.vectors is not None:
            groups["vectors"] = edge_features.vector_cosines(self.vectors, pairs, edges)
        return edges, groups, numbers

    def _word_pairs(
        self, edges: Edges, numbers: tuple[np.ndarray, np.ndarray], distance: np.ndarray
    ) -> sparse.csr_array:
        """One feature for each pair of frequent words; statistics number words by frequency."""
        n_source, n_target = (len(words) for words in self._frequent_words())
        source, target = numbers[0][edges.row], numbers[1][edges.column]
        both = (source >= 0) & (source < n_source) & (target >= 0) & (target < n_target)
        where = np.flatnonzero(both)
        column = source[where].astype(np.int64) * n_target + target[where]
        value = np.maximum(0.0, 1.0 - 2.0 * distance[where])
        shape = (len(edges), n_source * n_target)
        return sparse.csr_array((value, (where, column)), shape=shape)

    def validate(self) -> None:
        """Raise ValueError unless statistics and options are such as `fit` accepts."""
        if not hasattr(self, "statistics_"):
            return
        if not hasattr(self.statistics_, "hmm_"):
            raise ValueError("AlignmentFeatures: statistics_ is not a fitted WordStatistics")
        if self.vectors is not None and not hasattr(self.vectors, "cosines"):
            raise ValueError("AlignmentFeatures: vectors has no method cosines")
