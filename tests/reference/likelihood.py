"""Conditional likelihood by listing all outputs, in plain numpy, and its optimum by scipy."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax


def likelihood(training, w):
    """alpha/2 |w|^2 - sum_i omega_i log p(y_i), and its gradient."""
    value, slope = training.alpha / 2 * float(w @ w), training.alpha * w
    for block in training.blocks:
        theta = block.matrix.T @ w
        scores = block.vertices @ theta
        value += block.weight * (logsumexp(scores) - theta @ block.truth)
        mean = softmax(scores) @ block.vertices
        slope = slope + block.weight * (block.matrix @ (mean - block.truth))
    return value, slope


def most_likely(training):
    """The optimum and its weights, by L-BFGS-B."""
    found = minimize(
        lambda w: likelihood(training, w), np.zeros(training.dim), jac=True, method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000, "maxfun": 10000},
    )  # fmt: skip
    return float(found.fun), found.x


def entropy(shares):
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())
