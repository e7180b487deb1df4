"""Measure one run of a comparison, in a process of its own: `python -m
maxmargin.cli.comparison.measure`.

The request comes as one line of JSON on stdin, which stays open as long as the comparison lives;
the answer goes to stdout. So a comparison that is killed takes its running run with it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from maxmargin import memory
from maxmargin.callbacks import Callback
from maxmargin.cli.comparison import subsets
from maxmargin.cli.comparison.config import ComparisonRun, settings_of
from maxmargin.cli.comparison.solver_memory import solver_bytes
from maxmargin.cli.runs.config import task_options
from maxmargin.cli.runs.solvers import make_solver
from maxmargin.cli.settings import DEFAULTS, PARAMETERS
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Result, Status
from maxmargin.solvers.run import Run
from maxmargin.tasks.documents import finite_values
from maxmargin.tasks.registry import Data, TaskCommand

WARM_SAMPLES = 10
WARM_EPOCHS = 2


class RunRecorder(Callback):
    """What only the solver's own problem tells: the penalty in force and the sizes."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.run: Run | None = None

    def on_start(self, run: Run) -> None:
        self.run = run
        self.found = {
            "alpha": float(run.problem.alpha) if run.solver.requires.has_objective else None,
            "tol": float(run.tol),
            "max_epochs": int(run.max_epochs),
            "n_weights": int(run.problem.dim),
            "n_parts": len(run.problem.truth),
        }


def command_at(place: str) -> TaskCommand:
    """The task command of that class, "module:Class"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)()


def prepare_data(command: TaskCommand, config: Mapping[str, Any], common: Path) -> dict[str, Any]:
    """Read all data once, to find errors before the first run, and do the steps runs share."""
    data, test = _read(command, config)
    chosen = subsets.training_samples(len(data), max(config["sizes"]), config["seed"])
    label, largest = next(iter(config["solvers"])), command.take(data, chosen)
    command.check_labels(largest, task_options(config, command))
    _warm_up(command, config, settings_of(config, label), largest, common)
    names = [key for key, value in data.counts.items() if value == len(data)]
    return {
        "n_samples": len(data),
        "n_test": None if test is None else len(test),
        "size_name": names[0] if names else "samples",
        "counts": data.counts,
    }


def measure_run(
    command: TaskCommand, config: Mapping[str, Any], run_spec: ComparisonRun, common: Path
) -> dict[str, Any]:
    """Train and judge once; everything that is known about it."""
    started = time.perf_counter()
    data, test = _read(command, config)
    train = command.take(data, subsets.training_samples(len(data), run_spec.size, run_spec.seed))
    if test is None:
        limit = config.get("test-size")
        rest = subsets.held_out(len(data), max(config["sizes"]), run_spec.seed, limit)
        test = command.take(data, rest)
    del data
    read = time.perf_counter() - started
    settings = settings_of(config, run_spec.solver)
    compiling = _warm_up(command, config, settings, train, common)
    recorder = RunRecorder()
    model = _model(command, config, settings, run_spec.seed)
    model.set_params(callbacks=[*model.callbacks, recorder])
    gc.collect()
    memory.reset_peak()
    base = memory.resident_bytes()
    started, worked = time.perf_counter(), time.process_time()
    command.fit(model, train, common)
    wall, worked = time.perf_counter() - started, time.process_time() - worked
    measured = {
        "wall_seconds": wall,
        "cpu_seconds": worked,
        "compile_seconds": compiling,
        "read_seconds": read,
        "peak_bytes": memory.peak_bytes(),
        "base_bytes": base,
    }
    measured |= recorder.found | _outcome(model.result_)
    assert recorder.run is not None
    measured["solver_bytes"] = solver_bytes(
        recorder.run.solver, recorder.run.problem, model.result_.state
    )
    return measured | _errors(command, model, train, test)


def _read(command: TaskCommand, config: Mapping[str, Any]) -> tuple[Data, Data | None]:
    options = task_options(config, command)
    wanted = command.sized(options, subsets.samples_wanted(config))
    data = command.read([Path(path) for path in config["data"]], wanted)
    if not config.get("test"):
        return data, None
    test = command.read_held_out([Path(path) for path in config["test"]], options)
    command.check_held_out(data, test, str(config["test"][0]))
    return data, test


def _model(
    command: TaskCommand, config: Mapping[str, Any], settings: Mapping[str, Any], seed: int
) -> Any:
    """The estimator that `train` uses, with this solver."""
    options = dict(settings["options"])
    if "certify-every" in settings:
        options.setdefault("check_every", settings["certify-every"])
    solver = make_solver(settings["solver"], options)
    model = command.estimator(task_options(config, command))
    known = model.get_params(deep=False)
    threads = config.get("threads", DEFAULTS["threads"])
    wanted = {"solver": solver, "random_state": seed, "n_jobs": threads}
    for key, name in PARAMETERS.items():
        if key not in settings:
            continue
        if name not in known:
            raise ValueError(f"task {command.name} has no {key}; leave it out.")
        wanted[name] = settings[key]
    return command.priced(model.set_params(**wanted), task_options(config, command))


def _warm_up(
    command: TaskCommand,
    config: Mapping[str, Any],
    settings: Mapping[str, Any],
    data: Data,
    common: Path,
) -> float:
    """Load or compile the code by a short run on a few samples; its seconds."""
    started = time.perf_counter()
    few = command.take(data, range(min(WARM_SAMPLES, len(data))))
    model = _model(command, config, settings, 0).set_params(max_epochs=WARM_EPOCHS)
    with suppress(ValueError):  # too few samples, or an error that the run itself will meet
        command.fit(model, few, common)
    return time.perf_counter() - started


def _outcome(result: Result) -> dict[str, Any]:
    failed = result.status is Status.FAILED
    return {
        "status": result.status.value,
        "message": result.message or ("training failed" if failed else ""),
        "certificate": result.certificate(),
        "seconds": result.state.seconds,
        "n_oracle": result.state.n_oracle,
        "n_project": result.state.n_project,
        "primal": result.primal,
        "dual": result.dual,
        "gap": result.gap,
        "relative_gap": result.relative_gap,
        "n_epochs": result.n_epochs,
        "history": [record.metrics() for record in result.history],
    }


def _errors(command: TaskCommand, model: Any, train: Data, test: Data) -> dict[str, Any]:
    own = command.evaluate(model, train, shown=0)
    other = command.evaluate(model, test, shown=0) if len(test) else {**own, "error": None}
    # a task may have to train without truth, on labels that it makes, and say so by the name
    name = (own if other["error"] is None else other)["error_name"]
    return {"train_error": own["error"], "test_error": other["error"], "error_name": name}


def answer_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is asked; {"error": message} if it cannot be done."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
    try:
        command, config = command_at(request["command"]), request["config"]
        common = Path(request["common"])
        if request["run"] is None:
            return finite_values(prepare_data(command, config, common))
        return finite_values(measure_run(command, config, ComparisonRun(**request["run"]), common))
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:
        expected = isinstance(error, ValueError | OSError)
        return {"error": str(error) if expected else f"{type(error).__name__}: {error}"}


def _end_with_the_comparison() -> None:
    """Wait until the other end of stdin is gone; then nobody wants the answer."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def main() -> None:
    """Answer one request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the comparison decides, and ends this process
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_comparison, daemon=True).start()
    sink = os.dup(1)
    os.dup2(2, 1)  # what a task prints must not be taken for the answer
    with os.fdopen(sink, "w", encoding="utf-8") as stream:
        json.dump(answer_request(request), stream)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the thread that waits for stdin must not hold up the end
