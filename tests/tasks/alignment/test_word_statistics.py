"""WordStatistics: what is counted and kept, unseen words, options, arrays that can be stored."""

import io
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin.tasks import WordStatistics
from maxmargin.tasks.alignment.pair_edges import Edges
from maxmargin.tasks.alignment.word_forms import Vocabulary, plain_word

PAIRS = [
    (["The", "house"], ["la", "maison"]),
    (["the", "cat"], ["le", "chat"]),
    (["the", "white", "cat"], ["le", "chat", "blanc"]),
    (["the", "white", "house"], ["la", "maison", "blanche"]),
    (["house"], ["maison"]),
]


def associate(statistics, pair):
    edges = Edges([len(pair[0])], [len(pair[1])])
    same = np.array([plain_word(e) == plain_word(f) for e in pair[0] for f in pair[1]])
    return statistics.association(statistics.numbers([pair]), edges, same)


@pytest.fixture(scope="module")
def fitted():
    return WordStatistics(stem_length=4).fit(iter(PAIRS))


def test_words_are_counted_in_order_of_frequency(fitted):
    assert fitted.source_words_[0] == "the"
    assert fitted.source_counts_.tolist() == [4, 3, 2, 2]
    assert fitted.n_pairs_ == 5
    numbers = fitted.numbers([(["THE", "dog"], ["Maison"])])
    assert numbers[0].tolist() == [0, -1]
    assert fitted.target_words_[numbers[1][0]] == "maison"
    assert set(fitted.stems_.target_words_) == {"la", "mais", "le", "chat", "blan"}


def test_dice_by_hand():
    fitted = WordStatistics(min_probability=0.0, stem_length=None).fit(PAIRS)
    found = associate(fitted, (["the", "house"], ["la", "maison"])).dice
    # the 4, house 3, la 2, maison 3 sentence pairs
    the_la, the_maison, house_la, house_maison = 4 / 6, 4 / 7, 4 / 5, 1.0
    np.testing.assert_allclose(found, [the_la, the_maison, house_la, house_maison])


def test_posteriors_are_probabilities_and_find_the_words(fitted):
    found = associate(fitted, (["white", "house"], ["maison", "blanche"]))
    for name in ("mixture", "hmm"):
        forward = getattr(found, f"{name}_forward").reshape(2, 2)
        backward = getattr(found, f"{name}_backward").reshape(2, 2)
        assert (forward >= 0).all()
        assert (forward.sum(axis=0) <= 1 + 1e-12).all()
        assert (backward.sum(axis=1) <= 1 + 1e-12).all()
    both = (found.hmm_forward * found.hmm_backward).reshape(2, 2)
    assert both[0, 1] > 0.5 > both[0, 0]
    assert both[1, 0] > 0.5 > both[1, 1]


def test_unseen_words_are_linked_by_spelling_and_place(fitted):
    found = associate(fitted, (["the", "Ottawa", "house"], ["la", "maison", "Ottawa"]))
    both = (found.hmm_forward * found.hmm_backward).reshape(3, 3)
    assert both[1].argmax() == 2
    assert np.isfinite(both).all()
    nothing = associate(fitted, (["x", "y"], ["u", "v"]))
    assert all(np.isfinite(column).all() for column in nothing)
    assert (nothing.dice == 0).all()


def test_learned_facts_are_arrays_numbers_and_lists_of_str(fitted):
    for own in (fitted, fitted.stems_):
        learned = {k: v for k, v in vars(own).items() if k.endswith("_") and k != "stems_"}
        assert {"row_ptr_", "column_", "hmm_", "mixture_", "jumps_"} <= set(learned)
        arrays = {}
        for name, value in learned.items():
            if isinstance(value, list):
                assert all(isinstance(word, str) for word in value)
                value = np.array(value)
            assert isinstance(value, (np.ndarray, int)), name
            arrays[name] = value
        file = io.BytesIO()
        np.savez(file, **arrays)
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            np.testing.assert_array_equal(stored["hmm_"], own.hmm_)


