"""The comparison of training methods, on a problem of seconds."""

import csv

import numpy as np
import pytest
from benchmarks import curves

from maxmargin import ChainSVM
from maxmargin.datasets import make_sequences
from maxmargin.solvers import BCFW, Subgradient

ALPHA = 0.05


@pytest.fixture(scope="module")
def data():
    made = make_sequences(40, (2, 5), 3, 6, separation=2.0, random_state=0)
    return made.X, made.y


@pytest.fixture(scope="module")
def task(data):
    X, y = data
    found = curves.make_task("tiny", X[:30], y[:30], X[30:], y[30:])
    found.optimum[ALPHA] = curves.best_known(found, ALPHA)["dual"]
    curves._TASKS["tiny"] = found
    return found


@pytest.fixture(scope="module")
def rows(task):
    chosen = ["BCFW", "FW", "SSG", "SSG-tavg"]
    return curves.measure([task], [str(ALPHA)], chosen, seeds=2, passes={"tiny": 4}, jobs=1)


def test_each_method_has_its_runs_and_moments(rows):
    counts = {}
    for row in rows:
        counts[row["method"]] = counts.get(row["method"], 0) + 1
    moments = 4  # 1, 2, 3 and the last
    random = dict.fromkeys(("BCFW", "BCFW-wavg", "SSG", "SSG-wavg", "SSG-tavg"), 2 * moments)
    assert counts == random | {"FW": moments}


def test_suboptimality_is_measured_from_a_bound(rows, task):
    bound = task.optimum[ALPHA]
    for row in rows:
        assert row["suboptimality"] == row["primal"] - bound > 0
        assert row["relative"] == row["suboptimality"] / bound
        assert row["seconds"] > 0


@pytest.mark.parametrize(
    ("method", "solver"), [("BCFW", BCFW("frank-wolfe")), ("SSG-tavg", Subgradient("half"))]
)
def test_numbers_are_those_of_the_library(rows, data, method, solver):
    X, y = data
    solver.set_params(check_every=4, tol=0.0)
    model = ChainSVM(alpha=ALPHA, solver=solver, max_epochs=4, random_state=1)
    with pytest.warns(match="max_epochs"):
        model.fit(X[:30], y[:30])
    problem = model._problem(X[:30], y[:30], None, None)
    w = solver.candidates(problem, model.result_.state)[0 if method == "BCFW" else -1]
    (row,) = [r for r in rows if (r["method"], r["seed"], r["passes"]) == (method, 1, 4)]
    assert row["primal"] == pytest.approx(problem.primal(w), rel=1e-12)
    model.coef_ = w
    assert row["test_error"] == pytest.approx(1.0 - model.score(X[30:], y[30:]), abs=1e-12)


def test_the_same_seed_gives_the_same_curve(rows, task):
    again = curves.trace(task, ALPHA, "BCFW", 1, 4)
    known = [r for r in rows if r["method"].startswith("BCFW") and r["seed"] == 1]
    assert [r | {"seconds": 0} for r in again] == [r | {"seconds": 0} for r in known]


def test_labels_that_training_lacks_count_as_errors(data):
    X, y = data
    task = curves.make_task("tiny", X[:30], y[:30], X[30:], [own + 100 for own in y[30:]])
    assert task.error(np.zeros(task.problem.dim)) == 1.0


def test_medians_over_the_runs_that_arrive():
    def run(seed, values):
        return [
            {"method": "A", "seed": seed, "passes": k, "seconds": 10.0 * k, "relative": v}
            for k, v in enumerate(values, start=1)
        ]

    rows = run(0, [0.5, 0.05, 0.005]) + run(1, [0.05, 0.05, 0.5]) + run(2, [1.0, 1.0, 0.09])
    assert curves.reached(rows, "A", 0.1) == (2.0, 20.0)
    assert curves.reached(rows, "A", 0.01) is None


def test_figures_table_and_numbers_are_written(rows, tmp_path):
    pytest.importorskip("matplotlib")
    made = curves.write(rows, tmp_path / "new", "svg")
    assert [path.name for path in made] == ["curves.csv", f"tiny_{ALPHA:.3g}.svg"]
    with made[0].open(encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [float(row["primal"]) for row in read] == [row["primal"] for row in rows]
    assert "<svg" in made[1].read_text(encoding="utf-8")
    words = curves.table(rows)
    assert all(row["method"] in words for row in rows)


def test_optima_are_remembered(task, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path))
    known = task.optimum[ALPHA]
    curves.find_optima([task], [str(ALPHA)], jobs=1)
    monkeypatch.setattr(curves, "BCFW", None)  # a second run would fail
    task.optimum.clear()
    curves.find_optima([task], [str(ALPHA)], jobs=1)
    assert task.optimum == {ALPHA: known}
    assert "best objective between" in capsys.readouterr().out


def test_options():
    usual = curves.parse([])
    assert (usual.seeds, usual.passes["letters"], usual.out) == (2, 10, None)
    full = curves.parse(["--full", "--alphas", "1/n"])
    assert (full.seeds, full.passes, full.alphas) == (10, {"letters": 40, "chunks": 14}, ["1/n"])


@pytest.mark.parametrize("options", [["--jobs", "0"], ["--passes", "-1"], ["--data", "none"]])
def test_bad_options(options, capsys):
    with pytest.raises(SystemExit):
        curves.parse(options)
    assert "error" in capsys.readouterr().err
