"""What happens around a run: who is called when, what is written where, what ends it."""

import copy
import itertools
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import maxmargin
from contract.problems import case
from maxmargin import ChainSVM
from maxmargin.callbacks import (
    Callback,
    EarlyStopping,
    Logger,
    ProgressBar,
    Recorder,
    TimeLimit,
    _time_to_tolerance,
)
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe, Perceptron, Subgradient
from maxmargin.tasks import SequenceTagger

DATA = make_sequences(40, (1, 5), 3, 4, separation=1.0, random_state=6)
HELD_OUT = make_sequences(40, (1, 5), 3, 4, separation=1.0, random_state=6).X[20:], DATA.y[20:]
TRAIN = DATA.X[:20], DATA.y[:20]


class Diary(Callback):
    def __init__(self):
        self.events = []

    def on_start(self, run):
        self.events.append(("start", run.state.epoch))

    def on_epoch(self, run):
        self.events.append(("epoch", run.state.epoch))

    def on_record(self, run, record):
        self.events.append(("record", record.epoch))

    def on_end(self, run, result):
        self.events.append(("end", result.n_epochs))


def run(*callbacks, problem=None, **options):
    options = {"max_epochs": 4, "tol": 0.0, "check_every": 2} | options
    return BCFW(**options).run(problem or case("chain").problem, callbacks=callbacks)


def test_callbacks_are_called_in_order():
    diary = Diary()
    run(diary)
    assert diary.events == [
        ("start", 0), ("epoch", 1), ("record", 2), ("epoch", 2), ("epoch", 3), ("record", 4),
        ("epoch", 4), ("end", 4),
    ]  # fmt: skip


def test_the_last_epoch_is_recorded_even_if_no_certificate_was_due():
    diary = Diary()
    result = run(diary, max_epochs=3)
    assert diary.events[-3:] == [("epoch", 3), ("record", 3), ("end", 3)]
    assert [r.epoch for r in result.history] == [2, 3]


def test_a_callback_may_end_the_run():
    class Enough(Callback):
        def on_epoch(self, run):
            if run.state.epoch == 2:
                run.stop(Status.STOPPED, "enough")
                run.stop(Status.FAILED, "the first word counts")

    result = run(Enough(), max_epochs=50)
    assert (result.status, result.message, result.n_epochs) == (Status.STOPPED, "enough", 2)


# -- records ---------------------------------------------------------------------------------------
def test_a_recorder_annotates_each_record():
    seen = []

    def measure(w):
        seen.append(w.copy())
        return {"train_error": 0.25, "nonzeros": float(np.count_nonzero(w))}

    result = run(Recorder(measure))
    assert [r.train_error for r in result.history] == [0.25, 0.25]
    assert [r.extra for r in result.history] == [
        {"nonzeros": float(np.count_nonzero(w))} for w in seen
    ]
    training = case("chain").training
    for record, w in zip(result.history[:-1], seen[:-1], strict=True):
        assert record.primal == pytest.approx(training.primal(w), abs=1e-12)
    assert result.history[0].metrics()["nonzeros"] == np.count_nonzero(seen[0])


def test_a_recorder_may_not_overwrite_what_is_certified():
    with pytest.raises(ValueError, match=r"records have \['dual', 'primal'\] already; rename"):
        run(Recorder(lambda w: {"primal": 0.0, "dual": 0.0, "mine": 1.0}))


def test_the_logger_says_a_line_for_each_certificate(caplog):
    with caplog.at_level(logging.INFO, logger="maxmargin"):
        result = run(Logger())
    lines = [r.message for r in caplog.records if r.message.startswith("epoch")]
    assert len(lines) == len(result.history) == 2
    assert lines[0].startswith("epoch 2: ")
    assert f"objective {result.history[0].primal:.6g}" in lines[0]


# -- the progress bar ------------------------------------------------------------------------------
def test_the_progress_bar_writes_to_stderr_only(capfd):
    run(ProgressBar("learning"))
    out, err = capfd.readouterr()
    assert out == ""
    assert "learning" in err
    assert "epoch 4 of max 4" in err
    assert "gap=" in err


def test_the_progress_bar_goes_on_where_the_run_does(capfd):
    half = run(max_epochs=3)
    BCFW(max_epochs=5, tol=0.0).run(
        case("chain").problem, state=half.state, callbacks=[ProgressBar()]
    )
    err = capfd.readouterr().err
    assert "epoch 3 of max 5" in err
    assert "epoch 5 of max 5" in err


@pytest.mark.parametrize("solver", [FrankWolfe(), Subgradient(), Perceptron()])
def test_the_progress_bar_serves_every_solver(solver, capfd):
    solver.set_params(max_epochs=3, tol=0.0).run(
        case("items").problem, callbacks=[ProgressBar(), Logger()]
    )
    assert "training" in capfd.readouterr().err


