"""Arrays of .npz files: those of numpy are read as they are, all others are refused in words."""

import io
import zipfile

import numpy as np
import pytest

from maxmargin.formats.npz import NpzError, read_npz, write_npz

ARRAYS = {
    "floats": np.array([[1.5, -2], [0, np.pi]], dtype="f4"),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big": np.arange(4, dtype=">i2"),
    "texts": np.array(["é", "", "👩 x"]),
    "big_texts": np.array(["ab", "c"], dtype=">U2"),
    "bytes": np.array([b"ab", b"\xc3\xa9"]),
    "bools": np.array([True, False]),
    "none": np.empty((0, 3)),
    "one": np.array(7, dtype="u1"),
}


def packed(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    file.seek(0)
    return file


def member(head, data=b"", version=b"\x01\x00"):
    """A file of one member with a head of one's own."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        size = len(head).to_bytes(2 if version == b"\x01\x00" else 4, "little")
        archive.writestr("X.npy", b"\x93NUMPY" + version + size + head + data)
    file.seek(0)
    return file


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(save):
    found = read_npz(packed(save, **ARRAYS))
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        expected = np.char.decode(array, "utf-8") if name == "bytes" else array
        np.testing.assert_array_equal(found[name], expected)
        assert found[name].dtype.isnative


def test_what_is_written_numpy_reads_and_is_the_same_at_every_time(tmp_path):
    path, again = tmp_path / "a.npz", tmp_path / "b.npz"
    for place in (path, again):
        with place.open("wb") as sink:
            write_npz(sink, {"y": np.array(["a", "b"]), "lengths": np.arange(3)})
    assert path.read_bytes() == again.read_bytes()
    with np.load(path, allow_pickle=False) as found:
        assert found["y"].tolist() == ["a", "b"]
        assert found["lengths"].tolist() == [0, 1, 2]
    assert read_npz(path)["y"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "file, message",
    [
        (lambda: io.BytesIO(b"text"), "the input: not an .npz file, or damaged"),
        (lambda: packed(a=np.array([{}], dtype=object)), "array 'a' has type '.O'; save numbers"),
        (lambda: packed(a=np.zeros(2, dtype="c16")), "array 'a' has type"),
        (lambda: packed(a=np.zeros(2, dtype=[("x", "i4")])), "array 'a' is of a kind"),
        (lambda: member(b"__import__('os')"), "array 'X' is of a kind that is not read"),
        (lambda: member(b"{", version=b"\x03\x00"), "member 'X' is not an array as numpy.savez"),
        (lambda: member(b" " * 20000), "a head of 20000 bytes"),
        (
            lambda: member(b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }"),
            "needs 799999999992 bytes, the file has 0; it is damaged",
        ),
        (  # found in no time, whatever the number of digits
            lambda: member(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1" * 9000),
            "array 'X' is of a kind that is not read",
        ),
        (
            lambda: member(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1 2,), }"),
            "array 'X' is of a kind that is not read",
        ),
        (
            lambda: member(b"{'descr': '<U0', 'fortran_order': False, 'shape': (9999999999,), }"),
            "array 'X' has 9999999999 texts, all of them empty",
        ),
        (
            lambda: member(b"{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\x02"),
            "bools that are neither",
        ),
        (
            lambda: member(
                b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"\xff" * 4
            ),
            "characters that do not exist",
        ),
        (lambda: packed(a=np.array([b"\xff"])), "texts that are not UTF-8"),
    ],
)
def test_others_are_refused(file, message):
    with pytest.raises(NpzError, match=message):
        read_npz(file())


def test_bombs_are_refused_before_memory_is_asked_for():
    file = io.BytesIO()
    head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (5000000,), }"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        start = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
        for name in "abc":
            archive.writestr(f"{name}.npy", start + bytes(5_000_000))
    with pytest.raises(NpzError, match="unpacks to 15000219 bytes, more than the 10000000"):
        read_npz(file, max_bytes=10_000_000)


def test_pipes_will_do():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    found = read_npz(Pipe(packed(a=np.arange(3)).getvalue()))
    assert found["a"].tolist() == [0, 1, 2]


def test_arrays_that_are_needed():
    found = read_npz(packed(a=np.arange(3), t=np.array(["x"])), "file.npz")
    with pytest.raises(NpzError, match=r"file.npz: array 'b' is missing \(there are: a, t\); do"):
        found.need("b", 1, "i", "do")
    with pytest.raises(NpzError, match="array 'a': found 1 dimension"):
        found.need("a", 2, "i", "do")
    with pytest.raises(NpzError, match="array 't': found type <U1"):
        found.need("t", 1, "i", "do")


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"X": np.array([[0, 1], [np.nan, 2]])}, r"file.npz: .*'X'.* has nan at \[1, 0\]"),
        (
            {
                "X_data": np.array([1, -np.inf]),
                "X_indices": np.array([0, 0]),
                "X_indptr": np.array([0, 1, 2]),
                "X_shape": np.array([2, 1]),
            },
            r"'X_data'.* has -inf at \[1\]",
        ),
    ],
)
def test_numbers_that_are_not_finite_are_named(arrays, message):
    with pytest.raises(NpzError, match=message):
        read_npz(packed(**arrays), "file.npz").matrix("X", "")
