"""`maxmargin train folding` and what follows, on hairpins."""

import json

import pytest
from click.testing import CliRunner

from maxmargin.cli.main import root
from maxmargin.formats.rna import read_rna
from maxmargin.tasks import RNAFolder
from maxmargin.tasks.folding.command import FoldingCommand
from tasks.folding.test_rna_folder import hairpins


def call(*arguments):
    result = CliRunner().invoke(root, [str(own) for own in arguments])
    assert result.exit_code == 0, result.output
    return result


def write(path, n, seed):
    rows = zip(*hairpins(n, seed), strict=True)
    path.write_text("".join(f">a_{i}\n{x}\n{y}\n" for i, (x, y) in enumerate(rows)))
    return path


def test_hairpins_are_trained_on_evaluated_and_folded(tmp_path):
    train, held = write(tmp_path / "train.dbn", 12, 0), write(tmp_path / "held.dbn", 4, 1)
    run = tmp_path / "run"
    call("train", "folding", "--data", train, "--out", run, "--max-epochs", 6)
    found = json.loads(call("evaluate", run, held, "--json").stdout)
    described = dict(json.loads((run / "summary.json").read_text())["tables"][-1]["rows"])
    assert described["sequences learned from"] == "12 of 12"
    scores = {own["name"]: own["value"] for own in found["metrics"]}
    assert scores["f1"] > 0.9
    for kind in ("dbn", "ct"):
        out = tmp_path / f"folded.{kind}"
        call("predict", run, held, "--out", out, "--format", kind)
        read = list(read_rna(out.read_text().splitlines()))
        assert [own.name for own in read] == [f"a_{i}" for i in range(4)]
        assert all(own.structure.count("(") >= 4 for own in read)


def test_runs_tell_from_how_many_sequences_was_learned(tmp_path):
    train, run = write(tmp_path / "train.dbn", 12, 0), tmp_path / "run"
    options = ["--max-sequences", 5, "--max-epochs", 2, "--out", run]
    printed = call("train", "folding", "--data", train, *options).output
    assert "; learned from 5 of 12 sequences" in " ".join(printed.split())
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["n_samples"], summary["n_learned"]) == (12, 5)
    assert dict(summary["tables"][-1]["rows"])["sequences learned from"] == "5 of 12"
    call("report", run, "--out", tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert "on 5 of 12 samples" in report
    assert "recomputed from all samples that were learned from (5 of 12)" in report


@pytest.mark.parametrize(
    ("bases", "words"), [("GG1CC", "has the letter '1' at place 3"), ("G" * 3201, "has 3201 bases")]
)
def test_sequences_that_cannot_be_folded_are_told_by_name(tmp_path, bases, words):
    run = tmp_path / "run"
    call("train", "folding", "--data", write(tmp_path / "a.dbn", 4, 0), "--out", run)
    path = tmp_path / "many.fasta"
    path.write_text("".join(f">a_{i}\nGGGAAACCC\n" for i in range(70)) + f">bad_1\n{bases}\n")
    result = CliRunner().invoke(root, ["predict", str(run), str(path)])
    assert isinstance(result.exception, ValueError)
    assert f"many.fasta, line 141: 'bad_1': x {words}" in str(result.exception)


def test_families_of_one_sequence_each_are_not_listed(tmp_path):
    command, model = FoldingCommand(), RNAFolder(max_epochs=2, tol=10.0).fit(*hairpins(6, 0))
    for names, rows in (("{}_a", 0), ("a_{}", 1)):
        path = tmp_path / "named.dbn"
        pairs = enumerate(zip(*hairpins(4, 1), strict=True))
        path.write_text("".join(f">{names.format(i)}\n{x}\n{y}\n" for i, (x, y) in pairs))
        data = command.read([path], {})
        assert data.counts.get("families", 0) == rows
        assert len(command.evaluate(model, data)["tables"][0]["rows"]) == rows


def test_files_with_a_mark_of_their_byte_order_are_read(tmp_path):
    path = write(tmp_path / "a.dbn", 4, 0)
    path.write_text("\ufeff" + path.read_text(), encoding="utf-8")
    assert len(FoldingCommand().read([path], {})) == 4


def test_a_file_without_structures_is_refused(tmp_path):
    path = tmp_path / "bare.fasta"
    path.write_text(">a\nGGGAAACCC\n(((...)))\n>x\nGGGAAACCC\n")
    result = CliRunner().invoke(
        root, ["train", "folding", "--data", str(path), "--out", str(tmp_path / "run")]
    )
    assert isinstance(result.exception, ValueError)
    assert "bare.fasta, line 4: 'x' has no structure; give a line" in str(result.exception)
