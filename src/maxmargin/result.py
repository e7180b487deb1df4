"""What a run is made of: its state on the way, its records, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.validation.learned import Checked, check_array
from maxmargin.validation.options import CountOrZero, NonNegative, check_option


class Status(Checked, Enum):
    """How a run ended. CONVERGED only by a certificate or, for the perceptron, a faultless pass."""

    CONVERGED = "converged"
    MAX_EPOCHS = "max_epochs"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Record(Checked):
    """One certified moment of a run. Times exclude certification; nan where not computed.

    extra : metrics that callbacks add under names of their own.
    """

    epoch: int
    seconds: float
    n_oracle: int
    n_project: int
    primal: float
    dual: float
    gap: float
    norm_w: float
    train_error: float = float("nan")
    validation_score: float = float("nan")
    extra: dict[str, float] = field(default_factory=dict)

    def validate(self) -> None:
        check_option("Record: extra", self.extra, dict[str, Any])
        for name, value in self.metrics().items():
            check_option(f"Record: {name}", value, Real | None)

    def metrics(self) -> dict[str, float]:
        """All numbers by name, those of callbacks included."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "extra"}
        return named | self.extra

    def with_metrics(self, **metrics: float) -> Record:
        """The same moment with more known about it; names of certified numbers are taken."""
        known = {f.name for f in fields(self)} - {"extra"}
        taken = known - {"train_error", "validation_score"}
        if taken & metrics.keys():
            raise ValueError(
                f"records have {sorted(taken & metrics.keys())} already; rename yours."
            )
        extra = self.extra | {k: v for k, v in metrics.items() if k not in known}
        changes: dict[str, Any] = {k: v for k, v in metrics.items() if k in known}
        return replace(self, extra=extra, **changes)


