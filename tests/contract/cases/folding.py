"""The folder of RNA in the battery of options."""

from maxmargin.tasks import RNAFolder

BASES = ["GGGCAAAAGCCC", "GGGGAAACCCC", "GCGCAAAAGCGC", "GGCCUUUUGGCC"] * 2
BRACKETS = ["((((....))))", "((((...))))", "((((....))))", "((((....))))"] * 2


def fit(folder):
    return folder.fit(BASES, BRACKETS)


TASKS = {RNAFolder(max_epochs=3): fit}
