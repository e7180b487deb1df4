"""The dependency parser on sentences made here; tests/real has those of treebanks."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin._numba.parsing import arc_features
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_treebank
from maxmargin.exceptions import SampleError, UncalibratedWarning
from maxmargin.metrics import attachment_scores
from maxmargin.tasks import DependencyParser
from maxmargin.tasks.parsing.tokens import encode_text

pytestmark = [
    pytest.mark.filterwarnings("ignore:max_epochs"),
    pytest.mark.filterwarnings("ignore:no token of these sentences has a part of speech"),
]
SENTENCES, TREES = make_treebank(60)
OTHERS, OTHER_TREES = make_treebank(30, random_state=1)
CROSSING = (
    [{"form": form, "upos": "X"} for form in "abcd"],
    [(3, "x"), (4, "x"), (0, "x"), (3, "x")],
)


def fit(**options):
    return DependencyParser(**{"max_epochs": 10} | options).fit(SENTENCES, TREES)


@pytest.fixture(scope="module")
def parser():
    return fit()


def test_trees_of_new_sentences_are_predicted(parser):
    found = parser.predict(OTHERS)
    scores = attachment_scores(OTHER_TREES, found)
    assert scores.uas > 0.9
    assert scores.las > 0.9
    assert parser.score(OTHERS, OTHER_TREES) == pytest.approx(scores.las)
    assert all(sum(head == 0 for head, _ in tree) == 1 for tree in found)
    assert parser.result_.primal >= parser.result_.dual


@pytest.mark.parametrize(
    "options",
    [{"projective": False}, {"single_root": False}, {"objective": "likelihood", "max_epochs": 5},
     {"solver": "ssg"}, {"solver": "cutting-plane"}, {"bits": 16}],
    ids=str,
)  # fmt: skip
def test_options_learn_as_well(options):
    assert fit(**options).score(OTHERS, OTHER_TREES) > 0.85


def test_the_same_seed_gives_the_same_bits(parser):
    again = fit()
    assert np.array_equal(again.coef_, parser.coef_)
    assert np.array_equal(again.labeler_.coef_, parser.labeler_.coef_)


def test_relations_are_learned_by_the_weights_of_sentences():
    renamed = [[(head, "other") for head, _ in tree] for tree in TREES]
    weight = np.repeat([1.0, 0.0], len(TREES))
    own = DependencyParser(max_epochs=2, guided=False)
    own.fit([*SENTENCES, *SENTENCES], [*TREES, *renamed], weight)
    assert own.score(SENTENCES, TREES) > 0.8


def test_the_time_limit_is_for_all_models_together():
    own = fit(time_limit=1e6)
    assert 0.0 < own.model_.time_limit < 1e6
    assert fit(time_limit=1e-6, max_epochs=1).predict(OTHERS[:1])


def test_margins_of_heads_are_those_of_trees(parser):
    rows, _, _ = parser._rows(OTHERS[:3], OTHER_TREES[:3])
    for own, margins in zip(OTHERS, parser.model_.margins(rows), strict=False):
        assert margins.shape == (len(own),)
        best, second = (score for _, score in parser.predict_k_best([own], 2)[0])
        assert margins.min() == pytest.approx(best - second)


def test_tuples_are_read_like_dicts(parser):
    tuples = [[(t["form"], t["upos"], t["lemma"]) for t in own] for own in SENTENCES]
    others = [[(t["form"], t["upos"], t["lemma"]) for t in own] for own in OTHERS]
    own = DependencyParser(max_epochs=10, columns=["form", "upos", "lemma"])
    assert own.fit(tuples, TREES).predict(others) == parser.predict(OTHERS)
    pairs = [[token[:2] for token in own] for own in tuples]
    assert DependencyParser(max_epochs=5).fit(pairs, TREES).score(pairs, TREES) > 0.9


def test_columns_of_tuples_are_told_by_what_they_look_like():
    sentences = [[("a", "NOUN", "NN", "Case=Nom"), ("b", "VERB", "VB", "_")]] * 3
    model = DependencyParser(max_epochs=2).fit(sentences, [[(2, "x"), (0, "y")]] * 3)
    assert model.columns_.tolist() == ["form", "upos", "xpos", "feats"]


def test_marginals_are_probabilities_of_heads(parser):
    for p, own in zip(parser.predict_marginals(OTHERS[:5]), OTHERS, strict=False):
        assert p.shape == (len(own), len(own) + 1)
        assert p.sum(axis=1) == pytest.approx(1.0)
        assert p[:, 0].sum() == pytest.approx(1.0)  # a single root


def test_the_best_of_k_is_the_prediction(parser):
    for own, best in zip(parser.predict(OTHERS[:5]), parser.predict_k_best(OTHERS[:5], 4),
                         strict=True):  # fmt: skip
        trees = [[head for head, _ in tree] for tree, _ in best]
        assert trees[0] == [head for head, _ in own]
        assert len({tuple(tree) for tree in trees}) == 4
        assert all(a >= b for (_, a), (_, b) in pairwise(best))


def test_scores_are_those_of_the_model(parser):
    """Features written for training and scores computed for predictions are the same."""
    (best,) = parser.predict_k_best(OTHERS[:1], 1)
    with pytest.raises(AttributeError):
        parser.decision_function(OTHERS)
    _, theta = next(parser._scores(OTHERS[:1]))
    chosen = [theta[d * (len(OTHERS[0]) + 1) + h] for d, (h, _) in enumerate(best[0][0])]
    assert sum(chosen) == pytest.approx(best[0][1])


@pytest.mark.filterwarnings("ignore:calibrate")
def test_calibration_makes_probabilities_honest(parser):
    before = parser.predict(OTHERS)
    own = fit().calibrate(OTHERS, OTHER_TREES)
    assert own.temperature_ != 1.0
    assert own.predict(OTHERS) == before


def test_models_are_saved_and_loaded(parser, tmp_path):
    parser.save(tmp_path / "parser.model")
    again = maxmargin.load(tmp_path / "parser.model")
    assert again.predict(OTHERS) == parser.predict(OTHERS)
    assert clone(again).get_params().keys() == parser.get_params().keys()


@pytest.mark.parametrize("attribute", ["numbers_", "longest_", "relations_", "tags_"])
def test_forged_models_are_refused(parser, tmp_path, attribute):
    forged = clone(parser)
    forged.__dict__.update(vars(parser))
    value = getattr(parser, attribute)
    setattr(forged, attribute, np.concatenate([value] * 20))
    forged.save(tmp_path / "forged.model")
    with pytest.raises(maxmargin.exceptions.ModelFileError):
        maxmargin.load(tmp_path / "forged.model")


@pytest.mark.parametrize(
    "attribute, value", [("relations_", lambda old: old[::-1]), ("tags_", lambda old: old[:, None])]
)
def test_names_that_do_not_go_with_the_rest_are_refused(parser, tmp_path, attribute, value):
    forged = clone(parser)
    forged.__dict__.update(vars(parser))
    setattr(forged, attribute, value(getattr(parser, attribute)))
    forged.save(tmp_path / "forged.model")
    with pytest.raises(maxmargin.exceptions.ModelFileError):
        maxmargin.load(tmp_path / "forged.model")


def test_second_trees_know_the_relations_of_the_first(parser):
    """And which of its arcs they cross: other first trees, other features."""
    coded = parser._codes().encode(OTHERS[:1])
    n = len(OTHERS[0])
    first = [np.array([0, *range(1, n)]), np.array([2, 0, *[2] * (n - 2)])]
    rows = []
    for heads in first:
        arcs = parser._arcs(coded, [heads.tolist()], parser.model_.structure_)
        arcs.relations.write(coded, heads)
        labels = coded.codes[2:-1, arc_features.LABEL]
        names = parser.relations_[arcs.relations.find(coded.codes.ravel(), heads)]
        assert labels.tolist() == [encode_text(name) for name in names]
        rows.append(arcs.rows(heads, len(parser.coef_)).rows.matrix)
    assert coded.codes[[0, 1, -1], arc_features.LABEL].tolist() == [0, 0, 0]
    assert (rows[0] != rows[1]).nnz > 0


def test_crossing_arcs_are_counted():
    guide = np.array([3, 0, 2, 2, 4])

    def crosses(a, b):
        (low, high), (left, right) = sorted(a), sorted(b)
        return low < left < high < right or left < low < right < high

    tree = [(head, word) for word, head in enumerate(guide, 1)]
    for h in range(6):
        for d in range(1, 6):
            if h != d:
                expected = min(sum(crosses((h, d), arc) for arc in tree), 3)
                assert arc_features.count_crossing.function(guide, h, d) == expected


def test_early_stopping_watches_heads():
    stopping = EarlyStopping(OTHERS, OTHER_TREES, patience=2)
    DependencyParser(max_epochs=8, callbacks=[stopping]).fit(SENTENCES, TREES)
    assert stopping.best_ > 0.8


def test_reports_show_scores_by_relation_and_length(parser):
    report = parser.report(OTHERS, OTHER_TREES)
    assert report.scores == attachment_scores(OTHER_TREES, parser.predict(OTHERS))
    assert {name for name, *_ in report.relations} == {r for t in OTHER_TREES for _, r in t}
    assert sum(own.n_words for _, own in report.lengths) == report.scores.n_words
    assert "nsubj" in str(report)


# -- what is unusual --
def test_nothing_to_watch_or_calibrate_by_is_said(parser):
    for nothing in ([], [[]]):
        with pytest.raises(ValueError, match="calibrate needs held-out samples"):
            parser.calibrate(nothing, nothing)


def test_empty_sentences_have_empty_trees(parser):
    assert parser.predict([]) == []
    assert parser.predict([[], OTHERS[0]])[0] == []
    assert parser.predict_marginals([[]])[0].shape == (0, 1)
    assert parser.predict_k_best([[]], 2) == [[]]
    own = DependencyParser(max_epochs=2).fit([[], *SENTENCES[:5]], [[], *TREES[:5]])
    assert len(own.predict(SENTENCES[:2])) == 2


def test_unseen_words_tags_and_relations_do_no_harm(parser):
    tree = parser.predict([[("qux", "SYM"), {"form": "42", "upos": "NUM", "feats": "A=B|C"}]])[0]
    assert len(tree) == 2
    assert parser.score([[("qux", "SYM")]], [[(0, "never-seen")]]) == 0.0


def test_one_relation_needs_no_labeler():
    plain = [[head for head, _ in tree] for tree in TREES]
    own = DependencyParser(max_epochs=5).fit(SENTENCES, plain)
    assert own.labeler_ is None
    assert {relation for _, relation in own.predict(OTHERS)[0]} == {"_"}


@pytest.mark.parametrize("crossing", ["lift", "drop"])
def test_crossing_arcs_are_lifted_or_dropped(crossing, caplog):
    sentences, trees = [*SENTENCES[:9], CROSSING[0]], [*TREES[:9], CROSSING[1]]
    with caplog.at_level("INFO", logger="maxmargin"):
        own = DependencyParser(max_epochs=3, projective=True, crossing=crossing)
        own.fit(sentences, trees)
    assert "1 of 10 trees have crossing arcs" in caplog.text
    with pytest.raises(SampleError, match=r"sentence 9: the arcs 3 -> 1 and 4 -> 2 cross.*lift"):
        DependencyParser(projective=True, crossing="raise").fit(sentences, trees)


def test_projectivity_is_told_by_the_training_trees(parser):
    assert parser.projective_
    own = DependencyParser(max_epochs=3).fit([CROSSING[0]] * 3, [CROSSING[1]] * 3)
    assert not own.projective_
    assert own.predict([CROSSING[0]])[0] == CROSSING[1]


A, B = ("a", "X"), ("b", "Y")
BAD = [
    ([[A, B]], [[(2, "x"), (1, "x")]], "sentence 0: words 1, 2 are a cycle"),
    ([[A, B]], [[(0, "x"), (0, "x")]], "have head 0, and single_root .*single_root=False"),
    ([[A, B]], [[(1, "x"), (0, "x")]], "word 1 has head 1"),
    ([[A, B]], [[(3, "x"), (0, "x")]], "word 1 has head 3, expected another word from 1 to 2"),
    ([[A, B]], [[(-1, "x"), (0, "x")]], "word 1 has head -1"),
    ([[A, B]], [[(2, "x")]], "sentence 0: 1 heads but 2 tokens"),
    ([[A, B]], [], "1 sentences but 0 trees"),
    ([[A, B]], [[("2", "x"), (0, "x")]], "word 1: .*expected .head, relation."),
    ([[A, B]], [[(2, None), (0, "x")]], "the relation None is not a str"),
    ([[A, B]], [[2.5, 0]], "expected .head, relation."),
    ([[("", "X"), B]], [[2, 0]], "sentence 0, token 0: .* has no form"),
    ([[(1, "X"), B]], [[2, 0]], "columns that are not str"),
    ([["a b"], "text"], [[0], [0]], "sentence 1: a str, expected a list of tokens"),
    ([[]], [[]], "no sentences with tokens"),
    ([], [], "no sentences with tokens"),
]


@pytest.mark.parametrize(("sentences", "trees", "words"), BAD)
def test_what_is_no_treebank_is_refused(sentences, trees, words):
    with pytest.raises(ValueError, match=words):
        DependencyParser().fit(sentences, trees)


@pytest.mark.parametrize(
    ("sentences", "trees"), [("text", []), (None, []), ([[A, B]], None), ([[3]], [[0]])]
)
def test_what_is_no_list_is_refused(sentences, trees):
    with pytest.raises(TypeError, match="expected"):
        DependencyParser().fit(sentences, trees)


def test_text_without_the_tags_of_training_is_noticed(parser):
    bare = [[{"form": token["form"]} for token in own] for own in OTHERS[:3]]
    with pytest.warns(UserWarning, match="no token of these sentences has a part of speech"):
        parser.predict(bare)


def test_probabilities_of_margins_are_said_not_to_be_frequencies(parser):
    with pytest.warns(UncalibratedWarning):
        parser.predict_marginals(OTHERS[:1])


@pytest.mark.parametrize("name", ["guide_", "numbers_", "longest_"])
def test_arrays_of_another_type_are_refused_before_compiled_code_reads_them(name):
    forged = fit(max_epochs=2)
    setattr(forged, name, getattr(forged, name).astype(np.float32))
    with pytest.raises(ValueError, match="not what fit leaves"):
        forged.validate()
