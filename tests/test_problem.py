"""The training problem against its formulas, written out over dense matrices and all outputs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from maxmargin import MulticlassSVM
from maxmargin.exceptions import InfeasibleError
from maxmargin.features import FeatureMap, LabelConjoined, PartFeatures
from maxmargin.losses import Hamming
from maxmargin.oracles.base import Oracle
from maxmargin.problem import Problem
from maxmargin.samples import Samples
from maxmargin.solvers import FrankWolfe
from maxmargin.structures import Chain, Finite, Multiclass, Structure
from maxmargin.validation.samples import check_rows, check_sample_weight
from reference import chains, enumeration, features as dense, objective
from reference.user_structures import (
    Assignment,
    AtMostTwo,
    PlainChain,
    assignment_vertices,
    at_most_two_vertices,
)

ALPHA = 0.3


@dataclass
class Family:
    """A structure with features, a rule to draw shapes, and dense matrices and outputs of both."""

    name: str
    structure: Structure
    map: FeatureMap
    labels: int
    layout: Callable[[np.random.Generator], tuple]
    rows: Callable[[tuple], int]
    matrix: Callable[[np.ndarray], np.ndarray]
    vertices: Callable[[tuple], list]


def chain_family(name, structure, tied=True, **masks):
    def matrix(x):
        return dense.conjoined(x, 3, n_tables=1 if tied else len(x) - 1)

    def vertices(layout):
        return [chains.vertex(y, layout, tied) for y in chains.sequences(layout, **masks)]

    def layout(rng):
        return int(rng.integers(1, 5)), 3

    return Family(name, structure, LabelConjoined(), 3, layout, lambda s: s[0], matrix, vertices)


def part_family(name, structure, sizes, n_parts, vertices):
    def layout(rng):
        return (int(rng.choice(sizes)),)

    return Family(
        name,
        structure,
        PartFeatures(),
        1,
        layout,
        n_parts,
        lambda x: x.T,
        lambda s: list(vertices(s)),
    )


BANNED = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
FAMILIES = [
    chain_family("chain", Chain()),
    chain_family("chain-untied", Chain(tied=False), tied=False),
    chain_family(
        "chain-masked",
        Chain(forbidden_transitions=np.array(BANNED), forbidden_first=np.array([0, 0, 1])),
        transitions=BANNED,
        first=[0, 0, 1],
    ),
    chain_family("chain-python", PlainChain()),
    part_family("finite", Finite(), [1, 2, 5], lambda s: s[0], lambda s: np.eye(*s)),
    part_family("subsets", AtMostTwo(), [1, 3, 5], lambda s: s[0], at_most_two_vertices),
    part_family("assignment", Assignment(), [1, 2, 3], lambda s: s[0] ** 2, assignment_vertices),
    Family(
        "multiclass",
        Multiclass(),
        LabelConjoined(ends=False, transitions=False),
        4,
        lambda rng: (4,),
        lambda s: 1,
        lambda x: dense.conjoined(x, 4, ends=False, transitions=False, n_tables=0),
        lambda s: list(np.eye(4)),
    ),
]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@dataclass
class Drawn:
    """One problem twice: as the package has it and as lists of dense samples."""

    problem: Problem
    samples: list
    arguments: dict
    rng: np.random.Generator

    def random_weights(self):
        return self.rng.standard_normal(self.problem.dim)

    def random_points(self):
        """A point of each sample's polytope: a random mixture of its vertices."""
        return [
            self.rng.dirichlet(np.full(len(s.vertices), 0.5)) @ np.array(s.vertices)
            for s in self.samples
        ]


def draw(family, seed, n=4, sample_weight=None, **options):
    rng = np.random.default_rng(seed)
    layouts = [family.layout(rng) for _ in range(n)]
    X = [
        rng.standard_normal((family.rows(s), 3)) * (rng.random((family.rows(s), 3)) < 0.7)
        for s in layouts
    ]
    vertices = [family.vertices(s) for s in layouts]
    truth = [v[rng.integers(len(v))] for v in vertices]
    loss = Hamming()
    costs = [loss.costs(y, s, family.structure) for y, s in zip(truth, layouts, strict=True)]
    weight = check_sample_weight(sample_weight, n)
    n_parts = np.array([family.structure.n_parts(s) for s in layouts])
    arguments = {
        "structure": family.structure,
        "layouts": layouts,
        "features": family.map.pack(family.map.check(X), family.labels, n_parts),
        "costs": np.concatenate(costs),
        "sample_weight": weight,
        "truth": np.concatenate(truth),
        "alpha": ALPHA,
    } | options
    samples = [
        objective.Sample(family.matrix(x), c, y, v, omega)
        for x, c, y, v, omega in zip(X, costs, truth, vertices, weight, strict=True)
    ]
    return Drawn(Problem(**arguments), samples, arguments, rng)


