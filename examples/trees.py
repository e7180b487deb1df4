"""
Label the words of dependency trees
===================================

What is a word to the word it hangs on: its subject, its object, its article? That depends on what
the other one is to its own head, so labels are learned jointly along the tree, beside labels joined
from each word to the next of the text, and labels on their own, all from the same features.

The trees here are made by a small grammar, with words in any order. With the English Web Treebank,
learning from its dev part::

    python examples/trees.py --data FOLDER
"""

# %%
# A tree is a list of heads: for each word the place of the word that it hangs on, -1 for the root.

import argparse

import numpy as np
from sklearn.feature_extraction import DictVectorizer

from maxmargin import ChainSVM, Graph, TreeSVM
from maxmargin.datasets import load_dependencies
from maxmargin.datasets.dependencies import Token

PARTS = {  # what may hang on a word: (relation, tag, how often), by relation of that word
    "root": [("nsubj", "NOUN", 0.9), ("obj", "NOUN", 0.6), ("advmod", "ADV", 0.3)],
    "nsubj": [("det", "DET", 0.7), ("amod", "WORD", 0.4), ("nmod", "NOUN", 0.3)],
    "obj": [("det", "DET", 0.3), ("compound", "WORD", 0.5), ("acl", "VERB", 0.3)],
    "nmod": [("case", "ADP", 0.9), ("amod", "WORD", 0.4)],
    "acl": [("obj", "NOUN", 0.7), ("advmod", "ADV", 0.3), ("obl", "NOUN", 0.3)],
    "obl": [("case", "ADP", 0.9), ("compound", "WORD", 0.5)],
}


def make_tree(rng, relation="root", tag="VERB"):
    """Return the tokens of a word and of all below it, their heads, and the word's own place."""
    own = Token(f"{tag.lower()}{rng.integers(30)}", "", tag, relation)
    tokens, heads, top = [own], [-1], 0
    for below, kind, often in PARTS.get(relation, []):
        if rng.random() < often:
            more, links, first = make_tree(rng, below, kind)
            if rng.random() < 0.5:
                heads = [*links, *(h + len(more) if h >= 0 else -1 for h in heads)]
                tokens, top = more + tokens, top + len(more)
            else:
                first += len(tokens)
                heads += [h + len(tokens) if h >= 0 else -1 for h in links]
                tokens = tokens + more
            heads[first] = top
    return tokens, heads, top


def load(folder):
    """Return sentences and heads to learn from, and others to test on."""
    if folder:
        return load_dependencies("dev", path=folder), load_dependencies("test", path=folder)
    rng = np.random.default_rng(0)
    made = [[make_tree(rng) for _ in range(n)] for n in (300, 300)]
    return [{"sentences": [m[0] for m in some], "heads": [m[1] for m in some]} for some in made]


parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder that holds ud_english_ewt/")
learn, test = load(parser.parse_args().data)

# %%
# A word is described by itself, by its ending and by its part of speech.


def describe(token):
    word = token.word.lower()
    return {f"word={word}": 1, f"ending={word[-3:]}": 1, f"tag={token.tag}": 1}


def samples(data, which, vectorizer, tree):
    """Return the x and the y of some sentences: graphs for trees, matrices for chains."""
    X, y = [], []
    for i in which:
        tokens = data["sentences"][i]
        rows = vectorizer.transform([describe(token) for token in tokens])
        X.append(Graph.from_parents(rows, data["heads"][i]) if tree else rows)
        y.append([token.relation.split(":")[0] for token in tokens])
    return X, y


def accuracy(model, X, y):  # in per cent
    return 100 * np.mean(np.concatenate(model.predict(X)) == np.concatenate(y))


# %%
# The penalty is chosen on a fifth of the sentences to learn from; then all of them are used.

OPTIONS = {"loss": "hamming-sum", "tol": 0.03, "max_epochs": 20}
KINDS = {
    "labels on their own": lambda **rest: ChainSVM(ends=False, transitions=False, **rest),
    "along the text": ChainSVM,
    "along the tree": TreeSVM,
}
order = np.random.default_rng(0).permutation(len(learn["sentences"]))
held, rest = np.split(order, [len(order) // 5])
vectorizer = DictVectorizer().fit([describe(t) for i in rest for t in learn["sentences"][i]])
print(f"{len(rest)} sentences to train on, {len(held)} held out, {len(test['sentences'])} to test")
for name, kind in KINDS.items():
    tree = kind is TreeSVM
    inner, outer = (samples(learn, which, vectorizer, tree) for which in (rest, held))
    found = {a: accuracy(kind(alpha=a, **OPTIONS).fit(*inner), *outer) for a in (0.1, 0.03, 0.01)}
    alpha = max(found, key=found.get)
    model = kind(alpha=alpha, **OPTIONS).fit(*samples(learn, order, vectorizer, tree))
    right = accuracy(model, *samples(test, range(len(test["sentences"])), vectorizer, tree))
    print(f"{name:20} alpha {alpha:<5g} held out {found[alpha]:5.2f} %   test {right:5.2f} % right")

# %%
# Which relations hang on which, by the weights of the tree.

best = np.argsort(model.pair_coef_, axis=None)[::-1][:8]
for j, k in zip(*np.unravel_index(best, model.pair_coef_.shape), strict=True):
    print(f"{model.classes_[k]:>10} below {model.classes_[j]}")
