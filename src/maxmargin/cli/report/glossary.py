"""Words of the trade that a reader may not know, explained where they stand."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.report.markup import Html, bdi, el

__all__ = ["GLOSSARY", "explained_term"]

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
    # solvers, by their short names
    "bcfw": "Block-coordinate Frank-Wolfe: exact steps in one sample at a time, with a bound.",
    "fw": "Frank-Wolfe: steps in all samples at once, with a bound.",
    "ssg": "Stochastic subgradients: quick first passes, steps of a fixed schedule.",
    "perceptron": "Structured perceptron: adds what the truth has and the prediction lacks; no"
    " penalty and no bound.",
    "cutting-plane": "Cutting planes: a model of the loss that grows from below, solved anew each"
    " pass.",
    "qp": "The whole problem as one convex program, by an interior-point method; for small data.",
    "extragradient": "Extragradient: steps in weights and outputs that are predicted, then"
    " corrected.",
    "dual-extragradient": "Nesterov's dual extragradient: averaged steps in weights and outputs by"
    " projections.",
    "projected-gradient": "Projected gradients of weights and outputs at once, averaged.",
    "eg": "Exponentiated gradient: multiplicative steps, so that outputs stay probabilities.",
    "smoothed": "Accelerated gradients of a smooth function just above the objective.",
    "sdca": "Stochastic dual coordinate ascent: a likelihood's bound raised one sample at a time.",
    "lbfgs": "L-BFGS: quasi-Newton steps on the likelihood of all samples at once.",
}


def explained_term(words: Any) -> Html:
    """The words, with their explanation as a hint if they have one."""
    meaning = GLOSSARY.get(str(words))
    if meaning is None:
        return bdi(words)
    return el("abbr", words, title=meaning, tabindex="0")
