"""
Parse sentences
===============

A dependency parser learns which word hangs from which. The treebank here is made by a small
grammar; ``load_treebank`` reads those of Universal Dependencies.
"""

# %%
# A sentence is a list of tokens, a tree a list of (head, relation).
from maxmargin.datasets import make_treebank
from maxmargin.tasks import DependencyParser

sentences, trees = make_treebank(80)
others, other_trees = make_treebank(20, random_state=1)
print([token["form"] for token in sentences[0]])
print(trees[0])

# %%
# Heads are learned by a large margin over all trees, with a certificate.
parser = DependencyParser(tol=0.05).fit(sentences, trees)
print(parser.result_.certificate())
print(parser.report(others, other_trees))

# %%
# How sure is the parser, and what would be the next best trees?
words = [token["form"] for token in others[0]]
chances = parser.predict_marginals(others[:1])[0]
for word, (head, relation), row in zip(words, parser.predict(others[:1])[0], chances):
    print(f"{word:10} {relation:7} of {words[head - 1] if head else 'the root':10} {row[head]:.2f}")
for tree, score in parser.predict_k_best(others[:1], 3)[0]:
    print(f"{score:.2f}", [head for head, _ in tree])
