"""Minimum cuts against enumeration and linear programs, cold and from what was remembered."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from maxmargin import Graph
from maxmargin._numba.graph_cut.maximize import max_flow
from maxmargin.structures import GraphCut, Network
from reference import cuts, enumeration, linear

CUT = GraphCut()


def drawn(seed, n_nodes, share=0.5, spread=0.0):
    """A network and scores, their sizes spread over a number of powers of ten."""
    rng = np.random.default_rng(seed)
    network = Network(n_nodes, cuts.some_edges(rng, n_nodes, share))
    theta = rng.normal(size=CUT.n_parts(network)) * 10 ** rng.uniform(
        -spread / 2, spread / 2, size=CUT.n_parts(network)
    )
    theta[n_nodes:] = -np.abs(theta[n_nodes:])
    return network, theta


def ask(theta, network, memory=None):
    """The compiled function's output, value and memory, from a given memory."""
    floats, ints = CUT.oracle().scratch(network)
    work = np.full(floats, np.nan)
    work[: network.n_edges] = 0.0 if memory is None else memory
    out = np.full(len(theta), np.nan)
    value = CUT.oracle().compiled_function("maximize")(
        theta, network.as_ints.copy(), out, work, np.full(ints, -7, dtype=np.int64)
    )
    return out, value, work[: network.n_edges].copy()


def best(theta, network):
    return enumeration.best(theta, cuts.binary_vertices(network.n_nodes, network.edges.tolist()))


def right(z, value, theta, network):
    """z is a labeling, of this value, and none is better than rounding explains."""
    assert np.array_equal(z, cuts.binary_vertex(z[: network.n_nodes], network.edges))
    digits = 1e-14 * np.abs(theta[np.isfinite(theta)]).max(initial=0.0)
    assert abs(enumeration.score(theta, z) - value) <= digits * len(theta)
    assert value >= best(theta, network) - digits * len(theta)


# -- values ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("spread", [0, 6, 24, 600])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_the_value_is_that_of_the_best_labels(share, spread):
    for seed in range(20):
        network, theta = drawn(seed, 1 + seed % 8, share, spread)
        z, value, _ = ask(theta, network)
        right(z, value, theta, network)
        assert np.array_equal(CUT.maximize(theta, network), z)


@given(data=st.data())
@settings(max_examples=150)
def test_ties_are_no_trouble(data):
    """Few different scores of one size, zeros among them: sums are exact, and so are ties."""
    size = data.draw(st.sampled_from([1.0, 2.0**-1060, 2.0**-1073]))
    n = data.draw(st.integers(1, 7))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    network = Network(n, cuts.some_edges(rng, n))
    scores = st.sampled_from([0.0, 1.0, -1.0, 2.0, -2.0])
    theta = np.array(data.draw(st.lists(scores, min_size=n, max_size=n)))
    prices = st.sampled_from([0.0, -1.0, -0.5])
    m = network.n_edges
    theta = size * np.concatenate([theta, data.draw(st.lists(prices, min_size=m, max_size=m))])
    z, value, _ = ask(theta, network)
    assert value == enumeration.score(theta, z) == best(theta, network)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strength", [0.1, 0.5, 2.0])
def test_the_value_is_that_of_the_linear_program(seed, strength):
    rng = np.random.default_rng(seed)
    network = Network(48, cuts.grid_edges(6, 8))
    theta = np.concatenate([rng.normal(size=48), -strength * rng.random(network.n_edges)])
    value = linear.best_value(CUT.constraints(network), theta)
    assert theta @ CUT.maximize(theta, network) == pytest.approx(value, rel=1e-9)


def test_of_equal_labelings_the_one_with_the_fewest_ones_is_found():
    network = Network(3, [(0, 1), (1, 2)])
    assert not CUT.maximize(np.zeros(5), network).any()
    assert not CUT.maximize(np.array([1.0, 0.0, -1.0, -1.0, -1.0]), network).any()
    assert CUT.maximize(np.array([2.0, 0.0, -1.0, -1.0, -1.0]), network)[:3].tolist() == [1, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_order_and_direction_of_edges_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    n, edges = 60, cuts.grid_edges(6, 10)
    theta = np.concatenate([rng.normal(size=n), -rng.random(len(edges))])
    z = CUT.maximize(theta, Network(n, edges))
    order = rng.permutation(len(edges))
    turned = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])[order]
    again = CUT.maximize(np.concatenate([theta[:n], theta[n:][order]]), Network(n, turned))
    assert np.array_equal(again[:n], z[:n])
    assert np.array_equal(again[n:], z[n:][order])


