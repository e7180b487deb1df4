"""`maxmargin train strings` and what follows, on words made here."""

import json

import pytest
from click.testing import CliRunner

from maxmargin.cli.main import root
from maxmargin.datasets import make_string_pairs
from maxmargin.formats.string_pairs import (
    StringPair,
    aligned_rows,
    read_string_pairs,
    write_string_pairs,
)


def write(path, n, seed, psa):
    made = []
    for k, (pair, links) in enumerate(zip(*make_string_pairs(n, seed), strict=True)):
        rows = tuple(tuple(row) for row in aligned_rows(*pair, links))
        made.append(StringPair(f"word {k}", ("one", "two") if psa else (), rows))
    path.write_text("".join(write_string_pairs(made)), encoding="utf-8")
    return str(path)


def call(*arguments):
    result = CliRunner().invoke(root, [str(own) for own in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("psa", [True, False])
def test_pairs_are_trained_on_evaluated_and_aligned(tmp_path, psa):
    train, dev = (write(tmp_path / f"{n}.txt", n, n, psa) for n in (80, 20))
    run = tmp_path / "run"
    call("train", "strings", "--data", train, "--out", run)
    found = json.loads(call("evaluate", run, dev, "--json").stdout)
    scores = {own["name"]: own["value"] for own in found["metrics"]}
    assert scores["exact"] > 0.8
    assert scores["pairs_f1"] > 0.95
    plain = tmp_path / "plain.txt"
    plain.write_text("Words\na\nx\tp\ta\ny\tf\ta\ts\n" if psa else ">a\nPA\nFAS\n")
    out = tmp_path / "aligned.txt"
    call("predict", run, plain, "--out", out)
    (pair,) = read_string_pairs(out.read_text(encoding="utf-8").splitlines())
    assert pair.alignment == [(0, 0), (1, 1)]
    long = "z" * 9000 if not psa else "\t".join("z" * 9000)
    text = f"Words\na\nx\tp\ny\tp\nlong\nx\t{long}\ny\t{long}\n"
    plain.write_text(text if psa else f">a\np\np\n\n>long\n{long}\n{long}\n")
    result = CliRunner().invoke(root, ["predict", str(run), str(plain)])
    assert "plain.txt, line 5: strings of 9000 and 9000 symbols" in str(result.exception)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no pairs of strings"),
        (">a\nAB\n", "line 1: expected two lines of strings"),
        ("favour\nfavor\n", "line 2: expected two lines of strings after it; the file is .psa"),
        (">a\nAB\n>b\nAB\n", "line 1: expected two lines of strings"),
        (">a\nAB-\nA-C\nD\n", "line 4: expected a line that begins with '>'"),
        (">a\nAB\nABC\n", "line 1: rows of 2 and 3 columns are not aligned"),
        (">a\nA-B\nA-C\n", "line 1: column 2 has two gaps"),
        ("title\nword\none a b\ntwo a b\n", "line 2: expected two lines of a name and symbols"),
        ("title\nword\none\ta\n# 0\n", "line 2: expected two lines of a name and symbols"),
        ("title\nword\none\ta\t-\ntwo\ta\t-\n", "line 2: column 2 has two gaps"),
        (b">a\n\xff\xfe\n\n", "line 2: found bytes that are not utf-8"),
    ],
)
def test_broken_files_are_refused(tmp_path, text, words):
    path = tmp_path / "bad.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    arguments = ["train", "strings", "--data", str(path), "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(root, arguments)
    assert result.exit_code != 0
    assert words in str(result.exception)
