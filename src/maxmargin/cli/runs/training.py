"""Training into a run folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.callbacks import EarlyStopping
from maxmargin.cli.runs.config import HELD_OUT, check_held_out, task_options
from maxmargin.cli.runs.environment import describe_environment
from maxmargin.cli.runs.errors import RunError
from maxmargin.cli.runs.evaluating import WORST, evaluate_on
from maxmargin.cli.runs.folder import CHECKPOINT, DATA, HISTORY, MODEL, SUMMARY, RunFolder
from maxmargin.cli.runs.penalty import check_search, choose_alpha, search_table
from maxmargin.cli.runs.solvers import make_solver
from maxmargin.cli.runs.watching import AtOnce, HistoryLines, Interrupts
from maxmargin.cli.settings import AUTO, DEFAULTS, ENDS, PARAMETERS
from maxmargin.parallel import Engine, resolve_engine
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.result import Status
from maxmargin.solvers.base import solver_classes
from maxmargin.tasks.documents import Table, finite_values
from maxmargin.tasks.sample_names import name_samples

if TYPE_CHECKING:
    from maxmargin.callbacks import Callback
    from maxmargin.tasks.registry import Data, TaskCommand

log = logging.getLogger("maxmargin")

#: what the choice of alpha found
SEARCH = "prepared/alpha.json"


def train(
    folder: RunFolder | str | os.PathLike,
    *,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Train as the folder's configuration says; returns the summary that it writes there.

    resume : go on from the last checkpoint, if there is one. A run that has ended is left as it
        is unless a limit that ended it was raised since (`RunFolder.update`); the summary then has
        a `note` that says so.

    A run that was created by force takes the place of the older one when it has succeeded.

    SIGINT and SIGTERM end the run after the epoch, with a checkpoint and the model so far; the
    status of the summary is "interrupted" then. A second one is a KeyboardInterrupt.
    Where one of them is ignored, as SIGINT is in background jobs of scripts, it stays
    ignored.
    """
    folder = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    with folder.open().locked():
        summary = _Training(folder, resume, callbacks).go()
        if summary.get("status") not in ("interrupted", "failed"):
            folder.replace_old_run()
        return summary


