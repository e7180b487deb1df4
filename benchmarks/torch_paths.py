"""Shortest paths over pictures of terrain: a small network by losses of `maxmargin.torch`.

Each instance is a picture of 10 x 10 pixels, 2 x 2 for each node of a 5 x 5 grid, of heights with
noise. An edge costs exp of the mean height of its ends, so that no linear function of the pixels
has the costs. A convolution with one hidden layer is trained end to end, for the regret (SPO+), by
paths alone (perturbed Fenchel-Young, likelihood), and for the squared error of the costs, beside
`DecisionSVM` on the pixels. Regrets are of 500 new pictures. Needs PyTorch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin import DecisionSVM
from maxmargin.optional import optional_module
from maxmargin.structures import ShortestPath
from maxmargin.tasks.decision.structures import grid_edges

SIZE, TRAIN, TEST, EPOCHS, BATCH = 5, 300, 500, 40, 30
EDGES = grid_edges(SIZE, SIZE)
PATH = ShortestPath(EDGES, 0, SIZE * SIZE - 1)


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures and costs of edges."""
    rng = np.random.default_rng(seed)
    heights = rng.normal(size=(n, SIZE, SIZE))
    pictures = np.repeat(np.repeat(heights, 2, axis=1), 2, axis=2)
    pictures = pictures + rng.normal(0, 0.5, size=pictures.shape)
    flat = heights.reshape(n, -1)
    return pictures, np.exp(flat[:, EDGES].mean(axis=2) * 1.5)


def train(torch: Any, loss: Callable[[Any, Any], Any], targets: np.ndarray, X: np.ndarray) -> Any:
    """A network from pictures to costs of edges."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 2, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * SIZE * SIZE, len(EDGES)),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    inputs = torch.tensor(X[:, None], dtype=torch.float32)
    truth = torch.tensor(targets, dtype=torch.float32)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(X)).split(BATCH):
            optimizer.zero_grad()
            loss(net(inputs[rows]), truth[rows]).backward()
            optimizer.step()
    return net


def main() -> None:
    """Print regrets and seconds."""
    torch = optional_module("torch", "this benchmark needs PyTorch: pip install torch")
    losses = optional_module("maxmargin.torch", "this benchmark needs PyTorch")
    X, costs = draw(TRAIN, 0)
    new, true = draw(TEST, 1)
    linear = DecisionSVM(PATH)
    begun = time.perf_counter()
    linear.fit(X.reshape(TRAIN, -1), costs)
    seconds = time.perf_counter() - begun
    regret = linear.regret(new.reshape(TEST, -1), true)
    print(f"{'DecisionSVM, pixels':34}regret {regret:6.1%}  {seconds:5.1f} s")
    best, least = linear.decide(costs), (true * linear.decide(true)).sum()
    young, likely = losses.PerturbedFenchelYoung(PATH, 10, 0.5), losses.Likelihood(PATH)
    ways = {
        "network, squared error of costs": (torch.nn.MSELoss(), costs),
        "network, SPO+": (losses.SPOPlus(PATH), costs),
        "network, Fenchel-Young, paths": (lambda c, y: young(-c, y), best),
        "network, likelihood, paths": (lambda c, y: likely(-c, y), best),
    }
    for name, (loss, targets) in ways.items():
        begun = time.perf_counter()
        net = train(torch, loss, targets, X)
        seconds = time.perf_counter() - begun
        with torch.no_grad():
            found = -net(torch.tensor(new[:, None], dtype=torch.float32))
        chosen = losses.argmax(PATH, found).numpy()
        regret = ((true * chosen).sum() - least) / least
        print(f"{name:34}regret {regret:6.1%}  {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
