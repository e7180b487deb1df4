"""
Find puppets in range scans
===========================

A scanner sees jointed puppets among sticks, rings, ropes and planks, from one side. A point by
itself says little: an arm is round and thin, and so is a stick. Neighbours on the same surface
mostly have the same label, and a minimum cut weighs both. Scans are synthetic, of about the size
of those in the papers with ``--points 7250 --scans 11``.
"""

# %%
# Each scan is a cloud of points with its surface links, pairs of points next to each other in the
# scanner's grid. Half of the scans are for training, of the others one chooses when to stop.

import argparse

from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_puppets
from maxmargin.metrics import segmentation_scores
from maxmargin.plotting import SegmentationDisplay, has_matplotlib
from maxmargin.tasks import PointGraphs, Segmenter

parser = argparse.ArgumentParser(description="Tell puppets from clutter in range scans.")
parser.add_argument("--scans", type=int, default=8, help="how many to draw, at least 4")
parser.add_argument("--points", type=int, default=6000, help="of a scan, about")
options = parser.parse_args()

data = make_puppets(options.scans, options.points)
scans, labels = list(zip(data.clouds, data.edges)), data.labels
half = options.scans // 2
held_out, test = slice(half, half + 1), slice(half + 1, None)
print(f"{sum(len(own) for own in labels[:half])} points to train on,", end=" ")
print(f"{sum(len(links) for links in data.edges[:half])} links")

# %%
# Nodes have spin images, how many other points lie around and above each; normals point away from
# the scanner (``up="y"``). Training keeps the weights that do best on the held-out scan.

segmenter = Segmenter(
    kind="points",
    alpha=0.01,
    tol=0.05,
    graphs=PointGraphs(features=["spin"], up="y"),
    callbacks=[EarlyStopping(scans[held_out], labels[held_out], patience=10)],
)
segmenter.fit(scans[:half], labels[:half])
print(segmenter.result_.certificate())

# %%
# The same weights without the links, each point by itself, are wrong far more often.

alone = [(scores > 0).astype(int) for scores in segmenter.decision_map(scans[test])]
print(f"without links: error {segmentation_scores(labels[test], alone).error:.4f}")
print(f"with links:    error {segmenter.report(scans[test], labels[test]).error:.4f}")
print(segmenter.report(scans[test], labels[test]))

# %%
# What keeps neighbours alike: links are cut where surfaces are far apart or turn.

print("\n".join(f"{name}: {weight:.2f}" for part, name, weight in segmenter.top_features(5)
                if part == "edge"))  # fmt: skip

# %%
# One of the test scans, from above and in perspective: the puppets are blue.

if has_matplotlib():
    SegmentationDisplay.from_estimator(segmenter, scans[-1], labels[-1])
