"""Costs of decisions, learned for their regret."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from maxmargin._numba.packed_samples import Points
from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.domains.base import check_indices
from maxmargin.domains.shifted import Shifted
from maxmargin.estimators.base import FUNCTION, StructuredSVM
from maxmargin.exceptions import SampleError
from maxmargin.features import DecisionFeatures, FeatureMap, Group, pack
from maxmargin.features.base import part_features
from maxmargin.losses import Loss, resolve_loss
from maxmargin.problem import Problem, Samples
from maxmargin.result import State
from maxmargin.solvers import Solver, resolve_solver
from maxmargin.structures import Structure
from maxmargin.structures.base import Layout
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

#: of the hinge at the prior, what the largest alpha that is tried may gain; smaller ones follow
_FIRST, _RATIO, _TRIED = 0.01, 10**-0.5, 10
#: accuracy of fits by which alpha is chosen, and their longest
_TOL, _EPOCHS = 0.02, 30
#: instances from which on three folds choose as well as five, in half the time
_MANY = 500
#: added to the diagonal of least squares, relative to its mean
_RIDGE = 1e-8


class Instances(NamedTuple):
    """What is known afterwards: costs of the parts of each instance, decisions, or both.

    Parameters
    ----------
    costs, decisions : list or None
        One entry per instance.
    """

    costs: Any = None
    decisions: Any = None

    @property
    def n(self) -> int:
        return len(self.decisions if self.costs is None else self.costs)

    def take(self, which: np.ndarray) -> Instances:
        """Return some of the instances.

        Parameters
        ----------
        which : ndarray of int
            Their numbers.

        Returns
        -------
        Instances
            The same of these.
        """
        return type(self)(*(own if own is None else [own[i] for i in which] for own in self))


class Chosen(Instances):
    """Instances whose decisions are known to be good, or were looked at before."""


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
        Strength of the penalty; "cv" chooses it by the objective on held-out instances. Costs and
        features are scaled, so that a good value does not depend on their units.
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
        Numbers of the features whose weights stay those of the prior.
    fit_intercept : bool, default=True
        Learn a constant, for each part if parts have weights of their own.
    intercept_scaling : float, default=1.0
        The constant is penalised this many times less than other weights, squared.
    cv : int or None, default=None
        Number of folds by which alpha is chosen; None means 5, or 3 from 500 instances on.
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
        Mean hinge of held-out instances by alpha, largest first, or the share of wrong parts if
        there are no costs; empty if alpha was given.
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
    _weights_kind: str
    _previous: Any
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
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self.structure = structure
        self.sense = sense
        self.alpha = alpha
        self.weights = weights
        self.loss = loss
        self.prior = prior
        self.frozen = frozen
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.cv = cv
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain

    # -- samples -----------------------------------------------------------------------------------
    def _make_features(self) -> FeatureMap:
        return clone(self.feature_map_)

    def _choose_features(self, X: Any) -> FeatureMap:
        per_instance = _is_table(X)
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
        if self.feature_map_.per_instance != _is_table(X):
            rows = "instance" if self.feature_map_.per_instance else "part"
            raise ValueError(f"X must have one row per {rows}, as the instances of fit had.")
        rows, given = super()._check_X(X)
        if self.feature_map_.per_instance:
            given = [self.layout_] * len(rows.lengths)
        return rows, given

    def _n_labels(self) -> int:
        return self.n_parts_

    def _seen_rows(self, rows: Any) -> Rows:
        """Rows of scaled features."""
        matrix = rows.matrix.astype(np.float64)
        if self.mean_.any():
            matrix = sparse.csr_array((matrix.toarray() - self.mean_) / self.scale_)
        else:
            matrix = sparse.csr_array(matrix @ sparse.diags_array(1 / self.scale_))
        return Rows(matrix, rows.lengths)

    def _sign(self) -> float:
        return 2.0 if self.sense == "max" else -2.0

    def _pack(self, rows: Any, layouts: list[Layout], frozen: Any = ()) -> Any:
        packed = super()._pack(rows, layouts)
        column = np.arange(packed.dim)  # the feature of each weight
        shared = self.n_features_in_ if self.feature_map_.weights == "both" else 0
        if self.n_parts_:
            column = np.append(column[:shared], column[: packed.dim - shared] // self.n_parts_)
        factor = np.where(column == self.n_features_in_, self.intercept_scaling, 1.0)
        factor[np.isin(column, frozen)] = 0.0
        value = packed.value if len(packed.value) else np.ones(len(packed.index))
        return packed._replace(value=self._sign() * value * factor[packed.global_index])

    # -- what is known afterwards ------------------------------------------------------------------
    def _read(self, y: Any, layouts: list[Layout]) -> tuple[list[Any] | None, list[np.ndarray]]:
        """Costs that are to be minimised, if known, and the vectors of the decisions."""
        known = y if isinstance(y, Instances) else Instances(y)
        if known.costs is None and known.decisions is None:
            raise ValueError("give costs, or decisions=, or both.")
        costs = None
        if known.costs is not None:
            costs = check_costs(known.costs, [self.structure_.n_parts(s) for s in layouts])
        if isinstance(y, Chosen):
            return costs, y.decisions
        if known.decisions is None:
            assert costs is not None
            return costs, self._decide([self._sign() * own for own in costs], layouts)
        check_targets(known.decisions, len(layouts))
        made = zip(known.decisions, layouts, strict=True)
        found = [_encoded(self.structure_, i, *one) for i, one in enumerate(made)]
        return costs, found

    def _warn_of_mistakes(
        self, y: Any, costs: list[Any] | None, made: list[np.ndarray], layouts: list[Layout]
    ) -> None:
        """Warn of what looks like decisions in place of costs, or like the other sense."""
        if costs is None:
            return
        given = isinstance(y, Instances) and y.decisions is not None
        other = "min" if self.sense == "max" else "max"
        why = ""
        if not given and all(map(self._is_decision, costs, layouts)):
            why = "all costs are zeros and ones, and decisions themselves. Give them as decisions="
        elif not any(own.any() for own in made):
            why = f'it is best to choose nothing, every time. Is it sense="{other}"?'
        if why:
            warnings.warn(why, UserWarning, stacklevel=self._depth + 1)
        if given:
            self._warn_of_sense(costs, made, layouts)

    def _is_decision(self, costs: np.ndarray, layout: Layout) -> bool:
        if not ((costs == 0) | (costs == 1)).all() or not costs.any():
            return False
        return not self.structure_.why_infeasible(costs, layout)

    def _warn_of_sense(
        self, costs: list[Any], made: list[np.ndarray], layouts: list[Layout]
    ) -> None:
        """Warn if decisions that were made are nearer to the worst ones than to the best."""
        ends = [self._decide([s * own for own in costs], layouts) for s in (1.0, -1.0)]
        high, low = (sum(map(np.dot, costs, own)) for own in ends)
        paid = sum(map(np.dot, costs, made))
        better, other = (high, "min") if self.sense == "max" else (low, "max")
        if abs(paid - better) > 0.5 * (high - low) + 1e-9 * abs(high):
            warnings.warn(
                f"decisions have costs nearer to the worst than to the best, by sense="
                f'"{self.sense}". Are costs in the order of X, or is it sense="{other}"?',
                UserWarning,
                stacklevel=self._depth + 2,
            )

    def _decide(self, scores: list[np.ndarray], layouts: list[Layout]) -> list[np.ndarray]:
        """The best decision for given scores of parts, instance by instance."""
        counts = np.array([len(own) for own in scores], dtype=np.int64)
        nothing = Group(sparse.csr_array((int(counts.sum()), 1)), counts, 1, 0)
        samples = Samples(
            self.structure_, layouts, pack([nothing], 1), np.concatenate(scores), n_jobs=self.n_jobs
        )
        z = np.empty(int(counts.sum()))
        samples.apply("maximize", np.zeros(1), out=z)
        return np.split(z, np.cumsum(counts)[:-1])

    def _learn_scales(self, rows: Any, omega: np.ndarray, costs: list[Any] | None) -> None:
        matrix = rows.matrix.astype(np.float64)
        weight = np.repeat(omega / np.maximum(rows.lengths, 1), rows.lengths)
        mean = weight @ matrix
        # the many zeros of sparse features are worth more than a mean of zero, which would also be
        # an intercept
        centred = self.fit_intercept and matrix.nnz > 0.5 * np.prod(matrix.shape)
        self.mean_ = mean if centred else np.zeros(len(mean))
        spread = np.sqrt(np.maximum(weight @ matrix.multiply(matrix) - self.mean_**2, 0.0))
        size = np.abs(matrix).max(axis=0).toarray().ravel()
        self.scale_ = np.where(spread > 1e-9 * size, spread, np.maximum(size, 1.0))
        sizes = [] if costs is None else [float(np.abs(own).mean()) for own in costs]
        self.cost_scale_ = float(omega @ sizes) or 1.0 if sizes else 1.0

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
            return _fit_least_squares(
                part_features(packed, packed.dim) / self._sign(), target, weight
            )
        return self._scaled_weights(kind)

    def _scaled_weights(self, given: Any) -> np.ndarray:
        """Weights in the user's units, the intercept last, as `coef_` has them."""
        columns = self.n_features_in_ + self.fit_intercept
        shape = (self.n_parts_, columns) if self.n_parts_ else (columns,)
        try:
            found = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
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
            Decisions that were made; None means the best ones by the costs.
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
        known = costs if isinstance(costs, Instances) else Instances(costs, decisions)
        self.cv_loss_ = {}
        self._previous = previous
        if self.alpha != "cv":
            self.alpha_ = float(self.alpha)
        else:
            known = self._choose(X, known, sample_weight)
        try:
            super().fit(X, known, sample_weight)
        finally:
            for name in ("_previous", "_weights_kind"):
                self.__dict__.pop(name, None)
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any, node_weight: Any) -> Problem:
        self.structure_ = self._make_structure()
        self.feature_map_ = self._choose_features(X)
        self.layout_, self.n_parts_ = None, 0
        if self.feature_map_.per_instance:
            self.layout_ = self.structure_.layout_of(_count_parts(y))
        rows, given = self._check_X(X)
        self._learn_names(X)
        layouts = self._layouts(rows, given)
        self._learn_width(rows)
        if self.feature_map_.weights != "shared":
            self.n_parts_ = self.structure_.n_parts(layouts[0])
        omega = check_sample_weight(sample_weight, len(layouts))
        costs, decisions = self._read(y, layouts)
        if not isinstance(y, Chosen):
            self._warn_of_mistakes(y, costs, decisions, layouts)
        self._learn_scales(rows, omega, costs)
        scaled = self._seen_rows(rows)
        self.prior_ = self._learn_prior(self._pack(scaled, layouts), costs, omega)
        return self._assemble(scaled, layouts, costs, decisions, omega)

    def _assemble(
        self, rows: Rows, layouts: list[Layout], costs: Any, decisions: list[Any], omega: np.ndarray
    ) -> Problem:
        """The problem whose weights are what is added to the prior's, which scores beforehand."""
        packed = self._pack(rows, layouts)
        offset = part_features(packed, packed.dim) @ self.prior_
        if np.size(self.frozen):
            packed = self._pack(
                rows, layouts, check_indices("frozen", self.frozen, rows.n_columns + 1)
            )
        domain = self.domain
        if domain is not None and self.prior_.any():
            domain = Shifted(domain, -self.prior_)
        return Problem(
            self.structure_,
            layouts,
            packed,
            costs=offset + np.concatenate(list(self._losses(costs, decisions, layouts))),
            sample_weight=omega,
            n_jobs=self.n_jobs,
            truth=_as_points(decisions),
            alpha=self.alpha_ if self.alpha == "cv" else float(self.alpha),
            domain=domain,
        )

    def _losses(
        self, costs: list[Any] | None, decisions: list[np.ndarray], layouts: list[Layout]
    ) -> Iterator[np.ndarray]:
        if self.loss == "regret" and costs is not None:
            for own in costs:
                yield own * (-np.sign(self._sign()) / self.cost_scale_)
            return
        loss = resolve_loss("hamming" if self.loss == "regret" else self.loss)
        for z, layout in zip(decisions, layouts, strict=True):
            yield loss.costs(z, layout, self.structure_)

    def _learn_support(self, problem: Problem) -> None:
        self.coef_ = self.prior_ + as_dense(self.result_.w)

    def _warn_of_negative_losses(self, problem: Problem) -> None:
        """Nothing: what costs have beside the loss is the prior, which may be perfect."""

    def _last_state(self, problem: Problem) -> State | None:
        previous, old = self._previous, getattr(self, "result_", None)
        if previous is None or old is None or old.state is None:
            return super()._last_state(problem)
        return _moved_state(old.state, self._last_layouts, problem, previous)

    # -- choice of alpha ---------------------------------------------------------------------------
    def _choose(self, X: Any, y: Instances, sample_weight: Any) -> Instances:
        """Set alpha_, and whether parts have weights of their own where that is left open."""
        found: dict[str, DecisionSVM] = {}
        for kind in ("shared", "both"):
            trial = clone(self)
            trial.alpha_, trial._weights_kind = 1.0, kind
            problem = trial._problem(X, y, sample_weight, None)
            y = Chosen(y.costs, _rows_of(problem.truth, problem.part_ptr))
            trial._choose_alpha(problem, X, y, sample_weight)
            found[kind] = trial
            if self.weights != "auto" or _is_table(X) or len(set(problem.layouts)) > 1:
                break
        self._weights_kind = min(found, key=lambda kind: min(found[kind].cv_loss_.values()))
        best = found[self._weights_kind]
        self.alpha_, self.cv_loss_ = best.alpha_, best.cv_loss_
        return y

    def _choose_alpha(self, problem: Problem, X: Any, y: Instances, sample_weight: Any) -> None:
        """Set alpha_ to what loses least on held-out folds, and cv_loss_."""
        alphas, end = _grid(problem), monotonic() + (self.time_limit or np.inf) / 2
        weight = problem.packed.weight
        lost = np.zeros(len(alphas))
        count = (5 if y.n < _MANY else 3) if self.cv is None else self.cv
        folds = KFold(min(count, y.n), shuffle=True, random_state=0)
        for train, test in folds.split(weight) if y.n > 1 else ():
            if min(weight[train].sum(), weight[test].sum()) > 0:
                model = clone(self).set_params(alpha=alphas[0], weights=self.feature_map_.weights)
                fold = model._problem(_taken(X, train), y.take(train), weight[train], None)
                held = model._hold_out(_taken(X, test), y.take(test), weight[test])
                lost += weight[test].sum() * np.array(list(model._follow(alphas, fold, held, end)))
        self.cv_loss_ = dict(zip(alphas, lost.tolist(), strict=True))
        self.alpha_ = alphas[int(np.argmin(lost))]

    def _hold_out(self, X: Any, y: Instances, weight: np.ndarray) -> Callable[[np.ndarray], float]:
        """What is lost on other instances by weights that are added to the prior's.

        That is the hinge, which is less noisy than the regret and has its minimum at nearly the
        same alpha. It says little of decisions without costs: of these, the share of wrong parts.
        """
        rows, given = self._check_X(X)
        layouts = self._layouts(rows, given)
        costs, decisions = self._read(y, layouts)
        omega = check_sample_weight(weight, len(layouts))
        held = self._assemble(self._seen_rows(rows), layouts, costs, decisions, omega)
        if costs is not None:
            return lambda v: float(omega @ held.hinges(v))
        packed = self._pack(self._seen_rows(rows), layouts)
        samples = Samples(self.structure_, layouts, packed, n_jobs=self.n_jobs)
        truth = np.concatenate(decisions)

        def wrong(v: np.ndarray) -> float:
            z = np.empty(len(truth))
            samples.apply("maximize", self.prior_ + v, out=z)
            off = np.add.reduceat(np.abs(z - truth), held.part_ptr[:-1])
            return float(omega @ (off / np.diff(held.part_ptr)))

        return wrong

    def _follow(
        self, alphas: list[float], problem: Problem, lost: Callable[[np.ndarray], float], end: float
    ) -> Iterator[float]:
        """What is lost for each alpha, each fit starting from the last."""
        solver = resolve_solver(
            self.solver, tol=_TOL, max_epochs=_EPOCHS, random_state=self.random_state
        )
        state, found = None, 0.0
        for alpha in alphas:
            if state is None or monotonic() < end:
                problem.alpha = alpha
                if state is not None:
                    state = state.move_to_refit(problem.weights(state.z))
                result = solver.run(problem, state, [])
                state, found = result.state, lost(result.w)
            yield found

    # -- predicting --------------------------------------------------------------------------------
    def _output(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        whole = np.rint(z)
        return whole.astype(np.int64) if np.abs(whole - z).max() < 1e-6 else z.copy()

    def predict(self, X: Any) -> Any:
        """Predict the best decision by predicted costs for each instance.

        Parameters
        ----------
        X : array_like or list
            Instances in the form that `fit` takes.

        Returns
        -------
        ndarray of shape (n_instances, n_parts) or list
            Decisions, 1 for parts that are chosen; a list if instances differ in their number of
            parts.
        """
        return _stacked(super().predict(X))

    def predict_costs(self, X: Any) -> Any:
        """Predict the costs of all parts, or their values if ``sense="max"``.

        Parameters
        ----------
        X : array_like or list
            Instances in the form that `fit` takes.

        Returns
        -------
        ndarray of shape (n_instances, n_parts) or list of ndarray
            Predicted costs. If they were learned from decisions alone, only their proportions have
            a meaning.
        """
        check_is_fitted(self, "coef_")
        unit = self.cost_scale_ / self._sign()
        return _stacked(
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
            constant = constant + self.cost_scale_ * self.intercept_scaling * table[-1]
        return (slopes.T, constant) if self.n_parts_ else (slopes[:, 0], constant[0])

    def regret(self, X: Any, costs: Any, sample_weight: Any = None) -> float:
        """Compute how much worse predicted decisions are than the best ones, by the true costs.

        Parameters
        ----------
        X : array_like or list
            Instances in the form that `fit` takes.
        costs : array_like of shape (n_instances, n_parts) or list
            True costs, or values if ``sense="max"``.
        sample_weight : array_like of shape (n_instances,) or None, default=None
            Weights of the instances; None means equal weights.

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
        X : array_like or list
            Instances in the form that `fit` takes.
        costs : array_like of shape (n_instances, n_parts) or list
            True costs, or values if ``sense="max"``.
        sample_weight : array_like of shape (n_instances,) or None, default=None
            Weights of the instances; None means equal weights.

        Returns
        -------
        float
            0 for the best decisions, else negative.
        """
        return super().score(X, costs, sample_weight)

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
        if not isinstance(self.feature_map_, DecisionFeatures):
            raise ValueError("feature_map_ is not a DecisionFeatures")


def check_costs(costs: Any, counts: Sequence[int]) -> list[np.ndarray]:
    """Costs of each instance as a vector; errors name the instance.

    Parameters
    ----------
    costs : array_like or list
        As the user gave them.
    counts : sequence of int
        Number of parts of each instance.

    Returns
    -------
    list of ndarray
        The costs.
    """
    if not is_list(costs) or getattr(costs, "ndim", 2) < 2:
        raise ValueError("costs must be of shape (n_instances, n_parts), or a list of vectors.")
    costs = costs.to_numpy() if hasattr(costs, "to_numpy") else costs
    if len(costs) != len(counts):
        raise ValueError(f"X has {len(counts)} samples, costs has {len(costs)}.")
    found = []
    for i, (own, count) in enumerate(zip(costs, counts, strict=True)):
        try:
            vector = np.asarray(own, dtype=float)
        except (TypeError, ValueError):
            raise SampleError.of(i, ": its costs are not numbers.") from None
        if vector.shape != (count,):
            raise SampleError.of(
                i, f": its costs have shape {vector.shape}, but it has {count} parts."
            )
        if not np.isfinite(vector).all():
            p = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise SampleError.of(i, f": the cost of part {p} is {vector[p]}; costs must be finite.")
        found.append(vector)
    return found


def _is_table(X: Any) -> bool:
    """Whether X has one row of features per instance, and not a matrix of its parts."""
    if sparse.issparse(X) or hasattr(X, "columns"):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype != object
    if not is_list(X) or not len(X):
        return False
    return not isinstance(X[0], tuple) and not sparse.issparse(X[0]) and np.ndim(X[0]) == 1


def _taken(X: Any, which: np.ndarray) -> Any:
    """Some of the instances, in the form of all."""
    if hasattr(X, "iloc"):
        return X.iloc[which]
    if sparse.issparse(X):
        return sparse.csr_array(X)[which]
    return X[which] if isinstance(X, np.ndarray) else [X[i] for i in which]


def _count_parts(y: Any) -> int:
    known = y if isinstance(y, Instances) else Instances(y)
    given = known.decisions if known.costs is None else known.costs
    if not is_list(given) or not len(given):
        raise ValueError("give costs, or decisions=, one for each row of X.")
    first = given.to_numpy()[0] if hasattr(given, "to_numpy") else given[0]
    if np.ndim(first) != 1 or isinstance(first, str):
        what = "decisions" if known.costs is None else "costs"
        raise ValueError(f"{what} must be of shape (n_instances, n_parts), or a list of vectors.")
    return len(first)


def _encoded(structure: Structure, i: int, y: Any, layout: Layout) -> np.ndarray:
    """A decision as a vector, from one or from what the structure encodes."""
    count = structure.n_parts(layout)
    try:
        z = np.asarray(y, dtype=float) if is_list(y) else np.empty(0)
    except (TypeError, ValueError):
        z = np.empty(0)
    try:
        if z.shape != (count,) or not ((z == 0) | (z == 1)).all():
            z = structure.encode(y, layout)
        why = structure.why_infeasible(z, layout)
    except (ValueError, IndexError, TypeError) as error:
        why = str(error).rstrip(".")
    if why:
        raise SampleError.of(i, f": its decision does not fit its structure ({why}).")
    return z


def _rows_of(flat: np.ndarray, ptr: np.ndarray) -> list[np.ndarray]:
    return np.split(flat, ptr[1:-1])


def _as_points(vertices: list[np.ndarray]) -> Points:
    parts = [np.flatnonzero(z) for z in vertices]
    ptr = np.concatenate([[0], np.cumsum([len(own) for own in parts], dtype=np.int64)])
    values = [z[own] for z, own in zip(vertices, parts, strict=True)]
    return Points(ptr, np.concatenate(parts).astype(np.int32), np.concatenate(values))


def _stacked(outputs: list[Any]) -> Any:
    """One array of vectors that are equally long."""
    sizes = {np.shape(own) for own in outputs}
    if len(sizes) > 1 or any(len(size) != 1 for size in sizes):
        return outputs
    return np.array(outputs)


def _fit_least_squares(
    matrix: sparse.csr_array, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The w of least sum of weight (matrix @ w - target)^2, and the shortest if there are many."""
    scaled = sparse.csr_array(sparse.diags_array(weight) @ matrix)
    normal = sparse.csc_array(matrix.T @ scaled)
    ridge = _RIDGE * max(normal.trace() / len(target), 1e-300) * sparse.eye_array(normal.shape[0])
    found = sparse.linalg.spsolve(sparse.csc_array(normal + ridge), scaled.T @ target)
    return np.ascontiguousarray(found, dtype=float)


def _grid(problem: Problem) -> list[float]:
    """Alphas from one at which the prior is nearly best: its hinge less |g|^2 / (2 alpha)."""
    z = np.empty(int(problem.part_ptr[-1]))
    hinge = float(problem.packed.weight @ problem.hinges(np.zeros(problem.dim), z))
    gradient = problem.loss_gradient(z)
    first = float(gradient @ gradient) / (2 * _FIRST * hinge) if hinge > 0 else 1.0
    # the first one gives the prior as it is, with a certificate
    return [1e6 * (first or 1.0), *((first or 1.0) * _RATIO**k for k in range(_TRIED))]


def _moved_state(
    old: State, layouts: list[Layout] | None, problem: Problem, previous: Any
) -> State | None:
    """The dual point of the last fit for the instances that are still there."""
    number = np.asarray(previous)
    known = len(layouts or [])
    if number.shape != (problem.n,) or number.dtype.kind not in "iu" or (number >= known).any():
        raise ValueError(
            f"previous must be {problem.n} integers, the numbers of instances among the {known} of"
            " the last fit, or -1."
        )
    assert layouts is not None
    counts = np.array([problem.structure.n_parts(layout) for layout in layouts])
    start = np.concatenate([[0], np.cumsum(counts)])
    z = problem.truth_copy()
    if len(old.z) != start[-1] or old.outputs not in (0, problem.outputs_key):
        return None
    for i, j in enumerate(number.tolist()):
        if j >= 0 and layouts[j] == problem.layouts[i]:
            z[problem.parts(i)] = old.z[start[j] : start[j + 1]]
    return State(problem.weights(z), z, old.rng)
