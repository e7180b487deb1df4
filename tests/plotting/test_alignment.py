"""The alignment matrix: each link in its cell, of its kind, under its words."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from maxmargin.plotting import BLUE, GREEN, ORANGE, PURPLE, AlignmentDisplay

SOURCE, TARGET = ["let", "me", "conclude", "."], ["permettez", "-", "moi", "$5", "$6"]
PREDICTED = [(0, 0), (1, 2), (3, 3), (2, 0)]
SURE, POSSIBLE = {(0, 0), (3, 4)}, {(0, 0), (0, 1), (1, 2)}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def drawn(*links, **options):
    return AlignmentDisplay(SOURCE, TARGET, *links).plot(**options).ax_


def links_in(collection):
    """Cells whose middle is the middle of a mark."""
    middles = [path.get_extents().get_points().mean(axis=0) for path in collection.get_paths()]
    assert np.allclose(middles, np.round(middles))
    return {(round(y), round(x)) for x, y in middles}


def layers_of(ax):
    return {collection.get_label(): collection for collection in ax.collections}


def test_links_are_in_their_cells_and_of_their_kind():
    ax = drawn(PREDICTED, SURE, POSSIBLE)
    layers = layers_of(ax)
    found = {name: links_in(collection) for name, collection in layers.items()}
    assert found == {
        "sure": SURE,
        "possible": {(0, 1), (1, 2)},
        "right": {(0, 0)},
        "right (possible)": {(1, 2)},
        "wrong": {(2, 0), (3, 3)},
        "missed": {(3, 4)},
    }
    filled = {"right": BLUE, "right (possible)": GREEN, "wrong": ORANGE}
    for name, colour in filled.items():
        assert plt.matplotlib.colors.to_hex(layers[name].get_facecolor()[0]).upper() == colour
    assert len(layers["missed"].get_facecolor()) == 0
    assert plt.matplotlib.colors.to_hex(layers["missed"].get_edgecolor()[0]).upper() == PURPLE
    assert len(layers["sure"].get_facecolor()) == 1
    assert len(layers["possible"].get_facecolor()) == 0  # outlined


def test_words_and_legend():
    ax = drawn(PREDICTED, SURE, POSSIBLE)
    assert [t.get_text() for t in ax.get_yticklabels()] == SOURCE
    assert [t.get_text() for t in ax.get_xticklabels()] == TARGET
    assert not any(t.get_parse_math() for t in ax.get_xticklabels())
    assert ax.get_ylim() == (3.5, -0.5)  # the first source word on top
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "sure: 2", "possible: 2", "right: 1", "right (possible): 1", "wrong: 2", "missed: 1",
    ]  # fmt: skip
    long = AlignmentDisplay(["x" * 40], ["y"], []).plot().ax_
    assert long.get_yticklabels()[0].get_text() == "x" * 17 + "…"


def test_without_annotation_all_are_links():
    ax = drawn(np.array(PREDICTED))
    assert {n: links_in(c) for n, c in layers_of(ax).items()} == {"link": set(PREDICTED)}
    ax = drawn([], [])
    assert ax.get_legend().get_texts()[0].get_text() == "sure: 0"


def test_given_axes_are_used():
    ax = Figure().subplots()
    display = AlignmentDisplay(SOURCE, TARGET, PREDICTED).plot(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not plt.get_fignums()


@pytest.mark.parametrize("n", [0, 1, 3, 12, 40])
def test_words_are_legible_at_all_sizes(n):
    """No label touches the next, none leaves the figure, and cells stay large."""
    words = [f"word{k}" + "s" * (k % 9) for k in range(n)]
    links = [(k, k) for k in range(n)]
    ax = AlignmentDisplay(words, words, links, set(links)).plot().ax_
    figure = ax.figure
    figure.canvas.draw()
    rows = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert all(below.y1 < above.y0 for above, below in pairwise(rows))
    everything = [*rows, *(t.get_window_extent() for t in ax.get_xticklabels())]
    everything.append(ax.get_legend().get_window_extent())
    for box in everything:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    if n:
        cell = ax.get_window_extent().width / n / figure.dpi
        assert cell > 0.17  # inches; labels are 9 points = 0.125 inches high


@pytest.mark.parametrize(
    "change, message",
    [
        ({"predicted": [(0, 5)]}, r"link \(0, 5\) is out of range: the source has 4 words"),
        ({"sure": {(4, 0)}}, r"link \(4, 0\) is out of range"),
        ({"possible": [(0, 1, 2)]}, r"found \(0, 1, 2\), expected a link"),
        ({"predicted": [(-1, 0)]}, r"positions count from 0"),
    ],
)
def test_bad_links(change, message):
    good = {"predicted": PREDICTED, "sure": SURE, "possible": POSSIBLE}
    with pytest.raises(ValueError, match=message):
        AlignmentDisplay(SOURCE, TARGET, **good | change).plot()
    assert not plt.get_fignums()


class Diagonal:
    """Links word k with word k."""

    def predict(self, pairs):
        return [[(k, k) for k in range(min(len(e), len(f)))] for e, f in pairs]


@pytest.mark.parametrize("links", [None, (SURE, POSSIBLE), [(0, 0), (3, 3)]])
def test_an_aligner_is_asked_for_its_links(links):
    pair = (SOURCE, TARGET)
    display = AlignmentDisplay.from_estimator(Diagonal(), pair, links)
    assert display.predicted == [(0, 0), (1, 1), (2, 2), (3, 3)]
    other = AlignmentDisplay.from_predictions(pair, display.predicted, links)
    cells = [{n: links_in(c) for n, c in layers_of(d.ax_).items() if c.get_paths()}
             for d in (display, other)]  # fmt: skip
    assert cells[0] == cells[1]
    if links is None:
        assert cells[0] == {"link": set(display.predicted)}
    else:
        assert cells[0]["right"] == ({(0, 0)} if isinstance(links, tuple) else {(0, 0), (3, 3)})