def test_refit_equals_a_fresh_fit(fitted):
    other = WordStatistics(stem_length=4).fit([(["a", "b"], ["x", "y"]), (["b"], ["y"])])
    other.numbers([(["a"], ["x"])], stems=True)
    other.fit(PAIRS)
    assert other.source_words_ == fitted.source_words_
    np.testing.assert_array_equal(other.hmm_, fitted.hmm_)
    pair = (["the", "white", "cat"], ["le", "chat"])
    for stems in (False, True):
        for a, b in zip(other.numbers([pair], stems), fitted.numbers([pair], stems), strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_change_no_bit(fitted):
    threads = WordStatistics(stem_length=4, n_jobs=2).fit(PAIRS)
    for one, two in ((fitted, threads), (fitted.stems_, threads.stems_)):
        assert one.source_words_ == two.source_words_
        np.testing.assert_array_equal(one.hmm_, two.hmm_)
        np.testing.assert_array_equal(one.log_likelihood_, two.log_likelihood_)


def test_pruning_keeps_what_is_probable():
    full = WordStatistics(min_probability=0.0).fit(PAIRS)
    pruned = WordStatistics(min_probability=0.3).fit(PAIRS)
    assert 0 < len(pruned.column_) < len(full.column_)
    strongest = np.maximum(pruned.hmm_.max(axis=0), pruned.mixture_.max(axis=0))
    assert (strongest >= 0.3).all()
    for e in range(len(full.source_words_)):
        own = full.column_[full.row_ptr_[e] : full.row_ptr_[e + 1]]
        assert (np.diff(own) > 0).all()


def test_long_and_empty_pairs_are_left_out():
    pairs = [*PAIRS, ([], ["x"]), (["y"], []), (["a"] * 9, ["b"])]
    assert WordStatistics(max_length=5).fit(pairs).n_pairs_ == len(PAIRS)
    assert WordStatistics(max_length=9).fit(pairs).n_pairs_ == len(PAIRS) + 1


def test_progress_is_shown_only_if_asked_for(capsys):
    WordStatistics(stem_length=None).fit(PAIRS)
    assert capsys.readouterr() == ("", "")
    WordStatistics(stem_length=None, verbose=1).fit(PAIRS)
    out, err = capsys.readouterr()
    assert out == ""
    assert "HMM" in err


def test_clone_and_pickle(fitted):
    with pytest.raises(NotFittedError):
        clone(fitted).numbers([PAIRS[0]])
    fitted.numbers([PAIRS[0]])
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        associate(again, PAIRS[0]).hmm_forward, associate(fitted, PAIRS[0]).hmm_forward
    )


@pytest.mark.parametrize(
    ("options", "pairs", "error", "told"),
    [
        ({}, [], ValueError, "no sentence pair"),
        ({"max_length": 1}, PAIRS[:2], ValueError, "max_length=1"),
        ({"max_length": 0}, PAIRS, ValueError, "max_length=0"),
        ({"p0": 0}, PAIRS, ValueError, "p0=0"),
        ({"p0": "x"}, PAIRS, ValueError, "p0='x'"),
        ({"far": 1.5}, PAIRS, ValueError, "far=1.5"),
        ({"stem_length": 0}, PAIRS, ValueError, "stem_length=0"),
        ({"mixture_rounds": 0}, PAIRS, ValueError, "mixture_rounds=0"),
        ({"min_probability": 2}, PAIRS, ValueError, "min_probability=2"),
        ({}, [*PAIRS, ("a b", ["c"])], TypeError, "pair 5: its source sentence is a str"),
        ({}, [*PAIRS, (["a"], [b"c"])], TypeError, "pair 5: target token 0"),
        ({}, [(["a"], ["b"], ["c"])], ValueError, "pair 0 has 3 members"),
        ({}, 7, TypeError, "pairs is int"),
        ({}, "a b", TypeError, "pairs is str"),
    ],
)
def test_bad_input(options, pairs, error, told):
    with pytest.raises(error, match=told):
        WordStatistics(**options).fit(pairs)


def test_plain_words():
    assert [plain_word(w) for w in ("Été", "-LRB-", "COJO", "1er", "Œuvre", "l'")] == [
        "ete", "(", "cojo", "1er", "œuvre", "l'",
    ]  # fmt: skip
    assert plain_word("\u0301") == "\u0301"  # never empty
    vocabulary = Vocabulary()
    assert vocabulary.add(["A", "b", "a", "B"]) == [0, 1, 0, 1]
    assert vocabulary.find(["b", "c"]) == [1, -1]
