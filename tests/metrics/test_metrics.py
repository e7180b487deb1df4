"""Measures against cases worked by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from maxmargin import metrics

TRUE = [["a", "b", "a"], ["b"]]
PRED = [["a", "a", "a"], ["c"]]


def test_hamming_token_and_sequence_error():
    assert metrics.hamming_loss(TRUE, PRED) == pytest.approx((1 / 3 + 1) / 2)
    assert metrics.hamming_loss(TRUE, PRED, normalize=False) == 1.0
    assert metrics.token_error(TRUE, PRED) == 0.5
    assert metrics.sequence_error(TRUE, PRED) == 1.0
    assert metrics.sequence_error([[1, 2], [3]], [[1, 2], [4]]) == 0.5


def test_arrays_images_and_lists_agree():
    true, pred = [np.array([[0, 1], [1, 1]])], [np.array([[0, 0], [1, 1]])]
    assert metrics.hamming_loss(true, pred) == 0.25
    assert metrics.token_error(np.array([[1, 2], [3, 4]]), [[1, 2], [3, 5]]) == 0.25
    assert metrics.intersection_over_union(true, pred) == {0: 0.5, 1: pytest.approx(2 / 3)}


def test_labels_of_different_types_differ():
    assert metrics.token_error([["a", "b"]], [[1, 2]]) == 1.0
    report = metrics.per_label_scores([["a", "b"]], [[1, 2]])
    assert [row.label for row in report] == [1, 2, "a", "b"]
    assert report.overall.f1 == 0.0


@pytest.mark.parametrize(
    "measure",
    [
        metrics.hamming_loss,
        metrics.token_error,
        metrics.sequence_error,
        metrics.chunk_f1,
        lambda t, p: metrics.per_label_scores(t, p).overall.f1,
    ],
)
@pytest.mark.parametrize("empty", [[], [[]], [[], []]])
def test_empty_input_gives_zero(measure, empty):
    assert measure(empty, empty) == 0.0


@pytest.mark.parametrize(
    "measure",
    [
        metrics.hamming_loss,
        metrics.token_error,
        metrics.sequence_error,
        metrics.per_label_scores,
        metrics.chunk_scores,
        metrics.chunk_f1,
        metrics.intersection_over_union,
    ],
)
def test_mismatches_are_named(measure):
    true = [["O"]] * 17 + [["O"] * 9]
    with pytest.raises(ValueError, match="sample 17: y_true has 9 labels, y_pred has 8"):
        measure(true, [["O"]] * 17 + [["O"] * 8])
    with pytest.raises(ValueError, match="y_true has 18 samples, y_pred has 17"):
        measure(true, true[:17])
    with pytest.raises(ValueError, match=r"sample 0: found a single label.*\[y\]"):
        measure(["O", "O"], ["O", "O"])


def test_per_label_scores():
    report = metrics.per_label_scores(TRUE, PRED)
    assert [row.label for row in report] == ["a", "b", "c"]
    a, b, c = report
    assert (a.correct, a.predicted, a.support) == (2, 3, 2)
    assert (a.precision, a.recall, a.f1) == (pytest.approx(2 / 3), 1.0, pytest.approx(0.8))
    assert (b.precision, b.recall, b.f1, b.support) == (0.0, 0.0, 0.0, 2)
    assert (c.precision, c.recall, c.f1, c.support) == (0.0, 0.0, 0.0, 0)
    assert report.overall.precision == report.overall.recall == report.overall.f1 == 0.5
    assert report.macro_f1 == pytest.approx(0.8 / 3)
    assert (report.n_samples, report.n_tokens) == (2, 4)
    assert (report.token_error, report.sequence_error) == (0.5, 1.0)


def test_labels_choose_rows_and_their_order():
    report = metrics.per_label_scores(TRUE, PRED, labels=["never", "a"])
    assert [row.label for row in report] == ["never", "a"]
    assert report["never"].support == 0
    assert report["never"].f1 == 0.0
    assert report.overall.support == 2
    assert report.overall.predicted == 3
    with pytest.raises(KeyError):
        report["b"]


def test_report_is_a_tidy_table():
    report = metrics.per_label_scores(TRUE, PRED, labels=["a", "b"])
    assert str(report).split("\n") == [
        "         precision  recall      f1  support",
        "a           0.6667  1.0000  0.8000        2",
        "b           0.0000  0.0000  0.0000        2",
        "-------------------------------------------",
        "overall     0.6667  0.5000  0.5714        4",
        "2 sequences, 4 tokens; token error 0.5000, sequence error 1.0000",
    ]
    assert "overall" in str(metrics.per_label_scores([], []))


def test_to_frame_needs_pandas_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        metrics.per_label_scores(TRUE, PRED).to_frame()


def test_to_frame():
    pytest.importorskip("pandas")
    frame = metrics.per_label_scores(TRUE, PRED).to_frame()
    assert frame.index.tolist() == ["a", "b", "c", "overall"]
    assert frame.loc["a", "recall"] == 1.0
    assert frame.loc["overall", "support"] == 4


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", []),
        ("O O", []),
        ("O B-NP", [(1, 2, "NP")]),
        ("B-NP I-NP O", [(0, 2, "NP")]),
        ("B-NP B-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("I-NP I-NP B-NP I-NP O", [(0, 2, "NP"), (2, 4, "NP")]),
        ("O I-NP", [(1, 2, "NP")]),
        ("B-NP I-VP", [(0, 1, "NP"), (1, 2, "VP")]),
        ("B-NP O I-VP I-VP", [(0, 1, "NP"), (2, 4, "VP")]),
        ("I-NP I-VP I-NP", [(0, 1, "NP"), (1, 2, "VP"), (2, 3, "NP")]),
        ("I-NP B-VP", [(0, 1, "NP"), (1, 2, "VP")]),
        ("B-NP I-NP", [(0, 2, "NP")]),
        ("S-NP S-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("B-NP I-NP E-NP B-NP E-NP", [(0, 3, "NP"), (3, 5, "NP")]),
        ("B-NP E-NP I-NP E-NP", [(0, 2, "NP"), (2, 4, "NP")]),
        ("E-NP E-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("S-NP I-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("B-NP S-NP O E-NP", [(0, 1, "NP"), (1, 2, "NP"), (3, 4, "NP")]),
        ("B-NP E-VP", [(0, 1, "NP"), (1, 2, "VP")]),
        ("B-A-B I-A-B", [(0, 2, "A-B")]),
        ("B I O I", [(0, 2, ""), (3, 4, "")]),
        ("X O", []),
    ],
)
def test_chunk_spans(tags, spans):
    assert metrics.chunk_spans(tags.split()) == spans


@st.composite
def chunked(draw):
    """Draw chunks in order on a line, with gaps."""
    spans, at = [], 0
    for gap, size, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("XY")))
    ):
        spans.append((at + gap, at + gap + size, kind))
        at += gap + size
    return spans, at + draw(st.integers(0, 2))


@given(chunked())
def test_all_encodings_of_the_same_chunks_are_read_alike(drawn):
    spans, length = drawn
    iob1, iob2, iobes = (["O"] * length for _ in range(3))
    for k, (start, stop, kind) in enumerate(spans):
        touches = k > 0 and spans[k - 1][1:] == (start, kind)
        for i in range(start, stop):
            iob1[i] = ("B-" if touches and i == start else "I-") + kind
            iob2[i] = ("B-" if i == start else "I-") + kind
            iobes[i] = ("B-" if i == start else "E-" if i == stop - 1 else "I-") + kind
        if stop - start == 1:
            iobes[start] = "S-" + kind
    for tags in (iob1, iob2, iobes):
        assert metrics.chunk_spans(tags) == spans


def test_chunk_scores_worked_example():
    true = [["B-NP", "I-NP", "B-VP", "O", "B-NP"], ["B-PP", "B-NP"], ["O"]]
    pred = [["B-NP", "I-NP", "B-VP", "B-VP", "I-NP"], ["B-NP", "I-NP"], ["B-ADJP"]]
    # true NP: 0-2, 4-5; 1-2.  predicted NP: 0-2, 4-5 (I after VP); 0-2.  So 2 of 3, 2 of 3.
    report = metrics.chunk_scores(true, pred)
    assert [row.label for row in report] == ["ADJP", "NP", "PP", "VP"]
    counts = {row.label: (row.correct, row.predicted, row.support) for row in report}
    assert counts == {"ADJP": (0, 1, 0), "NP": (2, 3, 3), "PP": (0, 0, 1), "VP": (1, 2, 1)}
    assert report["NP"].f1 == pytest.approx(2 / 3)
    assert report["VP"].precision == 0.5
    assert report["VP"].recall == 1.0
    assert report["PP"].f1 == 0.0
    assert report["ADJP"].f1 == 0.0
    assert report.overall.precision == 0.5
    assert report.overall.recall == pytest.approx(3 / 5)
    assert metrics.chunk_f1(true, pred) == report.overall.f1 == pytest.approx(6 / 11)
    assert report.token_error == pytest.approx(5 / 8)
    assert "ADJP" in str(report)


def test_same_chunks_in_other_encoding_score_one():
    assert metrics.chunk_f1([["B-NP", "I-NP", "O"]], [["I-NP", "E-NP", "O"]]) == 1.0


def test_boundary_or_type_alone_is_not_enough():
    assert metrics.chunk_f1([["B-NP", "I-NP"]], [["B-NP", "O"]]) == 0.0
    assert metrics.chunk_f1([["B-NP", "I-NP"]], [["B-VP", "I-VP"]]) == 0.0


SURE = {(0, 0), (1, 2)}
POSSIBLE = {(0, 0), (1, 2), (1, 1), (2, 1)}
PREDICTED = {(0, 0), (1, 1), (3, 3)}


def test_alignment_worked_example():
    # |A| = 3, |S| = 2, |A n S| = 1, |A n P| = 2: AER = 1 - 3/5.
    assert metrics.alignment_error_rate(PREDICTED, SURE, POSSIBLE) == pytest.approx(0.4)
    assert metrics.alignment_precision(PREDICTED, SURE, POSSIBLE) == pytest.approx(2 / 3)
    assert metrics.alignment_recall(PREDICTED, SURE) == 0.5


def test_alignment_sums_counts_over_sentences():
    predicted, sure, possible = [PREDICTED, {(5, 5)}], [SURE, {(5, 5)}], [POSSIBLE, {(5, 5)}]
    assert metrics.alignment_error_rate(predicted, sure, possible) == pytest.approx(1 - 5 / 7)
    assert metrics.alignment_precision(predicted, sure, possible) == pytest.approx(3 / 4)
    assert metrics.alignment_recall(predicted, sure) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "form",
    [list, sorted, lambda links: [list(link) for link in links], lambda s: np.array(sorted(s))],
)
def test_alignment_takes_sets_lists_and_arrays(form):
    aer = metrics.alignment_error_rate
    assert aer(form(PREDICTED), form(SURE), form(POSSIBLE)) == pytest.approx(0.4)
    assert aer([form(PREDICTED)], [form(SURE)], [form(POSSIBLE)]) == pytest.approx(0.4)


def test_sure_links_count_as_possible():
    aer = metrics.alignment_error_rate
    assert aer(PREDICTED, SURE, POSSIBLE - SURE) == aer(PREDICTED, SURE, POSSIBLE)
    assert aer(SURE, SURE) == 0.0
    assert aer(POSSIBLE, SURE, POSSIBLE) == 0.0


def test_alignment_of_nothing():
    assert metrics.alignment_error_rate(set(), SURE, POSSIBLE) == 1.0
    assert metrics.alignment_error_rate([set(), []], [SURE, SURE], [SURE, SURE]) == 1.0
    assert metrics.alignment_error_rate(set(), set(), set()) == 0.0
    assert metrics.alignment_precision(set(), SURE) == 0.0
    assert metrics.alignment_recall(PREDICTED, set()) == 0.0


def test_alignment_errors_are_named():
    with pytest.raises(ValueError, match="predicted has 1, sure has 2"):
        metrics.alignment_error_rate([SURE], [SURE, SURE], [SURE, SURE])
    with pytest.raises(ValueError, match=r"sentence 1: found \(1, 2, 3\), expected a link"):
        metrics.alignment_error_rate([SURE, {(1, 2, 3)}], [SURE, SURE], [SURE, SURE])
