"""What spans, segments and strings refuse, and what they take though it is new: one table."""

import numpy as np
import pytest

from maxmargin import SegmentSVM
from maxmargin.formats.string_pairs import read_string_pairs
from maxmargin.structures import Constituents, ContextFree, PairAlignment, Segments
from maxmargin.tasks import ConstituencyParser, SequenceTagger, StringAligner
from maxmargin.validation.brackets import parse_tree

GRAMMAR = ContextFree([("S", "A", "B"), ("A", "a"), ("B", "b")])
TOKENS = [[("a", "A"), ("b", "B")]]


def derive(*words):
    return GRAMMAR.maximize(np.zeros(GRAMMAR.n_parts(words)), words)


REFUSED = {
    "brackets that do not close": (
        lambda: parse_tree("(S (A a)"), "line 1: 1 brackets of the tree do not close"
    ),
    "brackets that close too often": (lambda: parse_tree("(S (A a)))"), "outside of brackets"),
    "a tree of other words": (
        lambda: ConstituencyParser().fit(TOKENS, ["(S (A a))"]), "sentence 0: its tree has 1 words"
    ),
    "spans that are no tree": (
        lambda: Constituents().encode([(0, 2, 0), (0, 1, 0), (0, 1, 0)], (2, 1)),
        "no span from 1 to 2",
    ),
    "a sentence without a tree": (lambda: derive("b", "a"), "derives no tree of 'S' over 'b a'"),
    "a word without a rule": (lambda: derive("a", "c"), "no rule of the grammar has the word 'c'"),
    "a true segment that is too long": (
        lambda: SegmentSVM(max_length=2).fit([np.ones((3, 1))], [[(0, 3, "x")]]),
        "sample 0: .*from 0 to 3 has 3 positions, and max_length=2 allows 1 to 2",
    ),
    "a true chunk that is too long": (
        lambda: SequenceTagger(segments=True, max_length=1).fit(
            [["a", "b", "c"]], [["B-X", "I-X", "O"]]
        ),
        "max_length=1 allows 1 to 1",
    ),
    "segments with a hole": (
        lambda: Segments(2).encode([(0, 1, 0), (2, 3, 0)], (3, 1)), "must follow each other"
    ),
    "two gaps in a column": (
        lambda: next(read_string_pairs([">t", "A-C", "A-C"])).alignment,
        "pairs, line 1: column 2 has two gaps",
    ),
    "rows of different lengths": (
        lambda: next(read_string_pairs([">t", "A-C", "AC"])).alignment, "are not aligned"
    ),
    "matches that cross": (
        lambda: StringAligner().fit([("ab", "ab")], [[(0, 1), (1, 0)]]), "pair 0: matches cross"
    ),
    "a sentence that is too long": (
        lambda: ConstituencyParser().fit([*TOKENS, TOKENS[0] * 1001], ["(S (A a) (B b))"] * 2),
        "sentence 1: 2002 words, at most 2000 are possible",
    ),
    "strings that are too long": (
        lambda: StringAligner().fit([("ab", "ab")], [[(0, 0)]]).predict(
            [("a", "b"), ("a" * 9000, "b" * 9000)]
        ),
        "pair 1: strings of 9000 and 9000 symbols have 81018001 nodes",
    ),
    "a column of nothing": (
        lambda: PairAlignment().encode([(0, 0), (-1, -1)], (1, 1)), r"column \(-1, -1\)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_what_training_did_not_have_is_taken():
    strings = StringAligner().fit([("ab", "ab"), ("ba", "b")], [[(0, 0), (1, 1)], [(0, 0)]])
    assert all(0 <= i < 2 and 0 <= j < 2 for i, j in strings.predict([("xy", "yz")])[0])
    parser = ConstituencyParser(min_count=1).fit(TOKENS, ["(S (A a) (B b))"])
    assert parse_tree(parser.predict([[("new", "NEW"), ("b", "B")]])[0]).words()[0][0] == "new"
