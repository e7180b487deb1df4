"""Costs learned for the decisions that are made by them."""

import time
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import maxmargin
from maxmargin import DecisionSVM, domains
from maxmargin.callbacks import EarlyStopping
from maxmargin.estimators.decision import choice
from maxmargin.exceptions import SampleError, UncalibratedWarning
from maxmargin.losses import PartCosts
from maxmargin.structures import Knapsack, Matching, PerInstance, ShortestPath, Structure, TopK


def grid_edges(height, width):
    edges = []
    for i, j in product(range(height), range(width)):
        v = i * width + j
        edges += [(v, v + 1)] * (j < width - 1) + [(v, v + width)] * (i < height - 1)
    return edges


PATH = ShortestPath(grid_edges(3, 3), 0, 8)


def instances(n=120, degree=4, seed=0, noise=0.3, parts=12):
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(n, 3)), rng.integers(2, size=(3, parts))
    costs = (X @ B / np.sqrt(3) + 3) ** degree / 3**degree
    return X, costs * rng.uniform(1 - noise, 1 + noise, size=costs.shape)


def paths():
    return np.array(list(PATH.vertices((12,))))


def spo_plus(predicted, costs, outputs):
    """The loss of Elmachtoub and Grigas, by enumeration."""
    best = outputs[(costs @ outputs.T).argmin(axis=1)]
    worst = ((costs - 2 * predicted) @ outputs.T).max(axis=1)
    return worst + 2 * (predicted * best).sum(axis=1) - (costs * best).sum(axis=1)


def test_the_objective_is_spo_plus_with_a_penalty_towards_the_prior():
    X, costs = instances(40)
    model = DecisionSVM(PATH, alpha=0.3, tol=1e-4).fit(X, costs)
    hinge = spo_plus(model.predict_costs(X), costs, paths()).mean() / model.cost_scale_
    penalty = 0.15 * np.sum((model.coef_ - model.prior_) ** 2)
    assert model.result_.primal == pytest.approx(hinge + penalty, rel=1e-9)
    assert np.abs(costs).mean() == pytest.approx(model.cost_scale_)


def test_a_large_penalty_is_least_squares():
    X, costs = instances()
    model = DecisionSVM(PATH, alpha=1e9).fit(X, costs)
    ones = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(ones, costs, rcond=None)[0]
    np.testing.assert_allclose(model.predict_costs(X), ones @ expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.cost_coef_, expected[:3].T, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected[3], atol=1e-6)


def test_the_regret_is_below_least_squares_where_costs_are_not_linear():
    X, costs = instances(600, degree=6)
    train, test = slice(0, 300), slice(300, 600)
    model = DecisionSVM(PATH).fit(X[train], costs[train])
    linear = DecisionSVM(PATH, alpha=1e9).fit(X[train], costs[train])
    assert model.regret(X[test], costs[test]) < 0.8 * linear.regret(X[test], costs[test])
    assert model.score(X, costs) == -model.regret(X, costs)
    assert model.alpha_ in model.cv_loss_
    assert model.cv_loss_[model.alpha_] == min(model.cv_loss_.values())


def test_least_squares_is_kept_where_costs_are_linear():
    X, costs = instances(200, degree=1, noise=0.0)
    assert DecisionSVM(PATH).fit(X[:100], costs[:100]).regret(X[100:], costs[100:]) < 1e-3


@pytest.mark.parametrize("sense", ["min", "max"])
def test_the_regret_is_that_of_enumeration(sense):
    X, costs = instances(60)
    sign = 1 if sense == "min" else -1
    model = DecisionSVM(PATH, sense, alpha=0.1).fit(X[:40], costs[:40])
    z, best = model.predict(X[40:]), (sign * costs[40:] @ paths().T).min(axis=1)
    lost = (sign * costs[40:] * z).sum(axis=1) - best
    assert (lost > -1e-12).all()
    assert model.regret(X[40:], costs[40:]) == pytest.approx(lost.sum() / np.abs(best).sum())
    chosen = (sign * model.predict_costs(X[40:]) @ paths().T).min(axis=1)
    np.testing.assert_allclose((sign * model.predict_costs(X[40:]) * z).sum(axis=1), chosen)


def test_without_an_intercept_costs_are_linear():
    X, costs = instances(60)
    model = DecisionSVM(PATH, alpha=0.1, fit_intercept=False).fit(X + 2.0, costs)
    np.testing.assert_allclose(model.predict_costs(np.zeros((1, 3))), 0.0, atol=1e-12)
    assert not model.intercept_.any()


