"""The whole path over alpha, to a given accuracy, by finitely many models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths.base import (
    Path,
    PathPoint,
    check_estimator,
    check_share,
    check_validation,
    fit_metrics,
    scores_of,
)
from maxmargin.paths.certificate import Certificate, at_zero
from maxmargin.paths.fits import prepare_clone, problem_of
from maxmargin.paths.pieces import Piece, Pieces
from maxmargin.problem import Problem
from maxmargin.result import Result, Status
from maxmargin.solvers import BCFW, Solver, resolve_solver
from maxmargin.validation.samples import is_number

#: where the path ends, as a share of the alpha at which w = 0 ceases to be good enough
ENDS = 1e-3


@dataclass(frozen=True, kw_only=True)
class EpsPoint(PathPoint):
    """One model of an eps-path, which holds for all alphas from `low` to `high`.

    The largest gap is at one of the two ends, because the set where it is small is an interval.

    Parameters
    ----------
    alpha : float
        Strength of the penalty at which the model was solved.
    radius : float, default=inf
        Radius of the ball that constrains the weights; inf for none.
    n_nonzero : int
        Number of nonzero weights.
    n_features : int
        Number of features with a nonzero weight, biases and label pairs not counted.
    norm : float
        l1 norm of the weights.
    norm_w : float
        Euclidean norm of the weights.
    hinge : float
        Objective without the penalty.
    primal, dual, gap : float
        Certificate: objective, lower bound and their difference.
    status : str
        Why training stopped.
    n_epochs, n_oracle : int
        Number of epochs and of oracle calls for this model.
    seconds : float
        Training time of this model.
    train_score, validation_score : float
        Scores; NaN if not requested.
    low, high : float
        Interval of alpha for which the model holds.
    worst_gap : float
        Largest gap / primal from low to high.
    """

    low: float
    high: float
    worst_gap: float


class EpsPath(Path):
    """Regularisation path with a guarantee for every alpha, as `eps_path` returns it.

    Parameters
    ----------
    points : list of EpsPoint
        Summary of each model, largest alpha first.
    weights : list of ndarray
        Weights of each model.
    certificates : list of Certificate
        Objective and bound of each model as functions of alpha.
    estimator : estimator
        The fitted estimator, of which `model` makes copies.
    eps : float
        The relative gap asked for.
    exact : bool
        Whether gaps are proofs; see ``Result.exact``.

    Attributes
    ----------
    points : list of EpsPoint
        Summary of each model.
    breakpoints : ndarray of shape (n_points + 1,)
        Values of alpha between which a model holds, both ends of the path included, decreasing.
    gaps : ndarray of shape (n_points,)
        Largest relative gap of each model. For the others see `Path`.
    """

    points: list[EpsPoint]  # type: ignore[assignment]
    parameter: ClassVar[str] = "alpha"
    plural: ClassVar[str] = "models"

    def __init__(
        self,
        points: list[EpsPoint],
        weights: list[np.ndarray],
        certificates: list[Certificate],
        estimator: Any,
        eps: float,
        exact: bool,
    ):
        super().__init__(points, weights, [], estimator)
        self._certificates = certificates
        self.eps, self.exact = eps, exact

    @property
    def breakpoints(self) -> np.ndarray:
        return np.array([self.points[0].high, *(point.low for point in self.points)])

    @property
    def gaps(self) -> np.ndarray:
        return np.array([point.worst_gap for point in self.points])

    @property
    def n_epochs(self) -> int:
        """Total number of passes over the samples."""
        return sum(point.n_epochs for point in self.points)

    def index(self, alpha: float) -> int:
        """Find the model that holds at one alpha.

        Parameters
        ----------
        alpha : float
            Strength of the penalty, within the path.

        Returns
        -------
        int
            Index of the model.
        """
        high, low = self.breakpoints[[0, -1]]
        if not is_number(alpha) or not low <= alpha <= high:
            raise ValueError(
                f"alpha={alpha!r}: the path goes from {high:g} down to {low:g}. Give eps_path"
                " another alpha_max or alpha_min."
            )
        # where two models meet, the lower one, which may have been solved there
        return int(np.count_nonzero(self.breakpoints[:-1] >= alpha)) - 1

    def certificate(self, alpha: float) -> tuple[float, float]:
        """Compute the objective and its lower bound at one alpha, for the model that holds there.

        Parameters
        ----------
        alpha : float
            Strength of the penalty, within the path.

        Returns
        -------
        tuple of float
            Primal and dual objective.
        """
        own = self._certificates[self.index(alpha)]
        return own.primal(alpha), own.dual(alpha)

    def model(self, alpha: float) -> Any:
        """Return the fitted estimator for one alpha.

        Parameters
        ----------
        alpha : float
            Strength of the penalty, within the path.

        Returns
        -------
        estimator
            A fitted estimator, whose ``result_`` has the certificate at this alpha.
        """
        index = self.index(alpha)
        return self._made(index, self._result(index, alpha), alpha=float(alpha))

    def _model(self, index: int) -> Any:
        alpha = self.points[index].alpha
        return self._made(index, self._result(index, alpha), alpha=alpha)

    def _options(self, index: int) -> dict[str, Any]:
        return {"alpha": self.points[index].alpha}

    def _result(self, index: int, alpha: float) -> Result:
        own, point = self._certificates[index], self.points[index]
        primal, dual = own.primal(alpha), own.dual(alpha)
        last = getattr(self._estimator, "model_", self._estimator).result_
        return replace(
            last,
            primal=primal,
            dual=dual,
            gap=primal - dual,
            status=Status.CONVERGED,
            n_epochs=point.n_epochs,
            message=f"of a path that holds from alpha {point.high:g} to {point.low:g}",
        )


def eps_path(
    estimator: Any,
    X: Any,
    y: Any,
    eps: float = 0.1,
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    *,
    kappa: float = 0.5,
    validation: tuple[Any, Any] | None = None,
    max_epochs: int | None = None,
    solver: str | Solver | None = None,
    train_score: bool = True,
    fit_params: Mapping[str, Any] | None = None,
) -> EpsPath:
    """Compute models such that every alpha in an interval has one with gap <= eps * primal.

    eps is relative, as `tol` of estimators: the gap at alpha, P(w) - D(z), is at most eps P(w), so
    that P(w) <= min P / (1 - eps). w is constant between breakpoints (Osokin et al. 2016). The path
    begins with w = 0, which suffices wherever ``alpha >= |v|^2 / (2 eps L)``: see `alpha_path`.

    Parameters
    ----------
    estimator : estimator
        Any estimator or task with margins as its objective, without a domain or with a cone such as
        `NonNegative`. Its tol, callbacks and time_limit are not used.
    X : sequence of samples
        Samples in the form that `fit` takes.
    y : sequence of outputs
        True outputs in the form that `fit` takes.
    eps : float, default=0.1
        Largest relative gap, between 0 and 1.
    alpha_max : float or None, default=None
        Largest alpha; None means infinity.
    alpha_min : float or None, default=None
        Smallest alpha. None means a thousandth of the alpha where w = 0 ceases to suffice, or of
        alpha_max if that is less.
    kappa : float, default=0.5
        Models are solved to a gap of kappa * eps; smaller values give fewer models, each of which
        takes longer.
    validation : tuple (X, y) or None, default=None
        Held-out data, whose scores choose ``best_``.
    max_epochs : int or None, default=None
        Largest number of epochs of each model; None means that of the estimator. If they do not
        suffice, the path ends early with a warning.
    solver : BCFW or None, default=None
        None means that of the estimator if it is a `BCFW`.
    train_score : bool, default=True
        Whether to score the training data, too.
    fit_params : dict or None, default=None
        Further arguments of `fit`, such as ``{"sample_weight": ...}``.

    Returns
    -------
    EpsPath
        The models, largest alpha first.

    Notes
    -----
    Let (w, z) be solved at some alpha. At another one, w is still feasible in the primal, and y + t
    (z - y) for 0 <= t <= 1 in the dual, y being the ground truth. With ``A = |w|^2 / 2``, ``B =
    |g(z)|^2 / 2``, H the hinges at w and l the loss of z ::

        gap(alpha) = alpha A + H - max over t of (t l - t^2 B / alpha)

    without any call of an oracle. The first part is linear in alpha, the maximum concave, so that
    gap - eps P is convex, and negative on one interval, whose ends are roots of a quadratic or a
    linear equation (`certificate.Certificate.interval`). Models are solved one after the other such
    that their intervals overlap, hence cover everything. (The paper takes t = alpha / alpha_0, for
    which the gap grows at first order in log alpha. For the best t it grows at second order, by
    alpha_0 A (log alpha / alpha_0)^2, and on both sides: the intervals are several times as long.)
    """
    check_estimator(estimator, "alpha", ", by which the path goes.")
    for name, value in (("eps", eps), ("kappa", kappa)):
        check_share(name, value)
    check_validation(validation)
    _check_ends(alpha_max, alpha_min)
    _check_objective(getattr(estimator, "objective", "margin"))
    fitted = prepare_clone(estimator, kappa * eps, max_epochs)
    engine = _solver(fitted, solver, kappa * eps)
    fitted.set_params(solver=engine)
    problem = problem_of(fitted, X, y, dict(fit_params or {}), alpha=1.0)
    _check_domain(problem)
    pieces = _pieces(fitted, problem, engine, eps, alpha_max, alpha_min)
    train = (X, y) if train_score else None
    points = [_point(fitted, piece, train, validation) for piece in pieces.found]
    fitted.set_params(warm_start=False)
    inner = getattr(fitted, "model_", fitted)
    inner.result_ = replace(inner.result_, state=None)  # as large as the data
    return EpsPath(
        points,
        [piece.w for piece in pieces.found],
        [piece.certificate for piece in pieces.found],
        fitted,
        eps,
        problem.oracle.gap_is_proof,
    )


def _pieces(
    fitted: Any, problem: Problem, engine: BCFW, eps: float, top: float | None, end: float | None
) -> Pieces:
    eps *= 1 - 1e-9  # a hair less, so that rounding proves nothing false
    zero, least = at_zero(problem, eps)
    if top is None and least == np.inf:
        raise ValueError(
            "alpha_max: the bounds of this oracle at w = 0 are too wide to say where the path"
            " begins. Give alpha_max, or a larger eps."
        )
    top = float("inf") if top is None else float(top)
    if end is None:
        end = ENDS * min(least, top)
    pieces = Pieces(getattr(fitted, "model_", fitted), problem, engine, eps)
    if least <= top:
        pieces.add_zero(zero, max(least, end), top)
    pieces.down_to(top, end)
    if pieces.stuck:
        _warn(pieces, end)
    return pieces


def _warn(pieces: Pieces, end: float) -> None:
    if not pieces.found:
        raise ValueError(
            f"no model within eps at alpha_max: {pieces.stuck}. Raise max_epochs or eps, or leave"
            " alpha_max out."
        )
    warnings.warn(
        f"the path ends at alpha {pieces.found[-1].low:.4g}, above alpha_min={end:.4g}:"
        f" {pieces.stuck}. Raise max_epochs or eps.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _point(fitted: Any, piece: Piece, train: Any, validation: Any) -> EpsPoint:
    inner = getattr(fitted, "model_", fitted)
    inner.coef_ = piece.w
    scores = scores_of(fitted, train, validation)
    own, alpha = piece.certificate, piece.alpha
    return EpsPoint(
        alpha=alpha,
        low=piece.low,
        high=piece.high,
        worst_gap=max(own.relative_gap(piece.low), piece.gap_above),
        hinge=own.hinge,
        primal=own.primal(alpha),
        dual=own.dual(alpha),
        gap=own.gap(alpha),
        status=Status.CONVERGED.value,
        n_epochs=piece.n_epochs,
        n_oracle=piece.n_oracle,
        seconds=piece.seconds,
        train_score=scores[0],
        validation_score=scores[1],
        **fit_metrics(fitted, piece.w),
    )


def _check_ends(top: Any, end: Any) -> None:
    for name, value in (("alpha_max", top), ("alpha_min", end)):
        if value is not None and not (is_number(value) and 0 < value < np.inf):
            raise ValueError(f"{name}={value!r} must be a positive number, or None.")
    if top is not None and end is not None and end > top:
        raise ValueError(f"alpha_min={end:g} is above alpha_max={top:g}; exchange them.")


def _solver(fitted: Any, solver: Any, tol: float) -> BCFW:
    own = fitted.solver if solver is None else solver
    found = BCFW() if own is None or own == "auto" else resolve_solver(own)
    if not isinstance(found, BCFW):
        raise ValueError(
            f"solver: eps_path needs the dual point of BCFW, not of {type(found).__name__}. Give"
            ' solver="bcfw", or take alpha_path, which takes any.'
        )
    epochs = fitted.max_epochs if found.max_epochs is None else found.max_epochs
    seed = fitted.random_state if found.random_state is None else found.random_state
    return found.set_params(tol=tol, max_epochs=epochs, random_state=seed)


def _check_objective(objective: str) -> None:
    if objective != "margin":
        raise ValueError(
            f'objective={objective!r}: eps_path is for "margin", whose gap is known at every alpha'
            " from one model. Take alpha_path."
        )


def _check_domain(problem: Problem) -> None:
    if not problem.domain.is_cone:
        raise ValueError(
            f"domain: in a {type(problem.domain).__name__} the gap at another alpha is not known"
            " from one model. Take domain=None (or a cone, such as NonNegative), or alpha_path."
        )
