"""Crammer-Singer multiclass beside scikit-learn's, on the digits: same problem, same objective."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from maxmargin.estimators import MulticlassSVM

ALPHA = 1e-3


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    warnings.simplefilter("ignore")
    MulticlassSVM(max_epochs=1).fit(X[:20], y[:20])  # compiles
    begun = time.perf_counter()
    ours = MulticlassSVM(alpha=ALPHA, bias=False, tol=1e-3, max_epochs=1000).fit(X, y)
    mine = time.perf_counter() - begun
    begun = time.perf_counter()
    theirs = LinearSVC(
        multi_class="crammer_singer",
        fit_intercept=False,
        C=1 / (ALPHA * len(X)),
        tol=1e-3,
        max_iter=100_000,
    ).fit(X, y)
    other = time.perf_counter() - begun
    value = _objective(theirs.coef_.T, X, y)
    print(
        f"  ours {mine:.2f} s, objective {ours.result_.primal:.6f} ({ours.result_.certificate()})"
    )
    print(f"  scikit-learn {other:.2f} s, objective {value:.6f}; ratio of times {mine / other:.2f}")


def _objective(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    scores = X @ W
    truth = scores[np.arange(len(y)), y]
    margin = scores + 1.0 - truth[:, None]
    margin[np.arange(len(y)), y] -= 1.0
    return float(ALPHA / 2 * np.sum(W * W) + margin.max(axis=1).mean())
