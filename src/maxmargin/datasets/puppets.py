"""Synthetic range scans of jointed puppets among clutter, seen from one side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from maxmargin.datasets.puppet_shapes import (
    Rng,
    Shape,
    make_plank,
    make_puppet,
    make_ring,
    make_rope,
    make_stick,
)

#: where the scanner is, and the half angles (as tangents) of what it sees
SCANNER = np.array([0.0, -110.0, 18.0])
WIDE, HIGH = 0.36, 0.25
#: kinds of clutter and how often they come
CLUTTER = (make_stick, make_stick, make_stick, make_ring, make_ring, make_rope, make_plank)

DESCR = """Synthetic range scans of three jointed wooden puppets among sticks, rings, ropes and
planks, made by casting rays from one viewpoint: near things hide what is behind them, depths have
noise, and surfaces seen at a grazing angle often give no point. After the description of the scans
in Taskar, Lacoste-Julien and Jordan (2006), section 6.1; the shapes are our own.

clouds : points (x, y, z) in centimetres: to the right, away from the scanner, up.
labels : 1 = puppet, 0 = clutter.
edges : surface links, pairs of points that were next to each other in the scanner's grid (in rows,
    columns, and along the shorter diagonal of a cell) without a jump in depth.
"""


@dataclass(frozen=True)
class _Hits:
    """What the rays of a grid (rows, columns) meet: depth (inf = nothing), angle, owner's label."""

    depth: np.ndarray
    facing: np.ndarray
    label: np.ndarray


