"""What compiled passes are told of a domain."""

import numpy as np
import pytest

from contract import problems
from maxmargin.domains import L2Ball, NonNegative, Product, RealSpace, Signs
from maxmargin.domains.base import check_limits
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
}


@pytest.mark.parametrize("name", KNOWN)
def test_signs_and_radius_give_the_projection(name):
    domain = KNOWN[name]
    signs, radius = check_limits(domain, DIM)
    for w in np.random.default_rng(0).normal(size=(50, DIM)):
        cut = np.where(signs * w < 0, 0.0, w) if len(signs) else w.copy()
        norm = np.linalg.norm(cut)
        expected = cut * (radius / norm) if norm > radius else cut
        np.testing.assert_allclose(domain.project(w), expected, rtol=1e-14)


class Halved(L2Ball):
    """Another projection than its parent's, which says nothing of limits."""

    def project(self, w):
        return super().project(w / 2)


class Short(NonNegative):
    def limits(self, dim):
        return np.ones(dim - 1, dtype=np.int8), np.inf


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


def test_signs_of_the_wrong_length_are_refused():
    problem = problems.finite(domain=Short()).problem
    with pytest.raises(ValueError, match=r"Short\.limits returned \(\d+,\) signs"):
        BCFW(max_epochs=1).run(problem)
