"""Where the points of a cloud are drawn, which of them, and in which colours: numbers only.

What draws (matplotlib, SVG, PNG) is elsewhere; all pictures of segmentations share these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "COLOURS",
    "ROLES",
    "view_from_above",
    "view_in_perspective",
    "error_roles",
    "draw_subset",
]

#: what a pixel or point is, by truth and prediction; 1 is the foreground, 0 the background
ROLES = ("background", "foreground", "false foreground", "missed foreground")
#: of Okabe and Ito, as all pictures: grey, blue, vermilion, and a yellow that is lighter than it
COLOURS = ("#BDBDBD", "#0072B2", "#D55E00", "#F0C400")


def error_roles(truth: Any, predicted: Any = None) -> np.ndarray:
    """Places in ROLES and COLOURS, in the shape of truth; both sides are 0 and 1 or bool.

    Without predictions there are no false and no missed ones.
    """
    foreground = np.asarray(truth).astype(bool)
    guess = foreground if predicted is None else np.asarray(predicted).astype(bool)
    if guess.shape != foreground.shape:
        raise ValueError(f"truth has shape {foreground.shape}, predicted {guess.shape}.")
    found = foreground.astype(np.uint8)
    found[guess & ~foreground] = 2
    found[~guess & foreground] = 3
    return found


def view_from_above(points: Any) -> np.ndarray:
    """(N, 2), the points seen from above: x to the right, y up."""
    return _cloud(points)[:, :2].copy()


def view_in_perspective(
    points: Any, azimuth: float = -65.0, elevation: float = 25.0, distance: float = 3.0
) -> tuple[np.ndarray, np.ndarray]:
    """The points as an eye near them sees them: (N, 2) places, (N,) their order, farthest first.

    The eye looks at the middle of the box around the points. Places are in units of half the box's
    diagonal, z up, and within about +-1.5.

    Parameters
    ----------
    azimuth : degrees around the vertical; -90 looks along y (x to the right), 0 along -x.
    elevation : degrees above the horizontal; 90 is from above.
    distance : of the eye, in half diagonals, more than 1; a large one has no perspective.
    """
    if not distance > 1:
        raise ValueError(f"distance={distance!r} must be more than 1: the eye is outside.")
    cloud = _cloud(points)
    if not len(cloud):
        return np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    radius = float(np.linalg.norm(high - low)) / 2 or 1.0
    centred = (cloud - (low + high) / 2) / radius
    turn, tilt = np.deg2rad(azimuth), np.deg2rad(elevation)
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    towards = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    near = centred @ towards
    flat = centred @ np.column_stack([right, np.cross(towards, right)])
    return flat * (distance / (distance - near))[:, None], np.argsort(near, kind="stable")


def draw_subset(n: int, limit: int) -> np.ndarray:
    """At most `limit` of the numbers 0 .. n - 1, sorted, drawn at random but always the same ones.

    Every k-th point would show stripes, since scans list points in rows.
    """
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, limit, replace=False, shuffle=False))


def _cloud(points: Any) -> np.ndarray:
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] < 3:
        raise ValueError(f"points have shape {cloud.shape}, expected (N, 3).")
    return cloud[:, :3]
