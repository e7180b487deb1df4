"""Foreground and background in images and point clouds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import GraphCutSVM
from maxmargin.estimators.restrictions import Restriction, check_restrictions, labels_by_node
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.losses import Hamming, Loss, resolve_loss
from maxmargin.metrics import SegmentationReport, segmentation_scores
from maxmargin.solvers import Solver
from maxmargin.tasks.base import Task
from maxmargin.tasks.segmentation.checks import (
    check_known,
    check_masks,
    check_shape,
    each_sample,
    two_classes,
)
from maxmargin.tasks.segmentation.graph_makers import GraphMaker, Made
from maxmargin.tasks.segmentation.images.graphs import ImageGraphs
from maxmargin.tasks.segmentation.points.graphs import PointGraphs
from maxmargin.tasks.segmentation.probabilities import SegmentProbabilities
from maxmargin.tasks.tagging.reports import WeightTable, strongest_weights
from maxmargin.validation.options import (
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_options,
)
from maxmargin.validation.samples import check_sample_weight, is_number

_KINDS: dict[str, type[GraphMaker]] = {"images": ImageGraphs, "points": PointGraphs}


class Segmenter(SegmentProbabilities, Task):
    """Binary segmentation of images or point clouds by graph cuts, trained by a large margin.

    Each sample becomes a graph, whose nodes have features of their neighbourhoods and whose edges
    have features of similarity; a minimum cut finds the best labels of all nodes jointly.

    With kind="images", a sample is an array (H, W) or (H, W, 3), its labels (H, W). With
    kind="points", it is an array (N, 3), or (N, 3 + further columns), or a pair (array, edges) with
    links (E, 2) of its own; its labels are (N,). Labels are any two values: 0 and 255, bool, str.

    Parameters
    ----------
    kind : {"images", "points"}, default="images"
        Kind of the samples.
    alpha : float, default=0.001
        Strength of the penalty, lambda in the papers; C = 1 / (alpha n).
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming"
        "hamming" is the fraction of wrong pixels or points of a sample, "hamming-sum" their number.
        ``Hamming(class_weight={label: cost})`` sets costs by true label.
    solver : str or Solver, default="bcfw"
        Name of a solver, such as "bcfw" or "cutting-plane", or a `Solver`; see `StructuredSVM`.
    tol : float, default=0.01
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=300
        Largest number of passes over the samples.
    graphs : GraphMaker or None, default=None
        ``ImageGraphs(...)`` or ``PointGraphs(...)``; None means the default one of the kind.
    tables : bool, default=False
        Learn four weights for each edge feature; see `GraphCutSVM`.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(images, masks)``; its metric receives masks, as
        `metrics.segmentation_scores` takes them.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels, sorted; scores and weights are those of the second.
    graphs_ : GraphMaker
        The fitted maker of graphs.
    model_ : GraphCutSVM
        The fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ground = np.column_stack([rng.uniform(0, 20, (400, 2)), rng.normal(0, 0.1, 400)])
    >>> roof = np.column_stack([rng.uniform(5, 10, (100, 2)), rng.normal(4, 0.1, 100)])
    >>> cloud, labels = np.vstack([ground, roof]), np.array(["ground"] * 400 + ["roof"] * 100)
    >>> segmenter = Segmenter(kind="points").fit([cloud], [labels])
    >>> print(segmenter.predict([cloud])[0][[0, 399, 400, 499]])
    ['ground' 'ground' 'roof' 'roof']
    """

    classes_: np.ndarray
    graphs_: GraphMaker
    model_: GraphCutSVM

    def __init__(
        self,
        kind: Literal["images", "points"] = "images",
        alpha: Penalty = 1e-3,
        loss: str | Loss = "hamming",
        solver: str | Solver = "bcfw",
        tol: NonNegativeOrInf = 0.01,
        max_epochs: CountOrZero = 300,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        graphs: Annotated[GraphMaker | None, "Such as ImageGraphs() or PointGraphs()."] = None,
        tables: bool = False,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
    ):
        self._store_shared(locals())
        self.kind = kind
        self.loss = loss
        self.graphs = graphs
        self.tables = tables

    def fit(
        self, inputs: Iterable[Any], labels: Sequence[Any], sample_weight: Any = None
    ) -> Segmenter:
        """Fit the maker of graphs and the model.

        Parameters
        ----------
        inputs : iterable of samples
            Images or point clouds, as described for the class.
        labels : sequence of array_like
            True labels of each sample, of shape (H, W) or (N,).
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the samples; None means equal weights.

        Returns
        -------
        Segmenter
            The fitted estimator.
        """
        check_options(self)
        maker = self._maker()
        checked = [maker.check(i, x) for i, x in enumerate(each_sample(inputs, maker.noun))]
        masks = check_masks(labels, len(checked), maker.noun)
        if not checked:
            raise ValueError(f"inputs is empty: no {maker.noun}s to learn from.")
        check_sample_weight(sample_weight, len(checked))
        classes = two_classes(masks, maker.noun)
        made = list(map(maker.fit(checked).make, checked))
        for i, (own, mask) in enumerate(zip(made, masks, strict=True)):
            check_shape(i, mask, own.shape, maker.noun)
        shares = [own.gather(mask == classes[1]) for own, mask in zip(made, masks, strict=True)]
        targets = _majorities(shares, classes, maker.noun)
        model = self._start(GraphCutSVM()).set_params(
            alpha=self.alpha, loss=self._loss(classes), solver=self.solver, tables=self.tables
        )
        with self._watched(lambda own: _on_graphs(own, maker, classes)) as callbacks:
            model.set_params(callbacks=callbacks)
            graphs, prices = [own.graph for own in made], list(map(_prices, made, shares))
            try:
                with self._learning(classes_=classes, graphs_=maker, model_=model):
                    model.fit(graphs, targets, sample_weight, prices)
            finally:
                model.set_params(callbacks=())  # held-out graphs are not kept with the model
        return self

    def _maker(self) -> GraphMaker:
        own = _KINDS[self.kind]
        if self.graphs is None:
            return own()
        for kind, other in _KINDS.items():
            if kind != self.kind and isinstance(self.graphs, other):
                raise ValueError(
                    f"graphs={other.__name__}(...) makes graphs of {kind}, but kind={self.kind!r}."
                    f" Set kind={kind!r}, or graphs={own.__name__}(...)."
                )
        return clone(self.graphs)

    def _loss(self, classes: np.ndarray) -> Loss:
        """The loss; weights of labels are prices of the two errors, since nodes are on or off."""
        loss = resolve_loss(self.loss)
        if not isinstance(loss, Hamming) or loss.class_weight is None:
            return loss
        prices = np.asarray(loss.bind(classes).class_weight, dtype=np.float64)
        if prices.shape != (2,):
            raise ValueError(f"class_weight has shape {prices.shape}, expected two weights.")
        return Hamming(
            loss.normalize,
            false_positive=loss.false_positive * float(prices[0]),
            false_negative=loss.false_negative * float(prices[1]),
        )

    # -- using -------------------------------------------------------------------------------------
    def stream(self, inputs: Iterable[Any]) -> Iterator[np.ndarray]:
        """Predict labels one sample after another; inputs may be a generator of any length.

        Yields
        ------
        ndarray of shape (H, W) or (N,)
            Labels of each sample.
        """
        check_is_fitted(self, "model_")
        for own in self._projected(inputs, *self.model_._projection()):
            yield own.spread(self.model_._predict_projected(own.graph))

    def predict(self, inputs: Iterable[Any]) -> list[np.ndarray]:
        """Predict the labels of each sample; only one graph at a time is in memory.

        Returns
        -------
        list of ndarray of shape (H, W) or (N,)
            Labels, one array per sample.
        """
        return list(self.stream(inputs))

    def predict_restricted(
        self, inputs: Iterable[Any], restrictions: Sequence[Restriction | None]
    ) -> list[np.ndarray]:
        """Predict the best labels of each sample among those that its restriction allows.

        A label that is known, or forbidden, holds for the whole superpixel if the nodes are such.

        Parameters
        ----------
        restrictions : sequence of Restriction or None
            One per sample, ``Restriction(known={place: label}, forbidden={place: labels})`` with
            places (row, column) of pixels or numbers of points; None means that all labels are
            allowed. Counts and rules are not possible.

        Returns
        -------
        list of ndarray of shape (H, W) or (N,)
            Labels, one array per sample.
        """
        check_is_fitted(self, "model_")
        checked = list(each_sample(inputs, self.graphs_.noun))
        found = []
        for i, own in enumerate(check_restrictions(restrictions, len(checked))):
            made = self.graphs_.make(self.graphs_.check(i, checked[i]))
            try:
                on_nodes = None if own is None else _on_nodes(own, made)
                nodes = self.model_.predict_restricted([made.graph], [on_nodes])[0]
            except (ValueError, TypeError) as error:
                problem = error.problem if isinstance(error, SampleError) else str(error)
                kind = InfeasibleError if isinstance(error, InfeasibleError) else SampleError
                raise kind.of(i, f": {problem}", noun=self.graphs_.noun) from error
            found.append(made.spread(nodes))
        return found

    def decision_map(self, inputs: Iterable[Any]) -> list[np.ndarray]:
        """Compute the score w . x + bias of each pixel or point for the second label.

        It does not depend on neighbours and is meant for inspection. Scores are not probabilities.

        Returns
        -------
        list of ndarray of shape (H, W) or (N,)
            Scores, one array per sample.
        """
        check_is_fitted(self, "model_")
        nodes, _ = self.model_._projection()
        bias = self.model_.node_coef_[-1]
        return [own.spread(own.graph.nodes[:, 0] + bias) for own in self._projected(inputs, nodes)]

    def _projected(
        self, inputs: Iterable[Any], nodes: np.ndarray, edges: np.ndarray | None = None
    ) -> Iterator[Made]:
        """The graphs of samples, one at a time, with features times what a model asks for."""
        for i, x in enumerate(each_sample(inputs, self.graphs_.noun)):
            yield self.graphs_.project(self.graphs_.check(i, x), nodes, edges)

    def score(
        self, inputs: Iterable[Any], labels: Sequence[Any], sample_weight: Any = None
    ) -> float:
        """Compute the fraction of pixels or points that are predicted correctly.

        Returns
        -------
        float
            Score from 0 to 1.
        """
        masks, found = self._compared(inputs, labels)
        weight = check_sample_weight(sample_weight, len(masks)) if masks else np.empty(0)
        right = [np.sum(a == b) for a, b in zip(masks, found, strict=True)]
        total = float(weight @ [mask.size for mask in masks])
        return float(weight @ right) / total if total else 0.0

    def report(self, inputs: Iterable[Any], labels: Sequence[Any]) -> SegmentationReport:
        """Compute error, precision, recall and IoU by label, and the error of each sample.

        Returns
        -------
        SegmentationReport
            The scores, samples worst first.
        """
        masks, found = self._compared(inputs, labels)
        return segmentation_scores(masks, found, self.classes_.tolist(), noun=self.graphs_.noun)

    def _compared(
        self, inputs: Iterable[Any], labels: Sequence[Any]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """True labels, checked, and predicted ones."""
        found = self.predict(inputs)
        noun = self.graphs_.noun
        masks = check_masks(labels, len(found), noun)
        for i, (mask, own) in enumerate(zip(masks, found, strict=True)):
            check_shape(i, mask, own.shape, noun)
            check_known(i, mask, self.classes_, noun)
        return masks, found

    def top_features(self, n: int = 10) -> WeightTable:
        """List the features with the largest and the smallest weights.

        Parameters
        ----------
        n : int, default=10
            Number of node features for the second label, of those against it, and of edge features
            that most favour equal labels (with tables, of the largest and the smallest entries,
            named by the labels of the two ends).

        Returns
        -------
        WeightTable
            Names and weights.
        """
        check_is_fitted(self, "model_")
        nodes, edges = self.graphs_.names()
        if self.model_.tables:
            edges = [f"{name}, {ends}" for name in edges for ends in ("00", "01", "10", "11")]
        rows = []
        for part, names, weights in (
            ("node", [*nodes, "(bias)"], self.model_.node_coef_),
            ("edge", edges, self.model_.edge_coef_.ravel()),
        ):
            rows += [(part, names[k], float(weights[k])) for k in strongest_weights(weights, n)]
        return WeightTable(("part", "feature", "weight"), tuple(rows))

    def validate(self) -> None:
        """Raise ValueError unless there are as many weights as features, as compiled code needs."""
        if not hasattr(self, "model_"):
            return
        maker, model = self.graphs_, self.model_
        if type(maker) is not type(self._maker()) or model.multiclass:
            raise ValueError("Segmenter: graphs_ or model_ is of another kind")
        nodes, edges = maker.names()
        size = len(nodes) + 1 + len(edges) * (4 if model.tables else 1)
        if model.coef_.shape not in ((size,), (1, size)) or np.shape(self.classes_) != (2,):
            raise ValueError("Segmenter: model_ and graphs_ differ in the number of features")


def _on_nodes(own: Restriction, made: Made) -> Restriction:
    """What is known of pixels or points, as what is known of their nodes."""
    if own.counts is not None or own.rules is not None or tuple(own.on) or tuple(own.off):
        raise ValueError("a Segmenter takes known and forbidden labels only, no counts, no rules.")
    numbers = made.spread(np.arange(made.graph.network.n_nodes))
    expected = "pair (row, column)" if numbers.ndim == 2 else "number of a point"

    def node(place: Any) -> int:
        where = place if isinstance(place, tuple) else (place,)
        fits = len(where) == numbers.ndim and all(is_number(t, whole=True) for t in where)
        if not fits or not all(0 <= t < size for t, size in zip(where, numbers.shape, strict=True)):
            raise ValueError(f"{place!r} is not a {expected} within {numbers.shape}.")
        return int(numbers[where])

    known: dict[int, Any] = {}
    for place, label in labels_by_node("known", own.known):
        if known.setdefault(node(place), label) != label:
            raise InfeasibleError(
                f"{place} is to be {label!r}, and others of its superpixel {known[node(place)]!r}."
            )
    forbidden: dict[int, list[Any]] = {}
    for place, labels in labels_by_node("forbidden", own.forbidden):
        some = labels if isinstance(labels, list | tuple | set | np.ndarray) else [labels]
        forbidden.setdefault(node(place), []).extend(some)
    return Restriction(known=known, forbidden=forbidden)


def _majorities(shares: list[np.ndarray], classes: np.ndarray, noun: str) -> list[np.ndarray]:
    """One label per node: that of most of its pixels or points."""
    found = [(share > 0.5).astype(np.int64) for share in shares]
    present = np.unique(np.concatenate(found))
    if len(present) < 2:
        rare = classes[1 - present[0]].item()
        raise ValueError(
            f"no node of any {noun} has a majority of {rare!r}: the nodes are too coarse. Make"
            " smaller ones, e.g. more superpixels."
        )
    return [classes[own] for own in found]


def _prices(made: Made, share: np.ndarray) -> np.ndarray:
    """(V,), what an error at each node costs; errors at all nodes cost about their number.

    A node with pixels of both labels is never quite right: its price is how many pixels more are
    wrong if it takes the label of the fewer ones.
    """
    weight = made.weight
    return np.abs(2.0 * share - 1.0) * weight * (len(weight) / weight.sum())


def _on_graphs(stopping: EarlyStopping, maker: GraphMaker, classes: np.ndarray) -> None:
    """Make early stopping, which is given samples, look at their graphs."""
    try:
        held_out = [
            maker.make(maker.check(i, x)) for i, x in enumerate(each_sample(stopping.X, maker.noun))
        ]
        masks = check_masks(stopping.y, len(held_out), maker.noun)
        for i, (own, mask) in enumerate(zip(held_out, masks, strict=True)):
            check_shape(i, mask, own.shape, maker.noun)
            check_known(i, mask, classes, maker.noun)
    except SampleError as error:
        raise SampleError.of(*error.parts, noun=error.noun, held_out=True) from error
    except ValueError as error:
        raise ValueError(f"held-out {error}") from error
    measure: Callable[..., float] = stopping.metric or _share_right

    def metric(truth: Sequence[Any], nodes: Sequence[Any]) -> float:
        spread = [own.spread(found) for own, found in zip(held_out, nodes, strict=True)]
        return float(measure(truth, spread))

    stopping.X, stopping.y = [own.graph for own in held_out], masks
    stopping.metric = metric


def _share_right(truth: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> float:
    right = sum(int(np.sum(a == b)) for a, b in zip(truth, found, strict=True))
    return right / max(1, sum(mask.size for mask in truth))
