"""Sparse feature rows for the tokens of sentences, made quickly for a whole corpus at once."""

import functools
import itertools
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, get_index_dtype
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.exceptions import SampleError
from maxmargin.tasks.tagging.token_dicts import DictIndex
from maxmargin.tasks.tagging.token_templates import (
    TemplateIndex,
    default_templates,
    parse_templates,
)
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Count, CountOrZero, check_options
from maxmargin.validation.samples import Rows, locate_row

Token = str | Sequence[str] | dict[str, Any]


class TokenFeatures(Checked, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Turn sentences into one sparse matrix with a row of features per token.

    A sentence is a list of tokens. All tokens are of one kind, found from the data:

    - a str, the word;
    - a tuple or list of str, its columns, such as (word, part of speech); a data frame is a
      sentence with one such token per row;
    - a dict of features, as for sklearn-crfsuite: ``{"word": "the", "BOS": True, "len": 3.0}``.
      A str value makes the indicator ``word=the``; True the indicator ``BOS``; a number the feature
      ``len`` with that value; False and 0 nothing; a list or set of str one indicator per member.
      The features of a dict inside a dict have its key and a colon put before their names.

    Words and columns are seen through *templates*, each of which gives every token one indicator.

    Parameters
    ----------
    templates : list of str, default=None
        Such as ``["0[-1]", "0[0]|1[0]", "suffix3(0[0])", "lower(0[0])", "shape(0[0])"]``: the
        column and its offset from the token, ``|`` between terms to be taken jointly, and the
        functions ``lower``, ``shape``, ``prefixN``, ``suffixN``. Places outside the sentence have
        the values BOS-1, BOS-2, ... on its left and EOS+1, EOS+2, ... on its right.
        None means, for words (the first column): lower-cased words at -2..2, the word, its
        prefixes and suffixes of length 1 to 4, its shape, and the bigrams with its neighbours; for
        each further column: its values at -2..2, their bigrams and trigrams, and its value with
        the word.
        The full grammar is in `maxmargin.tasks.tagging.token_templates`. Not used for dicts.
    columns : list of str, default=None
        Names of the columns, for templates and feature names. None means those of data frames,
        else "word", "col2", "col3", ...
    min_count : int, default=1
        Features found on fewer tokens than this in `fit` are dropped.

    Attributes
    ----------
    kind_ : {"str", "columns", "dict"}
        What a token is.
    n_columns_ : int
        Columns of a token: 1 for str, 0 for dict.
    columns_ : list of str or None
        Names of the columns as given, by `columns` or by data frames.
    templates_ : list of str
        Templates in use; empty for dict.
    n_features_ : int
        Columns of the matrix.
    index_ : object
        Maps features to columns of the matrix.

    Examples
    --------
    >>> rows = TokenFeatures(["0[0]", "0[-1]|0[0]"]).fit_transform([["the", "cat"], ["the"]])
    >>> rows.matrix.shape, rows.lengths.tolist()
    ((3, 4), [2, 1])
    """

    kind_: str
    n_columns_: CountOrZero
    columns_: list[str] | None
    templates_: list[str]
    n_features_: CountOrZero
    index_: Any

    def __init__(
        self,
        templates: Sequence[str] | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        min_count: Count = 1,
    ):
        self.templates = templates
        self.columns = columns
        self.min_count = min_count

    def fit(self, sentences: Iterable[Sequence[Token]], y: Any = None) -> "TokenFeatures":
        """Learn the features from sentences.

        Parameters
        ----------
        sentences : sequence of sentences
            Sentences, as described for the class.
        y : None, default=None
            Ignored, for compatibility with scikit-learn.

        Returns
        -------
        TokenFeatures
            The fitted object.
        """
        self.fit_transform(sentences)
        return self

    def fit_transform(self, sentences: Iterable[Sequence[Token]], y: Any = None) -> Rows:
        """Learn the features and compute their rows, in one pass.

        Returns
        -------
        Rows
            CSR matrix with one row per token, and the number of tokens of each sentence.
        """
        return _with_floats(self.fit_bytes(sentences))

    def fit_bytes(self, sentences: Iterable[Sequence[Token]]) -> Rows:
        """Do as `fit_transform`, but with values of one byte where all of them are 1.

        Returns
        -------
        Rows
            CSR matrix with one row per token, and the number of tokens of each sentence.
        """
        check_options(self)
        given = None if self.columns is None else list(self.columns)
        sentences, given = read_frames(sentences, given)
        tokens, lengths = _flatten(sentences)
        if not tokens:
            raise ValueError("no sentences to learn features from")
        kind, n_columns = _kind(tokens[0])
        _check_kind(tokens, lengths, kind, n_columns)
        templates = self._templates(kind, n_columns)
        index: Any
        if kind == "dict":
            index = DictIndex(int(self.min_count))
            matrix = index.fit(tokens, functools.partial(_where, lengths))
        else:
            names = _column_names(given, n_columns)
            index = TemplateIndex(parse_templates(templates, names), int(self.min_count))
            found = index.fit(_columns(tokens, lengths, kind, n_columns), lengths)
            matrix = _indicators(found, index.n_features)
        self.kind_, self.n_columns_, self.templates_ = kind, n_columns, list(templates)
        self.index_, self.n_features_, self.columns_ = index, index.n_features, given
        return Rows(matrix, lengths)

    def start_parts(self, values: Sequence[Iterable[str]]) -> "TokenFeatures":
        """Begin to learn the features of a corpus in parts, of tokens that are tuples or str.

        Parameters
        ----------
        values : sequence of iterables of str
            Distinct values of each column, in order of appearance in the corpus.

        Returns
        -------
        TokenFeatures
            The object, of which `count_keys` may be called for each part.
        """
        check_options(self)
        n_columns = len(values)
        self.kind_, self.n_columns_ = "str" if n_columns == 1 else "columns", n_columns
        self.columns_ = None if self.columns is None else list(self.columns)
        self.templates_ = list(self._templates(self.kind_, n_columns))
        names = _column_names(self.columns_, n_columns)
        self.index_ = TemplateIndex(parse_templates(self.templates_, names), int(self.min_count))
        self.index_.learn_values(values)
        return self

    def count_keys(self, sentences: Iterable[Sequence[Token]]) -> list[Any]:
        """Count the features that a part of the corpus has.

        Parameters
        ----------
        sentences : sequence of sentences
            Sentences, as described for the class.

        Returns
        -------
        list
            What `finish_parts` takes.
        """
        tokens, lengths = _flatten(sentences)
        _check_kind(tokens, lengths, self.kind_, self.n_columns_)
        columns = _columns(tokens, lengths, self.kind_, self.n_columns_)
        return self.index_.count_keys(columns, lengths)

    def finish_parts(self, parts: Iterable[list[Any]]) -> "TokenFeatures":
        """Learn the features from those of all parts: the same as `fit` learns from the whole.

        Parameters
        ----------
        parts : iterable
            What `count_keys` returned for each part.

        Returns
        -------
        TokenFeatures
            The fitted object.
        """
        self.index_.learn_keys(parts)
        self.n_features_ = self.index_.n_features
        return self

    def transform(self, sentences: Iterable[Sequence[Token]]) -> Rows:
        """Compute the rows of the learned features; other features are ignored.

        Returns
        -------
        Rows
            CSR matrix with one row per token, and the number of tokens of each sentence.
        """
        return _with_floats(self.transform_bytes(sentences))

    def transform_bytes(self, sentences: Iterable[Sequence[Token]]) -> Rows:
        """Do as `transform`, but with values of one byte where all of them are 1.

        Returns
        -------
        Rows
            CSR matrix with one row per token, and the number of tokens of each sentence.
        """
        check_is_fitted(self, "index_")
        sentences, _ = read_frames(sentences, getattr(self, "columns_", None))
        tokens, lengths = _flatten(sentences)
        _check_kind(tokens, lengths, self.kind_, self.n_columns_)
        if self.kind_ == "dict":
            return Rows(self.index_.encode(tokens, functools.partial(_where, lengths)), lengths)
        columns = _columns(tokens, lengths, self.kind_, self.n_columns_)
        found = self.index_.encode(columns, lengths)
        return Rows(_indicators(found, self.n_features_), lengths)

    def feature_names_out(self) -> np.ndarray:
        """Return the names of the features, such as ``word[0]=the``; computed at each call.

        Returns
        -------
        ndarray of str
            One name per column.
        """
        check_is_fitted(self, "index_")
        return np.array(self.index_.names(), dtype=object)

    def validate(self) -> None:
        """Raise ValueError unless the matrix is as wide as the index, as compiled code needs."""
        if not hasattr(self, "index_"):
            return
        index, n_columns = self.index_, self.n_columns_
        if self.n_features_ != index.n_features:
            raise ValueError("TokenFeatures and their index differ in the number of features")
        if type(index) is not (DictIndex if self.kind_ == "dict" else TemplateIndex):
            raise ValueError(
                f"TokenFeatures: index_ is not an index of tokens that are {self.kind_}"
            )
        known = {"str": n_columns == 1, "columns": n_columns > 0, "dict": n_columns == 0}
        atoms = [atom for own in getattr(index, "templates", ()) for atom in own.atoms]
        if not known.get(self.kind_) or any(atom.column >= n_columns for atom in atoms):
            raise ValueError(f"TokenFeatures: its tokens do not have {n_columns} columns")

    def _templates(self, kind: str, n_columns: int) -> Sequence[str]:
        if kind != "dict":
            return default_templates(n_columns) if self.templates is None else self.templates
        if self.templates is not None or self.columns is not None:
            raise ValueError(
                "templates and columns are for str and tuple tokens, found dict tokens; "
                "leave both None, or give the words as str"
            )
        return []


def check_count(features: TokenFeatures) -> None:
    """Raise a ValueError if fitted features are all too rare.

    Parameters
    ----------
    features : TokenFeatures
        The features.
    """
    if features.n_features_ == 0 and features.min_count > 1:
        raise ValueError(
            f"min_count={features.min_count} leaves no features: none is found on as many tokens."
            " Lower min_count."
        )


def _flatten(sentences: Iterable[Sequence[Token]]) -> tuple[list, np.ndarray]:
    """All tokens in one list, and the number of tokens of each sentence."""
    if isinstance(sentences, (str, bytes, dict)):
        raise ValueError(f"expected a list of sentences, found {type(sentences).__name__}")
    sentences = list(sentences)
    for i, sentence in enumerate(sentences):
        if isinstance(sentence, (str, bytes, dict)) or not hasattr(sentence, "__len__"):
            raise SampleError.of(
                i,
                f": expected a list of tokens, found {type(sentence).__name__}{_hint(sentences)}",
                noun="sentence",
            )
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return list(itertools.chain.from_iterable(sentences)), lengths


def read_frames(sentences: Iterable[Any], names: list[str] | None) -> tuple[Any, list[str] | None]:
    """Sentences given as data frames, one row per token, as tuples; the names of their columns.

    names : those to expect, None for those of the first frame.
    """
    if isinstance(sentences, (str, bytes, dict)) or not hasattr(sentences, "__iter__"):
        return sentences, names  # an error, see `_flatten`
    sentences = list(sentences)
    for i, sentence in enumerate(sentences):
        if not hasattr(sentence, "itertuples"):
            continue
        own = list(sentence.columns)
        names = own if names is None else names
        if own != names:
            raise SampleError.of(i, f": its columns are {own}, expected {names}", noun="sentence")
        sentences[i] = list(sentence.itertuples(index=False, name=None))
    return sentences, names


def _hint(sentences: list) -> str:
    """What to do if strings or dicts are where sentences should be."""
    if all(isinstance(each, dict) for each in sentences):
        return ". One sentence alone is passed as a list: [sentence]."
    if not all(isinstance(each, str) for each in sentences):
        return ""
    if any(len(each.split()) > 1 for each in sentences):
        return ". Split text into words: [text.split() for text in sentences]."
    return ". One sentence alone is passed as a list: [sentence]."


def _where(lengths: np.ndarray, row: int) -> str:
    sentence, place = locate_row(row, lengths)
    return f"sentence {sentence}, token {place}"


def _kind(token: Any) -> tuple[str, int]:
    """Kind and number of columns of the first token."""
    if isinstance(token, str):
        return "str", 1
    if isinstance(token, dict):
        return "dict", 0
    if isinstance(token, (tuple, list)) and token:
        return "columns", len(token)
    raise ValueError(
        f"sentence 0, token 0: expected str, a tuple of columns or dict, found {_found(token)}"
    )


_TYPES: dict[str, Any] = {"str": str, "columns": (tuple, list), "dict": dict}


def _check_kind(tokens: list, lengths: np.ndarray, kind: str, n_columns: int) -> None:
    """Raise unless all tokens are of the kind, with that many columns."""
    types = _TYPES[kind]
    if all(issubclass(found, types) for found in set(map(type, tokens))) and (
        kind != "columns" or set(map(len, tokens)) <= {n_columns}
    ):
        return
    expected = f"a tuple of {n_columns} columns" if kind == "columns" else kind
    for row, token in enumerate(tokens):
        if not isinstance(token, types) or (kind == "columns" and len(token) != n_columns):
            raise ValueError(f"{_where(lengths, row)}: expected {expected}, found {_found(token)}")


def _found(token: Any) -> str:
    name = type(token).__name__
    return f"a {name} of {len(token)} columns" if isinstance(token, (tuple, list)) else name


def _columns(tokens: list, lengths: np.ndarray, kind: str, n_columns: int) -> list[list[str]]:
    if kind == "str":
        return [tokens]
    columns = [list(map(operator.itemgetter(c), tokens)) for c in range(n_columns)]
    for c, column in enumerate(columns):
        if not all(issubclass(found, str) for found in set(map(type, column))):
            row = next(r for r, value in enumerate(column) if not isinstance(value, str))
            raise ValueError(
                f"{_where(lengths, row)}: column {c} must be str, "
                f"found {type(column[row]).__name__}"
            )
    return columns


def _column_names(names: Sequence[str] | None, n_columns: int) -> list[str]:
    if names is None:
        return ["word", *(f"col{number}" for number in range(2, n_columns + 1))]
    if isinstance(names, str) or len(names) != n_columns or len(set(names)) != n_columns:
        raise ValueError(f"columns must be {n_columns} different names, found {names!r}")
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
            raise ValueError(f"a column's name is letters, digits and _, found {name!r}")
    return list(names)


def _indicators(number: np.ndarray, n_features: int) -> csr_array:
    """Matrix with ones at the feature numbers (tokens, templates), -1 meaning none."""
    found = number >= 0
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(found, axis=1))])
    # scipy keeps both index arrays at the wider type
    indptr = indptr.astype(get_index_dtype(maxval=int(indptr[-1])), copy=False)
    indices = number.ravel() if indptr[-1] == number.size else number[found]
    ones = np.ones(len(indices), dtype=np.int8)
    matrix = csr_array((ones, indices, indptr), shape=(len(number), n_features))
    # true by construction (see TemplateIndex); saves scipy a check at each use
    matrix.has_canonical_format = True
    return matrix


def _with_floats(rows: Rows) -> Rows:
    matrix = rows.matrix
    if matrix.dtype == np.int8:
        values = matrix.data.astype(np.float64)
        matrix = csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
        matrix.has_canonical_format = True
    return Rows(matrix, rows.lengths)
