"""What may happen around a run: progress, limits, early stopping, records."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from maxmargin.result import Record, Result, Status
from maxmargin.validation.options import Count, NonNegativeOrInf

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

log = logging.getLogger("maxmargin")

AN_HOUR = 3600.0


class Callback:
    """Base class of callbacks, which monitor a run and may end it by `run.stop`."""

    def on_start(self, run: Run) -> None:
        """Called before the first epoch.

        Parameters
        ----------
        run : Run
            The run in progress.
        """

    def on_epoch(self, run: Run) -> None:
        """Called after each epoch.

        Parameters
        ----------
        run : Run
            The run in progress.
        """

    def on_record(self, run: Run, record: Record) -> None:
        """Called after each certificate.

        Parameters
        ----------
        run : Run
            The run in progress.
        record : Record
            The new record.
        """

    def on_last(self, run: Run) -> None:
        """Called after the last epoch, before the result is computed; not after an interrupt.

        Parameters
        ----------
        run : Run
            The run in progress.
        """

    def on_end(self, run: Run, result: Result) -> None:
        """Called once, with the result.

        Parameters
        ----------
        run : Run
            The run in progress.
        result : Result
            Result of the run.
        """

    def on_abort(self, run: Run) -> None:
        """Called instead of `on_end` if the run ends with an error.

        Parameters
        ----------
        run : Run
            The run in progress.
        """

    def memory(self) -> dict[str, Any] | None:
        """Return what a checkpoint must store of this callback.

        Returns
        -------
        dict or None
            Numbers, strings and arrays by name; None for nothing.
        """
        return None

    def recall(self, run: Run, memory: dict[str, Any] | None) -> None:
        """Called after `on_start` if the run continues from a checkpoint.

        Parameters
        ----------
        run : Run
            The run in progress.
        memory : dict or None
            What `memory` returned for the checkpoint.
        """


class ProgressBar(Callback):
    """Show epochs, rate, relative gap and time left on stderr.

    Parameters
    ----------
    description : str, default="training"
        Text in front of the bar.
    """

    def __init__(self, description: str = "training"):
        self.description = description
        self._bar: Any = None
        self._calls, self._shown = 0, 0.0

    def on_start(self, run: Run) -> None:
        self._bar = tqdm(
            total=run.max_epochs,
            initial=run.state.epoch,
            desc=self.description,
            unit="epoch",
            # no percentage: runs end when the gap is small, mostly long before the last epoch
            bar_format="{desc}: epoch {n_fmt} of max {total_fmt} [{elapsed}, {rate_fmt}{postfix}]",
            file=sys.stderr,
        )
        if run.problem.oracle.is_expensive:  # an epoch may take minutes
            self._calls = 0
            run.problem.oracle.watch = self._called

    def _called(self) -> None:
        """Count a call of an expensive oracle, and show that at most ten times per second."""
        self._calls += 1
        now = time.perf_counter()
        if self._bar is not None and now - self._shown > 0.1:
            self._shown = now
            self._bar.set_postfix_str(f"{self._calls} calls of the oracle")

    def on_epoch(self, run: Run) -> None:
        metrics = {}
        if np.isfinite(run.gap) and run.primal:
            metrics["gap"] = f"{100 * run.gap / abs(run.primal):.3g} %"
        left = _time_to_tolerance(run)
        if left is not None and left < AN_HOUR:  # beyond that, a guess says nothing
            metrics["left"] = f"~{left:.0f} s"
        if metrics:
            self._bar.set_postfix(metrics, refresh=False)
        self._bar.update(run.state.epoch - self._bar.n)

    def on_end(self, run: Run, result: Result) -> None:
        run.problem.oracle.watch = None
        self._bar.close()
        self._bar = None  # an open stream cannot be pickled or copied
        log.info(result.certificate())

    def on_abort(self, run: Run) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _time_to_tolerance(run: Run) -> float | None:
    """Seconds until the gap reaches the tolerance if it goes on falling as it did lately."""
    records = [r for r in run.history[-4:] if np.isfinite(r.gap) and r.gap > 0]
    if len(records) < 3:
        return None
    first, last = records[0], records[-1]
    fall = np.log(first.gap / last.gap)
    target = run.target
    if fall <= 0 or target <= 0 or last.seconds <= first.seconds:
        return None
    return max(0.0, float(np.log(last.gap / target) / fall * (last.seconds - first.seconds)))


class Logger(Callback):
    """Write a line for each certificate to the log if its level is INFO, else to stderr."""

    def on_record(self, run: Run, record: Record) -> None:
        line = (
            f"epoch {record.epoch}: {record.seconds:.2f} s, objective {record.primal:.6g},"
            f" bound {record.dual:.6g}, gap {record.gap:.3g}"
        )
        if log.isEnabledFor(logging.INFO):
            log.info(line)
            return
        tqdm.write(line, file=sys.stderr)  # above a progress bar, not through it


class Recorder(Callback):
    """Add user-defined numbers to each record.

    Parameters
    ----------
    measure : callable
        `measure(w) -> {name: number}`, such as `train_error`. Names that are not fields of `Record`
        are stored in its `extra` and are columns of `history.to_frame()`.
    """

    def __init__(self, measure: Callable[[np.ndarray], dict[str, float]]):
        self.measure = measure

    def on_record(self, run: Run, record: Record) -> None:
        run.annotate(**self.measure(run.newest))


class TimeLimit(Callback):
    """End the run after a given time.

    It is looked at after each epoch, and where the oracle is written in Python before each of its
    calls; on an engine, before each round. Then the best certified weights are kept, or if there
    are none yet, the last ones.

    Parameters
    ----------
    seconds : float
        Wall time, certificates included.
    """

    def __init__(self, seconds: NonNegativeOrInf):
        self.seconds = seconds

    def on_start(self, run: Run) -> None:
        run.problem.oracle.deadline = run.started + self.seconds

    def on_epoch(self, run: Run) -> None:
        if time.perf_counter() - run.started >= self.seconds:
            run.stop(Status.TIME_LIMIT, f"{self.seconds:g} s are over")

    def recall(self, run: Run, memory: dict[str, Any] | None) -> None:
        self.on_epoch(run)


class EarlyStopping(Callback):
    """Keep the weights that score best on held-out samples; stop when they no longer improve.

    Of weights with equal scores the last ones are kept, which are nearer to the optimum.

    Parameters
    ----------
    X, y : list or array_like
        Held-out samples, as for `fit`.
    metric : callable, default=None
        `metric(y_true, y_pred)`, larger is better; None means the estimator's `score`.
    patience : int, default=5
        Number of certificates without a better score before the run ends.

    Attributes
    ----------
    best_ : float
        Best score.
    best_epoch_ : int
        Epoch of the weights that are kept.
    bad_ : int
        Number of certificates since the best score.
    """

    def __init__(self, X: Any, y: Any, metric: Callable | None = None, patience: Count = 5):
        self.X = X
        self.y = y
        self.metric = metric
        self.patience = patience
        self._score: Callable[[np.ndarray], float] | None = None
        #: score(model, w) of a task whose model is fitted, if it scores its own inputs
        self.score_model: Callable[[Any, np.ndarray], float] | None = None

    def bind(self, score: Callable[[np.ndarray], float]) -> None:
        """Set how weights are scored on the held-out samples; called by the estimator.

        Parameters
        ----------
        score : callable
            `score(w) -> float`, larger is better.
        """
        self._score = score

    def __getstate__(self) -> dict[str, Any]:
        """Without the estimator's part, which `fit` gives anew."""
        return self.__dict__ | {"_score": None, "score_model": None}

    def on_start(self, run: Run) -> None:
        if self._score is None:
            raise ValueError("EarlyStopping must be given to an estimator: callbacks=[...].")
        self.best_, self.bad_, self.best_epoch_ = -np.inf, 0, 0

    def on_record(self, run: Run, record: Record) -> None:
        assert self._score is not None
        w = run.newest
        score = self._score(w)
        if np.isnan(score):
            raise ValueError("EarlyStopping: the score of held-out samples is NaN; correct metric.")
        run.annotate(validation_score=score)
        if score >= self.best_:
            self.best_epoch_ = record.epoch
            run.choose(w)
        if score > self.best_:
            self.best_, self.bad_ = score, 0
            return
        self.bad_ += 1
        self._stop_if_patience_is_over(run)

    def on_last(self, run: Run) -> None:
        run.origin = f"weights of epoch {self.best_epoch_}, chosen on validation data"

    def memory(self) -> dict[str, Any]:
        return {
            "best": float(getattr(self, "best_", -np.inf)),
            "bad": getattr(self, "bad_", 0),
            "epoch": getattr(self, "best_epoch_", 0),
        }

    def recall(self, run: Run, memory: dict[str, Any] | None) -> None:
        if memory is not None:
            self.best_, self.bad_ = float(memory["best"]), int(memory["bad"])
            self.best_epoch_ = int(memory["epoch"])
            self._stop_if_patience_is_over(run)

    def _stop_if_patience_is_over(self, run: Run) -> None:
        if self.bad_ >= self.patience:
            run.stop(
                Status.STOPPED,
                f"no better validation score for {self.patience} certificates (of equal ones the"
                " last is kept)",
            )
