"""
Find the phrases of sentences
=============================

A tagger learns which words belong together, from sentences whose phrases are marked. The
sentences here are made by a small grammar; a file of CoNLL columns (word, part of speech, tag; an
empty line after each sentence; gzipped or not) is read with::

    python examples/chunking.py train.txt [test.txt]
"""

# %%
# Tags are in BIO form: B-NP begins a noun phrase, I-NP goes on, O is outside of all.

import gzip
import sys

import numpy as np

from maxmargin.plotting import has_matplotlib
from maxmargin.tasks import SequenceTagger

WORDS = {
    "DT": ["the", "a", "this", "that", "every"],
    "JJ": ["old", "new", "quiet", "large", "small", "green", "odd"],
    "NN": ["dog", "idea", "market", "train", "committee", "rain", "paper", "light", "run", "walk"],
    "VB": ["sees", "likes", "run", "walk", "buys", "light", "paper", "reports"],
    "IN": ["in", "of", "with", "near", "after"],
    "RB": ["often", "never", "now"],
}
PHRASES = {"NP": ["DT NN", "DT JJ NN", "JJ NN", "NN NN"], "VP": ["VB", "RB VB"], "PP": ["IN"]}
PLANS = ["NP VP NP", "NP VP", "NP PP NP VP NP", "NP VP PP NP", "PP NP NP VP"]


def make_sentences(n, rng):
    """Return sentences of (word, part of speech) made by the grammar, and their tags."""
    sentences, tags = [], []
    for plan in rng.choice(PLANS, size=n):
        kinds = [(p, t) for p in plan.split() for t in [rng.choice(PHRASES[p]).split()]]
        tags.append([("I-" if k else "B-") + p for p, t in kinds for k in range(len(t))] + ["O"])
        words = [(str(rng.choice(WORDS[k])), k) for _, t in kinds for k in t]
        sentences.append([*((w, k if rng.random() > 0.6 else "XX") for w, k in words), (".", ".")])
    return sentences, tags


def read_conll(path):
    """Return sentences of column tuples, and their tags."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        blocks = file.read().replace("\r\n", "\n").split("\n\n")
    sentences = [[line.split() for line in block.splitlines() if line.strip()] for block in blocks]
    sentences = [lines for lines in sentences if lines]
    tokens = [[tuple(fields[:-1]) for fields in lines] for lines in sentences]
    return tokens, [[fields[-1] for fields in lines] for lines in sentences]


sentences, tags = (
    read_conll(sys.argv[1]) if sys.argv[1:] else make_sentences(400, np.random.default_rng(0))
)
if sys.argv[2:]:
    test_sentences, test_tags = read_conll(sys.argv[2])
else:  # the last tenth is held out
    cut = len(sentences) - max(1, len(sentences) // 10)
    test_sentences, test_tags = sentences[cut:], tags[cut:]
    sentences, tags = sentences[:cut], tags[:cut]

# %%
# With ``bio=True``, no prediction has I-NP where no noun phrase has begun.

tagger = SequenceTagger(bio=True).fit(sentences, tags)
print(f"{len(sentences)} sentences, {tagger.n_features_in_} features")
print(f"certificate: {tagger.result_.certificate()}\n")
print(tagger.report(test_sentences, test_tags).chunks)

# %%
# What it goes by: features for the first tag, and which tag follows which.

print(tagger.top_features(n=5, label=tagger.classes_[0]), "\n")
print(tagger.top_transitions(n=5))

# %%
# Which tags are taken for which, by scikit-learn's own display.

if has_matplotlib():
    from sklearn.metrics import ConfusionMatrixDisplay

    found = np.concatenate(tagger.predict(test_sentences))
    ConfusionMatrixDisplay.from_predictions(np.concatenate(test_tags), found, colorbar=False)
