"""`maxmargin predict`: apply a model to files or to a pipe."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from maxmargin.cli.console import current_console
from maxmargin.cli.errors import UsageError
from maxmargin.cli.run_source import Source
from maxmargin.cli.runs.evaluating import annotate_errors
from maxmargin.cli.runs.places import check_output
from maxmargin.cli.sources import current_source
from maxmargin.cli.text import count_nouns
from maxmargin.estimators.probabilities import fits_probabilities
from maxmargin.exceptions import UncalibratedWarning
from maxmargin.progress import open_watched
from maxmargin.tasks.folders import check_apart, predict_folder

if TYPE_CHECKING:
    pass


def predict(
    run: Path, inputs: Sequence[Path], out: Path | None, threads: int | None, **values: Any
) -> None:
    """Apply the model of RUN, a run folder or a model file, to each INPUT.

    Without INPUT, or where it is -, stdin is read. Predictions go to stdout as they come, so that
    a pipe of any length takes little memory. Where a file is made of each file (images, scans),
    several INPUTs or folders need a folder --out.
    """
    chosen = current_source()
    if out is not None:
        check_output(out)
        _check_ending(chosen, out)
        _check_training_files(chosen, out)
    chosen.use_threads(threads)
    if chosen.command.one_each and _makes_folder(inputs, out):
        count = _into_folder(chosen, inputs, out, values)
    else:
        count = _into_file(chosen, inputs, out, values)
    if out is not None:
        current_console().note(f"wrote {count_nouns(count, 'prediction')} to {out}")


def _check_ending(chosen: Source, out: Path) -> None:
    """That arrays are not expected where the task writes lines of text."""
    if out.suffix == ".npz" and not (chosen.command.writes_npz or chosen.command.one_each):
        raise UsageError(
            f"{str(out)!r}: the task {chosen.command.name} writes lines of text, not .npz files;"
            " give the file another ending, such as .txt"
        )


def _check_training_files(chosen: Source, out: Path) -> None:
    """That no file is written over from which the model was learned."""
    if not out.is_file():
        return
    for own in chosen.files:
        if out.resolve() == own or own in out.resolve().parents:
            raise UsageError(
                f"{str(out)!r} is among the data that the run was trained on, so it is not written"
                " over; name another file"
            )


def _into_file(
    chosen: Source, inputs: Sequence[Path], out: Path | None, values: dict[str, Any]
) -> int:
    named = [path for path in inputs if str(path) != "-"]
    if out is not None and out.is_file():
        check_apart(chosen.command, [chosen.path, *named], [out])
    if out is not None and str(out) != "-" and chosen.command.one_each:
        wrong = chosen.command.misnamed(named[0] if named else None, out)
        if wrong:
            raise UsageError(wrong)
    with ExitStack() as stack:
        streams = [stack.enter_context(_opened(path)) for path in inputs or [Path("-")]]
        options, model = chosen.options(values), chosen.model
        if options.get("probabilities"):
            _check_claim(model)
        sink = stack.enter_context(_sink(out))
        with annotate_errors(named):
            count = chosen.command.predict(model, streams, sink, options)
        sink.flush()
    return count


def _check_claim(model: Any) -> None:
    if not fits_probabilities(model):
        warnings.simplefilter("ignore", UncalibratedWarning)  # said here, in the console's way
        current_console().warn(
            "the model was trained by margins and is not calibrated: its probabilities rank labels,"
            " but are not frequencies; train with --calibrate, or --objective likelihood"
        )


def _makes_folder(inputs: Sequence[Path], out: Path | None) -> bool:
    many = len(inputs) > 1 or any(path.is_dir() for path in inputs)
    return many or (out is not None and out.is_dir() and bool(inputs))


def _into_folder(
    chosen: Source, inputs: Sequence[Path], out: Path | None, values: dict[str, Any]
) -> int:
    """A file for each file."""
    if out is None or str(out) == "-":
        raise UsageError("name a folder with --out: there is a file to write for each file")
    if out.exists() and not out.is_dir():
        raise UsageError(
            f"{str(out)!r} is not a folder, and there is a file to write for each file"
        )
    for path in inputs:
        if str(path) == "-":
            raise UsageError("stdin (-) can only be read alone")
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist")
    for _, name in chosen.command.parts(inputs):
        check_output(out / name)
        _check_training_files(chosen, out / name)
    return predict_folder(chosen.command, chosen.model, inputs, out, chosen.options(values))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if str(path) != "-":
        with open_watched(path, "predicting") as file:
            yield file
        return
    if sys.stdin is None:
        raise UsageError("stdin is closed; name a file to read")
    if sys.stdin.isatty():
        current_console().note("reading from the terminal; end with Ctrl-D")
    yield sys.stdin.buffer


@contextmanager
def _sink(out: Path | None) -> Iterator[BinaryIO]:
    if (out is None or str(out) == "-") and sys.stdout is None:
        raise UsageError("stdout is closed; name a file with --out")
    if out is None or str(out) == "-":
        yield sys.stdout.buffer
    elif out.exists() and not out.is_file():  # a named pipe, /dev/null; a folder is refused
        with out.open("wb") as file:
            yield file
    else:
        with whole_file(out) as file:
            yield file


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when all is written and on the disk."""
    path = path.resolve()  # behind a link, so that the link stays
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    try:
        os.close(number)
        with open(name, "wb") as file:  # by name: the tasks look at it to choose a format
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """That of the file replaced, else what the user's mask gives a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
