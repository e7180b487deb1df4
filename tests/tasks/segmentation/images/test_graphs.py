"""ImageGraphs: known answers, invariances, odd input, and segmenting with what it makes."""

import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin import Graph
from maxmargin.datasets import load_horses
from maxmargin.persistence import load
from maxmargin.tasks import Segmenter
from maxmargin.tasks.segmentation.graph_makers import Made
from maxmargin.tasks.segmentation.images.cues import (
    colour_histograms,
    nearest_colours,
    palette_of,
    way_to_border,
)
from maxmargin.tasks.segmentation.images.features import View, edge_columns, edge_names
from maxmargin.tasks.segmentation.images.graphs import ImageGraphs
from maxmargin.tasks.segmentation.images.pixel_maps import (
    gaussian_blur,
    grid_maps,
    lab_of,
    place_maps,
)
from maxmargin.tasks.segmentation.images.regions import pixel_regions, regions_of

BASIC = ("colour", "place")


def photo(shape=(24, 32), seed=0):
    """Smooth colours with a disc that stands out."""
    rng = np.random.default_rng(seed)
    soft = np.stack([gaussian_blur(rng.normal(size=shape), 3.0) for _ in range(3)], axis=2)
    rows, columns = np.indices(shape)
    disc = np.hypot(rows - shape[0] / 2, columns - shape[1] / 2.5) < min(shape) / 3.5
    picture = 110 + 180 * soft + 40 * disc[..., None] + rng.normal(scale=6, size=(*shape, 3))
    return np.clip(picture, 0, 255).astype(np.uint8)


def fitted(*pictures, **options):
    maker = ImageGraphs(**options)
    pictures = pictures or (photo(seed=1), photo(seed=2))
    return maker.fit([maker.check(i, x) for i, x in enumerate(pictures)])


def made(maker, picture):
    return maker.make(maker.check(0, picture))


def assert_same(a, b):
    np.testing.assert_array_equal(a.graph.nodes, b.graph.nodes)
    np.testing.assert_array_equal(a.graph.edges, b.graph.edges)
    np.testing.assert_array_equal(a.graph.edge_features, b.graph.edge_features)
    assert a.shape == b.shape
    assert (a.node_of is None) == (b.node_of is None)
    if a.node_of is not None:
        np.testing.assert_array_equal(a.node_of, b.node_of)


# -- known answers ---------------------------------------------------------------------------------
def test_pixels_of_a_tiny_image():
    four = pixel_regions((2, 3), 4)
    rows = [(0, 1), (1, 2), (3, 4), (4, 5)]
    columns = [(0, 3), (1, 4), (2, 5)]
    assert [tuple(edge) for edge in four.edges.tolist()] == rows + columns
    assert four.length.tolist() == [1.0] * 7
    eight = pixel_regions((2, 3), 8)
    corners = [(0, 4), (1, 5), (1, 3), (2, 4)]
    assert [tuple(edge) for edge in eight.edges.tolist()] == rows + columns + corners
    assert eight.length.tolist() == [1.0] * 7 + [0.5**0.5] * 4


def test_regions_of_a_tiny_image():
    labels = np.array([[0, 0, 1], [0, 2, 1]])
    four = regions_of(labels, 4)
    assert four.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(four.length * 2**0.5, [1, 2, 1])  # a region has two pixels
    assert four.size.tolist() == [3, 2, 1]
    np.testing.assert_allclose(four.means(np.arange(6).reshape(2, 3)), [4 / 3, 3.5, 4])
    eight = regions_of(labels, 8)
    np.testing.assert_allclose(eight.length * 2**0.5, np.array([1, 2, 1]) + 0.5**0.5)


def test_contrast_of_black_and_white():
    labels = np.array([[0, 0, 1]])
    rgb = np.array([[[0.0] * 3, [0.0] * 3, [1.0] * 3]], dtype=np.float32)
    view = View(rgb, regions_of(labels, 4), np.zeros((1, 3), dtype=np.float32))
    np.testing.assert_allclose(view.difference, [1.0], atol=1e-5)
    features = np.column_stack(list(edge_columns(view, difference=2.0, step=1.0)))
    assert features.shape == (1, len(edge_names()))
    length = 1 / 1.5**0.5
    np.testing.assert_allclose(features[0, 0], length, rtol=1e-6)
    widths = np.array([0.25, 0.5, 1.0])
    np.testing.assert_allclose(
        features[0, 1:4], length * np.exp(-((1 / (2 * widths)) ** 2)), rtol=1e-4
    )
    # Of its own image the difference is the typical one.
    np.testing.assert_allclose(features[0, 4:7], length * np.exp(-(widths**-2.0)), rtol=1e-4)


