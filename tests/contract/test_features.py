"""What every feature map must do: be the linear map it says, forwards and back."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from contract.problems import graph_map, tree_map
from maxmargin import Graph
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, GraphFeatures, LabelConjoined, PartFeatures, TreeFeatures
from maxmargin.features.base import Group, join_packed, pack, part_features, weight_places
from maxmargin.problem import Problem
from maxmargin.samples import Samples
from maxmargin.structures import Finite, GraphCut, Structure, Tree, TreeLayout
from maxmargin.validation.samples import Rows
from reference import features as reference, trees

pytestmark = pytest.mark.one_in(3)


class Parts(Structure):
    """As many parts as the shape says: features need no more of a structure."""

    def n_parts(self, layout):
        return layout[0]


@dataclass
class Case:
    """matrix(x): the dense F of a sample; labels: width of a node; tables(length): pair tables."""

    name: str
    map: FeatureMap
    matrix: Callable[[np.ndarray], np.ndarray]
    labels: int = 1
    tables: Callable[[int], int] = lambda length: 0


def conjoined_case(labels, tables, kind, **flags):
    name = "-".join([f"conjoined{labels}", kind, *(key for key, on in flags.items() if on)])

    def matrix(x):
        return reference.conjoined(x, labels, n_tables=tables(len(x)), **flags)

    return Case(name, LabelConjoined(**flags), matrix, labels, tables)


KINDS = {"none": lambda length: 0, "tied": lambda length: 1, "untied": lambda length: length - 1}
FLAGS = [
    dict(zip(("bias", "ends", "transitions"), on, strict=True))
    for on in product([False, True], repeat=3)
]
CASES = [
    *(conjoined_case(3, KINDS["tied"], "tied", **flags) for flags in FLAGS),
    *(conjoined_case(2, KINDS["untied"], "untied", **flags) for flags in FLAGS[::3]),
    conjoined_case(1, KINDS["tied"], "tied", **FLAGS[-1]),
    conjoined_case(4, KINDS["none"], "none", bias=True, ends=False, transitions=False),
    Case("parts", PartFeatures(), lambda x: np.asarray(x, dtype=float).T),
    Case("parts-labels", PartFeatures(labels=3), reference.labelled_rows, 3),
    Case("parts-bias", PartFeatures(bias=True), reference.rows_and_one),
]
every_map = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def build(case, X):
    """A problem without costs, truth or structure: only its linear map is looked at."""
    checked = case.map.check(X)
    lengths = np.array([x.shape[0] for x in X])
    tables = np.array([case.tables(length) for length in lengths])
    n_parts = lengths * case.labels + tables * case.labels**2
    packed = case.map.pack(checked, case.labels, n_parts)
    return Problem(
        structure=Parts(),
        layouts=[(int(n),) for n in n_parts],
        features=packed,
        truth=np.zeros(n_parts.sum()),
        alpha=1.0,
    )


def random_samples(seed, lengths, n_features, density=1.0):
    rng = np.random.default_rng(seed)
    sizes = [(length, n_features) for length in lengths]
    return [rng.standard_normal(size) * (rng.random(size) < density) for size in sizes]


def check_map(case, X, problem, seed=0):
    """theta_i = F_i^T w and sum_i omega_i F_i z_i against dense matrices; the adjoint identity."""
    rng = np.random.default_rng(seed)
    matrices = [case.matrix(np.asarray(x)) for x in X]
    w = rng.standard_normal(problem.dim)
    z = rng.standard_normal(int(problem.part_ptr[-1])) * (
        rng.random(int(problem.part_ptr[-1])) < 0.7
    )
    total = np.zeros(problem.dim)
    inner = 0.0
    for i, matrix in enumerate(matrices):
        assert matrix.shape[0] == problem.dim
        theta = problem.scores(w, i)
        assert np.abs(theta - matrix.T @ w).max() <= 1e-12
        total += matrix @ z[problem.parts(i)] / len(X)
        inner += theta @ z[problem.parts(i)] / len(X)
    found = problem.features(z)
    assert np.abs(found - total).max() <= 1e-12
    assert found @ w == pytest.approx(inner, abs=1e-11)


def assert_same_packing(a, b):
    for name, left, right in zip(a._fields, a, b, strict=True):
        assert np.array_equal(left, right), name


def packed(case, X):
    return build(case, X).packed


@every_map
@given(
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    n_features=st.integers(1, 9),
    density=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
)
def test_map_and_adjoint_equal_the_dense_matrix(case, seed, lengths, n_features, density):
    X = random_samples(seed, lengths, n_features, density)
    check_map(case, X, build(case, X), seed)


@every_map
def test_number_of_weights(case):
    X = random_samples(0, [3], 7)
    assert case.map.n_columns(case.map.check(X)) == 7
    assert case.map.dim(7, case.labels) == len(case.matrix(X[0]))


def test_letters_have_4082_weights():
    assert LabelConjoined().dim(128, 26) == 4082


@every_map
@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
def test_dense_and_sparse_samples_are_packed_alike(case, density):
    X = random_samples(1, [3, 1, 4], 8, density)
    dense = packed(case, X)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        assert_same_packing(dense, packed(case, [form(x) for x in X]))
    assert_same_packing(dense, packed(case, [X[0], sparse.csr_array(X[1]), X[2]]))


@every_map
def test_flat_rows_are_packed_like_a_list(case):
    X = random_samples(2, [3, 1, 4], 6, 0.5)
    rows = Rows(sparse.csr_array(np.concatenate(X)), np.array([3, 1, 4]))
    from_rows = case.map.check(rows)
    from_list = case.map.check(X)
    assert np.array_equal(from_rows.lengths, from_list.lengths)
    for field in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(from_rows.matrix, field), getattr(from_list.matrix, field))


@every_map
def test_unsorted_and_repeated_entries_add_up(case):
    data = [2.0, 1.0, -3.0, 0.5, 0.5, 4.0]
    indices = [4, 0, 4, 2, 2, 1]  # row 0: columns 4, 0 and 4 again; row 1 is empty; row 2: 2, 2, 1
    messy = sparse.csr_array((data, indices, [0, 3, 3, 6]), shape=(3, 5))
    plain = np.array([[1, 0, 0, 0, -1], [0, 0, 0, 0, 0], [0, 4, 1, 0, 0]], dtype=float)
    assert_same_packing(packed(case, [plain]), packed(case, [messy]))
    check_map(case, [plain], build(case, [messy]))
    assert messy.data.tolist() == data  # the user's own matrix stays as it was
    assert messy.indices.tolist() == indices


@every_map
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint8, np.bool_])
def test_numbers_of_any_type_are_taken(case, dtype):
    X = [np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype), np.array([[0, 1]], dtype=dtype)]
    assert_same_packing(packed(case, [x.astype(float) for x in X]), packed(case, X))
    assert_same_packing(packed(case, X), packed(case, [sparse.csr_array(x) for x in X]))


@every_map
def test_samples_of_zeros_and_single_features(case):
    for X in ([np.zeros((3, 4)), np.ones((2, 4))], [np.ones((1, 1))], [np.zeros((2, 1))]):
        check_map(case, X, build(case, X))


@every_map
@pytest.mark.parametrize("touched", [1, 3, 20, 21, 39, 40])
def test_local_weights_are_the_stretches_that_a_sample_touches(case, touched):
    """Below half of all columns a sample keeps its own; above, one copy of all is faster."""
    rng = np.random.default_rng(touched)
    X = [np.zeros((3, 40)), np.zeros((2, 40))]
    X[0][rng.integers(3, size=touched), rng.permutation(40)[:touched]] = 1.0
    X[1][0, 7] = 1.0
    problem = build(case, X)
    packed, places = problem.packed, weight_places(problem.packed)
    n_groups = len(packed.group_width)
    shift = packed.shift if len(packed.shift) else np.zeros(len(packed.width), dtype=int)
    for i in range(2):
        ends = packed.block_ptr[n_groups * i : n_groups * (i + 1) + 1]
        widths = np.repeat(packed.group_width, np.diff(ends))
        starts = packed.block_start[ends[0] : ends[-1]].astype(int)
        stretches = [start + np.arange(n) for start, n in zip(starts, widths, strict=True)]
        global_of = np.concatenate([*stretches, np.empty(0, dtype=int)])
        assert len(np.unique(global_of)) == len(
            global_of
        )  # no weight twice, or steps would be lost
        rows = range(packed.row_ptr[i], packed.row_ptr[i + 1])
        for r in rows:
            for e in range(packed.indptr[r], packed.indptr[r + 1]):
                first = shift[r] + int(packed.index[e]) * packed.width[r]
                own = global_of[first : first + packed.width[r]]
                assert np.array_equal(own, places[e] + np.arange(packed.width[r]))
        used = np.flatnonzero(case.matrix(X[i]).any(axis=1))
        assert np.isin(used, global_of).all()
        if (X[i].any(axis=0)).sum() <= 18:
            assert len(global_of) <= len(used)
    check_map(case, X, problem)


@every_map
def test_features_that_do_not_fit_the_structure_are_refused(case):
    X = case.map.check(random_samples(0, [3, 3], 2))
    n = 3 * case.labels + case.tables(3) * case.labels**2
    with pytest.raises(ValueError, match=r"sample 1: .* parts"):
        case.map.pack(X, case.labels, np.array([n, 3 * case.labels - 1]))


def test_pairs_that_make_no_table_are_refused():
    X = LabelConjoined().check(random_samples(0, [3, 3], 2))
    for wrong in (5, 6 + 3, 6 + 4 + 1):
        with pytest.raises(ValueError, match=r"sample 1: 3 rows .* PartFeatures"):
            LabelConjoined().pack(X, 2, np.array([10, wrong]))


# -- graphs, whose samples are not single matrices
# --------------------------------------------------
@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    widths=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    density=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_maps_of_graphs_equal_the_dense_matrix(tables, bias, seed, sizes, widths, density):
    rng = np.random.default_rng(seed)
    X = [drawn_graph(rng, size, *widths, density) for size in sizes]
    case = Case("graph", GraphFeatures(bias, tables), lambda x: graph_matrix(x, bias, tables))
    layouts = [x.network for x in X]
    n_parts = np.array([GraphCut().n_parts(layout) for layout in layouts])
    packed = case.map.pack(case.map.check(X).with_edge_features(widths[1]), 0, n_parts)
    problem = Problem(
        structure=GraphCut(),
        layouts=layouts,
        features=packed,
        truth=np.zeros(n_parts.sum()),
        alpha=1.0,
    )
    check_graphs(case, X, problem, seed)
    thin = [Graph(sparse.coo_array(x.nodes), x.edges, sparse.csc_array(x.edge_features)) for x in X]
    again = case.map.check(thin).with_edge_features(widths[1])
    for left, right in zip(packed, case.map.pack(again, 0, n_parts), strict=True):
        assert np.array_equal(left, right)


def drawn_graph(rng, size, p, q, density):
    pairs = np.array([(j, k) for j in range(size) for k in range(j)]).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < density]
    nodes = rng.standard_normal((size, p)) * (rng.random((size, p)) < 0.8)
    return Graph(nodes, edges, rng.random((len(edges), q)) * (rng.random((len(edges), q)) < 0.8))


def graph_matrix(x, bias, tables):
    full = graph_map(x, tables)
    return full if bias else np.delete(full, x.nodes.shape[1], axis=0)


def check_graphs(case, X, problem, seed):
    """As `check_map`."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(problem.dim)
    z = rng.standard_normal(int(problem.part_ptr[-1]))
    total = np.zeros(problem.dim)
    for i, x in enumerate(X):
        matrix = case.matrix(x)
        assert matrix.shape == (problem.dim, len(z[problem.parts(i)]))
        assert np.abs(problem.scores(w, i) - matrix.T @ w).max() <= 1e-12
        total += matrix @ z[problem.parts(i)] / len(X)
    assert np.abs(problem.features(z) - total).max() <= 1e-12


