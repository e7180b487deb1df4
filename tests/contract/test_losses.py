"""What every loss must do: cost nothing at the truth, and what it says at every other output."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone

from maxmargin.losses import Hamming, Loss, PartCosts
from maxmargin.structures import Chain, Finite, Structure
from reference import chains, losses as reference
from reference.user_structures import (
    Assignment,
    AtMostTwo,
    assignment_vertices,
    at_most_two_vertices,
)


@dataclass
class Family:
    """A structure, a shape, and its outputs: vertices with the values of their variables."""

    name: str
    structure: Structure
    layout: tuple
    vertices: list
    values: list
    binary: bool = False


def chain_family(name, tied, layout):
    sequences = list(chains.sequences(layout))
    vertices = [chains.vertex(y, layout, tied) for y in sequences]
    return Family(name, Chain(tied=tied), layout, vertices, sequences)


def assigned(vertex):
    return vertex.reshape(3, 3).argmax(axis=1).tolist()


ONE_OF_FOUR = list(np.eye(4))
SUBSETS = list(at_most_two_vertices((4,)))
MATCHINGS = list(assignment_vertices((3,)))
LABELLED = [
    chain_family("chain", True, (3, 3)),
    chain_family("chain-untied", False, (3, 3)),
    chain_family("one-node", True, (1, 3)),
    Family("finite", Finite(), (4,), ONE_OF_FOUR, [[k] for k in range(4)]),
    Family("assignment", Assignment(), (3,), MATCHINGS, [assigned(v) for v in MATCHINGS]),
]
BINARY = [Family("subsets", AtMostTwo(), (4,), SUBSETS, [v.tolist() for v in SUBSETS], True)]
FAMILIES = LABELLED + BINARY


@dataclass
class Case:
    """A loss and its definition, definition(truth, guess, node_weight), on values of variables."""

    name: str
    loss: Loss
    definition: Any
    families: list


def hamming_case(name, **options):
    weights = options.get("class_weight")

    def definition(truth, guess, node_weight):
        normalize = options.get("normalize", True)
        return reference.hamming(truth, guess, node_weight, weights, normalize)

    return Case(name, Hamming(**options), definition, LABELLED)


def binary_case(name, false_positive, false_negative, normalize):
    def definition(truth, guess, node_weight):
        return reference.binary(
            truth, guess, false_positive, false_negative, node_weight, normalize
        )

    loss = Hamming(
        normalize=normalize, false_positive=false_positive, false_negative=false_negative
    )
    return Case(name, loss, definition, BINARY)


CASES = [
    hamming_case("mean"),
    hamming_case("count", normalize=False),
    hamming_case("classes", class_weight=np.array([2.0, 0.0, 0.5, 3.0])),
    hamming_case("classes-count", normalize=False, class_weight=np.array([1.5, 2.5, 0.25, 0.0])),
    binary_case("binary", 1.0, 1.0, True),
    binary_case("false-positives", 3.0, 0.5, True),
    binary_case("false-negatives", 0.0, 2.0, False),
]
PAIRS = [
    pytest.param(case, family, id=f"{case.name}-{family.name}")
    for case in CASES
    for family in case.families
]


def fitted(loss, family):
    """The loss with as many class weights as the family has labels."""
    if loss.class_weight is None:
        return loss
    return clone(loss).set_params(
        class_weight=loss.class_weight[: family.structure.variables(family.layout)[1]]
    )


@pytest.mark.parametrize("case, family", PAIRS)
@given(data=st.data())
def test_costs_are_the_loss_of_every_output(case, family, data):
    n = len(family.values[0])
    weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
    node_weight = data.draw(st.none() | weights, label="node_weight")
    i = data.draw(st.integers(0, len(family.vertices) - 1), label="truth")
    truth = family.vertices[i]
    loss = fitted(case.loss, family)
    c = loss.costs(truth, family.layout, family.structure, node_weight)
    assert c.shape == truth.shape
    d = -c @ truth
    for vertex, values in zip(family.vertices, family.values, strict=True):
        expected = case.definition(family.values[i], values, node_weight)
        assert c @ vertex + d == pytest.approx(expected, abs=1e-14)
        assert c @ vertex + d >= -1e-14


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_costs_of_a_function_are_taken_as_they_are(family):
    rng = np.random.default_rng(0)
    table = rng.random(len(family.vertices[0]))
    seen = []

    def function(truth, layout):
        seen.append((truth, layout))
        return table * (1 - truth)

    truth = family.vertices[-1]
    c = PartCosts(function).costs(truth, family.layout, family.structure)
    assert np.array_equal(c, table * (1 - truth))
    assert seen == [(truth, family.layout)]
    for vertex in family.vertices:
        wrong = sum(t for t, a, b in zip(table, truth, vertex, strict=True) if b and not a)
        if set(np.unique(vertex)) <= {0.0, 1.0} and set(np.unique(truth)) <= {0.0, 1.0}:
            assert c @ vertex - c @ truth == pytest.approx(wrong, abs=1e-14)


def test_a_single_label_costs_nothing():
    for structure, layout, truth in [
        (Chain(), (3, 1), chains.vertex((0, 0, 0), (3, 1), True)),
        (Finite(), (1,), np.ones(1)),
    ]:
        c = Hamming().costs(truth, layout, structure)
        assert np.isfinite(c).all()
        (only,) = structure.vertices(layout)
        assert c @ only - c @ truth == 0.0
