"""A corpus in files is trained as the same corpus in memory is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.exceptions import ConvergenceWarning, FitInterrupted
from maxmargin.parallel import SerialEngine, worker
from maxmargin.parallel.driver import Rounds
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.progress import listen_to_progress
from maxmargin.result import Status
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.tagging.command import TaggingCommand
from maxmargin.tasks.tagging.shards import TextShards
from maxmargin.tasks.tagging.token_features import TokenFeatures

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")


def make_text(n: int = 24):
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(12)]
    sentences, tags = [], []
    for _ in range(n):
        ids = rng.integers(0, 12, size=rng.integers(1, 7))
        sentences.append([(words[k], "ab"[k % 2]) for k in ids])
        tags.append(["xyz"[k % 3] for k in ids])
    return sentences, tags


def write_files(folder: Path, n_files: int) -> list[Path]:
    sentences, tags = make_text()
    paths = []
    for k, part in enumerate(np.array_split(np.arange(len(sentences)), n_files)):
        lines = []
        for i in part:
            lines += [f"{w} {p} {t}" for (w, p), t in zip(sentences[i], tags[i], strict=True)]
            lines.append("")
        paths.append(folder / f"{k:03}.txt")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


def test_features_of_parts_are_those_of_the_whole():
    sentences, _ = make_text()
    whole = TokenFeatures(min_count=2).fit(sentences)
    columns = [[token[c] for own in sentences for token in own] for c in range(2)]
    parts = TokenFeatures(min_count=2).start_parts(columns)
    parts.finish_parts([parts.count_keys(sentences[:10]), parts.count_keys(sentences[10:])])
    assert parts.feature_names_out().tolist() == whole.feature_names_out().tolist()
    assert (parts.transform(sentences).matrix != whole.transform(sentences).matrix).nnz == 0


@pytest.mark.parametrize("objective", ["margin", "likelihood"])
def test_files_have_the_bits_of_memory(tmp_path, objective):
    options = {"objective": objective, "tol": 1e-3, "max_epochs": 8}
    expected = SequenceTagger(**options).fit(*make_text())
    paths = write_files(tmp_path, 1)
    found = SequenceTagger(**options).fit(TextShards(paths))
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    assert found.result_.gap == expected.result_.gap
    sentences, _ = make_text()
    assert found.predict(sentences) == expected.predict(sentences)
    assert sorted(tmp_path.iterdir()) == paths  # nothing is left behind
    found.save(tmp_path / "model")


def test_several_files_share_the_optimum(tmp_path):
    options = {"tol": 1e-3, "max_epochs": 100}
    expected = SequenceTagger(**options).fit(*make_text()).result_
    write_files(tmp_path, 4)
    path = tmp_path.parent / "shards.checkpoint"
    tagger = SequenceTagger(**options, engine=SerialEngine(2), callbacks=[Checkpoint(path)])
    found = tagger.fit(TextShards(tmp_path)).result_
    assert found.dual <= expected.primal + 1e-9
    assert expected.dual <= found.primal + 1e-9


@pytest.mark.parametrize("n_workers", [1, 2])
def test_perceptrons_learn_from_files(tmp_path, n_workers):
    options = {"solver": "perceptron", "max_epochs": 30}
    expected = SequenceTagger(**options).fit(*make_text())
    paths = write_files(tmp_path, 1)
    found = SequenceTagger(**options).fit(TextShards(paths))
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    paths = write_files(tmp_path, 3)
    tagger = SequenceTagger(engine=SerialEngine(n_workers), **options).fit(TextShards(paths))
    assert tagger.result_.status is Status.CONVERGED
    assert tagger.score(*make_text()) == 1.0


class Awake(Callback):
    """How many shards have their state in a worker, after epochs and at the end of a check."""

    def __init__(self):
        self.counts = []

    def on_start(self, run):
        self.on_epoch(run)

    def on_epoch(self, run):
        self.counts.append(sum(own.version is not None for own in worker._shards.values()))


def test_checkpoints_leave_shards_where_they_are(tmp_path):
    write_files(tmp_path, 4)
    path = tmp_path.parent / "parked.checkpoint"

    def fit(max_epochs, *callbacks):
        options = {"tol": 1e-9, "max_epochs": max_epochs, "callbacks": callbacks}
        return SequenceTagger(engine=SerialEngine(2), **options).fit(TextShards(tmp_path)).result_

    expected = fit(4)
    awake = Awake()
    for max_epochs in (2, 4):
        found = fit(max_epochs, Checkpoint(path, epochs=1, resume=True), awake)
    assert found.w.tobytes() == expected.w.tobytes()
    assert awake.counts == [0] * 6


def test_bad_files_are_named_and_left_out_if_asked(tmp_path):
    write_files(tmp_path, 3)
    bad = tmp_path / "001.txt"
    bad.write_bytes(b"\xff\xfe broken\n")
    with pytest.raises(ValueError, match="001.txt.*skip_bad=True"):
        SequenceTagger().fit(TextShards(tmp_path))
    found = SequenceTagger(max_epochs=2).fit(TextShards(tmp_path, skip_bad=True))
    assert found.classes_.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(("old", "new"), [(" y\n", " yy\n"), ("\n\n", "\n"), ("w1 ", "w2 ")])
def test_files_that_change_while_they_are_learned_from_are_named(tmp_path, monkeypatch, old, new):
    path = write_files(tmp_path, 3)[1]
    start = Rounds.run

    def change(*arguments):
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        return start(*arguments)

    monkeypatch.setattr(Rounds, "run", change)
    with pytest.raises(ValueError, match=r"001.txt: the file changed since training began"):
        SequenceTagger(max_epochs=2).fit(TextShards(tmp_path))


def test_links_to_files_that_are_gone_are_bad_files(tmp_path):
    path = write_files(tmp_path, 3)[1]
    path.unlink()
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(ValueError, match=r"a shard cannot be read: .*001.txt"):
        SequenceTagger(max_epochs=2).fit(TextShards(tmp_path))


def test_what_files_are_not_trained_with_is_named(tmp_path):
    shards = TextShards(write_files(tmp_path, 1))
    with pytest.raises(ValueError, match="takes no tags; leave that out, or give all sentences"):
        SequenceTagger().fit(shards, [["x"]])
    with pytest.raises(ValueError, match="takes no bio and no warm_start; leave that out"):
        SequenceTagger(bio=True, warm_start=True).fit(shards)


@pytest.mark.parametrize(
    ("objective", "solver"),
    [("margin", "fw"), ("margin", "cutting-plane"), ("margin", "ssg"), ("likelihood", "lbfgs")],
)
@pytest.mark.parametrize("engine", [None, "threads"])
def test_solvers_that_need_all_samples_are_refused(tmp_path, objective, solver, engine):
    write_files(tmp_path, 2)
    tagger = SequenceTagger(objective=objective, solver=solver, engine=engine)
    with pytest.raises(ValueError, match="does not learn from a corpus in files; use"):
        tagger.fit(TextShards(tmp_path))


def test_early_stopping_is_refused_before_files_are_read(tmp_path):
    (tmp_path / "a.txt").write_text("bad\n")
    tagger = SequenceTagger(callbacks=[EarlyStopping(*make_text())])
    with pytest.raises(ValueError, match="cannot be stopped by held-out samples; leave out"):
        tagger.fit(TextShards(tmp_path))


def test_a_folder_without_files_is_named(tmp_path):
    (tmp_path / ".hidden").write_text("a b\n")
    with pytest.raises(ValueError, match=f"{tmp_path.name}: the folder has no files of sentences"):
        TextShards(tmp_path)


def test_folders_of_killed_runs_are_removed(tmp_path, monkeypatch):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    corpus, states = tmp_path / "corpus", tmp_path / "states"
    monkeypatch.setattr(tempfile, "tempdir", str(states))
    for folder, prefix in ((corpus, ".fit-"), (states, "maxmargin-")):
        (folder / f"{prefix}{platform.node()}-{done.pid}-x" / "inside").mkdir(parents=True)
        (folder / f"{prefix}{platform.node()}-{os.getpid()}-x").mkdir()
        # of a machine whose name begins like that of this one
        (folder / f"{prefix}{platform.node()}-{done.pid}-1-x").mkdir()
    SequenceTagger(max_epochs=1).fit(TextShards(write_files(corpus, 2)))
    for folder in (corpus, states):
        names = {own.name.split(platform.node())[1] for own in folder.iterdir() if own.is_dir()}
        assert names == {f"-{os.getpid()}-x", f"-{done.pid}-1-x"}


def test_features_that_are_all_too_rare_are_told_as_of_lists(tmp_path):
    with pytest.raises(ValueError, match="min_count=1000 leaves no features"):
        SequenceTagger(min_count=1000).fit(TextShards(write_files(tmp_path, 2)))


def test_options_of_files_are_checked(tmp_path):
    write_files(tmp_path, 1)
    with pytest.raises(ValueError, match="'tag_column' is not one of columns, tag-column"):
        TextShards(tmp_path, {"tag_column": "1"})
    for name, value in (("separator", "comma"), ("columns", "form"), ("comments", True)):
        with pytest.raises((TypeError, ValueError), match=name):
            TextShards(tmp_path, {name: value})
    TextShards(tmp_path, {"columns": ["word", 2], "tag-column": -1, "separator": "space"})


def test_files_have_slices_of_sentences(tmp_path):
    shards = TextShards(write_files(tmp_path, 2))
    assert shards[1:-1:2] == list(shards)[1:-1:2]


class Interrupting(Callback):
    def on_epoch(self, run):
        raise KeyboardInterrupt


@pytest.mark.parametrize("engine", [None, "threads"])
def test_interrupts_end_fits_as_in_memory(tmp_path, engine):
    tagger = SequenceTagger(engine=engine, tol=1e-9, callbacks=[Interrupting()])
    with pytest.raises(FitInterrupted, match="The weights so far are kept"):
        tagger.fit(TextShards(write_files(tmp_path, 2)))
    assert tagger.result_.status is Status.INTERRUPTED
    assert len(tagger.predict(make_text()[0])) == 24


def test_fits_that_end_early_warn_as_in_memory(tmp_path):
    tagger = SequenceTagger(max_epochs=1)
    with pytest.warns(ConvergenceWarning, match="max_epochs=1 reached"):
        tagger.fit(TextShards(write_files(tmp_path, 2)))


@pytest.mark.parametrize("engine", [None, "threads"])
def test_passes_over_files_tell_how_far_they_are(tmp_path, engine):
    write_files(tmp_path, 3)
    told = []
    with listen_to_progress(lambda *step: told.append(step)):
        tagger = SequenceTagger(engine=engine, max_epochs=1).fit(TextShards(tmp_path))
        tagger.predict(TextShards(tmp_path))
        TextShards(tmp_path).read_tags()
    folder = str(tmp_path)
    activities = [("numbering words of", folder), ("counting features of", folder)]
    activities += [("making", "features"), ("tagging", folder), ("reading tags of", folder)]
    assert told == [(*own, done, 3, " files") for own in activities for done in range(4)]


@pytest.mark.parametrize("n_files", [1, 3])
def test_files_that_end_otherwise_are_refused(tmp_path, n_files):
    write_files(tmp_path, n_files)
    (tmp_path / "README.md").write_text("this is it\n")
    with pytest.raises(ValueError, match="README.md: all files of a folder are data.*Move"):
        TextShards(tmp_path)
    assert len(TextShards([tmp_path / "README.md", tmp_path / "000.txt"]).paths) == 2


@pytest.mark.parametrize(
    "names", [["a.txt", "b.txt.gz"], ["x.00", "x.01", "y"], ["p.aa", "p.ab", "p.ac"]]
)
def test_files_of_a_folder_may_be_packed_or_numbered(tmp_path, names):
    for name in names:
        (tmp_path / name).touch()
    assert [Path(path).name for path in TextShards(tmp_path).paths] == names


def test_files_with_other_columns_are_named(tmp_path):
    write_files(tmp_path, 3)
    (tmp_path / "001.txt").write_text("w0 x\n")
    with pytest.raises(ValueError, match="001.txt: found 1 feature column.*expected 2 as in other"):
        SequenceTagger().fit(TextShards(tmp_path))


def test_files_without_blank_lines_are_told(tmp_path, caplog):
    write_files(tmp_path, 2)
    (tmp_path / "001.txt").write_text("w0 a x\n" * 2000)
    SequenceTagger(max_epochs=1).fit(TextShards(tmp_path))
    (told,) = caplog.messages
    assert "001.txt: found 1 sentence(s) of 2000 tokens on average; separate" in told
    caplog.clear()
    TaggingCommand().read(sorted(tmp_path.glob("*.txt")), {})
    assert caplog.messages == [told]
