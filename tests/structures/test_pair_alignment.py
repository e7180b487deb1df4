"""What is particular to PairAlignment; tests/contract tests what all structures do."""

from itertools import product

import numpy as np
import pytest

from maxmargin.structures import Derivations, PairAlignment

KINDS = list(product((False, True), ("symbol", "cell")))


def affine(match, opened, further, ends=1.0):
    """Scores of matches, and costs of gaps; those at the ends are multiplied."""
    m, n = match.shape
    place = np.array([ends, 1.0, ends])[:, np.newaxis] * [-opened, -further]
    delete = np.broadcast_to(place, (m, 3, 2))
    insert = np.broadcast_to(place[:, np.newaxis], (3, n, 2))
    return np.concatenate([match.ravel(), delete.ravel(), insert.ravel()])


def plain_global(match, opened, further):
    """Gotoh's recursion in its plainest form, in which gaps may follow each other in any order."""
    m, n = match.shape
    best = np.full((3, m + 1, n + 1), -np.inf)
    best[0, 0, 0] = 0.0
    for i, j in product(range(m + 1), range(n + 1)):
        if i and j:
            best[0, i, j] = best[:, i - 1, j - 1].max() + match[i - 1, j - 1]
        if i:
            best[1, i, j] = max(best[:, i - 1, j].max() - opened, best[1, i - 1, j] - further)
        if j:
            best[2, i, j] = max(best[:, i, j - 1].max() - opened, best[2, i, j - 1] - further)
    return best


@pytest.mark.parametrize(("local", "gaps"), KINDS)
def test_alignments_are_derivations(local, gaps):
    rng, own = np.random.default_rng(0), PairAlignment(local, gaps)
    for layout in [(1, 1), (1, 4), (6, 5), (9, 12)]:
        theta = rng.normal(size=own.n_parts(layout))
        program = own.program(layout)
        assert np.array_equal(own.maximize(theta, layout), Derivations().maximize(theta, program))
        expected = Derivations().marginals(theta, program)
        assert own.marginals(theta, layout) == pytest.approx(expected, abs=1e-12)
        value = Derivations().log_partition(theta, program)
        assert own.log_partition(theta, layout) == pytest.approx(value, rel=1e-13)


def test_affine_gaps_cost_as_in_the_plain_recursion():
    rng, own = np.random.default_rng(1), PairAlignment()
    for _ in range(200):
        m, n = rng.integers(1, 12, size=2)
        match, (opened, further) = rng.normal(0, 3, size=(m, n)), np.sort(rng.random(2) * 4)[::-1]
        best = plain_global(match, opened, further)[:, m, n].max()
        assert own.oracle().maximize(affine(match, opened, further), (m, n))[1] == pytest.approx(
            best
        )


def test_free_ends_cost_nothing():
    """Gaps before and after the other string are free, also where both begin with one."""
    rng, own = np.random.default_rng(2), PairAlignment()
    for _ in range(100):
        m, n = rng.integers(1, 9, size=2)
        match = rng.normal(-1, 3, size=(m, n))
        best = 0.0
        for i, j in product(range(m), range(n)):
            if i and j:
                continue
            for k, l in product(range(i + 1, m + 1), range(j + 1, n + 1)):
                if k == m or l == n:
                    inner = plain_global(match[i:k, j:l], 2.0, 0.5)
                    best = max(best, inner[:, -1, -1].max())
        found = own.oracle().maximize(affine(match, 2.0, 0.5, ends=0.0), (m, n))[1]
        assert found == pytest.approx(best)


def test_local_alignments_are_the_best_of_all_substrings():
    rng, own = np.random.default_rng(3), PairAlignment(local=True)
    for _ in range(50):
        m, n = rng.integers(1, 7, size=2)
        match = rng.normal(-1, 3, size=(m, n))
        best = 0.0
        for i, j in product(range(m), range(n)):
            inner = plain_global(match[i:, j:], 2.0, 0.5)
            best = max(best, inner.max())
        assert own.oracle().maximize(affine(match, 2.0, 0.5), (m, n))[1] == pytest.approx(best)


