"""Dual extragradient with entropic steps in z: against the method as printed, over all outputs."""

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from maxmargin.solvers import DualExtragradient
from reference import tilted as book
from solvers.saddle_cases import SETS, build

#: structures whose `tilt` is an expectation over all outputs
TILTED = ("multiclass", "finite", "chain", "chain-forbidden")
WEIGHTS = {"multiclass": 1 + np.arange(9) % 3, "finite": 1 + np.arange(8) % 4}
all_tilted = pytest.mark.parametrize("name", TILTED)
any_tilted = pytest.mark.parametrize("name", [*TILTED, "matching"])
both_memories = pytest.mark.parametrize("memory", ["plain", "low"])


def tilting(**options):
    return DualExtragradient(z_geometry="entropic", **options)


def epochs(solver, problem, count):
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        state.epoch += 1
        yield state


def made_for(name, domain="all", alpha=0.0):
    return build(name, domain, alpha=alpha, weight=WEIGHTS.get(name))


def by_definition(made, domain, geometry="euclidean", height=0.0):
    kind = book.TiltedSaddle if geometry == "euclidean" else book.DoublyEntropicSaddle
    dense = kind(made.training, SETS[domain][1], 2.5)
    dense.height = height
    return dense


# -- the method ------------------------------------------------------------------------------------
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("height", [0.0, 1.5])
@pytest.mark.parametrize(
    ("geometry", "domain"),
    [("euclidean", "all"), ("euclidean", "l2"), ("euclidean", "l1"), ("entropic", "l1")],
)
@all_tilted
def test_steps_multiply_the_probabilities_of_outputs(name, geometry, domain, height, past):
    made = made_for(name, domain, 0.2)
    dense = by_definition(made, domain, geometry, height)
    printed = book.tilted_dual_extragradient(dense, [0.3] * 8, past)
    solver = tilting(geometry=geometry, step=0.3, ratio=2.5, start=height, past=past)
    for state, (w, z, u) in zip(epochs(solver, made.problem, 8), printed, strict=True):
        np.testing.assert_allclose(state.w, w, atol=1e-12)
        np.testing.assert_allclose(state.z, np.concatenate(z), atol=1e-12)
        np.testing.assert_allclose(state.extra["u_w"], u, atol=1e-12)


@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
@all_tilted
def test_averages_count_each_point_as_its_step(name, geometry):
    made = made_for(name, "l1")
    solver = tilting(geometry=geometry, ratio=2.5)
    steps, found = [], []
    for state in epochs(solver, made.problem, 12):
        steps.append(state.extra["last_step"])
        found.append((state.w.copy(), state.z.copy()))
    assert len(set(steps)) > 3
    printed = book.tilted_dual_extragradient(by_definition(made, "l1", geometry), steps)
    for (w, z), (w_book, z_book, _) in zip(found, printed, strict=True):
        np.testing.assert_allclose(w, w_book, atol=1e-12)
        np.testing.assert_allclose(z, np.concatenate(z_book), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"past": True}, {"step": "norm"}, {"start": 2.0}])
@pytest.mark.parametrize("geometry", ["euclidean", "entropic"])
@any_tilted
def test_little_memory_gives_the_same_iterates(name, geometry, options):
    made = made_for(name, "l1", 0.25)
    plain = tilting(geometry=geometry, **options)
    low = clone(plain).set_params(memory="low")
    pairs = zip(epochs(plain, made.problem, 10), epochs(low, made.problem, 10), strict=True)
    for state, other in pairs:
        np.testing.assert_allclose(other.w, state.w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(other.extra["u_w"], state.extra["u_w"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(other.extra["slope"], state.extra["slope"], rtol=0, atol=1e-10)
        assert other.extra["loss"] == pytest.approx(state.extra["loss"], abs=1e-10)
        assert other.extra["excess"] == pytest.approx(state.extra["excess"], abs=1e-9)
        assert other.n_project == state.n_project
        assert len(other.z) == 0


@pytest.mark.parametrize("past", [False, True])
def test_little_memory_keeps_nothing_of_the_samples(past):
    made = build("matching", "l2", alpha=0.0)
    *_, state = epochs(tilting(memory="low", past=past), made.problem, 2)
    known = (made.problem.truth, state.extra["pointers"])
    own = [v for v in state.extra.values() if isinstance(v, np.ndarray)]
    own = [v for v in own if not any(np.shares_memory(v, k) for k in known)]
    assert max(len(v) for v in own) <= made.problem.dim


class PlainTilt(problems.PlainChain):
    """A chain that tilts in plain Python, over all its outputs."""

    def _logs(self, theta, shape):
        theta = np.where(np.isin(np.arange(len(theta)), self.forbidden(shape)), -np.inf, theta)
        every = np.array(list(self.vertices(shape)))
        return every, np.array([theta[s > 0] @ s[s > 0] for s in every])

    def tilt(self, theta, shape):
        every, logs = self._logs(theta, shape)
        p = np.exp(logs - logs.max())
        return p @ every / p.sum()

    def log_partition(self, theta, shape):
        return float(np.logaddexp.reduce(self._logs(theta, shape)[1]))


@pytest.mark.parametrize("banned", [None, problems.BANNED], ids=["free", "forbidden"])
@pytest.mark.parametrize("past", [False, True])
@both_memories
def test_tilts_in_plain_python_change_nothing(memory, past, banned):
    given = {"cost": problems.generic, "banned": banned, "lengths": (3, 2, 1, 3), "alpha": 0.1}
    fast, slow = problems.chain(**given), problems.chain(**given)
    slow.problem.structure = PlainTilt(forbidden_transitions=banned)
    assert slow.problem.structure.kernel("tilt") is None
    solver = tilting(memory=memory, past=past, start=0.7, step=0.2)
    pairs = zip(epochs(solver, fast.problem, 5), epochs(solver, slow.problem, 5), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a.w, b.w, atol=1e-10)
        np.testing.assert_allclose(a.z, b.z, atol=1e-10)
        assert a.extra["excess"] == pytest.approx(b.extra["excess"], abs=1e-10)
