"""ConstituencyParser on sentences made here, its command, and what both refuse."""

import json
import warnings
from copy import copy

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import maxmargin
from maxmargin.callbacks import EarlyStopping
from maxmargin.cli.main import root
from maxmargin.datasets import load_treebank
from maxmargin.exceptions import SampleError
from maxmargin.metrics import bracket_scores
from maxmargin.structures.constituents import list_spans, span_numbers
from maxmargin.tasks import ConstituencyParser
from maxmargin.tasks.constituency.spans import SpanFeatures, simplify_label
from maxmargin.validation.brackets import (
    Node,
    binarise,
    build_tree,
    clean_tree,
    parse_tree,
    read_trees,
    write_tree,
)

PENN = """
( (S (NP-SBJ-1 (NP (DT the) (NN cat)) (, ,) (ADJP (JJ old)))
    (VP (VBZ is) (NP (-NONE- *T*))) (. .)))
"""
CLEAN = "(S (NP (NP (DT the) (NN cat)) (, ,) (ADJP (JJ old))) (VP (VBZ is)) (. .))"
WORDS = {"DT": ["the", "a"], "NN": ["cat", "dog", "bird"], "IN": ["near", "with"], "VBZ": ["sees"]}


def make_tree(rng):
    def word(tag):
        return Node(tag, (), str(rng.choice(WORDS[tag])))

    def phrase(depth):
        base = Node("NP", (word("DT"), word("NN")))
        if depth == 0 or rng.random() < 0.5:
            return base
        return Node("NP", (base, Node("PP", (word("IN"), phrase(depth - 1)))))

    dot = Node(".", (), ".")
    return Node("S", (phrase(1), Node("VP", (word("VBZ"), phrase(2))), dot))


def make(n, seed):
    rng = np.random.default_rng(seed)
    trees = [make_tree(rng) for _ in range(n)]
    return [tree.words() for tree in trees], [write_tree(tree) for tree in trees]


SENTENCES, TREES = make(60, 0)
OTHERS, OTHER_TREES = make(30, 1)


@pytest.fixture(scope="module")
def parser():
    return ConstituencyParser().fit(SENTENCES, TREES)


def test_sentences_are_parsed(parser, tmp_path):
    assert parser.score(OTHERS, OTHER_TREES) > 0.95
    found = parser.predict([*OTHERS, []])
    assert found[-1] == ""
    assert [parse_tree(tree).words() for tree in found[:-1]] == OTHERS
    parser.save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").predict(OTHERS) == found[:-1]
    assert np.array_equal(clone(parser).fit(SENTENCES, TREES).coef_, parser.coef_)


