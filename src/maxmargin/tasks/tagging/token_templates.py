"""Indicator features of tokens made from templates, on integer ids for a whole corpus at once.

A *template* looks at fixed places around a token and gives one indicator feature for each value
found there::

    template = term { "|" term }              conjunction: one feature per combination of values
    term     = column "[" offset "]"          the column of the token `offset` places to the right
             | function "(" term ")"          a function of it; functions may be nested
             | function                       short for function(0[0])
    column   = number from 0, or the name of a column
    offset   = -99 ... 99
    function = lower | shape | prefixN | suffixN        (N = 1, 2, ...)

Examples: ``0[-1]``, ``0[0]|1[0]``, ``suffix3(0[0])``, ``suffix2(lower(0[-1]))``, ``shape``.
``prefixN`` and ``suffixN`` are ``value[:N]`` and ``value[-N:]``: a short value stands for itself.
``shape`` writes X for an upper-case letter, x for another letter, d for a digit, - for a hyphen and
. for all else, and a run of equal signs once: ``Coca-Cola`` is ``Xx-Xx``, ``1,234`` is ``d.d``.

Places outside the sentence have values of their own, BOS-1, BOS-2, ... to the left of it and
EOS+1, EOS+2, ... to the right, which no token can take and functions leave alone.
"""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from maxmargin.progress import tell_progress
from maxmargin.validation.learned import Checked, check_array
from maxmargin.validation.options import Bounds, Count, CountOrZero, check_option

MAX_OFFSET = 99
MAX_NESTED = 20
# Combined keys stay below this; beyond it the part made so far gets new, dense numbers.
MAX_KEY = 2**62

_TERM = re.compile(r"(\w+)\[([+-]?\d+)\]")
_CALL = re.compile(r"(\w+)\((.*)\)")
_AFFIX = re.compile(r"(prefix|suffix)([1-9]\d*)")
_RUN = re.compile(r"(.)\1+")


class Atom(NamedTuple):
    """One term: a column at an offset, seen through functions (outermost first)."""

    column: int
    offset: int
    functions: tuple[str, ...]

    def validate(self) -> None:
        """As `parse_templates` makes them."""
        check_option("Atom: column", self.column, CountOrZero)
        check_option("Atom: offset", self.offset, Annotated[int, Bounds(-MAX_OFFSET, MAX_OFFSET)])
        check_option("Atom: functions", self.functions, tuple[str, ...])
        for name in self.functions:
            value_function(name)
        hash(self)


class Template(NamedTuple):
    """A conjunction of atoms and the name its features carry before the ``=``."""

    label: str
    atoms: tuple[Atom, ...]

    def validate(self) -> None:
        """As `parse_templates` makes them."""
        check_option("Template: label", self.label, str)
        check_option("Template: atoms", self.atoms, tuple[Atom, ...])
        if not self.atoms:
            raise ValueError("Template: it has no atoms")


def intern_values(values: Iterable) -> tuple[np.ndarray, list]:
    """Number the distinct values in order of appearance; return the numbers and the values."""
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    ids = np.fromiter(map(numbers.__getitem__, values), dtype=np.int64)
    return ids, list(numbers)


def default_templates(n_columns: int) -> list[str]:
    """Templates used when none are given, the same for every column after the first.

    Of the first column: lower-cased words at -2..2, the word, its affixes of length 1 to 4, its
    shape and the two word bigrams. Of each further column: its values at -2..2, pairs and triples
    of neighbours among these, and its value with the word. Values with neighbouring words gained
    0.1 or less on held-out tenths of chunking and tagging, for 20 to 45 % more features.
    """
    affixes = [f"{side}{size}(0[0])" for side in ("prefix", "suffix") for size in range(1, 5)]
    windows = [f"lower(0[{offset}])" for offset in range(-2, 3)]
    templates = [*windows, "0[0]", *affixes, "shape(0[0])", "0[-1]|0[0]", "0[0]|0[1]"]
    for c in range(1, n_columns):
        templates += [f"{c}[{at}]" for at in range(-2, 3)]
        templates += [f"{c}[{at}]|{c}[{at + 1}]" for at in range(-2, 2)]
        templates += [f"{c}[{at}]|{c}[{at + 1}]|{c}[{at + 2}]" for at in range(-2, 1)]
        templates.append(f"0[0]|{c}[0]")
    return templates


