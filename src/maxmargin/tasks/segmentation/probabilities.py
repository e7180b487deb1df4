"""How probable the labels of pixels and points are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators import GraphCutSVM
from maxmargin.estimators.probabilities import Method
from maxmargin.tasks.segmentation.checks import check_known, check_masks, check_shape, each_sample
from maxmargin.tasks.segmentation.graph_makers import GraphMaker


class SegmentProbabilities:
    """What a Segmenter knows of probabilities."""

    graphs_: GraphMaker
    classes_: np.ndarray
    model_: GraphCutSVM

    def predict_marginals(
        self,
        inputs: Iterable[Any],
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> list[np.ndarray]:
        """Compute the probability of the second label of each pixel or point.

        It is how often the minimum cut gives it that label when noise is added to the scores of
        nodes, divided by ``temperature_``; the standard error is 0.5 / sqrt(n_draws) at most. Until
        `calibrate` is called, they are suitable for ranking only. Only one graph at a time is in
        memory.

        Parameters
        ----------
        inputs : iterable of samples
            Images or point clouds, as described for the class.
        method : {"auto", "perturb"}, default="auto"
            Both mean perturb-and-MAP; there is no exact method.
        n_draws : int, default=100
            Number of draws.
        random_state : int, Generator, RandomState or None, default=0
            Seed; the same integer gives bitwise identical results.

        Returns
        -------
        list of ndarray of shape (H, W) or (N,)
            Probabilities, one array per sample.
        """
        check_is_fitted(self, "model_")
        rng, maker = np.random.default_rng(random_state), self.graphs_
        made = (
            maker.make(maker.check(i, x)) for i, x in enumerate(each_sample(inputs, maker.noun))
        )
        return [
            own.spread(self.model_.predict_marginals([own.graph], method, n_draws, rng)[0][:, 1])
            for own in made
        ]

    def calibrate(
        self,
        inputs: Iterable[Any],
        labels: Sequence[Any],
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> Any:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, to held-out samples.

        They must not be those of `fit`, on which the model is overconfident. Predictions do not
        change. Each pixel or point counts, also where those of one node differ.

        Parameters
        ----------
        inputs : iterable of samples
            Images or point clouds, as described for the class.
        labels : sequence of array_like
            True labels of each sample, of shape (H, W) or (N,).
        method : {"auto", "perturb"}, default="auto"
            Both mean perturb-and-MAP; there is no exact method.
        n_draws : int, default=100
            Number of draws.
        random_state : int, Generator, RandomState or None, default=0
            Seed; the same noise is used at every temperature that is tried.

        Returns
        -------
        Segmenter
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        noun = self.graphs_.noun
        checked = [self.graphs_.check(i, x) for i, x in enumerate(each_sample(inputs, noun))]
        masks = check_masks(labels, len(checked), noun)
        if not checked:
            raise ValueError(f"inputs is empty: calibrate needs held-out {noun}s.")
        made, shares = list(map(self.graphs_.make, checked)), []
        for i, (own, mask) in enumerate(zip(made, masks, strict=True)):
            check_shape(i, mask, own.shape, noun)
            check_known(i, mask, self.classes_, noun)
            shares.append(own.gather(mask == self.classes_[1]))
        exact = self.model_._is_exact(method, n_draws)
        held_out = self.model_._held_out(
            [own.graph for own in made],
            [self.classes_[(share > 0.5).astype(int)] for share in shares],
            [own.weight for own in made],
        )
        nodes = np.concatenate(shares)
        for part in held_out:
            part.on, nodes = nodes[: len(part.on)], nodes[len(part.on) :]
        self.model_._calibrate(held_out, exact, n_draws, random_state)
        return self