seeds = st.integers(0, 2**32 - 1)
weights = st.none() | st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=4, max_size=4).filter(any)
few = settings(max_examples=15)


@every_family
@given(seeds, weights)
@few
def test_primal_and_hinges(family, seed, sample_weight):
    drawn = draw(family, seed, sample_weight=sample_weight)
    for w in (drawn.random_weights(), np.zeros(drawn.problem.dim)):
        hinges = [objective.hinge(s, w) for s in drawn.samples]
        assert drawn.problem.hinges(w) == pytest.approx(hinges, rel=1e-12, abs=1e-12)
        expected = objective.primal(drawn.samples, w, ALPHA)
        assert drawn.problem.primal(w) == pytest.approx(expected, rel=1e-12)


@every_family
@given(seeds, weights)
@few
def test_dual_and_weights(family, seed, sample_weight):
    drawn = draw(family, seed, sample_weight=sample_weight)
    points = drawn.random_points()
    z = np.concatenate(points)
    expected = objective.weights(drawn.samples, points, ALPHA)
    assert drawn.problem.weights(z) == pytest.approx(expected, rel=1e-11, abs=1e-12)
    losses = [objective.loss(s, p) for s, p in zip(drawn.samples, points, strict=True)]
    assert drawn.problem.loss_at(z) == pytest.approx(losses, abs=1e-13)
    dual = objective.dual(drawn.samples, points, ALPHA)
    assert drawn.problem.dual(z) == pytest.approx(dual, rel=1e-11, abs=1e-12)
    assert drawn.problem.dual(z, drawn.problem.weights(z)) == pytest.approx(
        dual, rel=1e-11, abs=1e-12
    )


@every_family
@given(seeds, weights)
@few
def test_block_gaps_add_up_to_the_duality_gap(family, seed, sample_weight):
    drawn = draw(family, seed, sample_weight=sample_weight)
    points = drawn.random_points()
    z = np.concatenate(points)
    w = drawn.problem.weights(z)
    gaps = drawn.problem.block_gaps(w, z)
    expected = [objective.gap(s, w, p) for s, p in zip(drawn.samples, points, strict=True)]
    assert gaps == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert gaps.min() >= -1e-11
    total = sum(s.weight * g for s, g in zip(drawn.samples, gaps, strict=True))
    apart = drawn.problem.primal(w) - drawn.problem.dual(z)
    assert apart == pytest.approx(total, rel=1e-10, abs=1e-11)


@every_family
@given(seeds, weights)
@few
def test_no_dual_value_exceeds_a_primal_one(family, seed, sample_weight):
    drawn = draw(family, seed, sample_weight=sample_weight)
    duals = [drawn.problem.dual(np.concatenate(drawn.random_points())) for _ in range(5)]
    primals = [
        drawn.problem.primal(scale * drawn.random_weights())
        for scale in (0.0, 0.01, 0.1, 1.0, 10.0)
    ]
    assert max(duals) <= min(primals) + 1e-12


@every_family
def test_truth_and_zero_weights_are_where_they_should_be(family):
    problem = draw(family, 0).problem
    assert problem.dual(problem.truth) == 0.0
    assert not problem.weights(problem.truth).any()
    worst = problem.hinges(np.zeros(problem.dim))  # the largest losses
    assert problem.primal(np.zeros(problem.dim)) == pytest.approx(worst.mean(), rel=1e-14)


