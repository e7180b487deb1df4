"""Carry out a study, cell by cell, so that nothing but the running cell can be lost."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from maxmargin.cli.comparison import subsets
from maxmargin.cli.comparison.plan import (
    Cell,
    cells_of,
    check_plan,
    contents_of,
    digest_of,
    key_of,
    settings_of,
)
from maxmargin.cli.comparison.process import CellError, ask
from maxmargin.cli.comparison.summary import NEEDED, summarise
from maxmargin.cli.runs import RunError, RunFolder
from maxmargin.cli.runs.config import task_options
from maxmargin.cli.runs.environment import environment, files_of
from maxmargin.persistence.files import remove_partial, write_whole
from maxmargin.tasks.registry import JOBS, Job, job_named

PLAN, SUMMARY, FILES, CELLS, COMMON = "study.toml", "study.json", "data.json", "cells", "common"
ENVIRONMENT = "environment.json"


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
    study = _Study(check_plan(given), Path(folder), listener)
    study.path.mkdir(parents=True, exist_ok=True)
    with study.folder.locked():
        study.begin(resume)
        return study.go()


class _Study:
    def __init__(self, plan: dict[str, Any], path: Path, listener: Listener):
        self.plan, self.path, self.tell = plan, path.expanduser().absolute(), listener
        self.job = job_named(plan["task"])
        self.folder = RunFolder(self.path)
        self.cells = cells_of(plan)
        self.done: dict[Cell, dict[str, Any]] = {}
        self.keys: dict[str, dict[str, Any]] = {}
        self.common = self.path / COMMON
        self.lasted: dict[Cell, float] = {}

    def begin(self, resume: bool) -> None:
        """Look at what is there; write what is to be done."""
        files = _files(self.plan, self.job)
        self._check_place(resume)
        options = task_options(self.plan, self.job)
        fixed = self.job.sized(options, subsets.wanted(self.plan)) == options
        self.keys = {
            label: key_of(self.plan, label, files, fixed) for label in self.plan["solvers"]
        }
        # What cells share rests on the files and options, so that others never meet it.
        rests_on = digest_of([contents_of(files), self.plan["task-options"]])
        self.common = self.path / COMMON / rests_on[:16]
        for place in (self.path / CELLS, self.common):
            place.mkdir(parents=True, exist_ok=True)
            remove_partial(place)
        remove_partial(self.path)
        for cell in self.cells:
            found = self._read(cell)
            if found is not None and found["status"] != "failed":
                self.done[cell] = found
        self._record(files)

    def _check_place(self, resume: bool) -> None:
        """Neither a study that is there nor anybody's other files get mixed up with this one."""
        others = [own for own in self.path.iterdir() if own.name != ".lock"]
        if others and not (self.path / PLAN).exists():
            raise RunError(
                f"{str(self.path)!r} has other files in it, such as {others[0].name!r}; choose"
                " another --out."
            )
        if not resume and any((self.path / CELLS).glob("*.json")):
            raise RunError(
                f"{str(self.path)!r} holds a study already; add --resume to carry it on, or choose"
                " another --out."
            )

    def _record(self, files: list[dict[str, Any]]) -> None:
        raw = tomli_w.dumps(_for_toml(self.plan)).encode()
        write_whole(self.path / PLAN, lambda file: file.write(raw))
        now = environment(self.plan.get("threads", 1))
        if self.folder.has(ENVIRONMENT):
            before = self.folder.read_json(ENVIRONMENT)
            before.setdefault("resumed", []).append(now)
            now = before
        self.folder.write_json(ENVIRONMENT, now)
        self.folder.write_json(FILES, {"files": files})

    def go(self) -> dict[str, Any]:
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
            self.folder.write_json(_name(cell), document)
            self.done[cell] = document
            stage = "failed" if document["status"] == "failed" else "done"
            self.tell(replace(event, stage=stage, document=document, left=self._left()))
        found = [self.done[cell] for cell in self.cells]
        summary = summarise(self.plan, found, about, self.job.title)
        self.folder.write_json(SUMMARY, summary)
        return summary

    def _read(self, cell: Cell) -> dict[str, Any] | None:
        path = self.path / _name(cell)
        if not path.exists():
            return None
        found = self.folder.read_json(_name(cell))
        if not _is_cell(found):
            raise RunError(f"{str(path)!r} lacks what a cell has; remove it to measure it anew.")
        key = found["key"]
        wanted = self.keys[cell.solver]
        other = [name for name in {**key, **wanted} if key.get(name) != wanted.get(name)]
        if other:
            changes = ", ".join(f"{n}: {key.get(n)!r}, now {wanted.get(n)!r}" for n in other)
            raise RunError(
                f"{str(path)!r} was measured with other settings or data ({changes}); choose"
                " another --out, or remove the file to measure it anew."
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
        """Read the data once; what is wrong with them is not an error of a cell."""
        # a task may read only as many samples as are asked for
        own = self.common / f"about-{subsets.wanted(self.plan)}.json"
        name = own.relative_to(self.path).as_posix()
        if self.folder.has(name):
            return self.folder.read_json(name)
        self.tell(Event("prepare", total=len(self.cells)))
        try:
            about = ask(self._request(None), threads=self.plan.get("threads", 1))
        except CellError as error:
            raise ValueError(str(error)) from None
        self.folder.write_json(name, about)
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
        # Starting, reading and testing take as long for all sizes; training grows.
        training = self.done[near].get("wall_seconds", 0.0)
        return self.lasted[near] + training * (cell.size / near.size - 1)


def _name(cell: Cell) -> str:
    return f"{CELLS}/{cell.name}.json"


def _is_cell(found: Mapping[str, Any]) -> bool:
    if not isinstance(found.get("key"), dict):
        return False
    needed = {"message"} if found.get("status") == "failed" else NEEDED
    return isinstance(found.get("status"), str) and needed <= found.keys()


def _files(plan: Mapping[str, Any], job: Job) -> list[dict[str, Any]]:
    """Size and checksum of all files that the study reads."""
    config = {**plan, "validation": plan.get("test", ())}
    files = files_of(config, job)
    return [file | {"role": file["role"].replace("validation", "test")} for file in files]


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
