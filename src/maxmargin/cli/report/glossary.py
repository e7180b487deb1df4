"""Words of the trade that a reader may not know, explained where they stand."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.report.markup import Html, bdi, el
from maxmargin.solvers import solver_classes

__all__ = ["GLOSSARY", "STATUS", "explained_term"]

GLOSSARY = {
    "gap": "Objective minus lower bound: the most by which other weights could do better on the"
    " training data. 0 means that none can.",
    "relative gap": "The gap (objective minus lower bound) as a share of the objective.",
    "oracle calls": "How often the best output of a sample was searched for, which is most of the"
    " work. Unlike time it does not depend on the machine.",
    "projections": "How often a point was moved to the nearest one that is allowed.",
    "passes": "How often all training samples were gone through, also called epochs.",
    "weights": "The numbers that were learned, one for each feature and label or the like.",
    "alpha": "How much large weights cost. More of it gives a simpler model.",
    "temperature": "By how much scores are divided before they become probabilities.",
    "lower bound": "A number that the objective of no weights can be below.",
}
#: sign and words for the status of a run
STATUS = {
    "converged": ("✓", "converged"),
    "max_epochs": ("◦", "ended at the limit of passes"),
    "time_limit": ("◦", "ended at the time limit"),
    "stopped": ("◦", "stopped early"),
    "rounding": ("◦", "ended by rounding errors"),
    "interrupted": ("◦", "interrupted"),
    "failed": ("✗", "failed"),
}


def explained_term(words: Any) -> Html:
    """The words, with their explanation as a hint if they have one; also short names of solvers."""
    solver = solver_classes().get(str(words))
    meaning = GLOSSARY.get(str(words)) if solver is None else solver.summary
    if not meaning:
        return bdi(words)
    return el("abbr", words, title=meaning, tabindex="0")
