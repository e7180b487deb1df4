"""Tags for the tokens of sentences."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import ChainSVM, SegmentSVM
from maxmargin.estimators.probabilities import Method
from maxmargin.estimators.restrictions import Restriction
from maxmargin.exceptions import MissingAbilityError
from maxmargin.losses import Loss
from maxmargin.metrics import chunk_f1, chunk_scores, per_label_scores
from maxmargin.solvers import BCFW, OracleCache, Solver
from maxmargin.solvers.run import limits_of
from maxmargin.tasks.base import Task
from maxmargin.tasks.tagging.chunks import (
    OUTSIDE,
    SegmentTexts,
    find_scheme,
    list_segments,
    position_tags,
    write_tags,
)
from maxmargin.tasks.tagging.reports import TaggingReport, WeightTable, strongest_weights
from maxmargin.tasks.tagging.schemes import Forbidden, forbidden_by_data, mark_chunks
from maxmargin.tasks.tagging.shards import TextShards, fit_shards
from maxmargin.tasks.tagging.tags import check_tags
from maxmargin.tasks.tagging.token_features import Token, TokenFeatures, check_count, read_frames
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
from maxmargin.validation.samples import Rows, check_sample_weight, without_empty

Sentences = Iterable[Sequence[Token]]
Tags = Iterable[Sequence[Any]]


class SequenceTagger(Task):
    """Sequence tagger (chunks, names, parts of speech): a linear chain, trained by a large margin.

    Minimises over the weights w of token features with tags, pairs of neighbouring tags, first and
    last tags ::

        alpha/2 |w|^2 + 1/n sum_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)]

    A sentence is a list of tokens; a token is a str, a tuple of columns such as (word, pos), or a
    dict of features as for sklearn-crfsuite. A data frame with a row per token is accepted, too,
    and names its columns. The tags of a sentence are a list of str, of numbers, or of any other
    sortable type. Sentences without tokens are ignored in training; their predictions are empty.

    Parameters
    ----------
    alpha : float or None, default=None
        Strength of the penalty; C = 1 / (alpha n) for n sentences. None means 10 / n, or 0.2 / n
        for the likelihood; see Notes.
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming-sum"
        "hamming-sum" is the number of wrong tags, "hamming" their fraction.
    solver : str, Solver or None, default=None
        As for `ChainSVM`. None means "auto" for the likelihood, else
        ``BCFW(cache=OracleCache(size=10, passes=1))``; see Notes.
    tol : float, default=0.05
        Stop when the duality gap is at most ``tol * |objective|``.
    max_epochs : int, default=100
        Largest number of passes over the samples.
    templates : list of str or None, default=None
        Feature templates for words and columns, see `TokenFeatures`.
    columns : list of str or None, default=None
        Names of the columns, see `TokenFeatures`.
    min_count : int, default=1
        Smallest number of tokens with a feature, see `TokenFeatures`.
    bio : bool, default=False
        Exclude predictions that the scheme of the tags forbids. For BIO that is I-X at the start,
        after O or after another type; if there are tags E-X or S-X, the rules are those of IOBES.
    segments : bool, default=False
        Score whole chunks (a semi-Markov model): beside features of tokens those of segments, their
        length, words, shape and neighbours, and of neighbouring chunks. Tags must be known and of
        the schemes BIO, IOB1 or IOBES, in which they are predicted, too; where they are of no one
        scheme, there is a warning, and BIO is predicted. Tokens must be str or tuples.
    max_length : int or None, default=None
        Tokens of a chunk at most, with `segments`; None means those of the longest one in training.
    gazetteer : mapping of str to list of str, or None, default=None
        Lists of phrases, such as names of places; with `segments` it is a feature of a segment to
        be one of them, in upper or lower case. A copy is part of the model; without `segments` it
        is an error.
    callbacks : sequence of Callback, default=()
        Further callbacks, such as ``EarlyStopping(sentences, tags)``.
    objective : {"margin", "likelihood"}, default="margin"
        "likelihood" is a conditional random field, with the objective ``alpha/2 |w|^2 - 1/n sum_i
        log p(y_i)``; loss is then not used.

    Attributes
    ----------
    classes_ : ndarray of shape (n_tags,)
        Tags, sorted.
    features_ : TokenFeatures
        The fitted feature maker.
    model_ : ChainSVM or SegmentSVM
        The fitted model.
    texts_ : list of str
        Texts of segments that are features, with `segments`.
    gazetteer_ : dict of str to list of str
        The lists of phrases as they were in training, with `segments`.
    scheme_ : {"BIO", "IOBES", "IOB1"}
        Scheme of the tags, with `segments`.

    Notes
    -----
    With alpha = 10 / n, corpora of all sizes take about as many epochs. alpha = 0.2 / n is
    crfsuite's c2 = 0.1: on held-out tenths it was best or nearly so from 200 to 8,000 sentences,
    where 2 / n lost up to 0.7 %. The default solver makes one pass with cached outputs per pass
    with the oracle, because with as many features as text has, a pass with the oracle costs little
    more than one without.

    Examples
    --------
    >>> sentences = [["the", "cat", "sleeps"], ["a", "dog", "barks"]]
    >>> tagger = SequenceTagger().fit(sentences, [["D", "N", "V"], ["D", "N", "V"]])
    >>> tagger.predict([["the", "dog", "sleeps"]])
    [['D', 'N', 'V']]
    """

    features_: TokenFeatures
    model_: Any
    texts_: list[str]
    gazetteer_: dict[str, list[str]]
    scheme_: Literal["BIO", "IOBES", "IOB1"]

    def __init__(
        self,
        alpha: Penalty | None = None,
        loss: str | Loss = "hamming-sum",
        solver: str | Solver | None = None,
        tol: NonNegativeOrInf = 0.05,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        templates: list[str] | None = None,
        columns: list[str] | None = None,
        min_count: Count = 1,
        bio: bool = False,
        segments: bool = False,
        max_length: Count | None = None,
        gazetteer: Mapping[str, Sequence[str]] | None = None,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        objective: Literal["margin", "likelihood"] = "margin",
    ):
        self._store_shared(locals())
        self.loss = loss
        self.templates = templates
        self.columns = columns
        self.min_count = min_count
        self.bio = bio
        self.segments = segments
        self.max_length = max_length
        self.gazetteer = gazetteer
        self.objective = objective

    def fit(
        self, sentences: Sentences | TextShards, tags: Tags | None = None, sample_weight: Any = None
    ) -> SequenceTagger:
        """Fit the features and the model.

        Parameters
        ----------
        sentences : sequence of sentences or TextShards
            Sentences, as described for the class, or files that hold them and their tags.
        tags : sequence of sequences or None, default=None
            True tags, one per token of each sentence; None where a tag is unknown, which is then
            learned as `ChainSVM` does. With `segments` all must be known. None for files.
        sample_weight : array_like of shape (n_samples,) or None, default=None
            Weights of the sentences; None means equal weights, as those of files are.

        Returns
        -------
        SequenceTagger
            The fitted estimator.
        """
        check_options(self)
        if self.gazetteer is not None and not self.segments:
            raise ValueError("gazetteer needs segments=True: its phrases are features of segments.")
        if isinstance(sentences, TextShards):
            return self._fit_files(sentences, tags, sample_weight)
        if isinstance(sentences, Iterator):
            sentences = list(sentences)
        features = TokenFeatures(self.templates, columns=self.columns, min_count=self.min_count)
        rows: Any = features.fit_bytes(sentences)
        check_count(features)
        tags, classes = check_tags(tags, rows.lengths, partial=not self.segments)
        if len(classes) < 2:
            raise ValueError(
                f"all tags are {classes[0]!r}: there is nothing to learn."
                " Give sentences with at least two different tags."
            )
        forbidden = Forbidden([], [], [])
        if self.bio:
            forbidden = forbidden_by_data(classes, tags)
        learned: dict[str, Any] = {"features_": features}
        fresh: Any = ChainSVM()
        texts: SegmentTexts | None = None
        if self.segments:
            sentences = read_frames(sentences, features.columns_)[0]
            fresh, found = self._learn_segments(features, sentences, tags)
            learned |= found
            texts = SegmentTexts(found["texts_"], found["gazetteer_"], fresh.max_length)
        rows, tags, sample_weight = _make_samples(texts, rows, sentences, tags, sample_weight)

        def on_rows(stopping: EarlyStopping) -> None:
            held_out = read_frames(stopping.X, features.columns_)[0]
            found, truth = features.transform_bytes(held_out), list(stopping.y)
            stopping.X, stopping.y, _ = _make_samples(texts, found, held_out, truth)

        with self._watched(on_rows) as callbacks:
            model = self._make_model(fresh, len(rows.lengths), callbacks, forbidden)
            given = [rows, tags]
            del rows, tags  # the model forgets them before it trains
            with self._learning(**learned, model_=model):
                model.fit(given.pop(0), given.pop(), sample_weight)
        return self

    def _fit_files(self, shards: TextShards, tags: Any, sample_weight: Any) -> SequenceTagger:
        """Fit to a corpus in files, shard by shard."""
        given = [name for name in ("bio", "segments", "warm_start") if getattr(self, name)]
        given += ["tags"] * (tags is not None) + ["sample_weight"] * (sample_weight is not None)
        if given:
            raise ValueError(
                f"training on a folder of files takes no {' and no '.join(given)}; leave that out,"
                " or give all sentences in one file or list."
            )
        features = TokenFeatures(self.templates, columns=self.columns, min_count=self.min_count)
        callbacks = list(self.callbacks)

        def make_model(n: int) -> ChainSVM:
            return self._make_model(ChainSVM(), n, [], Forbidden([], [], []))

        model, completion = fit_shards(shards, features, make_model, self.engine, callbacks)
        self.features_, self.model_ = features, model.set_params(callbacks=callbacks)
        model._check_end(completion)
        model._warn(limits_of(model._resolve_solver())[1])
        return self

    def _learn_segments(
        self, features: TokenFeatures, sentences: Any, tags: list[Any]
    ) -> tuple[SegmentSVM, dict[str, Any]]:
        """A model over segments, and what else is learned of them."""
        if features.kind_ == "dict":
            raise ValueError("segments=True needs tokens that are str or tuples, found dict.")
        segments = [list_segments(i, own) for i, own in enumerate(tags)]
        most = self.max_length or max(b - a for own in segments for a, b, _ in own)
        single = [OUTSIDE] if any(k == OUTSIDE for own in segments for *_, k in own) else []
        scheme, others = find_scheme(tags, segments)
        if others:
            i = others[0]
            right = write_tags(segments[i], scheme)
            t = next(t for t, tag in enumerate(tags[i]) if tag != right[t])
            warnings.warn(
                "tags are of none of the schemes BIO, IOBES and IOB1 throughout; they are read by"
                " the rules of conlleval, and those predicted are BIO. Most sentences are"
                f" {scheme}, but {len(others)} of {len(tags)} not: in sentence {i}, token {t} has"
                f" the tag {tags[i][t]!r}, where {scheme} has {right[t]!r}.",
                UserWarning,
                stacklevel=3,
            )
        return SegmentSVM(max_length=most, single=single), {
            "texts_": SegmentTexts.learn(sentences, segments, most),
            "gazetteer_": {name: list(own) for name, own in (self.gazetteer or {}).items()},
            "scheme_": "BIO" if others else scheme,
        }

    def _make_model(
        self, fresh: Any, n: int, callbacks: list[Callback], forbidden: Forbidden
    ) -> Any:
        margin = self.objective == "margin"
        alpha = (10.0 if margin else 0.2) / n
        solver = BCFW(cache=OracleCache(10, 1)) if margin else "auto"
        chain = {} if self.segments else {
            "forbidden_transitions": forbidden.pairs,
            "forbidden_first": forbidden.first,
            "forbidden_last": forbidden.last,
        }  # fmt: skip
        return self._start(fresh).set_params(
            objective=self.objective,
            alpha=alpha if self.alpha is None else self.alpha,
            loss=self.loss,
            solver=solver if self.solver is None else self.solver,
            callbacks=callbacks,
            **chain,
        )

    def predict(self, sentences: Sentences | TextShards) -> list[list[Any]]:
        """Predict the tags of each sentence.

        Parameters
        ----------
        sentences : sequence of sentences or TextShards
            Sentences, or files of them, of which one at a time is in memory.

        Returns
        -------
        list of list
            One tag per token of each sentence.
        """
        if isinstance(sentences, TextShards):
            numbers = sentences.watch(range(len(sentences.paths)), "tagging")
            return [tags for k in numbers for tags in self.predict(sentences.read(k)[0])]
        return self._filled(sentences, "predict", self._tags, [])

    def predict_restricted(
        self,
        sentences: Sentences,
        restrictions: Sequence[Restriction | None],
        time_limit: float | None = None,
    ) -> list[list[Any]]:
        """Predict the best tags of each sentence among those that its restriction allows.

        Parameters
        ----------
        restrictions : sequence of Restriction or None
            One per sentence, such as ``Restriction(known={token: tag}, counts={tag: n})``, with
            tokens numbered from 0; None means that all tags are allowed.
        time_limit : float or None, default=None
            Seconds for each sentence whose restriction has counts or rules; None means no limit.

        Returns
        -------
        list of list
            One tag per token of each sentence.
        """
        self._refuse_segments("predict_restricted")
        found = self.model_.predict_restricted(self._rows(sentences), restrictions, time_limit)
        return [tags.tolist() for tags in found]

    def predict_k_best(self, sentences: Sentences, k: int) -> list[list[tuple[list[Any], float]]]:
        """Predict the k best taggings of each sentence.

        Parameters
        ----------
        k : int
            Number of taggings per sentence; all are returned if there are fewer.

        Returns
        -------
        list of list of (tags, float)
            Taggings of each sentence with their scores, best first.
        """

        def read(best: Any) -> list[tuple[list[Any], float]]:
            return [(self._tags(tags), score) for tags, score in best]

        return self._filled(sentences, "predict_k_best", read, [([], 0.0)], k)

    def predict_marginals(
        self,
        sentences: Sentences,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Seed = 0,
    ) -> list[np.ndarray]:
        """Compute the marginal probabilities P(tag) of each token.

        The model is p(y) ~ exp(score / T), where T is ``temperature_``. The likelihood objective
        fits these probabilities. Those of margin training are suitable for ranking only, until
        `calibrate` is called.

        Parameters
        ----------
        method : {"auto", "exact", "perturb"}, default="auto"
            Exact sums (the default), or perturb-and-MAP; see `StructuredSVM.predict_marginals`.
        n_draws : int, default=100
            Number of draws of "perturb".
        random_state : int, Generator, RandomState or None, default=0
            Seed of "perturb"; the same integer gives bitwise identical results.

        Returns
        -------
        list of ndarray of shape (length, n_tags)
            Probabilities, one array per sentence.
        """
        check_is_fitted(self, "model_")
        nothing, options = np.empty((0, len(self.classes_))), (method, n_draws, random_state)

        if self.segments and self._scheme() != "BIO":
            raise MissingAbilityError(
                f"probabilities of segments are those of BIO tags, and the training data have"
                f" {self._scheme()} tags: give these as BIO, or use segments=False."
            )

        def read(p: np.ndarray) -> np.ndarray:
            return p[:, self._columns()] if self.segments else p

        return self._filled(sentences, "predict_marginals", read, nothing, *options)

    def calibrate(
        self,
        sentences: Sentences,
        tags: Tags,
        *,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Seed = 0,
    ) -> SequenceTagger:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, on held-out data.

        The data must not be that of `fit`, on which the model is overconfident. Predictions do not
        change.

        Parameters
        ----------
        method : {"auto", "exact", "perturb"}, default="auto"
            Exact sums (the default), or perturb-and-MAP; see `StructuredSVM.predict_marginals`.
        n_draws : int, default=100
            Number of draws of "perturb".
        random_state : int, Generator, RandomState or None, default=0
            Seed of "perturb"; the same noise is used at every temperature that is tried.

        Returns
        -------
        SequenceTagger
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        sentences = self._lists(sentences)
        rows = self._rows(sentences)
        tags, _ = check_tags(tags, rows.lengths)
        rows, tags, _ = _make_samples(self._texts(), rows, sentences, tags)
        self.model_.calibrate(rows, tags, method=method, n_draws=n_draws, random_state=random_state)
        return self

    def margins(self, sentences: Sentences) -> list[np.ndarray]:
        """Compute the score of the best tag of each token minus that of the second best.

        Returns
        -------
        list of ndarray of shape (length,)
            Margins, one array per sentence; small values are uncertain.
        """
        self._refuse_segments("margins")
        rows = self._rows(sentences)
        return self.model_.margins(rows)

    def score(self, sentences: Sentences, tags: Tags, sample_weight: Any = None) -> float:
        """Compute the fraction of tokens that are tagged correctly, of those with a known tag.

        Returns
        -------
        float
            Accuracy from 0 to 1.
        """
        rows = self._rows(sentences)
        tags, _ = check_tags(tags, rows.lengths, partial=not self.segments)
        if not self.segments:
            return self.model_.score(rows, tags, sample_weight)
        weight = check_sample_weight(sample_weight, len(tags))
        right = total = 0.0
        for i, found in enumerate(self.predict(sentences)):
            truth = self._tags(list_segments(i, tags[i]))  # in the same scheme
            right += weight[i] * sum(map(operator.eq, truth, found))
            total += weight[i] * len(found)
        return right / total if total else 1.0

    def chunk_f1(self, sentences: Sentences, tags: Tags) -> float:
        """Compute the F1 score of chunks by the rules of conlleval.

        For a grid search: ``GridSearchCV(tagger, grid, scoring=SequenceTagger.chunk_f1)``.

        Returns
        -------
        float
            F1 score from 0 to 1.
        """
        return chunk_f1(*self._compared(sentences, tags))

    def report(self, sentences: Sentences, tags: Tags) -> TaggingReport:
        """Compute scores by tag, and by chunk type if the learned tags are BIO or IOBES.

        Returns
        -------
        TaggingReport
            The scores.
        """
        truth, predicted = self._compared(sentences, tags)
        if self.segments:  # in the scheme of the predictions
            truth = [self._tags(list_segments(i, own)) for i, own in enumerate(truth)]
        chunks = mark_chunks(self.classes_.tolist())
        return TaggingReport(
            labels=per_label_scores(truth, predicted),
            chunks=chunk_scores(truth, predicted) if chunks else None,
        )

    def _compared(self, sentences: Sentences, tags: Tags) -> tuple[list[Any], list[list[Any]]]:
        """The tags, checked, and the predictions."""
        predicted = self.predict(sentences)
        lengths = np.fromiter(map(len, predicted), np.int64, len(predicted))
        return check_tags(tags, lengths)[0], predicted

    def _rows(self, sentences: Sentences) -> Any:
        check_is_fitted(self, "model_")
        return self.features_.transform_bytes(sentences)

    def _texts(self) -> SegmentTexts | None:
        """What makes features of segments, if there are any."""
        check_is_fitted(self, "model_")
        if not self.segments:
            return None
        return self._segment_texts()

    def _segment_texts(self) -> SegmentTexts:
        # models of old files have the option alone
        lists = getattr(self, "gazetteer_", self.gazetteer)
        return SegmentTexts(self.texts_, lists, self.model_.max_length)

    def _scheme(self) -> str:
        return getattr(self, "scheme_", "BIO")  # of old files, too

    def _filled(
        self, sentences: Sentences, method: str, read: Any, nothing: Any, *options: Any
    ) -> list[Any]:
        """What a method of the model finds, read in turn, and `nothing` for empty sentences."""
        check_is_fitted(self, "model_")
        call, sentences = getattr(self.model_, method), self._lists(sentences)
        rows = self._rows(sentences)
        if not self.segments:
            return [read(own) for own in call(rows, *options)]
        full, found, texts = rows.lengths > 0, iter(()), self._texts()
        if full.any() and texts is not None:
            kept = [own for own in sentences if len(own)]
            samples = texts.make_rows(Rows(rows.matrix, rows.lengths[full]), kept)
            found = iter(call(samples, *options))
        return [read(next(found)) if own else nothing for own in full]

    def _lists(self, sentences: Sentences) -> Any:
        """Sentences as lists of tokens, where segments look at these."""
        return read_frames(sentences, self.features_.columns_)[0] if self.segments else sentences

    def _tags(self, found: Any) -> list[Any]:
        return write_tags(found, self._scheme()) if self.segments else found.tolist()

    def _columns(self) -> list[int]:
        """Which parts of a position stand for each of `classes_`."""
        tags = position_tags(self.model_.classes_.tolist())
        return [tags.index(tag) for tag in self.classes_.tolist()]  # no O goes on: the first

    def _refuse_segments(self, name: str) -> None:
        if self.segments:
            raise MissingAbilityError(f"{name} is for chains of tags only, not for segments=True.")

    def validate(self) -> None:
        if not hasattr(self, "model_"):
            return
        check_option(
            "SequenceTagger: model_", self.model_, SegmentSVM if self.segments else ChainSVM
        )
        expected = self.features_.n_features_
        if self.segments:
            expected = 2 * expected + self._segment_texts().n_columns
        if expected != self.model_.n_features_in_:
            raise ValueError("SequenceTagger: model_ and features_ differ in number of features")

    def top_features(self, n: int = 10, label: Any = None) -> WeightTable:
        """List the features with the largest and the smallest weights of each tag.

        Parameters
        ----------
        n : int, default=10
            Number of features for a tag, and of features against it.
        label : tag or None, default=None
            Only this tag; None means all.

        Returns
        -------
        WeightTable
            Names and weights; (bias), (first) and (last) stand for any token, the first and the
            last token of a sentence.
        """
        check_is_fitted(self, "model_")
        self._refuse_segments("top_features")
        model = self.model_
        labels = self.classes_.tolist()
        if label is not None and label not in labels:
            raise ValueError(f"label {label!r} is not among the tags learned: {labels}.")
        names = [*self.features_.feature_names_out(), "(bias)", "(first)", "(last)"]
        weights = model._rows()
        rows = [
            (tag, names[j], float(weights[j, k]))
            for k, tag in enumerate(labels)
            if label in (None, tag)
            for j in strongest_weights(weights[:, k], n)
        ]
        return WeightTable(("tag", "feature", "weight"), tuple(rows))

    def top_transitions(self, n: int = 20) -> WeightTable:
        """List the pairs of neighbouring tags with the largest and the smallest weights.

        Parameters
        ----------
        n : int, default=20
            Number of pairs with the largest, and with the smallest, weights.

        Returns
        -------
        WeightTable
            Pairs and weights.
        """
        check_is_fitted(self, "model_")
        labels, table = self.model_.classes_.tolist(), self.model_.transition_coef_
        assert table is not None
        pairs = [divmod(int(j), len(labels)) for j in strongest_weights(table.ravel(), n)]
        rows = [(labels[a], labels[b], float(table[a, b])) for a, b in pairs]
        return WeightTable(("left", "right", "weight"), tuple(rows))

    @property
    def classes_(self) -> np.ndarray:
        if not self.segments:
            return self.model_.classes_
        labels, scheme = self.model_.classes_.tolist(), self._scheme()
        # chunks of all lengths, the second of them after another of the same kind
        chunks = [[(0, n, label), (n, n + 3, label)] for label in labels for n in (1, 2)]
        return np.unique(np.concatenate([write_tags(own, scheme) for own in chunks]))


def _make_samples(
    texts: SegmentTexts | None, rows: Any, sentences: Any, tags: Any, sample_weight: Any = None
) -> tuple[Any, Any, Any]:
    """Samples of the model, without empty sentences: of tags, or of segments if there are texts."""
    rows, tags, sample_weight = without_empty(rows, tags, sample_weight)
    if texts is not None:
        rows = texts.make_rows(rows, [own for own in sentences if len(own)])
        tags = [list_segments(i, own) for i, own in enumerate(tags)]
    return rows, tags, sample_weight
