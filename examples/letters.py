"""
Read words with a chain
=======================

A chain reads the letters of a word together: what is unclear in one image is clearer beside its
neighbours. The strength of the penalty is chosen on held-out words, then the model is tested on
others. Words are synthetic; the real handwritten ones are read with::

    python examples/letters.py --data letter.data.gz --alphas 0.1 0.03 0.01 0.003
"""

# %%
# Fold 0 is for testing, fold 1 for choosing alpha, the other eight are for training.

import argparse
from copy import copy

from maxmargin import ChainSVM
from maxmargin.datasets import load_letters, make_words
from maxmargin.metrics import sequence_error, token_error
from maxmargin.plotting import ConvergenceDisplay, WordsDisplay, has_matplotlib

parser = argparse.ArgumentParser(description="Read words letter by letter with a chain.")
parser.add_argument("--data", help="letter.data, letter.data.gz or the folder they are in")
parser.add_argument("--words", type=int, default=600, help="synthetic words to draw")
parser.add_argument("--alphas", type=float, nargs="+", default=[0.3, 0.1, 0.03])
options = parser.parse_args()
data = load_letters(options.data) if options.data else make_words(options.words)


def fold(chosen):
    """The words of some folds, as a pair X, y."""
    kept = [i for i, number in enumerate(data.fold) if chosen(number)]
    return [data.X[i] for i in kept], [data.y[i] for i in kept]


(X, y), (X_held, y_held), (X_test, y_test) = (
    fold(chosen) for chosen in (lambda k: k > 1, lambda k: k == 1, lambda k: k == 0)
)
print(f"{len(X)} words to train on, {len(X_held)} held out, {len(X_test)} to test on")

# %%
# From one alpha to the next, ``warm_start`` begins where the last fit ended. Large ones are
# quick, and lead to the next.

model = ChainSVM(tol=0.01, warm_start=True)
best, least = None, float("inf")
for alpha in sorted(options.alphas, reverse=True):
    model.set_params(alpha=alpha).fit(X, y)
    error = token_error(y_held, model.predict(X_held))
    print(f"alpha {alpha:<8g} held-out letter error {100 * error:5.2f} %", end="   ")
    print(f"{model.result_.n_epochs} epochs, {model.result_.state.seconds:.1f} s")
    if error < least:
        best, least = copy(model), error

# %%
# The model of the least held-out error is tested once.

read = best.predict(X_test)
print(f"chosen: alpha {best.alpha:g}, {best.result_.certificate()}")
print(f"test letter error {100 * token_error(y_test, read):.2f} %,", end=" ")
print(f"test word error {100 * sequence_error(y_test, read):.2f} %")

# %%
# Some test words, and what was read in them; wrong letters are underlined.

if has_matplotlib():
    WordsDisplay.from_predictions(X_test[:4], y_test[:4], read[:4], data.image_shape, columns=2)

# %%
# How objective and bound met in the last fit of the chosen model.

if has_matplotlib():
    ConvergenceDisplay.from_estimator(best, x="epoch")
