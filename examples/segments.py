"""
Cut sequences into segments
===========================

A segment model scores whole segments: how long they are, and what they sum up to. Here a signal has
phases, whose lengths tell them apart as much as their levels do.
"""

# %%
# Phases "long" last four to six steps, phases "short" one or two; their levels nearly agree.
import numpy as np

from maxmargin import ChainSVM, SegmentSVM

rng = np.random.default_rng(0)


def make_signal():
    segments, levels, begin = [], [], 0
    for k in range(4):
        label = ("long", "short")[k % 2]
        length = int(rng.integers(4, 7) if label == "long" else rng.integers(1, 3))
        segments.append((begin, begin + length, label))
        levels += [0.5 * (label == "long")] * length
        begin += length
    noisy = np.array(levels) + 0.4 * rng.normal(size=begin)
    return np.column_stack([noisy, np.ones(begin)]), segments


data = [make_signal() for _ in range(120)]
X, y = [x for x, _ in data], [own for _, own in data]

# %%
# Labels of positions, by a segment model and by a chain.
model = SegmentSVM(max_length=6, alpha=0.01, tol=0.01).fit(X[:80], y[:80])
print(model.result_.certificate())


def labels_of(segments):
    return np.concatenate([[label] * (end - begin) for begin, end, label in segments])


chain = ChainSVM(alpha=0.01, tol=0.02).fit(X[:80], [labels_of(own) for own in y[:80]])
truth = np.concatenate([labels_of(own) for own in y[80:]])
for name, found in (
    ("segments", [labels_of(own) for own in model.predict(X[80:])]),
    ("chain", chain.predict(X[80:])),
):
    print(f"{name}: {np.mean(np.concatenate(found) == truth):.1%} of positions right")
