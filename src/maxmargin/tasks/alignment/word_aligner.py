"""Links between the words of sentences that translate each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.domains import Domain
from maxmargin.estimators import StructuredSVM
from maxmargin.estimators.restrictions import Restriction, check_restrictions, links_as_parts
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.losses import Hamming
from maxmargin.metrics import alignment_error_rate
from maxmargin.solvers import Solver
from maxmargin.structures import Matching
from maxmargin.tasks.alignment.checks import (
    Link,
    Links,
    Pair,
    check_columns,
    check_iterable,
    check_links,
    check_pairs,
)
from maxmargin.tasks.alignment.directed_links import directed_links
from maxmargin.tasks.alignment.features import AlignmentFeatures
from maxmargin.tasks.alignment.link_probabilities import (
    LinkColumns,
    LinkProbabilities,
    matchings_of,
    samples_of,
)
from maxmargin.tasks.alignment.reports import AlignmentReport, alignment_report
from maxmargin.tasks.alignment.word_statistics import WordStatistics
from maxmargin.tasks.base import Task
from maxmargin.tasks.tagging.reports import WeightTable, strongest_weights
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NJobs,
    NonNegative,
    NonNegativeOrInf,
    Penalty,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_options,
)
from maxmargin.validation.samples import as_dense


class WordAligner(LinkProbabilities, Task):
    """Word aligner: a bipartite matching of the words of sentence pairs, trained by a large margin.

    Minimises over the weights w of features of word pairs ::

        alpha/2 |w|^2 + 1/n sum_i max_z [w . F_i (z - y_i) + loss_i(z)]

    where z and y_i are matchings between the words of pair i. Few pairs with links suffice if there
    is much text without: most features rest on statistics (Dice coefficients, translation models)
    of the `parallel` text given to `fit`. Without any links, ``fit(pairs)`` learns from those of
    the translation models.

    A pair is (source tokens, target tokens), each a list of str. Its links are (sure, possible),
    two sets of (i, j) with source token i and target token j, counted from 0; plain links, as
    `predict` returns them, are all sure. Where annotators linked a word more often than
    `max_links`, the truth keeps as many sure links as possible, and among those the more credible
    ones; the others then cost nothing.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty. None means 3, for more than 100 pairs 300 / n.
    c_plus : float, default=1.0
        Cost of a predicted link that is not even possible; a possible link costs nothing.
    c_minus : float, default=4.0
        Cost of a missed sure link.
    solver : str or Solver, default="bcfw"
        Name of a solver, such as "bcfw" or "cutting-plane", or a `Solver`; see `StructuredSVM`.
    tol : float, default=0.02
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=200
        Largest number of passes over the samples.
    normalize : bool, default=False
        Divide the costs of a pair by the number of its sure links.
    max_links : int, default=1
        Largest number of links of a word. With 2, `not` may be linked to both *ne* and *pas*; this
        increases recall and decreases precision.
    strict : bool, default=False
        Raise an error if a word has more sure links than max_links.
    statistics : WordStatistics or None, default=None
        Unfitted statistics with options for `fit`; None means ``WordStatistics()``.
    features : AlignmentFeatures or None, default=None
        Feature maker with options; None means ``AlignmentFeatures()``.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(pairs, links)``, which uses 1 - AER.
    domain : Domain or None, default=None
        Feasible set of the weights; None means all of R^d. The papers train with
        solver="dual-extragradient", alpha=0 and no domain, and choose w on held-out pairs.

    Attributes
    ----------
    statistics_ : WordStatistics
        The fitted statistics.
    features_ : AlignmentFeatures
        The fitted feature maker.
    model_ : StructuredSVM
        The fitted model.

    Examples
    --------
    >>> pairs = [(["the", "cat"], ["le", "chat"]), (["a", "cat"], ["un", "chat"])]
    >>> links = [{(0, 0), (1, 1)}, {(0, 0), (1, 1)}]
    >>> WordAligner().fit(pairs, links).predict([(["the", "cat"], ["le", "chat"])])
    [[(0, 0), (1, 1)]]
    """

    statistics_: WordStatistics
    features_: AlignmentFeatures
    model_: StructuredSVM

    def __init__(
        self,
        alpha: Penalty | None = None,
        c_plus: NonNegative = 1.0,
        c_minus: NonNegative = 4.0,
        solver: str | Solver = "bcfw",
        tol: NonNegativeOrInf = 0.02,
        max_epochs: CountOrZero = 200,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        normalize: bool = False,
        max_links: Count = 1,
        strict: bool = False,
        statistics: WordStatistics | None = None,
        features: AlignmentFeatures | None = None,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self._store_shared(locals())
        self.c_plus = c_plus
        self.c_minus = c_minus
        self.normalize = normalize
        self.max_links = max_links
        self.strict = strict
        self.statistics = statistics
        self.features = features
        self.domain = domain

    def fit(
        self,
        pairs: Iterable[Pair],
        links: Sequence[Any] | None = None,
        parallel: Iterable[Pair] | WordStatistics | None = None,
        columns: LinkColumns = None,
    ) -> WordAligner:
        """Fit the statistics, the features and the model.

        Parameters
        ----------
        pairs : iterable of (source tokens, target tokens)
            Tokenised sentence pairs.
        links : sequence or None, default=None
            Annotated links of each pair. None means those of the two directed translation models of
            the statistics: sure where both agree, possible where one has them. Some 2,000 pairs
            suffice then; give the rest of the text as `parallel`.
        parallel : iterable of (source tokens, target tokens), WordStatistics or None, default=None
            Pairs without links, for the statistics, or fitted statistics; None means the text of
            `pairs`. Text of `pairs` is not added to `parallel`, so that features are distributed in
            training as on new pairs.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}.

        Returns
        -------
        WordAligner
            The fitted estimator.
        """
        check_options(self)
        checked = check_pairs(pairs)
        if not checked:
            raise ValueError("no pairs to learn from.")
        gold = None if links is None else check_links(links, checked)
        given = check_columns(columns, checked, None)
        if self.strict:
            for s, (sure, _) in enumerate(gold or ()):
                _check_caps(s, sure, checked[s], self.max_links)
        statistics = self._statistics(checked, parallel)
        if gold is None:
            gold = directed_links(statistics, checked)
        options = AlignmentFeatures() if self.features is None else clone(self.features)
        features = options.fit(statistics, list(given))
        rows = features.transform(checked, given)
        truth = matchings_of(gold, checked, features.agreement(rows), self.max_links)
        prices = self._prices(gold, truth, checked)
        with self._watched(partial(_on_rows, features)) as callbacks:
            model = self._model(len(checked), callbacks)
            samples = [samples_of(rows, checked)]
            del rows  # the model forgets them before it trains
            with self._learning(statistics_=statistics, features_=features, model_=model):
                model.fit(samples.pop(), truth, node_weight=prices)
        return self

    def _statistics(self, pairs: list[Pair], parallel: Any) -> WordStatistics:
        if isinstance(parallel, WordStatistics):
            check_is_fitted(parallel, "hmm_")
            return parallel
        if hasattr(self.statistics, "hmm_"):
            raise ValueError(
                "statistics= takes options only and would be fitted anew; pass statistics that are"
                " fitted to fit(pairs, links, parallel=statistics)."
            )
        statistics = WordStatistics() if self.statistics is None else clone(self.statistics)
        if self.verbose:
            statistics.set_params(verbose=self.verbose)
        if statistics.n_jobs is None:
            statistics.set_params(n_jobs=self.n_jobs)
        if parallel is None:
            return statistics.fit(pairs)
        check_iterable(parallel, "parallel")
        return statistics.fit(parallel)

    def _model(self, n: int, callbacks: list[Callback]) -> StructuredSVM:
        prices = Hamming(normalize=False, false_positive=self.c_plus, false_negative=self.c_minus)
        return self._start(StructuredSVM(Matching())).set_params(
            structure=Matching(self.max_links, self.max_links),
            alpha=min(3.0, 300.0 / n) if self.alpha is None else self.alpha,
            loss=prices,
            solver=self.solver,
            callbacks=callbacks,
            domain=self.domain,
        )

    def _prices(
        self, links: list[Links], truth: list[list[Link]], pairs: list[Pair]
    ) -> list[np.ndarray]:
        """The weight of each edge's price: 0 where a link is possible but not in the truth."""
        prices = []
        for (sure, possible), own, pair in zip(links, truth, pairs, strict=True):
            scale = 1.0 / max(1, len(sure)) if self.normalize else 1.0
            price = np.full((len(pair[0]), len(pair[1])), scale)
            for i, j in possible - set(own):
                price[i, j] = 0.0
            prices.append(price.ravel())
        return prices

    # -- using -------------------------------------------------------------------------------------
    def predict(self, pairs: Iterable[Pair], columns: LinkColumns = None) -> list[list[Link]]:
        """Predict the links of each pair.

        Parameters
        ----------
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.

        Returns
        -------
        list of list of (i, j)
            Sorted links of each pair; none where a sentence is empty.
        """
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        return self._predict(checked, check_columns(columns, checked, self.features_.columns_))

    def _predict(self, pairs: list[Pair], columns: dict[str, Any]) -> list[list[Link]]:
        found: list[list[Link]] = [[] for _ in pairs]
        full, X = self._full(pairs, columns)
        for s, links in zip(full, self.model_.predict(X) if full else [], strict=True):
            found[s] = [(int(i), int(j)) for i, j in links]
        return found

    def predict_restricted(
        self,
        pairs: Iterable[Pair],
        restrictions: Sequence[Restriction | None],
        columns: LinkColumns = None,
        time_limit: float | None = None,
    ) -> list[list[Link]]:
        """Predict the best links of each pair among those that its restriction allows.

        Parameters
        ----------
        restrictions : sequence of Restriction or None
            One per pair, such as ``Restriction(known=[(i, j)], forbidden=[(i, j)])``; None means
            that all links are allowed.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.
        time_limit : float or None, default=None
            Seconds for each pair whose restriction has rules; None means no limit.

        Returns
        -------
        list of list of (i, j)
            Sorted links of each pair; none where a sentence is empty.
        """
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        given = check_columns(columns, checked, self.features_.columns_)
        own = check_restrictions(restrictions, len(checked))
        limits = [self._as_parts(s, own[s], pair) for s, pair in enumerate(checked)]
        found: list[list[Link]] = [[] for _ in checked]
        full, X = self._full(checked, given)
        try:
            links = self.model_.predict_restricted(X, [limits[s] for s in full], time_limit)
        except SampleError as error:
            raise error.renumbered(full, noun="pair") from error
        for s, some in zip(full, links, strict=True):
            found[s] = [(int(i), int(j)) for i, j in some]
        return found

    def _as_parts(self, s: int, own: Restriction | None, pair: Pair) -> Restriction | None:
        """What is known of pair s, links told by their parts, as the model takes it."""
        try:
            layout = (len(pair[0]), len(pair[1]))
            return None if own is None else links_as_parts(own, self.model_.structure_, layout)
        except (ValueError, TypeError) as error:
            kind = InfeasibleError if isinstance(error, InfeasibleError) else SampleError
            raise kind.of(s, f": {error}", noun="pair") from error

    def _full(self, pairs: list[Pair], columns: dict[str, Any]) -> tuple[list[int], Any]:
        """Which pairs have words on both sides, and those as the model takes them."""
        full = [s for s, (source, target) in enumerate(pairs) if source and target]
        if not full:
            return [], []
        own = [pairs[s] for s in full]
        given = {name: [links[s] for s in full] for name, links in columns.items()}
        return full, samples_of(self.features_.transform(own, given), own)

    def score(
        self, pairs: Iterable[Pair], links: Sequence[Any], columns: LinkColumns = None
    ) -> float:
        """Compute 1 - AER, one minus the alignment error rate.

        Parameters
        ----------
        links : sequence
            Annotated links of each pair: (sure, possible), or plain links, which are sure.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.

        Returns
        -------
        float
            Score from 0 to 1.
        """
        return 1.0 - self.report(pairs, links, columns).aer

    def report(
        self, pairs: Iterable[Pair], links: Sequence[Any], columns: LinkColumns = None
    ) -> AlignmentReport:
        """Compute AER, precision and recall over all pairs, and the errors of each pair.

        Parameters
        ----------
        links : sequence
            Annotated links of each pair: (sure, possible), or plain links, which are sure.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.

        Returns
        -------
        AlignmentReport
            The scores, and the pairs, worst first.
        """
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        gold = check_links(links, checked)
        given = check_columns(columns, checked, self.features_.columns_)
        return alignment_report(checked, self._predict(checked, given), gold)

    def top_features(self, n: int = 10) -> WeightTable:
        """List the features with the largest and the smallest weights.

        Parameters
        ----------
        n : int, default=10
            Number of features for a link, and of features against it.

        Returns
        -------
        WeightTable
            Names and weights.
        """
        check_is_fitted(self, "model_")
        names = [name.split(": ", 1) for name in self.features_.feature_names_out()]
        weights = as_dense(self.coef_)
        rows = [(*names[k], float(weights[k])) for k in strongest_weights(weights, n)]
        return WeightTable(("group", "feature", "weight"), tuple(rows))

    def validate(self) -> None:
        """Raise ValueError unless there are as many weights as features, as compiled code needs."""
        if not hasattr(self, "model_"):
            return
        features, model = self.features_, self.model_
        n, size = model.n_features_in_, 1
        for words in features._frequent_words():
            size *= len(words)
        # more word pairs than features: not even to be listed, the names may fill the memory
        if size > n or len(features.feature_names_out()) != n or model.coef_.shape[-1] != n:
            raise ValueError("WordAligner: model_ and features_ differ in the number of features")


