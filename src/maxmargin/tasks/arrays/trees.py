"""The task `tree`: labels for the nodes of trees, from arrays in an npz file.

Arrays as for the task `graph`, and in the place of edges, if that is easier, parents : (V,), the
parent of each node, counted from 0 within its sample, -1 for a root. Edges lead from parent to
child; edge_features are then those of the nodes that have a parent, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from maxmargin.estimators import TreeSVM
from maxmargin.formats.npz import Arrays
from maxmargin.inputs import Graph
from maxmargin.tasks.arrays.graph_arrays import trees_in
from maxmargin.tasks.arrays.graphs import GraphJob, batches
from maxmargin.tasks.command import MANY_LABELS, OBJECTIVE, Data, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.labels import texts_of
from maxmargin.tasks.probabilities import CALIBRATE, PROBABILITIES, with_reliability
from maxmargin.tasks.sequences import check_kinds, label_evaluation, weight_table
from maxmargin.tasks.tagging.reports import strongest

#: nodes of one tree that a report shows
MAX_SHOWN = 200


class TreeJob(GraphJob):
    """Labels for the nodes of trees, by `TreeSVM`."""

    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "Label trees"
    summary: ClassVar[str] = "a label for every node of a tree, by its features and neighbours"
    data_help: ClassVar[str] = (
        "Files .npz as numpy.savez writes them, with nodes (V, n_features) of all samples one after"
        " another, or nodes_data, nodes_indices, nodes_indptr and nodes_shape of a CSR matrix;"
        " parents (V,), the parent of each node, counted from 0 within its sample, -1 for a root,"
        " or edges (E, 2) from parents to children; edge_features (E, n_features) if edges differ,"
        " one row for each edge, or for each node with a parent; labels (V,), numbers or texts;"
        " and, if there is more than one sample, node_ptr (n + 1,), where the nodes of each begin"
        " and the last ones end, or n_nodes (n,), how many each has, and with edges edge_ptr or"
        " n_edges alike."
    )
    predict_help: ClassVar[str] = (
        "Reads the same files, labels not needed. Writes text, one line a sample with the labels of"
        " its nodes separated by spaces; or, if the output file is called .npz or with --write npz,"
        " the arrays labels and node_ptr. With --probabilities, each label of the text is followed"
        " by / and how probable it is, and the arrays have probabilities, too."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train tree --data train.npz --validation dev.npz --out RUN",
        "train tree --data train.npz --objective likelihood --alpha 0.001 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    compared = ("bcfw", "ssg", "perceptron")
    #: what the two ends of an edge are called
    sides: ClassVar[tuple[str, str]] = ("parent", "child")
    options: ClassVar[tuple[Option, ...]] = (
        Option("bias", bool, True, "Learn a constant for each label."),
        Option("ends", bool, True, "Learn weights for the labels of roots and of leaves."),
        Option(
            "forest",
            bool,
            False,
            "Samples given by parents may have several roots.",
            of_data=True,
        ),
        Option(
            "write",
            ("auto", "text", "npz"),
            "auto",
            "What predict writes. auto: npz if the output file is called .npz, else text.",
            of_data=True,
        ),
        MANY_LABELS,
        OBJECTIVE,
        CALIBRATE,
        PROBABILITIES,
    )

    def _samples(
        self, arrays: Arrays, options: Mapping[str, Any]
    ) -> tuple[list[Graph], np.ndarray]:
        return trees_in(arrays, self.with_defaults(options)["forest"])

    def estimator(self, options: Mapping[str, Any]) -> TreeSVM:
        options = self.with_defaults(options)
        return TreeSVM(**{name: options[name] for name in ("bias", "ends", "objective")})

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        guess = [own for batch in batches(data.inputs) for own in model.predict(batch)]
        return self._compared(model, data, guess, shown)

    def _compared(self, model: Any, data: Data, guess: list[Any], shown: int) -> Evaluation:
        assert data.outputs is not None
        check_kinds(model, data.outputs)
        truth, predicted = ([texts_of(own) for own in y] for y in (data.outputs, guess))

        def drawn(i: int, errors: int) -> Drawing:
            name = f"{self.name.capitalize()} {i + 1}"
            return self._drawn(name, data.inputs[i], truth[i], predicted[i], errors)

        known = texts_of(model.classes_)
        evaluation = label_evaluation(truth, predicted, data.facts, drawn, shown, known, self.name)
        return with_reliability(evaluation, model, data)

    def _drawn(
        self, name: str, graph: Graph, truth: list[str], predicted: list[str], errors: int
    ) -> Drawing:
        return outline(name, graph, truth, predicted, errors)

    def describe(self, model: Any) -> list[Table]:
        labels = texts_of(model.classes_)
        features = [
            (label, f"feature {j}", model.node_coef_[j, k])
            for k, label in enumerate(labels)
            for j in strongest(model.node_coef_[:, k], 5)
        ]
        found = [
            weight_table(
                "Strongest features of each label", ("label", "feature", "weight"), features
            )
        ]
        if model.transitions:
            first, second = self.sides
            columns = ("edge", first, second, "weight")
            found.append(
                weight_table(f"Strongest pairs of {first} and {second}", columns, _pairs(model))
            )
        if model.ends:
            rows = [
                [own, float(model.root_[k]), float(model.leaf_[k])] for k, own in enumerate(labels)
            ]
            names = ["label", "at roots", "at leaves"]
            found.append(Table(title="Roots and leaves", columns=names, rows=rows, note=""))
        return found


def _pairs(model: Any) -> list[tuple[Any, ...]]:
    """The pairs of labels with the largest weights, of each edge feature."""
    labels = texts_of(model.classes_)
    tables = model.pair_coef_.reshape(-1, len(labels), len(labels))
    where = np.unravel_index(strongest(tables.ravel(), 20), tables.shape)
    return [
        (f"edge feature {e}", labels[a], labels[b], tables[e, a, b])
        for e, a, b in zip(*where, strict=True)
    ]


def outline(
    name: str, graph: Graph, truth: list[str], predicted: list[str], errors: int
) -> Drawing:
    """The nodes of a tree below one another, children after their parents and further in."""
    order, depth = preorder(graph.network.n_nodes, graph.edges)
    wrong = next((k for k, v in enumerate(order) if truth[v] != predicted[v]), 0)
    first = max(0, min(wrong - 10, len(order) - MAX_SHOWN))
    shown = order[first : first + MAX_SHOWN]
    part = "" if len(shown) == len(order) else f", {len(shown)} nodes shown"
    return Drawing(
        kind="outline",
        title=f"{name}: {errors} of {len(truth)} wrong{part}",
        errors=errors,
        truth_known=True,
        tokens=[str(v) for v in shown],
        depth=depth[first : first + MAX_SHOWN],
        truth=[truth[v] for v in shown],
        predicted=[predicted[v] for v in shown],
    )


def preorder(n_nodes: int, edges: np.ndarray) -> tuple[list[int], list[int]]:
    """All nodes, each followed by what hangs on it, and how far each is from its root."""
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    for parent, child in edges.tolist():
        near[parent].append(child)
        near[child].append(parent)
    led_to = np.bincount(edges[:, 1], minlength=n_nodes) > 0
    order: list[int] = []
    depth: list[int] = []
    seen = [False] * n_nodes
    for root in [*np.flatnonzero(~led_to).tolist(), *range(n_nodes)]:
        waiting = [] if seen[root] else [(root, 0)]
        while waiting:
            node, level = waiting.pop()
            seen[node] = True
            order.append(node)
            depth.append(level)
            waiting += [
                (other, level + 1) for other in sorted(near[node], reverse=True) if not seen[other]
            ]
    return order, depth
