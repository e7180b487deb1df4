"""Point clouds in text, PLY and npz files."""

import gzip
import io
import struct
import time
import tracemalloc

import numpy as np
import pytest

from maxmargin.formats import number_text
from maxmargin.formats.ply import PlyLayout, Property
from maxmargin.formats.point_cloud import Wish
from maxmargin.tasks.segmentation.points.files import read_scans

POINTS = np.array([[1.5, -2.0, 3e3], [0.1, 1e-7, 5.0], [513248.625, 5403656.5, 299.52]])


def written(tmp_path, raw, name="scan.txt"):
    path = tmp_path / name
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return path


def read(tmp_path, raw, column="", labelled=True):
    (cloud,) = read_scans(written(tmp_path, raw), Wish(column, labelled))
    return cloud


def text(separator=" ", labels=(0, 1, 1)):
    rows = [
        separator.join([*(f"{v!r}" for v in row), str(label)])
        for row, label in zip(POINTS.tolist(), labels, strict=True)
    ]
    return "\n".join(rows) + "\n"


# -- text ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "   ", " , ", ", ", "\t,"])
def test_columns_may_be_separated_in_many_ways(tmp_path, separator):
    cloud = read(tmp_path, text(separator))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.labels.tolist() == [0, 1, 1]
    assert cloud.labels.dtype == np.int64


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace("\n", "\r\n"),
        lambda raw: raw.rstrip("\n"),
        lambda raw: "\ufeff" + raw,
        lambda raw: "# made by hand\n\n" + raw.replace("\n", "  # a point\n", 1) + "\n  \n#\n",
        lambda raw: "\n" * 5_000_000 + raw,
        lambda raw: raw + "\n" * 5_000_000,
    ],
    ids=["crlf", "no last line end", "mark", "comments", "empty lines", "empty lines after"],
)
def test_what_does_not_matter_is_passed_over(tmp_path, change):
    cloud = read(tmp_path, change(text()))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.labels.tolist() == [0, 1, 1]


def test_gzip_is_told_by_its_bytes(tmp_path):
    cloud = read(tmp_path, gzip.compress(text().encode()))
    np.testing.assert_array_equal(cloud.points, POINTS)


def test_a_line_of_names_says_which_column_is_which(tmp_path):
    raw = "class,Z,intensity,X,Y\n1,3,7,1,2\n2,6,8,4,5\n"
    cloud = read(tmp_path, raw)
    assert cloud.points.tolist() == [[1, 2, 3, 7], [4, 5, 6, 8]]
    assert cloud.labels.tolist() == [1, 2]
    sink = io.BytesIO()
    cloud.layout.write(sink, cloud.points, np.array([9, 8]))
    assert sink.getvalue() == b"X,Y,Z,intensity,label\n1,2,3,7,9\n4,5,6,8,8\n"
    cloud = read(tmp_path, raw, column="intensity")
    assert cloud.labels.tolist() == [7, 8]
    assert cloud.points.tolist() == [[1, 2, 3, 1], [4, 5, 6, 2]]
    assert read(tmp_path, "//X Y Z\n1 2 3\n").labels is None


def test_the_column_of_labels_may_be_told(tmp_path):
    raw = "7 1 2 3\n8 4 5 6\n"
    for column in ("1", "-4"):
        cloud = read(tmp_path, raw, column)
        assert cloud.labels.tolist() == [7, 8]
        assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert read(tmp_path, raw).labels.tolist() == [3, 6]
    assert read(tmp_path, raw, labelled=False).points.shape == (2, 4)
    assert read(tmp_path, "1 2 3\n").labels is None


