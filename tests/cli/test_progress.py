"""Progress of training."""

import io
import sys
from types import SimpleNamespace

from maxmargin.callbacks import Logger, ProgressBar
from maxmargin.cli import progress
from maxmargin.cli.console import Console
from maxmargin.cli.progress import Lines, make_callbacks


class Terminal(io.StringIO):
    def isatty(self):
        return True


def kinds(console, stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    return [type(callback) for callback in make_callbacks(console)]


def test_a_bar_in_a_terminal_lines_elsewhere_nothing_if_quiet(monkeypatch):
    assert kinds(Console(), Terminal(), monkeypatch) == [ProgressBar]
    assert kinds(Console(), io.StringIO(), monkeypatch) == [Lines]
    assert kinds(Console(verbose=1), io.StringIO(), monkeypatch) == [Lines, Logger]
    assert kinds(Console(quiet=True, verbose=1), Terminal(), monkeypatch) == []


def test_a_line_every_ten_seconds_and_one_at_the_end(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 9.9, 10.0, 10.0, 15.0, 20.5, 20.5])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    run = SimpleNamespace(
        gap=0.02, primal=2.0, max_epochs=9, state=SimpleNamespace(epoch=0, seconds=0.0)
    )
    lines = Lines()
    lines.on_start(run)
    for epoch in range(1, 6):
        run.state.epoch = epoch
        lines.on_epoch(run)
    run.gap = float("inf")
    lines.on_end(run, None)
    assert capsys.readouterr().err.splitlines() == [
        "training: epoch 3 of max 9, 0.0 s, gap=1 %",
        "training: epoch 5 of max 9, 0.0 s, gap=1 %",
        "training: epoch 5 of max 9, 0.0 s",
    ]
