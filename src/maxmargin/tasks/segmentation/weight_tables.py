"""What a graph-cut model has learned, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.tasks.documents import Table
from maxmargin.tasks.labels import texts_of

MAX_ROWS = 50


def weight_tables(model: Any, nodes: Sequence[str], edges: Sequence[str]) -> list[Table]:
    """Weights of the features of nodes, strongest first, and those of edges, in order.

    model : a fitted GraphCutSVM. nodes, edges : names of the features.
    """
    labels = texts_of(model.classes_)
    rows: list[list[Any]]
    if model.tables:
        first, second = labels
        pairs = [f"{a} {b}" for a in (first, second) for b in (first, second)]
        columns, note = ["feature", *pairs], "scores of the labels of an edge's two ends"
        rows = [[name, *map(float, own)] for name, own in zip(edges, model.edge_coef_, strict=True)]
    else:
        columns, note = ["feature", "weight"], "what it costs that the ends of an edge differ"
        rows = [[name, float(own)] for name, own in zip(edges, model.edge_coef_, strict=True)]
    edge_table = Table(title="Weights of edges", columns=columns, rows=rows[:MAX_ROWS], note=note)
    return [_node_table(model, [*nodes, "bias"][: len(model.node_coef_)], labels), edge_table]


def _node_table(model: Any, names: Sequence[str], labels: Sequence[str]) -> Table:
    weights = model.node_coef_.reshape(len(names), -1)
    order = np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:MAX_ROWS].tolist()
    note = f"a positive weight speaks for {labels[-1]}, a negative one for {labels[0]}"
    columns = ["weight"]
    if weights.shape[1] > 1:
        columns, note = list(labels), "what speaks for each label"
    rows = [[names[k], *map(float, weights[k])] for k in order]
    return Table(title="Weights of nodes", columns=["feature", *columns], rows=rows, note=note)
