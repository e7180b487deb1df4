"""The task `network`: labels of any number for the nodes of any graphs, from arrays in an npz file.

Arrays as for the task `graph`; edge_features may be of any sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from maxmargin.estimators import NetworkSVM
from maxmargin.formats.npz import Arrays
from maxmargin.inputs import Graph
from maxmargin.tasks.arrays.graph_arrays import graphs_in
from maxmargin.tasks.arrays.graphs import batches, drawing
from maxmargin.tasks.arrays.trees import TreeJob
from maxmargin.tasks.command import MANY_LABELS, OBJECTIVE, Data, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Metric
from maxmargin.tasks.probabilities import CALIBRATE, PROBABILITIES


class NetworkJob(TreeJob):
    """Labels for the nodes of any graphs, by `NetworkSVM`."""

    name: ClassVar[str] = "network"
    title: ClassVar[str] = "Label networks"
    summary: ClassVar[str] = "a label for every node of any graph, by its features and neighbours"
    data_help: ClassVar[str] = (
        "Files .npz as numpy.savez writes them, with nodes (V, n_features) of all samples one after"
        " another, or nodes_data, nodes_indices, nodes_indptr and nodes_shape of a CSR matrix;"
        " edges (E, 2), the two nodes of each edge, counted from 0 within their sample;"
        " edge_features (E, n_features) if edges differ, or a CSR matrix as above; labels (V,),"
        " numbers or texts, of any number of kinds; and, if there is more than one sample, node_ptr"
        " and edge_ptr (n + 1,), where the nodes and edges of each begin and the last ones end, or"
        " n_nodes and n_edges (n,), how many each has."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train network --data train.npz --validation dev.npz --out RUN",
        "train network --data train.npz --method bounded --alpha 0.001 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    sides = ("first end", "second end")
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "method",
            ("auto", "exact", "bounded", "relaxed"),
            "auto",
            "How the best labels are found. exact: by a junction tree, for small or narrow graphs;"
            " bounded: good labels, and a proof of how far off they are at most; relaxed: by linear"
            " programs, rounded, slow. auto: exact where that fits, else bounded.",
        ),
        Option("bias", bool, True, "Learn a constant for each label."),
        Option(
            "ends",
            bool,
            False,
            "Learn weights for the labels of nodes that no edge leads to or starts from.",
        ),
        Option(
            "transitions",
            bool,
            True,
            "Learn weights for pairs of labels; without them nodes are independent.",
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
        return graphs_in(arrays)

    def estimator(self, options: Mapping[str, Any]) -> Any:
        options = self.with_defaults(options)
        names = ("method", "bias", "ends", "transitions", "objective")
        return NetworkSVM(**{name: options[name] for name in names})

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        found = [own for batch in batches(data.inputs) for own in model.predict_within(batch)]
        evaluation = self._compared(model, data, [own.labels for own in found], shown)
        share = float(np.mean([own.is_best for own in found])) if found else None
        text = "share of networks whose labels are proven to be those of the highest score"
        evaluation["metrics"].append(
            Metric(name="proven best", value=share, better="higher", percent=True, help=text)
        )
        return evaluation

    def _drawn(
        self, name: str, graph: Graph, truth: list[str], predicted: list[str], errors: int
    ) -> Drawing:
        """The nodes in their order: a graph with cycles has no outline."""
        return drawing(name, errors, truth, predicted)
