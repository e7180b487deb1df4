"""Solid shapes that rays meet, and the jointed puppets, sticks, rings, ropes and planks of them.

Lengths are in centimetres; x goes to the right, y away from the scanner, z up. Rays start at the
origin of the coordinates that shapes are in. All rays are treated at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Rng = np.random.RandomState
DOWN = np.array([0.0, 0.0, -1.0])


class Shape(ABC):
    """A convex solid: `middle` and `reach` are those of a ball around it."""

    middle: np.ndarray
    reach: float

    @abstractmethod
    def meet(self, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances (R,) at which rays (R, 3) of unit length enter, inf if never, and normals."""


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """Half axes `radii` along the columns of `frame`."""

    middle: np.ndarray
    radii: np.ndarray
    frame: np.ndarray

    @property
    def reach(self) -> float:  # type: ignore[override]
        return float(np.max(self.radii))

    def meet(self, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = rays @ self.frame / self.radii
        start = -(self.middle @ self.frame) / self.radii
        distance = _first_root((along**2).sum(axis=1), along @ start, start @ start - 1.0)
        local = start + np.where(np.isfinite(distance), distance, 0.0)[:, None] * along
        return distance, _unit((local / self.radii) @ self.frame.T)


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` of the line from a to b."""

    a: np.ndarray
    b: np.ndarray
    radius: float

    @property
    def middle(self) -> np.ndarray:  # type: ignore[override]
        return (self.a + self.b) / 2

    @property
    def reach(self) -> float:  # type: ignore[override]
        return float(np.linalg.norm(self.b - self.a)) / 2 + self.radius

    def meet(self, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length = float(np.linalg.norm(self.b - self.a))
        axis = (self.b - self.a) / length
        side = rays - np.outer(rays @ axis, axis)
        start = -self.a + (self.a @ axis) * axis
        tube = _first_root((side**2).sum(axis=1), side @ start, start @ start - self.radius**2)
        height = np.where(np.isfinite(tube), tube, 0.0) * (rays @ axis) - self.a @ axis
        tube[(height < 0) | (height > length)] = np.inf
        one = np.ones(len(rays))
        ends = [_first_root(one, -rays @ c, c @ c - self.radius**2) for c in (self.a, self.b)]
        distance = np.minimum(tube, np.minimum(*ends))
        point = np.where(np.isfinite(distance), distance, 0.0)[:, None] * rays
        foot = np.clip((point - self.a) @ axis, 0.0, length)
        return distance, _unit(point - self.a - np.outer(foot, axis))


@dataclass(frozen=True)
class Box(Shape):
    """Half sides `half` along the columns of `frame`."""

    middle: np.ndarray
    half: np.ndarray
    frame: np.ndarray

    @property
    def reach(self) -> float:  # type: ignore[override]
        return float(np.linalg.norm(self.half))

    def meet(self, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = rays @ self.frame
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        centre = self.middle @ self.frame
        enter = (centre - np.sign(along) * self.half) / along
        leave = (centre + np.sign(along) * self.half) / along
        face = enter.argmax(axis=1)
        rows = np.arange(len(rays))
        distance = enter[rows, face]
        distance = np.where(distance <= leave.min(axis=1), distance, np.inf)
        return distance, -np.sign(along[rows, face])[:, None] * self.frame.T[face]


def _first_root(a: np.ndarray, b: np.ndarray, c: float) -> np.ndarray:
    """The smaller t with  a t^2 + 2 b t + c = 0,  inf if there is none."""
    inside = b**2 - a * c
    found = (inside >= 0) & (a > 1e-12)
    root = np.sqrt(np.where(found, inside, 0.0))
    return np.where(found, (-b - root) / np.where(found, a, 1.0), np.inf)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


# -- things made of shapes -----------------------------------------------------------------------


def rotation_matrix(axis: np.ndarray, angle: float) -> np.ndarray:
    """(3, 3), the turn by an angle around an axis."""
    x, y, z = _unit(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def make_puppet(foot: np.ndarray, height: float, rng: Rng) -> list[Shape]:
    """A wooden puppet: head, neck, chest, belly, arms and legs in two pieces, hands and feet.

    foot : the place below its hips, on the ground. The joints are bent at random, within what a
    body can do.
    """
    h = height
    body = rotation_matrix(np.array([0.0, 0.0, 1.0]), rng.uniform(-0.9, 0.9))
    body = body @ rotation_matrix(rng.normal(size=3), rng.uniform(0.0, 0.25))
    hips = foot + np.array([0.0, 0.0, 0.5 * h])

    def place(x: float, y: float, z: float) -> np.ndarray:
        return hips + body @ (h * np.array([x, y, z]))

    def ball(at: tuple[float, float, float], radii: tuple[float, float, float]) -> Ellipsoid:
        return Ellipsoid(place(*at), h * np.array(radii), body)

    parts: list[Shape] = [
        ball((0, 0, 0.0), (0.09, 0.06, 0.065)),
        ball((0, 0, 0.11), (0.075, 0.055, 0.075)),
        ball((0, 0, 0.24), (0.105, 0.065, 0.105)),
        ball((0, 0, 0.435), (0.055, 0.06, 0.075)),
        Capsule(place(0, 0, 0.3), place(0, 0, 0.4), 0.025 * h),
    ]
    for side in (-1.0, 1.0):
        shoulder, hip = place(0.125 * side, 0, 0.3), place(0.055 * side, 0, -0.04)
        raised = rng.uniform(0.1, 2.4)
        arm = body @ _swing(side * raised, rng.uniform(-0.9, 0.9))
        parts += _limb(shoulder, arm, 0.17 * h, 0.16 * h, 0.03 * h, rng.uniform(0.0, 2.0), rng)
        leg = body @ _swing(side * rng.uniform(0.0, 0.5), rng.uniform(-0.6, 0.6))
        parts += _limb(hip, leg, 0.23 * h, 0.22 * h, 0.038 * h, -rng.uniform(0.0, 1.2), rng)
    return parts


def _swing(outwards: float, forwards: float) -> np.ndarray:
    """A direction that hung down before it was swung."""
    x_axis, y_axis = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    return rotation_matrix(x_axis, forwards) @ rotation_matrix(y_axis, -outwards) @ DOWN


def _limb(
    joint: np.ndarray,
    upper: np.ndarray,
    first: float,
    second: float,
    radius: float,
    bend: float,
    rng: Rng,
) -> list[Shape]:
    """Two pieces, bent at the joint between them, with a ball at the joint and a hand or foot."""
    across = _unit(np.cross(upper, rng.normal(size=3)) + np.array([0.6, 0.0, 0.0]))
    lower = rotation_matrix(across, bend) @ upper
    knee = joint + first * upper
    end = knee + second * lower
    round_ = np.full(3, 1.15 * radius)
    bulge = np.array([1.3 * radius, 1.3 * radius, 0.6 * first])
    calf = np.array([1.05 * radius, 1.05 * radius, 0.55 * second])
    hand = np.array([1.0, 0.7, 1.7]) * radius
    frame = _frame(lower, rng)
    return [
        Ellipsoid(joint, round_, np.eye(3)),
        Ellipsoid((joint + knee) / 2, bulge, _frame(upper, rng)),
        Ellipsoid(knee, round_, np.eye(3)),
        Ellipsoid(knee + 0.45 * (end - knee), calf, frame),
        Capsule(knee, end, 0.7 * radius),
        Ellipsoid(end + 1.3 * radius * lower, hand, frame),
    ]


def _frame(axis: np.ndarray, rng: Rng) -> np.ndarray:
    """(3, 3), a frame whose last column is the axis, turned at random around it."""
    side = _unit(np.cross(axis, rng.normal(size=3)))
    return np.column_stack([side, np.cross(axis, side), axis])


def make_stick(middle: np.ndarray, rng: Rng) -> list[Shape]:
    """A round stick, as thick as a thin limb or thinner."""
    axis = _unit(rng.normal(size=3) * np.array([1.0, 0.4, 1.0]))
    half = rng.uniform(5.0, 16.0) * axis
    return [Capsule(middle - half, middle + half, rng.uniform(0.3, 0.9))]


def make_ring(middle: np.ndarray, rng: Rng) -> list[Shape]:
    """A ring of short straight pieces."""
    frame = _frame(_unit(rng.normal(size=3)), rng)
    around = np.linspace(0.0, 2 * np.pi, 25)
    circle = np.column_stack([np.cos(around), np.sin(around), np.zeros(25)])
    return _chain(middle + rng.uniform(2.5, 6.0) * circle @ frame.T, rng.uniform(0.3, 0.9))


def make_rope(middle: np.ndarray, rng: Rng) -> list[Shape]:
    """A curved thin rope."""
    along = np.linspace(-1.0, 1.0, 17)[:, None]
    waves = sum(rng.normal(size=3) * np.sin(k * along + rng.uniform(0, 6)) / k for k in (2, 3, 5))
    line = rng.uniform(6.0, 12.0) * along * _unit(rng.normal(size=3))
    return _chain(middle + line + 2.5 * waves, rng.uniform(0.3, 0.6))


def make_plank(middle: np.ndarray, rng: Rng) -> list[Shape]:
    """A flat board."""
    half = np.array([rng.uniform(0.3, 0.5), rng.uniform(0.7, 1.8), rng.uniform(4.0, 10.0)])
    return [Box(middle, half, _frame(_unit(rng.normal(size=3)), rng))]


def _chain(points: np.ndarray, radius: float) -> list[Shape]:
    return [Capsule(a, b, radius) for a, b in pairwise(points)]
