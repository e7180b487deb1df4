"""
Learn values from past decisions, with a solver of your own
===========================================================

Every week a depot chose which sites to open and which customers each of them serves. What that was
worth to the planners was never written down: it is learned from the decisions alone. The optimiser
is any program: here CP-SAT of OR-tools where that is installed, else HiGHS through scipy.
"""

# %%
# A week has 3 sites and 5 customers. A decision has 3 + 15 parts: site open, and site serves
# customer. A customer is served once at most, and an open site serves two at most.

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from maxmargin import StructuredSVM
from maxmargin.plotting import has_matplotlib
from maxmargin.structures import Program, Structure

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

S, C, ROOM = 3, 5, 2
PARTS = S + S * C
once = np.hstack([np.zeros((C, S)), np.kron(np.ones(S), np.eye(C))])
room = np.hstack([-ROOM * np.eye(S), np.kron(np.eye(S), np.ones(C))])
RULES = Program(np.vstack([once, room]), np.repeat([1, 0], [C, S]), part_upper=1)


def by_highs(theta):
    """Return the best decision for these scores of its parts."""
    rules = LinearConstraint(RULES.matrix, ub=RULES.upper)
    # HiGHS would stop at a gap of 1e-4, which may not be the best decision
    options = {"mip_rel_gap": 0.0, "presolve": False}
    given = {"integrality": np.ones(PARTS), "bounds": Bounds(0, 1), "constraints": rules}
    return milp(-theta, **given, options=options).x.round()


def by_cp_sat(theta):
    """Return the same by OR-tools, which wants integers."""
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    parts = [model.new_bool_var(f"part {p}") for p in range(PARTS)]
    for row, bound in zip(RULES.matrix.toarray(), RULES.upper, strict=True):
        model.add(sum(int(a) * p for a, p in zip(row, parts, strict=True) if a) <= int(bound))
    scores = np.rint(theta * 1e8 / max(np.abs(theta).max(), 1e-9)).astype(int).tolist()
    model.maximize(sum(s * p for s, p in zip(scores, parts, strict=True)))
    solver.parameters.num_workers = 1
    solver.solve(model)
    return np.array([solver.value(part) for part in parts], dtype=float)


# %%
# Past weeks: known are the rent of a site, how far each customer is from it and how much it buys.
# Planners value these by numbers that we do not know, and have a feeling for more.

TRUE = np.array([-1.0, -2.0, 1.5])  # rent, distance, sales
rng = np.random.default_rng(0)


def week():
    """Return what is known of each part of a decision."""
    far = np.linalg.norm(rng.random((S, 1, 2)) - rng.random((1, C, 2)), axis=2)
    x = np.zeros((PARTS, 3))
    x[:S, 0] = rng.uniform(0.5, 1.5, S)
    x[S:, 1], x[S:, 2] = far.ravel(), np.tile(rng.random(C), S)
    return x


X = [week() for _ in range(50)]
y = [by_highs(x @ TRUE + rng.normal(0, 0.03, PARTS)) for x in X]

# %%
# One function makes a structure. Past decisions and all answers are checked against `constraints`.
# Calls run in two processes, and are ended if one takes more than 30 seconds.

optimise = by_highs if cp_model is None else by_cp_sat
structure = Structure.from_oracle(optimise, constraints=RULES, n_jobs=2, time_limit=30)
model = StructuredSVM(structure, alpha=0.01, tol=0.1, max_epochs=40).fit(X[:25], y[:25])
print(f"{optimise.__name__}: {model.result_.certificate()}")
learned = model.coef_ / np.linalg.norm(model.coef_) * np.linalg.norm(TRUE)
print("values learned:", learned.round(2), "true:", TRUE)

# %%
# Beside it a regression: how likely is a part to be chosen, by its features alone? It takes the
# best decision for these chances less a price, the one that gives most past decisions back, and
# does not know what else could have been chosen. Regret is the share of the true worth that
# decisions of other weeks lose.

ones = [np.column_stack([x, x[:, 0] > 0, x[:, 0] == 0]) for x in X]  # constants of both kinds
chance, *_ = np.linalg.lstsq(np.vstack(ones[:25]), np.concatenate(y[:25]), rcond=None)
decided = {p: [by_highs(x @ chance - p) for x in ones] for p in (0.1, 0.2, 0.3, 0.4)}
price = max(decided, key=lambda p: np.mean(np.array(decided[p][:25]) == y[:25]))
best = sum(x @ TRUE @ by_highs(x @ TRUE) for x in X[25:])
ways = {"learned from decisions": model.predict(X[25:]), "regression": decided[price][25:]}
for name, outputs in ways.items():
    worth = sum(x @ TRUE @ z for x, z in zip(X[25:], outputs, strict=True))
    print(f"{name:24} regret {100 * (1 - worth / best):.1f} %")

# %%

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    for values, place, colour, name in (
        (TRUE, -0.2, "0.6", "true"),
        (learned, 0.2, "C0", "learned"),
    ):
        ax.bar(np.arange(3) + place, values, 0.4, color=colour, label=name)
    ax.set_xticks(range(3), ["rent", "distance", "sales"])
    ax.legend(frameon=False)
