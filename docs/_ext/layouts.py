"""Drawings of what x, y and z look like, made from the structures themselves.

The numbers in z are those that `encode` returns, so that a drawing cannot say anything else than
the library does. Lines and text take the page's colour, for light and dark.
"""

from html import escape

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from maxmargin.structures import (
    Chain,
    Finite,
    GraphCut,
    LinearProgram,
    MarkovNetwork,
    Matching,
    Multiclass,
    MultiLabel,
    Network,
    NetworkLayout,
    Program,
    Tree,
    TreeLayout,
)

CELL = 26
ON, TINT = "#0072B2", "#009E73"


class Drawing:
    """An SVG that grows to the right, panel by panel."""

    def __init__(self, height):
        self.parts, self.left, self.height = [], 8, height

    def text(self, x, y, words, anchor="middle", size=12, weight="normal", opacity=1.0):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
            f' font-weight="{weight}" fill="currentColor" opacity="{opacity}">{escape(words)}'
            "</text>"
        )

    def cell(self, x, y, words="", fill="none", opacity=1.0):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{CELL}" height="{CELL}" fill="{fill}"'
            f' fill-opacity="{opacity:.2f}" stroke="currentColor" stroke-opacity="0.45"/>'
        )
        if words:
            self.text(x + CELL / 2, y + CELL / 2 + 4, words)

    def head(self, x, width, name, size):
        self.text(x + width / 2, 16, name, size=13, weight="bold")
        self.text(x + width / 2, 33, size, size=11, opacity=0.75)

    def grid(self, name, size, values, rows=(), columns=(), kind="features"):
        """A matrix: features as shades, parts as numbers with the ones filled."""
        values = np.atleast_2d(values)
        longest = max((len(word) for word in rows), default=0)
        x, y = self.left + 7.2 * longest + (8 if longest else 0), 44 + (18 if len(columns) else 0)
        for k, word in enumerate(columns):
            self.text(x + (k + 0.5) * CELL, y - 6, word, size=11)
        for j, line in enumerate(values):
            if len(rows):
                self.text(x - 6, y + (j + 0.5) * CELL + 4, rows[j], "end")
            for k, value in enumerate(line):
                if kind == "features":
                    self.cell(x + k * CELL, y + j * CELL, "", "currentColor", 0.06 + 0.4 * value)
                else:
                    colour = ON if value else "none"
                    self.cell(x + k * CELL, y + j * CELL, f"{value:g}", colour, 0.35)
        width = values.shape[1] * CELL
        wide = max(width, 6.4 * len(size), 7.5 * len(name))
        middle = max(x + width / 2, self.left + wide / 2)
        self.head(middle - wide / 2, wide, name, size)
        self.left = max(x + width, middle + wide / 2) + 34

    def words(self, name, size, items):
        """A column of outputs, as the user gives them."""
        wide = max(6.4 * len(size), *(7.4 * len(item) for item in items), 7.5 * len(name)) + 6
        for j, item in enumerate(items):
            self.text(self.left + wide / 2, 44 + (j + 0.5) * CELL + 4, item)
        self.head(self.left, wide, name, size)
        self.left += wide + 34

    def links(self, name, size, rows, columns, pairs):
        """Two columns of nodes and the links between them."""
        wide = max(130, 6.4 * len(size))
        a, b, step = self.left + 24, self.left + wide - 24, CELL * 1.15
        place = [(44 + (k + 0.5) * step) for k in range(max(len(rows), len(columns)))]
        for j, k in pairs:
            self.parts.append(
                f'<path d="M{a + 14} {place[j]:.1f}L{b - 14} {place[k]:.1f}" stroke="{ON}"'
                ' stroke-width="2.5"/>'
            )
        for x, words in ((a, rows), (b, columns)):
            for k, word in enumerate(words):
                self.text(x, place[k] + 4, word)
        self.head(self.left, wide, name, size)
        self.left += wide + 34

    def network(self, name, size, places, edges, labels):
        """Nodes at places (column, row) in cells, ones filled, and the edges, cut ones dashed."""
        wide, step = max(6.4 * len(size), 130), 2 * CELL
        at = [(self.left + 22 + step * x, 66 + step * y) for x, y in places]
        for a, b in edges:
            dash = ' stroke-dasharray="4 4"' if labels[a] != labels[b] else ""
            self.parts.append(
                f'<path d="M{at[a][0]:.1f} {at[a][1]:.1f}L{at[b][0]:.1f} {at[b][1]:.1f}"'
                f' stroke="currentColor" stroke-width="2"{dash}/>'
            )
        for k, (x, y) in enumerate(at):
            self.parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="12" stroke="currentColor"'
                ' fill="var(--color-background-primary, #fff)"/>'
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="12" fill="{ON if labels[k] else "none"}"'
                ' fill-opacity="0.35"/>'
            )
            self.text(x, y + 4, str(k))
        self.head(self.left, wide, name, size)
        self.left += wide + 34

    def svg(self, label):
        width = self.left - 20
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {self.height}"'
            f' width="{width:.0f}" height="{self.height}" role="img" aria-label="{escape(label)}"'
            f' font-family="system-ui, sans-serif">{"".join(self.parts)}</svg>'
        )


