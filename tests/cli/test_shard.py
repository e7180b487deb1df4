"""Large files cut into small ones."""

import gzip

import pytest

from maxmargin.cli.errors import UsageError
from maxmargin.cli.main import main
from maxmargin.cli.shard import parse_size, shard

TEXT = b"".join(b"w%d N\nv V\n\n" % k for k in range(30))


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_cut_after_sentences_and_lose_nothing(tmp_path, packed):
    path = tmp_path / "train.conll"
    path.write_bytes(gzip.compress(TEXT) if packed else TEXT)
    assert main(["shard", str(path), "--out", str(tmp_path / "out"), "--size", "60B"]) == 0
    files = sorted((tmp_path / "out").iterdir())
    parts = [own.read_bytes() for own in files]
    assert len(parts) > 3
    assert b"".join(parts) == TEXT
    assert all(own.endswith(b"\n\n") for own in parts)
    assert all(60 <= len(own) < 80 for own in parts[:-1])


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
