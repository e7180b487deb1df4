"""Measures of structured predictions: sequences, chunks, label sets, segments, alignments.

Samples are ragged lists of label sequences (lists or arrays). Labels may be of any type, and a
label may occur on one side only. A ratio whose denominator is zero is 0.0, in every function here.
"""

from maxmargin.metrics.alignment import alignment_error_rate, alignment_precision, alignment_recall
from maxmargin.metrics.brackets import BracketScores, bracket_scores
from maxmargin.metrics.calibration import (
    ReliabilityTable,
    brier_score,
    calibration_error,
    log_loss,
    reliability,
)
from maxmargin.metrics.chunks import chunk_f1, chunk_scores, chunk_spans
from maxmargin.metrics.labels import (
    LabelScore,
    SequenceReport,
    hamming_loss,
    per_label_scores,
    sequence_error,
    token_error,
)
from maxmargin.metrics.multi_label import (
    MultiLabelReport,
    exact_match,
    jaccard,
    multi_label_f1,
    multi_label_scores,
)
from maxmargin.metrics.pairs import PairScores, pair_scores
from maxmargin.metrics.segmentation import (
    SampleScore,
    SegmentationReport,
    intersection_over_union,
    segmentation_scores,
)
from maxmargin.metrics.string_alignment import StringAlignmentScores, string_alignment_scores
from maxmargin.metrics.trees import AttachmentScores, attachment_scores

__all__ = [
    "AttachmentScores",
    "BracketScores",
    "PairScores",
    "LabelScore",
    "MultiLabelReport",
    "ReliabilityTable",
    "SampleScore",
    "SegmentationReport",
    "SequenceReport",
    "StringAlignmentScores",
    "alignment_error_rate",
    "alignment_precision",
    "alignment_recall",
    "attachment_scores",
    "bracket_scores",
    "pair_scores",
    "brier_score",
    "calibration_error",
    "chunk_f1",
    "chunk_scores",
    "chunk_spans",
    "exact_match",
    "hamming_loss",
    "intersection_over_union",
    "jaccard",
    "log_loss",
    "multi_label_f1",
    "multi_label_scores",
    "per_label_scores",
    "reliability",
    "segmentation_scores",
    "sequence_error",
    "string_alignment_scores",
    "token_error",
]
