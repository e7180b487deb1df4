"""A grammar with probabilities, read off a treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.structures.context_free import ContextFree
from maxmargin.validation.brackets import Node, binarise, clean_tree, parse_tree

#: the symbol of whole sentences
TOP = "TOP"
#: ends of words that make a class of rare ones
_ENDINGS = ("ing", "ed", "ly", "s")


@dataclass(frozen=True)
class TreebankGrammar:
    """Rules of the binary trees of a treebank.

    Parameters
    ----------
    structure : ContextFree
        Trees of the grammar. Symbols are labels, joined by "+" where one is alone below the other,
        with "@" before those that binary trees need, and with "|" and the part of speech for single
        words; whole sentences are TOP.
    log_probabilities : ndarray of shape (n_rules,)
        Of each rule, given its first symbol.
    words : frozenset of str
        Words and classes of rare words that have rules.
    """

    structure: ContextFree
    log_probabilities: np.ndarray
    words: frozenset[str]

    def layout(self, forms: Sequence[str]) -> tuple[str, ...]:
        """Return the words of a sentence as the grammar knows them.

        Parameters
        ----------
        forms : sequence of str
            Words of a sentence.

        Returns
        -------
        tuple of str
            Each word, or the class of those that are rare or new.
        """
        return tuple(_known(form, self.words) for form in forms)

    def scores(self, layout: tuple[str, ...]) -> np.ndarray:
        """Return the scores of parts, by which trees score their log-probabilities.

        Parameters
        ----------
        layout : tuple of str
            Words, as `layout` gives them.

        Returns
        -------
        ndarray of shape (n_parts,)
            Log-probabilities of rules, 0 for spans.
        """
        theta = np.zeros(self.structure.n_parts(layout))
        theta[: len(self.log_probabilities)] = self.log_probabilities
        return theta


def read_grammar(trees: Sequence[str | Node], min_count: int = 2) -> TreebankGrammar:
    """Read a grammar off bracketed trees, with classes of rare words.

    Parameters
    ----------
    trees : sequence of str
        Bracketed trees; traces and functions of labels are removed.
    min_count : int, default=2
        Words that come less often are known by their class: numbers, words with a capital, by their
        ending, and others.

    Returns
    -------
    TreebankGrammar
        Rules and their relative frequencies.
    """
    if isinstance(trees, str | Node) or not isinstance(trees, Iterable):
        raise TypeError(f"trees is a {type(trees).__name__}, expected a list of bracketed trees.")
    read = []
    for i, own in enumerate(trees):
        if not isinstance(own, str | Node):
            raise TypeError(f"tree {i} is a {type(own).__name__}, expected a bracketed text.")
        try:
            read.append(clean_tree(parse_tree(own) if isinstance(own, str) else own))
        except ValueError as error:
            raise SampleError.of(i, f": {error}", noun="tree") from error
    nodes = [own for own in read if own is not None]
    if not nodes:
        raise ValueError("there are no trees to read a grammar off.")
    forms = Counter(form for own in nodes for form, _ in own.words())
    often = frozenset(form for form, count in forms.items() if count >= min_count)
    rules: Counter[tuple[str, ...]] = Counter()
    for node in nodes:
        rules.update(_list_rules(node, often))
    total: Counter[str] = Counter()
    for (head, *_), count in rules.items():
        total[head] += count
    order = sorted(rules, key=lambda rule: (rule[0] != TOP, rule))  # the first is of the start
    scores = np.log([rules[rule] / total[rule[0]] for rule in order])
    words = frozenset(rule[1] for rule in order if len(rule) == 2)
    return TreebankGrammar(ContextFree(order, start=TOP), scores, words)


def _list_rules(tree: Node, often: frozenset[str]) -> list[tuple[str, ...]]:
    words = tree.words()
    label = {
        (i, j): f"{name}|{words[i][1]}" if j == i + 1 else name for i, j, name in binarise(tree)
    }
    label[0, len(words)] = TOP
    found: list[tuple[str, ...]] = []
    for (i, j), name in label.items():
        if j == i + 1:
            form = words[i][0]
            found.append((name, form if form in often else classify_word(form)))
        else:
            k = next(k for k in range(i + 1, j) if (i, k) in label and (k, j) in label)
            found.append((name, label[i, k], label[k, j]))
    return found


def classify_word(form: str) -> str:
    """The class of a rare word, by its shape and its ending."""
    if any(own.isdigit() for own in form):
        return "<number>"
    kind = "capital" if form[:1].isupper() else "word"
    return f"<{kind} {next((own for own in _ENDINGS if form.lower().endswith(own)), '')}>"


def _known(form: str, words: frozenset[str]) -> str:
    if form in words:
        return form
    classes = [classify_word(form), "<word >", *sorted(own for own in words if own[0] == "<")]
    found = next((own for own in classes if own in words), None)
    if found is None:
        raise ValueError(f"the word {form!r} is new, and the treebank had no rare words.")
    return found
