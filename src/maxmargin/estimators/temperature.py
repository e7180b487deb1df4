"""The temperature at which probabilities fit held-out data best."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

#: how far the walk goes at once, and where it ends: temperatures 4**-10 to 4**10
_STEP, _REACH = np.log(4.0), 10
#: what all held-out variables together must leave in doubt, else they cannot tell the temperature:
#: of as many that are all right, half would be by chance at that rate of errors
_DOUBT = np.log(2.0)


def find_temperature(loss: Callable[[float], float], total: float, tol: float = 1e-3) -> float:
    """The T with the least loss(T), the mean negative log probability of the held-out truth.

    total : how many variables the mean is over. tol : on log T.

    Walks downhill from T = 1 by factors of four, then searches between the neighbours of the best:
    about a dozen calls. If the loss falls to nothing as T falls, because all is predicted rightly,
    it returns the T at which the sum of all losses is log 2, and warns.
    """
    known: dict[int, float] = {}

    def at(step: int) -> float:
        if step not in known:
            known[step] = loss(float(np.exp(step * _STEP)))
        return known[step]

    def sum_less_doubt(log_t: float) -> float:
        return total * loss(float(np.exp(log_t))) - _DOUBT

    best = _walk(at, total)
    if total * at(best) < _DOUBT:
        return _edge_of_doubt(at, sum_less_doubt, best, total, tol)
    around = [at(step) for step in (best - 1, best, best + 1) if abs(step) <= _REACH]
    if max(around) - min(around) <= 1e-12 * max(around):
        _warn("the scores say nothing about the held-out labels; the temperature is left at 1")
        return 1.0
    if abs(best) == _REACH:
        _warn(
            "the held-out labels are as if drawn at random, so that all labels get the same"
            " probability. Check that X and y belong together"
            if best > 0
            else "the scores are tiny: they fit the held-out labels better the larger they are made"
        )
        return float(np.exp(best * _STEP))
    found = minimize_scalar(
        lambda log_t: loss(float(np.exp(log_t))),
        bounds=((best - 1) * _STEP, (best + 1) * _STEP),
        method="bounded",
        options={"xatol": tol},
    )
    return float(np.exp(found.x if found.fun < at(best) else best * _STEP))


def _walk(at: Callable[[int], float], total: float) -> int:
    """The step from which neither neighbour is better, or the loss is next to nothing."""
    best = 0
    for way in (-1, 1):
        while abs(best + way) <= _REACH and at(best + way) < at(best):
            if total * at(best) < _DOUBT:
                return best
            best += way
        if best != 0:
            break
    return best


def _edge_of_doubt(
    at: Callable[[int], float],
    sum_less_doubt: Callable[[float], float],
    step: int,
    total: float,
    tol: float,
) -> float:
    _warn(
        "every held-out variable is predicted rightly, so that they bound the temperature from"
        " above only. It is set where one error among as many variables would be no surprise;"
        " give more held-out samples"
    )
    above = step
    while above <= _REACH and total * at(above) < _DOUBT:
        above += 1
    if above > _REACH:
        return float(np.exp(_REACH * _STEP))
    root = brentq(sum_less_doubt, (above - 1) * _STEP, above * _STEP, xtol=tol)
    return float(np.exp(root))


def _warn(why: str) -> None:
    warnings.warn(f"calibrate: {why}.", UserWarning, stacklevel=5)
