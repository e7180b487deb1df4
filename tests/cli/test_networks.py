"""The task network through the program: from files to a run, predictions, numbers and a report."""

import json

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import main


def rings(n, seed):
    rng = np.random.default_rng(seed)
    labels = (rng.integers(3, size=(n, 1)) + np.arange(3)).ravel() % 3
    nodes = np.eye(3)[labels] + 0.6 * rng.normal(size=(3 * n, 3))
    edges = np.tile([[0, 1], [1, 2], [2, 0]], (n, 1))
    counts = np.full(n, 3)
    names = np.array(["a", "b", "c"])[labels]
    return {"nodes": nodes, "edges": edges, "labels": names, "n_nodes": counts, "n_edges": counts}


def test_a_run_on_networks(tmp_path, capsys):
    train, test, run = (tmp_path / name for name in ("train.npz", "test.npz", "run"))
    np.savez(train, **rings(20, 0))
    np.savez(test, **rings(6, 1))
    arguments = ["train", "network", "--data", str(train), "--out", str(run), "--alpha", "0.05"]
    assert main([*arguments, "--tol", "0.05"]) == 0
    printed = capsys.readouterr().out
    assert "label networks on train.npz (20 networks, 60 nodes, 60 edges" in printed
    assert "best possible objective" in " ".join(printed.split())
    model = maxmargin.load(run / "model.maxmargin")
    assert model.structure_.method == "exact"
    assert main(["predict", str(run), str(test), "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert all(len(line.split()) == 3 for line in lines)
    assert main(["evaluate", str(run), str(test), "--no-save", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    right = np.concatenate([line.split() for line in lines]) == rings(6, 1)["labels"]
    assert abs(document["error"] - (1 - right.mean())) < 1e-12
    assert {"name": "proven best", "value": 1.0}.items() <= document["metrics"][-1].items()
    assert main(["report", str(run), "-q"]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Label networks" in page
    assert "Strongest pairs of first end and second end" in page


@pytest.mark.soak
def test_solvers_are_compared(tmp_path, capsys):
    np.savez(tmp_path / "train.npz", **rings(12, 0))
    arguments = ["compare", "network", "--data", str(tmp_path / "train.npz"), "--sizes", "6,12"]
    arguments += ["--solvers", "bcfw,perceptron", "--max-epochs", "2", "--out"]
    assert main([*arguments, str(tmp_path / "comparison"), "-q"]) == 0
    comparison = json.loads(
        (tmp_path / "comparison" / "comparison.json").read_text(encoding="utf-8")
    )
    assert "bcfw" in json.dumps(comparison)
    capsys.readouterr()


def test_methods_that_do_not_exist_are_refused(tmp_path, capsys):
    np.savez(tmp_path / "train.npz", **rings(3, 0))
    arguments = ["train", "network", "--data", str(tmp_path / "train.npz"), "--method", "best"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 2
    printed = capsys.readouterr().err
    assert "--method" in printed
    assert "bounded" in printed
