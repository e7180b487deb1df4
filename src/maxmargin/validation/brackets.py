"""Bracketed trees: (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))), one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Node", "clean_tree", "parse_tree", "read_trees", "write_tree"]

_TOKEN = re.compile(r"[()]|[^\s()]+")
#: brackets inside each other; more are not trees of sentences
_DEEPEST = 400


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
        if not self.children:
            return [(self.form, self.label)]
        return [word for child in self.children for word in child.words()]


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
    if not node.children:
        return None if node.label == "-NONE-" else node
    kept = (clean_tree(child) for child in node.children)
    children = tuple(child for child in kept if child is not None)
    if not children:
        return None
    label = re.split("[-=|]", node.label, maxsplit=1)[0] or node.label
    if label in ("", "TOP", "ROOT", "S1") and len(children) == 1 and children[0].children:
        return children[0]
    return Node(label, children)


def write_tree(node: Node) -> str:
    """The tree as a text of one line."""
    inner = node.form if not node.children else " ".join(map(write_tree, node.children))
    return f"({node.label} {inner})"
