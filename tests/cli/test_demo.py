"""`maxmargin demo`, on few words."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import main
from maxmargin.cli.demo import FIGURE, _differing, _marked

SMALL = ["demo", "--words", "60"]
CERTIFICATE = r"within [\d.e-]+ % of the best possible objective \((converged|max_epochs) after \d+"
PNG = b"\x89PNG\r\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def errors_of(output, name):
    (line,) = [
        line for line in output.splitlines() if line.startswith(f"  {name} ") and "%" in line
    ]
    return [float(number) for number in re.findall(r"([\d.]+) %", line)]


WRITTEN = {
    "report.html", "run/config.toml", "run/model.maxmargin", "run/summary.json",
    "run/evaluations/test-words.json", "test-words.npz", "train-words.npz",
}  # fmt: skip


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A folder in which the demo ran once, and what it printed; tests only repeat it there."""
    folder, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with chdir(folder), redirect_stdout(printed):
        assert main(SMALL) == 0
    return folder, printed.getvalue()


def test_demo_shows_certificate_errors_words_and_figure(shown):
    folder, output = shown
    assert re.search(CERTIFICATE, output)
    assert "Trained on 48 words" in output
    for name in ("per letter", "chain"):
        letters, words = errors_of(output, name)
        assert 0 < letters <= words <= 100
    measured = json.loads((folder / "demo-output/run/evaluations/test-words.json").read_text())
    values = {metric["name"]: metric["value"] for metric in measured["metrics"]}
    assert values["label error"] == pytest.approx(letters / 100, abs=5e-4)
    assert values["sequence error"] == pytest.approx(words / 100, abs=5e-4)
    assert re.search(r"^  truth +per letter +chain$", output, re.MULTILINE)
    figure = folder / "demo-output" / FIGURE
    assert str(figure.relative_to(folder)) in output
    assert figure.read_bytes().startswith(PNG)
    assert "Report: demo-output/report.html" in output
    page = (folder / "demo-output/report.html").read_text(encoding="utf-8")
    assert page.index("letters wrong") < page.index("best possible objective")
    assert files_in(folder / "demo-output") >= WRITTEN | {FIGURE}
    assert [path.name for path in folder.iterdir()] == ["demo-output"]


def test_demo_writes_to_demo_output_by_default_and_repeats(shown, monkeypatch, capsys):
    folder, output = shown
    monkeypatch.chdir(folder)
    model = folder / "demo-output/run/model.maxmargin"
    before = model.read_bytes()
    assert main(SMALL) == 0
    outputs = [re.sub(r"in [\d.]+ s", "", own) for own in (output, capsys.readouterr().out)]
    assert outputs[0] == outputs[1]
    assert model.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["demo-output"]


def test_what_is_no_demo_is_not_replaced(folder, capsys):
    (folder / "mine" / "run").mkdir(parents=True)
    (folder / "mine" / "run" / "model.maxmargin").write_text("mine")
    assert main([*SMALL, "--out", "mine"]) == 2
    assert "other files than a demo's" in capsys.readouterr().err
    assert files_in(folder) == {"mine/run/model.maxmargin"}


def test_the_seed_changes_the_words_and_out_the_folder(shown, folder, capsys):
    assert main([*SMALL, "--seed", "1", "--out", "pictures"]) == 0
    output = capsys.readouterr().out
    assert shown[1].split("differently")[1] != output.split("differently")[1]
    assert f"pictures/{FIGURE}" in output
    assert "Report: pictures/report.html" in output
    assert files_in(folder / "pictures") >= WRITTEN | {FIGURE}
    assert [path.name for path in folder.iterdir()] == ["pictures"]


def test_chains_beat_single_letters(folder, capsys):
    assert main(["demo", "--words", "500", "--seed", "4"]) == 0
    output = capsys.readouterr().out
    chain, letter = errors_of(output, "chain"), errors_of(output, "per letter")
    assert chain[0] < letter[0]
    assert chain[1] < letter[1]


def test_without_matplotlib_all_but_the_figure_works(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(SMALL) == 0
    output = capsys.readouterr().out
    assert re.search(CERTIFICATE, output)
    assert "pip install 'maxmargin[plot]'" in output
    assert files_in(folder / "demo-output") >= WRITTEN
    assert FIGURE not in files_in(folder / "demo-output")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--words", "3"], "'--words': '3' is not an integer from 20 to 20000"),
        (["--words", "many"], "'--words': 'many' is not an integer"),
        (["--seed", "-1"], "'--seed': '-1' is not an integer from 0 to"),
        (["--out", "file/below"], "cannot write to the folder 'file/below'"),
        (["--out", "file"], "cannot write to the folder 'file'"),
        (["--colour"], "there is no option --colour"),
    ],
)
def test_errors_are_one_line_and_code_2(folder, capsys, arguments, message):
    (folder / "file").write_text("not a folder")
    assert main(["demo", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("maxmargin: error: ")
    assert message in printed.err


def test_progress_is_on_stderr_also_when_it_is_no_terminal(folder):
    run = subprocess.run(
        [sys.executable, "-m", "maxmargin.cli", *SMALL],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])},
        timeout=1200,
        check=False,
    )
    assert run.returncode == 0
    assert "training the chain: epoch" in run.stderr
    assert "gap=" in run.stderr
    assert "Warning" not in run.stderr
    assert "training the chain" not in run.stdout
    assert re.search(CERTIFICATE, run.stdout)


def test_interruption_outside_training_ends_with_130(folder, capsys, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.datasets.make_words", interrupt)
    assert main(SMALL) == 130
    assert capsys.readouterr().err == "maxmargin: interrupted\n"


def test_wrong_letters_are_capitals():
    assert _marked(np.array(list("cast")), np.array(list("cost"))) == "cOst"


def test_words_shown_are_the_first_read_differently():
    one = [list("ab"), list("cd"), list("ef")]
    other = [list("ab"), list("cx"), list("yf")]
    assert _differing({"one": one, "other": other}) == [1, 2]
    assert _differing({"one": one, "other": one}) == [0, 1, 2]


def test_the_demo_of_parsing_writes_a_run_and_a_report_with_trees(folder, capsys):
    assert main(["demo", "parsing", "--words", "400", "--out", "trees"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"uas +(100|9\d)\.\d%", output), output
    assert re.search(CERTIFICATE, output)
    assert "<svg" in (folder / "trees" / "report.html").read_text(encoding="utf-8")
    assert main(["demo", "parsing", "--words", "80", "--out", "trees", "--seed", "1"]) == 0
