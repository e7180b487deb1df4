"""Carry out a study, cell by cell, so that nothing but the running cell can be lost."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from maxmargin.jobs import JOBS, job_named
from maxmargin.study import subsets
from maxmargin.study.files import RunError, locked, write_bytes, write_json
from maxmargin.study.inputs import digests, files_of
from maxmargin.study.plan import (
    Cell,
    cells_of,
    check_plan,
    contents_of,
    digest_of,
    key_of,
    settings_of,
)
from maxmargin.study.process import CellError, ask
from maxmargin.study.summary import summarise

PLAN, SUMMARY, FILES, CELLS, COMMON = "study.toml", "study.json", "data.json", "cells", "common"
ABOUT = "about.json"


@dataclass(frozen=True)
class Event:
    """What a study tells while it runs.

    stage : "prepare", "start" of a cell, "kept" (done before), "done" or "failed". number, total :
    of the cell. left : guessed seconds until all is done, None while there is nothing to go by.
    """

    stage: str
    number: int = 0
    total: int = 0
    cell: Cell | None = None
    document: Mapping[str, Any] | None = None
    left: float | None = None


Listener = Callable[[Event], None]


def plan_in(folder: Path) -> dict[str, Any]:
    """The configuration of a study that was begun there."""
    path = folder / PLAN
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder} holds no study: {PLAN} is missing.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is damaged ({error}).") from None


def run_study(
    given: Mapping[str, Any],
    folder: Path | str,
    *,
    resume: bool = False,
    listener: Listener = lambda event: None,
) -> dict[str, Any]:
    """Measure all cells of the plan that are not in the folder yet; returns study.json's document.

    given : the configuration, see `check_plan`. resume : carry on what is in the folder; its cells
    must have been measured with the same settings and data. Cells that failed are tried again.
    """
    job = job_named(str(given.get("task")))
    plan = check_plan(given, [option.name for option in job.options])
    study = _Study(plan, Path(folder), listener)
    study.path.mkdir(parents=True, exist_ok=True)
    with locked(study.path):
        study.begin(resume)
        return study.go(job.title)


class _Study:
    def __init__(self, plan: dict[str, Any], path: Path, listener: Listener):
        self.plan, self.path, self.tell = plan, path.absolute(), listener
        self.cells = cells_of(plan)
        self.done: dict[Cell, dict[str, Any]] = {}
        self.keys: dict[str, dict[str, Any]] = {}
        self.common = self.path / COMMON
        self.lasted: dict[Cell, float] = {}

    def begin(self, resume: bool) -> None:
        """Look at what is there; write what is to be done."""
        if not resume and (self.path / PLAN).exists():
            raise RunError(
                f"{self.path} holds a study already; add --resume to carry it on, or choose"
                " another --out."
            )
        files = digests(files_of(job_named(self.plan["task"]), self.plan))
        self.keys = {label: key_of(self.plan, label, files) for label in self.plan["solvers"]}
        (self.path / CELLS).mkdir(exist_ok=True)
        # What cells share rests on the files and options, so that others never meet it.
        self.common = (
            self.path / COMMON / digest_of([contents_of(files), self.plan["task-options"]])[:16]
        )
        self.common.mkdir(parents=True, exist_ok=True)
        for cell in self.cells:
            found = self._read(cell)
            if found is not None and found["status"] != "failed":
                self.done[cell] = found
        write_bytes(self.path / PLAN, tomli_w.dumps(_for_toml(self.plan)).encode())
        write_json(self.path / FILES, files)

    def go(self, title: str) -> dict[str, Any]:
        """Measure what is missing, and sum up."""
        about = self._prepare()
        subsets.check_size(about["n_samples"], max(self.plan["sizes"]))
        for number, cell in enumerate(self.cells, 1):
            event = Event("start", number, len(self.cells), cell, left=self._left())
            if cell in self.done:
                self.tell(replace(event, stage="kept", document=self.done[cell]))
                continue
            self.tell(event)
            started = time.perf_counter()
            document = self._measure(cell)
            self.lasted[cell] = time.perf_counter() - started
            write_json(self._file(cell), document)
            self.done[cell] = document
            stage = "failed" if document["status"] == "failed" else "done"
            self.tell(replace(event, stage=stage, document=document, left=self._left()))
        found = [self.done[cell] for cell in self.cells]
        summary = summarise(self.plan, found, about, title)
        write_json(self.path / SUMMARY, summary)
        return summary

    def _file(self, cell: Cell) -> Path:
        return self.path / CELLS / f"{cell.name}.json"

    def _read(self, cell: Cell) -> dict[str, Any] | None:
        path = self._file(cell)
        try:
            found = json.loads(path.read_bytes())
            key = found["key"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged ({error}); remove it to measure it anew.") from None
        wanted = self.keys[cell.solver]
        other = [name for name in {**key, **wanted} if key.get(name) != wanted.get(name)]
        if other:
            changes = ", ".join(f"{n}: {key.get(n)!r}, now {wanted.get(n)!r}" for n in other)
            raise RunError(
                f"{path} was measured with other settings or data ({changes}); choose another"
                " --out, or remove the file to measure it anew."
            )
        return found

    def _request(self, cell: Cell | None) -> dict[str, Any]:
        return {
            "job": JOBS[self.plan["task"]],
            "plan": self.plan,
            "cell": None if cell is None else asdict(cell),
            "common": str(self.common),
        }

    def _prepare(self) -> dict[str, Any]:
        """Read the data once; what is wrong with them is no fault of a cell."""
        path = self.common / ABOUT
        if path.exists():
            return json.loads(path.read_bytes())
        self.tell(Event("prepare", total=len(self.cells)))
        try:
            about = ask(self._request(None), threads=self.plan.get("threads", 1))
        except CellError as error:
            raise ValueError(str(error)) from None
        write_json(path, about)
        return about

    def _measure(self, cell: Cell) -> dict[str, Any]:
        settings = settings_of(self.plan, cell.solver)
        named = {**asdict(cell), "key": self.keys[cell.solver]}
        try:
            seconds = _patience(self.plan, settings)
            threads = self.plan.get("threads", 1)
            return named | ask(self._request(cell), threads=threads, seconds=seconds)
        except CellError as error:
            return named | {"status": "failed", "message": str(error)}

    def _left(self) -> float | None:
        """Seconds for the cells to come, by those of the same solver or, if none, of any."""
        if not self.lasted:
            return None
        return sum(self._guess(cell) for cell in self.cells if cell not in self.done)

    def _guess(self, cell: Cell) -> float:
        own = [c for c in self.lasted if c.solver == cell.solver] or list(self.lasted)
        near = max(own, key=lambda c: (-abs(c.size - cell.size), c.seed))
        return self.lasted[near] * max(1.0, cell.size / near.size)


def _patience(plan: Mapping[str, Any], settings: Mapping[str, Any]) -> float | None:
    """When to give a cell up: as asked, or long after its time limit should have ended it."""
    if "kill-after" in plan:
        return plan["kill-after"]
    limit = settings.get("time-limit")
    return None if limit is None else 2 * limit + 600


def _for_toml(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values first: a TOML file has its tables last."""
    tables = [key for key, value in plan.items() if isinstance(value, dict)]
    ordered = [key for key in plan if key not in tables] + tables
    return {key: plan[key] for key in ordered}