def features(*layout):
    return np.random.default_rng(4).random(layout)


def chain():
    words, labels, y = ["the", "old", "dog", "barks"], ["B", "I", "O"], [0, 1, 1, 2]
    z = Chain().encode(y, (4, 3))
    drawing = Drawing(44 + 18 + 4 * CELL + 8)
    drawing.grid("x", "(length, n_features)", features(4, 6), rows=words)
    drawing.words("y", "(length,)", ["B", "I", "I", "O"])
    drawing.grid("z: nodes", "length × K = 12", z[:12].reshape(4, 3), words, labels, "parts")
    drawing.grid("z: pairs", "K × K = 9", z[12:].reshape(3, 3), labels, labels, "parts")
    note = (
        "A sentence of four tokens with three labels. z has 12 + 9 = 21 entries: which label each"
        " token has, then how often each label (row) is followed by each other (column)."
    )
    return drawing.svg("layouts of a chain"), note


def matching():
    y = [(0, 0), (1, 2), (2, 3)]
    z = Matching().encode(np.array(y), (3, 4))
    drawing = Drawing(44 + 4.9 * CELL)
    for k in range(3):
        sheet, at = features(3, 4) * (0.5 + 0.25 * k), drawing.left + 8 * k
        drawing.parts.append(
            f'<rect x="{at}" y="{46 + 8 * k}" width="{4 * CELL}" height="{3 * CELL}"'
            ' fill="var(--color-background-primary, #fff)"/>'
        )
        for i, j in np.ndindex(3, 4):
            drawing.cell(at + j * CELL, 46 + 8 * k + i * CELL, "", "currentColor",
                         0.05 + 0.3 * sheet[i, j])  # fmt: skip
    drawing.head(drawing.left, 4 * CELL + 16, "x", "(J, K, n_features)")
    drawing.left += 4 * CELL + 16 + 40
    drawing.links("the output", "J rows, K columns", "abc", "1234", y)
    drawing.words("y", "(links, 2)", [f"{j}, {k}" for j, k in y])
    drawing.grid("z", "J × K = 12", z.reshape(3, 4), "abc", "1234", "parts")
    note = (
        "Three rows, four columns, three links; column 2 stays unmatched. z has an entry for each"
        " of the 12 pairs, and no row and no column of it sums to more than its cap, here 1."
    )
    return drawing.svg("layouts of a matching"), note


def graph_cut():
    edges, y = [(0, 1), (1, 2), (0, 3), (1, 4), (3, 4)], [1, 1, 0, 1, 0]
    z = GraphCut().encode(y, Network(5, edges))
    pairs = [f"{a} {b}" for a, b in edges]
    drawing = Drawing(44 + 18 + 5 * CELL)
    drawing.grid("x: nodes", "(V, n_features)", features(5, 4), rows="01234")
    drawing.words("x: edges", "(E, 2)", pairs)
    drawing.grid("x: edge features", "(E, n), 0 or more", features(5, 2))
    places = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]
    drawing.network("the output", "cut edges dashed", places, edges, y)
    drawing.words("y", "(V,)", ["sea" if own else "land" for own in y])
    drawing.grid("z: nodes", "V = 5", z[:5, None], "01234", kind="parts")
    drawing.grid("z: edges", "E = 5", z[5:, None], pairs, kind="parts")
    note = (
        "A graph of five nodes and five edges. z has an entry for each node, 1 for the second of"
        " the two labels in order, then one for each edge, 1 where its ends differ."
    )
    return drawing.svg("layouts of a graph cut"), note


def tree():
    words, labels = ["dogs", "bark", "at", "cats"], ["N", "P", "V"]
    edges, y = [(1, 0), (1, 2), (2, 3)], [0, 2, 1, 0]
    z = Tree().encode(y, TreeLayout(Network(4, edges), 3))
    drawing = Drawing(44 + 18 + 4 * CELL + 8)
    drawing.grid("x: nodes", "(V, n_features)", features(4, 5), rows=words)
    drawing.words("x: edges", "(E, 2)", [f"{a} {b}" for a, b in edges])
    places = [(0, 1), (1, 0), (1, 1), (2, 1)]
    drawing.network("the tree", "parents to children", places, edges, [0, 0, 0, 0])
    drawing.words("y", "(V,)", [labels[own] for own in y])
    drawing.grid("z: nodes", "V × K = 12", z[:12].reshape(4, 3), words, labels, "parts")
    drawing.grid("z: pairs", "K × K = 9", z[12:].reshape(3, 3), labels, labels, "parts")
    note = (
        "A tree of four nodes with three labels. z has 12 + 9 = 21 entries: which label each node"
        " has, then how many edges lead from each label (row) to each other (column)."
    )
    return drawing.svg("layouts of a tree"), note


