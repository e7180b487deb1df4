"""The references that tests trust, checked against each other and against known answers."""

from itertools import product

import numpy as np
import pytest

from reference import chains, interior_point
from reference.enumeration import nearest_in_hull

SHAPES = [(1, 1), (1, 3), (2, 2), (3, 2), (3, 3), (4, 2), (2, 5)]


def hull(shape, tied, rng):
    """Label sequences as vertices, in any order."""
    vertices = [chains.vertex(y, shape, tied) for y in chains.sequences(shape)]
    return rng.permutation(np.array(vertices, dtype=float))


@pytest.mark.parametrize("tied", [True, False])
def test_the_projection_of_zero_is_the_mean_of_all_sequences_in_any_order(tied):
    rng = np.random.default_rng(0)
    for shape in SHAPES * 10:
        vertices = hull(shape, tied, rng)
        mean = vertices.mean(axis=0)
        assert np.abs(nearest_in_hull(np.zeros(len(mean)), vertices) - mean).max() <= 1e-12


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 30.0])
def test_projections_are_those_of_an_interior_point_solver(tied, scale):
    rng = np.random.default_rng(1)
    for shape in SHAPES * 3:
        vertices = hull(shape, tied, rng)
        point = scale * rng.standard_normal(vertices.shape[1])
        other = interior_point.nearest_mixture(vertices, point)
        assert np.abs(nearest_in_hull(point, vertices) - other).max() <= 1e-6


def test_projections_on_a_cube_and_a_simplex_have_formulas():
    rng = np.random.default_rng(2)
    cube = np.array(list(product([0.0, 1.0], repeat=4)))
    for _ in range(20):
        point = 2 * rng.standard_normal(4)
        assert np.abs(nearest_in_hull(point, cube) - np.clip(point, 0, 1)).max() <= 1e-12
        high = np.sort(point)[::-1]
        shifts = (np.cumsum(high) - 1) / np.arange(1, 5)
        wanted = np.maximum(point - shifts[high > shifts][-1], 0)
        assert np.abs(nearest_in_hull(point, np.eye(4)) - wanted).max() <= 1e-12


@pytest.mark.parametrize("tied", [True, False])
def test_mixtures_of_vertices_are_their_own_projections(tied):
    rng = np.random.default_rng(3)
    for shape in [*SHAPES, (4, 3)] * 20:
        vertices = hull(shape, tied, rng)
        shares = 10.0 ** rng.uniform(-rng.choice([1, 8, 17]), 0, len(vertices))
        shares[12:] = 0.0
        z = shares @ vertices / shares.sum()
        assert np.abs(nearest_in_hull(z, vertices) - z).max() <= 1e-12
