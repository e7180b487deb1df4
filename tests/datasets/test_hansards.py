"""load_hansards and load_alignment: the real files' counts, the original release, errors."""

import io
import tarfile
from urllib.error import URLError

import pytest

from maxmargin.cli.info import _found_in
from maxmargin.datasets import _files, hansards, load_alignment, load_hansards


@pytest.fixture(autouse=True)
def sandbox(tmp_path, monkeypatch):
    """An empty cache, no data folder, and no network."""
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXMARGIN_DATA", raising=False)

    def refuse(url, timeout):
        raise URLError("no route to host")

    monkeypatch.setattr(_files, "urlopen", refuse)


def counts(bunch):
    n_sure = sum(len(sure) for sure, _ in bunch.links)
    n_possible = sum(len(possible) for _, possible in bunch.links) - n_sure
    sides = (sum(map(len, side)) for side in zip(*bunch.pairs, strict=True))
    return len(bunch.pairs), n_sure, n_possible, *sides


@pytest.mark.parametrize(
    "subset, expected",
    [("dev", (37, 338, 1446, 661, 721)), ("train", (100, 949, 2400, 1509, 1655))],
)
def test_published_counts(data_dir, subset, expected):
    bunch = load_hansards(subset, data_dir)
    assert counts(bunch) == expected
    assert bunch.numbers == list(range(1, expected[0] + 1))
    assert all(sure <= possible for sure, possible in bunch.links)
    few = load_hansards(subset, data_dir / "hansards", n_pairs=3)
    assert (few.pairs, few.links, few.numbers) == (bunch.pairs[:3], bunch.links[:3], [1, 2, 3])


