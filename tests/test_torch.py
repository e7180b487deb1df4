"""Losses and layers of PyTorch: values by enumeration, gradients by differences, training."""

import numpy as np
import pytest

from maxmargin import DecisionSVM
from maxmargin.exceptions import MissingAbilityError
from maxmargin.structures import Chain, Knapsack, Matching, ShortestPath, TopK

torch = pytest.importorskip(
    "torch", reason='PyTorch is not installed: pip install "maxmargin[torch]"'
)
mt = pytest.importorskip("maxmargin.torch")

EDGES = [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5)]  # right and down a 2 x 3 grid
PATH = ShortestPath(EDGES, 0, 5)
RNG = np.random.default_rng(0)
PATHS = torch.tensor(np.array(list(PATH.vertices((7,)))))


def scores(n=4, parts=7, seed=0):
    values = np.random.default_rng(seed).normal(size=(n, parts))
    return torch.tensor(values, requires_grad=True)


def check_gradient(function, *inputs):
    return torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-5)


def test_values_are_those_of_enumeration():
    theta, y = scores(), PATHS[[0, 1, 2, 0]]
    every = theta @ PATHS.T
    own = (theta * y).sum(dim=1)
    wrong = (PATHS[None] != y[:, None]).double().mean(dim=2)
    hinge = mt.StructuredHinge(PATH, reduction="none")(theta, y)
    torch.testing.assert_close(hinge, (every + wrong).max(dim=1).values - own)
    likely = mt.Likelihood(PATH, reduction="none")(theta, y)
    torch.testing.assert_close(likely, torch.logsumexp(every, dim=1) - own)
    torch.testing.assert_close(mt.Likelihood(PATH)(theta, y), likely.mean())
    torch.testing.assert_close(mt.Likelihood(PATH, reduction="sum")(theta, y), likely.sum())
    costs = torch.tensor(np.random.default_rng(1).uniform(size=(4, 7)))
    for sense, sign in (("min", 1.0), ("max", -1.0)):
        best = PATHS[(sign * costs @ PATHS.T).argmin(dim=1)]
        expected = (sign * (costs - 2 * theta) @ PATHS.T).max(dim=1).values
        expected = expected - (sign * (costs - 2 * theta) * best).sum(dim=1)
        found = mt.SPOPlus(PATH, sense, reduction="none")(theta, costs)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "loss", ["StructuredHinge", "Likelihood", "SparseMAP", "Perturbed", "SPOPlus"]
)
def test_gradients_are_predictions_minus_truths(loss):
    make = {"Perturbed": lambda: mt.PerturbedFenchelYoung(PATH, 5, 0.5, random_state=3)}
    own = make.get(loss, lambda: getattr(mt, loss)(PATH))()
    targets = torch.rand(4, 7).double() if loss == "SPOPlus" else PATHS[[0, 1, 2, 0]]
    assert check_gradient(lambda theta: own(theta, targets), scores())


def test_sparse_map_is_0_at_the_truth_and_its_gradient_a_projection():
    theta, y = scores(), PATHS[[0, 1, 2, 0]]
    loss = mt.SparseMAP(PATH, reduction="sum")(theta, y)
    loss.backward()
    found = np.array([PATH.project(own, (7,)) for own in theta.detach().numpy()])
    np.testing.assert_allclose((theta.grad + y).numpy(), found, atol=1e-8)
    assert mt.SparseMAP(PATH)(10 * y, y).item() == pytest.approx(0.0, abs=1e-9)


def test_layers():
    theta = scores()
    np.testing.assert_array_equal(
        mt.argmax(PATH, theta).numpy(), PATHS[(theta @ PATHS.T).argmax(dim=1)].numpy()
    )
    weights = torch.softmax(theta @ PATHS.T, dim=1)
    torch.testing.assert_close(mt.marginals(PATH, theta), weights @ PATHS)
    assert check_gradient(lambda own: mt.marginals(PATH, own), scores(seed=2))
    best = mt.k_best(PATH, theta, 2)
    values = torch.stack([own[1][1] for own in best])
    torch.testing.assert_close(values, (theta @ PATHS.T).sort(dim=1).values[:, -2])
    values.sum().backward()
    np.testing.assert_allclose(theta.grad.numpy(), [own[1][0].numpy() for own in best])


def test_batches_may_be_ragged_and_float32():
    structure = Matching()
    layouts = [(2, 2), (2, 3)]
    rows = [torch.randn(4, requires_grad=True), torch.randn(6, requires_grad=True)]
    targets = [structure.encode([(0, 1)], s) for s in layouts]
    loss = mt.StructuredHinge(structure, "hamming-sum")(rows, targets, layouts)
    loss.backward()
    assert loss.dtype is torch.float32
    assert [own.grad.shape for own in rows] == [(4,), (6,)]
    found = mt.argmax(structure, rows, layouts)
    assert [own.shape for own in found] == [(4,), (6,)]
    chain = Chain()
    two = [torch.randn(chain.n_parts((length, 2)), requires_grad=True) for length in (1, 3)]
    y = [chain.encode([0] * length, (length, 2)) for length in (1, 3)]
    assert mt.Likelihood(chain)(two, y, [(1, 2), (3, 2)]) > 0


def test_threads_do_not_change_a_bit():
    theta = scores(64)
    one, two = (mt.Likelihood(PATH, n_jobs=n)(theta, PATHS[[0] * 64]) for n in (1, 2))
    assert one.item() == two.item()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: mt.Likelihood(Matching())([torch.zeros(4)], [np.zeros(4)], [(2, 2)]), ValueError,
         "no exact marginals"),
        (lambda: mt.marginals(Knapsack([1, 2], 2), torch.zeros(1, 2)), MissingAbilityError,
         "has no `marginals`"),
        (lambda: mt.SparseMAP(PATH, reduction="max"), ValueError, "reduction='max'"),
        (lambda: mt.SPOPlus(PATH, "least"), ValueError, "sense='least'"),
        (lambda: mt.argmax(PATH, torch.zeros(7)), ValueError, "must be of shape"),
        (lambda: mt.argmax(PATH, torch.zeros(1, 6)), ValueError, "one for each of its edges"),
        (lambda: mt.StructuredHinge(TopK(1))(torch.zeros(1, 3), torch.zeros(1, 2)), ValueError,
         "as many numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_scores_that_are_not_numbers_name_the_instance():
    given = torch.zeros(3, 5)
    given[1, 2] = float("nan")
    with pytest.raises(ValueError, match="instance 1: scores must be finite"):
        mt.StructuredHinge(TopK(2))(given, torch.eye(3, 5))


def test_a_linear_network_by_spo_plus_comes_near_the_certified_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    costs = np.exp(0.5 * X @ rng.normal(size=(3, 7))) * rng.uniform(0.8, 1.2, size=(100, 7))
    exact = DecisionSVM(PATH, alpha=1e-3, prior=None, tol=0.01, max_epochs=1000).fit(X, costs)
    torch.manual_seed(0)
    net, loss = torch.nn.Linear(3, 7).double(), mt.SPOPlus(PATH)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    inputs, truth = torch.tensor(X), torch.tensor(costs)
    for _ in range(300):
        optimizer.zero_grad()
        value = loss(net(inputs), truth)
        value.backward()
        optimizer.step()
    best = loss(torch.tensor(exact.predict_costs(X)), truth).item()
    assert value.item() < 1.2 * best
    # of which the certificate says how low it can be: the penalty is not in it
    lowest = exact.result_.dual - 0.0005 * np.sum(exact.coef_**2)
    assert lowest < best / exact.cost_scale_ < value.item() / exact.cost_scale_ * 1.2
