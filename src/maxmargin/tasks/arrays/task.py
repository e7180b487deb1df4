"""What all tasks on arrays do alike; `table` declares what each of them is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from maxmargin.formats.npz import Arrays, open_seekable, read_npz, write_npz
from maxmargin.formats.text_lines import Readable, name_of
from maxmargin.tasks.arrays.options import make_kernel
from maxmargin.tasks.arrays.reading import Array, Contents, Parts, check_spelling, read_contents
from maxmargin.tasks.arrays.reports import draw_labels
from maxmargin.tasks.arrays.samples import Samples
from maxmargin.tasks.command import Data, TaskCommand
from maxmargin.tasks.documents import Drawing, Evaluation
from maxmargin.tasks.labels import kind_of, lines_of, texts_of
from maxmargin.tasks.probabilities import of_chosen, with_reliability
from maxmargin.tasks.sequences import check_kinds, label_evaluation


class ArrayTask(TaskCommand):
    """A task whose samples are arrays in .npz files.

    A subclass is a declaration: its arrays, its estimator and the options that go to it, how
    samples are built of arrays, and how outputs are written, compared and described.
    """

    writes_npz = True
    #: what files hold, in the order in which it is read
    arrays: ClassVar[tuple[Array | Parts, ...]]
    #: the array with the outputs, which `predict` does not need
    target: ClassVar[str]
    #: the arrays whose columns `widths` counts, in its order
    width_arrays: ClassVar[tuple[str, ...]] = ("X",)
    estimator_class: ClassVar[type]
    #: options that are parameters of the estimator; "none" stands for None
    passed: ClassVar[tuple[str, ...]]
    #: how much is predicted at a time, see `measure`
    batch: ClassVar[int] = 1000
    #: whether files without outputs are read, too
    truth_is_optional: ClassVar[bool] = False
    #: whether arrays are refused whose names are almost those of missing ones
    checks_spelling: ClassVar[bool] = False

    # -- what tasks declare ------------------------------------------------------------------------
    @abstractmethod
    def build(self, found: Contents, options: Mapping[str, Any]) -> Samples:
        """Make samples of the arrays of a file."""

    @abstractmethod
    def count(self, data: Data) -> dict[str, Any]:
        """Count what people want to know of the data."""

    @abstractmethod
    def write_lines(self, model: Any, outputs: Any, probabilities: Any) -> Iterator[str]:
        """One line of text per sample; probabilities are None unless asked for."""

    @abstractmethod
    def pack_outputs(
        self, model: Any, outputs: list[Any], probabilities: list[Any]
    ) -> dict[str, Any]:
        """The arrays to write for outputs, and for their probabilities unless there are none."""

    def declare(self, arrays: Arrays) -> tuple[Array | Parts, ...]:
        """What to read of this file, if there are several ways to say the same."""
        return self.arrays

    def read_text(self, source: BinaryIO | Path, name: str, model: Any) -> Samples | None:
        """Read what is not an .npz file; None if the task has only those."""
        return None

    def select(self, found: Samples, options: Mapping[str, Any], name: str) -> Samples:
        """The samples of a file that the options ask for."""
        return found

    def measure(self, inputs: Any) -> list[int]:
        """The size of each sample, for batches."""
        return [1] * len(inputs)

    def predict_batch(self, model: Any, inputs: Any) -> Any:
        """The outputs of some samples."""
        return model.predict(inputs)

    def predict_probabilities(self, model: Any, inputs: Any, outputs: Any) -> Any:
        """How probable these outputs are."""
        return of_chosen(model, inputs, outputs)

    def set_parameters(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the estimator that are not options of the same name."""
        return {}

    # -- what is common ----------------------------------------------------------------------------
    def estimator(self, options: Mapping[str, Any]) -> Any:
        options = self.with_defaults(options)
        own = {name: None if options[name] == "none" else options[name] for name in self.passed}
        if "kernel" in options:
            own["kernel"] = make_kernel(options)
        own = {name.replace("-", "_"): value for name, value in own.items()}
        return self.estimator_class(**own | self.set_parameters(options))

    def read(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Data:
        options = self.with_defaults(options)
        if not paths:
            raise ValueError("no data file was given; name at least one.")
        files: list[Samples] = []
        for path in paths:
            name = name_of(path)
            found = self.select(self._read_file(path, options), options, name)
            if found.outputs is None and not self.truth_is_optional:
                hint = next(own.hint for own in self.arrays if self.target in own.names)
                raise ValueError(f"{name}: array {self.target!r} is missing; give {hint}.")
            if len(found.inputs) == 0:
                continue
            if files:
                self.check_alike(name, files[0], found)
            files.append(found)
        data = self.join(files or [found])
        data.counts = self.count(data)
        return data

    def _read_file(
        self, source: Readable, options: Mapping[str, Any], model: Any = None
    ) -> Samples:
        """Samples of an .npz file, or of text, told by the first bytes."""
        name = name_of(source)
        if not hasattr(source, "read") and Path(str(source)).is_dir():
            found = self.read_text(Path(str(source)), name, model)
            if found is not None:
                return found
        with open_seekable(source) as file:
            start = file.read(2)
            file.seek(0)
            found = None if start == b"PK" else self.read_text(file, name, model)
            if found is not None:
                return found
            arrays = read_npz(file, name)
        if self.checks_spelling:
            check_spelling(arrays, self.arrays)
        return self.build(read_contents(arrays, self.declare(arrays)), options)

    def check_alike(self, name: str, first: Samples, own: Samples) -> None:
        """Fail unless a file goes together with the first one."""
        widths, wanted = (self.widths(some.inputs[0]) for some in (own, first))
        for array, what in zip(self.width_arrays, wanted, strict=False):
            if widths[what] != wanted[what]:
                raise ValueError(
                    f"{name}: array {array!r} has {widths[what]} {what}, the file before has"
                    f" {wanted[what]}; all files need the same."
                )

    def join(self, files: Sequence[Samples]) -> Data:
        """The samples of all files, one after another."""
        inputs = [sample for own in files for sample in own.inputs]
        outputs = None
        if files[0].outputs is not None:
            outputs = [output for own in files for output in own.outputs]
        return Data(inputs, outputs, details=files[-1].details)

    def take(self, data: Data, indices: Sequence[int]) -> Data:
        outputs = None if data.outputs is None else [data.outputs[i] for i in indices]
        found = Data(self.take_inputs(data.inputs, indices), outputs, details=data.details)
        found.counts = data.counts | self.count(found)
        return found

    def take_inputs(self, inputs: Any, indices: Sequence[int]) -> Any:
        """Some of the inputs, in that order."""
        return [inputs[i] for i in indices]

    def split_batches(self, inputs: Any) -> Iterator[Any]:
        """Cut inputs into batches of `batch` at most, or of one sample."""
        size, start, ends = 0, 0, self.measure(inputs)
        for i, own in enumerate(ends):
            size += own
            if size > self.batch and i > start:
                yield inputs[start:i]
                start, size = i, own
        if start < len(ends):
            yield inputs[start:]

    def predict_all(self, model: Any, inputs: Any) -> list[Any]:
        """The outputs of all samples, batch by batch."""
        batches = self.split_batches(inputs)
        return [own for batch in batches for own in self.predict_batch(model, batch)]

    def predict(
        self, model: Any, sources: Sequence[BinaryIO], sink: BinaryIO, options: Mapping[str, Any]
    ) -> int:
        """Predict the samples of each file; the arrays of one are in memory at a time."""
        options = self.with_defaults(options)
        write = options["write"]
        if write == "auto":
            write = "npz" if ".npz" in Path(str(getattr(sink, "name", ""))).name else "text"
        outputs: list[Any] = []
        shares: list[Any] = []
        count = 0
        for source in sources:
            for batch in self.split_batches(self._read_file(source, options, model).inputs):
                found, p = self.predict_batch(model, batch), None
                count += len(found)
                if options.get("probabilities"):
                    p = self.predict_probabilities(model, batch, found)
                if write == "npz":
                    outputs += found
                    shares += [] if p is None else list(p)
                else:
                    sink.write("".join(self.write_lines(model, found, p)).encode())
                    sink.flush()
        if write == "npz":
            write_npz(sink, self.pack_outputs(model, outputs, shares))
        sink.flush()
        return count


class LabelTask(ArrayTask):
    """A task whose outputs are one label for each row or node of a sample."""

    #: what a sample is
    noun: ClassVar[str]
    #: the array written beside labels that tells where samples begin or how long they are
    written_parts: ClassVar[str]

    def check_alike(self, name: str, first: Samples, own: Samples) -> None:
        super().check_alike(name, first, own)
        kinds = [kind_of(some.outputs[0]) for some in (own, first)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"{name}: array {self.target!r} has {kinds[0]}, the file before has {kinds[1]};"
                " all files need labels of one kind."
            )

    def write_lines(self, model: Any, outputs: Any, probabilities: Any) -> Iterator[str]:
        return lines_of(outputs, probabilities or ())

    def pack_outputs(
        self, model: Any, outputs: list[Any], probabilities: list[Any]
    ) -> dict[str, Any]:
        sizes = np.array([len(own) for own in outputs], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        arrays = {
            self.target: np.concatenate(outputs) if outputs else model.classes_[:0],
            self.written_parts: starts if self.written_parts.endswith("_ptr") else sizes,
        }
        return arrays | ({"probabilities": np.concatenate(probabilities)} if probabilities else {})

    def evaluate(self, model: Any, data: Data, shown: int = 12) -> Evaluation:
        return self.compare(model, data, self.predict_all(model, data.inputs), shown)

    def compare(self, model: Any, data: Data, guess: list[Any], shown: int) -> Evaluation:
        """Compare predicted labels with the truth."""
        assert data.outputs is not None
        check_kinds(model, data.outputs)
        truth, predicted = ([texts_of(own) for own in y] for y in (data.outputs, guess))

        def draw(i: int, errors: int) -> Drawing:
            return self.draw(data, i, errors, truth[i], predicted[i])

        known = texts_of(model.classes_)
        evaluation = label_evaluation(truth, predicted, data.counts, draw, shown, known, self.noun)
        return with_reliability(evaluation, model, data)

    def draw(
        self, data: Data, i: int, errors: int, truth: list[str], predicted: list[str]
    ) -> Drawing:
        """Draw sample i."""
        name = f"{self.noun.capitalize()} {i + 1}"
        return draw_labels(name, errors, truth, predicted, range(len(truth)))
