"""The nearest point of the min-cut polytope."""

import numpy as np
import pytest

from maxmargin import Graph, GraphCutSVM
from maxmargin.structures import GraphCut, Network
from reference.cut_projections import error_bound, nearest

CUT = GraphCut()
SCALES = (1e-6, 1e-3, 0.1, 1.0, 5.0, 100.0, 1e6)


def run(network, point, warm=None):
    """(z, the bound on its error, the flows that are left)."""
    floats, ints = CUT.oracle().scratch(network)
    work, out = np.zeros(floats), np.full(CUT.n_parts(network), np.nan)
    size = CUT.oracle().warm_size(network)
    work[:size] = 0.0 if warm is None else warm
    layout_ints = network.as_ints.copy()
    bound = CUT.oracle().compiled_function("project")(
        point, layout_ints, out, work, np.empty(ints, dtype=np.int64)
    )
    return out, bound * max(1.0, np.abs(point[np.isfinite(point)]).max()), work[:size].copy()


def drawn_network(rng, largest=60):
    """Grids, trees, sparse and dense graphs; some have parts that hang together with nothing."""
    n = int(rng.integers(1, largest))
    kind = rng.integers(4)
    if kind == 0:
        rows = int(np.sqrt(n))
        grid = np.arange(rows * rows).reshape(rows, rows)
        beside = np.column_stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()])
        below = np.column_stack([grid[:-1].ravel(), grid[1:].ravel()])
        return Network(n, np.concatenate([beside, below]))
    if kind == 1:
        return Network(n, [(int(rng.integers(j)), j) for j in range(1, n)])
    pairs = np.column_stack(np.triu_indices(n, 1))
    share = rng.choice([0.0, 1.0, 2.0, 4.0]) / n if kind == 2 else rng.random()
    pairs = pairs[rng.random(len(pairs)) < share]
    turned = rng.random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    return Network(n, pairs)


def drawn(seed, scales=SCALES, largest=60):
    rng = np.random.default_rng(seed)
    network = drawn_network(rng, largest)
    n, m = network.n_nodes, network.n_edges
    scale = rng.choice(scales)
    nodes = rng.choice([0.0, 0.5]) + scale * rng.standard_normal(n)
    edges = rng.choice([-1.0, -0.2, 0.0, 0.2]) + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(
        m
    )
    kind = rng.integers(3)
    if kind == 0:  # like training
        truth = CUT.encode(rng.integers(0, 2, n), network)
        point = truth + scale * np.concatenate([rng.standard_normal(n), -rng.random(m)])
    elif kind == 1:  # ties
        point = np.concatenate([np.round(2.0 * nodes) / 2.0, np.round(4.0 * edges) / 4.0])
    else:
        point = np.concatenate([nodes, scale * edges])
    return rng, network, point


def check_proof(network, point, z, bound, flow):
    size = max(1.0, np.abs(point[np.isfinite(point)]).max())
    # beyond 1e-9, what rounding of numbers of that size does to the sums at all nodes
    rounding = 1e-15 * size * np.sqrt(len(point))
    assert error_bound(network, point, z, flow) <= 1e-9 + rounding
    assert bound <= 1e-9 + rounding


@pytest.mark.parametrize("part", range(4))
def test_projections_agree_with_an_interior_point_solver(part):
    for seed in range(25 * part, 25 * part + 25):
        _, network, point = drawn(seed, scales=(1e-3, 0.1, 1.0, 5.0))
        z, _, _ = run(network, point)
        # where a price and its slack are both next to zero, that solver is right to 1e-6 at most
        assert np.abs(z - nearest(network, point)).max() <= 1e-6


