"""Costs of decisions, learned for their regret."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin._numba.packed_samples import Points
from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.domains import Box, Domain
from maxmargin.domains.base import check_indices, check_limits
from maxmargin.domains.shifted import Shifted
from maxmargin.estimators.base import FUNCTION, StructuredSVM
from maxmargin.estimators.decision.choice import choose_by_folds
from maxmargin.estimators.decision.inputs import (
    Chosen,
    Instances,
    as_instances,
    as_points,
    check_costs,
    check_decision_layouts,
    count_parts,
    encode_decision,
    is_table,
    stack_outputs,
    why_no_decision,
)
from maxmargin.estimators.decision.mistakes import find_mistakes
from maxmargin.estimators.decision.scales import fit_least_squares, learn_scales, scale_rows
from maxmargin.estimators.probabilities import Method
from maxmargin.exceptions import SampleError
from maxmargin.features import DecisionFeatures, FeatureMap
from maxmargin.features.base import feature_values, part_features, weight_places
from maxmargin.losses import Loss, resolve_loss
from maxmargin.problem import Problem, Samples
from maxmargin.result import State
from maxmargin.solvers import Solver
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
from maxmargin.structures.decisions.per_instance import PerInstance
from maxmargin.structures.decisions.selection import Selection
from maxmargin.validation.feature_names import (
    check_cost_names,
    check_known_names,
    check_same_order,
    column_names,
)
from maxmargin.validation.learned import check_array
from maxmargin.validation.options import (
    Bounds,
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_options,
)
from maxmargin.validation.samples import Rows, as_dense, check_sample_weight, check_targets, is_list


class DecisionSVM(StructuredSVM):
    """Predicts the costs of parts, for the decisions that are made by them.

    Costs c_i of instance i become known after the decision; z_i* is the best decision by them.
    Predicted costs are linear in the features, c_hat = F_i^T w, and the decision is the best one by
    c_hat. Minimises over w the objective ::

        alpha/2 |w - prior|^2 + sum_i omega_i max_z [(c_i - 2 c_hat_i) . (z - z_i*)]

    which is the SPO+ loss of Elmachtoub and Grigas: a structural hinge whose loss is the regret
    c_i . (z - z_i*). The prior is the least squares fit of the costs, so that alpha goes from least
    squares (large) to the regret alone (small); it is chosen by cross-validation.

    X is a matrix of shape (n, n_features), features of the instances, by which each part has
    weights of its own; or an array of shape (n, n_parts, n_features), features of the parts, whose
    weights are shared; or a list of such matrices, or of pairs (matrix, layout). Without costs, it
    learns from past decisions alone.

    Parameters
    ----------
    structure : Structure
        Possible decisions, such as `structures.ShortestPath`.
    sense : {"min", "max"}, default="min"
        Whether costs are minimised, or values maximised.
    alpha : float or "cv", default="cv"
        Strength of the penalty; "cv" chooses it by the hinge on held-out instances, as long as
        their regret is not above the prior's by more than a standard error. Costs and features are
        scaled, so that a good value does not depend on their units.
    weights : {"auto", "own", "shared", "both"}, default="auto"
        Whether parts have weights of their own, shared ones, or the sum of both; "auto" is "own"
        for features of instances. For those of parts it is what alpha="cv" finds better, "shared"
        or "both", if all instances have the same parts, and otherwise "shared".
    loss : {"regret", "hamming", "hamming-sum"} or Loss, default="regret"
        Loss of a decision. Without costs, "regret" means "hamming".
    prior : {"auto", "least-squares"}, array_like or None, default="auto"
        Weights to which the penalty pulls: those of least squares, given ones in the form of
        ``cost_coef_`` with the intercept as a last column, or 0 (None). "auto" is "least-squares"
        for the regret, else None.
    frozen : array_like of int, default=()
        Numbers of the features whose weights stay those of the prior, which must be in the domain
        if there is one; that must bound each weight by itself.
    fit_intercept : bool, default=True
        Learn a constant, for each part if parts have weights of their own.
    intercept_scaling : float, default=1.0
        The constant is penalised this many times less than other weights, squared.
    cv : int or None, default=None
        Number of folds by which alpha is chosen; None means 5, or 3 from 500 instances on. There
        are no more than instances that weigh anything, of which alpha="cv" warns.
    tol : float, default=0.01
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=300
        Largest number of passes over the instances.
    domain : Domain or None, default=None
        Feasible set of ``coef_``, such as ``domains.NonNegative()``: weights of scaled features,
        which have the signs of those in ``cost_coef_``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        Weights of scaled features, for costs divided by ``cost_scale_``. ``result_.w`` is what
        they differ by from ``prior_``.
    alpha_ : float
        Strength of the penalty, given or chosen.
    cv_loss_ : dict
        Mean hinge of held-out instances by alpha, largest first, down to two below the best; or the
        share of wrong parts if there are no costs. Empty if alpha was given, or one instance.
    prior_ : ndarray of shape (n_weights,)
        Weights to which the penalty pulls.
    cost_scale_ : float
        Mean absolute cost.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from features, and what they are divided by then.
    layout_ : Layout or None
        Layout of all instances; None if X has the parts of each.
    n_parts_ : int
        Number of parts, where these have weights of their own; else 0.
    cost_names_in_ : ndarray of shape (n_parts,)
        Names of the columns of costs or decisions, where `fit` had them in a data frame whose
        columns are text. Data frames with other columns are refused then.

    Notes
    -----
    A day later: ``DecisionSVM(..., warm_start=True)`` and ``fit(X, costs, previous=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.structures import TopK
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> costs = np.exp(X @ rng.normal(size=(3, 4)))  # of four items, two of which we buy
    >>> model = DecisionSVM(TopK(2)).fit(X, costs)
    >>> model.predict(X[:2])
    array([[0, 1, 1, 0],
           [0, 1, 1, 0]])
    """

    alpha: Any
    alpha_: NonNegativeOrInf
    cv_loss_: dict
    prior_: np.ndarray
    cost_scale_: Positive
    mean_: np.ndarray
    scale_: np.ndarray
    layout_: Any
    n_parts_: CountOrZero
    cost_names_in_: np.ndarray
    _weights_kind: str
    _previous: Any
    _begun: float
    _depth: ClassVar[int] = 4

    def __init__(
        self,
        structure: Annotated[Structure, FUNCTION],
        sense: Literal["min", "max"] = "min",
        *,
        alpha: Penalty | Literal["cv"] = "cv",
        weights: Literal["auto", "own", "shared", "both"] = "auto",
        loss: str | Loss = "regret",
        prior: Any = "auto",
        frozen: Any = (),
        fit_intercept: bool = True,
        intercept_scaling: Positive = 1.0,
        cv: Annotated[int, Bounds(2)] | None = None,
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-2,
        max_epochs: CountOrZero = 300,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self._store_shared(locals())
        self.structure = structure
        self.sense = sense
        self.weights = weights
        self.prior = prior
        self.frozen = frozen
        self.fit_intercept = fit_intercept
        self.cv = cv

    # -- samples -----------------------------------------------------------------------------------
    def _make_features(self) -> FeatureMap:
        return clone(self.feature_map_)

    def _choose_features(self, X: Any) -> FeatureMap:
        per_instance = is_table(X)
        weights: Any = self.weights
        if weights == "auto":
            weights = "own" if per_instance else self.__dict__.get("_weights_kind", "shared")
        if per_instance and weights != "own":
            raise ValueError(
                f"weights={weights!r} needs features of parts, X of shape (n, n_parts, n_features);"
                f" found one row per instance."
            )
        return DecisionFeatures(weights, per_instance, self.fit_intercept)

    def _check_X(self, X: Any) -> tuple[Any, list[Layout] | None]:
        if self.feature_map_.per_instance != is_table(X):
            rows = "instance" if self.feature_map_.per_instance else "part"
            raise ValueError(f"X must have one row per {rows}, as the instances of fit had.")
        rows, given = super()._check_X(X)
        if self.feature_map_.per_instance:
            given = [self.layout_] * len(rows.lengths)
        elif given is not None and isinstance(self.structure_, PerInstance):
            given = check_decision_layouts(given, rows.lengths)
        return rows, given

    def _layout_of(self, i: int, n_parts: int) -> Layout:
        try:
            return self.structure_.layout_of(n_parts)
        except ValueError as error:
            raise SampleError.of(i, f": {error}") from error

    def _n_labels(self) -> int:
        return self.n_parts_

    def _seen_rows(self, rows: Any) -> Rows:
        return scale_rows(rows, self.mean_, self.scale_)

    def _sign(self) -> float:
        return 2.0 if self.sense == "max" else -2.0

    def _pack(self, rows: Any, layouts: list[Layout], frozen: Any = ()) -> Any:
        packed = super()._pack(rows, layouts)
        factor = self._sign() * ~self._are_frozen(packed.dim, frozen)
        return packed._replace(value=feature_values(packed) * factor[weight_places(packed)])

    def _are_frozen(self, dim: int, frozen: Any) -> np.ndarray:
        """Which weights are of features that are frozen."""
        column = np.arange(dim)  # the feature of each weight
        shared = self.n_features_in_ if self.feature_map_.weights == "both" else 0
        if self.n_parts_:
            column = np.append(column[:shared], column[: dim - shared] // self.n_parts_)
        return np.isin(column, frozen)

    # -- what is known afterwards ------------------------------------------------------------------
    def _read(self, y: Any, layouts: list[Layout]) -> tuple[list[Any] | None, list[np.ndarray]]:
        """Costs that are to be minimised, if known, and the vectors of the decisions."""
        known = y if isinstance(y, Instances) else self._known(y)
        if known.costs is None and known.decisions is None:
            raise ValueError("give costs, or decisions=, or both.")
        costs = None
        if known.costs is not None:
            costs = check_costs(known.costs, [self.structure_.n_parts(s) for s in layouts])
        if isinstance(y, Chosen):
            return costs, y.decisions
        if known.decisions is None:
            assert costs is not None
            return costs, self._decide_by_costs(costs, layouts)
        check_targets(known.decisions, len(layouts), "decisions")
        made = zip(known.decisions, layouts, strict=True)
        found = [encode_decision(self.structure_, i, *one) for i, one in enumerate(made)]
        return costs, found

    def _known(self, costs: Any, decisions: Any = None) -> Instances:
        """What users give, if data frames have the columns of fit."""
        for name, own in (("costs", costs), ("decisions", decisions)):
            check_cost_names(name, column_names(own), getattr(self, "cost_names_in_", None))
        return Instances.of(costs, decisions)

    def _decide_by_costs(self, costs: list[Any], layouts: list[Layout]) -> list[np.ndarray]:
        """The best decisions; an error where the best output is not a decision."""
        found = self._decide([self._sign() * own for own in costs], layouts)
        for i, (z, layout) in enumerate(zip(found, layouts, strict=True)):
            why = why_no_decision(self.structure_, z, layout)
            if why:
                raise SampleError.of(
                    i,
                    f": {why}, because its costs pay for cycles: they must not sum to less than 0"
                    ' over any, with sense="max" not to more.',
                )
        return found

    def _warn_of_mistakes(
        self, costs: list[Any], made: list[np.ndarray], layouts: list[Layout], given: Any
    ) -> None:
        known = self.structure_, self.sense, self._decide, costs, made, layouts
        for message in find_mistakes(*known, given=given is not None):
            warnings.warn(message, UserWarning, stacklevel=self._depth + 1)

    def _decide(self, scores: list[np.ndarray], layouts: list[Layout]) -> list[np.ndarray]:
        """The best decision for given scores of parts, instance by instance."""
        counts = np.array([len(own) for own in scores], dtype=np.int64)
        flat = np.concatenate(scores)
        samples = Samples.from_scores(self.structure_, layouts, flat, self.n_jobs)
        z = np.empty(int(counts.sum()))
        samples.apply("maximize", np.zeros(1), out=z)
        return np.split(z, np.cumsum(counts)[:-1])

    def _learn_prior(self, packed: Any, costs: list[Any] | None, omega: np.ndarray) -> np.ndarray:
        kind = self.prior
        if isinstance(kind, str) and kind == "auto":
            kind = "least-squares" if costs is not None and self.loss == "regret" else None
        if kind is None:
            return np.zeros(packed.dim)
        if isinstance(kind, str):
            if kind != "least-squares" or costs is None:
                why = " needs costs" if kind == "least-squares" else " is unknown"
                raise ValueError(f'prior={kind!r}{why}; use "auto", weights, or None.')
            target = np.concatenate(costs) / self.cost_scale_
            weight = np.repeat(omega, np.diff(packed.part_ptr))
            return fit_least_squares(
                part_features(packed, packed.dim) / self._sign(), target, weight
            )
        return self._scaled_weights(kind)

    def _scaled_weights(self, given: Any) -> np.ndarray:
        """Weights in the user's units, the intercept last, as `coef_` has them."""
        columns = self.n_features_in_ + self.fit_intercept
        shape = (self.n_parts_, columns) if self.n_parts_ else (columns,)
        try:
            found = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            found = np.empty(0)
        if found.shape != shape or not np.isfinite(found).all() or self.weights == "both":
            raise ValueError(
                f"prior must be finite numbers of shape {shape}, the intercept last, found shape"
                f" {found.shape}; weights='both' takes none."
            )
        table = found.reshape(-1, columns).T / self.cost_scale_
        slopes = table[: self.n_features_in_]
        scaled = slopes * self.scale_[:, None]
        if self.fit_intercept:
            constant = (table[-1] + self.mean_ @ slopes) / self.intercept_scaling
            scaled = np.vstack([scaled, constant])
        return scaled.ravel()

    # -- fitting -----------------------------------------------------------------------------------
    def fit(  # type: ignore[override]
        self,
        X: Any,
        costs: Any = None,
        sample_weight: Any = None,
        *,
        decisions: Any = None,
        previous: Any = None,
    ) -> DecisionSVM:
        """Fit the model to instances and what is known of them afterwards.

        Parameters
        ----------
        X : array_like or list
            Instances, in the form described for the class.
        costs : array_like of shape (n_instances, n_parts) or list, default=None
            Costs of the parts, or values if ``sense="max"``; None to learn from decisions alone.
        sample_weight : array_like of shape (n_instances,) or None, default=None
            Weights of the instances; None means equal weights.
        decisions : array_like of shape (n_instances, n_parts) or list, default=None
            Decisions that were made, rounded where a solver's differ by 1e-6 at most from zeros and
            ones; None means the best ones by the costs.
        previous : array_like of int or None, default=None
            With `warm_start`, the number that each instance had in the last fit, -1 if it is new:
            what was found for the others is kept.

        Returns
        -------
        DecisionSVM
            The fitted estimator.
        """
        check_options(self)
        self.__dict__.pop("_weights_kind", None)
        names = column_names(decisions if costs is None else costs)
        self._set_names("cost_names_in_", None if names is None else np.array(names, dtype=object))
        check_same_order(
            X, {"costs": costs, "decisions": decisions, "sample_weight": sample_weight}
        )
        known = costs if isinstance(costs, Instances) else self._known(costs, decisions)
        if previous is not None and not self.warm_start:
            raise ValueError("previous goes with warm_start=True, by which the last fit is kept.")
        self.cv_loss_ = {}
        self._previous, self._begun = previous, monotonic()
        if self.alpha != "cv":
            self.alpha_ = float(self.alpha)
        else:
            known, self._weights_kind = choose_by_folds(self, X, known, sample_weight)
        try:
            super().fit(X, known, sample_weight)
        finally:
            for name in ("_previous", "_weights_kind", "_begun"):
                self.__dict__.pop(name, None)
        return self

    def _time_left(self) -> float:
        """What the choice of alpha has left; a run without any still begins."""
        begun = self.__dict__.get("_begun", monotonic())
        return max(super()._time_left() - (monotonic() - begun), 0.0)

    def _problem(self, X: Any, y: Any, sample_weight: Any, node_weight: Any) -> Problem:
        self.structure_ = self._make_structure()
        self.feature_map_ = self._choose_features(X)
        self.intercept_scaling_ = self.intercept_scaling
        self.layout_, self.n_parts_ = None, 0
        if self.feature_map_.per_instance:
            self.layout_ = self._layout_of(0, count_parts(self.structure_, y))
        rows, given = self._check_X(X)
        self._learn_names(X)
        layouts = self._layouts(rows, given)
        self._learn_width(rows)
        if self.feature_map_.weights != "shared":
            self.n_parts_ = self.structure_.n_parts(layouts[0])
        omega = check_sample_weight(sample_weight, len(layouts))
        costs, decisions = self._read(y, layouts)
        if costs is not None and not isinstance(y, Chosen):
            self._warn_of_mistakes(costs, decisions, layouts, as_instances(y).decisions)
        self.mean_, self.scale_ = learn_scales(rows, omega, self.fit_intercept)
        sizes = [] if costs is None else [float(np.abs(own).mean()) for own in costs]
        mean = float(omega @ sizes) if sizes else 0.0
        self.cost_scale_ = mean if mean > np.finfo(float).tiny else 1.0
        scaled = self._seen_rows(rows)
        self.prior_ = self._learn_prior(self._pack(scaled, layouts), costs, omega)
        return self._assemble(scaled, layouts, costs, decisions, omega)

    def _assemble(
        self, rows: Rows, layouts: list[Layout], costs: Any, decisions: list[Any], omega: np.ndarray
    ) -> Problem:
        """The problem whose weights are what is added to the prior's, which scores beforehand."""
        packed = self._pack(rows, layouts)
        offset = part_features(packed, packed.dim) @ self.prior_
        domain = self.domain
        if np.size(self.frozen):
            frozen = check_indices("frozen", self.frozen, rows.n_columns + self.fit_intercept)
            packed = self._pack(rows, layouts, frozen)
            domain = self._freeze(domain, self._are_frozen(packed.dim, frozen))
        if domain is not None and self.prior_.any():
            domain = Shifted(domain, -self.prior_)
        return Problem(
            self.structure_,
            layouts,
            packed,
            costs=offset + np.concatenate(list(self._losses(costs, decisions, layouts))),
            sample_weight=omega,
            n_jobs=self.n_jobs,
            truth=as_points(decisions),
            alpha=self.alpha_ if self.alpha == "cv" else float(self.alpha),
            domain=domain,
        )

    def _freeze(self, domain: Domain | None, frozen: np.ndarray) -> Domain | None:
        """The domain with frozen weights at those of the prior, where features do not see them."""
        if domain is None:
            return None
        limits = check_limits(domain, len(frozen))
        if limits is None or limits.radius < np.inf:
            raise ValueError(
                f"frozen goes with domains that bound each weight by itself, such as Box, Signs and"
                f" Fixed, not with {type(domain).__name__}; leave out one of the two."
            )
        low, high = (np.array(own) if len(own) else np.full(len(frozen), far)
                     for own, far in zip(limits[:2], (-np.inf, np.inf), strict=True))  # fmt: skip
        outside = frozen & ((self.prior_ < low) | (self.prior_ > high))
        if outside.any():
            k = int(np.flatnonzero(outside)[0])
            raise ValueError(
                f"weight {k} is frozen at {self.prior_[k]:.6g}, the prior's, which is not between"
                f" {low[k]:.6g} and {high[k]:.6g}, as the domain asks for. Change prior, frozen or"
                " domain."
            )
        low[frozen] = high[frozen] = self.prior_[frozen]
        return Box(low, high)

    def _losses(
        self, costs: list[Any] | None, decisions: list[np.ndarray], layouts: list[Layout]
    ) -> Iterator[np.ndarray]:
        if self.loss == "regret" and costs is not None:
            for own in costs:
                yield own * (-np.sign(self._sign()) / self.cost_scale_)
            return
        try:
            loss = resolve_loss("hamming" if self.loss == "regret" else self.loss)
        except ValueError as error:
            raise ValueError(f"{error} The default is 'regret'.") from None
        for i, (z, layout) in enumerate(zip(decisions, layouts, strict=True)):
            try:
                own = np.asarray(loss.costs(z, layout, self.structure_))
                if own.shape != z.shape:
                    raise ValueError(f"part costs have shape {own.shape}, expected {z.shape}.")
            except ValueError as error:
                raise SampleError.of(i, f": {error}") from error
            yield own

    def _learn_support(self, problem: Problem) -> None:
        self.coef_ = self.prior_ + as_dense(self.result_.w)

    def _warn_of_negative_losses(self, problem: Problem) -> None:
        """As elsewhere, for losses of the user's without a prior, which may be perfect."""
        if isinstance(self.loss, Loss) and not self.prior_.any():
            super()._warn_of_negative_losses(problem)

    def _last_state(self, problem: Problem, previous: Any = None) -> State | None:
        own = getattr(self, "_previous", None)
        return super()._last_state(problem, own if previous is None else previous)

    # -- predicting --------------------------------------------------------------------------------
    def _output(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        if isinstance(self.structure_, Selection):
            return self.structure_.decide(z, layout)
        whole = np.rint(z)
        return whole.astype(np.int64) if np.abs(whole - z).max() < 1e-6 else z.copy()

    def predict(self, X: Any) -> Any:
        """Predict the best decision by predicted costs for each instance.

        Returns
        -------
        ndarray of shape (n_instances, n_parts) or list
            Decisions, 1 for parts that are chosen; a list if instances differ in their number of
            parts.
        """
        return stack_outputs(super().predict(X))

    def predict_costs(self, X: Any) -> Any:
        """Predict the costs of all parts, or their values if ``sense="max"``.

        Returns
        -------
        ndarray of shape (n_instances, n_parts) or list of ndarray
            Predicted costs. If they were learned from decisions alone, only their proportions have
            a meaning.
        """
        check_is_fitted(self, "coef_")
        unit = self.cost_scale_ / self._sign()
        return stack_outputs(
            [
                unit * samples.scores(self._weights(), i)
                for samples in self._in_chunks(X)
                for i in range(samples.n)
            ]
        )

    @property
    def cost_coef_(self) -> np.ndarray:
        """Weights of features in their own units: (n_parts, n_features), or (n_features,)."""
        return self._cost_weights()[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Constant costs of the parts: (n_parts,), or () if they are shared."""
        return self._cost_weights()[1]

    def _cost_weights(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "coef_")
        w, p, parts = as_dense(self.coef_), self.n_features_in_, max(self.n_parts_, 1)
        shared = w[:p, None] if self.feature_map_.weights == "both" else np.zeros((1, 1))
        table = w[len(w) - (p + self.fit_intercept) * parts :].reshape(-1, parts)
        slopes = self.cost_scale_ * (table[:p] + shared) / self.scale_[:, None]
        constant = -self.mean_ @ slopes
        if self.fit_intercept:
            constant = constant + self.cost_scale_ * self._constant() * table[-1]
        return (slopes.T, constant) if self.n_parts_ else (slopes[:, 0], constant[0])

    def decide(self, costs: Any) -> Any:
        """Find the best decisions by given costs, or values if ``sense="max"``.

        Parameters
        ----------
        costs : array_like of shape (n_instances, n_parts) or list
            Costs of the parts of each instance, whose number tells its layout.

        Returns
        -------
        ndarray of shape (n_instances, n_parts) or list of ndarray
            Decisions, 1 for parts that are chosen.
        """
        check_is_fitted(self, "coef_")
        costs = self._known(costs).costs
        if not is_list(costs) or any(np.ndim(own) != 1 for own in costs):
            raise ValueError("costs must be of shape (n_instances, n_parts), or a list of vectors.")
        layouts = [self._layout_of(i, len(own)) for i, own in enumerate(costs)]
        found = self._read(costs, layouts)[1] if layouts else []
        return stack_outputs([self._output(*own) for own in zip(found, layouts, strict=True)])

    def regret(self, X: Any, costs: Any, sample_weight: Any = None) -> float:
        """Compute how much worse predicted decisions are than the best ones, by the true costs.

        Parameters
        ----------
        costs : array_like of shape (n_instances, n_parts) or list
            True costs, or values if ``sense="max"``.

        Returns
        -------
        float
            Sum of ``c . (z - z*)``, divided by the sum of the absolute values of ``c . z*``, or by
            1 where that is 0.
        """
        return 0.0 - self.score(X, costs, sample_weight)

    def score(self, X: Any, costs: Any, sample_weight: Any = None) -> float:
        """Compute the negative regret.

        Parameters
        ----------
        costs : array_like of shape (n_instances, n_parts) or list
            True costs, or values if ``sense="max"``.

        Returns
        -------
        float
            0 for the best decisions, else negative.
        """
        check_same_order(X, {"costs": costs, "sample_weight": sample_weight})
        return super().score(X, costs, sample_weight)

    def calibrate(
        self,
        X: Any,
        costs: Any = None,
        node_weight: Any = None,
        *,
        decisions: Any = None,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Any = 0,
    ) -> DecisionSVM:
        """Fit the probabilities that parts are chosen in the best decision to other instances.

        Sets ``temperature_``, the divisor of scores in `predict_marginals`, so that the mean of
        -log P over all parts is least. Predicted costs and decisions do not change.

        Parameters
        ----------
        costs : array_like of shape (n_instances, n_parts) or list, default=None
            True costs, or values if ``sense="max"``, by which the best decisions are found.
        node_weight : list of array_like or None, default=None
            Weight of each part, one array per instance; None means 1.
        decisions : array_like of shape (n_instances, n_parts) or list, default=None
            Decisions that were made; None means the best ones by the costs.

        Returns
        -------
        DecisionSVM
            The estimator itself.
        """
        check_is_fitted(self, "coef_")
        check_same_order(X, {"costs": costs, "decisions": decisions})
        made = self._read(self._known(costs, decisions), self._layouts(*self._check_X(X)))[1]
        return super().calibrate(
            X, made, node_weight, method=method, n_draws=n_draws, random_state=random_state
        )

    def _truth(self, targets: Any, layouts: list[Layout]) -> Points:
        return as_points(targets)

    def _validation_score(self, stopping: EarlyStopping) -> Any:
        score = super()._validation_score(stopping)
        return lambda w: score(self.prior_ + w)

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        if not outputs:
            return 0.0
        costs, best = self._read(y, layouts)
        weight = check_sample_weight(sample_weight, len(outputs))
        if costs is None:
            return float(weight @ [np.mean(a == b) for a, b in zip(outputs, best, strict=True)])
        lost, paid = 0.0, 0.0
        for omega, c, z, optimum in zip(weight, costs, outputs, best, strict=True):
            lost += omega * float(c @ (z - optimum)) * np.sign(self._sign())
            paid += omega * abs(float(c @ optimum))
        return lost / (paid or 1.0) + 0.0  # not -0.0

    def validate(self) -> None:
        super().validate()
        if not hasattr(self, "coef_"):
            return
        size, columns = len(as_dense(self.coef_)), self.n_features_in_
        check_array("prior_", self.prior_, shape=(size,))
        check_array("mean_", self.mean_, shape=(columns,))
        check_array("scale_", self.scale_, shape=(columns,), low=np.nextafter(0, 1))
        if hasattr(self, "cost_names_in_"):
            names = self.cost_names_in_
            check_known_names("cost_names_in_", names, self.n_parts_ or names.size)
        if not isinstance(self.feature_map_, DecisionFeatures):
            raise ValueError("feature_map_ is not a DecisionFeatures")