@every_family
def test_hinges_are_at_least_the_losses_of_the_predictions(family):
    drawn = draw(family, 1, n=12)
    plain = {k: v for k, v in drawn.arguments.items() if k not in ("truth", "alpha", "costs")}
    w = drawn.random_weights()
    z = np.zeros(len(drawn.problem.truth))
    Samples(**plain).apply("maximize", w, out=z)
    assert (drawn.problem.hinges(w) >= drawn.problem.loss_at(z) - 1e-12).all()


@every_family
def test_a_weight_of_two_equals_the_sample_twice(family):
    drawn = draw(family, 2, n=3, sample_weight=[2.0, 0.0, 1.0])
    w, points = drawn.random_weights(), drawn.random_points()
    repeated = [drawn.samples[i] for i in (0, 0, 2)]
    for sample in repeated:
        sample.weight = 1 / 3
    expected = objective.primal(repeated, w, ALPHA)
    assert drawn.problem.primal(w) == pytest.approx(expected, rel=1e-12)
    expected = objective.dual(repeated, [points[i] for i in (0, 0, 2)], ALPHA)
    assert drawn.problem.dual(np.concatenate(points)) == pytest.approx(expected, rel=1e-11)


# -- threads, compiled and plain -------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("n_jobs", [2, 3, 50, -1])
def test_threads_change_no_bit(family, n_jobs):
    drawn = draw(family, 3, n=11)
    parallel = Problem(**drawn.arguments | {"n_jobs": n_jobs})
    w, z = drawn.random_weights(), np.concatenate(drawn.random_points())
    assert np.array_equal(parallel.hinges(w), drawn.problem.hinges(w))
    assert np.array_equal(parallel.block_gaps(w, z), drawn.problem.block_gaps(w, z))
    assert parallel.primal(w) == drawn.problem.primal(w)
    assert parallel.dual(z) == drawn.problem.dual(z)
    ours, theirs = np.zeros(len(z)), np.zeros(len(z))
    parallel.apply("maximize", w, out=ours)
    drawn.problem.apply("maximize", w, out=theirs)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(5))
def test_structure_in_plain_python_equals_the_compiled_one(seed):
    compiled = draw(FAMILIES[0], seed, n=8)
    plain = Problem(**compiled.arguments | {"structure": PlainChain()})
    assert plain.structure.oracle().compiled_function("maximize") is None
    w, z = compiled.random_weights(), np.concatenate(compiled.random_points())
    assert plain.primal(w) == pytest.approx(compiled.problem.primal(w), rel=1e-13)
    assert plain.dual(z) == compiled.problem.dual(z)
    gaps = compiled.problem.block_gaps(w, z)
    assert plain.block_gaps(w, z) == pytest.approx(gaps, rel=1e-12, abs=1e-13)
    ours, theirs = np.zeros(len(z)), np.zeros(len(z))
    plain.apply("maximize", w, out=ours)
    compiled.problem.apply("maximize", w, out=theirs)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_tied_and_untied_chains_are_one_problem(seed):
    tied, untied = draw(FAMILIES[0], seed), draw(FAMILIES[1], seed)
    w = tied.random_weights()
    assert tied.problem.dim == untied.problem.dim
    for t, u in zip(tied.samples, untied.samples, strict=True):
        assert np.array_equal(t.truth[: len(t.truth) - 9], u.truth[: len(t.truth) - 9])
    assert tied.problem.primal(w) == pytest.approx(untied.problem.primal(w), rel=1e-12)


class PlainMarginals(Chain):
    """The same abilities, called from Python."""

    def marginals(self, theta, layout):
        return Chain().marginals(theta, layout)

    def log_partition(self, theta, layout):
        return Chain().log_partition(theta, layout)

    def max_marginals(self, theta, layout):
        return Chain().oracle().max_marginals(theta, layout)


@pytest.mark.parametrize("ability", ["marginals", "max_marginals"])
@pytest.mark.parametrize("family", [FAMILIES[0], FAMILIES[4]], ids=["chain", "finite"])
def test_values_of_other_abilities(family, ability):
    drawn = draw(family, 4)
    w = drawn.random_weights()
    z = np.concatenate(drawn.random_points())
    out = np.zeros(len(z))
    values = drawn.problem.apply(ability, w, point=z, out=out)
    for i, sample in enumerate(drawn.samples):
        a = objective.scores(sample, w)
        part = drawn.problem.parts(i)
        if ability == "marginals":
            value = enumeration.log_partition(a, sample.vertices)
            expected = enumeration.expectation(a, sample.vertices)
        else:
            value = enumeration.best(a, sample.vertices)
            count, labels = family.structure.variables(drawn.arguments["layouts"][i])
            expected = np.zeros(len(a))
            expected[: count * labels] = enumeration.max_marginals(
                a, sample.vertices, count * labels
            )
        assert values[i] == pytest.approx(value - a @ z[part], rel=1e-11)
        assert out[part] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("ability", ["marginals", "max_marginals"])
