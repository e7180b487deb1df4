"""From options to a configuration."""

from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from maxmargin.cli.commands import Command
from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import (
    given_config,
    given_task_options,
    join_configs,
    task_options,
    training_options,
)
from maxmargin.tasks.registry import Option

COMMAND = SimpleNamespace(
    name="fake",
    title="A fake",
    estimator=lambda options: SimpleNamespace(alpha=0.25, tol=None),
    options=(
        Option("min-count", int, 1, "least count", of_data=True),
        Option("scale", float, 0.5, "scale"),
        Option("bio", bool, True, "a switch"),
        Option("mode", ("fast", "slow"), "fast", "a choice"),
        Option("more", Path, (), "files", many=True),
        Option("note", str, "", "text", of_data=True),
    ),
)


def values_of(*arguments):
    seen = {}
    command = Command(
        "fake", callback=seen.update, params=[*training_options(COMMAND), *task_options(COMMAND)]
    )
    with command.make_context("fake", list(arguments)) as context:
        command.invoke(context)
    return seen


def test_the_help_tells_the_defaults_of_the_task():
    said = {option.name: option.help for option in training_options(COMMAND)}
    assert said["alpha"].endswith("[default: 0.25]")
    assert said["seed"].endswith("[default: 0]")
    assert "default" not in said["tol"]


def test_what_is_not_given_is_not_in_the_configuration():
    assert given_config(COMMAND, values_of()) == {"task": "fake"}


def test_every_option_has_its_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = (
        "--data a b --validation c --solver fw --alpha 0.5 --loss hamming-sum --tol 0 --seed 7"
        " --max-epochs 9 --time-limit 2m --threads 2 --solver-option check-every=3"
        " --checkpoint-seconds 5m --checkpoint-epochs 4 --min-count 2 --scale 3 --no-bio"
        " --mode slow --more x y --note -"
    )
    assert given_config(COMMAND, values_of(*arguments.split())) == {
        "task": "fake",
        "data": [str(tmp_path / "a"), str(tmp_path / "b")],
        "validation": [str(tmp_path / "c")],
        "solver": "fw",
        "alpha": 0.5,
        "loss": "hamming-sum",
        "tol": 0.0,
        "max-epochs": 9,
        "seed": 7,
        "time-limit": 120.0,
        "threads": 2,
        "solver-options": {"check_every": 3},
        "task-options": {
            "min-count": 2,
            "scale": 3.0,
            "bio": False,
            "mode": "slow",
            "more": [str(tmp_path / "x"), str(tmp_path / "y")],
            "note": "-",
        },
        "checkpoints": {"seconds": 300.0, "epochs": 4},
    }


def test_false_and_zero_are_values():
    given = given_task_options(COMMAND, {"task_bio": False, "task_scale": 0.0, "task_more": ()})
    assert given == {"bio": False, "scale": 0.0}


def test_only_options_of_data_for_predict():
    assert [p.opts for p in task_options(COMMAND, of_data=True)] == [["--min-count"], ["--note"]]


def test_defaults_are_in_the_help():
    command = Command("fake", params=task_options(COMMAND))
    text = command.get_help(click.Context(command, info_name="fake"))
    assert "A fake (fake):" in text
    assert "--min-count N" in text
    assert "[default: 1]" in text
    assert "--bio / --no-bio" in text
    assert "[default: yes]" in text
    assert "--mode fast|slow" in text
    assert "--more FILE..." in text


def test_the_command_line_counts_more_than_the_file():
    under = {
        "task": "fake",
        "alpha": 1.0,
        "tol": 0.1,
        "task-options": {"bio": True, "scale": 2.0},
        "checkpoints": {"seconds": 9.0},
    }
    over = {"task": "fake", "alpha": 2.0, "task-options": {"bio": False}}
    assert join_configs(over, under) == {
        "task": "fake",
        "alpha": 2.0,
        "tol": 0.1,
        "task-options": {"bio": False, "scale": 2.0},
        "checkpoints": {"seconds": 9.0},
    }
    assert under["task-options"] == {"bio": True, "scale": 2.0}


def test_another_solver_does_not_take_over_the_options_of_the_files_solver():
    under = {"solver": "bcfw", "solver-options": {"step": "pairwise"}}
    assert join_configs({"solver": "fw"}, under) == {"solver": "fw"}
    assert join_configs({"solver": "bcfw"}, under) == under


def test_a_file_for_another_task_is_refused():
    with pytest.raises(UsageError, match="is for the task 'chain', not 'fake'"):
        join_configs({"task": "fake"}, {"task": "chain"})


def test_a_switch_that_says_no_has_no_opposite():
    own = Option("no-label", bool, False, "no labels")
    task_command = SimpleNamespace(name="fake", title="A fake", options=(own,))
    (option,) = task_options(task_command)
    assert (option.opts, option.secondary_opts) == (["--no-label"], [])
    for arguments, found in (([], {}), (["--no-label"], {"no-label": True})):
        with Command("fake", params=[option]).make_context("fake", arguments) as context:
            assert given_task_options(task_command, context.params) == found
