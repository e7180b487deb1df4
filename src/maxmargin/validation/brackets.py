"""Bracketed trees: (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))), one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

__all__ = [
    "CHAIN",
    "INNER",
    "Node",
    "binarise",
    "build_tree",
    "clean_tree",
    "fold_tree",
    "list_constituents",
    "parse_tree",
    "read_trees",
    "write_tree",
]

_TOKEN = re.compile(r"[()]|[^\s()]+")
#: brackets inside each other; more are not trees of sentences
_DEEPEST = 5000
#: marks labels of spans that binary trees need beside their constituents
INNER = "@"
#: joins labels of chains of single branches
CHAIN = "+"
#: what files have in place of brackets in words
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}


#: begin, end and label
Span = tuple[int, int, str]


class Node(NamedTuple):
    """A node of a tree: its label, and below it other nodes, or the form of one word.

    Parameters
    ----------
    label : str
        Label, of a word its part of speech.
    children : tuple of Node
        Nodes below; none for a word.
    form : str
        The word; empty for other nodes.
    """

    label: str
    children: tuple[Node, ...] = ()
    form: str = ""

    def words(self) -> list[tuple[str, str]]:
        """All words below, (form, part of speech)."""
        found: list[tuple[str, str]] = []

        def visit(own: Node, below: list[None]) -> None:
            if not own.children:
                found.append((own.form, own.label))

        fold_tree(self, visit)
        return found


def fold_tree(node: Node, combine: Callable[[Node, list[Any]], Any]) -> Any:
    """combine(node, results of the nodes below), from left to right and the words up.

    There is no recursion: trees of long sentences may be deep.
    """
    results: list[Any] = []
    waiting = [(node, False)]
    while waiting:
        own, complete = waiting.pop()
        if own.children and not complete:
            waiting.append((own, True))
            waiting.extend((child, False) for child in reversed(own.children))
        else:
            first = len(results) - len(own.children)
            results[first:] = [combine(own, results[first:])]
    return results[0]


def read_trees(lines: Iterable[str], name: str = "trees") -> Iterator[tuple[Node, str]]:
    """Read trees as they are, each with its file and line.

    lines : of text. name : of the file, for errors, which also name the line.
    """
    opened: list[tuple[str, list[Node], list[str]]] = []  # label, nodes and words so far
    expects_label, first = False, 0
    for number, line in enumerate(lines, start=1):
        for token in _TOKEN.findall(line.removeprefix("\ufeff")):
            where = f"{name}, line {number}"
            if token == "(":
                first = first if opened else number
                opened.append(("", [], []))
                expects_label = True
                if len(opened) > _DEEPEST:
                    raise ValueError(f"{where}: more than {_DEEPEST} brackets are open.")
            elif not opened:
                raise ValueError(f"{where}: found {token!r:.40} outside of brackets.")
            elif token == ")":
                node = _close(*opened.pop(), where)
                if opened:
                    opened[-1][1].append(node)
                else:
                    yield node, f"{name}, line {first}"
                expects_label = False
            elif expects_label:
                opened[-1] = (token, [], [])
                expects_label = False
            else:
                opened[-1][2].append(token)
    if opened:
        raise ValueError(f"{name}, line {first}: {len(opened)} brackets of the tree do not close.")


def _close(label: str, nodes: list[Node], words: list[str], where: str) -> Node:
    if len(words) > 1 or bool(words) == bool(nodes):
        raise ValueError(f"{where}: a bracket has one word, or brackets, inside it.")
    return Node(label, (), words[0]) if words else Node(label, tuple(nodes))


def parse_tree(text: str) -> Node:
    """The tree that a text consists of."""
    found = [node for node, _ in read_trees(text.splitlines(), "tree")]
    if len(found) != 1:
        raise ValueError(f"found {len(found)} bracketed trees, expected one.")
    return found[0]


def clean_tree(node: Node) -> Node | None:
    """The tree without traces, functions (NP-SBJ) and an outer bracket without a label.

    None if nothing is left.
    """
    return fold_tree(node, _clean)


def _clean(node: Node, below: list[Node | None]) -> Node | None:
    if not node.children:
        return None if node.label == "-NONE-" else node
    children = tuple(child for child in below if child is not None)
    if not children:
        return None
    label = re.split("[-=|]", node.label, maxsplit=1)[0] or node.label
    if label in ("", "TOP", "ROOT", "S1") and len(children) == 1 and children[0].children:
        return children[0]
    return Node(label, children)


def write_tree(node: Node) -> str:
    """The tree as a text of one line; brackets in words are -LRB- and -RRB-, spaces are _."""
    return fold_tree(
        node, lambda own, below: f"({_escape(own.label)} {' '.join(below) or _escape(own.form)})"
    )


def _escape(form: str) -> str:
    return re.sub(r"[()]", lambda found: _ESCAPES[found[0]], re.sub(r"\s+", "_", form))


def binarise(tree: Node) -> list[Span]:
    """All spans of the binary tree, the last branches taken together first."""
    found: list[Span] = []
    places = count()

    def visit(node: Node, below: list[Any]) -> tuple[int, int, list[str]]:
        """Begin, end and the chain of labels so far; spans are known when it ends."""
        if not below:
            start = next(places)
            return start, start + 1, []
        if len(below) == 1:
            begin, end, chain = below[0]
            return begin, end, [node.label, *chain]
        end = below[-1][1]
        found.extend((i, j, CHAIN.join(chain)) for i, j, chain in below)
        found.extend((begin, end, INNER + node.label) for begin, *_ in below[1:-1])
        return below[0][0], end, [node.label]

    begin, end, chain = fold_tree(tree, visit)
    return [*found, (begin, end, CHAIN.join(chain))]


def build_tree(spans: Sequence[Span], words: Sequence[tuple[str, str]]) -> Node:
    """The tree of labelled spans of a binary one, such as `binarise` gives."""
    waiting: list[list[Node]] = []  # of spans that are not yet inside another, the leftmost last
    for i, j, label in sorted(spans, key=lambda span: (-span[0], span[1])):
        if j == i + 1:
            nodes = [Node(words[i][1], (), words[i][0])]
        else:
            nodes = waiting.pop() + waiting.pop()
        inner = not label or label.startswith(INNER)
        top = j - i == len(words) > 1
        chain = [label.removeprefix(INNER) or "S"] if inner and top else []
        for own in reversed(chain or ([] if inner else label.split(CHAIN))):
            nodes = [Node(own, tuple(nodes))]
        waiting.append(nodes)
    return waiting[0][0]


def list_constituents(tree: Node) -> list[Span]:
    """Begin, end and label of constituents, chains of them as one."""
    return [own for own in binarise(tree) if own[2] and not own[2].startswith(INNER)]
