"""Who hears what."""

import io
import logging
import sys
import warnings

import pytest

from maxmargin.cli import main
from maxmargin.cli.console import Console, at_work


@pytest.fixture
def talking(monkeypatch):
    """`info` that logs and warns."""

    def talk():
        log = logging.getLogger("maxmargin")
        log.info("a detail \x1b[2J")
        log.warning("a notice")
        warnings.warn("mind\nthis", RuntimeWarning, stacklevel=1)
        return {}

    monkeypatch.setattr("maxmargin.cli.info._threads", talk)


@pytest.mark.filterwarnings("always::RuntimeWarning")
@pytest.mark.parametrize(
    "arguments, heard",
    [
        ([], ["a notice", "warning: mind this"]),
        (["-q"], ["warning: mind this"]),
        (["-v"], ["a detail \\x1b[2J", "a notice", "warning: mind this"]),
    ],
)
def test_volume(talking, capsys, arguments, heard):
    for line in (["info", *arguments], [*arguments, "info"]):
        assert main(line) == 0
        assert capsys.readouterr().err.splitlines() == [f"maxmargin: {text}" for text in heard]


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_the_log_is_as_before_afterwards(talking, capsys):
    log = logging.getLogger("maxmargin")
    before = log.level, list(log.handlers), warnings.showwarning
    assert main(["info", "-v"]) == 0
    assert (log.level, list(log.handlers), warnings.showwarning) == before


def test_json_leaves_no_other_text_on_stdout(capsys):
    console = Console(json=True)
    console.say("for people")
    console.emit_json({"x": float("nan"), "text": "\x1b漢\u202e"})
    out = capsys.readouterr().out
    assert out == '{\n  "x": null,\n  "text": "\\u001b\\u6f22\\u202e"\n}\n'


def test_streams_escape_what_they_cannot_show(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    with at_work(Console()):
        Console().say("ä漢")
        sys.stdout.flush()
    assert raw.getvalue() == b"\xe4\\u6f22\n"
    assert sys.stdout.errors == "strict"


def test_what_is_being_done_is_told_at_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, told in ((io.StringIO(), ""), (Terminal(), "maxmargin: reading\n")):
        monkeypatch.setattr(sys, "stderr", stream)
        Console().status("reading")
        assert stream.getvalue() == told