def test_labels_may_be_texts_or_fractions(tmp_path):
    cloud = read(tmp_path, text(",", ("tree", "road", '"tree"')))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.labels.tolist() == ["tree", "road", "tree"]
    assert read(tmp_path, text(labels=(0.5, 1, 1))).labels.tolist() == [0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "raw, words",
    [
        ("", "there are no points"),
        ("# nothing\n\n", "there are no points"),
        ("x y z label\n", "there are no points"),
        ("1 2\n", "line 1: 2 column"),
        ("# c\n1 2 3 0\n1 2 0\n", "line 3: 3 columns, expected 4"),
        ("1 2 3 0\n1 2 3 0 0\n1 2 0\n", "line 2: 5 columns, expected 4"),
        ("1 2 3 0\n1 x 3 0\n", "line 2: 'x' is not a finite number"),
        ("1 2 3 0\n1 2 nan 0\n", "line 2: 'nan' is not a finite number"),
        ("nan nan nan 0\n", "line 1: 'nan' is not a finite number"),
        ("1 2 3 0\n1 1e999 3 0\n", "line 2: '1e999' is not a finite number"),
        ("1 2 3 0\n1-2 3 4 0\n", "line 2: '1-2' is not a finite number"),
        ("1 2 3 0\n1 2e 4 0\n", "line 2: '2e' is not a finite number"),
        ("1 2 3 0\n1 1_0 4 0\n", "line 2: '1_0' is not a finite number"),
        ("1 2 3 0\n1 2\x00 4 0\n", "line 2: '2\\\\x00' is not a finite"),
        ("1 2 3 tree\n1 2 4 5 road\n", "line 2: 5 columns, expected 4"),
        ("1 2 3 tree\n1 z 4 road\n", "line 2: 'z' is not a finite number"),
        ("x y z\n1 2 3 0\n", "line 2: 4 columns, but 3 names"),
        ("x y label\n1 2 0\n", "x, y and z are needed"),
        ("40,25 40,40 -0,35 38,1 0\n", "line 1: both commas and spaces .*1.5, not 1,5"),
        ("x y z label\n4,2\t4,4\t-0,3\t0\n", "line 2: both commas and spaces"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\n\x93\x11", "is not text"),
        ("x y z\n1 2 3\n".encode("utf-16"), "is not text"),
        ("4,2;4,4;-0,3;0\n", "line 1: both commas and spaces"),
        ("1 2 3 0\r4 5 6 1\r", "lines end in CR alone"),
        ("1 2 3 0\n" + "1 " * 3_000_000, "line 2: longer than"),
    ],
)
def test_errors_of_text_are_named_with_their_line(tmp_path, raw, words):
    with pytest.raises(ValueError, match=rf"scan\.txt(, |: ){words}"):
        read(tmp_path, raw)


@pytest.mark.parametrize(
    "column, words",
    [("9", "no column 9"), ("0", "no column 0"), ("up", "no column is called 'up'")],
)
def test_a_column_that_is_not_there_is_named(tmp_path, column, words):
    with pytest.raises(ValueError, match=rf"scan\.txt: .*{words}"):
        read(tmp_path, text(), column)


def test_blocks_are_joined_at_line_ends(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    rows = zip(points.tolist(), labels.tolist(), strict=True)
    lines = [" ".join([*map(repr, row), str(label)]) + "\n" for row, label in rows]
    monkeypatch.setattr(number_text, "BLOCK", 100)
    cloud = read(tmp_path, "".join(lines))
    np.testing.assert_array_equal(cloud.points, points)
    np.testing.assert_array_equal(cloud.labels, labels)
    lines[300] = "1 2 3 oops 0\n"
    with pytest.raises(ValueError, match="line 301: 'oops'"):
        read(tmp_path, "".join(lines))


def test_what_is_written_can_be_read_again(tmp_path):
    cloud = read(tmp_path, text("\t"))
    sink = io.BytesIO()
    cloud.layout.write(sink, cloud.points, np.array(["a", "b", "a"]))
    assert sink.getvalue().splitlines()[2] == b"513248.625\t5403656.5\t299.52\ta"
    again = read(tmp_path, sink.getvalue())
    np.testing.assert_array_equal(again.points, POINTS)
    assert again.labels.tolist() == ["a", "b", "a"]
    with pytest.raises(ValueError, match="the label 'a b' cannot stand"):
        cloud.layout.write(io.BytesIO(), cloud.points, np.array(["a b"] * 3))


def test_a_small_gzip_file_cannot_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.persistence.archive.FREE_BYTES", 1 << 16)
    bomb = gzip.compress(b"1 2 3 0\n" * 500_000)
    with pytest.raises(ValueError, match=r"scan\.txt: unpacks to more than"):
        read(tmp_path, bomb)


# -- PLY -------------------------------------------------------------------------------------------
def ply(form="ascii", count=2, body=b"1 2 3 0\n4 5 6 1\n", properties=None):
    properties = properties or ["float x", "float y", "float z", "uchar label"]
    head = ["ply", f"format {form} 1.0", "comment by hand", f"element vertex {count}"]
    head += [f"property {own}" for own in properties]
    return "\n".join([*head, "end_header\n"]).encode() + body


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_ply_files_come_back_as_written(tmp_path, form, kind):
    points = np.array([[1.5, -2.0, 3.25, 7], [0.5, 1.0, 5.0, 200]])
    columns = [Property(name, kind) for name in "xyz"] + [Property("intensity", "u1")]
    layout = PlyLayout(form, tuple(columns))
    sink = io.BytesIO()
    layout.write(sink, points, np.array([3, 1]))
    cloud = read(tmp_path, sink.getvalue())
    np.testing.assert_array_equal(cloud.points, points)
    assert cloud.labels.tolist() == [3, 1]
    assert cloud.layout == layout
    again = io.BytesIO()
    cloud.layout.write(again, cloud.points, cloud.labels)
    assert again.getvalue() == sink.getvalue()


@pytest.mark.parametrize("order", ["<", ">"])
def test_elements_before_and_lists_within_are_passed_over(tmp_path, order):
    form = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = (
        f"ply\nformat {form} 1.0\nelement face 2\nproperty list uchar int vertex_indices\n"
        "element vertex 2\nproperty double x\nproperty list ushort short links\n"
        "property double y\nproperty double z\nproperty int class\nend_header\n"
    )
    body = struct.pack(order + "B3iB1i", 3, 7, 8, 9, 1, 5)
    for x, y, z, label in ((1.0, 2.0, 3.0, -1), (4.0, 5.0, 6.0, 70000)):
        body += struct.pack(order + "dH2hddi", x, 2, 11, 12, y, z, label)
    cloud = read(tmp_path, head.encode() + body)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.labels.tolist() == [-1, 70000]
    with pytest.raises(ValueError, match="ends after 1; it is cut short"):
        read(tmp_path, head.encode() + body[:-3])


def test_lists_in_ascii_are_passed_over(tmp_path):
    head = (
        b"ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int i\nelement vertex 2\n"
        b"property list uchar int links\nproperty int label\nproperty float z\nproperty float y\n"
        b"property float x\nelement edge 1\nproperty int a\nend_header\n"
    )
    cloud = read(tmp_path, head + b"\n3 1 2 3\n2 8 9 1 3 2 1\n0 0 6 5 4\n77\n")
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.labels.tolist() == [1, 0]


def test_rows_beyond_the_head_are_refused_in_large_files_too(tmp_path, monkeypatch):
    monkeypatch.setattr(number_text, "BLOCK", 16)
    body = b"1 2 3 0\n" * 40
    assert len(read(tmp_path, ply(count=40, body=body + b"\n\n")).points) == 40
    with pytest.raises(ValueError, match="says 38 of 'vertex', but there are more rows"):
        read(tmp_path, ply(count=38, body=body))


def test_blank_lines_take_time_in_proportion(tmp_path):
    raw = ply(body=b"1 2 3 0\n" + b"\n" * 200_000 + b"4 5 6 1\n3 0 1 1\n")
    raw = raw.replace(b"end_header", b"element face 1\nproperty list uchar int i\nend_header")
    began = time.process_time()
    assert read(tmp_path, raw).points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert time.process_time() - began < 10


def test_what_follows_the_vertices_is_not_read(tmp_path):
    raw = ply().replace(b"end_header", b"element face 1\nproperty list uchar int i\nend_header")
    assert read(tmp_path, raw + b"3 0 1 1\nwhatever\n").points.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "raw, words",
    [
        (b"ply\n", "line 2: the head is cut short"),
        (b"ply\nformat ascii 1.0\nend_header\n", "line 3: the head needs one line `format`"),
        (b"ply\nformat zip 1.0\n", "line 2: 'format zip 1.0' is not understood"),
        (b"ply\nnonsense\n", "line 2: 'nonsense' is not understood"),
        (b"ply\nelement vertex -3\n", "line 2: 'element vertex -3' is not understood"),
        (b"ply\nelement vertex 2\nproperty string x\n", "line 3: 'property string x' is not"),
        (b"ply\nelement vertex 2\nproperty list float int x\n", "line 3: 'property list float"),
        (ply(count=0, body=b""), "there are no vertices"),
        (ply(count=1), "says 1 of 'vertex', but there are more rows; .* count"),
        (ply(body=b"1 2 3 0\n4 5 6 1\n\n7 8 9 0"), "says 2 of 'vertex', but there are more"),
        (ply(count=3), "says 3 of 'vertex', but the file ends after 2"),
        (ply(body=b"1 2 3 0\n4 5 6\n"), "line 11: 3 columns, expected 4"),
        (ply(body=b"1 2 3 0\n4 5 y 1\n"), "line 11: 'y' is not a finite number"),
        (ply("binary_little_endian", 2, b"\0" * 25), "ends after 1"),
        (ply("binary_little_endian", 9999, b"\0" * 25), "ends after 1; it is cut short"),
        (ply("binary_little_endian", 1, struct.pack("<4f", 1, 2, 3, np.nan),
             ["float x", "float y", "float z", "float label"]), "vertex 0 .*not finite"),
        (ply("binary_little_endian", 1, struct.pack("<3fB", 1, np.nan, 2, 0)), "vertex 0 .*finit"),
        (ply(properties=["float x", "float y", "float h", "uchar label"]), "x, y and z are needed"),
        (ply(properties=["float x", "float x", "float z", "uchar label"]), "'x' is there twice"),
    ],
)  # fmt: skip
def test_errors_of_ply_files_are_named(tmp_path, raw, words):
    with pytest.raises(ValueError, match=rf"scan\.txt(, |: )(.*){words}"):
        read(tmp_path, raw)


@pytest.mark.parametrize(
    "raw",
    [
        ply("binary_little_endian", 10**17, b"\0" * 130),
        ply("ascii", 10**17),
        ply(count=1).replace(b"element vertex", b"element face 999999999999999\nelement vertex"),
        ply("binary_big_endian", 1, b"\x7f\xff\xff\xff" * 5).replace(
            b"property uchar label", b"property list int double label"
        ),
        ply("binary_big_endian", 10**9, b"\0" * 50, ["float x", "list uchar uchar a"]).replace(
            b"property list", b"property float y\nproperty float z\nproperty list"
        ),
    ],
)
def test_a_forged_head_allocates_nothing(tmp_path, raw):
    path = written(tmp_path, raw)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"scan\.txt"):
            read_scans(path)
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_a_name_that_is_taken_is_not_given_twice(tmp_path):
    for raw in (ply(), b"x y z label\n1 2 3 0\n4 5 6 1\n"):
        cloud = read(tmp_path, raw, labelled=False)
        assert cloud.points.shape == (2, 4)
        sink = io.BytesIO()
        cloud.layout.write(sink, cloud.points, np.array([7, 8]))
        again = read(tmp_path, sink.getvalue(), "predicted")
        np.testing.assert_array_equal(again.points, cloud.points)
        assert again.labels.tolist() == [7, 8]


