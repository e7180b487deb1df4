"""A domain of the user's within a cone of the model's, against a quadratic program."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import domains
from maxmargin.domains import (
    Domain,
    L1Ball,
    L2Ball,
    NonNegative,
    Product,
    RealSpace,
    Signs,
    SubmodularCone,
)
from maxmargin.domains.base import check_domain
from maxmargin.domains.combine import intersect_domains

DIM = 11
EDGES = np.arange(3, DIM)
PRICES, TABLES = NonNegative(EDGES), SubmodularCone(EDGES)
NORMAL = np.array([1.0, -1.0, -1.0, 1.0])
MIXED = Product([([0, 2], L2Ball(0.5)), ([7, 1, 8, 9, 10], L2Ball(1.0))])
TAIL = Product([([2, *range(3, 7)], L2Ball(0.8)), ([0], NonNegative())])
#: name -> user's domain, the model's cone; then by definition: which weights are >= 0 and <= 0,
#: first weights of tables, balls (kind, weights, radius)
CASES = {
    "prices": (RealSpace(), PRICES, EDGES, [], [], []),
    "prices-l2": (L2Ball(1.2), PRICES, EDGES, [], [], [("l2", range(DIM), 1.2)]),
    "prices-l1": (L1Ball(1.2), PRICES, EDGES, [], [], [("l1", range(DIM), 1.2)]),
    "prices-l1-signs": (
        L1Ball(0.7, signs=Signs([0], [1])), PRICES, [0, *EDGES], [1], [], [("l1", range(DIM), 0.7)]
    ),
    "prices-signs": (Signs([0, 5], [2]), PRICES, [0, *EDGES], [2], [], []),
    "prices-product": (
        MIXED, PRICES, EDGES, [], [], [("l2", [0, 2], 0.5), ("l2", [7, 1, 8, 9, 10], 1.0)]
    ),
    "tables": (RealSpace(), TABLES, [], [], [3, 7], []),
    "tables-again": (SubmodularCone([3, 4, 5, 6]), TABLES, [], [], [3, 7], []),
    "tables-l2": (L2Ball(1.2), TABLES, [], [], [3, 7], [("l2", range(DIM), 1.2)]),
    "tables-signs": (Signs([0], [2]), TABLES, [0], [2], [3, 7], []),
    "tables-l2-signs": (
        L2Ball(0.6, signs=Signs([0], [2])), TABLES, [0], [2], [3, 7], [("l2", range(DIM), 0.6)]
    ),
    "tables-nonnegative": (NonNegative([0, 1, 2]), TABLES, [0, 1, 2], [], [3, 7], []),
    "tables-product": (
        MIXED, TABLES, [], [], [3, 7], [("l2", [0, 2], 0.5), ("l2", [7, 1, 8, 9, 10], 1.0)]
    ),
    "tables-product-whole": (TAIL, TABLES, [0], [], [3, 7], [("l2", [2, 3, 4, 5, 6], 0.8)]),
    "tables-product-l1": (
        Product([([0, 1, 2], L1Ball(0.5))]), TABLES, [], [], [3, 7], [("l1", [0, 1, 2], 0.5)]
    ),
    "tables-product-signs": (
        Product([([1, *range(3, 7)], Signs(negative=[0]))]), TABLES, [], [1], [3, 7], []
    ),
}  # fmt: skip
every = pytest.mark.parametrize("name", CASES)


def made(name):
    domain, cone, *_ = CASES[name]
    return check_domain(intersect_domains(check_domain(domain, DIM), cone, DIM), DIM)


def program(name, quadratic, linear):
    """min 1/2 quadratic |w|^2 + linear . w by an interior-point solver of cone programs."""
    import clarabel

    _, _, up, down, tables, balls = CASES[name]
    n = DIM * 2  # w and bounds of |w|
    rows, right, cones = [], [], []

    def add(matrix, offset, cone):  # offset - matrix x in the cone
        rows.append(sparse.csc_matrix(np.atleast_2d(matrix)))
        right.append(np.atleast_1d(offset).astype(float))
        cones.append(cone)

    eye = np.eye(n)
    linear_rows = [-eye[k] for k in up] + [eye[k] for k in down]
    for first in tables:
        row = np.zeros(n)
        row[first : first + 4] = -NORMAL
        linear_rows.append(row)
    if linear_rows:
        signs = clarabel.NonnegativeConeT(len(linear_rows))
        add(np.array(linear_rows), np.zeros(len(linear_rows)), signs)
    for kind, own, radius in balls:
        own = np.array(list(own))
        if kind == "l2":
            add(np.vstack([np.zeros(n), -eye[own]]), np.append(radius, np.zeros(len(own))),
                clarabel.SecondOrderConeT(len(own) + 1))  # fmt: skip
        else:
            sides = np.vstack([eye[own] - eye[DIM + own], -eye[own] - eye[DIM + own]])
            total = eye[DIM + own].sum(axis=0)
            add(np.vstack([sides, total]), np.append(np.zeros(2 * len(own)), radius),
                clarabel.NonnegativeConeT(2 * len(own) + 1))  # fmt: skip
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    weight = sparse.csc_matrix(np.diag(np.append(np.full(DIM, quadratic), np.full(DIM, 1e-9))))
    solver = clarabel.DefaultSolver(
        weight, np.append(linear, np.zeros(DIM)), sparse.vstack(rows, format="csc"),
        np.concatenate(right), cones, settings,
    )  # fmt: skip
    return np.array(solver.solve().x)[:DIM]


def excess(name, w):
    _, _, up, down, tables, balls = CASES[name]
    found = [-w[list(up)].min(initial=0.0), w[list(down)].max(initial=0.0)]
    found += [-(NORMAL @ w[first : first + 4]) for first in tables]
    for kind, own, radius in balls:
        found.append(np.linalg.norm(w[list(own)], 2 if kind == "l2" else 1) - radius)
    return max(found)


@every
def test_the_projection_is_that_of_a_general_solver(name):
    domain, rng = made(name), np.random.default_rng(0)
    for scale in (0.1, 1.0, 1.0, 5.0):
        point = rng.normal(size=DIM) * scale
        found = domain.project(point)
        assert excess(name, found) <= 1e-14 * max(1.0, scale)
        np.testing.assert_allclose(found, program(name, 1.0, -point), atol=1e-5 * max(1.0, scale))
        np.testing.assert_allclose(domain.project(found), found, atol=1e-14)
        assert domain.contains(found)


@every
def test_argmin_linear_agrees_with_a_general_solver(name):
    domain, rng = made(name), np.random.default_rng(1)
    for _ in range(3):
        gradient = rng.normal(size=DIM)
        w, value = domain.argmin_linear(gradient, alpha=0.3)
        wanted = program(name, 0.3, gradient)
        assert value == pytest.approx(gradient @ wanted + 0.15 * (wanted @ wanted), abs=1e-6)
        assert excess(name, w) <= 1e-13
        if np.isfinite(domain.max_norm(DIM)):
            w, value = domain.argmin_linear(gradient)
            assert value == pytest.approx(gradient @ program(name, 0.0, gradient), abs=1e-5)
            assert excess(name, w) <= 1e-13
            assert value == domain.min_linear_within(gradient, 1.0)
        elif domain.is_cone:
            drawn = domain.project(-gradient)
            assert domain.argmin_linear(gradient) == (pytest.approx(np.zeros(DIM)), -np.inf)
            wanted = gradient @ drawn / np.linalg.norm(drawn) * 2.0
            assert domain.min_linear_within(gradient, 2.0) == pytest.approx(wanted, rel=1e-12)


def test_slopes_without_a_way_down_end_at_zero():
    """The polar of a half-space is a ray: rounding of the projection is not taken for a descent."""
    cone = SubmodularCone()
    for size in (1e-8, 0.1, 1 / 3, 7e9):
        w, value = cone.argmin_linear(size * np.tile(NORMAL, 2))
        assert value == 0.0
        assert not w.any()
        assert cone.argmin_linear(-size * np.tile(NORMAL, 2))[1] == -np.inf


class Odd(Domain):
    """Of a user."""

    def project(self, w):
        return w.copy()

    def _argmin_linear(self, gradient):
        return None


BAD = [
    (L1Ball(1.0), TABLES, r"an L1Ball over tables of edges is not known; use L2Ball\(radius\)"),
    (Signs(negative=[4]), PRICES, "weight 4 is the price of a cut.*leave it out of `negative`"),
    (Signs(negative=[4]), TABLES, "weight 4 is in a table of an edge feature"),
    (L2Ball(1.0, signs=NonNegative()), TABLES, "weight 3 is in a table"),
    (SubmodularCone([3, 4, 5, 6]), PRICES, "goes with the tables of GraphCutSVM"),
    (SubmodularCone([3, 5, 4, 6]), TABLES, "goes with the tables of GraphCutSVM"),
    (
        Product([([7, 8, 9], L2Ball(1.0))]),
        TABLES,
        "a group has some weights of a table 00, 01, 10, 11 and lacks others",
    ),
    (Product([([3, 4, 5, 6], L1Ball(1.0))]), TABLES, "an L1Ball over tables"),
    (Odd(), PRICES, "a Odd cannot be joined .* use L2Ball"),
]


@pytest.mark.parametrize(("domain", "cone", "words"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_joined_is_refused(domain, cone, words):
    with pytest.raises(ValueError, match=words):
        intersect_domains(check_domain(domain, DIM), cone, DIM)


def test_a_cone_of_nothing_changes_nothing():
    ball = L2Ball(1.0)
    assert intersect_domains(ball, NonNegative([]), DIM) is ball


def test_only_cones_are_signs_of_a_ball():
    L2Ball(1.0, signs=Product([([0, 1, 2, 3], SubmodularCone())])).check(5)
    with pytest.raises(TypeError, match="must be domains.Signs.* or another cone"):
        L2Ball(1.0, signs=L2Ball(2.0)).check(5)
    with pytest.raises(TypeError, match="must be domains.Signs"):
        L1Ball(1.0, signs=SubmodularCone()).check(4)
    with pytest.raises(ValueError, match="four weights for each table"):
        SubmodularCone([0, 1, 2]).check(5)


def test_the_minimum_of_a_slope_across_the_cone_of_a_ball_is_no_rounding_drawn_out():
    across = np.array([1.0, -1.0, -1.0, 1.0])
    gradient = 0.22 * across + 1e-12 * np.array([1.4, 3.7, -0.5, 1.7])
    ball = domains.L2Ball(0.7, domains.SubmodularCone())
    for place in (ball, domains.Product([([0, 1, 2, 3], ball)])):
        _, value = place.argmin_linear(gradient)
        assert -1e-11 < value <= 0.0