# -- trees -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "flags", FLAGS, ids=lambda flags: "".join(str(int(f)) for f in flags.values())
)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    widths=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    joined=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=15)
def test_maps_of_trees_equal_the_dense_matrix(tied, flags, seed, sizes, widths, joined):
    rng = np.random.default_rng(seed)
    q = 1 if tied else widths[1]
    X = [drawn_tree(rng, size, widths[0], q, joined, tied) for size in sizes]
    case = Case(
        "tree", TreeFeatures(**flags, n_edge_features=q), lambda x: tree_map(x, 3, tied, **flags)
    )
    layouts, structure = [TreeLayout(x, 3) for x in X], Tree(tied)
    n_parts = np.array([structure.n_parts(layout) for layout in layouts])
    packed = case.map.pack(case.map.check(X).with_edge_features(q), 3, n_parts)
    truth = np.zeros(n_parts.sum())
    problem = Problem(structure, layouts, packed, truth=truth, alpha=1.0)
    check_graphs(case, X, problem, seed)
    thin = [Graph(sparse.coo_array(x.nodes), x.edges, sparse.csc_array(x.edge_features)) for x in X]
    again = case.map.pack(case.map.check(thin).with_edge_features(q), 3, n_parts)
    for left, right in zip(packed, again, strict=True):
        assert np.array_equal(left, right)


