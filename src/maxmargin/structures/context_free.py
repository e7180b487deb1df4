"""Trees of a context-free grammar in Chomsky normal form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from operator import index as index_of
from typing import Any

import numpy as np

from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.constituents import list_spans, span_numbers
from maxmargin.structures.derivations.derivations import DerivationOracle, Derivations
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout

Rule = tuple[Hashable, ...]


class ContextFree(Structure):
    """Trees that a grammar derives. layout = (word, word, ...), the words of a sentence.

    Parts: one per rule, that counts how often it is used, in the order of `grammar`; then one for
    each span of words i, ..., j - 1 and each symbol, (n_spans, n_symbols), spans sorted by i, then
    by j, symbols in the order of `symbols`. An output y is a list of the tree's 2 n - 1 spans
    (i, j, symbol), in any order. A score of -inf forbids a part.

    Parameters
    ----------
    grammar : list of tuple
        Rules (symbol, left, right) and (symbol, word). Words and symbols are texts, or anything
        else that has a hash.
    start : hashable or None, default=None
        Symbol of whole sentences; None means that of the first rule.

    Notes
    -----
    Only rules that derive a part of the sentence make steps, so that sparse grammars cost what they
    use; the steps of a sentence are made once and kept for the last ones asked for.
    """

    def __init__(self, grammar: Sequence[Rule], start: Any = None):
        self.grammar = grammar
        self.start = start

    @property
    def symbols(self) -> list[Hashable]:
        """Symbols of the rules, in the order in which they first come."""
        return list(_index(self._rules()).numbers)

    def _rules(self) -> tuple[Rule, ...]:
        for rule in self.grammar:
            good = isinstance(rule, tuple | list) and len(rule) in (2, 3) and _has_hash(tuple(rule))
            if not good:
                raise ValueError(
                    "grammar has rules (symbol, left, right) or (symbol, word), of texts or others"
                    f" that have a hash; found {rule!r}."
                )
        if not len(self.grammar):
            raise ValueError("grammar needs rules, and there are none.")
        return tuple(map(tuple, self.grammar))

    def _make_oracle(self) -> GrammarOracle:
        return GrammarOracle(self)

    def program(self, layout: Any) -> DerivationLayout:
        """Return the dynamic program whose derivations are the trees.

        Parameters
        ----------
        layout : tuple of hashable
            Words of the sentence.

        Returns
        -------
        DerivationLayout
            Its items and steps, each tree by one derivation.
        """
        rules = self._rules()
        return _make_program(rules, self._start(rules), _words(layout))

    def _start(self, rules: tuple[Rule, ...]) -> Hashable:
        if self.start is None:
            return rules[0][0]
        if not _has_hash(self.start) or self.start not in _index(rules).numbers:
            raise ValueError(f"start={self.start!r} is not a symbol of the grammar.")
        return self.start

    def n_parts(self, layout: Any) -> int:
        n, index = len(_words(layout)), _index(self._rules())
        return index.n_rules + n * (n + 1) // 2 * len(index.numbers)

    def vertex_size(self, layout: Any) -> int:
        return min(2 * (2 * len(_words(layout)) - 1), self.n_parts(layout))

    def radius(self, layout: Any) -> float:
        n = len(_words(layout))  # rules may count, up to as often as there are words
        return float(np.sqrt(2 * (2 * n - 1) + 2 * n**2))

    def encode(self, y: Any, layout: Any) -> np.ndarray:
        words, rules = _words(layout), self._rules()
        n, index = len(words), _index(rules)
        try:
            symbol = {(index_of(i), index_of(j)): own for i, j, own in y}
        except (TypeError, ValueError):
            raise ValueError("y must be a list of spans (i, j, symbol).") from None
        if len(symbol) != len(y) or not all(map(_has_hash, symbol.values())):
            raise ValueError("y has a span twice, or a symbol that has no hash.")
        z, waiting, used = np.zeros(self.n_parts(layout)), [(0, n)], 0
        while waiting:
            i, j = waiting.pop()
            k = max(
                (k for k in range(i + 1, j) if (i, k) in symbol and (k, j) in symbol), default=j
            )
            names = [
                symbol.get(span) for span in ((i, j), (i, k), (k, j))[: 1 if j == i + 1 else 3]
            ]
            rule = (*names, words[i]) if j == i + 1 else tuple(names)
            if rule not in index.places:
                raise ValueError(
                    f"y: words {i} to {j - 1} need a rule {rule!r}, and there is none."
                )
            z[index.places[rule]] += 1.0
            span = int(span_numbers(np.array(i), np.array(j), n))
            z[index.n_rules + span * len(index.numbers) + index.numbers[names[0]]] = 1.0
            waiting += [] if j == i + 1 else [(i, k), (k, j)]
            used += 1
        if used != len(symbol) or symbol[0, n] != self._start(rules):
            raise ValueError("y has spans that are not in one tree of the start symbol.")
        return z

    def decode(self, z: np.ndarray, layout: Any) -> list[tuple[int, int, Hashable]]:
        index = _index(self._rules())
        names, (i, j) = list(index.numbers), list_spans(len(_words(layout)))
        on = np.flatnonzero(np.asarray(z)[index.n_rules :] > 0.5)
        span, symbol = np.divmod(on, len(names))
        places = zip(i[span].tolist(), j[span].tolist(), symbol.tolist(), strict=True)
        return [(a, b, names[k]) for a, b, k in places]

    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        return Derivations().vertices(self.program(layout))

    def constraints(self, layout: Any) -> Constraints:
        return Derivations().constraints(self.program(layout))


class GrammarOracle(DerivationOracle):
    """The recursion of derivations over those of a sentence."""

    structure: ContextFree

    def layout_as_ints(self, layout: Any) -> Any:
        return super().layout_as_ints(self.structure.program(layout))

    def scratch(self, layout: Any) -> tuple[int, int]:
        return super().scratch(self.structure.program(layout))

    def k_best(self, theta: np.ndarray, layout: Any, k: int) -> list[tuple[np.ndarray, float]]:
        return Derivations().k_best(theta, self.structure.program(layout), k)


class _Index:
    """Numbers of rules and symbols, and rules by what they are made of."""

    def __init__(self, rules: tuple[Rule, ...]):
        self.n_rules = len(rules)
        self.places = {rule: r for r, rule in enumerate(rules)}
        if len(self.places) < len(rules):
            raise ValueError("grammar has a rule twice.")
        heads = (name for rule in rules for name in (rule if len(rule) == 3 else rule[:1]))
        self.numbers = {name: k for k, name in enumerate(dict.fromkeys(heads))}
        self.of_word: defaultdict[Hashable, list[int]] = defaultdict(list)
        self.of_left: defaultdict[Hashable, list[int]] = defaultdict(list)
        for r, rule in enumerate(rules):
            (self.of_word if len(rule) == 2 else self.of_left)[rule[1]].append(r)


@lru_cache(maxsize=16)
def _index(rules: tuple[Rule, ...]) -> _Index:
    return _Index(rules)


@lru_cache(maxsize=256)
def _make_program(
    rules: tuple[Rule, ...], start: Hashable, words: tuple[Hashable, ...]
) -> DerivationLayout:
    index, program, n = _index(rules), Deduction(), len(words)
    count, spans = len(index.numbers), n * (n + 1) // 2
    known: dict[tuple[int, int], list[Hashable]] = {}  # symbols of a span

    def conclude(i: int, j: int, steps: list[tuple[int, list[Any]]]) -> None:
        """Add the rules that derive a span, then its symbols, each with its part."""
        for r, antecedents in steps:
            program.add(("rule", i, j, rules[r][0]), antecedents, [r])
        known[i, j] = list(dict.fromkeys(rules[r][0] for r, _ in steps))
        span = index.n_rules + int(span_numbers(np.array(i), np.array(j), n)) * count
        for name in known[i, j]:
            program.add((i, j, name), [("rule", i, j, name)], [span + index.numbers[name]])

    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            steps: list[tuple[int, list[Any]]] = []
            if j == i + 1:
                steps = [(r, []) for r in index.of_word[words[i]]]
                if not steps:
                    raise ValueError(f"no rule of the grammar has the word {words[i]!r}.")
            for k in range(i + 1, j):
                right = set(known[k, j])
                for left in known[i, k]:
                    steps += [
                        (r, [(i, k, left), (k, j, rules[r][2])])
                        for r in index.of_left[left]
                        if rules[r][2] in right
                    ]
            conclude(i, j, steps)
    if start not in known[0, n]:
        raise ValueError(
            f"the grammar derives no tree of {start!r} over {' '.join(map(str, words))!r:.200}."
        )
    return program.layout((0, n, start), index.n_rules + spans * count)


def _words(layout: Any) -> tuple[Hashable, ...]:
    if isinstance(layout, str) or not isinstance(layout, tuple | list) or not len(layout):
        raise ValueError(f"layout={layout!r} must be a tuple of words, one at least.")
    if not _has_hash(tuple(layout)):
        raise ValueError(f"layout={layout!r:.80}: words must have a hash, as texts do.")
    return tuple(layout)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