def test_best_trees_and_probabilities(parser):
    (best,) = parser.predict_k_best(OTHERS[:1], 3)
    assert best[0][0] == parser.predict(OTHERS[:1])[0]
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    model = ConstituencyParser(objective="likelihood", tol=0.1).fit(SENTENCES[:30], TREES[:30])
    (p,) = model.predict_marginals(OTHERS[:1])
    assert p[0, len(OTHERS[0]), "S"] > 0.9
    assert sum(p.values()) == pytest.approx(2 * len(OTHERS[0]) - 1, abs=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert model.calibrate(OTHERS, OTHER_TREES).temperature_ > 0


def test_early_stopping_scores_held_out_sentences():
    stopping = EarlyStopping(OTHERS, OTHER_TREES, patience=1)
    ConstituencyParser(callbacks=[stopping], tol=0.0).fit(SENTENCES[:20], TREES[:20])
    assert stopping.best_ > 0.8


# -- two trees -------------------------------------------------------------------------------------
def test_first_trees_are_of_parsers_that_did_not_see_the_sentence(monkeypatch):
    seen, first_trees = [], ConstituencyParser._first_trees

    def watched(self, sentences, features):
        seen.append([SENTENCES.index(own) for own in sentences])
        return first_trees(self, sentences, features)

    monkeypatch.setattr(ConstituencyParser, "_first_trees", watched)
    ConstituencyParser(tol=np.inf).fit(SENTENCES, TREES)
    assert len(seen) == 2
    assert sum(map(len, seen)) == len(SENTENCES)


def test_the_second_tree_knows_the_first(parser):
    alone = ConstituencyParser(guided=False).fit(SENTENCES, TREES)
    assert alone.guide_.shape == (0,)
    assert parser.guide_.shape == parser.coef_.shape
    assert alone.n_features_in_ < parser.n_features_in_
    other = copy(parser)
    other.guide_ = -parser.guide_
    assert other.predict_k_best(OTHERS, 1) != parser.predict_k_best(OTHERS, 1)
    # a first model has all features that do not tell of trees, and no others
    assert np.flatnonzero(parser.guide_).max() < alone.coef_.size


def test_scores_are_those_of_the_rows_that_models_learn_from(parser):
    rows, _, _ = parser._rows(OTHERS, parser._check_truth(OTHER_TREES, OTHERS))
    expected = parser.model_.decision_function(rows)
    found = [score for ((_, score),) in parser.predict_k_best(OTHERS, 1)]
    assert found == pytest.approx(list(expected))


def test_one_sentence_has_one_tree_and_time_is_for_both():
    assert not len(ConstituencyParser(min_count=1).fit(SENTENCES[:1], TREES[:1]).guide_)
    own = ConstituencyParser(time_limit=1e6).fit(SENTENCES, TREES)
    assert 0.0 < own.model_.time_limit < 1e6
    assert ConstituencyParser(time_limit=1e-6).fit(SENTENCES, TREES).predict(OTHERS[:1])


def test_features_of_a_first_tree_are_those_of_plain_loops():
    tree = [(0, 6, 0), (0, 3, 1), (3, 6, 2), (0, 2, 3), (4, 6, 4)]
    tree += [(k, k + 1, 5) for k in range(6)]
    found = SpanFeatures(40).hash_guided([("a", "A")] * 6, np.array(tree))
    label = {(a, b): k for a, b, k in tree}
    rows = []
    for i, j in zip(*list_spans(6), strict=True):
        inside = [own for own in label if i <= own[0] and own[1] <= j and own != (i, j)]
        places = [
            (i, j),
            (i, max((b for a, b in inside if a == i), default=None)),
            (min((a for a, b in inside if b == j), default=None), j),
            (min((a for a, b in label if b == i), default=None), i),
            (j, max((b for a, b in label if a == j), default=None)),
        ]
        crossing = sum(a < i < b < j or i < a < j < b for a, b in label)
        rows.append([*map(label.get, places), min(crossing, 3)])
    columns = {0: [0], 1: [0, 5], 4: [0, 1, 2], 5: [0, 3], 6: [0, 4], 7: [3, 1, 2], 8: [1, 2, 4]}
    for column, kind in columns.items():
        values = [tuple(row[k] for k in kind) for row in rows]
        pairs = {*zip(found[:, column].tolist(), values, strict=True)}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@pytest.mark.parametrize(
    ("sentences", "trees", "words"),
    [
        (SENTENCES[:2], TREES[:1], "2 sentences but 1 trees"),
        (SENTENCES[:1], TREES[0], "trees is a str"),
        (SENTENCES[:1], ["(S (A b)"], "sentence 0: .*1 brackets of the tree do not close"),
        (SENTENCES[:1], ["(S (A b)) x"], "found 'x' outside of brackets"),
        (SENTENCES[:1], ["(S (A b))"], "sentence 0: its tree has 1 words without traces"),
        (SENTENCES[:1], ["(S (A b) (B c)) (C (D e))"], "found 2 bracketed trees"),
        ([[("a",)]], ["(S (A a))"], "sentence 0, token 0: .*expected \\(form, part of speech\\)"),
        ([["a"]], ["(S (A a))"], "sentence 0, token 0"),
        ([[]], [""], "no sentences with tokens"),
        ([[("a", "A")]], [3], "sentence 0: its tree is a int, expected a bracketed text"),
        ([[("a", "A")]], ["(S+X (A a))"], "sentence 0: label 'S\\+X' has '\\+' in it"),
        ([[("a", "A")]], ["(@S (A a))"], "sentence 0: label '@S'"),
    ],
)
def test_what_is_no_sentence_or_tree_is_refused(sentences, trees, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ConstituencyParser().fit(sentences, trees)


def test_forged_models_are_refused(parser):
    changed = clone(parser)
    for name, value in {
        "numbers_": np.where(parser.numbers_ == 0, -1, parser.numbers_),
        "labels_": parser.labels_[1:],
        "guide_": parser.guide_[1:],
        "guide_ ": parser.guide_.astype(np.float32),
        " guide_": np.full(len(parser.guide_), np.nan),
    }.items():
        name = name.strip()
        changed.__dict__.update(parser.__dict__ | {name: value})
        if name == "numbers_":
            changed.numbers_ = parser.numbers_ + np.int32(10**6)
        with pytest.raises(ValueError, match="ConstituencyParser"):
            changed.validate()


# -- trees -----------------------------------------------------------------------------------------
def test_trees_are_cleaned_binarised_and_built_again():
    tree = clean_tree(parse_tree(PENN))
    assert write_tree(tree) == CLEAN
    spans = binarise(tree)
    assert len(spans) == 2 * len(tree.words()) - 1
    assert (4, 5, "ADJP") not in spans
    assert (3, 4, "ADJP") in spans
    assert (2, 4, "@NP") in spans
    assert build_tree(spans, tree.words()) == tree
    rng = np.random.default_rng(0)
    for _ in range(20):
        own = make_tree(rng)
        assert build_tree(binarise(own), own.words()) == own
    assert clean_tree(parse_tree("(S (-NONE- *))")) is None
    chain = parse_tree("(S (VP (VB go)))")
    assert binarise(chain) == [(0, 1, "S+VP")]
    assert build_tree([(0, 1, "S+VP")], chain.words()) == chain


def test_deep_trees_take_no_recursion():
    n = 1100
    deep = parse_tree("(S (A a) " * n + "(B b)" + ")" * n)
    spans, words = binarise(deep), deep.words()
    assert len(spans) == 2 * len(words) - 1 == 2 * n + 1
    text = write_tree(build_tree(spans, words))
    assert text == write_tree(deep)
    assert bracket_scores([deep], [text]).n_constituents == n


def test_words_with_brackets_can_be_read_again(parser):
    found = parser.predict([[("(", "-LRB-"), ("a b", "NN"), (":)", "NN")]])[0]
    assert [form for form, _ in parse_tree(found).words()] == ["-LRB-", "a_b", ":-RRB-"]


def test_rare_labels_become_known_ones():
    known = {"", "S", "S+VP"}
    labels = [simplify_label(own, known) for own in ("S+VP", "S+NP", "X", "@X", "")]
    assert labels == ["S+VP", "S", "", "", ""]


def test_files_of_trees_name_lines():
    trees = list(read_trees(["", "( (S (A b))", ")", "(X (Y z))"], "file"))
    assert [where for _, where in trees] == ["file, line 2", "file, line 4"]
    with pytest.raises(ValueError, match="line 1: a bracket has one word, or brackets, inside it"):
        list(read_trees(["(S a b)"]))
    with pytest.raises(ValueError, match="line 1: a bracket has one word"):
        list(read_trees(["(S)"]))
    with pytest.raises(ValueError, match="more than 5000 brackets are open"):
        list(read_trees(["(S " * 5001]))


def test_scores_are_those_of_evalb():
    truth = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PRT (RP in))) (. .))"
    found = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (ADVP (RP in)) (. .))"
    scores = bracket_scores([truth], [found])
    assert (scores.precision, scores.recall, scores.f1) == (0.75, 0.75, 0.75)
    assert scores.n_constituents == 4
    assert bracket_scores([truth], ["( " + truth + ")"]).exact == 1
    assert bracket_scores([PENN], [CLEAN]).f1 == 1
    with pytest.raises(ValueError, match="1 true trees, but 0"):
        bracket_scores([truth], [])


