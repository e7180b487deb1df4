"""load_isprs: the published counts, formats it reads, errors named by line."""

import gzip
import zipfile

import numpy as np
import pytest

from maxmargin.cli.info import _found_in
from maxmargin.datasets import isprs, load_isprs

TEXT = "512743.625 5403547.5 308.68 0\n512744.0 5403548.0 310.00 1\n"


def folder_of(tmp_path, **texts):
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def test_published_counts(data_dir):
    scans = load_isprs(data_dir)
    assert scans.names == list(isprs.COUNTS)
    for cloud, labels, name in zip(scans.clouds, scans.labels, scans.names, strict=True):
        points, ground = isprs.COUNTS[name]
        assert cloud.shape == (points, 3)
        assert cloud.dtype == np.float64
        assert labels.dtype == np.int64
        assert np.bincount(labels).tolist() == [ground, points - ground]
    assert sum(map(len, scans.clouds)) == 384955
    assert "Sithole" in scans.DESCR


def test_map_coordinates_keep_every_digit(tmp_path):
    scans = load_isprs(folder_of(tmp_path, samp11=TEXT))
    assert scans.clouds[0][0].tolist() == [512743.625, 5403547.5, 308.68]
    assert scans.labels[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", "   "),
        TEXT.strip(),
        TEXT + "\n\n",
        TEXT.replace(" 0\n", " 0.0\n"),
    ],
)
def test_reads_spaces_tabs_and_line_ends(tmp_path, text):
    scans = load_isprs(folder_of(tmp_path, samp11=text))
    assert scans.clouds[0].shape == (2, 3)
    assert scans.labels[0].tolist() == [0, 1]


def test_folder_parent_file_gzip_and_archive(tmp_path):
    folder = tmp_path / "isprs_filter"
    folder.mkdir()
    (folder / "samp12.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    folder_of(folder, samp11=TEXT[:30], notes="not a scan")
    with zipfile.ZipFile(tmp_path / "Reference.zip", "w") as archive:
        archive.writestr("reference/SAMP11.TXT", TEXT[:30])
        archive.writestr("reference/samp12.txt", TEXT)
        archive.writestr("reference/readme.txt", "not a scan")
    for place in (folder, str(folder), tmp_path / "Reference.zip"):
        scans = load_isprs(place)
        assert scans.names == ["samp11", "samp12"]
        assert [len(cloud) for cloud in scans.clouds] == [1, 2]
    assert load_isprs(folder / "samp12.txt.gz").names == ["samp12"]
    assert load_isprs(tmp_path, names=["samp12", "samp11"]).names == ["samp12", "samp11"]


def test_folder_named_by_the_environment(tmp_path, monkeypatch):
    (tmp_path / "isprs_filter").mkdir()
    folder_of(tmp_path / "isprs_filter", samp71=TEXT)
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    assert load_isprs().names == ["samp71"]
    assert _found_in(tmp_path) == ["isprs"]
    assert not isprs.is_in(tmp_path / "elsewhere")


def test_a_scan_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="no scan 'samp99'; there are samp11"):
        load_isprs(folder_of(tmp_path, samp11=TEXT), names=["samp99"])


def test_an_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no sampNN\.txt.*Reference\.zip"):
        load_isprs(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 3", r"line 2: found 3 fields, expected 4"),
        ("1 2 3 0 7", r"line 2: found 5 fields, expected 4"),
        ("1 2 x 0", r"line 2: found z = 'x', expected a finite number"),
        ("nan 2 3 0", r"line 2: found x = 'nan', expected a finite number"),
        ("1 inf 3 0", r"line 2: found y = 'inf', expected a finite number"),
        ("1 2_0 3 0", r"line 2: found y = '2_0', expected a finite number"),
        ("1 2 3 2", r"line 2: found label '2', expected 0 \(bare earth\) or 1 \(object\)"),
        ("1 2 3 a", r"line 2: found label 'a'"),
        ("# 2 3 0", r"line 2: found x = '#'"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, message):
    first, second = TEXT.splitlines()
    folder_of(tmp_path, samp11="\n".join([first, line, second]))
    with pytest.raises(ValueError, match=message) as caught:
        load_isprs(tmp_path)
    assert "samp11.txt" in str(caught.value)


def test_an_empty_file(tmp_path):
    with pytest.raises(ValueError, match=r"samp11\.txt: the file is empty"):
        load_isprs(folder_of(tmp_path, samp11="\n"))


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_archive(tmp_path, packing):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", packing) as archive:
        archive.writestr("samp11.txt", TEXT)
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    raw[40] ^= 0xFF  # the first byte of the text
    with pytest.raises(ValueError, match=r"a\.zip: damaged archive"):
        isprs._members(bytes(raw), "a.zip")


def test_a_download_must_have_the_published_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("samp11.txt", TEXT)
    with pytest.raises(ValueError, match=r"samp11 has .* \(2, 1\), expected \(38010, 21786\)"):
        isprs._check((tmp_path / "a.zip").read_bytes(), "a.zip")
