"""Values that options and learned facts may have: each comes back as it was."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from maxmargin.persistence.decode import Decoder
from maxmargin.persistence.encode import Encoder
from maxmargin.persistence.model_file import read_model, write_model
from maxmargin.result import History, Record, Status


def through_tree(value):
    encoder = Encoder()
    tree = encoder.encode(value, ("value",))
    arrays = {f"a{i}.npy": array for i, array in enumerate(encoder.arrays)}
    return Decoder(arrays, 1 << 24).decode(tree)


def identical(a, b):
    """Equal, of the same types all the way down, nan being equal to itself."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        identical(a.tolist(), b.tolist())
    elif isinstance(a, dict):
        identical(list(a.items()), list(b.items()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            identical(x, y)
    elif isinstance(a, float):
        assert a == b or (math.isnan(a) and math.isnan(b))
        assert math.copysign(1.0, a) == math.copysign(1.0, b) or math.isnan(a)
    else:
        assert a == b


VALUES = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 1 << 200, -(1 << 63)],
    "floats": [0.0, -0.0, 0.1, 1e300, 5e-324, math.inf, -math.inf, math.nan, 1.0],
    "texts": ["", "a", "żółć", "\0", "\ud800", "\U0001f600", "line\nline"],
    "bytes": [b"", b"\x00\xff"],
    "nested": {"a": [(1, [2, {"b": ()}])], 3: {"c"}, (1, "x"): frozenset({1, 2}), None: b"x"},
    "mixed set": {1, "1", (1,), None, 2.5},
    "many ints": list(range(5, 500)),
    "many other ints": [3] * 40 + [-(1 << 63)],
    "many long ints": [1 << 70] * 40,
    "many bools": [True] * 40,
    "mixed numbers": [1, 1.0, True] * 20,
    "many floats": [math.nan, -0.0, 0.1] * 20,
    "many texts": ["", "żółć", "\ud83d", "\ude00", "\0"] * 20,
    "many pairs": [(i, 7) for i in range(50)],
    "uneven tuples": [(1,) * (i % 3) for i in range(50)],
    "empty tuples": [()] * 50,
    "tuples of bools": [(True, 1)] * 50,
    "long tuple": tuple(range(100)),
    "vocabulary": {f"word{i}": i for i in range(1000)},
    "int keys": {i: str(i) for i in range(100)},
    "numpy scalars": [np.float64(0.1), np.int32(-3), np.bool_(True), np.float32(0.1),
                      np.uint64(2**64 - 1), np.complex128(1j), np.datetime64("2020-01-01")],
    "numpy texts": [np.str_("é"), np.str_(""), np.bytes_(b"a\0b")],
    "arrays": [np.arange(6.0).reshape(2, 3), np.zeros((0, 4)), np.array(3), np.ones(2, bool),
               np.arange(3, dtype=">i4"), np.array([b"ab", b"c"])],
    "texts in arrays": [np.array(["a", "bcd", ""]), np.array([["é"], ["f"]]), np.array([], "U5"),
                        np.array("x"), np.array([f"w{i}" for i in range(100)])],
    "objects in arrays": [np.array([1, "a", None], object), np.empty((0, 2), object)],
    "status": [Status.CONVERGED, Status.FAILED],
    "history": History([Record(1, 0.5, 2, 0, 1.0, 0.5, 0.5, 3.0, extra={"f1": 0.25})] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_come_back_as_they_were(name):
    found = through_tree(VALUES[name])
    if name == "history":
        assert repr(found) == repr(VALUES[name])
        assert type(found) is History
    else:
        identical(found, VALUES[name])


SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
)
KEYS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.tuples(st.integers())
TREES = st.recursive(
    SIMPLE,
    lambda inner: (
        st.lists(inner, max_size=40)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(KEYS, max_size=4)
    ),
    max_leaves=60,
)


@given(TREES)
def test_any_tree_comes_back_as_it_was(value):
    identical(through_tree(value), value)


@given(st.lists(st.text(st.characters(codec=None), max_size=3), min_size=32, max_size=60))
def test_many_texts_come_back_as_they_were(texts):
    assert through_tree(texts) == texts


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices(kind):
    matrix = kind(np.array([[0.0, 1.5, 0.0], [0.0, 0.0, -2.0]]))
    found = through_tree(matrix)
    assert type(found) is kind
    assert found.shape == (2, 3)
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())
    assert found.indices.dtype == matrix.indices.dtype


@pytest.mark.parametrize(
    "make",
    [np.random.default_rng, np.random.RandomState,
     lambda seed: np.random.Generator(np.random.MT19937(seed))],
    ids=["pcg", "legacy", "mt"],
)  # fmt: skip
def test_generators_go_on_where_they_were(make):
    one = make(5)
    one.normal(size=3)
    other = through_tree(one)
    assert type(other) is type(one)
    assert other.normal(size=50).tolist() == one.normal(size=50).tolist()


def test_arrays_that_are_shared_stay_shared():
    array, equal = np.ones(4), np.ones(4)
    a, b, c = through_tree([array, array, equal])
    assert a is b
    assert a is not c


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(24.0).reshape(2, 3, 4)[:, ::2],
        np.arange(10)[::-3],
        np.zeros((3, 0)),
        np.array(2.5),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array([1 + 2j, 3]),
        np.arange(5, dtype=">u2"),
        np.array([True, False]),
        np.float16([1, 2]),
    ],
    ids=lambda array: f"{array.dtype.str}{array.shape}",
)
def test_arrays_in_files_are_npy_that_numpy_reads(array, tmp_path):
    path = tmp_path / "file.mm"
    write_model(path, {"is": "object", "class": "Finite"}, [array])
    found = read_model(path).arrays["a0.npy"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        assert found.flags.f_contiguous == array.flags.f_contiguous
    assert found.flags.writeable
    assert found.flags.aligned
    np.testing.assert_array_equal(found, array)
    with np.load(path, allow_pickle=False) as loaded:
        np.testing.assert_array_equal(loaded["a0"], array)
        assert loaded["a0"].dtype == array.dtype


def test_vocabularies_are_small(tmp_path):
    """A text takes its own bytes and one for its length, before they are packed."""
    words = [f"word{i}" for i in range(100_000)]
    encoder = Encoder()
    tree = encoder.encode(dict(zip(words, range(len(words)), strict=True)), ("value",))
    assert len(str(tree)) < 300
    assert sum(a.nbytes for a in encoder.arrays) == sum(map(len, words)) + len(words)
