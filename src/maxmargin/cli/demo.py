"""`maxmargin demo`: read synthetic handwritten words, letter by letter and as chains."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import ChainSVM, MulticlassSVM, datasets
from maxmargin.callbacks import Callback
from maxmargin.cli import text
from maxmargin.cli.console import current_console
from maxmargin.cli.demo_parsing import TREEBANK, demo_parsing
from maxmargin.cli.errors import UsageError
from maxmargin.cli.progress import make_callbacks
from maxmargin.cli.report.write import write_report
from maxmargin.cli.runs import RunFolder, evaluate, train
from maxmargin.cli.runs.evaluating import evaluation_name
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.metrics import sequence_error, token_error
from maxmargin.persistence.files import write_whole
from maxmargin.plotting import HINT, ConvergenceDisplay, WordsDisplay, has_matplotlib
from maxmargin.plotting.style import import_matplotlib

if TYPE_CHECKING:
    from maxmargin.result import Result
    from maxmargin.solvers.run import Run
    from maxmargin.tasks.documents import Table

TEST_FOLDS, SHOWN = (0, 1), 6
# The penalties that suit each model best on other seeds, so that the comparison is fair.
CHAIN_ALPHA, LETTER_ALPHA = 0.02, 0.004
TOL, SECONDS = 0.01, 40.0
RUN, TRAIN, TEST = "run", "train-words.npz", "test-words.npz"
FIGURE, REPORT = "words.png", "report.html"

Words = Sequence[Any]  # an array of letters, or of their features, each


def demo(what: str, out: Path, words: int, seed: int) -> None:
    """Train a small model, print what it reaches, and save a run and a report."""
    _check_free(out)
    _make_writable(out)
    (demo_parsing if what == "parsing" else _demo_words)(out, words, seed)


def _demo_words(out: Path, words: int, seed: int) -> None:
    """Read handwritten words as chains of letters, beside a classifier of single letters."""
    say = current_console().say
    say(
        "Learning to read handwritten words: a chain of letters against one letter at a time\n"
        f"({words} synthetic words, seed {seed}).\n"
    )
    data = datasets.make_words(words, random_state=seed)
    testing = np.isin(data.fold, TEST_FOLDS)
    X, y = _pick(data.X, ~testing), _pick(data.y, ~testing)
    X_test, y_test = _pick(data.X, testing), _pick(data.y, testing)
    with _without_warnings():
        chain, result = _train_chain(out, data, testing, seed)
        readings = {"per letter": _read_letters(X, y, X_test, seed), "chain": chain.predict(X_test)}
    shown = _differing(readings)
    compared = [_errors(y_test, readings), _words(y_test, readings, shown)]
    for table in compared:
        say(f"{table['title']}:\n{text.format_table(table['columns'], table['rows'])}\n")
    say(
        f"Run:    {text.visible_text(out / RUN)}\nReport:"
        f" {text.visible_text(_write_report(out, compared))}"
    )
    if has_matplotlib():
        pictures = [X_test[i] for i in shown], [y_test[i] for i in shown]
        read = {name: [own[i] for i in shown] for name, own in readings.items()}
        _draw(out / FIGURE, result, data.image_shape, *pictures, read)
        say(f"Figure: {text.visible_text(out / FIGURE)}")
    else:
        say(f"No figure, because matplotlib is not installed: {HINT}")


def _check_free(folder: Path) -> None:
    """Replace what an earlier demo made, nothing else."""
    with suppress(OSError):  # told better when it is written to
        found = {path.name for path in folder.iterdir()}
        if found and not found & {TRAIN, TREEBANK}:
            raise UsageError(
                f"{str(folder)!r} has other files than a demo's; name a new or empty folder with"
                " --out"
            )


def _make_writable(folder: Path) -> None:
    """Fail before the training, not after it."""
    probe = folder / f".{FIGURE}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"cannot write to the folder {str(folder)!r} ({reason}); name another with --out"
        ) from error


def _pick(items: Sequence[Any], chosen: np.ndarray) -> list[Any]:
    return [item for item, wanted in zip(items, chosen, strict=True) if wanted]


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate says it
        yield


def _train_chain(out: Path, data: Any, testing: np.ndarray, seed: int) -> tuple[ChainSVM, Result]:
    """Train into a run folder, as `maxmargin train chain` does, and evaluate on the test words."""
    for name, chosen in ((TRAIN, ~testing), (TEST, testing)):
        _write_words(out / name, _pick(data.X, chosen), _pick(data.y, chosen))
    height, width = data.image_shape
    config = {
        "task": "chain",
        "data": [str(out / TRAIN)],
        "alpha": CHAIN_ALPHA,
        "tol": TOL,
        "seed": seed,
        "time-limit": SECONDS,
        "task-options": {"image": f"{height}x{width}"},
    }
    X = _pick(data.X, ~testing)
    kept = []

    class Keep(Callback):  # a model file has no times; the figure shows them
        def on_end(self, run: Run, result: Result) -> None:
            kept.append(result)

    # compiles, so that the curve shows training only
    ChainSVM(max_epochs=1).fit(X[:1], _pick(data.y, ~testing)[:1])
    folder = RunFolder(out / RUN).create(config, force=True)
    summary = train(
        folder, callbacks=[*make_callbacks(current_console(), "training the chain"), Keep()]
    )
    if summary["status"] == "interrupted":
        raise KeyboardInterrupt
    evaluate(folder, [out / TEST])
    letters, seconds = sum(map(len, X)), summary["seconds"]
    current_console().say(f"Trained on {len(X)} words ({letters} letters) in {seconds:.1f} s.")
    current_console().say(f"Certificate: the chain is {summary['certificate']}.\n")
    return folder.model(), kept[0]


def _write_words(file: Path, X: Words, y: Words) -> None:
    """Words as the task `chain` reads them."""
    lengths = np.array([len(x) for x in X])
    rows, labels = np.concatenate(X), np.concatenate(y)
    write_whole(file, lambda sink: np.savez_compressed(sink, X=rows, y=labels, lengths=lengths))


def _write_report(out: Path, compared: list[Table]) -> Path:
    """The run's report, with the comparison beside the evaluation on the test words."""
    folder, name = RunFolder(out / RUN), f"evaluations/{evaluation_name(out / TEST)}.json"
    folder.write_json(name, folder.read_json(name) | {"compared": compared})
    return write_report(folder.path, out / REPORT)


