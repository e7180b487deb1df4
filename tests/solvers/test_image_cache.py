"""An oracle cache of images: the same steps as with whole vertices, at other prices."""

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from contract.cut_runs import outcome
from maxmargin import Graph, GraphCutSVM, MulticlassSVM, domains
from maxmargin.callbacks import Callback
from maxmargin.domains.base import check_domain
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import save
from maxmargin.persistence.checkpoints import Checkpoint, read_snapshot
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe, OracleCache, vertex_cache
from maxmargin.solvers.vertex_cache import images_pay
from maxmargin.structures import GraphCut
from persistence.model_files import contents, forge
from reference.linear import violation

pytestmark = pytest.mark.one_in(3)

STEPS = ("frank-wolfe", "pairwise", "corrective")


def graphs(n=3, nodes=40, features=4, seed=0):
    """Rings with chords, smooth labels, noisy features."""
    rng = np.random.default_rng(seed)
    own = np.arange(nodes)
    edges = np.concatenate([np.c_[own[:-1], own[1:]], np.c_[own[:-7], own[7:]]])
    signal = rng.normal(size=features)
    X, y = [], []
    for _ in range(n):
        labels = (np.sin(own / 5 + 6 * rng.random()) > 0).astype(int)
        rows = rng.normal(size=(nodes, features)) + 0.4 * (2 * labels - 1)[:, None] * signal
        X.append(Graph(rows, edges, rng.random((len(edges), 2))))
        y.append(labels)
    return X, y


def cuts(domain=None, tables=False, **options):
    """A problem of graph cuts without ties; GraphCutSVM keeps the weights of edges >= 0."""
    model = GraphCutSVM(alpha=1e-2, tables=tables)
    problem = model._problem(*graphs(**options), None, None)
    problem.packed.costs[:] *= np.random.default_rng(1).uniform(0.5, 1.5, len(problem.truth))
    if domain is not None:
        problem.domain = domain
    return problem


def bcfw(store, step="corrective", size=30, passes=5, **options):
    return BCFW(step, cache=OracleCache(size, passes, store), **options)


def states(solver, problem, count):
    state = solver.init(problem)
    for _ in range(count):
        solver.epoch(problem, state)
        state.epoch += 1
        yield state


def duals(solver, problem, count):
    return np.array([problem.dual(state.z) for state in states(solver, problem, count)])


CASES = {
    "cuts": cuts,
    "tables": lambda: cuts(tables=True),
    "signs": lambda: cuts(domains.Signs(positive=[0, 5, 6], negative=[1, 4])),
    "ball": lambda: problems.matching(domain=domains.L2Ball(0.8)).problem,
    "chain": lambda: problems.chain(cost=problems.generic).problem,
    "chain-forbidden": lambda: (
        problems.chain(cost=problems.generic, banned=problems.BANNED).problem
    ),
    "matching": lambda: problems.matching().problem,
    "items": lambda: problems.items().problem,
    "multiclass": lambda: problems.multiclass(cost=problems.generic).problem,
}


# -- the same as with vertices ---------------------------------------------------------------------
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [30, 1])
def test_frank_wolfe_steps_are_those_between_vertices(name, size):
    problem = CASES[name]()
    found = [duals(bcfw(s, "frank-wolfe", size), problem, 10) for s in ("vertices", "images")]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("step", ["pairwise", "corrective"])
