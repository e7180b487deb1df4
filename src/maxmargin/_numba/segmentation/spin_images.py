"""What surrounds places in space: moments of the nearest points, and spin images.

places (n, 3) are looked at, points (N, 3) surround them. near (n, K) holds the numbers of the
points nearest to each place, nearest first; a number of N or more means that there are no more.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compiled_function, types

TABLE = types.Array(types.float64, 2, "C")
NUMBERS = types.Array(types.int64, 2, "C")


@compiled_function(types.void(TABLE, TABLE, NUMBERS, types.int64, TABLE))
def write_moments(places, points, near, count, out):
    """How the `count` nearest points of each place are spread.

    out (n, 11): variances and covariances xx, xy, xz, yy, yz, zz; their mean less the place, x, y,
    z; the lowest and the highest z, less the place's own.
    """
    size = len(points)
    for row in range(len(near)):
        x, y, z = places[row, 0], places[row, 1], places[row, 2]
        n = 0
        mx, my, mz, low, high = 0.0, 0.0, 0.0, np.inf, -np.inf
        for k in range(min(count, near.shape[1])):
            j = near[row, k]
            if j >= size:
                break
            n += 1
            mx += points[j, 0] - x
            my += points[j, 1] - y
            h = points[j, 2] - z
            mz += h
            low, high = min(low, h), max(high, h)
        mx, my, mz = mx / max(n, 1), my / max(n, 1), mz / max(n, 1)
        xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            j = near[row, k]
            a, b, c = points[j, 0] - x - mx, points[j, 1] - y - my, points[j, 2] - z - mz
            xx += a * a
            xy += a * b
            xz += a * c
            yy += b * b
            yz += b * c
            zz += c * c
        n = max(n, 1)
        out[row, 0], out[row, 1], out[row, 2] = xx / n, xy / n, xz / n
        out[row, 3], out[row, 4], out[row, 5] = yy / n, yz / n, zz / n
        out[row, 6], out[row, 7], out[row, 8] = mx, my, mz
        out[row, 9], out[row, 10] = low, high


@compiled_function(types.void(TABLE, TABLE, TABLE, NUMBERS, types.float64, types.int64, TABLE))
def spin_images(places, normals, points, near, radius, rings, out):
    """Spin images: how the points around are spread over rings about the normal, and over heights.

    Ring r < rings holds distances from the axis in radius / rings * (r, r + 1), layer l < layers
    heights along the normal in radius * (-1, 1), cut into equal parts; a point's share falls on the
    four nearest centres of bins, by bilinear weights, centres beyond the border being left out.
    out (n, rings * layers) is divided by the number of points counted, so that the density of the
    scan matters less.
    """
    size = len(points)
    layers = out.shape[1] // rings
    wide, high = radius / rings, 2.0 * radius / layers
    for row in range(len(near)):
        out[row] = 0.0
        n = 0
        for k in range(near.shape[1]):
            j = near[row, k]
            if j >= size:
                break
            dx, dy = points[j, 0] - places[row, 0], points[j, 1] - places[row, 1]
            dz = points[j, 2] - places[row, 2]
            along = dx * normals[row, 0] + dy * normals[row, 1] + dz * normals[row, 2]
            away = np.sqrt(max(dx * dx + dy * dy + dz * dz - along * along, 0.0))
            if away >= radius or abs(along) >= radius:
                continue
            n += 1
            a = away / wide - 0.5
            b = (along + radius) / high - 0.5
            ring, layer = int(np.floor(a)), int(np.floor(b))
            for r in range(2):
                for s in range(2):
                    if 0 <= ring + r < rings and 0 <= layer + s < layers:
                        weight = abs(a - ring - (1 - r)) * abs(b - layer - (1 - s))
                        out[row, (ring + r) * layers + layer + s] += weight
        for k in range(out.shape[1]):
            out[row, k] /= max(n, 1)
