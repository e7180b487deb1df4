"""Probabilities of an estimator's outputs, and the temperature that fits them to held-out data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._numba.packed_samples import Points
from maxmargin.estimators.perturb import Variables, part_frequencies
from maxmargin.estimators.temperature import find_temperature
from maxmargin.exceptions import MissingAbilityError, SampleError, UncalibratedWarning
from maxmargin.samples import Samples
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.validation.samples import as_dense, check_lengths, is_list, is_number

Method = Literal["auto", "exact", "perturb"]


class Probabilities:
    """What StructuredSVM knows of probabilities: p(z) ~ exp(w . F z / temperature_)."""

    structure_: Structure
    _weights: Callable[[], Any]
    temperature_: float
    _check_X: Callable[[Any], tuple[Any, Any]]
    _in_chunks: Callable[[Any], Iterator[Samples]]
    _truth: Callable[[Any, list[Layout]], Points]

    def predict_marginals(
        self, X: Any, method: Method = "auto", n_draws: int = 100, random_state: Any = 0
    ) -> Any:
        """Compute the marginal probabilities P(label) of each variable.

        The model is p(z) ~ exp(w . F z / T), where T is ``temperature_``, which is 1 until
        `calibrate` is called. The likelihood objective fits these probabilities. Those of margin
        training are suitable for ranking only, until the model is calibrated.

        Parameters
        ----------
        X : sequence of samples
            Samples in the form that `fit` takes.
        method : {"auto", "exact", "perturb"}, default="auto"
            "exact" sums over all outputs, where the structure can do so. "perturb" counts how often
            each label is part of the best output when noise is added to the scores of variables
            (perturb-and-MAP), with a standard error of 0.5 / sqrt(n_draws) at most. "auto" is exact
            where possible.
        n_draws : int, default=100
            Number of draws of "perturb".
        random_state : int, Generator, RandomState or None, default=0
            Seed of "perturb"; the same integer gives bitwise identical results.

        Returns
        -------
        sequence of ndarray of shape (n_variables, n_labels)
            Probabilities of the labels, one array per sample.
        """
        check_is_fitted(self, "coef_")
        exact = self._is_exact(method, n_draws)
        warn_if_uncalibrated(self, 4)
        w, rng = (
            as_dense(self._weights()) / self._temperature(),
            np.random.default_rng(random_state),
        )
        found = []
        for samples in self._in_chunks(X):
            p = _expectations(samples, w) if exact else part_frequencies(samples, w, n_draws, rng)
            for i, layout in enumerate(samples.layouts):
                count, labels = self.structure_.variables(layout)
                own = p[samples.parts(i)][: count * labels].reshape(count, labels)
                found.append(self._as_marginals(own, layout))
        return found

    def calibrate(
        self,
        X: Any,
        y: Any,
        node_weight: Any = None,
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> Any:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, to held-out samples.

        The mean of -log P(true label) over all variables of X is minimised. Predictions do not
        change. A few hundred variables suffice, because one number is learned. X and y must not be
        those of `fit`, on which the model is overconfident; this is not checked. `fit` resets
        ``temperature_`` to 1.

        Parameters
        ----------
        X : sequence of samples
            Held-out samples in the form that `fit` takes.
        y : sequence of outputs
            True outputs in the form that `fit` takes.
        node_weight : list of array_like or None, default=None
            Weight of each variable, one array per sample; None means 1.
        method : {"auto", "exact", "perturb"}, default="auto"
            As for `predict_marginals`. Predict with the method that was calibrated.
        n_draws : int, default=100
            Number of draws of "perturb".
        random_state : int, Generator, RandomState or None, default=0
            Seed of "perturb"; the same noise is used at every temperature that is tried.

        Returns
        -------
        StructuredSVM
            The estimator itself.
        """
        check_is_fitted(self, "coef_")
        exact = self._is_exact(method, n_draws)
        samples = getattr(X, "lengths", X)
        if is_list(samples) and len(samples) == 0:
            raise ValueError("X is empty: calibrate needs held-out samples.")
        return self._calibrate(self._held_out(X, y, node_weight), exact, n_draws, random_state)

    # -- inside ----------------------------------------------------------------------------------
    def _calibrate(
        self, held_out: list[HeldOut], exact: bool, n_draws: int, random_state: Any
    ) -> Any:
        total = sum(float(own.weight.sum()) for own in held_out)
        if total == 0:
            raise ValueError("node_weight is zero everywhere; give one variable a weight at least.")
        seed = np.random.default_rng(random_state).integers(2**63)

        def loss(temperature: float) -> float:
            w, rng = as_dense(self._weights()) / temperature, np.random.default_rng(seed)
            if exact:
                return sum(own.exact_loss(w) for own in held_out) / total
            mean = sum(own.perturbed_loss(w, n_draws, rng) for own in held_out) / total
            return mean - least_loss(n_draws)

        self.temperature_ = find_temperature(loss, total, 1e-3 if exact else 0.02)
        return self

    def _temperature(self) -> float:
        return getattr(self, "temperature_", 1.0)  # models saved by older versions have none

    def _as_marginals(self, p: np.ndarray, layout: Layout) -> np.ndarray:
        """What a sample's user is given, from (variables, labels)."""
        return p

    def _known_targets(self, y: Any, rows: Any) -> Any:
        """Targets as `structure.encode` takes them, of labels that were learned."""
        return y

    def _is_exact(self, method: str, n_draws: int) -> bool:
        if method not in ("auto", "exact", "perturb"):
            raise ValueError(f'method={method!r} must be "auto", "exact" or "perturb".')
        if not is_number(n_draws, whole=True) or n_draws < 1:
            raise ValueError(f"n_draws={n_draws!r} must be an integer, 1 or more.")
        able = self.structure_.oracle().has_expectations
        if method == "exact" and not able:
            raise MissingAbilityError(
                f"{type(self.structure_).__name__} has no exact marginals: it cannot sum over all"
                ' outputs. Use method="perturb", which estimates them by noise, or'
                " decision_function for scores."
            )
        return able and method != "perturb"

    def _held_out(self, X: Any, y: Any, node_weight: Any) -> list[HeldOut]:
        targets = self._known_targets(y, self._check_X(X)[0])
        if node_weight is not None and len(node_weight) != len(targets):
            raise ValueError(f"X has {len(targets)} samples, node_weight has {len(node_weight)}.")
        chunks = list(self._in_chunks(X))
        owner = copy(self)
        owner.structure_ = chunks[0].structure  # may be wider than the one of training
        layouts = [layout for samples in chunks for layout in samples.layouts]
        points = owner._truth(targets, layouts)
        found, start = [], 0
        for samples in chunks:
            truth, part = np.zeros(int(samples.part_ptr[-1])), slice(start, start + samples.n)
            start += samples.n
            ptr = points.ptr[part.start : part.stop + 1]
            own = slice(int(ptr[0]), int(ptr[-1]))
            places = np.repeat(samples.part_ptr[:-1], np.diff(ptr)) + points.part[own]
            truth[places] = points.value[own]
            weight = None if node_weight is None else node_weight[part]
            found.append(HeldOut(samples, truth, weight))
        return found


