"""The file: written whole or not at all, and refused with a plain message unless it is right."""

import errno
import hashlib
import io
import json
import os
import stat
import zipfile
import zlib

import numpy as np
import pytest

import maxmargin
from maxmargin import ChainSVM
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import archive, model_file
from persistence.model_files import contents, made, write_file


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "tagger.mm"
    made("words")[0].save(path)
    return path


# -- writing ---------------------------------------------------------------------------------------
def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["fsync", "replace", "write_array"])
@pytest.mark.parametrize("failure, error", [(full_disk, OSError), (killed, KeyboardInterrupt)])
@pytest.mark.parametrize("older", [True, False])
def test_an_error_while_writing_changes_nothing(
    place, failure, error, older, tmp_path, monkeypatch
):
    path = tmp_path / "model.mm"
    if older:
        ChainSVM(alpha=0.5).save(path)
    before = path.read_bytes() if older else None
    targets = {
        "fsync": (os, "fsync"),
        "replace": (os, "replace"),
        "write_array": (model_file, "write_array"),
    }
    model, _ = made("chains")
    with monkeypatch.context() as patch:
        patch.setattr(*targets[place], failure)
        with pytest.raises(error) as seen:
            model.save(path)
    if error is OSError:
        assert seen.value.errno == errno.ENOSPC
        assert "the disk is full. Nothing was changed." in str(seen.value)
    assert os.listdir(tmp_path) == (["model.mm"] if older else [])
    if older:
        assert path.read_bytes() == before
        assert maxmargin.load(path).alpha == 0.5


class SmallDisk(io.FileIO):
    """A file on a disk with room for a number of bytes."""

    room = 0

    def write(self, data):
        if self.tell() + len(data) > self.room:
            full_disk()
        return super().write(data)


def test_a_disk_that_fills_up_at_any_point(tmp_path, monkeypatch):
    path = tmp_path / "model.mm"
    ChainSVM(alpha=0.5).save(path)
    before = path.read_bytes()
    model, _ = made("chains")
    model.save(tmp_path / "other.mm")
    size = os.path.getsize(tmp_path / "other.mm")
    (tmp_path / "other.mm").unlink()
    for room in [0, 1, 50, *range(100, size, 97), size - 30, size - 1]:
        with monkeypatch.context() as patch:
            patch.setattr(SmallDisk, "room", room)
            patch.setattr("pathlib.Path.open", lambda path, mode: SmallDisk(path, mode[0]))
            with pytest.raises(OSError, match="the disk is full. Nothing was changed"):
                model.save(path)
        assert os.listdir(tmp_path) == ["model.mm"]
    assert path.read_bytes() == before


