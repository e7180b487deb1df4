"""The set-up of the tests themselves, and what an installed copy must bring along."""

import subprocess
import sys
from importlib.metadata import entry_points, metadata
from importlib.resources import files
from types import SimpleNamespace

import pytest

from conftest import DATA_SETS, choose_cases, find_data


def fill(folder):
    """Folders of all data sets in it."""
    for name in DATA_SETS:
        (folder / name).mkdir(parents=True)
    return folder


def test_find_data_prefers_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_DATA", str(fill(tmp_path)))
    assert find_data() == tmp_path.resolve()


def test_find_data_does_not_look_elsewhere_when_the_variable_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path / "missing"))
    assert find_data() is None


def test_find_data_looks_beside_the_project(tmp_path, monkeypatch):
    import conftest

    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)
    monkeypatch.setattr(conftest, "ROOT", tmp_path / "project")
    assert find_data() is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert find_data() is None  # of another project
    filled = fill(tmp_path / "shared" / "data")
    assert find_data() == filled.resolve()


def test_tests_with_real_data_are_marked(request, data_dir):
    assert data_dir.is_dir()
    assert request.node.get_closest_marker("data") is not None


def fake_cases(n, *names, pairs, name="test_it"):
    mark = SimpleNamespace(args=(n,))
    return [
        SimpleNamespace(
            nodeid=f"{name}[{pair}]",
            callspec=SimpleNamespace(params=dict(zip(names, pair, strict=True))),
            get_closest_marker=lambda _: mark,
        )
        for pair in pairs
    ]


@pytest.mark.parametrize("n", [2, 3])
def test_every_value_of_crossed_parameters_has_its_turn(n):
    crossed = [(a, b) for a in range(12) for b in "xyzuvw"]
    joint = [(variant, f"{'ab'[variant % 2]}{k}") for variant in range(23) for k in range(2)]
    for pairs in (crossed, joint):
        chosen = [
            tuple(case.callspec.params.values())
            for case in choose_cases(fake_cases(n, "first", "second", pairs=pairs))
        ]
        assert len(chosen) < len(pairs)
        for k in (0, 1):
            assert {own[k] for own in chosen} == {own[k] for own in pairs}
    alone = choose_cases(fake_cases(n, "only", pairs=[(k,) for k in range(6)]))
    assert len(alone) == 6 // n


def test_every_sampled_test_runs_and_not_all_on_the_same_values():
    cases = [
        case
        for test in "abcd"
        for case in fake_cases(4, "only", pairs=[(0,), (1,), (2,)], name=test)
    ]
    chosen = choose_cases(cases)
    assert [case.nodeid[0] for case in chosen].count("a") == 1
    assert {case.nodeid[0] for case in chosen} == set("abcd")
    assert {case.callspec.params["only"] for case in chosen} == {0, 1, 2}


@pytest.mark.parametrize("field, value", [("License-Expression", "BSD-3-Clause")])
def test_metadata(field, value):
    assert metadata("maxmargin")[field] == value


def test_command_is_registered():
    (command,) = entry_points(group="console_scripts", name="maxmargin")
    assert command.value == "maxmargin.cli:main"


def test_type_hints_are_shipped():
    assert (files("maxmargin") / "py.typed").is_file()


def test_the_package_imports_estimators_only_when_one_is_asked_for_and_without_numba():
    script = """
import sys
import maxmargin
assert not hasattr(maxmargin, "nothing")
assert "numpy" not in sys.modules
assert {"ChainSVM", "load", "metrics"} <= {*dir(maxmargin)}
from maxmargin import *
from maxmargin import estimators
assert {*estimators.__all__, "Graph", "datasets"} <= {*globals()}
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_everything_is_imported_without_docstrings():
    script = "import maxmargin.plotting, maxmargin.solvers, maxmargin.tasks, maxmargin.structures"
    subprocess.run([sys.executable, "-OO", "-c", script], check=True)