def test_values_of_other_abilities_in_plain_python(ability):
    drawn = draw(FAMILIES[0], 5)
    plain = Problem(**drawn.arguments | {"structure": PlainMarginals()})
    assert plain.structure.oracle().compiled_function(ability) is None
    w = drawn.random_weights()
    expected = drawn.problem.apply(ability, w, point=drawn.problem.truth)
    found = plain.apply(ability, w, point=drawn.problem.truth)
    assert found == pytest.approx(expected, rel=1e-12)


# -- costs and what is forbidden -------------------------------------------------------------------


@every_family
def test_a_problem_without_costs_has_no_loss(family):
    drawn = draw(family, 6, costs=None)
    for sample in drawn.samples:
        sample.costs = np.zeros(len(sample.truth))
    w, points = drawn.random_weights(), drawn.random_points()
    z = np.concatenate(points)
    expected = objective.primal(drawn.samples, w, ALPHA)
    assert drawn.problem.primal(w) == pytest.approx(expected, rel=1e-12)
    assert drawn.problem.dual(z) == pytest.approx(
        objective.dual(drawn.samples, points, ALPHA), rel=1e-11
    )
    assert not drawn.problem.loss_at(z).any()


def test_costs_of_the_caller_are_not_changed():
    costs = draw(FAMILIES[2], 7).arguments["costs"]
    assert np.isfinite(costs).all()


def test_a_forbidden_truth_names_the_sample():
    arguments = draw(FAMILIES[0], 8).arguments
    layouts = arguments["layouts"]
    truth = [Chain().encode(np.zeros(s[0], dtype=int), s) for s in layouts]
    truth[2] = Chain().encode(np.full(layouts[2][0], 1), layouts[2])
    banned = Chain(forbidden_last=np.array([0, 1, 0]))
    with pytest.raises(InfeasibleError, match=r"sample 2: its true output is forbidden \(part"):
        Problem(**arguments | {"structure": banned, "truth": np.concatenate(truth)})