class _Training:
    def __init__(self, folder: RunFolder, resume: bool, callbacks: Sequence[Callback]):
        self.folder, self.resume, self.given = folder, resume, list(callbacks)
        self.config = folder.config
        self.command: TaskCommand = folder.command()
        self.options = task_options(self.config, self.command)

    def go(self) -> dict[str, Any]:
        """Read, fit, save, judge."""
        folder = self.folder
        self._check_begun()
        self.model = self._estimator()
        self.limits = {key: getattr(self.model, PARAMETERS[key]) for key in ENDS.values()}
        ended = self._earlier_summary()
        if ended is not None:
            return ended
        folder.tidy()
        try:
            with Interrupts() as interrupts:
                self._note_environment()
                data, validation, held_out = self._read()
                self._choose_alpha(data, validation, interrupts)
                self._fit(data, validation, interrupts)
                if held_out is not None:
                    self.model.calibrate(held_out.inputs, held_out.outputs)
                self.calibration = self._calibration(held_out)
                without_times(self.model).save(folder.path / MODEL)
                stopped = self.model.result_.status is Status.INTERRUPTED
                if interrupts.signal is not None and not stopped:
                    raise KeyboardInterrupt  # it came after the last epoch
                metrics = {} if stopped else self._evaluate(data, validation)
                summary = self._summary(len(data), metrics)
                folder.write_json(SUMMARY, summary)
        except AtOnce:
            raise KeyboardInterrupt from None
        except OSError as error:
            if error.filename is not None or not folder.has(CHECKPOINT):
                raise  # of reading data, or with nothing to go on from
            raise _explained(error) from error
        finally:
            if self.engine is not None:
                self.engine.close()
        return summary

    # -- before ------------------------------------------------------------------------------------
    def _check_begun(self) -> None:
        begun = [name for name in (DATA, CHECKPOINT, SUMMARY) if self.folder.has(name)]
        if begun and not self.resume:
            raise RunError(
                f"{str(self.folder.path)!r} has begun already (it has {begun[0]}). Resume the run,"
                " or replace it by force."
            )

    def _earlier_summary(self) -> dict[str, Any] | None:
        """The summary of a run that has nothing left to do."""
        if not (self.folder.has(SUMMARY) and self.folder.has(MODEL)):
            return None
        summary = self.folder.read_json(SUMMARY)
        if summary.get("status") == "interrupted":
            return None
        if _raised(summary.get("status"), summary.get("limits") or {}, self.limits):
            return None
        note = f"the run had ended already ({summary.get('status')}); nothing was done"
        log.info(note)
        return summary | {"note": note}

    def _note_environment(self) -> None:
        folder, now = self.folder, describe_environment(self.config.get("threads", 1))
        if self.resume and folder.has("environment.json"):
            before = folder.read_json("environment.json")
            before.setdefault("resumed", []).append(now)
            now = before
        folder.write_json("environment.json", now)

    def _estimator(self) -> Any:
        model = self.command.estimator(self.options)
        known = model.get_params(deep=False)
        wanted = DEFAULTS | self.config
        for key, name in PARAMETERS.items():
            if key not in wanted or wanted[key] == AUTO:
                continue
            if name not in known:
                raise RunError(f"the task {self.command.name!r} has no {key}; leave it out.")
            setattr(model, name, wanted[key])
        if self.engine is not None:
            model.engine = self.engine
        solver = self.config.get("solver", model.solver)
        if isinstance(solver, str):
            model.solver = make_solver(solver, self.config.get("solver-options", {}))
        elif self.config.get("solver-options"):
            raise RunError(
                "solver-options are those of one solver: name it, by solver = 'bcfw' in a file or"
                " --solver bcfw."
            )
        return self.command.priced(model, self.options)

    @cached_property
    def engine(self) -> Engine | None:
        """Where all fits of the run are computed."""
        if "engine" in self.config:
            workers = int(self.config.get("workers", 2))
            return resolve_engine(self.config["engine"], n_workers=workers)
        if "workers" in self.config:
            raise RunError("workers are those of an engine: name it, by --engine processes, say.")
        return None

    def _read(self) -> tuple[Data, Data | None, Data | None]:
        check_held_out(self.config, "validation")
        files = self.folder.check_files(self.config)
        data = self.command.read([Path(path) for path in self.config["data"]], self.options)
        validation, counts = None, None
        if "validation" in self.config:
            paths = [Path(path) for path in self.config["validation"]]
            validation = self.command.read_held_out(paths, self.options)
            counts = validation.counts
            if validation.outputs is None:
                raise ValueError(f"{paths[0]}: validation data need their true outputs.")
            self.command.check_held_out(data, validation, str(paths[0]))
        _warn_of_same_files(files)
        if not len(data):
            raise ValueError(f"{self.config['data'][0]}: there are no samples to learn from.")
        self.command.check_labels(data, self.options)
        held_out = self._held_out(data, files)
        found = {"files": files, "counts": data.counts, "validation": counts}
        self.folder.write_json(DATA, found)
        return data, validation, held_out

    def _held_out(self, data: Data, files: Sequence[Mapping[str, Any]]) -> Data | None:
        known = {own["sha256"]: own["path"] for own in files if own["role"] == "data"}
        for own in files:
            if own["role"] == HELD_OUT and own["sha256"] in known:
                path, same = own["path"], known[own["sha256"]]
                what = "is" if os.path.samefile(path, same) else f"has the contents of {same},"
                raise ValueError(
                    f"{path}: {what} among the data, of which the model is surer than it should be;"
                    " calibrate on other files."
                )
        return self.command.held_out(self.options, data)

    # -- training ----------------------------------------------------------------------------------
    def _choose_alpha(self, data: Data, validation: Data | None, interrupts: Callback) -> None:
        """If it is to be chosen: what was tried is kept, for a run that goes on."""
        self.search: dict[str, Any] | None = None
        if self.config.get("alpha") != AUTO or isinstance(self.model.alpha, str):
            return  # it is given, or the estimator chooses it
        if self.folder.has(SEARCH):
            self.search = check_search(self.folder.read_json(SEARCH), SEARCH)
        else:
            prepared = self.folder.path / "prepared"
            prepared.mkdir(exist_ok=True)

            def make() -> Any:
                return self._estimator().set_params(callbacks=[interrupts, *self.given])

            seed = self.config.get("seed", 0)
            self.search = choose_alpha(self.command, make, data, validation, seed, prepared)
            self.folder.write_json(SEARCH, self.search)
        self.model.alpha = self.search["alpha"]

    def _fit(self, data: Data, validation: Data | None, interrupts: Callback) -> None:
        path, intervals = self.folder.path, self.config.get("checkpoints", {})
        stopping = []
        if validation is not None:
            _, metric = self.command.metric(validation)
            stopping = [EarlyStopping(validation.inputs, validation.outputs, metric)]
        self.model.callbacks = [
            *stopping,
            interrupts,
            Checkpoint(path / CHECKPOINT, resume=self.resume, **intervals),
            HistoryLines(path / HISTORY),
            *self.given,
        ]
        prepared = path / "prepared"
        prepared.mkdir(exist_ok=True)
        names = data.details.get("names", ())
        with name_samples(names, () if validation is None else validation.details.get("names", ())):
            self.command.fit(self.model, data, prepared)
        with suppress(OSError):  # most tasks keep nothing there
            prepared.rmdir()

    # -- after -------------------------------------------------------------------------------------
    def _calibration(self, held_out: Data | None) -> dict[str, Any] | None:
        if held_out is None:
            return None
        fitted = getattr(self.model, "model_", self.model)
        return {
            "temperature": fitted.temperature_,
            "n_samples": len(held_out),
            "left_out": held_out.counts["left out"],
        }

    def _evaluate(self, data: Data, validation: Data | None) -> dict[str, Any]:
        found = {}
        for name, own in (("train", data), ("validation", validation)):
            if own is not None:
                paths = [Path(p) for p in self._paths_of(name)]
                worst = self.config.get("worst", WORST)
                evaluation = evaluate_on(self.command, self.model, own, paths, worst)
                self.folder.write_json(f"evaluations/{name}.json", evaluation)
                found[name] = {metric["name"]: metric["value"] for metric in evaluation["metrics"]}
        return found

    def _paths_of(self, name: str) -> list[str]:
        return self.config["data" if name == "train" else "validation"]

    def _summary(self, n_samples: int, metrics: dict[str, Any]) -> dict[str, Any]:
        model, result = self.model, self.model.result_
        fitted = getattr(model, "model_", model)  # where a task puts what was left open (None)
        loss = getattr(model, "loss", None) or fitted.loss
        objective = getattr(model, "objective", "margin")
        matters = solver_classes()[result.state.solver]().requires.has_objective
        has_loss = matters and objective != "likelihood"
        return finite_values(
            {
                "task": self.command.name,
                "title": self.command.title,
                "status": result.status.value,
                "message": result.message,
                "certificate": result.certificate(),
                "primal": result.primal,
                "dual": result.dual,
                "gap": result.gap,
                "relative_gap": result.relative_gap,
                "n_epochs": result.n_epochs,
                "seconds": result.state.seconds,
                "n_oracle": result.state.n_oracle,
                "n_project": result.state.n_project,
                "n_weights": len(result.w),
                "n_samples": n_samples,
                "n_learned": getattr(model, "n_learned_", n_samples),
                "solver": result.state.solver,
                # where alpha itself says how it is chosen
                "alpha": getattr(fitted, "alpha_", fitted.alpha) if matters else None,
                "objective": objective if matters else None,
                "loss": " ".join(str(loss).split()) if has_loss else None,
                "calibration": self.calibration,
                "limits": self.limits,
                "alpha_search": self.search,
                "tables": [
                    *map(search_table, filter(None, [self.search])),
                    *rounds_tables(result.history[-1].extra),
                    *self.command.describe(model),
                ],
                "metrics": metrics,
            }
        )


