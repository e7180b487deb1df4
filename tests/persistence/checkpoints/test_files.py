"""Files of checkpoints: small, and refused if they are damaged, forged or of another run."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from contract import problems
from contract.cut_runs import as_bytes, outcome, sequences
from maxmargin import ChainSVM
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import load, save
from maxmargin.persistence.checkpoints import Checkpoint, read_snapshot
from maxmargin.persistence.checkpoints.sparse import LONG, Sparse, pack_sparse, unpack_sparse
from maxmargin.result import Status
from maxmargin.solvers import (
    BCFW,
    SDCA,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
    OracleCache,
)
from persistence.model_files import contents, forge


# -- long arrays that are mostly zero --------------------------------------------------------------
def test_sparse_arrays_keep_every_bit():
    rng = np.random.default_rng(0)
    full = np.zeros(3 * LONG)
    full[rng.integers(len(full), size=500)] = rng.normal(size=500)
    full[[0, 7, -1]] = -0.0, np.inf, 1e-320
    tree = {"a": full, "b": ((full != 0).astype(np.int32), 2.0), "c": np.ones(LONG), "d": full[:9]}
    small = pack_sparse(tree)
    assert isinstance(small["a"], Sparse)
    assert isinstance(small["b"][0], Sparse)
    assert small["c"] is tree["c"]
    again = unpack_sparse(small, tree)
    assert repr(as_bytes(again)) == repr(as_bytes(tree))
    empty = pack_sparse(np.zeros(LONG))
    assert len(empty.values) == 0
    assert unpack_sparse(empty, np.ones(LONG)).tobytes() == np.zeros(LONG).tobytes()


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
        unpack_sparse(sparse, np.zeros(9))


# -- what is refused -------------------------------------------------------------------------------
@pytest.fixture
def written(tmp_path):
    """A checkpoint of BCFW on chains after three epochs."""
    path = tmp_path / "run"
    BCFW(max_epochs=3, tol=0.0).run(problems.chain().problem, callbacks=[Checkpoint(path)])
    return path


@pytest.mark.parametrize(
    "solver, make, words",
    [
        (BCFW(), partial(problems.chain, seed=9), "samples are others"),
        (BCFW(), partial(problems.chain, cost=problems.zero_one), "samples are others"),
        (BCFW(), partial(problems.chain, alpha=0.2), "alpha differs .now 0.2, then 0.1"),
        (BCFW(), partial(problems.chain, lengths=(1, 2)), "another structure"),
        (BCFW(), problems.matching, "another structure"),
        (BCFW(random_state=1), problems.chain, "random_state differs"),
        (BCFW("pairwise"), problems.chain, "options of the solver differ.*pairwise"),
        (BCFW(cache=OracleCache(5)), problems.chain, "options of the solver differ"),
        (FrankWolfe(), problems.chain, "solver is another one .now FrankWolfe, then BCFW"),
        (
            SDCA(),
            partial(problems.chain, objective="likelihood"),
            "objective differs .now likelihood, then margin",
        ),
    ],
)
def test_another_run_is_refused(written, solver, make, words):
    with pytest.raises(ValueError, match=f"checkpoint of another run: .*{words}"):
        solver.run(make().problem, callbacks=[Checkpoint(written, resume=True)])


def test_a_model_is_no_checkpoint_and_the_reverse(written, tmp_path):
    with pytest.raises(ModelFileError, match="checkpoint of a run, not a model"):
        load(written)
    X, y = sequences()
    ChainSVM(tol=0.1).fit(X, y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is not a snapshot"):
        read_snapshot(tmp_path / "model")


def forgeries():
    """Changes to a snapshot that no run makes: sizes, types, indices, things that lack."""

    def array(name, change):
        def forge(snapshot):
            snapshot.state[name] = change(snapshot.state[name])

        return forge

    def vertex_cache(name, index, value):
        def forge(snapshot):
            getattr(snapshot.state["vertex_cache"], name)[index] = value

        return forge

    def swap(field, **parts):
        def forge(snapshot):
            snapshot.state[field] = snapshot.state[field]._replace(**parts)

        return forge

    def value(name, value):
        return lambda snapshot: snapshot.state.__setitem__(name, value)

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
        "seconds-infinite": array("seconds", lambda a: np.inf),
        "steps-infinite": swap("average", steps=np.array([np.inf])),
        "counters-infinite": swap("counters", steps=np.array([np.inf])),
        "primal-infinite": attribute("primal", -np.inf),
        "dual-infinite": attribute("dual", np.inf),
        "dual-nan": attribute("dual", np.nan),
        "mass-infinite": vertex_cache("mass", 0, np.inf),
        "mass-large": vertex_cache("mass", 1, 1e300),
        "mass-negative": vertex_cache("mass", 0, -1.0),
        "value-large": vertex_cache("value", 0, 1e300),
        "gram-infinite": vertex_cache("gram", 0, -np.inf),
        "correction-short": swap("average", correction=np.zeros(3)),
        "correction-empty": swap("average", correction=np.zeros(0)),
        "correction-nan": array("average", lambda a: a._replace(correction=a.correction * np.nan)),
        "steps-short": swap("average", steps=np.zeros(0)),
        "counters-short": swap("counters", steps=np.zeros(0)),
        "epoch-of-counters": swap("counters", epoch=np.zeros(1)),
        "average-tuple": array("average", tuple),
        "average-array": array("average", lambda a: a.correction),
        "rng": array("rng", lambda a: 0),
        "epoch": array("epoch", lambda a: -1),
        "epoch-real": array("epoch", float),
        "solver": array("solver", lambda a: "fw"),
        "outputs": array("outputs", lambda a: a + 1),
        "unknown": value("extra", []),
        "unknown-key": value(0.5, 1.0),
        "state": lambda snapshot: snapshot.state.pop("average"),
        "no-gaps": lambda snapshot: snapshot.state.pop("gaps"),
        "gaps": value("gaps", np.zeros(2)),
        "gaps-single": array("gaps", lambda a: a.astype(np.float32)),
        "estimate": value("estimate", np.zeros(3)),
        "estimate-nan": value("estimate", np.nan),
        "images": swap("vertex_cache", image=np.zeros(3)),
        "w_unprojected": value("w_unprojected", np.zeros(3)),
        "outputs-known": value("outputs_known", 1),
        "vertex-cache-none": value("vertex_cache", None),
        "vertex-cache-tuple": value("vertex_cache", (1, 2)),
        "vertex-cache-size": value("cache_size", 29),
        "vertex-cache-key": value("cache_key", 0.5),
        "vertex-cache-mass": swap("vertex_cache", mass=np.zeros(1)),
        "vertex-cache-score": swap("vertex_cache", score=np.zeros(999)),
        "entry_ptr": vertex_cache("entry_ptr", 1, 10**9),
        "room": vertex_cache("room", 0, 10**9),
        "count": vertex_cache("count", 0, 10**6),
        "count-0": vertex_cache("count", 0, 0),
        "n_active": vertex_cache("n_active", 0, 10**6),
        "active": vertex_cache("active", 0, -5),
        "length": vertex_cache("length", 1, 10**6),
        "part": vertex_cache("part", 0, 10**8),
        "row": vertex_cache("row", 0, 10**8),
        "label": vertex_cache("label", 0, 77),
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


@pytest.mark.parametrize("solver", [SDCA, ExponentiatedGradient])
@pytest.mark.parametrize("value", [1e300, 7.0, -0.1])
def test_forged_entropies(tmp_path, solver, value):
    """They are 0 or more, and at most the logarithm of the number of outputs."""
    path, problem = tmp_path / "run", problems.chain(objective="likelihood").problem
    solver(max_epochs=2, tol=0.0).run(problem, callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.state["entropy"][0] = value
    save(snapshot, path)
    with pytest.raises(ModelFileError, match="entropy is out of range"):
        solver().run(problem, callbacks=[Checkpoint(path, resume=True)])


def test_forged_pointers_of_a_saddle_solver(tmp_path):
    path, problem = tmp_path / "run", problems.matching().problem
    Extragradient(max_epochs=2, tol=0.0).run(problem, callbacks=[Checkpoint(path)])
    snapshot = read_snapshot(path)
    snapshot.state["warm_pointers"][-1] = 10**9
    save(snapshot, path)
    with pytest.raises(ModelFileError, match="pointers"):
        Extragradient().run(problem, callbacks=[Checkpoint(path, resume=True)])


def test_checkpoints_of_the_first_format_are_refused():
    """The file is of `FrankWolfe(max_epochs=3, tol=0.0)` on this problem."""
    path = Path(__file__).with_name("format_1.maxmargin")
    with pytest.raises(ModelFileError, match=r"format 1; .* format 3 only. Remove .* start afresh"):
        FrankWolfe(tol=0.0).run(problems.chain().problem, callbacks=[Checkpoint(path, resume=True)])


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
