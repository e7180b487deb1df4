"""What sets the foreground apart in its image: colours that neither border nor rest have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from maxmargin.tasks.segmentation.images.regions import Regions

#: how wide the border is, of the way from the border to the centre
RIM = 0.2
#: colours this far apart (L*a*b* / 100) count as different
ALIKE = 0.1
#: squared distances up to here are rounding
SAME = 1e-6


def palette_of(colours: np.ndarray, n_colours: int, rng: np.random.Generator) -> np.ndarray:
    """(K, 3), typical colours: k-means, started at colours drawn far apart."""
    centres = colours[rng.integers(len(colours))][None]
    while len(centres) < n_colours:
        far = _apart(colours, centres).min(axis=1).astype(np.float64)
        far = np.where(far > SAME, far, 0.0)
        if not far.any():  # fewer colours than asked for
            break
        centres = np.vstack([centres, colours[rng.choice(len(colours), p=far / far.sum())]])
    for _ in range(20):
        own = _apart(colours, centres).argmin(axis=1)
        count = np.bincount(own, minlength=len(centres))
        sums = [np.bincount(own, colours[:, k], minlength=len(centres)) for k in range(3)]
        kept = count > 0
        centres[kept] = (np.column_stack(sums)[kept] / count[kept, None]).astype(np.float32)
    return centres[np.lexsort(centres.T[::-1])]


def nearest_colours(lab: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """(H, W) uint16, the typical colour next to that of each pixel."""
    found = np.empty(lab.shape[:2], dtype=np.uint16)
    rows = max(1, 50_000 // lab.shape[1])
    for row in range(0, len(lab), rows):
        band = lab[row : row + rows]
        own = _apart(band.reshape(-1, 3), palette).argmin(axis=1)
        found[row : row + rows] = own.reshape(band.shape[:2])
    return found


def colour_histograms(codes: np.ndarray, regions: Regions, n_colours: int) -> sparse.csr_array:
    """(V, K), which share of the pixels of a node is next to each typical colour."""
    flat = codes.ravel().astype(np.int32)
    shape = (regions.n, n_colours)
    if regions.labels is None:
        ones, starts = np.ones(len(flat), dtype=np.float32), np.arange(len(flat) + 1)
        return sparse.csr_array((ones, flat, starts), shape=shape)
    keys = regions.labels.ravel().astype(np.int64) * n_colours + flat
    found, count = np.unique(keys, return_counts=True)
    rows = found // n_colours
    share = count / regions.size[rows]
    return sparse.csr_array((share.astype(np.float32), (rows, found % n_colours)), shape=shape)


def colour_contrasts(
    hist: sparse.csr_array, palette: np.ndarray, weight: np.ndarray, place: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """How common the colours of a node are at the border, in the centre and everywhere.

    weight : (V,), pixels of a node. place : (V, 2), row and column from -1 to 1.
    """
    squares = _apart(palette, palette)
    alike = np.exp(-squares / (2 * ALIKE**2))

    def share(of: np.ndarray) -> np.ndarray:
        """Of each typical colour, with those like it, where the weights `of` are."""
        return alike @ (hist.T @ of) / max(float(of.sum()), 1e-12) + 1e-3

    rim = np.abs(place).max(axis=1)
    common = share(weight)
    border = share(weight * np.clip((rim - 1 + 2 * RIM) / RIM, 0, 1))
    centre = share(weight * np.exp(-2 * (place**2).sum(axis=1)))
    yield "unlike border", hist @ np.log(common / border)
    yield "like centre", hist @ np.log(centre / border)
    for name, axis, sign in (("top", 0, -1), ("bottom", 0, 1), ("left", 1, -1), ("right", 1, 1)):
        side = share(weight * (sign * place[:, axis] > 1 - RIM - 0.1))
        yield f"unlike {name}", hist @ np.log(common / side)
    mass = hist.T @ weight
    yield "rare", hist @ -np.log(common)
    yield "apart from all", hist @ (np.sqrt(squares) @ (mass / mass.sum()))
    where = [alike @ (hist.T @ (weight * place[:, k])) for k in range(2)]
    square = alike @ (hist.T @ (weight * (place**2).sum(axis=1)))
    total = np.maximum(alike @ mass, 1e-12)
    spread = square / total - (where[0] / total) ** 2 - (where[1] / total) ** 2
    yield "spread of its colour", hist @ np.sqrt(np.maximum(spread, 0))
    yield "its colour off centre", hist @ np.hypot(where[0] / total, where[1] / total)


def way_to_border(regions: Regions, cost: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """(V,), the least sum of costs of edges on a way from a node to those of the rim."""
    first, last = regions.edges.T
    graph = sparse.csr_array((cost + 1e-9, (first, last)), shape=(regions.n, regions.n))
    starts = np.flatnonzero(rim)
    return dijkstra(graph, directed=False, indices=starts, min_only=True)


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances of the rows of a and of b."""
    products = a @ b.T
    return np.maximum((a * a).sum(axis=1)[:, None] - 2 * products + (b * b).sum(axis=1), 0)
