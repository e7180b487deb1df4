"""
Parse constituents
==================

A tree of phrases tells which words belong together. The parser learns from bracketed trees;
``load_treebank("nltk_treebank", constituents=True)`` reads real ones. The sentences here are made.
"""

# %%
# A small grammar writes trees.
import numpy as np

from maxmargin.tasks import ConstituencyParser

rng = np.random.default_rng(0)


def noun_phrase(depth):
    base = f"(NP (DT {rng.choice(['the', 'a'])}) (NN {rng.choice(['cat', 'dog', 'park'])}))"
    if depth == 0 or rng.random() < 0.5:
        return base
    return f"(NP {base} (PP (IN {rng.choice(['in', 'near'])}) {noun_phrase(depth - 1)}))"


def tokens_of(tree):
    words = [part.split() for part in tree.replace(")", "").split("(")]
    return [(word[1], word[0]) for word in words if len(word) == 2]


trees = [f"(S {noun_phrase(1)} (VP (VBZ sees) {noun_phrase(2)}) (. .))" for _ in range(100)]
sentences = [tokens_of(tree) for tree in trees]
print(trees[0])

# %%
# All binary trees over the words compete; a margin is learned, with a certificate.
parser = ConstituencyParser().fit(sentences[:70], trees[:70])
print(parser.result_.certificate())
print(parser.report(sentences[70:], trees[70:]))

# %%
# The best trees of a new sentence.
for tree, score in parser.predict_k_best(sentences[-1:], 2)[0]:
    print(f"{score:.2f} {tree}")
