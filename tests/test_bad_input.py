"""Bad input, in one table: either an error that names the sample and the remedy, or a result.

Each row: a name, what the user does, the error, and what its message must say. Where the message
speaks of all samples alike (an option, the number of samples), there is no sample to name.
"""

# ruff: noqa: E501
import sys
import warnings
from itertools import combinations
from threading import Lock

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from maxmargin import (
    Bipartite,
    ChainSVM,
    Graph,
    GraphCutSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    NetworkSVM,
    StructuredSVM,
    TreeSVM,
    domains,
)
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_sequences, make_triplets
from maxmargin.exceptions import (
    ConvergenceWarning,
    InfeasibleError,
    MissingAbilityError,
    OptionError,
    OracleError,
    SampleError,
)
from maxmargin.features import KernelMap
from maxmargin.losses import Hamming, PartCosts
from maxmargin.paths import alpha_path, eps_path, iterates_path
from maxmargin.result import Status
from maxmargin.solvers import BCFW, CuttingPlane, OracleCache, Perceptron, ReferenceQP, Subgradient
from maxmargin.solvers.qp.program_size import ProgramTooLargeError
from maxmargin.structures import (
    Finite,
    LinearProgram,
    MarkovNetwork,
    Network,
    NetworkLayout,
    Program,
    Structure,
)
from reference import oracles

DATA = make_sequences(12, (2, 4), 3, 4, separation=2.0, random_state=2)
X = DATA.X
Y = [np.array(["a", "b", "c"])[y] for y in DATA.y]
FLAT, LABELS = np.concatenate(X), np.concatenate(Y)
PAIRS = [(j, k) for j in "abc" for k in "abc"]

PAIRED = list(np.random.default_rng(3).normal(size=(6, 2, 3, 4)))  # 2 rows, 3 columns, 4 features
LINKS = [np.array([[0, 0], [1, 2]]) for _ in PAIRED]
EDGES = [(0, 0), (1, 1), (1, 2)]


PATH = [(0, 1), (1, 2), (3, 2)]
GRAPHS = [Graph(x, PATH) for x in np.random.default_rng(4).normal(size=(5, 4, 2))]
SIDES = [["l", "r", "r", "l"] for _ in GRAPHS]


def put(samples, i, value):
    return [value if j == i else s for j, s in enumerate(samples)]


def spoiled(i, t, column, value):
    x = X[i].copy()
    x[t, column] = value
    return put(X, i, x)


def chain(X=X, y=Y, fit=(), **options):
    return ChainSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


def multiclass(X=FLAT, y=LABELS, fit=(), **options):
    return MulticlassSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


def listed(X, y, **options):
    return StructuredSVM(Finite(), alpha=0.1, **options).fit(X, y)


def matching(X=PAIRED, y=LINKS, fit=(), **options):
    return MatchingSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


def graph_cut(X=GRAPHS, y=SIDES, fit=(), **options):
    return GraphCutSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


ROWS = np.random.default_rng(6).normal(size=(6, 3))
SWITCHES = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]])


def multi_label(X=ROWS, y=SWITCHES, fit=(), **options):
    return MultiLabelSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


def switched(i, k, value):
    y = SWITCHES.astype(float)
    y[i, k] = value
    return y


PARENTS = [-1, 0, 1, 1]
WIDE = Graph(
    np.ones((400, 2)), [(v, v + s) for v in range(380) for s in (1, 20) if s == 20 or v % 20 < 19]
)
TREES = [Graph.from_parents(x.nodes, PARENTS) for x in GRAPHS]
KINDS = [["a", "b", "c", "c"], ["b", "c", "a", "a"], *[["c", "a", "b", "b"]] * 3]


def tree(X=TREES, y=KINDS, fit=(), **options):
    return TreeSVM(**{"alpha": 0.1} | options).fit(X, y, **dict(fit))


def tree_allowing(i, v, labels, X=TREES):
    """Sample i again, node v of which may have some labels only."""
    own = [labels if u == v else None for u in range(4)]
    return put(X, i, Graph.from_parents(X[i].nodes, PARENTS, labels=own))


def network(X=GRAPHS, y=KINDS, **options):
    return NetworkSVM(**{"alpha": 0.1, "max_epochs": 2, "tol": 1.0} | options).fit(X, y)


def spoiled_edge(value):
    return put(GRAPHS, 2, Graph(np.ones((4, 2)), PATH, [[1.0], [value], [1.0]]))


def spoiled_node(value):
    nodes = np.ones((4, 2))
    nodes[3, 1] = value
    return put(GRAPHS, 2, Graph(nodes, PATH))


def bipartite(x=PAIRED[2], **caps):
    """A sample with three candidate edges only."""
    return put(PAIRED, 2, Bipartite((2, 3), EDGES, [x[j, k] for j, k in EDGES], **caps))


def spoiled_pair(j, k, column, value):
    x = PAIRED[2].copy()
    x[j, k, column] = value
    return x


def linked(i, links):
    return put(LINKS, i, links)


ITEMS = list(np.random.default_rng(5).normal(size=(5, 4, 2)))  # four items, two features
BAGS = [{0}, {1, 2}, set(), {3}, {0, 3}]
MARKED = put(ITEMS, 2, np.full((4, 2), 1e4))  # `reference.oracles.marked` knows it by that
BAG = Program(np.ones((1, 4)), 2, part_upper=1)
LOCK = Lock()


def program(layout=BAG, X=ITEMS, y=BAGS, **options):
    return StructuredSVM(LinearProgram(layout, **options), alpha=0.1).fit(X, y)


def oracle(maximize=oracles.best_two, X=ITEMS, y=BAGS, solver="bcfw", **options):
    structure = Structure.from_oracle(maximize, **options)
    return StructuredSVM(structure, alpha=0.1, solver=solver).fit(X, y)


def spoils(answer):
    """An oracle that is good until scores are those of the marked sample."""
    return lambda theta, layout: (
        answer if oracles.marked(theta) else oracles.best_two(theta, layout)
    )


class Mute(Structure):
    """A structure without any ability."""

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.eye(layout[0])[y]


class AtMostOne(Mute):
    """One item or none; nothing but the best is known."""

    def maximize(self, theta, layout):
        return (np.arange(layout[0]) == np.argmax(theta)) * float(np.max(theta) > 0)


def without_clarabel():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "clarabel", None)
        return chain(solver="qp")


