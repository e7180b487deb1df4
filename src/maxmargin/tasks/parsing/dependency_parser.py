"""Dependency trees of sentences."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np

from maxmargin._numba.parsing import arc_features
from maxmargin.callbacks import Callback
from maxmargin.estimators import MulticlassSVM, StructuredSVM
from maxmargin.metrics import attachment_scores
from maxmargin.solvers import BCFW, OracleCache, Solver
from maxmargin.structures import Dependencies
from maxmargin.structures.dependencies.heads import lift_arcs
from maxmargin.tasks.base import Prepared
from maxmargin.tasks.guided import GuidedTask
from maxmargin.tasks.parsing.arcs import Arcs, first_structure
from maxmargin.tasks.parsing.reports import ParsingReport
from maxmargin.tasks.parsing.rows import Relations, learn_longest, number_features, relation_rows
from maxmargin.tasks.parsing.tokens import (
    MOST_TAGS,
    Coded,
    TokenCodes,
    check_sentences,
    guess_columns,
)
from maxmargin.tasks.parsing.trees import (
    MOST_CROSSING,
    Crossing,
    Tree,
    check_trees,
    make_projective,
    share_of_crossing,
)
from maxmargin.validation.options import (
    Bounds,
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
from maxmargin.validation.samples import as_dense, check_sample_weight

Sentences = Sequence[Sequence[Any]]
Trees = Sequence[Any]
#: as a power of two
Bits = Annotated[int, Bounds(8, 26)]
#: columns of the relations' features, as a power of two, and features for each word of a treebank
_RELATION_BITS, _PER_WORD = 17, 64


class DependencyParser(GuidedTask):
    """Dependency parser: heads by a large margin over all trees, then relations by another.

    Minimises over the weights w of features of arcs ::

        alpha/2 |w|^2 + 1/n sum_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + number of wrong heads]

    where y are all trees of a sentence. A sentence is a list of tokens; a token is a dict with
    CoNLL-U's names of columns (form, lemma, upos, xpos, feats), or a tuple (form, upos, ...) of
    some of them. A tree is a list of pairs (head, relation), heads from 1, 0 for the root. Features
    are words, parts of speech and morphology of head and dependent, of their neighbours and of what
    is between them, with direction and length of the arc. Relations are learned for true arcs, from
    features of the arc and of the words around it in the tree.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty; None means 30 / n for n sentences, or 1 / n for the likelihood.
    solver : str, Solver or None, default=None
        As for `StructuredSVM`. None means "auto" for the likelihood, else
        ``BCFW(cache=OracleCache(size=10, passes=1))``.
    tol : float, default=0.03
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=50
        Largest number of passes over the sentences.
    projective : bool or None, default=None
        Whether arcs of predicted trees must not cross. None means that they must not if fewer than
        10 % of the arcs in training do.
    single_root : bool, default=True
        Whether just one word of a sentence has the root as its head.
    crossing : {"lift", "drop", "raise"}, default="lift"
        What becomes of training trees with crossing arcs if trees must be projective: words hang
        from the head of their head, the sentence is left out, or it is an error.
    columns : list of str or None, default=None
        What the places of tuples hold, by CoNLL-U's names. None means form and upos, then what the
        values look like.
    bits : int or None, default=None
        Features are hashed to 2 ** bits columns; None means 64 for each word in training, at most
        2 ** 22.
    guided : bool, default=True
        Whether trees are predicted twice: the second time with features of the first tree and of
        its relations, so that arcs know of siblings and of what is above and below them (Martins et
        al. 2008). The first tree is projective. In training it is of parsers that did not see the
        sentence, one for each third.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(sentences, trees)``.
    objective : {"margin", "likelihood"}, default="margin"
        "likelihood" is a conditional random field over trees.

    Attributes
    ----------
    model_ : StructuredSVM
        The fitted model of heads.
    guide_ : ndarray of shape (n_weights,)
        Weights of the first trees; empty if not `guided`.
    labeler_ : MulticlassSVM or None
        The fitted model of relations; None if there is one relation only.
    relations_ : ndarray of shape (n_relations,)
        Relations, sorted.
    projective_ : bool
        Whether predicted trees are projective.
    tags_, columns_, longest_, numbers_ : ndarray
        Parts of speech, columns of tuples, lengths of arcs and hashes of features that were seen in
        training.

    Examples
    --------
    >>> sentences = [[("dogs", "NOUN"), ("bark", "VERB")], [("birds", "NOUN"), ("sing", "VERB")]]
    >>> trees = [[(2, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]
    >>> parser = DependencyParser().fit(sentences, trees)
    >>> parser.predict([[("cats", "NOUN"), ("sleep", "VERB")]])
    [[(2, 'nsubj'), (0, 'root')]]
    """

    model_: Any
    guide_: np.ndarray
    labeler_: Any
    relations_: np.ndarray
    projective_: bool
    tags_: np.ndarray
    columns_: np.ndarray
    longest_: np.ndarray
    numbers_: np.ndarray

    def __init__(
        self,
        alpha: Penalty | None = None,
        solver: str | Solver | None = None,
        tol: NonNegativeOrInf = 0.03,
        max_epochs: CountOrZero = 50,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        projective: bool | None = None,
        single_root: bool = True,
        crossing: Crossing = "lift",
        columns: list[str] | None = None,
        bits: Bits | None = None,
        guided: bool = True,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["margin", "likelihood"] = "margin",
    ):
        self._store_shared(locals())
        self.projective = projective
        self.single_root = single_root
        self.crossing = crossing
        self.columns = columns
        self.bits = bits
        self.guided = guided
        self.objective = objective

    # -- fitting -----------------------------------------------------------------------------------
    def fit(
        self, sentences: Sentences, trees: Trees, sample_weight: Any = None
    ) -> DependencyParser:
        """Fit the models of heads and of relations; sentences without tokens are ignored.

        Parameters
        ----------
        sentences : sequence of sentences
            Sentences, as described for the class.
        trees : sequence of trees
            True trees, a (head, relation) for each token.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the sentences; None means equal weights.

        Returns
        -------
        DependencyParser
            The fitted estimator.
        """
        check_options(self)
        started = perf_counter()
        sentences = check_sentences(sentences)
        lengths = [len(sentence) for sentence in sentences]
        heads, relations = check_trees(trees, lengths, bool(self.single_root))
        if not any(lengths):
            raise ValueError("there are no sentences with tokens to learn from.")
        weight = check_sample_weight(sample_weight, len(sentences))
        projective = self.projective
        if projective is None:
            projective = share_of_crossing(heads) < MOST_CROSSING
        # all trees have their relations learned; only some have heads to learn from
        kept = [i for i, length in enumerate(lengths) if length]
        own, used = [heads[i] for i in kept], kept
        if projective:
            own, places = make_projective(own, self.crossing)
            used = [kept[i] for i in places]
        columns = guess_columns(sentences) if self.columns is None else list(self.columns)
        tags = _learn_tags(sentences, columns)
        codes = TokenCodes(tags, columns)
        coded = codes.encode([sentences[i] for i in used])
        learned: dict[str, Any] = {
            "projective_": bool(projective), "tags_": np.array(tags, dtype=str),
            "columns_": np.array(columns, dtype=str), "longest_": learn_longest(coded, own),
        }  # fmt: skip
        whole = coded if used == kept else codes.encode([sentences[i] for i in kept])
        learned |= self._fit_labeler(
            whole, [heads[i] for i in kept], [relations[i] for i in kept],
            None if sample_weight is None else np.repeat(weight[kept], whole.lengths),
            None if self.time_limit is None else self.time_limit / 4,
        )  # fmt: skip
        numbers = np.full(1 << self._bits(int(coded.lengths.sum())), -1, dtype=np.int32)
        learned["numbers_"], flat = numbers, _flat(own)
        guides = np.empty(0, dtype=np.int64)
        learned["guide_"] = np.empty(0)
        count = number_features(coded, flat, guides, numbers, 0)
        structure = Dependencies(bool(projective), bool(self.single_root))
        arcs = Arcs(coded, own, learned["longest_"], numbers, first_structure(structure))
        if self.guided and len(own) >= self._folds:
            true = [heads[i] for i in used], [relations[i] for i in used]
            guide, guides = self._fit_guides(arcs, *true, count, self._time_left(started))
            count = number_features(coded, flat, guides, numbers, count)
            # a feature of some arc may share its hash with one that has a number now
            learned["guide_"] = np.pad(guide, (0, count - len(guide)))
        rows = arcs.rows(guides, count)
        self._fit_model(
            self._model(structure, len(own)), learned, rows, own, weight[used],
            time_limit=self._time_left(started),
        )  # fmt: skip
        return self

    def _fit_guides(
        self,
        arcs: Arcs,
        heads: list[list[int]],
        relations: list[list[str]],
        count: int,
        seconds: float | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the first trees, and first trees of parsers that did not see the sentence.

        Words know their relations in these afterwards. seconds : at most half of them are used;
        None means no limit.
        """
        none, n = np.empty(0, dtype=np.int64), len(arcs.heads)
        found: list[np.ndarray] = [none] * n
        lifted = arcs._replace(heads=[lift_arcs(own) for own in arcs.heads])
        of_model, of_labeler = (None if seconds is None else k * seconds for k in (0.7, 0.15))

        def prepare(chosen: Sequence[int]) -> tuple[Any, Any]:
            seen = lifted.select(chosen)
            return seen.rows(none, count), seen.heads

        def predict(w: np.ndarray, seen: list[int], held: list[int]) -> None:
            labeler = self._fit_labeler(
                arcs.select(seen).coded, [heads[i] for i in seen], [relations[i] for i in seen],
                None, None if of_labeler is None else of_labeler / (self._folds + 1),
            )["labeler_"]  # fmt: skip
            others = arcs.select(held)._replace(relations=Relations.of(labeler))
            trees = np.split(others.predict(w), np.cumsum(others.coded.lengths)[:-1])
            for k, (i, tree) in enumerate(zip(held, trees, strict=True)):
                found[i] = tree
                arcs.coded.part(i, i + 1).codes[:] = others.coded.part(k, k + 1).codes

        guide = self._fit_guide(self._model(arcs.structure, n), n, of_model, prepare, predict)
        return guide, np.concatenate(found)

    def _bits(self, n_words: int) -> int:
        if self.bits is not None:
            return self.bits
        return min(max((_PER_WORD * n_words - 1).bit_length(), 12), 22)

    def _model(self, structure: Dependencies, n: int) -> StructuredSVM:
        margin = self.objective == "margin"
        solver = BCFW(cache=OracleCache(10, 1)) if margin else "auto"
        alpha = (30.0 if margin else 1.0) / n
        return StructuredSVM(
            structure,
            objective=self.objective,
            loss="hamming-sum",
            alpha=alpha if self.alpha is None else self.alpha,
            solver=solver if self.solver is None else self.solver,
        )

    def _fit_labeler(
        self,
        coded: Coded,
        heads: list[list[int]],
        relations: list[list[str]],
        weight: Any,
        seconds: float | None,
    ) -> dict[str, Any]:
        """The model of relations, learned from true arcs."""
        names = np.array([relation for own in relations for relation in own])
        classes = np.unique(names)
        if len(classes) == 1:
            return {"labeler_": None, "relations_": classes}
        bits = min(_RELATION_BITS, self._bits(len(names)))
        labeler = MulticlassSVM(
            alpha=10.0 / len(names), loss="hamming-sum", tol=0.02, max_epochs=30, bias=False,
            solver=BCFW(cache=OracleCache(10, 1)), random_state=self.random_state,
            time_limit=seconds,
        )  # fmt: skip
        labeler.fit(relation_rows(coded, _flat(heads), bits), names, weight)
        # as large as the treebank, and not used again
        labeler.result_ = replace(labeler.result_, state=None)  # type: ignore[arg-type]
        return {"labeler_": labeler, "relations_": labeler.classes_}

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, sentences: Sentences) -> list[Tree]:
        """Predict the tree of each sentence.

        Returns
        -------
        list of list of (int, str)
            For each token its head and its relation to it.
        """
        return super().predict(sentences)

    def predict_marginals(self, sentences: Sentences) -> list[np.ndarray]:
        """Compute the probability of each arc, the model being p(tree) ~ exp(score / T).

        T is ``temperature_``. The likelihood objective fits these probabilities. Those of margin
        training are suitable for ranking only, until `calibrate` is called.

        Returns
        -------
        list of ndarray of shape (n, n + 1)
            For each token the probabilities of its heads, 0 for the root.
        """
        return super().predict_marginals(sentences)

    def predict_k_best(self, sentences: Sentences, k: int) -> list[list[tuple[Tree, float]]]:
        """Predict the k best trees of each sentence.

        Returns
        -------
        list of list of (tree, float)
            Trees of each sentence with the scores of their heads, best first.
        """
        return super().predict_k_best(sentences, k)

    def calibrate(self, sentences: Sentences, trees: Trees) -> DependencyParser:
        structure: Dependencies = self._structure()
        sentences = check_sentences(sentences)
        lengths = [len(own) for own in sentences]
        heads, relations = check_trees(trees, lengths, bool(self.single_root))
        if structure.projective:
            heads, _ = make_projective(heads, "lift")
        return super().calibrate(sentences, _join(heads, relations))

    def score(self, sentences: Sentences, trees: Trees, sample_weight: Any = None) -> float:
        """Compute the share of words with the right head and relation (LAS).

        Returns
        -------
        float
            Labelled attachment score from 0 to 1.
        """
        truth, predicted = self._compare(sentences, trees)
        if sample_weight is None or not truth:
            return attachment_scores(truth, predicted).las
        weight = check_sample_weight(sample_weight, len(truth))
        pairs = zip(truth, predicted, strict=True)
        right = np.array([sum(a == b for a, b in zip(*own, strict=True)) for own in pairs])
        words = np.array([len(own) for own in truth])
        return float((weight * right).sum() / max((weight * words).sum(), 1e-300))

    def report(self, sentences: Sentences, trees: Trees) -> ParsingReport:
        """Compute scores in all, by relation and by length of the sentence, and the worst trees.

        Returns
        -------
        ParsingReport
            The scores.
        """
        truth, predicted = self._compare(sentences, trees)
        forms = [[values[0] for values in own] for own in self._codes().texts(sentences)]
        return ParsingReport.of(forms, truth, predicted)

    # -- inside ------------------------------------------------------------------------------------
    def _check(self, inputs: Any) -> list[Any]:
        return check_sentences(inputs)

    def _check_truth(self, outputs: Any, inputs: list[Any]) -> list[Tree]:
        return _join(*check_trees(outputs, [len(own) for own in inputs], False))

    def _rows(self, inputs: list[Any], truth: list[Any]) -> Prepared:
        kept = [i for i, own in enumerate(inputs) if len(own)]
        heads = [[head for head, _ in truth[i]] for i in kept]
        coded = self._codes().encode([inputs[i] for i in kept])
        arcs = self._arcs(coded, heads, self.model_.structure)
        return arcs.rows(arcs.predict(self.guide_), int(self.numbers_.max()) + 1), heads, kept

    def _codes(self) -> TokenCodes:
        return TokenCodes(self.tags_.tolist(), self.columns_.tolist())

    def _scores(self, inputs: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The codes of each sentence, and the scores of its arcs."""
        coded = self._codes().encode(check_sentences(inputs))
        tags = coded.codes[:, arc_features.INDEX]
        if coded.lengths.any() and not ((tags > 0) & (tags <= MOST_TAGS)).any():
            warnings.warn(
                "no token of these sentences has a part of speech that training had: trees will be"
                " poor. Give upos, as dicts or second in tuples, or train without.",
                UserWarning,
                stacklevel=4,
            )
        arcs = self._arcs(coded, [], self._structure())
        return arcs.scores(as_dense(self.model_.coef_), self.guide_)

    def _arcs(self, coded: Coded, heads: list[list[int]], structure: Dependencies) -> Arcs:
        first, relations = first_structure(structure), Relations.of(self.labeler_)
        return Arcs(coded, heads, self.longest_, self.numbers_, first, relations)

    def _layout(self, sample: Any) -> tuple[int] | None:
        n = len(sample) // arc_features.WIDTH - 3
        return (n,) if n else None

    def _find_best(self, oracle: Any, theta: np.ndarray, layout: Any) -> np.ndarray:
        # scores are sums of finite weights: to check them takes longer than to find the tree
        z, value = oracle._call("maximize", theta, layout)
        if not np.isfinite(value):
            raise FloatingPointError("scores of arcs are not finite: the weights are too large.")
        return z

    def _output(self, z: np.ndarray | None, sample: Any) -> Tree:
        """The tree of heads, with their relations."""
        if z is None:
            return []
        n = len(sample) // arc_features.WIDTH - 3
        heads = z.reshape(n, n + 1).argmax(axis=1)
        relations = Relations.of(self.labeler_)
        found = np.zeros(n, int) if relations is None else relations.find(sample, heads)
        return list(zip(heads.tolist(), self.relations_[found].tolist(), strict=True))

    def _probabilities(self, p: np.ndarray, sample: Any) -> np.ndarray:
        n = len(sample) // arc_features.WIDTH - 3
        return p.reshape(n, n + 1)

    def validate(self) -> None:
        if not hasattr(self, "model_"):
            return
        check_option("DependencyParser: model_", self.model_, StructuredSVM)
        size, longest, numbers = 2 * 64 * 64, self.longest_, self.numbers_
        if longest.shape != (size,) or longest.dtype != np.int64:
            raise ValueError("DependencyParser: longest_ is not what fit leaves")
        tags, names = self.tags_, self.relations_
        if tags.ndim != 1 or len(tags) > MOST_TAGS or names.ndim != 1 or not len(names):
            raise ValueError("DependencyParser: tags_ or relations_ is not what fit leaves")
        count = len(numbers) if numbers.ndim == 1 and numbers.dtype == np.int32 else 0
        known = self.n_features_in_
        if count < 2 or count & (count - 1) or numbers.max() >= known:
            raise ValueError("DependencyParser: numbers_ is not what fit leaves")
        self._check_guide(known)
        if self.labeler_ is not None:
            check_option("DependencyParser: labeler_", self.labeler_, MulticlassSVM)
            width, size = self.labeler_.n_features_in_, self.labeler_.coef_.shape[-1]
            fits = np.array_equal(self.labeler_.classes_, self.relations_)
            if width & (width - 1) or size != width * len(self.relations_) or not fits:
                raise ValueError("DependencyParser: labeler_ has another size")


def _learn_tags(sentences: list[Any], columns: list[str]) -> list[str]:
    """The most frequent parts of speech."""
    texts = TokenCodes([], columns).texts(sentences)
    found = Counter(values[1] or values[2] for own in texts for values in own)
    return [tag for tag, _ in sorted(found.items(), key=lambda own: (-own[1], own[0]))][:MOST_TAGS]


def _flat(heads: list[list[int]]) -> np.ndarray:
    return np.array([head for own in heads for head in own], dtype=np.int64)


def _join(heads: list[list[int]], relations: list[list[str]]) -> list[Tree]:
    return [list(zip(*own, strict=True)) for own in zip(heads, relations, strict=True)]
