"""Constituents of sentences."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np

from maxmargin.callbacks import Callback
from maxmargin.estimators import StructuredSVM
from maxmargin.exceptions import SampleError
from maxmargin.features import PartFeatures
from maxmargin.metrics import BracketScores, bracket_scores
from maxmargin.solvers import BCFW, OracleCache, Solver
from maxmargin.structures import Constituents
from maxmargin.structures.constituents import MOST_WORDS, list_spans, span_numbers
from maxmargin.tasks.base import Prepared
from maxmargin.tasks.constituency.spans import SpanFeatures, SpanRows, check_labels, simplify_label
from maxmargin.tasks.guided import GuidedTask
from maxmargin.tasks.parsing.tokens import check_sentences
from maxmargin.validation.brackets import (
    Node,
    binarise,
    build_tree,
    clean_tree,
    parse_tree,
    write_tree,
)
from maxmargin.validation.learned import check_array
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    PositiveOrInf,
    Seed,
    Verbosity,
    check_option,
    check_options,
)
from maxmargin.validation.samples import LaidOutRows, as_dense, check_sample_weight

Sentences = Sequence[Sequence[Any]]
#: columns to which features are hashed, as a power of two
_BITS = 22

logger = logging.getLogger("maxmargin")


class ConstituencyParser(GuidedTask):
    """Constituency parser: labelled spans by a large margin over all binary trees.

    Minimises over the weights w of features of spans and labels ::

        alpha/2 |w|^2 + 1/n sum_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + number of wrong spans]

    where y are all labelled binary trees of a sentence. A sentence is a list of tokens (form, part
    of speech), a tree a bracketed text such as ``"(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"``.
    Traces, functions of labels and outer brackets without a label are removed. Features are words
    and parts of speech at the ends of a span, inside and beside it, and its length.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty; None means 10 / n for n sentences, or 1 / n for the likelihood.
    solver : str, Solver or None, default=None
        As for `StructuredSVM`. None means "auto" for the likelihood, else
        ``BCFW(cache=OracleCache(size=10, passes=1))``.
    tol : float, default=0.03
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=30
        Largest number of passes over the sentences.
    min_count : int, default=3
        Features that fewer true spans have are left out.
    min_chain_count : int, default=5
        Chains of labels over the same words, such as S+VP, that fewer true spans have are learned
        and predicted as their first label alone, unless none is more frequent.
    guided : bool, default=True
        Whether trees are predicted twice: the second time with features of the first tree, so that
        spans know what is above, below and beside them there. In training it is of parsers that
        did not see the sentence, one for each half.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(sentences, trees)``.
    objective : {"margin", "likelihood"}, default="margin"
        "likelihood" is a conditional random field over trees.

    Attributes
    ----------
    model_ : StructuredSVM
        The fitted model.
    labels_ : ndarray of shape (n_labels,)
        Labels of spans: of constituents, of chains of them joined by "+", and of spans that binary
        trees need beside them.
    guide_ : ndarray of shape (n_weights,)
        Weights of the first trees; empty if not `guided`.
    numbers_ : ndarray of int32
        Column of each hash of a feature, -1 for none.

    Examples
    --------
    >>> trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"]
    >>> trees += ["(S (NP (NNS dogs)) (VP (VBP bark)))"]
    >>> sentences = [[("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]]
    >>> sentences += [[("dogs", "NNS"), ("bark", "VBP")]]
    >>> parser = ConstituencyParser(min_count=1).fit(sentences, trees)
    >>> parser.predict([[("the", "DT"), ("dog", "NN"), ("sleeps", "VBZ")]])
    ['(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))']
    """

    _folds, _first_epochs = 2, 5  # as good as more
    model_: Any
    labels_: np.ndarray
    guide_: np.ndarray
    numbers_: np.ndarray

    def __init__(
        self,
        alpha: Penalty | None = None,
        solver: str | Solver | None = None,
        tol: NonNegativeOrInf = 0.03,
        max_epochs: CountOrZero = 30,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        min_count: Count = 3,
        min_chain_count: Count = 5,
        guided: bool = True,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["margin", "likelihood"] = "margin",
    ):
        self._store_shared(locals())
        self.min_count = min_count
        self.min_chain_count = min_chain_count
        self.guided = guided
        self.objective = objective

    def fit(
        self, sentences: Sentences, trees: Sequence[str], sample_weight: Any = None
    ) -> ConstituencyParser:
        """Fit the weights of spans; sentences without tokens are ignored.

        Parameters
        ----------
        sentences : sequence of sentences
            Lists of tokens (form, part of speech).
        trees : sequence of str
            Bracketed trees of the sentences.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the sentences; None means equal weights.

        Returns
        -------
        ConstituencyParser
            The fitted estimator.
        """
        check_options(self)
        started = perf_counter()
        words = check_words(sentences)
        nodes = check_trees(trees, words)
        weight = check_sample_weight(sample_weight, len(words))
        kept = [i for i, own in enumerate(words) if own]
        if not kept:
            raise ValueError("there are no sentences with tokens to learn from.")
        words, nodes = [words[i] for i in kept], [nodes[i] for i in kept]
        spans = [binarise(node) for node in nodes]
        labels = _learn_labels(spans, self.min_chain_count)
        targets = [_targets(own, labels) for own in spans]
        hashes = map(SpanFeatures(_BITS).hash_spans, words)
        numbers = self._number_features(hashes, targets, np.full(1 << _BITS, -1, dtype=np.int32))
        learned = {
            "labels_": np.array(labels, dtype=str), "numbers_": numbers, "guide_": np.empty(0)
        }  # fmt: skip
        guides: list[np.ndarray] = []
        if self.guided and len(words) >= self._folds:
            guides = self._fit_guides(words, targets, learned, self._time_left(started))
        model = self._make_model(len(words), len(labels))
        rows = self._knowing(learned, model)._span_rows(words, guides)
        left = self._time_left(started)
        self._fit_model(model, learned, rows, targets, weight[kept], time_limit=left)
        return self

    def _fit_guides(
        self, words: list[Any], targets: list[Any], learned: dict[str, Any], seconds: float | None
    ) -> list[np.ndarray]:
        """First trees of parsers that did not see the sentence; learns the weights of them all."""
        found: list[Any] = [None] * len(words)
        model = self._make_model(len(words), len(learned["labels_"]))
        first = self._knowing(learned, model)

        def prepare(chosen: Sequence[int]) -> tuple[Any, Any]:
            return first._span_rows([words[i] for i in chosen]), [targets[i] for i in chosen]

        def predict(w: np.ndarray, seen: list[int], held: list[int]) -> None:
            first.guide_ = w
            trees = first._first_trees([words[i] for i in held], SpanFeatures(_BITS))
            for i, tree in zip(held, trees, strict=True):
                found[i] = tree

        guide = self._fit_guide(model, len(words), seconds, prepare, predict)
        hashes = map(SpanFeatures(_BITS).hash_guided, words, found)
        numbers = learned["numbers_"] = self._number_features(hashes, targets, first.numbers_)
        # a feature of some span may share its hash with one that has a number now
        size = (int(numbers.max()) + 1) * len(first.labels_)
        learned["guide_"] = np.pad(guide, (0, size - len(guide)))
        return found

    def _number_features(
        self, hashes: Iterable[np.ndarray], targets: list[np.ndarray], known: np.ndarray
    ) -> np.ndarray:
        """Number the features that enough true spans have, after those that are known."""
        counts = np.zeros(1 << _BITS, dtype=np.int64)
        for own, spans in zip(hashes, targets, strict=True):
            i, j, _ = spans.T
            np.add.at(counts, own[span_numbers(i, j, (len(spans) + 1) // 2)].ravel(), 1)
        often = np.flatnonzero((counts >= min(self.min_count, counts.max())) & (known < 0))
        numbers = known.copy()
        numbers[often] = np.arange(len(often)) + known.max() + 1
        return numbers

    def _make_model(self, n: int, labels: int) -> StructuredSVM:
        margin = self.objective == "margin"
        alpha, solver = (10.0 if margin else 1.0) / n, BCFW(cache=OracleCache(10, 1))
        return StructuredSVM(
            Constituents(),
            features=PartFeatures(labels=labels),
            objective=self.objective,
            loss="hamming-sum",
            alpha=alpha if self.alpha is None else self.alpha,
            solver=self.solver or (solver if margin else "auto"),
        )

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, sentences: Sentences) -> list[str]:
        """Predict the tree of each sentence.

        Returns
        -------
        list of str
            Bracketed trees; empty for a sentence without tokens.
        """
        return super().predict(sentences)

    def predict_marginals(self, sentences: Sentences) -> list[dict[tuple[int, int, str], float]]:
        """Compute the probabilities of constituents, the model being p(tree) ~ exp(score / T).

        T is ``temperature_``. Those of margin training are suitable for ranking only, until
        `calibrate` is called.

        Returns
        -------
        list of dict
            Probabilities {(i, j, label): p} of words i to j - 1 having a label, where they are
            above 0.001.
        """
        return super().predict_marginals(sentences)

    def predict_k_best(self, sentences: Sentences, k: int) -> list[list[tuple[str, float]]]:
        """Predict the k best trees of each sentence.

        Parameters
        ----------
        k : int
            Number of binary trees per sentence; all are returned if there are fewer.

        Returns
        -------
        list of list of (str, float)
            Trees of each sentence with their scores, best first. Some may be the same but for spans
            that only binary trees have.
        """
        return super().predict_k_best(sentences, k)

    def calibrate(self, sentences: Sentences, trees: Sequence[str]) -> ConstituencyParser:
        return super().calibrate(sentences, trees)

    def score(self, sentences: Sentences, trees: Sequence[str]) -> float:
        """Compute the F1 score of constituents, by the rules of evalb.

        Returns
        -------
        float
            F1 score from 0 to 1.
        """
        return self.report(sentences, trees).f1

    def report(self, sentences: Sentences, trees: Sequence[str]) -> BracketScores:
        """Compute precision, recall and F1 score of constituents, by the rules of evalb.

        Returns
        -------
        BracketScores
            The scores.
        """
        truth, found = self._compare(sentences, trees)
        some = [i for i, node in enumerate(truth) if node is not None]
        return bracket_scores([truth[i] for i in some], [found[i] for i in some])

    # -- inside ------------------------------------------------------------------------------------
    def _check(self, inputs: Any) -> list[Any]:
        return check_words(inputs)

    def _check_truth(self, outputs: Any, inputs: list[Any]) -> list[Any]:
        return check_trees(outputs, inputs)

    def _rows(self, inputs: list[Any], truth: list[Any]) -> Prepared:
        kept, labels = [i for i, own in enumerate(inputs) if own], self.labels_.tolist()
        words = [inputs[i] for i in kept]
        targets = [_targets(binarise(truth[i]), labels) for i in kept]
        guides = self._first_trees(words, SpanFeatures(_BITS))
        return self._span_rows(words, guides), targets, kept

    def _span_rows(self, words: list[Any], guides: Sequence[np.ndarray] = ()) -> LaidOutRows:
        rows = SpanRows(SpanFeatures(_BITS), words, self.numbers_, len(self.labels_), guides)
        return LaidOutRows(rows, rows.layouts)

    def _first_trees(self, sentences: list[Any], features: SpanFeatures) -> list[np.ndarray]:
        """Spans of the first tree of each sentence; none if not guided."""
        structure, labels, found = Constituents(), len(self.labels_), []
        oracle, w = structure.oracle(), self.guide_.reshape(-1, labels)
        for words in sentences if len(w) else ():
            rows, layout = SpanRows(features, [words], self.numbers_, labels), (len(words), labels)
            z, _ = oracle.maximize((rows.matrix @ w).ravel(), layout)
            found.append(structure.decode(z, layout))
        return found

    def _scores(self, inputs: Any) -> Iterator[tuple[Any, np.ndarray]]:
        labels, features = len(self.labels_), SpanFeatures(_BITS)
        w = as_dense(self.model_.coef_).reshape(-1, labels)
        for words in check_words(inputs):
            guides = self._first_trees([words] if words else [], features)
            rows = SpanRows(features, [words], self.numbers_, labels, guides)
            yield words, (rows.matrix @ w).ravel() if words else np.empty(0)

    def _layout(self, sample: Any) -> tuple[int, int] | None:
        return (len(sample), len(self.labels_)) if sample else None

    def _output(self, z: np.ndarray | None, sample: Any) -> str:
        if z is None:
            return ""
        spans = self._structure().decode(z, self._layout(sample)).tolist()
        return write_tree(build_tree([(i, j, str(self.labels_[k])) for i, j, k in spans], sample))

    def _probabilities(self, p: np.ndarray, sample: Any) -> dict[tuple[int, int, str], float]:
        parts = np.flatnonzero(p > 1e-3)
        span, label = np.divmod(parts, len(self.labels_))
        i, j = (own[span].tolist() for own in list_spans(len(sample)))
        keys = zip(i, j, self.labels_[label].tolist(), strict=True)
        return dict(zip(keys, p[parts].tolist(), strict=True))

    def validate(self) -> None:
        if not hasattr(self, "model_"):
            return
        check_option("ConstituencyParser: model_", self.model_, StructuredSVM)
        columns = self.n_features_in_
        name, shape = "ConstituencyParser: numbers_", (1 << _BITS,)
        check_array(name, self.numbers_, np.int32, shape, -1, columns - 1)
        size = columns * len(self.labels_)
        if as_dense(self.model_.coef_).shape != (size,) or self.numbers_.max() != columns - 1:
            raise ValueError("ConstituencyParser: the model has another number of features")
        self._check_guide(size)


def check_words(sentences: Any) -> list[list[tuple[str, str]]]:
    """Tokens as pairs (form, part of speech); errors name the sentence."""
    found = []
    for i, sentence in enumerate(check_sentences(sentences)):
        if len(sentence) > MOST_WORDS:
            raise SampleError.of(
                i, f": {len(sentence)} words, at most {MOST_WORDS} are possible: cut it.",
                noun="sentence",
            )  # fmt: skip
        for t, token in enumerate(sentence):
            good = isinstance(token, tuple | list) and len(token) >= 2
            if not good or not all(isinstance(own, str) and own for own in token[:2]):
                raise SampleError.of(
                    i, f", token {t}: {token!r:.60}, expected (form, part of speech).",
                    noun="sentence",
                )  # fmt: skip
        found.append([(str(token[0]), str(token[1])) for token in sentence])
    return found


def check_trees(trees: Any, words: list[list[tuple[str, str]]]) -> list[Any]:
    """Clean trees of sentences; errors name the sentence."""
    if isinstance(trees, str) or not hasattr(trees, "__len__"):
        raise TypeError(f"trees is a {type(trees).__name__}, expected a list of bracketed texts.")
    if len(trees) != len(words):
        raise ValueError(f"{len(words)} sentences but {len(trees)} trees.")
    found: list[Node | None] = []
    for i, (tree, own) in enumerate(zip(trees, words, strict=True)):
        if not own:
            found.append(None)
            continue
        try:
            if not isinstance(tree, str | Node):
                raise ValueError(f"its tree is a {type(tree).__name__}, expected a bracketed text")
            node = clean_tree(parse_tree(tree) if isinstance(tree, str) else tree)
            if node is not None:
                check_labels(node)
        except ValueError as error:
            raise SampleError.of(i, f": {error}", noun="sentence") from error
        count = len(node.words()) if node is not None else 0
        if count != len(own):
            raise SampleError.of(
                i, f": its tree has {count} words without traces, but there are {len(own)} tokens.",
                noun="sentence",
            )  # fmt: skip
        found.append(node)
    _compare_words(found, words)
    return found


def _compare_words(trees: list[Any], words: list[list[tuple[str, str]]]) -> None:
    """Fail if most words of the trees are others than those of the sentences.

    Warn if those of some sentences are; some words may be written otherwise, such as brackets.
    """
    n_words, n_same, swapped = 0, 0, []
    for i, (tree, own) in enumerate(zip(trees, words, strict=True)):
        pairs = list(zip(tree.words() if own else [], own, strict=True))
        other = [t for t, (leaf, token) in enumerate(pairs) if leaf[0].lower() != token[0].lower()]
        n_words, n_same = n_words + len(own), n_same + len(own) - len(other)
        if len(other) > 0.5 * len(own):
            (leaf, _), token = pairs[other[0]]
            text = f", token {other[0]}: {token[0]!r}, but its tree has {leaf!r} there, and most"
            text += " other words differ, too. Give each sentence its own tree."
            swapped.append((SampleError.of(i, text, noun="sentence"), len(other)))
    if n_same < 0.5 * n_words:
        raise swapped[0][0]
    errors = [error for error, count in swapped if count > 1]  # one may be a bracket
    if errors:
        more = f" There are {len(errors)} such sentences." if len(errors) > 1 else ""
        warnings.warn(f"{errors[0]}{more}", UserWarning, stacklevel=4)


def _learn_labels(spans: list[Any], min_chain_count: int) -> list[str]:
    counts = Counter(label for own in spans for *_, label in own)
    chains = [count for label, count in counts.items() if "+" in label]
    least = min([min_chain_count, max(chains, default=1)])  # few sentences have few of a chain
    known = [own for own, count in counts.items() if "+" not in own or count >= least]
    tops = {label.split("+")[0] for label in counts}
    rare = {own: count for own, count in counts.items() if own not in known}
    if rare:
        logger.info(
            "%d chains of labels, of %d spans, are learned as their first label: fewer than %d"
            " spans have each (min_chain_count)", len(rare), sum(rare.values()), least,
        )  # fmt: skip
    return sorted({"", *known, *tops})


def _targets(spans: list[Any], labels: list[str]) -> np.ndarray:
    number = {label: k for k, label in enumerate(labels)}
    return np.array([(i, j, number[simplify_label(label, number)]) for i, j, label in spans])
