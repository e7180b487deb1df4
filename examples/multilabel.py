"""
Choose several labels together
==============================

A photograph may show a beach and the sea, a text may have several topics. Classifiers that decide
about each label on its own miss what labels say about each other. Here, pairs of labels have
weights, too, and the best set of labels is found exactly.

The samples are drawn from a model with known weights. With the photographs of scenes::

    python examples/multilabel.py --data FOLDER
"""

# %%
# Six labels; half of their pairs attract or repel each other.

import argparse

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import MultiLabelSVM
from maxmargin.datasets import load_scene, make_multilabel
from maxmargin.metrics import multi_label_scores

parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder that holds scene/")
arguments = parser.parse_known_args()[0]
if arguments.data:
    train, test = (load_scene(subset, arguments.data) for subset in ("train", "test"))
    X, y, X_test, y_test, alpha = train.X, train.y, test.X, test.y, 0.03
    names = train.label_names
else:
    data = make_multilabel(600, 6, 8, coupling=2.0, random_state=1)
    X, y, X_test, y_test, alpha = data.X[:300], data.y[:300], data.X[300:], data.y[300:], 0.03
    names = [f"label {k}" for k in range(6)]
print(f"{len(X)} samples to train on, {len(X_test)} to test on, {y.shape[1]} labels")

# %%
# All pairs, the pairs of the tree of labels that tells most, and no pairs: the same classifiers as
# if each label were learned alone.

for pairs in ("all", "tree", None):
    model = MultiLabelSVM(alpha, pairs=pairs, tol=0.02, max_epochs=200).fit(X, y)
    found = multi_label_scores(y_test, model.predict(X_test))
    print(
        f"pairs {pairs!s:5}  labels wrong {100 * found.hamming_loss:5.2f} %"
        f"  all right {100 * found.exact_match:5.2f} %  F1 {100 * found.micro_f1:5.2f} %"
        f"  {model.result_.certificate()}"
    )
    if pairs == "all":
        joint = model

# %%
# What was learned of the pairs: red goes together, blue does not.

table = np.zeros((len(names), len(names)))
for (k, m), weight in zip(joint.pairs_, joint.pair_coef_, strict=True):
    table[k, m] = table[m, k] = weight
figure, axes = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
size = np.abs(table).max()
image = axes.imshow(table, cmap="RdBu_r", vmin=-size, vmax=size)
axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
axes.set_yticks(range(len(names)), names)
figure.colorbar(image, label="weight of the pair")

# %%
# The best sets of the first test sample, and their scores.

for labels, score in joint.predict_k_best(X_test[:1], 3)[0]:
    print(f"{score:6.2f}", ", ".join(names[k] for k in np.flatnonzero(labels)) or "none")
plt.show()