@pytest.mark.parametrize("weights", ["own", "shared", "both"])
def test_the_constant_is_penalised_less_where_it_is_scaled(weights):
    rng = np.random.default_rng(0)
    F, costs = rng.normal(size=(30, 12, 3)), rng.uniform(1, 3, size=(30, 12))
    models = [
        DecisionSVM(
            PATH, alpha=1.0, weights=weights, prior=None, tol=1e-4, intercept_scaling=scale
        ).fit(F, costs)
        for scale in (1.0, 10.0)
    ]
    # a larger set of costs at the same penalty: the optimum is no higher
    assert models[1].result_.dual <= models[0].result_.primal
    for model in models:
        slopes, constant = model.cost_coef_, model.intercept_
        linear = (F * slopes).sum(axis=-1) + constant
        np.testing.assert_allclose(model.predict_costs(F), linear, atol=1e-9)


def test_units_of_costs_and_features_do_not_matter():
    X, costs = instances(80)
    plain = DecisionSVM(PATH).fit(X, costs)
    other = DecisionSVM(PATH).fit(X * [1e3, 1e-2, 1.0] + [5.0, 0.0, -2.0], 1e4 * costs)
    assert other.alpha_ == pytest.approx(plain.alpha_, rel=1e-6)
    np.testing.assert_array_equal(
        other.predict(X * [1e3, 1e-2, 1.0] + [5.0, 0.0, -2.0]), plain.predict(X)
    )


def test_maximising_values_is_minimising_their_negatives():
    X, values = instances(80, parts=6)
    structure = Knapsack([3, 4, 2, 5, 1, 2], 7)
    up = DecisionSVM(structure, "max").fit(X, values)
    down = DecisionSVM(structure, "min").fit(X, -values)
    np.testing.assert_array_equal(up.predict(X), down.predict(X))
    np.testing.assert_allclose(up.predict_costs(X), -down.predict_costs(X))


def test_features_of_parts_share_weights_or_have_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6, 2))
    costs = np.exp(X @ [1.0, -1.0]) + np.arange(6)
    regrets = {}
    for weights in ("shared", "own", "both"):
        model = DecisionSVM(TopK(2), weights=weights).fit(X[:60], costs[:60])
        regrets[weights] = model.regret(X[60:], costs[60:])
        expected = (X * model.cost_coef_).sum(axis=2) + model.intercept_
        np.testing.assert_allclose(model.predict_costs(X), expected, atol=1e-9)
    assert regrets["both"] < 0.5 * regrets["shared"]
    assert regrets["own"] < 0.5 * regrets["shared"]


def test_whether_parts_need_weights_of_their_own_is_found_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6, 2))
    own = np.exp(0.3 * X @ [1.0, -1.0]) + np.arange(6)
    alike = np.exp(X @ [1.0, -1.0]) * rng.uniform(0.5, 1.5, size=(60, 6))
    assert DecisionSVM(TopK(2)).fit(X, own).feature_map_.weights == "both"
    assert DecisionSVM(TopK(2)).fit(X, alike).feature_map_.weights == "shared"


def test_instances_may_differ_in_size():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(m, 2)) for m in rng.integers(3, 7, size=50)]
    costs = [np.exp(x @ [1.0, -1.0]) for x in X]
    model = DecisionSVM(TopK(2)).fit(X, costs)
    assert [z.sum() for z in model.predict(X)] == [2] * 50
    assert model.regret(X, costs) < 0.05
    with pytest.raises(SampleError, match="weights of their"):
        DecisionSVM(TopK(2), weights="own").fit(X, costs)


def test_layouts_may_be_given_with_the_features():
    rng = np.random.default_rng(1)
    X = [(rng.normal(size=(6, 2)), (2, 3)) for _ in range(30)]
    values = [x @ [1.0, -1.0] for x, _ in X]
    model = DecisionSVM(Matching(), "max").fit(X, values)
    assert model.regret(X, values) < 0.01
    assert model.predict(X).shape == (30, 6)
    again = DecisionSVM(Matching(), "max", alpha=0.1).fit(X, decisions=model.predict(X))
    assert (again.predict(X) == model.predict(X)).mean() > 0.9


def own_structures(n, seed=0):
    """Features and costs of instances, each with a graph or items of its own."""
    rng = np.random.default_rng(seed)
    X, costs = [], []
    for i in range(n):
        nodes = 4 + i % 3
        edges = [(a, b) for a in range(nodes) for b in range(nodes) if a < b or (i % 2 and a > b)]
        X.append((rng.normal(size=(len(edges), 2)), ShortestPath(edges, 0, nodes - 1)))
        costs.append(np.exp(X[-1][0] @ [1.0, -0.5]) * rng.uniform(0.5, 1.5, size=len(edges)))
    return X, costs


