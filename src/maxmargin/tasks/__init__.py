"""Ready-made learners for common tasks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.formats.alignment import (
        check_links,
        read_naacl,
        read_pairs,
        read_pharaoh,
        read_sentence_numbers,
        read_sentences,
        write_naacl,
        write_pharaoh,
    )
    from maxmargin.tasks.alignment.directed_links import intersected_links
    from maxmargin.tasks.alignment.features import AlignmentFeatures
    from maxmargin.tasks.alignment.text import render_alignment
    from maxmargin.tasks.alignment.word_aligner import WordAligner
    from maxmargin.tasks.alignment.word_statistics import WordStatistics
    from maxmargin.tasks.alignment.word_vectors import BilingualVectors, WordVectors, orthogonal_map
    from maxmargin.tasks.constituency.constituency_parser import ConstituencyParser
    from maxmargin.tasks.folding.rna_folder import RNAFolder
    from maxmargin.tasks.parsing.dependency_parser import DependencyParser
    from maxmargin.tasks.segmentation.images.graphs import ImageGraphs
    from maxmargin.tasks.segmentation.points.graphs import PointGraphs
    from maxmargin.tasks.segmentation.segmenter import Segmenter
    from maxmargin.tasks.strings.string_aligner import StringAligner
    from maxmargin.tasks.tagging.sequence_tagger import SequenceTagger
    from maxmargin.tasks.tagging.token_features import TokenFeatures

#: name -> module that has it; imported on first use, so that the command line starts at once
_PLACES = {
    "AlignmentFeatures": "tasks.alignment.features",
    "BilingualVectors": "tasks.alignment.word_vectors",
    "ConstituencyParser": "tasks.constituency.constituency_parser",
    "DependencyParser": "tasks.parsing.dependency_parser",
    "ImageGraphs": "tasks.segmentation.images.graphs",
    "PointGraphs": "tasks.segmentation.points.graphs",
    "RNAFolder": "tasks.folding.rna_folder",
    "Segmenter": "tasks.segmentation.segmenter",
    "SequenceTagger": "tasks.tagging.sequence_tagger",
    "StringAligner": "tasks.strings.string_aligner",
    "TokenFeatures": "tasks.tagging.token_features",
    "WordAligner": "tasks.alignment.word_aligner",
    "WordStatistics": "tasks.alignment.word_statistics",
    "WordVectors": "tasks.alignment.word_vectors",
    "check_links": "formats.alignment",
    "intersected_links": "tasks.alignment.directed_links",
    "orthogonal_map": "tasks.alignment.word_vectors",
    "read_naacl": "formats.alignment",
    "read_pairs": "formats.alignment",
    "read_pharaoh": "formats.alignment",
    "read_sentence_numbers": "formats.alignment",
    "read_sentences": "formats.alignment",
    "render_alignment": "tasks.alignment.text",
    "write_naacl": "formats.alignment",
    "write_pharaoh": "formats.alignment",
}
__all__ = [
    "AlignmentFeatures",
    "BilingualVectors",
    "ConstituencyParser",
    "DependencyParser",
    "ImageGraphs",
    "PointGraphs",
    "RNAFolder",
    "Segmenter",
    "SequenceTagger",
    "StringAligner",
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

#: name of a task -> where its task command is; imported only when asked for
TASK_COMMANDS: dict[str, str] = {
    "tagging": "maxmargin.tasks.tagging.command:TaggingCommand",
    "parsing": "maxmargin.tasks.parsing.command:ParsingCommand",
    "constituency": "maxmargin.tasks.constituency.command:ConstituencyCommand",
    "strings": "maxmargin.tasks.strings.command:StringsCommand",
    "folding": "maxmargin.tasks.folding.command:FoldingCommand",
    "alignment": "maxmargin.tasks.alignment.command:AlignmentCommand",
    "chain": "maxmargin.tasks.arrays.table:ChainCommand",
    "matching": "maxmargin.tasks.arrays.table:MatchingCommand",
    "graph": "maxmargin.tasks.arrays.table:GraphCommand",
    "tree": "maxmargin.tasks.arrays.table:TreeCommand",
    "network": "maxmargin.tasks.arrays.table:NetworkCommand",
    "multilabel": "maxmargin.tasks.arrays.table:MultiLabelCommand",
    "segmentation": "maxmargin.tasks.segmentation.images.command:SegmentationCommand",
    "decision": "maxmargin.tasks.decision.command:DecisionCommand",
    "scan": "maxmargin.tasks.segmentation.points.command:ScanCommand",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _PLACES:
        return getattr(import_module(f"maxmargin.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.tasks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
