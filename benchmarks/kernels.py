"""Kernels on the letters: errors, support vectors and cost, exact and approximate."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import data_folder
from maxmargin.datasets import load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.features import KernelMap
from maxmargin.metrics import sequence_error

#: share of the training words on which alpha and gamma are chosen
HELD_OUT = 0.25
CHOICES: dict[str, tuple[tuple[float, ...], tuple[Any, ...]]] = {
    "linear": ((3e-2, 1e-1, 3e-1, 1.0), ("scale",)),
    "quadratic": ((3e-2, 1e-1, 3e-1), ("scale",)),
    "cubic": ((3e-2, 1e-1, 3e-1), ("scale",)),
    "rbf": ((3e-3, 1e-2, 3e-2), (0.02, 0.05)),
}
SIZES = (300, 1000)
RANDOM_SIZES = (1000, 3000)


class Words(NamedTuple):
    """Words and their letters."""

    X: list[Any]
    y: list[Any]

    def pick(self, where: np.ndarray) -> Words:
        return Words([self.X[i] for i in where], [self.y[i] for i in where])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernels")
    parser.add_argument(
        "--large",
        action="store_true",
        help="train on folds 1 to 9 and test on fold 0, with approximate kernels only",
    )
    parser.add_argument("--tol", type=float, default=0.01, help="relative gap of the models shown")
    parser.add_argument("--kernels", nargs="*", choices=list(CHOICES), default=list(CHOICES))
    parser.add_argument("--approximate", nargs="*", choices=["cubic", "rbf"], default=["rbf"])
    options = parser.parse_args(arguments)
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    words, small = Words(data.X, data.y), data.fold == 0
    train, test = (
        words.pick(np.flatnonzero(small == own)) for own in (not options.large, options.large)
    )
    warnings.simplefilter("ignore")
    ChainSVM(max_epochs=1).fit(*train.pick(np.arange(5)))  # compiles
    print(f"  {len(train.X)} words to learn from, {len(test.X)} to test on; processor seconds")
    print(
        f"  {'model':34} {'alpha':>6} {'gap %':>6} {'coord.':>6} {'support':>7}"
        f" {'fit s':>6} {'apply s':>7} {'letters %':>9} {'words %':>7}",
        flush=True,
    )
    for name in options.kernels:
        _family(name, train, test, options)


def _family(name: str, train: Words, test: Words, options: argparse.Namespace) -> None:
    """One kernel: the choice of its constants, then exact and approximate models."""
    alpha, gamma = _chosen(name, train, options.large)
    if not options.large or name == "linear":
        _show(name, _map(name, gamma), alpha, train, test, options.tol)
    if name not in options.approximate:
        return
    for label, own in _approximations(name, gamma):
        _show(f"{name}, {label}", own, alpha, train, test, options.tol)


def _approximations(name: str, gamma: Any) -> Iterator[tuple[str, KernelMap]]:
    for size in SIZES:
        yield f"{size} pivots", _map(name, gamma, max_support=size)
    for size in SIZES:
        yield f"{size} landmarks", _map(name, gamma, method="nystroem", n_components=size)
    for size in RANDOM_SIZES:
        yield f"{size} random features", _map(name, gamma, method="random", n_components=size)


def _map(name: str, gamma: Any, **options: Any) -> KernelMap | None:
    if name == "linear":
        return None
    kernel, degree = ("rbf", 3) if name == "rbf" else ("poly", 2 if name == "quadratic" else 3)
    return KernelMap(kernel, gamma=gamma, degree=degree, **options)


def _chosen(name: str, train: Words, large: bool) -> tuple[float, Any]:
    """Alpha and gamma with the fewest errors on held-out training words."""
    order = np.random.default_rng(0).permutation(len(train.X))
    if large:
        order = order[:2000]  # constants need fewer words than models do
    count = int(HELD_OUT * len(order))
    held, inner = train.pick(order[:count]), train.pick(order[count:])
    bound = {"max_support": 1000} if large else {}
    errors = {}
    for gamma in CHOICES[name][1]:
        own = _map(name, gamma, **({} if name == "linear" else bound))
        model = ChainSVM(tol=0.05, kernel=own, warm_start=True)
        for alpha in sorted(CHOICES[name][0], reverse=True):
            model.set_params(alpha=alpha).fit(*inner)
            errors[alpha, gamma] = 1 - model.score(*held)
    told = ", ".join(
        f"{alpha:g}{'' if gamma == 'scale' else f' gamma {gamma:g}'}: {100 * error:.1f}"
        for (alpha, gamma), error in errors.items()
    )
    print(f"  {name}, held-out letter error % by alpha: {told}", flush=True)
    return min(errors, key=errors.__getitem__)


def _show(
    label: str, kernel: KernelMap | None, alpha: float, train: Words, test: Words, tol: float
) -> None:
    begun = time.process_time()
    model = ChainSVM(alpha=alpha, tol=tol, kernel=kernel).fit(*train)
    fitted = time.process_time()
    found = model.predict(test.X)
    applied = time.process_time()
    letters = 1 - np.mean(np.concatenate(found) == np.concatenate(test.y))
    words = sequence_error(test.y, found)
    vertex_cache = getattr(model, "n_support_", "-")
    columns = model.kernel_.n_coordinates_ if kernel is not None else model.n_features_in_
    print(
        f"  {label:34} {alpha:6g} {100 * model.result_.relative_gap:6.2f} {columns:6}"
        f" {vertex_cache:>7} {fitted - begun:6.1f} {applied - fitted:7.1f} {100 * letters:9.2f}"
        f" {100 * words:7.2f}",
        flush=True,
    )
