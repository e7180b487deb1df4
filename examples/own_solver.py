"""
Learn values from past decisions, with a solver of your own
===========================================================

Every week a depot chose which sites to open and which customers each of them serves. What the
decisions were worth to the planners was never written down: it is learned here from the decisions
alone. The optimiser is any program: CP-SAT of OR-tools where that is installed, else HiGHS through
scipy. To the library it is one function from scores to the best decision.
"""

# %%
# A week has 4 sites and 6 customers. A decision has 4 + 24 parts: site open, and site serves
# customer. Each customer is served by one open site at most, and each site serves two at most.

import warnings

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from maxmargin import StructuredSVM
from maxmargin.plotting import has_matplotlib
from maxmargin.structures import Program, Structure

SITES, CUSTOMERS, ROOM = 4, 6, 2
PARTS = SITES + SITES * CUSTOMERS


def rows():
    """Return what every decision must satisfy, as a Program."""
    matrix, upper = [], []
    for customer in range(CUSTOMERS):  # served once at most
        row = np.zeros(PARTS)
        row[SITES + customer :: CUSTOMERS] = 1
        matrix, upper = [*matrix, row], [*upper, 1]
    for site in range(SITES):  # by a site that is open and has room
        row = np.zeros(PARTS)
        row[SITES + site * CUSTOMERS : SITES + (site + 1) * CUSTOMERS] = 1
        row[site] = -ROOM
        matrix, upper = [*matrix, row], [*upper, 0]
    return Program(np.array(matrix), upper, part_upper=1)


RULES = rows()


def by_highs(theta):
    """Return the best decision for these scores of its parts."""
    matrix, upper = RULES.matrix, RULES.upper
    answer = milp(
        -theta,
        integrality=np.ones(PARTS),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, ub=upper),
        options={"mip_rel_gap": 0.0},  # HiGHS would stop at 1e-4, which is not the best decision
    )
    return answer.x.round()


def by_cp_sat(theta):
    """Return the same by OR-tools, which wants whole numbers; scores are rounded to a millionth."""
    from ortools.sat.python import cp_model

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    parts = [model.new_bool_var(f"part {p}") for p in range(PARTS)]
    for row, bound in zip(RULES.matrix.toarray(), RULES.upper, strict=True):
        model.add(sum(int(a) * p for a, p in zip(row, parts, strict=True) if a) <= int(bound))
    scale = 1e6 / max(np.abs(theta).max(), 1e-9)
    model.maximize(sum(round(scale * s) * p for s, p in zip(theta, parts, strict=True)))
    solver.parameters.num_workers = 1
    solver.solve(model)
    return np.array([solver.value(part) for part in parts], dtype=float)


def has_cp_sat():
    """Return whether OR-tools is there."""
    try:
        import ortools.sat.python.cp_model  # noqa: F401
    except ImportError:
        return False
    return True


optimise = by_cp_sat if has_cp_sat() else by_highs
print("decisions by", optimise.__name__)

# %%
# Past weeks: what is known of each part are the rent of a site, and how far a customer is and how
# much it buys. Planners value these by numbers that are not known, and have a feeling for more.

TRUE = np.array([-1.0, -2.0, 1.5])  # rent, distance, sales
rng = np.random.default_rng(0)


def week():
    """Return what is known of each part of a decision."""
    x = np.zeros((PARTS, 3))
    x[:SITES, 0] = rng.uniform(0.5, 1.5, SITES)
    at, homes = rng.random((SITES, 2)), rng.random((CUSTOMERS, 2))
    far = np.linalg.norm(at[:, None] - homes[None], axis=2)
    x[SITES:, 1], x[SITES:, 2] = far.ravel(), np.tile(rng.uniform(0, 1, CUSTOMERS), SITES)
    return x


X = [week() for _ in range(60)]
y = [by_highs(x @ TRUE + rng.normal(0, 0.03, PARTS)) for x in X]
train, test = slice(0, 30), slice(30, 60)

# %%
# One function makes a structure. `constraints` is optional: all past decisions and all answers are
# checked against it. Calls run in two processes and are ended if one takes more than 30 seconds.

structure = Structure.from_oracle(optimise, constraints=RULES, n_jobs=2, time_limit=30)
model = StructuredSVM(structure, alpha=0.002, tol=0.05, max_epochs=30)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the certificate says how far it got
    model.fit(X[train], y[train])
print(model.result_.certificate())
learned = model.coef_ / np.linalg.norm(model.coef_) * np.linalg.norm(TRUE)
print("values learned:", learned.round(2), "true:", TRUE)

# %%
# Beside it a plain regression: is a part chosen or not, by its features alone? It knows nothing of
# rules or of what else could have been chosen. Both are judged by what their decisions are worth
# with the true values: regret is the share that is lost beside the best decision.

ones = [np.column_stack([x, x[:, :1] > 0]) for x in X]  # regression needs a constant for sites
plain, *_ = np.linalg.lstsq(np.vstack(ones[train]), np.concatenate(y[train]), rcond=None)


def regret(decide):
    """Return the share of the worth that decisions lose."""
    worth = [x @ TRUE @ z for x, z in zip(X[test], map(decide, range(30, 60)), strict=True)]
    best = [x @ TRUE @ by_highs(x @ TRUE) for x in X[test]]
    return 1 - sum(worth) / sum(best)


predicted = model.predict(X[test])
losses = {
    "learned from decisions": regret(lambda i: predicted[i - 30]),
    "plain regression": regret(lambda i: by_highs(ones[i] @ plain)),
    "nothing done": 1.0,
}
for name, lost in losses.items():
    print(f"{name:24} regret {100 * lost:.1f} %")

# %%

if has_matplotlib():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    names, places = ("rent", "distance", "sales"), np.arange(3)
    ax.bar(places - 0.2, TRUE, 0.4, color="0.6", label="true")
    ax.bar(places + 0.2, learned, 0.4, color="#0072B2", label="learned")
    ax.axhline(0, color="0.2", linewidth=0.8)
    ax.set_xticks(places, names)
    ax.set_ylabel("value")
    ax.legend(frameon=False)