@pytest.mark.parametrize("seed", range(12))
def test_shortest_paths_alone_give_the_same_cut(seed):
    """What is left to do when the kept trees take too many paths."""
    network, theta = drawn(seed, 8, 0.5, spread=12 * (seed % 2))
    n, m = network.n_nodes, network.n_edges
    starts, heads = network.as_ints[2 : 3 + n].copy(), network.as_ints[3 + n : 3 + n + 2 * m].copy()
    sisters = network.as_ints[3 + n + 2 * m : 3 + n + 4 * m].copy()
    price = -theta[n:][network.as_ints[3 + n + 4 * m : 3 + n + 6 * m]]
    for patience in (0, 1, 3, 10**6):
        ints = np.full(6 * n + 4, -7, dtype=np.int64)
        count = max_flow(starts, heads, sisters, price.copy(), theta[:n].copy(), ints, patience)
        assert count <= n * (2 * m + n)
        labels = (ints[: 6 * n : 6] == 1).astype(float)
        assert np.array_equal(labels, CUT.maximize(theta, network)[:n])


def test_large_scores_are_taken_and_too_large_ones_are_not():
    network = Network(3, [(0, 1), (1, 2)])
    theta = np.array([1e300, -1e299, -1e300, -1e300, -1e-300])
    assert CUT.maximize(theta, network).tolist() == [1, 1, 0, 0, 1]
    theta[:2] = 1.7e308
    with pytest.raises(FloatingPointError, match="scale the scores down"):
        CUT.maximize(theta, network)


@pytest.mark.parametrize("seed", range(20))
def test_labels_and_cuts_can_be_forbidden(seed):
    network, theta = drawn(seed, 2 + seed % 6, 0.6)
    rng = np.random.default_rng(seed)
    theta[rng.random(len(theta)) < 0.3] = -np.inf
    z, value, memory = ask(theta, network)
    right(z, value, theta, network)
    assert np.isfinite(value)
    again = ask(theta, network, memory)
    assert np.array_equal(again[0], z)


# -- memory ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [0.01, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_a_walk_of_scores_gives_the_cuts_that_a_fresh_start_gives(seed, step):
    rng = np.random.default_rng(seed)
    network = Network(80, cuts.grid_edges(8, 10))
    theta = np.concatenate([rng.normal(size=80), -rng.random(network.n_edges)])
    memory = None
    for _ in range(30):
        warm, value, memory = ask(theta, network, memory)
        cold, expected, _ = ask(theta, network)
        assert value == pytest.approx(expected, rel=1e-12)
        assert np.array_equal(warm, cold)  # drawn scores have no ties
        theta = theta + step * rng.normal(size=len(theta))
        theta[80:] = np.minimum(theta[80:], 0.0)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e300, -1e300, 1.0, 5e-324])
def test_any_memory_gives_the_right_answer(garbage):
    for seed in range(12):
        network, theta = drawn(seed, 2 + seed % 6, 0.7, spread=12 * (seed % 2))
        rng = np.random.default_rng(seed)
        memory = np.where(rng.random(network.n_edges) < 0.5, garbage, rng.normal())
        z, value, left = ask(theta, network, memory)
        right(z, value, theta, network)
        assert np.isfinite(left).all()


def test_the_flow_that_is_left_is_one():
    """Within capacities; and what flows out of a node comes from its score, as far as it goes."""
    rng = np.random.default_rng(0)
    network = Network(30, cuts.grid_edges(5, 6))
    theta = np.concatenate([rng.normal(size=30), -rng.random(network.n_edges)])
    z, value, flow = ask(theta, network)
    assert (np.abs(flow) <= -theta[30:] + 1e-15).all()
    left = theta[:30].copy()
    np.subtract.at(left, network.edges[:, 0], flow)
    np.add.at(left, network.edges[:, 1], flow)
    # duality: what the source still could give is the score of the best labels
    assert np.maximum(left, 0.0).sum() == pytest.approx(value, rel=1e-12)
    assert (left[z[:30] == 1] >= -1e-15).all()
    assert (left[z[:30] == 0] <= 1e-15).all()


