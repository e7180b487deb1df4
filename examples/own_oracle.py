"""
Learn what an integer program maximises
=======================================

A planner chooses what to do in a day: tasks take time, and some need another one first. Which
plan is best is an integer program, solved by HiGHS through scipy. What a task is worth is learned
from days that somebody planned by hand.
"""

# %%
# The solver's call is the structure's one algorithm. Tasks take 1 to 4 hours, and each odd task
# needs the one before it.

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from maxmargin import StructuredSVM
from maxmargin.plotting import has_matplotlib
from maxmargin.structures import Structure

N = 10
HOURS = np.array([1, 2, 1, 3, 2, 4, 1, 2, 3, 1])
NEEDS = np.zeros((N // 2, N))
for row in range(N // 2):
    NEEDS[row, 2 * row + 1], NEEDS[row, 2 * row] = 1, -1  # odd task minus the one before


class Plan(Structure):
    """Tasks for a day of this many hours. layout = (N,)."""

    def __init__(self, hours=8):
        self.hours = hours

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.isin(np.arange(layout[0]), y).astype(float)

    def decode(self, z, layout):
        return np.flatnonzero(z > 0.5)

    def maximize(self, theta, layout):
        rules = [LinearConstraint(HOURS[None, :], ub=self.hours), LinearConstraint(NEEDS, ub=0)]
        given = {"integrality": np.ones(N), "bounds": Bounds(0, 1), "constraints": rules}
        return milp(-theta, **given, options={"presolve": False}).x.round()


# %%
# Days: for each task its urgency, its value and how tired it makes, and what the planner chose.

TRUE = np.array([1.0, 2.0, -1.5])
rng = np.random.default_rng(0)
X = [rng.random((N, 3)) for _ in range(60)]
by_hand = [Plan().maximize(x @ TRUE + rng.normal(0, 0.05, N), (N,)) for x in X]
y = [np.flatnonzero(z) for z in by_hand]

model = StructuredSVM(Plan(), alpha=0.02, tol=0.05, max_epochs=40).fit(X[:40], y[:40])
print(model.result_.certificate())
print(f"the oracle was asked {model.result_.state.n_oracle} times while training")
print("weights, scaled:", (model.coef_ / np.abs(model.coef_).max() * 2).round(2), "truth:", TRUE)

# %%
# On other days: which share of tasks is planned as by hand, and what a plan is worth to the
# planner beside the best one.

plans = model.predict(X[40:])
same = [np.mean(Plan().encode(p, (N,)) == z) for p, z in zip(plans, by_hand[40:], strict=True)]
got = sum((x @ TRUE)[p].sum() for x, p in zip(X[40:], plans, strict=True))
best = sum(x @ TRUE @ Plan().maximize(x @ TRUE, (N,)) for x in X[40:])
print(f"tasks planned as by hand: {np.mean(same):.0%}")
print(f"worth of the plans: {100 * got / best:.1f} % of the best")

# %%
# What each task of those days is worth, learned and true: the scale differs, the order hardly.

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    tasks = np.vstack(X[40:])
    chosen = np.concatenate(by_hand[40:]) > 0
    for kind, colour, mark in ((chosen, "#0072B2", "o"), (~chosen, "#D55E00", "x")):
        name = "planned by hand" if colour == "#0072B2" else "left out"
        worth = tasks[kind] @ TRUE, tasks[kind] @ model.coef_
        ax.scatter(*worth, s=14, c=colour, marker=mark, label=name)
    ax.set(xlabel="true worth", ylabel="learned worth")
    ax.legend(frameon=False)
