"""`maxmargin train parsing` and what follows, on a treebank made here."""

import json

import pytest
from click.testing import CliRunner

from maxmargin.cli.main import root
from maxmargin.datasets import make_treebank
from maxmargin.formats.conllu import make_conllu, read_conllu, write_conllu


def write(path, n, seed):
    made = (make_conllu(*own) for own in zip(*make_treebank(n, seed), strict=True))
    path.write_text("# newdoc\n" + "".join(write_conllu(made)), encoding="utf-8")
    return str(path)


def call(*arguments):
    result = CliRunner().invoke(root, [str(own) for own in arguments])
    assert result.exit_code == 0, result.output
    return result


def test_a_treebank_is_trained_on_evaluated_and_parsed(tmp_path):
    train, dev = write(tmp_path / "train.conllu", 60, 0), write(tmp_path / "dev.conllu", 20, 1)
    run = tmp_path / "run"
    call("train", "parsing", "--data", train, "--out", run, "--max-epochs", 10)
    found = json.loads(call("evaluate", run, dev, "--json").stdout)
    scores = dict(_numbers(found))
    assert scores["uas"] > 0.9
    assert scores["las"] > 0.9
    out = tmp_path / "parsed.conllu"
    call("predict", run, dev, "--out", out)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("# newdoc\n")
    parsed = list(read_conllu(text.splitlines()))
    assert len(parsed) == 20
    assert all(sum(head == 0 for head, _ in own.tree) == 1 for own in parsed)


def _numbers(found):
    """All (name, value) of a nested document, and metrics by their name."""
    if isinstance(found, dict):
        if isinstance(found.get("name"), str) and "value" in found:
            yield found["name"], found["value"]
        for key, value in found.items():
            if isinstance(value, int | float):
                yield key, value
            yield from _numbers(value)
    elif isinstance(found, list):
        for value in found:
            yield from _numbers(value)


GOOD = "1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 a b\n", "found 1 columns, expected 10"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "sentence in line 1: it has words without a head"),
        ("", "no sentences"),
        (f"{GOOD}# bad\n1\ta\t_\t_\t_\t_\t1\tx\t_\t_\n", "sentence in line 3: word 1 has head 1"),
        (f"{GOOD}1\t\udce9\t_\t_\t_\t_\t0\tx\t_\t_\n", "line 3: found bytes that are not utf-8"),
    ],
)
def test_broken_treebanks_are_refused(tmp_path, text, words):
    (tmp_path / "bad.conllu").write_text(text, encoding="utf-8", errors="surrogateescape")
    arguments = ["train", "parsing", "--data", str(tmp_path / "bad.conllu")]
    result = CliRunner().invoke(root, [*arguments, "--out", str(tmp_path / "run")])
    assert result.exit_code != 0
    assert words in str(result.exception)