def _read_letters(X: Words, y: Words, X_test: Words, seed: int) -> list[np.ndarray]:
    """The test words as read by a classifier of single letters with the same features."""
    letters = MulticlassSVM(alpha=LETTER_ALPHA, tol=TOL, random_state=seed, time_limit=SECONDS)
    letters.fit(np.concatenate(X), np.concatenate(y))
    cuts = np.cumsum([len(x) for x in X_test])[:-1]
    return np.split(letters.predict(np.concatenate(X_test)), cuts)


def _errors(truth: Words, readings: Mapping[str, Words]) -> Table:
    """Both models on the test words."""
    rows = [
        [
            name,
            f"{100 * token_error(truth, own):.1f} %",
            f"{100 * sequence_error(truth, own):.1f} %",
        ]
        for name, own in readings.items()
    ]
    title = f"A chain of letters beside single letters, on {len(truth)} test words"
    columns = ["model", "letters wrong", "words wrong"]
    return {"title": title, "columns": columns, "rows": rows, "note": ""}


def _differing(readings: Mapping[str, Words]) -> list[int]:
    """Numbers of the first words that the models read differently; of the first ones if none."""
    one, other = readings.values()
    differ = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if list(a) != list(b)]
    return (differ or list(range(len(one))))[:SHOWN]


def _words(truth: Words, readings: Mapping[str, Words], shown: list[int]) -> Table:
    title = "The first test words that the two read differently (wrong letters in capitals)"
    rows = [
        ["".join(truth[i]), *(_marked(truth[i], own[i]) for own in readings.values())]
        for i in shown
    ]
    return {"title": title, "columns": ["truth", *readings], "rows": rows, "note": ""}


def _marked(truth: np.ndarray, word: np.ndarray) -> str:
    return "".join(b if a == b else b.upper() for a, b in zip(truth, word, strict=True))


def _draw(
    file: Path,
    result: Result,
    image_shape: tuple[int, int],
    X: Words,
    truth: Words,
    readings: Mapping[str, Words],
) -> None:
    """Test words beside the convergence of the chain; no pyplot, so no window and no backend."""
    figure = import_matplotlib("figure").Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    WordsDisplay(X, truth, readings, image_shape).plot(columns=2, ax=left)
    left.set_title("test words that the two models read differently (errors underlined)")
    ConvergenceDisplay.from_result(result, ax=right)
    right.set_title("training the chain: the optimum is in the band")
    try:
        figure.savefig(file, dpi=110)
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r} ({error.strerror or error})") from error
