"""Word statistics that do not go together are refused at load: kernels trust them."""

from copy import deepcopy

import numpy as np
import pytest

import maxmargin
from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import objects
from maxmargin.tasks import AlignmentFeatures, WordAligner
from maxmargin.tasks.alignment.word_statistics import WordStatistics
from persistence.model_files import made, round_trip


def changed(name, change):
    def forge(stats):
        setattr(stats, name, change(getattr(stats, name)))

    return forge


def with_item(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


FORGED = [
    ("row_ptr_", lambda a: a + 2**40, "row_ptr_ does not rise from 0"),
    ("row_ptr_", with_item(1, 2**40), "row_ptr_ does not rise from 0"),
    ("row_ptr_", with_item(1, -(2**63)), "row_ptr_ does not rise from 0"),
    ("row_ptr_", lambda a: a[:-1], "row_ptr_ is not an array of int64"),
    ("row_ptr_", lambda a: a.astype(np.int32), "row_ptr_ is not an array of int64"),
    ("row_ptr_", lambda a: a.tolist(), "row_ptr_=.* must be"),
    ("column_", lambda a: a[:-1], "row_ptr_ does not rise from 0"),
    ("column_", lambda a: a.astype(np.int64), "column_ is not an array of int32"),
    ("column_", with_item(0, -1), "numbers of no target word"),
    ("column_", with_item(-1, 2**30), "numbers of no target word"),
    ("column_", lambda a: a[::-1].copy(), "not sorted within its rows"),
    ("column_", with_item(1, 0), "not sorted within its rows"),
    ("together_", lambda a: a[:-1], "together_ is not an array of int32"),
    ("together_", with_item(0, 10**6), "together_ has counts"),
    ("mixture_", lambda a: a[:1], "mixture_ is not an array of float32"),
    ("mixture_", lambda a: a.T.copy(), "mixture_ is not an array of float32"),
    ("mixture_", with_item((0, 0), np.nan), "mixture_ has numbers that are not from 0 to 1"),
    ("hmm_", lambda a: a[:, :-1], "hmm_ is not an array of float32"),
    ("hmm_", lambda a: a.astype(np.float64), "hmm_ is not an array of float32"),
    ("hmm_", with_item((1, 0), 1.5), "hmm_ has numbers that are not from 0 to 1"),
    ("hmm_null_target_", lambda a: a[:-1], "hmm_null_target_ is not an array of float32"),
    ("mixture_null_source_", with_item(0, -0.1), "mixture_null_source_ has numbers"),
    ("source_counts_", lambda a: a[:-1], "source_counts_ is not an array of int64"),
    ("target_counts_", lambda a: a[:-1], "target_counts_ is not an array of int64"),
    ("target_counts_", with_item(0, 0), "target_counts_ has counts"),
    ("source_words_", lambda words: [*words, "more"], "row_ptr_ is not an array of int64"),
    ("target_words_", lambda words: words[:-1], "numbers of no target word"),
    ("target_words_", lambda words: [*words[:-1], 7], "target_words_=.* must be a list of"),
    ("jumps_", lambda a: a[:, :-1], "jumps_ is not an array of float64"),
    ("jumps_", with_item((0, 0), 0.0), "jumps_ has weights that are not above 0"),
    ("jumps_", with_item((0, 0), np.inf), "jumps_ has numbers"),
    ("p0", lambda _: np.nan, "p0=nan"),
    ("p0", lambda _: 1.0, "p0=1.0"),
    ("far", lambda far: far + 1, "jumps_ is not an array of float64"),
    ("far", lambda _: -1, "far=-1"),
    ("max_length", lambda _: "long", "max_length='long'"),
    ("stem_length", lambda _: None, "stems_ does not go with stem_length"),
    ("stem_length", lambda _: 0, "stem_length=0"),
    ("stems_", lambda _: None, "stems_ does not go with stem_length"),
    ("stems_", lambda _: "stems", "stems_='stems' must be"),
    ("stems_", lambda _: WordStatistics(stem_length=None), "not the fitted statistics of stems"),
    ("stems_", lambda own: changed("source_words_", lambda w: ["abcdefgh", *w[1:]])(own) or own,
     "stems of more than 5 letters"),
    ("stems_", lambda own: changed("row_ptr_", lambda a: a + 2**40)(own) or own, "row_ptr_ does"),
    ("stems_", lambda own: changed("p0", lambda _: np.nan)(own) or own, "p0=nan"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), FORGED)
def test_statistics_that_do_not_go_together(name, change, message, tmp_path):
    model = deepcopy(made("aligned")[0])
    changed(name, change)(model.statistics_)
    with pytest.raises(ModelFileError, match=message):
        round_trip(model, tmp_path)


def test_vocabularies_are_not_loaded(tmp_path, monkeypatch):
    model = deepcopy(made("aligned")[0])
    model.statistics_._known = {}
    monkeypatch.delattr(WordStatistics, "__getstate__")
    monkeypatch.setattr(objects, "_may_have", lambda cls, name: True)
    model.save(tmp_path / "model.mm")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="'_known' is not an attribute that a WordStatistics"):
        maxmargin.load(tmp_path / "model.mm")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("statistics_", WordStatistics(), "not a fitted WordStatistics"),
        ("statistics_", None, "statistics_=None must be"),
        ("columns_", [1], r"columns_=\[1\] must be a list of strings"),
        ("columns_", ["other"], "differ in the number of features"),
        ("frequent", -1, "frequent=-1 must be"),
        ("frequent", 1, "differ in the number of features"),
        ("frequent", 3, "differ in the number of features"),
        ("vectors", None, "differ in the number of features"),
        ("vectors", WordStatistics(), "no method cosines"),
    ],
)
def test_features_that_do_not_go_together(name, value, message, tmp_path):
    model = deepcopy(made("aligned")[0])
    setattr(model.features_, name, value)
    with pytest.raises(ModelFileError, match=message):
        round_trip(model, tmp_path)