def test_texts_are_no_labels_of_ply_files(tmp_path):
    cloud = read(tmp_path, ply())
    with pytest.raises(ValueError, match="texts cannot stand in PLY"):
        cloud.layout.write(io.BytesIO(), cloud.points, np.array(["a", "b"]))


# -- npz -------------------------------------------------------------------------------------------
def arrays(**changes):
    found = {
        "points": np.arange(15.0).reshape(5, 3),
        "labels": np.array([0, 1, 1, 0, 1]),
        "ptr": np.array([0, 2, 5]),
        "edges": np.array([[2, 4], [0, 1], [3, 2]]),
    }
    return {key: own for key, own in (found | changes).items() if own is not None}


def test_arrays_hold_several_scans(tmp_path):
    np.savez(tmp_path / "s.npz", **arrays())
    first, second = read_scans(tmp_path / "s.npz")
    assert first.points.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert second.labels.tolist() == [1, 0, 1]
    assert (first.edges.tolist(), second.edges.tolist()) == ([[0, 1]], [[0, 2], [1, 0]])
    np.savez(tmp_path / "s.npz", **arrays(ptr=None, edges=None, labels=None))
    (whole,) = read_scans(tmp_path / "s.npz")
    assert (len(whole.points), whole.labels, whole.edges) == (5, None, None)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"points": None}, "array 'points' is missing"),
        ({"points": np.ones((5, 2))}, "array 'points': has shape"),
        ({"points": np.full((5, 3), np.inf)}, "has inf at"),
        ({"labels": np.ones(4)}, "has 4 labels for 5 points"),
        ({"labels": np.full(5, np.nan)}, "not finite"),
        ({"ptr": np.array([0, 2, 4])}, "rise from 0 to 5"),
        ({"ptr": np.array([0, 2, 2, 5])}, "rise from 0 to 5"),
        ({"ptr": np.array([0, 9])}, "numbers from 0 to 5"),
        ({"edges": np.array([[1, 2]])}, "row 0 joins points of two scans"),
        ({"edges": np.array([[0, 5]])}, "out of range"),
    ],
)
def test_errors_of_arrays_are_named(tmp_path, changes, words):
    np.savez(tmp_path / "s.npz", **arrays(**changes))
    with pytest.raises(ValueError, match=rf"s\.npz: .*{words}"):
        read_scans(tmp_path / "s.npz")