def test_the_release_s_own_trial_files_give_the_same(data_dir, tmp_path):
    folder = data_dir / "hansards"
    for name in ("trial.e", "trial.f", "dev.wa.nonullalign"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    trial, dev = load_hansards("dev", tmp_path), load_hansards("dev", folder)
    assert trial.links == dev.links
    assert trial.numbers == dev.numbers
    escapes = {"-LRB-": "(", "-RRB-": ")"}
    assert [([escapes.get(w, w) for w in e], f) for e, f in trial.pairs] == dev.pairs
    assert trial.pairs != dev.pairs


def test_parallel_text(data_dir):
    bunch = load_hansards("parallel", data_dir, n_pairs=1000)
    assert len(bunch.pairs) == 1000
    assert bunch.links is None
    assert max(len(side) for pair in bunch.pairs for side in pair) <= 26
    assert all(word == word.lower() and word.isascii() for pair in bunch.pairs for side in pair
               for word in side)  # fmt: skip


@pytest.mark.parametrize(
    "pair, n, n_sure, n_possible",
    [
        ("ro-en", 248, 6198, 0),
        ("zh-en", 450, 11238, 178),
        ("de-en", 100, 1232, 0),
        ("en-cs", 2500, 44292, 0),
        ("en-sv", 1164, 23766, 0),
        ("en-es", 100, 835, 0),
        ("en-pt", 100, 771, 0),
    ],
)
def test_counts_of_other_languages(data_dir, pair, n, n_sure, n_possible):
    assert counts(load_alignment(pair, data_dir))[:3] == (n, n_sure, n_possible)


def release(n=447, encoding="latin-1", start=1):
    """Files as in the shared task's test set: wrapped, Latin-1, zero-padded numbers, NULL links."""
    numbers = range(start, start + n)
    english = "".join(f"<s snum={k:04d}> word {k} </s>\n" for k in numbers)
    french = "".join(f"<s snum={k:04d}> mot né {k}  </s>\n" for k in numbers)
    links = "".join(f"{k:04d} 1 1 S\n{k:04d} 2 3 P\n{k:04d} 0 2 P\n" for k in numbers)
    return english.encode(), french.encode(encoding), links.encode()


def put(folder, names, contents):
    for name, raw in zip(names, contents, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


def archive_of(names, contents):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, raw in zip(names, contents, strict=True):
            member = tarfile.TarInfo(f"English-French/{name}")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    return out.getvalue()


IN_ARCHIVE = ("test/test.e", "test/test.f", "answers/test.wa.nonullalign")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("kind", ["flat", "unpacked", "archive", "archive in a folder"])
def test_original_release(tmp_path, kind, encoding):
    contents = release(encoding=encoding)
    path = tmp_path / "data"
    if kind == "flat":
        put(path / "hansards", hansards.TEST_FILES, contents)
    elif kind == "unpacked":
        put(path / "English-French", IN_ARCHIVE, contents)
    else:
        name = "English-French.test.tar.gz"
        put(path, [name], [archive_of(IN_ARCHIVE, contents)])
        path = path / name if kind == "archive" else path
    train, test = load_hansards("train", path), load_hansards("test", path)
    assert train.numbers == list(range(1, 101))
    assert test.numbers == list(range(101, 448))
    assert test.pairs[0] == (["word", "101"], ["mot", "né", "101"])
    assert test.links == [({(0, 0)}, {(0, 0), (1, 2)})] * 347


def test_trial_files_numbered_by_snum(tmp_path):
    put(tmp_path, ("trial/trial.e", "trial/trial.f", "trial/trial.wa"), release(37, start=1001))
    dev = load_hansards("dev", tmp_path)
    assert dev.numbers == list(range(1001, 1038))
    assert dev.links == [({(0, 0)}, {(0, 0), (1, 2)})] * 37


def test_download_is_checked_and_kept(tmp_path, monkeypatch):
    raw = archive_of(IN_ARCHIVE, release())
    monkeypatch.setattr(_files, "urlopen", lambda url, timeout: io.BytesIO(raw))
    with pytest.raises(ValueError, match=r"found .* \(447, 447, 447\), expected \(447, 4038, 13"):
        load_hansards("test")
    monkeypatch.setitem(hansards.COUNTS, "test", (447, 447, 447))
    assert len(load_hansards("test").pairs) == 347
    kept = tmp_path / "cache" / "hansards" / "English-French.test.tar.gz"
    assert kept.read_bytes() == raw
    monkeypatch.setattr(_files, "urlopen", None)
    assert len(load_hansards("train").pairs) == 100
    assert _found_in(tmp_path / "cache") == ["hansards (train, test)"]


@pytest.mark.parametrize("subset, part", [("dev", "trial"), ("train", "test"), ("test", "test")])
def test_without_network_the_error_says_a_hint(tmp_path, subset, part):
    name = f"English-French.{part}.tar.gz"
    with pytest.raises(ConnectionError, match="no route to host") as caught:
        load_hansards(subset)
    assert str(tmp_path / "cache" / "hansards" / name) in str(caught.value)
    with pytest.raises(FileNotFoundError, match="no files of subset") as caught:
        load_hansards(subset, tmp_path)
    assert f"https://web.eecs.umich.edu/~mihalcea/wpt/data/{name}" in str(caught.value)


def test_parallel_text_says_where_to_put_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="hansard36.en.gz and hansard36.fr.gz") as caught:
        load_hansards("parallel")
    for part in (str(tmp_path / "cache" / "hansards"), "MAXMARGIN_DATA", "path=", "isi.edu"):
        assert part in str(caught.value)
    put(tmp_path / "cache" / "hansards", hansards.PARALLEL, [b"a b\nc\n", b"d\ne\n"])
    assert load_hansards("parallel").pairs == [(["a", "b"], ["d"]), (["c"], ["e"])]
    assert load_hansards("parallel", n_pairs=1).numbers == [1]


@pytest.mark.parametrize(
    "change, message",
    [
        ({0: b"<s snum=0002> a b </s>\n"}, "number the sentences differently"),
        ({1: b"<s snum=0001> c d e </s>\n" * 2}, "dev.e has 1 lines, .*dev.f has 2"),
        ({2: b"0001 1 4 S\n"}, r"dev.wa.nonullalign: sample 0: link \(0, 3\) is out of range"),
        ({2: b"0001 1 1 S\n0009 1 1 S\n"}, r"dev.wa.nonullalign, line 2: found sentence 9"),
        ({2: b"0001 1 1 Q\n"}, r"dev.wa.nonullalign, line 1: found type 'Q'"),
    ],
)
def test_malformed_files_are_named(tmp_path, change, message):
    contents = dict(enumerate(release(1)))
    names = ("dev.e", "dev.f", "dev.wa.nonullalign")
    put(tmp_path, names, contents.values())
    assert len(load_hansards(path=tmp_path).pairs) == 1
    put(tmp_path, names, (contents | change).values())
    with pytest.raises(ValueError, match=message):
        load_hansards(path=tmp_path)


def test_bad_requests(tmp_path):
    with pytest.raises(ValueError, match="subset is 'valid', expected one of 'dev', 'train'"):
        load_hansards("valid")
    with pytest.raises(ValueError, match="n_pairs=-1 must not be negative"):
        load_hansards("dev", n_pairs=-1)
    put(tmp_path, hansards.TEST_FILES, release(100))
    with pytest.raises(ValueError, match="subset 'test' is sentences 101 to 447, .* no number 101"):
        load_hansards("test", tmp_path)
    put(tmp_path, ["x.tar.gz"], [b"no archive"])
    with pytest.raises(ValueError, match="not an archive of the shared task"):
        load_hansards("test", tmp_path / "x.tar.gz")
    put(tmp_path, ["x.tar.gz"], [archive_of(["README"], [b""])])
    with pytest.raises(ValueError, match="found neither test.e"):
        load_hansards("test", tmp_path / "x.tar.gz")


def test_alignment_of_own_files(tmp_path, monkeypatch):
    names = ("fr-en.fr", "fr-en.en", "fr-en.wa")
    put(tmp_path / "alignment_other", names, ["né là\n".encode(), b"born\n", b"1 1 1 S\n1 2 1 P\n"])
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    bunch = load_alignment("fr-en")
    assert bunch.pairs == [(["né", "là"], ["born"])]
    assert bunch.links == [({(0, 0)}, {(0, 0), (1, 0)})]
    assert _found_in(tmp_path) == ["alignment (fr-en)"]
    with pytest.raises(FileNotFoundError, match=r"no ro-en.ro, .*pairs found there: fr-en"):
        load_alignment()
    with pytest.raises(ValueError, match="pair is 'ro', expected two languages"):
        load_alignment("ro")
    put(tmp_path / "alignment_other", names[2:], [b"1 3 1 S\n"])
    with pytest.raises(ValueError, match=r"fr-en.wa: sample 0: link \(2, 0\) is out of range"):
        load_alignment("fr-en")