@pytest.mark.parametrize("mode", ["global", "local"])
def test_scores_are_those_of_biopython(mode):
    """Random proteins by BLOSUM62, gaps of 11 and 1."""
    reason = "Biopython is not installed"
    aligner = pytest.importorskip("Bio.Align", reason=reason).PairwiseAligner(mode=mode)
    matrices = pytest.importorskip("Bio.Align.substitution_matrices", reason=reason)
    table = aligner.substitution_matrix = matrices.load("BLOSUM62")
    aligner.open_gap_score, aligner.extend_gap_score = -11.0, -1.0
    rng, oracle = np.random.default_rng(5), PairAlignment(mode == "local").oracle()
    for m, n in rng.integers(1, 120, size=(2000, 2)).tolist():
        first, second = rng.integers(20, size=m), rng.integers(20, size=n)
        match = np.asarray(table)[np.ix_(first, second)]
        letters = ("".join(np.array(list(table.alphabet))[own]) for own in (first, second))
        found = oracle.maximize(affine(match, 11.0, 1.0), (m, n))[1]
        assert found == max(aligner.score(*letters), 0.0 if mode == "local" else -np.inf)


def test_gaps_between_matches_are_filled_in():
    own = PairAlignment()
    columns = own.decode(own.encode([(1, 0), (3, 2)], (4, 5)), (4, 5)).tolist()
    assert columns == [[0, -1], [1, 0], [2, -1], [-1, 1], [3, 2], [-1, 3], [-1, 4]]
    # the longer gap at each end is the one before, or after, the other string
    assert own.decode(own.encode([(1, 2)], (4, 4)), (4, 4)).tolist() == [
        [-1, 0], [-1, 1], [0, -1], [1, 2], [-1, 3], [2, -1], [3, -1],
    ]  # fmt: skip
    local = PairAlignment(local=True)
    assert local.decode(local.encode([(1, 0), (3, 2)], (4, 5)), (4, 5)).tolist() == columns[1:5]
    assert local.encode([], (2, 2)).sum() == 0
    assert len(local.decode(np.zeros(28), (2, 2))) == 0


@pytest.mark.parametrize(
    ("y", "local", "words"),
    [
        ([(0, 0), (0, 1)], False, "must rise in both"),
        ([(1, 0), (0, 1)], False, "must rise in both"),
        ([(0, 2)], False, "beyond 0 to 1 and 0 to 1"),
        ([(0, -2)], False, "beyond"),
        ([0, 1], False, "expected \\(k, 2\\)"),
        ([(0.5, 1.0)], False, "is not an integer"),
        ([(-1, -1)], False, r"column \(-1, -1\) where \(0, 0\)"),
        ([(0, -1), (1, 1)], False, r"column \(1, 1\) where \(1, 0\)"),
        ([(0, -1), (1, 0)], False, r"y ends at \(2, 1\), before the ends \(2, 2\)"),
        ([(0, -1), (1, 0)], True, "begins and ends with a match"),
    ],
)
def test_columns_that_are_no_alignment_are_refused(y, local, words):
    with pytest.raises(ValueError, match=words):
        PairAlignment(local).encode(y, (2, 2))


def test_insertions_before_deletions_are_refused_inside():
    y = [(0, 0), (-1, 1), (1, -1), (2, 2)]
    with pytest.raises(ValueError, match="in a gap, deletions come first"):
        PairAlignment().encode(y, (3, 3))


def test_long_strings_are_aligned_and_longer_ones_refused():
    own, layout = PairAlignment(), (700, 800)
    theta = np.random.default_rng(0).normal(size=own.n_parts(layout))
    columns = own.decode(own.maximize(theta, layout), layout)
    assert (columns.max(axis=0) == [699, 799]).all()
    with pytest.raises(ValueError, match="9000 and 9000 symbols .* cut them"):
        own.n_parts((9000, 9000))


def test_forbidden_matches_are_in_no_alignment():
    rng, own, layout = np.random.default_rng(4), PairAlignment(), (12, 9)
    theta = rng.normal(size=own.n_parts(layout))
    theta[:108][rng.random(108) < 0.6] = -np.inf
    banned = np.isneginf(theta)
    for ability in ("maximize", "marginals", "project"):
        assert not getattr(own, ability)(theta, layout)[banned].any()


def test_ends_of_large_scores_share_all_probability():
    own = PairAlignment(local=True)
    theta = np.full(own.n_parts((3, 1)), -np.inf)
    theta[:3] = 1e9 / 3  # one match, whose sum is rounded
    assert own.marginals(theta, (3, 1))[:3] == pytest.approx(np.full(3, 1 / 3), rel=1e-14)
