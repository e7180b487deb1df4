"""Segmenter: both kinds, labels of any type, checks, reports, its contract."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from maxmargin import Graph, load
from maxmargin.callbacks import EarlyStopping
from maxmargin.losses import Hamming
from maxmargin.persistence import register
from maxmargin.tasks import ImageGraphs, PointGraphs, Segmenter
from maxmargin.tasks.segmentation.graph_makers import GraphMaker, Made


@register
class Blocks(GraphMaker):
    """Blocks of grey pixels as nodes, so that nodes and pixels differ."""

    noun = "image"

    def __init__(self, side=2):
        self.side = side

    def check(self, i, x):
        image = np.asarray(x, dtype=np.float64)
        if image.ndim != 2:
            raise ValueError(f"image {i}: shape {image.shape}, expected (H, W).")
        return image

    def fit(self, samples):
        self.mean_ = float(np.mean([x.mean() for x in samples]))
        return self

    def make(self, x):
        rows, columns = np.indices(x.shape) // self.side
        wide = columns.max() + 1
        node_of = (rows * wide + columns).ravel()
        number = np.arange(node_of.max() + 1).reshape(-1, wide)
        pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
        edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
        means = np.bincount(node_of, weights=x.ravel()) / np.bincount(node_of)
        return Made(Graph((means - self.mean_)[:, None], edges), x.shape, node_of)

    def names(self):
        return ["grey"], ["constant"]


def drawn(n=6, seed=0, noise=0.8, shape=(13, 16)):
    """Noisy images of a bright rectangle, and its masks."""
    rng = np.random.default_rng(seed)
    images, masks = [], []
    for _ in range(n):
        mask = np.zeros(shape, dtype=int)
        top, left = rng.integers(1, 4, 2)
        mask[top : top + 8, left : left + 9] = 1
        images.append(mask + noise * rng.standard_normal(shape))
        masks.append(mask)
    return images, masks


@pytest.fixture(scope="module")
def pictures():
    return drawn()


def segmenter(**options):
    return Segmenter(**{"graphs": Blocks(), "max_epochs": 30, "tol": 0.1, **options})


def quiet(model, *data, **options):
    """Fit, whatever the gap is in the end."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


# -- fitting and predicting ------------------------------------------------------------------------


def test_structure_beats_a_threshold(pictures):
    images, masks = pictures
    model = quiet(segmenter(graphs=Blocks(side=1)), images, masks)
    new, truth = drawn(seed=1)
    alone = [own > 0 for own in model.decision_map(new)]
    share = np.mean([np.mean(a == b) for a, b in zip(alone, truth, strict=True)])
    assert model.score(new, truth) > share + 0.1
    assert model.model_.edge_coef_[0] > 0


@pytest.mark.parametrize(
    "two", [(0, 255), (False, True), ("horse", "other"), (-1.0, 2.5), (1, 2)], ids=str
)
def test_labels_of_any_two_values(pictures, two):
    images, masks = pictures
    plain = quiet(segmenter(), images, masks)
    labels = [np.array(two)[mask] for mask in masks]
    named = quiet(segmenter(), images, labels)
    assert named.classes_.tolist() == sorted(two)
    flipped = list(two) != sorted(two)
    assert not flipped
    for a, b in zip(plain.predict(images), named.predict(images), strict=True):
        assert b.dtype == np.asarray(two).dtype
        assert np.array_equal(np.array(two)[a], b)


def test_object_labels_are_text_or_whole_numbers(pictures):
    images, masks = pictures
    named = [np.array(["b", "c"], dtype=object)[mask] for mask in masks]
    assert quiet(segmenter(), images, named).classes_.tolist() == ["b", "c"]
    numbers = [mask.astype(object) for mask in masks]
    assert quiet(segmenter(), images, numbers).classes_.tolist() == [0, 1]


