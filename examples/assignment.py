"""
Learn the costs of an assignment
================================

A dispatcher weighs things that nobody wrote down. From 200 days of decisions on which courier
took which order, learn what a link is worth; see on 100 other days how well that decides, and
plan a new day with it in scipy.
"""

# %%
# The days are made up: what the dispatcher had in mind is hidden from the learner.

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from maxmargin import MatchingSVM, domains
from maxmargin.plotting import has_matplotlib

NAMES = ["distance", "minutes", "waiting", "overload", "skill", "any order"]
TRUE = np.array([-0.05, -0.9, 0.6, -1.5, 0.8, 1.2])  # the dispatcher's, hidden from the learner


def make_day(rng):
    """Return features of all pairs, what each is truly worth, and the links of that day."""
    couriers, orders = rng.integers(4, 11, size=2)
    way = rng.uniform(0, 3, (couriers, 1, 2)) - rng.uniform(0, 3, (1, orders, 2))
    distance = np.linalg.norm(way, axis=2)
    minutes = distance + rng.normal(0, 0.3, distance.shape)  # traffic
    waiting = np.broadcast_to(rng.exponential(0.7, orders), distance.shape)
    overload = np.maximum(rng.uniform(0, 1, orders) - rng.uniform(0.2, 1, (couriers, 1)), 0)
    skill = rng.random(distance.shape) < 0.3
    x = np.stack([distance, minutes, waiting, overload, skill], axis=2)
    worth = x @ TRUE[:-1] + TRUE[-1]
    return x, worth, assign(worth + rng.normal(0, 0.1, worth.shape))


def assign(worth):
    """Return the pairs of the greatest worth in all, by any solver you like; idle if below 0."""
    rows, columns = linear_sum_assignment(np.maximum(worth, 0), maximize=True)
    return np.column_stack([rows, columns])[worth[rows, columns] > 0]


def nearest_first(x):
    """Send the courier nearest to an order, then the nearest of the rest, and so on."""
    left, links = x[:, :, 0].copy(), []
    while np.isfinite(left).any():
        links.append(np.unravel_index(np.argmin(left), left.shape))
        left[links[-1][0], :] = left[:, links[-1][1]] = np.inf
    return links


def compare(name, plans, days):
    """Print the F1 of the links, and what the plans lose under the true worth."""
    both = sum(
        len({*map(tuple, p)} & {*map(tuple, d[2])}) for p, d in zip(plans, days, strict=True)
    )
    sizes = sum(len(p) + len(d[2]) for p, d in zip(plans, days, strict=True))
    best = sum(d[1][tuple(assign(d[1]).T)].sum() for d in days)
    got = sum(d[1][tuple(np.transpose(p))].sum() for p, d in zip(plans, days, strict=True))
    print(f"{name:32}{200 * both / sizes:12.1f} %{100 * (best - got) / best:10.1f} %")


rng = np.random.default_rng(3)
days = [make_day(rng) for _ in range(300)]
X, y, test = [d[0] for d in days[:200]], [d[2] for d in days[:200]], days[200:]
model = MatchingSVM(alpha=0.01, tol=0.01)
saddle = MatchingSVM(alpha=0.01, tol=0.05, max_epochs=5000, solver="dual-extragradient")
signs = domains.Signs(negative=[0, 1, 3], positive=[2, 4])

# %%
# Four models: from all days by two solvers, and from five days, where what is known beforehand
# (farther is never better, ...) may help, and does so here.

learned = {
    "200 days, bcfw": clone(model).fit(X, y),
    "200 days, dual-extragradient": clone(saddle).fit(X, y),
    "5 days, bcfw": clone(model).fit(X[:5], y[:5]),
    "5 days, signs known": clone(saddle).set_params(domain=signs).fit(X[:5], y[:5]),
}
print(f"{'on 100 other days':32}{'links right':>14}{'worth lost':>12}")
compare("nearest first", [nearest_first(d[0]) for d in test], test)
compare("assignment by distance", [assign(9 - d[0][:, :, 0]) for d in test], test)
for name, found in learned.items():
    compare(name, found.predict([d[0] for d in test]), test)
compare("the true worth itself", [assign(d[1]) for d in test], test)

# %%
# What was learned, beside the truth, and how good each fit is known to be.

print(f"{'weights, scaled to length 1':30}" + "".join(f"{name:>10}" for name in NAMES))
for name, w in [("the truth", TRUE), *((name, m.coef_) for name, m in learned.items())]:
    print(f"{name:30}" + "".join(f"{v:10.2f}" for v in w / np.linalg.norm(w)))
for name, found in learned.items():
    print(f"{name:29} is {found.result_.certificate()}")

# %%
# The same as a picture.

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    for k, (name, w) in enumerate(
        [("the truth", TRUE), *((n, m.coef_) for n, m in learned.items())]
    ):
        ax.bar(np.arange(6) + 0.17 * (k - 2), w / np.linalg.norm(w), 0.15, label=name)
    ax.set_xticks(range(6), NAMES)
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.legend(frameon=False, fontsize="small")

# %%
# A new day, planned in a solver of your own with the learned values.

x = make_day(rng)[0]
plan = assign(learned["200 days, bcfw"].edge_scores([x])[0])  # in a solver of your own
print(f"a new day, {x.shape[0]} couriers, {x.shape[1]} orders: ", end="")
print(", ".join(f"{j} takes {k}" for j, k in plan.tolist()))
