"""The strength of the penalty chosen on held-out samples: `alpha = "auto"`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.cli.runs.checks import check_number
from maxmargin.cli.runs.errors import RunError
from maxmargin.result import Status
from maxmargin.solvers.base import Solver, solver_classes
from maxmargin.tasks.documents import Table

if TYPE_CHECKING:
    from maxmargin.tasks.registry import Data, TaskCommand

log = logging.getLogger("maxmargin")

#: held-out parts where no validation data are given
FOLDS = 3
#: from one alpha to the next: two of them a decade
RATIO = 10**0.5
#: alphas tried on a side of the default at most, and without a better score before that side ends
STEPS, PATIENCE = 6, 2


def choose_alpha(
    command: TaskCommand,
    make: Callable[[], Any],
    data: Data,
    validation: Data | None,
    seed: int,
    prepared: Path,
) -> dict[str, Any]:
    """Choose alpha by the task's own metric, on the validation data or by folds of the data.

    From the task's default, alphas fall while scores rise, each fit going on from the last one;
    else they grow, and fits are fresh, because those of smaller alphas are bad starts. By folds,
    the alpha found is that of C = 1 / (alpha n) for all n samples.

    make : gives an estimator, not fitted. prepared : where costly steps before training are kept.
    Returns {"alpha", "metric", "by", "tried": [[alpha, score], ...]}.
    """
    solver = make().solver
    own = solver_classes()[solver]() if solver in solver_classes() else solver
    if isinstance(own, Solver) and not own.requires.has_objective:
        raise RunError("alpha = 'auto': the solver has no penalty; leave alpha out.")
    command.prepare(make(), data, prepared)
    parts = [(data, validation)] if validation is not None else _folds(command, data, seed)
    scale = float(np.mean([len(train) for train, _ in parts])) / len(data)
    models = [make().set_params(warm_start=True) for _ in parts]
    tried: dict[int, tuple[float, float]] = {}

    def score(step: int) -> float:
        scores = []
        used = models if step <= 0 else [make() for _ in parts]
        for model, (train, held_out) in zip(used, parts, strict=True):
            if step:
                model.alpha = tried[0][0] / scale * RATIO**step
            command.fit(model, train)
            if model.result_.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            scores.append(command.score(model, held_out))
        alpha = scale * float(np.mean([getattr(own, "model_", own).alpha for own in used]))
        tried[step] = alpha, float(np.mean(scores))
        log.info("alpha %.3g: %.4f", *tried[step])
        return tried[step][1]

    best = _climb(score)
    return {
        "alpha": tried[best][0],
        "metric": command.metric(data)[0],
        "by": "validation" if validation is not None else f"{len(parts)} folds",
        "tried": sorted(map(list, tried.values())),
    }


def _climb(score: Callable[[int], float]) -> int:
    """The step with the best score, of those from 0 down, or up if 0 is the best of these."""
    best, highest = 0, score(0)
    for direction in (-1, 1):
        step, misses = 0, 0
        while misses < PATIENCE and abs(step) < STEPS:
            step += direction
            found = score(step)
            misses += 1
            if found > highest:
                best, highest, misses = step, found, 0
        if best:
            break
    return best


def _folds(command: TaskCommand, data: Data, seed: int) -> list[tuple[Data, Data]]:
    n = len(data)
    if n < 2:
        raise RunError(
            "alpha = 'auto' needs validation data, or two samples at least to hold some out; name"
            " files with --validation, or give a number."
        )
    order, count = np.random.default_rng(seed).permutation(n), min(FOLDS, n)
    parts = []
    for k in range(count):
        kept = np.sort(np.delete(order, np.s_[k::count]))
        parts.append(
            (
                command.take(data, kept.tolist()),
                command.take(data, sorted(order[k::count].tolist())),
            )
        )
    return parts


def check_search(found: Mapping[str, Any], path: str) -> dict[str, Any]:
    """What `choose_alpha` returned, from a file of the run."""
    try:
        tried = [
            [check_number("alpha", alpha), check_number("score", score)]
            for alpha, score in found["tried"]
        ]
        words = {name: str(found[name]) for name in ("metric", "by")}
        return {"alpha": check_number("alpha", found["alpha"]), **words, "tried": tried}
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} of the run is damaged ({error}). Remove it.") from error


def search_table(search: dict[str, Any]) -> Table:
    """What was tried, for reports."""
    return Table(
        title="Penalties tried",
        columns=["alpha", search["metric"]],
        rows=search["tried"],
        note=f"Chosen: alpha {search['alpha']:.3g}, by {search['metric']} on {search['by']}.",
    )
