"""A structure from one Python function: any solver package as oracle."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
from joblib import effective_n_jobs

from maxmargin.exceptions import ModelFileError
from maxmargin.oracles.base import Oracle
from maxmargin.oracles.function import FunctionOracle, InProcesses, call_function, takes_layout
from maxmargin.oracles.outputs import as_vector
from maxmargin.oracles.processes.worker_pool import Workers
from maxmargin.structures.base import Constraints, Layout, Structure
from maxmargin.structures.linear_program.program import Program
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Bounds, NJobs, check_option, check_options

#: options that are functions, which model files do not hold
_FUNCTIONS = ("function", "size", "encoder", "decoder", "feasible", "rows")


class OracleStructure(Structure):
    """A structure whose outputs are what a function returns; made by `Structure.from_oracle`.

    Each answer is checked, and an error that names the sample is raised for a wrong length, NaN, a
    value other than 0 and 1, an output that is not feasible, a score below that of the true output,
    or a bound below the score.

    Parameters
    ----------
    function : callable
        `theta -> z`, or `(theta, layout) -> z` if it has two parameters or one that is called
        `layout`. z is a vector of as many numbers as there are parts, or a set (or list) of the
        numbers of the parts that are 1, or, with `exact="bounded"`, a pair (z, upper bound).
    size : int or callable, default=None
        Number of parts, or a function of the layout. None: layouts are (number of parts,), or a
        `Program`.
    encoder : callable or {"indices", "vector"}, default=None
        `y -> z` or `(y, layout) -> z`. None: y is a vector, or a set or list of part numbers, as of
        the oracle; "indices": always part numbers, and so are lists of the oracle that could be
        both, such as [0, 1] of two parts; "vector": always a vector.
    decoder : callable or {"indices"}, default=None
        `z -> y` or `(z, layout) -> y`. None: the vector, or the array of part numbers if `encoder`
        is "indices"; "indices": that array.
    feasible : callable, default=None
        `z -> bool` or `(z, layout) -> bool`, whether z is an output; it may return a message
        instead of False. Called for all true outputs and all answers.
    rows : Program, Constraints or callable, default=None
        Constraints, or a function of the layout that returns them; also checked for all true
        outputs and answers. If the answers are vertices of them, reference solvers can use them.
    exact : bool or "bounded", default=True
        True if answers are maxima; False if they may miss them: gaps are then estimates, and
        records count answers that are worse than the truth (`worse_than_truth`). "bounded" if each
        comes with a proven bound: gaps are then proofs as with exact answers.
    zero_one : bool, default=True
        Whether outputs consist of zeros and ones.
    n_jobs : int, default=None
        Number of processes that call the function, -1 for one per core; None means the calling
        process. See Notes.
    time_limit : float, default=None
        Maximum number of seconds per call, which is then made in a process that can be terminated;
        what it imports before the call is not counted. None means no limit.
    on_timeout : {"raise", "skip"}, default="raise"
        "skip" leaves the sample unchanged for this call (bcfw and fw only). See Notes.
    scores : {"any", "nonpositive", "nonnegative"}, default="any"
        Signs of the scores that the function takes: "nonpositive" for shortest paths by Dijkstra,
        say. Others are errors. See Notes.
    probe : bool, default=True
        Whether to check answers for random scores of these signs, six calls, before training.

    Notes
    -----
    With `n_jobs`, the function is sent to the processes by cloudpickle. Batches (certificates,
    predictions, Frank-Wolfe) are distributed; block-coordinate Frank-Wolfe calls the function for
    that many samples at the same weights and then takes their steps one by one at the newest
    weights.

    With `on_timeout="skip"`, objectives use the proven bound max theta . z <= b + sum of max(theta
    - theta', 0), where b is the last known bound, at theta', or 0 at 0; this needs parts between 0
    and 1. Records count `timeouts`.

    With `scores="nonpositive"`, features that are not negative go with weights of one sign,
    ``domain=domains.Signs(negative=range(n_features))`` and no bias, and with the loss
    ``losses.Hamming(false_positive=0)``, whose costs are of that sign, too: it counts what is
    missed. With "nonnegative" that is `positive` and ``Hamming(false_negative=0)``.
    """

    def __init__(
        self,
        function: Callable,
        size: int | Callable | None = None,
        encoder: Callable | str | None = None,
        decoder: Callable | str | None = None,
        feasible: Callable | None = None,
        rows: Any = None,
        exact: bool | Literal["bounded"] = True,
        zero_one: bool = True,
        n_jobs: NJobs = None,
        time_limit: Annotated[float, Bounds(0, 10**9, open_low=True)] | None = None,
        on_timeout: Literal["raise", "skip"] = "raise",
        scores: Literal["any", "nonpositive", "nonnegative"] = "any",
        probe: bool = True,
    ):
        self.function = function
        self.size = size
        self.encoder = encoder
        self.decoder = decoder
        self.feasible = feasible
        self.rows = rows
        self.exact = exact
        self.zero_one = zero_one
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.on_timeout = on_timeout
        self.scores = scores
        self.probe = probe

    @property
    def binary(self) -> bool:
        return bool(self.zero_one)

    def _make_oracle(self) -> Oracle:
        found = FunctionOracle(self)
        if self.n_jobs is None and self.time_limit is None:
            return found
        check_options(self)
        count = 1 if self.n_jobs is None else effective_n_jobs(int(self.n_jobs))
        if self.time_limit is None and count == 1:
            return found
        limit = None if self.time_limit is None else float(self.time_limit)
        key = (id(self.function), count, limit)
        if getattr(self, "_pool", (None, None))[0] != key:  # an option has changed
            self._pool = (key, Workers(self.function, takes_layout(self.function), count, limit))
        skip = limit is not None and self.on_timeout == "skip"
        return InProcesses(found, self._pool[1], skip)

    def n_parts(self, layout: Layout) -> int:
        if callable(self.size):
            return int(self.size(layout))
        if self.size is not None:
            return int(self.size)
        if isinstance(layout, Program):
            return layout.n_parts
        if isinstance(layout, tuple) and len(layout) == 1 and isinstance(layout[0], Integral):
            return int(layout[0])
        raise ValueError(
            f"how many parts has layout {layout!r}? Say so by n_parts, a number or a function of"
            " layouts."
        )

    def layout_of(self, n_parts: int) -> Layout:
        if self.size is not None and not callable(self.size) and n_parts != self.size:
            raise ValueError(f"x has {n_parts} rows, but there are {self.size} parts.")
        return (n_parts,)

    # -- labels ------------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        n = self.n_parts(layout)
        if callable(self.encoder):
            z = np.asarray(call_function(self.encoder, y, layout), dtype=float)
        else:
            if self.encoder not in (None, "indices", "vector"):
                raise ValueError(
                    f'encode={self.encoder!r} must be a function, "indices" or "vector".'
                )
            if self.encoder is not None:
                y = set(y) if self.encoder == "indices" else np.asarray(y, dtype=float)
            z = as_vector(y, n, self.binary)
        if z.shape != (n,):
            raise ValueError(f"encode returned shape {z.shape}, expected ({n},)")
        return z

    def decode(self, z: np.ndarray, layout: Layout) -> Any:
        if callable(self.decoder):
            return call_function(self.decoder, z, layout)
        kinds = (self.decoder, self.encoder)
        if "indices" in kinds:
            return np.flatnonzero(z > 0.5)
        if self.decoder is not None:
            raise ValueError(f'decode={self.decoder!r} must be a function or "indices".')
        return np.array(z, dtype=float)

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        if self.zero_one and ((z != 0) & (z != 1)).any():
            p = int(np.flatnonzero((z != 0) & (z != 1))[0])
            return f"part {p} is {z[p]:.6g}, neither 0 nor 1; for such outputs say binary=False"
        if self.rows is not None:
            why = self._program(layout).why_infeasible(z)
            if why:
                return why
        if self.feasible is None:
            return ""
        verdict = call_function(self.feasible, z.copy(), layout)
        if isinstance(verdict, str):
            return verdict
        return "" if bool(verdict) else "`feasible` says no"

    def constraints(self, layout: Layout) -> Constraints:
        if self.rows is None:
            raise self._missing("constraints")
        return self._program(layout).constraints

    def _program(self, layout: Layout) -> Program:
        rows = call_function(self.rows, layout) if callable(self.rows) else self.rows
        if isinstance(rows, Constraints):
            rows = Program(rows.matrix, rows.upper, rows.lower)
        if not isinstance(rows, Program):
            raise TypeError(f"constraints={rows!r} must be a Program or Constraints.")
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Without the processes."""
        return {k: v for k, v in super().__getstate__().items() if k != "_pool"}

    # -- model files -------------------------------------------------------------------------------
    def _saved_options(self) -> dict[str, Any]:
        """Options as files hold them: functions are only named."""
        options = self.get_params(deep=False)
        absent = {k: Absent(k) for k in _FUNCTIONS if callable(options[k])}
        return options | absent

    def _supply(self, given: Any) -> None:
        """Put functions where a file had none."""
        missing = [k for k in _FUNCTIONS if isinstance(getattr(self, k), Absent)]
        own = given if isinstance(given, OracleStructure) else None
        if given is None or (own is None and missing != ["function"]):
            raise ModelFileError(_how_to_load(missing))
        if own is None and not callable(given):
            raise TypeError(f"oracle={given!r} must be a function or a Structure.from_oracle(...).")
        for name in missing:
            found = getattr(own, name) if own is not None else given
            if not callable(found):
                raise ModelFileError(_how_to_load(missing))
            setattr(self, name, found)


class Absent(Checked):
    """In the place of a function in a model file."""

    def __init__(self, name: str):
        self.name = name

    def validate(self) -> None:
        check_option("AbsentFunction: name", self.name, str)

    def __repr__(self) -> str:
        return f"<{self.name}: a function, not saved>"


def _how_to_load(missing: list[str]) -> str:
    if missing == ["function"]:
        return (
            "its oracle is a function, which files do not hold: give it again by"
            " maxmargin.load(path, oracle=function)."
        )
    return (
        f"its functions ({', '.join(missing)}) are not held by files: give them again by"
        " maxmargin.load(path, oracle=Structure.from_oracle(...))."
    )
