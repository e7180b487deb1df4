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
from maxmargin.exceptions import InfeasibleError
from maxmargin.losses import Hamming
from maxmargin.metrics import alignment_error_rate
from maxmargin.solvers import Solver
from maxmargin.structures import Matching
from maxmargin.tasks.alignment.checks import (
    Link,
    Links,
    Pair,
    check_columns,
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
from maxmargin.tasks.tagging.reports import WeightTable, strongest
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NonNegative,
    NonNegativeOrInf,
    PositiveOrInf,
    Seed,
    TaskCommands,
    Verbosity,
    check_options,
)
from maxmargin.validation.samples import as_dense


class WordAligner(LinkProbabilities, Task):
    """Link the words of sentence pairs by a bipartite matching with a large margin.

    Minimise  alpha/2 |w|^2 + 1/n sum_i max_z [w . F_i (z - y_i) + loss_i(z)]  over the weights w of
    features of word pairs; z and y_i are matchings between the words of pair i. A handful of pairs
    with links is enough, if there is much text without: from `parallel` come the statistics (Dice
    coefficients, translation models) on which most features rest. Without any links, `fit(pairs)`
    learns from those of the translation models.

    A pair is (source tokens, target tokens), each a list of str. Its links are (sure, possible),
    two sets of (i, j) with source token i and target token j, counted from 0; plain links, as
    `predict` returns them, mean that all are sure. A sure link that is missed costs c_minus, a link
    that is not even possible c_plus, a possible link nothing. Where people linked a word more often
    than `max_links`, the truth keeps as many sure links as it can, the more credible ones of those;
    the others then cost nothing either.

    Parameters
    ----------
    alpha : strength of the penalty. None means 3, for more than 100 pairs 300 / n.
    c_plus, c_minus : prices of wrong and of missed links.
    normalize : divide a pair's prices by the number of its sure links.
    max_links : in how many links a word may be. With 2, `not` may be linked to both `ne` and `pas`;
        more true links are found then, and more wrong ones.
    strict : raise an error if a word has more sure links than max_links.
    solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit : see
        `StructuredSVM`.
    callbacks : further callbacks, e.g. EarlyStopping(pairs, links), which goes by 1 - AER.
    domain : where w lives, for the saddle-point solvers, see `StructuredSVM`. The papers train with
        solver="dual-extragradient", alpha=0 and no domain, and choose w on held-out pairs.
    statistics : WordStatistics, not fitted, with options for `fit`; None means WordStatistics().
    features : AlignmentFeatures, with options; None means AlignmentFeatures().

    Attributes
    ----------
    statistics_ : the fitted WordStatistics. features_ : the fitted AlignmentFeatures. model_ : the
    fitted StructuredSVM. coef_, result_, n_features_in_ : its weights, certificate and size.
    temperature_ : set by `calibrate`, else 1.

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
        alpha: NonNegative | None = None,
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
        n_jobs: TaskCommands = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self.alpha = alpha
        self.c_plus = c_plus
        self.c_minus = c_minus
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.normalize = normalize
        self.max_links = max_links
        self.strict = strict
        self.statistics = statistics
        self.features = features
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain

    def fit(
        self,
        pairs: Iterable[Pair],
        links: Sequence[Any] | None = None,
        parallel: Iterable[Pair] | WordStatistics | None = None,
        columns: LinkColumns = None,
    ) -> WordAligner:
        """Learn statistics_, features_ and model_.

        links : None, where nobody has linked anything by hand, means those of the two directed
            translation models of the statistics: sure where both agree, possible where one has
            them. Some 2,000 pairs are enough then; give the rest of the text as `parallel`.
        parallel : pairs without links, for the statistics, or a fitted WordStatistics; None means
            the text of `pairs` itself. Text of `pairs` is not added to `parallel`, so that features
            look in training as they will on new pairs.
        columns : links of other aligners, {name: one set of (i, j) for each pair}.
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
            model.fit(samples_of(rows, checked), truth, node_weight=prices)
        self.statistics_, self.features_, self.model_ = statistics, features, model
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
        return statistics.fit(pairs if parallel is None else parallel)

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
        """The links (i, j) of each pair, sorted; none where a sentence is empty."""
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        return self._predict(checked, check_columns(columns, checked, self.features_.columns_))

    def _predict(self, pairs: list[Pair], columns: dict[str, Any]) -> list[list[Link]]:
        found: list[list[Link]] = [[] for _ in pairs]
        full, X = self._full(pairs, columns)
        for s, links in zip(full, self.model_.predict(X) if full else [], strict=True):
            found[s] = [(int(i), int(j)) for i, j in links]
        return found

    def _full(self, pairs: list[Pair], columns: dict[str, Any]) -> tuple[list[int], list[Any]]:
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
        """1 - AER, the larger the better."""
        return 1.0 - self.report(pairs, links, columns).aer

    def report(
        self, pairs: Iterable[Pair], links: Sequence[Any], columns: LinkColumns = None
    ) -> AlignmentReport:
        """AER, precision and recall over all pairs, and each pair's errors, worst first."""
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        gold = check_links(links, checked)
        given = check_columns(columns, checked, self.features_.columns_)
        return alignment_report(checked, self._predict(checked, given), gold)

    def top_features(self, n: int = 10) -> WeightTable:
        """The n features that speak most for a link, and the n most against it."""
        check_is_fitted(self, "model_")
        names = [name.split(": ", 1) for name in self.features_.feature_names_out()]
        weights = as_dense(self.coef_)
        rows = [(*names[k], float(weights[k])) for k in strongest(weights, n)]
        return WeightTable(("group", "feature", "weight"), tuple(rows))

    def validate(self) -> None:
        """As many weights as features, on which compiled code relies."""
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
            raise InfeasibleError(
                f"pair {s}: {name} word {t} ({pair[side][t]!r}) has {count[t]} sure links, but"
                f" max_links is {max_links}. Raise max_links, or use strict=False."
            )


def _one_minus_aer(links: Sequence[Links], predicted: Sequence[Any]) -> float:
    found = [[(int(i), int(j)) for i, j in own] for own in predicted]
    return 1.0 - alignment_error_rate(found, [own[0] for own in links], [own[1] for own in links])
