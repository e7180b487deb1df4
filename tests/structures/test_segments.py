"""What is particular to Segments; tests/contract tests what all structures do."""

import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin.exceptions import InfeasibleError
from maxmargin.structures import Chain, Derivations, Segments


def test_segments_are_derivations():
    rng = np.random.default_rng(0)
    for most, layout, positions in [
        (1, (4, 3), False), (3, (1, 2), True), (4, (9, 3), False), (12, (7, 2), True),
    ]:  # fmt: skip
        own = Segments(most, positions)
        program = own.program(layout)
        theta = rng.normal(size=own.n_parts(layout))
        assert np.array_equal(own.maximize(theta, layout), Derivations().maximize(theta, program))
        expected = Derivations().marginals(theta, program)
        assert own.marginals(theta, layout) == pytest.approx(expected, abs=1e-12)
        value = Derivations().log_partition(theta, program)
        assert own.log_partition(theta, layout) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 300.0, 1e6])
def test_sums_of_scores_of_any_size(scale):
    rng, layout, most = np.random.default_rng(3), (8, 3), 4
    own = Segments(most, positions=True)
    program = own.program(layout)
    for _ in range(10):
        theta = scale * rng.normal(size=own.n_parts(layout))
        theta[rng.random(len(theta)) < 0.3] = -np.inf
        try:
            expected = Derivations().marginals(theta, program)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                own.marginals(theta, layout)
            continue
        assert own.marginals(theta, layout) == pytest.approx(expected, abs=1e-12)
        value = Derivations().log_partition(theta, program)
        assert own.log_partition(theta, layout) == pytest.approx(value, rel=1e-13, abs=1e-13)


def test_a_path_of_little_weight_counts_if_it_is_the_only_one():
    # shares fall by exp(-100) a position, and only they may end
    own, layout = Segments(2), (9, 2)
    theta = np.zeros(own.n_parts(layout))
    segments, table = theta[:-4].reshape(9, 2, 2), theta[-4:].reshape(2, 2)
    segments[:, :, 1] = -100.0
    table[0, 1] = table[1, 0] = -np.inf
    segments[7:, :, 0] = -np.inf
    segments[:, 1, :] = -np.inf
    assert own.log_partition(theta, layout) == pytest.approx(-900.0, rel=1e-14)
    assert own.marginals(theta, layout)[:-4].reshape(9, 2, 2)[:, 0, 1] == pytest.approx(np.ones(9))


def test_single_positions_are_a_chain_bit_for_bit():
    rng, layout = np.random.default_rng(1), (30, 7)
    theta = rng.normal(size=Chain().n_parts(layout))
    one, chain = Segments(1), Chain()
    assert one.oracle().maximize(theta, layout)[1] == chain.oracle().maximize(theta, layout)[1]
    assert np.array_equal(one.maximize(theta, layout), chain.maximize(theta, layout))
    X, labels, spans = [], [], []
    for n in (3, 5, 4, 6, 2):
        X.append((rng.normal(size=(n * 3 + 9, 4)), (n, 3)))
        labels.append(rng.integers(3, size=n))
        spans.append([(t, t + 1, k) for t, k in enumerate(labels[-1])])
    for loss in ("hamming", "hamming-sum"):
        models = [
            StructuredSVM(own, alpha=0.1, loss=loss, max_epochs=200, tol=0.01).fit(X, y)
            for own, y in ((one, spans), (chain, labels))
        ]
        a, b = (model.result_ for model in models)
        assert (a.primal, a.dual, a.n_epochs) == (b.primal, b.dual, b.n_epochs)
        assert np.array_equal(a.w, b.w)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([(0, 4, 0)], "from 0 to 4 has 4 positions, and max_length=3 allows 1 to 3"),
        ([(0, 2, 0), (3, 4, 0)], "must follow each other from 0 to 4"),
        ([(0, 2, 0)], "must follow each other"),
        ([(0, 2, 0), (2, 4, 5)], "labels beyond 0 to 1"),
        ([(0, 2)], r"expected \(m, 3\)"),
        ([(0, 2, 0), (2, 2, 0), (2, 4, 0)], "from 2 to 2 has 0 positions"),
        ([(0.5, 2, 0), (2, 4, 0)], "is not an integer"),
    ],
)
def test_what_are_no_segments_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        Segments(3).encode(y, (4, 2))


def test_long_sequences():
    own, layout = Segments(8), (2000, 5)
    theta = np.random.default_rng(0).normal(size=own.n_parts(layout))
    found = own.decode(own.maximize(theta, layout), layout)
    own.encode(found, layout)
    assert (found[:, 1] - found[:, 0]).max() <= 8


def test_too_many_parts_are_refused_before_memory_is_taken():
    with pytest.raises(ValueError, match="max_length=1000000000: 100 positions with 3 labels"):
        Segments(10**9).n_parts((100, 3))
