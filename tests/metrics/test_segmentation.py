"""Scores of segmentations, by label and by sample."""

import numpy as np
import pytest

from maxmargin import metrics

TRUE = [np.array([[0, 0], [1, 1]]), np.array([1, 1, 1, 0, 0, 0])]
PRED = [np.array([[0, 1], [1, 1]]), np.array([1, 0, 0, 0, 0, 1])]


def test_counts_by_hand():
    report = metrics.segmentation_scores(TRUE, PRED, noun="image")
    assert [(r.label, r.correct, r.predicted, r.support) for r in report] == [
        (0, 3, 5, 5),
        (1, 3, 5, 5),
    ]
    assert report[1].iou == pytest.approx(3 / 7)
    assert report.error == pytest.approx(0.4)
    assert report.accuracy == pytest.approx(0.6)
    assert report.mean_iou == pytest.approx(3 / 7)
    assert report.size == 10
    # the worse one first
    assert [own.number for own in report.samples] == [1, 0]
    assert [own.error for own in report.samples] == [0.5, 0.25]
    assert report.samples[0].iou == pytest.approx((2 / 5, 1 / 4))
    with pytest.raises(KeyError):
        report[2]


def test_text_and_html_and_frame():
    report = metrics.segmentation_scores(TRUE, PRED, noun="image")
    text = str(report)
    assert text.splitlines()[0] == "error 0.4000, mean IoU 0.4286 (10 labels, 2 images)"
    assert "image 1: error 0.5000" in text
    html = report._repr_html_()
    assert "mean IoU 0.4286" in html
    assert html.count("<table") == 2
    frame = report.to_frame()
    assert frame["error"].tolist() == [0.25, 0.5]
    assert frame["iou 1"].tolist() == pytest.approx([2 / 3, 1 / 4])


def test_agrees_with_scores_of_sequences():
    rng = np.random.default_rng(0)
    true = [rng.choice(["sky", "tree", "road"], size=n) for n in (5, 40, 0)]
    pred = [rng.choice(["sky", "tree", "lake"], size=n) for n in (5, 40, 0)]
    report, same = metrics.segmentation_scores(true, pred), metrics.per_label_scores(true, pred)
    assert report.rows == same.rows
    assert report.error == pytest.approx(same.token_error)


def test_labels_asked_for_and_labels_of_any_type():
    report = metrics.segmentation_scores([["a", "b"]], [[1, 2]], labels=["b", "c"])
    assert [(row.label, row.iou) for row in report] == [("b", 0.0), ("c", 0.0)]
    mixed = np.array(["a", 1, None], dtype=object)
    assert metrics.segmentation_scores([mixed], [mixed]).mean_iou == 1.0


def test_nothing_at_all():
    report = metrics.segmentation_scores([], [])
    assert (report.error, report.accuracy, report.mean_iou, report.size) == (0.0, 0.0, 0.0, 0)
    assert "0 samples" in str(report)