def _on_rows(features: AlignmentFeatures, stopping: EarlyStopping) -> None:
    """Make early stopping, which is given sentence pairs, look at their features."""
    if features.columns_:
        raise ValueError("EarlyStopping has no place for `columns`; use one or the other.")
    pairs = check_pairs(stopping.X)
    stopping.X, stopping.y = (
        samples_of(features.transform(pairs), pairs),
        check_links(stopping.y, pairs),
    )
    stopping.metric = stopping.metric or _one_minus_aer


def _check_caps(s: int, sure: set[Link], pair: Pair, max_links: int) -> None:
    for side, name in enumerate(("source", "target")):
        count = np.bincount([link[side] for link in sure], minlength=len(pair[side]))
        for t in np.flatnonzero(count > max_links).tolist():
            raise InfeasibleError.of(
                s,
                f": {name} word {t} ({pair[side][t]!r}) has {count[t]} sure links, but"
                f" max_links is {max_links}. Raise max_links, or use strict=False.",
                noun="pair",
            )


def _one_minus_aer(links: Sequence[Links], predicted: Sequence[Any]) -> float:
    found = [[(int(i), int(j)) for i, j in own] for own in predicted]
    return 1.0 - alignment_error_rate(found, [own[0] for own in links], [own[1] for own in links])