def multi_label():
    labels = ["sea", "sun", "wood"]
    y = [1, 1, 0]
    z = MultiLabel().encode(y, (3,))
    drawing = Drawing(44 + 18 + 1.3 * CELL)
    drawing.grid("x", "(n_features,), a row of X", features(1, 6))
    drawing.grid("y", "(L,), a row", np.array(y), columns=labels, kind="parts")
    drawing.words("or", "a set", ["{sea, sun}"])
    drawing.grid("z: labels", "L = 3", z[:3], columns=labels, kind="parts")
    drawing.grid(
        "z: pairs", "L (L - 1) / 2 = 3", z[3:], columns=["0 1", "0 2", "1 2"], kind="parts"
    )
    note = (
        "Two of three labels. z has 3 + 3 = 6 entries: which labels are on, then which pairs of"
        " labels have both on."
    )
    return drawing.svg("layouts of sets of labels"), note


def network():
    labels, edges, y = ["0", "1", "2"], [(0, 1), (2, 3), (0, 2), (1, 3)], [1, 2, 0, 0]
    z = MarkovNetwork(tied=False).encode(y, NetworkLayout(Network(4, edges), 3))
    pairs = [f"{a} {b}" for a, b in edges]
    drawing = Drawing(44 + 18 + 4 * CELL + 8)
    drawing.grid("x: nodes", "(V, n_features)", features(4, 4), rows="0123")
    drawing.words("x: edges", "(E, 2)", pairs)
    drawing.grid("x: edge features", "(E, n)", features(4, 2))
    places = [(0, 0), (1, 0), (0, 1), (1, 1)]
    drawing.network("the graph", "ends that differ dashed", places, edges, y)
    drawing.words("y", "(V,)", [labels[own] for own in y])
    drawing.grid("z: nodes", "V × K = 12", z[:12].reshape(4, 3), "0123", labels, "parts")
    table = z[12:21].reshape(3, 3)
    drawing.grid("z: pairs of 0 1", "K × K of E tables", table, labels, labels, "parts")
    note = (
        "Four pixels in a square, three labels, features of edges. z has 12 + 4 × 9 = 48 entries:"
        " which label each node has, then a table for each edge, 1 at the labels of its ends; here"
        " that of the first edge. Without features of edges, one table counts the pairs of all."
    )
    return drawing.svg("layouts of a network"), note


def multiclass():
    drawing = Drawing(44 + 18 + 1.3 * CELL)
    drawing.grid("x", "(n_features,), a row of X", features(1, 7))
    drawing.words("y", "a label", ["green"])
    z = Multiclass().encode(1, (4,))
    drawing.grid("z", "K = 4", z, columns=["red", "grn", "blu", "yel"], kind="parts")
    note = "One of four classes: z has one entry for each class, and one of them is 1."
    return drawing.svg("layouts of multiclass outputs"), note


def finite():
    drawing = Drawing(44 + 18 + 5 * CELL)
    for name, count, y in (("first", 5, 3), ("second", 3, 0)):
        rows = [f"{k}" for k in range(count)]
        z = Finite().encode(y, (count,))
        drawing.grid(f"x, {name} sample", f"(M = {count}, n_features)", features(count, 5), rows)
        drawing.words("y", "a number", [str(y)])
        drawing.grid("z", f"M = {count}", z[:, None], rows, kind="parts")
    note = (
        "Each sample lists its candidates, a feature row for each; y is the number of the right"
        " one. The list may be longer or shorter from sample to sample."
    )
    return drawing.svg("layouts of lists of candidates"), note


def linear_program():
    program = Program([[1, 2, 3, 2], [1, 0, 0, 1]], [5, 1], part_upper=1)
    z = LinearProgram().encode({1, 2}, program)
    drawing = Drawing(44 + 18 + 4 * CELL)
    drawing.grid("x", "(parts, n_features)", features(4, 5), rows=["0", "1", "2", "3"])
    drawing.words("y", "a set, or z", ["{1, 2}"])
    drawing.grid("z", "one per part", z, columns=["0", "1", "2", "3"], kind="parts")
    drawing.grid("matrix", "(rows, parts)", program.matrix.toarray(), kind="parts")
    drawing.words("upper", "(rows,)", [f"≤ {bound:g}" for bound in program.upper])
    note = (
        "Four things to take along, of which the bag holds 5 pounds, and 0 and 3 do not go"
        " together. The matrix and its bounds are the Program; z satisfies matrix · z ≤ upper."
    )
    return drawing.svg("layouts of a linear program"), note


DRAWINGS = {
    own.__name__: own
    for own in (chain, tree, network, matching, graph_cut, multi_label, multiclass, finite)
} | {"linear_program": linear_program}


class Layouts(SphinxDirective):
    """`.. layouts:: chain`, the drawing of that name."""

    required_arguments = 1

    def run(self):
        svg, note = DRAWINGS[self.arguments[0]]()
        html = f'<figure class="layouts">{svg}<figcaption>{escape(note)}</figcaption></figure>'
        return [nodes.raw("", html, format="html")]


def setup(app):
    app.add_directive("layouts", Layouts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