def test_each_instance_may_have_a_structure_of_its_own(tmp_path):
    X, costs = own_structures(40)
    model = DecisionSVM(PerInstance()).fit(X[:30], costs[:30])
    model.save(tmp_path / "model")
    found = maxmargin.load(tmp_path / "model").predict(X[30:])
    guessed = model.predict_costs(X[30:])
    for z, (_, structure), predicted in zip(found, X[30:], guessed, strict=True):
        assert not structure.why_infeasible(z, (len(z),))
        best = structure.maximize(-predicted, (len(z),))
        if (predicted > 0).all():
            np.testing.assert_array_equal(z, best)
    worst = sum(c @ z for c, z in zip(costs[30:], found, strict=True))
    least = sum(c @ s.maximize(-c, (len(c),)) for c, (_, s) in zip(costs[30:], X[30:], strict=True))
    assert model.regret(X[30:], costs[30:]) == pytest.approx(worst / least - 1)


@pytest.mark.parametrize(
    "structure",
    [ShortestPath([(0, 1), (1, 2), (2, 1), (0, 2), (2, 0)], 0, 2), TopK(2)],
    ids=["path", "top-2"],
)
def test_structures_of_instances_that_are_the_same_are_as_one(structure):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 5, 2))
    costs = np.exp(X @ [1.0, -0.5]) * rng.uniform(0.5, 1.5, size=(20, 5))
    one = DecisionSVM(structure, alpha=0.05, weights="shared").fit(X, costs)
    own = DecisionSVM(PerInstance(), alpha=0.05, warm_start=True)
    own.fit([(x, structure) for x in X], costs)
    np.testing.assert_array_equal(own.coef_, one.coef_)
    own.fit([(x, clone(structure)) for x in X], costs)  # equal layouts, so nothing is left to do
    assert own.result_.n_epochs == 0


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        ("path", "sample 1: 'path' is not a structure of decisions"),
        (Knapsack([0.123456, 1.0], 1), "sample 1: Knapsack is not solved by compiled code here"),
        (ShortestPath([(0, 1), (2, 3)], 0, 3), "sample 1: no path leads from node 0 to 3"),
        (ShortestPath([(0, 1), (2, 3)], 0, 9), "sample 1: target=9"),
        (TopK(3), "sample 1: there are 2 items"),
    ],
)
def test_bad_structures_of_instances_are_named(structure, words):
    X = [(np.ones((2, 2)), TopK(1)), (np.ones((2, 2)), structure)]
    with pytest.raises(ValueError, match=words):
        DecisionSVM(PerInstance(), alpha=0.1).fit(X, np.ones((2, 2)))


def test_data_frames_and_sparse_matrices_are_taken():
    X, costs = instances(60)
    plain = DecisionSVM(PATH, alpha=0.1).fit(X, costs)
    frame = DecisionSVM(PATH, alpha=0.1).fit(pd.DataFrame(X, columns=list("abc")), costs.tolist())
    np.testing.assert_array_equal(frame.coef_, plain.coef_)
    assert frame.feature_names_in_.tolist() == ["a", "b", "c"]
    thin = DecisionSVM(PATH, alpha=0.1).fit(sparse.csr_array(X), costs)
    np.testing.assert_array_equal(thin.coef_, plain.coef_)


def test_costs_and_decisions_may_be_in_data_frames_and_series():
    X, costs = instances(30)
    index = np.random.default_rng(0).permutation(30) + 100
    names = [f"part {k}" for k in range(12)]
    plain = DecisionSVM(PATH).fit(X, costs)
    made = plain.decide(costs)
    frame = pd.DataFrame(costs, index=index, columns=names)
    framed = DecisionSVM(PATH).fit(pd.DataFrame(X, index=index), frame)
    np.testing.assert_array_equal(framed.coef_, plain.coef_)
    np.testing.assert_array_equal(framed.decide(frame), made)
    series = DecisionSVM(PATH).fit(X, pd.Series([*costs], index=index))
    np.testing.assert_array_equal(series.coef_, plain.coef_)
    by_frame = DecisionSVM(PATH).fit(X, decisions=pd.DataFrame(made, index=index, columns=names))
    by_array = DecisionSVM(PATH).fit(X.astype(object), decisions=made)
    np.testing.assert_array_equal(by_frame.coef_, by_array.coef_)
    assert by_frame.calibrate(X, frame).temperature_ > 0


def test_past_decisions_alone_are_enough():
    X, costs = instances(200, degree=2, noise=0.0)
    made = paths()[(costs @ paths().T).argmin(axis=1)]
    model = DecisionSVM(PATH).fit(X[:100], decisions=made[:100])
    right = (model.predict(X[100:]) == made[100:]).all(axis=1).mean()
    assert right > 0.6
    assert model.regret(X[100:], costs[100:]) < 0.05


