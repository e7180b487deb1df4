"""How far reading, statistics and predictions have come."""

import io
import sys
from types import SimpleNamespace

import pytest

from maxmargin.cli import steps as module
from maxmargin.cli.console import Console
from maxmargin.cli.steps import Steps, show_steps
from maxmargin.formats.text_lines import text_lines
from maxmargin.progress import listen_to_progress, open_watched, tell_progress
from maxmargin.tasks import WordStatistics


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by 6 seconds whenever it is looked at."""
    now = iter(range(0, 10_000, 6))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(next(now))))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_file_tells_how_far_it_was_read(tmp_path):
    path, told = tmp_path / "text", []
    path.write_bytes(b"a line of text\n" * 100_000)
    with listen_to_progress(lambda *step: told.append(step)):
        assert sum(1 for _ in text_lines(path)) == 100_000
    assert {step[:2] for step in told} == {("reading", str(path))}
    places = [step[2] for step in told]
    assert places == sorted(places)
    assert places[-1] == 1_500_000
    assert len(set(places)) > 3
    assert {step[3:] for step in told} == {(1_500_000, "B")}
    with open_watched(path) as file:  # nobody listens
        assert len(file.read()) == 1_500_000


def test_statistics_tell_of_all_rounds():
    told = []
    with listen_to_progress(lambda *step: told.append(step)):
        WordStatistics(mixture_rounds=2, hmm_rounds=1, stem_length=2).fit([(["a"], ["b"])] * 5)
    assert [step[1:4] for step in told] == [
        (what, done, 15) for what in ("words", "stems") for done in (5, 10, 15)
    ]


def test_lines_say_what_is_left(clock, capsys):
    listener = Steps(Console())
    for done in range(0, 101, 25):
        listener("reading", "/data/train.txt", done * 10**6, 100 * 10**6, "B")
    assert capsys.readouterr().err.splitlines()[0] == ("reading train.txt: 25 of 100 MB, 54 s left")


def test_files_read_together_are_one_and_a_second_time_is_another(clock, capsys):
    listener = Steps(Console())
    for done in (1, 5, 9):
        for name in ("en", "fr"):
            listener("reading", name, done * 10**6, 10**7, "B")
    listener("reading", "en", 10**6, 10**7, "B")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0].startswith("reading en fr: ")
    assert " of 20 MB" in printed[0]
    listener("learning statistics", "words", 30, 100, " pairs")
    listener("learning statistics", "words", 60, 100, " pairs")
    assert capsys.readouterr().err.startswith("learning statistics words: ")


def test_a_bar_in_a_terminal_goes_when_all_is_done(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(module, "DELAY", 0)
    with show_steps(Console()):
        tell_progress("reading", "a.txt", 5 * 10**6, 10**7, "B")
        assert "reading a.txt:" in sys.stderr.getvalue()
        tell_progress("reading", "a.txt", 10**7, 10**7, "B")
    assert sys.stderr.getvalue().endswith("\r")


def test_quiet_says_nothing(clock, capsys):
    with show_steps(Console(quiet=True)):
        for done in range(9):
            tell_progress("reading", "a.txt", done, 9, "B")
    assert capsys.readouterr().err == ""


def test_short_steps_are_told_every_ten_seconds_too(clock, capsys):
    listener = Steps(Console())
    for activity in ("counting", "making"):
        for done in range(3):
            listener(activity, "shards", done, 2, " files")
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "counting shards: 1 of 2 files",
        "making shards: 1 of 2 files",
    ]
