"""PointGraphs: invariances, options, bad input, drawn scenes and two real scans."""

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin import Graph, GraphCutSVM
from maxmargin.datasets import load_isprs
from maxmargin.tasks import PointGraphs, Segmenter
from maxmargin.tasks.segmentation.points import edges as edging, features as measures

SMALL = {"sizes": (0, 2), "radii": (2, 6), "knots": 4}


def plane(side=12, slope=(0.0, 0.0), seed=0):
    """Points of a plane, a little off a grid."""
    rng = np.random.default_rng(seed)
    flat = np.indices((side, side)).reshape(2, -1).T + rng.uniform(-0.2, 0.2, (side * side, 2))
    return np.column_stack([flat, flat @ np.asarray(slope)])


def scene(seed, side=24):
    """Rolling ground with boxes on it, noisy: points and labels (1: box)."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(0, side, (side * side, 2))
    ground = 0.1 * flat[:, 0] + np.sin(flat[:, 1] / 4)
    height = np.zeros(len(flat))
    for _ in range(4):
        corner, size = rng.uniform(2, side - 8, 2), rng.uniform(3, 6, 2)
        inside = ((flat >= corner) & (flat <= corner + size)).all(axis=1)
        height[inside] = rng.uniform(1.5, 3.0)
    noise = 0.4 * rng.standard_normal(len(flat))
    return np.column_stack([flat, ground + height + noise]), (height > 0).astype(int)


def fitted(clouds, **options):
    maker = PointGraphs(**(SMALL | options))
    return maker.fit([maker.check(i, x) for i, x in enumerate(clouds)])


def graph_of(maker, x):
    return maker.make(maker.check(0, x)).graph


# -- edges ----------------------------------------------------------------------------------------
def test_edges_go_up_and_their_features_are_shares():
    points, _ = scene(0)
    for graph in ("knn", "plane", "surface"):
        found = graph_of(fitted([points], graph=graph), points)
        heights = points[found.edges, 2]
        assert (heights[:, 0] <= heights[:, 1]).all()
        assert ((found.edge_features >= 0) & (found.edge_features <= 1)).all()
        near, linked = found.edge_features[:, 0] == 1, found.edge_features[:, -1] == 1
        assert (near | linked).all()
        assert (found.edge_features[~near, :-1] == 0).all()


def test_parts_end_at_steps_and_their_links_stay_inside():
    points = plane(side=12)
    points[points[:, 0] > 5.5, 2] += 3.0  # a terrace
    found = graph_of(fitted([points], graph="surface", links=3), points)
    near, linked = found.edge_features[:, 0] == 1, found.edge_features[:, -1] == 1
    same = points[found.edges[:, 0], 2] == points[found.edges[:, 1], 2]
    assert same[linked].all()
    assert not same[near].all()
    assert np.bincount(found.edges[linked].ravel(), minlength=len(points)).min() >= 3
    far = np.abs(np.diff(points[found.edges], axis=1)[:, 0]).max(axis=1)
    assert far[linked].max() > 6
    without = graph_of(fitted([points], graph="surface", links=0), points)
    np.testing.assert_array_equal(without.edges, found.edges[near])
    np.testing.assert_array_equal(without.edge_features[:, :-1], found.edge_features[near, :-1])
    assert (without.edge_features[:, -1] == 0).all()


def test_a_group_that_differs_from_its_part_cuts_most_of_its_links():
    points = plane(side=20)
    links = edging.part_links(points, np.zeros(400, dtype=np.int64), 2)
    group = (points[:, :2] < 6.5).all(axis=1)  # an eighth of the points, in a corner
    inside = group[links]
    cut = inside[:, 0] != inside[:, 1]
    assert cut.sum() > 0.8 * inside.any(axis=1).sum()


# -- invariances -----------------------------------------------------------------------------------
def test_map_coordinates_change_nothing():
    cloud = np.round(scene(0)[0] * 32) / 32  # so that no digit is lost
    moved = cloud + np.array([512743.0, 5403547.5, 308.0])
    a, b = (fitted([x], features=("height", "shape", "spin")) for x in (cloud, moved))
    one, two = graph_of(a, cloud), graph_of(b, moved)
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.nodes.toarray(), two.nodes.toarray())
    np.testing.assert_array_equal(one.edge_features, two.edge_features)


def test_units_do_not_matter():
    cloud = scene(0)[0]
    a, b = fitted([cloud]), fitted([cloud * 1024])
    assert b.spacing_ == pytest.approx(1024 * a.spacing_)
    np.testing.assert_allclose(
        graph_of(a, cloud).nodes.toarray(), graph_of(b, cloud * 1024).nodes.toarray(), atol=1e-6
    )


def test_turning_about_the_vertical_changes_neither_shapes_nor_spin_images():
    cloud = scene(0)[0]
    turn = np.array([[np.cos(1), -np.sin(1), 0], [np.sin(1), np.cos(1), 0], [0, 0, 1]])
    maker = fitted([cloud], features=("shape", "spin"), sizes=(0,))
    level, turned = (
        measures.average_in_cubes(cloud, 0.0),
        measures.average_in_cubes(cloud @ turn.T, 0.0),
    )
    table, normals, _ = measures.shape_features(cloud, level)
    again, other, _ = measures.shape_features(cloud @ turn.T, turned)
    np.testing.assert_allclose(table, again, atol=1e-9)
    np.testing.assert_allclose(normals @ turn.T, other, atol=1e-9)
    np.testing.assert_allclose(
        measures.spin_features(cloud, normals, level, 3.0),
        measures.spin_features(cloud @ turn.T, other, turned, 3.0),
        atol=1e-9,
    )
    edges = [graph_of(maker, x).edges for x in (cloud, cloud @ turn.T)]
    np.testing.assert_array_equal(*edges)


def test_order_of_points_does_not_matter():
    cloud = scene(0)[0]
    order = np.random.default_rng(3).permutation(len(cloud))
    maker = fitted([cloud], features=("height", "shape", "spin"))
    one, two = graph_of(maker, cloud), graph_of(maker, cloud[order])
    np.testing.assert_allclose(one.nodes.toarray()[order], two.nodes.toarray(), atol=1e-9)
    back = {frozenset(order[edge].tolist()) for edge in two.edges}
    assert back == {frozenset(edge) for edge in one.edges.tolist()}


def test_same_seed_same_bits_and_the_sample_is_drawn():
    clouds = [scene(0)[0], scene(1)[0]]
    options = {"features": ("height", "shape", "spin"), "n_sample": 200}
    a, b = fitted(clouds, **options), fitted(clouds, **options)
    np.testing.assert_array_equal(a.knots_, b.knots_)
    np.testing.assert_array_equal(a.axes_, b.axes_)
    c = fitted(clouds, random_state=1, **options)
    assert not np.array_equal(a.knots_, c.knots_)


def test_chunks_do_not_matter(monkeypatch):
    cloud = scene(0)[0]
    maker = fitted([cloud], features=("height", "shape", "spin"))
    one = graph_of(maker, cloud)
    for module in (measures, edging):
        monkeypatch.setattr(module, "CHUNK", 100)
    two = graph_of(maker, cloud)
    np.testing.assert_allclose(one.nodes.toarray(), two.nodes.toarray(), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.edge_features, two.edge_features)


def test_another_axis_may_point_up():
    cloud = scene(0)[0]
    one = graph_of(fitted([cloud]), cloud)
    for up, turn in (("x", [2, 0, 1]), ("y", [1, 2, 0])):
        moved = cloud[:, turn]
        two = graph_of(fitted([moved], up=up), moved)
        np.testing.assert_allclose(one.nodes.toarray(), two.nodes.toarray(), atol=1e-9)


# -- options ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("knots", [0, 4])
@pytest.mark.parametrize(
    "features",
    [("height",), ("shape",), ("spin",), ("extra",), ("density",), ("height", "shape", "spin")],
)
def test_names_go_with_columns(features, knots):
    cloud = np.column_stack([scene(0)[0], np.arange(576)])
    maker = fitted([cloud], features=features, knots=knots)
    found = graph_of(maker, cloud)
    nodes, edges = maker.names()
    assert found.nodes.shape == (len(cloud), len(nodes))
    assert found.edge_features.shape[1] == len(edges)
    assert len(set(nodes)) == len(nodes)
    if features == ("spin",):
        assert len(nodes) == 45


def test_further_columns_are_used():
    cloud = np.column_stack([scene(0)[0], np.arange(576.0)])
    maker = fitted([cloud], features=("extra",), knots=0)
    found = graph_of(maker, cloud).nodes.toarray()[:, 0]
    expected = (np.arange(576) - 287.5) / np.arange(576).std()
    np.testing.assert_allclose(found, expected)


def test_given_edges_are_kept():
    cloud, _ = scene(0)
    edges = np.array([[0, 5], [7, 2]])
    for graph in ("auto", "given"):
        found = graph_of(fitted([(cloud, edges)], graph=graph), (cloud, edges)).edges
        assert {frozenset(edge) for edge in found.tolist()} == {
            frozenset({0, 5}),
            frozenset({2, 7}),
        }
    none = graph_of(fitted([(cloud, edges)]), (cloud, np.empty((0, 2))))
    assert len(none.edges) == 0


@pytest.mark.parametrize("graph", ["knn", "plane", "surface"])
@pytest.mark.parametrize(
    "cloud",
    [
        np.zeros((1, 3)),
        np.zeros((2, 3)),
        [[0, 0, 0], [1, 2, 3]],
        [[0, 0, 0], [1, 2, 3], [4, 4, 1]],
        np.zeros((30, 3)),
        np.column_stack([np.arange(30), np.zeros(30), np.zeros(30)]),
        np.column_stack([np.zeros(30), np.zeros(30), np.arange(30)]),
        np.repeat(plane(5), 3, axis=0),
        plane(5).astype(np.float32),
        (plane(5) * 100).astype(np.int32),
        [[1e-9, 0, 0], [0, 1e9, 0], [5, 5, 5]],
    ],
)
def test_odd_clouds_work(cloud, graph):
    trained = fitted([scene(0)[0]], graph=graph, features=("height", "shape", "spin"))
    for maker in (trained, fitted([cloud], graph=graph, features=("height", "shape", "spin"))):
        found = graph_of(maker, cloud)
        assert found.nodes.shape[0] == len(cloud)
        assert np.isfinite(found.nodes.data).all()
        assert np.isfinite(found.edge_features).all()


# -- bad input -------------------------------------------------------------------------------------
HOLE = plane(3)
HOLE[4, 1] = np.nan
FAR = plane(3)
FAR[2, 2] = np.inf


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (np.zeros((5, 2)), r"cloud 1: shape \(5, 2\), expected \(N, 3\)"),
        (np.zeros(3), r"cloud 1: shape \(3,\), expected \(N, 3\)"),
        (np.zeros((2, 3, 3)), r"cloud 1: shape \(2, 3, 3\)"),
        (np.zeros((0, 3)), r"cloud 1 has no points"),
        (HOLE, r"cloud 1: point 4 has y = nan.*1 of 9 points are so; leave them out"),
        (FAR, r"cloud 1: point 2 has z = inf"),
        (FAR * -1, r"cloud 1: point 2 has z = -inf"),
        (np.full((2, 3), 1e200), r"cloud 1: point 0 has x = 1e\+200"),
        ([[1, 2, 3], [1, 2]], r"cloud 1: not a table of numbers"),
        ([["a", "b", "c"]], r"cloud 1: not a table of numbers"),
        ("cloud", r"cloud 1: "),
        (None, r"cloud 1: "),
        ((plane(3), [[0, 0]]), r"cloud 1: edges: \(0, 0\) at place 0 joins a node with itself"),
        ((plane(3), [[0, 9]]), r"cloud 1: edges: \(0, 9\) at place 0 is outside 9 nodes"),
        ((plane(3), [[0, 1], [1, 0]]), r"cloud 1: edges: \(1, 0\) at place 1 is there already"),
        ((plane(3), [0, 1]), r"cloud 1: edges have shape \(2,\)"),
        (np.zeros((5, 4)), r"cloud 1 has 1 columns after x, y and z, expected 0"),
    ],
)
def test_bad_clouds_are_named(cloud, message):
    maker = fitted([plane()])
    with pytest.raises(ValueError, match=message):
        maker.check(1, cloud)


def test_bad_extra_columns_are_named():
    cloud = np.column_stack([plane(3), np.zeros(9)])
    cloud[3, 3] = np.nan
    with pytest.raises(ValueError, match="cloud 0: point 3 has column 3 = nan"):
        PointGraphs().check(0, cloud)


def test_edges_and_the_choice_of_graph_must_agree():
    with pytest.raises(ValueError, match=r"cloud 2 has no edges, which graph='given' needs"):
        PointGraphs(graph="given").check(2, plane())
    with pytest.raises(ValueError, match=r"cloud 2 has edges of its own, which graph='knn'"):
        PointGraphs(graph="knn").check(2, (plane(), [[0, 1]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": "mesh"}, "graph='mesh' must be 'auto' or 'knn'"),
        ({"features": "height"}, "features='height' must be a sequence of strings"),
        ({"features": ("colour",)}, "must be a list of some of height"),
        ({"features": ()}, "must be a list"),
        ({"up": "w"}, "up='w' must be"),
        ({"neighbours": 0}, "neighbours=0 must be an integer at least 1"),
        ({"neighbours": 2.5}, "neighbours=2.5 must be an integer"),
        ({"knots": 1}, "knots=1 must be"),
        ({"knots": -1}, "knots=-1 must be"),
        ({"components": 0}, "components=0 must be"),
        ({"n_sample": 0}, "n_sample=0 must be"),
        ({"sizes": ()}, "sizes=.* must be one number at least"),
        ({"radii": (-1,)}, "radii=.* must be a sequence of finite numbers at least 0"),
        ({"jump": 0}, "jump=0 must be a number above 0"),
        ({"links": -1}, "links=-1 must be an integer at least 0"),
        ({"grade": 0}, "grade=0 must be a number above 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        fitted([plane()], **options)


# -- as part of the task ---------------------------------------------------------------------------
def test_edges_help_on_drawn_scenes():
    train, test = (
        zip(*map(scene, range(4)), strict=True),
        zip(*map(scene, range(10, 14)), strict=True),
    )
    (clouds, labels), (held_out, truth) = train, test
    options = {"kind": "points", "alpha": 1e-2, "tol": 0.05}
    joined = Segmenter(graphs=PointGraphs(**SMALL), **options).fit(clouds, labels)
    none = np.empty((0, 2), dtype=np.int64)
    alone = Segmenter(graphs=PointGraphs(**SMALL), **options).fit(
        [(x, none) for x in clouds], labels
    )
    good = joined.score(held_out, truth)
    bare = alone.score([(x, none) for x in held_out], truth)
    assert 1 - good < 0.7 * (1 - bare)
    assert good > 0.9
    assert (joined.model_.edge_coef_ >= 0).all()


def test_a_saved_model_labels_points_alike(tmp_path):
    clouds, labels = zip(*map(scene, range(2)), strict=True)
    maker = PointGraphs(features=("height", "shape", "spin"), **SMALL)
    model = Segmenter("points", graphs=maker, alpha=0.1, tol=0.1).fit(clouds, labels)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    for a, b in zip(model.predict(clouds), again.predict(clouds), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.graphs_.names() == model.graphs_.names()


def test_halves_of_real_scans_are_labelled_from_the_other_halves(data_dir):
    scans = load_isprs(data_dir, names=["samp24", "samp54"])
    west = [x[:, 0] < np.median(x[:, 0]) for x in scans.clouds]
    halves = []
    for part in (west, [~own for own in west]):
        clouds = [x[own] for x, own in zip(scans.clouds, part, strict=True)]
        halves.append((clouds, [y[own] for y, own in zip(scans.labels, part, strict=True)]))
    wrong = []
    for train, test in (halves, halves[::-1]):
        model = Segmenter("points", alpha=1e-2, tol=0.02).fit(*train)
        wrong.append(1 - model.score(*test))
    assert np.mean(wrong) < 0.08


def square(graph, cloud, labels, count, seed):
    """The part of a graph around one of its points."""
    centre = cloud[np.random.default_rng(seed).integers(len(cloud)), :2]
    off = np.abs(cloud[:, :2] - centre).max(axis=1)
    chosen = np.sort(np.argsort(off, kind="stable")[:count])
    number = np.full(len(cloud), -1)
    number[chosen] = np.arange(len(chosen))
    inside = (number[graph.edges] >= 0).all(axis=1)
    edges = number[graph.edges[inside]]
    return Graph(graph.nodes[chosen], edges, graph.edge_features[inside]), labels[chosen]


@pytest.mark.soak
def test_scans_of_other_places_are_labelled_better_with_edges_than_without(data_dir):
    scans = load_isprs(data_dir)
    held_out = [1, 6, 11]
    maker = PointGraphs()
    checked = [maker.check(i, x) for i, x in enumerate(scans.clouds)]
    kept = [i for i in range(15) if i not in held_out]
    maker.fit([checked[i] for i in kept])
    made = [maker.make(x).graph for x in checked]
    train = [square(made[i], scans.clouds[i], scans.labels[i], 8000, i) for i in kept]
    wrong = {}
    for joined in (True, False):
        graphs = [x if joined else Graph(x.nodes, np.empty((0, 2), int)) for x, _ in train]
        model = GraphCutSVM(alpha=1e-2, tol=0.05).fit(graphs, [y for _, y in train])
        wrong[joined] = 0
        for i in held_out:
            x = made[i] if joined else Graph(made[i].nodes, np.empty((0, 2), int))
            wrong[joined] += int((model.predict([x])[0] != scans.labels[i]).sum())
    assert wrong[True] < 0.9 * wrong[False]


def test_options_are_stored_as_given():
    maker = PointGraphs(graph="surface", sizes=[0, 3], features=["spin"])
    assert clone(maker).get_params() == maker.get_params()


# -- features times weights ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [{}, {"knots": 0, "graph": "plane"}, {"features": ("spin", "density"), "graph": "surface"}],
)
def test_products_are_those_of_all_features_whatever_is_held_at_a_time(options, monkeypatch):
    cloud = np.column_stack([scene(0)[0], np.arange(576.0)])
    maker = fitted([cloud], **options)
    checked = maker.check(0, cloud)
    made, rng = maker.make(checked), np.random.default_rng(0)
    nodes, edges = (rng.normal(size=(len(own), 2)) for own in maker.names())
    monkeypatch.setattr(measures, "CHUNK", 50)
    monkeypatch.setattr(edging, "CHUNK", 70)
    found = maker.project(checked, nodes, edges)
    assert found.shape == made.shape
    np.testing.assert_array_equal(found.graph.edges, made.graph.edges)
    np.testing.assert_allclose(found.graph.nodes, made.graph.nodes @ nodes, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        found.graph.edge_features, made.graph.edge_features @ edges, rtol=1e-12, atol=1e-12
    )
    alone = maker.project(checked, nodes).graph
    assert len(alone.edges) == 0
    np.testing.assert_array_equal(alone.nodes, found.graph.nodes)


def test_no_more_links_than_points():
    points = np.random.default_rng(0).normal(size=(5, 3))
    links = edging.part_links(points, np.zeros(5, dtype=np.int64), 2**31)
    assert len(links) <= 5 * 4 // 2