def make_puppets(
    n_scans: int = 11,
    n_points: int = 7250,
    *,
    clutter: int = 24,
    noise: float = 0.05,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Simulate range scans of puppets with random joint angles, among clutter.

    Eleven scans of three puppets each, split 5 / 3 / 3 for training, validation and test, are the
    setting of Taskar, Lacoste-Julien and Jordan (2006), who trained on about 37,000 points and
    88,000 links; the default has 37,000 and 91,000. Scan i is the same for any n_scans.

    Parameters
    ----------
    n_scans : int, default=11
        Number of scans.
    n_points : int, default=7250
        Approximate number of points of a scan, which determines the resolution of the scanner.
    clutter : int, default=24
        Number of sticks, rings, ropes and planks at random places around and in front.
    noise : float, default=0.05
        Standard deviation of depths in centimetres; neighbouring points are about 0.4 apart.
    random_state : int, RandomState or None, default=0
        Seed; the same integer gives bitwise identical data.

    Returns
    -------
    Bunch
        With `clouds`, list of float64 (N, 3), x to the right, y away from the scanner, z up;
        `labels`, list of int (N,), 1 = puppet, 0 = clutter; `edges`, list of int (E, 2), surface
        links; `names`; `DESCR`. A sample of ``Segmenter(kind="points")`` with these links is
        (cloud, edges).

    Examples
    --------
    >>> scans = make_puppets(n_scans=2, n_points=500)
    >>> samples = list(zip(scans.clouds, scans.edges))
    """
    if n_scans < 1 or n_points < 10 or clutter < 0:
        raise ValueError(
            "n_scans must be at least 1, n_points at least 10 and clutter at least 0: got"
            f" {n_scans}, {n_points}, {clutter}"
        )
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is {noise}, expected a number, 0 or more")
    rng = check_random_state(random_state)
    seeds = [rng.randint(2**31 - 1) for _ in range(n_scans)]
    scans = [_scan(n_points, clutter, noise, np.random.RandomState(seed)) for seed in seeds]
    clouds, labels, edges = (list(column) for column in zip(*scans, strict=True))
    names = [f"scan {i}" for i in range(n_scans)]
    return Bunch(clouds=clouds, labels=labels, edges=edges, names=names, DESCR=DESCR)


def _scan(
    n_points: int, clutter: int, noise: float, rng: Rng
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    figures, others = _scene(clutter, rng)
    coarse = _cast(_grid(60), figures, others)
    share = float(np.mean(_chance(coarse)))
    columns = int(np.sqrt(n_points / max(share, 0.01) * WIDE / HIGH))
    rays = _grid(max(columns, 2))
    hits = _cast(rays, figures, others)
    kept = rng.uniform(size=hits.depth.shape) < _chance(hits)
    depth = np.where(kept, hits.depth + noise * rng.standard_normal(kept.shape), np.inf)
    # one step of the grid on a surface that is turned away by 68 degrees
    jump = 2.5 * 2 * WIDE / columns * float(np.linalg.norm(SCANNER))
    points = SCANNER + depth[kept][:, None] * rays[kept]
    return points, hits.label[kept].astype(np.int64), _links(depth, kept, jump)


def _scene(clutter: int, rng: Rng) -> tuple[list[Shape], list[Shape]]:
    """Puppets and clutter, in the coordinates of the rays."""
    figures: list[Shape] = []
    for x, height in zip((-19.0, 0.0, 19.0), rng.permutation([26.0, 32.0, 38.0]), strict=True):
        foot = np.array([x + rng.uniform(-5, 5), rng.uniform(-8, 8), rng.uniform(-1, 2)])
        figures += make_puppet(foot - SCANNER, height, rng)
    others: list[Shape] = []
    for _ in range(clutter):
        middle = np.array([rng.uniform(-34, 34), rng.uniform(-16, 14), rng.uniform(0, 38)])
        make = CLUTTER[rng.randint(len(CLUTTER))]
        others += make(middle - SCANNER, rng)
    return figures, others


def _grid(columns: int) -> np.ndarray:
    """(rows, columns, 3), the directions of the rays, top row first."""
    rows = max(2, round(columns * HIGH / WIDE))
    across, up = np.linspace(-WIDE, WIDE, columns), np.linspace(HIGH, -HIGH, rows)
    rays = np.stack([*np.broadcast_arrays(across[None, :], 1.0, up[:, None])], axis=2)
    return rays / np.linalg.norm(rays, axis=2, keepdims=True)


def _cast(rays: np.ndarray, figures: list[Shape], others: list[Shape]) -> _Hits:
    """The first thing that each ray meets."""
    flat = rays.reshape(-1, 3)
    depth, facing = np.full(len(flat), np.inf), np.zeros(len(flat))
    label = np.zeros(len(flat), dtype=bool)
    for number, shape in enumerate([*figures, *others]):
        towards = flat @ shape.middle
        near = np.flatnonzero(shape.middle @ shape.middle - towards**2 <= shape.reach**2)
        distance, normal = shape.meet(flat[near])
        first = (distance < depth[near]) & (distance > 0)
        own = near[first]
        depth[own] = distance[first]
        facing[own] = -(normal[first] * flat[own]).sum(axis=1)
        label[own] = number < len(figures)
    grid = rays.shape[:2]
    return _Hits(depth.reshape(grid), facing.reshape(grid), label.reshape(grid))


def _chance(hits: _Hits) -> np.ndarray:
    """How likely each ray gives a point: less so where a surface is seen at a grazing angle."""
    return np.where(np.isfinite(hits.depth), 0.93 * np.clip(4.0 * hits.facing, 0.0, 1.0), 0.0)


def _links(depth: np.ndarray, kept: np.ndarray, jump: float) -> np.ndarray:
    """Pairs of points, numbered along the rows of the grid, that are next to each other."""
    number = np.cumsum(kept).reshape(kept.shape) - 1
    here, right, below, across = (np.s_[:-1, :-1], np.s_[:-1, 1:], np.s_[1:, :-1], np.s_[1:, 1:])

    def steps(a: Any, b: Any) -> np.ndarray:
        both = kept[a] & kept[b]
        return np.where(both, np.abs(np.where(both, depth[a], 0.0) - depth[b]), np.inf)

    falling, rising = steps(here, across), steps(right, below)
    ways = [
        (np.s_[:, :-1], np.s_[:, 1:], steps(np.s_[:, :-1], np.s_[:, 1:])),
        (np.s_[:-1, :], np.s_[1:, :], steps(np.s_[:-1, :], np.s_[1:, :])),
        (here, across, np.where(falling <= rising, falling, np.inf)),
        (right, below, np.where(rising < falling, rising, np.inf)),
    ]
    pairs = []
    for a, b, step in ways:
        linked = step <= jump
        pairs.append(np.column_stack([number[a][linked], number[b][linked]]))
    return np.concatenate(pairs)