def test_data_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (events.append("fsync"), fsync(f)))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("replace"), replace(a, b)))
    ChainSVM().save(tmp_path / "model.mm")
    assert events[:2] == ["fsync", "replace"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*models'; make it first"):
        ChainSVM().save(tmp_path / "models" / "model.mm")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"file' is not a folder"):
        ChainSVM().save(tmp_path / "file" / "model.mm")
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file"):
        ChainSVM().save(tmp_path)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_read_only_folder_is_named(code, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(OSError, match=r"the folder .* (may not be written to|is on a read-only)"):
        ChainSVM().save(tmp_path / "model.mm")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_is_really_read_only(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(PermissionError, match="may not be written to"):
            ChainSVM().save(tmp_path / "model.mm")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_links_are_followed(tmp_path):
    real, link = tmp_path / "real.mm", tmp_path / "link.mm"
    real.touch()
    try:
        link.symlink_to(real)
    except OSError:
        pytest.skip("no links on this system")
    ChainSVM(alpha=2.0).save(link)
    assert link.is_symlink()
    assert maxmargin.load(real).alpha == 2.0


def test_paths_may_be_text_and_start_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    ChainSVM(alpha=3.0).save("~/model.mm")
    assert maxmargin.load(str(tmp_path / "model.mm")).alpha == 3.0
    assert maxmargin.load("~/model.mm").alpha == 3.0


def test_the_header_names_format_version_and_class(saved):
    header, members = contents(saved)
    assert header["format"] == "maxmargin model"
    assert header["version"] == 1
    assert header["library"] == maxmargin.__version__
    assert header["class"] == "SequenceTagger"
    for name, metrics in header["members"].items():
        assert metrics["sha256"] == hashlib.sha256(members[name]).hexdigest()
        assert metrics["bytes"] == len(members[name])
    with zipfile.ZipFile(saved) as found:
        assert {info.date_time for info in found.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_zeros_take_no_room(tmp_path):
    model = ChainSVM()
    model.coef_ = np.zeros(1_000_000)
    model.coef_[::1000] = 1.0
    model.save(tmp_path / "model.mm")
    assert os.path.getsize(tmp_path / "model.mm") < 100_000


# -- refusals --------------------------------------------------------------------------------------
def refused(path, message, **options):
    with pytest.raises(ModelFileError, match=message) as seen:
        maxmargin.load(path, **options)
    assert repr(str(path)) in str(seen.value)


def test_files_that_cannot_be_opened_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        maxmargin.load(tmp_path / "missing.mm")
    with pytest.raises(IsADirectoryError, match="it is a folder, not a model file:"):
        maxmargin.load(tmp_path)
    for name in ("checkpoint.maxmargin", "model.maxmargin"):
        (tmp_path / name).touch()
    with pytest.raises(IsADirectoryError, match=r"load the file in it, load\(.*model.maxmargin'\)"):
        maxmargin.load(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"PK", b"\x80\x05]\x94.", b"coef_ = 1\n" * 50, b"\0" * 5000])
def test_other_files(raw, tmp_path):
    path = tmp_path / "other.mm"
    path.write_bytes(raw)
    refused(path, "is not a model file, or is damaged or cut short")


def test_other_archives(tmp_path):
    path = tmp_path / "other.mm"
    np.savez(path.with_suffix(".npz"), coef=np.ones(3))
    refused(path.with_suffix(".npz"), "it has a member 'coef.npy', which no model file has")
    with zipfile.ZipFile(path, "w") as found:
        found.writestr("a0.npy", b"")
    refused(path, "it has no header.json")
    for header in (b"[]", b"{}", b'{"format": "another model"}'):
        refused(write_file(path, header, {}), "it is not a model of maxmargin")
    for header in (b"{", b"\xff", b'{"format": 1' + b"0" * 5000 + b"}"):
        refused(write_file(path, header, {}), "is not a model file, or is damaged")


def test_a_newer_format_asks_for_an_upgrade(saved, tmp_path):
    header, members = contents(saved)
    header |= {"version": 2, "library": "7.1.0", "more": "things"}
    path = write_file(tmp_path / "newer.mm", header, members, comment="of another kind")
    refused(path, r"written by maxmargin 7\.1\.0 in format 2; .* Upgrade: pip install")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"version": 0}, "does not follow the format"),
        ({"version": "1"}, "does not follow the format"),
        ({"version": True}, "does not follow the format"),
        ({"more": 1}, "does not follow the format"),
        ({"members": []}, "does not follow the format"),
        ({"model": [1]}, "does not follow the format"),
        ({"class": "ChainSVM"}, "names another class"),
        ({"members": {}}, "its members are not those"),
    ],
)
def test_headers_that_are_wrong(change, message, saved, tmp_path):
    header, members = contents(saved)
    refused(write_file(tmp_path / "wrong.mm", header | change, members), message)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bytes": 10}, "differ on the size"),
        ({"bytes": 1e9}, "does not describe a0.npy"),
        ({"sha256": "0" * 64}, "a0.npy is damaged"),
        ({"sha256": None}, "does not describe a0.npy"),
        ({"dtype": "|O"}, "has the type '|O', which is not allowed"),
        ({"dtype": "<U4"}, "not allowed"),
        ({"dtype": "i4,i4"}, "not allowed"),
        ({"dtype": "<f3"}, "cannot be loaded|is damaged"),
        ({"shape": [1 << 60, 1 << 60]}, "does not go with its type"),
        ({"shape": [-1]}, "impossible shape"),
        ({"shape": [True]}, "impossible shape"),
        ({"shape": ["3"]}, "impossible shape"),
        ({"fortran": 0}, "does not describe a0.npy"),
        ({"more": 0}, "does not describe a0.npy"),
    ],
)
def test_facts_of_arrays_that_are_wrong(change, message, saved, tmp_path):
    header, members = contents(saved)
    header["members"]["a0.npy"] |= change
    refused(write_file(tmp_path / "wrong.mm", header, members), message)


