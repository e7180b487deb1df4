"""From files to a model, predictions, metrics and a report, through the program."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import maxmargin
from maxmargin.cli import main
from maxmargin.cli.runs import RunFolder
from maxmargin.tasks import SequenceTagger


def program(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "maxmargin.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])},
        timeout=1200,
        check=False,
        **settings,
    )


def train(texts, run, *more):
    return main(["train", "tagging", "--data", str(texts / "train.txt"), "--out", str(run), *more])


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory):
    """A finished run; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert train(texts, folder, "--validation", str(texts / "dev.txt"), "-q", "--alpha", "0.1") == 0
    return folder


def test_the_summary_says_what_was_done_and_what_comes_next(texts, tmp_path, capsys):
    assert train(texts, tmp_path / "run", "--max-epochs", "3") == 0
    printed = capsys.readouterr()
    lines = dict(line.split("  ", 1) for line in printed.out.splitlines() if "  " in line.strip())
    assert "sequence tagging on train.txt (120 sentences," in lines["Trained"]
    assert "bcfw, alpha 0.0833" in lines["Method"]
    assert "% of the best possible objective" in lines["Certificate"]
    assert "token accuracy" in lines["On the data"]
    assert " %" in lines["On the data"]
    assert "model.maxmargin" in lines["Files"]
    assert re.fullmatch(r" *\d+\.\d s; \d+\.\d s of training, 3 passes.*", lines["Time"])
    for command in ("predict", "evaluate", "report"):
        assert f"  maxmargin {command} {tmp_path / 'run'}" in printed.out
    assert "training: epoch 3 of max 3" in printed.err


def test_quiet_says_nothing(texts, tmp_path, capsys):
    assert train(texts, tmp_path / "run", "-q", "--max-epochs", "2") == 0
    assert capsys.readouterr() == ("", "")


def test_json_is_the_summary_alone(texts, tmp_path, capsys):
    assert train(texts, tmp_path / "run", "--json", "--max-epochs", "2") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["task"] == "tagging"
    assert summary["n_epochs"] == 2
    assert summary["n_samples"] == 120
    assert summary["total_seconds"] > summary["seconds"]
    assert {"model.maxmargin", "config.toml"} <= set(summary["files"])


def test_all_that_counts_is_recorded(texts, run):
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["task"] == "tagging"
    assert config["data"] == [str(texts / "train.txt")]
    assert config["validation"] == [str(texts / "dev.txt")]
    assert config["alpha"] == 0.1
    assert config["loss"] == "hamming-sum"
    assert config["seed"] == 0
    assert config["task-options"]["min-count"] == 1


def test_a_recorded_configuration_repeats_the_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--config", str(run / "config.toml"), "--out", "again", "-q"]) == 0
    assert (tmp_path / "again/model.maxmargin").read_bytes() == (
        run / "model.maxmargin"
    ).read_bytes()


def test_the_command_line_counts_more_than_the_file_and_the_file_more_than_defaults(
    texts, tmp_path
):
    (tmp_path / "run.toml").write_text(
        f'task = "tagging"\ndata = ["{texts / "train.txt"}"]\nalpha = 0.5\nmax-epochs = 2\n'
        "[task-options]\nmin-count = 2\nbio = true\n[solver-options]\ncheck_every = 1\n"
        "[checkpoints]\nepochs = 1\n"
    )
    out = tmp_path / "run"
    arguments = ["train", "tagging", "--config", str(tmp_path / "run.toml"), "--out", str(out)]
    more = ["--alpha", "0.25", "--no-bio", "--solver", "fw", "-q"]
    assert main([*arguments, *more]) == 0
    config = RunFolder(out).config
    assert config["alpha"] == 0.25
    assert config["max-epochs"] == 2
    assert config["solver"] == "fw"
    assert "solver-options" not in config
    assert config["task-options"]["min-count"] == 2
    assert config["task-options"]["bio"] is False
    assert config["checkpoints"] == {"epochs": 1}
    assert RunFolder(out).read_json("summary.json")["solver"] == "fw"


