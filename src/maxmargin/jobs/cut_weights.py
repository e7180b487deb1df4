"""What a graph-cut model has learned, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.documents import Table
from maxmargin.jobs.labels import texts_of

MAX_ROWS = 50


def weight_tables(model: Any, nodes: Sequence[str], edges: Sequence[str]) -> list[Table]:
    """Weights of the features of nodes, strongest first, and those of edges, in order.

    model : a fitted GraphCutSVM. nodes, edges : names of the features.
    """
    first, second = texts_of(model.classes_)
    names = [*nodes, "bias"][: len(model.node_coef_)]
    order = np.argsort(-np.abs(model.node_coef_), kind="stable")[:MAX_ROWS].tolist()
    node_table = Table(
        title="Weights of nodes",
        columns=["feature", "weight"],
        rows=[[names[k], float(model.node_coef_[k])] for k in order],
        note=f"a positive weight speaks for {second}, a negative one for {first}",
    )
    rows: list[list[Any]]
    if model.tables:
        pairs = [f"{a} {b}" for a in (first, second) for b in (first, second)]
        columns, note = ["feature", *pairs], "scores of the labels of an edge's two ends"
        rows = [[name, *map(float, own)] for name, own in zip(edges, model.edge_coef_, strict=True)]
    else:
        columns, note = ["feature", "weight"], "what it costs that the ends of an edge differ"
        rows = [[name, float(own)] for name, own in zip(edges, model.edge_coef_, strict=True)]
    edge_table = Table(title="Weights of edges", columns=columns, rows=rows[:MAX_ROWS], note=note)
    return [node_table, edge_table]
