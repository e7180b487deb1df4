"""Decisions from the command line: files, structures, predictions, regrets, drawings."""

import json

import numpy as np
import pytest

from maxmargin import DecisionSVM, load
from maxmargin.cli.main import main
from maxmargin.formats.tables import read_table
from maxmargin.structures import Knapsack, ShortestPath, SpanningTree
from maxmargin.tasks.decision.command import DecisionCommand
from maxmargin.tasks.decision.structures import HELP, grid_edges, grid_size, parse_structure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
COSTS = np.exp(0.5 * X @ RNG.normal(size=(3, 12))) * RNG.uniform(0.9, 1.1, size=(80, 12))


def write(path, rows, names=""):
    np.savetxt(path, rows, delimiter=",", header=names, comments="")
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decision")
    x, costs = write(folder / "x.csv", X[:60], "a,b,c"), write(folder / "costs.csv", COSTS[:60])
    options = ["--structure", "shortest-path:3x3", "--out", str(folder / "run"), "--quiet"]
    assert main(["train", "decision", "--data", x, "--costs", costs, *options]) == 0
    return folder


def test_a_run_has_the_model_of_the_estimator(run, capsys):
    path = ShortestPath(grid_edges(3, 3), 0, 8)
    expected = DecisionSVM(path).fit(X[:60], COSTS[:60])
    model = load(run / "run" / "model.maxmargin")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    summary = json.loads((run / "run" / "summary.json").read_text())
    assert summary["alpha"] == expected.alpha_
    names = "a,b,c," + ",".join(f"cost {k}" for k in range(12))
    test = write(run / "test.csv", np.column_stack([X[60:], COSTS[60:]]), names)
    capsys.readouterr()
    assert main(["evaluate", str(run / "run"), test, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    regret = expected.regret(X[60:], COSTS[60:])
    assert found["metrics"][0]["name"] == "regret"
    assert found["metrics"][0]["value"] == pytest.approx(regret, rel=1e-9)
    rows = np.array(found["tables"][0]["rows"])
    assert len(rows) == 20
    assert rows[:, 1].sum() / np.abs(rows[:, 3]).sum() == pytest.approx(regret)
    assert {own["kind"] for own in found["drawings"]} == {"areas"}
    bare = write(run / "new.csv", X[60:])
    assert main(["predict", str(run / "run"), bare]) == 0
    lines = capsys.readouterr().out.split()
    np.testing.assert_array_equal(
        [list(map(int, line.split(","))) for line in lines], expected.predict(X[60:])
    )
    assert main(["predict", str(run / "run"), bare, "--out", str(run / "out.npz")]) == 0
    with np.load(run / "out.npz") as arrays:
        np.testing.assert_allclose(arrays["costs"], expected.predict_costs(X[60:]))
    assert main(["report", str(run / "run"), "--out", str(run / "report.html")]) == 0
    report = (run / "report.html").read_text()
    assert "Instances, worst first" in report
    assert "orange what only the decision uses" in report
    assert "foreground" not in report


def test_values_of_items_in_arrays(tmp_path, capsys):
    write(tmp_path / "weights.csv", [[3, 4, 2, 5, 1, 2, 7]])
    values = COSTS[:, :6]
    np.savez(tmp_path / "days.npz", X=X, costs=values)
    structure = f"knapsack:{tmp_path / 'weights.csv'}"
    options = ["--structure", structure, "--sense", "max", "--alpha", "0.1", "--quiet"]
    data = str(tmp_path / "days.npz")
    out = ["--out", str(tmp_path / "run")]
    assert main(["train", "decision", "--data", data, *options, *out]) == 0
    expected = DecisionSVM(Knapsack([3, 4, 2, 5, 1, 2], 7), "max", alpha=0.1).fit(X, values)
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run"), data, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["error"] == pytest.approx(expected.regret(X, values))
    assert found["drawings"][0]["kind"] == "tokens"


def test_structures_are_named_as_they_are_built(tmp_path):
    edges = [(0, 1), (1, 2), (0, 2)]
    file = write(tmp_path / "edges.csv", edges, "tail,head")
    path = parse_structure(f"shortest-path:{file}:0:2")
    assert (path.source, path.target, np.asarray(path.edges).tolist()) == (
        0,
        2,
        [[0, 1], [1, 2], [0, 2]],
    )
    assert isinstance(parse_structure(f"spanning-tree:{file}"), SpanningTree)
    assert parse_structure("top-k:3").k == 3
    two = parse_structure("knapsack:" + write(tmp_path / "w.csv", [[1, 2, 3], [4, 5, 6]]))
    assert np.asarray(two.weights).tolist() == [[1, 2], [4, 5]]
    assert np.asarray(two.capacity).tolist() == [3, 6]
    grid = parse_structure("shortest-path:4x3")
    assert grid_size(grid) == (4, 3)
    assert grid_size(path) is None
    assert len(grid_edges(5, 5)) == 40
    assert grid_edges(2, 3).tolist() == [[0, 1], [1, 2], [0, 3], [1, 4], [2, 5], [3, 4], [4, 5]]


def test_the_order_of_edges_is_told(run):
    edges = ", ".join(f"{a}-{b}" for a, b in grid_edges(3, 3).tolist())
    assert f"edges {edges} " in HELP
    tables = DecisionCommand().describe(load(run / "run" / "model.maxmargin"))
    assert ["edges, in the order of costs", edges] in tables[0]["rows"]
    assert {row[0] for row in tables[1]["rows"]} >= {"2 (0-3)", "11 (7-8)"}


def test_a_letter_in_the_weights_of_a_knapsack_is_named(tmp_path):
    (tmp_path / "w.csv").write_text("3,4o,2,7\n1,1,1,2\n")
    with pytest.raises(ValueError, match="w.csv, line 1: field 2 is not a number: '4o'"):
        parse_structure(f"knapsack:{tmp_path / 'w.csv'}")
    file = write(tmp_path / "w.csv", [[1, -2, 3]])
    with pytest.raises(ValueError, match=r"w.csv': weights and capacity must not be negative"):
        parse_structure(f"knapsack:{file}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paths:5x5", "'paths:5x5' is not known"),
        ("shortest-path:1x1", "has no path"),
        ("shortest-path:edges.csv", "no source and target"),
        ("top-k:many", "'many' is not a number"),
        ("", "is not known"),
    ],
)
def test_other_structures_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_structure(text)


