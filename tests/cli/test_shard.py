"""Large files cut into small ones."""

import gzip
import json

import pytest

from maxmargin.cli.errors import UsageError
from maxmargin.cli.main import main
from maxmargin.cli.shard import parse_size, shard
from maxmargin.parallel import ThreadEngine, engines
from maxmargin.tasks.tagging.shards import TextShards

TEXT = b"".join(b"w%d N\nv V\n\n" % k for k in range(30))


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_cut_after_sentences_and_lose_nothing(tmp_path, packed):
    path = tmp_path / ("my.train.conll.gz" if packed else "my.train.conll")
    path.write_bytes(gzip.compress(TEXT) if packed else TEXT)
    assert main(["shard", str(path), "--out", str(tmp_path / "out"), "--size", "60B"]) == 0
    files = sorted((tmp_path / "out").iterdir())
    parts = [own.read_bytes() for own in files]
    assert len(parts) > 3
    assert b"".join(parts) == TEXT
    assert {own.suffix for own in files} == {".conll"}
    assert all(own.endswith(b"\n\n") for own in parts)
    assert all(60 <= len(own) < 80 for own in parts[:-1])


def test_files_that_cannot_be_cut_small_are_told(tmp_path, capsys):
    path = tmp_path / "train.conll"
    path.write_bytes(TEXT.replace(b"\n\n", b"\n"))
    assert main(["shard", str(path), "--out", str(tmp_path / "out"), "--size", "60B"]) == 0
    assert f"bytes: {path} is cut after blank lines alone" in capsys.readouterr().err


def test_bio_is_refused_for_folders(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.conll").write_bytes(TEXT)
    command = ["train", "tagging", "--data", str(tmp_path / "in"), "--out", str(tmp_path / "run")]
    assert main([*command, "--bio"]) == 2
    assert "a folder of files takes no bio; leave that out" in capsys.readouterr().err


def test_what_cannot_be_cut(tmp_path):
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(UsageError, match="is empty"):
        shard(path, tmp_path / "out", "1MB")
    (tmp_path / "out" / "x").touch()
    with pytest.raises(UsageError, match="not empty"):
        shard(path, tmp_path / "out", "1MB")


@pytest.mark.parametrize(
    "text, size", [("7", 7), ("60B", 60), ("1.5KB", 1500), ("100MB", 10**8), ("2g", 2 * 10**9)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


def test_sizes_that_are_none():
    with pytest.raises(UsageError, match="such as 100MB"):
        parse_size("big")


def test_a_folder_of_files_is_learned_from_and_evaluated(tmp_path, capsys):
    (tmp_path / "train.conll").write_bytes(TEXT)
    main(["shard", str(tmp_path / "train.conll"), "--out", str(tmp_path / "in"), "--size", "60B"])
    found = {}
    for data in ("train.conll", "in"):
        run = tmp_path / f"run-{data}"
        options = ["--data", str(tmp_path / data), "--out", str(run), "--max-epochs", "20"]
        options += ["--engine", "threads", "--workers", "2"] if data == "in" else []
        assert main(["train", "tagging", *options]) == 0
        found[data] = json.loads((run / "summary.json").read_text())
        scores = json.loads((run / "evaluations" / "train.json").read_text())
        assert scores["data"]["sentences"] == 30
        assert scores["error"] == 0.0
    one, two = found.values()
    assert two["n_weights"] == one["n_weights"]
    assert two["dual"] <= one["primal"] + 1e-9
    assert one["dual"] <= two["primal"] + 1e-9
    assert any("rounds of several workers" in own["title"] for own in two["tables"])
    assert not [own for own in (tmp_path / "in").iterdir() if own.name.startswith(".")]
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run-in"), str(tmp_path / "in"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["sentences"] == 30
    assert main(["evaluate", str(tmp_path / "run-in"), str(tmp_path / "in")]) == 0
    assert capsys.readouterr().out.startswith("On in (30 sentences, 60 tokens, 2 tags):")


def test_a_folder_of_files_is_not_cut_into_folds(tmp_path, capsys):
    (tmp_path / "train.conll").write_bytes(TEXT)
    main(["shard", str(tmp_path / "train.conll"), "--out", str(tmp_path / "in"), "--size", "60B"])
    options = ["--data", str(tmp_path / "in"), "--out", str(tmp_path / "run"), "--alpha", "auto"]
    assert main(["train", "tagging", *options]) != 0
    assert "give a number for alpha" in capsys.readouterr().err


def test_all_fits_of_a_run_have_one_engine_which_ends_with_it(tmp_path, monkeypatch):
    begun, ended = set(), []

    class Watched(ThreadEngine):
        def submit(self, worker, function, *arguments):
            begun.add(self)
            return super().submit(worker, function, *arguments)

        def close(self):
            ended.append(self)
            super().close()

    monkeypatch.setattr(engines, "ThreadEngine", Watched)
    (tmp_path / "train.conll").write_bytes(TEXT)
    files = ["--data", str(tmp_path / "train.conll"), "--out", str(tmp_path / "run")]
    options = ["--engine", "threads", "--alpha", "auto", "--max-epochs", "2"]
    assert main(["train", "tagging", *files, *options]) == 0
    assert list(begun) == ended


def test_files_are_a_sequence_of_sentences(tmp_path):
    (tmp_path / "train.conll").write_bytes(TEXT)
    main(["shard", str(tmp_path / "train.conll"), "--out", str(tmp_path / "in"), "--size", "60B"])
    (tmp_path / "in" / ".hidden").write_text("not a sentence")
    shards = TextShards([tmp_path / "in"])
    assert len(shards) == 30
    assert [sentence[0] for sentence in shards] == [f"w{k}" for k in range(30)]
    assert shards[-1] == ["w29", "v"]
    assert shards.read_tags() == [["N", "V"]] * 30
    with pytest.raises(IndexError):
        shards[30]
    with pytest.raises(ValueError, match="name one at least"):
        TextShards([tmp_path / "in" / ".hidden"])
