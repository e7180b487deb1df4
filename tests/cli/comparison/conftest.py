"""A tiny task for comparisons, and runs that are made up instead of measured."""

from pathlib import Path

import pytest

from maxmargin.tasks.registry import TASK_COMMANDS

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """A file of 60 samples of the tiny task."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        from tiny_command import write_samples

        path = tmp_path_factory.mktemp("tiny") / "samples.jsonl"
        write_samples(path, 60)
        yield path


@pytest.fixture(scope="module")
def known(samples):
    """The tiny task among the known ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASK_COMMANDS, "tiny", "tiny_command:TinyCommand")
        yield


@pytest.fixture
def tiny(samples, known):
    """A plan for the tiny task."""
    return {
        "task": "tiny",
        "data": [str(samples)],
        "solvers": ["bcfw", "perceptron"],
        "sizes": [10, 40],
    }


@pytest.fixture
def made_up(monkeypatch):
    """No processes: answers by a formula. Returns the runs that were asked for, in order."""
    asked = []

    def run_in_process(request, threads=1, seconds=None):
        if request["run"] is None:
            about = {"n_samples": 60, "n_test": None, "size_name": "sequences"}
            return about | {"counts": {"sequences": 60}}
        asked.append((*request["run"].values(), seconds))
        return made_up_run(**request["run"])

    monkeypatch.setattr("maxmargin.cli.comparison.run.run_in_process", run_in_process)
    return asked


def made_up_run(solver, size, seed):
    slow = 2.0 if solver == "bcfw" else 1.0
    return {
        "status": "converged",
        "message": "",
        "seconds": slow * size**1.5,
        "wall_seconds": 2 * slow * size**1.5,
        "cpu_seconds": slow * size**1.5,
        "compile_seconds": 1.0,
        "n_oracle": 3 * size,
        "n_project": 0,
        "peak_bytes": 5 * 2**20 + 2**20 * size,
        "base_bytes": 5 * 2**20,
        "solver_bytes": 1000 * size,
        "alpha": 0.1,
        "n_parts": 4 * size,
        "n_weights": 7,
        "n_epochs": 3,
        "primal": 1.0 + seed,
        "dual": 0.5,
        "gap": 0.5 + seed,
        "relative_gap": 0.25,
        "train_error": 0.1,
        "test_error": 0.2,
        "error_name": "label error",
        "history": [],
    }
