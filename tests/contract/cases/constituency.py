"""The parser of constituents in the battery of options."""

from maxmargin.tasks import ConstituencyParser

SENTENCES = [[("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")], [("dogs", "NNS"), ("bark", "VBP")]]
TREES = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (NNS dogs)) (VP (VBP bark)))"]


def fit(parser):
    return parser.fit(SENTENCES * 3, TREES * 3)


TASKS = {ConstituencyParser(max_epochs=3, min_count=1): fit}
