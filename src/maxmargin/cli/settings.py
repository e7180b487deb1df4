"""The settings of runs and comparisons: what options, configurations and estimators call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

#: a kind of setting: short name of a solver
SOLVER = "solver"
#: a kind of setting: seconds, written as 30, 90s, 5m or 2h on the command line
TIME = "time"
#: alpha is chosen on held-out samples
AUTO = "auto"


@dataclass(frozen=True)
class Setting:
    """A key of configurations and the option of the same name.

    kind : int, float, TIME, SOLVER, Path (of several files) or the names to choose from. word :
    what may stand in place of a number. most : on the command line only. default : None if the
    task has its own. parameter : of estimators. own : one solver of a comparison may have its own.
    limit : a run that goes on may have it otherwise. ends : status of a run that it ended. of :
    "run", "comparison" or "both". comparison : what is otherwise in comparisons.
    """

    name: str
    kind: Any
    help: str = ""
    section: str = "Training"
    least: int = 0
    most: int | None = None
    above_zero: bool = False
    word: str | None = None
    metavar: str | None = None
    default: int | None = None
    parameter: str | None = None
    own: bool = False
    limit: bool = False
    ends: str | None = None
    of: str = "both"
    comparison: Mapping[str, Any] = field(default_factory=dict)


_ALPHA = "Strength of the penalty on the weights (lambda)."
# fmt: off
SETTINGS = (
    Setting("data", Path, "Labelled files to learn from; which ones, see below.", "Data",
            comparison={"help": "Files to take training samples from; see below."}),
    Setting("validation", Path, "Files as for --data, to choose the weights by: those that do best"
            " on them.", "Data", of="run"),
    Setting("test", Path, "Files as for --data, for the test error.  [default: the rest]", "Data",
            of="comparison"),
    Setting("alpha", float, f"{_ALPHA} auto: the best of several by the task's metric, on"
            " --validation, else by three folds.", word=AUTO, metavar=f"X|{AUTO}",
            parameter="alpha", own=True,
            comparison={"help": _ALPHA, "word": None, "metavar": None}),
    Setting("loss", ("hamming", "hamming-sum"), "What an error costs: hamming (the share of wrong"
            " labels) or hamming-sum (their number).", parameter="loss", own=True),
    Setting("solver", SOLVER, "auto, {solvers}.", of="run"),
    Setting("tol", float, "Stop when the gap is at most X times the objective.", parameter="tol",
            own=True, limit=True, ends="converged"),
    Setting("max-epochs", int, "Passes over the data at most.", parameter="max_epochs",
            own=True, limit=True, ends="max_epochs", comparison={"least": 1}),
    Setting("seed", int, "The same seed gives the same bits.", most=2**32 - 1, metavar="S",
            default=0, parameter="random_state", of="run"),
    Setting("time-limit", TIME, "Stop training after 30 (seconds), 5m, 2h ...", above_zero=True,
            parameter="time_limit", own=True, limit=True, ends="time_limit",
            comparison={"help": "Stop training of a run after 30s, 5m, 2h ..."}),
    Setting("kill-after", TIME, "Give a run up if its process is not done then.  [default: never;"
            " with --time-limit, ten minutes after twice that]", above_zero=True, of="comparison"),
    Setting("certify-every", int, "Epochs between the points of the curves.", least=1, own=True,
            of="comparison"),
    Setting("threads", int, "Threads; results do not depend on their number.", least=1, default=1,
            parameter="n_jobs", limit=True,
            comparison={"help": "Threads of each run.  [default: 1]"}),
    Setting("engine", ("threads", "processes", "ray", "dask"), "Where to train:"
            " threads, processes, or a Ray or Dask cluster of this machine; by default one thread.",
            of="run"),
    Setting("workers", int, "Shards that --engine visits at a time; results depend on it."
            "  [default: 2]", least=1, of="run"),
    Setting("worst", int, "Keep the N samples with the most errors for reports.  [default: 12]",
            "Run folder", of="run"),
    Setting("test-size", int, "Test on this many of the samples that no size trains on.  [default:"
            " all of them]", "Data", least=1, of="comparison"),
    Setting("seeds", int, "Repeat with this many seeds.  [default: 1]", "Comparison", least=1,
            default=1, of="comparison"),
    Setting("seed", int, "The first seed.  [default: 0]", "Comparison", most=2**31, metavar="S",
            default=0, of="comparison"),
)
# fmt: on
#: those of the table `checkpoints`, whose options start with --checkpoint-
CHECKPOINTS = (
    Setting("seconds", TIME, "Save the state of training so often.", "Run folder"),
    Setting("epochs", int, "Save it after this many passes, too.", "Run folder", least=1),
)
OF_RUNS = tuple(own for own in SETTINGS if own.of != "comparison")
OF_COMPARISONS = tuple(replace(own, **own.comparison) for own in SETTINGS if own.of != "run")
#: key of a configuration -> parameter of estimators
PARAMETERS = {own.name: own.parameter for own in OF_RUNS if own.parameter is not None}
#: values of a run's settings that the task does not choose
DEFAULTS = {own.name: own.default for own in OF_RUNS if own.default is not None}
#: what a run that goes on may have otherwise than it began
LIMITS = (*(own.name for own in OF_RUNS if own.limit), "checkpoints")
#: what may change if the contents of the files are the same
FILES = tuple(own.name for own in OF_RUNS if own.kind is Path)
#: status of a run -> the setting that ended it
ENDS = {own.ends: own.name for own in OF_RUNS if own.ends is not None}
#: what one solver may have of its own; any further key is an option of the solver itself
OWN = ("solver", *(own.name for own in OF_COMPARISONS if own.own))


def solver_names() -> tuple[str, ...]:
    """Short names of all solvers, in alphabetical order."""
    # the import takes a second, which `maxmargin --help` should not
    from maxmargin.solvers import solver_classes  # noqa: PLC0415

    return tuple(sorted(solver_classes()))
