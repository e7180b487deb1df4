"""Random damage to files: bytes, pieces of text that parsers look for, and forged npz archives."""

import gzip
import io
import warnings
import zipfile

import numpy as np

#: what means something to one parser or another
TOKENS = [
    b"\t", b"\n", b"\n\n", b"\r\n", b"\r", b" ", b"  ", b"\x0b", b"\x0c", b"\x00", b"\xff", b"\x1c",
    b"\x85", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xed\xa0\x80",
    "👩\u200d👧".encode(), "\u202e\u05e9\u05dc".encode(), b"<script>", b"&amp;", b'"', b"'", b"\\",
    b"#", b"# ", b"# text = a b", b"-DOCSTART-", b"-DOCSTART- -X- O", b"1-2\t", b"1.1\t", b"O",
    b"B-NP", b"_", b"0", b"1", b"-1", b"+1", b"0-0", b"0?1", b"0p1", b"1-", b"S", b"P", b"Q",
    b"0.5", b"nan", b"inf", b"1e999", b"9" * 30, b"9" * 5000, b"<s snum=1>", b"<s snum=", b"</s>",
    b"<s>", b"|||", b"\x1f\x8b", b"\x1f\x8b\x08", b"PK\x03\x04", b"\x93NUMPY", b"=", b"[", b"]",
    b"[[", b"{", b"}", b"true", b"1979-05-27", b'"""', b".", b",", b"task", b"data", b"alpha",
    b"0x10", b"1_0", b"\\u0000", b"\\ud800", b"ply\n", b"element vertex 999999999999\n",
    b"property list uchar int a\n", b"property double label\n", b"end_header\n", b"IHDR", b"IEND",
]  # fmt: skip


def damaged(raw, rng, seeds=(b"",)):
    """A few random changes; the result is sometimes gzip, and sometimes cut gzip."""
    raw = bytearray(raw)
    for _ in range(int(rng.geometric(0.5))):
        raw = _CHANGES[rng.integers(len(_CHANGES))](raw, rng, seeds)
    raw = bytes(raw[: 1 << 16])
    if rng.random() < 0.05:
        raw = gzip.compress(raw, 1, mtime=0)
        if rng.random() < 0.5:
            raw = bytes(_flip(bytearray(raw), rng, seeds)) if rng.random() < 0.5 else raw[:-5]
    return raw


def _place(raw, rng):
    return int(rng.integers(len(raw) + 1))


def _flip(raw, rng, seeds):
    for at in rng.integers(max(len(raw), 1), size=int(rng.integers(1, 4))):
        if len(raw):
            raw[at] ^= int(rng.integers(1, 256))
    return raw


def _insert(raw, rng, seeds):
    at = _place(raw, rng)
    return raw[:at] + TOKENS[rng.integers(len(TOKENS))] + raw[at:]


def _overwrite(raw, rng, seeds):
    at, token = _place(raw, rng), TOKENS[rng.integers(len(TOKENS))]
    return raw[:at] + token + raw[at + len(token) :]


def _remove(raw, rng, seeds):
    a, b = sorted((_place(raw, rng), _place(raw, rng)))
    return raw[:a] + raw[min(b, a + 200) :]


def _repeat(raw, rng, seeds):
    a, b = sorted((_place(raw, rng), _place(raw, rng)))
    return raw[:b] + raw[a:b][:500] * int(rng.integers(1, 5)) + raw[b:]


def _cut(raw, rng, seeds):
    return raw[: _place(raw, rng)]


def _join(raw, rng, seeds):
    other = bytearray(seeds[rng.integers(len(seeds))])
    return raw[: _place(raw, rng)] + other[_place(other, rng) :]


def _swap_token(raw, rng, seeds):
    """One field replaced, so that lines keep their number of fields."""
    fields = bytes(raw).split(b" ")
    fields[rng.integers(len(fields))] = TOKENS[rng.integers(len(TOKENS))]
    return bytearray(b" ".join(fields))


def _any_bytes(raw, rng, seeds):
    at = _place(raw, rng)
    return raw[:at] + rng.bytes(int(rng.integers(20))) + raw[at:]


_CHANGES = [
    _flip, _insert, _insert, _overwrite, _remove, _repeat, _cut, _join, _swap_token, _any_bytes,
]  # fmt: skip

_DTYPES = ["f8", "f4", "f2", "i8", "i4", "i1", "u8", "u1", "?", "U3", "S2", ">f8", ">U2", "c16"]
_EXTREMES = [0, -1, 1, 2, 2**31, 2**62, -(2**63), 1e300, np.inf, -np.inf, np.nan]


def forged_npz(arrays, rng):
    """An archive of these arrays, some of them changed in type, shape or values, or their heads."""
    arrays = dict(arrays)
    for _ in range(int(rng.integers(0, 4))):
        _change(arrays, rng)
    file = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=True)
            raw = member.getvalue()
            if rng.random() < 0.15:
                raw = _forged_head(raw, rng)
            archive.writestr(f"{name}.npy" if rng.random() < 0.98 else name, raw)
    raw = file.getvalue()
    return damaged(raw, rng) if rng.random() < 0.3 else raw


def _change(arrays, rng):
    name = list(arrays)[rng.integers(len(arrays))]
    array = np.asarray(arrays[name])
    which = rng.integers(8)
    if which == 0 and len(arrays) > 1:
        del arrays[name]
    elif which == 1:
        arrays[name] = _cast(array, _DTYPES[rng.integers(len(_DTYPES))])
    elif which == 2 and array.size:
        flat = array.ravel().tolist()
        flat[rng.integers(len(flat))] = _EXTREMES[rng.integers(len(_EXTREMES))]
        arrays[name] = np.array(flat).reshape(array.shape)
    elif which == 3:
        arrays[name] = array[: rng.integers(len(array) + 1)] if array.ndim else array
    elif which == 4:
        arrays[name] = array.reshape(-1) if rng.random() < 0.5 else array[None]
    elif which == 5:
        arrays[name] = np.array([{"a": 1}, None], dtype=object)
    elif which == 6 and array.ndim:
        arrays[name] = np.concatenate([array, array[: rng.integers(3)]])
    else:
        arrays[f"{name}_data" if rng.random() < 0.3 else "other"] = array


def _cast(array, dtype):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        return np.zeros(array.shape, dtype)


def _forged_head(raw, rng):
    """A .npy member that claims another type, order or shape."""
    changes = [
        (b"'<f8'", b"'<f4'"), (b"'<f8'", b"'|O'"), (b"'<f8'", b"'<U9999999'"), (b"False", b"True"),
        (b"(", b"(9, "), (b"(", b"(-1, "), (b"(", b"(999999999999999999, "), (b"(", b"(0, "),
        (b"(", b"(" + b"1, " * 40), (b"descr", b"decsr"), (b"{", b"__import__('os')"),
        (b"\x01\x00", b"\x02\x00"), (b"\x01\x00", b"\x03\x00"), (b"'<i8'", b"'<U0'"),
        (b"'<i8'", b"'|S8'"), (b"'<i8'", b"'<U2'"), (b"'<i8'", b"'|b1'"),
    ]  # fmt: skip
    old, new = changes[rng.integers(len(changes))]
    return raw.replace(old, new, 1)
