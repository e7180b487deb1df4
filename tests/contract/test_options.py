"""Every option of every public class: odd values raise an error that names it, or work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract import option_cases
from contract.cases import check_cases
from maxmargin.validation.options import declared_options

GROUPS = ("estimators", "tasks", "parts", "domains", "solvers")


def run(folder, many, *groups):
    tests = Path(option_cases.__file__).parents[1]
    path = os.pathsep.join([str(tests), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "contract.option_cases", many, *groups],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,  # "nonsense" is a path, too
        env=os.environ | {"PYTHONPATH": path},
    )
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    assert not wrong, "\n".join(wrong[:40]) + f"\n{len(wrong)} in all"
    assert done.returncode == 0, f"{lines[-1:]}, then: {done.stderr[-2000:]}"
    assert lines[-1].startswith("tried")


def test_odd_values_are_refused_by_name_or_work(tmp_path):
    """In one process: to start one takes longer than to try the few values of a group."""
    run(tmp_path, "few", *GROUPS)


@pytest.mark.soak
@pytest.mark.parametrize("group", GROUPS)
def test_all_odd_values_are_refused_by_name_or_work(group, tmp_path):
    run(tmp_path, "all", group)


def test_every_class_with_options_is_tried():
    known = {type(one) for group in option_cases.examples().values() for one in group}
    check_cases(option_cases.public_classes(), known, "STRUCTURES, ESTIMATORS or TASKS")


@pytest.mark.parametrize("cls", sorted(option_cases.public_classes(), key=lambda c: c.__name__))
def test_annotations_can_be_read(cls):
    assert declared_options(cls), f"{cls.__name__}: annotations that cannot be evaluated"
