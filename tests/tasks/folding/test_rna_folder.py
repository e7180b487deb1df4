"""The folder of RNA: what it takes, what it learns, what it refuses."""

import warnings

import numpy as np
import pytest

import maxmargin
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.formats.rna import parse_dot_bracket
from maxmargin.tasks import RNAFolder
from maxmargin.tasks.folding import rna_folder
from maxmargin.tasks.folding.bases import encode_bases, find_pairs
from maxmargin.tasks.folding.energies import loop_energies
from maxmargin.tasks.folding.rna_folder import draw_diverse
from maxmargin.tasks.folding.rows import loop_features


def hairpins(n, seed=0):
    """Helices of six or more pairs, with tails."""
    rng = np.random.default_rng(seed)
    sequences, structures = [], []
    for _ in range(n):
        size, loop, tail = rng.integers(5, 8), rng.integers(4, 8), rng.integers(0, 4)
        left = rng.choice([*"GC"], size)
        right = [{"G": "C", "C": "G"}[base] for base in left[::-1]]
        sequences.append("".join([*left, *("A" * loop), *right, *("A" * tail)]))
        structures.append("(" * size + "." * loop + ")" * size + "." * tail)
    return sequences, structures


@pytest.fixture(scope="module")
def folder():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return RNAFolder(max_epochs=6).fit(*hairpins(12))


def test_hairpins_are_learned_and_kept_in_files(folder, tmp_path):
    sequences, structures = hairpins(6, 1)
    assert folder.score(sequences, structures) > 0.95
    folder.save(tmp_path / "model")
    assert maxmargin.load(tmp_path / "model").predict(sequences) == folder.predict(sequences)
    assert folder.is_exact_


def test_lower_case_dna_and_unknown_bases(folder):
    sequence = hairpins(1, 2)[0][0]
    (found,) = folder.predict([sequence])
    assert folder.predict([sequence.lower()]) == [found]
    rna = sequence.replace("A", "U")
    assert folder.predict([rna]) == folder.predict([rna.replace("U", "T")])
    assert folder.predict(["NNNNNNNNNN", "", "A"]) == ["..........", "", "."]


def test_probabilities_and_the_best(folder):
    (sequence,), (structure,) = hairpins(1, 3)
    (p,) = folder.predict_marginals([sequence])
    assert p.shape == (len(sequence),) * 2
    np.testing.assert_array_equal(p, p.T)
    assert p.sum(axis=1).max() <= 1 + 1e-12
    i, j = parse_dot_bracket(structure)[1]
    assert p[i, j] > 0.5
    best = folder.predict_k_best([sequence], 3)[0]
    assert len(best) == 3
    assert best[0][1] >= best[1][1] >= best[2][1]
    folder.set_params(decoding="best")
    assert folder.predict([sequence]) == [best[0][0]]
    folder.set_params(decoding="expected")


def test_what_cannot_be_learned_from_is_counted():
    # a crossing pair, a pair with two bases between, and one of A with A
    sequences, structures = ["GGGAAAACCCAAGAAC", "GGGCAAGCCC", "GGAGAAAACACC"], [
        "(((..[.)))..]...", "((((..))))", "(((("  + "...." + "))))"]  # fmt: skip
    folder = RNAFolder(max_epochs=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        folder.fit(sequences, structures)
    assert any("3 sequences have pairs" in str(own.message) for own in told)
    assert folder.left_out_.tolist() == [2, 1, 0, 3]
    good = ["GGGGAAAACCCC"], ["((((....))))"]
    with pytest.warns(UserWarning, match=r"1 sequence has pairs .*\(the first is sequence 1\)"):
        RNAFolder(max_epochs=1, tol=10.0).fit([*good[0], sequences[0]], [*good[1], structures[0]])


def test_pairs_may_cross():
    # two helices of which the second starts within the loop of the first
    sequence = "GGGGGGAAACCCCCCCAAAAAGGGGGGG"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = RNAFolder(max_epochs=3, crossing=True).fit(*hairpins(6))
    assert not folder.is_exact_
    (found,) = folder.predict([sequence])
    assert len(found) == len(sequence)
    parse_dot_bracket(found)


def test_those_with_many_relatives_are_drawn_less(monkeypatch):
    rng = np.random.RandomState(0)
    others = ["".join(rng.choice([*"ACGU"], 60)) for _ in range(10)]
    sequences = [others[0]] * 90 + others
    drawn = [draw_diverse(sequences, list(range(100)), 10, rng) for _ in range(20)]
    assert all(own == sorted(set(own)) for own in drawn)
    assert np.mean([i >= 90 for own in drawn for i in own]) > 0.5
    monkeypatch.setattr(rna_folder, "_MOST_COMPARED", 20)
    assert len(set(draw_diverse(sequences, list(range(100)), 10, rng))) == 10
    assert len(set(draw_diverse(sequences, list(range(100)), 99, rng))) == 99


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (["GGGAAACCC"], ["(((...))"], "sample 0: y has 8 places, but x has 9 bases; give a dot"),
        (["GGGAAACCC"], ["(((...)))", "."], "1 sequences, but 2 structures"),
        (["GG?AAACCC"], ["(((...)))"], r"the letter '\?' at place 3"),
        (["GGÄAAACCC"], ["(((...)))"], r"the letter 'Ä' at place 3"),
        (["GGGAAACCC"], ["(((...))."], "is not closed"),
        (["GGGAAACCC"], ["(((...)]]"], "closes nothing"),
        (["GGGAAACCC"], ["(((.!.)))"], "neither a dot nor a bracket"),
        ([7], ["."], "expected a string of bases"),
        (["AAAA"], ["...."], "no sequences that can form pairs"),
    ],
)
def test_bad_input(x, y, words):
    with pytest.raises((ValueError, TypeError), match=words):
        RNAFolder().fit(x, y)


def test_one_string_is_refused():
    with pytest.raises(TypeError, match="one string"):
        RNAFolder().fit("GGGAAACCC", "(((...)))")


def test_pairs_that_stand_alone_are_left_out():
    codes = encode_bases("GAAAAC")
    assert find_pairs(codes, 3).tolist() == []
    assert find_pairs(codes, 3, [(0, 5)]).tolist() == [[0, 5]]
    assert find_pairs(encode_bases("GGAAAACC"), 3).tolist() == [[0, 7], [1, 6]]


def test_energies_of_stacked_pairs_are_those_of_both_sides():
    energies, features = loop_energies(), loop_features(False)
    stack = features[: 5**4]
    # parts that share a column have one energy
    for column in np.unique(stack.indices):
        rows = stack[:, [column]].nonzero()[0]
        assert len({energies[row] for row in rows}) == 1


def test_families_are_told_apart(folder):
    sequences, structures = hairpins(4, 5)
    report = folder.report(sequences, structures, ["a", "a", "b", "b"])
    assert [name for name, _ in report.families] == ["a", "b"]
    assert "precision" in str(report)
