"""Exponentiated gradient: entropic steps in the log-potentials of single samples, or of all.

Sample i keeps potentials t (one per part), and z_i = marginals(t). What is maximised is the dual
with `temperature` times the entropies of the samples added: the likelihood's own at temperature 1,
a smoothed one of margins below. With a = (F_i^T w + c_i) / temperature a step goes to

    t' = t + rate (a - t),   z' = marginals(t'),   delta = z' - z_i,   u = F_i delta

and changes it by omega temperature (a . delta + entropy' - entropy) - omega^2 / (2 alpha) |u|^2,
exactly. Potentials of forbidden parts are never read, and stay what they are.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    POINTER,
    compile_ability,
    compiled_function,
    types,
)
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle
from maxmargin._numba.passes.block_step import COUNTERS, block_change
from maxmargin._numba.passes.weights import WEIGHTS, count_step, move_weights, score_sample

TRIES = 60  # steps are shortened to a half at least, so that the last is 1e-18 of the first
SHORTEST, LONGEST = 0.05, 0.5  # what may be left of a step that lowers the dual
SMALL = 1e-14  # of a . z: below, the slope is rounding
STILL = 1e-4  # of a . z: below, z hardly moves, and longer steps would only carry potentials off


@compile_ability
def copy_scores(theta, layout, out, work, iwork):
    """What it is given: a way to ask for the scores of all samples."""
    for p in range(len(theta)):
        out[p] = theta[p]
    return 0.0


@compiled_function(types.int64(PACKED, types.int64, WORKSPACE, WEIGHTS, types.float64))
def entropic_scores(packed, i, workspace, weights, temperature):
    """workspace.scratch = a = (F_i^T w + c_i) / temperature; returns the number of parts."""
    parts = score_sample(packed, i, weights, workspace)
    for p in range(parts):
        workspace.scratch[p] = workspace.theta[p] / temperature
    return parts


@compiled_function(types.void(WORKSPACE, FLOATS, types.float64))
def entropic_trial(workspace, potentials, rate):
    """workspace.theta = the potentials after a step of this rate, from those of this sample."""
    for p in range(len(potentials)):
        a, t = workspace.scratch[p], potentials[p]
        workspace.theta[p] = t + rate * (a - t) if a != -np.inf else a


@compiled_function(
    types.void(
        PACKED, types.int64, WORKSPACE, FLOATS, FLOATS, types.float64, types.float64,
        types.float64, types.float64, types.float64, FLOATS,
    )
)  # fmt: skip
def entropic_gain(
    packed, i, workspace, potentials, z, value, rate, temperature, alpha, entropy, found
):
    """Measure the step to workspace.vertex = z' of log-partition value; vertex becomes delta.

    potentials, z : of this sample. entropy : at z. found : [0] the change of the smoothed dual over
    omega and temperature, [1] what to multiply the rate by so that it is best, [2] entropy at z',
    [3] (a - t) . delta, and [4] the size of the numbers that this is a difference of.
    """
    slope, linear, size = 0.0, 0.0, 0.0
    inner = 0.0
    for p in range(len(z)):
        a = workspace.scratch[p]
        new = workspace.vertex[p]
        delta = new - z[p]
        workspace.vertex[p] = delta
        if a == -np.inf:
            continue
        if new != 0.0:
            inner += workspace.theta[p] * new
        if delta != 0.0:
            linear += a * delta
            slope += (a - potentials[p]) * delta
            size += abs(a) * (new + z[p])
    square = packed.weight[i] / alpha * block_change(packed, i, workspace) / temperature
    found[2] = value - inner
    found[0] = linear + found[2] - entropy - 0.5 * square
    bend = rate * slope + square
    found[1] = slope / bend if bend > 0.0 else np.inf
    found[3] = slope
    found[4] = size


@compiled_function(types.float64(FLOATS, types.float64, types.float64))
def entropic_rate(found, rate, growth):
    """The rate after a step: shorter if the dual fell, else nearer to the best, growth at most."""
    if found[0] < 0.0:
        return rate * min(max(found[1], SHORTEST), LONGEST)
    if found[3] <= STILL * found[4]:
        return rate
    return min(rate * min(max(found[1], LONGEST), growth), 1.0)


@compiled_function(
    types.void(PACKED, types.int64, WORKSPACE, types.float64, FLOATS, WEIGHTS, FLOATS)
)
def entropic_move(packed, i, workspace, alpha, potentials, weights, z):
    """Take the step that was measured. potentials, z: of all samples."""
    start = packed.part_ptr[i]
    for p in range(packed.part_ptr[i + 1] - start):
        if workspace.scratch[p] != -np.inf:
            potentials[start + p] = workspace.theta[p]
        # rounding must not leave the polytope
        z[start + p] = max(z[start + p] + workspace.vertex[p], 0.0)
    move_weights(packed, i, workspace.change, -packed.weight[i] / alpha, weights)


@compiled_function(types.void(WEIGHTS))
def entropic_count(weights):
    """Count a step, see `count_step`."""
    count_step(weights, True)


@compiled_function(
    types.int64(
        PACKED, WORKSPACE, POINTER, INTS, types.float64, types.float64, types.float64,
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, WEIGHTS, FLOATS, COUNTERS, FLOATS,
    )
)  # fmt: skip
def entropic_pass(
    packed, workspace, marginals, order, alpha, temperature, growth,
    potentials, rates, last_rate, entropy, slopes, weights, z, counters, found,
):  # fmt: skip
    """One step for each sample named in `order`; returns a sample without marginals, or -1.

    rates : of each sample, 0 where not known; last_rate is the last one that was good.
    slopes : of each sample, set to (a - t) . delta / rate; times the temperature that is nearly
    twice the sample's gap. counters.steps counts attempts at a step, which are calls of marginals.
    """
    for i in order:
        if packed.weight[i] == 0.0:
            slopes[i] = 0.0
            count_step(weights, True)
            continue
        start, stop = packed.part_ptr[i], packed.part_ptr[i + 1]
        own, point = potentials[start:stop], z[start:stop]
        parts = entropic_scores(packed, i, workspace, weights, temperature)
        rate = rates[i] if rates[i] > 0.0 else last_rate[0]
        for _ in range(TRIES):
            entropic_trial(workspace, own, rate)
            counters.steps[0] += 1.0
            value = call_oracle(packed, i, workspace, marginals, parts)
            if not np.isfinite(value):
                return i
            entropic_gain(
                packed, i, workspace, own, point, value, rate, temperature, alpha, entropy[i], found
            )
            slopes[i] = found[3] / rate
            used, rate = rate, entropic_rate(found, rate, growth)
            if found[0] >= 0.0:
                entropic_move(packed, i, workspace, alpha, potentials, weights, z)
                entropy[i] = found[2]
                rates[i] = rate
                last_rate[0] = rate
                break
            if found[3] <= SMALL * found[4]:
                rates[i] = used
                break
        count_step(weights, True)
    return -1
