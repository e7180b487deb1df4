"""Which facilities to open and whom they serve; processes of the oracle import no more."""

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp


class Facilities:
    """Parts: each facility is open, then each customer is served by each facility."""

    def __init__(self, facilities, customers):
        self.sizes = facilities, customers
        each, pairs = sparse.eye_array(facilities), facilities * customers
        one = sparse.kron(sparse.eye_array(customers), np.ones((1, facilities)))
        served = sparse.hstack([sparse.coo_array((customers, facilities)), one])
        is_open = sparse.kron(np.ones((customers, 1)), each)
        linked = sparse.hstack([-is_open, sparse.eye_array(pairs)])
        self.rows = sparse.csr_array(sparse.vstack([served, linked]))
        self.low = np.concatenate([np.ones(customers), np.full(pairs, -np.inf)])
        self.high = np.concatenate([np.ones(customers), np.zeros(pairs)])
        self.n_parts = self.rows.shape[1]

    def __call__(self, theta):
        """The best decision, and a bound on its score."""
        rules, ones = LinearConstraint(self.rows, self.low, self.high), np.ones(len(theta))
        found = milp(-theta, integrality=ones, bounds=Bounds(0, 1), constraints=rules)
        return found.x, -found.mip_dual_bound

    def feasible(self, z):
        value = self.rows @ z
        return bool(((value >= self.low - 1e-6) & (value <= self.high + 1e-6)).all())

    def days(self, n):
        """Features of days, and costs that are not linear in them."""
        rng, (facilities, customers) = np.random.default_rng(0), self.sizes
        X, B = rng.normal(size=(n, 4)), rng.integers(2, size=(4, self.n_parts))
        base = np.where(np.arange(self.n_parts) < facilities, 0.3 * customers, 1.0)
        return X, base * (X @ B / 2 + 3) ** 4 / 81 * rng.uniform(0.8, 1.2, size=(n, self.n_parts))
