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
from maxmargin.paths.fits import prepared, problem_of
from maxmargin.paths.pieces import Piece, Pieces
from maxmargin.problem import Problem
from maxmargin.result import Result, Status
from maxmargin.solvers import BCFW, Solver, resolve_solver
from maxmargin.validation.samples import is_number

#: where the path ends, as a share of the alpha at which w = 0 ceases to be good enough
ENDS = 1e-3


@dataclass(frozen=True, kw_only=True)
class EpsPoint(PathPoint):
    """One model of an eps-path: that of all alphas from `low` to `high`.

    alpha : where it was solved. worst_gap : the largest gap / primal from low to high, which is at
    one of the two, because the set where it is small is an interval.
    """

    low: float
    high: float
    worst_gap: float


class EpsPath(Path):
    """What `eps_path` returns: a model for every alpha, largest alpha first. See `Path`.

    Attributes
    ----------
    points : list of EpsPoint. breakpoints : alphas where one model ends and the next begins, with
        both ends of the path, falling. gaps : the largest relative gap of each model. eps : what
        was asked for. exact : whether gaps are proofs, see `Result.exact`.
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
        """Passes over the samples in all."""
        return sum(point.n_epochs for point in self.points)

    def index(self, alpha: float) -> int:
        """The number of the model that holds at this alpha."""
        high, low = self.breakpoints[[0, -1]]
        if not is_number(alpha) or not low <= alpha <= high:
            raise ValueError(
                f"alpha={alpha!r}: the path goes from {high:g} down to {low:g}. Give eps_path"
                " another alpha_max or alpha_min."
            )
        # where two models meet, the lower one, which may have been solved there
        return int(np.count_nonzero(self.breakpoints[:-1] >= alpha)) - 1

    def certificate(self, alpha: float) -> tuple[float, float]:
        """Objective and lower bound at this alpha, exactly those of its model."""
        own = self._certificates[self.index(alpha)]
        return own.primal(alpha), own.dual(alpha)

    def model(self, alpha: float) -> Any:
        """The fitted estimator for this alpha, its `result_` with the certificate there."""
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
    """Models such that at EVERY alpha from alpha_max to alpha_min one has gap <= eps * primal.

    eps is relative, as `tol` of estimators: the gap at alpha, P(w) - D(z), is at most eps P(w). So
    P(w) <= min P / (1 - eps) there. w is constant between breakpoints (Osokin et al. 2016).

    Why it holds. Let (w, z) be solved at some alpha. At another one, w is still a point of the
    primal, and y + t (z - y) for 0 <= t <= 1 still one of the dual, y being the truth. With
    A = |w|^2 / 2, B = |g(z)|^2 / 2, H the hinges at w and l the loss of z,

        gap(alpha) = alpha A + H - max over t of (t l - t^2 B / alpha),

    without any call of an oracle. The first part is linear in alpha, the maximum concave, so that
    gap - eps P is convex, and negative on one interval, whose ends are roots of a quadratic or a
    linear equation (`certificate.Certificate.interval`). Models are solved one after the other so
    that their intervals overlap, hence cover everything. (The paper takes t = alpha / alpha_0,
    for which the gap grows at first order in log alpha. Of the best t it grows at second order,
    by alpha_0 A (log alpha / alpha_0)^2, and on both sides: the intervals are several times
    as long.)

    The path begins with w = 0, which is good enough wherever alpha >= |v|^2 / (2 eps L): see
    `alpha_path`.

    Parameters
    ----------
    estimator : any estimator or task with margins as its objective, w anywhere (domain=None) or in
        a cone, such as NonNegative. Its tol, callbacks and time_limit are not used.
    alpha_max : where to begin; None means infinity. alpha_min : where to end; None means a
        thousandth of where w = 0 ceases to be good enough, or of alpha_max if that is less.
    kappa : models are solved to a gap of kappa * eps; the less, the fewer and the more expensive
    they are.
    max_epochs : of each model; None means that of the estimator. Where they do not suffice, the
        path ends early with a warning.
    solver : a BCFW, or None for the estimator's if it is one.
    validation, train_score, fit_params : as in `alpha_path`.
    """
    check_estimator(estimator, "alpha", ", by which the path goes.")
    for name, value in (("eps", eps), ("kappa", kappa)):
        check_share(name, value)
    check_validation(validation)
    _check_ends(alpha_max, alpha_min)
    _check_objective(getattr(estimator, "objective", "margin"))
    fitted = prepared(estimator, kappa * eps, max_epochs)
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
        problem.structure.gap_is_proof,
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