class History(Checked, list[Record]):
    """The records of a run, in order."""

    def validate(self) -> None:
        for record in self:
            check_option("History: record", record, Record)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a record (needs pandas: `pip install pandas`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error

        return pd.DataFrame([record.metrics() for record in self])


@dataclass(repr=False)
class State(Checked):
    """Everything that a run needs to go on: the same for every solver.

    z : dual point, all samples' parts. w : weights; for dual solvers w = w(z). lag : for averages,
    see `_numba.passes.block_step.apply_change`. extra : arrays of one solver only, by name; those
    whose names     begin with "grown" have any length. solver : the
    solver whose lag, clock and extra these are; another one starts them afresh from z. best : the
    best certified weights of the last run, an average maybe; tried first when the run goes on.
    outputs : of which polytopes z is a point, see `Problem.outputs_key`; 0 if not known. memory :
    what the oracle remembers of all samples, see `Structure.memory_size`.
    """

    w: np.ndarray
    z: np.ndarray
    rng: np.random.Generator
    lag: np.ndarray = field(default_factory=lambda: np.empty(0))
    clock: np.ndarray = field(default_factory=lambda: np.zeros(4))
    epoch: int = 0
    n_oracle: int = 0
    n_project: int = 0
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    solver: str = ""
    best: np.ndarray | None = None
    outputs: int = 0
    memory: np.ndarray = field(default_factory=lambda: np.empty(0))

    def validate(self) -> None:
        """Check a state from a file; a problem checks its sizes."""
        for name in ("w", "z", "lag", "memory", "clock"):
            check_array(f"State: {name}", getattr(self, name))
        if self.best is not None:
            check_array("State: best", self.best)
        for name in ("epoch", "n_oracle", "n_project"):
            check_option(f"State: {name}", getattr(self, name), CountOrZero)
        check_option("State: seconds", self.seconds, NonNegative)
        check_option("State: rng", self.rng, np.random.Generator)
        check_option("State: solver", self.solver, str)

    def __repr__(self) -> str:
        by = f" of {self.solver}" if self.solver else ""
        sizes = f"{len(self.w)} weights, {len(self.z)} parts"
        return f"<State{by}: {_epochs(self.epoch)}, {sizes}, {self.seconds:.3g} s>"


def check_weights(name: str, found: Any, size: int) -> None:
    """Raise ValueError unless these are this many weights, in an array or in a sparse row."""
    if isinstance(found, sparse.csr_array):
        if found.shape != (1, size):
            raise ValueError(f"{name} has shape {found.shape}, not (1, {size})")
        found, size = found.data, found.nnz
    check_array(name, found, shape=(size,))


def _epochs(count: int) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"


def _weights(w: Any) -> str:
    """How many there are; w may be a sparse row."""
    size, used = int(np.prod(w.shape)), w.nnz if hasattr(w, "nnz") else np.count_nonzero(w)
    return str(size) if used == size else f"{size}, {used} not zero"


def _round_up(x: float) -> float:
    """Two digits, never less than x: a certificate must not claim more than is proven."""
    if not (np.isfinite(x) and x > 0):
        return x
    scale = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(np.ceil(x / scale) * scale)


def _round_down(x: float) -> float:
    """Two digits, never more than x > 0."""
    if not (np.isfinite(x) and x > 0):
        return x
    scale = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(np.floor(x / scale) * scale)


@dataclass(frozen=True, repr=False)
class Result(Checked):
    """The outcome of a run.

    w : weights with the best certified objective, or those that a callback chose. primal : the
    objective of w. dual : the best lower bound seen on the way. Both are exact, computed from all
    samples; the best possible objective lies between them, and gap is their difference. exact :
    False if the structure may miss maxima, so that the gap is an estimate and no bound. message :
    why the run ended, where the status does not say it all.
    """

    w: np.ndarray
    primal: float
    dual: float
    gap: float
    status: Status
    n_epochs: int
    history: History
    state: State
    exact: bool = True
    message: str = ""

    def validate(self) -> None:
        """Of a file; a run that is over may have left its state behind."""
        check_weights("Result: w", self.w, np.shape(self.w)[-1])
        hints = {"status": Status, "history": History, "exact": bool, "message": str}
        hints |= {"state": State | None, "n_epochs": CountOrZero}  # type: ignore[dict-item]
        hints |= dict.fromkeys(("primal", "dual", "gap"), Real)
        for name, hint in hints.items():
            check_option(f"Result: {name}", getattr(self, name), hint)

    @property
    def relative_gap(self) -> float:
        """Gap / |primal|."""
        return self.gap / abs(self.primal) if self.primal else float("inf") if self.gap else 0.0

    def certificate(self) -> str:
        """In words, how good the result is known to be."""
        why = f": {self.message}" if self.message else ""
        if not np.isfinite(self.gap):
            ended = f"{self.status.value}{why}"
            if self.status is Status.FAILED:
                return f"no certificate ({ended})"
            if self.gap == np.inf:
                return (
                    "no certificate: with neither a penalty (alpha > 0) nor a bounded domain, such"
                    f" as L2Ball, nothing bounds the objective ({ended})"
                )
            return f"no certificate: this solver does not bound the objective ({ended})"
        if self.gap <= self.dual or self.gap <= 0:
            # of the best objective, not of the one reached, which relative_gap and tol are about
            share = 100 * self.gap / self.dual if self.gap > 0 else 0.0
            words = f"within {_round_up(share):g} % of the best possible objective"
        else:
            low = -_round_up(-self.dual) if self.dual < 0 else _round_down(self.dual)
            words = f"objective {self.primal:.4g}, the best possible is {low:g} or more"
        if not self.exact:
            words = f"estimated {words}; no proof, because the oracle is not exact"
        return f"{words} ({self.status.value} after {_epochs(self.n_epochs)}{why})"

    def __repr__(self) -> str:
        numbers = f"primal {self.primal:.6g}, dual {self.dual:.6g}"
        how = f"{_epochs(self.n_epochs)}, status {self.status.value}"
        return f"<Result: {self.certificate()}\n {numbers}, {how}>"

    def _repr_html_(self) -> str:
        """For notebooks: the certificate, the numbers, and how objective and bound met."""
        from maxmargin.drawing.html_tables import figure_html
        from maxmargin.drawing.svg import convergence_svg, short

        words = self.certificate()
        metrics = {
            "objective": short(self.primal),
            "lower bound": short(self.dual),
            "gap": short(self.gap),
            "epochs": str(self.n_epochs),
            "seconds": short(self.state.seconds, 3),
            "oracle calls": str(self.state.n_oracle),
            "weights": _weights(self.w),
        }
        if self.state.n_project:
            metrics["projections"] = str(self.state.n_project)
        drawing = convergence_svg([own.metrics() for own in self.history], 560, 240)
        return figure_html(words[:1].upper() + words[1:], metrics, drawing if self.history else "")
