"""Every task goes on from a checkpoint to the same bytes, whatever solver it uses."""

import numpy as np
import pytest

from cli.runs.made import outcome
from maxmargin.callbacks import Callback
from maxmargin.cli.runs import RunFolder, train

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Crash(Callback):
    def on_epoch(self, run):
        if run.state.epoch == 3:
            raise RuntimeError("power cut")


def tagging(folder):
    sentences = ["the/D cat/N sees/V Bob/N", "a/D dog/N barks/V", "Bob/N sleeps/V", "the/D dog/N"]
    lines = [[token.replace("/", " ") for token in s.split()] for s in sentences]
    path = folder / "train.txt"
    path.write_text("\n\n".join("\n".join(own) for own in lines) + "\n")
    return {"data": [str(path)], "validation": [str(path)]}


def alignment(folder):
    words = [("a b c", "x y z"), ("b a", "y x"), ("c a b", "z x y"), ("a", "x"), ("b c", "y z")]
    for name, lines in (
        ("source", [a for a, _ in words]),
        ("target", [b for _, b in words]),
        ("links", ["0-0 1-1 2-2", "0-0 1-1", "0-0 1-1 2-2", "0-0", "0-0 1-1"]),
    ):
        (folder / name).write_text("\n".join(lines) + "\n")
    return {"data": [str(folder / name) for name in ("source", "target", "links")]}


def chain(folder):
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(24, 3)), "y": rng.integers(3, size=24)}
    np.savez(folder / "x.npz", lengths=np.full(6, 4), **arrays)
    return {"data": [str(folder / "x.npz")]}


def matching(folder):
    rng = np.random.default_rng(1)
    links = [[i, row, row] for i in range(8) for row in range(2)]
    arrays = {"X": rng.normal(size=(8 * 6, 4)), "shapes": [[2, 3]] * 8, "links": links}
    np.savez(folder / "x.npz", **arrays)
    return {"data": [str(folder / "x.npz")]}


def tree(folder):
    rng = np.random.default_rng(2)
    arrays = {"nodes": rng.normal(size=(24, 3)), "labels": rng.integers(3, size=24)}
    parents = np.tile([1, -1, 1, 2], 6)
    np.savez(folder / "x.npz", parents=parents, n_nodes=np.full(6, 4), **arrays)
    return {"data": [str(folder / "x.npz")]}


def multilabel(folder):
    rng = np.random.default_rng(3)
    np.savez(folder / "x.npz", X=rng.normal(size=(20, 3)), Y=rng.integers(2, size=(20, 3)))
    return {"data": [str(folder / "x.npz")]}


def likely(task):
    """The same data, and the likelihood in the place of margins."""

    def made(folder):
        return task(folder) | {"task-options": {"objective": "likelihood"}}

    made.__name__ = task.__name__
    return made


@pytest.mark.parametrize(
    "task, solver",
    [
        (tagging, None),
        (tagging, "ssg"),
        (alignment, None),
        (alignment, "bcfw"),
        (alignment, "projected-gradient"),
        (chain, "fw"),
        (chain, "perceptron"),
        (matching, "extragradient"),
        (matching, "dual-extragradient"),
        (chain, "eg"),
        (chain, "smoothed"),
        (tree, None),
        (tree, "dual-extragradient"),
        (multilabel, None),
        (likely(tagging), None),
        (likely(chain), "lbfgs"),
        (likely(chain), "eg"),
        (likely(tree), "sdca"),
    ],
)
def test_crash_and_resume(task, solver, tmp_path):
    config = {
        "task": task.__name__, "tol": 0.0, "max-epochs": 6, "checkpoints": {"epochs": 2},
        "solver": solver, **task(tmp_path),
    }  # fmt: skip
    whole, cut = RunFolder(tmp_path / "whole").create(config), RunFolder(tmp_path / "cut")
    summary = train(whole)
    cut.create(config)
    with pytest.raises(RuntimeError, match="power cut"):
        train(cut, callbacks=[Crash()])
    assert train(cut, resume=True)["n_epochs"] == summary["n_epochs"]
    assert outcome(cut.path) == outcome(whole.path)
    if solver is not None:
        assert summary["solver"] == solver
