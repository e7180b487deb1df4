"""The folder of RNA in the battery of options."""

from maxmargin.tasks import RNAFolder

SEQUENCES = ["GGGCAAAAGCCC", "GGGGAAACCCC", "GCGCAAAAGCGC", "GGCCUUUUGGCC"] * 2
STRUCTURES = ["((((....))))", "((((...))))", "((((....))))", "((((....))))"] * 2


def fit(folder):
    return folder.fit(SEQUENCES, STRUCTURES)


TASKS = {RNAFolder(max_epochs=3): fit}
