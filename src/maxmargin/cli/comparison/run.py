"""Carry out a comparison, run by run, so that nothing but the running run can be lost."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from maxmargin.cli.comparison import subsets
from maxmargin.cli.comparison.config import (
    ComparisonRun,
    check_comparison,
    contents_of,
    digest_of,
    key_of,
    runs_of,
    settings_of,
)
from maxmargin.cli.comparison.process import ComparisonRunError, run_in_process
from maxmargin.cli.comparison.summary import NEEDED, summarise_comparison
from maxmargin.cli.runs import RunError, RunFolder
from maxmargin.cli.runs.config import task_options
from maxmargin.cli.runs.environment import describe_environment, files_of
from maxmargin.persistence.files import remove_partial, write_whole
from maxmargin.tasks.registry import TASK_COMMANDS, TaskCommand, find_task_command

CONFIG, SUMMARY, FILES, RUNS, COMMON = (
    "comparison.toml",
    "comparison.json",
    "data.json",
    "runs",
    "common",
)
ENVIRONMENT = "environment.json"


@dataclass(frozen=True)
class Event:
    """What a comparison tells while it runs.

    stage : "prepare", "start" of a run, "kept" (done before), "done" or "failed". number, total :
    of the run. left : guessed seconds until all is done, None while there is nothing to go by.
    """

    stage: str
    number: int = 0
    total: int = 0
    run_spec: ComparisonRun | None = None
    document: Mapping[str, Any] | None = None
    left: float | None = None


Listener = Callable[[Event], None]


def config_in(folder: Path) -> dict[str, Any]:
    """The configuration of a comparison that was begun there."""
    path = folder / CONFIG
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder} holds no comparison: {CONFIG} is missing.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is damaged ({error}).") from None


def run_comparison(
    given: Mapping[str, Any],
    folder: Path | str,
    *,
    resume: bool = False,
    listener: Listener = lambda event: None,
) -> dict[str, Any]:
    """Measure all runs of the configuration that are not in the folder yet; returns
    comparison.json's document.

    given : the configuration, see `check_comparison`. resume : carry on what is in the folder; its
    runs must have been measured with the same settings and data. Runs that failed are tried again.
    """
    comparison = _Comparison(check_comparison(given), Path(folder), listener)
    comparison.path.mkdir(parents=True, exist_ok=True)
    with comparison.folder.locked():
        comparison.begin(resume)
        return comparison.go()


class _Comparison:
    def __init__(self, config: dict[str, Any], path: Path, listener: Listener):
        self.config, self.path, self.tell = config, path.expanduser().absolute(), listener
        self.command = find_task_command(config["task"])
        self.folder = RunFolder(self.path)
        self.run_specs = runs_of(config)
        self.done: dict[ComparisonRun, dict[str, Any]] = {}
        self.keys: dict[str, dict[str, Any]] = {}
        self.common = self.path / COMMON
        self.lasted: dict[ComparisonRun, float] = {}

    def begin(self, resume: bool) -> None:
        """Look at what is there; write what is to be done."""
        files = _files(self.config, self.command)
        self._check_place(resume)
        options = task_options(self.config, self.command)
        fixed = self.command.sized(options, subsets.samples_wanted(self.config)) == options
        self.keys = {
            label: key_of(self.config, label, files, fixed) for label in self.config["solvers"]
        }
        # What runs share rests on the files and options, so that others never meet it.
        rests_on = digest_of([contents_of(files), self.config["task-options"]])
        self.common = self.path / COMMON / rests_on[:16]
        for place in (self.path / RUNS, self.common):
            place.mkdir(parents=True, exist_ok=True)
            remove_partial(place)
        remove_partial(self.path)
        for run_spec in self.run_specs:
            found = self._read(run_spec)
            if found is not None and found["status"] != "failed":
                self.done[run_spec] = found
        self._record(files)

    def _check_place(self, resume: bool) -> None:
        """Refuse a folder that holds another comparison, or other files."""
        others = [own for own in self.path.iterdir() if own.name != ".lock"]
        if others and not (self.path / CONFIG).exists():
            raise RunError(
                f"{str(self.path)!r} has other files in it, such as {others[0].name!r}; choose"
                " another --out."
            )
        if not resume and any((self.path / RUNS).glob("*.json")):
            raise RunError(
                f"{str(self.path)!r} holds a comparison already; add --resume to carry it on, or"
                " choose"
                " another --out."
            )

    def _record(self, files: list[dict[str, Any]]) -> None:
        raw = tomli_w.dumps(_for_toml(self.config)).encode()
        write_whole(self.path / CONFIG, lambda file: file.write(raw))
        now = describe_environment(self.config.get("threads", 1))
        if self.folder.has(ENVIRONMENT):
            before = self.folder.read_json(ENVIRONMENT)
            before.setdefault("resumed", []).append(now)
            now = before
        self.folder.write_json(ENVIRONMENT, now)
        self.folder.write_json(FILES, {"files": files})

    def go(self) -> dict[str, Any]:
        """Measure what is missing, and sum up."""
        about = self._prepare()
        subsets.check_size(about["n_samples"], max(self.config["sizes"]))
        for number, run_spec in enumerate(self.run_specs, 1):
            event = Event("start", number, len(self.run_specs), run_spec, left=self._left())
            if run_spec in self.done:
                self.tell(replace(event, stage="kept", document=self.done[run_spec]))
                continue
            self.tell(event)
            started = time.perf_counter()
            document = self._measure(run_spec)
            self.lasted[run_spec] = time.perf_counter() - started
            self.folder.write_json(_name(run_spec), document)
            self.done[run_spec] = document
            stage = "failed" if document["status"] == "failed" else "done"
            self.tell(replace(event, stage=stage, document=document, left=self._left()))
        found = [self.done[run_spec] for run_spec in self.run_specs]
        summary = summarise_comparison(self.config, found, about, self.command.title)
        self.folder.write_json(SUMMARY, summary)
        return summary

    def _read(self, run_spec: ComparisonRun) -> dict[str, Any] | None:
        path = self.path / _name(run_spec)
        if not path.exists():
            return None
        found = self.folder.read_json(_name(run_spec))
        if not _is_cell(found):
            raise RunError(f"{str(path)!r} lacks what a run has; remove it to measure it anew.")
        key = found["key"]
        wanted = self.keys[run_spec.solver]
        other = [name for name in {**key, **wanted} if key.get(name) != wanted.get(name)]
        if other:
            changes = ", ".join(f"{n}: {key.get(n)!r}, now {wanted.get(n)!r}" for n in other)
            raise RunError(
                f"{str(path)!r} was measured with other settings or data ({changes}); choose"
                " another --out, or remove the file to measure it anew."
            )
        return found

    def _request(self, run_spec: ComparisonRun | None) -> dict[str, Any]:
        return {
            "command": TASK_COMMANDS[self.config["task"]],
            "config": self.config,
            "run": None if run_spec is None else asdict(run_spec),
            "common": str(self.common),
        }

    def _prepare(self) -> dict[str, Any]:
        """Read the data once; what is wrong with them is not an error of a run."""
        # a task may read only as many samples as are asked for
        own = self.common / f"about-{subsets.samples_wanted(self.config)}.json"
        name = own.relative_to(self.path).as_posix()
        if self.folder.has(name):
            return self.folder.read_json(name)
        self.tell(Event("prepare", total=len(self.run_specs)))
        try:
            about = run_in_process(self._request(None), threads=self.config.get("threads", 1))
        except ComparisonRunError as error:
            raise ValueError(str(error)) from None
        self.folder.write_json(name, about)
        return about

    def _measure(self, run_spec: ComparisonRun) -> dict[str, Any]:
        settings = settings_of(self.config, run_spec.solver)
        named = {**asdict(run_spec), "key": self.keys[run_spec.solver]}
        try:
            seconds = _patience(self.config, settings)
            threads = self.config.get("threads", 1)
            return named | run_in_process(self._request(run_spec), threads=threads, seconds=seconds)
        except ComparisonRunError as error:
            return named | {"status": "failed", "message": str(error)}

    def _left(self) -> float | None:
        """Seconds for the runs to come, by those of the same solver or, if none, of any."""
        if not self.lasted:
            return None
        return sum(
            self._guess(run_spec) for run_spec in self.run_specs if run_spec not in self.done
        )

    def _guess(self, run_spec: ComparisonRun) -> float:
        own = [c for c in self.lasted if c.solver == run_spec.solver] or list(self.lasted)
        near = max(own, key=lambda c: (-abs(c.size - run_spec.size), c.seed))
        # Starting, reading and testing take as long for all sizes; training grows.
        training = self.done[near].get("wall_seconds", 0.0)
        return self.lasted[near] + training * (run_spec.size / near.size - 1)


def _name(run_spec: ComparisonRun) -> str:
    return f"{RUNS}/{run_spec.name}.json"


def _is_cell(found: Mapping[str, Any]) -> bool:
    if not isinstance(found.get("key"), dict):
        return False
    needed = {"message"} if found.get("status") == "failed" else NEEDED
    return isinstance(found.get("status"), str) and needed <= found.keys()


def _files(config: Mapping[str, Any], command: TaskCommand) -> list[dict[str, Any]]:
    """Size and checksum of all files that the comparison reads."""
    config = {**config, "validation": config.get("test", ())}
    files = files_of(config, command)
    return [file | {"role": file["role"].replace("validation", "test")} for file in files]


def _patience(config: Mapping[str, Any], settings: Mapping[str, Any]) -> float | None:
    """When to give a run up: as asked, or long after its time limit should have ended it."""
    if "kill-after" in config:
        return config["kill-after"]
    limit = settings.get("time-limit")
    return None if limit is None else 2 * limit + 600


def _for_toml(config: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values first: a TOML file has its tables last."""
    tables = [key for key, value in config.items() if isinstance(value, dict)]
    ordered = [key for key in config if key not in tables] + tables
    return {key: config[key] for key in ordered}
