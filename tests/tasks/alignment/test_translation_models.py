"""Translation models: posteriors and counts against enumeration, likelihood, word pairs."""

import itertools

import numpy as np
import pytest

from maxmargin._numba.alignment import word_models as kernels
from maxmargin.tasks.alignment.translation_models import (
    MoveTables,
    Text,
    TranslationModels,
    find_word_pairs,
    start_pointers,
)


def text(sentences):
    flat = np.array([word for s in sentences for word in s], dtype=np.int32)
    return Text(flat, start_pointers([len(s) for s in sentences]))


def made_up(n=60, seed=0, words=8):
    """Sentence pairs of a language and its word-for-word translation, swapped here and there."""
    rng = np.random.default_rng(seed)
    source = [rng.integers(words, size=rng.integers(1, 6)) for _ in range(n)]
    target = []
    for own in source:
        other = (own + 3) % words
        if len(other) > 1 and rng.random() < 0.4:
            at = rng.integers(len(other) - 1)
            other[[at, at + 1]] = other[[at + 1, at]]
        target.append(other[rng.random(len(other)) < 0.9] if len(other) > 2 else other)
    kept = [(a, b) for a, b in zip(source, target, strict=True) if len(b)]
    return text([a for a, _ in kept]), text([b for _, b in kept])


def tiny(n_source, n_target, seed, far=2):
    """A single pair with random probabilities: corpus, tables, and tables to count in."""
    rng = np.random.default_rng(seed)
    n = n_source * n_target
    corpus = kernels.Corpus(
        np.arange(n_source, dtype=np.int32), np.array([0, n_source]),
        np.arange(n_target, dtype=np.int32), np.array([0, n_target]),
        np.arange(n, dtype=np.int32), np.array([0, n]),
    )  # fmt: skip
    moves = MoveTables(np.array([n_source, n_target]), far)
    weight = rng.random((2, moves.n_buckets)) + 0.05
    both = np.concatenate([moves.probabilities(own) for own in weight])
    tables = kernels.Tables(
        rng.random(2 * n), rng.random(n_target), rng.random(n_source), both, moves.ptr
    )
    counts = kernels.Tables(*(np.zeros_like(x) for x in tables[:4]), moves.ptr)
    return corpus, tables, counts


def enumerate_direction(emit, null_emit, moves, p0):
    """Posteriors (n, S), those of null, move counts and likelihood, by summing all alignments.

    emit (n, S); moves (S + 1, S) or None for the mixture. A word's state is -1 for null.
    """
    n, states = emit.shape
    post, null, made = np.zeros((n, states)), np.zeros(n), np.zeros((states + 1, states))
    total = 0.0
    for path in itertools.product(range(-1, states), repeat=n):
        p, last, steps = 1.0, 0, []
        for o, s in enumerate(path):
            if s < 0:
                p *= p0 * null_emit[o]
                continue
            step = 1.0 / states if moves is None else moves[last, s]
            p *= (1 - p0) * step * emit[o, s]
            steps.append((last, s))
            last = s + 1
        total += p
        for o, s in enumerate(path):
            if s < 0:
                null[o] += p
            else:
                post[o, s] += p
        for step in steps:
            made[step] += p
    return post / total, null / total, made / total, np.log(total)


@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (3, 4), (4, 3)])
def test_posteriors_and_counts_are_those_of_all_alignments(shape, jumps):
    (n_source, n_target), p0 = shape, 0.3
    corpus, tables, counts = tiny(*shape, seed=sum(shape))
    cells = tables.cells.reshape(n_source, n_target, 2)
    half = len(tables.moves) // 2
    expected = []
    for emit, null, half_moves, states in (
        (cells[:, :, 0].T, tables.null_target, tables.moves[:half], n_source),
        (cells[:, :, 1], tables.null_source, tables.moves[half:], n_target),
    ):
        own = half_moves[tables.move_ptr[states] : tables.move_ptr[states + 1]]
        table = own.reshape(states + 1, states) if jumps else None
        expected.append(enumerate_direction(emit, null, table, p0))
    longest = max(shape)
    work = np.empty(kernels.space_for(longest))
    forward, backward = np.empty(n_source * n_target), np.empty(n_source * n_target)
    unused = np.zeros_like(tables.moves)
    value = kernels.write_posteriors(
        corpus, tables, p0, jumps, longest, forward, backward, unused, work
    )
    assert value == pytest.approx(expected[0][3] + expected[1][3], rel=1e-12)
    np.testing.assert_allclose(forward.reshape(shape), expected[0][0].T, rtol=1e-11)
    np.testing.assert_allclose(backward.reshape(shape), expected[1][0], rtol=1e-11)

    kernels.add_expected_counts(corpus, tables, counts, p0, jumps, False, 0, 1, longest, work)
    found = counts.cells.reshape(n_source, n_target, 2)
    np.testing.assert_allclose(found[:, :, 0], expected[0][0].T, rtol=1e-11)
    np.testing.assert_allclose(found[:, :, 1], expected[1][0], rtol=1e-11)
    np.testing.assert_allclose(counts.null_target, expected[0][1], rtol=1e-11)
    np.testing.assert_allclose(counts.null_source, expected[1][1], rtol=1e-11)
    if jumps:
        for part, states, (_, _, made, _) in zip(
            (counts.moves[:half], counts.moves[half:]), shape, expected, strict=True
        ):
            own = part[tables.move_ptr[states] : tables.move_ptr[states + 1]]
            np.testing.assert_allclose(own.reshape(states + 1, states), made, rtol=1e-11)


