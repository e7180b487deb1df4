"""
Tours by predicted travel times
===============================

A van visits all customers and comes back. Travel times depend on the day: hour, rain, events. The
best tour is an integer program with a constraint for every set of customers, too many to list.
HiGHS is given those that its own solutions break, until they break none; what was found for one
day is kept for the next. That function is all `DecisionSVM` needs of the problem.
"""

# %%
# One part per pair of places; two of them at each place, and fewer inside any set than it has.

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from maxmargin import DecisionSVM
from maxmargin.structures import Structure

PLACES = 8
FIRST, SECOND = np.triu_indices(PLACES, 1)
PAIRS = len(FIRST)


at = np.arange(PLACES)[:, None]
rows = [np.where((at == FIRST) | (at == SECOND), 1.0, 0.0)]
low, high = [np.full(PLACES, 2.0)], [np.full(PLACES, 2.0)]


def best_tour(theta):
    """The tour of highest score; constraints that solutions break are added, and stay."""
    while True:
        rules = LinearConstraint(*map(np.concatenate, (rows, low, high)))
        found = milp(-theta, constraints=rules, integrality=np.ones(PAIRS), bounds=Bounds(0, 1))
        used = found.x.round()
        chosen = np.flatnonzero(used)
        ends = FIRST[chosen], SECOND[chosen]
        graph = coo_array((used[chosen], ends), shape=(PLACES, PLACES))
        count, piece = connected_components(graph, directed=False)
        if count == 1:
            return used
        inside = [(piece[FIRST] == k) & (piece[SECOND] == k) for k in range(count)]
        rows.append(np.array(inside, dtype=float))
        low.append(np.full(count, -np.inf))
        high.append(np.bincount(piece) - 1.0)


# %%
# Days: distances, and a power of a linear function of five features on top of them.

DAYS, NEW = 40, 60
rng = np.random.default_rng(0)
place = rng.uniform(-2, 2, size=(PLACES, 2))
distance = np.linalg.norm(place[FIRST] - place[SECOND], axis=1)
X = rng.normal(size=(DAYS + NEW, 5))
B = rng.integers(2, size=(5, PAIRS)) * rng.uniform(-2, 2, size=(5, PAIRS))
times = distance + (X @ B / np.sqrt(5) + 3) ** 4 / 3**3 * rng.uniform(0.5, 1.5, (len(X), PAIRS))

# %%
# A very large penalty is least squares; a smaller one looks at the tours.

tours = Structure.from_oracle(best_tour, n_parts=PAIRS)
for name, alpha in (("least squares", 1e9), ("for the tours", 1.0)):
    model = DecisionSVM(tours, alpha=alpha, tol=0.05).fit(X[:DAYS], times[:DAYS])
    regret = model.regret(X[DAYS:], times[DAYS:])
    print(f"{name}: tours take {regret:.1%} longer than the best ones")
    print(f"{model.result_.certificate()}, {model.result_.state.n_oracle} calls")
print(f"{sum(map(len, rows[1:]))} of {2**PLACES} constraints on sets were needed")
