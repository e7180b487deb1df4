"""The penalty of decisions, chosen on held-out instances."""

from __future__ import annotations

import warnings
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
#: tolerance of fits by which alpha is chosen, and their longest: with (0.02, 30), oracle calls are
#: up to 1.7 times as many and the regret no less; but with expensive oracles, where averages are
#: not tried, it was 0.25 points less (knapsacks of degree 4)
_ACCURACY, _ACCURACY_IF_EXPENSIVE = (0.05, 10), (0.02, 30)
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
    weights = min(found, key=lambda kind: min(found[kind].cv_loss_.values(), default=np.inf))
    model.alpha_, model.cv_loss_ = found[weights].alpha_, found[weights].cv_loss_
    _warn_of_few(model, int(np.count_nonzero(problem.packed.weight)))
    return y, weights


def _warn_of_few(model: DecisionSVM, count: int) -> None:
    """Warn if there are more folds than instances that weigh anything, by their count."""
    folds = _n_folds(model, count)
    if count >= folds:
        return
    how = (
        f"was chosen by {count} folds of one instance" if count > 1 else "leaves the prior as it is"
    )
    warnings.warn(
        f'alpha="cv" has {count} instance(s) of positive weight for {folds} folds:'
        f" alpha_={model.alpha_:.3g} {how}. Give more instances, or alpha=, such as alpha=0.01.",
        UserWarning,
        stacklevel=4,
    )


def _n_folds(model: DecisionSVM, count: int) -> int:
    return (5 if count < _MANY else 3) if model.cv is None else model.cv


def _choose_alpha(
    model: DecisionSVM, problem: Problem, X: Any, y: Instances
) -> tuple[float, dict[float, float]]:
    """The alpha that loses least on held-out folds, and what each loses."""
    alphas, end = _alphas_to_try(problem), monotonic() + model._time_left() / 2
    weight = problem.packed.weight
    lost = np.zeros((2, len(alphas), y.n))  # hinges and regrets of held-out instances
    seen = np.zeros(y.n, dtype=bool)
    used = np.flatnonzero(weight)
    if len(used) == 1:
        return alphas[0], {}
    folds = KFold(min(_n_folds(model, len(used)), len(used)), shuffle=True, random_state=0)
    for rows in folds.split(used):
        if seen.any() and monotonic() >= end:
            break
        train, test = used[rows[0]], used[rows[1]]
        own = clone(model).set_params(alpha=alphas[0], weights=model.feature_map_.weights)
        seen[test] = True
        fold = own._problem(take_instances(X, train), y.take(train), weight[train], None)
        held = _hold_out(own, take_instances(X, test), y.take(test), weight[test])
        for k, values in enumerate(_follow(own, alphas[: lost.shape[1]], fold, held, end)):
            lost[:, k, test] = weight[test] * values
            # shares of wrong parts rise and fall
            worse = k - int(np.argmin(lost[0, : k + 1].sum(axis=1)))
            if y.costs is not None and worse >= _WORSE:
                lost = lost[:, : k + 1]  # nor are they tried by other folds
                break
    chosen = _choose_place(*lost[:, :, seen])
    hinges = lost[0].sum(axis=1) / weight[seen].sum()
    return alphas[chosen], dict(zip(alphas, hinges.tolist(), strict=False))


def _choose_place(hinge: np.ndarray, regret: np.ndarray) -> int:
    """The place of the alpha to take, by what instances lose, (alphas, instances), the prior first.

    It is that of the least hinge, which is less noisy than the regret; or of a larger alpha, if
    the regret there is more than a standard error above the prior's.
    """
    chosen = int(np.argmin(hinge.sum(axis=1)))
    while chosen:
        change = regret[chosen] - regret[0]
        if change.sum() <= np.sqrt(len(change)) * change.std():
            break
        chosen -= 1
    return chosen


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
) -> Callable[[np.ndarray], np.ndarray]:
    """Hinges and regrets of other instances by weights that are added to the prior's.

    Without costs, hinges say little of decisions: both are shares of wrong parts.
    """
    rows, given = model._check_X(X)
    layouts = model._layouts(rows, given)
    costs, decisions = model._read(y, layouts)
    seen = model._seen_rows(rows)
    omega = check_sample_weight(weight, len(layouts))
    held = model._assemble(seen, layouts, costs, decisions, omega)
    samples = Samples(model.structure_, layouts, model._pack(seen, layouts), n_jobs=model.n_jobs)
    truth, starts = np.concatenate(decisions), held.part_ptr[:-1]
    unit = -np.sign(model._sign()) / model.cost_scale_
    price = None if costs is None else unit * np.concatenate(costs)

    def lose(v: np.ndarray) -> np.ndarray:
        z = np.empty(len(truth))
        samples.apply("maximize", model.prior_ + v, out=z)
        if price is None:
            wrong = np.add.reduceat(np.abs(z - truth), starts) / np.diff(held.part_ptr)
            return np.array([wrong, wrong])
        return np.array([held.hinges(v), np.add.reduceat(price * (z - truth), starts)])

    return lose


def _follow(
    model: DecisionSVM,
    alphas: list[float],
    problem: Problem,
    lost: Callable[[np.ndarray], np.ndarray],
    end: float,
) -> Iterator[np.ndarray]:
    """What instances lose by the prior, then for each alpha, each fit starting from the last."""
    tol, epochs = _ACCURACY_IF_EXPENSIVE if problem.oracle.is_expensive else _ACCURACY
    solver = model._resolve_solver(problem, tol=tol, max_epochs=epochs)
    state, found = None, lost(np.zeros(problem.dim))
    yield found
    for alpha in alphas[1:]:
        if state is None or monotonic() < end:
            problem.alpha = alpha
            if state is not None:
                state = state.move_to_refit(problem.weights(state.z))
            limits = [TimeLimit(max(end - monotonic(), 0.0))] if np.isfinite(end) else []
            result = solver.run(problem, state, limits)
            state, found = result.state, lost(result.w)
        yield found
