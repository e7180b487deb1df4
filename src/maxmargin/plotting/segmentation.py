"""Images with their masks, and point clouds coloured by label, beside the truth and the errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.drawing.views import (
    COLOURS,
    ROLES,
    draw_subset,
    error_roles,
    view_from_above,
    view_in_perspective,
)
from maxmargin.plotting.style import GREY, Display, import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = ("image", "truth", "prediction", "error")
VIEWS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "above": lambda cloud: (view_from_above(cloud), np.argsort(cloud[:, 2], kind="stable")),
    "perspective": view_in_perspective,
}
SIDE = 2.6  # inches, of a panel
VEIL = 0.45  # how much of a colour lies over an image


class SegmentationDisplay(Display):
    """Plot of one image or point cloud: the data, its true and predicted labels, and the errors.

    The foreground (the second label) is blue, with an outline in images, the background grey in
    clouds. False foreground is dark orange, missed foreground light yellow; the legend counts both.
    Use `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    sample : array_like or tuple (cloud, edges)
        Image of shape (H, W) or (H, W, 3), or point cloud of shape (N, 3) or with further columns.
    predicted : array_like
        Predicted labels, of shape (H, W) or (N,).
    truth : array_like or None, default=None
        True labels, of shape (H, W) or (N,), to compare with.
    classes : sequence or None, default=None
        The two labels, (background, foreground); None means those that are found, sorted.

    Attributes
    ----------
    axes_ : dict of matplotlib Axes
        {panel: axes} of an image, {(panel, view): axes} of a cloud.
    """

    def __init__(
        self, sample: Any, predicted: Any, truth: Any = None, classes: Sequence[Any] | None = None
    ):
        self.sample = sample
        self.predicted = predicted
        self.truth = truth
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        segmenter: Any,
        sample: Any,
        truth: Any = None,
        *,
        panels: Sequence[str] | None = None,
        views: Sequence[str] = ("above", "perspective"),
        axes: Any = None,
    ) -> SegmentationDisplay:
        """Plot the labels that a fitted `Segmenter` predicts for a sample.

        Parameters
        ----------
        segmenter : Segmenter
            A fitted segmenter.
        sample : array_like or tuple (cloud, edges)
            Image of shape (H, W) or (H, W, 3), or point cloud of shape (N, 3) or with further
            columns.
        """
        if not hasattr(segmenter, "graphs_") and hasattr(segmenter, "coef_"):
            raise TypeError(
                f"a {type(segmenter).__name__} labels graphs, which have no picture; give a"
                " fitted Segmenter, or use from_predictions with an image or cloud."
            )
        [predicted] = segmenter.predict([sample])
        made = cls(sample, predicted, truth, segmenter.classes_.tolist())
        return made.plot(panels, views=views, axes=axes)

    @classmethod
    def from_predictions(
        cls,
        sample: Any,
        predicted: Any,
        truth: Any = None,
        classes: Sequence[Any] | None = None,
        *,
        panels: Sequence[str] | None = None,
        views: Sequence[str] = ("above", "perspective"),
        axes: Any = None,
    ) -> SegmentationDisplay:
        """Plot predicted labels of a sample, from any source.

        Parameters
        ----------
        sample : array_like or tuple (cloud, edges)
            Image of shape (H, W) or (H, W, 3), or point cloud of shape (N, 3) or with further
            columns.
        """
        return cls(sample, predicted, truth, classes).plot(panels, views=views, axes=axes)

    def plot(
        self,
        panels: Sequence[str] | None = None,
        *,
        views: Sequence[str] = ("above", "perspective"),
        axes: Any = None,
        max_points: int = 60_000,
    ) -> SegmentationDisplay:
        """Draw the panels side by side.

        Parameters
        ----------
        panels : sequence of str or None, default=None
            Any of "image" (images only), "truth", "prediction" and "error"; None means all for
            which there is data.
        views : sequence of {"above", "perspective"}, default=("above", "perspective")
            Views of a point cloud, one row each.
        axes : matplotlib Axes, sequence of Axes or None, default=None
            As many as panels (times views); None means a new figure.
        max_points : int, default=60000
            Largest number of points of a cloud that are drawn, chosen at random.
        """
        sample = self.sample[0] if isinstance(self.sample, tuple) else self.sample
        values = np.asarray(sample)
        predicted, truth = self._masks()
        cloud = predicted.ndim == 1
        size = values.shape[:1] if cloud else values.shape[:2]
        if predicted.shape != size:
            raise ValueError(f"labels have shape {predicted.shape}, expected {size}.")
        chosen = _panels(panels, cloud, truth is not None)
        rows = _views(views) if cloud else [""]
        flat = _axes(axes, len(rows), len(chosen), 1.0 if cloud else size[0] / max(size[1], 1))
        places = [(panel, view) for view in rows for panel in chosen]
        for ax, (panel, view) in zip(flat, places, strict=True):
            codes = _codes(panel, predicted, truth)
            if cloud:
                _draw_cloud(ax, values[:, :3], codes, view, max_points)
            else:
                _draw_image(ax, _colours(values), codes, panel)
            if view == rows[0]:
                ax.set_title(panel, fontsize=10, color=GREY)
            if view == rows[-1]:
                _legend(ax, codes, panel, self._names())
        named = zip(places, flat, strict=True)
        self.axes_: dict[Any, Axes] = {place if cloud else place[0]: ax for place, ax in named}
        self.ax_ = flat[0]
        return self

    def _masks(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Which predicted and which true labels are the foreground."""
        foreground = self._classes()[1]
        predicted = np.asarray(self.predicted) == foreground
        truth = None if self.truth is None else np.asarray(self.truth) == foreground
        if truth is not None and truth.shape != predicted.shape:
            raise ValueError(f"truth has shape {truth.shape}, predicted {predicted.shape}.")
        return predicted, truth

    def _classes(self) -> list[Any]:
        sides = [self.predicted] if self.truth is None else [self.predicted, self.truth]
        found = np.unique(np.concatenate([np.unique(side) for side in sides])).tolist()
        if self.classes is not None:
            known = list(self.classes)
            odd = [label for label in found if label not in known]
            if len(known) != 2 or odd:
                raise ValueError(f"classes={known} must be two, and all labels: found {found}.")
            return known
        if len(found) == 1 and not isinstance(found[0], str):
            found = [0, found[0] or 1]
        if len(found) != 2:
            raise ValueError(
                f"labels are {found[:5]}, expected two; say which are meant: classes=(background,"
                " foreground)."
            )
        return found

    def _names(self) -> list[str]:
        background, foreground = (f"{label}" for label in self._classes())
        return [
            background,
            foreground,
            f"{background} taken for {foreground}",
            f"{foreground} missed",
        ]


def _panels(panels: Sequence[str] | None, cloud: bool, has_truth: bool) -> list[str]:
    there = ["prediction"] if cloud else ["image", "prediction"]
    if has_truth:
        there = [name for name in PANELS if name in there or name in ("truth", "error")]
    if panels is None:
        return there
    if isinstance(panels, str) or not len(panels) or any(name not in there for name in panels):
        raise ValueError(f"panels={panels!r} must be a list of some of {there}.")
    return list(panels)


def _views(views: Sequence[str]) -> list[str]:
    if isinstance(views, str) or not len(views) or any(name not in VIEWS for name in views):
        raise ValueError(f"views={views!r} must be a list of some of {list(VIEWS)}.")
    return list(views)


def _axes(axes: Any, rows: int, columns: int, tall: float) -> list[Axes]:
    if axes is not None:
        found = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(found) != rows * columns:
            raise ValueError(f"axes has {len(found)} axes, expected {rows} x {columns}.")
        return found
    size = (SIDE * columns, SIDE * rows * min(max(tall, 0.3), 3.0) + 0.7)
    grid = import_matplotlib("pyplot").subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False
    )[1]
    return list(grid.ravel())


def _codes(panel: str, predicted: np.ndarray, truth: np.ndarray | None) -> np.ndarray:
    """Places in COLOURS."""
    if panel == "error":
        return error_roles(truth, predicted)
    return error_roles(truth if panel == "truth" else predicted)


# -- images ----------------------------------------------------------------------------------------


def _colours(image: np.ndarray) -> np.ndarray:
    """(H, W, 3), from 0 to 1."""
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (1, 3, 4)):
        raise ValueError(
            f"the sample has shape {image.shape}, which is neither an image nor a cloud."
        )
    values = image.astype(np.float64)
    if image.dtype.kind in "iu" and image.max(initial=0) <= 255:
        values /= 255.0
    elif values.size and (values.min() < 0 or values.max() > 1):
        values = (values - values.min()) / (np.ptp(values) or 1.0)
    if values.ndim == 2:
        values = values[:, :, None]
    return np.repeat(values, 3, axis=2) if values.shape[2] == 1 else values[:, :, :3]


def _draw_image(ax: Axes, image: np.ndarray, codes: np.ndarray, panel: str) -> None:
    to_rgb, shown = import_matplotlib("colors").to_rgb, image
    if panel == "error":
        grey = image.mean(axis=2, keepdims=True)
        shown = np.repeat(0.35 + 0.5 * grey, 3, axis=2)
    for code in (2, 3) if panel == "error" else (1,):
        veil = 0.85 if panel == "error" else VEIL
        if panel != "image":
            mixed = (1 - veil) * shown + veil * np.array(to_rgb(COLOURS[code]))
            shown = np.where((codes == code)[:, :, None], mixed, shown)
    ax.imshow(shown, interpolation="nearest")
    foreground = np.isin(codes, (1, 3))  # the true one, where errors are shown
    if panel != "image" and foreground.any() and not foreground.all() and min(foreground.shape) > 1:
        style: dict[str, Any] = {"colors": "white" if panel == "error" else COLOURS[1]}
        ax.contour(foreground, levels=[0.5], linewidths=1.0, **style)
    ax.set(xticks=[], yticks=[])


# -- clouds ----------------------------------------------------------------------------------------


def _draw_cloud(ax: Axes, cloud: np.ndarray, codes: np.ndarray, view: str, max_points: int) -> None:
    kept = draw_subset(len(cloud), max_points)
    places, order = VIEWS[view](cloud[kept])
    own = codes[kept][order]
    # errors last: a wrong point behind many right ones is still to be seen
    order = order[np.argsort(own > 1, kind="stable")]
    # points of about the size of their distance, whatever their number
    width = 72.0 * SIDE / np.sqrt(max(len(kept), 1))
    ax.scatter(
        places[order, 0],
        places[order, 1],
        s=np.clip(1.2 * width, 0.5, 6.0) ** 2 / 2,
        c=np.array(COLOURS)[codes[kept][order]],
        linewidths=0,
        rasterized=True,
    )
    ax.set_aspect("equal")
    ax.margins(0.03)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("0.85")
    ax.set_xlabel("from above" if view == "above" else "in perspective", fontsize=8, color=GREY)


def _legend(ax: Axes, codes: np.ndarray, panel: str, names: list[str]) -> None:
    if panel == "image":
        return
    Patch = import_matplotlib("patches").Patch
    counts = np.bincount(codes.ravel(), minlength=len(ROLES)).tolist()
    chosen = (2, 3) if panel == "error" else (1,) if codes.ndim == 2 else (0, 1)
    handles = [Patch(color=COLOURS[k], label=f"{names[k]}: {counts[k]}") for k in chosen]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02 if codes.ndim == 2 else -0.1),
        frameon=False,
        fontsize=7,
        labelcolor=GREY,
        handlelength=1.0,
        handleheight=1.0,
    )
