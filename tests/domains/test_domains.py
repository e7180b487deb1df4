"""Domains of weights against general solvers, on drawn points of all sizes."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import approx_fprime, linprog, minimize
from sklearn.base import clone

from maxmargin.domains import Domain, L1Ball, L2Ball, NonNegative, Product, RealSpace, Signs
from maxmargin.domains.base import check_domain
from reference.weight_sets import into_ball

DIM = 6
SIGNS = Signs(positive=[0, 4], negative=[2])
BOUNDED = {
    "l2": L2Ball(1.5),
    "l2-signs": L2Ball(0.7, signs=SIGNS),
    "l2-positive": L2Ball(2.0, signs=NonNegative()),
    "l1": L1Ball(1.5),
    "l1-signs": L1Ball(2.5, signs=SIGNS),
    "l1-positive": L1Ball(1.0, signs=NonNegative()),
    "product-of-balls": Product([([5, 0, 2], L2Ball(1.0)), ([1, 3, 4], L1Ball(0.5))]),
}
CONES = {
    "all": RealSpace(),
    "signs": SIGNS,
    "nonnegative": NonNegative(),
    "some-nonnegative": NonNegative([1, 5]),
    "product-of-cones": Product([([3, 1], NonNegative()), ([0], Signs(negative=[0]))]),
}
MIXED = {
    "ball-and-free": Product([([4, 1], L2Ball(0.5, signs=Signs(negative=[1])))]),
    "ball-and-cone": Product([([0, 1, 2], L1Ball(3.0)), ([5, 3, 4], Signs([0], [2]))]),
}
DOMAINS = BOUNDED | CONES | MIXED
#: signs that each domain asks for: which weights are >= 0, which <= 0
ASKED = {
    "l2-signs": ([0, 4], [2]),
    "l1-signs": ([0, 4], [2]),
    "l2-positive": (range(DIM), []),
    "l1-positive": (range(DIM), []),
    "signs": ([0, 4], [2]),
    "nonnegative": (range(DIM), []),
    "some-nonnegative": ([1, 5], []),
    "product-of-cones": ([3, 1], [0]),
    "ball-and-free": ([], [1]),
    "ball-and-cone": ([5], [4]),
}
#: balls that each domain asks for: kind, weights, radius
BALLS = {
    "l2": [("l2", range(DIM), 1.5)],
    "l2-signs": [("l2", range(DIM), 0.7)],
    "l2-positive": [("l2", range(DIM), 2.0)],
    "l1": [("l1", range(DIM), 1.5)],
    "l1-signs": [("l1", range(DIM), 2.5)],
    "l1-positive": [("l1", range(DIM), 1.0)],
    "product-of-balls": [("l2", [5, 0, 2], 1.0), ("l1", [1, 3, 4], 0.5)],
    "ball-and-free": [("l2", [4, 1], 0.5)],
    "ball-and-cone": [("l1", [0, 1, 2], 3.0)],
}
every = pytest.mark.parametrize("name", DOMAINS)
bounded = pytest.mark.parametrize("name", BOUNDED)


# -- references: nothing but the definition --------------------------------------------------------
def excess(name, w):
    """How far w is from satisfying what the domain asks for."""
    up, down = ASKED.get(name, ([], []))
    found = [-w[k] for k in up] + [w[k] for k in down] + [0.0]
    for kind, own, radius in BALLS.get(name, []):
        found.append(np.linalg.norm(w[list(own)], 2 if kind == "l2" else 1) - radius)
    return max(found)


def nearest(name, point):
    """Projection by bisection on each ball's multiplier; signs cut first, free weights stay."""
    up, down = ASKED.get(name, ([], []))
    w = np.array(point, dtype=float)
    for k in up:
        w[k] = max(w[k], 0.0)
    for k in down:
        w[k] = min(w[k], 0.0)
    for kind, own, radius in BALLS.get(name, []):
        own = list(own)
        w[own] = into_ball(w[own], kind, radius)
    return w


