"""Structures as a user would write them, in plain Python, each with one ability."""

from itertools import combinations, permutations

import numpy as np
from scipy import sparse

from maxmargin.structures import Constraints, Structure


class AtMostTwo(Structure):
    """At most two of n items. shape = (n,). It can only `maximize`."""

    def n_parts(self, shape):
        return shape[0]

    def encode(self, y, shape):
        z = np.zeros(shape[0])
        z[list(y)] = 1.0
        return z

    def decode(self, z, shape):
        return tuple(np.flatnonzero(z > 0.5).tolist())

    def maximize(self, theta, shape):
        top = np.argsort(-theta, kind="stable")[:2]
        return self.encode([p for p in top if theta[p] > 0], shape)


def best_two(theta, shape):
    """The same by one function, which names the parts that are 1."""
    return {int(p) for p in np.argsort(-theta, kind="stable")[:2] if theta[p] > 0}


def at_most_two_vertices(shape):
    for size in range(3):
        for chosen in combinations(range(shape[0]), size):
            yield np.isin(np.arange(shape[0]), chosen).astype(float)


def at_most_two_constraints(shape):
    matrix = np.vstack([np.eye(shape[0]), np.ones(shape[0])])
    upper = np.append(np.ones(shape[0]), 2.0)
    return Constraints(sparse.csr_array(matrix), np.full(len(upper), -np.inf), upper)


class Assignment(Structure):
    """Each of n rows gets a column of its own. shape = (n,). It can only state `constraints`."""

    def n_parts(self, shape):
        return shape[0] ** 2

    def variables(self, shape):
        return shape[0], shape[0]

    def encode(self, y, shape):
        return np.eye(shape[0])[list(y)].ravel()

    def decode(self, z, shape):
        return tuple(z.reshape(shape[0], shape[0]).argmax(axis=1).tolist())

    def constraints(self, shape):
        same, line = np.eye(shape[0]), np.ones((1, shape[0]))
        matrix = np.vstack([np.kron(same, line), np.kron(line, same)])
        return Constraints(sparse.csr_array(matrix), np.ones(len(matrix)), np.ones(len(matrix)))


def assignment_vertices(shape):
    for columns in permutations(range(shape[0])):
        z = np.zeros((shape[0], shape[0]))
        for row, column in enumerate(columns):
            z[row, column] = 1.0
        yield z.ravel()


class PlainChain(Structure):
    """The chain again, `maximize` in plain Python: what compiled structures are held against."""

    def __init__(self, tied=True):
        self.tied = tied

    def n_parts(self, shape):
        tables = 1 if self.tied else shape[0] - 1
        return shape[0] * shape[1] + tables * shape[1] ** 2

    def variables(self, shape):
        return shape

    def encode(self, y, shape):
        from reference.chains import vertex

        return vertex(y, shape, self.tied)

    def decode(self, z, shape):
        return z[: shape[0] * shape[1]].reshape(shape).argmax(axis=1)

    def maximize(self, theta, shape):
        from maxmargin.exceptions import InfeasibleError
        from reference.chains import viterbi

        _, labels = viterbi(theta, shape, self.tied)
        if labels is None:
            raise InfeasibleError("no sequence is allowed.")
        return self.encode(labels, shape)
