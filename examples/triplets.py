"""
Which two belong together?
==========================

Of three items, pick the two that belong together, or, what is the same, the odd one out. The
answer is one of three outputs, and what is learned is a metric: how much a difference in each
feature counts. Here the metric is known, because the items are made up.

A 2019 report tried this on triples of faces and compared its 46 % with "17 % by chance (3 choose 2
gives 6 possibilities)". Three choose two is three: chance is 33 %.
"""

# %%
# Thirty features, of which five tell something, each in a unit of its own.

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression

from maxmargin import StructuredSVM
from maxmargin.datasets import make_triplets
from maxmargin.plotting import has_matplotlib
from maxmargin.structures import Finite

parser = argparse.ArgumentParser(description="Pick the two of three items that belong together.")
parser.add_argument("--triplets", type=int, default=300, help="how many to learn from")
parser.add_argument("--noise", type=float, default=0.4)
options = parser.parse_args()

data = make_triplets(
    options.triplets + 2000, n_features=30, n_relevant=5, noise=options.noise, random_state=0
)
cut = options.triplets
X, y, X_test, y_test = data.X[:cut], data.y[:cut], data.X[cut:], data.y[cut:]
print(f"{len(X)} triplets to learn from, {len(X_test)} to test on")

# %%
# A triplet has one row of features for each pair: minus the squared differences. The pair with the
# best score wins, so that one weight per feature does for all three.

models = {
    "BCFW": StructuredSVM(Finite(), alpha=0.1, tol=0.01).fit(X, y),
    "dual extragradient": StructuredSVM(
        Finite(), alpha=0.1, tol=0.05, max_epochs=3000, solver="dual-extragradient"
    ).fit(X, y),
}
for name, model in models.items():
    print(f"{name}: {model.result_.certificate()}")

# %%
# A plain classifier sees the same numbers in one long row, and must learn for each pair anew what
# holds for all. The true metric is the best that any of them could find.


def long_rows(samples):
    """The three pairs beside one another."""
    return np.stack([x.ravel() for x in samples])


def right(w):
    """The share of test triplets whose pair is found by these weights."""
    return np.mean([np.argmax(x @ w) for x in X_test] == y_test)


plain = LogisticRegression(C=0.03, max_iter=2000).fit(long_rows(X), y)
rows = {
    "chance": 1 / 3,
    "plain distance": right(np.ones(30)),
    "logistic regression": plain.score(long_rows(X_test), y_test),
    **{name: model.score(X_test, y_test) for name, model in models.items()},
    "the true metric": right(data.metric),
}
for name, share in rows.items():
    print(f"{name:22s}{100 * share:6.1f} % right")

# %%
# What was learned, beside the truth, both scaled to length 1: the five features, then the noise.

order = np.argsort(-data.metric, kind="stable")
shown = {"the true metric": data.metric} | {name: model.coef_ for name, model in models.items()}
for name, w in shown.items():
    told = " ".join(f"{v:5.2f}" for v in (w / np.linalg.norm(w))[order[:5]])
    rest = np.abs(w[order[5:]]).max() / np.linalg.norm(w)
    print(f"{name:22s}{told}   others up to {rest:.2f}")

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    for k, (name, w) in enumerate(shown.items()):
        ax.bar(np.arange(30) + 0.27 * (k - 1), (w / np.linalg.norm(w))[order], 0.25, label=name)
    ax.set_xlabel("features, those that tell something first")
    ax.set_ylabel("weight")
    ax.legend(frameon=False)
