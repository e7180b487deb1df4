"""Probabilities of structures that can only maximise: add noise, maximise, count."""

from __future__ import annotations

from copy import copy

import numpy as np

from maxmargin.samples import Samples


class Variables:
    """Where the variables of samples stand among all their parts.

    choices : (m,) parts of variables with several labels, of which one is on.
    switches : (k,) parts that are 0/1 variables of their own.
    """

    def __init__(self, samples: Samples):
        ends = [samples.structure.variables(layout) for layout in samples.layouts]
        self.counts = [count for count, _ in ends]
        choices, switches = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start, (count, labels) in zip(samples.part_ptr.tolist(), ends, strict=False):
            own = np.arange(start, start + count * labels)
            (choices if labels > 1 else switches).append(own)
        self.choices, self.switches = np.concatenate(choices), np.concatenate(switches)
        self.binary = np.repeat([labels == 1 for _, labels in ends], self.counts)


def part_frequencies(
    samples: Samples, w: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """How often each part is on in the best output, over n_draws of noise on the variables' parts.

    Gumbel noise on each label of a variable; a 0/1 variable has two labels, and only the
    difference counts, which is logistic. Where variables do not depend on each other this is
    p(z) ~ exp(score) itself (Gumbel's maximum); where they do, it is the perturb-and-MAP model of
    Papandreou and Yuille (2011), which is near it. Scores of pairs and edges stay as they are.
    """
    variables, noisy, scores = Variables(samples), copy(samples), _all_scores(samples, w)
    costs = scores.copy()
    # without features, scores are the costs alone and need not be found anew for each draw
    nothing = {
        name: np.zeros_like(getattr(samples.packed, name)) for name in ("indptr", "block_ptr")
    }
    noisy.packed = samples.packed._replace(costs=costs, **nothing)
    z, total = np.empty_like(costs), np.zeros_like(costs)
    for _ in range(n_draws):
        costs[:] = scores
        costs[variables.choices] -= _log(rng.standard_exponential(len(variables.choices)))
        costs[variables.switches] += rng.logistic(size=len(variables.switches))
        noisy.apply("maximize", w, out=z)
        total += z
    return total / n_draws


def _all_scores(samples: Samples, w: np.ndarray) -> np.ndarray:
    return np.concatenate([samples.scores(w, i) for i in range(samples.n)])


def _log(waits: np.ndarray) -> np.ndarray:
    """The log of exponential numbers, less which it is Gumbel's."""
    return np.log(np.maximum(waits, np.finfo(np.float64).tiny))
