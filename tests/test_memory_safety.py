"""What would have made compiled code read or write beyond its arrays is refused at the door."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

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
from maxmargin.estimators.label_rows import TextRows, read_label_rows
from maxmargin.exceptions import OptionError
from maxmargin.features import Group, KernelMap, PartFeatures, pack
from maxmargin.structures import (
    Candidates,
    Chain,
    Finite,
    Matching,
    MultiLabel,
    Network,
    Potts,
    Program,
    TreeLayout,
)
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.restricted.layout import RestrictedLayout
from maxmargin.validation.samples import Rows, as_csr, check_rows

EDGES = [(0, 1), (1, 2)]
LABELS = [np.array([0, 1, 0]), np.array([1, 0, 1])]


# -- sparse matrices -------------------------------------------------------------------------------
def with_columns(columns, dtype=np.int32):
    columns = np.array(columns, dtype)
    matrix = sparse.csr_array(np.eye(3, 4))
    matrix.indices, matrix.indptr = columns, matrix.indptr.astype(dtype)
    return matrix


def with_starts(starts):
    matrix = sparse.csr_array(np.eye(3, 4))
    matrix.indptr = np.array(starts, np.int32)
    return matrix


def changed(kind, **arrays):
    matrix = getattr(sparse, f"{kind}_array")(np.eye(4))
    for name, values in arrays.items():
        setattr(matrix, name, values)
    return matrix


def listed_wrongly():
    matrix = sparse.lil_array(np.eye(3, 4))
    matrix.rows[1] = [10**8]
    return matrix


FAR = np.array([0, 1, 10**8, 3], np.int32)
BAD = {
    "far": with_columns([0, 1, 10**8]),
    "one too far": with_columns([0, 1, 4]),
    "negative": with_columns([0, -5, 1]),
    "wraps": with_columns([0, 1, 2 + 2**32], np.int64),
    "negative wraps": with_columns([0, 1, -(2**32)], np.int64),
    "starts fall": with_starts([0, 3, 2, 3]),
    "starts beyond": with_starts([0, 1, 2, 10**6]),
    "starts late": with_starts([1, 1, 2, 3]),
    "starts missing": with_starts([0, 1, 3]),
    "csc": changed("csc", indices=FAR),
    "csr matrix": sparse.csr_matrix(with_columns([0, 1, 10**8])),
    "bsr": changed("bsr", indices=FAR[2:3]),
    "coo": changed("coo", coords=(np.arange(4), FAR)),
    "coo rows": changed("coo", coords=(FAR, np.arange(4))),
    "lil": listed_wrongly(),
    "lengths": changed("csr", data=np.ones(2)),
}


def bipartite(x):
    return Bipartite((1, x.shape[0]), None, x)


FITS = {
    "chain": lambda x: ChainSVM().fit([x, x], LABELS),
    "tree": lambda x: TreeSVM().fit([Graph(x, EDGES)] * 2, LABELS),
    "network": lambda x: NetworkSVM().fit([Graph(x, EDGES)] * 2, LABELS),
    "graph cut": lambda x: GraphCutSVM().fit([Graph(x, EDGES)] * 2, LABELS),
    "edges": lambda x: GraphCutSVM().fit(
        [Graph(np.ones((4, 1)), RING[: x.shape[0]], x)], [[0, 1, 0, 1]]
    ),
    "matching": lambda x: MatchingSVM().fit([bipartite(x)] * 2, [[(0, 0)], [(0, 1)]]),
    "multi-label": lambda x: MultiLabelSVM().fit(x, np.eye(3, dtype=int)),
    "multi-class": lambda x: MulticlassSVM().fit(x, [0, 1, 2]),
    "listed": lambda x: StructuredSVM(Finite()).fit([x, x], [0, 1]),
    "rows": lambda x: check_rows(Rows(x, np.array([x.shape[0]]))),
    "kernel": lambda x: KernelMap().fit(x),
    "labels": read_label_rows,
    "text": TextRows,
    "rules": lambda x: RestrictedLayout((2, 2), matrix=x),
    "program": Program,
    "packing": lambda x: pack([Group(x, np.array([x.shape[0]]), 1, 0)], 4),
}
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


@pytest.mark.parametrize("use", FITS)
@pytest.mark.parametrize("case", BAD)
def test_sparse_indices_out_of_range_are_refused_everywhere(case, use):
    with pytest.raises(ValueError, match=r"sparse matrix|row index|column index|rows of edge"):
        FITS[use](copy.deepcopy(BAD[case]))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", ["array", "matrix"])
def test_every_sparse_format_is_read(kind, make):
    dense = np.triu(np.arange(12.0).reshape(3, 4))
    found = check_rows([getattr(sparse, f"{kind}_{make}")(dense)])
    np.testing.assert_array_equal(found.matrix.toarray(), dense)


def test_unsorted_and_repeated_indices_are_put_in_order():
    parts = (np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2], np.int64), np.array([0, 3]))
    found = check_rows([sparse.csr_array(parts, shape=(1, 3))]).matrix
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), [[2.0, 0.0, 5.0]])


def test_one_dimension_is_refused():
    with pytest.raises(ValueError, match="1 dimension"):
        as_csr(sparse.coo_array(np.ones(3)))


# -- options ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [-1, 0.5, 2, "yes", None])
@pytest.mark.parametrize(
    ("model", "X", "name"),
    [
        (ChainSVM, [np.ones((3, 2))] * 2, "bias"),
        (ChainSVM, [np.ones((3, 2))] * 2, "ends"),
        (TreeSVM, [Graph(np.ones((3, 2)), EDGES)] * 2, "bias"),
        (NetworkSVM, [Graph(np.ones((3, 2)), EDGES)] * 2, "ends"),
        (GraphCutSVM, [Graph(np.ones((3, 2)), EDGES)] * 2, "bias"),
    ],
)
def test_flags_are_true_or_false(model, X, name, value):
    with pytest.raises(OptionError, match=f"{model.__name__}: {name}=.* must be True or False"):
        model(**{name: value}).fit(X, LABELS)


@pytest.mark.parametrize("model", [MulticlassSVM, MultiLabelSVM])
def test_flags_of_rows_are_true_or_false(model):
    with pytest.raises(OptionError, match="bias=-1 must be True or False"):
        model(bias=-1).fit(np.ones((2, 2)), np.eye(2, dtype=int))


def test_a_feature_map_set_by_hand_is_checked_when_it_packs():
    with pytest.raises(OptionError, match="PartFeatures: bias=-3 must be True or False"):
        PartFeatures(bias=-3).pack(check_rows([np.ones((3, 2))]), 0, np.array([3]))


ONE = sparse.csr_array(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("group", "dim", "words"),
    [
        (Group(ONE, np.array([3]), 2, 0), 3, "2 columns of width 2 from weight 0 on do not"),
        (Group(ONE, np.array([3]), 1, 3), 4, "do not fit in 4 weights"),
        (Group(ONE, np.array([3]), 1, -1), 4, "from weight -1 on"),
        (Group(ONE, np.array([3]), 0, 0), 4, "width 0"),
        (Group(ONE, np.array([3]), -1, 0), 4, "width -1"),
        (Group(ONE, np.array([3]), 2**40, 0), 2**60, "width 1099511627776"),
        (Group(ONE, np.array([2]), 1, 0), 2, "counts of 2 rows, but there are 3"),
        (Group(ONE, np.array([4, -1]), 1, 0), 2, "counts must be 2 integers, 0 or more"),
        (Group(ONE, np.array([3.0]), 1, 0), 2, "counts must be 1 integers"),
    ],
)
def test_packing_proves_that_groups_fit(group, dim, words):
    with pytest.raises(ValueError, match=words):
        pack([group], dim)


# -- shapes ----------------------------------------------------------------------------------------
SIDES = [
    (5, -3),
    (-5, 3),
    (0, 2),
    (2.0, 2),
    (True, 2),
    (2, 2, 2),
    (2,),
    ("2", 2),
    (2**40, 2),
    None,
    3,
]
USES = {
    "n_parts": lambda s, layout: s.n_parts(layout),
    "maximize": lambda s, layout: s.maximize(np.zeros(8), layout),
    "k_best": lambda s, layout: s.k_best(np.zeros(8), layout, 2),
    "encode": lambda s, layout: s.encode([0, 1], layout),
    "layout_as_ints": lambda s, layout: s.oracle().layout_as_ints(layout),
    "scratch": lambda s, layout: s.oracle().scratch(layout),
    "variables": lambda s, layout: s.variables(layout),
}


@pytest.mark.parametrize("layout", SIDES, ids=str)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("tied", [True, False])
def test_layouts_of_chains_are_checked(layout, use, tied):
    with pytest.raises(ValueError, match="must be a tuple of integers from 1"):
        USES[use](Chain(tied=tied), layout)


@pytest.mark.parametrize(
    ("structure", "layout"),
    [
        (Finite(), (-1,)),
        (Finite(), (0,)),
        (Finite(), (2.5,)),
        (Matching(), (-1, -4)),
        (Matching(), (2**33, 2**33)),
        (MultiLabel(), (-3,)),
        (MultiLabel(), (10**6,)),
        (Potts(), (Network(2, [(0, 1)]), -2)),
    ],
)
def test_layouts_of_others_are_checked(structure, layout):
    for use in ("n_parts", "maximize", "encode"):
        with pytest.raises(ValueError, match=r"layout=|number of labels=|too many pairs"):
            USES[use](structure, layout)


def test_a_sample_with_a_wrong_shape_is_named():
    model = StructuredSVM(Chain(tied=False), max_epochs=2, tol=1.0)
    model.fit([(np.ones((8, 2)), (2, 2))], [[0, 1]])
    for length in range(2, 7):
        for labels in range(-6, 0):
            parts = length * labels + (length - 1) * labels**2
            if parts > 0:
                with pytest.raises(ValueError, match="sample 0: layout="):
                    model.predict([(np.ones((parts, 2)), (length, labels))])


FROZEN = {
    "network": lambda: Network(3, EDGES),
    "labels": lambda: NetworkLayout(Network(3, EDGES), 2, np.eye(3, 2, dtype=bool) | [True, False]),
    "tree": lambda: TreeLayout(Network(3, EDGES), 2),
    "candidates": lambda: Candidates((2, 2), [(0, 0), (1, 1)], [1, 2], [1, 1]),
    "restricted": lambda: RestrictedLayout((2, 2), [0], [3], np.eye(4), 0.0, 1.0),
    "program": lambda: Program(np.eye(3), 1.0),
}
DERIVED = ("as_ints", "order", "links", "index")


def arrays_of(value):
    for name in [*value.fields, *DERIVED]:
        found = getattr(value, name, None)
        if sparse.issparse(found):
            yield from (found.data, found.indices, found.indptr)
        elif isinstance(found, np.ndarray):
            yield found


@pytest.mark.parametrize("kind", FROZEN)
def test_layouts_cannot_be_written_to(kind):
    one = FROZEN[kind]()
    for value in (one, copy.deepcopy(one), copy.copy(one), pickle.loads(pickle.dumps(one))):
        assert value == one
        assert hash(value) == hash(one)
        for array in arrays_of(value):
            assert not array.flags.writeable
        for name in value.fields:
            with pytest.raises(AttributeError, match="frozen"):
                setattr(value, name, None)


def test_layouts_keep_copies():
    edges, caps = np.array(EDGES), np.array([1, 1])
    network, candidates = Network(3, edges), Candidates((2, 2), None, caps)
    edges[:], caps[:] = 10**6, 10**6
    assert network.edges.max() == 2
    assert candidates.row_caps.max() == 1


def test_a_graph_changed_after_it_was_made_is_refused():
    graph = Graph(np.ones((3, 2)), EDGES)
    graph.network = Network(9, [(7, 8), (0, 1)])
    with pytest.raises(ValueError, match="sample 0: its Graph was changed"):
        TreeSVM().fit([graph], [LABELS[0]])


def test_huge_caps_mean_no_cap():
    theta = np.ones(4)
    free = Matching(2**62, 2**62).maximize(theta, (2, 2))
    np.testing.assert_array_equal(free, np.ones(4))
    layout = Candidates((2, 2), None, [2**62, 2**62], [2**62, 2**62])
    np.testing.assert_array_equal(Matching().maximize(theta, layout), np.ones(4))
    assert Matching().vertex_size(layout) == 4


# -- weights ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(value):
    model = MatchingSVM(max_epochs=2, tol=1.0).fit([np.ones((2, 2, 2))], [[(0, 1)]])
    model.coef_ = np.full_like(model.coef_, value)
    for predict in (model.predict, model.edge_scores, model.predict_marginals):
        with pytest.raises(FloatingPointError, match="weight 0 is .*; weights must be finite"):
            predict([np.ones((2, 2, 2))])


@pytest.mark.parametrize("wrong", [np.ones(1), np.ones(99), np.ones((2, 2)), "text", None])
def test_weights_of_another_size_are_refused(wrong):
    model = ChainSVM(max_epochs=2, tol=1.0).fit([np.ones((3, 2))] * 2, LABELS)
    model.coef_ = wrong
    with pytest.raises((ValueError, TypeError)):
        model.predict([np.ones((3, 2))])