V = ValueError
TABLE = [
    # -- samples and their sizes
    ("y shorter than x", lambda: chain(y=put(Y, 3, Y[3][:-1])), V,
     r"sample 3: y has \d labels but x has \d rows"),
    ("y longer than x", lambda: chain(y=put(Y, 0, [*Y[0], "a"])), V, "sample 0: y has .* labels but"),
    ("fewer y than X", lambda: chain(y=Y[:-1]), V, "X has 12 samples, y has 11"),
    ("fewer y than X, classes", lambda: multiclass(y=LABELS[:-1]), V, r"X has \d+ samples, y has"),
    ("fewer y than X, listed", lambda: listed(X, [0, 1]), V, "X has 12 samples, y has 2"),
    ("an empty sample", lambda: chain(put(X, 2, np.zeros((0, 4))), put(Y, 2, [])), V,
     "sample 2: x has no rows. Leave empty samples out"),
    ("no samples", lambda: chain([], []), V, "X is empty: at least one sample"),
    ("no samples, classes", lambda: multiclass(np.zeros((0, 3)), []), V, r"0 sample\(s\).* minimum of 1"),
    ("no features", lambda: chain([x[:, :0] for x in X]), V,
     "sample 0: x has no features; give a constant column"),
    ("no features, classes", lambda: multiclass(FLAT[:, :0]), V, r"0 feature\(s\).* minimum of 1"),
    ("another number of features", lambda: chain(put(X, 5, X[5][:, :3])), V,
     "sample 5: x has 3 features, sample 0 has 4"),
    ("one 3-D sample", lambda: chain(put(X, 1, np.zeros((2, 3, 4)))), V,
     r"sample 1: x has 3 dimension\(s\), expected 2"),
    ("3-D input, classes", lambda: multiclass(np.zeros((2, 2, 2)), [0, 1]), V, "dim 3.* <= 2"),
    ("1-D samples", lambda: chain([x[:, 0] for x in X]), V,
     r"sample 0: x has 1 dimension.* A single feature is a column: x.reshape\(-1, 1\)"),
    ("1-D input, classes", lambda: multiclass(FLAT[:, 0]), V, r"Reshape your data .*reshape\(-1, 1\)"),
    ("one matrix instead of a list", lambda: chain(FLAT, LABELS), V, "sample 0: x has 1 dimension"),
    ("one CSR matrix instead of a list", lambda: chain(sparse.csr_array(FLAT), LABELS), TypeError,
     r"X must be a list of samples, .* One sample alone: \[x\]"),
    ("X is None", lambda: chain(None), TypeError, "X must be a list of samples, found NoneType"),
    ("X is text", lambda: chain("some text"), TypeError, "X must be a list of samples, found str"),
    # -- programs and oracles
    ("a truth that breaks a row", lambda: program(y=put(BAGS, 3, {0, 1, 2})), InfeasibleError,
     "sample 3: its true output is not an output .*row 0 asks for <= 2, found 3"),
    ("a truth in halves", lambda: program(y=put(BAGS, 1, [0.5, 0, 0, 0]), integral=True), InfeasibleError,
     "sample 1: .* part 0 is 0.5 and must be an integer"),
    ("an infeasible program", lambda: program(Program(np.ones((1, 4)), 9, 5, part_upper=1)), InfeasibleError,
     "sample 0: .*row 0 asks for >= 5"),
    ("an infeasible program at predict", lambda: StructuredSVM(LinearProgram(), alpha=0.1).fit([(x, BAG) for x in ITEMS], BAGS).predict(
        [(ITEMS[0], BAG), (ITEMS[1], Program(np.ones((2, 4)), [1, 9], [0, 2]))]), InfeasibleError, "sample 1: .*row [01] cannot hold"),
    ("an unbounded program", lambda: StructuredSVM(LinearProgram(), alpha=0.1).fit(
        [(x, BAG if i else Program([[1, 1, -1, 0], [0, 0, 0, 1]], 1)) for i, x in enumerate(ITEMS)], BAGS), InfeasibleError,
     r"sample 0: its program has no bound: part \d may grow"),
    ("a program of another size", lambda: program(Program(np.ones((1, 3)), 1)), V, "x has 4 rows, but the program has 3 parts"),
    ("rows too few for a program", lambda: program(X=put(ITEMS, 2, ITEMS[2][:3])), V, "sample 2: x has 3 rows, but the program has 4 parts"),
    ("rows too few for a program at predict", lambda: program().predict(put(ITEMS, 2, ITEMS[2][:3])), V,
     "sample 2: x has 3 rows, but the program has 4 parts"),
    ("no program", lambda: program(None), V, r"sample 0: which program\? Give LinearProgram\(program\)"),
    ("no Program but a matrix", lambda: program(np.ones((1, 4))), TypeError, "program=.* must be an object of class Program or None"),
    ("lower above upper", lambda: Program([[1, 1], [1, 0]], 1, [0, 2]), V, "row 1: lower 2 is above upper 1"),
    ("NaN in a program", lambda: Program([[1, 0], [1, np.nan]], 1), V, "matrix: row 1 has entries that are not finite"),
    ("too few bounds", lambda: Program(np.ones((2, 3)), [1, 2, 3]), V, r"upper has shape \(3,\), expected \(2,\)"),
    ("a mask of another size", lambda: program(integral=np.ones(3, dtype=bool)), V, r"integral has shape \(3,\)"),
    ("an oracle in no process", lambda: oracle(n_jobs=0), V, "n_jobs=0 must be an integer at least 1, an integer at most -1 or None"),
    ("an oracle that raises", lambda: oracle(oracles.raises, MARKED), OracleError,
     "sample 2: the oracle raised ZeroDivisionError: no such plan"),
    ("an oracle that raises elsewhere", lambda: oracle(oracles.raises, MARKED, time_limit=60), OracleError,
     "sample 2: the oracle raised ZeroDivisionError: no such plan"),
    ("an oracle that dies", lambda: oracle(oracles.dies, MARKED, time_limit=60), OracleError,
     r"sample 2: the process of the oracle died \(exit code 3\)"),
    ("an oracle that hangs", lambda: oracle(oracles.hangs, MARKED, time_limit=0.5), OracleError,
     "sample 2: the oracle took more than time_limit=0.5 s and was ended"),
    ("NaN from an oracle", lambda: oracle(spoils([np.nan] * 4), MARKED), OracleError, "sample 2: .* not finite .*; expected 4 finite"),
    ("NaN from an oracle", lambda: oracle(spoils([np.nan] * 4), MARKED), OracleError, r"sample 2: .* not finite \(NaN, inf\); expected 4 finite"),
    ("a wrong length", lambda: oracle(spoils(np.ones(3)), MARKED), OracleError, "sample 2: .*found 3 numbers, expected 4"),
    ("no output", lambda: oracle(spoils("plan b"), MARKED), OracleError, "sample 2: the oracle's answer is not an output: found 'plan b'"),
    ("None from an oracle", lambda: oracle(spoils(None), MARKED), OracleError, "sample 2: the oracle's answer is not an output: found None"),
    ("a part that is not there", lambda: oracle(spoils({4}), MARKED), OracleError, "sample 2: .*4 is not a number of a part, 0 to 3"),
    ("halves from an oracle", lambda: oracle(spoils([0.5, 0, 0, 0]), MARKED), OracleError,
     "sample 2: .*part 0 is 0.5, neither 0 nor 1; for such outputs say binary=False"),
    ("an answer that breaks a row", lambda: oracle(spoils({0, 1, 2}), MARKED, constraints=BAG), OracleError,
     "sample 2: .* is not an output: row 0 asks for <= 2, found 3"),
    ("an answer that is not feasible", lambda: oracle(spoils({0, 1, 2}), MARKED, feasible=lambda z: z.sum() <= 2), OracleError,
     "sample 2: .* is not an output: `feasible` says no"),
    ("the same in words", lambda: oracle(spoils({0, 1, 2}), MARKED, feasible=lambda z: "" if z.sum() <= 2 else "too heavy"), OracleError,
     "sample 2: .* is not an output: too heavy"),
    ("a truth that is not feasible", lambda: oracle(feasible=lambda z: not z[3]), InfeasibleError,
     "sample 3: its true output is not an output of its structure: `feasible` says no"),
    ("an answer worse than the truth", lambda: oracle(spoils({1}), put(MARKED, 2, np.array([[1e4, 0], [0, 0], [0, 0], [1e4, 0]])), put(BAGS, 2, {0, 3})), OracleError,
     r"sample 2: the answer of OracleStructure.maximize has the score \S+, worse than the truth with"),
    ("a wrong sign", lambda: oracle(lambda theta: oracles.best_two(-theta, None)), OracleError, "sample 0: .*(where one of|worse than the truth)"),
    ("a bound below the score", lambda: oracle(oracles.optimist, exact="bounded"), OracleError, "sample 0: the bound -1 is below the score"),
    ("no bound", lambda: oracle(exact="bounded"), OracleError, "sample 0: .* promises pairs"),
    ("a bound not spoken of", lambda: oracle(oracles.greedy), OracleError, 'sample 0: .* say exact="bounded"'),
    ("a function that cannot be sent", lambda: oracle(lambda theta: LOCK and {0}, n_jobs=2), OracleError,
     "the oracle cannot be sent to another process"),
    ("no function", lambda: oracle(3), TypeError, "function=3 must be a function"),
    ("exact is unknown", lambda: oracle(exact="maybe"), V, "exact='maybe' must be True or False or 'bounded'"),
    ("on_timeout is unknown", lambda: oracle(on_timeout="wait"), V, "on_timeout='wait' must be"),
    ("no time", lambda: oracle(time_limit=0), V, "time_limit=0 must be a finite number above 0"),
    ("skipping without bounds", lambda: oracle(time_limit=9, on_timeout="skip", binary=False), V, "needs binary=True"),
    ("skipping where that cannot be", lambda: oracle(oracles.hangs, MARKED, time_limit=0.5, on_timeout="skip", solver="ssg"), OracleError,
     r"sample \d: the oracle took too long. Only training by bcfw and fw"),
    # -- numbers
    ("NaN", lambda: chain(spoiled(4, 1, 2, np.nan)), V, r"sample 4: x\[1, 2\] is nan; .* Impute or drop"),
    ("infinity", lambda: chain(spoiled(4, 1, 2, -np.inf)), V, r"sample 4: x\[1, 2\] is -inf"),
    ("infinity in CSR", lambda: chain([sparse.csr_array(x) for x in spoiled(4, 1, 2, np.inf)]), V,
     r"sample 4: x\[1, 2\] is inf"),
    ("NaN, classes", lambda: multiclass(np.where(np.arange(4) == FLAT.argmax() % 4, np.nan, FLAT)), V,
     r"sample 0: X\[0, \d\] is nan"),
    ("NaN at predict", lambda: chain().predict(spoiled(4, 1, 2, np.nan)), V, r"sample 4: x\[1, 2\]"),
    ("text for numbers", lambda: chain(put(X, 1, np.full(X[1].shape, "1.5"))), V,
     "sample 1: x is not an array of real numbers"),
    ("objects for numbers", lambda: chain(put(X, 1, np.full(X[1].shape, None))), V,
     "sample 1: x is not an array of real numbers .x.0, 0. is None, not a number"),
    ("complex numbers", lambda: chain(put(X, 6, X[6] * 1j)), V, "sample 6: .* real numbers .*complex"),
    ("complex numbers, classes", lambda: multiclass(FLAT * 1j), V, "Complex data not supported"),
    ("text, classes", lambda: multiclass([["a", "b"], ["c", "d"]], [0, 1]), V, "Convert your data to numeric values"),
    # -- labels
    ("y is a text", lambda: chain(y="abcabcabcabc"), TypeError, "y must be a list .*found str"),
    ("one y is a text", lambda: chain(y=put(Y, 7, "".join(Y[7]))), TypeError,
     "sample 7: y is str, expected a sequence of"),
    ("y is None", lambda: chain(y=None), TypeError, "y must be a list .*found NoneType"),
    ("y is None, classes", lambda: multiclass(y=None), V, "requires y to be passed"),
    ("y in two dimensions", lambda: chain(y=put(Y, 2, [[k] for k in Y[2]])), V,
     r"sample 2: y has shape \(\d, 1\), expected one label per row"),
    ("y is NaN", lambda: chain(y=[np.full(len(y), np.nan if i == 3 else 1.0) for i, y in enumerate(Y)]),
     V, "sample 3: y has labels that are not finite. Leave them out"),
    ("numbers among texts", lambda: chain(y=put(Y, 9, np.arange(len(Y[9])))), V,
     "sample 9: y has labels of type number, sample 0 of type str. Use one type"),
    ("None among labels", lambda: tree(y=put(KINDS, 0, [None, *KINDS[0][1:]])), V,
     "sample 0: y has labels of type NoneType and str. Use one type"),
    ("targets of a regression", lambda: multiclass(y=np.linspace(0, 1, len(FLAT))), V,
     "Unknown label type: continuous"),
    ("y is infinite, classes", lambda: multiclass(y=np.where(FLAT[:, 0] > 0, np.inf, 1.0)), V,
     "Input y contains infinity"),
    ("an output that is not listed", lambda: listed(X, put([0] * 12, 8, 99)), V,
     "sample 8: y does not fit its structure"),
    ("forbidden truth", lambda: chain(forbidden_transitions=PAIRS), InfeasibleError,
     rf"sample 0: its true output is forbidden .*: y\[0\] and y\[1\] are '{Y[0][0]}' and '{Y[0][1]}', a pair .*Correct .* allow"),
    ("forbidden first label", lambda: chain(forbidden_first="abc"), InfeasibleError,
     rf"sample 0: its true output .*: y\[0\] is '{Y[0][0]}', which must not begin a sequence"),
    ("forbidden last label", lambda: chain(forbidden_last="abc"), InfeasibleError,
     rf"sample 0: its true output .*: y\[{len(Y[0]) - 1}\] is '{Y[0][-1]}', which must not end a sequence"),
    ("everything forbidden at predict", lambda: chain(
        [x[:1] for x in X], [y[:1] for y in Y], forbidden_transitions=PAIRS).predict(
        [X[0][:1], X[1][:1], X[2]]), InfeasibleError,
     "sample 2: every output is forbidden. Allow one at least"),
    ("score with fewer y", lambda: chain().score(X, Y[:-1]), V, "X has 12 samples, y has 11"),
    ("score with a shorter y", lambda: chain().score(X, put(Y, 5, Y[5][:1])), V, "sample 5: y has 1 labels"),
    # -- options
    ("negative alpha", lambda: chain(alpha=-1.0), V, "alpha=-1.0 must be a finite number at least 0"),
    ("alpha is NaN", lambda: chain(alpha=np.nan), V, "alpha=nan must be a finite number"),
    ("infinite alpha", lambda: chain(alpha=np.inf), V, "alpha=inf must be a finite number"),
    ("no penalty", lambda: chain(alpha=0), V, "BCFW needs alpha > 0; give a small one .*perceptron"),
    ("no penalty, ssg", lambda: chain(alpha=0, solver="ssg"), V, "Subgradient needs alpha > 0"),
    ("alpha is text", lambda: chain(alpha="0.1"), TypeError, "alpha='0.1' must be a finite number"),
    ("alpha is None", lambda: chain(alpha=None), TypeError, "alpha=None must be a finite number"),
    ("unknown solver", lambda: chain(solver="bcwf"), V, r"solver='bcwf' is unknown; use one of \['bcfw'"),
    ("a solver class", lambda: chain(solver=BCFW), TypeError, "solver=.* must be a string or an object of class Solver"),
    ("unknown loss", lambda: chain(loss="haming"), V, r"loss='haming' is unknown; use one of \['hamming'"),
    ("a loss of another type", lambda: chain(loss=3), V, "loss=3 must be a string or an object of class Loss"),
    ("unknown step", lambda: chain(solver=BCFW("newton")), V, "step='newton' must be 'frank-wolfe' or 'pairwise' or 'corrective'"),
    ("unknown sampling", lambda: chain(solver=BCFW(sampling="all")), V, "sampling='all' must be"),
    ("unknown averaging", lambda: chain(solver=Subgradient("all")), V, "averaging='all' must be"),
    ("a number for the cache", lambda: chain(solver=BCFW(cache=5)), TypeError,
     "cache=5 must be an object of class OracleCache, 'auto' or None"),
    ("a cache of nothing", lambda: chain(solver=BCFW(cache=OracleCache(0))), V,
     "OracleCache: size=0 must be an integer at least 1"),
    ("a cache of halves", lambda: chain(solver=BCFW(cache=OracleCache(1.5))), V, "size=1.5 must be"),
    ("negative passes", lambda: chain(solver=BCFW(cache=OracleCache(passes=-1))), V, "passes=-1 must be"),
    ("fixed steps of exchanges", lambda: chain(solver=BCFW(line_search=False)), V,
     'line_search=False goes with step="frank-wolfe"'),
    ("too much relaxation", lambda: chain(solver=BCFW(relaxation=2.0)), V, "relaxation=2.0 must be"),
    ("negative max_epochs", lambda: chain(max_epochs=-1), V, "max_epochs=-1 must be an integer at least 0"),
    ("half an epoch", lambda: chain(max_epochs=1.5), V, "max_epochs=1.5 must be an integer"),
    ("epochs in words", lambda: chain(max_epochs="ten"), V, "max_epochs='ten' must be an integer"),
    ("negative tol", lambda: chain(tol=-1e-3), V, "tol=-0.001 must be a number at least 0"),
    ("tol is NaN", lambda: chain(tol=np.nan), V, "tol=nan must be a number at least 0"),
    ("never a certificate", lambda: chain(solver=BCFW(check_every=0)), V, "check_every=0 must be"),
    ("no threads", lambda: chain(n_jobs=0), V, "n_jobs"),
    # -- weights
    ("weights of other samples", lambda: chain(fit={"sample_weight": [1, 2]}), V,
     r"sample_weight has shape \(2,\), expected \(12,\)"),
    ("negative weight", lambda: chain(fit={"sample_weight": put([1] * 12, 7, -1)}), V,
     "sample 7: weight -1.0 must be finite and not negative"),
    ("weight is NaN", lambda: chain(fit={"sample_weight": put([1] * 12, 7, np.nan)}), V, "sample 7: weight nan"),
    ("no weight at all", lambda: chain(fit={"sample_weight": [0] * 12}), V,
     "sample_weight is zero everywhere; give one sample a weight"),
    ("weights in score", lambda: chain().score(X, Y, sample_weight=[1.0]), V, "sample_weight has shape"),
    ("node weights of other samples", lambda: chain(fit={"node_weight": [[1.0]]}), V,
     "X has 12 samples, node_weight has 1"),
    ("node weights of other sizes", lambda: chain(fit={"node_weight": put([np.ones(len(y)) for y in Y], 3,
     [1.0])}), V, r"sample 3: node_weight has shape \(1,\)"),
    ("negative node weights", lambda: chain(fit={"node_weight": put([np.ones(len(y)) for y in Y], 3,
     -np.ones(len(Y[3])))}), V, "sample 3: node_weight must be finite and not negative"),
    ("negative class weight", lambda: chain(loss=Hamming(class_weight={"a": -1})), V,
     "class_weight=.* must be .* finite numbers at least 0"),
    ("costs of another size", lambda: chain(loss=PartCosts(lambda truth, layout: [1.0])), V,
     r"sample 0: part costs have shape \(1,\)"),
    # -- use
    ("predict before fit", lambda: ChainSVM().predict(X), NotFittedError, "not fitted yet. Call 'fit'"),
    ("score before fit", lambda: ChainSVM().score(X, Y), NotFittedError, "not fitted yet"),
    ("margins before fit", lambda: ChainSVM().margins(X), NotFittedError, "not fitted yet"),
    ("classes before fit", lambda: MulticlassSVM().decision_function(FLAT), NotFittedError, "not fitted"),
    ("other features at predict", lambda: chain().predict([x[:, :3] for x in X]), V,
     "X has 3 features, but ChainSVM is expecting 4 features"),
    ("other features held out", lambda: chain(callbacks=[EarlyStopping([x[:, :3] for x in X], Y)]), V,
     "X has 3 features, but ChainSVM is expecting 4"),
    ("no oracle", lambda: StructuredSVM(Mute()).fit(X, [0] * 12), MissingAbilityError,
     "BCFW needs `maximize`, which Mute cannot do. Define Mute.maximize"),
    # -- links
    ("a link to no column", lambda: matching(y=linked(4, [(0, 1), (1, 3)])), V,
     r"sample 4: .*\(1, 3\) at place 1 is outside 2 rows and 3 columns"),
    ("a negative link", lambda: matching(y=linked(4, [(-1, 0)])), V, r"sample 4: .*\(-1, 0\) at place 0"),
    ("a row in two links", lambda: matching(y=linked(1, [(0, 1), (0, 2)])), V,
     "sample 1: .*row 0 is in 2 links, at most 1 allowed; drop links or raise row_cap"),
    ("a column in two links", lambda: matching(y=linked(1, [(0, 2), (1, 2)])), V,
     "sample 1: .*column 2 is in 2 links, at most 1 allowed; drop links or raise column_cap"),
    ("more links than the node's own cap", lambda: matching(bipartite(row_caps=[1, 1]), linked(2, [(1, 1), (1, 2)])),
     V, r"sample 2: .*row 1 is in 2 links, at most 1 allowed; drop links or raise row_caps\[1\]"),
    ("a link of a node that may have none", lambda: matching(bipartite(column_caps=[0, 1, 1])), V,
     r"sample 2: .*column 0 is in 1 links, at most 0 allowed; .* column_caps\[0\]"),
    ("a link twice", lambda: matching(y=linked(1, [(0, 1), (0, 1)])), V,
     r"sample 1: .*\(0, 1\) at place 1 is there already; leave it out"),
    ("a link that is not a candidate", lambda: matching(bipartite(), linked(2, [(0, 1)])), V,
     r"sample 2: .*\(0, 1\) is not a candidate edge; drop it or add it to the candidates"),
    ("links that are not pairs", lambda: matching(y=linked(0, [0, 1])), V,
     r"sample 0: .*shape \(2,\), expected \(m, 2\), pairs \(row, column\)"),
    ("triples", lambda: matching(y=linked(0, [(0, 1, 1)])), V, r"sample 0: .*shape \(1, 3\), expected \(m, 2\)"),
    ("pairs and a single", lambda: matching(y=linked(5, [(0, 1), (1,)])), V, "sample 5: .*not an array of integers"),
    ("half links", lambda: matching(y=linked(5, [(0, 0.5)])), V, "sample 5: .*0.5 is not an integer"),
    ("links in words", lambda: matching(y=linked(5, ["0-1"])), V, "sample 5: .*expected integers"),
    ("links are None", lambda: matching(y=linked(5, None)), V, r"sample 5: .*found None, .* for no links, \[\]"),
    ("a matrix for links", lambda: matching(y=linked(3, np.eye(2, 3, dtype=bool))), V,
     r"sample 3: .*of bool, expected \(m, 2\).* np.argwhere\(matrix\)"),
    ("a matrix that looks like pairs", lambda: matching([x[:, :2] for x in PAIRED], [np.eye(2, dtype=bool)] * 6),
     V, r"sample 0: .*of bool, .*np.argwhere\(matrix\)"),
    ("y is None, links", lambda: matching(y=None), TypeError, "y must be a list with one target per sample, found None"),
    ("fewer y than X, links", lambda: matching(y=LINKS[:-1]), V, "X has 6 samples, y has 5"),
    # -- samples of links
    ("NaN of a pair", lambda: matching(put(PAIRED, 2, spoiled_pair(1, 2, 3, np.nan))), V,
     r"sample 2: x\[1, 2, 3\] is nan; .* Impute or drop"),
    ("infinity of a candidate edge", lambda: matching(bipartite(spoiled_pair(1, 1, 3, np.inf))), V,
     r"sample 2: features\[1, 3\], of edge \(1, 1\), is inf; .* Impute or drop"),
    ("NaN of a pair at predict", lambda: matching().predict(put(PAIRED, 2, spoiled_pair(0, 1, 0, np.nan))), V,
     r"sample 2: x\[0, 1, 0\] is nan"),
    ("a pair without features", lambda: matching(put(PAIRED, 3, PAIRED[3][:, :, 0])), V,
     r"sample 3: x has 2 dimension\(s\), expected 3 .* a single feature is x\[:, :, None\]"),
    ("one matching alone", lambda: matching(PAIRED[0], LINKS[0]), V, r"sample 0: x has 2 dimen.* one sample alone \[x\]"),
    ("one Bipartite alone", lambda: matching(bipartite()[2], LINKS[2]), TypeError,
     r"X must be a list of samples, found Bipartite. One sample alone: \[x\]"),
    ("X is text, links", lambda: matching("ab", LINKS[:2]), TypeError, "X must be a list of samples, found str"),
    ("a sparse matching", lambda: matching(put(PAIRED, 1, sparse.csr_array(np.eye(2)))), V,
     r"sample 1: x is sparse; give Bipartite\(shape, edges, features\)"),
    ("rows of differing lengths", lambda: matching(put(PAIRED, 1, [[[1.0]], [[1.0], [2.0]]])), V,
     "sample 1: x is not an array of real numbers"),
    ("another number of features of pairs", lambda: matching(put(PAIRED, 5, PAIRED[5][:, :, :3])), V,
     "sample 5: x has 3 features, sample 0 has 4"),
    ("pairs without features", lambda: matching([x[:, :, :0] for x in PAIRED]), V, "sample 0: x has no features"),
    ("no samples of pairs", lambda: matching([], []), V, "X is empty: at least one sample"),
    ("no samples in an array", lambda: matching(np.zeros((0, 2, 3, 4)), []), V, "X is empty: at least one"),
    ("no rows to link", lambda: matching(put(PAIRED, 4, np.zeros((0, 3, 4))), linked(4, [])), V,
     "sample 4: x has 0 rows and 3 columns: nothing to link. Leave it out"),
    ("no columns to link", lambda: matching(put(PAIRED, 4, np.zeros((2, 0, 4))), linked(4, [])), V,
     "sample 4: x has 2 rows and 0 columns: nothing to link. Leave it out"),
    ("no candidate edges", lambda: matching(put(PAIRED, 4, Bipartite((2, 3), [], np.zeros((0, 4)))), linked(4, [])),
     V, "sample 4: x has no edges: nothing to link. Leave it out"),
    # -- options of matchings
    ("a negative cap", lambda: matching(row_cap=-1), V, r"row_cap=-1 must be an integer at least 0.*row_caps="),
    ("half a cap", lambda: matching(column_cap=1.5), V, r"column_cap=1.5 must be an integer"),
    ("a cap for each node", lambda: matching(column_cap=[1, 1, 2]), V, r"column_cap=\[1, 1, 2\] must be an integer.*column_caps="),
    ("a cap of zero", lambda: matching(row_cap=0), V, "sample 0: .*row 0 is in 1 links, at most 0 allowed"),
    ("a ball of radius 0", lambda: matching(domain=domains.L2Ball(0), solver="dual-extragradient"), V,
     "radius=0 must be a finite number above 0.*domain=None"),
    ("a domain without penalty for bcfw", lambda: matching(domain=domains.L2Ball(1.0), alpha=0.0), V,
     'BCFW needs alpha > 0; .*solver="dual-extragradient"'),
    ("a sign of no weight", lambda: matching(domain=domains.Signs(negative=[5]), solver="dual-extragradient"), V,
     r"negative names weight 5, but there are 5 \(from 0\)"),
    ("a negative price", lambda: matching(loss=Hamming(false_negative=-1.0)), V, "false_negative=-1.0 must be a finite number at least 0"),
    ("node weights of other sides", lambda: matching(fit={"node_weight": [np.ones((3, 2))] * 6}), V,
     r"sample 0: node_weight has shape \(3, 2\)"),
    # -- use of matchings
    ("links before fit", lambda: MatchingSVM().predict(PAIRED), NotFittedError, "not fitted yet"),
    ("edge scores before fit", lambda: MatchingSVM().edge_scores(PAIRED), NotFittedError, "not fitted yet"),
    ("other features of pairs at predict", lambda: matching().predict([x[:, :, :3] for x in PAIRED]), V,
     "X has 3 features, but MatchingSVM is expecting 4 features"),
    ("score of a link to no column", lambda: matching().score(PAIRED, linked(4, [(1, 3)])), V,
     r"sample 4: y: \(1, 3\) at place 0 is outside 2 rows and 3 columns"),
    ("score of no pairs", lambda: matching().score(PAIRED, linked(4, [1, 3])), V, r"sample 4: y: shape \(2,\), expected"),
    ("score without y", lambda: matching().score(PAIRED, None), TypeError, "y must be a list"),
    ("exact marginals of links", lambda: matching().predict_marginals(PAIRED, "exact"), MissingAbilityError,
     'Matching has no exact marginals: .* Use method="perturb", .* or decision_function for scores'),
    ("exact marginals of links, caps of two", lambda: matching(column_cap=2).predict_marginals(PAIRED, "exact"),
     MissingAbilityError, "Matching has no exact marginals"),
    ("exact temperature of links", lambda: matching().calibrate(PAIRED, LINKS, method="exact"), MissingAbilityError,
     "Matching has no exact marginals"),
    ("margins of links", lambda: matching().margins(PAIRED), MissingAbilityError,
     "Matching has no `max_marginals`, which this needs. Use decision_function"),
    # -- graphs
    ("a loop", lambda: Graph(np.ones((3, 2)), [(0, 1), (2, 2)]), V, r"edges: \(2, 2\) at place 1 joins a node with itself; leave"),
    ("an edge twice", lambda: Graph(np.ones((3, 2)), [(0, 1), (1, 2), (0, 1)]), V,
     r"edges: \(0, 1\) at place 2 is there already; np.unique"),
    ("an edge there and back", lambda: Graph(np.ones((3, 2)), [(0, 1), (1, 0)]), V, r"\(1, 0\) at place 1 is there already"),
    ("an edge to no node", lambda: Graph(np.ones((3, 2)), [(0, 1), (1, 3)]), V, r"\(1, 3\) at place 1 is outside 3 nodes"),
    ("an edge from below", lambda: Graph(np.ones((3, 2)), [(-1, 0)]), V, r"\(-1, 0\) at place 0 is outside 3 nodes"),
    ("half an edge", lambda: Graph(np.ones((3, 2)), [(0, 1.5)]), V, "edges"),
    ("edges of three", lambda: Graph(np.ones((3, 2)), [(0, 1, 2)]), V, r"edges have shape \(1, 3\), expected \(E, 2\)"),
    ("no nodes", lambda: Graph(np.ones((0, 2)), []), V, "nodes: a graph has one node at least; leave this one out"),
    ("nodes without features", lambda: graph_cut(put(GRAPHS, 2, Graph(np.ones((4, 0)), PATH))), V, "sample 2: x has .*features"),
    ("a vector of nodes", lambda: Graph(np.ones(3), [(0, 1)]), V, r"nodes have shape \(3,\), expected \(V, n_features\)"),
    ("nodes of differing lengths", lambda: Graph([[1.0], [1.0, 2.0]], []), V, "nodes: not an array of two dimensions"),
    ("edge features of other edges", lambda: Graph(np.ones((4, 2)), PATH, np.ones((2, 1))), V,
     r"edge_features have shape \(2, 1\), expected \(3, n_features\): one row for each edge"),
    ("a vector of features of other edges", lambda: Graph(np.ones((4, 2)), PATH, np.ones(2)), V, r"edge_features have shape \(2, 1\), expected \(3, "),
    ("a negative edge feature", lambda: graph_cut(spoiled_edge(-0.5)), V,
     r"sample 2: edge_features\[1, 0\] is -0.5; .*not negative.* reward a cut. Shift them, or give"),
    ("a negative edge feature of tables", lambda: graph_cut(spoiled_edge(-0.5), tables=True), V,
     r"sample 2: edge_features\[1, 0\] is -0.5; .* tables included, reward a cut"),
    ("NaN of an edge", lambda: graph_cut(spoiled_edge(np.nan)), V, r"sample 2: edge_features\[1, 0\] is nan; .* must be finite"),
    ("infinity of an edge", lambda: graph_cut(spoiled_edge(np.inf)), V, r"sample 2: edge_features\[1, 0\] is inf"),
    ("a negative edge feature at predict", lambda: graph_cut().predict(spoiled_edge(-1.0)), V, r"sample 2: edge_features\[1, 0\] is -1"),
    ("NaN of a node", lambda: graph_cut(spoiled_node(np.nan)), V, r"sample 2: nodes\[3, 1\] is nan; .* Impute or drop"),
    ("infinity of a node at predict", lambda: graph_cut().predict(spoiled_node(np.inf)), V, r"sample 2: nodes\[3, 1\] is inf"),
    ("words as nodes", lambda: graph_cut(put(GRAPHS, 2, Graph([["a"]] * 4, PATH, np.ones((3, 1))))), V, "sample 2: x is not an array of real"),
    ("words as edge features", lambda: graph_cut(put(GRAPHS, 2, Graph(np.ones((4, 2)), PATH, [["a"]] * 3))), V, "sample 2: .* real numbers"),
    ("a matrix for a graph", lambda: graph_cut(put(GRAPHS, 2, np.ones((4, 2)))), TypeError,
     r"sample 2: x is ndarray, expected Graph\(nodes, edges, edge_features\)"),
    ("one graph alone", lambda: graph_cut(GRAPHS[0], SIDES[0]), TypeError, r"X must be a list of samples, found Graph. One sample alone: \[x\]"),
    ("no graphs", lambda: graph_cut([], []), V, "X is empty: at least one sample"),
    ("other node features", lambda: graph_cut(put(GRAPHS, 2, Graph(np.ones((4, 3)), PATH))), V, "sample 2: x has 3 features, sample 0 has 2"),
    ("other edge features", lambda: graph_cut(put(GRAPHS, 2, Graph(np.ones((4, 2)), PATH, np.ones((3, 2))))), V,
     "sample 2: 2 edge features, sample 0 has 1"),
    ("three labels", lambda: graph_cut(y=put(SIDES, 2, ["l", "r", "m", "l"])), V,
     r"y has 3 different labels \(\['l', 'm', 'r'\]\), expected two: multiclass=True"),
    ("one label only", lambda: graph_cut(y=[["l"] * 4] * 5), V, r"y has one label only \(\['l'\]\), expected two: give samples with both"),
    ("labels of other nodes", lambda: graph_cut(y=put(SIDES, 2, ["l", "r", "l"])), V, "sample 2: y has 3 labels but x has 4 rows"),
    ("a sample without labels", lambda: graph_cut(y=SIDES[:4]), V, "X has 5 samples, y has 4"),
    ("labels of two kinds", lambda: graph_cut(y=put(SIDES, 2, [0, 1, 0, 1])), V, "sample 2: .*labels"),
    ("NaN as a label", lambda: graph_cut(y=[[0.0, np.nan, 1.0, 0.0]] * 5), V, "sample 0: y has labels that are not finite"),
    ("node weights of other nodes", lambda: graph_cut(fit={"node_weight": [np.ones(3)] * 5}), V, r"sample 0: node_weight has shape \(3,\)"),
    ("a negative class weight", lambda: graph_cut(loss=Hamming(class_weight={"l": -1.0})), V, "class_weight=.* must be a mapping to finite numbers at least 0"),
    ("a cut that is to be rewarded", lambda: graph_cut(domain=domains.Signs(negative=[3])), V, "weight 3 is the price of a cut"),
    ("a domain of no weight", lambda: graph_cut(domain=domains.NonNegative([4])), V, "indices names weight 4, but there are 4"),
    ("a domain that is none", lambda: graph_cut(domain="l2"), TypeError, "domain='l2' must be an object of class Domain or None"),
    ("graphs before fit", lambda: GraphCutSVM().predict(GRAPHS), NotFittedError, "not fitted yet"),
    ("scores of graphs before fit", lambda: GraphCutSVM(tables=True).decision_function(GRAPHS), NotFittedError, "not fitted yet"),
    ("other node features at predict", lambda: graph_cut().predict([Graph(np.ones((4, 3)), PATH)]), V,
     "X has 3 node features, but GraphCutSVM is expecting 2"),
    ("other edge features at predict", lambda: graph_cut().predict([Graph(np.ones((4, 2)), PATH, np.ones((3, 2)))]), V,
     "X has 2 edge features, but GraphCutSVM is expecting 1"),
    ("score of other nodes", lambda: graph_cut().score(GRAPHS, put(SIDES, 2, ["l"])), V, "sample 2: y has 1 labels but x has 4 rows"),
    ("exact marginals of graphs", lambda: graph_cut().predict_marginals(GRAPHS, "exact"), MissingAbilityError,
     "GraphCut has no exact marginals"),
    # -- sets of labels
    ("a label that is 2", lambda: multi_label(y=switched(2, 1, 2.0)), V, r"sample 2: y has .*2.0.* for label 1, expected 0 or 1"),
    ("NaN for a label", lambda: multi_label(y=switched(3, 0, np.nan)), V, r"sample 3: y has .*nan.* for label 0, expected 0 or 1"),
    ("rows of other lengths", lambda: multi_label(y=put(SWITCHES.tolist(), 4, [1, 0])), V, "sample 4: y has 2 entries, sample 0 has 3; .* equally long"),
    ("one class a sample", lambda: multi_label(y=[0, 1, 0, 1, 1, 0]), V, r"y has shape \(6,\), .* For one class per sample, use MulticlassSVM"),
    ("no labels at all", lambda: multi_label(y=np.zeros((6, 0))), V, r"y has no labels: shape \(n_samples, 0\)"),
    ("empty sets only", lambda: multi_label(y=[set()] * 6), V, "y has no labels: all sets are empty"),
    ("a list among sets", lambda: multi_label(y=put([{"a"}] * 6, 2, ["a"])), TypeError, "sample 2: y is list, expected a set of labels"),
    ("labels of sets of two kinds", lambda: multi_label(y=put([{"a"}] * 6, 2, {1})), V, "y has labels of type int and str. Use one type"),
    ("a label that was not learned", lambda: multi_label(y=[{"a"}, {"b"}] * 3).score(ROWS, put([{"a"}] * 6, 4, {"z"})), V,
     "sample 4: y has 'z', which is not among the 2 labels learned"),
    ("rows without labels", lambda: multi_label(y=SWITCHES[:5]), V, "X has 6 samples, y has 5"),
    ("no y of sets", lambda: multi_label(y=None), V, "requires y to be passed"),
    ("other labels to score", lambda: multi_label().score(ROWS, SWITCHES[:, :2]), V, "y has 2 labels, the model has 3"),
    ("too many labels", lambda: multi_label(y=np.ones((6, 26)), method="exact"), V, r"26 labels whose pairs have cycles have 2\^26 outputs, .*bounded"),
    ("a method that is none", lambda: multi_label(method="fast"), V, "method='fast' must be"),
    ("a pair of an unknown label", lambda: multi_label(pairs=[(0, 5)]), V, "pairs names 5, but the labels are 0, 1, 2"),
    ("a pair of three", lambda: multi_label(pairs=[(0, 1, 2)]), V, r"pairs has \(0, 1, 2\), expected pairs of two labels"),
    ("a pair twice", lambda: multi_label(pairs=[(0, 1), (1, 0)]), V, r"pairs: edges: \(1, 0\) at place 1 is there already"),
    ("pairs that are none", lambda: multi_label(pairs="some"), V, "pairs='some' must be"),
    ("NaN of a row", lambda: multi_label(np.where(np.arange(18).reshape(6, 3) == 7, np.nan, ROWS)), V, r"sample 2: X\[2, 1\] is nan"),
    ("other features of rows", lambda: multi_label().predict(ROWS[:, :2]), V, "X has 2 features, but MultiLabelSVM is expecting 3"),
    ("node weights of other labels", lambda: multi_label(fit={"node_weight": np.ones((6, 2))}), V, r"sample 0: node_weight has shape \(2,\)"),
    ("sets before fit", lambda: MultiLabelSVM().predict(ROWS), NotFittedError, "not fitted yet"),
    # -- trees
    ("a cycle", lambda: tree(put(TREES, 2, Graph(np.ones((4, 2)), [(0, 1), (1, 2), (2, 0)]))), V,
     r"sample 2: edges: nodes .* are a cycle of 3, and a tree has none. Drop one .*NetworkSVM"),
    ("a cycle at predict", lambda: tree().predict([Graph(np.ones((4, 2)), [(0, 1), (1, 2), (0, 2)])]), V,
     "sample 0: edges: nodes .* are a cycle of 3"),
    ("a cycle of parents", lambda: Graph.from_parents(np.ones((5, 2)), [-1, 3, 0, 4, 1]), V,
     r"parents: nodes 1, 3, 4 are a cycle of 3, .* must be a root \(-1\)"),
    ("its own parent", lambda: Graph.from_parents(np.ones((3, 2)), [-1, 1, 0]), V, "parents: node 1 is its own parent; a root has -1.$"),
    ("no root", lambda: Graph.from_parents(np.ones((2, 2)), [1, 0]), V, "parents: nodes 0, 1 are a cycle of 2"),
    ("several roots", lambda: Graph.from_parents(np.ones((4, 2)), [-1, 0, -1, 2]), V,
     "parents: nodes 0, 2 are 2 roots, and a tree has one; forest=True allows several"),
    ("a parent that is not a node", lambda: Graph.from_parents(np.ones((3, 2)), [-1, 0, 3]), V,
     r"parents\[2\] is 3, outside 3 nodes; -1 is a root"),
    ("a parent below -1", lambda: Graph.from_parents(np.ones((3, 2)), [-2, 0, 1]), V, r"parents\[0\] is -2, outside 3"),
    ("parents of other nodes", lambda: Graph.from_parents(np.ones((3, 2)), [-1, 0]), V, r"parents have shape \(2,\), expected \(3,\)"),
    ("half a parent", lambda: Graph.from_parents(np.ones((3, 2)), [-1, 0, 0.5]), V, "parents: 0.5 is not an integer"),
    ("edge features of a root", lambda: Graph.from_parents(np.ones((3, 2)), [-1, 0, 0], np.ones((3, 1))), V,
     r"edge_features have shape \(3, 1\), expected \(2, n_features\)"),
    ("labels of other nodes", lambda: Graph(np.ones((3, 2)), [(0, 1)], labels=[["a"], None]), V,
     "labels are given for 2 nodes, but there are 3"),
    ("a label for its collection", lambda: Graph(np.ones((2, 2)), [(0, 1)], labels=[None, "ab"]), TypeError,
     r"labels\[1\] is 'ab', expected a collection of labels, such as \['ab'\]"),
    ("a number for a collection", lambda: Graph(np.ones((2, 2)), [(0, 1)], labels=[3, None]), TypeError, r"labels\[0\] is 3, expected"),
    ("no label allowed", lambda: Graph(np.ones((2, 2)), [(0, 1)], labels=[[], None]), V, r"labels\[0\] is empty: .* None means all"),
    ("labels in one word", lambda: Graph(np.ones((2, 2)), [(0, 1)], labels="ab"), TypeError, "labels='ab': expected a list"),
    ("a true label that is not allowed", lambda: tree(tree_allowing(3, 2, ["a", "c"])), V,
     r"sample 3: y\[2\] is 'b', but its graph allows node 2 \['a', 'c'\] only. Correct the label, or allow it"),
    ("an unknown label allowed at predict", lambda: tree().predict(tree_allowing(3, 2, ["a", "z"])), V,
     r"sample 3: labels\[2\] has 'z', but the labels learned are 'a', 'b', 'c'"),
    ("labels allowed that y lacked", lambda: tree(tree_allowing(3, 2, ["b", "z"])).predict(tree_allowing(1, 0, ["z"])), V,
     r"sample 1: labels\[0\]: y had none of \['z'\] in training.* Allow one of these"),
    ("labels of single nodes in a cut", lambda: graph_cut(tree_allowing(2, 0, ["l"], GRAPHS)), V,
     r"sample 2: a cut cannot restrict the labels of single nodes; use TreeSVM or NetworkSVM"),
    ("no labels reach each other", lambda: tree().set_params(forbidden_pairs=[(j, k) for j in "abc" for k in "abc"]).fit(TREES, KINDS),
     InfeasibleError, rf"sample 0: its true output is forbidden .*: y\[0\] and y\[1\] are '{KINDS[0][0]}' and '{KINDS[0][1]}', a pair"),
    ("heads counted from 1", lambda: Graph.from_parents(np.ones((3, 2)), [2, 0, 2]), V,
     "node 2 is its own parent; a root has -1.*CoNLL-U: count from 0, with -1 for the root, that is, subtract 1"),
    ("heads beyond the last node", lambda: Graph.from_parents(np.ones((3, 2)), [3, 3, 0]), V,
     r"parents\[0\] is 3, outside 3 nodes; .*subtract 1"),
    ("a root that is its own parent", lambda: Graph.from_parents(np.ones((3, 2)), [0, 0, 0]), V,
     "node 0 is its own parent; a root has -1.$"),
    ("features too large for their gradient", lambda: chain([1e160 * x for x in X], objective="likelihood", solver="lbfgs"),
     FloatingPointError, "sample 0: its scores are not finite; scale the features down"),
    ("cutting planes of another kind", lambda: chain(solver=CuttingPlane("2-slack")), V, "variant='2-slack' must be '1-slack' or 'n-slack'"),
    ("cuts dropped at once", lambda: chain(solver=CuttingPlane(drop_after=0)), V, "drop_after=0 must be an integer at least 1"),
    ("cuts solved never", lambda: chain(solver=CuttingPlane("n-slack", resolve_every=0.5)), V, "resolve_every=0.5 must be an integer"),
    ("a cache of cuts that is none", lambda: chain(solver=CuttingPlane(cache=5)), TypeError, "cache=5 must be an object of class OracleCache"),
    ("cutting planes without a penalty", lambda: chain(solver="cutting-plane", alpha=0.0), V,
     "CuttingPlane needs alpha > 0; give a small one"),
    ("slacks of outputs beyond number", lambda: chain([np.ones((9, 4))] * 3, [["a", "b", "c"] * 3] * 3, objective="slack"),
     MissingAbilityError, r'objective="slack" lists all outputs of a sample, 4096 at most, and Chain of layout \(9, 3\) has more'),
    ("slacks by a solver of likelihoods", lambda: MulticlassSVM(objective="slack", solver="lbfgs").fit(FLAT, LABELS), V,
     'LBFGS cannot minimise objective="slack"; solvers that can: .*"cutting-plane"'),
    ("a solver of likelihoods for matchings", lambda: MatchingSVM(solver="sdca").fit(PAIRED, LINKS), V,
     "SDCA cannot minimise objective=\"margin\"; solvers that can: (?!.*smoothed).*\"bcfw\""),
    ("neither a penalty nor a bounded domain for qp", lambda: chain(solver="qp", alpha=0.0), V,
     "ReferenceQP needs alpha > 0 or a bounded domain, such as domains.L2Ball"),
    ("a convex program that does not fit", lambda: chain(solver=ReferenceQP(memory_limit=1e4)), ProgramTooLargeError,
     r"would take about .* MB, and the limit is 0.01 MB. Use solver=\"bcfw\""),
    ("neither constraints nor vertices for qp", lambda: StructuredSVM(AtMostOne(), alpha=0.1, solver="qp").fit(X, [0] * 12),
     MissingAbilityError, "ReferenceQP needs `constraints` or `vertices`, which AtMostOne cannot do. Define AtMostOne.constraints"),
    ("qp without its package", without_clarabel, ImportError, r'pip install "maxmargin\[qp\]"'),
    ("a likelihood for qp", lambda: chain(solver="qp", objective="likelihood"), V,
     "ReferenceQP cannot minimise objective=\"likelihood\"; solvers that can: .*sdca"),
    ("a dead end at predict", lambda: tree(forbidden_pairs=[("c", "c")]).predict(
        put(TREES, 4, Graph(np.ones((2, 2)), [(0, 1)], labels=[["c"], ["c"]]))), InfeasibleError,
     "sample 4: every output is forbidden. Allow one at least"),
    ("a dead end of marginals", lambda: tree(forbidden_pairs=[("c", "c")]).predict_marginals(
        put(TREES, 4, Graph(np.ones((2, 2)), [(0, 1)], labels=[["c"], ["c"]]))), InfeasibleError, "sample 4: every output"),
    ("a pair that is none", lambda: tree(forbidden_pairs=["ab"]), V, "forbidden_pairs: 'ab' is not a pair"),
    ("NaN of a tree's edge", lambda: tree(spoiled_edge(np.nan), [["a", "b", "c", "a"]] * 5), V,
     r"sample 2: edge_features\[1, 0\] is nan; features of edges must be finite. Impute"),
    ("a matrix for a tree", lambda: tree(put(TREES, 2, np.ones((4, 2)))), TypeError, "sample 2: x is ndarray, expected Graph"),
    ("one tree alone", lambda: tree(TREES[0], KINDS[0]), TypeError, r"X must be a list of samples, found Graph. One sample alone: \[x\]"),
    ("tables too large for a junction tree", lambda: MarkovNetwork(method="exact").oracle().layout_as_ints(
        NetworkLayout(Network(12, list(combinations(range(12), 2))), 9)), V,
     "a treewidth of at least 11 with 9 labels needs at least .* entries .* use method='bounded'"),
    ("a tuple for a network", lambda: MarkovNetwork().oracle().layout_as_ints((3, 2)), TypeError, r"layout=\(3, 2\) must be a NetworkLayout\(network,"),
    ("no labels for a network", lambda: NetworkLayout(Network(2, [(0, 1)]), 0), V, "n_labels=0 must be an integer at least 1"),
    ("a node of a network without a label", lambda: NetworkLayout(Network(2, [(0, 1)]), 2, [[True, True], [False, False]]), V,
     "allowed: node 1 may have no label at all; allow one at least"),
    ("an unknown method for a network", lambda: MarkovNetwork(method="best").oracle().is_exact, V, "method='best' must be 'auto' or 'exact'"),
    ("marginals of messages", lambda: MarkovNetwork(method="bounded").marginals(np.zeros(8), NetworkLayout(Network(2, [(0, 1)]), 2)),
     MissingAbilityError, "has no `marginals` with method='bounded'. Use method='exact'"),
    ("labels of other trees", lambda: tree(y=put(KINDS, 2, ["a"] * 3)), V, "sample 2: y has 3 labels but x has 4 rows"),
    ("other node features of trees", lambda: tree().predict([Graph(np.ones((4, 3)), PATH)]), V,
     "X has 3 node features, but TreeSVM is expecting 2"),
    ("other edge features of trees", lambda: tree().predict([Graph(np.ones((4, 2)), PATH, np.ones((3, 2)))]), V,
     "X has 2 edge features, but TreeSVM is expecting 1"),
    ("edge features of two widths", lambda: tree(put(TREES, 2, Graph(np.ones((4, 2)), PATH, np.ones((3, 2))))), V,
     "sample 2: 2 edge features, sample 0 has 1"),
    ("trees before fit", lambda: TreeSVM().predict(TREES), NotFittedError, "not fitted yet"),
    ("tables before fit", lambda: TreeSVM().pair_coef_, NotFittedError, "not fitted yet"),
    ("transitions before fit", lambda: ChainSVM().transition_coef_, NotFittedError, "not fitted yet"),
    ("an unknown method", lambda: network(method="best"), V, "method='best' must be 'auto' or 'exact' or 'bounded' or 'relaxed'"),
    ("a network too wide for a table", lambda: network([WIDE], [["a", "b"] * 200], method="exact"), V,
     "treewidth of .* max_table=.*use method='bounded'"),
    ("a likelihood within bounds", lambda: network(method="bounded", objective="likelihood"), MissingAbilityError,
     "has no `marginals`|needs `marginals`|marginals"),
    ("margins within bounds", lambda: network(method="bounded").margins(GRAPHS), MissingAbilityError, "MarkovNetwork has no `max_marginals`"),
    ("other edge features of networks", lambda: network().predict([Graph(np.ones((4, 2)), PATH, np.ones((3, 2)))]), V,
     "X has 2 edge features, but NetworkSVM is expecting 1"),
    ("a matrix for a network", lambda: network(put(GRAPHS, 2, np.ones((4, 2)))), TypeError, "sample 2: x is ndarray, expected Graph"),
    ("labels of other networks", lambda: network(y=put(KINDS, 2, ["a"] * 3)), V, "sample 2: y has 3 labels but x has 4 rows"),
    ("a pair of a network that is none", lambda: network(forbidden_pairs=["ab"]), V, "forbidden_pairs: 'ab' is not a pair"),
    ("a true pair that is forbidden", lambda: network(forbidden_pairs=[("a", "b")]), InfeasibleError,
     r"sample 0: its true output is forbidden .*: y\[0\] and y\[1\] are 'a' and 'b', a pair"),
    ("bounds before fit", lambda: NetworkSVM().predict_within(GRAPHS), NotFittedError, "not fitted yet"),
    # -- kernels
    ("kernel without inner products", lambda: multiclass(kernel=lambda A, B: np.tanh(A @ B.T - 99)), V,
     "not positive semi-definite: k\\(x, x\\) of sample .* is -1.*Only such kernels are inner products. Use \"linear\""),
    ("kernel larger between than within", lambda: chain(kernel=lambda A, B: 2.0 - (A[:, None] == B[None]).all(axis=2)), V,
     r"not positive semi-definite: between row 0 of sample 0 and row 1 of sample 0 it is 2, more than sqrt\(1 \* 1\)"),
    ("kernel with a negative pivot", lambda: multiclass(np.eye(3), ["a", "b", "a"], kernel=lambda A, B: np.where(A @ B.T == 1, 1.0, -0.9)), V,
     "not positive semi-definite: the pivot of sample . is -"),
    ("the same, pivot by pivot", lambda: multiclass(np.eye(4), [*"abab"], kernel=KernelMap(lambda A, B: np.where(A @ B.T == 1, 1.0, -0.9), max_support=3)), V,
     "the pivot of sample . is -.* after 2 others"),
    ("the same, from landmarks", lambda: multiclass(np.eye(4), [*"abab"], kernel=KernelMap(lambda A, B: np.where(A @ B.T == 1, 1.0, -0.9), method="nystroem", n_components=2)), V,
     "not positive semi-definite: the landmarks explain sample . to -"),
    ("kernel of zeros", lambda: chain(kernel=lambda A, B: np.zeros((len(A), len(B)))), V, "every row with itself is 0"),
    ("kernel of another shape", lambda: chain(kernel=lambda A, B: A @ A.T @ B), V,
     r"returned shape \(\d+, 4\) for \d+ rows A and \d+ rows B, expected"),
    ("kernel with NaN", lambda: matching(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)), V,
     r"kernel\(A, B\)\[0, 0\] is nan; kernels must be finite"),
    ("kernel of texts", lambda: chain(kernel=lambda A, B: np.full((len(A), len(B)), "k")), V, "dtype <U1, expected real numbers"),
    ("kernel that has a direction", lambda: tree(kernel=lambda A, B: A[:, :1] + 0 * B[:, 0] + 9.0), V,
     "not symmetric: between row . of sample . and row . of sample . it is .*Symmetrise it"),
    ("unknown kernel", lambda: chain(kernel="sigmoid"), V, "kernel='sigmoid' must be 'linear' or 'poly' or 'rbf' or a function"),
    ("kernel that is a number", lambda: chain(kernel=3), V, "kernel=3 must be a string, a function, an object of class KernelMap or None"),
    ("gamma below 0", lambda: chain(kernel=KernelMap(gamma=-1)), V, "gamma=-1 must be a finite number above 0"),
    ("half a degree", lambda: chain(kernel=KernelMap("poly", degree=1.5)), V, "degree=1.5 must be an integer"),
    ("coef0 below 0", lambda: chain(kernel=KernelMap("poly", coef0=-1)), V, "coef0=-1 must be a finite number at least 0"),
    ("unknown method", lambda: chain(kernel=KernelMap(method="fast")), V, "method='fast' must be 'exact' or 'nystroem' or 'random'"),
    ("unknown landmarks", lambda: chain(kernel=KernelMap(landmarks="best")), V, "landmarks='best' must be 'random' or 'k-means\\+\\+'"),
    ("no support at all", lambda: chain(kernel=KernelMap(max_support=0)), V, "max_support=0 must be an integer at least 1"),
    ("all support dropped", lambda: chain(kernel=KernelMap(drop=1.0)), V, "drop=1.0 must be a finite number at least 0 and below 1"),
    ("bounds of two methods", lambda: chain(kernel=KernelMap(n_components=5)), V, 'n_components goes with "nystroem"'),
    ("bounds of landmarks", lambda: chain(kernel=KernelMap(method="random", max_support=5)), V, 'max_support goes with method="exact"'),
    ("random features of any kernel", lambda: chain(kernel=KernelMap("linear", method="random")), V, 'use method="nystroem"'),
    ("signs of coordinates", lambda: chain(kernel="rbf", domain=domains.NonNegative([0])), V, "about single weights.*Use domains.L2Ball"),
    ("other features with a kernel", lambda: chain(kernel="rbf").predict([np.ones((2, 3))]), V, "X has 3 features, but ChainSVM is expecting 4"),
    ("score of other trees", lambda: tree().score(TREES, put(KINDS, 2, ["a"])), V, "sample 2: y has 1 labels but x has 4 nodes"),
    # -- paths
    ("alphas that are not positive", lambda: alpha_path(ChainSVM(), X, Y, [0.1, 0.0]), V,
     "alphas must be positive numbers; found 0.0"),
    ("no alphas", lambda: alpha_path(ChainSVM(), X, Y, []), V, "alphas must be positive numbers; none are given"),
    ("alphas in words", lambda: alpha_path(ChainSVM(), X, Y, "small"), V, "alphas must be .*; found 'small'"),
    ("half an alpha count", lambda: alpha_path(ChainSVM(), X, Y, n_alphas=2.5), V, "n_alphas=2.5 must be an integer"),
    ("a path of a class", lambda: alpha_path(ChainSVM, X, Y), TypeError, r"not an estimator object, such as ChainSVM\("),
    ("a path of another library", lambda: alpha_path(LogisticRegression(), FLAT, LABELS), TypeError,
     "LogisticRegression has no option `alpha`"),
    ("no gap allowed", lambda: eps_path(ChainSVM(), X, Y, 0.0), V, "eps=0.0 must be a number between 0 and 1"),
    ("penalties the wrong way round", lambda: eps_path(ChainSVM(), X, Y, 0.1, 0.1, 1.0), V,
     "alpha_min=1 is above alpha_max=0.1; exchange them"),
    ("an alpha beyond the path", lambda: eps_path(ChainSVM(), X, Y, 0.5, 0.2, 0.1).model(0.3), V,
     "alpha=0.3: the path goes from 0.2 down to 0.1. Give eps_path another alpha_max"),
    ("an eps-path in a ball", lambda: eps_path(ChainSVM(domain=domains.L2Ball(1.0)), X, Y), V,
     "in a L2Ball the gap at another alpha is not known from one model. Take domain=None"),
    ("an eps-path of likelihoods", lambda: eps_path(ChainSVM(objective="likelihood"), X, Y), V,
     'eps_path is for "margin".* Take alpha_path'),
    ("an eps-path by steps without bounds", lambda: eps_path(ChainSVM(solver=Subgradient()), X, Y), V,
     'needs the dual point of BCFW, not of Subgradient. Give solver="bcfw", or take alpha_path'),
    ("an eps-path of huge features", lambda: eps_path(MulticlassSVM(), 1e200 * FLAT, LABELS), V,
     "too large to be squared; scale them down"),
    ("a path with a kernel", lambda: eps_path(ChainSVM(kernel="rbf"), X, Y), V,
     "kernel: each model has support rows of its own, which a path does not keep. Transform"),
    ("NaN on a path", lambda: eps_path(ChainSVM(), spoiled(2, 1, 3, np.nan), Y), V, r"sample 2: x\[1, 3\] is nan"),
    ("fewer y than X on a path", lambda: alpha_path(ChainSVM(), X, Y[:-1]), V, "X has 12 samples, y has 11"),
    ("a path of no epochs", lambda: iterates_path(ChainSVM(), X, Y, max_epochs=0), V, "max_epochs=0 must be"),
    # -- triplets
    ("triplets of one class", lambda: make_triplets(n_classes=1), V, "n_classes=1 must be an integer, 2 or more"),
    ("more features that tell than there are", lambda: make_triplets(n_features=3, n_relevant=4), V,
     "n_relevant=4 is more than n_features=3"),
    ("a triplet with a fourth pair", lambda: listed(make_triplets(4).X, [0, 1, 3, 2]), V,
     "sample 2: .*expected an output number from 0 to 2"),
]  # fmt: skip