def test_an_array_of_objects_is_never_unpickled(saved, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.abort, ()

    path = tmp_path / "trap.npy"
    np.save(path, np.array([Trap()], dtype=object), allow_pickle=True)
    header, members = contents(saved)
    members["a0.npy"] = path.read_bytes()
    metrics = {"bytes": len(members["a0.npy"]), "dtype": "|O", "shape": [1]}
    metrics["sha256"] = hashlib.sha256(members["a0.npy"]).hexdigest()
    header["members"]["a0.npy"] |= metrics
    refused(write_file(tmp_path / "wrong.mm", header, members), "not allowed")


def test_one_byte_of_an_array(saved, tmp_path):
    header, members = contents(saved)
    data = bytearray(members["a1.npy"])
    data[-1] ^= 1
    members["a1.npy"] = bytes(data)  # zip's own checksum is right, ours is not
    refused(write_file(tmp_path / "wrong.mm", header, members), "a1.npy is damaged")


def test_one_byte_of_the_header(saved, tmp_path):
    header, members = contents(saved)
    right = hashlib.sha256(json.dumps(header).encode()).hexdigest()
    header["model"]["options"]["tol"] = 0.5
    path = write_file(
        tmp_path / "wrong.mm", header, members, f"maxmargin model, sha256 of the header: {right}"
    )
    refused(path, "header is damaged")


@pytest.mark.parametrize(
    "name", ["../a0.npy", "/a0.npy", "C:\\a0.npy", "x/a0.npy", "a00.npy", "a.npy", "header.json/",
             "A0.npy", "a0.npy\0x", "a٣.npy", ""],
)  # fmt: skip
def test_members_of_other_names(name, saved, tmp_path):
    header, _ = contents(saved)
    path = tmp_path / "wrong.mm"
    with zipfile.ZipFile(path, "w") as found:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        found.writestr(info, b"x")
        found.writestr("header.json", json.dumps(header))
    refused(path, "it has a member .* which no model file has")


def test_missing_and_further_members(saved, tmp_path):
    header, members = contents(saved)
    fewer = {name: data for name, data in members.items() if name != "a2.npy"}
    refused(write_file(tmp_path / "fewer.mm", header, fewer), "its members are not those")
    more = members | {"a999.npy": b"x"}
    refused(write_file(tmp_path / "more.mm", header, more), "its members are not those")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(saved, tmp_path):
    header, members = contents(saved)
    path = write_file(tmp_path / "wrong.mm", header, members)
    with zipfile.ZipFile(path, "a") as found:
        found.writestr("a0.npy", members["a0.npy"])
    refused(path, "two members 'a0.npy'")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing(packing, saved, tmp_path):
    path = write_file(tmp_path / "wrong.mm", *contents(saved), packing=packing)
    refused(path, "packed in an unknown way")


def test_unpacked_members_are_fine(saved, tmp_path):
    path = write_file(tmp_path / "stored.mm", *contents(saved), packing=zipfile.ZIP_STORED)
    assert maxmargin.load(path).predict([["the", "cat"]]) == [["B-NP", "I-NP"]]


# -- bombs -----------------------------------------------------------------------------------------
def zeros_model(path, count):
    model = ChainSVM()
    model.dual_coef_ = np.zeros(count)
    model.save(path)


def test_what_unpacks_to_too_much_is_refused_with_a_hint(tmp_path):
    path = tmp_path / "zeros.mm"
    zeros_model(path, 100_000)
    refused(
        path, r"unpacks to 80\d{4} bytes, more than the 1000 allowed.*max_bytes=80", max_bytes=1000
    )
    assert len(maxmargin.load(path, max_bytes=1_000_000).dual_coef_) == 100_000


def test_the_limit_follows_the_size_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "zeros.mm"
    zeros_model(path, 1_000_000)
    monkeypatch.setattr(archive, "FREE_BYTES", 10_000)
    refused(path, f"more than the {100 * os.path.getsize(path)} allowed")


def grow_claim(path, name, size):
    """Make the directory of an archive claim another size of a member."""
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"PK\x01\x02", 0, raw.rindex(name.encode()))
    raw[at + 24 : at + 28] = size.to_bytes(4, "little")
    path.write_bytes(raw)