@pytest.mark.parametrize("structure", [Chain(), PlainChain()], ids=["compiled", "python"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_sample_without_any_output_is_named(structure, n_jobs):
    drawn = draw(FAMILIES[0], 9)
    plain = {k: v for k, v in drawn.arguments.items() if k not in ("truth", "alpha")}
    costs = plain["costs"].copy()
    costs[drawn.problem.parts(2)] = -np.inf
    samples = Samples(**plain | {"costs": costs, "structure": structure, "n_jobs": n_jobs})
    with pytest.raises(InfeasibleError, match="sample 2: "):
        samples.apply("maximize", drawn.random_weights())


@pytest.mark.parametrize("answer", [np.zeros(2), np.array(1.0), None, "nan"], ids=repr)
def test_an_answer_of_a_users_oracle_that_does_not_fit_names_the_sample(answer):
    class Wrong(PlainChain):
        def maximize(self, theta, layout):
            return np.full(len(theta), np.nan) if isinstance(answer, str) else answer

    drawn = draw(FAMILIES[0], 9)
    problem = Problem(**drawn.arguments | {"structure": Wrong()})
    with pytest.raises(
        ValueError, match=r"sample 0: Wrong.maximize returned .* expected \d+ finite"
    ):
        problem.hinges(drawn.random_weights())


def test_scores_without_the_loss_keep_what_is_forbidden():
    drawn = draw(FAMILIES[2], 10)
    bare, w = drawn.problem.without_loss(), drawn.random_weights()
    for i, (sample, layout) in enumerate(
        zip(drawn.samples, drawn.arguments["layouts"], strict=True)
    ):
        expected = sample.matrix.T @ w
        expected[FAMILIES[2].structure.forbidden(layout)] = -np.inf
        assert bare.scores(w, i) == pytest.approx(expected, rel=1e-12)
    assert drawn.problem.without_loss() is bare


def test_scores_that_overflow_name_the_sample():
    drawn = draw(FAMILIES[0], 9)
    w = np.full(drawn.problem.dim, 1e308)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(FloatingPointError, match=r"sample \d: .*scale the features down"),
    ):
        drawn.problem.hinges(w)


# -- sizes: kernels check nothing, so the problem must ---------------------------------------------


@pytest.mark.parametrize("name", ["costs", "truth"])
def test_arrays_of_parts_must_fit(name):
    arguments = draw(FAMILIES[0], 0).arguments
    for wrong in (arguments[name][:-1], np.append(arguments[name], 0.0)):
        with pytest.raises(ValueError, match=r"all samples' parts: shape .* expected"):
            Problem(**arguments | {name: wrong})


def test_sample_weights_must_fit():
    arguments = draw(FAMILIES[0], 0).arguments
    with pytest.raises(ValueError, match=r"sample_weight: shape \(3,\), expected \(4,\)"):
        Problem(**arguments | {"sample_weight": np.ones(3)})


def test_layouts_must_fit_the_features():
    arguments = draw(FAMILIES[0], 0).arguments
    layouts = arguments["layouts"]
    with pytest.raises(ValueError, match="features of 4 samples, layouts of 3"):
        Problem(**arguments | {"layouts": layouts[:-1]})
    longer = [*layouts[:2], (layouts[2][0] + 1, 3), layouts[3]]
    with pytest.raises(ValueError, match=r"sample 2: its features describe \d+ parts"):
        Problem(**arguments | {"layouts": longer})


def test_weights_and_points_must_fit():
    problem = draw(FAMILIES[0], 0).problem
    w, z = np.zeros(problem.dim), problem.truth
    for wrong in (w[:-1], np.append(w, 0.0), w[:, None]):
        for call in (problem.primal, problem.hinges, lambda w: problem.scores(w, 0)):
            with pytest.raises(ValueError, match="w: shape .* expected"):
                call(wrong)
    for call in (
        problem.dual,
        problem.weights,
        problem.loss_at,
        lambda z: problem.block_gaps(w, z),
    ):
        with pytest.raises(ValueError, match="all samples' parts"):
            call(z[:-1])
    with pytest.raises(ValueError, match="contiguous array of float64"):
        problem.apply("maximize", w, out=np.zeros(len(z), dtype=np.float32))


def test_lists_and_other_number_types_are_taken():
    drawn = draw(FAMILIES[0], 0)
    problem = Problem(
        **drawn.arguments
        | {"truth": drawn.arguments["truth"].astype(int), "costs": list(drawn.arguments["costs"])}
    )
    w = np.round(drawn.random_weights())
    assert problem.primal(w) == drawn.problem.primal(w)
    assert np.array_equal(problem.hinges(w.astype(int)), problem.hinges(w))


class Hesitant(Multiclass):
    """Names the second best class, and proves how far that is off at most."""

    def _make_oracle(self):
        return SecondBest(self)


class SecondBest(Oracle):
    is_exact = False
    is_bounded = True

    def maximize(self, theta, layout):
        z = self.structure.encode(np.argsort(theta)[-2], layout)
        return z, float(np.max(theta)) + 0.25


def test_objectives_over_a_bounded_oracle_are_upper_bounds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(4, size=20)
    model = MulticlassSVM(alpha=0.1, tol=1e-6).fit(X, y)
    packed = LabelConjoined(ends=False, transitions=False).pack(
        check_rows([row[None] for row in X]), 4, np.full(20, 4)
    )
    truth = np.eye(4)[y].ravel()
    exact, bounded = (
        Problem(own, [(4,)] * 20, packed, costs=1 - truth, truth=truth, alpha=0.1)
        for own in (Multiclass(), Hesitant())
    )
    w = model.coef_
    assert bounded.primal(w) == pytest.approx(exact.primal(w) + 0.25, rel=1e-12)
    result = FrankWolfe(max_epochs=20).run(bounded)
    assert result.exact
    assert result.dual <= model.result_.primal <= result.primal