def test_decisions_may_be_given_beside_costs():
    X, costs = instances(50)
    made = paths()[(costs @ paths().T).argmin(axis=1)]
    a = DecisionSVM(PATH, alpha=0.1).fit(X, costs)
    b = DecisionSVM(PATH, alpha=0.1).fit(X, costs, decisions=made)
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_frozen_weights_stay_those_of_the_prior():
    X, costs = instances(60)
    model = DecisionSVM(PATH, alpha=0.01, frozen=[1]).fit(X, costs)
    linear = DecisionSVM(PATH, alpha=1e9).fit(X, costs)
    np.testing.assert_allclose(model.cost_coef_[:, 1], linear.cost_coef_[:, 1], atol=1e-6)
    assert np.abs(model.cost_coef_[:, 0] - linear.cost_coef_[:, 0]).max() > 1e-3


def test_a_prior_may_be_given_in_the_units_of_the_data():
    X, costs = instances(60)
    rng = np.random.default_rng(0)
    prior = rng.normal(size=(12, 4))
    model = DecisionSVM(PATH, alpha=1e9, prior=prior).fit(X + 3.0, costs)
    np.testing.assert_allclose(
        model.predict_costs(X + 3.0), (X + 3.0) @ prior[:, :3].T + prior[:, 3], atol=1e-5
    )
    nothing = DecisionSVM(PATH, alpha=1e9, prior=None).fit(X, costs)
    assert np.abs(nothing.predict_costs(X)).max() < 1e-6


def test_signs_of_weights_are_kept():
    X, costs = instances(60)
    for prior in ("auto", None):
        model = DecisionSVM(
            PATH, alpha=0.1, prior=prior, domain=domains.NonNegative(), fit_intercept=False
        ).fit(X, costs)
        assert model.coef_.min() >= -1e-12
        assert model.result_.gap <= 0.01 * model.result_.primal


def test_a_daily_update_keeps_what_was_found():
    X, costs = instances(101)
    model = DecisionSVM(PATH, alpha=0.05, tol=1e-4, max_epochs=1000, warm_start=True)
    cold = model.fit(X[:100], costs[:100]).result_.n_epochs
    model.fit(X[1:], costs[1:], previous=[*range(1, 100), -1])
    fresh = DecisionSVM(PATH, alpha=0.05, tol=1e-4, max_epochs=1000).fit(X[1:], costs[1:])
    assert model.result_.n_epochs < cold
    assert model.result_.primal == pytest.approx(fresh.result_.primal, rel=2e-4)
    model.fit(X, costs, previous=[-1, *range(100)])  # one more
    assert model.result_.n_epochs < cold
    with pytest.raises(ValueError, match="previous must be 100 integers"):
        model.fit(X[1:], costs[1:], previous=[200] * 100)
    with pytest.raises(ValueError, match="previous goes with warm_start=True"):
        model.set_params(warm_start=False).fit(X[1:], costs[1:], previous=[*range(100)])


def test_saved_models_predict_alike(tmp_path):
    X, costs = instances(60)
    model = DecisionSVM(PATH).fit(X, costs)
    model.save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_costs(X), model.predict_costs(X))
    assert again.regret(X, costs) == model.regret(X, costs)
    assert again.alpha_ == model.alpha_


def test_equal_costs_make_ties_and_no_regret():
    X, _ = instances(30)
    model = DecisionSVM(PATH).fit(X, np.ones((30, 12)))
    assert model.regret(X, np.ones((30, 12))) == 0.0


X, COSTS = instances(20)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((X, COSTS[:19]), "X has 20 samples, costs has 19"),
        ((X, COSTS[:, :11]), "ShortestPath has 12 parts, one for each of its edges, found 11"),
        ((X, np.where(COSTS == COSTS[3, 2], np.nan, COSTS)), "sample 3: the cost of part 2 is nan"),
        ((X, [[*c[:-1], "a"] for c in COSTS.tolist()]), "sample 0: its costs are not numbers"),
        ((X, [*COSTS[:5], COSTS[5, :3], *COSTS[6:]]), r"sample 5: its costs have shape \(3,\)"),
        ((X, COSTS.astype(str)), "sample 0: its costs are not numbers"),
        ((X, pd.DataFrame(COSTS.astype(str))), "sample 0: its costs are not numbers"),
        ((X, COSTS + 1j), "sample 0: its costs are not numbers"),
        ((X, np.ma.masked_equal(COSTS, COSTS[3, 2])), "sample 3: its costs are not numbers"),
        ((X, COSTS[0]), "must be of shape"),
        ((X, None), "give costs, or decisions="),
        ((np.where(X == X[4, 1], np.nan, X), COSTS), r"sample 4: X\[4, 1\] is nan; features"),
        (
            (pd.DataFrame(np.where(X == X[4, 1], np.inf, X), columns=list("abc")), COSTS),
            r"sample 4: X\[4, 'b'\] is inf; features",
        ),
        ((np.full((20, 12, 2), np.nan), COSTS), "sample 0: feature 0 of part 0 is nan; features"),
        ((X[:, None, :], COSTS), "sample 0"),
        ((X[:, 0], COSTS), r"X has shape \(20,\), expected a row for each instance: X.reshape"),
        ((X[:0], COSTS[:0]), "at least one instance is needed"),
        (
            (pd.DataFrame({"day": pd.date_range("2020-01-01", periods=20)}), COSTS),
            "X has dtype date",
        ),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        DecisionSVM(PATH, alpha=0.1).fit(*given)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_units_at_the_ends_of_the_numbers_are_taken(unit):
    model = DecisionSVM(PATH, alpha=0.1).fit(unit * X, unit * COSTS)
    assert np.isfinite(model.coef_).all()
    assert model.predict(unit * X).shape == COSTS.shape


