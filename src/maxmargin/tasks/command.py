"""What the command line, run folders, reports and docs know of a task: one object a task."""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from maxmargin.losses import Hamming, resolve_loss
from maxmargin.memory import available_bytes
from maxmargin.tasks.documents import Evaluation, Table


@dataclass(frozen=True)
class Option:
    """An option of one task, beyond those that all tasks have.

    name : as on the command line, "min-count". kind : bool (a switch), int, float, str, Path, or a
    tuple of the strings to choose from. many : takes one value or more, and is a tuple then.
    of_data : says how files are read, so that `predict` and `evaluate` have it too. kept : those
    two take it from the run unless they are told otherwise; not so if it chooses samples of a file.
    of_held_out : names files beside those of --validation, or of --test in comparisons.
    """

    name: str
    kind: Any
    default: Any
    help: str
    many: bool = False
    of_data: bool = False
    kept: bool = True
    of_held_out: bool = False


#: for tasks whose structure has expectations over all outputs
OBJECTIVE = Option(
    "objective",
    ("margin", "likelihood"),
    "margin",
    "What is learned: a large margin, or the likelihood, as a conditional random field, whose"
    " probabilities can be trusted more. The loss does not matter to the likelihood.",
)


#: for tasks whose tables grow with the square of the number of labels
MANY_LABELS = Option(
    "many-labels",
    bool,
    False,
    "Train even if there are so many different labels that they are probably of another column, or"
    " that memory is short.",
)
#: for tasks whose labels are texts
CLASS_WEIGHT = Option(
    "class-weight",
    str,
    (),
    "LABEL=X: an error where LABEL is true costs X times as much, which finds more of that label;"
    " may be repeated.",
    many=True,
)
#: different labels beyond which that is asked for
MOST_LABELS = 1000