def test_weights_must_be_as_many_as_features(tmp_path):
    model = deepcopy(made("aligned")[0])
    model.model_.n_features_in_ -= 1
    with pytest.raises(ModelFileError, match="coef_ is not an array of float64 of shape"):
        round_trip(model, tmp_path)
    model.model_.n_features_in_ += 1
    model.features_ = model.statistics_
    with pytest.raises(ModelFileError, match="features_=.* must be"):
        round_trip(model, tmp_path)


def test_frequent_words_beyond_the_weights_are_not_even_named(tmp_path, monkeypatch):
    model = deepcopy(made("aligned")[0])
    model.save(tmp_path / "model.mm")
    n = 40  # 40 x 40 pairs are more than all features
    assert model.n_features_in_ < n * n
    names = [str(k) for k in range(n)]
    monkeypatch.setattr(AlignmentFeatures, "_frequent_words", lambda self: (names, names))
    monkeypatch.setattr(AlignmentFeatures, "feature_names_out", None)
    with pytest.raises(ModelFileError, match="differ in the number of features"):
        maxmargin.load(tmp_path / "model.mm")


def test_what_was_fitted_otherwise_loads(tmp_path):
    pairs = made("aligned")[1]
    for options in ({"stem_length": None}, {"hmm_rounds": 0, "far": 1}, {"min_probability": 0.9}):
        statistics = WordStatistics(**options)
        model = WordAligner(statistics=statistics).fit(pairs, [{(0, 0)}, {(1, 1)}])
        assert round_trip(model, tmp_path).predict(pairs) == model.predict(pairs)
    unfitted = WordAligner(statistics=WordStatistics(p0=7.0))  # as `fit` would say
    with pytest.raises(ModelFileError, match=r"p0=7\.0 must be"):
        round_trip(unfitted, tmp_path)
