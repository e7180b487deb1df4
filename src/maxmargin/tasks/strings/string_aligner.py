"""Alignments of pairs of strings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.callbacks import Callback
from maxmargin.estimators import StructuredSVM
from maxmargin.metrics import StringAlignmentScores, string_alignment_scores
from maxmargin.solvers import Solver
from maxmargin.structures import PairAlignment
from maxmargin.tasks.base import Prepared, StructureTask
from maxmargin.tasks.strings.checks import check_alignments, check_pairs, check_sizes
from maxmargin.tasks.strings.features import LONG, Pair, PairFeatures, PairRows
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


class StringAligner(StructureTask):
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
    max_cells : float, default=1e7
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
    n_learned_, n_given_ : int
        Number of pairs that were learned from, and of those that were given; those beyond
        `max_cells`, and those with an empty string, are left out.

    Examples
    --------
    >>> pairs = [("colour", "color"), ("honour", "honor"), ("labour", "labor")]
    >>> alignments = [[(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]] * 3
    >>> aligner = StringAligner().fit(pairs, alignments)
    >>> aligner.predict([("favour", "favor")])
    [[(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]]
    """

    model_: Any
    n_learned_: CountOrZero
    n_given_: CountOrZero
    symbols_: list
    bases_: list
    symbol_classes_: np.ndarray
    similarity_: Any
    context_: bool
    _empty_has_score = True

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
        max_cells: Positive = 1e7,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["likelihood", "margin"] = "likelihood",
    ):
        self._store_shared(locals())
        self.ends = ends
        self.classes = classes
        self.similarity = similarity
        self.context = context
        self.decoding = decoding
        self.gap_value = gap_value
        self.max_cells = max_cells
        self.objective = objective

    # -- fitting -----------------------------------------------------------------------------------
    def fit(
        self, pairs: Sequence[Pair], alignments: Sequence[Any], sample_weight: Any = None
    ) -> StringAligner:
        """Fit the costs of matches and gaps; pairs with an empty string are ignored.

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
        StringAligner
            The fitted estimator.
        """
        check_options(self)
        pairs = check_pairs(pairs)
        links = check_alignments(alignments, pairs)
        weight = check_sample_weight(sample_weight, len(pairs))
        kept = self._choose(pairs)
        counts = self._count_samples(len(kept), len(pairs), "max_cells")
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
            "context_": bool(cells <= _SHORT) if self.context is None else self.context, **counts,
        }  # fmt: skip
        model = self._make_model(len(pairs), learned["context_"])
        rows, targets, _ = self._knowing(learned, model)._rows(pairs, links)
        self._fit_model(model, learned, rows, targets, weight[kept])
        return self

    def _choose(self, pairs: list[Pair]) -> list[int]:
        """Which pairs are learned from: not more of their symbols than `max_cells`."""
        sizes = np.array([len(a) * len(b) for a, b in pairs], dtype=np.int64)
        if not sizes.any():
            raise ValueError("there are no pairs of strings with symbols to learn from.")
        order = check_random_state(self.random_state).permutation(len(pairs))
        order = order[sizes[order] > 0]
        if sizes[order].min() > self.max_cells:
            return [int(order[0])]  # one at least
        order = order[sizes[order] <= self.max_cells]
        return sorted(order[np.cumsum(sizes[order]) <= self.max_cells].tolist())

    def _features(self) -> PairFeatures:
        codes = SymbolCodes(self.symbols_, self.bases_, self.symbol_classes_, self.classes)
        return PairFeatures(codes, self.similarity_, self.context_, self.ends == "free")

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

        Returns
        -------
        list of list of (int, int)
            Matched positions.
        """
        return super().predict(pairs)

    def predict_marginals(self, pairs: Sequence[Pair]) -> list[np.ndarray]:
        """Compute the probability of each match, the model being p(y) ~ exp(score / T).

        T is ``temperature_``. Those of margin training are suitable for ranking only, until
        `calibrate` is called.

        Returns
        -------
        list of ndarray of shape (m, n)
            Probabilities that symbols are matched.
        """
        return super().predict_marginals(pairs)

    def predict_k_best(
        self, pairs: Sequence[Pair], k: int
    ) -> list[list[tuple[Alignment, float]]]:  # fmt: skip
        """Predict the k best alignments of each pair.

        Returns
        -------
        list of list of (alignment, float)
            Alignments of each pair with their scores, best first. Some may have the same matches
            and gaps in another order at the ends.
        """
        return super().predict_k_best(pairs, k)

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
        if [*a] == [*b]:
            return 0.0
        if not len(a) or not len(b):
            return 1.0
        oracle, gains = self._structure().oracle(), []
        for pair, theta in self._scores([(a, b), (a, a), (b, b)]):
            m, n = layout = self._layout(pair)
            apart = np.concatenate([np.full(m * n, -np.inf), theta[m * n :]])
            nothing = 0.0 if self.ends == "local" else oracle.maximize(apart, layout)[1]
            gains.append(oracle.maximize(theta, layout)[1] - nothing)
        between, *alone = gains
        return float(np.clip(1.0 - 2.0 * between / max(sum(alone), 1e-300), 0.0, 1.0))

    def calibrate(self, pairs: Sequence[Pair], alignments: Sequence[Any]) -> StringAligner:
        return super().calibrate(pairs, alignments)

    def score(
        self, pairs: Sequence[Pair], alignments: Sequence[Any], sample_weight: Any = None
    ) -> float:
        """Compute the F1 score of matches, over all pairs.

        Returns
        -------
        float
            F1 score from 0 to 1.
        """
        truth, found = self._compare(pairs, alignments)
        weight = check_sample_weight(sample_weight, len(truth)) if truth else None
        return string_alignment_scores(truth, found, weight).pairs_f1

    def report(self, pairs: Sequence[Pair], alignments: Sequence[Any]) -> StringAlignmentScores:
        """Compute the share of alignments that are exactly right, and scores of matches.

        Returns
        -------
        StringAlignmentScores
            The scores.
        """
        return string_alignment_scores(*self._compare(pairs, alignments))

    # -- inside ------------------------------------------------------------------------------------
    def _check(self, inputs: Any) -> list[Pair]:
        return check_pairs(inputs)

    def _check_truth(self, outputs: Any, inputs: list[Pair]) -> list[np.ndarray]:
        return check_alignments(outputs, inputs)

    def _rows(self, inputs: list[Any], truth: list[Any]) -> Prepared:
        kept = [i for i, pair in enumerate(inputs) if self._layout(pair)]
        rows = PairRows(self._features(), [inputs[i] for i in kept])
        return LaidOutRows(rows, rows.layouts), [truth[i] for i in kept], kept

    def _scores(self, inputs: Any) -> Iterator[tuple[Pair, np.ndarray]]:
        w, given = as_dense(self.model_.coef_), check_pairs(inputs)
        check_sizes(given)
        features = self._features()
        for first in range(0, len(given), _TOGETHER):
            some = given[first : first + _TOGETHER]
            short = [len(a) * len(b) <= LONG for a, b in some]
            scores: Iterator[np.ndarray] = iter(())
            if any(short):
                rows = PairRows(features, [*compress(some, short)])
                scores = iter(np.split(rows.matrix @ w, np.cumsum(rows.lengths)[:-1]))
            for pair, together in zip(some, short, strict=True):
                yield pair, next(scores) if together else features.score_parts(pair, w)

    def _layout(self, sample: Any) -> Any:
        a, b = sample
        return (len(a), len(b)) if len(a) and len(b) else None

    def _find_best(self, oracle: Any, theta: np.ndarray, layout: Any) -> np.ndarray:
        best = "best" if self.objective == "margin" or self.context_ else "expected"
        if (self.decoding or best) == "expected":
            # what each part is worth: matches their probability, gaps that of no match
            m, n = layout
            p = oracle.marginals(theta / self.temperature_, layout)
            matches = p[: m * n].reshape(m, n)
            alone = [self.gap_value * (1.0 - matches.sum(axis=side)) for side in (1, 0)]
            gaps = np.repeat(alone[0], 6), np.tile(np.repeat(alone[1], 2), 3)
            theta = np.concatenate([matches.ravel(), *gaps])
        return super()._find_best(oracle, theta, layout)

    def _output(self, z: np.ndarray | None, sample: Any) -> Alignment:
        if z is None:
            return []
        m, n = self._layout(sample)
        i, j = np.divmod(np.flatnonzero(z[: m * n] > 0.5), n)
        return list(zip(i.tolist(), j.tolist(), strict=True))

    def _probabilities(self, p: np.ndarray, sample: Any) -> np.ndarray:
        m, n = map(len, sample)
        return p[: m * n].reshape(m, n)

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
        if self._features().n_columns != self.n_features_in_:
            raise ValueError("StringAligner: the model has another number of features")
