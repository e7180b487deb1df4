"""Finding, downloading and checking files; the network is always a stand-in."""

import gzip
import hashlib
import io
from dataclasses import replace
from urllib.error import URLError

import pytest

from maxmargin.datasets import _files, conll2000, load_conll2000, load_letters

TEXT = b"He PRP B-NP\nruns VBZ B-VP\n\n"


@pytest.fixture(autouse=True)
def sandbox(tmp_path, monkeypatch):
    """An empty cache, no data folder, and no network."""
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)

    def refuse(url, timeout):
        raise URLError("no route to host")

    monkeypatch.setattr(_files, "urlopen", refuse)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def serve(monkeypatch, raw):
    calls = []

    def reply(url, timeout):
        calls.append(url)
        return io.BytesIO(raw)

    monkeypatch.setattr(_files, "urlopen", reply)
    return calls


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("load", "name", "url"),
    [
        (
            load_letters,
            "ocr_letters/letter.data.gz",
            "http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
        ),
        (
            load_conll2000,
            "conll2000/train.txt.gz",
            "https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz",
        ),
    ],
)
def test_without_network_the_error_says_a_hint(cache, load, name, url):
    with pytest.raises(ConnectionError) as caught:
        load()
    message = str(caught.value)
    for part in (url, str(cache / name), "no route to host", "MAXMARGIN_DATA", "path="):
        assert part in message
    assert files_in(cache) == []


def test_download_is_checked_kept_and_used_again(cache, monkeypatch):
    monkeypatch.setattr(conll2000, "TRAIN_SHA256", hashlib.sha256(TEXT).hexdigest())
    calls = serve(monkeypatch, gzip.compress(TEXT, mtime=0))
    assert load_conll2000().tags == [["B-NP", "B-VP"]]
    assert files_in(cache) == [cache / "conll2000" / "train.txt.gz"]
    assert load_conll2000().tags == [["B-NP", "B-VP"]]
    assert calls == ["https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz"]


@pytest.mark.parametrize(
    "raw", [gzip.compress(TEXT, mtime=0), b"<html>Please log in</html>"], ids=["other", "page"]
)
@pytest.mark.parametrize("load", [load_letters, load_conll2000])
def test_other_content_is_refused_and_not_kept(cache, monkeypatch, raw, load):
    serve(monkeypatch, raw)
    with pytest.raises(ValueError, match="did not deliver the known") as caught:
        load()
    assert "Nothing was kept" in str(caught.value)
    assert "path=" in str(caught.value)
    assert files_in(cache) == []


def test_truncated_download_is_refused_and_not_kept(cache, monkeypatch):
    serve(monkeypatch, gzip.compress(TEXT, mtime=0)[:-9])
    with pytest.raises(ValueError, match="damaged gzip"):
        load_conll2000()
    assert files_in(cache) == []


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), KeyboardInterrupt()])
def test_interrupted_download_leaves_nothing_and_spares_the_old_file(cache, monkeypatch, error):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            if self.tell() >= 10:
                raise error
            return super().read(10)

    target = cache / "conll2000" / "train.txt.gz"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"old")
    monkeypatch.setattr(
        _files, "urlopen", lambda url, timeout: Broken(gzip.compress(TEXT, mtime=0))
    )
    with pytest.raises((ConnectionError, KeyboardInterrupt)):
        _files.download_file(conll2000.SOURCES["train"])
    assert files_in(cache) == [target]
    assert target.read_bytes() == b"old"


def test_nothing_appears_under_the_final_name_before_the_check(cache, monkeypatch):
    seen = []

    def check(raw, name):
        seen.append((cache / "conll2000" / "train.txt.gz").exists())

    serve(monkeypatch, gzip.compress(TEXT, mtime=0))
    path = _files.download_file(replace(conll2000.SOURCES["train"], check=check))
    assert seen == [False]
    assert path.exists()


def test_unwritable_cache_says_a_hint(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("MAXMARGIN_CACHE", str(blocker / "below"))
    with pytest.raises(OSError, match="set MAXMARGIN_CACHE"):
        load_conll2000()


def test_order_is_path_then_environment_then_cache(tmp_path, cache, monkeypatch):
    def put(folder, tag):
        folder.mkdir(parents=True)
        (folder / "train.txt").write_text(f"a DT {tag}\n")

    put(cache / "conll2000", "CACHE")
    assert load_conll2000().tags == [["CACHE"]]
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path / "shared"))
    assert load_conll2000().tags == [["CACHE"]]
    put(tmp_path / "shared" / "conll2000", "SHARED")
    assert load_conll2000().tags == [["SHARED"]]
    put(tmp_path / "own", "OWN")
    assert load_conll2000(path=tmp_path / "own").tags == [["OWN"]]


def test_a_wrong_path_never_downloads(tmp_path, monkeypatch):
    calls = serve(monkeypatch, b"")
    with pytest.raises(FileNotFoundError, match=r"no test.txt.gz or test.txt at .*conll2000/"):
        load_conll2000("test", tmp_path / "nowhere")
    assert calls == []


def test_damaged_local_gzip_is_named(tmp_path):
    file = tmp_path / "train.txt.gz"
    file.write_bytes(gzip.compress(TEXT, mtime=0)[:-9])
    with pytest.raises(ValueError, match="damaged gzip") as caught:
        load_conll2000(path=file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("platform", "variable", "tail"),
    [
        ("linux", "XDG_CACHE_HOME", ("maxmargin",)),
        ("win32", "LOCALAPPDATA", ("maxmargin",)),
        ("darwin", "HOME", ("Library", "Caches", "maxmargin")),
    ],
)
def test_default_cache_folder(tmp_path, monkeypatch, platform, variable, tail):
    monkeypatch.delenv("MAXMARGIN_CACHE")
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(_files.sys, "platform", platform)
    assert _files.cache_folder() == tmp_path.joinpath(*tail)
