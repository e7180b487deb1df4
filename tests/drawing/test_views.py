"""Where points are drawn."""

import numpy as np
import pytest

from maxmargin.drawing import views

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def test_above_keeps_x_and_y():
    assert np.array_equal(views.view_from_above(CORNERS + 5), CORNERS[:, :2] + 5)


def test_from_the_front_x_goes_right_and_z_up():
    xy, order = views.view_in_perspective(CORNERS, azimuth=-90, elevation=0)
    assert np.allclose(np.sign(xy), np.sign(CORNERS[:, [0, 2]]))
    # the eye is at negative y: the points there come last, and are larger
    assert set(order[-4:].tolist()) == set(np.flatnonzero(CORNERS[:, 1] < 0).tolist())
    assert np.abs(xy[CORNERS[:, 1] < 0]).min() > np.abs(xy[CORNERS[:, 1] > 0]).max()


def test_from_far_above_it_is_the_view_from_above():
    xy, order = views.view_in_perspective(CORNERS, azimuth=-90, elevation=90, distance=1e9)
    assert np.allclose(xy * np.sqrt(3), views.view_from_above(CORNERS), atol=1e-8)
    assert set(order[-4:].tolist()) == set(np.flatnonzero(CORNERS[:, 2] > 0).tolist())


def test_places_do_not_depend_on_scale_or_origin():
    xy, order = views.view_in_perspective(CORNERS)
    moved, again = views.view_in_perspective(1e6 + 250.0 * CORNERS)
    assert np.allclose(xy, moved)
    assert np.array_equal(order, again)


@pytest.mark.parametrize("cloud", [np.zeros((0, 3)), np.ones((1, 3)), np.ones((4, 5))])
def test_small_clouds(cloud):
    xy, order = views.view_in_perspective(cloud)
    assert xy.shape == (len(cloud), 2)
    assert np.array_equal(xy, np.zeros_like(xy))
    assert sorted(order.tolist()) == list(range(len(cloud)))


def test_what_cannot_be_seen():
    with pytest.raises(ValueError, match=r"points have shape \(3,\), expected \(N, 3\)"):
        views.view_from_above([1, 2, 3])
    with pytest.raises(ValueError, match="distance=1 must be more than 1"):
        views.view_in_perspective(CORNERS, distance=1)


def test_subsampling_is_always_the_same_choice():
    assert views.draw_subset(5, 10).tolist() == [0, 1, 2, 3, 4]
    chosen = views.draw_subset(100_000, 500)
    assert len(np.unique(chosen)) == 500
    assert np.array_equal(chosen, views.draw_subset(100_000, 500))
    assert np.all(np.diff(chosen) > 0)


def test_roles_name_each_case():
    found = views.error_roles([[0, 0], [1, 1]], [[0, 1], [0, 1]])
    assert [views.ROLES[k] for k in found.ravel()] == [
        "background",
        "false foreground",
        "missed foreground",
        "foreground",
    ]
    assert views.error_roles(np.array([True, False])).tolist() == [1, 0]
    assert len(views.COLOURS) == len(views.ROLES)
    with pytest.raises(ValueError, match=r"truth has shape \(2,\), predicted \(3,\)"):
        views.error_roles([0, 1], [0, 1, 1])
