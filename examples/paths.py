"""
Choose the penalty: a grid, every alpha, or early stopping
==========================================================

How strong the penalty should be is found on held-out data. Three ways: fit a grid of alphas, each
from the last; cover *every* alpha with models that are proven to be good enough there; or run an
unregularised method and stop it early. All three are paths from w = 0 to large weights.
"""

# %%
# Words drawn by a program, a few to learn from, others held out.

from maxmargin import ChainSVM
from maxmargin.datasets import make_words
from maxmargin.paths import alpha_path, eps_path, iterates_path
from maxmargin.plotting import PathDisplay, PathsDisplay, has_matplotlib

words = make_words(160, random_state=0)
X, y, held_out = words.X[:60], words.y[:60], (words.X[60:], words.y[60:])


def told(name, path):
    """The best model of a path, on held-out words."""
    best = path.points[path.best_index_]
    print(f"{name:9s}{len(path):3d} models, best letter error", end=" ")
    print(f"{100 * (1 - best.validation_score):5.2f} % at |w| = {best.norm_w:.2f}")


# %%
# A grid. Fits begin where the last one ended: the dual point is kept, and the weights follow from
# it for the new alpha.

grid = alpha_path(ChainSVM(), X, y, n_alphas=8, tol=0.05, validation=held_out)
told("grid", grid)
print(f"alphas from {grid.alphas[0]:.3g} to {grid.alphas[-1]:.3g}")

# %%
# Every alpha. Between two breakpoints one model is within 10 % of the optimum wherever one looks:
# what it proves at one alpha tells exactly what it proves at others.

path = eps_path(ChainSVM(), X, y, eps=0.1, alpha_min=grid.alphas[-1], validation=held_out)
told("all", path)
print(f"{path.n_epochs} passes; largest gap anywhere {100 * path.gaps.max():.1f} %")
alpha = 0.99 * path.breakpoints[-2]  # an alpha that nobody solved for
print(f"at alpha {alpha:.4f}: {path.model(alpha).result_.certificate()}")

if has_matplotlib():
    PathDisplay.from_path(path)

# %%
# Early stopping. The dual extragradient method without a penalty goes from w = 0 outwards, too. Of
# all weights of one norm, the optima have the least hinge loss; held-out errors may differ.

run = iterates_path(ChainSVM(), X, y, max_epochs=25, validation=held_out)
told("run", run)

if has_matplotlib():
    PathsDisplay.from_paths({"reg-path": grid, "dual-ex": run})