def test_the_time_left_follows_the_fall_of_the_gap():
    """A gap that falls by e each second needs log(gap / target) seconds."""
    records = [SimpleNamespace(gap=np.exp(-t), seconds=float(t)) for t in range(5)]
    metrics = SimpleNamespace(history=records, target=1e-3)
    assert _time_to_tolerance(metrics) == pytest.approx(np.log(1e3) - 4)
    assert _time_to_tolerance(SimpleNamespace(history=records[:2], target=1e-3)) is None
    rising = [SimpleNamespace(gap=1.0 + t, seconds=float(t)) for t in range(5)]
    assert _time_to_tolerance(SimpleNamespace(history=rising, target=1e-3)) is None
    assert _time_to_tolerance(SimpleNamespace(history=records, target=0.0)) is None


# -- limits ----------------------------------------------------------------------------------------
def test_the_time_limit_counts_wall_time(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 0.01 * next(clock))
    result = run(TimeLimit(0.05), max_epochs=10**9)
    assert result.status is Status.TIME_LIMIT
    assert "0.05 s" in result.message
    assert result.n_epochs > 1
    assert result.gap == result.primal - result.dual
    # certificates and callbacks count too, so the time in epochs is below the limit
    assert 0.0 < result.history[-1].seconds < 0.05


def test_a_proof_within_the_time_limit_is_a_proof():
    result = run(TimeLimit(100.0), tol=1e-2, max_epochs=200)
    assert result.status is Status.CONVERGED


# -- early stopping --------------------------------------------------------------------------------
def validation_score(model, w):
    model = copy.copy(model)
    model.coef_ = w
    return model.score(*HELD_OUT)


def test_early_stopping_keeps_the_weights_that_score_best():
    weights = []
    keep = Recorder(lambda w: weights.append(w.copy()) or {})
    stopping = EarlyStopping(*HELD_OUT, patience=3)
    model = ChainSVM(
        alpha=1e-4, tol=0.0, max_epochs=500, solver=BCFW(check_every=1), callbacks=[keep, stopping]
    ).fit(*TRAIN)
    result = model.result_
    assert result.status is Status.STOPPED
    assert "score for 3 certificates (of equal ones the last is kept)" in result.message
    scores = [r.validation_score for r in result.history]
    assert scores == pytest.approx([validation_score(model, w) for w in weights])
    first = int(np.argmax(scores))
    best = int(np.flatnonzero(scores == max(scores))[-1])  # the last of those that score alike
    assert len(scores) == first + 1 + 3
    assert f"weights of epoch {result.history[best].epoch}, chosen on" in result.message
    assert stopping.best_epoch_ == result.history[best].epoch
    np.testing.assert_array_equal(model.coef_, weights[best])
    assert model.score(*HELD_OUT) == max(scores) == stopping.best_
    # the certificate is that of the weights returned
    assert result.primal == pytest.approx(result.history[best].primal, rel=1e-12)
    assert result.gap == result.primal - result.dual


def test_early_stopping_by_a_metric_of_the_users():
    def misses(truth, found):
        return -float(sum(np.sum(a != b) for a, b in zip(truth, found, strict=True)))

    stopping = EarlyStopping(*HELD_OUT, metric=misses, patience=2)
    options = {"alpha": 1e-3, "tol": 0.0, "max_epochs": 200, "solver": BCFW(check_every=1)}
    model = ChainSVM(callbacks=[stopping], **options).fit(*TRAIN)
    assert model.result_.status is Status.STOPPED
    assert stopping.best_ == misses(HELD_OUT[1], model.predict(HELD_OUT[0]))
    share = EarlyStopping(*HELD_OUT, patience=2)
    again = ChainSVM(callbacks=[share], **options).fit(*TRAIN)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_early_stopping_serves_solvers_without_certificates():
    stopping = EarlyStopping(*HELD_OUT, patience=2)
    model = ChainSVM(solver="perceptron", callbacks=[stopping], max_epochs=50).fit(*TRAIN)
    assert model.score(*HELD_OUT) == stopping.best_
    assert np.isnan(model.result_.gap)


def test_early_stopping_needs_an_estimator():
    with pytest.raises(ValueError, match="EarlyStopping must be given to an estimator"):
        run(EarlyStopping(*HELD_OUT))


@pytest.mark.parametrize("make", [ProgressBar, Logger, lambda: EarlyStopping(*HELD_OUT)])
def test_estimators_with_callbacks_are_copied_and_pickled_after_a_fit(make):
    model = ChainSVM(alpha=0.1, callbacks=[make()]).fit(*TRAIN)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.fit(*TRAIN).coef_, model.coef_)


# -- Ctrl-C ----------------------------------------------------------------------------------------
class Interrupt(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise KeyboardInterrupt


@pytest.mark.parametrize("solver", [BCFW(), FrankWolfe(), Subgradient(), Perceptron()])
def test_an_interrupt_keeps_the_best_certified_result(solver):
    solver = solver.set_params(max_epochs=100, tol=0.0, check_every=1)
    made = case("chain")
    result = solver.run(made.problem, callbacks=[Interrupt(3)])
    assert result.status is Status.INTERRUPTED
    assert result.n_epochs == 3
    if solver.certifies:
        assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-12)
        assert result.primal == min(r.primal for r in result.history)
        assert result.dual <= result.primal