def drawn_tree(rng, size, p, q, joined, tied):
    edges = np.array(trees.random_edges(size, rng, joined)).reshape(-1, 2)
    nodes = rng.standard_normal((size, p)) * (rng.random((size, p)) < 0.8)
    metrics = rng.standard_normal((len(edges), q)) * (rng.random((len(edges), q)) < 0.8)
    return Graph(nodes, edges, np.ones((len(edges), 1)) if tied else metrics)


def test_trees_whose_parts_do_not_fit_are_refused():
    X = [Graph(np.ones((4, 1)), [(0, 1), (1, 2), (1, 3)], f) for f in ([1.0] * 3, [1.0, 0.5, 1.0])]
    rows = TreeFeatures().check(X)
    with pytest.raises(ValueError, match="sample 1: 4 nodes and 3 edges .* do not make 16 parts"):
        TreeFeatures().pack(rows, 2, np.array([12, 16]))
    with pytest.raises(ValueError, match="sample 0: .* do not make 13 parts"):
        TreeFeatures().pack(rows, 2, np.array([13, 12]))
    with pytest.raises(ValueError, match=r"sample 1: .* tables of their own: tied=False"):
        TreeFeatures().pack(rows, 2, np.array([12, 12]))
    assert TreeFeatures(transitions=False).pack(rows, 2, np.array([12, 12])).dim == 8


