"""The table of the tasks on arrays: what each of them reads, learns, writes and shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.datasets import load_letters
from maxmargin.datasets.letters import letters_of
from maxmargin.domains import Signs
from maxmargin.estimators import (
    ChainSVM,
    GraphCutSVM,
    MatchingSVM,
    MultiLabelSVM,
    NetworkSVM,
    TreeSVM,
)
from maxmargin.estimators.label_rows import TextRows
from maxmargin.formats.multi_label import read_multilabel
from maxmargin.formats.npz import Arrays, NpzError
from maxmargin.formats.text_lines import open_unpacked
from maxmargin.tasks.arrays import options, reports, samples
from maxmargin.tasks.arrays.reading import Array, Contents, Counted, Parts
from maxmargin.tasks.arrays.samples import Samples
from maxmargin.tasks.arrays.task import ArrayTask, LabelTask
from maxmargin.tasks.command import Data
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.labels import texts_of
from maxmargin.tasks.link_documents import make_metric
from maxmargin.tasks.segmentation.areas import Areas
from maxmargin.tasks.segmentation.weight_tables import weight_tables
from maxmargin.validation.samples import as_dense

#: bytes of letter.data, unpacked; the original has 14 million
MAX_TEXT = 1 << 28

# fmt: off
CHAIN_ARRAYS = (
    Array("X", ("rows", "features"), "features", "the features of all sequences, row under row"),
    Parts((Counted("rows", "lengths"),), "sequences", required=True),
    Array("y", ("rows",), "labels", "one label, a number or a text, for each row", optional=True),
    Array("fold", ("sequences",), "integers", "an integer for each sequence, if parts are to be"
          " chosen with --folds (validation files are read with the same folds)", optional=True),
)
NODES = Array("nodes", ("nodes", "features"), "features",
              "the features of all nodes, one sample after another")
PARENTS = Array("parents", ("nodes",), "integers",
                "the parent of each node, counted from 0 within its sample, -1 for a root")
EDGES = Array("edges", ("edges", 2), "integers",
              "the two nodes of each edge, counted from 0 within their sample",
              may_be_empty=True, least=0)
EDGE_FEATURES = Array("edge_features", ("edges", "edge features"), "features",
                      "if edges differ, one row for each edge", optional=True, may_be_empty=True)
LABELS = Array("labels", ("nodes",), "labels", "one number or text for each node", optional=True)
NODE_PARTS = Parts((Counted("nodes", "n_nodes", "node_ptr"),))
PARTS = Parts((*NODE_PARTS.counted, Counted("edges", "n_edges", "edge_ptr", least=0)))
GRAPH_ARRAYS = (NODES, EDGES, EDGE_FEATURES, LABELS, PARTS)
#: of trees, if the file has parents in place of edges
PARENT_ARRAYS = (
    NODES, PARENTS, replace(EDGE_FEATURES, axes=("nodes with a parent", "edge features")),
    LABELS, NODE_PARTS)
MATCHING_ARRAYS = (
    Array("X", ("edges", "features"), "features", "one row for each pair that may be linked, one"
          " sample after another", may_be_empty=True),
    Array("shapes", ("samples", 2), "integers", "the numbers of rows and columns of each sample",
          may_be_empty=True, least=0),
    Array("links", ("links", 3), "integers", "sample, row and column of each true link, all counted"
          " from 0", optional=True, may_be_empty=True),
    # left out if all pairs may be linked
    Array("edges", ("edges", 2), "integers", "row and column of each row of X", may_be_empty=True),
    Parts((Counted("edges", "n_edges", least=0),), required=True),
)
MULTI_LABEL_ARRAYS = (
    Array("X", ("samples", "features"), "features", "the features of all samples"),
    Array("Y", ("samples", "labels"), "flags", "zeros and ones", optional=True),
    Array("labels", ("labels",), "names", "a number or a text for each column of Y, if they have"
          " names", optional=True),
)
# fmt: on


def _list_arrays(declared: Sequence[Array | Parts], files: str = "Files") -> str:
    texts = "; ".join(own.hint for own in declared)
    return f"{files} .npz as numpy.savez writes them, with {texts}."


def _explain_output(arrays: str, line: str, probable: bool = True) -> str:
    text = (
        f"Writes text, one line per sample with {line}; or, if the output file is called .npz or"
        f" with --write npz, the arrays {arrays}."
    )
    return text + probable * (
        " With --probabilities, each label of the text is followed by / and how probable it is, and"
        " the arrays have probabilities, too."
    )


class ChainCommand(LabelTask):
    """Label sequences from rows of numbers, by `ChainSVM`."""

    name, noun = "chain", "sequence"
    title = "Label sequences"
    summary = "a label for every row of a sequence of feature rows"
    arrays, options = CHAIN_ARRAYS, options.CHAIN
    data_help = (
        f"{_list_arrays(arrays)} Or the file letter.data of handwritten words, plain or gzip."
    )
    predict_help = "Reads the same files, y not needed. " + _explain_output(
        "y and lengths", "the labels of its rows separated by spaces"
    )
    examples = (
        "train chain --data train.npz --validation dev.npz --out runs/chain",
        "train chain --data letter.data.gz --folds 0 --out runs/letters",
        "predict runs/chain new.npz > labels.txt",
        "evaluate runs/letters letter.data.gz --folds 1-9",
        "train chain --data letter.data.gz --folds 0 --kernel rbf --out runs/rbf",
    )
    estimator_class, passed = ChainSVM, ("objective",)
    target, written_parts = "y", "lengths"

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        data = super().read(paths, options)
        size = samples.parse_image_size(options.get("image") or "", data.inputs[0].shape[1])
        data.details["image"] = size or data.details.get("image")
        return data

    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        details = {"fold": found.values.get("fold")}
        return Samples(found.split("X", "rows"), found.split_labels("y", "rows"), details)

    def read_text(self, source: BinaryIO | Path, name: str, model: Any) -> Samples:
        if isinstance(source, Path):
            letters = load_letters(source)
        else:
            with open_unpacked(source) as text:
                raw = text.read(MAX_TEXT + 1)
            if len(raw) > MAX_TEXT:
                raise ValueError(f"{name}: has more than {MAX_TEXT} bytes; not a letter.data file.")
            try:
                letters = letters_of(raw, name)
            except ValueError as error:
                note = "not an .npz file, so it was read as letter.data"
                raise ValueError(f"{error} ({note})") from error
        details = {"fold": letters.fold, "image": tuple(letters.image_shape)}
        return Samples(letters.X, letters.y, details)

    def select(self, found: Samples, options: Mapping[str, Any], name: str) -> Samples:
        return samples.select_folds(found, options["folds"], name, self.arrays[-1].hint)

    def widths(self, sample: Any) -> dict[str, int]:
        return {"features": int(sample.shape[1])}

    def count(self, data: Data) -> dict[str, Any]:
        counts = {"sequences": len(data), "rows": sum(x.shape[0] for x in data.inputs)}
        if data.outputs:
            counts |= self.widths(data.inputs[0])
            counts["labels"] = len(np.unique(np.concatenate(data.outputs)))
        return counts

    def draw(
        self, data: Data, i: int, errors: int, truth: list[str], predicted: list[str]
    ) -> Drawing:
        rows, size = data.inputs[i], data.details.get("image")
        return reports.draw_images(f"Sequence {i + 1}", errors, truth, predicted, rows, size)

    def describe(self, model: Any) -> list[Table]:
        labels = texts_of(model.classes_)
        title, pairs = "Strongest pairs of neighbours", product(labels, labels)
        return [
            reports.tabulate_features(model, labels),
            reports.tabulate_pairs(title, ("left", "right"), pairs, model.transition_coef_),
            reports.tabulate_ends(
                "First and last labels", ("as first", "as last"), labels, model.first_, model.last_
            ),
        ]


class NodeTask(LabelTask):
    """Labels for the nodes of graphs: what the tasks on graphs have in common."""

    arrays: ClassVar[tuple[Array | Parts, ...]] = GRAPH_ARRAYS
    target, written_parts = "labels", "node_ptr"
    width_arrays = ("nodes", "edge_features")
    predict_help = "Reads the same files, labels not needed. " + _explain_output(
        "labels and node_ptr", "the labels of its nodes separated by spaces"
    )
    #: what the two ends of an edge are called
    ends: ClassVar[tuple[str, str]] = ("first end", "second end")
    #: nodes
    batch = 1 << 20
    checks_spelling = True

    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        return samples.build_graphs(found)

    def measure(self, inputs: Any) -> list[int]:
        return [graph.network.n_nodes for graph in inputs]

    def widths(self, sample: Any) -> dict[str, int]:
        nodes, edges = sample.nodes, sample.edge_features
        return {"features of nodes": nodes.shape[1], "features of edges": edges.shape[1]}

    def count(self, data: Data) -> dict[str, Any]:
        n_edges = sum(graph.network.n_edges for graph in data.inputs)
        n_nodes = sum(self.measure(data.inputs))
        counts = {f"{self.noun}s": len(data), "nodes": n_nodes, "edges": n_edges}
        if data.inputs:
            counts["features"], counts["edge features"] = self.widths(data.inputs[0]).values()
        return counts

    def describe(self, model: Any) -> list[Table]:
        labels = texts_of(model.classes_)
        found = [reports.tabulate_features(model, labels)]
        if model.transitions:
            edges = [f"edge feature {e}" for e in range(model.pair_coef_.size // len(labels) ** 2)]
            title = f"Strongest pairs of {' and '.join(self.ends)}"
            names = ("edge", *self.ends), product(edges, labels, labels)
            found.append(reports.tabulate_pairs(title, *names, model.pair_coef_))
        if model.ends:
            title, columns = "Roots and leaves", ("at roots", "at leaves")
            found.append(reports.tabulate_ends(title, columns, labels, model.root_, model.leaf_))
        return found


class GraphCommand(NodeTask):
    """One of two labels for the nodes of graphs, by `GraphCutSVM`."""

    name = noun = "graph"
    title = "Label graphs"
    summary = "one of two labels for every node of a graph, neighbours alike"
    options = options.GRAPH
    data_help = (
        f"{_list_arrays(GRAPH_ARRAYS)} Labels have two values (more with --multiclass),"
        " edge_features are 0 or more."
    )
    predict_help = "Reads the same files, labels not needed. " + _explain_output(
        "labels and node_ptr", "the labels of its nodes separated by spaces", probable=False
    )
    examples = (
        "train graph --data train.npz --validation dev.npz --out RUN",
        "train graph --data train.npz --tables --alpha 0.01 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    #: of both families, and the simplest one beside them
    compared = ("bcfw", "dual-extragradient", "perceptron")
    estimator_class, passed = GraphCutSVM, ("tables", "multiclass", "bias")

    def compare(self, model: Any, data: Data, guess: list[Any], shown: int) -> Evaluation:
        truth = data.outputs or ()
        names = [f"graph {i + 1}" for i in range(len(guess))]
        areas = Areas(model.classes_, truth, guess, "node", names)
        drawings = [
            reports.draw_labels(names[i], areas.errors(i), true, guessed, range(len(true)))
            for i in areas.worst(shown)
            for true, guessed in [(texts_of(truth[i]), texts_of(guess[i]))]
        ]
        return areas.evaluation(data.counts, drawings)

    def describe(self, model: Any) -> list[Table]:
        names = [f"feature {j}" for j in range(model.n_features_in_)]
        edges = [f"edge feature {j}" for j in range(model.n_edge_features_in_)]
        return weight_tables(model, names, edges)


class TreeCommand(NodeTask):
    """Labels for the nodes of trees, by `TreeSVM`."""

    name = noun = "tree"
    title = "Label trees"
    summary = "a label for every node of a tree, by its features and neighbours"
    arrays, options = (PARENTS, *GRAPH_ARRAYS), options.TREE
    data_help = (
        f"{_list_arrays(arrays)} Give parents or edges, which lead from parents to children; with"
        " parents, edge_features have one row for each node with a parent, and n_edges and edge_ptr"
        " are not needed."
    )
    examples = (
        "train tree --data train.npz --validation dev.npz --out RUN",
        "train tree --data train.npz --objective likelihood --alpha 0.001 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    estimator_class, passed = TreeSVM, ("bias", "ends", "objective")
    ends = ("parent", "child")

    def declare(self, arrays: Arrays) -> tuple[Array | Parts, ...]:
        if "parents" in arrays and "edges" in arrays:
            raise arrays.wrong("parents", "says what edges says, too; give one of the two.")
        if "parents" not in arrays and "edges" not in arrays:
            found = ", ".join(sorted(arrays)) or "none"
            raise NpzError(
                f"{arrays.name}: array 'parents' is missing, and so is 'edges' (there are:"
                f" {found}); give {PARENTS.hint}. Or give {EDGES.hint}."
            )
        return PARENT_ARRAYS if "parents" in arrays else GRAPH_ARRAYS

    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        if "parents" in found.values:
            return samples.build_trees(found, options["forest"])
        return samples.build_graphs(found, cycles=False)

    def draw(
        self, data: Data, i: int, errors: int, truth: list[str], predicted: list[str]
    ) -> Drawing:
        graph = data.inputs[i]
        order, depth = reports.order_nodes(graph.network.n_nodes, graph.edges)
        first, second = ([own[v] for v in order] for own in (truth, predicted))
        return reports.draw_labels(f"Tree {i + 1}", errors, first, second, order, depth)


class NetworkCommand(NodeTask):
    """Labels for the nodes of any graphs, by `NetworkSVM`."""

    name = noun = "network"
    title = "Label networks"
    summary = "a label for every node of any graph, by its features and neighbours"
    options = options.NETWORK
    data_help = f"{_list_arrays(GRAPH_ARRAYS)} Labels are of any number of kinds."
    examples = (
        "train network --data train.npz --validation dev.npz --out RUN",
        "train network --data train.npz --method bounded --alpha 0.001 --out RUN",
        "predict RUN new.npz > labels.txt",
        "evaluate RUN test.npz",
    )
    estimator_class = NetworkSVM
    passed = ("method", "bias", "ends", "transitions", "objective")

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        batches = self.split_batches(data.inputs)
        found = [own for batch in batches for own in model.predict_within(batch)]
        evaluation = self.compare(model, data, [own.labels for own in found], shown)
        share = float(np.mean([own.is_best for own in found])) if found else None
        text = "share of networks whose labels are proven to be those of the highest score"
        evaluation["metrics"].append(make_metric("proven best", share, text))
        return evaluation


class MatchingCommand(ArrayTask):
    """Bipartite matchings, by `MatchingSVM`."""

    name = "matching"
    title = "Bipartite matching"
    summary = (
        "Which rows to link with which columns, none more often than allowed: assignments, tracks,"
        " correspondences."
    )
    arrays, options = MATCHING_ARRAYS, options.MATCHING
    data_help = (
        f"{_list_arrays(arrays)} Without edges and n_edges, all pairs of a sample may be linked,"
        " and X has them row by row."
    )
    predict_help = "Reads a file as for --data (links are not needed). " + _explain_output(
        "links", "its links `row-column`, counted from 0", probable=False
    )
    score_name = "F1 of links"
    examples = (
        "train matching --data train.npz --out RUN",
        "train matching --data train.npz --row-cap 2 --positive 0 3 --solver dual-extragradient"
        " --out RUN",
        "predict RUN new.npz > new.links",
        "evaluate RUN test.npz",
    )
    #: those of the study of 2019, and the simplest one beside them
    compared = ("dual-extragradient", "bcfw", "perceptron")
    estimator_class, passed = MatchingSVM, ("row-cap", "column-cap", "complete", "bias")
    target, truth_is_optional = "links", True
    batch = 512

    def declare(self, arrays: Arrays) -> tuple[Array | Parts, ...]:
        if "n_edges" in arrays and "edges" not in arrays:
            raise arrays.wrong("n_edges", f"found without edges; give {self.arrays[3].hint}.")
        return self.arrays if "edges" in arrays else self.arrays[:3]

    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        return samples.build_matchings(found)

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        data = super().read(paths, options)
        if not data.inputs:
            raise ValueError(f"{paths[0]}: no samples (shapes is empty).")
        return data

    def select(self, found: Samples, options: Mapping[str, Any], name: str) -> Samples:
        for i, sample in enumerate(found.inputs):
            if sample is None:
                raise ValueError(f"{name}: sample {i} has nothing to link. Leave it out.")
        return found

    def widths(self, sample: Any) -> dict[str, int]:
        return {"features": int(getattr(sample, "features", sample).shape[-1])}

    def check_alike(self, name: str, first: Samples, own: Samples) -> None:
        super().check_alike(name, first, own)
        if (first.outputs is None) != (own.outputs is None):
            raise ValueError(f"{name}: some of the files have links and some do not.")

    def set_parameters(self, options: Mapping[str, Any]) -> dict[str, Any]:
        signs = [list(options[name]) for name in ("positive", "negative")]
        if any(signs) and options["kernel"] != "none":
            raise ValueError("signs are of features, which have no weights with --kernel.")
        return {"domain": Signs(*signs) if any(signs) else None}

    def fit(self, model: Any, data: Data, folder: Path | None = None) -> None:
        if data.outputs is None:
            raise ValueError("no links to learn from: the files lack an array links (m, 3).")
        super().fit(model, data, folder)

    def check_truth(self, data: Data, name: str) -> None:
        if data.outputs is None:
            hint = next(own.hint for own in self.arrays if self.target in own.names)
            raise ValueError(f"{name}: array 'links' is missing; give {hint}.")

    def count(self, data: Data) -> dict[str, Any]:
        rows, columns = (sum(own.shape[k] for own in data.inputs) for k in (0, 1))
        counts = {"samples": len(data), "rows": rows, "columns": columns}
        return counts if data.outputs is None else counts | {"links": sum(map(len, data.outputs))}

    def predict_batch(self, model: Any, inputs: Any) -> list[list[tuple[int, int]]]:
        """The links of each sample; none where there is nothing to link."""
        full = [sample for sample in inputs if sample is not None]
        found = iter(model.predict(full) if full else ())
        links = ([] if own is None else next(found) for own in inputs)
        return [sorted((int(j), int(k)) for j, k in own) for own in links]

    def write_lines(self, model: Any, outputs: Any, probabilities: Any) -> Iterator[str]:
        return (" ".join(f"{j}-{k}" for j, k in own) + "\n" for own in outputs)

    def pack_outputs(
        self, model: Any, outputs: list[Any], probabilities: list[Any]
    ) -> dict[str, Any]:
        links = [(i, j, k) for i, own in enumerate(outputs) for j, k in own]
        return {"links": np.array(links, dtype=np.int64).reshape(-1, 3)}

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        return reports.evaluate_links(data, self.predict_all(model, data.inputs), shown)

    def describe(self, model: Any) -> list[Table]:
        kernel = reports.tabulate_kernel(model)
        if kernel is not None:
            return [kernel]
        weights = as_dense(model.coef_)
        names = [f"feature {k}" for k in range(model.n_features_in_)] + ["bias"]
        order = np.argsort(-np.abs(weights), kind="stable")[:50]
        rows = [[names[k], float(weights[k])] for k in order.tolist()]
        note = "a positive weight speaks for a link, a negative one against it"
        return [Table(title="Weights", columns=["feature", "weight"], rows=rows, note=note)]


class MultiLabelCommand(ArrayTask):
    """Sets of labels, by `MultiLabelSVM`."""

    name = "multilabel"
    title = "Choose several labels"
    summary = "any number of labels for a row of features, chosen together"
    arrays, options = MULTI_LABEL_ARRAYS, options.MULTI_LABEL
    data_help = (
        "Text in LIBSVM's multi-label format, plain or gzip, one line per sample: its labels,"
        " separated by commas, then index:value of its features, counted from 1, zeros left out. A"
        f" line without labels starts with its features. Or {_list_arrays(arrays, 'files')}"
    )
    predict_help = (
        "Reads the same files; of text, the labels do not matter, and of arrays, Y is not needed. "
        + _explain_output("Y and labels", "its labels separated by commas, empty if it has none")
        + " These are of all labels: (samples, labels)."
    )
    examples = (
        "train multilabel --data scene_train.svm.gz --alpha 0.03 --out runs/scene",
        "train multilabel --data train.npz --pairs tree --objective likelihood --out RUN",
        "predict runs/scene new.svm > labels.txt",
        "evaluate runs/scene scene_test.svm.gz",
    )
    estimator_class = MultiLabelSVM
    passed = ("objective", "bias", "pairs", "pair-features", "method")
    target = "Y"
    batch = 2000

    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        rows, Y = TextRows(found.values["X"], open=False), found.values.get("Y")
        if Y is None:
            return Samples(rows, None, {"names": []})
        names = texts_of(found.values.get("labels", np.arange(Y.shape[1])))
        sets = [{names[k] for k in np.flatnonzero(own)} for own in Y]
        return Samples(rows, sets, {"names": names})

    def read_text(self, source: BinaryIO | Path, name: str, model: Any) -> Samples | None:
        if isinstance(source, Path):
            return None
        found = read_multilabel(source, getattr(model, "n_features_in_", None), name)
        if not found.labels:
            raise ValueError(f"{name}: holds no samples, expected lines `labels index:value ...`.")
        if found.X.shape[1] == 0:
            raise ValueError(f"{name}: no sample has a feature, expected fields index:value.")
        sets = [set(own) for own in found.labels]
        return Samples(TextRows(found.X), sets, {"names": sorted(set().union(*sets))})

    def widths(self, sample: Any) -> dict[str, int]:
        return {} if sample.open else {"features": int(sample.matrix.shape[1])}

    def check_alike(self, name: str, first: Samples, own: Samples) -> None:
        if first.inputs.open != own.inputs.open:
            raise ValueError(f"{name}: arrays and text do not go together; give files of one kind.")
        super().check_alike(name, first, own)

    def join(self, files: Sequence[Samples]) -> Data:
        rows = [own.inputs for own in files]
        width = max(own.matrix.shape[1] for own in rows)
        matrix = sparse.vstack([own.widened(width).matrix for own in rows], format="csr")
        sets = [labels for own in files for labels in own.outputs]
        names = sorted({name for own in files for name in own.details["names"]}, key=_sort_key)
        return Data(TextRows(matrix, rows[0].open), sets, details={"names": names})

    def take_inputs(self, inputs: Any, indices: Sequence[int]) -> Any:
        return inputs[np.asarray(indices, dtype=np.int64)]

    def count(self, data: Data) -> dict[str, Any]:
        rows: Any = data.inputs
        sizes = [len(own) for own in data.outputs or ()]
        return {
            "samples": len(rows),
            "features": int(rows.matrix.shape[1]),
            "labels": len(data.details["names"]),
            "labels per sample": round(float(np.mean(sizes)), 3) if sizes else 0.0,
        }

    def fit(self, model: Any, data: Data, folder: Path | None = None) -> None:
        if not any(data.outputs or ()):
            raise ValueError("no sample has a label; there is nothing to learn.")
        super().fit(model, data, folder)

    def check_truth(self, data: Data, name: str) -> None:
        if not any(data.outputs or ()):
            raise ValueError(f"{name}: no sample has a label; there is nothing to compare with.")

    def predict_probabilities(self, model: Any, inputs: Any, outputs: Any) -> Any:
        return model.predict_proba(inputs)

    def write_lines(self, model: Any, outputs: Any, probabilities: Any) -> Iterator[str]:
        names = texts_of(model.classes_)
        for i, row in enumerate(_encode_sets(outputs, names)):
            labels = [
                names[k] if probabilities is None else f"{names[k]}/{probabilities[i, k]:.4f}"
                for k in np.flatnonzero(row).tolist()
            ]
            yield ",".join(labels) + "\n"

    def pack_outputs(
        self, model: Any, outputs: list[Any], probabilities: list[Any]
    ) -> dict[str, Any]:
        names = texts_of(model.classes_)
        arrays = {"Y": _encode_sets(outputs, names), "labels": np.array(names)}
        return arrays | ({"probabilities": np.array(probabilities)} if probabilities else {})

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        known = texts_of(model.classes_)
        unseen = {own for y in data.outputs or () for own in y}.difference(known)
        names = [*known, *sorted(unseen, key=_sort_key)]
        guess = self.predict_all(model, data.inputs)
        truth, predicted = (_encode_sets(own, names) for own in (data.outputs or (), guess))
        return reports.evaluate_label_sets(model, data, truth, predicted, names, shown)

    def describe(self, model: Any) -> list[Table]:
        names = texts_of(model.classes_)
        tables = [reports.tabulate_features(model, names, first=1)]
        if model.pair_coef_ is not None:
            pairs = [(names[a], names[b]) for a, b in model.pairs_]
            weights = np.atleast_2d(model.pair_coef_)[-1]
            table = reports.tabulate_pairs(
                "Strongest pairs of labels", ("label", "label"), pairs, weights
            )
            table["note"] = "Above zero: labels that go together; below: labels that seldom do."
            tables.append(table)
        return tables


def _encode_sets(sets: Sequence[Any], names: Sequence[str]) -> np.ndarray:
    """Sets of labels as zeros and ones (len(sets), len(names))."""
    number = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(sets), len(names)), dtype=np.int64)
    for row, own in zip(matrix, sets, strict=True):
        row[[number[str(label)] for label in own]] = 1
    return matrix


def _sort_key(name: str) -> tuple[int, str]:
    """Numbers by their size, then texts."""
    is_number = name.isascii() and name.isdecimal() and len(name) < 18
    return (int(name), "") if is_number else (10**18, name)
