"""Measure one cell of a study, in a process of its own: `python -m maxmargin.cli.comparison.cell`.

The request comes as one line of JSON on stdin, which stays open as long as the study lives; the
answer goes to stdout. So a study that is killed takes its running cell with it.
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

from maxmargin.callbacks import Callback
from maxmargin.cli.comparison import memory, subsets
from maxmargin.cli.comparison.plan import Cell, settings_of
from maxmargin.cli.comparison.solver_memory import solver_bytes
from maxmargin.cli.runs.config import task_options
from maxmargin.cli.runs.solvers import make_solver
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Result, Status
from maxmargin.solvers.run import Run
from maxmargin.tasks.documents import finite
from maxmargin.tasks.registry import Data, Job

WARM_SAMPLES = 10
WARM_EPOCHS = 2


class Facts(Callback):
    """What only the solver's own problem tells: the penalty in force and the sizes."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.run: Run | None = None

    def on_start(self, run: Run) -> None:
        self.run = run
        self.found = {
            "alpha": float(run.problem.alpha) if run.solver.has_objective else None,
            "tol": float(run.tol),
            "max_epochs": int(run.max_epochs),
            "n_weights": int(run.problem.dim),
            "n_parts": len(run.problem.truth),
        }


def job_at(place: str) -> Job:
    """The job of that class, "module:Class"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)()


def prepare(job: Job, plan: Mapping[str, Any], common: Path) -> dict[str, Any]:
    """Read all data once, to find errors before the first cell, and do the steps cells share."""
    data, test = _read(job, plan)
    chosen = subsets.training(len(data), max(plan["sizes"]), plan["seed"])
    label, largest = next(iter(plan["solvers"])), job.take(data, chosen)
    job.check_labels(largest, task_options(plan, job))
    _warm_up(job, plan, settings_of(plan, label), largest, common)
    names = [key for key, value in data.facts.items() if value == len(data)]
    return {
        "n_samples": len(data),
        "n_test": None if test is None else len(test),
        "size_name": names[0] if names else "samples",
        "facts": data.facts,
    }


def measure(job: Job, plan: Mapping[str, Any], cell: Cell, common: Path) -> dict[str, Any]:
    """Train and judge once; everything that is known about it."""
    started = time.perf_counter()
    data, test = _read(job, plan)
    train = job.take(data, subsets.training(len(data), cell.size, cell.seed))
    if test is None:
        limit = plan.get("test-size")
        rest = subsets.held_out(len(data), max(plan["sizes"]), cell.seed, limit)
        test = job.take(data, rest)
    del data
    read = time.perf_counter() - started
    settings = settings_of(plan, cell.solver)
    compiling = _warm_up(job, plan, settings, train, common)
    facts = Facts()
    model = _model(job, plan, settings, cell.seed)
    model.set_params(callbacks=[*model.callbacks, facts])
    gc.collect()
    memory.reset_peak()
    base = memory.resident()
    started, worked = time.perf_counter(), time.process_time()
    job.fit(model, train, common)
    wall, worked = time.perf_counter() - started, time.process_time() - worked
    measured = {
        "wall_seconds": wall,
        "cpu_seconds": worked,
        "compile_seconds": compiling,
        "read_seconds": read,
        "peak_bytes": memory.peak(),
        "base_bytes": base,
    }
    measured |= facts.found | _outcome(model.result_)
    assert facts.run is not None
    measured["solver_bytes"] = solver_bytes(
        facts.run.solver, facts.run.problem, model.result_.state
    )
    return measured | _errors(job, model, train, test)


def _read(job: Job, plan: Mapping[str, Any]) -> tuple[Data, Data | None]:
    options = task_options(plan, job)
    wanted = job.sized(options, subsets.wanted(plan))
    data = job.read([Path(path) for path in plan["data"]], wanted)
    if not plan.get("test"):
        return data, None
    return data, job.read([Path(path) for path in plan["test"]], options)


def _model(job: Job, plan: Mapping[str, Any], settings: Mapping[str, Any], seed: int) -> Any:
    """The estimator that `train` uses, with this solver."""
    options = dict(settings["options"])
    if "certify-every" in settings:
        options.setdefault("check_every", settings["certify-every"])
    solver = make_solver(settings["solver"], options)
    model = job.estimator(task_options(plan, job))
    known = model.get_params(deep=False)
    wanted = {"solver": solver, "random_state": seed, "n_jobs": plan.get("threads", 1)}
    for key in ("alpha", "loss", "tol", "max-epochs", "time-limit"):
        name = key.replace("-", "_")
        if key not in settings:
            continue
        if name not in known:
            raise ValueError(f"task {job.name} has no {key}; leave it out.")
        wanted[name] = settings[key]
    return job.priced(model.set_params(**wanted), task_options(plan, job))


def _warm_up(
    job: Job, plan: Mapping[str, Any], settings: Mapping[str, Any], data: Data, common: Path
) -> float:
    """Load or compile the kernels by a short run on a few samples; its seconds."""
    started = time.perf_counter()
    few = job.take(data, range(min(WARM_SAMPLES, len(data))))
    model = _model(job, plan, settings, 0).set_params(max_epochs=WARM_EPOCHS)
    with suppress(ValueError):  # too few samples, or a error that the run itself will meet
        job.fit(model, few, common)
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
        "history": [record.facts() for record in result.history],
    }


def _errors(job: Job, model: Any, train: Data, test: Data) -> dict[str, Any]:
    own = job.evaluate(model, train, shown=0)
    other = job.evaluate(model, test, shown=0) if len(test) else {**own, "error": None}
    # a task may have to train without truth, on labels that it makes, and say so by the name
    name = (own if other["error"] is None else other)["error_name"]
    return {"train_error": own["error"], "test_error": other["error"], "error_name": name}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is asked; {"error": message} if it cannot be done."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
    try:
        job, plan = job_at(request["job"]), request["plan"]
        common = Path(request["common"])
        if request["cell"] is None:
            return finite(prepare(job, plan, common))
        return finite(measure(job, plan, Cell(**request["cell"]), common))
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:
        expected = isinstance(error, ValueError | OSError)
        return {"error": str(error) if expected else f"{type(error).__name__}: {error}"}


def _end_with_the_study() -> None:
    """Wait until the other end of stdin is gone; then nobody wants the answer."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def main() -> None:
    """Answer one request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study decides, and ends this process
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_study, daemon=True).start()
    sink = os.dup(1)
    os.dup2(2, 1)  # what a task prints must not be taken for the answer
    with os.fdopen(sink, "w", encoding="utf-8") as stream:
        json.dump(answer(request), stream)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the thread that waits for stdin must not hold up the end