def parse_templates(texts: Sequence[str], columns: Sequence[str]) -> list[Template]:
    """Read templates over the named columns; a ValueError says which is wrong and why."""
    if isinstance(texts, str) or not texts:
        raise ValueError(f"templates must be a non-empty list of str, found {texts!r}")
    seen: dict[tuple[Atom, ...], str] = {}
    templates = []
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"a template must be str, found {type(text).__name__}: {text!r}")
        try:
            atoms = tuple(_parse_term(t, columns) for t in text.split("|"))
        except ValueError as error:
            raise ValueError(f"template {text!r}: {error}") from None
        if atoms in seen:
            raise ValueError(f"template {text!r} repeats {seen[atoms]!r}")
        seen[atoms] = text
        templates.append(Template("|".join(_label(a, columns) for a in atoms), atoms))
    return templates


def _parse_term(text: str, columns: Sequence[str]) -> Atom:
    text = text.strip()
    if text.count("(") > MAX_NESTED:
        raise ValueError(f"more than {MAX_NESTED} functions are nested")
    if call := _CALL.fullmatch(text):
        value_function(call[1])
        atom = _parse_term(call[2], columns)
        return atom._replace(functions=(call[1], *atom.functions))
    if term := _TERM.fullmatch(text):
        offset = int(term[2])
        if abs(offset) > MAX_OFFSET:
            raise ValueError(f"offset {offset} is not between -{MAX_OFFSET} and {MAX_OFFSET}")
        return Atom(_column_number(term[1], columns), offset, ())
    if re.fullmatch(r"[^\W\d]\w*", text):
        value_function(text)
        return Atom(0, 0, (text,))
    raise ValueError(f"cannot read {text!r}; a term is like 0[-1] or suffix3(0[0])")


def _column_number(text: str, columns: Sequence[str]) -> int:
    if text in columns:
        return columns.index(text)
    if not text.isdecimal():
        raise ValueError(f"no column is called {text!r}; there are {', '.join(columns)}")
    if int(text) >= len(columns):
        raise ValueError(
            f"there is no column {text}; columns are numbered from 0 and tokens have {len(columns)}"
        )
    return int(text)


def _label(atom: Atom, columns: Sequence[str]) -> str:
    if atom.functions and atom.column == 0 and atom.offset == 0:
        return "(".join(atom.functions) + ")" * (len(atom.functions) - 1)
    inner = f"{columns[atom.column]}[{atom.offset}]"
    return "".join(f"{name}(" for name in atom.functions) + inner + ")" * len(atom.functions)


def value_function(name: str) -> Callable[[str], str]:
    """The function on strings that a template calls by this name."""
    if name == "lower":
        return str.lower
    if name == "shape":
        return word_shape
    if affix := _AFFIX.fullmatch(name):
        size = int(affix[2])
        cut = slice(None, size) if affix[1] == "prefix" else slice(-size, None)
        return lambda value: value[cut]
    raise ValueError(
        f"there is no function {name!r}; there are lower, shape, prefixN and suffixN with N >= 1"
    )


def word_shape(value: str) -> str:
    """The kinds of characters in a string, runs written once: ``B-52s`` is ``X-dx``."""
    return _RUN.sub(r"\1", "".join(map(_sign, value)))


def _sign(char: str) -> str:
    if char.isalpha():
        return "X" if char.isupper() else "x"
    if char.isdigit():
        return "d"
    return "-" if char == "-" else "."


