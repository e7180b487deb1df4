"""Ready-made learners for common tasks."""

from maxmargin.tasks.sequence_tagger import SequenceTagger
from maxmargin.tasks.token_features import TokenFeatures

__all__ = ["SequenceTagger", "TokenFeatures"]
