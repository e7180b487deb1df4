"""The aligner of strings in the battery of options."""

from maxmargin.datasets import make_string_pairs
from maxmargin.tasks import StringAligner

PAIRS, ALIGNMENTS = make_string_pairs(8)


def fit(aligner):
    return aligner.fit(PAIRS, ALIGNMENTS)


TASKS = {StringAligner(max_epochs=3): fit}
