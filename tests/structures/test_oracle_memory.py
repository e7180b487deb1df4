"""What an oracle remembers of each sample between calls belongs to the run."""

import numpy as np
import pytest

import maxmargin
from maxmargin import Graph, GraphCutSVM
from maxmargin.exceptions import ModelFileError
from maxmargin.losses import Hamming
from maxmargin.persistence import save
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.samples import Samples
from maxmargin.solvers import BCFW, FrankWolfe
from reference import cuts

EDGES = cuts.grid_edges(4, 5)


def scenes(n=7):
    """Grids and, among them, graphs without edges, of which there is nothing to remember."""
    rng = np.random.default_rng(0)
    labels = [np.repeat(rng.permutation([0, 1, 1, 0]), 5) for _ in range(n)]
    nodes = [np.column_stack([y, 1 - y]) + rng.normal(size=(20, 2)) for y in labels]
    return [Graph(x, EDGES if i % 3 else []) for i, x in enumerate(nodes)], labels


def problem(n_jobs=None):
    X, y = scenes()
    return GraphCutSVM(alpha=0.05, n_jobs=n_jobs)._problem(X, y, None, None)


def ways(dim, count=5):
    rng = np.random.default_rng(1)
    return [np.append(rng.normal(size=dim - 1), rng.random()) for _ in range(count)]


def test_answers_are_those_of_a_fresh_start():
    warm, cold = problem(), problem()
    memory = warm.remember(np.empty(0))
    assert memory.shape == (4 * len(EDGES),)
    for w in ways(warm.dim):
        found, expected = np.empty_like(warm.truth), np.empty_like(warm.truth)
        values = warm.apply("maximize", w, out=found)
        np.testing.assert_allclose(values, cold.apply("maximize", w, out=expected), rtol=1e-12)
        assert np.array_equal(found, expected)
    assert memory.any()
    assert cold.memory.size == 0


def test_threads_change_nothing():
    one, two = problem(1), problem(2)
    for case in (one, two):
        case.remember(np.empty(0))
    for w in ways(one.dim):
        assert np.array_equal(one.apply("maximize", w), two.apply("maximize", w))
    assert one.memory.tobytes() == two.memory.tobytes()


def test_a_memory_of_another_size_is_not_taken():
    made = problem()
    assert not made.remember(np.ones(3)).any()
    kept = np.ones(len(made.memory))
    assert made.remember(kept) is kept
    assert made.without_loss().memory is kept


@pytest.mark.parametrize("solver", [BCFW("frank-wolfe"), BCFW(), FrankWolfe()])
def test_the_memory_is_the_states(solver):
    made = problem()
    state = solver.set_params(max_epochs=30, tol=0.0).run(made).state
    assert state.memory is made.memory
    assert state.memory.any()
    again = solver.run(problem()).state
    assert again.memory.tobytes() == state.memory.tobytes()
    assert again.w.tobytes() == state.w.tobytes()
    # a second run on the same problem begins with nothing
    assert solver.run(made).state.w.tobytes() == state.w.tobytes()


def test_predictions_and_saved_models_remember_nothing(tmp_path):
    X, y = scenes()
    model = GraphCutSVM(alpha=0.05, tol=0.1, warm_start=True).fit(X, y)
    assert Samples.memory.size == 0
    assert model.result_.state.memory.size == 4 * len(EDGES)
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.result_.state.memory.size == 0
    for a, b in zip(again.predict(X), model.predict(X), strict=True):
        assert np.array_equal(a, b)


def test_a_checkpoint_with_a_memory_of_another_size_is_refused(tmp_path):
    from maxmargin.persistence.checkpoints import read_snapshot

    path = tmp_path / "run"
    BCFW("frank-wolfe", max_epochs=2, tol=0.0).run(problem(), callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.state["memory"] = np.zeros(5)
    save(snapshot, path)
    with pytest.raises(ModelFileError, match="memory is float64"):
        BCFW("frank-wolfe", max_epochs=4, tol=0.0).run(
            problem(), callbacks=[Checkpoint(path, resume=True)]
        )


class Glue(Hamming):
    """Ends that are alike must not be parted."""

    def costs(self, truth, layout, structure, node_weight=None):
        found = super().costs(truth, layout, structure, node_weight)
        edges = np.arange(len(truth)) >= layout.n_nodes
        found[edges & (truth == 0.0)] = -np.inf
        return found


def test_runs_whose_edges_are_forbidden_go_on_bit_for_bit(tmp_path):
    X, y = scenes()
    model = GraphCutSVM(alpha=0.05, loss=Glue(normalize=False))

    def run(epochs, *callbacks):
        made = model._problem(X, y, None, None)
        return BCFW("frank-wolfe", max_epochs=epochs, tol=0.0).run(made, None, callbacks)

    run(3, Checkpoint(tmp_path / "run"))
    again, whole = run(8, Checkpoint(tmp_path / "run", resume=True)), run(8)
    assert np.isfinite(whole.gap)
    assert again.w.tobytes() == whole.w.tobytes()
    assert again.state.z.tobytes() == whole.state.z.tobytes()


def test_weights_that_reward_cuts_are_told_with_sample_and_edge():
    made = problem()
    w = np.zeros(made.dim)
    w[-1] = -1.0
    with pytest.raises(ValueError, match=r"sample 1: edge 0, \(0, 1\), scores 1"):
        made.primal(w)