def test_colours_are_those_of_the_eye():
    color = pytest.importorskip("skimage.color")
    rgb = np.random.default_rng(0).uniform(size=(300, 7, 3)).astype(np.float32)
    np.testing.assert_allclose(100 * lab_of(rgb), color.rgb2lab(rgb), atol=2e-3)
    white = lab_of(np.ones((1, 1, 3), dtype=np.float32))
    np.testing.assert_allclose(white, [[[1, 0, 0]]], atol=1e-4)


@pytest.mark.parametrize("sigma", [1.5, 5.0, 12.0])
def test_blur_has_its_width(sigma):
    spot = np.zeros((151, 151))
    spot[75, 75] = 1.0
    found = gaussian_blur(spot, sigma)
    rows = np.arange(151) - 75
    assert found.sum() == pytest.approx(1.0)
    assert np.sqrt((found.sum(axis=1) * rows**2).sum()) == pytest.approx(sigma, rel=0.06)


def test_places():
    maps = dict(place_maps(2, 4))
    assert maps["row"][:, 0].tolist() == [-0.5, 0.5]
    assert maps["column"][0].tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert maps["distance to border"].tolist() == [[0.25, 0.5, 0.5, 0.25]] * 2
    bumps = dict(grid_maps(5, 5))
    assert len(bumps) == 25
    # The bump of each place is highest where the place is.
    for i in range(5):
        for j in range(5):
            bump = bumps[f"near place {i + 1}, {j + 1}"]
            assert np.unravel_index(bump.argmax(), bump.shape) == (i, j)


def test_typical_colours():
    rng = np.random.default_rng(0)
    truth = np.array([[0.1, 0, 0], [0.5, 0.4, 0], [0.9, 0, -0.4]], dtype=np.float32)
    near = truth[rng.integers(3, size=600)] + rng.normal(scale=0.01, size=(600, 3))
    found = palette_of(near.astype(np.float32), 3, rng)
    np.testing.assert_allclose(found, truth, atol=0.01)
    few = palette_of(np.repeat(truth, 5, axis=0), 10, rng)  # there are no more than three
    np.testing.assert_allclose(few, truth, atol=1e-6)
    labels = np.array([[0, 0, 1, 1]])
    codes = nearest_colours(truth[[0, 2, 1, 1]][None], truth)
    assert codes.tolist() == [[0, 2, 1, 1]]
    shares = colour_histograms(codes, regions_of(labels, 4), 3).toarray()
    assert shares.tolist() == [[0.5, 0, 0.5], [0, 1, 0]]
    assert colour_histograms(codes, pixel_regions((1, 4), 4), 3).toarray().argmax(
        axis=1
    ).tolist() == [0, 2, 1, 1]


def test_way_to_border():
    regions = pixel_regions((1, 5), 4)
    cost = np.array([1.0, 2.0, 5.0, 0.5])
    found = way_to_border(regions, cost, np.array([True, False, False, False, True]))
    np.testing.assert_allclose(found, [0, 1, 3, 0.5, 0], atol=1e-6)


# -- graphs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("graph", ["pixels", "superpixels"])
def test_names_fit_and_numbers_are_sound(graph):
    everything = ("colour", "smooth", "texture", "place", "contrast", "shape", "grid", "palette")
    maker = fitted(graph=graph, n_segments=60, features=everything, n_colours=12)
    nodes, edges = maker.names()
    assert len(set(nodes)) == len(nodes)
    assert len(set(edges)) == len(edges)
    for picture in (photo(), photo((70, 9), 3), np.full((20, 30, 3), 7, dtype=np.uint8)):
        own = made(maker, picture)
        assert own.graph.nodes.shape[1] == len(nodes)
        assert own.graph.edge_features.shape[1] == len(edges)
        assert np.isfinite(own.graph.nodes).all()
        assert np.isfinite(own.graph.edge_features).all()
        assert (own.graph.edge_features >= 0).all()
        labels = np.arange(own.graph.network.n_nodes)
        assert own.spread(labels).shape == picture.shape[:2] == own.shape
        assert np.unique(own.spread(labels)).tolist() == labels.tolist()


