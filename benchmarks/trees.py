"""Labels of words along the dependency tree, along the text and on their own, on web English.

Relations of words to their heads, and parts of speech. The training file of the English Web
Treebank is large and seldom at hand, so its dev part is cut in five: four parts to learn from, one
to choose the penalty on; three such cuts. The test part only gives the last column.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer

from benchmarks.measure import data_folder
from maxmargin import ChainSVM, Graph, TreeSVM
from maxmargin.datasets import load_dependencies
from maxmargin.datasets.dependencies import Token

ALPHAS = (0.1, 0.03, 0.01, 0.003)
FIT = {"loss": "hamming-sum", "tol": 0.02, "max_epochs": 40}
KINDS = ("tree", "chain", "none")
SPLITS = 3


def main() -> None:
    folder = data_folder("ud_english_ewt")
    if folder is None:
        return
    warnings.simplefilter("ignore")
    dev, test = (load_dependencies(subset, path=folder) for subset in ("dev", "test"))
    print("  label     joined  alpha             held out  test    (spread)   fit s")
    for task in ("relation", "tag"):
        for kind in KINDS:
            _report(task, kind, [_run(task, kind, dev, test, seed) for seed in range(SPLITS)])


def _report(task: str, kind: str, rows: list[tuple[float, float, float, float]]) -> None:
    alphas, held, right, seconds = zip(*rows, strict=True)
    print(
        f"  {task:8}  {kind:6}  {', '.join(f'{a:g}' for a in alphas):16}  {np.mean(held):5.2f} %"
        f"  {np.mean(right):5.2f} %  ({np.ptp(right):.2f})  {np.mean(seconds):6.1f}",
        flush=True,
    )


def _run(task: str, kind: str, dev: Any, test: Any, seed: int) -> tuple[float, float, float, float]:
    """The penalty chosen, accuracy held out and on the test part, and seconds of one fit."""
    order = np.random.default_rng(seed).permutation(len(dev.sentences))
    held, inner = np.split(order, [len(order) // 5])
    vectorizer = DictVectorizer().fit(
        [_describe(token, task) for i in inner for token in dev.sentences[i]]
    )
    X, y = _samples(dev, inner, task, kind, vectorizer)
    Xh, yh = _samples(dev, held, task, kind, vectorizer)
    fits = []
    for alpha in ALPHAS:
        begun = time.process_time()
        model = _model(kind, alpha).fit(X, y)
        seconds = time.process_time() - begun
        fits.append((_right(model, Xh, yh), alpha, seconds, model))
    right, alpha, seconds, model = max(fits, key=lambda fit: fit[0])
    Xt, yt = _samples(test, np.arange(len(test.sentences)), task, kind, vectorizer)
    return alpha, 100 * right, 100 * _right(model, Xt, yt), seconds


def _right(model: Any, X: list, y: list) -> float:
    return float(np.mean(np.concatenate(model.predict(X)) == np.concatenate(y)))


def _model(kind: str, alpha: float) -> Any:
    if kind == "tree":
        return TreeSVM(alpha=alpha, **FIT)
    joined = kind == "chain"
    return ChainSVM(alpha=alpha, ends=joined, transitions=joined, **FIT)


def _describe(token: Token, task: str) -> dict[str, int]:
    """Tags help to find relations; capitals and digits help to find tags."""
    word = token.word.lower()
    found = {f"word={word}": 1, f"ending={word[-3:]}": 1}
    if task == "relation":
        return found | {f"tag={token.tag}": 1}
    shape = f"{token.word[:1].isupper()}{any(c.isdigit() for c in word)}{word.isalnum()}"
    return found | {f"ending={word[-2:]}": 1, f"ending={word[-1:]}": 1, f"shape={shape}": 1}


def _samples(
    data: Any, which: np.ndarray, task: str, kind: str, vectorizer: DictVectorizer
) -> tuple[list, list]:
    X, y = [], []
    for i in which:
        rows = vectorizer.transform([_describe(token, task) for token in data.sentences[i]])
        X.append(Graph.from_parents(rows, data.heads[i]) if kind == "tree" else rows)
        y.append([getattr(token, task).split(":")[0] for token in data.sentences[i]])
    return X, y
