"""What compiled passes are told of a domain."""

import numpy as np
import pytest

from contract import problems
from maxmargin.domains import Box, Fixed, L2Ball, NonNegative, Product, RealSpace, Signs
from maxmargin.domains.base import Limits, check_limits
from maxmargin.domains.shifted import Shifted
from maxmargin.result import Status
from maxmargin.solvers import BCFW

DIM = 6
KNOWN = {
    "free": RealSpace(),
    "signs": Signs(positive=[0, 3], negative=[1]),
    "non-negative": NonNegative(),
    "ball": L2Ball(0.7),
    "ball and signs": L2Ball(0.7, Signs(negative=[2])),
    "product": Product([([0, 4], NonNegative()), ([2], Signs(negative=[0]))]),
    "box": Box(-0.3, [0.1, 0.2, 0.3, 0.4], indices=[0, 2, 3, 5]),
    "fixed": Fixed([1, 4], [0.5, 0.0]),
    "product of boxes": Product([([5, 1], Box(0.1, 0.2)), ([2], NonNegative())]),
    "shifted": Shifted(NonNegative([0, 3]), np.linspace(-1.0, 1.0, DIM)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_bounds_and_radius_give_the_projection(name):
    domain = KNOWN[name]
    low, high, radius = check_limits(domain, DIM)
    for w in np.random.default_rng(0).normal(size=(50, DIM)):
        cut = np.clip(w, low, high) if len(low) else w.copy()
        norm = np.linalg.norm(cut)
        expected = cut * (radius / norm) if norm > radius else cut
        np.testing.assert_allclose(domain.project(w), expected, rtol=1e-14)


class Halved(L2Ball):
    """Another projection than its parent's, which says nothing of limits."""

    def project(self, w):
        return super().project(w / 2)


class Paired(NonNegative):
    """Weights 0 and 1 are equal, so are 2 and 3, and none is negative."""

    def project(self, w):
        return np.repeat(np.maximum(w.reshape(-1, 2).mean(axis=1), 0.0), 2)


@pytest.mark.parametrize(
    "domain", [Halved(1.0), L2Ball(0.3, Paired()), Product([(np.arange(4), Paired())])]
)
def test_an_own_projection_is_not_taken_for_that_of_the_parent(domain):
    assert check_limits(domain, 4) is None


@pytest.mark.parametrize("domain", [L2Ball(0.3, Paired()), Product([(np.arange(4), Paired())])])
@pytest.mark.parametrize("solver", [BCFW(), BCFW("frank-wolfe")])
def test_steps_in_a_cone_of_the_user_reach_the_optimum(domain, solver):
    problem = problems.finite(domain=domain, cost=problems.generic, seed=4).problem
    result = solver.set_params(tol=1e-4, max_epochs=500).run(problem)
    assert result.status is Status.CONVERGED
    assert result.w.any()


WRONG = {
    "short": lambda dim: (np.zeros(dim - 1), np.ones(dim - 1), np.inf),
    "one": lambda dim: (np.zeros(dim), np.empty(0), np.inf),
    "crossed": lambda dim: (np.ones(dim), np.zeros(dim), np.inf),
    "no number": lambda dim: (np.full(dim, np.nan), np.ones(dim), np.inf),
    "radius 0": lambda dim: (np.empty(0), np.empty(0), 0.0),
    "box and ball": lambda dim: (np.zeros(dim), np.ones(dim), 1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_limits_are_refused(name):
    class Wrong(NonNegative):
        def limits(self, dim):
            return WRONG[name](dim)

    problem = problems.finite(domain=Wrong()).problem
    with pytest.raises(ValueError, match=r"Wrong\.limits returned \(\d+,\) and \(\d+,\) bounds"):
        BCFW(max_epochs=1).run(problem)


@pytest.mark.parametrize(("bounds", "is_cone"), [((0.0, np.inf), True), ((-1.0, 0.0), False)])
def test_limits_know_whether_they_may_be_scaled(bounds, is_cone):
    low, high = (np.full(3, bound) for bound in bounds)
    assert Limits(low, high, np.inf).is_cone is is_cone


class SlowBox(Box):
    """Leaves compiled passes nothing to know, so that steps project in Python."""

    def limits(self, dim):
        return None


@pytest.mark.parametrize("step", ["frank-wolfe", "corrective", "pairwise"])
@pytest.mark.parametrize("averaging", [False, True])
def test_boxes_give_the_same_in_compiled_passes(step, averaging):
    results = []
    for kind in (Box, SlowBox):
        problem = problems.finite(domain=None, cost=problems.generic, seed=4).problem
        low = np.linspace(-0.2, 0.1, problem.dim)
        problem = problems.finite(
            domain=kind(low, low + 0.15), cost=problems.generic, seed=4
        ).problem
        solver = BCFW(step, averaging=averaging, tol=1e-6, max_epochs=2000, random_state=0)
        results.append(solver.run(problem))
    fast, slow = results
    assert fast.status is slow.status is Status.CONVERGED
    np.testing.assert_allclose(fast.dual, slow.dual, rtol=3e-6)