def test_bends_are_what_is_above_quantiles_of_training():
    maker = fitted(graph="pixels", features=("colour",), n_bins=1)
    names, _ = maker.names()
    assert names[4:] == [f"{name} above 50 %" for name in names[:4]]
    nodes = np.vstack([made(maker, photo(seed=seed)).graph.nodes for seed in (1, 2)])
    np.testing.assert_allclose(nodes[:, :4].mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(nodes[:, :4].std(axis=0), 1, atol=1e-3)
    assert (nodes[:, 4:] > 0).mean(axis=0) == pytest.approx(0.5, abs=0.01)
    median = np.median(nodes[:, :4], axis=0)
    np.testing.assert_allclose(nodes[:, 4:], np.maximum(nodes[:, :4] - median, 0), atol=1e-3)


def test_new_images_teach_nothing():
    maker = fitted()
    before = {name: np.copy(getattr(maker, name)) for name in ("palette_", "mean_", "knots_")}
    made(maker, 255 - photo(seed=9))
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(maker, name), value)


@pytest.mark.parametrize("graph", ["pixels", "superpixels"])
def test_the_same_bits_each_time(graph):
    a, b = (made(fitted(graph=graph, n_segments=80), photo()) for _ in range(2))
    assert_same(a, b)


@pytest.mark.parametrize("graph", ["pixels", "superpixels"])
def test_dtypes_of_one_picture(graph):
    maker, picture = fitted(graph=graph, n_segments=80), photo()
    first = made(maker, picture)
    for other in (
        picture.astype(np.int64),
        picture.astype(np.uint16) * np.uint16(257),
        picture / 255,
        (picture / 255).astype(np.float32),
        np.asfortranarray(picture),
        picture.tolist(),
        np.dstack([picture, np.full(picture.shape[:2], 255, dtype=np.uint8)]),
    ):
        assert_same(first, made(maker, other))


def test_grey_is_colour_without_colour():
    maker, grey = fitted(), photo()[..., 0]
    first = made(maker, np.repeat(grey[..., None], 3, axis=2))
    assert_same(first, made(maker, grey))
    assert_same(first, made(maker, grey[..., None]))
    mask = grey > 128
    assert_same(made(maker, mask), made(maker, mask.astype(np.uint8) * 255))


def test_alpha_is_seen_on_white():
    maker = ImageGraphs()
    rgba = np.array([[[255, 0, 0, 255], [255, 0, 0, 0], [0, 0, 0, 51]]], dtype=np.uint8)
    expected = [[[1, 0, 0], [1, 1, 1], [0.8, 0.8, 0.8]]]
    np.testing.assert_allclose(maker.check(0, rgba), expected, atol=1e-7)
    np.testing.assert_allclose(maker.check(0, rgba / 255), expected, atol=1e-7)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_flipped_picture_has_the_flipped_graph(axis, connectivity):
    maker = fitted(graph="pixels", connectivity=connectivity, n_bins=0)
    picture = photo()
    one, other = made(maker, picture), made(maker, np.flip(picture, axis))
    # Where the nodes of the flipped picture come from.
    back = np.flip(np.arange(24 * 32).reshape(24, 32), axis).ravel()
    names, _ = maker.names()
    turned = ("row", "column", "near place", "unlike top", "unlike bottom", "unlike l", "unlike r")
    kept = [k for k, name in enumerate(names) if not name.startswith(turned)]
    assert len(kept) > 25
    np.testing.assert_allclose(
        other.graph.nodes[:, kept], one.graph.nodes[back][:, kept], atol=2e-3
    )
    swapped = {"top": "bottom", "bottom": "top"} if axis == 0 else {"left": "right"}
    for a, b in swapped.items():
        i, j = names.index(f"unlike {a}"), names.index(f"unlike {b}")
        found, expected = (
            own.graph.nodes[:, k] * maker.scale_[k] + maker.mean_[k]
            for own, k in ((other, i), (one, j))
        )
        np.testing.assert_allclose(found, expected[back], atol=2e-3)

    def by_ends(edges, features):
        ends = np.sort(edges, axis=1)
        order = np.lexsort(ends.T[::-1])
        return ends[order], features[order]

    a = by_ends(one.graph.edges, one.graph.edge_features)
    b = by_ends(back[other.graph.edges], other.graph.edge_features)
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_allclose(a[1], b[1], atol=1e-4)