def test_nothing_is_remembered_by_hand():
    network, theta = drawn(0, 8)
    expected = CUT.maximize(theta, network)
    CUT.maximize(-np.abs(theta), network)
    assert np.array_equal(CUT.maximize(theta, network), expected)
    assert CUT.oracle().memory_size(network) == network.n_edges


# -- shapes ----------------------------------------------------------------------------------------
def test_parts_of_a_graph_that_hang_together_are_cut_apart():
    network, theta = drawn(3, 5, 0.7)
    other, scores = drawn(4, 4, 0.7)
    both = Network(9, np.concatenate([network.edges, other.edges + 5]))
    joined = np.concatenate([theta[:5], scores[:4], theta[5:], scores[4:]])
    z = CUT.maximize(joined, both)
    first, second = CUT.maximize(theta, network), CUT.maximize(scores, other)
    assert np.array_equal(z, np.concatenate([first[:5], second[:4], first[5:], second[4:]]))


def test_no_edges_and_one_node():
    assert CUT.maximize([1.0, -1.0, 0.0], Network(3, [])).tolist() == [1, 0, 0]
    assert CUT.maximize([-1.0], Network(1, [])).tolist() == [0]
    assert CUT.maximize([0.5], Network(1, np.empty((0, 2), dtype=int))).tolist() == [1]


def test_a_graph_is_a_layout():
    x = Graph(np.zeros((2, 1)), [(0, 1)])
    assert CUT.maximize([2.0, -1.0, -5.0], x).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("n_nodes", "edges", "words"),
    [
        (3, [(0, 1), (2, 2)], r"\(2, 2\) at place 1 joins a node with itself"),
        (3, [(0, 1), (1, 2), (1, 0)], r"\(1, 0\) at place 2 is there already"),
        (3, [(0, 3)], r"\(0, 3\) at place 0 is outside 3 nodes"),
        (3, [(0, 1), (-1, 2)], r"\(-1, 2\) at place 1 is outside 3 nodes"),
        (3, [(0, 1, 2)], r"shape \(1, 3\), expected \(E, 2\)"),
        (3, [(0.5, 1)], "not an integer"),
        (0, [], "n_nodes=0"),
        (2.5, [], "n_nodes=2.5"),
    ],
)
def test_layouts_that_are_none_are_refused(n_nodes, edges, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Network(n_nodes, edges)


def test_something_else_is_no_layout():
    with pytest.raises(TypeError, match="must be a Network or a Graph"):
        CUT.maximize([0.0], (1, 0))


def test_networks_are_equal_if_all_is():
    network = Network(4, [(0, 1), (2, 3)])
    same = pickle.loads(pickle.dumps(network))
    assert same == network
    assert hash(same) == hash(network)
    assert np.array_equal(same.as_ints, network.as_ints)
    for other in (Network(5, [(0, 1), (2, 3)]), Network(4, [(2, 3), (0, 1)]), Network(4, [(0, 1)])):
        assert other != network
    assert network != "network"
    assert len({network, same, Network(4, [])}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        network.n_nodes = 3


# -- refusals --------------------------------------------------------------------------------------
def test_an_edge_that_rewards_a_cut_is_named():
    network = Network(3, [(2, 0), (1, 2)])
    with pytest.raises(ValueError, match=r"edge 1, \(1, 2\), scores 0.25 .* must be 0 or less"):
        CUT.maximize([1.0, 1.0, 1.0, -1.0, 0.25], network)
    z, value, _ = ask(np.array([1.0, 1.0, 1.0, -1.0, 0.25]), network)
    assert np.isnan(value)
    assert not z.any()


def test_a_little_reward_is_rounding():
    network = Network(2, [(0, 1)])
    assert CUT.maximize([1.0, -1.0, 1e-12], network).tolist() == [1, 0, 1]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 2])
def test_scores_that_are_no_scores_are_refused(wrong, part):
    theta = np.array([1.0, -1.0, -1.0])
    theta[part] = wrong
    with pytest.raises(ValueError, match="finite or -inf"):
        CUT.maximize(theta, Network(2, [(0, 1)]))
    z, value, _ = ask(theta, Network(2, [(0, 1)]))
    assert np.isnan(value)
    assert not z.any()
