"""What looks like a mistake in what is known of instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from maxmargin.structures import Structure
from maxmargin.structures.base import Layout

#: scores of parts and layouts -> the best decisions
Decide = Callable[[list[np.ndarray], list[Layout]], list[np.ndarray]]


def find_mistakes(
    structure: Structure,
    sense: str,
    decide: Decide,
    costs: list[Any],
    made: list[np.ndarray],
    layouts: list[Layout],
    given: bool,
) -> Iterator[str]:
    """Yield messages if costs look like decisions, or like those of the other sense.

    Parameters
    ----------
    structure : Structure
        Possible decisions.
    sense : {"min", "max"}
        Whether costs are minimised.
    decide : callable
        Finds the best decisions by given scores.
    costs, made : list of ndarray
        Costs of the parts of each instance, and its decision.
    layouts : list of Layout
        Layout of each instance.
    given : bool
        Whether decisions were given, and not found by the costs.

    Yields
    ------
    str
        What is wrong and how to mend it.
    """
    other = "min" if sense == "max" else "max"
    if not given and all(_is_decision(structure, *own) for own in zip(costs, layouts, strict=True)):
        yield "all costs are zeros and ones, and decisions themselves. Give them as decisions="
    elif not any(own.any() for own in made):
        yield (
            f'by sense="{sense}", it is best to choose nothing in every instance. Use'
            f' sense="{other}" if {"costs" if sense == "max" else "values"} were given.'
        )
    if not given:
        return
    ends = [decide([s * own for own in costs], layouts) for s in (1.0, -1.0)]
    high, low = (sum(map(np.dot, costs, own)) for own in ends)
    paid = sum(map(np.dot, costs, made))
    if abs(paid - (high if sense == "max" else low)) > 0.5 * (high - low) + 1e-9 * abs(high):
        yield (
            f'decisions have costs nearer to the worst than to the best, by sense="{sense}".'
            f' Are costs in the order of X, or is it sense="{other}"?'
        )


def _is_decision(structure: Structure, costs: np.ndarray, layout: Layout) -> bool:
    if not ((costs == 0) | (costs == 1)).all() or not costs.any():
        return False
    return not structure.why_infeasible(costs, layout)
