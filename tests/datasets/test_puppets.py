"""make_puppets: seeds, sizes, what hides what, and links along surfaces only."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from maxmargin.datasets import make_puppets
from maxmargin.datasets.puppet_shapes import (
    Box,
    Capsule,
    Ellipsoid,
    make_plank,
    make_puppet,
    make_ring,
    make_rope,
)
from maxmargin.datasets.puppets import SCANNER, _cast, _grid, _links
from maxmargin.inputs import Graph


@pytest.fixture(scope="module")
def scans():
    return make_puppets(n_scans=3, n_points=2000, random_state=4)


def test_same_seed_same_bits_for_any_number_of_scans(scans):
    fewer = make_puppets(n_scans=2, n_points=2000, random_state=np.random.RandomState(4))
    for key in ("clouds", "labels", "edges"):
        for a, b in zip(scans[key], fewer[key], strict=False):
            assert np.array_equal(a, b)
    other = make_puppets(n_scans=1, n_points=2000, random_state=5)
    assert not np.array_equal(other.clouds[0][:100], scans.clouds[0][:100])


def test_shapes_and_types(scans):
    assert scans.names == ["scan 0", "scan 1", "scan 2"]
    for cloud, labels, edges in zip(scans.clouds, scans.labels, scans.edges, strict=True):
        assert cloud.dtype == np.float64
        assert cloud.shape == (len(labels), 3)
        assert np.isfinite(cloud).all()
        assert edges.shape[1] == 2
        assert edges.min() >= 0
        assert edges.max() < len(cloud)
        assert 0.85 * 2000 < len(cloud) < 1.15 * 2000
        # both are there in plenty
        assert 0.25 < labels.mean() < 0.85


def test_papers_size():
    scans = make_puppets(n_scans=5)
    assert 35_000 < sum(map(len, scans.clouds)) < 39_000
    assert 84_000 < sum(map(len, scans.edges)) < 95_000


def test_links_make_a_graph_of_neighbours(scans):
    for cloud, edges in zip(scans.clouds, scans.edges, strict=True):
        Graph(np.zeros((len(cloud), 1)), edges)  # no self-loop and no edge twice, or an error
        rays = cloud - SCANNER
        depth = np.linalg.norm(rays, axis=1)
        rays /= depth[:, None]
        apart = np.linalg.norm(rays[edges[:, 0]] - rays[edges[:, 1]], axis=1)
        step = apart.min()
        # the diagonal of a cell of the grid, whose cells are nearly square
        assert apart.max() < 1.7 * step
        jumps = np.abs(depth[edges[:, 0]] - depth[edges[:, 1]])
        assert jumps.max() < 5.0 * step * depth.max()


def test_links_by_hand():
    depth = np.array([[1.0, 1.1, 9.0], [1.0, np.inf, 9.0], [1.0, 5.0, 9.1]])
    links = _links(depth, np.isfinite(depth), 0.5)
    # numbered along the rows, without the missing one: 0 1 2 / 3 . 4 / 5 6 7
    assert sorted(map(tuple, links.tolist())) == [(0, 1), (0, 3), (1, 3), (2, 4), (3, 5), (4, 7)]


def test_most_links_join_the_same_label(scans):
    for labels, edges in zip(scans.labels, scans.edges, strict=True):
        share = np.mean(labels[edges[:, 0]] != labels[edges[:, 1]])
        assert 0 < share < 0.05


def test_without_clutter_all_is_puppet():
    scans = make_puppets(n_scans=1, n_points=300, clutter=0)
    assert np.all(scans.labels[0] == 1)


def test_noise_moves_points_along_their_rays():
    still = make_puppets(n_scans=1, n_points=800, noise=0.0)
    moved = make_puppets(n_scans=1, n_points=800, noise=0.3)
    assert np.array_equal(still.labels[0], moved.labels[0])
    rays, shifted = still.clouds[0] - SCANNER, moved.clouds[0] - SCANNER
    away = np.linalg.norm(shifted, axis=1) - np.linalg.norm(rays, axis=1)
    assert 0.25 < away.std() < 0.35
    assert np.allclose(np.cross(rays, shifted), 0.0, atol=1e-8)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"n_scans": 0}, "n_scans must be at least 1"),
        ({"n_points": 3}, "n_points at least 10"),
        ({"clutter": -1}, "clutter at least 0"),
        ({"noise": -0.1}, "noise is -0.1, expected"),
        ({"noise": np.nan}, "noise is nan, expected"),
    ],
)
def test_bad_options(given, message):
    with pytest.raises(ValueError, match=message):
        make_puppets(**given)


def test_near_things_hide_far_ones():
    near = Capsule(np.array([-5.0, 50.0, 0.0]), np.array([5.0, 50.0, 0.0]), 1.0)
    far = Ellipsoid(np.array([0.0, 80.0, 0.0]), np.array([6.0, 6.0, 6.0]), np.eye(3))
    hits = _cast(_grid(61), [far], [near])
    middle = hits.depth[20:23, 30], hits.label[20:23, 30]
    assert np.all(middle[0][:1] < 50.0)
    assert not middle[1].any()
    assert hits.label.any()
    assert hits.depth[hits.label].min() > 73.0


FRAME = np.linalg.qr(np.random.RandomState(0).normal(size=(3, 3)))[0]
AT = np.array([2.0, 40.0, -1.0])


def _inside(shape, points):
    if isinstance(shape, Ellipsoid):
        return (((points - shape.middle) @ shape.frame / shape.radii) ** 2).sum(axis=1) < 1
    if isinstance(shape, Box):
        return np.all(np.abs((points - shape.middle) @ shape.frame) < shape.half, axis=1)
    line = shape.b - shape.a
    t = np.clip((points - shape.a) @ line / (line @ line), 0, 1)
    return np.linalg.norm(points - shape.a - t[:, None] * line, axis=1) < shape.radius


@pytest.mark.parametrize(
    "shape",
    [
        Ellipsoid(AT, np.array([3.0, 5.0, 2.0]), FRAME),
        Box(AT, np.array([4.0, 2.0, 3.0]), FRAME),
        Capsule(AT - 4 * FRAME[0], AT + 4 * FRAME[0], 1.5),
    ],
)
def test_rays_enter_where_marching_finds_the_surface(shape):
    rays = _grid(60).reshape(-1, 3)
    distance, normal = shape.meet(rays)
    steps = np.arange(30.0, 50.0, 0.02)
    inside = np.array([_inside(shape, step * rays) for step in steps])
    marched = np.where(inside.any(axis=0), steps[inside.argmax(axis=0)], np.inf)
    hit = np.isfinite(marched)
    assert hit.sum() > 30
    assert np.all(np.isfinite(distance[hit]))
    assert np.all(np.abs(distance[hit] - marched[hit]) <= 0.0201)
    # what marching missed is met for less than a step
    assert np.isfinite(distance).sum() - hit.sum() < 0.1 * hit.sum()
    assert np.allclose(np.linalg.norm(normal[hit], axis=1), 1.0)
    assert np.all((normal[hit] * rays[hit]).sum(axis=1) < 1e-9)


@pytest.mark.parametrize("make", [make_ring, make_rope, make_plank])
def test_things_are_where_they_are_put(make):
    shapes = make(AT, check_random_state(1))
    middles = np.array([shape.middle for shape in shapes])
    assert np.all(np.linalg.norm(middles - AT, axis=1) < 20)


def test_a_puppet_is_as_tall_as_asked():
    for seed in range(5):
        parts = make_puppet(np.zeros(3), 30.0, check_random_state(seed))
        places = np.array([part.middle for part in parts])
        assert len(parts) == 5 + 4 * 6
        assert np.ptp(places[:, 2]) < 36.0
        assert places[3, 2] == pytest.approx(28.0, abs=1.5)
