"""What is particular to ContextFree; tests/contract tests what all structures do."""

from itertools import product

import numpy as np
import pytest

from contract.cases.context_free import RULES, context_free
from maxmargin.structures import ContextFree, read_grammar


def inside(rules, scores, words, start):
    """Sum over all trees, by the plainest recursion there is."""

    def total(symbol, i, j):
        value = 0.0
        for rule, score in zip(rules, scores, strict=True):
            if rule[0] != symbol:
                continue
            if len(rule) == 2:
                value += np.exp(score) * (j == i + 1 and words[i] == rule[1])
            else:
                for k in range(i + 1, j):
                    value += np.exp(score) * total(rule[1], i, k) * total(rule[2], k, j)
        return value

    return total(start, 0, len(words))


def test_sums_over_random_grammars():
    rng = np.random.default_rng(0)
    for _ in range(15):
        names, words = "ABC", "xy"
        rules = [rule for rule in product(names, names, names) if rng.random() < 0.4]
        rules = [("A", "A", "B"), *(rule for rule in rules if rule != ("A", "A", "B"))]
        rules += [rule for rule in product(names, words) if rng.random() < 0.8]
        own, scores = ContextFree(rules), rng.normal(size=len(rules))
        for n in (1, 2, 4):
            sentence = tuple(rng.choice(list(words), n).tolist())
            expected = inside(rules, scores, sentence, "A")
            try:
                theta = np.zeros(own.n_parts(sentence))
                theta[: len(rules)] = scores
                found = own.log_partition(theta, sentence)
            except ValueError:
                assert expected == 0
            else:
                assert found == pytest.approx(np.log(expected), abs=1e-12)


def best(rules, scores, words, symbol, i, j):
    """The score of the best tree, by the plainest recursion there is."""
    values = [-np.inf]
    for rule, score in zip(rules, scores, strict=True):
        if rule[0] == symbol and len(rule) == 2 and j == i + 1 and words[i] == rule[1]:
            values.append(score)
        elif rule[0] == symbol and len(rule) == 3:
            values += [
                score + best(rules, scores, words, rule[1], i, k)
                + best(rules, scores, words, rule[2], k, j)
                for k in range(i + 1, j)
            ]  # fmt: skip
    return max(values)


def test_best_trees_of_random_grammars():
    rng = np.random.default_rng(1)
    for _ in range(10):
        rules = [rule for rule in product("ABC", "ABC", "ABC") if rng.random() < 0.4]
        rules += [("A", "x"), *(rule for rule in product("BC", "xy") if rng.random() < 0.8)]
        own, scores = ContextFree(rules, start="A"), rng.normal(size=len(rules))
        for n in (1, 3, 5):
            words = tuple(rng.choice(["x", "y"], n).tolist())
            expected = best(rules, scores, words, "A", 0, n)
            theta = np.append(scores, np.zeros(own.n_parts(words) - len(rules)))
            if expected == -np.inf:
                with pytest.raises(ValueError, match="grammar"):
                    own.maximize(theta, words)
            else:
                z = own.maximize(theta, words)
                assert theta @ z == pytest.approx(expected)
                assert np.array_equal(own.encode(own.decode(z, words), words), z)


def test_grammars_are_read_off_treebanks():
    trees = [
        "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NNS dogs))))",
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (ADVP (RB often))))",
        "(S (NP (NNS cats)) (VP (VBP walk)))",
    ]
    grammar = read_grammar(trees)
    rules = grammar.structure.grammar
    p = dict(zip(rules, np.exp(grammar.log_probabilities), strict=True))
    assert p["NP", "|DT", "|NN"] == 1.0
    assert p["|NN", "cat"] == pytest.approx(2 / 3)
    assert p["|NN", "<word >"] == pytest.approx(1 / 3)
    assert p["VP", "|VBZ", "@VP"] == pytest.approx(0.5)
    assert p["TOP", "NP", "VP"] == pytest.approx(2 / 3)
    layout = grammar.layout(["the", "horse", "sees", "cows"])
    assert layout == ("the", "<word >", "sees", "<word s>")
    tree = grammar.structure.decode(
        grammar.structure.maximize(grammar.scores(layout), layout), layout
    )
    assert {(0, 4, "TOP"), (0, 2, "NP"), (2, 4, "VP"), (3, 4, "NP|NNS")} <= set(tree)
    assert read_grammar(trees, min_count=1).layout(["cat"]) == ("cat",)
    with pytest.raises(ValueError, match="'x' is new"):
        read_grammar(trees, min_count=1).layout(["x"])
    with pytest.raises(ValueError, match="no trees"):
        read_grammar([])


