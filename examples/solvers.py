"""
Compare solvers on one problem
==============================

All solvers minimise the same objective and know the same gap, so that their curves can stand in
one picture: by time, which is what one waits for, and by calls of the oracle, which is what
counts where the oracle is expensive.
"""

# %%
# A chain over synthetic words. Solvers differ in what they do with an answer of the oracle; the
# default remembers it.

import warnings

from maxmargin import ChainSVM
from maxmargin.datasets import make_words
from maxmargin.plotting import ConvergenceDisplay, has_matplotlib
from maxmargin.solvers import BCFW, FrankWolfe, Subgradient

words = make_words(150, random_state=0)
solvers = {
    "default": BCFW(check_every=1),
    "textbook": BCFW(step="frank-wolfe", cache=None, check_every=2),
    "all at once": FrankWolfe(check_every=2),
    "subgradient": Subgradient(check_every=2),
}
models = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # sixty passes are not enough for some, and this is the point
    for name, solver in solvers.items():
        model = ChainSVM(alpha=0.02, solver=solver, tol=0.01, max_epochs=60)
        models[name] = model.fit(words.X, words.y)
        print(f"{name:12} {model.result_.state.seconds:5.2f} s  {model.result_.certificate()}")

# %%
# Every gap is above the true distance from the optimum; the default's is small after a few passes.

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    ConvergenceDisplay.from_estimator(models, x="seconds", y="gap", ax=left)
    ConvergenceDisplay.from_estimator(models, x="n_oracle", y="gap", ax=right)

# %%
# Any two certificates must agree: no objective is below another one's bound.

results = {name: model.result_ for name, model in models.items()}
highest = max(results, key=lambda name: results[name].dual)
print(f"best bound: {results[highest].dual:.5f} ({highest})")
for name, result in results.items():
    assert result.primal >= results[highest].dual
    print(f"{name:12} objective {result.primal:.5f}")
