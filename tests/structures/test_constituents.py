"""What is particular to Constituents; tests/contract tests what all structures do."""

import numpy as np
import pytest

from maxmargin.structures import Constituents, Derivations
from maxmargin.structures.constituents import _make_program, list_spans, span_numbers


def test_trees_are_derivations():
    rng, own = np.random.default_rng(0), Constituents()
    for layout in [(1, 3), (5, 4), (11, 2)]:
        theta, program = rng.normal(size=own.n_parts(layout)), _make_program(*layout)
        assert np.array_equal(own.maximize(theta, layout), Derivations().maximize(theta, program))
        expected = Derivations().marginals(theta, program)
        assert own.marginals(theta, layout) == pytest.approx(expected, abs=1e-12)
        value = Derivations().log_partition(theta, program)
        assert own.log_partition(theta, layout) == pytest.approx(value, rel=1e-13)


def test_spans_are_numbered():
    for n in (1, 2, 7):
        i, j = list_spans(n)
        assert np.array_equal(span_numbers(i, j, n), np.arange(n * (n + 1) // 2))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([(0, 1, 0), (1, 2, 0)], r"expected \(3, 3\)"),
        ([(0, 1, 0), (1, 2, 0), (0, 3, 0)], "spans beyond 0 to 2"),
        ([(0, 1, 0), (1, 2, 5), (0, 2, 0)], "labels beyond 0 to 1"),
        ([(0, 1, 0), (0, 1, 1), (0, 2, 0)], "no span from 1 to 2"),
        ([(0, 1, 0.5), (1, 2, 0), (0, 2, 0)], "is not an integer"),
    ],
)
def test_what_is_no_tree_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        Constituents().encode(y, (2, 2))


def test_spans_that_cross_are_refused():
    y = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 0), (0, 4, 0), (0, 2, 0), (1, 3, 0)]
    with pytest.raises(ValueError, match="no span from 2 to 4"):
        Constituents().encode(y, (4, 1))


def test_long_sentences():
    own, layout = Constituents(), (300, 2)
    theta = np.random.default_rng(0).normal(size=own.n_parts(layout))
    spans = own.decode(own.maximize(theta, layout), layout)
    assert len(spans) == 599
    own.encode(spans, layout)
    with pytest.raises(ValueError, match="3000 words, at most 2000 are possible: cut"):
        own.n_parts((3000, 2))
