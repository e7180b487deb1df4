"""Odd values for every option of every public class, tried in a process that may crash.

PYTHONPATH=tests python -m contract.option_cases few|all GROUP... prints what is tried before it
is, and a line for each outcome that is neither a right result nor an error that names the option.
"""

import faulthandler
import inspect
import signal
import sys
import tempfile
import warnings
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.base import clone

import maxmargin
from contract.cases import found_dict, found_list
from maxmargin import Graph, callbacks, domains, features, losses, solvers, structures, tasks
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.structures import Network, TreeLayout
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.restricted.layout import RestrictedLayout
from reference.abilities import ability_of

FEW = (-1, 0.5, np.nan, "nonsense", None, 2**70, np.full((2, 2), 7.0), [])
ALL = (*FEW, 0, True, np.inf, -np.inf, 1e300, 10**400, 1j, b"x", {}, set(), object(), [[]], -0.0)
ALL += (np.int8(-1), np.float32(0.5), np.array("text"), np.arange(3), (1, 2))
SECONDS = 120  # of the processor, after which a case counts as hanging, and ends the process

#: what errors speak of instead: `Structure.from_oracle` has other names, and some options say how
#: samples are laid out, which these then do not fit
ALIASES = {"encoder": "encode", "decoder": "decode", "size": "parts", "groups": "group"}
ALIASES |= {"tied": "parts", "n_edge_features": "weights", "n_pairs": "parts"}
ALIASES |= {"siblings": "parts", "positions": "parts"}

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(12, 3))
CLASSES = np.arange(12) % 3
CHAINS = [ROWS[:4], ROWS[4:7]], [CLASSES[:4], CLASSES[4:7]]
NODES = [Graph(ROWS[:4], [(0, 1), (1, 2), (2, 3)]), Graph(ROWS[4:7], [(0, 1), (1, 2)])]
RINGS = [Graph(x.nodes, [*x.edges.tolist(), (0, len(x.nodes.data) - 1)]) for x in NODES]
PAIRS = [RNG.normal(size=(2, 3, 2)), RNG.normal(size=(2, 2, 2))]
WORDS = [(["a", "b"], ["x", "y"]), (["b", "c"], ["y", "z"]), (["a"], ["x"])]
IMAGES = [RNG.random((8, 9, 3)), RNG.random((9, 8, 3))]
CLOUDS = [RNG.random((40, 3)) * 10, RNG.random((30, 3)) * 10]
PROGRAM = structures.Program(np.ones((1, 3)), 1.0, part_upper=1.0)


def fit(model, X, y):
    model.fit(X, y).predict(X)


def multiclass(**options):
    fit(maxmargin.MulticlassSVM(max_epochs=3, **options), ROWS, CLASSES)


def solve(solver):
    options = {} if "margin" in type(solver)().requires.objectives else {"objective": "likelihood"}
    if str(getattr(solver, "geometry", "")) == "entropic":
        options["domain"] = domains.L1Ball(1.0)
    fit(maxmargin.MulticlassSVM(solver=solver, max_epochs=3, tol=0.1, **options), ROWS, CLASSES)


def oracle(layout, n_parts):
    """Calls of a structure by hand."""

    def use(structure):
        theta = np.linspace(-1.0, 0.0, n_parts)
        z = structure.maximize(theta, layout)
        structure.encode(structure.decode(z, layout), layout)
        for ability in ("project", "marginals"):
            with suppress(MissingAbilityError):
                ability_of(structure, ability)(theta, layout)

    return use


def pack(X, n_labels, n_parts):
    def use(features):
        features.pack(features.check(X), n_labels, np.array(n_parts))

    return use


def pack_segments(own):
    rows, parts = own.check(CHAINS[0]), structures.Segments(own.max_length, True).n_parts
    own.pack(rows, 3, np.array([parts((int(n), 3)) for n in rows.lengths]))


def watch(callback):
    multiclass(callbacks=[callback])