def test_one_instance_is_enough_and_none_are_decided():
    model = DecisionSVM(PATH, alpha=0.1).fit(X[:1], COSTS[:1])
    assert len(model.decide(COSTS[:0])) == 0
    with pytest.raises(ValueError, match="must be of shape"):
        model.decide(COSTS[0])


@pytest.mark.parametrize(
    ("n", "cv", "words"),
    [
        (1, None, "has 1 instance.* 5 folds: alpha_=.* leaves the prior as it is. Give more"),
        (1, 2, "has 1 instance.* 2 folds"),
        (2, None, "has 2 instance.* by 2 folds of one instance"),
        (4, None, "has 4 instance.* by 4 folds of one instance"),
        (6, 10, "has 6 instance.* 10 folds"),
        (2, 2, None),
        (5, None, None),
    ],
)
def test_alpha_chosen_by_few_instances_is_warned_of(n, cv, words):
    X, costs = instances(20)
    model = DecisionSVM(PATH, cv=cv)
    if words is None:
        model.fit(X[:n], costs[:n])
    else:
        with pytest.warns(UserWarning, match=words):
            model.fit(X[:n], costs[:n])
    assert len(model.cv_loss_) > 0 or n == 1
    # instances that weigh nothing are none
    weight = np.repeat([1.0, 0.0], [n, 20 - n])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weighted = DecisionSVM(PATH, cv=cv).fit(X, costs, weight)
    assert len(caught) == (words is not None)
    assert weighted.alpha_ == pytest.approx(model.alpha_, rel=1e-3)


def test_decisions_of_other_number_are_called_so():
    X, costs = instances(20)
    made = DecisionSVM(PATH, alpha=0.1).fit(X, costs).decide(costs)
    with pytest.raises(ValueError, match="X has 20 samples, decisions has 3"):
        DecisionSVM(PATH, alpha=0.1).fit(X, decisions=made[:3])


def test_a_prior_of_shared_weights_decides_whose_weights_there_are():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(20, 12, 3))
    model = DecisionSVM(PATH, prior=np.ones(4)).fit(F, F @ np.ones(3) + 1)
    assert model.feature_map_.weights == "shared"
    assert model.regret(F, F @ np.ones(3) + 1) == 0


def raising(theta):
    raise RuntimeError("no licence")


def hanging(theta):
    time.sleep(60)


def other_each_time(theta, rng=np.random.default_rng(0)):  # noqa: B008
    return rng.permutation([1, 1, 0, 0])


@pytest.mark.parametrize(
    ("oracle", "options", "words"),
    [
        (raising, {}, "sample 0: the oracle raised RuntimeError: no licence"),
        (hanging, {"time_limit": 0.2}, "sample 0: the oracle took more than time_limit=0.2"),
        (lambda theta: np.ones(3), {}, "sample 0: the oracle's answer is not an output"),
        (lambda theta: np.full(4, np.nan), {}, "sample 0: .*not finite"),
        (lambda theta: np.ones(4), {"feasible": lambda z: z.sum() == 2}, "sample 0: the answer"),
        (lambda theta: theta <= np.sort(theta)[1], {}, "sample 0: .*has the score|where one of"),
        (other_each_time, {}, "sample [0-9]+: .*has the score|where one of"),
    ],
)
def test_an_oracle_that_fails_names_the_instance(oracle, options, words):
    structure = Structure.from_oracle(oracle, n_parts=4, **options)
    with pytest.raises(ValueError, match=words):
        DecisionSVM(structure, alpha=0.1).fit(X, COSTS[:, :4])


