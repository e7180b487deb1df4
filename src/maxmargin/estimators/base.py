"""The estimator for any structure; those for known structures build on it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin._numba.packed_samples import Points
from maxmargin.callbacks import Callback, EarlyStopping, Logger, ProgressBar, TimeLimit
from maxmargin.domains import Domain
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.probabilities import Probabilities
from maxmargin.estimators.restrictions import Restriction, check_restrictions, restrict_parts
from maxmargin.estimators.warm_start import continue_state, find_added, move_state
from maxmargin.exceptions import (
    ConvergenceWarning,
    FitInterrupted,
    InfeasibleError,
    MissingAbilityError,
    SampleError,
)
from maxmargin.features import FeatureMap, PartFeatures
from maxmargin.features.base import scale_weights
from maxmargin.losses import Loss, resolve_loss
from maxmargin.memory import trim_heap
from maxmargin.oracles.base import check_k
from maxmargin.oracles.constraints import part_score
from maxmargin.parallel.run import check_engine, run_on_engine
from maxmargin.persistence import Savable
from maxmargin.problem import Problem
from maxmargin.result import Result, State, Status, check_weights
from maxmargin.samples import Samples
from maxmargin.solvers import Solver, resolve_solver
from maxmargin.solvers.run import Run, limits_of
from maxmargin.structures import Restricted, Structure
from maxmargin.structures.base import Layout, PerLayout
from maxmargin.validation.feature_names import check_known_names, check_names, learn_names
from maxmargin.validation.learned import check_hashes
from maxmargin.validation.options import (
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
from maxmargin.validation.samples import (
    LaidOutRows,
    as_dense,
    check_sample_weight,
    check_targets,
    is_list,
)


def _as_layout(layout: Any) -> Layout:
    """A layout as what has a hash: lists and arrays, in it too, as tuples."""
    found = layout.tolist() if isinstance(layout, np.ndarray) else layout
    return tuple(map(_as_layout, found)) if isinstance(found, list | tuple) else found


FUNCTION = "A function of scores becomes one by Structure.from_oracle(function)."
BOUNDED = (
    " The best outputs were not found exactly, and what their bounds leave open is part of the gap."
)
#: options of all estimators, or of most: some structures leave no choice
_SHARED = ("alpha", "loss", "solver", "tol", "max_epochs", "random_state", "verbose", "n_jobs",
           "engine", "warm_start", "time_limit", "callbacks", "domain", "objective",
           "intercept_scaling")  # fmt: skip
CHUNK = 2048  # samples predicted at a time, which bounds the memory of predictions


class Completion(Callback):
    """Tells runs that come to an end, if only since a callback says so, from those cut short."""

    reached = False

    def on_last(self, run: Run) -> None:
        self.reached = True


class StructuredSVM(Kernelised, Probabilities, Savable, BaseEstimator):
    """Structural SVM for outputs of any structure.

    Minimises over w the objective ::

        alpha/2 |w|^2 + sum_i omega_i max_z [w . F_i (z - y_i) + loss_i(z)]

    A sample x is a matrix with one feature row per part of its structure, or a pair (matrix,
    layout) where the number of parts does not determine the layout. A target y is anything that
    `structure.encode` takes.

    Parameters
    ----------
    structure : Structure
        Set of possible outputs.
    features : FeatureMap or None, default=None
        Joint feature map; None means one feature row per part.
    alpha : float, default=0.01
        Strength of the penalty, lambda in the papers; C = 1 / (alpha n).
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming"
        Loss of an output: fraction of wrong variables, their number, or a `Loss`.
    solver : str or Solver, default="auto"
        "bcfw", "fw", "cutting-plane", "ssg", "perceptron", "extragradient", "dual-extragradient",
        "projected-gradient", "eg", "smoothed", for the likelihood "sdca" and "lbfgs", or a
        `Solver`, whose options that are None are set to tol, max_epochs and random_state. "auto" is
        "bcfw" for margins, "cutting-plane" where the oracle is expensive and there are at most 20
        weights, "sdca" for the likelihood, and "smoothed" for the likelihood with a domain.
    tol : float, default=0.001
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=100
        Largest number of passes over the samples.
    random_state : int, Generator, RandomState or None, default=0
        Seed; the same integer gives bitwise identical results.
    verbose : int, default=0
        0 is silent, 1 shows a progress bar, 2 also logs every certificate.
    n_jobs : int or None, default=None
        Threads for objectives and predictions, -1 for all cores; results do not depend on it.
    engine : str, Engine or None, default=None
        Where training is computed: "threads", "processes", "ray", "dask", or an engine of
        `maxmargin.parallel`; None means this thread. Results depend on its shards and rounds only.
    warm_start : bool, default=False
        Start from the dual point of the last fit, for another alpha or solver on the same data, or
        with samples added at their end.
    time_limit : float or None, default=None
        Training stops after this many seconds; None means no limit.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(X, y)``.
    domain : Domain or None, default=None
        Feasible set of the weights, such as ``domains.L2Ball(10.0)``; None means all of R^d.
    objective : {"margin", "likelihood", "slack"}, default="margin"
        "margin" is margin rescaling. "likelihood" is a conditional random field: loss is not used,
        and the structure must have `marginals`. "slack" is slack rescaling, for structures whose
        outputs can be enumerated: the loss multiplies the hinge 1 + score(z) - score(y).
    intercept_scaling : float, default=1.0
        Value of the constant feature that `bias` or the feature map adds. The penalty on its
        weights is divided by the square of this value: 10 leaves them almost unpenalised, and much
        larger values slow training.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        Weights.
    result_ : Result
        Certificate and history of the training run.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns; only if all training samples were data frames with names that are
        text. Data frames given later must have the same columns in the same order.
    structure_ : Structure
        The fitted structure.
    feature_map_ : FeatureMap
        The fitted feature map.
    temperature_ : float
        Divisor of the scores in `predict_marginals`: 1, or the value found by `calibrate`.
    intercept_scaling_ : float
        Value of the constant feature in training.

    Notes
    -----
    With alpha=0 the objective is not regularised; stop early by a callback.
    """

    coef_: Any
    result_: Result
    n_features_in_: CountOrZero
    feature_names_in_: np.ndarray
    structure_: Structure
    feature_map_: FeatureMap
    temperature_: Positive
    intercept_scaling_: Positive
    _last_layouts: list[Layout] | None
    #: estimators whose structure has no expectations have no such option
    objective: str = "margin"
    intercept_scaling: Any = 1.0
    #: calls between a warning of `fit` and the line that called it
    _depth: ClassVar[int] = 3

    def __init__(
        self,
        structure: Annotated[Structure, FUNCTION],
        features: FeatureMap | None = None,
        *,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        intercept_scaling: Positive = 1.0,
    ):
        self.structure = structure
        self.features = features
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain
        self.objective = objective
        self.intercept_scaling = intercept_scaling

    def _store_shared(self, given: Mapping[str, Any]) -> None:
        """Keep the arguments of a subclass's constructor, its `locals()`, that are those above."""
        for name in _SHARED:
            if name in given:
                setattr(self, name, given[name])

    # -- what estimators for known structures say otherwise ---------------------------------------
    def _make_structure(self) -> Structure:
        return clone(self.structure)

    def _make_features(self) -> FeatureMap:
        return PartFeatures() if self.features is None else clone(self.features)

    def _check_X(self, X: Any) -> tuple[Any, list[Layout] | None]:
        """Checked features, and the layouts that the user gave, if any."""
        if isinstance(X, LaidOutRows):
            return self.feature_map_.check(X.rows), X.layouts
        pairs = [isinstance(x, tuple) for x in X] if is_list(X) else []
        if not any(pairs):
            return self.feature_map_.check(X), None
        for i, x in enumerate(X):
            if not pairs[i] or len(x) != 2:
                raise SampleError.of(
                    i, " is not a pair (features, layout), as others are; give all of them so."
                )
        return self.feature_map_.check([x for x, _ in X]), [_as_layout(s) for _, s in X]

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        if given is not None:
            return given
        found = []
        for i, count in enumerate(rows.lengths):
            try:
                found.append(self.structure_.layout_of(int(count)))
            except ValueError as error:
                raise SampleError.of(i, f": {error}") from error
        return found

    def _n_labels(self) -> int:
        return 0

    def _n_packed(self) -> int:
        """The number of features that `feature_map_` was given in training."""
        return self._n_columns()

    def _make_domain(self, dim: int) -> Domain | None:
        """Where the weights live."""
        return self.domain

    def _scales(self, layouts: list[Layout]) -> np.ndarray:
        """What each sample's loss and scores are multiplied by."""
        return np.ones(len(layouts))

    def _resolved_loss(self) -> Loss:
        return resolve_loss(self.loss)

    def _learn_width(self, rows: Any) -> None:
        """Remember how many features there are."""
        self.n_features_in_ = self.feature_map_.n_columns(rows)

    def _check_width(self, rows: Any) -> None:
        """Fail unless there are as many features as in training."""
        found = self.feature_map_.n_columns(rows)
        if found != self.n_features_in_:
            raise ValueError(
                f"X has {found} features, but {type(self).__name__} is expecting"
                f" {self.n_features_in_} features as input: those it was fitted on."
            )

    def _learn_names(self, X: Any) -> None:
        """Remember what the columns are called, where samples are data frames."""
        self._set_names("feature_names_in_", learn_names(X))

    def _set_names(self, attribute: str, names: np.ndarray | None) -> None:
        self.__dict__.pop(attribute, None)
        if names is not None:
            setattr(self, attribute, names)

    def _check_names(self, X: Any) -> None:
        """Fail if data frames have other columns than in training, or another order of them."""
        check_names(X, getattr(self, "feature_names_in_", None))

    def _learn_layouts(self, layouts: list[Layout]) -> None:
        """Choose how to find the best outputs of these, where there is a choice."""

    def _structure_for(self, layouts: list[Layout]) -> Structure:
        """The structure to predict such samples with; parts are laid out as in structure_."""
        return self.structure_

    def _learn_labels(self, y: Any, rows: Any) -> Any:
        """Targets as `structure.encode` takes them; sets classes_ where there are labels."""
        check_targets(y, len(rows.lengths))
        return y

    def _where_forbidden(self, y: Any, layout: Layout) -> str:
        """What of a target is forbidden, if that is known: ", such as ..."."""
        return ""

    def _output(self, z: np.ndarray, layout: Layout) -> Any:
        return self.structure_.decode(z, layout)

    # -- fitting -----------------------------------------------------------------------------------
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, node_weight: Any = None
    ) -> StructuredSVM:
        """Fit the model to samples and their true outputs.

        Parameters
        ----------
        X : sequence of samples
            Samples, in the form described for the class.
        y : sequence of outputs
            True outputs, in the form described for the class.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the samples; None means equal weights.
        node_weight : list of array_like or None, default=None
            Cost of an error at each variable, one array per sample; None means 1.

        Returns
        -------
        StructuredSVM
            The fitted estimator.

        Notes
        -----
        Ctrl-C ends the fit with a KeyboardInterrupt, after the pass if that is compiled. The best
        weights so far and their certificate are kept, with ``result_.status`` INTERRUPTED.
        """
        check_options(self)
        check_engine(self.engine, self._resolve_solver())  # fails before samples are read
        problem = self._problem(X, y, sample_weight, node_weight)
        del X, y  # packed by now: who gave them may have no further use for them
        trim_heap()
        solver = self._resolve_solver(problem)
        state = self._last_state(problem) if self.warm_start else None
        completion = Completion()
        callbacks = [*self._callbacks(), completion]
        self.result_ = run_on_engine(self.engine, solver, problem, state, callbacks)
        self.coef_, self.temperature_ = self.result_.w, 1.0
        self._last_layouts = problem.layouts
        self._learn_support(problem)
        self._check_end(completion)
        self._warn(limits_of(solver)[1])
        if self.objective == "margin" and self.result_.primal == 0:
            self._warn_of_negative_losses(problem)
        return self

    def _resolve_solver(self, problem: Problem | None = None, **options: Any) -> Solver:
        own = {name: getattr(self, name) for name in ("tol", "max_epochs", "random_state")}
        return resolve_solver(self.solver, self.objective, self.domain, problem, **own | options)

    def _problem(self, X: Any, y: Any, sample_weight: Any, node_weight: Any) -> Problem:
        self.structure_ = self._make_structure()
        self.feature_map_, self.intercept_scaling_ = self._make_features(), self.intercept_scaling
        rows, given = self._check_X(X)
        self._learn_names(X)
        targets = self._learn_labels(y, rows)
        one = PerLayout(lambda layout: layout)  # of equal ones, so that they are found sooner
        layouts = [one[layout] for layout in self._layouts(rows, given)]
        self._learn_layouts(layouts)
        self._learn_width(rows)
        omega = check_sample_weight(sample_weight, len(layouts)) * self._scales(layouts)
        trim_heap()
        packed = self._pack(self._training_rows(rows), layouts)
        truth = self._truth(targets, layouts)
        costs = None
        if self.objective != "likelihood":
            costs = self._costs(truth, layouts, packed.part_ptr, node_weight)
        elif node_weight is not None:
            raise ValueError('node_weight prices errors, which objective="likelihood" has not.')
        return Problem(
            self.structure_,
            layouts,
            packed,
            costs=costs,
            sample_weight=omega,
            n_jobs=self.n_jobs,
            truth=truth,
            alpha=self.alpha,
            domain=self._make_domain(packed.dim),
            objective=self.objective,
        )

    def _pack(self, rows: Any, layouts: list[Layout]) -> Any:
        count = PerLayout(self.structure_.n_parts)
        n_parts = np.empty(len(layouts), dtype=np.int64)
        for i, layout in enumerate(layouts):
            try:
                n_parts[i] = count[layout]
            except ValueError as error:
                raise SampleError.of(i, f": {error}") from error
        labels = self._n_labels()
        packed = self.feature_map_.pack(rows, labels, n_parts)
        own = self.feature_map_.constant_weights(rows, labels)
        return scale_weights(packed, own, self._constant())

    def _constant(self) -> float:
        """The value of the constant feature; files of earlier versions do not have it."""
        return getattr(self, "intercept_scaling_", 1.0)

    def _truth(self, targets: Any, layouts: list[Layout]) -> Points:
        parts, values = [], []
        forbidden = PerLayout(self.structure_.forbidden)
        for i, (y, layout) in enumerate(zip(targets, layouts, strict=True)):
            try:
                z = self.structure_.encode(y, layout)
            except (ValueError, IndexError, TypeError) as error:
                why = str(error).rstrip(".")
                raise SampleError.of(i, f": y does not fit its structure ({why}).") from error
            if z[forbidden[layout]].any():
                raise InfeasibleError.of(
                    i,
                    f": its true output is forbidden by the structure"
                    f"{self._where_forbidden(y, layout)}."
                    " Correct the labels, or allow what they contain.",
                )
            parts.append(np.flatnonzero(z).astype(np.int32))
            values.append(z[parts[-1]])
        ptr = np.concatenate([[0], np.cumsum([len(own) for own in parts], dtype=np.int64)])
        return Points(ptr, np.concatenate(parts), np.concatenate(values).astype(np.float64))

    def _costs(
        self, truth: Points, layouts: list[Layout], ptr: np.ndarray, node_weight: Any
    ) -> Iterator[np.ndarray]:
        """The costs of one sample after the other."""
        loss = self._resolved_loss().bind(getattr(self, "classes_", np.empty(0)))
        if node_weight is not None and len(node_weight) != len(layouts):
            raise ValueError(f"X has {len(layouts)} samples, node_weight has {len(node_weight)}.")

        for i, layout in enumerate(layouts):
            weight = None if node_weight is None else node_weight[i]
            y, own = np.zeros(int(ptr[i + 1] - ptr[i])), slice(truth.ptr[i], truth.ptr[i + 1])
            y[truth.part[own]] = truth.value[own]
            try:
                yield loss.costs(y, layout, self.structure_, weight)
            except ValueError as error:
                raise SampleError.of(i, f": {error}") from error

    def _last_state(self, problem: Problem, previous: Any = None) -> State | None:
        """The dual point of the last fit. previous : numbers that samples had then, if others."""
        result, known = getattr(self, "result_", None), getattr(self, "_last_layouts", None)
        if result is None or result.state is None:
            return None
        if previous is None:
            previous = find_added(known, problem)
        if previous is None:
            found = continue_state(result, known, problem)
        else:
            found = move_state(result.state, known, problem, previous)
        if found is None:
            warnings.warn(
                "warm_start: the samples' layouts, the structure or what it forbids changed, or the"
                " last dual point does not fit them; starting afresh.",
                UserWarning,
                stacklevel=self._depth,
            )
        return found

    def _time_left(self) -> float:
        """Seconds of `time_limit` that are left for the run."""
        return np.inf if self.time_limit is None else self.time_limit

    def _callbacks(self) -> list[Callback]:
        found = list(self.callbacks)
        if self.verbose:
            found.append(ProgressBar())
        if self.verbose > 1:
            found.append(Logger())
        if self.time_limit is not None:
            found.append(TimeLimit(self._time_left()))
        for callback in found:
            if isinstance(callback, EarlyStopping):
                callback.bind(self._validation_score(callback))
        return found

    def _validation_score(self, stopping: EarlyStopping) -> Any:
        if stopping.score_model is not None:
            return partial(stopping.score_model, self)
        held_out = list(self._in_chunks(stopping.X))
        found = sum(samples.n for samples in held_out)
        if found != len(stopping.y):
            raise ValueError(f"EarlyStopping: X has {found} samples, y has {len(stopping.y)}.")

        def score(w: np.ndarray) -> float:
            outputs = [y for samples in held_out for y in self._outputs(samples, w)]
            if stopping.metric is not None:
                return float(stopping.metric(stopping.y, outputs))
            layouts = [layout for samples in held_out for layout in samples.layouts]
            return self._agreement(stopping.y, outputs, layouts)

        return score

    def _check_end(self, completion: Completion) -> None:
        """Raise FitInterrupted if the run was interrupted."""
        if self.result_.status is Status.INTERRUPTED and not completion.reached:
            raise FitInterrupted(f"{self.result_.certificate()}. The weights so far are kept.")

    def _warn(self, tol: float) -> None:
        result = self.result_
        if result.status is Status.FAILED:
            warnings.warn(
                f"training failed: {result.message}", ConvergenceWarning, stacklevel=self._depth
            )
        if result.status is Status.ROUNDING:
            warnings.warn(f"{result.certificate()}.", ConvergenceWarning, stacklevel=self._depth)
        if result.status is Status.INTERRUPTED:
            warnings.warn(
                f"fit was interrupted: {result.certificate()}. Its weights are kept.",
                ConvergenceWarning,
                stacklevel=self._depth,
            )
        if result.status is Status.TIME_LIMIT and self.result_.primal == np.inf:
            warnings.warn(
                f"time_limit={self.time_limit:g} s were over before a first certificate: the"
                " weights so far are kept, and nothing is known of their gap.",
                ConvergenceWarning,
                stacklevel=self._depth,
            )
        if result.status is Status.MAX_EPOCHS and np.isfinite(result.gap):
            warnings.warn(
                f"max_epochs={result.n_epochs} reached at a gap of"
                f" {100 * result.relative_gap:.3g} % of the objective reached (tol asks for"
                f" {100 * tol:g} %)."
                f" Raise max_epochs{', tol or alpha' if self.alpha else ' or tol'}; large features"
                " slow training: scale them."
                + ("" if self.structure_.oracle().is_exact else BOUNDED),
                ConvergenceWarning,
                stacklevel=self._depth,
            )

    def _warn_of_negative_losses(self, problem: Problem) -> None:
        """Warn if some output costs less than the true one, which trains at once to nothing."""
        w = np.zeros(problem.dim)
        for i, layout in enumerate(problem.layouts[:3]):
            costs = problem.scores(w, i)
            truth = problem.truth[problem.parts(i)]
            less = np.where(np.isfinite(costs), -costs, costs)
            if part_score(less, self.structure_.maximize(less, layout) - truth) > 1e-9:
                warnings.warn(
                    f"sample {i}: the loss of some output is negative, and nothing was learned"
                    " because none is positive. A loss is 0 at the true output and not below it"
                    " anywhere: change its sign, or see whether costs are in the order of X.",
                    UserWarning,
                    stacklevel=self._depth,
                )
                return

    def sparsify(self) -> StructuredSVM:
        """Convert ``coef_`` to a sparse matrix of shape (1, n_weights).

        Predictions do not change. This saves memory where more than half of the weights are zero,
        as with `domains.L1Ball`. Views of the weights such as ``node_coef_`` remain dense.

        Returns
        -------
        StructuredSVM
            The estimator itself.
        """
        check_is_fitted(self, "coef_")
        return self._set_coef(sparse.csr_array(np.atleast_2d(as_dense(self.coef_))))

    def densify(self) -> StructuredSVM:
        """Convert ``coef_`` back to a dense array.

        Returns
        -------
        StructuredSVM
            The estimator itself.
        """
        check_is_fitted(self, "coef_")
        return self._set_coef(as_dense(self.coef_))

    def _set_coef(self, w: Any) -> StructuredSVM:
        self.coef_ = w
        self.result_ = replace(self.result_, w=w)
        return self

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, X: Any) -> Any:
        """Predict the output with the highest score for each sample.

        Returns
        -------
        sequence of outputs
            One output per sample, in the form of the targets of `fit`; None, with a warning, where
            an oracle with a time limit took too long.
        """
        check_is_fitted(self, "coef_")
        found: list[Any] = []
        for samples in self._in_chunks(X):
            samples.may_time_out = samples.oracle.ends_calls
            found += self._outputs(samples, self._weights())
        late = [i for i, y in enumerate(found) if y is None]
        if late:
            warnings.warn(
                f"the oracle took too long for {len(late)} of {len(found)} samples, whose outputs"
                f" are None: {', '.join(map(str, late[:10]))}{', ...' * (len(late) > 10)}. Raise"
                " time_limit of the structure.",
                UserWarning,
                stacklevel=2,
            )
        return found

    def predict_restricted(
        self, X: Any, restrictions: Sequence[Restriction | None], time_limit: float | None = None
    ) -> Any:
        """Predict the best output of each sample among those that its restriction allows.

        Parameters
        ----------
        restrictions : sequence of Restriction or None
            One per sample; None means that all outputs are allowed.
        time_limit : float or None, default=None
            Seconds for each sample whose restriction has counts or rules, after which the best
            output found so far is returned; None means no limit.

        Returns
        -------
        sequence of outputs
            One output per sample.
        """
        check_is_fitted(self, "coef_")
        restrictions = check_restrictions(restrictions)
        found: list[Any] = []
        count = 0
        for samples in self._in_chunks(X):
            count = samples.first + samples.n
            part = restrictions[samples.first : count]
            if len(part) < samples.n:
                continue
            structure = Restricted(samples.structure, time_limit)
            limited = samples.restricted(structure, self._restricted_layouts(samples, part))
            z = np.empty(int(samples.part_ptr[-1]))
            limited.apply("maximize", self._weights(), out=z)
            found += [self._output(z[samples.parts(i)], s) for i, s in enumerate(samples.layouts)]
        if count != len(restrictions):
            raise ValueError(f"{len(restrictions)} restrictions, but X has {count} samples.")
        return found

    def _restricted_layouts(self, samples: Samples, restrictions: list[Any]) -> list[Layout]:
        layouts = []
        for i, (own, layout) in enumerate(zip(restrictions, samples.layouts, strict=True)):
            try:
                layouts.append(self._restrict(Restriction() if own is None else own, layout))
            except InfeasibleError as error:
                raise InfeasibleError.of(samples.first + i, f": {error}") from error
            except (ValueError, TypeError) as error:
                raise SampleError.of(samples.first + i, f": {error}") from error
        return layouts

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        """The layout of a sample of which something is known."""
        return restrict_parts(restriction, layout)

    def predict_k_best(self, X: Any, k: int) -> list[list[tuple[Any, float]]]:
        """Predict the k best outputs of each sample.

        Parameters
        ----------
        k : int
            Number of outputs per sample; all are returned if there are fewer.

        Returns
        -------
        list of list of (output, float)
            Outputs of each sample with their scores, best first.

        Notes
        -----
        Scores are not probabilities, but exp(a - b) is the ratio of the probabilities of two
        outputs with scores a and b under p(z) ~ exp(w . F z).
        """
        check_is_fitted(self, "coef_")
        check_k(k)
        found = []
        for samples in self._in_chunks(X):
            for i, layout in enumerate(samples.layouts):
                try:
                    best = samples.structure.k_best(samples.scores(self._weights(), i), layout, k)
                except InfeasibleError as error:
                    raise InfeasibleError.of(samples.first + i, f": {error}") from error
                found.append([(self._output(z, layout), score) for z, score in best])
        return found

    def decision_function(self, X: Any) -> Any:
        """Compute the score w . F z of the best output of each sample; it is not a probability.

        Returns
        -------
        array_like
            One score per sample.
        """
        check_is_fitted(self, "coef_")
        chunks = [samples.apply("maximize", self._weights()) for samples in self._in_chunks(X)]
        return np.concatenate(chunks) if chunks else np.empty(0)

    def margins(self, X: Any) -> Any:
        """Compute for each variable the score of the best label minus that of the second best.

        The score of a label is that of the best output with this label.

        Returns
        -------
        sequence of ndarray
            Margins of the variables, one array per sample; inf where there is one label only.
        """
        margins = []
        for scores in self._per_variable("max_marginals", X):
            if scores.shape[1] == 1:
                if np.ptp(scores) > 1e-9 * (1 + np.abs(scores).max()):  # some variables may be off
                    kind = type(self.structure_).__name__
                    raise MissingAbilityError(
                        f"variables of {kind} are on or off, so they have no second best label."
                        " Use decision_function for scores."
                    )
                margins.append(np.full(len(scores), np.inf))
                continue
            top = np.partition(scores, -2, axis=1)[:, -2:]
            margins.append(top[:, 1] - top[:, 0])
        return margins

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of variables that are predicted correctly.

        Returns
        -------
        float
            Score from 0 to 1.
        """
        check_is_fitted(self, "coef_")
        outputs, layouts = [], []
        for samples in self._in_chunks(X):
            outputs += self._outputs(samples, self._weights())
            layouts += samples.layouts
        return self._agreement(y, outputs, layouts, sample_weight)

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        check_targets(y, len(outputs))
        if not outputs:
            return 0.0
        weight = check_sample_weight(sample_weight, len(outputs))
        right, total = 0.0, 0.0
        for i, (truth, output, layout) in enumerate(zip(y, outputs, layouts, strict=True)):
            try:
                same = self._right(truth, output, layout)
            except (ValueError, IndexError, TypeError) as error:
                raise SampleError.of(i, f": {error}") from error
            right += weight[i] * float(same.sum())
            total += weight[i] * len(same)
        if total == 0:
            raise ValueError("y has no known labels: there is nothing to score.")
        return right / total

    def _right(self, truth: Any, output: Any, layout: Layout) -> np.ndarray:
        """Which variables of a sample agree."""
        count, labels = self.structure_.variables(layout)
        a, b = (self.structure_.encode(y, layout)[: count * labels] for y in (truth, output))
        return (a == b).reshape(count, labels).all(axis=1)

    def _per_variable(self, ability: str, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self, "coef_")
        if not self.structure_.oracle().has(ability):
            kind = type(self.structure_).__name__
            raise MissingAbilityError(
                f"{kind} has no `{ability}`, which this needs. Use decision_function for scores."
            )
        for samples in self._in_chunks(X):
            out = np.empty(int(samples.part_ptr[-1]))
            samples.apply(ability, self._weights(), out=out)
            for i, layout in enumerate(samples.layouts):
                count, labels = self.structure_.variables(layout)
                yield out[samples.parts(i)][: count * labels].reshape(count, labels)

    def _outputs(self, samples: Samples, w: np.ndarray) -> list[Any]:
        z = np.empty(int(samples.part_ptr[-1]))
        samples.apply("maximize", w, out=z)
        rows = [z[samples.parts(i)] for i in range(samples.n)]
        late = [samples.may_time_out and bool(np.isnan(row).any()) for row in rows]
        found = zip(rows, samples.layouts, late, strict=True)
        return [None if skipped else self._output(row, layout) for row, layout, skipped in found]

    def _in_chunks(self, X: Any) -> Iterator[Samples]:
        if (X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else 1) == 0:
            return
        rows, given = self._check_X(X)
        self._check_names(X)
        self._check_width(rows)
        layouts = self._layouts(rows, given)
        for a in range(0, len(layouts), CHUNK):
            b = min(a + CHUNK, len(layouts))
            packed = self._pack(self._seen_rows(rows.part(a, b)), layouts[a:b])
            structure = self._structure_for(layouts[a:b])
            samples = Samples(structure, layouts[a:b], packed, n_jobs=self.n_jobs)
            samples.first = a
            yield samples

    # -- model files -------------------------------------------------------------------------------
    def validate(self) -> None:
        if hasattr(self, "classes_"):
            self._check_classes(self.classes_)
        if not hasattr(self, "coef_"):
            return
        made = {"structure_": self._make_structure(), "feature_map_": self._make_features()}
        for name, own in made.items():
            if type(getattr(self, name)) is not type(own):
                raise ValueError(f"{name} is not a {type(own).__name__}, as the options ask for")
        if hasattr(self, "feature_names_in_"):
            check_known_names("feature_names_in_", self.feature_names_in_, self.n_features_in_)
        self._check_kernel()
        size = self.feature_map_.dim(self._n_packed(), self._n_labels())
        check_weights("coef_", self.coef_, size)
        check_weights("result_.w", self.result_.w, size)

    def _check_classes(self, classes: np.ndarray) -> None:
        check_hashes(classes.tolist())
        if classes.ndim != 1 or len(set(classes.tolist())) != len(classes) or not len(classes):
            raise ValueError("classes_ is not an array of labels that differ")

    def __getstate__(self) -> dict[str, Any]:
        """Without the dual point, which is as large as the training data, unless warm_start."""
        kept = dict(super().__getstate__())
        if "result_" in kept and not self.warm_start:
            kept["result_"] = replace(kept["result_"], state=None)
            kept["_last_layouts"] = None
        return kept
