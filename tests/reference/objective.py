"""The training problem by its formulas, over dense matrices and lists of vertices."""

from dataclasses import dataclass

import numpy as np

from reference.enumeration import score


@dataclass
class Sample:
    """matrix: F, one column per part; costs: c; truth: y; vertices: of Z; weight: omega."""

    matrix: np.ndarray
    costs: np.ndarray
    truth: np.ndarray
    vertices: list
    weight: float


def scores(sample, w):
    """a = F^T w + c."""
    return sample.matrix.T @ w + sample.costs


def gap(sample, w, z):
    """max_s a . (s - z)."""
    a = scores(sample, w)
    return max(score(a, s) for s in sample.vertices) - score(a, z)


def loss(sample, z):
    """c . z + d with d = -c . y."""
    return score(sample.costs, z) - score(sample.costs, sample.truth)


def hinge(sample, w):
    """max_z loss(z) + w . F z - w . F y, by the definition."""
    return max(loss(sample, z) + w @ sample.matrix @ (z - sample.truth) for z in sample.vertices)


def primal(samples, w, alpha):
    return alpha / 2 * (w @ w) + sum(s.weight * hinge(s, w) for s in samples)


def weights(samples, points, alpha):
    """w(z) = 1/alpha sum_i omega_i F_i (y_i - z_i)."""
    pairs = zip(samples, points, strict=True)
    return sum(s.weight * (s.matrix @ (s.truth - z)) for s, z in pairs) / alpha


def dual(samples, points, alpha):
    w = weights(samples, points, alpha)
    pairs = zip(samples, points, strict=True)
    return -alpha / 2 * (w @ w) + sum(s.weight * loss(s, z) for s, z in pairs)
