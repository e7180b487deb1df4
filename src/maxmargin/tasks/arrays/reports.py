"""What reports say of models on arrays: comparisons with the truth, drawings, learned weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from maxmargin.estimators.probabilities import fits_probabilities
from maxmargin.metrics import multi_label_scores
from maxmargin.metrics.links import ComparedLinks, Link, compare_links
from maxmargin.tasks.command import Data
from maxmargin.tasks.documents import Drawing, Evaluation, Metric, Table
from maxmargin.tasks.link_documents import kinds_table, link_drawing, make_metric, ratio_or_none
from maxmargin.tasks.probabilities import add_reliability
from maxmargin.tasks.sequences import (
    MAX_SHOWN,
    drawing_title,
    score_table,
    shown_window,
    weight_table,
)
from maxmargin.tasks.tagging.reports import strongest_weights

#: pixels of an image, and images of a sequence, that a report draws
MAX_PIXELS, MAX_IMAGES = 4096, 40
#: rows of the table of the samples with the most errors
MAX_ROWS = 20
#: labels of a set that a report shows
MAX_SET = 40


def draw_labels(
    name: str,
    errors: int,
    truth: list[str],
    predicted: list[str],
    tokens: Sequence[Any],
    depth: Sequence[int] = (),
    most: int = MAX_SHOWN,
) -> Drawing:
    """Draw labels one after another, of long samples from a little before the first error.

    Parameters
    ----------
    name : str
        What the sample is called.
    errors : int
        How many labels are wrong.
    truth, predicted : list of str
        The labels.
    tokens : sequence
        What has the labels.
    depth : sequence of int
        How far in each token stands; if given, the drawing is an outline.
    most : int
        How many labels are shown at most.

    Returns
    -------
    Drawing
        Of kind "tokens" or "outline".
    """
    part = shown_window(truth, predicted)
    part = slice(part.start, min(part.stop, part.start + most))
    drawing = Drawing(
        kind="outline" if depth else "tokens",
        title=drawing_title(name, errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=[str(token) for token in tokens[part]],
        truth=truth[part],
        predicted=predicted[part],
    )
    if depth:
        drawing["depth"] = list(depth[part])
    return drawing


def draw_images(
    name: str,
    errors: int,
    truth: list[str],
    predicted: list[str],
    rows: Any,
    size: tuple[int, int] | None,
) -> Drawing:
    """Draw the labels of a sequence, and its rows as images if their size is known.

    Parameters
    ----------
    name : str
        Name of the sample.
    errors : int
        Number of wrong labels.
    truth, predicted : list of str
        The labels.
    rows : numpy.ndarray or scipy.sparse.csr_array
        The features of the sequence.
    size : tuple of int or None
        Height and width of the images.

    Returns
    -------
    Drawing
        Of kind "images", pixels scaled to 0 to 1, or "tokens".
    """
    places = range(1, len(truth) + 1)
    if size is None or size[0] * size[1] > MAX_PIXELS:
        return draw_labels(name, errors, truth, predicted, places)
    drawing = draw_labels(name, errors, truth, predicted, places, most=MAX_IMAGES)
    start = int(drawing["tokens"][0]) - 1
    pixels = rows[start : start + len(drawing["tokens"])]
    pixels = np.asarray(pixels.toarray() if hasattr(pixels, "toarray") else pixels, dtype=float)
    low, high = min(pixels.min(), 0.0), pixels.max()
    scaled = (pixels - low) / (high - low) if high > low else np.zeros(pixels.shape)
    drawing["kind"], drawing["images"] = "images", np.round(scaled, 3).tolist()
    drawing["height"], drawing["width"] = size
    return drawing


def order_nodes(n_nodes: int, edges: np.ndarray) -> tuple[list[int], list[int]]:
    """Order the nodes of a forest, each followed by what hangs on it.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    edges : numpy.ndarray
        (E, 2), parents and children.

    Returns
    -------
    order : list of int
        All nodes.
    depth : list of int
        How far each of them is from its root.
    """
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    for parent, child in edges.tolist():
        near[parent].append(child)
        near[child].append(parent)
    has_parent = np.bincount(edges[:, 1], minlength=n_nodes) > 0
    order: list[int] = []
    depth: list[int] = []
    seen = [False] * n_nodes
    for root in [*np.flatnonzero(~has_parent).tolist(), *range(n_nodes)]:
        waiting = [] if seen[root] else [(root, 0)]
        while waiting:
            node, level = waiting.pop()
            seen[node] = True
            order.append(node)
            depth.append(level)
            near_by = sorted(near[node], reverse=True)
            waiting += [(other, level + 1) for other in near_by if not seen[other]]
    return order, depth


def tabulate_features(model: Any, labels: Sequence[str], first: int = 0) -> Table:
    """List the strongest features of each label, or tell of the kernel if the model has one.

    Parameters
    ----------
    model : estimator
        Fitted, with ``node_coef_`` of shape (features, labels).
    labels : sequence of str
        Names of the labels.
    first : int, default=0
        The number of the first feature.

    Returns
    -------
    Table
        The table.
    """
    kernel = tabulate_kernel(model)
    if kernel is not None:
        return kernel
    rows = [
        (label, f"feature {j + first}", model.node_coef_[j, k])
        for k, label in enumerate(labels)
        for j in strongest_weights(model.node_coef_[:, k], 5)
    ]
    columns = ("label", "feature", "weight")
    return weight_table("Strongest features of each label", columns, rows)


def tabulate_pairs(
    title: str, columns: Sequence[str], names: Iterable[Sequence[str]], weights: Any
) -> Table:
    """List the strongest of the weights of pairs.

    Parameters
    ----------
    title : str
        Title of the table.
    columns : sequence of str
        What the names are.
    names : iterable of sequence of str
        Those of each weight.
    weights : numpy.ndarray
        In any shape.

    Returns
    -------
    Table
        The table.
    """
    named, flat = list(names), np.ravel(weights)
    rows = [(*named[j], flat[j]) for j in strongest_weights(flat, 20)]
    return weight_table(title, (*columns, "weight"), rows)


def tabulate_ends(
    title: str, columns: Sequence[str], labels: Sequence[str], first: Any, last: Any
) -> Table:
    """List the weights of each label at both ends.

    Parameters
    ----------
    title : str
        Title of the table.
    columns : sequence of str
        What the ends are called.
    labels : sequence of str
        Names of the labels.
    first, last : numpy.ndarray
        One weight for each label.

    Returns
    -------
    Table
        The table.
    """
    rows = [[label, float(first[k]), float(last[k])] for k, label in enumerate(labels)]
    return Table(title=title, columns=["label", *columns], rows=rows, note="")


def tabulate_kernel(model: Any) -> Table | None:
    """Tell of a model's kernel, in place of weights.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    Table or None
        None if the model has no kernel.
    """
    own = getattr(model, "kernel_", None)
    if own is None:
        return None
    rows = [["kernel", str(own.kernel)], ["method", own.method]]
    if own.kernel != "linear":
        rows.append(["gamma", f"{own.gamma_:.6g}"])
    if own.kernel == "poly":
        rows += [["degree", str(own.degree)], ["coef0", f"{own.coef0:g}"]]
    rows += [["distinct rows", str(own.n_distinct_)], ["coordinates", str(own.n_coordinates_)]]
    if own.method != "random":
        rows.append(["support vectors", str(model.n_support_)])
        rows.append(["share of the kernel left out", f"{own.residual_:.3g}"])
    note = "weights belong to coordinates of the kernel, so single features have none"
    return Table(title="Kernel", columns=["what", "value"], rows=rows, note=note)


def evaluate_links(data: Data, predicted: Sequence[Sequence[Link]], shown: int) -> Evaluation:
    """Compare links with the truth: precision, recall, F1, and samples that are all right.

    Parameters
    ----------
    data : Data
        Samples; outputs may be None.
    predicted : sequence of sequence of (int, int)
        The links (row, column) of each sample.
    shown : int
        How many samples are drawn, those with the most errors.

    Returns
    -------
    Evaluation
        Without errors where the truth is not known.
    """
    known = data.outputs is not None
    if data.outputs is None:
        compared = [compare_links(own) for own in predicted]
    else:
        truth = [set(map(tuple, own.tolist())) for own in data.outputs]
        compared = [compare_links(a, b, b) for a, b in zip(predicted, truth, strict=True)]
    errors = [len(own.wrong) + len(own.missed) for own in compared]
    worst = sorted(range(len(compared)), key=lambda i: (-errors[i], i))
    columns, note = ["sample", "missed", "wrong"], "samples are counted from 0"
    rows = [
        [i, _format_links(compared[i].missed), _format_links(compared[i].wrong)]
        for i in worst[:MAX_ROWS]
        if errors[i]
    ]
    table = Table(title="Samples with the most errors", columns=columns, rows=rows, note=note)
    metrics = _link_metrics(compared, errors, known)
    return Evaluation(
        data=dict(data.counts),
        error=1.0 - (metrics[0]["value"] or 0.0) if known else None,
        error_name="1 - F1 of links",
        metrics=metrics,
        tables=[kinds_table(compared, with_possible=False), table] if known else [],
        confusion=None,
        drawings=[_draw_links(i, data, compared[i], errors[i]) for i in worst[:shown]],
    )


def _link_metrics(
    compared: Sequence[ComparedLinks], errors: Sequence[int], known: bool
) -> list[Metric]:
    right = sum(len(own.right) for own in compared)
    guessed = right + sum(len(own.wrong) for own in compared)
    true = right + sum(len(own.missed) for own in compared)
    count = make_metric("links predicted", guessed, "in all samples", "neither", percent=False)
    if not known:
        return [count]
    score = 2 * right / (guessed + true) if guessed + true else 1.0
    exact = ratio_or_none(errors.count(0), len(compared))
    return [
        make_metric("F1", score, "harmonic mean of precision and recall"),
        make_metric(
            "precision", ratio_or_none(right, guessed), "share of the predicted links that are true"
        ),
        make_metric(
            "recall", ratio_or_none(right, true), "share of the true links that are predicted"
        ),
        make_metric("exact", exact, "share of the samples with every link right"),
        count,
    ]


def _format_links(links: Iterable[Link]) -> str:
    return " ".join(f"{j}-{k}" for j, k in sorted(links))


def _draw_links(i: int, data: Data, own: ComparedLinks, errors: int) -> Drawing:
    rows, columns = data.inputs[i].shape[:2]
    sides = [str(j) for j in range(rows)], [str(k) for k in range(columns)]
    true = own.right | own.missed
    truth = None if data.outputs is None else (true, true)
    return link_drawing(f"sample {i}", sides, own.right | own.wrong, truth, errors)


def evaluate_label_sets(
    model: Any,
    data: Data,
    truth: np.ndarray,
    predicted: np.ndarray,
    names: Sequence[str],
    shown: int,
) -> Evaluation:
    """Compare sets of labels with the truth.

    Parameters
    ----------
    model : MultiLabelSVM
        Fitted.
    data : Data
        Labelled samples.
    truth, predicted : numpy.ndarray
        (samples, labels), zeros and ones.
    names : sequence of str
        All labels, those that the model knows first.
    shown : int
        How many samples are drawn, those with the most errors.

    Returns
    -------
    Evaluation
        The error is the Hamming loss.
    """
    report = multi_label_scores(truth, predicted, names)
    errors = (truth != predicted).sum(axis=1).tolist()
    worst = sorted(range(len(truth)), key=lambda i: (-errors[i], i))[: max(shown, 0)]
    evaluation = Evaluation(
        data=dict(data.counts),
        error=report.hamming_loss,
        error_name="Hamming loss",
        metrics=[
            make_metric(
                "Hamming loss", report.hamming_loss, "share of labels that are wrong", "lower"
            ),
            make_metric(
                "exact match", report.exact_match, "share of samples with every label right"
            ),
            make_metric("micro F1", report.micro_f1, "F1 of all labels of all samples together"),
            make_metric("macro F1", report.macro_f1, "mean of the labels' F1, each counted alike"),
            make_metric("example F1", report.example_f1, "mean of the samples' F1"),
            make_metric(
                "Jaccard", report.jaccard, "mean of labels in both sets / labels in either"
            ),
        ],
        tables=[score_table("Labels", report, "label")],
        confusion=None,
        drawings=[_draw_set(i, errors[i], truth[i], predicted[i], names) for i in worst],
    )
    truth = truth[:, : len(model.classes_)]
    if not fits_probabilities(model) or not truth.size:
        return evaluation
    p = [np.column_stack([1.0 - own, own]) for own in model.predict_proba(data.inputs)]
    return add_reliability(evaluation, list(truth), p, [0, 1])


def _draw_set(
    i: int, errors: int, truth: np.ndarray, predicted: np.ndarray, names: Sequence[str]
) -> Drawing:
    """The labels of a sample; of many, only those that it has or was given."""
    which = list(range(len(names)))
    if len(names) > MAX_SET:
        which = np.flatnonzero(truth | predicted)[:MAX_SET].tolist()
    true, guessed = ([("no", "yes")[own[k]] for k in which] for own in (truth, predicted))
    drawing = draw_labels("", errors, true, guessed, [names[k] for k in which])
    drawing["title"] = f"Sample {i + 1}: {errors} of {len(names)} wrong"
    return drawing
