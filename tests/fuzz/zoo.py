"""A small fitted model of every estimator, task and structure, with the data to use it again."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from contract.cases import found_list
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
)
from maxmargin.datasets import make_string_pairs, make_treebank
from maxmargin.domains import L1Ball, L2Ball, NonNegative, Product
from maxmargin.features import KernelMap
from maxmargin.losses import Hamming
from maxmargin.solvers import BCFW, CuttingPlane, OracleCache
from maxmargin.structures import (
    Chain,
    Finite,
    GraphCut,
    LinearProgram,
    MarkovNetwork,
    Matching,
    Multiclass,
    MultiLabel,
    Program,
    Restricted,
    Tree,
)
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.restricted.layout import RestrictedLayout
from maxmargin.structures.tree.layout import TreeLayout
from maxmargin.tasks import (
    AlignmentFeatures,
    ConstituencyParser,
    DependencyParser,
    ImageGraphs,
    PointGraphs,
    RNAFolder,
    Segmenter,
    SequenceTagger,
    StringAligner,
    WordAligner,
    WordVectors,
    orthogonal_map,
)
from maxmargin.validation.brackets import parse_tree


class Case(NamedTuple):
    """An estimator, what it is fitted to, and what it predicts."""

    model: Any
    fit: tuple[Any, ...]
    predict: tuple[Any, ...]


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _case(model: Any, X: Any, y: Any) -> Case:
    return Case(model, (X, y), (X[:3],))


def _sequences() -> tuple[Any, Any]:
    rng = _rng()
    X = [rng.normal(size=(n, 4)) for n in (3, 1, 4, 2, 5)]
    return X, [np.array(["a", "b", "c"])[(x[:, :3]).argmax(axis=1)] for x in X]


def _chain(**options: Any) -> Case:
    return _case(ChainSVM(max_epochs=3, **options), *_sequences())


def _graphs(edges: Any, classes: int = 3, features: int = 2) -> tuple[Any, Any]:
    rng = _rng()
    X = [
        Graph(rng.normal(size=(4, 3)), edges, np.abs(rng.normal(size=(len(edges), features))))
        for _ in range(5)
    ]
    return X, [np.arange(4) % classes for _ in X]


PATH, RING = [(0, 1), (1, 2), (1, 3)], [(0, 1), (1, 2), (2, 3), (3, 0)]


def _tree(**options: Any) -> Case:
    return _case(TreeSVM(max_epochs=3, **options), *_graphs(PATH))


def _plain_tree(**options: Any) -> Case:
    X, y = _graphs(PATH)
    X = [Graph(x.nodes, PATH, labels=[None, [0, 1, 2], None, None]) for x in X]
    return _case(TreeSVM(max_epochs=3, forbidden_pairs=[(2, 0)], **options), X, y)


def _cut(classes: int = 2, **options: Any) -> Case:
    return _case(GraphCutSVM(max_epochs=3, **options), *_graphs(RING, classes))


def _network(**options: Any) -> Case:
    return _case(NetworkSVM(max_epochs=3, **options), *_graphs(RING))


def _matching(**options: Any) -> Case:
    rng = _rng()
    X: list[Any] = [rng.normal(size=(2, 3, 2)) for _ in range(3)]
    X += [Bipartite((2, 3), [(0, 0), (1, 2)], rng.normal(size=(2, 2)), [1, 2]) for _ in range(2)]
    return _case(MatchingSVM(max_epochs=3, **options), X, [[(0, 0)]] * 5)


def _table() -> np.ndarray:
    return _rng().normal(size=(12, 3))


def _labels(**options: Any) -> Case:
    y = (_table() @ _rng().normal(size=(3, 4)) > 0).astype(int)
    return _case(MultiLabelSVM(max_epochs=3, **options), _table(), y)


def _label_sets(**options: Any) -> Case:
    X = _table()
    y = [{name for name, own in zip("pqr", x, strict=True) if own > 0} for x in X]
    return _case(MultiLabelSVM(max_epochs=3, **options), X, y)


def _classes(**options: Any) -> Case:
    return _case(MulticlassSVM(max_epochs=3, **options), _table(), _table().argmax(axis=1))


def _structured(structure: Any, X: Any, y: Any, features: Any = None, **options: Any) -> Case:
    return _case(StructuredSVM(structure, features, max_epochs=3, **options), X, y)


def _rows(parts: int, y: Any, shape: Any = None, n: int = 4) -> tuple[Any, Any]:
    rng = _rng()
    X = [rng.normal(size=(parts, 3)) for _ in range(n)]
    return (X if shape is None else [(x, shape) for x in X]), [y] * n


def _labelled_chains() -> Case:
    X, y = _sequences()
    numbers = [np.searchsorted(["a", "b", "c"], own) for own in y]
    pairs = [(_parts(x, len(x) * 3 + (len(x) - 1) * 9), (len(x), 3)) for x in X]
    return _structured(Chain(tied=False), pairs, numbers)


def _parts(x: np.ndarray, count: int) -> np.ndarray:
    return np.resize(x, (count, 2))


def _shaped(kind: str) -> Case:
    if kind == "tree":
        return _structured(Tree(), *_rows(21, [0, 1, 2, 0], TreeLayout(_net(PATH), 3)))
    if kind == "network":
        shape = NetworkLayout(_net(RING), 2, [[True, True]] * 3 + [[True, False]])
        return _structured(MarkovNetwork(), *_rows(12, [0, 1, 1, 0], shape))
    if kind == "cut":
        rows, y = _rows(8, [0, 1, 1, 0], _net(RING))
        return _structured(GraphCut(), [(-np.abs(x), s) for x, s in rows], y, domain=NonNegative())
    if kind == "labels":
        return _structured(MultiLabel(), *_rows(6, [0, 1, 1]))
    if kind == "matching":
        return _structured(Matching(), *_rows(6, [(0, 0), (1, 1)], (2, 3)))
    if kind == "restricted":
        shape = RestrictedLayout((3,), off=[1], matrix=[[1.0, 0.0, 1.0]], upper=1.0)
        return _structured(Restricted(Multiclass()), *_rows(3, 0, shape))
    program = Program(np.ones((1, 3)), 2.0, part_upper=1.0)
    if kind == "program":
        return _structured(LinearProgram(program), *_rows(3, [1.0, 0.0, 1.0]))
    return _structured(LinearProgram(integral=True), *_rows(3, [1.0, 0.0, 1.0], program))


def _net(edges: Any) -> Any:
    return Graph(np.zeros((4, 1)), edges).network


SENTENCES = [["the", "cat", "sees", "Bob"], ["a", "dog", "barks"], ["Bob", "sleeps", "."]]
TAGS = [["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP", "O"], ["B-NP", "O", "O"]]


def _tagger(kind: str = "words", **options: Any) -> Case:
    X: Any = SENTENCES
    if kind == "columns":
        X = [[(word, word[0]) for word in own] for own in X]
        options["templates"] = ["0[0]|1[1]", "suffix2(0[0])", "0[-1]|0[0]|0[1]"]
    if kind == "dicts":
        X = [[{"word": word, "length": len(word) / 7, "up": word[0] == "B"} for word in own]
             for own in X]  # fmt: skip
    return _case(SequenceTagger(max_epochs=3, **options), X, TAGS)


def _aligner(vectors: bool = False, **options: Any) -> Case:
    pairs = [(["a", "b", "c"], ["x", "y", "z"]), (["b", "a"], ["y", "x"])]
    links = [{(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1)}]
    if vectors:
        rng = _rng()
        sides = [WordVectors(list(words), rng.normal(size=(3, 4))) for words in ("abc", "xyz")]
        seeds = [("a", "x"), ("b", "y"), ("c", "z")] * 2
        options["features"] = AlignmentFeatures(frequent=2, vectors=orthogonal_map(*sides, seeds))
    return _case(WordAligner(max_epochs=3, **options), pairs, links)


def _images(**options: Any) -> Case:
    X = _rng().uniform(size=(3, 6, 7, 3))
    maker = ImageGraphs("pixels", n_colours=4)
    return _case(Segmenter(graphs=maker, max_epochs=3, **options), X, X[..., 0] > 0.5)


def _points(**options: Any) -> Case:
    X = [_rng().uniform(size=(40, 4)) * [9, 9, 2, 1] for _ in range(2)]
    maker = PointGraphs(neighbours=3, features=("height", "shape", "spin", "extra"), components=3)
    maker.set_params(**{k: options.pop(k) for k in ("knots",) if k in options})
    model = Segmenter("points", graphs=maker, max_epochs=3, **options)
    return _case(model, X, [x[:, 2] > 1 for x in X])


def _brackets() -> tuple[Any, Any]:
    trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (NNS dogs)) (VP (VBP bark)))"]
    return [parse_tree(tree).words() for tree in trees] * 3, trees * 3


def _bases() -> tuple[Any, Any]:
    sequences = ["GGGAAAUCCC", "GCGCAAAAGCGC", "AUGGCAAAGCCAU"]
    return sequences, ["(((....)))", "((((....))))", "..(((...))).."]


CASES: dict[str, Callable[[], Case]] = {
    "chain": _chain,
    "chain warm": lambda: _chain(warm_start=True),
    "chain warm fw": lambda: _chain(warm_start=True, solver="fw"),
    "chain warm ssg": lambda: _chain(warm_start=True, solver="ssg"),
    "chain plain": lambda: _chain(bias=False, ends=False, transitions=False),
    "chain rules": lambda: _chain(forbidden_transitions=[("a", "z")], forbidden_last=["z"]),
    "chain likelihood": lambda: _chain(objective="likelihood"),
    "chain rbf": lambda: _chain(kernel="rbf"),
    "chain random rbf": lambda: _chain(kernel=KernelMap(method="random", n_components=6)),
    "chain random poly": lambda: _chain(kernel=KernelMap("poly", method="random", n_components=6)),
    "chain domain": lambda: _chain(domain=L2Ball(2.0), solver="extragradient"),
    "tree": _tree,
    "tree plain": _plain_tree,
    "tree warm": lambda: _plain_tree(warm_start=True),
    "tree poly": lambda: _tree(kernel=KernelMap("poly", method="nystroem", n_components=5)),
    "cut": _cut,
    "cut warm": lambda: _cut(warm_start=True),
    "cut tables": lambda: _cut(tables=True, domain=L2Ball(9.0)),
    "cut multiclass": lambda: _cut(3, multiclass=True),
    "network": _network,
    "network warm": lambda: _network(warm_start=True, method="bounded"),
    "network plain": lambda: _network(transitions=False, ends=True, kernel="linear"),
    "matching": _matching,
    "matching warm": lambda: _matching(warm_start=True, row_cap=2),
    "matching rbf": lambda: _matching(kernel="rbf", bias=False),
    "matching domain": lambda: _matching(domain=Product([([0], L1Ball(2.0))])),
    "labels": _labels,
    "labels tree": lambda: _labels(pairs="tree", pair_features=True, warm_start=True),
    "labels bounded": lambda: _labels(method="bounded", bias=False),
    "label sets": lambda: _label_sets(pairs=[("p", "q")]),
    "classes": _classes,
    "classes warm": lambda: _classes(warm_start=True, solver=BCFW(cache=OracleCache(5))),
    "classes cuts": lambda: _classes(warm_start=True, solver=CuttingPlane()),
    "classes rbf": lambda: _classes(kernel="rbf", loss=Hamming(class_weight={0: 2.0})),
    "finite": lambda: _structured(Finite(), *_rows(4, 1), warm_start=True),
    "chain parts": _labelled_chains,
    **{f"{kind} parts": lambda kind=kind: _shaped(kind) for kind in (
        "tree", "network", "cut", "labels", "matching", "restricted", "program", "integral",
    )},
    "tagger": _tagger,
    "tagger rules": lambda: _tagger(bio=True, warm_start=True),
    "tagger columns": lambda: _tagger("columns"),
    "tagger dicts": lambda: _tagger("dicts"),
    "aligner": _aligner,
    "aligner vectors": lambda: _aligner(True, max_links=2, warm_start=True),
    "images": _images,
    "images tables": lambda: _images(tables=True, warm_start=True),
    "points": _points,
    "points plain": lambda: _points(knots=0),
    "heads": lambda: _case(DependencyParser(max_epochs=3, bits=10), *make_treebank(6)),
    "spans": lambda: _case(ConstituencyParser(max_epochs=3, min_count=1), *_brackets()),
    "spans alone": lambda: _case(
        ConstituencyParser(max_epochs=3, min_count=1, guided=False, objective="likelihood"),
        *_brackets()
    ),
    "strings": lambda: _case(StringAligner(max_epochs=3), *make_string_pairs(6)),
    "strings warm": lambda: _case(
        StringAligner(max_epochs=3, ends="local", context=True, similarity=None, warm_start=True),
        *make_string_pairs(6)
    ),
    "bases": lambda: _case(RNAFolder(max_epochs=3), *_bases()),
    "bases crossing": lambda: _case(
        RNAFolder(max_epochs=3, crossing=True, energies=False, warm_start=True), *_bases()
    ),
    "tagger segments": lambda: _tagger(segments=True, warm_start=True),
    **{make.__name__: lambda make=make: _case(*make().few(max_epochs=3))
       for make in found_list("ESTIMATORS")},
}  # fmt: skip


@cache
def fitted(name: str) -> Any:
    """The fitted model of that name."""
    model, fit, _ = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*fit)