# -- command and data ------------------------------------------------------------------------------
def test_trees_are_trained_on_evaluated_and_predicted(tmp_path):
    for name, trees in (("train", TREES), ("dev", OTHER_TREES)):
        (tmp_path / name).write_text("\n".join(f"( {tree} )" for tree in trees))

    def call(*arguments):
        result = CliRunner().invoke(root, [str(own) for own in arguments])
        assert result.exit_code == 0, result.output
        return result

    run = tmp_path / "run"
    call("train", "constituency", "--data", tmp_path / "train", "--out", run, "--max-epochs", 5)
    found = json.loads(call("evaluate", run, tmp_path / "dev", "--json").stdout)
    scores = {own["name"]: own["value"] for own in found["metrics"]}
    assert scores["f1"] > 0.9
    (tmp_path / "flat").write_text("(X (DT the) (NN cat))")
    call("predict", run, tmp_path / "flat", "--out", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "(NP (DT the) (NN cat))\n"
    (tmp_path / "bad").write_text("(S (A b)")
    result = CliRunner().invoke(
        root, ["train", "constituency", "--data", str(tmp_path / "bad"), "--out", str(run / "x")]
    )
    assert "do not close" in str(result.exception)


def test_sentences_that_are_too_long_are_told_by_line(parser, tmp_path):
    parser.save(tmp_path / "parser.maxmargin")
    (tmp_path / "long.mrg").write_text(f"(S (DT the))\n(S {'(DT the)' * 2001})\n")
    arguments = ["predict", str(tmp_path / "parser.maxmargin"), str(tmp_path / "long.mrg")]
    result = CliRunner().invoke(root, arguments)
    assert "long.mrg, line 2: 2001 words, at most 2000" in str(result.exception)


def test_constituents_are_loaded(tmp_path):
    (tmp_path / "wsj_combined.mrg").write_text(PENN * 2)
    sentences, trees = load_treebank("nltk_treebank", "train", tmp_path, constituents=True)
    assert trees == [CLEAN] * 2
    assert sentences[0][:2] == [("the", "DT"), ("cat", "NN")]
    with pytest.raises(ValueError, match="has no constituents"):
        load_treebank("ud_english_lines", constituents=True)


def test_spans_know_whether_a_verb_is_inside():
    whole = span_numbers(0, 7, 7)
    found = [
        SpanFeatures(22).hash_spans([("a", tag) for tag in ["DT"] * 3 + [own] + ["DT"] * 3])[whole]
        for own in ("NN", "JJ", "VBZ")
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).sum() == 5


def test_rare_chains_are_learned_where_asked_for():
    trees = ["(S (VP (VB go)))", "(S (NP (NN cat)) (VP (VB go)))"] * 2
    sentences = [[("go", "VB")], [("cat", "NN"), ("go", "VB")]] * 2
    small = ConstituencyParser(min_count=1).fit(sentences, trees)
    assert small.predict(sentences) == trees  # there is no chain of which there are more
    trees += ["(S (NP (NX (NN dog))) (VP (VB go)))"] * 5
    sentences += [[("dog", "NN"), ("go", "VB")]] * 5
    short = ConstituencyParser(min_count=1).fit(sentences, trees)
    assert "S+VP" not in short.labels_
    assert short.predict(sentences[:1]) == ["(S (VB go))"]
    full = ConstituencyParser(min_count=1, min_chain_count=2).fit(sentences, trees)
    assert full.predict(sentences[:1]) == ["(S (VP (VB go)))"]


def test_rare_chains_and_scores_are_told_in_words(parser, caplog):
    trees = ["(S (NP (NX (NN dog))) (VP (VB go)))"] * 5 + ["(S (VP (VB go)))"]
    sentences = [[("dog", "NN"), ("go", "VB")]] * 5 + [[("go", "VB")]]
    with caplog.at_level("INFO", "maxmargin"):
        ConstituencyParser(min_count=1).fit(sentences, trees)
    assert "1 chains of labels, of 1 spans, are learned as their first label" in caplog.text
    names, figures = str(parser.report(OTHERS, OTHER_TREES)).splitlines()
    assert names.split()[:4] == ["constituents", "F1", "precision", "recall"]
    assert figures.split()[1].endswith("%")


def test_trees_of_other_sentences_are_refused():
    sentences = [[("the", "DT"), ("cat", "NN")], [("birds", "NNS"), ("sing", "VB")]]
    trees = ["(NP (DT the) (NN cat))", "(S (NNS birds) (VB sing))"]
    with pytest.raises(SampleError, match="sentence 0, token 0: 'the', but its tree has 'birds'"):
        ConstituencyParser().fit(sentences, trees[::-1])


def test_trees_of_two_other_sentences_are_warned_of():
    words = [("red", "cats", "sleep"), ("old", "dogs", "bark"), ("wet", "fish", "swim")] * 3
    sentences = [list(zip(own, ["JJ", "NNS", "VBP"], strict=True)) for own in words]
    trees = [f"(S (NP (JJ {a}) (NNS {b})) (VP (VBP {c})))" for a, b, c in words]
    parser = ConstituencyParser(max_epochs=1, tol=1.0, guided=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="sentence")
        parser.fit(sentences, trees)
    trees[1], trees[2] = trees[2], trees[1]
    with pytest.warns(
        UserWarning, match="sentence 1, token 0: 'old', but its tree has 'wet'.* 2 s"
    ):
        parser.fit(sentences, trees)
    with pytest.raises(SampleError, match="sentence 0, token 0: 'red', but its tree has 'old'"):
        parser.fit(sentences, trees[2:] + trees[:2])
