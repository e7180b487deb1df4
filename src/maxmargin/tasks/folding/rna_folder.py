"""Base pairs of RNA sequences."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.estimators import StructuredSVM
from maxmargin.formats.rna import Pairs, write_dot_bracket
from maxmargin.metrics import pair_scores
from maxmargin.solvers import LBFGS, Solver
from maxmargin.structures import NestedLayout, NestedPairs
from maxmargin.tasks.base import Prepared, StructureTask
from maxmargin.tasks.folding.bases import check_sequences, encode_bases, make_layout
from maxmargin.tasks.folding.reports import FoldingReport
from maxmargin.tasks.folding.rows import loop_features, make_rows
from maxmargin.tasks.folding.structures import add_up, check_structures, keep_nested
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_option,
    check_options,
)
from maxmargin.validation.samples import as_dense, check_sample_weight

Sequences = Sequence[str]
#: how much more pairs of the second pass are worth; by folds of PseudoBase
_SECOND = 2.0
#: bases of a sequence that is decoded by the model's own probabilities. Errors of scores add up
#: over the loops of a sequence, so that scores of longer ones count less and those of shorter ones
#: more; by families of ArchiveII that were not learned from.
_LENGTH, _SHARPEST = 250, 1.5
#: sequences that are compared with each other, which takes some seconds
_MOST_COMPARED = 5000


class RNAFolder(StructureTask):
    """RNA secondary structure: base pairs by a conditional random field over all foldings.

    Minimises over the weights w of features of loops ::

        alpha/2 |w|^2 - 1/n sum_i log p(y_i | x_i),    p(y | x) ~ exp(w . f(x, y))

    where y are all sets of nested canonical pairs. Features are stacked pairs, ends of helices with
    their neighbours, hairpins, bulges, interior loops and multiloops by bases and lengths, the same
    everywhere, and the free energy by published rules of nearest neighbours, whose weight is
    learned, too: what is not learned from the structures stays as it was measured. A sequence is a
    string of bases; a structure is a dot-bracket string, with ``([{<`` and letters for pairs that
    cross.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty; None means 2 for the likelihood, 0.001 for margins.
    solver : str, Solver or None, default=None
        As for `StructuredSVM`. None means "lbfgs" for the likelihood, else "auto".
    tol : float, default=0.01
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=15
        Largest number of passes over the sequences.
    min_loop : int, default=3
        Least number of bases between two that are paired. Pairs that are closer, that cross others
        or are not canonical are not learned from: they are counted, and a warning tells it.
    energies : bool, default=True
        Whether free energies are a feature.
    crossing : bool, default=False
        Whether predicted pairs may cross: the bases that are left over are folded once more.
        `is_exact_` tells that this is not a maximum.
    decoding : {"expected", "best"}, default="expected"
        The structure with most right bases to be expected by the probabilities of pairs, sharper
        ones for short sequences than for long ones, or the one of largest score.
    gamma : float, default=2.0
        What a right pair is worth, beside two right unpaired bases; more means more pairs.
    max_samples : int or None, default=200
        Number of sequences to learn from at most, drawn at random, those with many relatives less
        often; None means all. A thousand weights need no more, and time is saved.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(sequences, structures)``.
    objective : {"likelihood", "margin"}, default="likelihood"
        "margin" is a large margin, by the number of wrong pairs.

    Attributes
    ----------
    model_ : StructuredSVM
        The fitted model.
    left_out_ : ndarray of shape (4,)
        Numbers of true pairs that were not learned from: not canonical, too close, crossing; and of
        the sequences that have some.
    n_learned_, n_given_ : int
        Number of sequences that were learned from, and of those that were given; those beyond
        `max_samples`, and those that can form no pair, are left out.
    is_exact_ : bool
        Whether predictions are maxima: not if pairs may cross.

    Examples
    --------
    >>> folder = RNAFolder(max_epochs=2).fit(["GGGGAAAACCCC"] * 2, ["((((....))))"] * 2)
    >>> folder.predict(["GGGCGAAAGCCC"])
    ['((((....))))']
    """

    model_: Any
    left_out_: np.ndarray
    n_learned_: CountOrZero
    n_given_: CountOrZero
    _empty_has_score = True

    def __init__(
        self,
        alpha: Penalty | None = None,
        solver: str | Solver | None = None,
        tol: NonNegativeOrInf = 0.01,
        max_epochs: CountOrZero = 15,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        min_loop: CountOrZero = 3,
        energies: bool = True,
        crossing: bool = False,
        decoding: Literal["expected", "best"] = "expected",
        gamma: Positive = 2.0,
        max_samples: Count | None = 200,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["likelihood", "margin"] = "likelihood",
    ):
        self._store_shared(locals())
        self.min_loop = min_loop
        self.energies = energies
        self.crossing = crossing
        self.decoding = decoding
        self.gamma = gamma
        self.max_samples = max_samples
        self.objective = objective

    # -- fitting -----------------------------------------------------------------------------------
    def fit(
        self, sequences: Sequences, structures: Sequences, sample_weight: Any = None
    ) -> RNAFolder:
        """Fit the weights of loops; sequences that can form no pair are ignored.

        Parameters
        ----------
        sequences : sequence of str
            Bases.
        structures : sequence of str
            True structures, as dot-brackets.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the sequences; None means equal weights.

        Returns
        -------
        RNAFolder
            The fitted estimator.
        """
        check_options(self)
        sequences = check_sequences(sequences)
        truth = check_structures(structures, sequences)
        weight = check_sample_weight(sample_weight, len(sequences))
        kept = [keep_nested(*own) for own in self._coded(sequences, truth)]
        left_out = add_up(counts for _, counts in kept)
        if left_out.sequences:
            first = next(i for i, (_, counts) in enumerate(kept) if counts.sequences)
            warnings.warn(left_out.describe(first), UserWarning, stacklevel=2)
        used = np.flatnonzero(weight > 0).tolist()
        if self.max_samples is not None and len(used) > self.max_samples:
            rng = check_random_state(self.random_state)
            used = draw_diverse([sequences[i] for i in used], used, self.max_samples, rng)
        model = self._model()
        learned: dict[str, Any] = {"left_out_": np.array(left_out, dtype=np.int64)}
        rows, pairs, some = self._knowing(learned, model)._rows(
            [sequences[i] for i in used], [kept[i][0] for i in used]
        )
        if not some:
            raise ValueError("there are no sequences that can form pairs to learn from.")
        learned |= self._count_samples(len(some), len(sequences), "max_samples")
        self._fit_model(model, learned, rows, pairs, weight[used][some])
        return self

    def _coded(
        self, sequences: list[str], truth: list[Pairs]
    ) -> Iterator[tuple[Pairs, np.ndarray, int]]:
        for i, (sequence, pairs) in enumerate(zip(sequences, truth, strict=True)):
            yield pairs, encode_bases(sequence, i), self.min_loop

    def _model(self) -> StructuredSVM:
        likelihood = self.objective == "likelihood"
        alpha = self.alpha if self.alpha is not None else 2.0 if likelihood else 1e-3
        solver: Any = LBFGS() if likelihood else "auto"
        return StructuredSVM(
            NestedPairs(self.min_loop),
            objective=self.objective,
            loss="hamming-sum",
            alpha=alpha,
            solver=solver if self.solver is None else self.solver,
        )

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, sequences: Sequences) -> list[str]:
        """Predict the structure of each sequence.

        Returns
        -------
        list of str
            Dot-brackets.
        """
        return [
            write_dot_bracket(pairs, n) for pairs, n in self._predicted(check_sequences(sequences))
        ]

    def _predicted(self, sequences: list[str]) -> Iterator[tuple[Pairs, int]]:
        for (codes, layout), theta in self._scores(sequences):
            pairs: Pairs = []
            if layout is not None:
                pairs = self._decode(theta, layout)
                if self.crossing:
                    pairs += self._fold_rest(codes, layout, pairs)
            yield pairs, len(codes)

    def _decode(self, theta: np.ndarray, layout: NestedLayout, worth: float = 1.0) -> Pairs:
        structure = self._structure()
        if self.decoding == "best" and worth == 1.0:
            found = structure.decode(structure.maximize(theta, layout), layout)
            return [(i, j) for i, j in found.tolist()]
        n, (i, j) = layout.n_positions, layout.pairs.T
        # what was left over is folded by the model's own probabilities, at any length
        sharpness = min(np.sqrt(_LENGTH / n), _SHARPEST) if worth == 1.0 else 1.0
        p = structure.marginals(theta * (sharpness / self.temperature_), layout)[: len(i)]
        unpaired = 1.0 - np.bincount(i, p, n) - np.bincount(j, p, n)
        gain = 2.0 * self.gamma * worth * p - unpaired[i] - unpaired[j]
        plain = NestedLayout(n, layout.pairs)
        found = structure.decode(structure.maximize(gain, plain), plain)
        return [(a, b) for a, b in found.tolist()]

    def _fold_rest(self, codes: np.ndarray, layout: NestedLayout, pairs: Pairs) -> Pairs:
        """Pairs of bases that are not paired, which may cross those that are."""
        taken = np.zeros(len(codes), dtype=bool)
        taken[np.array(pairs, dtype=np.int64).ravel()] = True
        free = layout.pairs[~taken[layout.pairs].any(axis=1)]
        if not len(free):
            return []
        rest = NestedLayout(len(codes), free, codes, layout.n_symbols)
        return self._decode(self._theta(rest), rest, _SECOND)

    def predict_marginals(self, sequences: Sequences) -> list[np.ndarray]:
        """Compute the probability of each pair, the model being p(y) ~ exp(score / T).

        T is ``temperature_``. The likelihood objective fits these probabilities. Those of margin
        training are suitable for ranking only, until `calibrate` is called.

        Returns
        -------
        list of ndarray of shape (n, n)
            Symmetric matrices of the probabilities of nested pairs.
        """
        return super().predict_marginals(sequences)

    def predict_k_best(self, sequences: Sequences, k: int) -> list[list[tuple[str, float]]]:
        """Predict the k structures of largest score of each sequence, which should be short.

        Parameters
        ----------
        sequences : sequence of str
            Bases, some hundred at most: steps are listed in Python.

        Returns
        -------
        list of list of (str, float)
            Dot-brackets with their scores, best first.
        """
        return super().predict_k_best(sequences, k)

    def calibrate(self, sequences: Sequences, structures: Sequences) -> RNAFolder:
        return super().calibrate(sequences, structures)

    def score(
        self, sequences: Sequences, structures: Sequences, sample_weight: Any = None
    ) -> float:
        """Compute the F1 score of pairs, the mean over sequences.

        Returns
        -------
        float
            F1 score from 0 to 1.
        """
        truth, found = self._compare(sequences, structures)
        own = [pair_scores([a], [b]).f1 for a, b in zip(truth, found, strict=True)]
        weight = check_sample_weight(sample_weight, len(own))
        return float(np.average(own, weights=weight)) if own else 0.0

    def report(
        self, sequences: Sequences, structures: Sequences, families: Sequence[str] | None = None
    ) -> FoldingReport:
        """Compute scores in all and by family, and the worst structures.

        Parameters
        ----------
        families : sequence of str or None, default=None
            Family of each sequence; None means that all are of one.

        Returns
        -------
        FoldingReport
            The scores.
        """
        truth, found = self._compare(sequences, structures)
        names = ["all"] * len(truth) if families is None else list(families)
        if len(names) != len(truth):
            raise ValueError(f"{len(truth)} sequences, but {len(names)} families.")
        return FoldingReport.of(list(sequences), truth, found, names)

    def _compare(self, inputs: Any, outputs: Any) -> tuple[list[Pairs], list[Pairs]]:
        held = check_sequences(inputs)
        return check_structures(outputs, held), [pairs for pairs, _ in self._predicted(held)]

    # -- inside ------------------------------------------------------------------------------------
    @property
    def is_exact_(self) -> bool:
        check_is_fitted(self, "model_")
        return not self.crossing

    def _energies(self) -> bool:
        """Whether the model is fitted with energies, or will be."""
        columns = getattr(self.model_, "n_features_in_", None)
        return bool(self.energies) if columns is None else columns == loop_features(True).shape[1]

    def _check(self, inputs: Any) -> list[str]:
        return check_sequences(inputs)

    def _check_truth(self, outputs: Any, inputs: list[str]) -> list[Pairs]:
        return check_structures(outputs, inputs)

    def _rows(self, inputs: list[Any], truth: list[Any]) -> Prepared:
        pairs = [keep_nested(*own)[0] for own in self._coded(inputs, truth)]
        layouts = {
            i: make_layout(encode_bases(sequence), self.model_.structure.min_loop, pairs[i])
            for i, sequence in enumerate(inputs)
        }
        some = {i: layout for i, layout in layouts.items() if layout is not None}
        return make_rows([*some.values()], self._energies()), [pairs[i] for i in some], [*some]

    def _theta(self, layout: NestedLayout) -> np.ndarray:
        tied = loop_features(self._energies()) @ as_dense(self.model_.coef_)
        return np.concatenate([np.zeros(len(layout.pairs)), tied])

    def _scores(self, inputs: Any) -> Iterator[tuple[Any, np.ndarray]]:
        """The codes of each sequence with its layout, and its scores."""
        min_loop = self._structure().min_loop
        for i, sequence in enumerate(check_sequences(inputs)):
            codes = encode_bases(sequence, i)
            layout = make_layout(codes, min_loop)
            yield (codes, layout), np.empty(0) if layout is None else self._theta(layout)

    def _layout(self, sample: Any) -> Any:
        return sample[1]

    def _output(self, z: np.ndarray | None, sample: Any) -> str:
        codes, layout = sample
        pairs = [] if z is None else self._structure().decode(z, layout).tolist()
        return write_dot_bracket(pairs, len(codes))

    def _probabilities(self, p: np.ndarray, sample: Any) -> np.ndarray:
        codes, layout = sample
        found = np.zeros((len(codes), len(codes)))
        if layout is not None:
            found[tuple(layout.pairs.T)] = p[: len(layout.pairs)]
        return found + found.T

    def validate(self) -> None:
        if not hasattr(self, "model_"):
            return
        check_option("RNAFolder: model_", self.model_, StructuredSVM)
        if not isinstance(self.model_.structure_, NestedPairs):
            raise ValueError("RNAFolder: model_ is not of nested pairs")
        if self.n_features_in_ not in {loop_features(own).shape[1] for own in (True, False)}:
            raise ValueError("RNAFolder: model_ has another number of features")
        if self.left_out_.shape != (4,):
            raise ValueError("RNAFolder: left_out_ does not have four numbers")


def draw_diverse(
    sequences: list[str], numbers: list[int], count: int, rng: np.random.RandomState
) -> list[int]:
    """Some of the numbers, in order; those whose sequences have many relatives less often.

    Relatives are sequences whose counts of four bases in a row point in nearly the same direction.
    Of very many sequences some are drawn first, since all are compared with all.
    """
    if len(sequences) > _MOST_COMPARED:
        some = np.sort(rng.choice(len(sequences), max(count, _MOST_COMPARED), replace=False))
        sequences, numbers = [sequences[i] for i in some], [numbers[i] for i in some]
    words = np.zeros((len(sequences), 5**4))
    for row, sequence in zip(words, sequences, strict=True):
        codes = encode_bases(sequence)
        if len(codes) > 3:
            np.add.at(row, codes[:-3] * 125 + codes[1:-2] * 25 + codes[2:-1] * 5 + codes[3:], 1.0)
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-12)
    share = 1.0 / np.array([(words @ row > 0.6).sum() + 1 for row in words])
    chosen = rng.choice(len(numbers), count, replace=False, p=share / share.sum())
    return [numbers[i] for i in sorted(chosen.tolist())]
