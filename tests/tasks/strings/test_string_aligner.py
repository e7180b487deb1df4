"""StringAligner on words made here, on what it refuses, and on real pairs where there are any."""

import warnings
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import load_string_pairs, make_string_pairs
from maxmargin.exceptions import ConvergenceWarning, SampleError
from maxmargin.metrics import string_alignment_scores
from maxmargin.structures import PairAlignment
from maxmargin.tasks import StringAligner
from maxmargin.tasks.strings.features import PairFeatures
from maxmargin.tasks.strings.symbols import (
    SymbolCodes,
    find_base,
    learn_classes,
    look_like_proteins,
    tabulate_similarity,
)

PAIRS, ALIGNMENTS = make_string_pairs(150)
OTHERS, OTHER_ALIGNMENTS = make_string_pairs(60, random_state=1)


@pytest.fixture(scope="module")
def aligner():
    return StringAligner().fit(PAIRS, ALIGNMENTS)


def test_words_of_related_languages_are_aligned(aligner):
    report = aligner.report(OTHERS, OTHER_ALIGNMENTS)
    assert report.exact > 0.9
    assert report.pairs_f1 > 0.97
    assert aligner.score(OTHERS, OTHER_ALIGNMENTS) == report.pairs_f1
    assert aligner.result_.relative_gap <= 0.02
    expected = copy(aligner).set_params(decoding="expected").predict(OTHERS)
    assert string_alignment_scores(OTHER_ALIGNMENTS, expected).exact > 0.9


def test_predictions_are_the_same_alone_saved_and_from_another_fit(aligner, tmp_path):
    expected = aligner.predict(OTHERS)
    assert [aligner.predict([pair])[0] for pair in OTHERS[:5]] == expected[:5]
    aligner.save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").predict(OTHERS) == expected
    assert np.array_equal(clone(aligner).fit(PAIRS, ALIGNMENTS).coef_, aligner.coef_)


def test_probabilities_and_best_alignments(aligner):
    pair = OTHERS[3]
    (p,) = aligner.predict_marginals([pair])
    assert p.shape == tuple(map(len, pair))
    assert p.min() >= 0
    assert max(p.sum(axis=0).max(), p.sum(axis=1).max()) <= 1 + 1e-9
    (best,) = aligner.predict_k_best([pair], 4)
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    assert all(p[i, j] > 0 for i, j in best[0][0])
    calibrated = clone(aligner).fit(PAIRS[:20], ALIGNMENTS[:20])
    calibrated.calibrate([*OTHERS, ("pa", "fa")], [*OTHER_ALIGNMENTS, [(0, 1)]])
    assert 0.1 < calibrated.temperature_ < 1.0  # the penalty was too strong for so few


def test_expected_matches_are_the_most_that_any_alignment_can_expect(aligner):
    pair, layout = ("pate", "fas"), (4, 3)
    (p,) = aligner.predict_marginals([pair])
    (found,) = copy(aligner).set_params(decoding="expected").predict([pair])
    worth = []
    for z in PairAlignment().vertices(layout):
        matches = z[:12].reshape(layout)
        alone = (1 - p.sum(axis=1))[matches.sum(axis=1) == 0].sum()
        alone += (1 - p.sum(axis=0))[matches.sum(axis=0) == 0].sum()
        links = list(zip(*map(np.ndarray.tolist, np.nonzero(matches)), strict=True))
        worth.append(((matches * p).sum() + 0.1 * alone, links))
    assert max(worth)[1] == found


def test_distances(aligner):
    related = np.mean([aligner.distance(*pair) for pair in OTHERS])
    other = np.mean([aligner.distance(OTHERS[i][0], OTHERS[i - 1][1]) for i in range(len(OTHERS))])
    assert related < 0.5 * other
    assert aligner.distance("patu", "patu") == 0
    assert aligner.distance("", "") == 0
    assert aligner.distance("", "a") == aligner.distance("a", "") == 1
    assert 0 <= aligner.distance("xyz", "patu") <= 1
    assert aligner.distance("patu", "fas") == pytest.approx(aligner.distance("fas", "patu"))


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("ends", ["global", "free", "local"])
def test_symbols_that_training_did_not_have_are_told_apart(ends, context):
    made = make_string_pairs(10)
    own = StringAligner(ends=ends, context=context, max_epochs=20).fit(*made)
    assert own.distance("zzq1", "zzq1") == 0
    assert own.distance("zz", "qq") > 0.1
    assert own.distance((-1, "z"), (-2, "z")) > own.distance((-1, "z"), (-1, "z")) == 0
    alike, other = own.predict_marginals([("paz", "paz"), ("paz", "paq")])
    assert alike[2, 2] > other[2, 2]