def test_exchanges_are_those_between_vertices(name, step):
    """For an epoch: exchanges end in equal scores, and rounding says which is taken up next."""
    problem = CASES[name]()
    found = [next(states(bcfw(s, step), problem, 1)) for s in ("vertices", "images")]
    values = [problem.dual(state.z) for state in found]
    assert values[1] == pytest.approx(values[0], rel=1e-10)
    assert values[1] > 0
    np.testing.assert_allclose(found[1].gaps, found[0].gaps, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name, step", [*((n, "corrective") for n in CASES), ("cuts", "pairwise")])
def test_the_same_optimum(name, step):
    problem = CASES[name]()
    results = [bcfw(s, step, max_epochs=300, tol=1e-3).run(problem) for s in ("vertices", "images")]
    assert all(result.status is Status.CONVERGED for result in results)
    assert max(r.dual for r in results) <= min(r.primal for r in results) + 1e-12


# -- invariants ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("size, passes", [(30, "auto"), (2, 3), (1, 0)])
def test_the_dual_rises_and_w_belongs_to_z(name, step, size, passes):
    problem = CASES[name]()
    before = 0.0
    for state in states(bcfw("images", step, size, passes), problem, 8):
        np.testing.assert_allclose(state.w, problem.weights(state.z), rtol=0, atol=1e-11)
        dual = problem.dual(state.z)
        assert dual >= before - 1e-13
        before = dual
    assert before > 0
    assert problem.domain.contains(state.w)


@pytest.mark.parametrize("name", ["cuts", "tables", "chain-forbidden", "matching"])
def test_rebuilt_points_are_feasible(name):
    problem = CASES[name]()
    *_, state = states(bcfw("images", size=2), problem, 8)
    vertex_cache = state.vertex_cache
    assert (vertex_cache.mass.reshape(problem.n, -1)[:, 0] > 0).any()  # something was folded
    for i, layout in enumerate(problem.layouts):
        point = state.z[problem.parts(i)]
        assert point.min() >= 0
        assert violation(problem.structure.constraints(layout), point) < 1e-12


def test_images_and_costs_are_those_of_the_vertices():
    problem = cuts()
    *_, state = states(bcfw("images", size=3), problem, 6)
    vertex_cache = state.vertex_cache
    slots = len(vertex_cache.score)
    weights, loss = np.zeros(problem.dim), 0.0
    for i in range(problem.n):
        mass = vertex_cache.mass[i * slots : (i + 1) * slots]
        assert mass.sum() == pytest.approx(1.0, abs=1e-14)
        first = vertex_cache.image_ptr[i]
        images = vertex_cache.image[first : first + slots * vertex_cache.size[i]].reshape(slots, -1)
        weights += problem.sample_weight[i] * (mass @ images)
        loss += problem.sample_weight[i] * (mass @ vertex_cache.cost[i * slots : (i + 1) * slots])
        products = np.split(vertex_cache.gram, problem.n)[i]
        expected = (images @ images.T)[np.tril_indices(slots)]
        np.testing.assert_allclose(products, expected, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(weights, problem.features(state.z), rtol=1e-12, atol=1e-12)
    truth = problem.sample_weight @ np.add.reduceat(
        problem.loss_costs * state.z, problem.part_ptr[:-1]
    )
    assert loss == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("name, passes", [("cuts", 5), ("tables", 5), ("matching", 0)])
def test_averages_are_those_of_whole_vertices(averaging, name, passes):
    """Without cached visits where their gaps are zero up to rounding: such ones do not count."""
    problem, pair = CASES[name](), []
    for store in ("vertices", "images"):
        solver = bcfw(store, "frank-wolfe", passes=passes, averaging=averaging)
        *_, state = states(solver, problem, 5)
        pair.append(solver.candidates(problem, state))
    assert len(pair[0]) == 1 + averaging
    for old, new in zip(*pair, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-11)


# -- starts ----------------------------------------------------------------------------------------
def test_warm_start_from_another_solver_and_another_store():
    problem = problems.matching(n=20).problem
    first = FrankWolfe(max_epochs=5, tol=0.0).run(problem)
    second = bcfw("images", max_epochs=12, tol=0.0).run(problem, first.state)
    assert second.dual > first.dual
    third = bcfw("vertices", max_epochs=14, tol=0.0).run(problem, second.state)
    assert third.state.stores == "vertices"
    assert third.dual >= second.dual - 1e-13
    fourth = bcfw("images", max_epochs=16, tol=0.0).run(problem, third.state)
    assert fourth.state.stores == "images"
    assert fourth.dual >= third.dual - 1e-13


def test_warm_start_goes_on_with_what_is_remembered():
    X, y = graphs()
    model = GraphCutSVM(alpha=0.01, warm_start=True, tol=1e-3).fit(X, y)
    count = model.result_.state.vertex_cache.count.copy()
    assert model.result_.state.stores == "images"
    model.set_params(tol=1e-5).fit(X, y)
    assert (model.result_.state.vertex_cache.count >= count).all()
    assert model.result_.relative_gap <= 1e-5
    again = model.fit(X, y).result_
    assert again.n_epochs == 0


def test_another_loss_starts_from_z_alone():
    """Costs are remembered with the images, and are others now."""
    problem, other = cuts(), cuts()
    other.packed.costs[:] *= 2.0
    state = bcfw("images", max_epochs=8, tol=0.0).run(problem).state
    bound = other.dual(state.z)
    result = bcfw("images", max_epochs=9, tol=0.0).run(other, state)
    assert result.dual >= bound
    assert result.dual == pytest.approx(other.dual(result.state.z), rel=1e-12)
    np.testing.assert_allclose(result.state.w, other.weights(result.state.z), atol=1e-11)
    slots = len(state.vertex_cache.score)
    costs = state.vertex_cache.cost.reshape(problem.n, slots)
    mass = state.vertex_cache.mass.reshape(problem.n, slots)
    own = np.add.reduceat(other.loss_costs * state.z, other.part_ptr[:-1])
    np.testing.assert_allclose((mass * costs).sum(axis=1), own, rtol=1e-12)


class Interrupted(problems.AtMostTwo):
    """An oracle in Python, interrupted at one of its calls."""

    def maximize(self, theta, layout):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().maximize(theta, layout)


def test_an_interrupted_epoch_leaves_z_and_masses_together():
    problem = problems.items().problem
    problem.structure = Interrupted()
    problem.structure.left = 6 + problem.n + problem.n // 2  # probes, an epoch, and half of one
    result = bcfw("images", passes=0, max_epochs=50, tol=0.0, check_every=100).run(problem)
    assert result.status is Status.INTERRUPTED
    assert result.n_epochs == 1
    kept = result.state.z.copy()
    again = bcfw("images", max_epochs=4, tol=0.0).run(problem, result.state)
    assert again.dual > problem.dual(kept)
    np.testing.assert_allclose(again.state.w, problem.weights(again.state.z), atol=1e-11)


# -- which is taken --------------------------------------------------------------------------------
def test_auto_keeps_images_where_vertices_are_large():
    assert images_pay(cuts())
    assert not images_pay(problems.chain().problem)
    assert not images_pay(cuts(features=60))
    state = BCFW().init(cuts())
    assert state.vertex_cache.word.size > 0
    assert len(state.vertex_cache.value) == 0
    assert BCFW().init(problems.chain().problem).stores == "vertices"


@pytest.mark.parametrize("domain", [None, domains.L2Ball(0.5)])
def test_slots_side_by_side_or_apart_hold_the_same(monkeypatch, domain):
    found = []
    for long in (0, np.inf):
        monkeypatch.setattr(vertex_cache, "_LONG", long)
        problem = problems.chain().problem
        problem.domain = check_domain(domain, problem.dim)
        result = BCFW(cache=OracleCache(3, store="vertices"), max_epochs=5, tol=0).run(problem)
        found.append((result.w.tobytes(), result.state.z.tobytes(), result.dual))
        stride, room = result.state.vertex_cache.stride, result.state.vertex_cache.room
        assert np.array_equal(stride, room) == (long > 0)
    assert found[0] == found[1]


def test_memory_is_a_bit_a_part():
    problem = cuts(nodes=1000)
    state = BCFW().init(problem)
    slots = len(state.vertex_cache.score)
    parts = np.diff(problem.part_ptr)
    assert state.vertex_cache.word.nbytes == 8 * (slots - 1) * (-(-parts // 64)).sum()


class Halves(GraphCut):
    """An oracle that breaks its promise of zeros and ones."""

    def maximize(self, theta, layout):
        return 0.5 * super().maximize(theta, layout)


def test_what_is_no_bit_is_refused_with_a_hint():
    problem = cuts()
    problem.structure = Halves()
    solver = bcfw("images")
    with pytest.raises(ValueError, match="sample .*Halves.*zeros and ones.*binary = False"):
        solver.epoch(problem, solver.init(problem))


@pytest.mark.parametrize(
    "cache, words",
    [
        (OracleCache(store="lines"), "store='lines' must be 'auto' or 'vertices' or 'images'"),
        (OracleCache(passes="many"), "passes='many' must be an integer at least 0 or 'auto'"),
    ],
)
def test_wrong_options(cache, words):
    with pytest.raises(ValueError, match=words):
        BCFW(cache=cache).run(cuts())


# -- checkpoints -----------------------------------------------------------------------------------
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["cuts", "tables", "chain"])
def test_runs_go_on_to_the_same_bits(tmp_path, name, step):
    problem = CASES[name]()
    solver = bcfw("images", step, size=3, passes="auto", max_epochs=6, tol=0.0)
    whole = outcome(solver.run(problem))
    path = tmp_path / "run"
    clone(solver).set_params(max_epochs=3).run(problem, callbacks=[Checkpoint(path)])
    again = solver.run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == whole


FORGERIES = {
    "size": ("size", 10**6),
    "image_ptr": ("image_ptr", 10**9),
    "length": ("length", 10**6),
    "n_words": ("n_words", 10**6),
    "word_ptr": ("word_ptr", -7),
    "count": ("count", 99),
    "active": ("active", -5),
    "n_active": ("n_active", 99),
}


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run"
    bcfw("images", max_epochs=3, tol=0.0).run(cuts(), callbacks=[Checkpoint(path)])
    return path


def resume(path):
    return bcfw("images", max_epochs=5, tol=0.0).run(
        cuts(), callbacks=[Checkpoint(path, resume=True)]
    )


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_numbers_are_refused(written, name):
    snapshot = read_snapshot(written)
    field, value = FORGERIES[name]
    getattr(snapshot.state["vertex_cache"], field)[0] = value
    save(snapshot, written)
    with pytest.raises(ModelFileError, match="out of range"):
        resume(written)


@pytest.mark.parametrize("field", ["image", "cost", "word", "value", "change", "bits"])
def test_forged_sizes_are_refused(written, field):
    snapshot = read_snapshot(written)
    kept = snapshot.state["vertex_cache"]
    longer = np.append(getattr(kept, field), 0).astype(getattr(kept, field).dtype)
    snapshot.state["vertex_cache"] = kept._replace(**{field: longer})
    save(snapshot, written)
    with pytest.raises(ModelFileError, match="vertex_cache"):
        resume(written)


def test_forged_trees_raise_no_other_error(written):
    """Right checksums, wrong contents: refused, or a run that ends in order."""
    good, rng, refused = written.read_bytes(), np.random.default_rng(0), 0
    for _ in range(60):
        written.write_bytes(good)
        if forge(written, *contents(written), rng) is None:
            continue
        try:
            result = resume(written)
        except ValueError:  # also those of another run
            refused += 1
            continue
        assert isinstance(result.status, Status)
    assert refused > 20


def test_a_memory_of_the_other_kind_is_refused(written):
    snapshot = read_snapshot(written)
    snapshot.state["vertex_cache"] = bcfw("vertices").init(cuts()).vertex_cache
    save(snapshot, written)
    with pytest.raises(ModelFileError, match="vertex_cache"):
        resume(written)
    del snapshot.state["vertex_cache"]
    save(snapshot, written)
    with pytest.raises(ModelFileError, match="lacks 'vertex_cache'"):
        resume(written)
    snapshot.state["vertex_cache"] = None
    save(snapshot, written)
    with pytest.raises(ModelFileError, match="vertex_cache is not a VertexCache of"):
        resume(written)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("store", ["images", "vertices"])
def test_the_dual_of_badly_scaled_features_never_falls(store):
    """That of z itself: the run's bound is the best so far."""
    duals = []

    class Watch(Callback):
        def on_record(self, run, record):
            duals.append(run.problem.dual(run.state.points))

    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4, 2)) * 10.0 ** rng.choice([-6, 0, 3, 6], size=(4, 1))
        X, y = np.vstack([X, X]), np.repeat([0, 1], 4)
        solver = BCFW("frank-wolfe", cache=OracleCache(5, 3, store), random_state=seed)
        alpha = float(10.0 ** rng.choice([-9, -6, -3]))
        duals.clear()
        model = MulticlassSVM(alpha=alpha, solver=solver, tol=1e-9, max_epochs=12, bias=False)
        model.set_params(callbacks=[Watch()]).fit(X, y)
        assert min(np.diff(duals), default=0.0) >= -1e-9 * max(1.0, *np.abs(duals))
