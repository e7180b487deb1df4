"""What a run is made of: its state on the way, its records, and its result."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from scipy import sparse

from maxmargin.drawing.html_tables import figure_html
from maxmargin.drawing.numbers import format_short
from maxmargin.drawing.svg import convergence_svg
from maxmargin.memory import SparsePoints
from maxmargin.optional import import_pandas
from maxmargin.validation.learned import Checked, check_array
from maxmargin.validation.options import CountOrZero, NonNegative, check_option


class Status(Checked, Enum):
    """How a run ended.

    CONVERGED is proven by a certificate or, for the perceptron, by a pass without mistakes.
    ROUNDING: scores are so large that rounding errors hide whether the gap is within the tolerance.
    """

    CONVERGED = "converged"
    MAX_EPOCHS = "max_epochs"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    ROUNDING = "rounding"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


def describe_rounding(size: float) -> str:
    """Say why a run ends as ROUNDING, and what to do.

    Parameters
    ----------
    size : float
        Bound on the rounding errors.

    Returns
    -------
    str
        The message.
    """
    return (
        f"rounding errors of scores, up to {size:.2g}, hide whether the gap is within tol; scale"
        " the features down, or raise alpha or tol"
    )


@dataclass(frozen=True)
class Record(Checked):
    """Values of a run at one certificate; NaN where not computed.

    Parameters
    ----------
    epoch : int
        Number of epochs.
    seconds : float
        Time of training, without certificates.
    n_oracle, n_project : int
        Numbers of calls of the oracle and of projections: those of training; of oracles in Python
        all, those of certificates and checks included, whose wall time is `oracle_seconds` in
        `extra`.
    primal, dual, gap : float
        Objective, lower bound, and their difference.
    norm_w : float
        Euclidean norm of the weights.
    train_error, validation_score : float, default=nan
        Error on the training samples, counted by the solver or a callback; score on held-out ones.
    extra : dict, default={}
        Numbers that solvers and callbacks add, by name.
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
        """Return all numbers by name, those of callbacks included.

        Returns
        -------
        dict
            Numbers by name.
        """
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "extra"}
        return named | self.extra

    def with_metrics(self, **metrics: float) -> Record:
        """Return a copy with additional numbers.

        Parameters
        ----------
        **metrics : float
            Numbers by name; names of certified numbers are not allowed.

        Returns
        -------
        Record
            The extended record.
        """
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
    """Records of a run, in order.

    Parameters
    ----------
    iterable : iterable of Record, default=()
        The records.
    """

    def validate(self) -> None:
        for record in self:
            check_option("History: record", record, Record)

    def to_frame(self) -> Any:
        """Return the records as a table (needs pandas: `pip install pandas`).

        Returns
        -------
        pandas.DataFrame
            One row per record.
        """
        return import_pandas().DataFrame([record.metrics() for record in self])


def state_field(
    default: Any = MISSING,
    *,
    warm: Literal["reset", "keep", "refit"] = "reset",
    grows: bool = False,
    check: Literal["like", "layout", "weights", "count", "positive", "same"] = "like",
    saved: bool = False,
) -> Any:
    """Declare a field of a solver's state, and what becomes of it outside of the solver.

    Parameters
    ----------
    default : object or callable, default=MISSING
        Value of a state that lacks it, or a function that returns one.
    warm : {"reset", "keep", "refit"}, default="reset"
        What happens when the same solver goes on from the state, maybe with another alpha or other
        data: the field is reset to its default, or kept. "refit" keeps it also for the next fit of
        an estimator with `warm_start`, which forgets all others. Another solver takes only the
        fields of `State` itself.
    grows : bool, default=False
        Whether its arrays of one dimension may have any length; `Solver.check_restored` must look
        at them.
    check : {"like", "layout", "weights", "count", "positive", "same"}, default="like"
        What a value from a checkpoint must be: like that of a new run, with the same types and
        shapes, and no NaN or infinity unless that has some ("like"); the same with any numbers
        ("layout"); None or finite weights; an integer that is not negative ("count"); a number that
        is not negative ("positive"); equal to that of the run ("same").
    saved : bool, default=False
        Whether model files hold it.

    Returns
    -------
    dataclasses.Field
        The field.
    """
    metadata = {"warm": warm, "grows": grows, "check": check, "saved": saved}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def empty_array() -> np.ndarray:
    """Return an empty array, for fields of states that are not known yet.

    Returns
    -------
    ndarray of shape (0,)
        The array.
    """
    return np.empty(0)


StateLike = TypeVar("StateLike", bound="State")


