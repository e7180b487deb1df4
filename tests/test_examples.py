"""The examples run, on little data."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_letters_on_synthetic_words(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    arguments = ["--words", "300", "--alphas", "0.05", "0.3"]
    output = run("letters.py", arguments, monkeypatch, capsys)
    held_out = re.findall(r"alpha ([\d.]+) +held-out letter error +([\d.]+) %", output)
    assert [alpha for alpha, _ in held_out] == ["0.3", "0.05"]
    best = min(held_out, key=lambda pair: float(pair[1]))[0]
    assert re.search(rf"chosen: alpha {best}, within [\d.]+ % of the best possible", output)
    assert re.search(r"test letter error [\d.]+ %, test word error [\d.]+ %", output)
    assert not list(tmp_path.iterdir())


def test_letters_on_the_real_words(monkeypatch, capsys, data_dir):
    arguments = ["--data", str(data_dir), "--alphas", "0.1"]
    output = run("letters.py", arguments, monkeypatch, capsys)
    assert output.startswith("5547 words to train on, 704 held out, 626 to test on")
    assert float(re.search(r"test letter error ([\d.]+) %", output)[1]) < 20


def test_assignment(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("assignment.py", [], monkeypatch, capsys)
    rows = dict(re.findall(r"^(.+?) +([\d.]+) % +-?[\d.]+ %$", output, re.MULTILINE))
    right = {name: float(value) for name, value in rows.items()}
    assert len(right) == 7
    assert (
        right["200 days, bcfw"] > max(right["nearest first"], right["assignment by distance"]) + 20
    )
    assert right["200 days, bcfw"] == pytest.approx(right["200 days, dual-extragradient"], abs=2)
    assert right["5 days, signs known"] > right["5 days, bcfw"]
    assert len(re.findall(r"is within [\d.]+ % of the best possible objective \(conv", output)) == 4
    assert re.search(r"a new day, \d+ couriers, \d+ orders: \d takes \d", output)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.name)
def test_examples_are_short(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) < 90
