"""The examples run, on little data."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

#: the documentation runs all of them at each build; here it is looked at what they print
pytestmark = pytest.mark.soak
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    plt.close("all")
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


def test_chunking_on_synthetic_sentences_and_on_files(monkeypatch, capsys, tmp_path):
    output = run("chunking.py", [], monkeypatch, capsys)
    assert output.startswith("360 sentences, ")
    assert float(re.search(r"overall +([\d.]+)", output)[1]) > 0.9
    assert "of the best possible objective (converged" in output
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text("the DT B-NP\ndog NN I-NP\nbarks VB O\n\n" * 5)
    files = [str(tmp_path / name) for name in ("train.txt", "test.txt")]
    output = run("chunking.py", files, monkeypatch, capsys)
    assert output.startswith("5 sentences, ")
    assert "overall     1.0000" in re.sub(r"overall +", "overall     ", output)


def test_alignment(monkeypatch, capsys):
    output = run("alignment.py", [], monkeypatch, capsys)
    agreed, known = map(int, re.search(r"by hand: (\d+) of (\d+) links found", output).groups())
    assert agreed < known
    assert float(re.search(r"AER ([\d.]+)", output)[1]) < 0.02


def test_puppets(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("puppets.py", ["--scans", "4", "--points", "900"], monkeypatch, capsys)
    assert re.match(r"\d+ points to train on, \d+ links\n", output)
    assert "chosen on validation data" in output
    errors = [float(error) for error in re.findall(r"links: +error ([\d.]+)", output)]
    assert errors[1] < errors[0] < 0.6
    assert re.search(r"^cloud 0: error", output, re.MULTILINE)
    assert not list(tmp_path.iterdir())


def right_by_kind(output):
    rows = re.findall(
        r"^(\w[\w ]+?) +alpha [\d.]+ +held out +[\d.]+ % +test +([\d.]+) %", output, re.M
    )
    assert [name for name, _ in rows] == ["labels on their own", "along the text", "along the tree"]
    return [float(value) for _, value in rows]


def test_trees_made_by_a_grammar(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("trees.py", [], monkeypatch, capsys)
    alone, text, tree = right_by_kind(output)
    assert tree > max(alone, text) + 3
    assert re.search(r"^ +\w+ below \w+$", output, re.MULTILINE)
    assert not list(tmp_path.iterdir())


@pytest.mark.soak
def test_trees_of_the_treebank(monkeypatch, capsys, data_dir):
    output = run("trees.py", ["--data", str(data_dir)], monkeypatch, capsys)
    assert output.startswith("1601 sentences to train on, 400 held out, 2077 to test")
    alone, text, tree = right_by_kind(output)
    assert tree > text > alone


def test_decisions(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("decisions.py", ["--days", "150"], monkeypatch, capsys)
    regret = dict(re.findall(r"^(.+): regret ([\d.]+)%", output, re.MULTILINE))
    assert float(regret["for the regret"]) < 0.8 * float(regret["least squares"])
    assert not list(tmp_path.iterdir())


@pytest.mark.soak
def test_decisions_on_the_electricity_market(monkeypatch, capsys, data_dir):
    arguments = ["--days", "100", "--data", str(data_dir)]
    output = run("decisions.py", arguments, monkeypatch, capsys)
    lost = re.findall(r"forecast ([\d.]+), learned ([\d.]+)", output)
    assert len(lost) == 3
    assert all(float(learned) < float(forecast) for forecast, learned in lost)


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_routes(monkeypatch, capsys, request, real):
    given = ["--data", str(request.getfixturevalue("data_dir"))] if real else []
    output = run("routes.py", given, monkeypatch, capsys)
    found = re.findall(r"^(.+): (\d+)% of the arcs", output, re.MULTILINE)
    right = {name: int(share) for name, share in found}
    assert right["distances"] < right["frequencies of arcs"] < right["learned"]


def test_own_structure(monkeypatch, capsys):
    output = run("own_structure.py", [], monkeypatch, capsys)
    overlap = dict(re.findall(r"^(.+?) +overlap ([\d.]+)$", output, re.MULTILINE))
    assert float(overlap["stretches"]) > float(overlap["moments one by one"]) + 0.2


def test_own_oracle(monkeypatch, capfd):
    output = run("own_oracle.py", [], monkeypatch, capfd)
    assert "of the best possible objective (converged" in output
    assert int(re.search(r"as by hand: (\d+)%", output)[1]) > 90
    assert float(re.search(r"worth of the plans: ([\d.]+) %", output)[1]) > 98


def test_solvers(monkeypatch, capsys):
    output = run("solvers.py", [], monkeypatch, capsys)
    assert re.search(r"^default .* within [\d.]+ % .* \(converged", output, re.MULTILINE)
    assert len(re.findall(r"^\w[\w ]+? +objective 0\.\d+$", output, re.MULTILINE)) == 4
    assert "(default)" in output


def test_paths(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("paths.py", [], monkeypatch, capsys)
    best = dict(re.findall(r"^(\w+) +\d+ models, best letter error +([\d.]+) %", output, re.M))
    assert set(best) == {"grid", "all", "run"}
    assert max(map(float, best.values())) < 60
    assert float(re.search(r"largest gap anywhere ([\d.]+) %", output)[1]) <= 10
    assert re.search(r"at alpha [\d.]+: within [\d.]+ % of the best possible", output)
    assert not list(tmp_path.iterdir())


def test_triplets(monkeypatch, capsys):
    output = run("triplets.py", [], monkeypatch, capsys)
    right = {n: float(v) for n, v in re.findall(r"^(.+?) +([\d.]+) % right$", output, re.M)}
    assert right["chance"] < right["logistic regression"] - 10 < right["BCFW"] - 20
    assert right["BCFW"] < right["the true metric"] < right["BCFW"] + 5
    assert right["dual extragradient"] == pytest.approx(right["BCFW"], abs=2)


def test_tours(monkeypatch, capsys):
    output = run("tours.py", [], monkeypatch, capsys)
    longer = [float(own) for own in re.findall(r"tours take ([\d.]+)% longer", output)]
    assert longer[1] < longer[0]
    assert output.count("converged") == 2
    assert 0 < int(re.search(r"(\d+) of 256 constraints", output)[1]) < 128


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.name)
def test_examples_are_short_and_for_the_gallery(file):
    text = file.read_text(encoding="utf-8")
    assert re.match(r'"""\n[A-Z].*\n=+\n', text)
    assert text.count("\n# %%\n") >= 2
    assert len(file.read_text(encoding="utf-8").splitlines()) < 120


