"""make_sequences: shapes, seeds, and that the weights it returns are the best ones."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from maxmargin.datasets import make_sequences


def test_dense_shapes():
    bunch = make_sequences(7, 4, 3, 6)
    assert len(bunch.X) == len(bunch.y) == 7
    assert all(x.shape == (4, 6) and x.dtype == np.float64 for x in bunch.X)
    assert all(y.shape == (4,) and y.min() >= 0 and y.max() < 3 for y in bunch.y)
    assert bunch.coef.shape == (3, 6)
    assert bunch.transitions.shape == (3, 3)
    assert bunch.first.shape == (3,)
    np.testing.assert_allclose(np.exp(bunch.transitions).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(bunch.first).sum(), 1.0)


def test_sparse_rows_have_the_density_asked_for():
    bunch = make_sequences(5, (2, 6), 4, 1000, density=0.013)
    for x, y in zip(bunch.X, bunch.y, strict=True):
        assert sparse.issparse(x)
        assert x.format == "csr"
        assert x.shape == (len(y), 1000)
        assert np.diff(x.indptr).tolist() == [13] * len(y)
        assert x.has_sorted_indices
        assert x.has_canonical_format
    used = np.unique(np.concatenate([x.indices for x in bunch.X]))
    assert used.min() >= 0
    assert used.max() < 1000
    assert len(used) > 100


def test_ragged_lengths_cover_the_range():
    lengths = {len(y) for y in make_sequences(200, (3, 7)).y}
    assert lengths == {3, 4, 5, 6, 7}


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_same_seed_same_bits(density):
    a, b, c = (make_sequences(5, (1, 9), density=density, random_state=s) for s in (3, 3, 4))
    dense = [np.concatenate([x @ np.eye(20) for x in bunch.X]) for bunch in (a, b, c)]
    np.testing.assert_array_equal(dense[0], dense[1])
    assert dense[0].shape != dense[2].shape or (dense[0] != dense[2]).any()


def test_labels_follow_the_transitions():
    bunch = make_sequences(3000, 11, 3, 1)
    counts = np.zeros((3, 3))
    for y in bunch.y:
        np.add.at(counts, (y[:-1], y[1:]), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, np.exp(bunch.transitions), atol=0.02)
    first = np.bincount([y[0] for y in bunch.y], minlength=3) / 3000
    np.testing.assert_allclose(first, np.exp(bunch.first), atol=0.03)


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_weights_give_calibrated_posteriors(density):
    """If the weights are the true ones, the expected number of right labels is the actual one."""
    bunch = make_sequences(800, 3, 3, 8, density=density, random_state=5)
    outputs = np.array(list(itertools.product(range(3), repeat=3)))
    expected = actual = 0.0
    for x, y in zip(bunch.X, bunch.y, strict=True):
        unary = x @ bunch.coef.T
        scores = bunch.first[outputs[:, 0]] + unary[np.arange(3), outputs].sum(axis=1)
        scores = scores + bunch.transitions[outputs[:, :-1], outputs[:, 1:]].sum(axis=1)
        posterior = np.exp(scores - scores.max())
        posterior /= posterior.sum()
        expected += posterior.max()
        actual += (outputs[posterior.argmax()] == y).all()
    assert abs(expected - actual) / 800 < 0.04
    assert 0.2 < actual / 800 < 0.95


@pytest.mark.parametrize(
    "options",
    [{"n_samples": 0}, {"length": (5, 3)}, {"length": 0}, {"density": 0.0}, {"density": 1.5}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=r"must be at least 1|density is"):
        make_sequences(**options)
