"""What surrounds points, which of them are joined, and columns of it: known answers."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from maxmargin.tasks.segmentation.points import columns, edges as edging, features as measures


def plane(side=12, slope=(0.0, 0.0), seed=0):
    """Points of a plane, a little off a grid."""
    rng = np.random.default_rng(seed)
    flat = np.indices((side, side)).reshape(2, -1).T + rng.uniform(-0.2, 0.2, (side * side, 2))
    return np.column_stack([flat, flat @ np.asarray(slope)])


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.5, 0.0), (1.0, -2.0)])
def test_normals_and_thickness_of_a_plane(slope):
    points = plane(slope=slope)
    table, normals, _ = measures.shape_features(points, measures.average_in_cubes(points, 0.0))
    expected = np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1 + slope[0] ** 2 + slope[1] ** 2)
    np.testing.assert_allclose(normals, np.tile(expected, (len(points), 1)), atol=1e-9)
    names = [name.partition(" around")[0] for name in measures.shape_names(0)]
    np.testing.assert_allclose(table[:, names.index("thickness")], 0.0, atol=1e-6)
    np.testing.assert_allclose(table[:, names.index("tilt")], expected[2], atol=1e-9)


def test_shape_features_are_those_of_the_covariance():
    points = np.random.default_rng(0).standard_normal((60, 3))
    table, _, extents = measures.shape_features(points, measures.average_in_cubes(points, 0.0))
    order = np.argsort(cdist(points, points), axis=1)[:, : measures.SHAPE_POINTS]
    for own, extent, point, near in zip(table, extents, points, order, strict=True):
        around = points[near]
        width = np.sqrt(np.linalg.eigvalsh(np.cov(around.T, bias=True)))
        z = around[:, 2] - point[2]
        expected = [z.min(), z.max(), z.mean(), z.std()]
        expected += [width[0] / width[2], width[1] / width[2]]
        np.testing.assert_allclose(own[:6], expected, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose([own[7], extent], width[[0, 2]], rtol=1e-7)


def slow_spin(place, normal, points, radius):
    """The spin image of a place by the definition, one bin centre at a time."""
    image = np.zeros((measures.RINGS, measures.LAYERS))
    wide, high = radius / measures.RINGS, 2 * radius / measures.LAYERS
    count = 0
    for point in points:
        along = (point - place) @ normal
        away = np.linalg.norm(point - place - along * normal)
        if away >= radius or abs(along) >= radius:
            continue
        count += 1
        for r, s in itertools.product(range(measures.RINGS), range(measures.LAYERS)):
            a = 1 - abs(away - (r + 0.5) * wide) / wide
            b = 1 - abs(along + radius - (s + 0.5) * high) / high
            image[r, s] += max(a, 0) * max(b, 0)
    return image.ravel() / max(count, 1)


@pytest.mark.parametrize("kind", ["plane", "line", "ball"])
def test_spin_images_by_the_definition(kind):
    rng = np.random.default_rng(1)
    points = {
        "plane": plane(7, (0.3, 0.1)),
        "line": np.column_stack([np.linspace(0, 9, 40), np.zeros(40), np.zeros(40)]),
        "ball": rng.standard_normal((50, 3)),
    }[kind]
    normals = rng.standard_normal((len(points), 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    found = measures.spin_features(points, normals, measures.average_in_cubes(points, 0.0), 2.0)
    expected = [slow_spin(p, v, points, 2.0) for p, v in zip(points, normals, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_spin_image_of_a_plane_fills_the_middle_layer_only():
    points = plane(15)
    points[:, 2] = 0.0
    normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    level = measures.average_in_cubes(points, 0.0)
    image = measures.spin_features(points, normals, level, 3.0).reshape(
        len(points), measures.RINGS, -1
    )
    assert (np.delete(image, measures.LAYERS // 2, axis=2) == 0).all()
    assert (image[:, :, measures.LAYERS // 2].sum(axis=1) > 0.5).all()


def test_thinning_takes_means_of_cubes():
    points = np.array([[0.1, 0.1, 0.1], [0.3, 0.5, 0.7], [1.5, 0.0, 0.0], [0.0, 0.0, 9.9]])
    found = measures.average_in_cubes(points, 1.0).points
    expected = np.array([[0.0, 0.0, 9.9], [0.2, 0.3, 0.4], [1.5, 0.0, 0.0]])
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_heights_above_ground_of_a_box():
    points = plane(40)
    box = ((points[:, :2] > 15) & (points[:, :2] < 22)).all(axis=1)
    points[box, 2] += 5.0
    found = measures.heights_above(points, 1.0, np.array([2.0, 6.0]))
    deep = ((points[:, :2] > 17) & (points[:, :2] < 20)).all(axis=1)
    assert found[deep, 0].max() < 0.1  # wider than the smaller square: still there
    np.testing.assert_allclose(found[deep, 2], 5.0)
    far = ((points[:, :2] < 5) | (points[:, :2] > 32)).any(axis=1)
    np.testing.assert_allclose(found[far][:, [0, 2, 4]], 0.0, atol=1e-9)


def test_windows_wider_than_the_map_see_all_of_it():
    points = plane(10)
    points[:, 2] = np.arange(len(points))
    wide = measures.heights_above(points, 1.0, np.array([11.0]))
    np.testing.assert_allclose(wide[:, 0], points[:, 2], atol=1e-9)
    np.testing.assert_array_equal(measures.heights_above(points, 1.0, np.array([1e300])), wide)


def test_stray_points_far_away_leave_the_map_as_fine():
    points = np.vstack([plane(40), [[1e7, -1e7, 0.0]]])
    points[100, 2] = 3.0
    found = measures.heights_above(points, 1.0, np.array([2.0]))
    assert found[100, 0] > 2.9


@pytest.mark.parametrize("dimensions", [2, 3])
def test_nearest_edges_by_brute_force(dimensions):
    places = np.random.default_rng(2).standard_normal((50, dimensions))
    apart = cdist(places, places)
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :4]
    expected = {tuple(sorted((i, j))) for i in range(50) for j in near[i].tolist()}
    found = edging.nearest_edges(places, 4)
    assert {tuple(edge) for edge in found.tolist()} == expected
    assert len(found) == len(expected)


def test_surface_of_a_grid_with_points_above_each_other():
    flat = np.array([[0, 0], [1, 0], [0, 1], [1, 1.1], [0, 0], [0, 0], [50, 50]], dtype=float)
    points = np.column_stack([flat, [0.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0]])
    found = {tuple(edge) for edge in edging.surface_edges(points, 3.0).tolist()}
    assert {(0, 5), (4, 5), (0, 1), (0, 2), (1, 3), (2, 3)} <= found  # 0, then 5, then 4 above it
    assert not any(6 in edge for edge in found)
    assert len(found) == 7


def test_points_on_a_line_are_joined_in_order():
    points = np.column_stack([np.array([3.0, 0, 2, 1]), np.zeros(4), np.zeros(4)])
    found = edging.surface_edges(points, 9.0).tolist()
    assert sorted(map(tuple, found)) == [(0, 2), (1, 3), (2, 3)]


def test_hats_interpolate():
    table = np.random.default_rng(0).standard_normal((200, 3))
    knots = columns.learn_knots(table, 5)
    where, share = columns.hat_columns(table, knots)
    np.testing.assert_allclose(
        (knots.ravel()[where] * share)[:, ::2] + (knots.ravel()[where] * share)[:, 1::2],
        np.clip(table, knots[:, 0], knots[:, -1]),
    )
    assert (share >= 0).all()
    np.testing.assert_allclose(share.reshape(200, 3, 2).sum(axis=2), 1.0)


def test_axes_are_the_principal_ones():
    table = np.random.default_rng(0).standard_normal((300, 6)) @ np.diag([5, 4, 3, 2, 1, 0.0])
    mean, axes = columns.learn_axes(table, 4)
    found = (table - mean) @ axes
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(4), atol=1e-10)
    _, values, directions = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    expected = (table - mean) @ directions[:4].T / values[:4] * np.sqrt(300)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)
    assert columns.learn_axes(table, 45)[1].shape == (6, 5)  # the sixth never varies
