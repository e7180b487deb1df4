"""Word vectors of two languages in one space: how alike are a source word and a target word?"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.formats.text_lines import Readable, fields_of, is_number, name_of, text_lines
from maxmargin.tasks.alignment.word_forms import plain_word
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import CountOrZero, check_option

__all__ = ["BilingualVectors", "WordVectors", "orthogonal_map"]

MIN_SEEDS = 5


class WordVectors(Checked):
    """Immutable word vectors, one row of `matrix` for each word.

    A word is looked up as it is, then in lower case, then with case and accents ignored on both
    sides (the first such word of the vocabulary, in most files the most frequent).

    Parameters
    ----------
    words : sequence of str
        The vocabulary; of a repeated word the first row is used.
    matrix : ndarray of shape (n_words, dim)
        Finite vectors, float32 or float64.
    """

    def __init__(self, words: Sequence[str], matrix: np.ndarray):
        self.words = list(words)
        given = np.asarray(matrix)
        kept = given.dtype if given.dtype in (np.float32, np.float64) else np.float64
        self.matrix = given.astype(kept, copy=False).view()
        self.matrix.flags.writeable = False
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, expected a row for each of the "
                f"{len(self.words)} words"
            )
        wrong = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(wrong):
            raise ValueError(
                f"row {wrong[0]}, of {self.words[wrong[0]]!r}, has a number that is not finite"
            )

    @classmethod
    def read(
        cls, path: Readable, *, limit: int | None = None, encoding: str = "utf-8"
    ) -> WordVectors:
        """Read the text format of word2vec, fastText and GloVe: a word and its numbers per line.

        Parameters
        ----------
        path : str, path or binary file
            File, plain or gzip, with or without a first line ``count dim``.
        limit : int or None, default=None
            Number of lines to read; in most files the most frequent words come first. None means
            all.
        encoding : str, default="utf-8"
            Encoding of the text.

        Returns
        -------
        WordVectors
            The vectors.
        """
        return cls(*_read(path, limit, encoding))

    @property
    def dim(self) -> int:
        """Dimension of a vector."""
        return self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.index(word) >= 0

    def __repr__(self) -> str:
        return f"<WordVectors: {len(self)} words, {self.dim} numbers each>"

    def validate(self) -> None:
        check_option("WordVectors: words", self.words, list[str])

    def __deepcopy__(self, memo: dict) -> WordVectors:
        return self  # never changed, so a clone of a learner need not copy gigabytes

    def index(self, word: str) -> int:
        """Find the row of a word.

        Parameters
        ----------
        word : str
            The word.

        Returns
        -------
        int
            Index of its row, -1 if it has none.
        """
        for form in (word, word.lower()):
            if form in self._rows:
                return self._rows[form]
        return self._folded_rows.get(plain_word(word), -1)

    def vectors(self, tokens: Iterable[str]) -> np.ndarray:
        """Look up the vectors of several words.

        Parameters
        ----------
        tokens : iterable of str
            The words.

        Returns
        -------
        ndarray of shape (n_tokens, dim)
            Vectors as float64, zeros for words without one.
        """
        rows = np.array([self.index(token) for token in tokens], dtype=np.int64)
        found = np.zeros((len(rows), self.dim))
        found[rows >= 0] = self.matrix[rows[rows >= 0]]
        return found

    @cached_property
    def _rows(self) -> dict[str, int]:
        # backwards, so that the first of several stays
        return {word: len(self) - 1 - k for k, word in enumerate(reversed(self.words))}

    @cached_property
    def _folded_rows(self) -> dict[str, int]:
        return {plain_word(word): len(self) - 1 - k for k, word in enumerate(reversed(self.words))}


class BilingualVectors(Checked):
    """Word vectors of two languages in one space, as `orthogonal_map` makes them.

    Parameters
    ----------
    source, target : WordVectors
        Vectors of the two languages, of equal dimension.
    n_seeds : int or None, default=None
        Number of word pairs that determined the map; None if the vectors were in one space already.
    """

    def __init__(self, source: WordVectors, target: WordVectors, n_seeds: int | None = None):
        _check_dims(source, target)
        self.source = source
        self.target = target
        self.n_seeds = n_seeds

    def __repr__(self) -> str:
        return f"<BilingualVectors: {len(self.source)} and {len(self.target)} words>"

    def validate(self) -> None:
        for name in ("source", "target"):
            check_option(f"BilingualVectors: {name}", getattr(self, name), WordVectors)
        check_option("BilingualVectors: n_seeds", self.n_seeds, CountOrZero | None)

    def cosines(self, source_tokens: Iterable[str], target_tokens: Iterable[str]) -> np.ndarray:
        """Compute the cosine similarities of all pairs of source and target words.

        Parameters
        ----------
        source_tokens, target_tokens : iterable of str
            Words of the two sentences.

        Returns
        -------
        ndarray of shape (J, K)
            Cosine of source word j and target word k, 0 for words without vectors.
        """
        left = _unit(self.source.vectors(source_tokens))
        right = _unit(self.target.vectors(target_tokens))
        return np.clip(left @ right.T, -1.0, 1.0)


def orthogonal_map(
    source: WordVectors, target: WordVectors, dictionary: Iterable[tuple[str, str]] | None = None
) -> BilingualVectors:
    """Map the source vectors to the space of the target vectors by an orthogonal matrix.

    Minimises ``|X W - Z|^2`` over orthogonal W, where X and Z are the vectors of seed pairs: W = U
    V' with U S V' = X'Z [1]_. Vectors are first scaled to length 1, so that the objective is the
    sum of cosines [2]_, centred, so that random words have an expected cosine of 0 [3]_, and scaled
    to length 1 again. With fewer seeds than dimensions W is not unique, and arbitrary where the
    seeds do not determine it.

    Parameters
    ----------
    source, target : WordVectors
        Vectors of the two languages, of equal dimension.
    dictionary : iterable of (source word, target word) or None, default=None
        Seed pairs; those with a word without a vector are ignored. None means all words, numbers
        and names among them, that are spelled alike in both vocabularies.

    Returns
    -------
    BilingualVectors
        The mapped source vectors and the target vectors.

    References
    ----------
    .. [1] Schonemann, 1966.
    .. [2] Xing and others, Normalized word embedding and orthogonal transform for bilingual word
           translation, NAACL 2015.
    .. [3] Artetxe, Labaka, Agirre, Learning principled bilingual mappings of word embeddings, EMNLP
           2016.
    """
    _check_dims(source, target)
    seeds, told = _seeds(source, target, dictionary)
    if len(seeds) < MIN_SEEDS:
        raise ValueError(
            f"found {len(seeds)} seed pairs{told}, expected at least {MIN_SEEDS} and better some "
            "hundreds; give dictionary=, pairs (source word, target word) of words that both files "
            "have, or vectors of more words"
        )
    left, right = _normalised(source.matrix), _normalised(target.matrix)
    rows = np.array(seeds)
    cross = left[rows[:, 0]].T.astype(np.float64) @ right[rows[:, 1]]
    U, _, Vt = np.linalg.svd(cross)
    rotated = left @ (U @ Vt).astype(left.dtype)
    return BilingualVectors(
        WordVectors(source.words, rotated), WordVectors(target.words, right), len(seeds)
    )


def _seeds(
    source: WordVectors, target: WordVectors, dictionary: Iterable[tuple[str, str]] | None
) -> tuple[list[tuple[int, int]], str]:
    """Return pairs of rows, and where they were sought."""
    if dictionary is None:
        common = source._rows.keys() & target._rows.keys()
        rows = sorted((source._rows[word], target._rows[word]) for word in common)
        return rows, " (words spelled alike in both)"
    pairs = list(dictionary)
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(w, str) for w in pair):
            raise ValueError(f"dictionary, item {place}: found {pair!r}, expected a pair of words")
    rows = [(source.index(s), target.index(t)) for s, t in pairs]
    return [pair for pair in rows if min(pair) >= 0], f" with vectors among {len(pairs)} given"


def _check_dims(source: WordVectors, target: WordVectors) -> None:
    if source.dim != target.dim:
        raise ValueError(
            f"source vectors have {source.dim} numbers, target vectors {target.dim}; "
            "use files of one dimension"
        )


def _normalised(matrix: np.ndarray) -> np.ndarray:
    unit = _unit(matrix)
    return _unit(unit - unit.mean(axis=0, dtype=np.float64).astype(unit.dtype))


def _unit(matrix: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(norms > 0, norms, 1)


def _read(path: Readable, limit: int | None, encoding: str) -> tuple[list[str], np.ndarray]:
    rows: dict[str, array] = {}
    dim, promised, n_read = 0, None, 0
    for number, line in text_lines(path, encoding):
        where = f"{name_of(path)}, line {number}"
        fields = fields_of(line)
        if number == 1 and _is_header(fields):
            promised, dim = int(fields[0]), int(fields[1])
            continue
        if limit is not None and n_read >= limit:
            break
        dim = dim or len(fields) - 1
        word, values = _row(fields, dim, where)
        rows.setdefault(word, values)
        n_read += 1
    else:
        if promised is not None and n_read < promised and (limit is None or n_read < limit):
            raise ValueError(
                f"{name_of(path)}: its first line promises {promised} words, found {n_read}; "
                "the file is cut short, fetch it again"
            )
    if not rows and limit != 0:
        raise ValueError(
            f"{name_of(path)}: the file is empty, expected a word and numbers per line"
        )
    matrix = np.frombuffer(b"".join(row.tobytes() for row in rows.values()), dtype=np.float32)
    return list(rows), matrix.reshape(len(rows), dim)


def _is_header(fields: list[str]) -> bool:
    return len(fields) == 2 and all(field.isdigit() for field in fields) and int(fields[1]) > 0


def _row(fields: list[str], dim: int, where: str) -> tuple[str, Any]:
    extra = len(fields) - dim - 1
    # GloVe has some words with spaces in them; a number too many is an error, though.
    if dim < 1 or extra < 0 or any(map(is_number, fields[1 : extra + 1])):
        raise ValueError(
            f"{where}: found {len(fields)} fields, expected a word and {max(dim, 1)} numbers"
        )
    word = " ".join(fields[: extra + 1])
    try:
        values = array("f", map(float, fields[extra + 1 :]))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{where}, word {word[:40]!r}: {error}, expected {dim} numbers") from error
    if not np.isfinite(values).all():
        raise ValueError(f"{where}, word {word[:40]!r}: found a number that is not finite")
    return word, values