@pytest.mark.parametrize("ends", ["free", "local"])
def test_ends_that_cost_nothing(ends):
    """A word inside a longer one: what is around it is not to be learned from."""
    rng = np.random.default_rng(0)
    pairs, links = [], []
    for (a, b), own in zip(PAIRS[:60], ALIGNMENTS[:60], strict=True):
        before, after = ("".join(rng.choice(list("xyz"), size)) for size in rng.integers(0, 5, 2))
        pairs.append((before + a + after, b))
        links.append([(i + len(before), j) for i, j in own])
    model = StringAligner(ends=ends).fit(pairs[:40], links[:40])
    assert model.score(pairs[40:], links[40:]) > 0.9


@pytest.mark.parametrize("context", [True, False])
def test_margins_classes_similarities_and_weights(context):
    classes = {letter: "vowel" if letter in "aeiou" else "other" for letter in "abdefghiklmnoprstu"}
    known = {(a, b): 1.0 if a == b else -1.0 for a in classes for b in classes}
    weight = np.r_[np.ones(40), np.zeros(40)]
    links = [*ALIGNMENTS[:40], *([] for _ in range(40))]
    options = {"objective": "margin", "classes": classes, "similarity": known, "context": context}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = StringAligner(**options).fit(PAIRS[:80], links, sample_weight=weight)
    assert model.score(OTHERS, OTHER_ALIGNMENTS) > 0.9
    assert model.context_ == context


def test_symbols_may_be_anything_and_new(aligner):
    pairs = [((1, (2, 3), None), (1, None)), ([4, 5], [])]
    model = StringAligner().fit(pairs, [[(0, 0), (2, 1)], []])
    assert model.predict(pairs) == [[(0, 0), (2, 1)], []]
    assert model.predict([((1, "new", None), (1, 7.5, None))])[0][0] == (0, 0)
    assert aligner.predict([("ΩΩ", "ΩΩ"), ("", "a"), ("a", "")])[1:] == [[], []]


def test_early_stopping_scores_held_out_pairs():
    stopping = EarlyStopping(OTHERS, OTHER_ALIGNMENTS, patience=1)
    StringAligner(callbacks=[stopping], tol=0.0, max_epochs=30).fit(PAIRS[:60], ALIGNMENTS[:60])
    assert stopping.best_ > 0.9


def test_cells_bound_what_is_learned_from(caplog):
    caplog.set_level("INFO", "maxmargin")
    model = StringAligner(max_cells=200, max_epochs=2, tol=1.0).fit(PAIRS, ALIGNMENTS)
    assert 0 < model.n_learned_ < model.n_given_ == len(PAIRS)
    assert f"learned from {model.n_learned_} of {len(PAIRS)} samples" in caplog.text
    assert "max_cells" in caplog.text
    assert len(model.symbols_) < len(
        {letter for pair in PAIRS for string in pair for letter in string}
    )
    assert StringAligner(max_cells=1, tol=1.0).fit(PAIRS, ALIGNMENTS).symbols_


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_that_is_too_long_does_not_keep_others_out(seed):
    pairs = [("x" * 40, "x" * 40), *PAIRS]
    links = [[(i, i) for i in range(40)], *ALIGNMENTS]
    model = StringAligner(max_cells=200, max_epochs=2, tol=1.0, random_state=seed)
    assert "x" not in model.fit(pairs, links).symbols_


@pytest.mark.parametrize(
    ("pairs", "links", "words"),
    [
        ("ab", [], "pairs is a str"),
        ([("a", "b"), "ab"], [[], []], "pair 1: 'ab', expected two strings"),
        ([("a", 3)], [[]], "pair 0: a string is a int"),
        ([("a", [[1]])], [[]], "pair 0: symbols must have a hash"),
        ([("a", "b")], [], "1 pairs but 0 alignments"),
        ([("a", "b")], [[(0, 1)]], "pair 0: positions beyond those of strings of 1 and 1"),
        ([("ab", "ab")], [[(0, 1), (1, 0)]], "pair 0: matches cross"),
        ([("ab", "ab")], [[(0, 0), (0, 1)]], "pair 0: matches cross, or a symbol has two"),
        ([("ab", "ab")], [[(0.5, 0)]], "pair 0: expected pairs of integers"),
        ([("ab", "ab")], [[0, 1, 1]], "pair 0: expected pairs of integers"),
        ([("", "ab")], [[]], "no pairs of strings with symbols"),
    ],
)
def test_what_is_no_pair_or_alignment_is_refused(pairs, links, words):
    with pytest.raises((SampleError, ValueError, TypeError), match=words):
        StringAligner().fit(pairs, links)


def test_forged_models_are_refused(aligner):
    changed = clone(aligner)
    for name, value in {
        "symbol_classes_": aligner.symbol_classes_ + 99,
        "symbols_": aligner.symbols_[1:],
        "bases_": aligner.bases_[1:],
    }.items():
        changed.__dict__.update(aligner.__dict__ | {name: value})
        with pytest.raises(ValueError, match="StringAligner"):
            changed.validate()