def halves(x):
    """Labels of an image by its columns, or of a cloud by x."""
    where = x[:, 0] / 10 if x.ndim == 2 else np.tile(np.linspace(0, 1, x.shape[1]), (len(x), 1))
    return (where > 0.5).astype(int)


def segment(inputs, kind):
    masks = [halves(x) for x in inputs]

    def use(graphs):
        fit(tasks.Segmenter(kind, graphs=graphs, max_epochs=3), inputs, masks)

    return use


def examples():
    """{group: {class: (an object of it, what to do with it)}}."""
    m, s, f, t = maxmargin, structures, features, tasks
    path = Network(3, [(0, 1), (1, 2)])
    layout = RestrictedLayout((2, 3), [1], [0], [[1, 1, 0, 0, 0, 1]])
    masks = [halves(x) for x in IMAGES]
    points = tasks.PointGraphs(sizes=(3.0,), radii=(4.0,), knots=2, components=2, n_sample=60)
    images = tasks.ImageGraphs(n_segments=6, n_colours=3)
    estimators = {
        m.StructuredSVM(s.Finite(), max_epochs=3): lambda e: fit(e, PAIRS[0], [0, 1]),
        m.ChainSVM(max_epochs=3): lambda e: fit(e, *CHAINS),
        m.TreeSVM(max_epochs=3): lambda e: fit(e, NODES, CHAINS[1]),
        m.NetworkSVM(max_epochs=3): lambda e: fit(e, RINGS, CHAINS[1]),
        m.GraphCutSVM(max_epochs=3): lambda e: fit(e, NODES, [y % 2 for y in CHAINS[1]]),
        m.MatchingSVM(max_epochs=3): lambda e: fit(e, PAIRS, [[(0, 1)], [(1, 1)]]),
        m.MultiLabelSVM(max_epochs=3): lambda e: fit(e, ROWS, np.eye(3, dtype=int)[CLASSES]),
        m.MulticlassSVM(max_epochs=3): lambda e: fit(e, ROWS, CLASSES),
    }
    for make in found_list("ESTIMATORS"):
        model, X, y = make().few(max_epochs=3)
        estimators[model] = lambda e, X=X, y=y: fit(e, X, y)
    tagged = [[("a", "A"), ("b", "B")], [("b", "B"), ("c", "A")]], [["x", "y"], ["y", "x"]]
    learners = {
        t.SequenceTagger(max_epochs=3): lambda e: fit(e, *tagged),
        t.TokenFeatures(): lambda e: e.fit_transform(tagged[0]),
        t.WordAligner(max_epochs=3): lambda e: fit(e, WORDS, [[(0, 0)], [(1, 1)], [(0, 0)]]),
        t.WordStatistics(): lambda e: e.fit(WORDS),
        t.AlignmentFeatures(): lambda e: e.fit(t.WordStatistics().fit(WORDS)),
        t.Segmenter(max_epochs=3, graphs=images): lambda e: fit(e, IMAGES, masks),
        images: segment(IMAGES, "images"),
        points: segment(CLOUDS, "points"),
        **found_dict("TASKS"),
    }
    parts = {
        s.Chain(): oracle((3, 2), 10),
        s.Chain(tied=False): oracle((3, 2), 14),
        s.Tree(): oracle(TreeLayout(path, 2), 10),
        s.MarkovNetwork(): oracle(NetworkLayout(path, 2), 10),
        s.MarkovNetwork(method="bounded"): oracle(NetworkLayout(path, 2), 10),
        s.Matching(): oracle((2, 3), 6),
        s.MultiLabel(): oracle((3,), 6),
        s.LinearProgram(PROGRAM): oracle(PROGRAM, 3),
        s.Restricted(s.Matching()): oracle(layout, 6),
        s.OracleStructure(lambda theta: theta == theta.max(), 3): oracle((3,), 3),
        f.LabelConjoined(): pack(CHAINS[0], 3, [21, 18]),
        f.SegmentFeatures(max_length=2): pack_segments,
        f.PartFeatures(): pack(CHAINS[0], 0, [4, 3]),
        f.DecisionFeatures(): pack(ROWS, 3, [3] * 12),
        f.GraphFeatures(): pack(NODES, 0, [7, 5]),
        f.TreeFeatures(): pack(NODES, 3, [21, 18]),
        f.MultiLabelFeatures(n_pairs=3): pack([x[None] for x in ROWS], 3, [6] * 12),
        f.KernelMap(): lambda e: e.fit(ROWS).transform(ROWS),
        losses.Hamming(): lambda e: multiclass(loss=e),
        losses.PartCosts(lambda y, layout: 1.0 - y): lambda e: multiclass(loss=e),
    }
    for case in found_list("STRUCTURES"):
        if vars(case.structure):
            layout = case.layouts[-1]
            parts[case.structure] = oracle(layout, case.structure.n_parts(layout))
    places = {
        domains.L1Ball(1.0): lambda e: multiclass(domain=e),
        domains.L2Ball(1.0): lambda e: multiclass(domain=e),
        domains.Signs([0], [1]): lambda e: multiclass(domain=e),
        domains.Box(0.0, 1.0, [0]): lambda e: multiclass(domain=e),
        domains.Fixed([0], 0.5): lambda e: multiclass(domain=e),
        domains.NonNegative([0]): lambda e: multiclass(domain=e),
        domains.SubmodularCone([0, 1, 2, 3]): lambda e: multiclass(domain=e),
        domains.Product([([0], domains.L2Ball(1.0))]): lambda e: multiclass(domain=e),
        solvers.OracleCache(): lambda e: multiclass(solver=solvers.BCFW(cache=e)),
        callbacks.TimeLimit(1.0): watch,
        callbacks.EarlyStopping(ROWS, CLASSES): watch,
        callbacks.ProgressBar(): watch,
        callbacks.Recorder(lambda w: {}): watch,
        Checkpoint(Path(tempfile.mkdtemp()) / "checkpoint"): watch,
    }
    kinds = [getattr(solvers, name) for name in solvers.__all__]
    ways = {k(): solve for k in kinds if isinstance(k, type) and getattr(k, "name", "")}
    groups = {"estimators": estimators, "tasks": learners, "parts": parts, "domains": places}
    return groups | {"solvers": ways}


