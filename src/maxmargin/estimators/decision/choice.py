"""The penalty of decisions, chosen on held-out instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from maxmargin.callbacks import TimeLimit
from maxmargin.estimators.decision.inputs import Chosen, Instances, is_table, take_instances
from maxmargin.problem import Problem, Samples
from maxmargin.validation.samples import check_sample_weight

if TYPE_CHECKING:
    from maxmargin.estimators.decision.estimator import DecisionSVM

#: of the hinge at the prior, what the largest alpha that is tried may gain; smaller ones follow
_FIRST, _RATIO, _TRIED = 0.01, 10**-0.5, 10
#: accuracy of fits by which alpha is chosen, and their longest: with (0.02, 30), oracle calls were
#: twice as many and the regret no less
_TOL, _EPOCHS = 0.05, 10
#: alphas below the best one, after which smaller ones are not tried: they take the most calls
_WORSE = 2
#: instances from which on three folds choose as well as five, in half the time
_MANY = 500


def choose_by_folds(
    model: DecisionSVM, X: Any, y: Instances, sample_weight: Any
) -> tuple[Instances, str]:
    """Set `alpha_` and `cv_loss_`, and choose whose weights there are where that is left open.

    Parameters
    ----------
    model : DecisionSVM
        The estimator.
    X : array_like or list
        Instances.
    y : Instances
        What is known of them afterwards.
    sample_weight : array_like of shape (n_instances,) or None
        Weights of the instances.

    Returns
    -------
    y : Instances
        The same, with decisions.
    weights : {"shared", "both"}
        Whose weights there are, if features are of parts.
    """
    found: dict[str, DecisionSVM] = {}
    for kind in ("shared", "both"):
        trial = clone(model)
        trial.alpha_, trial._weights_kind, trial._begun = 1.0, kind, model._begun
        problem = trial._problem(X, y, sample_weight, None)
        y = Chosen(y.costs, np.split(problem.truth, problem.part_ptr[1:-1]))
        trial.alpha_, trial.cv_loss_ = _choose_alpha(trial, problem, X, y)
        found[kind] = trial
        given = not isinstance(model.prior, str | None)  # of shared weights, or a table of them
        if model.weights != "auto" or is_table(X) or len(set(problem.layouts)) > 1 or given:
            break
    weights = min(found, key=lambda kind: min(found[kind].cv_loss_.values()))
    model.alpha_, model.cv_loss_ = found[weights].alpha_, found[weights].cv_loss_
    return y, weights


def _choose_alpha(
    model: DecisionSVM, problem: Problem, X: Any, y: Instances
) -> tuple[float, dict[float, float]]:
    """The alpha that loses least on held-out folds, and what each loses."""
    alphas, end = _alphas_to_try(problem), monotonic() + model._time_left() / 2
    weight = problem.packed.weight
    lost = np.zeros(len(alphas))
    count = (5 if y.n < _MANY else 3) if model.cv is None else model.cv
    folds = KFold(max(min(count, y.n), 2), shuffle=True, random_state=0)
    for train, test in folds.split(weight) if y.n > 1 else ():
        if min(weight[train].sum(), weight[test].sum()) > 0:
            own = clone(model).set_params(alpha=alphas[0], weights=model.feature_map_.weights)
            fold = own._problem(take_instances(X, train), y.take(train), weight[train], None)
            held = _hold_out(own, take_instances(X, test), y.take(test), weight[test])
            for k, own_loss in enumerate(_follow(own, alphas[: len(lost)], fold, held, end)):
                lost[k] += weight[test].sum() * own_loss
                # shares of wrong parts rise and fall
                if y.costs is not None and k - int(np.argmin(lost[: k + 1])) >= _WORSE:
                    lost = lost[: k + 1]  # nor are they tried by other folds
                    break
    return alphas[int(np.argmin(lost))], dict(zip(alphas, lost.tolist(), strict=False))


def _alphas_to_try(problem: Problem) -> list[float]:
    """Alphas from one at which the prior is nearly best: its hinge less |g|^2 / (2 alpha)."""
    z = np.empty(int(problem.part_ptr[-1]))
    hinge = float(problem.packed.weight @ problem.hinges(np.zeros(problem.dim), z))
    gradient = problem.loss_gradient(z)
    first = float(gradient @ gradient) / (2 * _FIRST * hinge) if hinge > 0 else 1.0
    # the first one gives the prior as it is, with a certificate
    return [1e6 * (first or 1.0), *((first or 1.0) * _RATIO**k for k in range(_TRIED))]


def _hold_out(
    model: DecisionSVM, X: Any, y: Instances, weight: np.ndarray
) -> Callable[[np.ndarray], float]:
    """What is lost on other instances by weights that are added to the prior's.

    That is the hinge, which is less noisy than the regret and has its minimum at nearly the same
    alpha. It says little of decisions without costs: of these, the share of wrong parts.
    """
    rows, given = model._check_X(X)
    layouts = model._layouts(rows, given)
    costs, decisions = model._read(y, layouts)
    omega = check_sample_weight(weight, len(layouts))
    seen = model._seen_rows(rows)
    held = model._assemble(seen, layouts, costs, decisions, omega)
    if costs is not None:
        return lambda v: float(omega @ held.hinges(v))
    samples = Samples(model.structure_, layouts, model._pack(seen, layouts), n_jobs=model.n_jobs)
    truth = np.concatenate(decisions)

    def wrong(v: np.ndarray) -> float:
        z = np.empty(len(truth))
        samples.apply("maximize", model.prior_ + v, out=z)
        off = np.add.reduceat(np.abs(z - truth), held.part_ptr[:-1])
        return float(omega @ (off / np.diff(held.part_ptr)))

    return wrong


def _follow(
    model: DecisionSVM,
    alphas: list[float],
    problem: Problem,
    lost: Callable[[np.ndarray], float],
    end: float,
) -> Iterator[float]:
    """What is lost for each alpha, each fit starting from the last."""
    solver = model._resolve_solver(problem, tol=_TOL, max_epochs=_EPOCHS)
    state, found = None, 0.0
    for alpha in alphas:
        if state is None or monotonic() < end:
            problem.alpha = alpha
            if state is not None:
                state = state.move_to_refit(problem.weights(state.z))
            limits = [TimeLimit(max(end - monotonic(), 0.0))] if np.isfinite(end) else []
            result = solver.run(problem, state, limits)
            state, found = result.state, lost(result.w)
        yield found