@pytest.mark.parametrize(
    "do, error, message", [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_bad_input_is_refused(do, error, message):
    with pytest.raises(error, match=message) as caught:
        do()
    known = (error, OptionError, SampleError)
    assert caught.type in known or error is not ValueError  # no accident further down


def test_nothing_is_known_after_a_fit_that_failed():
    model = ChainSVM(alpha=-1.0)
    with pytest.raises(ValueError, match="alpha"):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- odd but good: handled, with a result ----------------------------------------------------------
def test_labels_unknown_at_score_time_are_errors_of_the_model():
    model = chain()
    right = sum(np.sum(a == b) for a, b in zip(model.predict(X), Y, strict=True))
    total = sum(len(y) for y in Y)
    odd = put(Y, 0, np.array(["unheard of"] * len(Y[0])))
    lost = np.sum(model.predict(X[:1])[0] == Y[0])
    assert model.score(X, odd) == pytest.approx((right - lost) / total)
    assert model.score(X, [np.arange(len(y)) for y in Y]) == 0.0


@pytest.mark.filterwarnings("ignore:forbidden_transitions has 'c'")
def test_a_fold_without_some_label_is_a_smaller_problem():
    kept = [i for i, y in enumerate(Y) if "c" not in y]
    model = chain([X[i] for i in kept], [Y[i] for i in kept], forbidden_transitions=[("c", "a")])
    assert model.classes_.tolist() == ["a", "b"]
    assert 0.3 < model.score(X, Y) < 1.0


@pytest.mark.parametrize("fit", [chain, multiclass])
def test_one_single_label_is_always_right(fit):
    y = [["u"] * len(labels) for labels in Y] if fit is chain else ["u"] * len(FLAT)
    model = fit(y=y)
    assert model.result_.primal == model.result_.gap == 0.0
    assert model.score(X if fit is chain else FLAT, y) == 1.0


def test_unsorted_and_repeated_csr_entries_mean_their_sum():
    wanted = chain()
    odd = []
    for x in X:
        row, column = np.nonzero(np.ones_like(x))
        order = np.random.default_rng(0).permutation(2 * len(row))
        half = np.tile(x.ravel() / 2, 2)[order]
        row, column = np.tile(row, 2)[order], np.tile(column, 2)[order]
        by_row = np.argsort(row, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(x)))])
        odd.append(sparse.csr_matrix((half[by_row], column[by_row], start), shape=x.shape))
        assert not odd[-1].has_canonical_format
    before = [x.data.copy() for x in odd]
    model = chain(odd)
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    for a, b in zip(model.predict(odd), wanted.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)
    for x, data in zip(odd, before, strict=True):
        np.testing.assert_array_equal(x.data, data)  # the user's matrices are left alone


def test_a_block_of_equal_samples_may_be_one_3_d_array():
    block = np.stack([x[:2] for x in X])
    model = chain(block, [y[:2] for y in Y])
    np.testing.assert_array_equal(model.coef_, chain(list(block), [y[:2] for y in Y]).coef_)


def test_no_penalty_is_fine_for_the_perceptron():
    model = chain(alpha=0, solver=Perceptron(averaged=False))
    assert model.score(X, Y) == 1.0


def test_features_of_any_size_are_certified_as_far_as_it_got():
    for size in (1e-150, 1e150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = chain([size * x for x in X], bias=False, ends=False, transitions=False)
        result = model.result_
        assert np.isfinite(model.coef_).all()
        assert (result.status is Status.CONVERGED) == (result.gap <= 1e-3 * result.primal)
        assert 0 <= result.dual <= result.primal <= 1.0


def test_features_without_any_entry_give_a_model_of_the_biases():
    model = chain([np.zeros_like(x) for x in X])
    assert not model.node_coef_.any()
    assert model.bias_.any()