def test_claims_that_deflate_cannot_keep(saved, tmp_path):
    header, members = contents(saved)
    path = write_file(tmp_path / "wrong.mm", header, members)
    grow_claim(path, "a0.npy", 4_000_000_000)
    refused(path, "'a0.npy' claims more than it can hold")


def test_a_member_that_unpacks_to_more_than_it_claims(tmp_path):
    """Ten million zeros in a member that says, everywhere, that it has a hundred bytes."""
    path = tmp_path / "wrong.mm"
    zeros_model(path, 10)
    header, members = contents(path)
    size = len(members["a0.npy"])
    members["a0.npy"] += b"\0" * 10_000_000
    write_file(path, header, members)
    grow_claim(path, "a0.npy", size)
    import tracemalloc

    tracemalloc.start()
    try:
        refused(path, "damaged")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_headers_that_are_too_large_or_too_deep(saved, tmp_path):
    path = write_file(tmp_path / "large.mm", b" " * (model_file.MAX_HEADER + 1), {})
    refused(path, "header.json has more than")
    deep = b"[" * 100_000 + b"]" * 100_000
    refused(write_file(tmp_path / "deep.mm", deep, {}), "is not a model file, or is damaged")
    header, members = contents(saved)
    node = []
    for _ in range(200):
        node = [node]
    header["model"]["options"]["tol"] = node
    refused(write_file(tmp_path / "deep.mm", header, members), "nested too deeply")


def test_lists_that_would_fill_the_memory(saved, tmp_path):
    header, members = contents(saved)
    for node in (
        {"is": "count", "start": 0, "length": 1 << 40},
        {"is": "text_array", "dtype": "<U9999999", "shape": [100], "items": [""] * 100},
    ):
        header["model"]["options"]["tol"] = node
        refused(write_file(tmp_path / "large.mm", header, members), "more memory than allowed")


