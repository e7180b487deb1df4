"""Labels of pixels and points as small maps, for the pictures of reports."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from maxmargin.drawing import views
from maxmargin.tasks.documents import AreaMap

#: sides of a map
IMAGE_SIDE, SCAN_SIDE = 128, 240
#: points that are drawn
MAX_POINTS = 60_000


def image_map(name: str, roles: np.ndarray) -> tuple[AreaMap, Any]:
    """A map of what each pixel is, made smaller by leaving out rows and columns; and which."""
    height, width = roles.shape
    step = max(1.0, max(height, width) / IMAGE_SIDE)
    rows = (np.arange(max(1, int(height / step))) * step + step / 2).astype(np.int64)
    columns = (np.arange(max(1, int(width / step))) * step + step / 2).astype(np.int64)
    kept = np.ix_(np.minimum(rows, height - 1), np.minimum(columns, width - 1))
    return _area(name, 1 + roles[kept]), kept


def encode_bytes(values: np.ndarray) -> str:
    """Bytes as text."""
    raw = np.ascontiguousarray(values, dtype=np.uint8).tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def scan_maps(points: np.ndarray, roles: np.ndarray) -> list[AreaMap]:
    """The points from above and in perspective, a dot each."""
    kept = views.draw_subset(len(points), MAX_POINTS)
    cloud, own = points[kept], roles[kept]
    # high ones last, as they hide those beneath
    over = np.argsort(cloud[:, 2], kind="stable")
    above = _dots("from above", views.view_from_above(cloud)[over], own[over])
    places, order = views.view_in_perspective(cloud)
    return [above, _dots("in perspective", places[order], own[order])]


def _dots(name: str, places: np.ndarray, roles: np.ndarray) -> AreaMap:
    """Places as pixels, later ones over earlier ones; a dot is larger if there are few."""
    low = places.min(axis=0)
    spans = np.maximum(places.max(axis=0) - low, 1e-12)
    scale = (SCAN_SIDE - 1) / spans.max()
    width, height = (np.floor(spans * scale).astype(np.int64) + 1).tolist()
    columns = ((places[:, 0] - low[0]) * scale).astype(np.int64)
    rows = height - 1 - ((places[:, 1] - low[1]) * scale).astype(np.int64)
    size = int(np.clip(np.sqrt(width * height / max(len(roles), 1) / 2), 1, 4))
    found = np.zeros((height + size, width + size), dtype=np.uint8)
    for down in range(size):
        for right in range(size):
            found[rows + down, columns + right] = 1 + roles
    return _area(name, found[:height, :width])


def _area(name: str, codes: np.ndarray) -> AreaMap:
    height, width = codes.shape
    return AreaMap(name=name, height=int(height), width=int(width), codes=encode_bytes(codes))


def area_roles(classes: np.ndarray, truth: Any, predicted: Any) -> np.ndarray:
    """Places in `views.ROLES`; the last of the classes is the foreground."""
    foreground = classes[-1]
    return views.error_roles(np.asarray(truth) == foreground, np.asarray(predicted) == foreground)
