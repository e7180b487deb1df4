"""load_letters: the real file's published counts, tolerance to copies, errors named by line."""

import gzip

import numpy as np
import pytest

from maxmargin.datasets import letters, load_letters

WORDS = [("cab", 3), ("zoo", 0), ("queue", 9)]


def rows_of(words, *, seed=0):
    """Return one list of 134 fields per letter, ids from 1."""
    rng = np.random.RandomState(seed)
    rows, number = [], 0
    for k, (word, fold) in enumerate(words):
        for position, letter in enumerate(word, start=1):
            number += 1
            next_id = -1 if position == len(word) else number + 1
            head = [number, letter, next_id, k + 1, position, fold]
            rows.append([str(field) for field in [*head, *rng.randint(2, size=128)]])
    return rows


def write(path, rows, *, end="\t\n"):
    text = "".join("\t".join(row) + end for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def assert_same(a, b):
    assert len(a.X) == len(b.X)
    for k in range(len(a.X)):
        np.testing.assert_array_equal(a.X[k], b.X[k])
        np.testing.assert_array_equal(a.y[k], b.y[k])
    np.testing.assert_array_equal(a.fold, b.fold)


@pytest.fixture(scope="module")
def real(data_dir):
    return load_letters(data_dir)


def test_published_counts(real):
    assert len(real.X) == len(real.y) == len(real.fold) == 6877
    assert sum(len(y) for y in real.y) == 52152
    assert np.bincount(real.fold).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert len(np.unique(np.concatenate(real.y))) == 26
    lengths = [len(y) for y in real.y]
    assert (min(lengths), max(lengths)) == (3, 14)
    assert all(x.shape == (len(y), 128) for x, y in zip(real.X, real.y, strict=True))
    assert real.X[0].dtype == np.float64
    assert set(np.unique(np.concatenate(real.X))) == {0.0, 1.0}
    assert real.feature_names[:9] == [*(f"p_0_{j}" for j in range(8)), "p_1_0"]
    assert len(real.feature_names) == 128
    assert "Kassel" in real.DESCR


def test_real_file_has_the_known_digest(data_dir):
    file = data_dir / "ocr_letters" / "letter.data.gz"
    raw = gzip.decompress(file.read_bytes())
    letters._check(raw, "letter.data.gz")


def digest_of(rows):
    return letters._digest(*letters._parse("\n".join(map("\t".join, rows)).encode(), "f"))


def test_digest_ignores_the_values_of_ids():
    rows = rows_of(WORDS)
    for row in rows:
        row[0] = str(100 + 3 * int(row[0]))
        row[2] = row[2] if row[2] == "-1" else str(100 + 3 * int(row[2]))
        row[3], row[4] = "x", "y"
    assert digest_of(rows) == digest_of(rows_of(WORDS))


def test_digest_sees_pixels_folds_letters_and_word_ends():
    known = digest_of(rows_of([("cab", 3), ("zoo", 3)]))
    flipped = rows_of([("cab", 3), ("zoo", 3)])
    flipped[4][50] = str(1 - int(flipped[4][50]))
    assert digest_of(flipped) != known
    for words in ([("cab", 3), ("zoo", 4)], [("cab", 3), ("zoe", 3)], [("cabzoo", 3)]):
        assert digest_of(rows_of(words)) != known


@pytest.mark.parametrize("end", ["\t\n", "\n", "\r\n", "\t\r\n", "\t\n\n"])
@pytest.mark.parametrize("name", ["letter.data", "letter.data.gz"])
def test_reads_every_line_end_plain_or_gzip(tmp_path, end, name):
    rows = rows_of(WORDS)
    bunch = load_letters(write(tmp_path / name, rows, end=end))
    assert ["".join(y) for y in bunch.y] == ["cab", "zoo", "queue"]
    assert bunch.fold.tolist() == [3, 0, 9]
    np.testing.assert_array_equal(np.concatenate(bunch.X), np.array(rows)[:, 6:].astype(float))


def test_last_line_may_lack_its_newline(tmp_path):
    file = tmp_path / "letter.data"
    file.write_text("\n".join(map("\t".join, rows_of(WORDS))))
    assert ["".join(y) for y in load_letters(file).y] == ["cab", "zoo", "queue"]


def test_order_of_lines_does_not_matter(tmp_path):
    rows = rows_of(WORDS)
    shuffled = [rows[k] for k in np.random.RandomState(1).permutation(len(rows))]
    assert_same(
        load_letters(write(tmp_path / "a", rows)), load_letters(write(tmp_path / "b", shuffled))
    )


def test_next_id_decides_even_against_id_order(tmp_path):
    rows = rows_of([("cab", 0)])
    rows[0][2], rows[1][2], rows[2][2] = "3", "-1", "2"  # 1 -> 3 -> 2
    assert "".join(load_letters(write(tmp_path / "f", rows)).y[0]) == "cba"


def test_folder_and_parent_folder_are_searched(tmp_path):
    folder = tmp_path / "ocr_letters"
    folder.mkdir()
    file = write(folder / "letter.data.gz", rows_of(WORDS))
    for place in (file, folder, tmp_path, str(tmp_path)):
        assert len(load_letters(place).X) == 3


def set_field(line, column, value):
    def change(rows):
        rows[line][column] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_field(1, 9, "2"), r"line 2: found p_0_3 = '2', expected 0 or 1"),
        (set_field(1, 9, "01"), r"line 2: found p_0_3 = '01', expected 0 or 1"),
        (set_field(1, 9, ""), r"line 2: found p_0_3 = '', expected 0 or 1"),
        (set_field(4, 0, "x"), r"line 5: found id 'x', expected an integer"),
        (set_field(4, 5, ""), r"line 5: found fold '', expected an integer"),
        (set_field(2, 1, "ab"), r"line 3: found letter 'ab', expected one letter"),
        (set_field(2, 1, "7"), r"line 3: found letter '7', expected one letter"),
        (set_field(2, 1, ""), r"line 3: found letter '', expected one letter"),
        (lambda rows: rows[3].pop(), r"line 4: found 133 TAB-separated fields, expected 134"),
        (lambda rows: rows[3].pop(3), r"line 4: found 133 TAB-separated fields, expected 134"),
        (lambda rows: rows[3].append("1"), r"line 4: found 135 TAB-separated fields, expected 134"),
        (lambda rows: rows.__setitem__(0, ["<html>"]), r"line 1: found 1 TAB-separated fields"),
        (set_field(4, 0, "1"), r"line 5: id 1 is that of line 1"),
        (set_field(1, 2, "77"), r"line 2: next_id 77 is not a line's id, nor -1"),
        (set_field(2, 2, "5"), r"line 5: id 5 is the next_id of several lines"),
        (set_field(2, 2, "1"), r"line 1: id 1 leads by next_id to itself"),
        (set_field(1, 5, "8"), r"line 2: fold 8 differs from the start of the word"),
        (set_field(1, 0, "9" * 30), r"too large"),
    ],
)
def test_malformed_lines_are_named(tmp_path, change, message):
    rows = rows_of(WORDS)
    change(rows)
    file = write(tmp_path / "letter.data", rows)
    with pytest.raises(ValueError, match=message) as caught:
        load_letters(file)
    assert str(file) in str(caught.value)


def test_empty_file(tmp_path):
    (tmp_path / "letter.data").write_bytes(b"")
    with pytest.raises(ValueError, match="the file is empty"):
        load_letters(tmp_path)