def test_infeasible_decisions_are_named():
    made = np.zeros((20, 12))
    with pytest.raises(SampleError, match="sample 0: its decision does not fit"):
        DecisionSVM(PATH, alpha=0.1).fit(X, decisions=made)


def test_decisions_may_be_those_of_a_solver_with_a_tolerance():
    made = paths()[(COSTS @ paths().T).argmin(axis=1)]
    exact = DecisionSVM(PATH, alpha=0.1).fit(X, decisions=made)
    found = DecisionSVM(PATH, alpha=0.1).fit(X, decisions=made + 1e-9 - 2e-9 * made)
    np.testing.assert_array_equal(found.coef_, exact.coef_)
    with pytest.raises(SampleError, match=r"sample 0: .* found 0\.99"):
        DecisionSVM(PATH, alpha=0.1).fit(X, decisions=made * 0.99)


def test_a_loss_of_the_wrong_sign_is_noticed():
    loss = PartCosts(lambda z, _: 2 * z - 1)
    with pytest.warns(UserWarning, match="sample 0: the loss of some output is negative"):
        DecisionSVM(PATH, alpha=0.1, loss=loss).fit(X, COSTS)


def test_decisions_that_are_best_in_the_other_sense_are_noticed():
    made = paths()[(COSTS @ paths().T).argmax(axis=1)]
    with pytest.warns(UserWarning, match='sense="max"'):
        DecisionSVM(PATH, alpha=0.1).fit(X, COSTS, decisions=made)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "shared"}, "needs features of parts"),
        ({"prior": np.zeros(3)}, r"shape \(12, 4\)"),
        ({"prior": "ridge"}, "is unknown"),
        ({"frozen": [7]}, "frozen names weight 7"),
        ({"frozen": [3], "fit_intercept": False}, "frozen names weight 3"),
        ({"loss": PartCosts(lambda z, _: np.ones(3))}, r"sample 0: part costs have shape \(3,\)"),
        ({"loss": PartCosts(lambda z, _: z * np.nan)}, "sample 0: part costs must be finite"),
        ({"alpha": "auto"}, "alpha"),
        ({"loss": "regrets"}, "loss='regrets' is unknown; .* The default is 'regret'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        DecisionSVM(PATH, **({"alpha": 0.1} | options)).fit(X, COSTS)


def test_rows_of_another_kind_are_refused():
    model = DecisionSVM(PATH, alpha=0.1).fit(X, COSTS)
    with pytest.raises(ValueError, match="one row per instance"):
        model.predict(np.zeros((2, 12, 3)))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(np.zeros((2, 4)))


def test_decisions_in_the_place_of_costs_are_noticed():
    rng = np.random.default_rng(0)
    made = np.eye(4, dtype=int)[rng.integers(4, size=30)]
    with pytest.warns(UserWarning, match="Give them as decisions="):
        DecisionSVM(TopK(1), alpha=0.1).fit(rng.normal(size=(30, 2)), made)


def test_values_that_are_minimised_are_noticed():
    rng = np.random.default_rng(0)
    values = 1.0 + rng.random((20, 3))
    with pytest.warns(
        UserWarning, match='choose nothing in every instance. Use sense="max" if val'
    ):
        model = DecisionSVM(Knapsack([1, 1, 2], 2), alpha=0.1).fit(rng.normal(size=(20, 2)), values)
    assert str(model.regret(rng.normal(size=(20, 2)), values)) == "0.0"


def test_sets_are_decisions_of_rows_too():
    X, costs = instances(40)
    best = DecisionSVM(PATH, alpha=0.1).fit(X, costs).decide(costs)
    sets = [set(np.flatnonzero(z).tolist()) for z in best]
    by_sets = DecisionSVM(PATH, alpha=0.1).fit(X, decisions=sets)
    by_rows = DecisionSVM(PATH, alpha=0.1).fit(X, decisions=best)
    np.testing.assert_array_equal(by_sets.coef_, by_rows.coef_)
    with pytest.raises(ValueError, match="sets do not say how many parts"):
        DecisionSVM(TopK(2), alpha=0.1).fit(X, decisions=[{0, 1}] * 40)


ROUND = ShortestPath([(0, 1), (1, 2), (2, 1), (0, 2), (2, 0), (1, 0)], 0, 2)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_paths_through_cycles_are_simple_or_an_error(sense):
    X, costs = instances(40, parts=6)
    sign = 1.0 if sense == "min" else -1.0
    model = DecisionSVM(ROUND, sense, alpha=0.1).fit(X, sign * costs)
    simple = {(1, 1, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0)}
    assert set(map(tuple, model.predict(X).tolist())) <= simple
    assert set(map(tuple, model.predict(-50 * X).tolist())) <= simple  # where cycles would pay
    with pytest.raises(SampleError, match="sample 0: edge . is on a cycle beside the path"):
        DecisionSVM(ROUND, sense, alpha=0.1).fit(X, -sign * costs)
    with pytest.raises(SampleError, match="is on a cycle"):
        DecisionSVM(ROUND, alpha=0.1).fit(X, decisions=[[0, 1, 1, 1, 0, 0]] * 40)


def test_a_time_limit_is_one_for_the_choice_of_alpha_and_the_fit():
    X, costs = instances(40)
    calls = []

    def slow(theta):
        calls.append(1)
        time.sleep(0.002)
        return PATH.maximize(theta, (12,))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DecisionSVM(Structure.from_oracle(slow), time_limit=1.0, tol=1e-9).fit(X, costs)
    # beside the limit: the best decisions, a fit for each fold that is given up, held-out losses
    assert len(calls) < 1500
    assert model.predict(X).shape == (40, 12)


def test_folds_are_left_out_when_half_of_the_time_limit_is_over(monkeypatch):
    """Held-out hinges are means over the instances of the folds that were looked at."""
    X, costs = instances(40)
    whole = DecisionSVM(PATH, cv=4).fit(X, costs)
    clock = iter([0.0] * 3 + [1e9] * 10**6)
    monkeypatch.setattr(choice, "monotonic", lambda: next(clock))
    folds = []
    hold_out = choice._hold_out
    monkeypatch.setattr(choice, "_hold_out", lambda *own: folds.append(1) or hold_out(*own))
    model = DecisionSVM(PATH, cv=4, time_limit=1e6).fit(X, costs)
    assert len(folds) == 1
    first = next(iter(model.cv_loss_))
    assert 0.3 < model.cv_loss_[first] / whole.cv_loss_[first] < 3


@pytest.mark.parametrize("prior", ["least-squares", None])
def test_early_stopping_scores_the_weights_that_are_kept(prior):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    costs = X @ rng.normal(size=(2, 5)) + 5.0
    stopping = EarlyStopping(X[40:], costs[40:])
    model = DecisionSVM(TopK(2), alpha=0.1, prior=prior, callbacks=[stopping])
    model.fit(X[:40], costs[:40])
    assert stopping.best_ == pytest.approx(model.score(X[40:], costs[40:]))


@pytest.mark.parametrize(
    "prior, domain, words",
    [
        ([0.3, 0.0], domains.L2Ball(0.28), "frozen goes with domains that bound each weight"),
        ([-1.0, 0.0], domains.NonNegative(), "weight 0 is frozen at"),
        ([1.0, 0.0], domains.Fixed([0], 0.0), "weight 0 is frozen at"),
        ([0.3, 0.0], domains.NonNegative(), None),
        ([-1.0, 0.0], domains.Box(-2.0, 0.5), None),
    ],
)
def test_frozen_weights_are_not_moved_by_a_domain(prior, domain, words):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4, 2))
    costs = X @ [1.0, -1.0] + rng.normal(size=(6, 4))
    options = {"alpha": 1e-3, "weights": "shared", "fit_intercept": False, "frozen": [0]}
    model = DecisionSVM(TopK(1), prior=np.array(prior), domain=domain, **options)
    if words is not None:
        with pytest.raises(ValueError, match=words):
            model.fit(X, costs)
        return
    model.fit(X, costs)
    assert model.coef_[0] == model.prior_[0]
    assert domain.contains(model.coef_)
    # the objective of the weights that are kept, over all outputs
    scaled = (X - model.mean_) / model.scale_
    theta, c = -2.0 * scaled @ model.coef_, costs / model.cost_scale_
    best = c.min(axis=1)
    chosen = theta[np.arange(6), c.argmin(axis=1)]
    hinges = (theta + c).max(axis=1) - best - chosen
    moved = model.coef_ - model.prior_
    assert model.result_.primal == pytest.approx(hinges.mean() + 5e-4 * moved @ moved, rel=1e-6)


