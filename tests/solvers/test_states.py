"""States of solvers: their fields say what becomes of them in warm starts and checkpoints."""

from dataclasses import MISSING, dataclass, fields

import numpy as np
import pytest

from contract import problems
from contract.cut_runs import CASES, as_bytes, outcome
from maxmargin import ChainSVM
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import load, save
from maxmargin.persistence.checkpoints import Checkpoint, read_snapshot
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers import BCFW, CuttingPlane, FrankWolfe, Solver

SHARED = {own.name for own in fields(State)}


# -- solvers of the package ------------------------------------------------------------------------
@pytest.mark.parametrize("name", CASES)
def test_states_are_of_their_solvers_class(name):
    solver, make = CASES[name]
    state = solver.init(make().problem)
    assert type(state) is solver.state_class
    assert vars(state).keys() == {own.name for own in fields(state)}
    for own in fields(state):
        assert {"warm", "grows", "check", "saved"} <= own.metadata.keys()
        made = own.default_factory is not MISSING or own.default is not MISSING
        assert made or own.name in ("w", "z", "rng")
        assert not (own.metadata["saved"] and own.name not in SHARED)


def test_another_solver_takes_what_all_states_have():
    problem = problems.chain().problem
    first = BCFW(max_epochs=2, tol=0.0).run(problem).state
    kept = first.vertex_cache, first.gaps.copy()
    again = FrankWolfe(max_epochs=4, tol=0.0).run(problem, first).state
    assert type(again) is FrankWolfe.state_class
    assert (again.epoch, again.solver, again.n_oracle) == (4, "fw", 4 * problem.n)
    assert again.rng is first.rng
    assert first.solver == "bcfw"
    assert first.vertex_cache is kept[0]
    np.testing.assert_array_equal(first.gaps, kept[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "solver, name", [(BCFW(), "vertex_cache"), (CuttingPlane(), "cuts")], ids=["bcfw", "cuts"]
)
def test_a_refit_moves_what_is_remembered(solver, name):
    data = make_sequences(20, 3, 3, 4, random_state=0)
    model = ChainSVM(alpha=0.05, solver=solver, warm_start=True, max_epochs=2, tol=0.0)
    old = model.fit(data.X, data.y).result_.state
    remembered = getattr(old, name)
    problem = model._problem(data.X, data.y, None, None)
    new = model._last_state(problem)
    assert type(new) is type(old) is solver.state_class
    assert getattr(new, name) is remembered
    assert getattr(old, name) is None
    assert (new.epoch, new.n_oracle, new.estimate) == (0, 0, np.inf)
    assert new.rng is not old.rng


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_model_files_hold_what_all_states_have(tmp_path):
    data = make_sequences(20, 3, 3, 4, random_state=0)
    model = ChainSVM(alpha=0.05, warm_start=True, max_epochs=3, tol=0.0).fit(data.X, data.y)
    assert model.result_.state.vertex_cache is not None
    model.save(tmp_path / "model")
    state = load(tmp_path / "model").result_.state
    assert type(state) is State
    assert (state.solver, state.epoch, state.outputs) == ("bcfw", 3, 0)
    assert state.z.tobytes() == model.result_.state.z.tobytes()


# -- a solver of one's own -------------------------------------------------------------------------
@dataclass(repr=False)
class OwnState(State):
    """Fields of all kinds."""

    count: int = state_field(0, warm="keep")
    trace: np.ndarray = state_field(empty_array, warm="keep", grows=True)
    refitted: tuple = state_field((), warm="refit", grows=True)
    cleared: np.ndarray = state_field(empty_array)
    plain: float = np.nan


class Own(Solver):
    """Frank-Wolfe that writes down what it does."""

    name = "own"
    state_class = OwnState

    def __init__(self, max_epochs=None, tol=None, random_state=None, check_every=None):
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem):
        return OwnState(np.zeros(problem.dim), problem.truth.copy(), self.generator())

    def epoch(self, problem, state):
        vertex = np.empty_like(state.z)
        problem.apply("maximize", state.w, point=state.z, out=vertex)
        step = 2.0 / (state.count + 2.0)
        state.z += step * (vertex - state.z)
        state.w[:] = problem.weights(state.z)
        state.plain, state.count = step, state.count + 1
        state.trace = np.append(state.trace, step)


def own_run(epochs, *callbacks, state=None):
    return Own(max_epochs=epochs, tol=0.0).run(problems.chain().problem, state, callbacks)


def test_own_states_go_on():
    state = own_run(2).state
    state.cleared, state.refitted = np.ones(3), (np.ones(2),)
    again = own_run(5, state=state).state
    assert again is state
    assert (len(again.trace), again.count, again.plain) == (5, 5, 2.0 / 6.0)
    assert len(again.cleared) == 0
    assert np.isnan(own_run(5, state=again).state.plain)
    new = again.move_to_refit(again.w)
    assert (len(new.refitted), len(again.refitted), new.count) == (1, 0, 0)
    bcfw = BCFW(max_epochs=6, tol=0.0).run(problems.chain().problem, again).state
    back = own_run(8, state=bcfw).state
    assert (type(back), back.count, len(back.trace)) == (OwnState, 2, 2)


def test_own_states_in_checkpoints(tmp_path):
    path, whole = tmp_path / "run", outcome(own_run(6))
    own_run(3, Checkpoint(path))
    assert outcome(own_run(6, Checkpoint(path, resume=True))) == whole


@pytest.mark.parametrize(
    "name, value",
    [
        ("plain", "text"),
        ("count", 1.5),
        ("count", True),
        ("trace", np.zeros((2, 2))),
        ("trace", np.zeros(2, dtype=np.float32)),
        ("trace", np.array([np.nan])),
        ("trace", [1.0]),
        ("cleared", np.zeros(1)),
        ("refitted", (1,)),
        ("other", 1.0),
    ],
)
def test_own_states_that_are_forged(tmp_path, name, value):
    path = tmp_path / "run"
    own_run(3, Checkpoint(path))
    snapshot = read_snapshot(path)
    snapshot.state[name] = value
    save(snapshot, path)
    with pytest.raises(ModelFileError, match="is not a checkpoint of this run, or is damaged"):
        own_run(6, Checkpoint(path, resume=True))


def test_fields_that_no_class_declares_are_not_lost_silently(tmp_path):
    class Careless(Own):
        def init(self, problem):
            state = super().init(problem)
            state.found = 1
            return state

    with pytest.raises(TypeError, match=r"OwnState.found is not a field of OwnState.*state_field"):
        Careless(max_epochs=2).run(
            problems.chain().problem, callbacks=[Checkpoint(tmp_path / "run")]
        )


def test_plain_states_are_enough(tmp_path):
    class Plain(Own):
        state_class = State

        def init(self, problem):
            return State(np.zeros(problem.dim), problem.truth.copy(), self.generator())

        def epoch(self, problem, state):
            vertex = np.empty_like(state.z)
            problem.apply("maximize", state.w, point=state.z, out=vertex)
            state.z += 2.0 / (state.epoch + 2.0) * (vertex - state.z)
            state.w[:] = problem.weights(state.z)

    problem, path = problems.chain().problem, tmp_path / "run"
    whole = Plain(max_epochs=6, tol=0.0).run(problem)
    assert whole.state.w.tobytes() == own_run(6).state.w.tobytes()
    Plain(max_epochs=3, tol=0.0).run(problem, callbacks=[Checkpoint(path)])
    again = Plain(max_epochs=6, tol=0.0).run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert repr(as_bytes(again.state.z)) == repr(as_bytes(whole.state.z))