@pytest.mark.parametrize("graph", ["pixels", "superpixels"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (1, 900)])
def test_tiny_and_thin_images(graph, shape):
    own = made(fitted(graph=graph), photo(shape))
    assert own.shape == shape
    assert np.isfinite(own.graph.nodes).all()
    if shape != (1, 900):
        assert own.graph.network.n_nodes == shape[0] * shape[1]
    assert made(fitted(photo(shape), graph=graph), photo()).shape == (24, 32)


def test_number_of_superpixels():
    few, many = (made(fitted(n_segments=n), photo((60, 80))) for n in (50, 300))
    assert 30 <= few.graph.network.n_nodes <= 70
    assert 200 <= many.graph.network.n_nodes <= 400


# -- bad input -------------------------------------------------------------------------------------
HOLE = np.zeros((4, 5, 3))
HOLE[2, 3, 1] = np.nan


@pytest.mark.parametrize(
    "x, message",
    [
        (np.zeros(5), r"image 3: shape \(5,\), expected \(H, W\)"),
        (np.zeros((3, 40, 50)), r"image 3: shape \(3, 40, 50\).*moveaxis"),
        ("a.png", r"image 3: 'a\.png' is a name, not pixels; open the file first"),
        (Path("a.png"), r"image 3: 'a\.png' is a name, not pixels; open the file first"),
        (np.zeros((4, 5, 2)), r"image 3: shape \(4, 5, 2\)"),
        (np.zeros((0, 5)), r"image 3: shape \(0, 5\) has no pixels"),
        (HOLE, r"image 3: pixel \(2, 3\), channel 1 is nan; fill"),
        (np.full((2, 2), np.inf), "image 3: pixel .0, 0., channel 0 is inf"),
        (np.full((2, 2), 254.0), "image 3: floats from 254 to 254, expected 0 to 1: image / 255"),
        (np.full((2, 2), -0.5), "image 3: floats from -0.5 to -0.5, expected 0 to 1: scale"),
        (np.full((2, 2), 256), "image 3: values from 256 to 256 with dtype int64"),
        (np.full((2, 2), -1, dtype=np.int8), "image 3: values from -1 to -1 with dtype int8"),
        (np.full((2, 2), 1j), "image 3: dtype complex128"),
        (np.full((2, 2), "a"), "image 3: dtype <U1"),
        ([[1, 2], [3]], "image 3: not an array of numbers"),
        (None, r"image 3: shape \(\)"),
    ],
)
def test_images_that_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        ImageGraphs().check(3, x)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"graph": "voxels"}, "graph='voxels' must be 'superpixels' or 'pixels'"),
        ({"connectivity": 6}, "connectivity=6 must be 4 or 8"),
        ({"n_segments": 0}, "n_segments=0 must be an integer at least 1"),
        ({"n_segments": 10.5}, "n_segments=10.5"),
        ({"n_bins": -1}, "n_bins=-1"),
        ({"n_colours": True}, "n_colours=True"),
        ({"compactness": 0}, "compactness=0 must be a finite number above 0"),
        ({"compactness": "high"}, "compactness='high'"),
        ({"features": ()}, "features=.. must be some of"),
        ({"features": "colour"}, "features='colour' must be a sequence of strings"),
        ({"features": ("colour", "sound")}, "must be some of .*'colour'"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


def test_without_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r'maxmargin\[images\].*graph="pixels"'):
        fitted(n_segments=20)
    assert made(fitted(graph="pixels"), photo()).graph.network.n_nodes == 24 * 32


# -- segmenting ------------------------------------------------------------------------------------
def discs(n, seed, shape=(30, 40)):
    """Discs that are a little lighter than the noisy background."""
    rng = np.random.default_rng(seed)
    images, masks = [], []
    for _ in range(n):
        rows, columns = np.indices(shape)
        at = rng.uniform(0.3, 0.7, 2) * shape
        mask = np.hypot(rows - at[0], columns - at[1]) < rng.uniform(6, 10)
        images.append(np.clip(0.4 + 0.15 * mask + rng.normal(scale=0.15, size=shape), 0, 1))
        masks.append(mask)
    return images, masks


