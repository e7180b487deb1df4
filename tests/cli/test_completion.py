"""Shell completion, by click's own mechanism."""

import pytest
from click.shell_completion import BashComplete

from maxmargin.cli import main
from maxmargin.cli.main import COMPLETE, root
from maxmargin.cli.settings import solver_names


def completed(*words):
    completer = BashComplete(root, {}, "maxmargin", COMPLETE)
    return [item.value for item in completer.get_completions(list(words[:-1]), words[-1])]


def test_commands_and_options():
    assert completed("in") == ["info"]
    assert {"demo", "info"} <= set(completed(""))
    assert completed("demo", "--w") == ["--words"]
    assert completed("info", "--js") == ["--json"]


def test_tasks_solvers_and_options_of_tasks():
    assert completed("train", "tag") == ["tagging"]
    assert completed("train", "tagging", "--solver", "b") == ["bcfw"]
    assert set(completed("train", "tagging", "--solver", "")) == {"auto", *solver_names()}
    assert completed("train", "tagging", "--min-c") == ["--min-count"]
    assert completed("train", "tagging", "--data", "a", "--loss", "hamming-") == ["hamming-sum"]
    assert completed("predict", "--ou") == ["--out"]


def test_every_value_of_an_option_with_several_is_a_file():
    completer = BashComplete(root, {}, "maxmargin", COMPLETE)
    for words in (["--data"], ["--data", "a"], ["--seed", "1", "--data", "a", "b"]):
        (item,) = completer.get_completions(["train", "tagging", *words], "x")
        assert (item.type, item.value) == ("file", "x")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_the_program(capsys, shell):
    assert main(["--completion", shell]) == 0
    script = capsys.readouterr().out
    assert COMPLETE in script
    assert "maxmargin" in script


def test_an_unknown_shell_is_refused(capsys):
    assert main(["--completion", "cmd"]) == 2
    assert "--completion" in capsys.readouterr().err


def test_the_program_answers_the_script(capsys, monkeypatch):
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "maxmargin in")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == 0
    assert capsys.readouterr().out == "plain,info\n"