@dataclass
class _Index:
    """The features of one template: sorted combined keys, and how keys are combined.

    ``radices[j]`` is the number of values of atom j; ``steps[j]``, where present, holds the keys
    of atoms 0..j-1, which were numbered anew before atom j so that keys stay below MAX_KEY.
    """

    radices: list[int]
    steps: dict[int, np.ndarray]
    keys: np.ndarray
    size: int

    def validate(self) -> None:
        """Keys in order and below the number of combinations; `TemplateIndex` checks the rest."""
        check_option("TemplateKeys: radices", self.radices, list[Count])
        check_option("TemplateKeys: steps", self.steps, dict)
        size = 1
        for k, radix in enumerate(self.radices):
            if k in self.steps:
                _check_keys(self.steps[k], size)
                size = len(self.steps[k]) + 1
            size *= radix
        known = self.steps.keys() <= set(range(1, len(self.radices)))
        if not known or self.size != size or size > MAX_KEY or not self.radices:
            raise ValueError("TemplateKeys: its radices do not go with its size")
        _check_keys(self.keys, size)


class _Window:
    """Values of the columns at any offset from any token, as ids into per-column tables.

    Ids 0..reach-1 are BOS-1.., reach..2*reach-1 are EOS+1.., the distinct values come after.
    """

    def __init__(self, columns: Sequence[Sequence[str]], lengths: np.ndarray, reach: int):
        n_sentences, self.n_tokens = len(lengths), int(lengths.sum())
        sentence = np.repeat(np.arange(n_sentences), lengths)
        self._place = np.arange(self.n_tokens) + reach * (2 * sentence + 1)
        ends = np.cumsum(lengths) + reach * (2 * np.arange(n_sentences) + 1)
        edge = np.arange(reach)
        self._padded, self.values = [], []
        for column in columns:
            ids, values = intern_values(column)
            padded = np.empty(self.n_tokens + 2 * reach * n_sentences, dtype=np.int64)
            padded[self._place] = ids + 2 * reach
            padded[(ends - lengths)[:, None] - 1 - edge] = edge
            padded[ends[:, None] + edge] = reach + edge
            self._padded.append(padded)
            self.values.append(values)

    def look(self, column: int, offset: int) -> np.ndarray:
        return self._padded[column][self._place + offset]