def test_a_model_is_learned():
    kind = context_free()
    assert kind.fit(tol=0.01).score(kind.X, kind.y) > 0.8


@pytest.mark.parametrize(
    ("rules", "layout", "words"),
    [
        ([("S", ["a"])], ("a",), "that have a hash; found \\('S', \\['a'\\]\\)"),
        (["Sab"], ("a",), "found 'Sab'"),
        ([("S", "a")], (["a"],), "words must have a hash"),
        ([], ("a",), "there are none"),
        ([("S", "a", "b", "c")], ("a",), "found \\('S', 'a', 'b', 'c'\\)"),
        ([("S", "a"), ("S", "a")], ("a",), "a rule twice"),
        (RULES, ("c",), "no rule of the grammar has the word 'c'"),
        (RULES, (), "one at least"),
        (RULES, "ab", "must be a tuple of words"),
        (
            [("S", "S", "A"), ("S", "a"), ("A", "b")],
            ("a", "a"),
            "derives no tree of 'S' over 'a a'",
        ),
    ],
)
def test_grammars_and_sentences_that_do_not_fit_are_refused(rules, layout, words):
    own = ContextFree(rules)
    with pytest.raises(ValueError, match=words):
        own.maximize(np.zeros(own.n_parts(layout)), layout)


def test_other_starts():
    own = ContextFree(RULES, start="A")
    theta = np.zeros(own.n_parts(("b", "a")))
    tree = own.decode(own.maximize(theta, ("b", "a")), ("b", "a"))
    assert sorted(tree) == [(0, 1, "S"), (0, 2, "A"), (1, 2, "A")]
    assert np.array_equal(own.encode(tree, ("b", "a")), own.maximize(theta, ("b", "a")))
    with pytest.raises(ValueError, match="start='Z' is not a symbol"):
        ContextFree(RULES, start="Z").maximize(theta, ("b", "a"))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([(0, 2, "S"), (0, 1, "A"), (1, 2, "A")], "words 0 to 1 need a rule"),
        ([(0, 2, "S"), (0, 1, "A")], "words 0 to 1 need a rule"),
        ([(0, 1, "S"), (1, 2, "S")], "words 0 to 1 need a rule"),
        ([(0, 2, "A"), (0, 1, "S"), (1, 2, "A")], "need a rule"),
        ([1, 2], "a list of spans"),
        ([(0, 2.5, "S")], "a list of spans"),
        ([(0, 2, "S"), (0, 1, "S"), (0, 1, "A")], "a span twice"),
        ([(0, 2, ["S"])], "no hash"),
    ],
)
def test_what_is_no_tree_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        ContextFree(RULES).encode(y, ("a", "b"))


@pytest.mark.parametrize(
    ("trees", "words"),
    [
        (None, "trees is a NoneType, expected a list of bracketed trees"),
        ("(S (A a))", "trees is a str"),
        (["(S (A a))", None], "tree 1 is a NoneType, expected a bracketed text"),
    ],
)
def test_what_is_no_treebank_is_named(trees, words):
    with pytest.raises(TypeError, match=words):
        read_grammar(trees)


def test_trees_that_cannot_be_read_are_named():
    with pytest.raises(ValueError, match="tree 1: "):
        read_grammar(["(S (A a))", "(S (A a)"])
