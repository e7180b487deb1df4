"""The training problem over lists of all vertices, in dense numpy: exact values and optima.

P(w) = alpha/2 |w|^2 + sum_i omega_i max_v [w . F_i (v - y_i) + c_i . (v - y_i)]
D(z) = min_w [alpha/2 |w|^2 - alpha w . raw(z)] + sum_i omega_i c_i . (z_i - y_i)
w(z) = the w of that minimum, which is raw(z) = 1/alpha sum_i omega_i F_i (y_i - z_i) on R^d
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count

import numpy as np

from reference.enumeration import nearest_in_hull
from reference.weight_sets import WeightSet


@dataclass(frozen=True)
class Block:
    """One sample. matrix: F, a column per part; vertices: all allowed outputs, one per row."""

    matrix: np.ndarray
    costs: np.ndarray
    truth: np.ndarray
    vertices: np.ndarray
    weight: float

    @cached_property
    def losses(self):
        """c . (v - y) of each vertex v."""
        return (self.vertices - self.truth) @ self.costs

    @cached_property
    def moves(self):
        """F (y - v) of each vertex v, one per row."""
        return (self.truth - self.vertices) @ self.matrix.T

    def best(self, w, costs=True):
        """The vertex with the highest score, the costs added or not."""
        theta = self.matrix.T @ w + (self.costs if costs else 0.0)
        return self.vertices[np.argmax(self.vertices @ theta)]

    def distance(self, z):
        """How far z is from the hull of the vertices, in the largest coordinate."""
        return float(np.abs(z - nearest_in_hull(z, self.vertices)).max())


@dataclass(frozen=True, eq=False)  # each is equal to itself only, so that optima can be kept
class Training:
    """Blocks, the penalty, and the set of weights: anything that can `project`."""

    blocks: list
    alpha: float
    where: object = field(default_factory=lambda: WeightSet("all"))

    @property
    def dim(self):
        return len(self.blocks[0].matrix)

    def split(self, z):
        """A flat dual point, sample by sample."""
        return np.split(z, np.cumsum([len(b.truth) for b in self.blocks])[:-1])

    def truth(self):
        return np.concatenate([b.truth for b in self.blocks])

    def hinges(self, w):
        return np.array([(b.losses - b.moves @ w).max() for b in self.blocks])

    def primal(self, w):
        omega = np.array([b.weight for b in self.blocks])
        return float(self.alpha / 2 * (w @ w) + omega @ self.hinges(w))

    def raw(self, z):
        pairs = zip(self.blocks, self.split(z), strict=True)
        return sum(b.weight * (b.matrix @ (b.truth - p)) for b, p in pairs) / self.alpha

    def weights(self, z):
        return self.where.project(self.raw(z))

    def dual(self, z):
        raw = self.raw(z)
        w = self.where.project(raw)
        pairs = zip(self.blocks, self.split(z), strict=True)
        losses = sum(b.weight * (b.costs @ (p - b.truth)) for b, p in pairs)
        return float(losses - self.alpha * (raw @ w - w @ w / 2))

    def distance(self, z):
        """How far the dual point is from being feasible."""
        return max(b.distance(p) for b, p in zip(self.blocks, self.split(z), strict=True))


@lru_cache
def optimum(training, tol=1e-9, max_steps=200_000):
    """(primal, dual, w) with primal - dual <= tol * primal."""
    primal, dual, w = approach_optimum(training, tol, max_steps)
    assert primal - dual <= tol * primal, "the reference optimum was not reached"
    return primal, dual, w


def approach_optimum(training, tol, max_steps):
    """(primal, dual, w) with the optimum between the two, max_steps being a multiple of 100.

    Accelerated projected gradient with restarts on the shares of the vertices, product of
    simplices; every hundredth step looks at the exact gap.
    """
    alpha, blocks, where = training.alpha, training.blocks, training.where
    columns = np.vstack([b.weight * b.moves for b in blocks]) / alpha
    gains = np.concatenate([b.weight * b.losses for b in blocks])
    sizes = np.array([len(b.vertices) for b in blocks])
    places = np.arange(sizes.max()) < sizes[:, None]
    rate = 1.0 / (alpha * max(np.linalg.norm(columns, 2), 1e-2) ** 2)
    shares = np.repeat(1.0 / sizes, sizes)
    ahead, pace, value = shares, 1.0, -np.inf
    for step in count():
        slope = gains - alpha * (columns @ where.project(ahead @ columns))
        new = _on_simplices(ahead + rate * slope, places)
        raw = new @ columns
        w = where.project(raw)
        risen = gains @ new - alpha * (raw @ w - w @ w / 2)
        if step % 100 == 99:
            primal = training.primal(w)
            if primal - risen <= tol * primal or step + 1 >= max_steps:
                return primal, risen, w
        if risen < value:
            ahead, pace, value = shares, 1.0, -np.inf
            continue
        next_pace = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = new + (pace - 1) / next_pace * (new - shares)
        shares, pace, value = new, next_pace, risen


def _on_simplices(point, places):
    """The nearest point on a product of simplices; places : (simplices, entries), where they are.

    All at once, because the reference takes most of the time of some batteries.
    """
    own = np.full(places.shape, -np.inf)
    own[places] = point
    high = -np.sort(-own, axis=1)
    level = (np.cumsum(high, axis=1) - 1.0) / np.arange(1, own.shape[1] + 1)
    last = (high > level).sum(axis=1, keepdims=True) - 1
    return np.maximum(own - np.take_along_axis(level, last, axis=1), 0.0)[places]
