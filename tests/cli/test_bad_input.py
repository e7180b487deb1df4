"""Wrong usage and bad files: one line each, and the right exit code."""

import json
import shutil

import pytest

from maxmargin.cli import main
from maxmargin.cli.runs import RunFolder


@pytest.fixture(scope="module")
def place(texts, model_file, tmp_path_factory):
    """Files and folders of every wrong kind, and a whole run."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copy(texts / "train.txt", folder / "train.txt")
    shutil.copy(model_file, folder / "whole.maxmargin")
    raw = model_file.read_bytes()
    (folder / "cut.maxmargin").write_bytes(raw[: len(raw) // 2])
    (folder / "text.maxmargin").write_text("no model")
    (folder / "empty.txt").write_text("")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 9)
    (folder / "folder").mkdir()
    (folder / "broken.toml").write_text("task = \n")
    (folder / "types.toml").write_text('task = "tagging"\nalpha = "much"\n')
    (folder / "keys.toml").write_text('task = "tagging"\nalhpa = 1.0\n')
    (folder / "task.toml").write_text('task = "taging"\n')
    (folder / "chain.toml").write_text('task = "chain"\n')
    (folder / "no_task.toml").write_text("alpha = 1.0\n")
    (folder / "options.toml").write_text('task = "tagging"\n[task-options]\nmin_count = 3\n')
    config = {"task": "tagging", "data": [str(folder / "train.txt")]}
    RunFolder(folder / "unfinished").create(config)
    broken = RunFolder(folder / "broken").create(config)
    (broken.path / "model.maxmargin").write_text("no model")
    damaged = RunFolder(folder / "damaged").create(config)
    (damaged.path / "config.toml").write_text("task = \n")
    return folder


TRAIN = "train tagging --data train.txt --out new"
CASES = [
    ("", "missing command"),
    ("trian", "there is no command 'trian'; did you mean 'train'?"),
    ("train", "name a task (tagging,"),
    ("train taging", "there is no task 'taging'; did you mean 'tagging'?"),
    ("train --alpha 3", "name a task"),
    ("train --resume new", "'new' does not exist"),
    ("train --resume folder", "'folder' is not a run folder"),
    ("train --resume train.txt", "'train.txt' is not a run folder"),
    ("train tagging --data train.txt", "--out RUN is missing"),
    ("train tagging --out new", "--data is missing"),
    ("train tagging --out new --data none.txt", "none.txt' does not exist"),
    ("train tagging --out new --data folder", "folder"),
    ("train tagging --out new --data empty.txt", "the file has no tokens"),
    ("train tagging --out new --data binary.txt", "binary.txt"),
    ("train tagging --out new --data", "'--data' requires an argument"),
    (f"{TRAIN} --validation none.txt", "none.txt' does not exist"),
    (f"{TRAIN} --colour red", "there is no option --colour"),
    (f"{TRAIN} --min-cuont 2", "did you mean --min-count"),
    (f"{TRAIN} --solver bfcw", "'bfcw' is unknown; did you mean 'bcfw'?"),
    (f"{TRAIN} --solver bcfw --solver-option chek_every=2", "did you mean 'check_every'?"),
    (f"{TRAIN} --solver-option 5", "is not name=value"),
    (f"{TRAIN} --loss haming", "haming"),
    (f"{TRAIN} --alpha -1", "'-1' is not a number of 0 or more"),
    (f"{TRAIN} --tol x", "'x' is not a number"),
    (f"{TRAIN} --max-epochs 1.5", "'1.5' is not an integer"),
    (f"{TRAIN} --threads 0", "'0' is not an integer of 1 or more"),
    (f"{TRAIN} --time-limit soon", "write 30, 90s, 5m or 2h"),
    (f"{TRAIN} --min-count many", "'many' is not a valid integer"),
    (f"{TRAIN} --separator comma", "use one of auto, tab, space"),
    (f"{TRAIN} --resume --force", "give one of them"),
    (f"{TRAIN} --config none.toml", "none.toml"),
    (f"{TRAIN} --config broken.toml", "broken.toml: is not TOML"),
    (f"{TRAIN} --config types.toml", "types.toml: alpha must be a number, found 'much'"),
    (
        f"{TRAIN} --config keys.toml",
        "'alhpa' is not a key of a configuration; did you mean 'alpha'?",
    ),
    (f"{TRAIN} --config options.toml", "did you mean 'min-count'?"),
    (f"{TRAIN} --config chain.toml", "is for the task 'chain', not 'tagging'"),
    ("train --config task.toml --out new", "did you mean 'tagging'?"),
    ("train --config no_task.toml --out new", "names no task"),
    ("train --config", "'--config' requires an argument"),
    ("train tagging --data train.txt --out train.txt", "a file is in its place"),
    ("train tagging --data train.txt --out unfinished", "has a run already"),
    ("predict", "missing argument 'RUN'"),
    ("predict none", "'none' does not exist"),
    ("predict folder train.txt", "'folder' is not a run folder"),
    ("predict unfinished train.txt", "has no model yet"),
    ("predict broken train.txt", "model.maxmargin"),
    ("predict damaged train.txt", "is not TOML"),
    ("predict cut.maxmargin train.txt", "cut.maxmargin"),
    ("predict text.maxmargin train.txt", "text.maxmargin"),
    ("predict train.txt", "train.txt"),
    ("predict whole.maxmargin none.txt", "none.txt"),
    ("predict whole.maxmargin folder", "folder"),
    ("predict whole.maxmargin train.txt --wirte only", "did you mean --write"),
    ("predict whole.maxmargin train.txt --out folder", "folder"),
    ("predict whole.maxmargin train.txt --out none/tagged.txt", "none/tagged.txt"),
    ("evaluate whole.maxmargin", "missing argument 'DATA...'"),
    ("evaluate whole.maxmargin none.txt", "none.txt"),
    ("evaluate whole.maxmargin folder", "folder"),
    ("evaluate whole.maxmargin empty.txt", "empty.txt"),
    ("evaluate unfinished train.txt", "has no model yet"),
    ("report", "missing argument"),
    ("report none", "'none' does not exist"),
    ("report train.txt", "'train.txt' is a file"),
    ("report folder", "folder"),
    ("info --colour", "there is no option --colour"),
    ("info now", "unexpected extra argument"),
]


@pytest.mark.parametrize("line, message", CASES, ids=[line or "nothing" for line, _ in CASES])
def test_one_line_and_code_2(place, monkeypatch, capsys, line, message):
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    code = main(line.split())
    printed = capsys.readouterr()
    assert message.lower() in printed.err.lower()
    assert code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("maxmargin: error: ")
    assert "bug" not in printed.err
    assert [path for path in sorted(place.rglob("*")) if path.name != ".lock"] == [
        path for path in before if path.name != ".lock"
    ]


def test_json_does_not_hide_errors(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main(["evaluate", "whole.maxmargin", "none.txt", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "none.txt" in printed.err


def test_a_failed_run_is_code_1(place, monkeypatch, capsys, tmp_path):
    summary = {"status": "failed", "message": "the weights are not finite after epoch 3"}
    monkeypatch.setattr("maxmargin.cli.train.run", lambda *args, **settings: summary)
    monkeypatch.setattr("maxmargin.cli.train.describe_summary", lambda *args: "")
    data = str(place / "train.txt")
    arguments = ["train", "tagging", "--data", data, "--out", str(tmp_path / "run"), "--json"]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "failed"
    assert printed.err == (
        "maxmargin: error: training failed: the weights are not finite after epoch 3\n"
    )