def test_probabilities_of_parts_are_calibrated_by_costs_or_by_decisions():
    X, costs = instances(160)
    model = DecisionSVM(PATH, alpha=0.01).fit(X[:80], costs[:80])
    best = model.decide(costs[80:])

    def loss():
        p = np.array(model.predict_marginals(X[80:]))[:, :, 0]
        return -np.log(np.where(best == 1, p, 1 - p)).mean()

    with pytest.warns(UncalibratedWarning):
        before = loss()
    found = model.calibrate(X[80:], costs[80:]).temperature_
    assert loss() < before
    assert model.calibrate(X[80:], decisions=best).temperature_ == found
    weighted = model.calibrate(X[80:], costs[80:], [np.ones(len(own)) for own in best])
    assert weighted.temperature_ == found
    with pytest.raises(ValueError, match="give costs, or decisions=, or both"):
        model.calibrate(X[80:])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.calibrate(X[:0], costs[:0])


def test_other_numbers_of_costs_are_named_with_the_sample_and_the_cure():
    X, costs = instances(20)
    count = costs.shape[1]
    words = f"ShortestPath has {count} parts, one for each of its edges, found {count - 1}. Give as"
    with pytest.raises(SampleError, match=f"sample 0: {words}"):
        DecisionSVM(PATH).fit(X, costs[:, 1:])
    model = DecisionSVM(PATH, alpha=0.1).fit(X, costs)
    with pytest.raises(SampleError, match=f"sample 1: {words}"):
        model.decide([costs[0], costs[1, 1:]])