def test_predict_and_evaluate_and_report(run, texts, tmp_path, capsys):
    assert main(["predict", str(run), str(texts / "words.txt"), "--write", "only"]) == 0
    tags = capsys.readouterr().out.split()
    tagged = (texts / "dev.txt").read_text(encoding="utf-8").splitlines()
    truth = [line.split()[1] for line in tagged if line]
    assert tags == truth
    assert main(["evaluate", str(run), str(texts / "dev.txt"), "--name", "held-out"]) == 0
    printed = capsys.readouterr()
    assert "token accuracy" in printed.out
    assert RunFolder(run).read_json("evaluations/held-out.json")["error"] == 0
    assert "held-out.json" in printed.err
    out = tmp_path / "report.html"
    assert main(["report", str(run), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(out)
    assert out.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_a_folder_that_may_not_be_written_to_is_a_warning(run, texts, capsys, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(RunFolder, "write_json", refuse)
    assert main(["evaluate", str(run), str(texts / "dev.txt")]) == 0
    printed = capsys.readouterr()
    assert "token accuracy" in printed.out
    assert printed.err.startswith("maxmargin: warning: not saved in ")


def test_an_existing_run_is_kept_unless_forced(run, texts, tmp_path, capsys):
    out = tmp_path / "run"
    assert train(texts, out, "-q", "--max-epochs", "1") == 0
    before = (out / "model.maxmargin").read_bytes()
    assert train(texts, out, "-q", "--max-epochs", "2") == 2
    printed = capsys.readouterr().err
    assert "--resume" in printed
    assert "--force" in printed
    assert (out / "model.maxmargin").read_bytes() == before
    assert train(texts, out, "-q", "--max-epochs", "2", "--force") == 0
    assert RunFolder(out).read_json("summary.json")["n_epochs"] == 2


def test_a_run_goes_on_to_a_further_limit_and_to_the_same_bits(texts, tmp_path, capsys):
    short, long = tmp_path / "short", tmp_path / "long"
    common = ("-q", "--tol", "0", "--checkpoint-epochs", "1")
    assert train(texts, long, *common, "--max-epochs", "6") == 0
    assert train(texts, short, *common, "--max-epochs", "3") == 0
    assert main(["train", "--resume", str(short)]) == 0
    assert "had ended already" in capsys.readouterr().out
    arguments = ["train", "tagging", "--out", str(short), "--resume", "-q"]
    assert main(["train", "-q", f"--resume={short}", "--max-epochs", "5"]) == 0
    assert main([*arguments, "--max-epochs", "6"]) == 0
    assert (short / "model.maxmargin").read_bytes() == (long / "model.maxmargin").read_bytes()
    assert main([*arguments, "--max-epochs", "4"]) == 2
    assert "come to epoch 6 already, beyond --max-epochs 4; give" in capsys.readouterr().err
    assert RunFolder(short).config["max-epochs"] == 6
    assert main([*arguments, "--checkpoint-seconds", "9"]) == 0
    assert RunFolder(short).config["checkpoints"] == {"seconds": 9.0, "epochs": 1}
    assert main([*arguments, "--alpha", "9"]) == 2
    assert "not 9.0; leave it out to resume" in capsys.readouterr().err


def test_a_run_goes_on_with_files_that_were_moved(texts, tmp_path, capsys):
    train_file = tmp_path / "here.txt"
    shutil.copy(texts / "train.txt", train_file)
    run = tmp_path / "run"
    first = ["train", "tagging", "--data", str(train_file), "--out", str(run), "-q"]
    assert main([*first, "--max-epochs", "2", "--tol", "0"]) == 0
    moved = train_file.rename(tmp_path / "there.txt")
    further = ["train", "--resume", str(run), "--max-epochs", "3", "-q"]
    assert main(further) == 2
    assert "here.txt" in capsys.readouterr().err
    assert main([*further, "--data", str(moved)]) == 0
    assert RunFolder(run).config["data"] == [str(moved)]
    moved.write_text("other X\n\n")
    assert main([*further[:3], "--max-epochs", "4", "--data", str(moved)]) == 2
    assert "has changed since" in capsys.readouterr().err


def test_a_solver_without_an_objective_is_shown_without_alpha_and_loss(texts, tmp_path, capsys):
    assert train(texts, tmp_path / "run", "--solver", "perceptron", "--max-epochs", "2") == 0
    (method,) = re.findall("Method.*", capsys.readouterr().out)
    assert "perceptron; " in method
    summary = RunFolder(tmp_path / "run").read_json("summary.json")
    assert (summary["alpha"], summary["loss"]) == (None, None)


def test_tags_that_a_scheme_forbids_are_told_in_words_of_the_command_line(tmp_path, capsys):
    (tmp_path / "odd.txt").write_text("a O\nb I-NP\n\n")
    data, out = str(tmp_path / "odd.txt"), str(tmp_path / "run")
    assert main(["train", "tagging", "--bio", "--data", data, "--out", out]) == 2
    assert "--no-bio" in capsys.readouterr().err


def test_a_likelihood_is_told_without_a_loss(texts, tmp_path, capsys):
    run, held_out = tmp_path / "run", tmp_path / "held_out.txt"
    odd = "the D\ncat D\n\nxyz UNSEEN\n\n"  # an error, and a tag that is not in the data
    held_out.write_text((texts / "dev.txt").read_text(encoding="utf-8") + odd, encoding="utf-8")
    assert train(texts, run, "--objective", "likelihood", "--calibrate", str(held_out)) == 0
    printed = capsys.readouterr().out
    lines = dict(line.split("  ", 1) for line in printed.splitlines() if "  " in line.strip())
    assert lines["Method"].strip().startswith("sdca, likelihood, alpha 0.00166667; ")
    assert "% of the best possible objective" in lines["Certificate"]
    assert ", from 31 samples; 1 with labels that are not in the data left" in lines["Calibrated"]
    assert "log loss" in lines["On the data"]
    assert "loss hamming" not in printed
    assert main(["predict", str(run), str(texts / "words.txt"), "--probabilities"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert {len(row) for row in rows} == {3}
    assert all(0.3 < float(row[2]) <= 1 for row in rows)  # the best of three
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "mean of -log P(true output)" in page
    assert "hamming" not in page.split('id="repeat"')[0]


def test_a_solver_that_cannot_is_refused(texts, tmp_path, capsys):
    more = ("--objective", "likelihood", "--solver", "bcfw", "--out", str(tmp_path / "run"))
    assert main(["train", "tagging", "--data", str(texts / "train.txt"), *more]) == 2
    printed = capsys.readouterr().err
    assert "likelihood" in printed
    assert "sdca" in printed
    assert not (tmp_path / "run").exists()


def test_a_missing_file_to_calibrate_on_is_told_at_once(texts, tmp_path, capsys):
    assert train(texts, tmp_path / "run", "--calibrate", str(tmp_path / "none.txt")) == 2
    assert "none.txt' does not exist" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_wrong_column_is_told_before_training(tmp_path, monkeypatch, capsys):
    out, data = tmp_path / "run", tmp_path / "words.txt"
    data.write_text("".join(f"NN word{k}\n\n" for k in range(1001)))
    arguments = ["train", "tagging", "--data", str(data), "--out", str(out), "--max-epochs", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(SequenceTagger, "fit", lambda *_: pytest.fail("it was trained"))
        assert main(arguments) == 2
        printed = capsys.readouterr().err
        assert (
            "1,001 different tags ('word0', 'word1', 'word10', ...): is this the right" in printed
        )
        assert "GiB of memory" in printed
        assert "--tag-column" in printed
        assert "add --many-labels" in printed
        assert not out.exists()
        patch.setattr("maxmargin.tasks.command.available_bytes", lambda: 2**20)
        data.write_text("".join(f"NN word{k}\n\n" for k in range(200)))
        assert main(arguments) == 2
        assert "200 different tags" in capsys.readouterr().err
    data.write_text("".join(f"NN word{k}\n\n" for k in range(20)))
    monkeypatch.setattr("maxmargin.tasks.command.MOST_LABELS", 10)
    assert main([*arguments, "-q"]) == 2
    assert main([*arguments, "-q", "--many-labels"]) == 0


def test_other_files_to_calibrate_on_after_those_failed(texts, tmp_path, monkeypatch, capsys):
    run, other = tmp_path / "run", tmp_path / "other.txt"
    odd = "the D\ncat D\n\n"  # an error
    other.write_text((texts / "dev.txt").read_text(encoding="utf-8") + odd, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(SequenceTagger, "calibrate", lambda *_: 1 / 0)
        assert train(texts, run, "-q", "--calibrate", str(texts / "dev.txt")) == 1
    history = (run / "history.jsonl").read_text(encoding="utf-8")
    assert main(["train", "-q", f"--resume={run}", "--calibrate", str(other)]) == 0
    assert (run / "history.jsonl").read_text(encoding="utf-8") == history
    files = json.loads((run / "data.json").read_text(encoding="utf-8"))["files"]
    assert [own["name"] for own in files] == ["train.txt", "other.txt"]
    capsys.readouterr()
    more = ["--calibrate", str(texts / "dev.txt")]
    assert main(["train", "-q", f"--resume={run}", *more]) == 2
    assert "leave it out to resume" in capsys.readouterr().err


def test_resume_without_a_run_begins_one(texts, tmp_path):
    assert train(texts, tmp_path / "run", "-q", "--max-epochs", "1", "--resume") == 0
    assert (tmp_path / "run" / "model.maxmargin").exists()


def test_bad_data_leave_no_folder_behind(texts, tmp_path, capsys):
    bad = tmp_path / "bad.txt"
    bad.write_text("a b\nc d e\n\n")
    out = tmp_path / "run"
    assert main(["train", "tagging", "--data", str(bad), "--out", str(out)]) == 2
    assert "bad.txt, line 2" in capsys.readouterr().err
    assert not out.exists()


def test_force_keeps_the_old_run_if_the_new_data_are_bad(texts, tmp_path):
    bad, out = tmp_path / "bad.txt", tmp_path / "run"
    bad.write_text("a b\nc d e\n\n")
    assert train(texts, out, "-q", "--max-epochs", "1") == 0
    assert main(["train", "tagging", "--data", str(bad), "--out", str(out), "--force"]) == 2
    assert RunFolder(out).model() is not None


@pytest.mark.parametrize("wrong", ["solver", "bio", "memory"])
def test_force_keeps_the_old_run_if_the_new_one_fails(texts, tmp_path, monkeypatch, capsys, wrong):
    def exhaust(*args):
        raise MemoryError

    out, odd = tmp_path / "run", tmp_path / "odd.txt"
    odd.write_text("a O\nb I-NP\n\n")
    assert train(texts, out, "-q", "--max-epochs", "1") == 0
    before = {p.name: p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name != ".lock"}
    more = {
        "solver": ["--objective", "likelihood", "--solver", "bcfw"],
        "bio": ["--bio", "--data", str(odd)],
        "memory": [],
    }[wrong]
    if wrong == "memory":
        monkeypatch.setattr(SequenceTagger, "fit", exhaust)
    assert train(texts, out, "--force", *more) == (1 if wrong == "memory" else 2)
    assert f"The older run in {out} is as it was." in capsys.readouterr().err
    after = {p.name: p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name != ".lock"}
    assert after == before
    assert [p.name for p in tmp_path.iterdir() if "run" in p.name] == ["run"]


def test_a_replacement_that_was_interrupted_goes_on(texts, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    common = ("-q", "--tol", "0", "--checkpoint-epochs", "1", "--max-epochs")
    assert train(texts, out, *common, "1") == 0
    old = (out / "model.maxmargin").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(SequenceTagger, "save", lambda *_: signal.raise_signal(signal.SIGINT))
        assert train(texts, out, *common, "3", "--force") == 130
    printed = capsys.readouterr().err
    assert f"go on with: maxmargin train --resume {out} --force" in printed
    assert "the older run stays in its place" in printed
    assert (out / "model.maxmargin").read_bytes() == old
    assert main(["train", "--resume", str(out), "--force", "-q"]) == 0
    assert RunFolder(out).read_json("summary.json")["n_epochs"] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert main(["train", "--resume", str(out), "--force", "-q"]) == 2
    assert "and there is none" in capsys.readouterr().err


def test_nothing_is_written_over_the_files_of_a_run(run, texts, tmp_path, capsys):
    words = shutil.copy(texts / "words.txt", tmp_path)
    before = (run / "model.maxmargin").read_bytes()
    (tmp_path / "alias").symlink_to(run / "model.maxmargin")
    for out in (run / "model.maxmargin", run / "evaluations" / "train.json", tmp_path / "alias"):
        assert main(["predict", str(run), str(words), "--out", str(out)]) == 2
        assert main(["report", str(run), "--out", str(out)]) == 2
        assert capsys.readouterr().err.count("is among the files of the run") == 2
    assert main(["predict", str(run), str(words), "--out", str(words)]) == 2
    assert "one of the files to read" in capsys.readouterr().err
    assert (run / "model.maxmargin").read_bytes() == before
    assert Path(words).read_bytes() == (texts / "words.txt").read_bytes()


def test_what_was_written_before_stays_if_the_new_fails(run, texts, tmp_path, monkeypatch):
    out, report = tmp_path / "tags.txt", tmp_path / "report.html"
    out.write_text("old")
    report.write_text("old")
    assert main(["evaluate", str(run), str(texts / "dev.txt"), "--name", "again"]) == 0
    saved = (run / "evaluations" / "again.json").read_bytes()
    monkeypatch.setattr(SequenceTagger, "predict", lambda *_: 1 / 0)
    monkeypatch.setattr("maxmargin.cli.report.write.run_report", lambda *_: 1 / 0)
    assert main(["predict", str(run), str(texts / "words.txt"), "--out", str(out)]) == 1
    assert main(["evaluate", str(run), str(texts / "dev.txt"), "--name", "again"]) == 1
    assert main(["report", str(run), "--out", str(report)]) == 1
    assert (out.read_text(), report.read_text()) == ("old", "old")
    assert (run / "evaluations" / "again.json").read_bytes() == saved
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "tags.txt"]


def test_files_that_were_there_survive_bad_data(texts, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "data.json").write_text("mine")
    assert train(texts, out, "-q") == 2
    assert (out / "data.json").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_is_no_data(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    arguments = ["--data", str(tmp_path / "pipe"), "--out", str(tmp_path / "run")]
    assert main(["train", "tagging", *arguments]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_locked_run_is_code_3(run, capsys):
    folder = RunFolder(run)
    with folder.locked():
        assert main(["train", "--resume", str(run)]) == 3
    assert f"process {os.getpid()}" in capsys.readouterr().err


def test_a_run_that_somebody_else_goes_on_with_is_left_alone(texts, tmp_path, monkeypatch):
    out, create, other = tmp_path / "run", RunFolder.create, RunFolder(tmp_path / "run")

    def create_and_lose(self, *args, **options):
        made = create(self, *args, **options)
        other._lock.__enter__()
        return made

    monkeypatch.setattr(RunFolder, "create", create_and_lose)
    assert train(texts, out, "-q") == 3
    other._lock.__exit__()
    assert sorted(path.name for path in out.iterdir()) == [".lock", "config.toml"]


def test_interruption_tells_how_to_go_on_from_anywhere(texts, tmp_path, monkeypatch):
    out = tmp_path / "a run"
    arguments = ["--data", texts / "train.txt", "--tol", "0", "--max-epochs", "1000000", "--out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin.cli", "train", "tagging", *arguments, "a run"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])},
    )
    until = time.monotonic() + 600
    while time.monotonic() < until and not (out / "history.jsonl").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert errors.splitlines()[-1].endswith("go on with: maxmargin train --resume 'a run'")
    summary = RunFolder(out).read_json("summary.json")
    assert (summary["status"], summary["message"][:9]) == ("interrupted", "by SIGINT")
    limit = summary["n_epochs"] + 5
    monkeypatch.chdir("/")
    again = ["train", "tagging", "--out", str(out), "--resume", "--max-epochs", str(limit), "-q"]
    assert main(again) == 0
    assert RunFolder(out).read_json("summary.json")["n_epochs"] == limit


def test_processes_of_their_own_in_plain_ascii(texts, tmp_path, monkeypatch):
    data = tmp_path / "odd.txt"
    text = (texts / "train.txt").read_text(encoding="utf-8")
    data.write_text(text + "\x1b[31m \u202eN\n\n漢字 \x1b[2J漢\n\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    first = program("train", "tagging", "--data", "odd.txt", "--out", "run", cwd=tmp_path)
    second = program("evaluate", "run", "odd.txt", cwd=tmp_path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "\\u202eN" in second.stdout
    assert "\\x1b[2J\\u6f22" in second.stdout
    assert "\x1b" not in first.stdout + first.stderr + second.stdout + second.stderr
