"""
Decide by predicted costs
=========================

Costs of roads are known after the drive; before it they are predicted from what is known of the
day. Predictions by least squares are as near as they can be on average, and still lead to bad
routes where costs are not linear in the features. `DecisionSVM` learns predictions for the routes
that are chosen by them. How far it leaves least squares is found by cross-validation.

The days here are drawn, on a grid of roads. With the half-hours of the Irish electricity market::

    python examples/decisions.py --data FOLDER
"""

# %%
# Roads lead right and down. Costs are a power of a linear function of five features, with noise.

import argparse

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import DecisionSVM
from maxmargin.datasets import load_energy_knapsack
from maxmargin.structures import Knapsack, ShortestPath

parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder that holds energy_knapsack/")
parser.add_argument("--days", type=int, default=300)
options = parser.parse_args()

SIZE = 5
nodes = np.arange(SIZE * SIZE).reshape(SIZE, SIZE)
right = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
down = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
edges = np.vstack([right, down])
roads = ShortestPath(edges, 0, SIZE * SIZE - 1)

rng = np.random.default_rng(0)
X = rng.normal(size=(options.days + 500, 5))
B = rng.integers(2, size=(5, len(edges)))
costs = (X @ B / np.sqrt(5) + 3) ** 6 / 3**6
costs *= rng.uniform(0.5, 1.5, size=costs.shape)
new = slice(options.days, None)

# %%
# A very large penalty is least squares alone; the default chooses the penalty.

linear = DecisionSVM(roads, alpha=1e9).fit(X[: options.days], costs[: options.days])
model = DecisionSVM(roads).fit(X[: options.days], costs[: options.days])
print(model.result_.certificate())
for name, own in (("least squares", linear), ("for the regret", model)):
    error = np.abs(own.predict_costs(X[new]) - costs[new]).mean()
    print(f"{name}: regret {own.regret(X[new], costs[new]):.1%}, mean error of costs {error:.2f}")

# %%
# The day on which the two routes differ most, over the true costs.

routes = {name: own.predict(X[new]) for name, own in (("least squares", linear), ("regret", model))}
paid = {name: (z * costs[new]).sum(axis=1) for name, z in routes.items()}
day = int(np.argmax(paid["least squares"] - paid["regret"]))
fig, axes = plt.subplots(1, 2, figsize=(8, 4))
for axis, (name, z) in zip(axes, routes.items()):
    for (a, b), cost, on in zip(edges, costs[new][day], z[day]):
        place = np.array([divmod(int(v), SIZE) for v in (a, b)])
        colour = "tab:blue" if on else "0.8"
        axis.plot(place[:, 1], -place[:, 0], color=colour, linewidth=1 + 2 * cost / costs.mean())
    axis.set_title(f"{name}: {paid[name][day]:.1f}")
    axis.set_axis_off()
fig.suptitle("Routes of one day; broad roads are expensive")

# %%
# Of the real half-hours, some are chosen within a capacity, to be worth as much as possible. The
# last fifth of the days is held out. A forecast of the price is known, by which others decide.

if options.data:
    data = load_energy_knapsack(options.data)
    cut = len(data.X) - len(data.X) // 5
    price = data.X[:, :, data.feature_names.index("forecast_price")] * data.weights
    for capacity in data.capacities:
        bag = Knapsack(data.weights, capacity)
        learned = DecisionSVM(bag, "max").fit(data.X[:cut], data.y[:cut])
        chosen = {
            "forecast": [bag.maximize(own, (48,)) for own in price[cut:]],
            "learned": learned.predict(data.X[cut:]),
        }
        best = np.array([own @ bag.maximize(own, (48,)) for own in data.y[cut:]])
        lost = {
            name: np.mean(1 - (data.y[cut:] * z).sum(axis=1) / best) for name, z in chosen.items()
        }
        print(f"capacity {capacity}: " + ", ".join(f"{k} {v:.4f}" for k, v in lost.items()))

plt.show()