class TemplateIndex(Checked):
    """Column numbers of the features that templates make, learned from a corpus.

    Features are numbered template by template, so a row of numbers is sorted by construction.
    """

    reach: int
    vocabularies: dict[tuple[int, tuple[str, ...]], dict[str, int]]
    indexes: list[_Index]
    n_features: CountOrZero

    def __init__(self, templates: Sequence[Template], min_count: int = 1):
        self.templates = list(templates)
        self.min_count = min_count
        self.reach = max(abs(a.offset) for t in self.templates for a in t.atoms)

    def fit(self, columns: Sequence[Sequence[str]], lengths: np.ndarray) -> np.ndarray:
        """Learn the features; return their numbers (tokens, templates), -1 where too rare."""
        window = _Window(columns, lengths, self.reach)
        self.vocabularies = {}
        for atom in (a for t in self.templates for a in t.atoms):
            if (atom.column, atom.functions) not in self.vocabularies:
                values = dict.fromkeys(_apply(atom.functions, window.values[atom.column]))
                numbers = dict(zip(values, range(len(values)), strict=True))
                self.vocabularies[atom.column, atom.functions] = numbers
        self.indexes = []
        out = np.empty((window.n_tokens, len(self.templates)), dtype=np.int32)
        ids, first = self._ids(window), 0
        for j, template in enumerate(self.templates):
            index, number = self._learn([ids(atom) for atom in template.atoms], template)
            out[:, j] = np.where(number < 0, -1, number + first)
            self.indexes.append(index)
            first += len(index.keys)
            tell_progress("making", "features", j + 1, len(self.templates), " templates")
        self.n_features = first
        return out

    # -- a corpus in parts -------------------------------------------------------------------------
    def learn_values(self, columns: Sequence[Iterable[str]]) -> None:
        """Learn the distinct values of each column, in order of appearance in the corpus."""
        values = [list(dict.fromkeys(own)) for own in columns]
        self.vocabularies = {}
        for atom in (a for t in self.templates for a in t.atoms):
            if (atom.column, atom.functions) not in self.vocabularies:
                found = dict.fromkeys(_apply(atom.functions, values[atom.column]))
                numbers = dict(zip(found, range(len(found)), strict=True))
                self.vocabularies[atom.column, atom.functions] = numbers
        for template in self.templates:
            if math.prod(self._radix(atom) for atom in template.atoms) > MAX_KEY:
                raise ValueError(
                    f"template {template.label!r} has too many combinations of values for a corpus"
                    " in parts; leave one of its terms out."
                )

    def count_keys(
        self, columns: Sequence[Sequence[str]], lengths: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Combined keys found in a part of the corpus, and how often, template by template."""
        ids = self._ids(_Window(columns, lengths, self.reach))
        found = []
        for template in self.templates:
            key = ids(template.atoms[0])
            for atom in template.atoms[1:]:
                key = key * self._radix(atom) + ids(atom)
            found.append(np.unique(key, return_counts=True))
        return found

    def learn_keys(self, parts: Iterable[list[tuple[np.ndarray, np.ndarray]]]) -> None:
        """Learn the features from what `count_keys` found in all parts; the same as `fit` does."""
        total: list[Any] = [None] * len(self.templates)
        for part in parts:
            for j, own in enumerate(part):
                total[j] = own if total[j] is None else _add_counts(total[j], own)
        self.indexes = []
        for template, (keys, counts) in zip(self.templates, total, strict=True):
            radices = [self._radix(atom) for atom in template.atoms]
            kept = keys[counts >= self.min_count]
            self.indexes.append(_Index(radices, {}, kept, math.prod(radices)))
        self.n_features = sum(len(index.keys) for index in self.indexes)

    def encode(self, columns: Sequence[Sequence[str]], lengths: np.ndarray) -> np.ndarray:
        """Feature numbers (tokens, templates), -1 where the feature was not learned."""
        window = _Window(columns, lengths, self.reach)
        out = np.empty((window.n_tokens, len(self.templates)), dtype=np.int32)
        ids, first = self._ids(window), 0
        for j, (template, index) in enumerate(zip(self.templates, self.indexes, strict=True)):
            key = ids(template.atoms[0])
            for k, atom in enumerate(template.atoms[1:], start=1):
                if k in index.steps:
                    known = index.steps[k]
                    key = _find(key, known)
                    key[key < 0] = len(known)
                key = key * index.radices[k] + ids(atom)
            number = _find(key, index.keys, index.size)
            out[:, j] = np.where(number < 0, -1, number + first)
            first += len(index.keys)
        return out

    def names(self) -> list[str]:
        """Names of all features, in order, such as ``word[-1]|word[0]=of|the``."""
        return [
            f"{template.label}={value}"
            for template, index in zip(self.templates, self.indexes, strict=True)
            for value in self._values(template, index)
        ]

    def validate(self) -> None:
        """No feature has a number beyond the last, on which compiled code relies."""
        check_option("TemplateIndex: min_count", self.min_count, Count)
        check_option("TemplateIndex: templates", self.templates, list[Template])
        atoms = {atom for template in self.templates for atom in template.atoms}
        if self.reach != max(abs(atom.offset) for atom in atoms):
            raise ValueError("TemplateIndex: its reach is not that of its templates")
        if self.vocabularies.keys() != {(atom.column, atom.functions) for atom in atoms}:
            raise ValueError("TemplateIndex: its vocabularies are not those of its templates")
        for numbers in self.vocabularies.values():
            if list(numbers.values()) != list(range(len(numbers))):
                raise ValueError("TemplateIndex: a vocabulary is not numbered from 0 on")
        total = sum(len(index.keys) for index in self.indexes)
        if len(self.indexes) != len(self.templates) or total != self.n_features:
            raise ValueError("TemplateIndex: its keys do not go with its number of features")
        for template, index in zip(self.templates, self.indexes, strict=True):
            if index.radices != [self._radix(atom) for atom in template.atoms]:
                raise ValueError("TemplateIndex: its keys do not go with its vocabularies")

    def _radix(self, atom: Atom) -> int:
        # boundaries, the learned values, and one id for every other value
        return 2 * self.reach + len(self.vocabularies[atom.column, atom.functions]) + 1

    def _ids(self, window: _Window) -> Callable[[Atom], np.ndarray]:
        """A function from an atom to its ids at all tokens, in 0.._radix(atom)-1."""
        tables: dict[tuple, np.ndarray] = {}
        for (column, functions), numbers in self.vocabularies.items():
            unknown = len(numbers)
            local = [numbers.get(v, unknown) for v in _apply(functions, window.values[column])]
            learned = np.array(local, dtype=np.int64) + 2 * self.reach
            tables[column, functions] = np.concatenate([np.arange(2 * self.reach), learned])
        return lambda a: tables[a.column, a.functions][window.look(a.column, a.offset)]

    def _learn(self, ids: list[np.ndarray], template: Template) -> tuple[_Index, np.ndarray]:
        radices = [self._radix(atom) for atom in template.atoms]
        steps: dict[int, np.ndarray] = {}
        key, size = ids[0], radices[0]
        for k in range(1, len(ids)):
            if size * radices[k] > MAX_KEY:
                steps[k], key, _ = _number(key, size)
                size = len(steps[k]) + 1
            key = key * radices[k] + ids[k]
            size *= radices[k]
        keys, number, counts = _number(key, size)
        keep = counts >= self.min_count
        if not keep.all():
            number = np.where(keep, np.cumsum(keep) - 1, -1)[number]
        return _Index(radices, steps, keys[keep], size), number

    def _values(self, template: Template, index: _Index) -> Iterable[str]:
        """What stands after the ``=`` in the names of one template, by taking keys apart."""
        parts, key = [], index.keys
        for k in reversed(range(len(template.atoms))):
            digit = key
            if k:
                key, digit = np.divmod(key, index.radices[k])
            if k in index.steps:
                key = index.steps[k][key]
            atom = template.atoms[k]
            texts = [f"BOS-{i + 1}" for i in range(self.reach)]
            texts += [f"EOS+{i + 1}" for i in range(self.reach)]
            texts += self.vocabularies[atom.column, atom.functions]
            parts.append([texts[i] for i in digit.tolist()])
        return map("|".join, zip(*reversed(parts), strict=True))


def _add_counts(
    one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    keys, where = np.unique(np.concatenate([one[0], two[0]]), return_inverse=True)
    weights = np.concatenate([one[1], two[1]])
    return keys, np.bincount(where, weights, len(keys)).astype(np.int64)


def _check_keys(keys: Any, size: int) -> None:
    check_array("TemplateKeys: keys", keys, np.int64, (None,), 0, size - 1)
    if (keys[1:] <= keys[:-1]).any():
        raise ValueError("TemplateKeys: its keys are not in order")


def _apply(functions: tuple[str, ...], values: list[str]) -> list[str]:
    for name in reversed(functions):
        values = list(map(value_function(name), values))
    return values


def _number(key: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted distinct keys (all below size), the number of each key among them, and counts."""
    if size > 4 * len(key):
        return np.unique(key, return_inverse=True, return_counts=True)
    counts = np.bincount(key, minlength=size)
    keys = np.flatnonzero(counts)
    table = np.empty(size, dtype=np.int64)
    table[keys] = np.arange(len(keys))
    return keys, table[key], counts[keys]


def _find(query: np.ndarray, keys: np.ndarray, size: int | None = None) -> np.ndarray:
    """Places of the queries among sorted keys (below size, if given), -1 for the others."""
    if size is not None and size <= 4 * len(query):
        table = np.full(size, -1, dtype=np.int64)
        table[keys] = np.arange(len(keys))
        return table[query]
    if not len(keys):
        return np.full(len(query), -1, dtype=np.int64)
    place = np.searchsorted(keys, query)
    place[place == len(keys)] = 0
    place[keys[place] != query] = -1
    return place