def test_alpha_has_the_least_hinge_unless_its_regret_is_worse_than_the_prior_s():
    noise = np.tile([-1.0, 1.0], 8)  # of sixteen instances: a standard error of sums is 4
    hinge = np.add.outer([30.0, 20.0, 10.0, 12.0], np.zeros(16))
    regret = np.add.outer([3.0, 2.0, 2.5, 1.0], np.zeros(16))
    assert choice._choose_place(hinge, regret) == 2
    regret[2] = 3.2 + noise  # above the prior's, but not surely
    assert choice._choose_place(hinge, regret) == 2
    regret[2] = 3.3 + noise
    assert choice._choose_place(hinge, regret) == 1
    regret[1] = 3.1
    assert choice._choose_place(hinge, regret) == 0
    assert choice._choose_place(hinge[:1], regret[:1]) == 0


def test_columns_of_costs_in_another_order_are_refused():
    frame = pd.DataFrame(COSTS, columns=[f"arc {k}" for k in range(COSTS.shape[1])])
    model = DecisionSVM(PATH, alpha=0.1).fit(X, frame)
    assert model.cost_names_in_.tolist() == list(frame)
    swapped = frame[frame.columns[::-1]]
    for call in (model.regret, model.score, model.calibrate):
        with pytest.raises(ValueError, match="costs: its columns differ from those of fit"):
            call(X, swapped)
    with pytest.raises(ValueError, match="costs: its columns differ"):
        model.decide(swapped)
    with pytest.raises(ValueError, match="decisions: its columns differ"):
        DecisionSVM(PATH, alpha=0.1).fit(X, frame, decisions=swapped)
    assert model.regret(X, frame) == model.regret(X, COSTS)
    assert not hasattr(model.fit(X, COSTS), "cost_names_in_")


def test_costs_whose_rows_are_in_another_order_than_those_of_x_are_refused():
    rows = pd.DataFrame(X, columns=list("abc"))
    frame = pd.DataFrame(COSTS)
    order = np.random.default_rng(0).permutation(len(X))
    model = DecisionSVM(PATH, alpha=0.1).fit(rows, frame)
    first = int(np.flatnonzero(order != np.arange(len(X)))[0])
    for call in (model.fit, model.regret, model.calibrate):
        with pytest.raises(SampleError, match=rf"sample {first}: its index in costs is"):
            call(rows, frame.iloc[order])
    with pytest.raises(SampleError, match="its index in sample_weight is"):
        model.fit(rows, frame, pd.Series(1.0, index=order))
    model.fit(rows.iloc[order], frame.iloc[order])
    model.fit(rows, frame.iloc[order].to_numpy())
    model.fit(rows, frame.set_axis(range(1000, 1000 + len(X))))


def test_weights_around_a_prior_are_bounded_by_the_reference_solver_too():
    X, costs = instances(30)
    options = {"alpha": 0.01, "domain": domains.Box(-0.5, 0.5), "tol": 1e-6, "max_epochs": 3000}
    models = [DecisionSVM(PATH, solver=own, **options).fit(X, costs) for own in ("bcfw", "qp")]
    one, other = (model.result_ for model in models)
    assert other.primal == pytest.approx(one.primal, rel=1e-5)
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-9
    assert all((np.abs(model.coef_) <= 0.5 + 1e-7).all() for model in models)


def test_costs_whose_rows_are_mostly_those_of_other_instances_are_told():
    """Days that are one off, as by a slice of another table."""
    pd = pytest.importorskip("pandas")
    X, costs = instances(40)
    days = [f"day {k}" for k in range(40)]
    X, costs = pd.DataFrame(X, index=days), pd.DataFrame(costs, index=days)
    model = DecisionSVM(PATH, alpha=0.1).fit(X, costs)
    with pytest.warns(UserWarning, match="sample 0: its index in costs is 'day 1', but in X"):
        model.regret(X[:39], costs[1:])
    with pytest.raises(ValueError, match="has the index of X in another order"):
        model.regret(X, costs[::-1])