def points(seed=0, count=30):
    """Points of all sizes, some with ties, zeros and one large entry."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        w = rng.normal(size=DIM) * 10.0 ** rng.uniform(-6, 6)
        if k % 3 == 1:
            w = np.sign(w) * np.abs(w[0])  # all alike but for the sign
        if k % 3 == 2:
            w[rng.integers(DIM, size=3)] = 0.0
            w[rng.integers(DIM)] *= 1e4
        yield w
    yield np.zeros(DIM)
    yield np.full(DIM, 1.0)
    yield -np.ones(DIM)


# -- projections -----------------------------------------------------------------------------------
@every
def test_projection_equals_the_reference(name):
    for point in points():
        before = point.copy()
        found = DOMAINS[name].project(point)
        np.testing.assert_array_equal(point, before)
        assert found is not point
        assert not np.shares_memory(found, point)
        scale = max(1.0, float(np.abs(point).max()))
        np.testing.assert_allclose(found, nearest(name, point), atol=1e-11 * scale)
        assert excess(name, found) <= 1e-9 * min(1.0, scale)


@pytest.mark.parametrize("name", ["l2", "l2-signs", "l1", "l1-signs", "ball-and-cone"])
def test_projection_equals_a_general_solver(name):
    """Sequential quadratic programming over w = a - b with a, b >= 0."""
    up, down = ASKED.get(name, ([], []))
    both = np.hstack([np.eye(DIM), -np.eye(DIM)])
    rows = []
    for kind, own, radius in BALLS[name]:
        own = list(own)
        if kind == "l1":
            rows.append(lambda x, own=own, r=radius: r - (x[:DIM] + x[DIM:])[own].sum())
        else:
            rows.append(lambda x, own=own, r=radius: r**2 - ((both @ x)[own] ** 2).sum())
    bounds = [(0, 0) if k in down else (0, None) for k in range(DIM)]
    bounds += [(0, 0) if k in up else (0, None) for k in range(DIM)]
    rng = np.random.default_rng(1)
    for _ in range(4):
        point = rng.normal(size=DIM) * 2
        answer = minimize(
            lambda x, p=point: ((both @ x - p) ** 2).sum(),
            np.full(2 * DIM, 0.01),
            jac=lambda x, p=point: 2 * both.T @ (both @ x - p),
            bounds=bounds,
            constraints=[{"type": "ineq", "fun": row} for row in rows],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        np.testing.assert_allclose(DOMAINS[name].project(point), both @ answer.x, atol=1e-5)


@every
def test_projection_is_idempotent_and_satisfies_the_variational_inequality(name):
    domain, inside = DOMAINS[name], [nearest(name, p) for p in points(5, 12)]
    for point in points(2):
        w = domain.project(point)
        scale = max(1.0, float(np.abs(point).max()))
        np.testing.assert_allclose(domain.project(w), w, rtol=1e-14, atol=1e-15)
        assert domain.contains(w)
        for other in inside:
            size = scale * max(scale, float(np.abs(other).max()))
            assert (point - w) @ (other - w) <= 1e-12 * size


@every
def test_points_inside_stay_as_they_are(name):
    for point in points(3):
        inside = nearest(name, point) * 0.5
        np.testing.assert_array_equal(DOMAINS[name].project(inside), inside)
        assert DOMAINS[name].contains(inside)
    np.testing.assert_array_equal(DOMAINS[name].project(np.zeros(DIM)), np.zeros(DIM))


@bounded
def test_points_outside_are_not_contained(name):
    for far in (np.full(DIM, 10.0), np.full(DIM, -10.0)):
        assert not DOMAINS[name].contains(far)


@pytest.mark.parametrize("scale", [1e10, 1e16, 1e20, 1e100])
@pytest.mark.parametrize("kind", [L1Ball, L2Ball])
def test_balls_that_are_small_beside_the_point(kind, scale):
    w = kind(1.0).project(scale * np.array([1.0, -0.5, 0.25]))
    if kind is L1Ball:
        np.testing.assert_allclose(w, [1.0, 0.0, 0.0], atol=1e-15)
    else:
        np.testing.assert_allclose(w, np.array([4.0, -2.0, 1.0]) / np.sqrt(21), rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_ties_in_an_l1_ball_are_shared(scale):
    w = L1Ball(1.0).project(scale * np.array([1.0, -1.0, 0.0, 1.0]))
    np.testing.assert_allclose(w, [1 / 3, -1 / 3, 0.0, 1 / 3], rtol=1e-14)


@given(st.lists(st.floats(-1e8, 1e8), min_size=1, max_size=8), st.floats(1e-6, 1e6))
def test_drawn_points_in_l1_balls(values, radius):
    point = np.array(values)
    w = L1Ball(radius).project(point)
    assert np.abs(w).sum() <= radius * (1 + 1e-9) + 1e-12
    wanted = into_ball(point, "l1", radius)
    np.testing.assert_allclose(w, wanted, atol=1e-9 * max(1.0, float(np.abs(point).max())))


# -- minima of linear functions --------------------------------------------------------------------
def lowest_value(name, gradient, limit=None):
    """min slope . w over the domain, its unbounded part within |w| <= limit; by definition."""
    up, down = ASKED.get(name, ([], []))
    down_hill = -np.array(gradient)
    for k in up:
        down_hill[k] = max(down_hill[k], 0.0)
    for k in down:
        down_hill[k] = min(down_hill[k], 0.0)
    total, rest = 0.0, set(range(DIM))
    for kind, own, radius in BALLS.get(name, []):
        rest -= set(own)
        total -= radius * np.linalg.norm(down_hill[list(own)], 2 if kind == "l2" else np.inf)
    steep = np.linalg.norm(down_hill[sorted(rest)])
    if steep > 0:
        return -np.inf if limit is None else total - limit * steep
    return total


@every
def test_argmin_linear_without_penalty(name):
    for gradient in points(7):
        w, value = DOMAINS[name].argmin_linear(gradient)
        wanted = lowest_value(name, gradient)
        assert w.shape == gradient.shape
        assert value == pytest.approx(wanted, rel=1e-12, abs=1e-300)
        assert excess(name, w) <= 1e-12
        if np.isfinite(wanted):
            assert gradient @ w == pytest.approx(value, rel=1e-12)


@bounded
def test_no_point_of_a_bounded_domain_lies_lower(name):
    inside = [nearest(name, p) for p in points(11, 60)]
    for gradient in points(8):
        _, value = DOMAINS[name].argmin_linear(gradient)
        size = float(np.abs(gradient).max()) + 1e-300
        assert all(gradient @ w >= value - 1e-11 * size for w in inside)


@pytest.mark.parametrize("name", ["l1", "l1-signs", "l1-positive"])
def test_argmin_linear_in_an_l1_ball_equals_a_linear_program(name):
    up, down = ASKED.get(name, ([], []))
    radius = BALLS[name][0][2]
    bounds = [(0, 0) if k in down else (0, None) for k in range(DIM)]
    bounds += [(0, 0) if k in up else (0, None) for k in range(DIM)]
    for gradient in np.random.default_rng(2).normal(size=(10, DIM)):
        answer = linprog(
            np.append(gradient, -gradient), np.ones((1, 2 * DIM)), [radius], bounds=bounds
        )
        assert DOMAINS[name].argmin_linear(gradient)[1] == pytest.approx(answer.fun, abs=1e-10)


@every
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 40.0])
def test_argmin_linear_with_penalty(name, alpha):
    """alpha/2 |w + slope/alpha|^2 is least at the projection; checked by its value, too."""
    inside = [nearest(name, p) for p in points(13, 40)]
    for gradient in points(9):
        w, value = DOMAINS[name].argmin_linear(gradient, alpha)
        scale = 1.0 + float(np.abs(gradient).max()) / alpha
        np.testing.assert_allclose(w, nearest(name, -gradient / alpha), atol=1e-11 * scale)
        assert value == pytest.approx(gradient @ w + alpha / 2 * (w @ w), rel=1e-12)
        for other in inside:
            theirs = gradient @ other + alpha / 2 * (other @ other)
            assert theirs >= value - 1e-10 * (1 + abs(value) + abs(theirs))


@every
@pytest.mark.parametrize("radius", [0.0, 0.3, 7.0])
def test_argmin_linear_within_a_radius(name, radius):
    for gradient in points(10):
        wanted = lowest_value(name, gradient, radius)
        assert DOMAINS[name].min_linear_within(gradient, radius) == pytest.approx(wanted, rel=1e-12)


def test_unbounded_domains_have_no_minimum_but_downhill_only():
    for gradient, finite in (([0.0, 1.0], True), ([1.0, 0.0], True), ([-1.0, 3.0], False)):
        value = NonNegative().argmin_linear(np.array(gradient))[1]
        assert value == (0.0 if finite else -np.inf)
    assert RealSpace().argmin_linear(np.zeros(3))[1] == 0.0
    assert RealSpace().argmin_linear(np.array([0.0, 1e-12]))[1] == -np.inf
    free = Product([([0], L2Ball(2.0))])
    assert free.argmin_linear(np.array([3.0, 0.0]))[1] == -6.0
    assert free.argmin_linear(np.array([3.0, 1e-9]))[1] == -np.inf


@every
def test_max_norm_is_the_largest_norm(name):
    reach = DOMAINS[name].max_norm(DIM)
    assert np.isfinite(reach) == (name in BOUNDED)
    if name in BOUNDED:
        norms = [np.linalg.norm(DOMAINS[name].argmin_linear(gradient)[0]) for gradient in points(4)]
        assert max(norms) == pytest.approx(reach, rel=1e-12)


def test_a_product_is_its_groups_one_by_one():
    groups = [([6, 0, 3], L1Ball(0.5)), ([1], NonNegative()), ([5, 2], L2Ball(1.0, Signs([1])))]
    whole = Product(groups)
    for seed in range(20):
        w = np.random.default_rng(seed).normal(size=7) * 3
        wanted = w.copy()
        for own, domain in groups:
            wanted[own] = domain.project(w[own])
        np.testing.assert_array_equal(whole.project(w), wanted)
        assert wanted[4] == w[4]  # in no group
    assert whole.max_norm(7) == np.inf
    two = Product([([1, 0], L1Ball(0.5)), ([2], L2Ball(1.0))])
    assert two.max_norm(3) == pytest.approx(np.sqrt(0.25 + 1.0))


def test_groups_without_weights_change_nothing():
    empty = Product([([], L1Ball(1.0)), ([], L2Ball(1.0)), ([0, 1], L2Ball(2.0))])
    empty.check(2)
    gradient = np.array([3.0, 4.0])
    assert empty.argmin_linear(gradient)[1] == pytest.approx(-10.0)
    assert empty.min_linear_within(gradient, 5.0) == pytest.approx(-10.0)
    np.testing.assert_allclose(empty.project(gradient), [1.2, 1.6])


# -- entropic steps --------------------------------------------------------------------------------
ENTROPIC = {
    "l1": L1Ball(1.5),
    "l1-signs": L1Ball(2.5, signs=SIGNS),
    "l1-positive": L1Ball(1.0, signs=NonNegative()),
}
entropic = pytest.mark.parametrize("name", ENTROPIC)


def simplex_map(name):
    """w / radius = M v for v on the simplex: a column of zeros, then the signs that are allowed."""
    up, down = ASKED.get(name, ([], []))
    columns = [np.zeros(DIM)]
    columns += [np.eye(DIM)[k] for k in range(DIM) if k not in down]
    columns += [-np.eye(DIM)[k] for k in range(DIM) if k not in up]
    return np.array(columns).T


@entropic
def test_potentials_give_the_entropic_maximiser(name):
    """Compared with a descent in the logarithms of v, and with the gradient of the log-sum."""
    radius, matrix = BALLS[name][0][2], simplex_map(name)
    for potential in np.random.default_rng(3).normal(size=(4, DIM)) * 2:

        def below(x, q=potential):
            v = np.exp(x - x.max())
            v /= v.sum()
            return v @ np.log(v) - q @ (matrix @ v)

        x = minimize(below, np.zeros(matrix.shape[1]), method="BFGS", options={"gtol": 1e-7}).x
        v = np.exp(x - x.max())
        found = ENTROPIC[name].from_potentials(potential)
        np.testing.assert_allclose(found, radius * (matrix @ (v / v.sum())), atol=1e-5)

        def log_sum(q):
            return np.log(np.exp(matrix.T @ q).sum())

        gradient = approx_fprime(potential, log_sum, 1e-7)
        np.testing.assert_allclose(found, radius * gradient, atol=1e-5)


@entropic
@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 700.0, 800.0, 1e9, 1e300])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_potential_is_too_large(name, size, sign):
    rng = np.random.default_rng(4)
    for k in range(4):
        potential = np.full(DIM, sign * size) if k == 0 else sign * size * rng.normal(size=DIM)
        w = ENTROPIC[name].from_potentials(potential)
        assert np.isfinite(w).all()
        assert excess(name, w) <= 1e-12
        matrix = simplex_map(name)
        high = (matrix.T @ potential).max()
        v = np.exp(matrix.T @ potential - high)
        np.testing.assert_allclose(w, BALLS[name][0][2] * (matrix @ v) / v.sum(), atol=1e-12)


def test_potentials_against_all_signs_end_at_zero():
    w = L1Ball(2.0, signs=NonNegative()).from_potentials(np.full(3, -1e9))
    np.testing.assert_array_equal(w, np.zeros(3))


# -- as objects ------------------------------------------------------------------------------------
@every
def test_domains_can_be_cloned_copied_pickled_and_shown(name):
    domain = DOMAINS[name]
    for other in (clone(domain), copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
        assert repr(other) == repr(domain)
        point = np.linspace(-3, 3, DIM)
        np.testing.assert_array_equal(other.project(point), domain.project(point))
    assert type(domain).__name__ in repr(domain)


def test_indices_may_be_arrays_of_any_whole_type():
    w = np.array([-1.0, -2.0, 3.0])
    for kind in (np.int8, np.uint16, np.int64):
        domain = Signs(np.array([1], dtype=kind), np.array([2], dtype=kind))
        domain.check(3)
        np.testing.assert_array_equal(domain.project(w), [-1.0, 0.0, 0.0])
    NonNegative(2).check(3)
    np.testing.assert_array_equal(NonNegative(1).project(w), [-1.0, 0.0, 3.0])


BAD = [
    (L2Ball(0), ValueError, "radius=0 must be a finite number above 0"),
    (L2Ball(-1.0), ValueError, "radius=-1.0 must be"),
    (L1Ball(float("nan")), ValueError, "radius=nan must be"),
    (L1Ball(float("inf")), ValueError, "domain=None"),
    (L1Ball("2"), ValueError, "radius='2' must be"),
    (L2Ball(None), ValueError, "radius=None must be"),
    (L2Ball(1.0, signs=[0]), TypeError, r"signs=\[0\] must be domains.Signs"),
    (L2Ball(1.0, signs=Signs([DIM])), ValueError, "names weight 6, but there are 6"),
    (Signs([-1]), ValueError, "positive must be a list of numbers of weights from 0"),
    (Signs([0.5]), ValueError, "positive must be a list"),
    (Signs("ab"), ValueError, "positive must be a list"),
    (Signs(None), ValueError, "positive must be a list"),
    (Signs([True] * DIM), ValueError, "positive must be a list"),
    (Signs([[0, 1]]), ValueError, "positive must be a list"),
    (Signs([1, 1]), ValueError, "positive names a weight twice"),
    (Signs([], [2, 3, 2]), ValueError, "negative names a weight twice"),
    (Signs([3], [1, 3]), ValueError, "weight 3 is said to be both"),
    (NonNegative([DIM + 3]), ValueError, "indices names weight 9"),
    (Product([([0, 1], L2Ball(1.0)), ([1], L1Ball(1.0))]), ValueError, "weight 1 is in two"),
    (Product([([0, 0], L2Ball(1.0))]), ValueError, "group 0 names a weight twice"),
    (Product([([0, DIM], L2Ball(1.0))]), ValueError, "group 0 names weight 6"),
    (Product([([0], Product([([0], L2Ball(1.0))]))]), TypeError, "and no Product"),
    (Product([([0], 2.0)]), TypeError, "group 0: 2.0 must be a Domain"),
    (Product([([0], L2Ball(0.0))]), ValueError, "radius=0.0"),
    (Product([([2, 3], Signs([2]))]), ValueError, "names weight 2, but there are 2"),
    (Product([L2Ball(1.0)]), TypeError, r"group 0: .* pair \(indices, Domain\)"),
    (Product([([0], L2Ball(1.0), 3)]), TypeError, r"group 0: .* pair \(indices, Domain\)"),
    (Product(None), TypeError, r"groups=None must be a list of pairs \(indices, Domain\)"),
    (Product(L2Ball(1.0)), TypeError, r"must be a list of pairs \(indices, Domain\)"),
    (L2Ball, TypeError, "must be a Domain, such as"),
    ("l2", TypeError, "domain='l2' must be a Domain"),
    (3.0, TypeError, "domain=3.0 must be a Domain"),
]


@pytest.mark.parametrize(("domain", "error", "words"), BAD, ids=range(len(BAD)))
def test_bad_domains_are_refused(domain, error, words):
    with pytest.raises(error, match=words):
        check_domain(domain, DIM)


def test_none_means_all_of_space():
    assert isinstance(check_domain(None, 3), RealSpace)
    assert issubclass(RealSpace, Domain)
