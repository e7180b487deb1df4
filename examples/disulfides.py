"""
Which cysteines of a protein are bonded
=======================================

Cysteines of a protein form disulfide bonds, each with one other. Given those that are bonded, which
of them belong together is a perfect matching of any graph; `GeneralMatchingSVM` learns the scores
of pairs from proteins whose bonds are known.

The proteins here are drawn. With real ones::

    python examples/disulfides.py --data FOLDER
"""

# %%
# A pair is described by the number of residues and of other bonded cysteines between the two, and
# by whether all cysteines before it can be bonded among themselves.

import argparse

import numpy as np
from sklearn.model_selection import KFold

from maxmargin import GeneralMatchingSVM
from maxmargin.datasets import load_disulfides


def describe(places):
    """Return features of all pairs of bonded cysteines, (n, n, n_features)."""
    number = np.arange(len(places))
    between = np.abs(np.subtract.outer(number, number))
    length = np.log1p(np.abs(np.subtract.outer(places, places)))
    near = [np.clip(1 - 2 * np.abs(length - at), 0, 1) for at in np.arange(1, 7, 0.5)]
    apart = [between == at for at in range(1, 10)]
    even = np.minimum.outer(number, number) % 2 == 0
    return np.stack([*near, *apart, (between == 1) & even, between % 2 == 1], axis=2).astype(float)


def draw_bonds(count, seed=0):
    """Draw bonds of cysteines at a typical distance, as pairs of places."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        starts = rng.choice(np.arange(10, 300, 3), rng.integers(2, 6), replace=False)
        pairs = np.stack([starts, starts + 3 * rng.integers(8, 12, len(starts)) + 1], axis=1)
        if len(np.unique(pairs)) == pairs.size:
            found.append(pairs)
    return found


parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder that holds disulfide_sprot/")
options = parser.parse_args()
bonds = load_disulfides(path=options.data).bonds if options.data else draw_bonds(60)
places = [np.sort(own.ravel()) for own in bonds]
X = [describe(own) for own in places]
y = [np.searchsorted(*own) for own in zip(places, bonds, strict=True)]
print(f"{len(X)} proteins with {sum(map(len, y))} bonds")

# %%
# Of five folds, each is predicted by a model of the other four. The plainest guess is that each
# cysteine is bonded to the next one that is free.


def count_right(truth, found):
    """Return the bonds that are right, and whether all are."""
    true = {tuple(sorted(pair)) for pair in truth.tolist()}
    right = sum(tuple(sorted(pair)) in true for pair in np.asarray(found).tolist())
    return right, right == len(true)


scores = {"next to each other": np.zeros(2), "learned": np.zeros(2)}
for train, test in KFold(5, shuffle=True, random_state=0).split(X):
    model = GeneralMatchingSVM(perfect=True, alpha=0.01, max_epochs=100, bias=False)
    model.fit([X[i] for i in train], [y[i] for i in train])
    for i, found in zip(test, model.predict([X[i] for i in test]), strict=True):
        scores["learned"] += count_right(y[i], found)
        plain = np.arange(2 * len(y[i])).reshape(-1, 2)
        scores["next to each other"] += count_right(y[i], plain)
for name, (right, whole) in scores.items():
    print(f"{name}: {right / sum(map(len, y)):.3f} of the bonds, {whole / len(y):.3f} of proteins")