class NoEdges(ImageGraphs):
    """The same nodes by themselves."""

    def make(self, x):
        own = super().make(x)
        none = np.zeros((0, own.graph.edge_features.shape[1]))
        graph = Graph(own.graph.nodes, np.zeros((0, 2), dtype=int), none)
        return Made(graph, own.shape, own.node_of)


# Superpixels follow the noise, and so their borders are ragged.
@pytest.mark.parametrize("graph, most", [("pixels", 0.04), ("superpixels", 0.07)])
def test_discs_are_found_better_with_edges(graph, most):
    train, test = discs(6, 0), discs(6, 1)
    error = {}
    for kind in (ImageGraphs, NoEdges):
        maker = kind(graph=graph, n_segments=300, features=BASIC)
        model = Segmenter(graphs=maker, alpha=1e-3, tol=0.05).fit(*train)
        error[kind] = 1 - model.score(*test)
        if kind is ImageGraphs:
            assert (model.model_.edge_coef_ >= 0).all()
    assert error[ImageGraphs] < 0.6 * error[NoEdges]
    assert error[ImageGraphs] < most


def test_masks_of_any_two_values_and_images_of_any_size(tmp_path):
    images, masks = discs(4, 0)
    more = discs(1, 3, (9, 70))
    images, masks = images + more[0], masks + more[1]
    maker = ImageGraphs("pixels", features=BASIC)
    found = []
    for values in (masks, [mask * np.uint8(255) for mask in masks]):
        model = Segmenter(graphs=maker, tol=0.05).fit(images, values)
        found.append(model.predict(images))
    assert [own.shape for own in found[0]] == [image.shape for image in images]
    for a, b in zip(*found, strict=True):
        assert a.dtype == bool
        np.testing.assert_array_equal(a, b == 255)
    model.save(tmp_path / "model.npz")
    for a, b in zip(found[1], load(tmp_path / "model.npz").predict(images), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_mask_of_another_size():
    images, masks = discs(2, 0)
    with pytest.raises(ValueError, match=r"image 1: .*\(30, 39\).*\(30, 40\)"):
        Segmenter(graphs=ImageGraphs("pixels", features=BASIC)).fit(
            images, [masks[0], masks[1][:, :-1]]
        )


def test_a_few_horses(data_dir):
    data = load_horses(data_dir)
    train, test = slice(0, 160, 8), slice(4, 160, 16)
    model = Segmenter(alpha=3e-3, tol=0.05).fit(data.images[train], data.masks[train])
    report = model.report(data.images[test], data.masks[test])
    assert report.error < 0.11
    assert report[1].iou > 0.6


# -- features times weights ------------------------------------------------------------------------
@pytest.mark.parametrize("graph", ["pixels", "superpixels"])
def test_products_are_those_of_all_features(graph):
    [picture], _ = discs(1, 0)
    maker = ImageGraphs(graph=graph, n_segments=60)
    checked = maker.check(0, picture)
    made, rng = maker.fit([checked]).make(checked), np.random.default_rng(0)
    nodes, edges = (rng.normal(size=(len(own), 2)) for own in maker.names())
    found = maker.project(checked, nodes, edges)
    assert found.shape == made.shape
    np.testing.assert_array_equal(found.spread(found.graph.nodes[:, 0]).shape, picture.shape)
    np.testing.assert_array_equal(found.graph.edges, made.graph.edges)
    for own, all_of, weights in (
        (found.graph.nodes, made.graph.nodes, nodes),
        (found.graph.edge_features, made.graph.edge_features, edges),
    ):
        expected = all_of.astype(np.float64) @ weights
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-10)
    alone = maker.project(checked, nodes).graph
    assert len(alone.edges) == 0
    np.testing.assert_array_equal(alone.nodes, found.graph.nodes)


def test_a_maker_with_graphs_of_its_own_projects_those():
    [picture], _ = discs(1, 0)
    maker = NoEdges(graph="pixels", features=BASIC)
    checked = maker.check(0, picture)
    maker.fit([checked])
    nodes, edges = (np.ones((len(own), 1)) for own in maker.names())
    assert len(maker.project(checked, nodes, edges).graph.edges) == 0
