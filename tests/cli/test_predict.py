"""`maxmargin predict`."""

import io
import os
import subprocess
import sys

import pytest

from cli.conftest import conll
from maxmargin.cli import main
from maxmargin.tasks import SequenceTagger


def columns(text):
    return [line.split() for line in text.splitlines()]


def test_a_model_file_is_enough(model_file, texts, capsysbinary):
    assert main(["predict", str(model_file), str(texts / "words.txt")]) == 0
    printed = capsysbinary.readouterr()
    rows = columns(printed.out.decode("utf-8"))
    truth = columns((texts / "dev.txt").read_text(encoding="utf-8"))
    assert [row[:1] for row in rows] == [row[:1] for row in truth]
    assert sum(a == b for a, b in zip(rows, truth, strict=True)) > 0.95 * len(rows)
    assert printed.err == b""


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_without_a_file_or_with_a_dash_stdin_is_read(
    model_file, texts, capsysbinary, monkeypatch, arguments
):
    assert main(["predict", str(model_file), str(texts / "words.txt")]) == 0
    expected = capsysbinary.readouterr().out
    words = io.BytesIO((texts / "words.txt").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(words, encoding="utf-8"))
    assert main(["predict", str(model_file), *arguments]) == 0
    assert capsysbinary.readouterr().out == expected


def test_options_of_the_task_say_how_files_are_read(model_file, texts, capsys):
    assert main(["predict", str(model_file), str(texts / "words.txt"), "--write", "only"]) == 0
    assert {row[0] for row in columns(capsys.readouterr().out) if row} <= {"D", "N", "V"}
    assert main(["predict", str(model_file), "--help"]) == 0
    text = capsys.readouterr().out
    assert "--write append|replace|only" in text
    assert "--min-count" not in text
    assert main(["predict", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "see `maxmargin predict RUN --help`" in text


def test_threads_and_the_best_taggings(model_file, texts, capsys, monkeypatch):
    arguments = ["predict", str(model_file), str(texts / "words.txt")]
    used = []
    predict = SequenceTagger.predict

    def watched(self, sentences):
        used.append((self.n_jobs, self.model_.n_jobs))
        return predict(self, sentences)

    monkeypatch.setattr(SequenceTagger, "predict", watched)
    assert main(arguments) == 0
    one = capsys.readouterr().out
    assert main([*arguments, "--threads", "2"]) == 0
    assert capsys.readouterr().out == one
    assert set(used) == {(None, None), (2, 2)}
    assert main(["evaluate", str(model_file), str(texts / "dev.txt"), "--threads", "3"]) == 0
    assert used[-1] == (3, 3)
    assert main([*arguments, "--threads", "0"]) == 2
    capsys.readouterr()
    assert main([*arguments, "--nbest", "2"]) == 0
    ranks = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line[:1] == "#"]
    assert ranks == ["0", "1"] * 30


def test_margins_that_are_not_calibrated_are_said_to_be_no_frequencies(model_file, texts, capsys):
    assert main(["predict", str(model_file), str(texts / "words.txt"), "--probabilities"]) == 0
    printed = capsys.readouterr()
    rows = [row for row in columns(printed.out) if row]
    assert {len(row) for row in rows} == {3}
    assert all(0 < float(row[2]) <= 1 for row in rows)
    assert printed.err.count("\n") == 1
    assert "is not calibrated" in printed.err
    assert "--objective likelihood" in printed.err


def test_a_file_of_predictions_appears_whole(model_file, texts, tmp_path, capsysbinary):
    out = tmp_path / "tagged.txt"
    assert main(["predict", str(model_file), str(texts / "words.txt")]) == 0
    expected = capsysbinary.readouterr().out
    assert main(["predict", str(model_file), str(texts / "words.txt"), "--out", str(out)]) == 0
    printed = capsysbinary.readouterr()
    assert out.read_bytes() == expected
    assert printed.out == b""
    assert printed.err.decode() == f"maxmargin: wrote 30 predictions to {out}\n"
    assert out.stat().st_mode & 0o777 == 0o666 & ~_mask()


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_failure_leaves_the_old_file_and_nothing_else(model_file, texts, tmp_path, capsys):
    out, bad = tmp_path / "tagged.txt", tmp_path / "bad.txt"
    out.write_text("old")
    bad.write_bytes(b"a b c d e f\n\n")
    arguments = ["predict", str(model_file), str(texts / "words.txt"), str(bad)]
    assert main([*arguments, "--out", str(out)]) == 2
    assert "bad.txt, line 1" in capsys.readouterr().err
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "tagged.txt"]


