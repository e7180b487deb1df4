"""Pictures of segmentations: each pixel and point in its colour, in its place."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from maxmargin import Graph, GraphCutSVM
from maxmargin.drawing import views
from maxmargin.plotting import SegmentationDisplay

RNG = np.random.default_rng(0)
CLOUD = RNG.normal(size=(40, 3))
TRUTH = np.arange(40) % 2
PREDICTED = np.where(np.arange(40) < 8, 1 - TRUTH, TRUTH)
IMAGE = RNG.random((6, 8, 3))
MASK = np.zeros((6, 8), dtype=bool)
MASK[1:4, 2:6] = True
FOUND = np.roll(MASK, 1, axis=1)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def codes_of(ax):
    """{place: code} of the points of an axes."""
    [points] = ax.collections
    colours = {to_rgb(colour): code for code, colour in enumerate(views.COLOURS)}
    return {
        tuple(np.round(place, 9)): colours[tuple(colour[:3])]
        for place, colour in zip(points.get_offsets(), points.get_facecolors(), strict=True)
    }


def test_points_are_in_their_places_and_colours():
    display = SegmentationDisplay.from_predictions(CLOUD, PREDICTED, TRUTH)
    panels = ("truth", "prediction", "error")
    assert set(display.axes_) == {(p, v) for p in panels for v in ("above", "perspective")}
    for view, places in (
        ("above", views.view_from_above(CLOUD)),
        ("perspective", views.view_in_perspective(CLOUD)[0]),
    ):
        expected = {
            "truth": TRUTH,
            "prediction": PREDICTED,
            "error": views.error_roles(TRUTH, PREDICTED),
        }
        for panel, codes in expected.items():
            found = codes_of(display.axes_[panel, view])
            keys = [tuple(place) for place in np.round(places, 9)]
            assert [found[key] for key in keys] == codes.tolist()


def test_errors_are_drawn_last():
    display = SegmentationDisplay.from_predictions(CLOUD, PREDICTED, TRUTH, panels=["error"])
    codes = list(codes_of(display.axes_["error", "perspective"]).values())
    assert sorted(codes[-8:]) == [2] * 4 + [3] * 4
    assert max(codes[:-8]) <= 1


def test_legend_counts():
    display = SegmentationDisplay.from_predictions(
        CLOUD, PREDICTED, TRUTH, classes=(0, 1), views=["above"]
    )
    texts = [t.get_text() for t in display.axes_["error", "above"].get_legend().get_texts()]
    assert texts == ["0 taken for 1: 4", "1 missed: 4"]


def test_image_panels():
    display = SegmentationDisplay.from_predictions(IMAGE, FOUND, MASK)
    assert list(display.axes_) == ["image", "truth", "prediction", "error"]
    shown = {panel: ax.images[0].get_array() for panel, ax in display.axes_.items()}
    assert np.allclose(shown["image"], IMAGE)
    changed = np.any(~np.isclose(shown["prediction"], IMAGE), axis=2)
    assert np.array_equal(changed, FOUND)
    false, missed = shown["error"][2, 6], shown["error"][2, 2]
    assert np.argmax(false) == 0  # vermilion
    assert missed[1] > false[1]  # yellow is lighter
    grey = shown["error"][MASK & FOUND]
    assert np.allclose(grey, grey[:, :1])
    # what is not the image itself has an outline
    assert [len(ax.collections) for ax in display.axes_.values()] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "image",
    [
        (255 * IMAGE).astype(np.uint8),
        IMAGE[:, :, 0],
        IMAGE[:, :, :1],
        np.dstack([IMAGE, np.ones((6, 8))]),
        1000.0 * IMAGE - 500,
        np.zeros((6, 8), dtype=np.uint16),
    ],
    ids=["bytes", "grey", "one channel", "alpha", "any floats", "uint16"],
)
def test_images_of_all_kinds(image):
    display = SegmentationDisplay.from_predictions(image, FOUND)
    shown = display.axes_["image"].images[0].get_array()
    assert shown.shape == (6, 8, 3)
    assert shown.min() >= 0
    assert shown.max() <= 1
    display.figure_.canvas.draw()


def test_a_mask_of_one_label_has_no_outline():
    display = SegmentationDisplay.from_predictions(IMAGE, np.zeros((6, 8), dtype=bool))
    assert len(display.axes_["prediction"].collections) == 0
    named = np.full((6, 8), "sky")
    with pytest.raises(ValueError, match=r"labels are \['sky'\], expected two"):
        SegmentationDisplay.from_predictions(IMAGE, named)
    drawn = SegmentationDisplay.from_predictions(IMAGE, named, classes=("ground", "sky"))
    [text] = drawn.axes_["prediction"].get_legend().get_texts()
    assert text.get_text() == "sky: 48"


def test_from_estimator_draws_its_prediction():
    class Model:
        classes_ = np.array(["a", "b"])

        def predict(self, inputs):
            [sample] = inputs
            return [np.array(["a", "b"])[(sample[0][:, 0] > 0).astype(int)]]

    sample = (CLOUD, np.array([[0, 1]]))
    display = SegmentationDisplay.from_estimator(Model(), sample, views=["above"])
    assert list(display.axes_) == [("prediction", "above")]
    found = codes_of(display.axes_["prediction", "above"])
    assert all(code == int(x > 0) for (x, _), code in found.items())


def test_a_model_of_graphs_is_refused():
    x = Graph(np.array([[1.0], [-1.0]]), [(0, 1)])
    model = GraphCutSVM().fit([x], [[0, 1]])
    with pytest.raises(TypeError, match="GraphCutSVM labels graphs.*give a fitted Segmenter"):
        SegmentationDisplay.from_estimator(model, x)


def test_large_clouds_are_thinned():
    cloud = np.random.default_rng(1).normal(size=(5000, 3))
    display = SegmentationDisplay(cloud, cloud[:, 0] > 0).plot(views=["above"], max_points=700)
    [points] = display.axes_["prediction", "above"].collections
    assert len(points.get_offsets()) == 700
    assert points.get_rasterized()
    # the legend counts all
    texts = display.axes_["prediction", "above"].get_legend().get_texts()
    assert sum(int(text.get_text().split(": ")[1]) for text in texts) == 5000


def test_own_axes():
    figure, axes = plt.subplots(1, 2)
    display = SegmentationDisplay.from_predictions(IMAGE, FOUND, axes=axes)
    assert display.figure_ is figure
    assert list(display.axes_.values()) == list(axes)
    one = SegmentationDisplay.from_predictions(IMAGE, FOUND, panels=["image"], axes=axes[0])
    assert one.axes_ == {"image": axes[0]}


@pytest.mark.parametrize(
    "given, options, message",
    [
        ((IMAGE, FOUND[:5]), {}, r"labels have shape \(5, 8\), expected \(6, 8\)"),
        ((IMAGE, FOUND, MASK[:5]), {}, r"truth has shape \(5, 8\), predicted \(6, 8\)"),
        ((IMAGE, np.arange(48).reshape(6, 8)), {}, "labels are .*, expected two"),
        ((IMAGE, FOUND, None, (1, 2)), {}, "must be two, and all labels"),
        ((IMAGE, FOUND), {"panels": ["error"]}, r"panels=\['error'\] must be a list of some of"),
        ((CLOUD, TRUTH), {"panels": ["image"]}, "panels="),
        ((CLOUD, TRUTH), {"views": ["below"]}, r"views=\['below'\] must be a list of some of"),
        ((np.zeros((6, 8, 5)), FOUND), {}, "which is neither an image nor a cloud"),
        ((IMAGE, FOUND), {"axes": [None]}, "axes has 1 axes, expected 1 x 2"),
    ],
)
def test_what_cannot_be_drawn(given, options, message):
    with pytest.raises(ValueError, match=message):
        SegmentationDisplay.from_predictions(*given, **options)
