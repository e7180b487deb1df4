"""Measures of constituents, by the rules of evalb."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from maxmargin.drawing.text_tables import align_cells
from maxmargin.validation.brackets import Node, clean_tree, fold_tree, parse_tree

__all__ = ["BracketScores", "bracket_scores"]

#: parts of speech of words that do not count
_PUNCTUATION = frozenset((",", ":", "``", "''", "."))


class BracketScores(NamedTuple):
    """Agreement of constituents, from 0 to 1.

    Parameters
    ----------
    f1, precision, recall : float
        Of labelled constituents.
    exact : float
        Share of sentences in which all constituents are right.
    n_constituents : int
        Number of true constituents.
    """

    f1: float
    precision: float
    recall: float
    exact: float
    n_constituents: int

    def __str__(self) -> str:
        shares = [f"{own:.2%}" for own in self[:4]]
        rows = [["constituents", "F1", "precision", "recall", "sentences all right"]]
        return "\n".join(align_cells([*rows, [f"{self.n_constituents:,}", *shares]]))


def bracket_scores(truth: Sequence[Any], predicted: Sequence[Any]) -> BracketScores:
    """Compare constituents of bracketed trees.

    Punctuation is left out, PRT counts as ADVP, and neither traces nor functions nor an outer
    bracket without a label count.

    Parameters
    ----------
    truth, predicted : sequence of str or Node
        Bracketed trees, one per sentence.

    Returns
    -------
    BracketScores
        Scores over all sentences.
    """
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true trees, but {len(predicted)} predicted ones.")
    both = true = found = exact = 0
    for own, other in zip(truth, predicted, strict=True):
        a, b = (_constituents(tree) for tree in (own, other))
        both += (a & b).total()
        true += a.total()
        found += b.total()
        exact += a == b
    return BracketScores(
        2 * both / (true + found) if true + found else 1.0,
        both / found if found else 1.0,
        both / true if true else 1.0,
        exact / max(len(truth), 1),
        true,
    )


def _constituents(tree: Any) -> Counter[tuple[str, int, int]]:
    node = clean_tree(parse_tree(tree) if isinstance(tree, str) else tree)
    found: Counter[tuple[str, int, int]] = Counter()
    end = 0

    def visit(own: Node, begins: list[int]) -> int:
        nonlocal end
        begin = begins[0] if begins else end
        if not own.children:
            end += own.label not in _PUNCTUATION
        elif end > begin:
            found["ADVP" if own.label == "PRT" else own.label, begin, end] += 1
        return begin

    if node is not None:
        fold_tree(node, visit)
    return found