def rounds_tables(metrics: Mapping[str, float]) -> list[Table]:
    """Where the time of training on several workers went, if that is what it was."""
    if "rounds" not in metrics:
        return []
    amounts = {
        "seconds of visits, all workers": metrics["visit_seconds"],
        "seconds until the slowest worker of each round was ready": metrics[
            "slowest_visit_seconds"
        ],
        "seconds of joining directions": metrics["combine_seconds"],
        "seconds of rounds in all": metrics["round_seconds"],
        "megabytes sent to workers": metrics["megabytes_sent"],
        "megabytes received": metrics["megabytes_received"],
    }
    note = "What rounds took beyond their slowest worker is sending, waiting and joining."
    return [
        Table(
            title=f"{metrics['rounds']:,.0f} rounds of several workers",
            columns=["what", "amount"],
            rows=[[what, round(amount, 2)] for what, amount in amounts.items()],
            note=note,
        )
    ]


def _warn_of_same_files(files: Sequence[Mapping[str, Any]]) -> None:
    """Tell that held-out files which are among the data hold nothing out."""
    known = {own["sha256"] for own in files if own["role"] == "data"}
    for own in files:
        if own["role"] == "validation" and own["sha256"] in known:
            log.warning(
                "%s: is among the data, too, so that its scores are those of training; name"
                " held-out files with --validation",
                own["path"],
            )


def _raised(status: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the limit that ended a run is now further away; None: as the task has it."""
    key = ENDS.get(status)
    if key is None or new[key] == old.get(key):
        return False
    if new[key] is None or old.get(key) is None:
        return True  # not known, and going on is never wrong
    return new[key] < old[key] if key == "tol" else new[key] > old[key]


def _explained(error: OSError) -> OSError:
    """The same with what is safe."""
    safe = "The last checkpoint is whole: mend the cause, then resume the run."
    return OSError(error.errno, f"{error.strerror or error} {safe}")


def without_times(model: Any) -> Any:
    """A copy of a model in which nothing depends on how fast it was made, or how often resumed."""
    bare = copy(model)
    for name, value in vars(bare).items():
        if name == "result_":
            history = type(value.history)(
                replace(record, seconds=float("nan"), extra=_without_times(record.extra))
                for record in value.history
            )
            setattr(bare, name, replace(value, history=history, state=None))
        elif "result_" in getattr(value, "__dict__", {}):
            setattr(bare, name, without_times(value))
    return bare


def _without_times(extra: Mapping[str, float]) -> dict[str, float]:
    """But for times, and for what was sent to workers, which is more after an interruption."""
    kept = (name for name in extra if not name.endswith("seconds"))
    return {name: extra[name] for name in kept if not name.startswith("megabytes")}