@dataclass
class Data:
    """Samples as the task command's estimator takes them.

    outputs : None where files hold none. counts : what to tell people, e.g. {"sentences": 8936}.
    details : what else the task command's own `fit` needs.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any] | None
    counts: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.inputs)


class TaskCommand(ABC):
    """How a task is read from files, learned, applied, evaluated and shown."""

    #: as on the command line
    name: ClassVar[str]
    #: a few words, for reports and lists
    title: ClassVar[str]
    #: what an output is, in a sentence
    summary: ClassVar[str]
    #: which files --data takes
    data_help: ClassVar[str]
    #: what `predict` reads and writes
    predict_help: ClassVar[str]
    #: command lines, without the leading "maxmargin"
    examples: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[Option, ...]] = ()
    #: solvers that `compare` takes unless told otherwise: those that are not slow on the structure
    compared: ClassVar[tuple[str, ...]] = ("bcfw", "ssg", "perceptron")
    #: the same for the likelihood
    compared_by_likelihood: ClassVar[tuple[str, ...]] = ("sdca", "lbfgs", "eg")
    #: what labels are called, and what may be wrong if there are too many
    labels: ClassVar[tuple[str, str]] = ("labels", "are they numbers that were measured?")
    #: what the estimator's `score` is
    score_name: ClassVar[str] = "share of right labels"
    #: whether `predict` makes a file of each file; it takes one then, see `tasks.folders`
    one_each: ClassVar[bool] = False

    #: whether `predict` can write arrays, to files that end in .npz
    writes_npz: ClassVar[bool] = False

    def with_defaults(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every option of the task, its default where none is given."""
        given = {name: value for name, value in options.items() if value is not None}
        return {option.name: given.get(option.name, option.default) for option in self.options}

    def solvers(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Those that `compare` takes unless told otherwise."""
        if options.get("objective") == "likelihood":
            return self.compared_by_likelihood
        return self.compared

    def sized(self, options: Mapping[str, Any], n: int) -> dict[str, Any]:
        """Options with which `read` gives n samples, if the files and the task have as many.

        For comparisons of growing data, where a task does not take all that its files hold.
        """
        return dict(options)

    @abstractmethod
    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        """Read labelled samples; a ValueError names the file, the line and the remedy."""

    def read_held_out(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        """The same of validation and test data, which may have files of options of their own."""
        return self.read(paths, options)

    def check_held_out(self, data: Data, held_out: Data, name: str) -> None:
        """Fail before training if columns of held-out data are others; name : of a file of them."""
        return

    @abstractmethod
    def estimator(self, options: Mapping[str, Any]) -> Any:
        """An estimator, not fitted, with the task's own options."""

    def priced(self, model: Any, options: Mapping[str, Any]) -> Any:
        """The same model, its loss weighted by the true label as CLASS_WEIGHT says."""
        weights = _class_weights(options.get("class-weight", ()))
        if weights and model.objective == "likelihood":
            raise ValueError(
                "class-weight: a likelihood has no loss to weigh; leave it out, or use the"
                " objective margin."
            )
        if weights:
            model.loss = Hamming(resolve_loss(model.loss).normalize, weights)
        return model

    def knows(self, model: Any) -> bool:
        """Whether the model is one of this task's, to be told from the model alone."""
        return type(self.estimator(self.with_defaults({}))) is type(model)

    def placed(self, name: str, path: Path) -> Path:
        """The file that an option means by a path; another one if that is a folder of files."""
        return path

    def parts(self, paths: Sequence[Path]) -> list[tuple[Path, str]]:
        """If `one_each`: the files to read, folders opened, and names for what is made of each."""
        return [(path, path.name) for path in paths]

    def misnamed(self, source: Path | None, out: Path) -> str:
        """If `one_each`: why `out` does not end as what is written there; "" if it does.

        source : the file to read, None if it is stdin.
        """
        return ""

    def truths(self, paths: Sequence[Path]) -> list[Path]:
        """Files beside those to read that hold what is known of them, not to be written over."""
        return []

    def fit(self, model: Any, data: Data, folder: Path | None = None) -> None:
        """Fit in place. folder: where costly steps before training may be kept for a resumed run.

        What is found in the folder was put there by a run on the same data and options.
        """
        model.fit(data.inputs, data.outputs)

    def check_labels(self, data: Data, options: Mapping[str, Any]) -> None:
        """Fail before training if there are too many labels for these to be the ones meant."""
        if MANY_LABELS not in self.options or data.outputs is None:
            return
        known = {label for y in data.outputs for label in _listed(y)}
        for label in _class_weights(options.get("class-weight", ())):
            if label not in known:
                near = difflib.get_close_matches(label, map(str, known), 1)
                hint = f"; did you mean {near[0]!r}?" if near else "."
                raise ValueError(f"class-weight: {label!r} is not a label of the data{hint}")
        if options["many-labels"]:
            return
        tokens, n = sum(map(len, data.outputs)), len(known)
        # the truth, the state and the answers: label parts and a table of pairs a sample
        need, free = 24.0 * (tokens * n + len(data) * n**2), available_bytes()
        need *= data.details.get("share", 1.0)
        if n <= MOST_LABELS and need <= free:
            return
        what, question = self.labels
        some = ", ".join(repr(str(own)[:40]) for own in sorted(known, key=str)[:3])
        raise ValueError(
            f"{n:,} different {what} ({some}, ...): {question} Training would take about"
            f" {need / 2**30:,.1f} GiB of memory, {free / 2**30:,.1f} GiB are free. If they are as"
            " meant, add --many-labels."
        )

    def check_truth(self, data: Data, name: str) -> None:
        """Fail if predictions for these data have nothing to be compared with; name : of a file."""
        return

    def prepare(self, model: Any, data: Data, folder: Path | None = None) -> None:
        """Costly steps before training that do not depend on the weights; folder as for `fit`."""
        return

    def metric(self, data: Data) -> tuple[str, Callable[[Any, Any], float] | None]:
        """What predictions for such data are evaluated by, the larger the better.

        Its name, and metric(outputs, predictions); None for the estimator's own `score`.
        """
        return self.score_name, None

    def score(self, model: Any, data: Data) -> float:
        """The metric of a fitted model on labelled data."""
        _, metric = self.metric(data)
        if metric is None:
            return float(model.score(data.inputs, data.outputs))
        return float(metric(data.outputs, model.predict(data.inputs)))

    def widths(self, sample: Any) -> dict[str, int]:
        """How many numbers an input has of what all inputs must have as many of."""
        return {}

    def held_out(self, options: Mapping[str, Any], data: Data) -> Data | None:
        """Samples to calibrate a model of `data` on, if the options name files.

        Those with labels that no model of these data knows are left out; `counts` says how many.
        """
        paths = [Path(path) for path in options.get("calibrate") or ()]
        if not paths:
            return None
        found, name = self.read(paths, options), paths[0]
        assert found.outputs is not None
        assert data.outputs is not None
        wanted, own = (self.widths(some.inputs[0]) for some in (data, found))
        for what, number in wanted.items():
            if own[what] != number:
                raise ValueError(
                    f"{name}: has {own[what]} {what}, the data have {number}; files to calibrate on"
                    " need the same."
                )
        known = {label for y in data.outputs for label in _listed(y)}
        kept = [i for i, y in enumerate(found.outputs) if known.issuperset(_listed(y))]
        if not kept:
            raise ValueError(
                f"{name}: every sample has a label that is not in the data; calibrate on samples"
                " with the labels of the data."
            )
        left_out = len(found) - len(kept)
        found = self.take(found, kept) if left_out else found
        found.counts["left out"] = left_out
        return found

    @abstractmethod
    def take(self, data: Data, indices: Sequence[int]) -> Data:
        """Some of the samples, in that order."""

    @abstractmethod
    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        """Read inputs, write outputs as they come, in bounded memory; return how many samples."""

    @abstractmethod
    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        """Compare predictions with outputs; draw `shown` samples at most, worst first."""

    @abstractmethod
    def describe(self, model: Any) -> list[Table]:
        """What the model has learned: its strongest features and the like."""


def _class_weights(given: Sequence[str]) -> dict[str, float]:
    found = {}
    for text in given:
        label, _, number = text.rpartition("=")
        try:
            found[label] = float(number)
        except ValueError:
            found[label] = math.nan
        if not label or not 0 <= found[label] < math.inf:
            raise ValueError(f"class-weight: {text!r} is not LABEL=X, such as B-NP=2.5.")
    return found


def _listed(labels: Any) -> list[Any]:
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)
