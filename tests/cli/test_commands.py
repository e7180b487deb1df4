"""Options of several values, lazy commands, sections of the help."""

import click
import pytest

from maxmargin.cli.commands import Command, Group, Option, spread_lists
from maxmargin.cli.main import PLACES, root


@pytest.mark.parametrize(
    "given, expected",
    [
        ("--data a b c", "--data a --data b --data c"),
        ("--data a b --seed 3 --data c", "--data a --data b --seed 3 --data c"),
        ("--data - a", "--data - --data a"),
        ("--data a -- b c", "--data a -- b c"),
        ("--data=a --seed 3", "--data=a --seed 3"),
        ("--seed 3 x y", "--seed 3 x y"),
        ("--columns 0 -1 --data a", "--columns 0 --columns -1 --data a"),
        ("--data", "--data"),
        ("", ""),
    ],
)
def test_options_of_several_values(given, expected):
    assert spread_lists(given.split(), {"--data", "--columns"}) == expected.split()


def parsed(*arguments):
    seen = {}
    command = Command(
        "try",
        callback=seen.update,
        params=[Option("--data", many=True), Option("--seed", type=int), click.Argument(["run"])],
    )
    with command.make_context("try", list(arguments)) as context:
        command.invoke(context)
    return seen


def test_a_command_takes_them():
    assert parsed("RUN", "--data", "a", "b", "--seed", "1", "--data", "c") == {
        "run": "RUN",
        "data": ("a", "b", "c"),
        "seed": 1,
    }


def test_a_command_whose_module_is_absent_does_not_show():
    group = Group("g", {"here": ("maxmargin.cli.info:info", "a"), "not": ("maxmargin.no:x", "b")})
    context = click.Context(group)
    assert group.list_commands(context) == ["here"]
    assert group.get_command(context, "not") is None
    with pytest.raises(click.UsageError, match="there is no command 'not'; use one of here"):
        group.resolve_command(context, ["not"])


def test_every_command_of_the_list_can_be_loaded_and_has_the_common_options():
    context = click.Context(root)
    names = root.list_commands(context)
    assert {"demo", "info", "train", "predict", "evaluate"} <= set(names) <= set(PLACES)
    for name in names:
        command = root.get_command(context, name)
        own = click.Context(command, info_name=name, parent=context)
        options = {option for param in command.get_params(own) for option in param.opts}
        assert {"-q", "--quiet", "-v", "--verbose", "--help"} <= options
        assert command.help


def test_help_has_sections_and_examples():
    command = Command(
        "try",
        params=[Option("--a", section="First", many=True, metavar="X"), Option("--b")],
        examples=["try --a 1 2"],
    )
    text = command.get_help(click.Context(command, info_name="try"))
    assert "First:\n  --a X..." in text
    assert "Other options:\n  --b" in text
    assert text.endswith("Examples:\n  maxmargin try --a 1 2")
