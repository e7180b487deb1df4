"""`alpha = "auto"`: the strength of the penalty is chosen on held-out samples."""

import numpy as np
import pytest

from cli.runs.made import config, outcome, write_sequences
from cli.runs.test_tasks import alignment, chain, likely, matching, multilabel, tagging, tree
from maxmargin.callbacks import Callback
from maxmargin.cli.runs import RunError, RunFolder, train
from maxmargin.cli.runs.config import check_config
from maxmargin.cli.runs.penalty import _climb
from maxmargin.metrics import chunk_f1
from maxmargin.tasks.registry import Data, find_task_command

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def untold(folder):
    """Tagging without validation data."""
    return {"data": tagging(folder)["data"]}


untold.__name__ = "tagging"


def graph(folder):
    rng = np.random.default_rng(4)
    arrays = {"nodes": rng.normal(size=(24, 3)), "labels": np.tile([0, 1, 1], 8)}
    edges = [[0, 1], [1, 2]] * 8
    ptr = {"node_ptr": np.arange(9) * 3, "edge_ptr": np.arange(9) * 2}
    np.savez(folder / "x.npz", edges=edges, **arrays, **ptr)
    return {"data": [str(folder / "x.npz")]}


def network(folder):
    return graph(folder)


def segmentation(folder):
    masks = np.zeros((4, 8, 8), dtype=np.uint8)
    masks[:, 2:6, 2:6] = 1
    grey = np.random.default_rng(5).integers(150, size=masks.shape) + 100 * masks
    rgb = np.repeat(grey.astype(np.uint8).reshape(-1, 1), 3, axis=1)
    np.savez(folder / "x.npz", rgb=rgb, mask=masks.ravel(), shape=[[8, 8]] * 4)
    return {"data": [str(folder / "x.npz")], "task-options": {"graph": "pixels"}}


def scan(folder):
    rng, paths = np.random.default_rng(6), []
    for k in range(3):
        points = rng.random((60, 3))
        paths.append(folder / f"{k}.txt")
        np.savetxt(paths[-1], np.column_stack([points, points[:, 2] > 0.5]), fmt="%.4f")
    return {"data": [str(path) for path in paths]}


@pytest.mark.parametrize(
    "task",
    [
        tagging,
        untold,
        likely(untold),
        alignment,
        chain,
        matching,
        tree,
        multilabel,
        graph,
        network,
        segmentation,
        scan,
    ],
)
def test_every_task_chooses_its_alpha(task, tmp_path):
    wanted = {"task": task.__name__, "alpha": "auto", "tol": 0.1, "max-epochs": 4}
    folder = RunFolder(tmp_path / "run").create(wanted | task(tmp_path))
    summary = train(folder)
    search = summary["alpha_search"]
    scores = dict(map(tuple, search["tried"]))
    assert summary["alpha"] == search["alpha"] == folder.model().get_params()["alpha"]
    assert scores[search["alpha"]] == max(scores.values())
    assert 4 <= len(scores) <= 13
    assert search["by"] == ("validation" if "validation" in folder.config else "3 folds")
    assert folder.config["alpha"] == "auto"
    assert summary["tables"][0]["title"] == "Penalties tried"


class Crash(Callback):
    """At the third epoch of fit number `fit`."""

    def __init__(self, fit):
        self.fit = fit

    def on_start(self, run):
        self.fit -= 1

    def on_epoch(self, run):
        if self.fit == 0 and run.state.epoch == 3:
            raise RuntimeError("power cut")


def test_a_run_that_goes_on_keeps_the_alpha_it_chose(tmp_path):
    held_out = write_sequences(tmp_path / "dev.npz", seed=7)
    wanted = config(tmp_path, alpha="auto", validation=[str(held_out)], max_epochs=5)
    whole = RunFolder(tmp_path / "whole").create(wanted)
    fits = len(train(whole)["alpha_search"]["tried"]) + 1
    for name, fit, chosen in (("first", 1, False), ("last", fits, True)):
        cut = RunFolder(tmp_path / name).create(wanted)
        with pytest.raises(RuntimeError, match="power cut"):
            train(cut, callbacks=[Crash(fit)])
        assert cut.has("prepared/alpha.json") is chosen
        counted = Crash(0)
        train(cut, resume=True, callbacks=[counted])
        assert -counted.fit == (1 if chosen else fits)
        assert outcome(cut.path) == outcome(whole.path)


@pytest.mark.parametrize("text", ["{}", '{"alpha": "x", "tried": []}', '{"tried": [1]}', "[]"])
def test_a_damaged_choice_is_refused(tmp_path, text):
    folder = RunFolder(tmp_path / "run").create(config(tmp_path, alpha="auto"))
    (folder.path / "prepared").mkdir()
    (folder.path / "prepared" / "alpha.json").write_text(text)
    with pytest.raises(RunError, match=r"alpha.json.* is damaged"):
        train(folder)


def test_what_cannot_be_chosen_is_refused(tmp_path):
    one = write_sequences(tmp_path / "one.npz", n=1)
    for changes, message in (
        ({"data": [str(one)]}, "needs validation data, or two samples"),
        ({"solver": "perceptron"}, "has no penalty"),
    ):
        folder = RunFolder(tmp_path / message[:3]).create(config(tmp_path, alpha="auto", **changes))
        with pytest.raises(RunError, match=message):
            train(folder)
    with pytest.raises(ValueError, match="alpha must be a number"):
        check_config({"alpha": "best"})


@pytest.mark.parametrize(
    "peak, tried", [(0, [0, -1, -2, 1, 2]), (-2, [0, -1, -2, -3, -4]), (1, [0, -1, -2, 1, 2, 3])]
)
def test_it_climbs_to_the_best(peak, tried):
    asked = []

    def score(step):
        asked.append(step)
        return -abs(step - peak)

    assert _climb(score) == peak
    assert asked == tried


def test_tags_that_mark_chunks_are_evaluated_by_chunks():
    command = find_task_command("tagging")
    chunks, others = (Data([["a", "b"]], [tags]) for tags in (["B-X", "I-X"], ["D", "N"]))
    assert command.metric(chunks) == ("F1 of chunks", chunk_f1)
    assert command.metric(others) == ("share of right tags", None)


def test_early_stopping_goes_by_chunks(tmp_path):
    text = "the B-NP\ncat I-NP\nsees O\nthe B-NP\ndog I-NP\n\na B-NP\ndog I-NP\nsleeps O\n"
    (tmp_path / "train.txt").write_text(text)
    (tmp_path / "dev.txt").write_text(text.replace("sees O", "sees B-NP"))
    files = {"data": [str(tmp_path / "train.txt")], "validation": [str(tmp_path / "dev.txt")]}
    wanted = {"task": "tagging", "tol": 0.0, "max-epochs": 3, **files}
    folder = RunFolder(tmp_path / "run").create(wanted)
    summary = train(folder)
    last = folder.history()[-1]["validation_score"]
    assert last == pytest.approx(summary["metrics"]["validation"]["chunk F1"])
    assert last != pytest.approx(summary["metrics"]["validation"]["token accuracy"])