def test_own_solver(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("ortools", "ortools.sat", "ortools.sat.python"):  # as good and slower to load
        monkeypatch.setitem(sys.modules, name, None)
    output = run("own_solver.py", [], monkeypatch, capsys)
    assert re.search(r"^by_highs: within .* of the best possible objective \(conv", output)
    regret = dict(re.findall(r"^(.+?) +regret ([\d.]+) %$", output, re.MULTILINE))
    assert float(regret["learned from decisions"]) < 10 < float(regret["regression"])
    assert not list(tmp_path.iterdir())


def test_snakes(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("snakes.py", ["--images", "60", "--length", "5"], monkeypatch, capsys)
    assert output.startswith("40 snakes to learn from, 20 to test on")
    right = [float(own) for own in re.findall(r"([\d.]+)% of the snakes' pixels", output)]
    assert len(right) == 3
    assert right[0] < right[1] < right[2]
    assert right[2] > 90
    assert not list(tmp_path.iterdir())


def test_multilabel(monkeypatch, capsys):
    output = run("multilabel.py", [], monkeypatch, capsys)
    assert output.startswith("300 samples to train on, 300 to test on, 6 labels")
    right = re.findall(r"pairs (\w+) .*all right +([\d.]+) %", output)
    assert [pairs for pairs, _ in right] == ["all", "tree", "None"]
    assert float(right[0][1]) > float(right[2][1])


def test_disulfides(monkeypatch, capsys):
    output = run("disulfides.py", [], monkeypatch, capsys)
    plain, learned = (float(own) for own in re.findall(r"([\d.]+) of the bonds", output))
    assert learned > plain + 0.1


def test_parsing(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("parsing.py", [], monkeypatch, capsys)
    assert "of the best possible objective (converged" in output
    assert float(re.search(r"^all +\d+ +([\d.]+)%", output, re.M)[1]) > 90
    assert not list(tmp_path.iterdir())


def test_strings(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("strings.py", [], monkeypatch, capsys)
    assert "of the best possible objective (converged" in output
    assert float(re.search(r"exactly right ([\d.]+)%", output)[1]) > 80
    assert int(re.search(r"^(\d+) of 20 words find", output, re.M)[1]) >= 15
    assert not list(tmp_path.iterdir())


def test_constituency(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("constituency.py", [], monkeypatch, capsys)
    assert float(re.search(r"^constituents +F1 .*\n\d+ +([\d.]+)%", output, re.M)[1]) > 95
    assert not list(tmp_path.iterdir())


def test_segments(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run("segments.py", [], monkeypatch, capsys)
    segments, chain = (float(own) for own in re.findall(r"([\d.]+)% of positions", output))
    assert segments > max(chain, 90)
    assert not list(tmp_path.iterdir())
