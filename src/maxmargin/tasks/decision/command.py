"""Decisions by predicted costs, from tables of instances and of costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from maxmargin.drawing.views import error_roles
from maxmargin.estimators import DecisionSVM
from maxmargin.formats.npz import write_npz
from maxmargin.formats.text_lines import name_of
from maxmargin.structures import TopK
from maxmargin.tasks.arrays.options import WRITE
from maxmargin.tasks.command import Data, Option, TaskCommand
from maxmargin.tasks.decision.files import COSTS, read_costs, read_instances
from maxmargin.tasks.decision.structures import HELP, grid_edges, grid_size, parse_structure
from maxmargin.tasks.documents import Drawing, Evaluation, Table
from maxmargin.tasks.link_documents import make_metric
from maxmargin.tasks.segmentation.pictures import image_map
from maxmargin.validation.feature_names import check_cost_names

#: parts that a drawing shows at most
_MOST_PARTS = 60
#: of paths on a grid
_LEGEND = (
    "Blue is what the decision and the best path have in common, orange what only the decision"
    " uses, yellow what only the best path uses; the rest of the grid is grey."
)


class Outcome(NamedTuple):
    """predicted, best : decisions (n, parts). paid, least : their costs (n,). lost : regrets."""

    predicted: np.ndarray
    best: np.ndarray
    paid: np.ndarray
    least: np.ndarray
    lost: np.ndarray


class DecisionCommand(TaskCommand):
    """Decisions by predicted costs."""

    name = "decision"
    title = "Decisions by predicted costs"
    summary = "the best decision by costs that are predicted, learned for its regret"
    data_help = (
        "Tables as CSV, plain or gzip, a row of numbers for each instance, with or without a line"
        " of names, none of them a number; columns called cost... are the costs of the parts, which"
        " --costs names otherwise. Or npz: X (instances, features) or (instances, parts, features),"
        " and costs (instances, parts)."
    )
    predict_help = (
        "Reads the same files (costs are not needed) and writes one line of zeros and ones per"
        " instance, 1 for parts that are chosen; or npz: decisions, and the predicted costs."
    )
    examples = (
        "train decision --data instances.csv --costs costs.csv --structure shortest-path:5x5"
        " --out RUN",
        "train decision --data instances.csv --costs costs.csv --structure shortest-path:5x5"
        " --validation later.csv --validation-costs later_costs.csv --out RUN",
        "train decision --data days.npz --structure knapsack:weights.csv --sense max --out RUN",
        "predict RUN new.csv > decisions.csv",
        "evaluate RUN test.csv --costs test_costs.csv --json",
    )
    score_name = "negative regret"
    options = (
        Option("structure", str, "", f"What decisions there are: {HELP}"),
        Option(
            "costs",
            Path,
            (),
            f"Costs of the parts, known afterwards, one file per data file: {COSTS}.",
            many=True,
            of_data=True,
            kept=False,
        ),
        Option(
            "validation-costs",
            Path,
            (),
            "The same for the files of --validation, or of --test in comparisons.",
            many=True,
            kept=False,
            of_held_out=True,
        ),
        Option("sense", ("min", "max"), "min", "Whether costs are minimised or values maximised."),
        Option(
            "weights",
            ("auto", "own", "shared", "both"),
            "auto",
            "Whether parts have weights of their own; see DecisionSVM.",
        ),
        Option("intercept", bool, True, "Learn constant costs."),
        WRITE,
    )
    writes_npz = True

    def estimator(self, options: Mapping[str, Any]) -> DecisionSVM:
        options = self.with_defaults(options)
        text = options["structure"]
        return DecisionSVM(
            parse_structure(text) if text else TopK(1),  # `check_labels` asks for it
            options["sense"],
            weights=options["weights"],
            fit_intercept=options["intercept"],
        )

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        if not paths:
            raise ValueError("no data file was given; name at least one.")
        named = [Path(path) for path in options.get("costs") or ()]
        if named and len(named) != len(paths):
            raise ValueError(f"{len(paths)} data files, but {len(named)} files of costs.")
        found = [read_instances(path) for path in paths]
        given = read_costs(named) if named else [(own.costs, own.cost_names) for own in found]
        costs = [own for own, _ in given]
        for path, (X, _, names, _), own in zip(paths, found, costs, strict=True):
            if own is not None and len(own) != len(X):
                raise ValueError(f"{path}: {len(X)} instances, but {len(own)} rows of costs.")
            if X.shape[1:] != found[0].X.shape[1:]:
                raise ValueError(f"{path}: {X.shape[-1]} features, files before have others.")
            _check_names(path, names, found[0].names)
        for path, (_, names) in zip(named or paths, given, strict=True):
            check_cost_names(f"{path}: costs", names, given[0][1], "the first file")
        known = [own for own in costs if own is not None]
        if (known and len({own.shape[1] for own in known}) > 1) or 0 < len(known) < len(costs):
            raise ValueError("files have costs of different numbers of parts, or none.")
        X = np.concatenate([own.X for own in found])
        stacked = np.concatenate(known) if known else None
        return _data(X, stacked, found[0].names, given[0][1])

    def read_held_out(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        found = self.read(paths, {**options, "costs": options.get("validation-costs")})
        if found.outputs is None:
            raise ValueError(
                f"{paths[0]}: costs are missing; give --validation-costs FILE, {COSTS}, or columns"
                " called cost..."
            )
        return found

    def check_held_out(self, data: Data, held_out: Data, name: str) -> None:
        _check_names(name, held_out.details["features"], data.details["features"])
        own, known = held_out.details["costs"], data.details["costs"]
        check_cost_names(f"{name}: costs", own, known, "the data")

    def fit(self, model: Any, data: Data, folder: Path | None = None) -> None:
        self.check_truth(data, "data")
        super().fit(model, data, folder)
        if data.details.get("features"):
            model.feature_names_in_ = np.array(data.details["features"], dtype=object)
        if data.details["costs"]:
            model.cost_names_in_ = np.array(data.details["costs"], dtype=object)

    def check_labels(self, data: Data, options: Mapping[str, Any]) -> None:
        if not options["structure"]:
            raise ValueError(f"--structure is missing: {HELP}")

    def check_truth(self, data: Data, name: str) -> None:
        if data.outputs is None:
            raise ValueError(
                f"{name}: costs are missing; give --costs FILE, {COSTS}, or columns called cost..."
            )

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        which = np.asarray(indices, dtype=np.int64)
        outputs = None if data.outputs is None else np.asarray(data.outputs)[which]
        details = data.details
        return _data(np.asarray(data.inputs)[which], outputs, details["features"], details["costs"])

    def widths(self, sample: Any) -> dict[str, int]:
        return {"features": int(np.shape(sample)[-1])}

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        write = self.with_defaults(options)["write"]
        if write == "auto":
            write = "npz" if ".npz" in Path(str(getattr(sink, "name", ""))).name else "text"
        count, kept = 0, []
        for source in sources:
            X, _, names, _ = read_instances(source)
            _check_names(name_of(source), names, getattr(model, "feature_names_in_", ()))
            decisions = model.predict(X)
            count += len(decisions)
            if write == "npz":
                kept.append((decisions, model.predict_costs(X)))
            else:
                sink.writelines(
                    (",".join(map(str, own.tolist())) + "\n").encode() for own in decisions
                )
        if write == "npz":
            decisions, costs = map(np.concatenate, zip(*kept, strict=True))
            write_npz(sink, {"decisions": decisions, "costs": costs})
        sink.flush()
        return count

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        _check_names("data", data.details["features"], getattr(model, "feature_names_in_", ()))
        check_cost_names("costs", data.details["costs"], getattr(model, "cost_names_in_", ()))
        found = _compare(model, data)
        order = np.argsort(-found.lost, kind="stable").tolist()
        total = float(np.abs(found.least).sum())
        regret = float(found.lost.sum()) / (total or 1.0)
        right = float(np.mean(found.lost <= 1e-9 * (1 + np.abs(found.least))))
        rows = [
            [i, float(found.lost[i]), float(found.paid[i]), float(found.least[i])] for i in order
        ]
        return Evaluation(
            data=dict(data.counts),
            error=regret,
            error_name="regret",
            metrics=[
                make_metric(
                    "regret", regret, "what decisions cost more than the best ones", "lower"
                ),
                make_metric("best", right, "share of instances decided as well as possible"),
                make_metric(
                    "parts",
                    float((found.predicted == found.best).mean()),
                    "share of parts chosen as in one best decision",
                ),
            ],
            tables=[
                Table(
                    title="Instances, worst first",
                    columns=["instance", "regret", "cost of the decision", "least cost"],
                    rows=rows,
                    note="instances are counted from 0",
                )
            ],
            confusion=None,
            drawings=[_draw(model, found, i) for i in order[: max(shown, 0)]],
        )

    def describe(self, model: Any) -> list[Table]:
        slopes, constants = np.atleast_2d(model.cost_coef_), np.atleast_1d(model.intercept_)
        names = getattr(model, "feature_names_in_", range(slopes.shape[1]))
        edges = _edge_names(model)
        order = np.argsort(-np.abs(slopes * model.scale_), axis=None, kind="stable")[:50]
        rows = []
        for place in order.tolist():
            part, k = divmod(place, slopes.shape[1])
            part_name = f"{part} ({edges[part]})" if edges else part
            name = part_name if model.n_parts_ else "all"
            rows.append([name, str(names[k]), float(slopes[part, k])])
        chosen = [
            ["structure", type(model.structure_).__name__],
            ["sense", model.sense],
            ["penalty", f"{model.alpha_:.4g}"],
            ["mean of constant costs", f"{constants.mean():.4g}"],
        ]
        if edges:
            listed = ", ".join(edges[:_MOST_PARTS]) + (" ..." if len(edges) > _MOST_PARTS else "")
            chosen.append(["edges, in the order of costs", listed])
        return [
            Table(title="The model", columns=["what", "value"], rows=chosen, note=""),
            Table(
                title="Strongest features",
                columns=["part", "feature", "cost of one unit"],
                rows=rows,
                note="strongest beside the spread of the feature",
            ),
        ]


def _check_names(source: Any, names: Sequence[str], known: Sequence[str]) -> None:
    """Fail if columns are called otherwise than those before: features are told by their place."""
    if len(names) and len(known) and tuple(names) != tuple(known):
        raise ValueError(
            f"{source}: its features are {', '.join(names)[:200]}, expected"
            f" {', '.join(known)[:200]}, in this order."
        )


def _edge_names(model: Any) -> list[str]:
    """Node numbers of the edge that each part is, such as "0-1"; [] if parts are not edges."""
    return [f"{a}-{b}" for a, b in np.asarray(getattr(model.structure_, "edges", ())).tolist()]


def _data(
    X: Any, costs: np.ndarray | None, names: Sequence[str] = (), cost_names: Sequence[str] = ()
) -> Data:
    counts = {"instances": len(X), "features": int(X.shape[-1])}
    if costs is not None:
        counts["parts"] = int(costs.shape[1])
    return Data(X, costs, counts, {"features": tuple(names), "costs": tuple(cost_names)})  # type: ignore[arg-type]


def _compare(model: Any, data: Data) -> Outcome:
    """Predicted decisions beside the best ones."""
    costs = np.asarray(data.outputs)
    predicted = np.asarray(model.predict(data.inputs), dtype=float)
    best = np.array(model.decide(list(costs)), dtype=float)
    paid, least = (costs * predicted).sum(axis=1), (costs * best).sum(axis=1)
    sign = -1.0 if model.sense == "max" else 1.0
    return Outcome(predicted, best, paid, least, np.maximum(sign * (paid - least), 0.0))


def _draw(model: Any, found: Outcome, i: int) -> Drawing:
    """A path on a grid, or which parts were chosen."""
    truth, predicted = found.best[i] > 0.5, found.predicted[i] > 0.5
    errors = int((truth != predicted).sum())
    drawing = Drawing(
        title=f"Instance {i}: {found.paid[i]:.6g} in place of {found.least[i]:.6g}",
        errors=errors,
        truth_known=True,
    )
    size = grid_size(model.structure_)
    if size is not None:
        roles = error_roles(*(_on_grid(own, *size) for own in (truth, predicted)))
        area, _ = image_map("path", roles)
        drawing |= Drawing(kind="areas", maps=[area], labels=["not used", "used"], legend=_LEGEND)
        return drawing
    which = np.flatnonzero(truth | predicted)[:_MOST_PARTS].tolist()
    words = [["no", "yes"][int(own[p])] for own in (truth, predicted) for p in which]
    edges = _edge_names(model)
    drawing |= Drawing(
        kind="tokens",
        tokens=[f"edge {edges[p]}" if edges else f"part {p}" for p in which],
        truth=words[: len(which)],
        predicted=words[len(which) :],
    )
    return drawing


def _on_grid(chosen: np.ndarray, height: int, width: int) -> np.ndarray:
    """The nodes and edges of a path as places of a picture, edges between nodes."""
    picture = np.zeros((2 * height - 1, 2 * width - 1), dtype=bool)
    for (a, b), used in zip(grid_edges(height, width).tolist(), chosen, strict=True):
        if used:
            (i, j), (k, m) = divmod(a, width), divmod(b, width)
            picture[2 * i, 2 * j] = picture[i + k, j + m] = picture[2 * k, 2 * m] = True
    return np.repeat(np.repeat(picture, 4, axis=0), 4, axis=1)
