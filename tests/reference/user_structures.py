"""Structures as a user would write them, in plain Python, each with one ability."""

from itertools import combinations, permutations

import numpy as np
from scipy import sparse

from maxmargin.structures import Constraints, Structure


class AtMostTwo(Structure):
    """At most two of n items. shape = (n,). It can only `maximize`."""

    def n_parts(self, layout):
        return layout[0]

    def encode(self, y, layout):
        z = np.zeros(layout[0])
        z[list(y)] = 1.0
        return z

    def decode(self, z, layout):
        return tuple(np.flatnonzero(z > 0.5).tolist())

    def maximize(self, theta, layout):
        top = np.argsort(-theta, kind="stable")[:2]
        return self.encode([p for p in top if theta[p] > 0], layout)


def best_two(theta, layout):
    """The same by one function, which names the parts that are 1."""
    return {int(p) for p in np.argsort(-theta, kind="stable")[:2] if theta[p] > 0}


def at_most_two_vertices(layout):
    for size in range(3):
        for chosen in combinations(range(layout[0]), size):
            yield np.isin(np.arange(layout[0]), chosen).astype(float)


def at_most_two_constraints(layout):
    matrix = np.vstack([np.eye(layout[0]), np.ones(layout[0])])
    upper = np.append(np.ones(layout[0]), 2.0)
    return Constraints(sparse.csr_array(matrix), np.full(len(upper), -np.inf), upper)


class Assignment(Structure):
    """Each of n rows gets a column of its own. shape = (n,). It can only state `constraints`."""

    def n_parts(self, layout):
        return layout[0] ** 2

    def variables(self, layout):
        return layout[0], layout[0]

    def encode(self, y, layout):
        return np.eye(layout[0])[list(y)].ravel()

    def decode(self, z, layout):
        return tuple(z.reshape(layout[0], layout[0]).argmax(axis=1).tolist())

    def constraints(self, layout):
        same, line = np.eye(layout[0]), np.ones((1, layout[0]))
        matrix = np.vstack([np.kron(same, line), np.kron(line, same)])
        return Constraints(sparse.csr_array(matrix), np.ones(len(matrix)), np.ones(len(matrix)))


def assignment_vertices(layout):
    for columns in permutations(range(layout[0])):
        z = np.zeros((layout[0], layout[0]))
        for row, column in enumerate(columns):
            z[row, column] = 1.0
        yield z.ravel()


class PlainChain(Structure):
    """The chain again, `maximize` in plain Python: what compiled structures are held against."""

    def __init__(self, tied=True):
        self.tied = tied

    def n_parts(self, layout):
        tables = 1 if self.tied else layout[0] - 1
        return layout[0] * layout[1] + tables * layout[1] ** 2

    def variables(self, layout):
        return layout

    def encode(self, y, layout):
        from reference.chains import vertex

        return vertex(y, layout, self.tied)

    def decode(self, z, layout):
        return z[: layout[0] * layout[1]].reshape(layout).argmax(axis=1)

    def maximize(self, theta, layout):
        from maxmargin.exceptions import InfeasibleError
        from reference.chains import viterbi

        _, labels = viterbi(theta, layout, self.tied)
        if labels is None:
            raise InfeasibleError("no sequence is allowed.")
        return self.encode(labels, layout)
