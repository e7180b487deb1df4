"""What becomes of errors."""

import errno

import pytest

from maxmargin.cli import errors, main
from maxmargin.exceptions import ModelFileError


def caught(function):
    try:
        function()
    except Exception as error:
        return error


def raised(error):
    def function():
        raise error

    return caught(function)


def shape_clash():
    import numpy as np

    return np.zeros(3) + np.zeros(4)


@pytest.mark.parametrize(
    "error, code, line",
    [
        (raised(ValueError("bad file")), 2, "bad file"),
        (raised(TypeError("bad kind")), 2, "bad kind"),
        (raised(ModelFileError("damaged")), 2, "damaged"),
        (raised(errors.UsageError("so")), 2, "so"),
        (raised(errors.RunFailed("so")), 1, "so"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x"), 2, "cannot use 'x': No such file"),
        (
            IsADirectoryError(errno.EISDIR, "A folder", "x"),
            2,
            "cannot use 'x': A folder; name its files",
        ),
        (OSError(errno.ENOSPC, "No space left"), 1, "No space left"),
        (raised(MemoryError()), 1, "out of memory"),
        (caught(shape_clash), 1, "ValueError: operands could not"),
        (caught(lambda: int("x")), 1, "this is a bug"),
        (caught(lambda: None + 1), 1, "this is a bug"),
        (raised(KeyError("x")), 1, "KeyError: 'x' (this is a bug"),
    ],
)
def test_codes_and_lines(error, code, line):
    assert errors.code_of(error) == code
    assert line in errors.line_of(error)


@pytest.mark.parametrize(
    "printed, note, line",
    [
        ("for instance latin-1", "The run is there.", "for instance latin-1. The run is there."),
        ("It has ended.", "The run is there.", "It has ended. The run is there."),
        ("no tokens", "(in a.txt)", "no tokens (in a.txt)"),
    ],
)
def test_notes_follow_as_sentences(printed, note, line):
    error = raised(ValueError(printed))
    error.add_note(note)
    assert errors.line_of(error) == line


@pytest.fixture
def broken(monkeypatch):
    def use(error):
        def fail(*args):
            raise error

        monkeypatch.setattr("maxmargin.cli.info._threads", fail)

    return use


@pytest.mark.parametrize(
    "arguments, error, traceback",
    [
        (["info"], KeyError("x"), False),
        (["info", "-v"], KeyError("x"), True),
        (["-v", "info"], KeyError("x"), True),
        (["info", "-v"], ValueError("x"), False),
        (["info", "-vv"], ValueError("x"), True),
        (["-v", "info", "-v"], ValueError("x"), True),
    ],
)
def test_tracebacks_are_for_those_who_ask(capsys, broken, arguments, error, traceback):
    broken(error)
    assert main(arguments) == (2 if isinstance(error, ValueError) else 1)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("maxmargin: error: ")
    assert ("Traceback" in printed.err) is traceback
    assert traceback or printed.err.count("\n") == 1


def test_an_error_is_one_harmless_line(capsys, broken):
    broken(ValueError("line 1\nline \x1b[31m2"))
    assert main(["info"]) == 2
    assert capsys.readouterr().err == "maxmargin: error: line 1 line \\x1b[31m2\n"