@pytest.mark.parametrize(
    ("x", "costs", "message"),
    [
        ("1,2\n3\n", "1,2\n3,4\n", "line 2: 1 fields, expected 2"),
        ("1,2\n3,nan\n", "1\n2\n", "line 2: field 2 is not finite"),
        ("a,b\n1,red\n", "1\n", r"x.csv, line 2: field 2 \(column 'b'\) is not a number: 'red'"),
        ("1,2x\n3,4\n", "1\n2\n", "x.csv, line 1: field 2 is not a number: '2x'.*give all columns"),
        ("1,\n3,4\n", "1\n2\n", "line 1: field 2 is not a number: ''"),
        ("1,2\n3,4\n", "1,l\n3,4\n", "c.csv, line 1: field 2 is not a number: 'l'"),
        ("", "1\n", "the file is empty"),
        ("\xe9,b\n1,2\n", "1\n", "line 1: found bytes that are not utf-8 text; convert the file"),
        ("1,2\n3,4\n", "1,2\n", "2 instances, but 1 rows of costs"),
        ("cost,cost2\n3,4\n", "1\n", "all columns are costs"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, x, costs, message):
    (tmp_path / "x.csv").write_text(x, encoding="latin-1")
    (tmp_path / "c.csv").write_text(costs)
    with pytest.raises(ValueError, match=message):
        DecisionCommand().read([tmp_path / "x.csv"], {"costs": [tmp_path / "c.csv"]})


def test_what_is_missing_is_asked_for(tmp_path, capsys):
    x = write(tmp_path / "x.csv", X)
    out = ["--out", str(tmp_path / "run")]
    assert main(["train", "decision", "--data", x, "--structure", "top-k:2", *out]) == 2
    assert "costs are missing; give --costs FILE" in capsys.readouterr().err
    assert main(["train", "decision", "--data", x, *out, "--force"]) == 2
    assert "--structure is missing" in capsys.readouterr().err


def test_tables_have_names_and_any_usual_separator(tmp_path):
    for k, text in enumerate(["a;b\n1;2,5\n", "\ufeffa\tb\r\n1\t2\r\n\r\n", '"a","b, c"\n1,2\n']):
        (tmp_path / f"{k}.csv").write_bytes(text.encode())
    with pytest.raises(ValueError, match="'2,5'"):
        read_table(tmp_path / "0.csv")
    assert read_table(tmp_path / "1.csv").names == ["a", "b"]
    assert read_table(tmp_path / "1.csv").rows.tolist() == [[1, 2]]
    assert read_table(tmp_path / "2.csv").names == ["a", "b, c"]


def test_columns_in_another_order_are_refused(run, tmp_path, capsys):
    assert load(run / "run" / "model.maxmargin").feature_names_in_.tolist() == ["a", "b", "c"]
    for names, status in (("a,b,c", 0), ("", 0), ("b,a,c", 2)):
        x = write(tmp_path / "x.csv", X[60:], names)
        assert main(["predict", str(run / "run"), x]) == status
        costs = ["--costs", write(tmp_path / "costs.csv", COSTS[60:])]
        assert main(["evaluate", str(run / "run"), x, *costs, "--json"]) == status
    assert "its features are b, a, c, expected a, b, c, in this order" in capsys.readouterr().err


def test_costs_in_another_order_are_refused(tmp_path, capsys):
    names, x = [f"c{k}" for k in range(12)], write(tmp_path / "x.csv", X, "a,b,c")
    costs = write(tmp_path / "costs.csv", COSTS, ",".join(names))
    swapped = write(tmp_path / "swapped.csv", COSTS[:, ::-1], ",".join(names[::-1]))
    settings = ["--structure", "top-k:3", "--alpha", "0.1", "--quiet"]
    data = ["--data", x, "--costs", costs]
    run = str(tmp_path / "run")
    assert main(["train", "decision", *data, *settings, "--out", run]) == 0
    assert load(tmp_path / "run" / "model.maxmargin").cost_names_in_.tolist() == names
    assert main(["evaluate", run, x, "--costs", costs]) == 0
    assert main(["evaluate", run, x, "--costs", write(tmp_path / "bare.csv", COSTS)]) == 0
    assert main(["evaluate", run, x, "--costs", swapped]) == 2
    assert "column 0 is 'c11', expected 'c0'" in capsys.readouterr().err
    held = ["--validation", x, "--validation-costs", swapped, "--out", str(tmp_path / "other")]
    assert main(["train", "decision", *data, *settings, *held]) == 2
    assert "those of the data (column 0 is 'c11', expected 'c0')" in capsys.readouterr().err
    assert main(["train", "decision", "--data", x, x, "--costs", costs, swapped, *settings,
                 "--out", str(tmp_path / "two")]) == 2  # fmt: skip
    assert "swapped.csv: costs: its columns differ from those of the first file" in (
        capsys.readouterr().err
    )


def test_validation_has_costs_of_its_own(run, tmp_path, capsys):
    x, costs = write(tmp_path / "x.csv", X[60:], "a,b,c"), write(tmp_path / "c.csv", COSTS[60:])
    names = "a,b,c," + ",".join(f"cost {k}" for k in range(12))
    joined = write(tmp_path / "joined.csv", np.column_stack([X[60:], COSTS[60:]]), names)
    data = ["--data", str(run / "x.csv"), "--costs", str(run / "costs.csv")]
    settings = [*data, "--structure", "shortest-path:3x3", "--alpha", "0.01", "--quiet"]
    found = []
    for k, held in enumerate((["--validation-costs", costs, "--validation", x],
                              ["--validation", joined])):  # fmt: skip
        out = tmp_path / f"run{k}"
        assert main(["train", "decision", *settings, *held, "--out", str(out)]) == 0
        found.append(json.loads((out / "summary.json").read_text())["metrics"]["validation"])
        model = load(out / "model.maxmargin")
        assert found[k]["regret"] == pytest.approx(model.regret(X[60:], COSTS[60:]))
    assert found[0] == found[1]
    files = json.loads((tmp_path / "run0" / "data.json").read_text())["files"]
    assert files[-1]["path"].endswith("c.csv")
    capsys.readouterr()
    out = ["--out", str(tmp_path / "none")]
    assert main(["train", "decision", *settings, "--validation", x, *out]) == 2
    assert "x.csv: costs are missing; give --validation-costs FILE" in capsys.readouterr().err
    assert main(["train", "decision", *settings, "--validation-costs", costs, *out]) == 2
    assert "validation-costs goes with files of validation" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    assert main(["compare", "decision", *data, "--structure", "shortest-path:3x3", "--sizes", "20",
                 "--solvers", "bcfw", "--validation-costs", costs, *out]) == 2  # fmt: skip
    assert "validation-costs goes with files of test" in capsys.readouterr().err
