"""Figure and ground in images and point clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import GraphCutSVM
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.tasks.base import Task
from maxmargin.tasks.graph_makers import GraphMaker, Made
from maxmargin.tasks.image_graphs import ImageGraphs
from maxmargin.tasks.point_graphs import PointGraphs

_KINDS: dict[str, type[GraphMaker]] = {"images": ImageGraphs, "points": PointGraphs}


class Segmenter(Task):
    """Which of two labels each pixel of an image, or each point of a cloud, has.

    kind "images": an image is an array (H, W) or (H, W, 3), its mask (H, W) of two values. kind
    "points": a cloud is an array (N, 3), or (N, 3 + further columns), its labels are (N,).

    Parameters
    ----------
    kind : "images" or "points".
    graphs : what makes graphs of the samples, `ImageGraphs(...)` or `PointGraphs(...)`; None means
        the one that goes with the kind, as it is.
    tables : see `GraphCutSVM`.
    alpha, loss, solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit,
    callbacks : see `GraphCutSVM`.

    Attributes
    ----------
    classes_ : the two labels. graphs_ : the fitted maker of graphs. model_ : the fitted
    GraphCutSVM. coef_, result_ : those of the model.
    """

    def __init__(
        self,
        kind: Literal["images", "points"] = "images",
        alpha: float = 1e-3,
        loss: str | Loss = "hamming",
        solver: str | Solver = "bcfw",
        tol: float = 0.01,
        max_epochs: int = 100,
        random_state: Any = 0,
        verbose: int = 0,
        *,
        graphs: GraphMaker | None = None,
        tables: bool = False,
        n_jobs: int | None = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        callbacks: Sequence[Callback] = (),
    ):
        self.kind = kind
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.graphs = graphs
        self.tables = tables
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks

    def fit(self, inputs: Sequence[Any], labels: Sequence[Any]) -> Segmenter:
        """Learn graphs_ and model_."""
        from sklearn.base import clone

        if self.kind not in _KINDS:
            raise ValueError(f"kind={self.kind!r} must be one of {sorted(_KINDS)}.")
        maker = _KINDS[self.kind]() if self.graphs is None else clone(self.graphs)
        checked = [maker.check(i, x) for i, x in enumerate(inputs)]
        self.graphs_ = maker.fit(checked)
        made = [maker.make(x) for x in checked]
        self.classes_ = np.unique(np.concatenate([np.unique(own) for own in labels]))
        if len(self.classes_) != 2:
            raise ValueError(f"labels have {len(self.classes_)} different values, expected two.")
        fresh = GraphCutSVM(
            alpha=self.alpha, loss=self.loss, solver=self.solver, tables=self.tables
        )
        model = self._start(fresh)

        def on_rows(stopping: EarlyStopping) -> None:
            held_out = self._make(stopping.X)
            stopping.y = self._node_labels(stopping.y, held_out)
            stopping.X = [own.graph for own in held_out]

        with self._watched(on_rows) as used:
            model.set_params(callbacks=used)
            model.fit(
                [own.graph for own in made],
                self._node_labels(labels, made),
                node_weight=[own.weight for own in made],
            )
        self.model_ = model
        return self

    def _make(self, inputs: Sequence[Any]) -> list[Made]:
        return [self.graphs_.make(self.graphs_.check(i, x)) for i, x in enumerate(inputs)]

    def _node_labels(self, labels: Sequence[Any], made: list[Made]) -> list[np.ndarray]:
        """One label a node: that of most of its pixels or points."""
        found = []
        for i, (own, graph) in enumerate(zip(labels, made, strict=True)):
            own = np.asarray(own)
            if own.shape != graph.shape:
                raise ValueError(
                    f"{self.graphs_.noun} {i}: labels have shape {own.shape}, expected"
                    f" {graph.shape}."
                )
            share = graph.gather(own == self.classes_[1])
            found.append(self.classes_[(share > 0.5).astype(np.int64)])
        return found

    def predict(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The labels of each sample, (H, W) or (N,)."""
        check_is_fitted(self, "model_")
        found = []
        for i, x in enumerate(inputs):  # one graph in memory at a time
            own = self.graphs_.make(self.graphs_.check(i, x))
            found.append(own.spread(self.model_.predict([own.graph])[0]))
        return found

    def score(self, inputs: Sequence[Any], labels: Sequence[Any]) -> float:
        """The share of pixels or points that are right."""
        found = self.predict(inputs)
        right = sum(int(np.sum(a == np.asarray(b))) for a, b in zip(found, labels, strict=True))
        return right / sum(own.size for own in found)
