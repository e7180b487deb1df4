"""The parser in the battery of options."""

from maxmargin.datasets import make_treebank
from maxmargin.tasks import DependencyParser

SENTENCES, TREES = make_treebank(8)


def fit(parser):
    return parser.fit(SENTENCES, TREES)


TASKS = {DependencyParser(max_epochs=3): fit}
