"""A run that is cut after any epoch and goes on from its checkpoint ends with the same bits."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from contract import problems
from maxmargin import ChainSVM, domains
from maxmargin.callbacks import Callback, EarlyStopping, TimeLimit
from maxmargin.checkpoints import Checkpoint, read_snapshot
from maxmargin.checkpoints.checkpoint import SHARE
from maxmargin.checkpoints.sparse import LONG, Sparse, packed, unpacked
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import load, save
from maxmargin.result import Status
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    Extragradient,
    FrankWolfe,
    OracleCache,
    Perceptron,
    ProjectedGradient,
    Subgradient,
)
from persistence.model_files import contents, forge

EPOCHS = 7
MATCHING = lambda: problems.matching(n=40)  # noqa: E731  # enough samples for several ranges
BALL = domains.L1Ball(1.2)
CASES = {
    **{
        f"bcfw-{step}-{sampling}": (BCFW(step, sampling), problems.chain)
        for step, sampling in product(
            ("frank-wolfe", "pairwise", "corrective"), ("permutation", "uniform", "gap")
        )
    },
    "bcfw-fixed": (BCFW("frank-wolfe", line_search=False), problems.chain),
    "bcfw-plain": (BCFW(averaging=False), problems.multiclass),
    "bcfw-small-cache": (BCFW("pairwise", cache=OracleCache(1, 2)), problems.matching),
    "bcfw-cached": (BCFW("frank-wolfe", cache=OracleCache(3, 3)), problems.matching),
    "bcfw-python": (BCFW(), problems.items),
    "bcfw-every-epoch": (BCFW(check_every=1), problems.chain),
    "fw": (FrankWolfe(), problems.chain),
    "fw-fixed": (FrankWolfe(line_search=False), problems.chain),
    "ssg": (Subgradient(), problems.chain),
    "ssg-half": (Subgradient("half"), problems.chain),
    "ssg-last": (Subgradient(None), problems.chain),
    "perceptron": (Perceptron(), problems.chain),
    "perceptron-last": (Perceptron(averaged=False), problems.chain),
    "perceptron-batch": (Perceptron(batch=True), problems.chain),
    "extragradient": (Extragradient(), MATCHING),
    "extragradient-norm": (Extragradient(step="norm"), MATCHING),
    "extragradient-python": (Extragradient(), problems.items),
    "dual": (DualExtragradient(), MATCHING),
    "dual-low": (DualExtragradient(memory="low"), MATCHING),
    "dual-past": (DualExtragradient(past=True), MATCHING),
    "dual-low-past": (DualExtragradient(memory="low", past=True), MATCHING),
    "dual-adaptive": (DualExtragradient(step="adaptive"), MATCHING),
    "dual-restarts": (DualExtragradient(restarts=True, check_every=1), MATCHING),
    "dual-entropic": (
        DualExtragradient("entropic"), lambda: problems.matching(n=40, domain=BALL, alpha=0.0)
    ),
    "dual-entropic-low": (
        DualExtragradient("entropic", "low"), lambda: problems.matching(domain=BALL)
    ),
    "projected-gradient": (ProjectedGradient(), MATCHING),
    "projected-gradient-even": (ProjectedGradient(decay=False), MATCHING),
}  # fmt: skip


def solver_of(name, **options):
    return clone(CASES[name][0]).set_params(**({"max_epochs": EPOCHS, "tol": 0.0} | options))


def outcome(result):
    """All that must not change, bit for bit."""
    state, records = result.state, [replace(r, seconds=0.0) for r in result.history]
    arrays = [result.w, state.w, state.z, state.lag, state.clock]
    return (
        [a.tobytes() for a in arrays],
        np.array([result.primal, result.dual]).tobytes(),
        result.status,
        result.n_epochs,
        (state.n_oracle, state.n_project, state.rng.bit_generator.state),
        [repr(record) for record in records],
        repr(extras(state.extra)),
    )


def extras(value):
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {k: extras(v) for k, v in sorted(value.items())}
    return [extras(v) for v in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", CASES)
def test_cut_after_any_epoch(name, tmp_path):
    make = CASES[name][1]
    whole = outcome(solver_of(name).run(make().problem))
    path = tmp_path / "run"
    for cut in range(1, EPOCHS):
        short = solver_of(name, max_epochs=cut).run(make().problem, callbacks=[Checkpoint(path)])
        assert short.n_epochs == cut
        again = solver_of(name).run(make().problem, callbacks=[Checkpoint(path, resume=True)])
        assert outcome(again) == whole
        path.unlink()


@pytest.mark.parametrize("name", ["bcfw-corrective-gap", "ssg-half", "dual-restarts"])
def test_cut_after_every_epoch(name, tmp_path):
    make, path = CASES[name][1], tmp_path / "run"
    whole = outcome(solver_of(name).run(make().problem))
    for epochs in range(EPOCHS + 1):
        last = solver_of(name, max_epochs=epochs).run(
            make().problem, callbacks=[Checkpoint(path, resume=True)]
        )
    assert outcome(last) == whole
    # a run that was over ends the same way once more
    again = solver_of(name).run(make().problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == whole


class Crash(Callback):
    """Ends the process, as it were, after so many epochs."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, run):
        if run.state.epoch == self.epoch:
            raise RuntimeError("power cut")


