"""Letter error on the large split of the letters, the penalty chosen on held-out training words."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.measure import data_folder
from maxmargin.datasets import load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.metrics import sequence_error

ALPHAS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
OPTIONS = {
    "loss": "hamming-sum",
    "tol": 0.05,
}  # a tolerance of 1 % costs a third more time for the same error


def main() -> None:
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    inner, held, test = (
        np.flatnonzero(mask) for mask in (data.fold > 1, data.fold == 1, data.fold == 0)
    )
    warnings.simplefilter("ignore")
    ChainSVM(max_epochs=1).fit(*_pick(data, inner[:5]))  # compiles
    errors = {}
    for alpha in ALPHAS:
        model = ChainSVM(alpha=alpha, **OPTIONS).fit(*_pick(data, inner))
        errors[alpha] = 1 - model.score(*_pick(data, held))
        print(f"  alpha {alpha:g}: held-out letter error {100 * errors[alpha]:.2f} %", flush=True)
    alpha = min(errors, key=errors.__getitem__)
    X, y = _pick(data, np.concatenate([inner, held]))
    begun = time.perf_counter()
    model = ChainSVM(alpha=alpha, **OPTIONS).fit(X, y)
    seconds = time.perf_counter() - begun
    Xt, yt = _pick(data, test)
    words = 100 * sequence_error(yt, model.predict(Xt))
    ours = 1 - model.score(Xt, yt)
    print(
        f"  chosen alpha {alpha:g}: {len(X)} words, fit {seconds:.1f} s in all"
        f" ({model.result_.certificate()}), test letter error"
        f" {100 * ours:.2f} %, word error {words:.2f} %"
    )
    begun = time.perf_counter()
    baseline = LinearSVC(C=0.01).fit(np.concatenate(X), np.concatenate(y))
    theirs = time.perf_counter() - begun
    error = 1 - baseline.score(np.concatenate(Xt), np.concatenate(yt))
    print(f"  scikit-learn LinearSVC on single letters: {100 * error:.2f} % in {theirs:.1f} s")
    print(f"  the chain has {ours / error:.2f} x its error at {seconds / theirs:.2f} x its time")


def _pick(data: object, where: np.ndarray) -> tuple[list, list]:
    return [data.X[i] for i in where], [data.y[i] for i in where]
