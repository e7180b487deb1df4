"""The task `graph`: labels for the nodes of graphs, from arrays in an npz file.

nodes : (V, p), the features of all nodes, one sample after another; or a CSR matrix as four arrays.
edges : (E, 2), the two nodes of each edge, counted from 0 within their sample.
edge_features : (E, q), 0 or more; left out means one feature that is 1.
labels : (V,), two different values; may be left out where there is no truth.
node_ptr, edge_ptr : (n + 1,), where samples begin; or n_nodes, n_edges : (n,), their sizes. Without
    them the file is one sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from maxmargin.estimators import GraphCutSVM
from maxmargin.formats.npz import Arrays, read_npz, write_npz
from maxmargin.formats.text_lines import name_of
from maxmargin.inputs import Graph
from maxmargin.tasks.arrays.graph_arrays import LABELS_CURE, graphs_in, labels_in
from maxmargin.tasks.command import Data, Job, Option
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.labels import kind_of, lines_of, texts_of
from maxmargin.tasks.probabilities import of_chosen
from maxmargin.tasks.segmentation.areas import Areas
from maxmargin.tasks.segmentation.weight_tables import weight_tables
from maxmargin.tasks.sequences import titled, window

#: nodes labelled at a time
BATCH = 1 << 20


class GraphJob(Job):
    """Two labels for the nodes of graphs, by `GraphCutSVM`."""

    name: ClassVar[str] = "graph"
    title: ClassVar[str] = "Label graphs"
    summary: ClassVar[str] = "one of two labels for every node of a graph, neighbours alike"
    data_help: ClassVar[str] = (
        "Files .npz as numpy.savez writes them, with nodes (V, n_features) of all samples one after"
        " another, or nodes_data, nodes_indices, nodes_indptr and nodes_shape of a CSR matrix;"
        " edges (E, 2), the two nodes of each edge, counted from 0 within their sample;"
        " edge_features (E, n_features), 0 or more, if edges differ; labels (V,), two values (more"
        " with --multiclass), numbers or texts; and, if there is more than one sample, node_ptr and"
        " edge_ptr (n + 1,), where the nodes and edges of each begin and the last ones end, or"
        " n_nodes and n_edges (n,), how many each has."
    )
    predict_help: ClassVar[str] = (
        "Reads the same files, labels not needed. Writes text, one line a sample with the labels of"
        " its nodes separated by spaces; or, if the output file is called .npz or with --write npz,"
        " the arrays labels and node_ptr."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "train graph --data train.npz --validation dev.npz --out RUN",
        "train graph --data train.npz --tables --alpha 0.01 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    #: of both families, and the simplest one beside them
    compared = ("bcfw", "dual-extragradient", "perceptron")
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "tables",
            bool,
            False,
            "Learn four weights for each edge feature, one for each pair of labels, instead of"
            " what it costs that labels differ.",
        ),
        Option(
            "multiclass",
            bool,
            False,
            "Any number of labels; the best ones are then found approximately. Not with --tables.",
        ),
        Option("bias", bool, True, "Learn a constant that every node adds."),
        Option(
            "write",
            ("auto", "text", "npz"),
            "auto",
            "What predict writes. auto: npz if the output file is called .npz, else text.",
            of_data=True,
        ),
    )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name one at least.")
        inputs: list[Graph] = []
        outputs: list[np.ndarray] = []
        for path in paths:
            arrays = read_npz(path)
            graphs, starts = self._samples(arrays, options)
            labels = labels_in(arrays, starts)
            if labels is None:
                raise ValueError(f"{name_of(path)}: array 'labels' is missing; {LABELS_CURE}")
            if inputs:
                _check_like(name_of(path), (inputs[0], outputs[0]), (graphs[0], labels[0]))
            inputs += graphs
            outputs += labels
        return self._with_facts(Data(inputs, outputs))

    def _samples(
        self, arrays: Arrays, options: Mapping[str, Any]
    ) -> tuple[list[Graph], np.ndarray]:
        """The graphs in a file, and where the nodes of each begin."""
        return graphs_in(arrays)

    def estimator(self, options: Mapping[str, Any]) -> Any:
        options = self.with_defaults(options)
        own = {name: options[name] for name in ("tables", "multiclass", "bias")}
        return GraphCutSVM(**own)

    def widths(self, sample: Any) -> dict[str, int]:
        return {
            "features of nodes": int(sample.nodes.shape[1]),
            "features of edges": int(sample.edge_features.shape[1]),
        }

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        assert data.outputs is not None
        outputs = [data.outputs[i] for i in indices]
        return self._with_facts(Data([data.inputs[i] for i in indices], outputs))

    def _with_facts(self, data: Data) -> Data:
        assert data.outputs is not None
        data.facts = {
            f"{self.name}s": len(data.inputs),
            "nodes": sum(graph.network.n_nodes for graph in data.inputs),
            "edges": sum(graph.network.n_edges for graph in data.inputs),
        }
        if data.inputs:
            data.facts["features"] = int(data.inputs[0].nodes.shape[1])
            data.facts["edge features"] = int(data.inputs[0].edge_features.shape[1])
        return data

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        """Label the samples of each file, which is in memory at a time."""
        options = self.with_defaults(options)
        as_npz = options["write"] == "npz" or (
            options["write"] == "auto" and ".npz" in Path(str(getattr(sink, "name", ""))).name
        )
        kept: list[np.ndarray] = []
        known: list[np.ndarray] = []
        count = 0
        for source in sources:
            for batch in batches(self._samples(read_npz(source), options)[0]):
                labels = model.predict(batch)
                count += len(labels)
                shares = of_chosen(model, batch, labels) if options.get("probabilities") else []
                if as_npz:
                    kept += labels
                    known += shares
                else:
                    sink.write("".join(lines_of(labels, shares)).encode())
        if as_npz:
            starts = np.cumsum([0, *map(len, kept)])
            arrays = {"labels": np.concatenate(kept), "node_ptr": starts}
            if known:
                arrays["probabilities"] = np.concatenate(known)
            write_npz(sink, arrays)
        sink.flush()
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        assert data.outputs is not None
        guess = [own for batch in batches(data.inputs) for own in model.predict(batch)]
        names = [f"graph {i + 1}" for i in range(len(guess))]
        areas = Areas(model.classes_, data.outputs, guess, "node", names)
        drawings = [
            drawing(names[i], areas.errors(i), texts_of(data.outputs[i]), texts_of(guess[i]))
            for i in areas.worst(shown)
        ]
        return areas.evaluation(data.facts, drawings)

    def describe(self, model: Any) -> list[Table]:
        names = [f"feature {j}" for j in range(model.n_features_in_)]
        return weight_tables(
            model, names, [f"edge feature {j}" for j in range(model.n_edge_features_in_)]
        )


def batches(graphs: Sequence[Graph]) -> list[list[Graph]]:
    """Of so many nodes, or one graph."""
    found: list[list[Graph]] = []
    size = BATCH
    for graph in graphs:
        size += graph.network.n_nodes
        if size > BATCH:
            found.append([])
            size = graph.network.n_nodes
        found[-1].append(graph)
    return found


def _check_like(name: str, known: tuple[Graph, Any], new: tuple[Graph, Any]) -> None:
    """That files go together."""
    for what, array in (("nodes", "nodes"), ("edges", "edge_features")):
        wanted, found = (getattr(own[0], array).shape[1] for own in (known, new))
        if wanted != found:
            raise ValueError(
                f"{name}: array {array!r} has {found} features of {what}, the file before has"
                f" {wanted}; all files need the same."
            )
    if kind_of(known[1]) != kind_of(new[1]):
        raise ValueError(
            f"{name}: array 'labels' has {kind_of(new[1])}, the file before has"
            f" {kind_of(known[1])}; all files need labels of one kind."
        )


def drawing(name: str, errors: int, truth: list[str], predicted: list[str]) -> Drawing:
    """The labels of the nodes, one after another."""
    part = window(truth, predicted)
    return Drawing(
        kind="tokens",
        title=titled(name, errors, len(truth), part),
        errors=errors,
        truth_known=True,
        tokens=[str(j) for j in range(part.start, part.stop)],
        truth=truth[part],
        predicted=predicted[part],
    )