@pytest.mark.parametrize(
    "node, message",
    [
        ({"is": "pickle", "data": ""}, "unknown kind 'pickle'"),
        ({"is": ["tuple"], "items": []}, "unknown kind"),
        ({"isnt": "tuple"}, "unknown kind 'None'"),
        ({"is": "object", "class": "os.system", "facts": {}}, "'os.system', which this version"),
        ({"is": "object", "class": "user:Trap", "facts": {}}, "'Trap', which is not a class"),
        ({"is": "object", "class": ["BCFW"], "facts": {}}, "this version does not know"),
        ({"is": "object", "class": "BCFW", "options": {"speed": 1}, "facts": {}}, "no option 'spe"),
        ({"is": "object", "class": "TopK", "options": {}, "facts": {}}, "lacks its option"),
        ({"is": "object", "class": "BCFW", "options": {}, "facts": {"run": 1}}, "'run' is not an"),
        ({"is": "object", "class": "BCFW", "options": {}, "facts": {"__class__": 1}}, "__class__"),
        ({"is": "object", "class": "Status", "options": {"a": 1}, "facts": {}}, "has no options"),
        ({"is": "object", "class": "Status", "facts": {"value": "great"}}, "do not make a model"),
        ({"is": "object", "class": "Record", "facts": {"epoch": 1}}, "do not make a model"),
        ({"is": "object", "class": "Atom", "facts": {"speed": 1}}, "not an attribute that a Atom"),
        ({"is": "array", "member": "a77.npy"}, "do not make a model"),
        ({"is": "array", "member": ["a0.npy"]}, "do not make a model"),
        ({"is": "array", "member": "a0.npy", "more": 1}, "do not make a model"),
        ({"is": "dict", "keys": [[]], "values": [1]}, "do not make a model"),
        ({"is": "dict", "keys": [1, 2], "values": [1]}, "do not make a model"),
        ({"is": "dict", "keys": 5, "values": 5}, "where a list belongs"),
        ({"is": "float", "value": "1e3"}, "do not make a model"),
        ({"is": "scalar", "dtype": "|O", "value": "00" * 8}, "not allowed"),
        ({"is": "scalar", "dtype": "<f8", "value": "00"}, "do not make a model"),
        ({"is": "text_array", "dtype": "<U3", "shape": [1], "items": [3]}, "a text belongs"),
        ({"is": "csr_array", "shape": [1, 1], "data": 1, "indices": 1, "indptr": 1}, "lacks its"),
        ({"is": "generator", "state": {"is": "dict", "keys": ["bit_generator"],
                                       "values": ["default_rng"]}}, "unknown kind"),
        ({"is": "count", "start": 0, "length": "a"}, "impossible"),
        (float("nan"), "JSON does not know"),
    ],
)  # fmt: skip
def test_nodes_that_are_wrong(node, message, saved, tmp_path):
    header, members = contents(saved)
    header["model"]["options"]["tol"] = node
    refused(write_file(tmp_path / "wrong.mm", header, members), message)


def test_generators_that_would_read_beyond_their_state(tmp_path):
    ChainSVM(random_state=np.random.RandomState(0)).save(tmp_path / "model.mm")
    header, members = contents(tmp_path / "model.mm")
    inner = header["model"]["options"]["random_state"]["state"]["values"][1]
    inner["values"][inner["keys"].index("pos")] = 1_000_000
    refused(write_file(tmp_path / "wrong.mm", header, members), "out of its range")


def test_features_must_be_as_many_as_the_index_has(saved, tmp_path):
    """Kernels trust these numbers."""
    header, members = contents(saved)
    metrics = header["model"]["facts"]["features_"]["facts"]
    metrics["n_features_"] -= 1
    refused(write_file(tmp_path / "wrong.mm", header, members), "differ in the number of features")
    metrics["index_"]["facts"]["n_features"] -= 1
    refused(write_file(tmp_path / "wrong.mm", header, members), "do not go with its number")


def test_keys_said_twice(saved, tmp_path):
    header, members = contents(saved)
    raw = json.dumps(header).replace('"tol": ', '"alpha": 0.5, "tol": ', 1).encode()
    refused(write_file(tmp_path / "wrong.mm", raw, members), "the same thing twice")


def test_options_that_came_later_get_their_defaults(saved, tmp_path):
    header, members = contents(saved)
    del header["model"]["options"]["n_jobs"], header["model"]["options"]["tol"]
    again = maxmargin.load(write_file(tmp_path / "older.mm", header, members))
    assert (again.n_jobs, again.tol) == (None, 0.05)


def test_bools_are_true_or_false(tmp_path):
    model = ChainSVM()
    model.coef_ = np.ones(3, dtype=bool)
    model.save(tmp_path / "model.mm")
    header, members = contents(tmp_path / "model.mm")
    members["a0.npy"] = members["a0.npy"][:-1] + b"\x07"
    header["members"]["a0.npy"]["sha256"] = hashlib.sha256(members["a0.npy"]).hexdigest()
    refused(write_file(tmp_path / "wrong.mm", header, members), "neither true nor false")


def test_zlib_is_what_packs(saved):
    """Deflate and nothing else, so that any zip program opens the file."""
    with zipfile.ZipFile(saved) as found:
        info = found.getinfo("header.json")
        raw = saved.read_bytes()[info.header_offset + 30 + len("header.json") :]
        text = zlib.decompress(raw[: info.compress_size], -15)
    assert json.loads(text)["format"] == "maxmargin model"
