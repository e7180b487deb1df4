"""Find the phrases of sentences: train a tagger on a CoNLL file and look at what it learned.

    python examples/chunking.py train.txt [test.txt]

The files have a token per line, its columns separated by spaces, the tag last, and an empty line
after each sentence; they may be gzipped. Without a test file the last tenth is held out. Without
any, CoNLL-2000 is read from the folder in MAXMARGIN_DATA, or downloaded.
"""

import gzip
import sys
import time

from maxmargin.datasets import load_conll2000
from maxmargin.tasks import SequenceTagger


def read_conll(path):
    """Return sentences of column tuples, and their tags."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        blocks = file.read().replace("\r\n", "\n").split("\n\n")
    sentences = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    sentences = [lines for lines in sentences if lines]
    tokens = [[tuple(fields[:-1]) for fields in lines] for lines in sentences]
    return tokens, [[fields[-1] for fields in lines] for lines in sentences]


def read_data(paths):
    """Return sentences and tags to learn from, then those to test on."""
    if paths:
        sentences, tags = read_conll(paths[0])
    else:
        data = load_conll2000("train")
        sentences, tags = data.sentences, data.tags
    if len(paths) > 1:
        return sentences, tags, *read_conll(paths[1])
    cut = len(sentences) - max(1, len(sentences) // 10)
    return sentences[:cut], tags[:cut], sentences[cut:], tags[cut:]


if __name__ == "__main__":
    sentences, tags, test_sentences, test_tags = read_data(sys.argv[1:])
    begun = time.perf_counter()
    tagger = SequenceTagger(bio=True, verbose=1).fit(sentences, tags)
    seconds = time.perf_counter() - begun

    print(f"{len(sentences)} sentences, {tagger.n_features_in_} features, {seconds:.1f} s")
    print(f"certificate: {tagger.result_.certificate()}\n")
    print(tagger.report(test_sentences, test_tags).chunks, "\n")
    print(tagger.top_features(n=5, label=tagger.classes_[0]), "\n")
    print(tagger.top_transitions(n=5))
