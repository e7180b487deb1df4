"""Ready-made learners for common tasks."""

from maxmargin.alignment_files import (
    check_links,
    read_naacl,
    read_pairs,
    read_pharaoh,
    read_sentence_numbers,
    read_sentences,
    write_naacl,
    write_pharaoh,
)
from maxmargin.tasks.alignment_features import AlignmentFeatures
from maxmargin.tasks.alignment_text import render_alignment
from maxmargin.tasks.association import WordStatistics
from maxmargin.tasks.directed_links import intersected_links
from maxmargin.tasks.image_graphs import ImageGraphs
from maxmargin.tasks.point_graphs import PointGraphs
from maxmargin.tasks.segmenter import Segmenter
from maxmargin.tasks.sequence_tagger import SequenceTagger
from maxmargin.tasks.token_features import TokenFeatures
from maxmargin.tasks.word_aligner import WordAligner
from maxmargin.tasks.word_vectors import BilingualVectors, WordVectors, orthogonal_map

__all__ = [
    "AlignmentFeatures",
    "BilingualVectors",
    "ImageGraphs",
    "PointGraphs",
    "Segmenter",
    "SequenceTagger",
    "TokenFeatures",
    "WordAligner",
    "WordStatistics",
    "WordVectors",
    "check_links",
    "intersected_links",
    "orthogonal_map",
    "read_naacl",
    "read_pairs",
    "read_pharaoh",
    "read_sentence_numbers",
    "read_sentences",
    "render_alignment",
    "write_naacl",
    "write_pharaoh",
]