def test_agreement_counts_the_product_of_both_posteriors():
    corpus, tables, counts = tiny(3, 4, seed=1)
    work = np.empty(kernels.space_for(4))
    forward, backward = np.empty(12), np.empty(12)
    kernels.write_posteriors(
        corpus, tables, 0.2, True, 4, forward, backward, np.zeros_like(tables.moves), work
    )
    kernels.add_expected_counts(corpus, tables, counts, 0.2, True, True, 0, 1, 4, work)
    both = counts.cells.reshape(12, 2)
    np.testing.assert_allclose(both[:, 0], forward * backward, rtol=1e-12)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])


def test_one_round_of_the_mixture_equals_a_plain_one():
    source, target = made_up(n=30)
    models = TranslationModels(source, target, (8, 8), p0=0.2, agree=False)
    models.iterate(jumps=False)
    counts = np.zeros((8, 8))
    for s in range(len(source.ptr) - 1):
        e = source.words[source.ptr[s] : source.ptr[s + 1]]
        f = target.words[target.ptr[s] : target.ptr[s + 1]]
        for word in f:
            np.add.at(counts, (e, word), 0.8 / len(e))  # all words start alike
    expected = counts / counts.sum(axis=1, keepdims=True)
    found = np.zeros((8, 8))
    row = np.repeat(np.arange(8), np.diff(models.pairs.row_ptr))
    found[row, models.pairs.column] = models.cells[::2]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("far", [1, 2, 10])
def test_the_likelihood_never_falls(far):
    source, target = made_up()
    models = TranslationModels(source, target, (8, 8), p0=0.2, agree=False, far=far)
    for jumps in [False] * 6:
        models.iterate(jumps)
    mixture = models.log_likelihood.copy()
    for jumps in [True] * 8:
        models.iterate(jumps)
    hmm = models.log_likelihood[6:]
    assert (np.diff(mixture) >= -1e-9).all()
    assert mixture[-1] > mixture[0] + 1
    assert (np.diff(hmm) >= -1e-9 * abs(hmm[0])).all()
    assert hmm[-1] > hmm[0] + 1


@pytest.mark.parametrize("agree", [False, True])
def test_the_made_up_dictionary_is_found(agree):
    source, target = made_up(n=200)
    models = TranslationModels(source, target, (8, 8), p0=0.1, agree=agree)
    for jumps in [False] * 5 + [True] * 5:
        models.iterate(jumps)
    row = np.repeat(np.arange(8), np.diff(models.pairs.row_ptr))
    for side in (0, 1):
        table = np.zeros((8, 8))
        table[row, models.pairs.column] = models.cells[side::2]
        np.testing.assert_array_equal(table.argmax(axis=1), (np.arange(8) + 3) % 8)
    again = TranslationModels(source, target, (8, 8), p0=0.1, agree=agree)
    for jumps in [False] * 5 + [True] * 5:
        again.iterate(jumps)
    np.testing.assert_array_equal(models.cells, again.cells)
    np.testing.assert_array_equal(models.jumps.weight, again.jumps.weight)


def test_moves_sum_to_one_and_far_jumps_share_a_weight():
    tables = MoveTables(np.array([4, 2]), far=1)
    weight = np.arange(1.0, tables.n_buckets + 1)
    found = tables.probabilities(weight)
    four = found[tables.ptr[4] : tables.ptr[5]].reshape(5, 4)
    np.testing.assert_allclose(four.sum(axis=1), 1.0)
    np.testing.assert_allclose(four[0], np.array([4, 5, 5, 5]) / 19)  # first places 0, 1, ...
    np.testing.assert_allclose(four[1], np.array([2, 3, 3, 3]) / 11)  # from state 0
    np.testing.assert_allclose(four[4], np.array([1, 1, 1, 2]) / 5)  # from state 3
    assert tables.ptr[1] == tables.ptr[2]  # no table for one state, which does not occur


def test_cells_count_sentence_pairs_once():
    source, target = text([[0, 1, 0], [1], [0]]), text([[2, 2], [0, 2], [2]])
    cells = find_word_pairs(source, target, 2)
    row = np.repeat(np.arange(2), np.diff(cells.row_ptr))
    found = {
        (int(e), int(f)): int(n) for e, f, n in zip(row, cells.column, cells.together, strict=True)
    }
    assert found == {(0, 2): 2, (1, 2): 2, (1, 0): 1}
    for s in range(3):
        e = source.words[source.ptr[s] : source.ptr[s + 1]]
        f = target.words[target.ptr[s] : target.ptr[s + 1]]
        own = cells.cell_of[cells.cell_ptr[s] : cells.cell_ptr[s + 1]].reshape(len(e), len(f))
        np.testing.assert_array_equal(row[own], np.broadcast_to(e[:, None], own.shape))
        np.testing.assert_array_equal(cells.column[own], np.broadcast_to(f, own.shape))
