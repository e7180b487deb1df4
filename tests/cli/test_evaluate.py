"""`maxmargin evaluate`, on a model file; with run folders see test_train.py."""

import json
from pathlib import Path

import numpy as np
import pytest

from maxmargin import Graph, MatchingSVM, MultiLabelSVM, TreeSVM
from maxmargin.cli import main
from maxmargin.cli.runs.evaluating import evaluation_name


def test_metrics_and_tables_are_printed(model_file, texts, capsys):
    assert main(["evaluate", str(model_file), str(texts / "dev.txt")]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].startswith("On dev.txt (30 sentences, 96 tokens, ")
    assert any(line.strip().startswith("token accuracy") and " %" in line for line in lines)
    assert "Tags" in lines
    assert printed.err == "maxmargin: not saved, because a model file has no run folder\n"


def test_tags_of_another_column_are_told(model_file, texts, tmp_path, capsys):
    lines = (texts / "dev.txt").read_text().splitlines()
    path = tmp_path / "reversed.txt"
    path.write_text("".join(" ".join(reversed(line.split())) + "\n" for line in lines))
    assert main(["evaluate", str(model_file), str(path)]) == 0
    told = capsys.readouterr().err
    assert "the model does not know" in told
    assert "is this the right column? --tag-column names another." in told


def test_json_is_one_document(model_file, texts, capsys):
    arguments = ["evaluate", str(model_file), str(texts / "dev.txt"), "--no-save", "--json"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["data"]["sentences"] == 30
    assert 0 <= document["error"] < 0.1
    assert document["saved"] is None
    assert printed.err == ""


@pytest.mark.parametrize("worst", [0, 1, 20])
def test_how_many_samples_are_kept_is_a_choice(model_file, texts, capsys, worst):
    arguments = ["evaluate", str(model_file), str(texts / "dev.txt"), "--json", "--worst"]
    assert main([*arguments, str(worst)]) == 0
    assert len(json.loads(capsys.readouterr().out)["drawings"]) == worst


def test_data_without_a_truth_are_refused(tmp_path, capsys):
    links = [np.array([[0, 0]]), np.array([[1, 1]])]
    X = [np.eye(2)[:, :, None], np.eye(2)[:, :, None]]
    MatchingSVM().fit(X, links).save(tmp_path / "matching")
    np.savez(tmp_path / "links.npz", X=np.ones((4, 1)), shapes=[[2, 2]])
    assert main(["evaluate", str(tmp_path / "matching"), str(tmp_path / "links.npz")]) == 2
    assert "array 'links' is missing" in capsys.readouterr().err
    MultiLabelSVM().fit(np.eye(2), [{"a"}, {"b"}]).save(tmp_path / "sets")
    (tmp_path / "sets.txt").write_text("1:1.0\n2:0.5\n")
    assert main(["evaluate", str(tmp_path / "sets"), str(tmp_path / "sets.txt")]) == 2
    assert "sets.txt: no sample has a label" in capsys.readouterr().err
    (tmp_path / "sets.txt").write_text("1:1.0\na 2:0.5\n")
    assert main(["evaluate", str(tmp_path / "sets"), str(tmp_path / "sets.txt")]) == 0


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_files_of_another_width_are_named(tmp_path, capsys, command):
    one = {"parents": [-1, 0], "labels": ["a", "b"]}
    model = TreeSVM().fit([Graph.from_parents(np.eye(2), [-1, 0])], [["a", "b"]])
    model.save(tmp_path / "tree.maxmargin")
    np.savez(tmp_path / "wide.npz", nodes=np.eye(2, 3), **one)
    assert main([command, str(tmp_path / "tree.maxmargin"), str(tmp_path / "wide.npz")]) == 2
    printed = capsys.readouterr().err
    assert "X has 3 node features, but TreeSVM is expecting 2" in printed
    assert printed.endswith("(in wide.npz)\n")


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "x\x1b", "train", "validation", ""])
def test_names_that_are_no_file_names_are_refused(model_file, texts, capsys, name):
    code = main(["evaluate", str(model_file), str(texts / "dev.txt"), f"--name={name}"])
    assert code == (2 if name else 0)
    assert name == "" or "--name" in capsys.readouterr().err


def test_text_with_escapes_is_harmless_in_the_terminal(model_file, tmp_path, capsys):
    data = tmp_path / "bad.txt"
    data.write_text("the \x1b[31mred\ncat \u202eN\ndog N\n\n", encoding="utf-8")
    assert main(["evaluate", str(model_file), str(data)]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31mred" in out
    assert "\\u202eN" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    "file, name",
    [
        ("a/dev.txt", "dev"),
        ("dev.conllu.gz", "dev"),
        ("train.txt", "train-file"),
        ("a b\x1b.txt", "a-b"),
        ("漢字.txt", "漢字"),
        (".txt", "txt"),
        ("...", "data"),
    ],
)
def test_evaluations_are_named_after_the_file(file, name):
    assert evaluation_name(Path(file)) == name