SCRIPT = """
    import warnings
    from maxmargin import ChainSVM
    from maxmargin.callbacks import Callback
    from maxmargin.datasets import make_sequences
    from maxmargin.solvers import BCFW, Subgradient

    class Hello(Callback):
        def on_epoch(self, run):
            if run.state.epoch == 3:
                print("started", flush=True)

    data = make_sequences(60, (1, 5), 3, 4, separation=0.5, random_state=6)
    for kind in (BCFW, Subgradient):
        solver = kind(tol=0.0, max_epochs=10**9)
        model = ChainSVM(alpha=1e-4, solver=solver, callbacks=[Hello()])
        try:
            model.fit(data.X, data.y)
        except KeyboardInterrupt as error:
            print(error)
        result = model.result_
        print(result.status.name, result.message)
        print(result.dual <= result.primal, model.score(data.X, data.y) > 0.5, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_real_interrupt_ends_a_fit_in_good_order():
    source = str(Path(maxmargin.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": source},
    )
    timer = threading.Timer(600, child.kill)
    timer.start()
    try:
        for _ in range(2):
            assert child.stdout.readline() == "started\n"
            child.send_signal(signal.SIGINT)
            first, *others = (child.stdout.readline() for _ in range(3))
            assert first.endswith("The weights so far are kept.\n")
            assert others == ["INTERRUPTED the best certified result is kept\n", "True True\n"]
        _, err = child.communicate()
    finally:
        timer.cancel()
        child.kill()
    assert child.returncode == 0, err
    assert "Traceback" not in err


def test_an_interrupt_is_not_swallowed_and_its_weights_are_kept():
    made = make_sequences(20, (1, 5), 3, 4, random_state=6)
    model = ChainSVM(alpha=1e-4, tol=0.0, callbacks=[Interrupt(3)])
    with pytest.raises(KeyboardInterrupt, match="weights so far are kept"):
        model.fit(made.X, made.y)
    assert model.result_.status is Status.INTERRUPTED
    assert model.score(made.X, made.y) > 0.5
    with pytest.raises(KeyboardInterrupt):  # no further fits
        GridSearchCV(model, {"alpha": [0.1, 0.01]}, cv=2).fit(made.X, made.y)


def test_a_callback_that_ends_a_run_as_interrupted_is_no_interrupt():
    class Stop(Callback):
        def on_epoch(self, run):
            run.stop(Status.INTERRUPTED, "by the program")

    made = make_sequences(20, (1, 5), 3, 4, random_state=6)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ChainSVM(callbacks=[Stop()]).fit(made.X, made.y)
    assert model.result_.status is Status.INTERRUPTED


def test_tasks_keep_the_weights_of_an_interrupted_fit():
    sentences, tags = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    tagger = SequenceTagger(tol=0.0, callbacks=[Interrupt(1)])
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(sentences, tags)
    assert tagger.result_.status is Status.INTERRUPTED
    assert tagger.predict(sentences) == tags


def test_the_logger_is_seen_without_a_configured_log(capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger("maxmargin"), "level", logging.WARNING)
    logging.getLogger("maxmargin").manager._clear_cache()
    result = run(Logger())
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("objective") == len(result.history)
    assert "epoch 2: " in err


def test_the_progress_bar_does_not_guess_beyond_an_hour(capfd, monkeypatch):
    for seconds, shown in [(3599.0, True), (3601.0, False)]:
        monkeypatch.setattr("maxmargin.callbacks._time_to_tolerance", lambda run, s=seconds: s)
        run(ProgressBar())
        assert ("left=" in capfd.readouterr().err) == shown


def test_early_stopping_counts_its_samples_before_the_first_pass():
    X, y = HELD_OUT
    with pytest.raises(ValueError, match=r"EarlyStopping: X has \d+ samples, y has \d+"):
        ChainSVM(callbacks=[EarlyStopping(X, y[:-1])]).fit(X, y)


def test_the_progress_bar_shows_calls_of_a_expensive_oracle(capsys, monkeypatch):
    bar = ProgressBar()
    problem = case("from-oracle").problem
    BCFW(max_epochs=2, tol=0.0).run(problem, callbacks=[bar])
    assert problem.oracle.watch is None
    # the probe, an epoch, a certificate that serves the next epoch, and the last one
    assert bar._calls == 6 + 3 * problem.n
    assert "calls of the oracle" in capsys.readouterr().err


def test_a_score_that_is_no_number_is_refused():
    stopping = EarlyStopping(DATA.X, DATA.y, lambda truth, found: float("nan"))
    with pytest.raises(ValueError, match="the score of held-out samples is NaN"):
        ChainSVM(callbacks=[stopping]).fit(DATA.X, DATA.y)
