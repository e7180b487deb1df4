"""What is particular to Derivations; tests/contract tests what all structures do."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest

from contract.cases.derivations import TREES, bracket_vertices, brackets
from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Deduction, DerivationLayout, Derivations
from maxmargin.structures.derivations import layout as layouts
from reference import enumeration


def change(total, coins=(1, 2, 5)):
    """Ways to pay a sum, coins in falling order; parts count the coins of each kind."""
    program = Deduction()
    program.add((0, len(coins) - 1))
    for paid in range(1, total + 1):
        for kind, coin in enumerate(coins):
            for last in range(kind, len(coins)):
                if (paid - coin, last) in program:
                    program.add((paid, kind), [(paid - coin, last)], [kind])
    for kind in range(len(coins)):
        if (total, kind) in program:
            program.add("paid", [(total, kind)])
    return program.layout("paid", len(coins))


def knapsack(weights, capacity):
    """Subsets of items that fit; a part for each item."""
    program = Deduction()
    for used in range(capacity + 1):
        program.add((0, used))
    for i, weight in enumerate(weights):
        for used in range(capacity + 1):
            program.add((i + 1, used), [(i, used)])
            if used >= weight:
                program.add((i + 1, used), [(i, used - weight)], [i])
    return program.layout((len(weights), capacity), len(weights))


def ways(total, coins=(1, 2, 5)):
    limits = [range(total // coin + 1) for coin in coins]
    return [own for own in product(*limits) if np.dot(own, coins) == total]


def test_parts_that_are_used_often_count():
    layout, structure = change(9), Derivations()
    assert sorted(map(tuple, structure.vertices(layout))) == sorted(ways(9))
    best = structure.maximize([-1.0, -1.0, -1.0], layout)
    assert best.tolist() == [0.0, 2.0, 1.0]
    assert structure.decode(best, layout).tolist() == [1, 1, 2]
    assert structure.log_partition(np.zeros(3), layout) == pytest.approx(np.log(len(ways(9))))
    expected = np.mean(ways(9), axis=0)
    assert structure.marginals(np.zeros(3), layout) == pytest.approx(expected, abs=1e-12)


def test_a_knapsack_is_a_program():
    rng = np.random.default_rng(0)
    weights, values = [3, 5, 2, 7, 4], rng.normal(1.0, 1.0, size=5)
    found = Derivations().maximize(values, knapsack(weights, 10))
    fitting = [z for z in product((0, 1), repeat=5) if np.dot(z, weights) <= 10]
    assert found @ values == pytest.approx(max(np.dot(z, values) for z in fitting))


def test_an_item_used_twice_may_be_derived_twice_and_in_two_ways():
    program = Deduction()
    program.add("word", parts=[0])
    program.add("word", parts=[1])
    program.add("pair", ["word", "word"])
    found = Derivations().k_best([1.0, 0.5], program.layout("pair"), 9)
    assert [(z.tolist(), score) for z, score in found] == [
        ([2.0, 0.0], 2.0), ([1.0, 1.0], 1.5), ([1.0, 1.0], 1.5), ([0.0, 2.0], 1.0),
    ]  # fmt: skip


def test_items_used_exponentially_often_are_counted_not_walked():
    program = Deduction()
    program.add(0, parts=[0])
    for level in range(1, 41):
        program.add(level, [level - 1, level - 1])
    layout = program.layout(40)
    assert Derivations().maximize([1.0], layout).tolist() == [2.0**40]
    assert Derivations().marginals([1.0], layout).tolist() == [2.0**40]
    [(z, score)] = Derivations().k_best([1.0], layout, 1)
    assert (z.tolist(), score) == ([2.0**40], 2.0**40)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_k_best_are_all_derivations_in_order_and_once(n):
    layout, part = TREES[n]
    theta = np.random.default_rng(n).normal(size=layout.n_parts)
    found = Derivations().k_best(theta, layout, 1000)
    listed = list(bracket_vertices(n, part))
    assert len(found) == len(listed) == len({tuple(z) for z, _ in found})
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(sorted((z @ theta for z in listed), reverse=True))
    for z, score in found:
        assert z @ theta == pytest.approx(score)


def test_the_first_of_many_are_found_lazily():
    layout, _ = brackets(30)  # more than 1e15 trees
    theta = np.random.default_rng(0).normal(size=layout.n_parts)
    found = Derivations().k_best(theta, layout, 50)
    assert np.array_equal(found[0][0], Derivations().maximize(theta, layout))
    assert len({tuple(z) for z, _ in found}) == 50
    assert all(a >= b for (_, a), (_, b) in pairwise(found))


def test_forbidden_parts_are_in_none_of_the_k_best():
    layout, part = TREES[5]
    theta = np.zeros(layout.n_parts)
    theta[:2] = -np.inf
    found = Derivations().k_best(theta, layout, 1000)
    assert len(found) == sum(not z[:2].any() for z in bracket_vertices(5, part))
    with pytest.raises(InfeasibleError):
        Derivations().k_best(np.full(layout.n_parts, -np.inf), layout, 2)


def test_long_programs_need_no_deep_recursion():
    program = Deduction()
    program.add(0)
    for i in range(1, 20_000):
        program.add(i, [i - 1], [0])
        program.add(i, [i - 1], [1])
    layout = program.layout(19_999)
    (_, first), (_, second) = Derivations().k_best([1.0, 0.5], layout, 2)
    assert (first, second) == (19_999.0, 19_998.5)


def test_samples_have_the_frequencies_of_the_marginals():
    layout, part = TREES[4]
    theta = np.random.default_rng(1).normal(size=layout.n_parts)
    drawn = Derivations().sample(theta, layout, 4000, random_state=0)
    listed = np.array(list(bracket_vertices(4, part)))
    assert all((listed == z).all(axis=1).any() for z in drawn[:50])
    assert np.abs(drawn.mean(axis=0) - enumeration.expectation(theta, listed)).max() < 0.03
    assert np.array_equal(drawn, Derivations().sample(theta, layout, 4000, random_state=0))


def test_layouts_survive_pickling_and_are_told_apart():
    layout = change(7)
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert len({layout, change(7), change(8)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        layout.heads = [0]


def test_outputs_that_are_none_are_refused():
    layout = TREES[4][0]
    for y, words in (
        ([0, 1], "no derivation"), ([99], "beyond"), ([0.5], "list of part numbers"),
        ([[0]], "list of part numbers"), ([-1], "beyond"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            Derivations().encode(y, layout)


def test_the_builder_refuses_what_is_no_program(monkeypatch):
    program = Deduction()
    program.add("a")
    program.add("b", ["a"])
    for antecedents, parts, words in (
        ("ab", [], "give lists"), (["a"], 0, "give lists"), (["a"], [0.9], "found 0.9"),
        (["a"], [-1], "numbers from 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            program.add("c", antecedents, parts)
    with pytest.raises(ValueError, match="at most two antecedents"):
        program.add("c", ["a", "b", "a"])
    with pytest.raises(ValueError, match="antecedent 'z' has no step"):
        program.add("c", ["z"])
    with pytest.raises(ValueError, match="'a' is an antecedent already"):
        program.add("a")
    with pytest.raises(ValueError, match="no step concludes the goal 'z'"):
        program.layout("z")
    monkeypatch.setattr(layouts, "LARGEST", 20)
    with pytest.raises(MemoryError, match="more than 20 numbers"):
        program.add("d", parts=range(20))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heads": [1, 1]}, "heads must be"),
        ({"heads": [0, 2]}, "heads must be"),
        ({"heads": []}, "tails|reshape|heads must be"),
        ({"tails": [[-1, -1], [1, -1]]}, "tails must be"),
        ({"tails": [[-2, -1], [0, -1]]}, "tails must be"),
        ({"part_ptr": [0, 2, 1]}, "part_ptr must rise"),
        ({"part_ptr": [0, 0, 2]}, "part_ptr must rise"),
        ({"parts": [5]}, "parts must be"),
        ({"parts": [0.5]}, "parts must be an array"),
        ({"n_parts": 10**12}, "n_parts is 1000000000000"),
    ],
)
def test_layouts_are_checked_before_compiled_code_reads_them(change, words):
    own = {"n_parts": 2, "heads": [0, 1], "tails": [[-1, -1], [0, -1]], "part_ptr": [0, 0, 1]}
    own["parts"] = [1]
    DerivationLayout(**own)
    with pytest.raises(ValueError, match=words):
        DerivationLayout(**(own | change))


def test_other_layouts_are_refused():
    with pytest.raises(ValueError, match="must be a DerivationLayout; `Deduction` makes them"):
        Derivations().maximize(np.zeros(3), (3,))
