"""
Number the pixels of snakes
===========================

A snake of ten pixels lies on a blue background; its pixels are to be numbered from head to tail.
The colour of each tells in which direction the next one lies, so a pixel and those around it tell
the ends, but not where in the middle one is: labels have to be found jointly, on a grid, which has
cycles. This is the classic test for such models (Nowozin et al., 2011).

The snakes here are made by `make_snakes`. With the original images::

    python examples/snakes.py --data FOLDER
"""

# %%
# Pixels are the nodes of a graph, each joined with those right of it and below. Features of a pixel
# are the colours around it, those of an edge its direction and the colours of its ends.

import argparse
import warnings

import numpy as np

from maxmargin import NetworkSVM
from maxmargin.datasets import load_snakes, make_snakes, snake_graphs
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.plotting import has_matplotlib

parser = argparse.ArgumentParser(description="Number the pixels of snakes from head to tail.")
parser.add_argument("--data", help="folder with snakes.npz; made here without it")
parser.add_argument("--images", type=int, default=120, help="how many to make")
parser.add_argument("--length", type=int, default=10, help="pixels of those that are made")
options = parser.parse_args()

if options.data:
    data = load_snakes(options.data)
    images, labels = (data[f"{kind}_train"] + data[f"{kind}_test"] for kind in ("images", "labels"))
    count = len(data.images_train)
else:
    data = make_snakes(options.images, options.length)
    images, labels, count = data.images, data.labels, options.images * 2 // 3
y = [own.ravel() for own in labels]
print(f"{count} snakes to learn from, {len(images) - count} to test on")

# %%
# The best labels are found by message passing, with a proof of how far off they are at most. The
# bounds of training leave a gap that more passes do not close; on new images they mostly prove the
# labels best.

warnings.simplefilter("ignore", ConvergenceWarning)
KINDS = {
    "pixels on their own": ("plain", False),
    "pairs of neighbours": ("plain", True),
    "with edge features": ("colours", True),
}
found = {}
for name, (edges, joined) in KINDS.items():
    X = snake_graphs(images, edges)
    model = NetworkSVM(alpha=0.03, tol=0.03, max_epochs=12, transitions=joined)
    outputs = model.fit(X[:count], y[:count]).predict_within(X[count:])
    truth, guess = np.concatenate(y[count:]), np.concatenate([own.labels for own in outputs])
    right = (truth == guess)[truth > 0].mean()
    best = np.mean([own.is_best for own in outputs])
    print(
        f"{name:20} {right:6.1%} of the snakes' pixels right, {best:.0%} of labellings proven best"
    )
    found[name] = outputs[-1].labels.reshape(labels[-1].shape)

# %%
# The last image: the truth, without pairs, and with features of edges.

if has_matplotlib():
    import matplotlib.pyplot as plt

    shown = {"image": None, "truth": labels[-1], **found}
    del shown["pairs of neighbours"]
    _, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3.2), layout="constrained")
    for ax, (name, numbers) in zip(axes, shown.items(), strict=True):
        ax.imshow(images[-1] if numbers is None else images[-1] // 3 + 160)
        ax.set(title=name, xticks=[], yticks=[])
        for (row, column), label in np.ndenumerate(
            np.zeros((0, 0)) if numbers is None else numbers
        ):
            if label:
                wrong = label != labels[-1][row, column]
                colour = "crimson" if wrong else "black"
                weight = "bold" if wrong else "normal"
                ax.text(column, row, label, ha="center", va="center", color=colour, weight=weight)
    plt.show()
