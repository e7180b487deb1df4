"""Configurations: what is read is what was written, and what is wrong is named."""

import os

import pytest

from maxmargin.cli.runs import check_config, read_config, write_config
from maxmargin.cli.runs.config import MAX_BYTES

FULL = {
    "task": "tagging",
    "data": ["a.txt", "b.txt"],
    "validation": ["c.txt"],
    "alpha": 0.01,
    "loss": "hamming",
    "solver": "bcfw",
    "tol": 0.001,
    "max-epochs": 20,
    "seed": 3,
    "time-limit": 60.0,
    "threads": 2,
    "solver-options": {"step": "pairwise", "cache": {"size": 5, "passes": 2}},
    "task-options": {"bio": True, "min-count": 2, "columns": ["1", "2"]},
    "checkpoints": {"seconds": 5.0, "epochs": 3},
}


def test_round_trip(tmp_path):
    write_config(FULL, tmp_path / "run.toml")
    found = read_config(tmp_path / "run.toml")
    paths = {key: [str(tmp_path / name) for name in FULL[key]] for key in ("data", "validation")}
    assert found == FULL | paths
    write_config(found, tmp_path / "again.toml")
    assert read_config(tmp_path / "again.toml") == found


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("conf")
    (tmp_path / "conf" / "run.toml").write_text('task = "chain"\ndata = ["../x.npz", "/y.npz"]\n')
    assert read_config("conf/run.toml")["data"] == [str(tmp_path / "x.npz"), "/y.npz"]


def test_numbers_become_what_they_should_be():
    given = {"alpha": 1, "checkpoints": {"seconds": 0}, "data": "one.npz", "tol": None}
    found = check_config(given)
    assert found == {"alpha": 1.0, "checkpoints": {"seconds": 0.0}, "data": ["one.npz"]}
    assert type(found["alpha"]) is float


@pytest.mark.parametrize(
    "config, words",
    [
        ({"alpa": 1.0}, "'alpa' is not a key .* did you mean 'alpha'"),
        ({"max_epochs": 3}, "did you mean 'max-epochs'"),
        ({"zebra": 3}, "use one of task, data"),
        ({"alpha": "0.1"}, "alpha must be a number, found '0.1'"),
        ({"alpha": True}, "alpha must be a number"),
        ({"alpha": -1.0}, "alpha must be 0 or more"),
        ({"alpha": float("nan")}, "alpha must be a finite number"),
        ({"alpha": 10**400}, "alpha must be a finite number"),
        ({"seed": 10**5000}, "seed must be an integer"),
        ({"max-epochs": 2.5}, "max-epochs must be an integer"),
        ({"max-epochs": -1}, "max-epochs must be 0 or more"),
        ({"seed": 2**70}, "seed must be an integer"),
        ({"time-limit": 0}, "time-limit must be more than 0"),
        ({"threads": 0}, "threads must be 1 or more"),
        ({"data": []}, "data must be a list of files"),
        ({"data": [1]}, "data must be a list of files"),
        ({"data": ["a\0b"]}, "data must be a list of files"),
        ({"solver": "bcwf"}, "solver 'bcwf' is unknown; did you mean 'bcfw'"),
        ({"solver": 3}, "solver must be a text"),
        ({"solver": "bcfw", "solver-options": {"stepp": 1}}, "did you mean 'step'"),
        ({"solver": "bcfw", "solver-options": {"tol": 1}}, "'tol' is not a key"),
        ({"solver": "bcfw", "solver-options": {"step": [1]}}, "step must be a number"),
        ({"solver": "bcfw", "solver-options": {"cache": {"sise": 1}}}, "did you mean 'size'"),
        ({"solver": "bcfw", "solver-options": {"cache": {"size": "x"}}}, "cache.size must be"),
        ({"solver-options": 3}, "solver-options must be a table"),
        ({"task": "taging"}, "task 'taging' is unknown; did you mean 'tagging'"),
        ({"task": "tagging", "task-options": {"min_count": 1}}, "did you mean 'min-count'"),
        ({"task": "tagging", "task-options": {"bio": 1}}, "bio must be true or false"),
        ({"task": "tagging", "task-options": {"min-count": "x"}}, "min-count must be an integer"),
        ({"task": "tagging", "task-options": {"write": "apend"}}, "did you mean 'append'"),
        ({"task": "tagging", "task-options": {"columns": [1]}}, "columns must be a text"),
        ({"checkpoints": {"second": 1}}, "did you mean 'seconds'"),
        ({"checkpoints": {"epochs": 0}}, "checkpoints.epochs must be 1 or more"),
    ],
)
def test_what_is_wrong_is_named(config, words):
    with pytest.raises(ValueError, match=words):
        check_config(config)


@pytest.mark.parametrize(
    "raw, words",
    [
        (b"alpha = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"alpha = 'x'", "alpha must be a number"),
        (b"a = " + b"[" * 100_000, "is not TOML"),
        (b"seed = 2020-01-01", "seed must be an integer"),
        (b"#" * (MAX_BYTES + 1), "not a configuration"),
    ],
)
def test_files_that_are_no_configuration(tmp_path, raw, words):
    path = tmp_path / "run.toml"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=f"run.toml: .*{words}"):
        read_config(path)


def test_a_name_that_is_no_text(tmp_path):
    with pytest.raises(ValueError, match="not valid text"):
        write_config({"data": ["\udcff.npz"]}, tmp_path / "run.toml")
    assert not list(tmp_path.iterdir())