def test_samples_packed_in_parts_are_as_packed_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    X = [(rng.random((n, 4)) < 0.5) * 1.0 for n in (3, 1, 4, 2, 1, 5)]
    X[3][0, 0] = 2.5  # in all other samples, values are 1
    lengths = np.array([len(x) for x in X])
    n_parts = 3 * lengths + 9 * (lengths > 1)
    features = LabelConjoined()
    rows = features.check(X)
    whole = features.pack(rows, 3, n_parts)
    for at_a_time in (1, 4, 7):
        monkeypatch.setattr("maxmargin.features.base.ROWS_AT_A_TIME", at_a_time)
        for name, found in features.pack(rows, 3, n_parts)._asdict().items():
            assert np.array_equal(found, getattr(whole, name)), name
    n_parts[4] += 1
    with pytest.raises(SampleError, match="sample 4: 1 rows"):
        features.pack(rows, 3, n_parts)


@pytest.mark.parametrize("bias", [False, True])
def test_rows_of_few_columns_are_packed_without_a_copy(bias):
    rng = np.random.default_rng(0)
    lengths = np.array([6, 1, 9])
    rows = Rows(sparse.csr_array(sparse.random(16, 3, 0.7, random_state=1)), lengths)
    features = PartFeatures(bias)
    shared = features.pack(rows, 1, lengths)
    assert len(shared.block_start) == 3 * (3 + bias)
    assert bias or np.shares_memory(shared.value, rows.matrix.data)
    copied = join_packed(
        pack(features.groups(rows.part(i, i + 1), 1, lengths[i : i + 1]), shared.dim)
        for i in range(3)
    )
    z, w = rng.random(16), rng.random(shared.dim)
    one, other = (Samples(Finite(), [(int(n),) for n in lengths], p) for p in (shared, copied))
    for i in range(3):
        assert np.allclose(one.scores(w, i), other.scores(w, i), rtol=0, atol=1e-14)
    sums = [part_features(p, shared.dim).T @ z for p in (shared, copied)]
    assert np.allclose(*sums, rtol=0, atol=1e-14)
    # of many columns each sample has its own
    wide = Rows(sparse.csr_array(sparse.random(16, 300, 0.1, random_state=1)), lengths)
    own = PartFeatures().pack(wide, 1, lengths)
    assert not np.shares_memory(own.value, wide.matrix.data)