def public_classes():
    """All classes with options that the packages offer."""
    found = set()
    for name in ("estimators", "structures", "features", "solvers", "losses", "domains", "tasks"):
        package = import_module(f"maxmargin.{name}")
        found |= {getattr(package, name) for name in package.__all__}
    found = {c for c in found if isinstance(c, type) and hasattr(c, "get_params")}
    return {c for c in found if not inspect.isabstract(c) and inspect.signature(c).parameters}


def try_one(example, use, name, value):
    """None if the outcome is right, else what is wrong with it."""
    changed = clone(example) if hasattr(example, "get_params") else example
    old = getattr(changed, name)
    setattr(changed, name, value)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(changed)
    except InfeasibleError:  # a right answer to a mask that forbids everything
        return None
    except (ValueError, TypeError) as error:
        known = name in str(error) or ALIASES.get(name, name) in str(error)
        return None if known else f"does not name {name}: {error!r}"
    except Exception as error:
        return f"raised {error!r}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        setattr(changed, name, old)
    return None


def main(many, *groups):
    faulthandler.enable()
    values, tried, turn, known = ALL if many == "all" else FEW, 0, 0, examples()
    for example, use in chain.from_iterable(known[group].items() for group in groups):
        print("trying", type(example).__name__, flush=True)
        try_one(example, use, *next(iter(vars(example).items())))  # compiles what it needs
        for name in sorted({*inspect.signature(type(example)).parameters} - {"X", "y"}):  # data
            turn += 1
            for value in values if many == "all" else values[turn % 3 :: 3]:
                case = f"{type(example).__name__}({name}={str(value)[:40]!r})"
                print("trying", case, flush=True)
                wrong = try_one(example, use, name, value)
                tried += 1
                if wrong is not None:
                    print("WRONG", case, wrong.replace("\n", " ")[:300], flush=True)
    print("tried", tried)


if __name__ == "__main__":
    main(*sys.argv[1:])