@dataclass(repr=False)
class State(Checked):
    """Everything that a run needs to continue: what the states of all solvers have.

    Solvers add fields in a dataclass of their own, by `state_field`, and name it as their
    `state_class`.

    Parameters
    ----------
    w : ndarray of shape (n_weights,)
        Weights; for dual solvers w = w(z).
    z : ndarray of shape (n_all_parts,)
        Dual point, the parts of all samples.
    rng : Generator
        Random number generator.
    epoch : int, default=0
        Number of epochs.
    n_oracle, n_project : int, default=0
        Numbers of calls of the oracle and of projections.
    seconds : float, default=0.0
        Time of training, without certificates.
    solver : str, default=""
        Solver whose state it is; another one takes only the fields described here.
    best : ndarray of shape (n_weights,), default=None
        Best certified weights of the last run, possibly an average; tried first when the run
        continues.
    outputs : int, default=0
        Checksum of the polytopes of z, see `Problem.outputs_key`; 0 if not known.
    memory : ndarray, default=empty
        Memory of the oracle for all samples; see `Structure.memory_size`.
    """

    w: np.ndarray = state_field(warm="keep", saved=True)
    z: np.ndarray = state_field(warm="keep", saved=True)
    rng: np.random.Generator = state_field(warm="keep", saved=True)
    epoch: int = state_field(0, warm="keep", check="count", saved=True)
    n_oracle: int = state_field(0, warm="keep", check="count", saved=True)
    n_project: int = state_field(0, warm="keep", check="count", saved=True)
    seconds: float = state_field(0.0, warm="keep", check="positive", saved=True)
    solver: str = state_field("", warm="keep", check="same", saved=True)
    best: np.ndarray | None = state_field(None, warm="keep", check="weights", saved=True)
    outputs: int = state_field(0, warm="keep", check="same")
    memory: np.ndarray = state_field(empty_array, warm="keep", check="layout")

    @property
    def points(self) -> np.ndarray | SparsePoints:
        """The dual point z in the form in which it is kept."""
        return self.z

    def validate(self) -> None:
        # of a file; a problem checks its sizes
        for name in ("w", "z", "memory"):
            check_array(f"State: {name}", getattr(self, name))
        if self.best is not None:
            check_array("State: best", self.best)
        for name in ("epoch", "n_oracle", "n_project"):
            check_option(f"State: {name}", getattr(self, name), CountOrZero)
        check_option("State: seconds", self.seconds, NonNegative)
        check_option("State: rng", self.rng, np.random.Generator)
        check_option("State: solver", self.solver, str)

    def as_class(self, cls: type[StateLike]) -> StateLike:
        """Return a state of another class with what all states have, which is shared, not copied.

        Parameters
        ----------
        cls : type
            Class of the state.

        Returns
        -------
        State
            The state.
        """
        return cls(**{own.name: getattr(self, own.name) for own in fields(State)})

    def reset_fields(self, warm: str = "reset") -> None:
        """Set fields to their defaults.

        Parameters
        ----------
        warm : str, default="reset"
            Which ones: those declared with this, see `state_field`.
        """
        for own in fields(self):
            if own.metadata.get("warm", "reset") == warm:
                make = own.default_factory
                setattr(self, own.name, own.default if make is MISSING else make())

    def move_to_refit(self, w: np.ndarray) -> State:
        """Return the state that the next fit begins with.

        What solvers remember is moved, not shared: this state would go on with a memory that
        follows the new one.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights of the new state.

        Returns
        -------
        State
            The new state.
        """
        rest = {
            own.name: getattr(self, own.name)
            for own in fields(self)
            if own.metadata.get("warm") == "refit"
        }
        self.reset_fields("refit")
        rest |= {"solver": self.solver, "best": self.best, "outputs": self.outputs}
        return type(self)(w, copy(self.points), deepcopy(self.rng), **rest)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        by = f" of {self.solver}" if self.solver else ""
        sizes = f"{len(self.w)} weights, {len(self.points)} parts"
        return f"<State{by}: {_epochs(self.epoch)}, {sizes}, {self.seconds:.3g} s>"


def check_weights(name: str, found: Any, size: int) -> None:
    """Raise ValueError unless an object is a weight vector of a given size.

    Parameters
    ----------
    name : str
        Name in the error message.
    found : ndarray or csr_array
        Weights, in an array or in a sparse row.
    size : int
        Expected number of weights.
    """
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
    """Result of a run.

    Objective and bound are exact, computed from all samples; the optimal objective lies between
    them.

    Parameters
    ----------
    w : ndarray of shape (n_weights,)
        Weights with the best certified objective, or those chosen by a callback.
    primal : float
        Objective of w.
    dual : float
        Best lower bound of the run.
    gap : float
        Difference of `primal` and `dual`.
    status : Status
        How the run ended.
    n_epochs : int
        Number of epochs.
    history : History
        Records of the run.
    state : State
        State from which the run can be continued.
    exact : bool, default=True
        False if the structure may miss maxima, so that the gap is an estimate and not a bound.
    message : str, default=""
        Further details of why the run ended.
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
        # of a file; a run that is over may have left its state behind
        check_weights("Result: w", self.w, np.shape(self.w)[-1])
        hints = {"status": Status, "history": History, "exact": bool, "message": str}
        hints |= {"state": State | None, "n_epochs": CountOrZero}  # type: ignore[dict-item]
        hints |= dict.fromkeys(("primal", "dual", "gap"), Real)
        for name, hint in hints.items():
            check_option(f"Result: {name}", getattr(self, name), hint)

    @property
    def relative_gap(self) -> float:
        """The gap relative to the objective, `gap / |primal|`."""
        return self.gap / abs(self.primal) if self.primal else float("inf") if self.gap else 0.0

    def certificate(self) -> str:
        """Describe in words how good the result is proven to be.

        Returns
        -------
        str
            The description.
        """
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
        words = self.certificate()
        metrics = {
            "objective": format_short(self.primal),
            "lower bound": format_short(self.dual),
            "gap": format_short(self.gap),
            "epochs": str(self.n_epochs),
            "weights": _weights(self.w),
        }
        if self.state is not None:  # results in model files may have none
            metrics["seconds"] = format_short(self.state.seconds, 3)
            metrics["oracle calls"] = str(self.state.n_oracle)
            if self.state.n_project:
                metrics["projections"] = str(self.state.n_project)
        drawing = convergence_svg([own.metrics() for own in self.history], 560, 240)
        return figure_html(words[:1].upper() + words[1:], metrics, drawing if self.history else "")