def warn_if_uncalibrated(model: Any, stacklevel: int) -> None:
    """Say that probabilities of margin training are not frequencies, unless it is calibrated."""
    if not fits_probabilities(model):
        warnings.warn(
            "the model was trained by margins and is not calibrated: its probabilities rank"
            " labels, but are not frequencies. Call calibrate(X, y) with held-out samples, or"
            ' use objective="likelihood" where there is that option.',
            UncalibratedWarning,
            stacklevel=stacklevel,
        )


def fits_probabilities(model: Any) -> bool:
    """Whether a model's probabilities were fitted to be such: by likelihood, or afterwards."""
    likely = getattr(model, "objective", "margin") == "likelihood"
    return likely or getattr(model, "temperature_", 1.0) != 1.0


class HeldOut:
    """Held-out samples, and where the truth about them stands among their parts.

    on : of each 0/1 variable, whether it is 1, or how often, where it stands for several.
    """

    def __init__(self, samples: Samples, truth: np.ndarray, node_weight: Any):
        self.samples = samples
        own = Variables(samples)
        self.chosen = own.choices[truth[own.choices] == 1.0]
        self.switches, self.on = own.switches, truth[own.switches]
        weight = np.ones(len(own.binary))
        if node_weight is not None:
            weight = _joined(node_weight, own.counts, samples.first)
        # as `_loss` has them: variables with several labels first
        self.weight = np.concatenate([weight[~own.binary], weight[own.binary]])

    def exact_loss(self, w: np.ndarray) -> float:
        """The sum over variables of -log P(true label)."""
        return self._loss(_expectations(self.samples, w))

    def perturbed_loss(self, w: np.ndarray, n_draws: int, rng: np.random.Generator) -> float:
        """The same of frequencies, with half a draw added to either side, since some are 0."""
        p = part_frequencies(self.samples, w, n_draws, rng)
        return self._loss(_smoothed(p, n_draws))

    def _loss(self, p: np.ndarray) -> float:
        own = p[self.switches]
        switched = self.on * _log(own) + (1.0 - self.on) * _log(1.0 - own)
        return float(-self.weight @ np.concatenate([_log(p[self.chosen]), switched]))


def least_loss(n_draws: int) -> float:
    """What the added half draws leave of the loss of a variable that every draw has right."""
    return -float(np.log(_smoothed(np.ones(1), n_draws))[0])


def _smoothed(p: np.ndarray, n_draws: int) -> np.ndarray:
    return (n_draws * p + 0.5) / (n_draws + 1)


def _log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, np.finfo(np.float64).tiny))


def _expectations(samples: Samples, w: np.ndarray) -> np.ndarray:
    p = np.empty(int(samples.part_ptr[-1]))
    samples.apply("marginals", w, out=p)
    return p


def _joined(node_weight: Any, counts: list[int], first: int) -> np.ndarray:
    found = []
    for i, (own, count) in enumerate(zip(node_weight, counts, strict=True)):
        weight = np.asarray(own, dtype=np.float64).ravel()
        if len(weight) != count or not (np.isfinite(weight) & (weight >= 0)).all():
            raise SampleError.of(
                first + i, f": node_weight must be {count} finite numbers, 0 or more."
            )
        found.append(weight)
    return np.concatenate(found)


def label_numbers(y: Any, lengths: np.ndarray, classes: np.ndarray) -> list[np.ndarray]:
    """The places of labels in `classes`; a label that was not learned is an error that names it."""
    check_lengths(y, lengths)
    number = {label: k for k, label in enumerate(classes.tolist())}
    found = []
    for i, labels in enumerate(y):
        own = [number.get(label, -1) for label in np.asarray(labels).tolist()]
        if -1 in own:
            odd = np.asarray(labels).tolist()[own.index(-1)]
            raise SampleError.of(
                i,
                f": y has {odd!r}, which is not among the {len(classes)} labels learned."
                " Leave such samples out, or fit with samples that have it.",
            )
        found.append(np.array(own, dtype=np.int64))
    return found
