"""The command `maxmargin compare`."""

import json

import pytest

from maxmargin.cli.comparison.process import ComparisonRunError
from maxmargin.cli.main import main
from maxmargin.cli.runs import RunFolder

pytestmark = pytest.mark.usefixtures("tiny")


@pytest.fixture
def given(samples):
    """Arguments of a comparison that works."""
    return ["compare", "tiny", "--data", str(samples), "--sizes", "10,40"]


@pytest.fixture
def failing(made_up, monkeypatch):
    """As made_up, but no run of the perceptron succeeds."""
    import maxmargin.cli.comparison.run as module

    honest = module.run_in_process

    def run_in_process(request, **options):
        if request["run"] and request["run"]["solver"] == "perceptron":
            raise ComparisonRunError("no \x1b[31mluck")
        return honest(request, **options)

    monkeypatch.setattr(module, "run_in_process", run_in_process)


def test_a_comparison_by_the_command(samples, tmp_path, capsys):
    """For real: with processes, on data of its own for the test error."""
    out = tmp_path / "s"
    arguments = ["compare", "tiny", "--data", str(samples), "--test", str(samples), "--out"]
    settings = ["--solvers", "ssg", "--sizes", "20", "--max-epochs", "4", "--set", "ssg.alpha=0.5"]
    assert main([*arguments, str(out), *settings, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["comparison"] == str(out)
    assert printed["counts"]["test samples"] == 60
    row = printed["rows"][0]
    assert (row["solver"], row["size"], row["alpha"], row["n_epochs"]) == ("ssg", 20, 0.5, 4)
    assert row["n_oracle"] == 80
    assert row["memory_bytes"] >= 0
    assert printed["report"] == str(out / "report.html")
    assert "ssg" in (out / "report.html").read_text(encoding="utf-8")


def test_tables_and_progress(given, made_up, tmp_path, capsys):
    out = tmp_path / "s"
    assert main([*given, "--out", str(out), "--seeds", "2", "--alpha", "0.1"]) == 0
    told = capsys.readouterr()
    assert "ssg: alpha 0.1\n" in told.out
    assert "1.50 (1.50 to 1.50)" in told.out
    assert "1.5 ±0.7071" in told.out  # the objective
    assert "41.9" in told.out  # 40 MiB as MB
    assert "maxmargin: reading the data of 12 runs\n" in told.err
    assert "maxmargin: run 12 of 12: perceptron, size 40, seed 1; about" in told.err
    assert "run 12 of 12 done: perceptron, size 40, seed 1: 252.98 s, 3 epochs" in told.err


def test_quiet_keeps_the_table_only(given, made_up, tmp_path, capsys):
    assert main([*given, "--out", str(tmp_path / "s"), "--quiet"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "Growth" in told.out


def test_json_is_the_summary(given, made_up, tmp_path, capsys):
    out = tmp_path / "s"
    assert main([*given, "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((out / "comparison.json").read_text())
    assert {key: printed[key] for key in written} == written


def test_failed_runs_end_in_code_1(given, failing, tmp_path, capsys):
    assert main([*given, "--out", str(tmp_path / "s")]) == 1
    told = capsys.readouterr()
    assert "2 of 6 runs failed, first perceptron-10-0: no \\x1b[31mluck" in told.err
    assert "failed" in told.out
    assert "\x1b" not in told.out + told.err


def test_a_report_that_cannot_be_made_spoils_nothing(given, made_up, tmp_path, monkeypatch, capsys):
    def write_report(folder):
        raise OSError("no space")

    monkeypatch.setattr("maxmargin.cli.comparison.command.write_report", write_report)
    assert main([*given, "--out", str(tmp_path / "s")]) == 0
    told = capsys.readouterr()
    assert "the comparison is complete, but it has no report: no space" in told.err
    assert "Growth" in told.out


def test_resume_by_the_folder_alone(given, made_up, tmp_path, capsys):
    out = tmp_path / "s"
    more = ["--set", "bcfw.alpha=0.25", "--raise-at", "7", "--max-epochs", "3"]
    assert main([*given, "--out", str(out), *more]) == 0
    (out / "runs" / "bcfw-40-0.json").unlink()
    made_up.clear()
    assert main(["compare", "--resume", str(out)]) == 0
    assert [asked[:3] for asked in made_up] == [("bcfw", 40, 0)]
    made_up.clear()
    assert main([*given[:2], "--out", str(out), "--resume", "--seeds", "2"]) == 0
    assert len(made_up) == 6
    assert main([*given, "--out", str(out), "--resume", "--tol", "0.5"]) == 2
    assert "measured with other settings" in capsys.readouterr().err


def test_configuration_file(samples, made_up, tmp_path, capsys):
    config = tmp_path / "comparison.toml"
    (tmp_path / "words.txt").write_text("a\n")
    (tmp_path / "data.jsonl").write_bytes(samples.read_bytes())
    config.write_text(
        'task = "tiny"\ndata = ["data.jsonl"]\nsizes = [10, 40]\nalpha = 0.1\nmax-epochs = 9\n'
        '[solvers.bcfw]\n[solvers.lean]\nsolver = "dual-extragradient"\nalpha = 0\n'
        'memory = "low"\n[task-options]\nwords = "words.txt"\n'
    )
    out = tmp_path / "s"
    arguments = ["compare", "--config", str(config), "--out", str(out), "--max-epochs", "5"]
    assert main([*arguments, "--set", "lean.tol=0"]) == 0
    settings = json.loads((out / "comparison.json").read_text())["settings"]
    assert settings["bcfw"] == {"solver": "bcfw", "alpha": 0.1, "max-epochs": 5, "options": {}}
    assert settings["lean"] == {
        "solver": "dual-extragradient",
        "alpha": 0.0,
        "tol": 0.0,
        "max-epochs": 5,
        "options": {"memory": "low"},
    }
    told = "lean: solver dual-extragradient, alpha 0.0, tol 0.0, max-epochs 5, memory low"
    assert told in capsys.readouterr().out
    files = json.loads((out / "data.json").read_text())["files"]
    assert [file["name"] for file in files] == ["data.jsonl", "words.txt"]
    made_up.clear()
    assert (
        main(["compare", "--config", str(out / "comparison.toml"), "--out", str(tmp_path / "t")])
        == 0
    )
    assert len(made_up) == 4


def test_interrupted_comparison_says_how_to_go_on(given, tmp_path, made_up, monkeypatch, capsys):
    def run_in_process(request, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.cli.comparison.run.run_in_process", run_in_process)
    out = tmp_path / "a b"
    assert main([*given, "--out", str(out)]) == 130
    assert f"go on with: maxmargin compare --resume '{out}'" in capsys.readouterr().err


def test_locked_comparison_ends_in_code_3(given, made_up, tmp_path, capsys):
    (tmp_path / "s").mkdir()
    with RunFolder(tmp_path / "s").locked():
        assert main([*given, "--out", str(tmp_path / "s")]) == 3
    assert "in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, words",
    [
        ([], "--out COMPARISON is missing"),
        (["--sizes", "5,x"], "'5,x' is not a list of integers"),
        (["--sizes", "0", "--out", "s"], "sizes=0 must be an integer, 1 or more"),
        (["--sizes", "61", "--out", "s"], "size 61 is more than the 60 samples"),
        (["--solvers", "bcfw,,fw"], "has an empty name"),
        (["--solvers", "bcwf", "--out", "s"], "solver 'bcwf' is unknown (do you mean 'bcfw'?)"),
        (["--set", "alpha=1"], "is not SOLVER.NAME=VALUE"),
        (["--set", "fw.alpha=1", "--out", "s"], "the comparison has no solver 'fw', only"),
        (["--set", "bcfw.alhpa=1", "--out", "s"], "unknown option 'alhpa' (do you mean 'alpha'?)"),
        (["--seeds", "0"], "'0' is not an integer of 1 or more"),
        (["--data", "absent", "--out", "s"], "absent"),
        (["--config", "absent", "--out", "s"], "absent"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_ends_in_code_2(given, made_up, tmp_path, monkeypatch, capsys, more, words):
    monkeypatch.chdir(tmp_path)
    assert main([*given, *more]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") <= 2
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["compare"], "name a task"),
        (["compare", "--out", "s"], "name a task"),
        (["compare", "tinny", "--out", "s"], "there is no task 'tinny'; did you mean 'tiny'?"),
        (["compare", "--resume", "empty"], "holds no comparison"),
        (["compare", "--config", "odd.toml", "--out", "s"], "odd.toml is not TOML"),
        (["compare", "--config", "other.toml", "--out", "s"], "names no task"),
        (["compare", "tiny", "--config", "letters.toml", "--out", "s"], "for the task 'letters'"),
    ],
)
def test_wrong_configuration_ends_in_code_2(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd.toml").write_text("a = = 1")
    (tmp_path / "other.toml").write_text("alpha = 1")
    (tmp_path / "letters.toml").write_text('task = "letters"')
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_help_names_tasks_and_options(capsys):
    assert main(["compare", "--help"]) == 0
    told = capsys.readouterr().out
    assert "tiny" in told
    assert "maxmargin compare --resume comparison" in told
    assert main(["compare", "tiny", "--help"]) == 0
    told = capsys.readouterr().out
    assert "--raise-at" in told
    assert "--certify-every" in told
