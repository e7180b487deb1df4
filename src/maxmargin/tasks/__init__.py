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
from maxmargin.tasks.sequence_tagger import SequenceTagger
from maxmargin.tasks.token_features import TokenFeatures

__all__ = [
    "SequenceTagger",
    "TokenFeatures",
    "check_links",
    "read_naacl",
    "read_pairs",
    "read_pharaoh",
    "read_sentence_numbers",
    "read_sentences",
    "write_naacl",
    "write_pharaoh",
]
