"""The folder of a run, and how its files are read and written."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin import load
from maxmargin.cli.runs.config import (
    HELD_OUT,
    absolute_paths,
    check_config,
    read_config,
    write_config,
)
from maxmargin.cli.runs.environment import files_of
from maxmargin.cli.runs.errors import RunError
from maxmargin.cli.runs.lock import Lock
from maxmargin.cli.runs.places import (
    CHECKPOINT,
    CONFIG,
    DATA,
    FILES as MADE,
    FOLDERS,
    HISTORY,
    LOCK,
    MODEL,
    SUMMARY,
    finish_replacement,
    refuse_links,
    remove_run,
    replacement_of,
    take_place,
)
from maxmargin.cli.settings import FILES, LIMITS
from maxmargin.persistence.files import remove_partial, write_whole
from maxmargin.tasks.documents import finite_values
from maxmargin.tasks.registry import find_task_command

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand


class RunFolder:
    """A run on the disk. Nothing is read or made before `open` or `create`.

    home : where the run is, or will be once it has succeeded. path : where its files are now: in
    `home`, or beside it while an older run is still there.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = self.home = Path(path).expanduser()
        self._config: dict[str, Any] | None = None
        self._lock = Lock(self.path / LOCK)

    def __repr__(self) -> str:
        return f"<RunFolder {str(self.path)!r}>"

    # -- making and opening ------------------------------------------------------------------------
    def create(self, config: Mapping[str, Any], force: bool = False) -> RunFolder:
        """Make the folder and record the configuration.

        force : to replace an older run. That stays until `train` has succeeded; until then, the new
        one is in a folder beside it.
        """
        checked = absolute_paths(check_config(config), Path.cwd())
        for key in ("task", "data"):
            if key not in checked:
                raise RunError(f"the configuration has no {key!r}; a run needs one.")
        self._move(self.home)
        finish_replacement(self.home)
        with self._made().locked():
            self._check_free(force)
        if force and self.has(CONFIG):
            self._move(replacement_of(self.home))
        with self._made().locked():
            self._check_free(force=self.path != self.home)
            remove_run(self.path)
            write_config(checked, self.path / CONFIG)
        self._config = None
        return self.open()

    def replacement(self) -> RunFolder | None:
        """The run that was begun to replace this one, if there is one."""
        found = RunFolder(self.home)
        found._move(replacement_of(self.home))
        return found if found.has(CONFIG) else None

    def replace_old_run(self) -> None:
        """Take the place of the older run, if there is one, which is removed then."""
        if self.path == self.home:
            return
        older = RunFolder(self.home)
        try:
            with older.locked() if self.home.exists() else contextlib.nullcontext():
                take_place(self.home)
        except (OSError, RunError) as error:
            raise RunError(
                f"the new run is whole, in {str(self.path)!r}, but could not take the place of"
                f" {str(self.home)!r}: {getattr(error, 'strerror', None) or error} Resume it by"
                " force once that is mended."
            ) from error
        self._move(self.home)

    def _move(self, path: Path) -> None:
        self.path, self._lock.path, self._config = path, path / LOCK, None

    def _made(self) -> RunFolder:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise RunError(
                f"{str(self.path)!r} cannot be a folder: a file is in its place. Name another."
            ) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(error.errno, f"cannot make {str(self.path)!r}: {reason}.") from error
        return self

    def _check_free(self, force: bool) -> None:
        """Other people's files are a reason not to begin; so is a run, unless by force."""
        if self.has(CONFIG) and not force:
            raise RunError(
                f"{str(self.path)!r} has a run already. Resume it, replace it by force, or name"
                " another folder."
            )
        self.tidy()
        ours = {LOCK}
        if self.has(CONFIG):
            self._check_own()
            ours |= {*MADE, *FOLDERS}
        others = [path.name for path in self.path.iterdir() if path.name not in ours]
        if others:
            raise RunError(
                f"{str(self.path)!r} has other files in it, such as {others[0]!r}. Name a new"
                " folder for the run."
            )

    def _check_own(self) -> None:
        try:
            made = {"task", "data"} <= self.config.keys()
        except ValueError:
            made = False
        if not made:
            raise RunError(
                f"{str(self.path / CONFIG)!r} is not of a run, so it is not replaced. Name a new"
                " folder for the run, or remove the file."
            )

    def tidy(self) -> None:
        """Remove what a killed process was about to write, in the folders below too."""
        for place in (self.path, *(self.path / name for name in FOLDERS)):
            if place.is_dir():
                remove_partial(place)

    def discard(self) -> None:
        """Remove what a run has made that has not begun to train; one that has begun stays."""
        with self.locked():
            if not (self.has(HISTORY) or self.has(CHECKPOINT)):
                remove_run(self.path)

    def open(self) -> RunFolder:
        """Check that there is a run, and that it has no links."""
        finish_replacement(self.home)
        if not (self.path / CONFIG).is_file():
            what = "is not a run folder" if self.path.exists() else "does not exist"
            raise RunError(
                f"{str(self.path)!r} {what}: it has no {CONFIG}. Make a run with `maxmargin train`."
            )
        refuse_links(self.path)
        return self

    @property
    def config(self) -> dict[str, Any]:
        """The configuration that the run recorded."""
        if self._config is None:
            self._config = read_config(self.open().path / CONFIG)
        return dict(self._config)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change limits (None removes one), so that the run can go on to them, or moved files."""
        wrong = [key for key in changes if key not in (*LIMITS, *FILES)]
        if wrong:
            raise RunError(
                f"{wrong[0]!r} of a run cannot be changed: only {', '.join((*LIMITS, *FILES))} can."
                " Make a new run."
            )
        config = self.config | dict(changes)
        if any(key in changes for key in FILES):
            self.check_files(config)
        with self.locked():
            write_config(config, self.path / CONFIG)
        self._config = None

    def hold_out(self, paths: Sequence[str]) -> None:
        """Calibrate on other files: training does not depend on them, but its result does."""
        if self.has(SUMMARY):
            raise RunError("the run has ended and is calibrated; make a new run.")
        options = self.config.get("task-options", {}) | {"calibrate": list(paths)}
        config = absolute_paths(check_config(self.config | {"task-options": options}), Path.cwd())
        files = self.check_files(config, but=HELD_OUT)
        with self.locked():
            write_config(config, self.path / CONFIG)
            if self.has(DATA):
                self.write_json(DATA, self.read_json(DATA) | {"files": files})
        self._config = None

    def check_files(self, config: Mapping[str, Any], but: str = "") -> list[dict[str, Any]]:
        """Sizes and checksums of the files; an error unless they are those that the run began
        with, if it has.

        but : a role whose files may be others.
        """
        found = files_of(config, self.command())
        if not self.has(DATA):
            return found
        then, now = self.read_json(DATA).get("files"), [x for x in found if x["role"] != but]
        if isinstance(then, list):
            then = [own for own in then if own.get("role") != but]
        if not isinstance(then, list) or len(then) != len(now):
            raise RunError(f"the run began with other files: see its {DATA}. Make a new run.")
        for new, old in zip(now, then, strict=True):
            if (new["role"], new["sha256"]) != (old.get("role"), old.get("sha256")):
                raise RunError(
                    f"{new['path']!r} has changed since the run began. Put the old file back, or"
                    " make a new run."
                )
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[RunFolder]:
        """Keep other processes out; a LockedError names the one that is in."""
        if not self.path.is_dir():
            self.open()
        refuse_links(self.path)
        with self._lock:
            yield self

    # -- what is in it -----------------------------------------------------------------------------
    def command(self) -> TaskCommand:
        """The task."""
        return find_task_command(self.config["task"])

    def model(self) -> Any:
        """What was learned."""
        path = self.open().path / MODEL
        if not path.exists():
            raise RunError(
                f"{str(self.path)!r} has no model yet: the run has not ended. Resume it with"
                " `maxmargin train --resume`."
            )
        return load(path)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.path / name).exists()

    def read_json(self, name: str) -> dict[str, Any]:
        """A document of the run."""
        path = self.path / name
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise RunError(
                f"{str(self.path)!r} has no {name}, which every run has. Put it back, or begin"
                " anew (--force)."
            ) from None
        except (ValueError, RecursionError) as error:
            raise RunError(f"{str(path)!r} is damaged ({error}). Remove it.") from error
        if not isinstance(found, dict):
            raise RunError(f"{str(path)!r} is damaged (it is not a JSON object). Remove it.")
        return found

    def write_json(self, name: str, document: Any) -> None:
        """Write a document, whole or not at all."""
        raw = json.dumps(finite_values(document), indent=1, allow_nan=False).encode()
        path = self.path / name
        if path.parent != self.path:
            path.parent.mkdir(exist_ok=True)
        write_whole(path, lambda file: file.write(raw + b"\n"))

    def history(self) -> list[dict[str, Any]]:
        """The records; a line that a power cut left unfinished is passed over."""
        path = self.path / HISTORY
        if not path.exists():
            return []
        found = []
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [record for record in found if isinstance(record, dict)]
