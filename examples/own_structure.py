"""
A structure of your own
=======================

Where in a recording is the call of a bird? An output is one stretch of neighbouring moments; the
one algorithm that has to be written is "find the best stretch for these scores". Every solver
then learns the scores.
"""

# %%
# A part is a moment, which is 1 inside the stretch. The best stretch is found in one pass.

import numpy as np

from maxmargin import StructuredSVM
from maxmargin.plotting import has_matplotlib
from maxmargin.structures import Structure


class Stretch(Structure):
    """One run of neighbouring items, at least one. layout = (n,); y = (begin, end)."""

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        places = np.arange(layout[0])
        return ((places >= y[0]) & (places < y[1])).astype(float)

    def decode(self, z, layout):
        inside = np.flatnonzero(z > 0.5)
        return int(inside[0]), int(inside[-1]) + 1

    def maximize(self, theta, layout):
        best, found, begin, total = -np.inf, (0, 1), 0, 0.0
        for place, score in enumerate(theta):
            if total < 0:  # what came before only costs
                begin, total = place, 0.0
            total += score
            if total > best:
                best, found = total, (begin, place + 1)
        return self.encode(found, layout)


# %%
# Recordings with a call in each: the sound is louder and less regular there, with noise everywhere.


def recording(rng):
    """Return features of each moment, the sound itself, and where the call is."""
    n = int(rng.integers(60, 100))
    begin = int(rng.integers(5, n - 30))
    call = (begin, begin + int(rng.integers(10, 25)))
    inside = Stretch().encode(call, (n,))
    sound = rng.normal(size=n) * (1 + 1.3 * inside)
    change = np.abs(np.diff(sound, prepend=0.0))
    return np.column_stack([np.abs(sound), change, np.ones(n)]), sound, call


rng = np.random.default_rng(0)
X, sounds, y = zip(*(recording(rng) for _ in range(80)), strict=True)
model = StructuredSVM(Stretch(), alpha=0.1, tol=0.05, max_epochs=300).fit(X[:60], y[:60])
print(model.result_.certificate())
print("weights of loudness, change, and being inside at all:", model.coef_.round(2))

# %%
# How much of predicted and true stretches is common, on recordings not seen in training; and the
# same of moments decided one by one.


def overlap(found, truth):
    """Return intersection over union of two sets of moments."""
    return np.sum(found & truth) / max(np.sum(found | truth), 1)


test = range(60, 80)
truths = [Stretch().encode(y[i], (len(X[i]),)) > 0 for i in test]
whole = [Stretch().encode(model.predict([X[i]])[0], (len(X[i]),)) > 0 for i in test]
alone = [X[i] @ model.coef_ > 0 for i in test]
for name, found in (("stretches", whole), ("moments one by one", alone)):
    common = [overlap(f, t) for f, t in zip(found, truths, strict=True)]
    print(f"{name:20} overlap {np.mean(common):.2f}")

# %%

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
    ax.plot(sounds[60], color="0.4", linewidth=1)
    ax.axvspan(*np.subtract(y[60], 0.5), color="#009E73", alpha=0.25, label="the call")
    begin, end = model.predict(X[60:61])[0]
    ax.hlines(-4.5, begin, end - 1, color="#D55E00", linewidth=4, label="found")
    ax.set(xlabel="moments", ylabel="sound")
    ax.legend(frameon=False, ncols=2)