def test_crash_between_checkpoints(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    whole = solver_of("bcfw-corrective-permutation").run(problem)
    with pytest.raises(RuntimeError, match="power cut"):
        solver_of("bcfw-corrective-permutation").run(
            problem, callbacks=[Checkpoint(path, epochs=2), Crash(5)]
        )
    assert read_snapshot(path).state["epoch"] == 4
    again = solver_of("bcfw-corrective-permutation").run(
        problem, callbacks=[Checkpoint(path, resume=True)]
    )
    assert outcome(again) == outcome(whole)


def test_warm_start_goes_on(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    given = lambda: solver_of("fw", max_epochs=2).run(problem).state  # noqa: E731
    name = "bcfw-corrective-permutation"
    whole = solver_of(name).run(problem, given())
    solver_of(name, max_epochs=4).run(problem, given(), [Checkpoint(path)])
    again = solver_of(name).run(problem, given(), [Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(whole)


def test_converged_run_stays_converged(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    first = BCFW(tol=0.01).run(problem, callbacks=[Checkpoint(path)])
    assert first.status is Status.CONVERGED
    again = BCFW(tol=0.01).run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(first)
    further = BCFW(tol=1e-6).run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert further.status is Status.CONVERGED
    assert further.n_epochs > first.n_epochs


def test_time_limit_counts_the_whole_run(tmp_path):
    path, problem = tmp_path / "run", problems.chain().problem
    solver_of("fw", max_epochs=2).run(problem, callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.wall = 100.0
    save(snapshot, path)
    again = solver_of("fw").run(problem, callbacks=[Checkpoint(path, resume=True), TimeLimit(99.0)])
    assert (again.status, again.n_epochs) == (Status.TIME_LIMIT, 2)


def sequences(seed=0, n=12):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(5, 4)) for _ in range(n)]
    return X, [rng.integers(3, size=5) for _ in X]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("first", [True, False])
def test_early_stopping_remembers(tmp_path, first):
    path, (X, y), held_out = tmp_path / "run", sequences(), sequences(1)

    def fit(max_epochs, *checkpoints):
        stopping = EarlyStopping(*held_out, patience=3)
        callbacks = [*checkpoints, stopping] if first else [stopping, *checkpoints]
        model = ChainSVM(alpha=1e-3, tol=0.0, max_epochs=max_epochs, callbacks=callbacks)
        return model.set_params(solver=BCFW(check_every=1)).fit(X, y)

    whole = fit(60).result_
    assert whole.status is Status.STOPPED
    for cut in (1, whole.n_epochs - 1):
        fit(cut, Checkpoint(path))
        again = fit(60, Checkpoint(path, resume=True)).result_
        assert outcome(again) == outcome(whole)
    # and once more, from the checkpoint of the very end
    assert outcome(fit(60, Checkpoint(path, resume=True)).result_) == outcome(whole)
    with pytest.raises(ModelFileError, match="callback EarlyStopping; give it again"):
        ChainSVM(
            alpha=1e-3, solver=BCFW(check_every=1), callbacks=[Checkpoint(path, resume=True)]
        ).fit(X, y)


# -- when and how it is written --------------------------------------------------------------------
@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 1),
        ({"epochs": 3}, 3),
        ({"epochs": 1}, EPOCHS),
        ({"seconds": 2.0}, 4),
        ({"seconds": 3.0, "epochs": 2}, 4),
    ],
)
def test_when_it_is_written(tmp_path, monkeypatch, options, expected):
    now = [0.0]

    class Work(Callback):
        def on_epoch(self, run):
            now[0] += 1.0

    monkeypatch.setattr("maxmargin.checkpoints.checkpoint.time.perf_counter", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "run", **options)
    solver_of("fw").run(problems.chain().problem, callbacks=[Work(), checkpoint])
    assert checkpoint.n_written_ == expected
    assert checkpoint.error_ is None


def test_writing_takes_a_small_share(tmp_path, monkeypatch):
    now = [0.0]

    def slow_save(*args, **options):
        now[0] += 10.0

    class Work(Callback):
        def on_epoch(self, run):
            now[0] += 1.0

    monkeypatch.setattr("maxmargin.checkpoints.checkpoint.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("maxmargin.checkpoints.checkpoint.save", slow_save)
    checkpoint = Checkpoint(tmp_path / "run", seconds=1.0)
    solver_of("fw", max_epochs=1000).run(problems.chain().problem, callbacks=[checkpoint, Work()])
    assert checkpoint.n_written_ >= 3
    assert (checkpoint.n_written_ - 2) * 10.0 <= now[0] / SHARE


def test_full_disk_is_a_warning(tmp_path, monkeypatch):
    path, problem = tmp_path / "run", problems.chain().problem
    solver_of("fw", max_epochs=2).run(problem, callbacks=[Checkpoint(path)])
    before = path.read_bytes()
    checkpoint = Checkpoint(path, epochs=1, resume=True)

    def no_room(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("maxmargin.persistence.archive.os.fsync", no_room)
        with pytest.warns(RuntimeWarning, match="the disk is full.*Training goes on") as caught:
            result = solver_of("fw").run(problem, callbacks=[checkpoint])
    assert len(caught) == 1
    assert result.n_epochs == EPOCHS
    assert "full" in checkpoint.error_
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    again = solver_of("fw").run(problem, callbacks=[Checkpoint(path, resume=True)])
    assert outcome(again) == outcome(solver_of("fw").run(problem))


def test_wrong_options(tmp_path):
    problem = problems.chain().problem
    for options, error in (
        ({"seconds": -1.0}, ValueError),
        ({"seconds": "often"}, ValueError),
        ({"epochs": 0}, ValueError),
        ({"path": tmp_path / "none" / "run"}, FileNotFoundError),
    ):
        with pytest.raises(error):
            FrankWolfe().run(
                problem, callbacks=[Checkpoint(**({"path": tmp_path / "run"} | options))]
            )


# -- long arrays that are mostly zero --------------------------------------------------------------
def test_sparse_arrays_keep_every_bit():
    rng = np.random.default_rng(0)
    full = np.zeros(3 * LONG)
    full[rng.integers(len(full), size=500)] = rng.normal(size=500)
    full[[0, 7, -1]] = -0.0, np.inf, 1e-320
    tree = {"a": full, "b": ((full != 0).astype(np.int32), 2.0), "c": np.ones(LONG), "d": full[:9]}
    small = packed(tree)
    assert isinstance(small["a"], Sparse)
    assert isinstance(small["b"][0], Sparse)
    assert small["c"] is tree["c"]
    again = unpacked(small, tree)
    assert repr(extras(again)) == repr(extras(tree))
    empty = packed(np.zeros(LONG))
    assert len(empty.values) == 0
    assert unpacked(empty, np.ones(LONG)).tobytes() == np.zeros(LONG).tobytes()


@pytest.mark.parametrize(
    "sparse, words",
    [
        (Sparse(10**12, np.zeros(0, np.uint32), np.zeros(0)), "another size"),
        (Sparse(9, np.array([8, 8], np.uint32), np.ones(2)), "out of range"),
        (Sparse(9, np.array([8], np.uint32), np.ones(2)), "do not go together"),
        (Sparse(9, np.array([8]), np.ones(1)), "do not go together"),
        (Sparse(9, None, np.ones(1)), "do not go together"),
        (Sparse(9, np.array([8], np.uint32), np.ones(1, np.float32)), "another type"),
    ],
)
def test_sparse_arrays_that_are_wrong(sparse, words):
    with pytest.raises(ValueError, match=words):
        unpacked(sparse, np.zeros(9))


# -- what is refused -------------------------------------------------------------------------------
@pytest.fixture
def written(tmp_path):
    """A checkpoint of BCFW on chains after three epochs."""
    path = tmp_path / "run"
    BCFW(max_epochs=3, tol=0.0).run(problems.chain().problem, callbacks=[Checkpoint(path)])
    return path


@pytest.mark.parametrize(
    "solver, problem, words",
    [
        (BCFW(), problems.chain(seed=9), "samples are others"),
        (BCFW(), problems.chain(cost=problems.zero_one), "samples are others"),
        (BCFW(), problems.chain(alpha=0.2), "alpha differs .now 0.2, then 0.1"),
        (BCFW(), problems.chain(lengths=(1, 2)), "another structure"),
        (BCFW(), problems.matching(), "another structure"),
        (BCFW(random_state=1), problems.chain(), "random_state differs"),
        (BCFW("pairwise"), problems.chain(), "options of the solver differ.*pairwise"),
        (BCFW(cache=OracleCache(5)), problems.chain(), "options of the solver differ"),
        (FrankWolfe(), problems.chain(), "solver is another one .now FrankWolfe, then BCFW"),
    ],
)
def test_another_run_is_refused(written, solver, problem, words):
    with pytest.raises(ValueError, match=f"checkpoint of another run: .*{words}"):
        solver.run(problem.problem, callbacks=[Checkpoint(written, resume=True)])


def test_a_model_is_no_checkpoint_and_the_reverse(written, tmp_path):
    with pytest.raises(ModelFileError, match="checkpoint of a run, not a model"):
        load(written)
    X, y = sequences()
    ChainSVM(tol=0.1).fit(X, y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is no snapshot"):
        read_snapshot(tmp_path / "model")


def forgeries():
    """Changes to a snapshot that no run makes: sizes, types, indices, things that lack."""

    def array(name, change):
        def forge(snapshot):
            snapshot.state[name] = change(snapshot.state[name])

        return forge

    def support(name, index, value):
        def forge(snapshot):
            getattr(snapshot.state["extra"]["support"], name)[index] = value

        return forge

    def swap(**fields):
        def forge(snapshot):
            extra = snapshot.state["extra"]
            extra["support"] = extra["support"]._replace(**fields)

        return forge

    def extra(name, value):
        return lambda snapshot: snapshot.state["extra"].__setitem__(name, value)

    def attribute(name, value):
        return lambda snapshot: setattr(snapshot, name, value)

    def put(array, index, value):
        array[index] = value
        return array

    return {
        "w-short": array("w", lambda a: a[:-1].copy()),
        "w-long": array("w", lambda a: np.append(a, 0.0)),
        "w-single": array("w", lambda a: a.astype(np.float32)),
        "w-nan": array("w", lambda a: put(a, 0, np.nan)),
        "w-list": array("w", list),
        "z-short": array("z", lambda a: a[:-1].copy()),
        "z-infinite": array("z", lambda a: put(a, 0, np.inf)),
        "lag-short": array("lag", lambda a: a[:3].copy()),
        "clock-short": array("clock", lambda a: a[:3].copy()),
        "rng": array("rng", lambda a: 0),
        "epoch": array("epoch", lambda a: -1),
        "epoch-real": array("epoch", float),
        "solver": array("solver", lambda a: "fw"),
        "outputs": array("outputs", lambda a: a + 1),
        "extra": array("extra", lambda a: []),
        "state": lambda snapshot: snapshot.state.pop("lag"),
        "no-gaps": lambda snapshot: snapshot.state["extra"].pop("gaps"),
        "gaps": extra("gaps", np.zeros(2)),
        "estimate": extra("estimate", np.zeros(3)),
        "support-tuple": extra("support", (1, 2)),
        "support-size": extra("support_size", 29),
        "support-mass": swap(mass=np.zeros(1)),
        "support-score": swap(score=np.zeros(999)),
        "entry_ptr": support("entry_ptr", 1, 10**9),
        "room": support("room", 0, 10**9),
        "count": support("count", 0, 10**6),
        "count-0": support("count", 0, 0),
        "n_awake": support("n_awake", 0, 10**6),
        "awake": support("awake", 0, -5),
        "length": support("length", 1, 10**6),
        "part": support("part", 0, 10**8),
        "row": support("row", 0, 10**8),
        "label": support("label", 0, 77),
        "winner": attribute("winner", 7),
        "next": attribute("next", 0),
        "wall": attribute("wall", -1.0),
        "best": attribute("best", np.zeros(2)),
        "newest": attribute("newest", np.zeros(2)),
        "chosen": attribute("chosen", np.zeros((2, 2))),
        "identity": attribute("identity", {}),
        "history": attribute("history", {}),
        "history-texts": lambda snapshot: snapshot.history.update(
            epoch=["x"] * len(snapshot.history["epoch"])
        ),
        "memories": attribute("memories", 3),
    }


@pytest.mark.parametrize("name", forgeries())
def test_forged_checkpoints_are_refused(written, name):
    snapshot = read_snapshot(written)
    forgeries()[name](snapshot)
    save(snapshot, written)
    with pytest.raises(ModelFileError, match=r"run'"):
        BCFW().run(problems.chain().problem, callbacks=[Checkpoint(written, resume=True)])


def test_forged_pointers_of_a_saddle_solver(tmp_path):
    path, problem = tmp_path / "run", problems.matching().problem
    Extragradient(max_epochs=2, tol=0.0).run(problem, callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.state["extra"]["pointers"][-1] = 10**9
    save(snapshot, path)
    with pytest.raises(ModelFileError, match="pointers"):
        Extragradient().run(problem, callbacks=[Checkpoint(path, resume=True)])


def test_damaged_checkpoints_are_refused(written):
    raw, rng = written.read_bytes(), np.random.default_rng(0)
    problem = problems.chain().problem
    cuts = [raw[: len(raw) * share // 100] for share in range(0, 100, 5)]
    for _ in range(100):
        place, bit = int(rng.integers(len(raw))), 1 << int(rng.integers(8))
        cuts.append(raw[:place] + bytes([raw[place] ^ bit]) + raw[place + 1 :])
    whole = outcome(BCFW(max_epochs=3, tol=0.0).run(problem))
    for damaged in cuts:
        written.write_bytes(damaged)
        try:
            result = BCFW(max_epochs=3, tol=0.0).run(
                problem, callbacks=[Checkpoint(written, resume=True)]
            )
        except ModelFileError:
            continue
        assert outcome(result) == whole  # a byte of the archive that means nothing


def check_forged(path, count, seed):
    """Files with right checksums and wrong trees: refused, or a run that ends in order."""
    good, rng, refused = path.read_bytes(), np.random.default_rng(seed), 0
    problem = problems.chain().problem
    for _ in range(count):
        path.write_bytes(good)
        header, members = contents(path)
        if forge(path, header, members, rng) is None:
            continue
        try:
            result = BCFW(max_epochs=5, tol=0.0).run(
                problem, callbacks=[Checkpoint(path, resume=True)]
            )
        except ValueError:  # also those of another run
            refused += 1
            continue
        assert isinstance(result.status, Status)
    assert refused > count / 3


def test_forged_trees_raise_no_other_error(written):
    check_forged(written, 100, seed=0)


@pytest.mark.soak
def test_many_forged_trees(written):
    check_forged(written, 5000, seed=1)


def test_what_cannot_be_kept_is_said_before_the_first_epoch(tmp_path):
    problem = problems.chain().problem
    rng = np.random.Generator(np.random.Philox(0))
    with pytest.raises(TypeError, match="rng.*Philox"):
        BCFW(random_state=rng).run(problem, callbacks=[Checkpoint(tmp_path / "run")])