# -- symbols and features --------------------------------------------------------------------------
def test_bases():
    found = [
        find_base(symbol) for symbol in ("a", "Á", "tʰ", "\u02c8t͡s", "³⁵", "55", "-", 7, None, "")
    ]
    assert found == ["a", "a", "t", "t", "No", "Nd", "Pd", 7, None, ""]


def test_letters_that_are_matched_are_in_one_class():
    bases = list("pbtdszkgfvmnai")
    pairs = [
        (a + "a" + b + "i", b + "a" + a + "i") for a, b in ("pb", "td", "sz", "kg", "fv", "mn")
    ]
    classes = learn_classes(pairs * 5, [[(i, i) for i in range(4)]] * 30, bases)
    assert classes.shape == (15, 2)
    assert classes[0].tolist() == [0, 0]
    few = dict(zip(bases, classes[1:, 0].tolist(), strict=True))
    assert all(few[a] == few[b] for a, b in ("pb", "td", "sz", "kg", "fv", "mn"))
    assert few["a"] != few["p"] != few["t"]


def test_similarities():
    assert look_like_proteins(list("ARNDCQEGHILKMFPSTWYVX"))
    assert not look_like_proteins(list("acgt"))
    assert not look_like_proteins(["a", "tʰ"])
    table = 2 * tabulate_similarity("blosum62", list("AWwxB"))
    assert np.array_equal(table, table.T)
    assert table[1:, 1:].tolist()[:3] == [
        [4, -3, -3, 0, -2],
        [-3, 11, 11, -2, -4],
        [-3, 11, 11, -2, -4],
    ]
    known = tabulate_similarity({("a", "b"): 2.0, ("a", "a"): -2.0}, ["a", "b"])
    assert known.tolist() == [[0, 0, 0], [0, -1, 1], [0, 1, 0]]


@pytest.mark.parametrize("context", [True, False])
def test_rows_are_those_of_parts(context):
    """Rows made together are those made alone, and exchange with the strings."""
    codes = SymbolCodes(list("abc"), list("abc"), learn_classes([], [], list("abc")), None)
    for similarity in (None, {("a", "b"): 1.0}):
        features = PairFeatures(codes, similarity, context, False)
        pairs = [("ab", "cab"), ("c", "a"), ("abca", "b")]
        alone = [features.make_rows([pair]).toarray() for pair in pairs]
        assert np.array_equal(features.make_rows(pairs).toarray(), np.vstack(alone))
        there, back = alone[0], features.make_rows([("cab", "ab")]).toarray()
        cells = there[:6].reshape(2, 3, -1)
        assert np.array_equal(cells, back[:6].reshape(3, 2, -1).swapaxes(0, 1))
        deleted = there[6:18].reshape(2, 3, 2, -1)
        assert np.array_equal(deleted, back[24:].reshape(3, 2, 2, -1).swapaxes(0, 1))
        free = PairFeatures(codes, similarity, context, True).make_rows(pairs[:1]).toarray()
        is_free = ~free.any(axis=1)
        assert is_free.reshape(-1, 2)[3:9].any(axis=1).tolist() == [True, False, True] * 2
        assert not is_free[:6].any()
        assert np.array_equal(free[~is_free], there[~is_free])


def test_phonetic_words_of_other_word_sets(data_dir):
    data = load_string_pairs("bdpa", data_dir)
    groups = sorted({*data.groups})
    held = {*groups[::5]}
    chosen = [i for i, group in enumerate(data.groups) if group not in held][::3]
    others = [i for i, group in enumerate(data.groups) if group in held][::3]
    model = StringAligner().fit(*([own[i] for i in chosen] for own in data))
    assert model.report(*([own[i] for i in others] for own in data)).exact > 0.8


@pytest.mark.parametrize("options", [{}, {"ends": "free"}, {"context": False}, {"similarity": "x"}])
def test_long_pairs_have_the_same_scores_without_rows(options, monkeypatch):
    data = make_string_pairs(20, random_state=0)
    if "similarity" in options:
        options = {"similarity": {("t", "s"): 1.5, ("a", "a"): 0.5}}
    model = StringAligner(tol=0.5, **options).fit(*data)
    pairs = [*data.pairs, ("", "ab"), ("lane" * 9, "zlein" * 7)]
    expected = model.predict(pairs)
    w, features = np.random.default_rng(0).normal(size=model.n_features_in_), model._features()
    monkeypatch.setattr("maxmargin.tasks.strings.features._BLOCK", 50)
    for pair in pairs[:3] + pairs[-1:]:
        assert features.score_parts(pair, w) == pytest.approx(features.make_rows([pair]) @ w)
    monkeypatch.setattr("maxmargin.tasks.strings.string_aligner.LONG", 20)
    assert model.predict(pairs) == expected
