"""How probable links are, and what a word aligner's model is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators import StructuredSVM
from maxmargin.estimators.probabilities import Method
from maxmargin.structures import Matching
from maxmargin.tasks.alignment.checks import (
    Link,
    Links,
    Pair,
    check_columns,
    check_links,
    check_pairs,
)
from maxmargin.tasks.alignment.features import AlignmentFeatures
from maxmargin.validation.samples import LaidOutRows, Rows

LinkColumns = Mapping[str, Sequence[Iterable[Link]]] | None


class LinkProbabilities:
    """What a WordAligner knows of probabilities."""

    features_: AlignmentFeatures
    model_: StructuredSVM
    max_links: int
    _full: Callable[[list[Pair], dict[str, Any]], tuple[list[int], list[Any]]]
    _prices: Callable[[list[Links], list[list[Link]], list[Pair]], list[np.ndarray]]

    def predict_marginals(
        self,
        pairs: Iterable[Pair],
        columns: LinkColumns = None,
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> list[np.ndarray]:
        """Compute the probability of a link between each pair of words.

        It is how often the link is part of the best matching when noise is added to the scores,
        divided by ``temperature_``; the standard error is 0.5 / sqrt(n_draws) at most. If max_links
        is 1, 1 minus the sum of a row is the probability that the word is not linked. Until
        `calibrate` is called, they are suitable for ranking only.

        Parameters
        ----------
        pairs : iterable of (source tokens, target tokens)
            Tokenised sentence pairs.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.
        method : {"auto", "perturb"}, default="auto"
            Both mean perturb-and-MAP; there is no exact method.
        n_draws : int, default=100
            Number of draws.
        random_state : int, Generator, RandomState or None, default=0
            Seed; the same integer gives bitwise identical results.

        Returns
        -------
        list of ndarray of shape (source length, target length)
            Probabilities, one array per pair.
        """
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs, empty_ok=True)
        given = check_columns(columns, checked, self.features_.columns_)
        found = [np.zeros((len(source), len(target))) for source, target in checked]
        full, X = self._full(checked, given)
        if full:
            p = self.model_.predict_marginals(X, method, n_draws, random_state)
            for s, own in zip(full, p, strict=True):
                found[s] = own.reshape(found[s].shape)
        return found

    def calibrate(
        self,
        pairs: Iterable[Pair],
        links: Sequence[Any],
        columns: LinkColumns = None,
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> Any:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, to held-out pairs.

        They must not be those of `fit`, on which the model is overconfident. Predictions do not
        change. Links that are possible but not sure are ignored.

        Parameters
        ----------
        pairs : iterable of (source tokens, target tokens)
            Tokenised sentence pairs.
        links : sequence
            Annotated links of each pair: (sure, possible), or plain links, which are sure.
        columns : dict or None, default=None
            Links of other aligners, {name: one collection of (i, j) per pair}, named as in `fit`.
        method : {"auto", "perturb"}, default="auto"
            Both mean perturb-and-MAP; there is no exact method.
        n_draws : int, default=100
            Number of draws.
        random_state : int, Generator, RandomState or None, default=0
            Seed; the same noise is used at every temperature that is tried.

        Returns
        -------
        WordAligner
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        checked = check_pairs(pairs)
        if not checked:
            raise ValueError("no pairs: calibrate needs held-out ones.")
        gold = check_links(links, checked)
        given = check_columns(columns, checked, self.features_.columns_)
        rows = self.features_.transform(checked, given)
        truth = matchings_of(gold, checked, self.features_.agreement(rows), self.max_links)
        counted = [np.sign(own) for own in self._prices(gold, truth, checked)]
        self.model_.calibrate(
            samples_of(rows, checked),
            truth,
            counted,
            method=method,
            n_draws=n_draws,
            random_state=random_state,
        )
        return self


def samples_of(rows: Rows, pairs: Sequence[Pair]) -> LaidOutRows:
    """The features of each pair's edges, and its layout."""
    return LaidOutRows(rows, [(len(source), len(target)) for source, target in pairs])


def matchings_of(
    links: list[Links], pairs: list[Pair], belief: np.ndarray, max_links: int
) -> list[list[Link]]:
    """As many sure links of each pair as words may have, the more credible ones if there is choice.

    belief : between 0 and 1, for each edge of each pair.
    """
    matching = Matching(max_links, max_links)
    chosen, start = [], 0
    for (sure, _), (source, target) in zip(links, pairs, strict=True):
        shape = (len(source), len(target))
        credible = belief[start : start + shape[0] * shape[1]].reshape(shape)
        start += shape[0] * shape[1]
        theta = np.full(shape, -1.0)
        for i, j in sorted(sure):
            # all credibilities together weigh less than one link more
            theta[i, j] = 1.0 + credible[i, j] / (1 + len(sure))
        z = matching.maximize(theta.ravel(), shape)
        chosen.append([(int(i), int(j)) for i, j in matching.decode(z, shape)])
    return chosen