def test_what_is_read_is_not_written_over(model_file, texts, tmp_path, capsys):
    own = tmp_path / "words.txt"
    own.write_bytes((texts / "words.txt").read_bytes())
    (tmp_path / "link.txt").symlink_to(own)
    for source, out in ((own, own), (own, tmp_path / "link.txt"), (own, model_file)):
        before = out.read_bytes()
        assert main(["predict", str(model_file), str(source), "--out", str(out)]) == 2
        printed = capsys.readouterr().err
        assert f"{out} would be replaced, but is one of the files to read" in printed
        assert printed.count("\n") == 1
        assert out.read_bytes() == before


def test_a_pipe_that_is_closed_is_no_fault(model_file, tmp_path):
    long = tmp_path / "long.txt"
    long.write_text("the\ncat\n\n" * 20_000)
    reading, writing = os.pipe()
    run = subprocess.Popen(
        [sys.executable, "-m", "maxmargin.cli", "predict", str(model_file), str(long), "-q"],
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert os.read(reading, 9).startswith(b"the ")
    os.close(reading)
    _, errors = run.communicate(timeout=600)
    assert errors == b""
    assert run.returncode == 141


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_closed_stream_is_told(model_file, texts, monkeypatch, capsys, stream):
    inputs = [str(texts / "words.txt")] if stream == "stdout" else []
    monkeypatch.setattr(sys, stream, None)
    assert main(["predict", str(model_file), *inputs]) == 2
    assert f"{stream} is closed" in capsys.readouterr().err


def test_options_of_the_run_hold_unless_they_choose_samples(tmp_path):
    from maxmargin.cli.run_source import Source
    from maxmargin.cli.runs import RunFolder

    (tmp_path / "x.npz").touch()
    config = {
        "task": "chain",
        "data": [str(tmp_path / "x.npz")],
        "task-options": {
            "folds": ["0"],
            "image": "16x8",
            "objective": "likelihood",
            "probabilities": True,  # is asked for each time
        },
    }
    RunFolder(tmp_path / "run").create(config)
    source = Source(tmp_path / "run")
    told = {"objective": "likelihood", "calibrate": (), "probabilities": False}
    told |= {"kernel": "none", "gamma": 0.0, "degree": 3, "coef0": 1.0}
    told |= {"kernel-method": "exact", "kernel-size": 0, "many-labels": False}
    assert source.options({}) == {"folds": (), "image": "16x8", "write": "auto", **told}
    given = {"task_folds": ("1", "2"), "task_write": "npz", "task_probabilities": True}
    told["probabilities"] = True
    assert source.options(given) == {"folds": ("1", "2"), "image": "16x8", "write": "npz", **told}


def test_arrays_are_not_expected_of_tasks_that_write_lines(model_file, texts, tmp_path, capsys):
    out = tmp_path / "x.npz"
    assert main(["predict", str(model_file), str(texts / "words.txt"), "--out", str(out)]) == 2
    assert "the task tagging writes lines of text, not .npz files" in capsys.readouterr().err
    assert not out.exists()


def test_training_data_are_not_written_over(tmp_path, capsys):
    data, run = tmp_path / "train.txt", tmp_path / "run"
    data.write_text(conll(20), encoding="utf-8")
    train = ["train", "tagging", "--data", str(data), "--validation", str(data), "--out", str(run)]
    assert main([*train, "--max-epochs", "3"]) == 0
    assert "train.txt: is among the data, too" in capsys.readouterr().err
    before, new = data.read_bytes(), tmp_path / "new.txt"
    new.write_bytes(before)
    assert main(["predict", str(run), str(new), "--out", str(data)]) == 2
    assert "among the data that the run was trained on" in capsys.readouterr().err
    assert data.read_bytes() == before
    assert main(["predict", str(run), str(new), "--out", str(tmp_path / "out.txt")]) == 0