@pytest.mark.parametrize("part", range(4))
def test_projections_are_proven_by_their_flows_at_all_scales(part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        _, network, point = drawn(seed)
        check_proof(network, point, *run(network, point))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_projections_are_proven_by_their_flows(part):
    for seed in range(10000 + 250 * part, 10250 + 250 * part):
        rng, network, point = drawn(seed, largest=400)
        z, bound, flow = run(network, point)
        check_proof(network, point, z, bound, flow)
        other = point + 10.0 ** rng.uniform(-6, 1) * rng.standard_normal(len(point))
        check_proof(network, other, *run(network, other, flow))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_projections_agree_with_an_interior_point_solver(part):
    for seed in range(50 * part, 50 * part + 50):
        _, network, point = drawn(seed, scales=(1e-3, 0.1, 1.0, 5.0))
        z, _, _ = run(network, point)
        assert np.abs(z - nearest(network, point)).max() <= 1e-6


@pytest.mark.soak
@pytest.mark.parametrize("order", ["stripes", "any"])
def test_projections_on_a_large_mesh_are_proven_cold_and_warm(order):
    from benchmarks.cut_projection import mesh, points

    place, network = mesh(7000, 17600)
    if order == "any":
        number = np.random.default_rng(0).permutation(7000)
        network = Network(7000, number[network.edges])
        place = place[np.argsort(number)]
    assert network.n_edges == 17600
    rng = np.random.default_rng(3)
    for point in points(place, network).values():
        z, bound, flow = run(network, point)
        check_proof(network, point, z, bound, flow)
        for move in (0.0, 1e-4, 1e-2, 0.3):
            nearby = point * (1.0 + move * rng.standard_normal(len(point)))
            check_proof(network, nearby, *run(network, nearby, flow))


@pytest.mark.parametrize("change", [0.0, 1e-6, 0.01, 1.0, 1e3])
def test_warm_projections_are_proven_and_equal_cold_ones(change):
    for seed in range(40):
        rng, network, point = drawn(seed, scales=(0.1, 1.0, 5.0))
        flow = run(network, point)[2]
        nearby = point + change * rng.standard_normal(len(point))
        z, bound, flow = run(network, nearby, flow)
        check_proof(network, nearby, z, bound, flow)
        assert np.abs(z - run(network, nearby)[0]).max() <= 1e-9


@pytest.mark.parametrize("rubbish", [np.nan, np.inf, -np.inf, 1e300, -1.0, 1e-300, "drawn"])
def test_warm_starts_that_are_no_flows_do_no_harm(rubbish):
    for seed in range(40):
        rng, network, point = drawn(seed)
        m = network.n_edges
        warm = 3.0 * rng.standard_normal(m) if rubbish == "drawn" else np.full(m, rubbish)
        check_proof(network, point, *run(network, point, warm))


def test_the_same_call_gives_the_same_bits():
    for seed in range(20):
        _, network, point = drawn(seed)
        for first, second in zip(run(network, point), run(network, point), strict=True):
            np.testing.assert_array_equal(first, second)


def test_points_inside_are_kept_bit_for_bit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        network = drawn_network(rng)
        x = rng.random(network.n_nodes)
        ends = x[network.edges]
        apart = np.abs(ends[:, 0] - ends[:, 1]) + rng.choice([0.0, 0.3]) * rng.random(len(ends))
        point = np.concatenate([x, apart])
        np.testing.assert_array_equal(run(network, point)[0], point)


def test_without_edges_nodes_are_clipped():
    point = np.array([-0.5, 0.0, 0.25, 1.0, 7.0, -1e300, 1e300])
    z = CUT.project(point, Network(7, []))
    np.testing.assert_array_equal(z, np.clip(point, 0.0, 1.0))
    np.testing.assert_array_equal(CUT.project(np.array([0.3]), Network(1, [])), [0.3])


def test_two_nodes_and_an_edge_by_hand():
    pair = Network(2, [(1, 0)])
    np.testing.assert_allclose(CUT.project([0.2, 0.8, 0.0], pair), [0.4, 0.6, 0.2], atol=1e-15)
    np.testing.assert_allclose(CUT.project([0.2, 0.8, -0.3], pair), [0.5, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(CUT.project([0.2, 0.8, -0.15], pair), [0.45, 0.55, 0.1], atol=1e-15)
    np.testing.assert_allclose(CUT.project([0.2, 0.8, 0.3], pair), [0.3, 0.7, 0.4], atol=1e-15)
    np.testing.assert_allclose(CUT.project([-9.0, 9.0, -4.0], pair), [0.0, 1.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(CUT.project([-8.0, 9.0, -20.0], pair), [0.5, 0.5, 0.0], atol=1e-14)


def test_forbidden_nodes_stay_at_zero_and_ends_of_forbidden_edges_equal():
    for seed in range(60):
        rng, network, point = drawn(seed, scales=(0.1, 1.0, 5.0))
        n = network.n_nodes
        gone = rng.random(len(point)) < rng.choice([0.05, 0.3])
        far = np.where(gone, np.where(np.arange(len(point)) < n, -1e7, -1e5), point)
        z = CUT.project(np.where(gone, -np.inf, point), network)
        assert (z[gone] == 0.0).all()
        assert np.abs(z - np.where(gone, 0.0, run(network, far)[0])).max() <= 1e-6


def test_numbers_that_are_none_fail():
    network = Network(3, [(0, 1), (1, 2)])
    for wrong in (np.nan, np.inf):
        for place in (0, 4):
            point = np.zeros(5)
            point[place] = wrong
            assert np.isnan(run(network, point)[1])


def _images(count, side=7):
    rng = np.random.default_rng(5)
    grid = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([
        np.column_stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()]),
        np.column_stack([grid[:-1].ravel(), grid[1:].ravel()]),
    ])  # fmt: skip
    X, y = [], []
    for _ in range(count):
        row, column = rng.uniform(1, side - 1, 2)
        down, right = np.mgrid[:side, :side]
        labels = ((down - row) ** 2 + (right - column) ** 2 < rng.uniform(3, 9)).astype(int).ravel()
        nodes = np.column_stack([labels + rng.standard_normal(side * side), np.ones(side * side)])
        X.append(
            Graph(nodes, edges, np.column_stack([np.ones(len(edges)), rng.random(len(edges))]))
        )
        y.append(labels)
    return X, y


@pytest.mark.parametrize("tables", [False, True])
def test_saddle_solvers_reach_the_objective_of_frank_wolfe(tables):
    X, y = _images(6)
    options = {"alpha": 0.1, "bias": False, "tables": tables, "tol": 1e-4, "max_epochs": 2000}
    best = GraphCutSVM(**options).fit(X, y)
    for solver in ("extragradient", "dual-extragradient"):
        model = GraphCutSVM(solver=solver, **options).fit(X, y)
        gaps = best.result_.gap + model.result_.gap
        assert abs(model.result_.primal - best.result_.primal) <= gaps
        assert gaps <= 2e-3
        if not tables:
            assert (model.edge_coef_ >= 0.0).all()