@pytest.mark.parametrize("largest_first", [False, True])
def test_samples_may_touch_more_columns_than_16_bits_can_number(largest_first):
    rng = np.random.default_rng(0)
    large = sparse.csr_array(sparse.random(4, 200_000, 0.1, random_state=1))
    X = [large, sparse.csr_array(sparse.random(2, 200_000, 1e-4, random_state=2))]
    X, labels = X if largest_first else X[::-1], 3
    lengths = np.array([x.shape[0] for x in X])
    rows = Rows(sparse.csr_array(sparse.vstack(X, format="csr")), lengths)
    features = LabelConjoined()
    n_parts = labels * lengths + labels**2
    whole = features.pack(rows, labels, n_parts)
    joined = join_packed(
        pack(features.groups(rows.part(i, i + 1), labels, n_parts[i : i + 1]), whole.dim)
        for i in range(2)
    )
    assert len(whole.index_high) == len(whole.index)
    assert whole.index_high.max() == 1
    w = rng.normal(size=whole.dim)
    for packed in (whole, joined):
        samples = Samples(Finite(), [(int(n),) for n in n_parts], packed)
        found = np.concatenate([samples.scores(w, i) for i in range(2)])
        assert np.allclose(found, part_features(packed, whole.dim) @ w, rtol=0, atol=1e-12)
        columns = rows.matrix.shape[1]
        nodes = rows.matrix @ w[: columns * labels].reshape(columns, labels)
        nodes += w[columns * labels : (columns + 1) * labels]  # bias
        nodes[np.cumsum(lengths) - lengths] += w[(columns + 1) * labels : (columns + 2) * labels]
        nodes[np.cumsum(lengths) - 1] += w[(columns + 2) * labels : (columns + 3) * labels]
        starts = np.cumsum(n_parts) - n_parts
        for i, own in enumerate(np.split(nodes, np.cumsum(lengths)[:-1])):
            assert np.allclose(found[starts[i] : starts[i] + own.size], own.ravel(), atol=1e-12)


@pytest.mark.parametrize("widths", [[[2], [2, 3]], [[3, 2], [2]], [[2], [4], [2, 4], [5]]])
def test_parts_that_lack_groups_are_joined(widths):
    rng = np.random.default_rng(0)

    def make(own):
        base, groups = 0, []
        for width in own:
            matrix = sparse.csr_array(sparse.random(4, 5, 0.4, random_state=rng))
            groups.append(Group(matrix, np.array([1, 3]), width, base))
            base += 5 * width
        return pack(groups, 40)

    parts = [make(own) for own in widths]
    expected = sparse.vstack([part_features(part, 40) for part in parts]).toarray()
    n_parts = np.concatenate([np.diff(part.part_ptr) for part in parts])
    joined = join_packed(iter(parts))
    assert np.array_equal(part_features(joined, 40).toarray(), expected)
    samples = Samples(Finite(), [(int(n),) for n in n_parts], joined)
    w = rng.normal(size=40)
    found = np.concatenate([samples.scores(w, i) for i in range(samples.n)])
    assert np.allclose(found, expected @ w, rtol=0, atol=1e-14)
