"""
Learn from past routes what planners know
=========================================

Which customer follows which on a delivery route is not a matter of distances alone: planners know
of one-way streets, opening hours and drivers. What they did on past days is all there is to learn
from; no costs were written down. `DecisionSVM` finds costs of arcs by which the past routes would
have been nearly the best ones, and any solver can then plan new days by them.

The days here are drawn. With the real routes of a small company::

    python examples/routes.py --data FOLDER
"""

# %%
# A day has stops, and vehicles that leave the depot, place 0. A part is an arc between two places
# of the day; each stop is entered and left once, the depot as often as there are vehicles.

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from maxmargin import DecisionSVM
from maxmargin.datasets import load_vrp_daily
from maxmargin.structures import Candidates, Matching


def plan(costs, vehicles):
    """Return the cheapest arcs by a table of costs, with copies of the depot for the vehicles."""
    places = np.r_[np.zeros(vehicles, dtype=int), 1 : len(costs)]
    table = costs[np.ix_(places, places)]
    table[places[:, None] == places] = 1e6
    return np.column_stack([places[own] for own in linear_sum_assignment(table)])


def make_days(n_days, n_places=40, seed=0):
    """Draw days planned by distances and by what only the planner knows."""
    rng = np.random.default_rng(seed)
    spots = rng.uniform(size=(n_places, 2))
    distance = np.linalg.norm(spots[:, None] - spots, axis=2)
    hidden = distance + 0.4 * rng.uniform(size=distance.shape)
    days = []
    for day in range(n_days):
        stops = rng.choice(np.arange(1, n_places), size=12, replace=False)
        own = np.r_[0, stops]
        arcs = own[plan(hidden[np.ix_(own, own)] + 0.1 * rng.uniform(size=(13, 13)), 2)]
        days.append(Bunch(day=day, weekday=day % 7, vehicles=2, stops=stops, arcs=arcs))
    return Bunch(days=days, distance=distance)


parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder that holds vrp_daily/")
options = parser.parse_args()
data = load_vrp_daily(options.data) if options.data else make_days(60)
n_test = len(data.days) // 5
print(f"{len(data.days) - n_test} days to learn from, {n_test} to test on")

# %%
# Features of an arc: its distance, and how often it was driven on the days before, among the arcs
# out of its tail and into its head: on all days, on the last ones, and on this weekday. A stop that
# two vehicles served, as happens in real data, may be left as often as it was.


def describe(day, counts, recent, weekday_counts):
    """Return features of the arcs of a day, its layout, and which arcs were driven."""
    places = np.r_[0, day.stops]
    edges = np.argwhere(~np.eye(len(places), dtype=bool))
    tails, heads = places[edges].T
    logs = []
    for known in (counts, recent, weekday_counts[day.weekday]):
        table = known[np.ix_(places, places)] + 0.1
        for axis in (1, 0):
            logs.append(np.log(table / table.sum(axis=axis, keepdims=True))[tuple(edges.T)])
    near = data.distance / data.distance.mean()
    rows = [near[tails, heads], *logs, counts[tails, heads] > 0, tails == 0, heads == 0]
    made = (day.arcs[:, None] == np.column_stack([tails, heads])).all(axis=2).any(axis=0)
    used = [np.bincount(ends, minlength=len(places)) for ends in edges[made].T]
    least = np.r_[day.vehicles, np.ones(len(day.stops), dtype=int)]
    layout = Candidates((len(places), len(places)), edges, *np.maximum(used, least))
    return np.column_stack(rows).astype(float), layout, made.astype(float)


counts, recent = np.zeros((2, *data.distance.shape))
weekdays = np.zeros((7, *data.distance.shape))
described, frequencies = [], []
for day in data.days:
    described.append(describe(day, counts, recent, weekdays))
    frequencies.append(-np.log((counts + 0.1) / (counts + 0.1).sum(axis=1, keepdims=True)))
    recent *= 0.9
    for table in (counts, recent, weekdays[day.weekday]):
        np.add.at(table, tuple(day.arcs.T), 1)

# %%
# The first days, of which little was known before, are left out.

past = described[len(described) // 8 : -n_test]
model = DecisionSVM(Matching(), alpha=0.01, loss="hamming-sum", tol=0.05)
model.fit([own[:2] for own in past], decisions=[made for *_, made in past])
print(model.result_.certificate())
learned = model.predict_costs([own[:2] for own in described[-n_test:]])
recall = {"distances": [], "frequencies of arcs": [], "learned": []}
tested = zip(data.days[-n_test:], described[-n_test:], learned, frequencies[-n_test:])
for day, own, costs, often in tested:
    places = np.r_[0, day.stops]
    tables = [known[np.ix_(places, places)] for known in (data.distance, often)]
    tables.append(np.full_like(tables[0], 1e6))
    tables[-1][tuple(own[1].links.T)] = costs
    driven = {tuple(arc) for arc in day.arcs.tolist()}
    for name, table in zip(recall, tables):
        arcs = {tuple(arc) for arc in places[plan(table, day.vehicles)].tolist()}
        recall[name].append(len(arcs & driven) / len(driven))
for name, shares in recall.items():
    print(f"{name}: {np.mean(shares):.0%} of the arcs")
plt.boxplot(recall.values(), tick_labels=list(recall))
plt.ylabel("share of the arcs that were driven, by day")
plt.show()
