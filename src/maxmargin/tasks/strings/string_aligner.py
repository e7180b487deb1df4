"""Alignments of pairs of strings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import StructuredSVM
from maxmargin.estimators.probabilities import warn_if_uncalibrated
from maxmargin.metrics import StringAlignmentScores, string_alignment_scores
from maxmargin.oracles.base import check_k
from maxmargin.solvers import Solver
from maxmargin.structures import PairAlignment
from maxmargin.tasks.base import Task
from maxmargin.tasks.strings.checks import check_alignments, check_pairs
from maxmargin.tasks.strings.features import Pair, PairFeatures, PairRows
from maxmargin.tasks.strings.symbols import (
    CLASSES,
    Similarity,
    SymbolCodes,
    find_base,
    learn_classes,
    look_like_proteins,
)
from maxmargin.validation.learned import check_hashes
from maxmargin.validation.options import (
    CountOrZero,
    NJobs,
    NonNegative,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_option,
    check_options,
)
from maxmargin.validation.samples import LaidOutRows, as_dense, check_sample_weight

#: matched positions of two strings, from 0
Alignment = list[tuple[int, int]]
#: pairs of symbols of two strings, on average, up to which neighbours and positions are looked at
_SHORT = 2500
#: pairs of strings whose features are made together
_TOGETHER = 64


class StringAligner(Task):
    """Aligner of strings: which symbol of one goes with which of the other, learned from pairs.

    Minimises over the weights w of features of matches and gaps ::

        alpha/2 |w|^2 - 1/n sum_i log p(y_i | x_i),    p(y | x) ~ exp(w . f(x, y))

    where y are all monotone alignments of a pair x of strings, or a margin over them. A string is a
    str or a list of symbols, which are texts or anything else that has a hash. An alignment is a
    list of pairs (i, j) of positions from 0, both rising. Features are the symbols of a match or
    gap, what they begin with, their classes, those of their neighbours and their positions.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty; None means 2 / n for n pairs, 10 / n without `context`, and 30 / n
        for margins.
    solver : str, Solver or None, default=None
        As for `StructuredSVM`. None means "auto", or "lbfgs" for likelihoods without `context`,
        which have few features.
    tol : float, default=0.02
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=50
        Largest number of passes over the pairs.
    ends : {"global", "free", "local"}, default="global"
        Whether gaps at the ends cost what is learned for them, or nothing, or what is beyond the
        first and the last match is not part of the alignment.
    classes : dict or None, default=None
        Class of each symbol. None means that classes are learned, from what symbols are matched
        with and from their neighbours.
    similarity : {"auto", "blosum62"}, dict or None, default="auto"
        Known scores of two symbols {(a, b): score}, in either order, from which learning starts.
        "auto" means "blosum62" if symbols are letters of amino acids, else None.
    context : bool or None, default=None
        Whether there are features of neighbours, classes and positions. None means that there are
        if strings are short: up to 50 symbols.
    decoding : {"expected", "best"} or None, default=None
        What is predicted: the alignment with the largest expected number of right matches, or the
        best one. None means "best" for margins and with `context`, where many alignments are all
        right, else "expected".
    gap_value : float, default=0.1
        What a symbol rightly left in a gap is worth where a right match is worth 1, in the
        expectation. More gives fewer matches, of which more are right.
    max_cells : float, default=2e6
        Pairs of symbols to learn from at most; pairs of strings beyond that are left out at random,
        to bound time and memory.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(pairs, alignments)``.
    objective : {"likelihood", "margin"}, default="likelihood"
        "likelihood" is a conditional random field over alignments.

    Attributes
    ----------
    model_ : StructuredSVM
        The fitted model.
    symbols_, bases_ : list
        Symbols of training, and what they begin with.
    symbol_classes_ : ndarray of shape (n_bases + 1, 2)
        Learned classes of bases, few and many; row 0 is for unknown ones.
    similarity_ : str, dict or None
        Known scores of symbols.
    context_ : bool
        Whether there are features of neighbours, classes and positions.

    Examples
    --------
    >>> pairs = [("colour", "color"), ("honour", "honor"), ("labour", "labor")]
    >>> alignments = [[(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]] * 3
    >>> aligner = StringAligner().fit(pairs, alignments)
    >>> aligner.predict([("favour", "favor")])
    [[(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]]
    """

    model_: Any
    symbols_: list
    bases_: list
    symbol_classes_: np.ndarray
    similarity_: Any
    context_: bool

    def __init__(
        self,
        alpha: Penalty | None = None,
        solver: str | Solver | None = None,
        tol: NonNegativeOrInf = 0.02,
        max_epochs: CountOrZero = 50,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        ends: Literal["global", "free", "local"] = "global",
        classes: Mapping[Any, Any] | None = None,
        similarity: Similarity = "auto",
        context: bool | None = None,
        decoding: Literal["expected", "best"] | None = None,
        gap_value: NonNegative = 0.1,
        max_cells: Positive = 2e6,
        n_jobs: NJobs = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["likelihood", "margin"] = "likelihood",
    ):
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.ends = ends
        self.classes = classes
        self.similarity = similarity
        self.context = context
        self.decoding = decoding
        self.gap_value = gap_value
        self.max_cells = max_cells
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.objective = objective

    # -- fitting -----------------------------------------------------------------------------------
    def fit(
        self, pairs: Sequence[Pair], alignments: Sequence[Any], sample_weight: Any = None
    ) -> StringAligner:
        """Fit the costs of matches and gaps.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class; those with an empty string are ignored.
        alignments : sequence of list of (int, int)
            Matched positions of each pair.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the pairs; None means equal weights.

        Returns
        -------
        StringAligner
            The fitted estimator.
        """
        check_options(self)
        pairs = check_pairs(pairs)
        links = check_alignments(alignments, pairs)
        weight = check_sample_weight(sample_weight, len(pairs))
        kept = self._choose(pairs)
        pairs, links = [pairs[i] for i in kept], [links[i] for i in kept]
        symbols = list(dict.fromkeys(s for pair in pairs for string in pair for s in string))
        bases = list(dict.fromkeys(map(find_base, symbols)))
        similarity = self.similarity
        if similarity == "auto":
            similarity = "blosum62" if look_like_proteins(symbols) else None
        cells = np.mean([len(a) * len(b) for a, b in pairs])
        learned: dict[str, Any] = {
            "symbols_": symbols, "bases_": bases, "similarity_": similarity,
            "symbol_classes_": learn_classes(pairs, links, bases),
            "context_": bool(cells <= _SHORT) if self.context is None else self.context,
        }  # fmt: skip
        features = self._make_features(learned)

        def on_rows(stopping: EarlyStopping) -> None:
            held_out = check_pairs(stopping.X)
            truth = check_alignments(stopping.y, held_out)
            some = [i for i, pair in enumerate(held_out) if all(map(len, pair))]
            stopping.X = _rows(features, [held_out[i] for i in some])
            stopping.y = [truth[i] for i in some]
            stopping.metric = stopping.metric or _share_of_matches

        with self._watched(on_rows) as callbacks:
            fresh = self._make_model(len(pairs), learned["context_"])
            model = self._start(fresh).set_params(callbacks=callbacks)
            with self._learning(**learned, model_=model):
                model.fit(_rows(features, pairs), links, weight[kept])
        return self

    def _choose(self, pairs: list[Pair]) -> list[int]:
        """Which pairs are learned from: not more of their symbols than `max_cells`."""
        sizes = np.array([len(a) * len(b) for a, b in pairs], dtype=np.int64)
        if not sizes.any():
            raise ValueError("there are no pairs of strings with symbols to learn from.")
        order = check_random_state(self.random_state).permutation(len(pairs))
        fits = np.cumsum(sizes[order]) <= self.max_cells
        fits[np.argmax(sizes[order] > 0)] = True  # one at least
        return sorted(int(i) for i in order[fits] if sizes[i])

    def _make_features(self, learned: Mapping[str, Any]) -> PairFeatures:
        codes = SymbolCodes(
            learned["symbols_"], learned["bases_"], learned["symbol_classes_"], self.classes
        )
        return PairFeatures(
            codes, learned["similarity_"], learned["context_"], self.ends == "free"
        )  # fmt: skip

    def _make_model(self, n: int, context: bool) -> StructuredSVM:
        margin = self.objective == "margin"
        alpha = (30.0 if margin else 2.0 if context else 10.0) / n
        solver = "auto" if margin or context else "lbfgs"
        return StructuredSVM(
            PairAlignment(local=self.ends == "local"),
            objective=self.objective,
            loss="hamming-sum",
            alpha=alpha if self.alpha is None else self.alpha,
            solver=solver if self.solver is None else self.solver,
        )

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, pairs: Sequence[Pair]) -> list[Alignment]:
        """Predict the alignment of each pair.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class.

        Returns
        -------
        list of list of (int, int)
            Matched positions.
        """
        oracle = self._structure().oracle()
        best = "best" if self.objective == "margin" or self.context_ else "expected"
        decoding, found = self.decoding or best, []
        for layout, theta in self._scores(pairs):
            if min(layout) and decoding == "expected":
                theta = self._expect(oracle.marginals(theta / self.temperature_, layout), layout)
            found.append(self._matches(oracle.maximize(theta, layout)[0], layout) if min(layout)
                         else [])  # fmt: skip
        return found

    def _expect(self, p: np.ndarray, layout: tuple[int, int]) -> np.ndarray:
        """What each part is worth: matches their probability, gaps that of no match."""
        m, n = layout
        matches = p[: m * n].reshape(m, n)
        alone = [self.gap_value * (1.0 - matches.sum(axis=side)) for side in (1, 0)]
        gaps = np.repeat(alone[0], 6), np.tile(np.repeat(alone[1], 2), 3)
        return np.concatenate([matches.ravel(), *gaps])

    def _matches(self, z: np.ndarray, layout: tuple[int, int]) -> Alignment:
        m, n = layout
        i, j = np.divmod(np.flatnonzero(z[: m * n] > 0.5), n)
        return list(zip(i.tolist(), j.tolist(), strict=True))

    def predict_marginals(self, pairs: Sequence[Pair]) -> list[np.ndarray]:
        """Compute the probability of each match, the model being p(y) ~ exp(score / T).

        T is ``temperature_``. Those of margin training are suitable for ranking only, until
        `calibrate` is called.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class.

        Returns
        -------
        list of ndarray of shape (m, n)
            Probabilities that symbols are matched.
        """
        oracle, found = self._structure().oracle(), []
        warn_if_uncalibrated(self.model_, 3)
        for (m, n), theta in self._scores(pairs):
            p = oracle.marginals(theta / self.temperature_, (m, n)) if m and n else np.empty(0)
            found.append(p[: m * n].reshape(m, n))
        return found

    def predict_k_best(
        self, pairs: Sequence[Pair], k: int
    ) -> list[list[tuple[Alignment, float]]]:  # fmt: skip
        """Predict the k best alignments of each pair.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class.
        k : int
            Number of alignments per pair; all are returned if there are fewer.

        Returns
        -------
        list of list of (alignment, float)
            Alignments of each pair with their scores, best first. Some may have the same matches
            and gaps in another order at the ends.
        """
        structure, found = self._structure(), []
        check_k(k)
        for layout, theta in self._scores(pairs):
            best = structure.k_best(theta, layout, k) if min(layout) else [(np.empty(0), 0.0)]
            found.append([(self._matches(z, layout), score) for z, score in best])
        return found

    def distance(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
        """Compute how different two strings are, by the learned costs.

        The score of the best alignment is compared with that of leaving all symbols in gaps, and
        with the same of each string aligned with itself (Downey et al. 2008).

        Parameters
        ----------
        a, b : sequence of hashable
            Strings, as described for the class.

        Returns
        -------
        float
            1 - 2 s(a, b) / (s(a, a) + s(b, b)): 0 for equal strings, 1 at most.
        """
        check_pairs([(a, b)])
        if not len(a) or not len(b):
            return float(bool(len(a) or len(b)))
        oracle, gains = self._structure().oracle(), []
        for (m, n), theta in self._scores([(a, b), (a, a), (b, b)]):
            apart = np.concatenate([np.full(m * n, -np.inf), theta[m * n :]])
            nothing = 0.0 if self.ends == "local" else oracle.maximize(apart, (m, n))[1]
            gains.append(oracle.maximize(theta, (m, n))[1] - nothing)
        between, *alone = gains
        return float(np.clip(1.0 - 2.0 * between / max(sum(alone), 1e-300), 0.0, 1.0))

    def calibrate(self, pairs: Sequence[Pair], alignments: Sequence[Any]) -> StringAligner:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, on held-out data.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs that are not those of `fit`.
        alignments : sequence of list of (int, int)
            Matched positions of each pair.

        Returns
        -------
        StringAligner
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        pairs = check_pairs(pairs)
        links = check_alignments(alignments, pairs)
        kept = [i for i, pair in enumerate(pairs) if all(map(len, pair))]
        rows = _rows(self._make_features(vars(self)), [pairs[i] for i in kept])
        self.model_.calibrate(rows, [links[i] for i in kept])
        return self

    def score(
        self, pairs: Sequence[Pair], alignments: Sequence[Any], sample_weight: Any = None
    ) -> float:
        """Compute the F1 score of matches, over all pairs.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class.
        alignments : sequence of list of (int, int)
            Matched positions of each pair.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the pairs; None means equal weights.

        Returns
        -------
        float
            F1 score from 0 to 1.
        """
        pairs = check_pairs(pairs)
        truth = check_alignments(alignments, pairs)
        weight = check_sample_weight(sample_weight, len(pairs)) if pairs else None
        return string_alignment_scores(truth, self.predict(pairs), weight).pairs_f1

    def report(self, pairs: Sequence[Pair], alignments: Sequence[Any]) -> StringAlignmentScores:
        """Compute the share of alignments that are exactly right, and scores of matches.

        Parameters
        ----------
        pairs : sequence of (sequence, sequence)
            Pairs of strings, as described for the class.
        alignments : sequence of list of (int, int)
            Matched positions of each pair.

        Returns
        -------
        StringAlignmentScores
            The scores.
        """
        pairs = check_pairs(pairs)
        return string_alignment_scores(check_alignments(alignments, pairs), self.predict(pairs))

    # -- inside ------------------------------------------------------------------------------------
    def _structure(self) -> Any:
        check_is_fitted(self, "model_")
        return self.model_.structure_

    def _scores(self, pairs: Sequence[Pair]) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
        """The layout of each pair, and the scores of its parts."""
        w, given = as_dense(self.model_.coef_), check_pairs(pairs)
        features = self._make_features(vars(self))
        for first in range(0, len(given), _TOGETHER):
            rows = PairRows(features, given[first : first + _TOGETHER])
            scores = np.split(rows.matrix @ w, np.cumsum(rows.lengths)[:-1])
            yield from zip(rows.layouts, scores, strict=True)

    def validate(self) -> None:
        if not hasattr(self, "model_"):
            return
        check_option("StringAligner: model_", self.model_, StructuredSVM)
        check_hashes(self.symbols_)
        check_hashes(self.bases_)
        classes = self.symbol_classes_
        shape = len(self.bases_) + 1, len(CLASSES)
        if classes.shape != shape or classes.dtype != np.int64:
            raise ValueError("StringAligner: symbol_classes_ is not what fit leaves")
        if classes.min() < 0 or (classes.max(axis=0) > CLASSES).any():
            raise ValueError("StringAligner: symbol_classes_ has numbers of no class")
        if self._make_features(vars(self)).n_columns != self.n_features_in_:
            raise ValueError("StringAligner: the model has another number of features")


def _rows(features: PairFeatures, pairs: list[Pair]) -> LaidOutRows:
    rows = PairRows(features, pairs)
    return LaidOutRows(rows, rows.layouts)


def _share_of_matches(truth: Any, outputs: Any) -> float:
    found = [[tuple(column) for column in own.tolist() if min(column) >= 0] for own in outputs]
    return string_alignment_scores(truth, found).pairs_f1