def test_streaming_takes_a_generator_and_holds_one_sample(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield images[0]

    found = model.stream(endless())
    assert np.array_equal(next(found), model.predict(images[:1])[0])
    assert len(asked) == 1
    next(found)
    assert len(asked) == 2


def test_a_stack_of_images_is_a_list(pictures):
    images, masks = pictures
    stacked = quiet(segmenter(), np.stack(images), np.stack(masks))
    listed = quiet(segmenter(), images, masks)
    assert np.array_equal(stacked.coef_, listed.coef_)
    assert listed.predict([]) == []
    assert listed.score([], []) == 0.0


@pytest.mark.parametrize("kind", ["images", "points"])
def test_makers_that_go_with_the_kind(kind):
    rng = np.random.default_rng(0)
    if kind == "images":
        masks = [np.tile(np.arange(24) < 12, (20, 1)) for _ in range(2)]
        inputs = [np.clip(0.7 * mask + 0.3 * rng.random(mask.shape), 0, 1) for mask in masks]
        inputs = [np.repeat(own[:, :, None], 3, axis=2) for own in inputs]
    else:
        inputs = [rng.uniform(0, 20, (300, 3)) * (1, 1, 0.01) for _ in range(2)]
        masks = [own[:, 0] > 14 for own in inputs]
        for own, mask in zip(inputs, masks, strict=True):
            own[mask, 2] += 5.0
    model = quiet(Segmenter(kind=kind, max_epochs=20), inputs, masks)
    assert isinstance(model.graphs_, {"images": ImageGraphs, "points": PointGraphs}[kind])
    assert model.score(inputs, masks) > 0.97
    assert [own.shape for own in model.decision_map(inputs)] == [own.shape for own in masks]
    names = {name for _, name, _ in model.top_features(3)}
    nodes, edges = model.graphs_.names()
    assert names <= {*nodes, *edges, "(bias)"}


# -- losses, weights, stopping ---------------------------------------------------------------------


def test_prices_of_nodes_are_pixels_more_wrong():
    image = np.zeros((4, 6))
    mask = np.zeros((4, 6), dtype=bool)
    mask[:2, :2] = True  # node 0 wholly, a quarter of node 1, half of node 2
    mask[0, 2] = mask[0, 4] = mask[1, 4] = True
    made = Blocks().fit([image]).make(image)
    from maxmargin.tasks.segmentation.segmenter import _prices

    assert _prices(made, made.gather(mask)).tolist() == [1.0, 0.5, 0.0, 1.0, 1.0, 1.0]


def test_expensive_errors_are_made_less_often(pictures):
    images, masks = drawn(noise=1.6)
    share = []
    for price in (0.2, 1.0, 5.0):
        loss = Hamming(class_weight={1: price})
        model = quiet(segmenter(loss=loss), images, masks)
        share.append(np.mean(np.concatenate(model.predict(images))))
    assert share[0] < share[1] < share[2]
    same = quiet(segmenter(loss=Hamming(false_negative=5.0)), images, masks)
    assert np.array_equal(same.coef_, model.coef_)


def test_weight_zero_leaves_a_sample_out(pictures):
    images, masks = pictures
    weights = [1.0] * len(images) + [0.0]
    again = [*images, images[0]]
    found, same = (
        quiet(segmenter(), again, [*masks, last], sample_weight=weights)
        for last in (masks[0], 1 - masks[0])
    )
    assert np.array_equal(found.coef_, same.coef_)
    equal = quiet(segmenter(), again, [*masks, 1 - masks[0]])
    assert not np.array_equal(found.coef_, equal.coef_)
    with pytest.raises(ValueError, match="sample_weight"):
        segmenter().fit(images, masks, sample_weight=[1.0])


def test_early_stopping_scores_pixels(pictures):
    images, masks = pictures
    held_out = drawn(3, seed=5)
    stopping = EarlyStopping(*held_out, patience=2)
    model = quiet(segmenter(callbacks=[stopping], tol=1e-9, max_epochs=60), images, masks)
    assert stopping.best_ == pytest.approx(model.score(*held_out))
    assert stopping.X is held_out[0]
    seen = []

    def metric(truth, found):
        seen.append([own.shape for own in found])
        return -float(np.mean([np.mean(a != b) for a, b in zip(truth, found, strict=True)]))

    stopping = EarlyStopping(*held_out, metric, patience=2)
    quiet(segmenter(callbacks=[stopping], tol=1e-9, max_epochs=60), images, masks)
    assert seen[0] == [(13, 16)] * 3
    assert stopping.best_ == pytest.approx(model.score(*held_out) - 1.0)
    bad = EarlyStopping(held_out[0], [mask + 1 for mask in held_out[1]])
    with pytest.raises(ValueError, match=r"image 0: its labels have 2, but the labels learned are"):
        segmenter(callbacks=[bad]).fit(images, masks)


def test_warm_start_takes_new_options(pictures):
    images, masks = pictures
    model = quiet(segmenter(warm_start=True, tol=0.01, max_epochs=200), images, masks)
    first = model.result_.n_epochs
    quiet(model, images, masks)
    assert model.result_.n_epochs < first
    model.set_params(alpha=0.3)
    quiet(model, images, masks)
    fresh = quiet(segmenter(alpha=0.3, tol=0.01, max_epochs=200), images, masks)
    assert model.result_.primal == pytest.approx(fresh.result_.primal, rel=0.02)


def test_a_failed_fit_keeps_the_last_model(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    before = model.coef_.copy(), model.graphs_
    with pytest.raises(ValueError, match="labels for 5"):
        model.fit(images, masks[:5])
    assert np.array_equal(model.coef_, before[0])
    assert model.graphs_ is before[1]


# -- what it says about itself ---------------------------------------------------------------------


def test_report_agrees_with_score(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    new, truth = drawn(seed=3)
    report = model.report(new, truth)
    assert report.accuracy == pytest.approx(model.score(new, truth))
    assert [row.label for row in report] == [0, 1]
    assert report.noun == "image"
    assert len(report.samples) == 6
    assert "images)" in str(report)
    weights = [1.0, 0, 0, 0, 0, 0]
    assert model.score(new, truth, weights) == pytest.approx(model.score(new[:1], truth[:1]))


def test_top_features(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    table = {(part, name): weight for part, name, weight in model.top_features()}
    assert table["node", "grey"] == model.model_.node_coef_[0] > 0
    assert table["node", "(bias)"] == model.model_.node_coef_[1]
    assert table["edge", "constant"] == model.model_.edge_coef_[0] > 0
    tables = quiet(segmenter(tables=True), images, masks).top_features()
    assert {name for part, name, _ in tables if part == "edge"} <= {
        f"constant, {ends}" for ends in ("00", "01", "10", "11")
    }


def test_decision_map_is_the_score_of_the_node(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    [scores] = model.decision_map(images[:1])
    weight, bias = model.model_.node_coef_
    block = images[0][:2, :2].mean() - model.graphs_.mean_
    assert scores[:2, :2] == pytest.approx(np.full((2, 2), weight * block + bias))


# -- contract --------------------------------------------------------------------------------------


def test_clone_pickle_save(pictures, tmp_path):
    images, masks = pictures
    stopping = EarlyStopping(images, masks)
    model = quiet(segmenter(callbacks=[stopping]), images, masks)
    expected = model.predict(images)
    again = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for other in (again, loaded):
        assert all(
            np.array_equal(a, b) for a, b in zip(expected, other.predict(images), strict=True)
        )
    assert loaded.classes_.tolist() == [0, 1]
    assert clone(model).get_params()["graphs__side"] == 2
    with pytest.raises(NotFittedError):
        clone(model).predict(images)


def test_grid_search(pictures):
    images, masks = pictures
    search = GridSearchCV(
        segmenter(), {"graphs__side": [1, 2], "alpha": [0.1]}, cv=KFold(2), error_score="raise"
    )
    quiet(search, images, masks)
    assert set(search.cv_results_["param_graphs__side"].tolist()) == {1, 2}
    assert search.best_score_ > 0.8


def test_same_seed_same_bits(pictures):
    images, masks = pictures
    a, b = (quiet(segmenter(), images, masks) for _ in range(2))
    assert np.array_equal(a.coef_, b.coef_)


# -- bad input -------------------------------------------------------------------------------------

IMAGE, MASK = np.zeros((4, 6)), np.arange(24).reshape(4, 6) % 2


@pytest.mark.parametrize(
    "inputs, labels, message",
    [
        (None, [MASK], "inputs is None, expected a list of images"),
        ("abc", [MASK], "inputs is str, expected a list of images"),
        (IMAGE, MASK, r"inputs is one image, expected a list of them: put it in a list, \[image\]"),
        (np.zeros((4, 6, 3)), MASK, "inputs is one image"),
        ([IMAGE], None, "labels is None, expected a list with one array for each image"),
        ([IMAGE, IMAGE], [MASK], "2 images but labels for 1"),
        ([], [], "inputs is empty: no images to learn from"),
        ([IMAGE], [MASK.T], r"image 0: labels have shape \(6, 4\), expected \(4, 6\).*mask.T"),
        ([IMAGE], [MASK[:, :, None]], r"expected \(4, 6\). Take one channel: mask\[..., 0\]"),
        ([IMAGE], [MASK * 0], "all labels are 0: there is nothing to learn"),
        ([IMAGE], [np.arange(24).reshape(4, 6)], r"24 different values \(0, 1, 2, 3, 4, ...\)"),
        ([IMAGE] * 2, [MASK, MASK * 9], "3 different values.*image 1 brings the third.*> 127"),
        ([IMAGE], [np.where(MASK, np.nan, 1.0)], "image 0: labels have NaN"),
        ([IMAGE] * 2, [MASK, MASK.astype(str)], "image 1: labels are text, those of image 0 num"),
        ([IMAGE], [np.array([[None, 1]])], "image 0: labels are of type NoneType, int"),
        ([IMAGE], [[[1, 2], [1]]], "image 0: labels are not an array"),
        ([IMAGE], [MASK.astype(complex)], "image 0: labels have dtype complex128"),
        ([IMAGE, np.zeros(3)], [MASK, MASK], r"image 1: shape \(3,\), expected"),
    ],
)
def test_bad_data(inputs, labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        segmenter().fit(inputs, labels)


def test_one_cloud_given_bare():
    cloud = np.random.default_rng(0).normal(size=(9, 3))
    model = Segmenter(kind="points")
    with pytest.raises(ValueError, match="inputs is one cloud, expected a list"):
        model.fit(cloud, np.arange(9) % 2)
    with pytest.raises(ValueError, match="inputs is one cloud, expected a list"):
        model.fit((cloud, np.array([[0, 1]])), np.arange(9) % 2)


def test_labels_too_fine_for_the_nodes():
    mask = np.zeros((4, 6))
    mask[0, 0] = 1
    with pytest.raises(ValueError, match=r"no node of any image has a majority of 1.0"):
        segmenter().fit([IMAGE], [mask])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"kind": "videos"}, "kind='videos' must be 'images' or 'points'"),
        ({"graphs": PointGraphs()}, r"graphs=PointGraphs\(...\) makes graphs of points, but kind="),
        ({"graphs": ImageGraphs}, "must be an object of class GraphMaker or None"),
        ({"graphs": "pixels"}, r"graphs='pixels' must be .* or None. Such as ImageGraphs\(\)"),
        ({"loss": Hamming(class_weight=np.ones(3))}, "class_weight has shape"),
        ({"alpha": "x"}, "alpha='x' must be a finite number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Segmenter(**{"graphs": Blocks(), **options}).fit([IMAGE], [np.repeat([[0], [1]], 2, 0)
                                                                   .repeat(6, 1)])  # fmt: skip


def test_labels_to_compare_with_must_be_known(pictures):
    images, masks = pictures
    model = quiet(segmenter(), images, masks)
    with pytest.raises(ValueError, match="image 0: its labels have 255, but the labels learned"):
        model.score(images[:1], [255 * masks[0]])
    with pytest.raises(ValueError, match=r"image 1: labels have shape \(16, 13\)"):
        model.report(images[:2], [masks[0], masks[1].T])


# -- probabilities ---------------------------------------------------------------------------------


def test_probabilities_of_pixels_fit_other_masks_best_at_the_temperature_found():
    images, masks = drawn(30, noise=1.5)
    own = Segmenter(graphs=Blocks(), alpha=0.1).fit(images[:6], masks[:6])
    assert own.temperature_ == 1.0
    labels, test = own.predict(images), masks[18:]
    assert own.calibrate(images[6:18], masks[6:18], n_draws=50) is own
    found = own.temperature_
    losses = []
    for temperature in (found, found / 2.5, found * 2.5):
        own.model_.temperature_ = temperature
        p = own.predict_marginals(images[18:])
        assert [a.shape for a in p] == [mask.shape for mask in test]
        p = np.clip(np.concatenate(p), 0.005, 0.995)
        losses.append(-np.log(np.where(np.concatenate(test) == 1, p, 1 - p)).mean())
    assert losses[0] < 0.96 * min(losses[1:])
    np.testing.assert_array_equal(own.predict(images), labels)
    np.testing.assert_array_equal(
        own.predict_marginals(images[:1], n_draws=20), own.predict_marginals(images[:1], n_draws=20)
    )


def test_bad_held_out_masks():
    images, masks = drawn(4)
    own = Segmenter(graphs=Blocks(), alpha=0.1).fit(images, masks)
    with pytest.raises(ValueError, match="image 1: its labels have 7, but the labels learned"):
        own.calibrate(images[:2], [masks[0], np.full_like(masks[1], 7)])
    with pytest.raises(ValueError, match="image 0: labels have shape"):
        own.calibrate(images[:1], [masks[0][:5]])
    with pytest.raises(ValueError, match="inputs is empty: calibrate needs held-out images"):
        own.calibrate([], [])
    with pytest.raises(NotFittedError):
        Segmenter().calibrate(images, masks)
